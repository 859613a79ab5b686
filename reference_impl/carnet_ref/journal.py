"""The journal: what a role has to remember, on disk before it acts, sealed with a key that is not.

Entries are sealed one by one and chained: each is bound to its number, its kind and the entry before it, so that none
can be changed, moved or left out in the middle. What cannot be told is an older journal put back whole; so nothing in
a journal ever continues a session, a key or a counter. A role that starts from its journal opens new ones.

Source: SQLite, Write-Ahead Logging, and PRAGMA synchronous=FULL; RFC 8452 (a repeated nonce costs little).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final

from carnet_ref.crypto import NONCE_BYTES, AesGcmSiv, AuthenticationError, Random, sha384
from carnet_ref.fields import join, number
from carnet_spec.errors import CarnetError

_SCHEMA: Final = """
    CREATE TABLE IF NOT EXISTS entries (
        number INTEGER PRIMARY KEY,
        kind TEXT NOT NULL,
        nonce BLOB NOT NULL,
        sealed BLOB NOT NULL
    ) STRICT
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
            self._database = self._opened()
        except sqlite3.DatabaseError as error:
            raise JournalError(f"{path} is no journal that can be used: {error}") from error
        self._entries = list(self._read())
        self._chain = self._last_link()

    def append(self, kind: str, payload: bytes) -> None:
        """Write an entry, and return once it is on disk.

        Raises:
            JournalError: it cannot be written; nothing was.
        """
        place, nonce = len(self._entries), self._random(NONCE_BYTES)
        sealed = self._cipher.encrypt(nonce, payload, self._binding(place, kind, self._chain))
        try:
            self._database.execute("INSERT INTO entries VALUES (?, ?, ?, ?)", (place, kind, nonce, sealed))
        except sqlite3.DatabaseError as error:
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

    def _opened(self) -> sqlite3.Connection:
        database = sqlite3.connect(self._path, isolation_level=None, timeout=1.0)
        (application,) = database.execute("PRAGMA application_id").fetchone()
        (tables,) = database.execute("SELECT count(*) FROM sqlite_schema").fetchone()
        if tables and application != _APPLICATION:
            database.close()
            raise JournalError(f"{self._path} is a database of something else")
        database.execute("PRAGMA locking_mode=EXCLUSIVE")
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        database.execute(f"PRAGMA application_id={_APPLICATION}")
        database.execute(_SCHEMA)
        return database

    def _read(self) -> Iterator[tuple[str, bytes]]:
        self._chain = b""
        rows = self._database.execute("SELECT number, kind, nonce, sealed FROM entries ORDER BY number").fetchall()
        for place, (found, kind, nonce, sealed) in enumerate(rows):
            try:
                if found != place:
                    raise AuthenticationError("entry")
                yield kind, self._cipher.decrypt(nonce, sealed, self._binding(place, kind, self._chain))
            except AuthenticationError as error:
                self._database.close()
                why = _FOREIGN if place == 0 else f"entry {place} was changed"
                raise JournalError(f"the journal {self._path} is refused: {why}") from error
            self._chain = sha384(sealed)

    def _last_link(self) -> bytes:
        return self._chain

    def _binding(self, place: int, kind: str, before: bytes) -> bytes:
        return join(b"carnet journal 1", self._owner, number(place), kind.encode("utf-8"), before)
