"""The journal: the durable state of a role, written to disk before the role acts, sealed with a key in another file.

Entries are sealed one by one and chained: each is bound to its number, its kind and the entry before it, so no entry
can be changed, moved or removed from the middle. A removal of the last entries needs another check: a database whose
write-ahead log is truncated is a valid, older database. So every entry is followed by a new head in a separate file,
which is written durably before the role acts on the entry. A crash between the two leaves the journal one entry ahead
of its head. It can never be further ahead, and never behind. A whole older journal that is restored together with its
head cannot be detected. So no session, key or counter is ever continued from a journal: a role that restarts opens new
ones.

A journal does not grow for ever. Once there are enough entries, those that are still relevant are written again as one
checkpoint, in the same transaction that removes the others. That happens when there are as many entries as the last
checkpoint has, so the total amount written is proportional to what is appended.

The key that seals the journals of a run is in a separate file, which is written once, atomically and durably, before
any journal. A crash therefore leaves neither, or a key with journals that it seals. A journal without its key, or a
file without a whole key, is an error and never a new start: a new key would make the journal unreadable for ever.

Source: SQLite, Write-Ahead Logging, and PRAGMA synchronous=FULL; RFC 8452 (a repeated nonce costs little).
"""

import os
import secrets
import sqlite3
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Protocol

from carnet_command.errors import CarnetError
from carnet_command.exit_codes import ExitCode
from carnet_command.files import OWNER_ONLY, create_durably, write_durably
from carnet_ref.crypto import primitives
from carnet_ref.wire import MalformedError, Reader, join, number, split, to_number

SUFFIX: Final = "-head"
LARGEST_HEAD: Final = 4096  #: The most bytes of a head file that are read.


@dataclass(frozen=True, slots=True)
class JournalHead:
    """The head of a journal: the number of its entries, and the last digest of their chain."""

    count: int = 0
    chain: bytes = b""


class ChangedHeadError(Exception):
    """A head was not written by this owner under this key."""


@dataclass(frozen=True, slots=True)
class HeadFile:
    """The file with the head of one journal, sealed like its entries and bound to the same owner."""

    journal: Path
    cipher: primitives.AesGcmSiv
    owner: bytes
    random: primitives.Random

    @property
    def path(self) -> Path:
        """The path of the file, beside the journal."""
        return self.journal.with_name(self.journal.name + SUFFIX)

    def read(self) -> JournalHead | None:
        """Return the head, or ``None`` if none was ever written.

        Raises ChangedHeadError if the file was changed; OSError if it cannot be read.
        """
        try:
            with self.path.open("rb") as file:
                data = file.read(LARGEST_HEAD)
        except FileNotFoundError:
            return None
        try:
            opened = self.cipher.decrypt(data[: primitives.NONCE_BYTES], data[primitives.NONCE_BYTES :], self._binding)
            count, chain = split(opened, "head", "count", "chain")
            return JournalHead(to_number(count, "head", "count"), chain)
        except (primitives.CryptoError, MalformedError) as error:
            raise ChangedHeadError from error

    def write(self, mark: JournalHead) -> None:
        """Write the head, and return once it is on disk.

        Raises OSError if it cannot be written; the earlier head is unchanged.
        """
        nonce = self.random(primitives.NONCE_BYTES)
        write_durably(
            self.path, nonce + self.cipher.encrypt(nonce, join(number(mark.count), mark.chain), self._binding)
        )

    @property
    def _binding(self) -> bytes:
        return join(b"carnet journal head 1", self.owner)


#: The schema as SQLite stores it; a database with anything else, such as a trigger or other columns, is refused.
_TABLE: Final = """CREATE TABLE entries (
        number INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        nonce BLOB NOT NULL,
        sealed BLOB NOT NULL
    ) STRICT
"""
_ENTRIES: Final = """
    SELECT number, CAST(kind AS BLOB), CAST(nonce AS BLOB), CAST(sealed AS BLOB) FROM entries ORDER BY number
"""
_INSERT: Final = "INSERT INTO entries VALUES (?, ?, ?, ?)"
_APPLICATION: Final = 0x43524E54  #: The application id that marks a SQLite database as a journal of Carnet: "CRNT".
#: The suffixes of a journal's files: its own, those of SQLite, and that of the head.
BESIDE: Final = ("", "-wal", "-shm", "-journal", SUFFIX)

