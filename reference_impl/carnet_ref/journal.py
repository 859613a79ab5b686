"""The journal: what a role has to remember, on disk before it acts, sealed with a key that is not.

Entries are sealed one by one and chained: each is bound to its number, its kind and the entry before it, so that none
can be changed, moved or left out in the middle. That the last ones are gone shows only where something else says how
many there were: with a write-ahead log that is cut short, a database is a whole and older one. So every entry is
followed by a new head, in a file of its own, written durably before anything rests on the entry. Between the two the
journal is one entry ahead of its head, which is what a crash there leaves; by more it cannot be ahead, and it is never
behind. What cannot be told is an older journal put back whole, with its head; so nothing in a journal ever continues a
session, a key or a counter. A role that starts from its journal opens new ones.

A journal does not grow without end. Once there are enough entries, those that still count are written once more as one
checkpoint, in the same transaction that removes the others. Enough are as many as the last checkpoint has, so that all
that is ever written grows no faster than what is appended.

The key that seals the journals of a run is in a file of its own: made once, whole, and durably, before any journal. A
crash therefore leaves neither, or a key with journals that it seals. A journal without its key, or a file without a
whole key, is never taken for a beginning: a new key would make what is journalled unreadable for good.

Source: SQLite, Write-Ahead Logging, and PRAGMA synchronous=FULL; RFC 8452 (a repeated nonce costs little).
"""

from __future__ import annotations

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
LARGEST_HEAD: Final = 4096
"""More bytes than a head ever has."""


@dataclass(frozen=True, slots=True)
class JournalHead:
    """A place in a journal: how many entries there are up to it, and the digest that their chain ends in."""

    count: int = 0
    chain: bytes = b""


class ChangedHeadError(Exception):
    """A head that this owner did not write under this key."""


@dataclass(frozen=True, slots=True)
class HeadFile:
    """The file that keeps the head of one journal, sealed like its entries and bound to the same owner."""

    journal: Path
    cipher: primitives.AesGcmSiv
    owner: bytes
    random: primitives.Random

    @property
    def path(self) -> Path:
        """Where it is: beside the journal."""
        return self.journal.with_name(self.journal.name + SUFFIX)

    def read(self) -> JournalHead | None:
        """Return the head, ``None`` where none was ever written.

        Raises ChangedHeadError if it is not what was written; OSError if it cannot be read.
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

        Raises OSError if it cannot be written; the one before is still there.
        """
        nonce = self.random(primitives.NONCE_BYTES)
        write_durably(
            self.path, nonce + self.cipher.encrypt(nonce, join(number(mark.count), mark.chain), self._binding)
        )

    @property
    def _binding(self) -> bytes:
        return join(b"carnet journal head 1", self.owner)


_TABLE: Final = """CREATE TABLE entries (
        number INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        nonce BLOB NOT NULL,
        sealed BLOB NOT NULL
    ) STRICT
"""
"""As SQLite keeps it: whatever else a database holds, a trigger or looser columns, is not a journal's."""
_ENTRIES: Final = """
    SELECT number, CAST(kind AS BLOB), CAST(nonce AS BLOB), CAST(sealed AS BLOB) FROM entries ORDER BY number
"""
_INSERT: Final = "INSERT INTO entries VALUES (?, ?, ?, ?)"
_APPLICATION: Final = 0x43524E54
"""What tells a journal of Carnet from any other SQLite database: "CRNT"."""
BESIDE: Final = ("", "-wal", "-shm", "-journal", SUFFIX)
"""What the names of a journal's files end in: its own, and of those that SQLite and the head need beside it."""

RETAINED_KINDS: Final = frozenset({"accepted", "returned", "ledger", "lost"})
"""The kinds of which every entry counts for good; of any other kind only the last does."""
CHECKPOINT: Final = "checkpoint"
"""The kind of the entry that stands for all before it."""
MOST_ENTRIES: Final = 64
"""How many entries are kept one by one before they are written as a checkpoint; more, where the last one has more."""
MOST_GROWTH: Final = 4 << 20
"""How many bytes may follow a checkpoint, beside three times as many as it has, before the next is written."""

_FOREIGN: Final = "another job wrote it, or it was sealed under another key (give --journal-key)"
_Row = tuple[int, bytes, bytes, bytes]


class JournalError(CarnetError):
    """A journal that cannot be used: foreign, locked, damaged, or on a disk that is full."""

    kind: ClassVar[str] = "journal"
    exit_code: ClassVar[ExitCode] = ExitCode.USAGE


