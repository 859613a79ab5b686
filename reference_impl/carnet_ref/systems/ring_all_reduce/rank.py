"""A rank: adds its own contribution to partial sums and keeps whole ones, or raises the alarm."""

from __future__ import annotations

from typing import NoReturn

import numpy as np
import numpy.typing as npt

from carnet_ref.crypto.primitives import AuthenticationError
from carnet_ref.marks import enforces
from carnet_ref.systems.ring_all_reduce.errors import AlarmError, TurnError
from carnet_ref.systems.ring_all_reduce.messages import Label, seal, unseal
from carnet_ref.systems.ring_all_reduce.schedule import Phase, receives, sends

Vector = npt.NDArray[np.float32]
_WIRE = np.dtype("<f4")


class Rank:
    """One rank, with the keys of its two hops."""

    def __init__(self, place: int, ranks: int, outgoing: bytes, incoming: bytes) -> None:
        self._place, self._ranks = place, ranks
        self._check_hops(outgoing, incoming)
        self._outgoing, self._incoming = outgoing, incoming
        self._latest = -1
        self._chunks: list[Vector] = []
        self._added: set[int] = set()
        self._settled: set[int] = set()
        self._spent: set[tuple[Phase, int]] = set()
        self._alarm = ""

    @enforces("REQ-SETUP-01", "hop-key")
    def _check_hops(self, outgoing: bytes, incoming: bytes) -> None:
        if self._ranks < 2:
            raise TurnError(self._place, "a ring has two ranks or more")
        if outgoing == incoming:
            raise TurnError(self._place, "one key for both of its hops")

    @enforces("REQ-SEND-03", "REQ-REDUCE-01", "iteration-once")
    def begin(self, iteration: int, gradients: Vector, buckets: int = 1) -> None:
        """Begin an iteration with this rank's contribution, cut into as many chunks as ranks in each bucket.

        Raises:
            TurnError: the number of the iteration is not larger than the last one, or there is nothing to add.
            AlarmError: the rank raised the alarm before.
        """
        self._heed_alarm()
        if iteration <= self._latest:
            raise TurnError(self._place, f"iteration {iteration} was begun already")
        if buckets < 1 or gradients.ndim != 1:
            raise TurnError(self._place, f"{buckets} buckets of gradients in {gradients.ndim} dimensions")
        self._latest = iteration
        self._chunks = np.array_split(gradients.astype(np.float32), buckets * self._ranks)
        self._spent = set()
        self._added = {chunk for chunk in range(len(self._chunks)) if chunk % self._ranks == self._place}
        self._settled = set()

    @enforces("REQ-SEND-02", "seal-once")
    def send(self, bucket: int, phase: Phase, step: int) -> bytes:
        """Return the message for the next rank.

        Raises:
            TurnError: it was sealed before, or what belongs in it has not come.
            AlarmError: the rank raised the alarm before.
        """
        self._heed_alarm()
        chunk = sends(self._place, self._ranks, bucket, phase, step)
        if (phase, chunk) in self._spent:
            raise TurnError(self._place, f"chunk {chunk} was sealed already in this phase")
        self._check_ready(phase, chunk)
        self._spent.add((phase, chunk))
        label = Label(self._latest, phase, step, chunk)
        return seal(self._outgoing, label.nonce, self._bound(label), self._chunks[chunk].astype(_WIRE).tobytes())

    @enforces("REQ-REDUCE-04", "wait-for-sum")
    def _check_ready(self, phase: Phase, chunk: int) -> None:
        ready = self._added if phase is Phase.REDUCE else self._settled
        if chunk not in ready:
            raise TurnError(self._place, f"chunk {chunk} has not come")

    def receive(self, bucket: int, phase: Phase, step: int, message: bytes) -> None:
        """Take the message of the rank before: add to the partial sum in it, or keep the sum.

        Raises:
            TurnError: the chunk came before.
            AlarmError: the tag does not verify for what is expected; or the rank raised the alarm before.
        """
        self._heed_alarm()
        label = Label(self._latest, phase, step, receives(self._place, self._ranks, bucket, phase, step))
        self._check_first(label)
        came = self._verified(label, message)
        if phase is Phase.REDUCE:
            self._add(label.chunk, came)
        else:
            self._chunks[label.chunk] = came
            self._settled.add(label.chunk)

    @enforces("REQ-REDUCE-03", "add-once")
    def _check_first(self, label: Label) -> None:
        if label.chunk in (self._added if label.phase is Phase.REDUCE else self._settled):
            raise TurnError(self._place, f"{label} came already")

    @enforces("REQ-REDUCE-02", "REQ-GATHER-01", "verify-first")
    def _verified(self, label: Label, message: bytes) -> Vector:
        try:
            vector = unseal(self._incoming, self._bound(label), message)
        except AuthenticationError as error:
            self.raise_alarm(f"{label}: {error}")
        return self._parsed(label, vector)

    def _parsed(self, label: Label, vector: bytes) -> Vector:
        expected = self._chunks[label.chunk].size * _WIRE.itemsize
        if len(vector) != expected:
            self.raise_alarm(f"{label}: {len(vector)} bytes, and not {expected}")
        return np.frombuffer(vector, _WIRE).astype(np.float32)

    def _add(self, chunk: int, came: Vector) -> None:
        """Add what came to this rank's own; where the sum is whole by that, it is settled."""
        self._chunks[chunk] = came + self._chunks[chunk]
        self._added.add(chunk)
        if chunk % self._ranks == (self._place + 1) % self._ranks:
            self._settled.add(chunk)

    def finish(self) -> Vector:
        """Return the sum of all ranks' gradients.

        Raises:
            TurnError: the sum of some chunk is missing, or no iteration was begun.
            AlarmError: the rank raised the alarm before.
        """
        self._heed_alarm()
        if not self._chunks:
            raise TurnError(self._place, "no iteration was begun")
        self._check_whole()
        return np.concatenate(self._chunks)

    @enforces("REQ-GATHER-02", "whole-iteration")
    def _check_whole(self) -> None:
        missing = len(self._chunks) - len(self._settled)
        if missing:
            raise TurnError(self._place, f"the sums of {missing} of {len(self._chunks)} chunks are missing")

    @enforces("REQ-ALARM-01")
    def raise_alarm(self, reason: str) -> NoReturn:
        """Raise the alarm and drop what there is.

        Raises:
            AlarmError: always.
        """
        self._alarm = self._alarm or reason
        self._chunks = []
        raise AlarmError(self._place, self._alarm)

    @enforces("REQ-ALARM-02", "alarm-final")
    def _heed_alarm(self) -> None:
        if self._alarm:
            raise AlarmError(self._place, self._alarm)

    def _bound(self, label: Label) -> bytes:
        return label.bound