#: The kinds whose entries are all kept; of any other kind only the last entry is.
RETAINED_KINDS: Final = frozenset({"accepted", "returned", "ledger", "lost"})
CHECKPOINT: Final = "checkpoint"  #: The kind of an entry that replaces all entries before it.
#: The most single entries before a checkpoint is written; or as many as the last checkpoint has, if that is more.
MOST_ENTRIES: Final = 64
#: The most bytes after a checkpoint, in addition to three times its own size, before the next one is written.
MOST_GROWTH: Final = 4 << 20

_FOREIGN: Final = "another job wrote it, or it was sealed under another key (give --journal-key)"
_Row = tuple[int, bytes, bytes, bytes]


class JournalError(CarnetError):
    """A journal cannot be used: it is foreign, locked, damaged, or on a full disk."""

    kind: ClassVar[str] = "journal"
    exit_code: ClassVar[ExitCode] = ExitCode.USAGE


class JournalStore(Protocol):
    """The interface of a role's durable state, on a disk or elsewhere."""

    def append(self, kind: str, payload: bytes) -> None:
        """Store an entry, and return once it is durable."""

    def last(self, kind: str) -> bytes | None:
        """Return the last entry of a kind."""

    def all(self, kind: str) -> list[bytes]:
        """Return every entry of a kind that is kept whole, in order."""