class JournalStore(Protocol):
    """What a role remembers, on a disk or elsewhere, from before it acts on it."""

    def append(self, kind: str, payload: bytes) -> None:
        """Remember an entry, and return once it cannot be lost."""

    def last(self, kind: str) -> bytes | None:
        """Return the last entry of a kind."""

    def all(self, kind: str) -> list[bytes]:
        """Return every entry of a kind that is kept whole, in order."""


class Journal:
    """A journal of one role in one job.

    ``owner`` names both; a journal that another owner wrote, or another key seals, is refused. So is one that is not
    whole.
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

        Raises:
            JournalError: it cannot be written. Nothing was, or only its head was not: then the entry is there, and the
                next one waits for its head.
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
        """Return how many entries were written, whether or not they still count."""
        return self._mark.count

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """Say in one line what could not be written; what was begun and not committed is taken back."""
        try:
            yield
        except (sqlite3.Error, UnicodeDecodeError, OSError) as error:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise JournalError(f"cannot write to the journal {self._path}: {error}") from error

    def _compact(self) -> None:
        """Write what still counts as one checkpoint, which takes the number of the last entry it stands for."""
        place, kept = self._mark.count - 1, list(_counting(self._entries))
        # What a checkpoint says: where the chain that it replaces ended, and the entries that still count
        payload = join(self._mark.chain, *(part for kind, payload in kept for part in (kind.encode("utf-8"), payload)))
        nonce, sealed = self._sealed(place, CHECKPOINT, b"", payload)
        self._database.execute("BEGIN IMMEDIATE")
        self._database.execute("DELETE FROM entries")
        self._database.execute(_INSERT, (place, CHECKPOINT, nonce, sealed))
        self._database.execute("COMMIT")
        self._begin_anew(kept, JournalHead(place + 1, primitives.sha384(sealed)), self._mark, len(payload))
        self._write_head()

    def _write_head(self) -> None:
        """Write the head, unless it is on disk already: no entry follows one whose head is not."""
        if self._headed != self._mark:
            self._head.write(self._mark)
            self._headed = self._mark

    def _sealed(self, place: int, kind: str, before: bytes, payload: bytes) -> tuple[bytes, bytes]:
        nonce = self._random(primitives.NONCE_BYTES)
        return nonce, self._cipher.encrypt(nonce, payload, self._binding(place, kind, before))

    def _take(self, row: _Row) -> None:
        """Take a row: the first may be a checkpoint, every other is the entry after the one before."""
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
        """Go on from a checkpoint of ``size`` bytes: room for as many entries, and for three times as many bytes."""
        self._entries, self._rows, self._room = kept, 0, MOST_GROWTH + 4 * size
        self._most = max(MOST_ENTRIES, len(kept))
        self._follow(after, before, size)

    def _checked_head(self) -> JournalHead | None:
        """Return the head, and insist that it is the journal's, or one step behind, as a crash may leave it.

        Raises JournalError if it is not.
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
    """Yield the entries that still count, in their order."""
    last = {kind: place for place, (kind, _) in enumerate(entries)}
    for place, (kind, payload) in enumerate(entries):
        if kind in RETAINED_KINDS or last[kind] == place:
            yield kind, payload


def _make_private(path: Path) -> None:
    """Let nobody but its owner read a journal, whether it is new or was made by somebody less careful.

    An existing database is never opened here: to close it would let go of the lock that this process may have on it.
    """
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY))
    except FileExistsError:
        for each in (path.with_name(path.name + suffix) for suffix in BESIDE):
            if each.is_file() and stat.S_IMODE(each.stat().st_mode) & ~OWNER_ONLY:
                each.chmod(OWNER_ONLY)


def _opened(path: Path) -> tuple[sqlite3.Connection, list[_Row]]:
    """Return a journal's database, nobody else's from now on, and its rows."""
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


_KEY_CHARACTERS: Final = 2 * primitives.KEY_BYTES + 2
"""Characters of a key's file: its hexadecimal digits and the end of the line."""
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


def load_or_make_key(path: Path, journals: Iterable[Path]) -> bytes:
    """Return the key in a file, which is made if it is not there and nothing was sealed yet.

    ``journals`` are those that it seals, if there are any.

    Raises JournalError if there is no whole key and none may be made, or others can read it.
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
        return  # another run was first, with a whole key
    except OSError as error:
        raise JournalError(f"cannot write a key to {path}: {error.strerror}") from error


def _parsed_key(path: Path, text: bytes) -> bytes:
    """Return the key that a text is.

    Raises JournalError if it is none; an earlier version of Carnet left an empty one when it was stopped.
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
