"""What the orchestrator writes down of the model: how far it is, which version it keeps, and what each was made of."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from carnet_ref.crypto.primitives import SHA384_BYTES, sha384
from carnet_ref.wire import MalformedError, join, split


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the job is: rounds trained, the loss of each, the bytes that holders provided, and the latest version.

    ``latest`` is the SHA-384 of the model that the last round ended with.
    """

    rounds: int
    losses: tuple[float, ...]
    provisioned: int
    latest: bytes

    @property
    def digest(self) -> str:
        """The digest of the latest version, in hexadecimal."""
        return self.latest.hex()

    def further(self, loss: float, provided: int, latest: bytes) -> Progress:
        """Return the progress after one more round."""
        return Progress(self.rounds + 1, (*self.losses, loss), self.provisioned + provided, latest)


@dataclass(frozen=True, slots=True)
class Kept:
    """The version that is kept at home, and how far the job was with it.

    ``returns`` says how many epochs were taken back until then: what they brought is in it, or was recorded as lost.
    """

    progress: Progress
    model: bytes = field(repr=False)
    returns: int = 0

    @classmethod
    def first(cls, model: bytes) -> Kept:
        """Return what is kept before anything was trained."""
        return cls(Progress(0, (), 0, sha384(model)), model)

    def encode(self) -> bytes:
        """Return the bytes for the journal."""
        progress = self.progress
        numbers = {
            "rounds": progress.rounds,
            "losses": progress.losses,
            "provisioned": progress.provisioned,
            "latest": progress.digest,
            "returns": self.returns,
        }
        return join(json.dumps(numbers).encode("ascii"), self.model)

    @classmethod
    def parse(cls, data: bytes) -> Kept:
        """Return what `encode` wrote.

        Raises:
            MalformedError: it wrote something else.
        """
        numbers, model = split(data, "what is kept", "numbers", "model")
        try:
            said = json.loads(numbers)
            counts = [said[name] for name in ("rounds", "provisioned", "returns")]
            losses, latest = tuple(map(float, said["losses"])), bytes.fromhex(said["latest"])
            if any(type(count) is not int or count < 0 for count in counts) or len(latest) != SHA384_BYTES:
                raise ValueError("no counts, or no digest")
            if not isinstance(said["losses"], list) or len(losses) != counts[0]:
                raise ValueError("another number of losses than of rounds")
            return cls(Progress(counts[0], losses, counts[1], latest), model, counts[2])
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
            raise MalformedError("what is kept", "rounds, losses, bytes and a digest", repr(numbers[:40])) from error


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the ledger: whose epoch led from which version of the model to which."""

    holder: str
    epoch: str
    parent: str
    model: str

    def encode(self) -> bytes:
        """Return the bytes for the journal."""
        return json.dumps(self.to_json()).encode("ascii")

    def to_json(self) -> dict[str, str]:
        """Return plain values."""
        return {"holder": self.holder, "epoch": self.epoch, "parent": self.parent, "model": self.model}

    @classmethod
    def parse(cls, data: bytes) -> Entry:
        """Return what `encode` wrote.

        Raises:
            MalformedError: it wrote something else.
        """
        try:
            said = json.loads(data)
            fields = [said[name] for name in ("holder", "epoch", "parent", "model")]
            if not all(isinstance(each, str) for each in fields):
                raise ValueError("a field that is no text")
            return cls(*fields)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise MalformedError("ledger", "holder, epoch, parent and model", repr(data[:40])) from error


@dataclass(frozen=True, slots=True)
class Books:
    """The ledger, the epochs that were taken back since a version was kept last, and those that were lost.

    ``returns`` counts every epoch that was ever taken back.
    """

    ledger: tuple[Entry, ...] = ()
    unsecured: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    returns: int = 0

    @classmethod
    def of(cls, ledger: Iterable[bytes], returned: Iterable[bytes], lost: Iterable[bytes], kept: Kept) -> Books:
        """Return the books that a journal's entries tell.

        Raises:
            MalformedError: no orchestrator wrote them.
        """
        epochs = [each.decode("utf-8", "replace") for each in returned]
        gone = tuple(each.decode("utf-8", "replace") for each in lost)
        since = tuple(epoch for epoch in epochs[kept.returns :] if epoch not in gone)
        return cls(tuple(map(Entry.parse, ledger)), since, gone, len(epochs))

    def returned(self, epoch: str) -> Books:
        """Return the books after an epoch was taken back."""
        return replace(self, unsecured=(*self.unsecured, epoch), returns=self.returns + 1)

    def entered(self, entry: Entry) -> Books:
        """Return the books with one more line in the ledger."""
        return replace(self, ledger=(*self.ledger, entry))

    def secured(self) -> Books:
        """Return the books after a version was kept."""
        return replace(self, unsecured=())

    def given_up(self) -> Books:
        """Return the books after a session was lost, with all that was returned since a version was kept last."""
        return replace(self, unsecured=(), lost=(*self.lost, *self.unsecured))


NO_BOOKS: Final = Books()
"""The books of a job that was never begun."""