class Journal:
    """A journal of one role in one job.

    ``owner`` names both. A journal is refused if another owner wrote it, if another key seals it, or if it is damaged.
    """

    def __init__(self, path: Path, key: bytes, owner: bytes, random: primitives.Random) -> None:
        self._path = path
        self._cipher = primitives.AesGcmSiv(key)
        self._random = random
        self._owner = owner
        self._head = HeadFile(path, self._cipher, owner, random)
        self._entries: list[tuple[str, bytes]] = []
        self._mark = self._before = JournalHead()
        self._rows, self._most, self._room = 0, MOST_ENTRIES, MOST_GROWTH
        self._headed: JournalHead | None = None
        try:
            _make_private(path)
            self._database, rows = _opened(path)
        except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
            raise JournalError(f"{path} is no journal that can be used: {error}") from error
        try:
            for row in rows:
                self._take(row)
            self._headed = self._checked_head()
            if rows:
                with self._writing():
                    self._write_head()
        except BaseException:
            self._database.close()
            raise

    def append(self, kind: str, payload: bytes) -> None:
        """Write an entry, and return once it is on disk.

        Raises JournalError if it cannot be written. Either nothing was written, or the entry without its head; the next
        entry then writes that head first.
        """
        if kind == CHECKPOINT:
            raise ValueError(f"{CHECKPOINT!r} is no kind of entry for others")
        with self._writing():
            self._write_head()
            if self._rows >= self._most or self._room < 0:
                self._compact()
            place = self._mark.count
            nonce, sealed = self._sealed(place, kind, self._mark.chain, payload)
            self._database.execute(_INSERT, (place, kind, nonce, sealed))
            self._entries.append((kind, payload))
            self._follow(JournalHead(place + 1, primitives.sha384(sealed)), self._mark, len(payload))
            self._write_head()

    def last(self, kind: str) -> bytes | None:
        """Return the last entry of a kind."""
        return next((payload for each, payload in reversed(self._entries) if each == kind), None)

    def all(self, kind: str) -> list[bytes]:
        """Return every entry of a kind that is kept whole, in order."""
        if kind not in RETAINED_KINDS:
            raise ValueError(f"of the kind {kind!r} only the last entry is kept")
        return [payload for each, payload in self._entries if each == kind]

    def __len__(self) -> int:
        """Return how many entries were ever written, including those that a checkpoint dropped."""
        return self._mark.count

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Run a transaction: roll it back on an error, and report the error in one line."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise JournalError(f"cannot write to the journal {self._path}: {error}") from error

    def _compact(self) -> None:
        """Write the relevant entries as one checkpoint, which has the number of the last entry that it replaces."""
        place, kept = self._mark.count - 1, list(_counting(self._entries))
        # The content of a checkpoint: the head of the chain that it replaces, and the relevant entries
        payload = join(self._mark.chain, *(part for kind, payload in kept for part in (kind.encode("utf-8"), payload)))
        nonce, sealed = self._sealed(place, CHECKPOINT, b"", payload)
        self._database.execute("BEGIN IMMEDIATE")
        self._database.execute("DELETE FROM entries")
        self._database.execute(_INSERT, (place, CHECKPOINT, nonce, sealed))
        self._database.execute("COMMIT")
        self._begin_anew(kept, JournalHead(place + 1, primitives.sha384(sealed)), self._mark, len(payload))
        self._write_head()

    def _write_head(self) -> None:
        """Write the head unless it is on disk already; no entry is written before the head of the one before it."""
        if self._headed != self._mark:
            self._head.write(self._mark)
            self._headed = self._mark

    def _sealed(self, place: int, kind: str, before: bytes, payload: bytes) -> tuple[bytes, bytes]:
        nonce = self._random(primitives.NONCE_BYTES)
        return nonce, self._cipher.encrypt(nonce, payload, self._binding(place, kind, before))

    def _take(self, row: _Row) -> None:
        """Check and load a row: the first may be a checkpoint, every other is the next entry of the chain."""
        found, kind, nonce, sealed = row
        starts = self._rows == 0 and kind == CHECKPOINT.encode()
        place = found if starts else self._mark.count
        try:
            if None in row or found != place:
                raise primitives.AuthenticationError("entry")
            name, before = kind.decode("utf-8"), b"" if starts else self._mark.chain
            payload = self._cipher.decrypt(nonce, sealed, self._binding(place, name, before))
            after = JournalHead(place + 1, primitives.sha384(sealed))
            if starts:
                reader, parts = Reader(payload, CHECKPOINT), list[bytes]()
                while reader.remaining:
                    parts.append(reader.take(reader.number(4, "length"), "field"))
                if len(parts) % 2 != 1:
                    raise MalformedError(CHECKPOINT, "a chain, and pairs of kind and entry", f"{len(parts)} fields")
                kinds = [part.decode("utf-8") for part in parts[1::2]]
                replaced, kept = parts[0], list(zip(kinds, parts[2::2], strict=True))
                self._begin_anew(kept, after, JournalHead(place + 1, replaced), len(payload))
            else:
                self._entries.append((name, payload))
                self._follow(after, self._mark, len(payload))
        except (primitives.CryptoError, UnicodeDecodeError, MalformedError, OverflowError) as error:
            raise self._refused(_FOREIGN if self._rows == 0 else f"entry {place} was changed") from error

    def _follow(self, after: JournalHead, before: JournalHead, size: int) -> None:
        self._mark, self._before = after, before
        self._rows += 1
        self._room -= size

    def _begin_anew(self, kept: list[tuple[str, bytes]], after: JournalHead, before: JournalHead, size: int) -> None:
        """Continue from a checkpoint of ``size`` bytes, with limits for entries and bytes according to its size."""
        self._entries, self._rows, self._room = kept, 0, MOST_GROWTH + 4 * size
        self._most = max(MOST_ENTRIES, len(kept))
        self._follow(after, before, size)

    def _checked_head(self) -> JournalHead | None:
        """Return the head; it must be that of the journal's last entry, or, after a crash, of the entry before it.

        Raises JournalError otherwise.
        """
        try:
            head = self._head.read()
        except ChangedHeadError as error:
            raise self._refused("its head was changed" if self._rows else _FOREIGN) from error
        except OSError as error:
            raise self._refused(f"its head cannot be read: {error.strerror}") from error
        if head is None and self._rows:
            raise self._refused(f"{self._head.path} is missing, which says how many entries there are")
        if head is not None and head not in {self._mark, self._before}:
            lost = f"it has {self._mark.count} entries, and {head.count} were written"
            raise self._refused(lost if self._mark.count != head.count else "its last entry was changed")
        return head

    def _refused(self, why: str) -> JournalError:
        return JournalError(f"the journal {self._path} is refused: {why}")

    def _binding(self, place: int, kind: str, before: bytes) -> bytes:
        return join(b"carnet journal 2", self._owner, number(place), kind.encode("utf-8"), before)


