"""The journal: what a role has to remember, on disk before it acts, sealed with a key that is not.

Entries are sealed one by one and chained: each is bound to its number, its kind and the entry before it, so that none
can be changed, moved or left out in the middle. What cannot be told is an older journal put back whole; so nothing in
a journal ever continues a session, a key or a counter. A role that starts from its journal opens new ones.

Source: SQLite, Write-Ahead Logging, and PRAGMA synchronous=FULL; RFC 8452 (a repeated nonce costs little).
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import ClassVar, Final

from carnet_ref.crypto import NONCE_BYTES, AesGcmSiv, AuthenticationError, CryptoError, Random, sha384
from carnet_ref.fields import join, number
from carnet_spec.errors import CarnetError

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
_APPLICATION: Final = 0x43524E54
"""What tells a journal of Carnet from any other SQLite database: "CRNT"."""

_FOREIGN: Final = "another job wrote it, or it was sealed under another key (give --journal-key)"


class JournalError(CarnetError):
    """A journal that cannot be used: foreign, locked, damaged, or on a disk that is full."""

    kind: ClassVar[str] = "journal"
    exit_code: ClassVar[int] = 2


class Journal:
    """A journal of one role in one job.

    ``owner`` names both; a journal that another owner wrote, or another key seals, is refused.
    """

    def __init__(self, path: Path, key: bytes, owner: bytes, random: Random) -> None:
        self._path = path
        self._cipher = AesGcmSiv(key)
        self._random = random
        self._owner = owner
        try:
            self._database, rows = _opened(path)
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise JournalError(f"{path} is no journal that can be used: {error}") from error
        self._entries: list[tuple[str, bytes]] = []
        self._chain = b""
        for row in rows:
            self._take(row)

    def append(self, kind: str, payload: bytes) -> None:
        """Write an entry, and return once it is on disk.

        Raises:
            JournalError: it cannot be written; nothing was.
        """
        place, nonce = len(self._entries), self._random(NONCE_BYTES)
        sealed = self._cipher.encrypt(nonce, payload, self._binding(place, kind, self._chain))
        try:
            self._database.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", (place, kind, nonce, sealed))
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise JournalError(f"cannot write to the journal {self._path}: {error}") from error
        self._entries.append((kind, payload))
        self._chain = sha384(sealed)

    def last(self, kind: str) -> bytes | None:
        """Return the last entry of a kind."""
        return next((payload for each, payload in reversed(self._entries) if each == kind), None)

    def all(self, kind: str) -> list[bytes]:
        """Return every entry of a kind, in order."""
        return [payload for each, payload in self._entries if each == kind]

    def __len__(self) -> int:
        """Return how many entries there are."""
        return len(self._entries)

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()

    def _take(self, row: tuple[int, bytes, bytes, bytes]) -> None:
        found, kind, nonce, sealed = row
        place = len(self._entries)
        try:
            if found != place or None in row:
                raise AuthenticationError("entry")
            name = kind.decode("utf-8")
            self._entries.append((name, self._cipher.decrypt(nonce, sealed, self._binding(place, name, self._chain))))
        except (CryptoError, UnicodeDecodeError) as error:
            self._database.close()
            why = _FOREIGN if place == 0 else f"entry {place} was changed"
            raise JournalError(f"the journal {self._path} is refused: {why}") from error
        self._chain = sha384(sealed)

    def _binding(self, place: int, kind: str, before: bytes) -> bytes:
        return join(b"carnet journal 1", self._owner, number(place), kind.encode("utf-8"), before)


def _opened(path: Path) -> tuple[sqlite3.Connection, list[tuple[int, bytes, bytes, bytes]]]:
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
