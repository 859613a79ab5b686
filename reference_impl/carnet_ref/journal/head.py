"""The head of a journal: how many entries it has and where their chain ends, in a file of its own beside it.

A chain of entries shows that none was changed or left out before another. That the last ones are gone shows only
where something else says how many there were: with a write-ahead log that is cut short, a database is a whole and older
one. So every entry is followed by a new head, written durably before anything rests on the entry. Between the two the
journal is one entry ahead of its head, which is what a crash there leaves; by more it cannot be ahead, and it is never
behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from carnet_command.files import write_durably
from carnet_ref.crypto.primitives import NONCE_BYTES, AesGcmSiv, CryptoError, Random
from carnet_ref.wire.fields import join, number, split, to_number
from carnet_ref.wire.reader import MalformedError

SUFFIX: Final = "-head"
LARGEST: Final = 4096
"""More bytes than a head ever has."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A place in a journal: how many entries there are up to it, and the digest that their chain ends in."""

    count: int = 0
    chain: bytes = b""


class ChangedHeadError(Exception):
    """A head that this owner did not write under this key."""


@dataclass(frozen=True, slots=True)
class HeadFile:
    """The file that keeps the head of one journal, sealed like its entries and bound to the same owner."""

    journal: Path
    cipher: AesGcmSiv
    owner: bytes
    random: Random

    @property
    def path(self) -> Path:
        """Where it is: beside the journal."""
        return self.journal.with_name(self.journal.name + SUFFIX)

    def read(self) -> Mark | None:
        """Return the head, ``None`` where none was ever written.

        Raises:
            ChangedHeadError: it is not what was written.
            OSError: it cannot be read.
        """
        try:
            with self.path.open("rb") as file:
                data = file.read(LARGEST)
        except FileNotFoundError:
            return None
        try:
            opened = self.cipher.decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], self._binding)
            count, chain = split(opened, "head", "count", "chain")
            return Mark(to_number(count, "head", "count"), chain)
        except (CryptoError, MalformedError) as error:
            raise ChangedHeadError from error

    def write(self, mark: Mark) -> None:
        """Write the head, and return once it is on disk.

        Raises:
            OSError: it cannot be written; the one before is still there.
        """
        nonce = self.random(NONCE_BYTES)
        write_durably(
            self.path, nonce + self.cipher.encrypt(nonce, join(number(mark.count), mark.chain), self._binding)
        )

    @property
    def _binding(self) -> bytes:
        return join(b"carnet journal head 1", self.owner)