def _counting(entries: Sequence[tuple[str, bytes]]) -> Iterator[tuple[str, bytes]]:
    """Yield the entries that are still relevant, in their order."""
    last = {kind: place for place, (kind, _) in enumerate(entries)}
    for place, (kind, payload) in enumerate(entries):
        if kind in RETAINED_KINDS or last[kind] == place:
            yield kind, payload


def _make_private(path: Path) -> None:
    """Restrict the file mode of a journal to its owner, creating the file if it is missing.

    An existing database is never opened here: closing it would release a lock that this process may hold on it.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
    except FileExistsError:
        for each in (path.with_name(path.name + suffix) for suffix in BESIDE):
            if each.is_file() and stat.S_IMODE(each.stat().st_mode) & ~OWNER_ONLY:
                each.chmod(OWNER_ONLY)


def _opened(path: Path) -> tuple[sqlite3.Connection, list[_Row]]:
    """Open a journal's database, locked for this process, and return it with its rows."""
    database = sqlite3.connect(path, isolation_level=None, timeout=1.0)
    try:
        (application,) = database.execute("PRAGMA application_id").fetchone()
        schema = database.execute("SELECT CAST(sql AS BLOB) FROM sqlite_schema").fetchall()
        if schema and application != _APPLICATION:
            raise JournalError(f"{path} is a database of something else")
        if schema not in ([], [(_TABLE.encode(),)]):
            raise JournalError(f"the journal {path} is refused: its tables were changed")
        database.execute("PRAGMA locking_mode=EXCLUSIVE")
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        database.execute(f"PRAGMA application_id={_APPLICATION}")
        if not schema:
            database.execute(_TABLE)
        return database, database.execute(_ENTRIES).fetchall()
    except BaseException:
        database.close()
        raise


#: The most characters of a key file: hexadecimal digits and the end of the line.
_KEY_CHARACTERS: Final = 2 * primitives.KEY_BYTES + 2
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def load_or_make_key(path: Path, journals: Iterable[Path]) -> bytes:
    """Return the key in a file; create the key if the file is missing and none of ``journals`` exists.

    ``journals`` are the journals that the key seals.

    Raises JournalError if there is no whole key and none may be created, or if others can read the file.
    """
    if not path.exists():
        _make_key(path, journals)
    try:
        with path.open("rb") as file:
            descriptor = file.fileno()
            found = os.fstat(descriptor)
            if stat.S_ISREG(found.st_mode) and found.st_mode & _OTHERS:
                mode = stat.S_IMODE(found.st_mode)
                raise JournalError(f"others may use the key in {path}, whose mode is {mode:o}: make it 600 (chmod 600)")
            text = file.read(_KEY_CHARACTERS + 1)
    except OSError as error:
        raise JournalError(f"cannot read a key from {path}: {error.strerror}") from error
    return _parsed_key(path, text)


def _make_key(path: Path, journals: Iterable[Path]) -> None:
    sealed = next((journal for journal in journals if journal.with_name(journal.name + SUFFIX).exists()), None)
    if sealed is not None:
        raise JournalError(
            f"there is no key in {path}, and {sealed} was sealed with one: put the key back, or remove the journals "
            "to begin anew"
        )
    try:
        create_durably(path, secrets.token_hex(primitives.KEY_BYTES).encode("ascii") + b"\n")
    except FileExistsError:
        return  # another process has created a whole key first
    except OSError as error:
        raise JournalError(f"cannot write a key to {path}: {error.strerror}") from error


def _parsed_key(path: Path, text: bytes) -> bytes:
    """Return the key that a text encodes.

    Raises JournalError if it encodes none; an earlier version of Carnet left an empty file when it was interrupted.
    """
    digits = text.strip()
    if not digits:
        raise JournalError(
            f"the key in {path} is empty, because the run that was to write it was stopped: if nothing was sealed with "
            "another, remove the file, and the next run makes a key"
        )
    try:
        key = bytes.fromhex(digits.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != primitives.KEY_BYTES:
        raise JournalError(f"expected {2 * primitives.KEY_BYTES} hexadecimal digits in {path}, found something else")
    return key
