"""A rank: it adds its contribution to partial sums, keeps complete sums, or raises the alarm.

A bucket of gradients has as many chunks as there are ranks, and each chunk begins at the rank of its number. Chunks of
all buckets are numbered through. The IV is sent with a message. A receiver opens it with the label that it expects, and
so takes nothing that was sealed for another iteration, phase, sub-step or chunk.

Source: Patarasuk and Yuan, Bandwidth optimal all-reduce algorithms for clusters of workstations (2009).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import NoReturn

import numpy as np
import numpy.typing as npt

from carnet_ref.crypto.primitives import NONCE_BYTES, TAG_BYTES, AesGcm, AuthenticationError
from carnet_ref.marks import enforces
from carnet_ref.systems.ring_all_reduce.exchange import AlarmError, TurnError
from carnet_ref.wire import join, number


class Phase(Enum):
    """A phase of all-reduce: scatter-reduce or all-gather."""

    REDUCE = 0
    GATHER = 1


def steps(ranks: int) -> range:
    """Return the sub-steps of each phase; there is one fewer than ranks."""
    return range(ranks - 1)


def turns(ranks: int, buckets: int) -> Iterator[tuple[int, Phase, int]]:
    """Yield bucket, phase and sub-step in each rank's order."""
    for bucket in range(buckets):
        for phase in Phase:
            for step in steps(ranks):
                yield bucket, phase, step


def sends(rank: int, ranks: int, bucket: int, phase: Phase, step: int) -> int:
    """Return the number of the chunk that a rank sends."""
    begins = rank if phase is Phase.REDUCE else rank + 1
    return bucket * ranks + (begins - step) % ranks


def receives(rank: int, ranks: int, bucket: int, phase: Phase, step: int) -> int:
    """Return the number of the chunk that a rank receives: the one that the previous rank sends."""
    return sends((rank - 1) % ranks, ranks, bucket, phase, step)


MAX_ITERATIONS = 2**56
MAX_CHUNKS = 2**32
_LABEL = b"carnet ring all-reduce vector"


@dataclass(frozen=True, slots=True)
class Label:
    """The position of a message: iteration, phase, sub-step and chunk."""

    iteration: int
    phase: Phase
    step: int
    chunk: int

    def __post_init__(self) -> None:
        if not (0 <= self.iteration < MAX_ITERATIONS and self.step >= 0 and 0 <= self.chunk < MAX_CHUNKS):
            raise ValueError(f"no sub-step {self.step} of chunk {self.chunk} in iteration {self.iteration}")

    def __str__(self) -> str:
        phase = "reduce-scatter" if self.phase is Phase.REDUCE else "all-gather"
        return f"chunk {self.chunk}, sub-step {self.step} of {phase} in iteration {self.iteration}"

    @property
    def nonce(self) -> bytes:
        """The IV: seven bytes for the iteration, one for the phase and four for the chunk."""
        return self.iteration.to_bytes(7, "big") + bytes([self.phase.value]) + self.chunk.to_bytes(4, "big")

    @property
    @enforces("REQ-SEND-01", "bound-iteration", "bound-phase", "bound-step", "bound-chunk")
    def associated_data(self) -> bytes:
        """The associated data: iteration, phase, sub-step and chunk."""
        return join(_LABEL, *map(number, (self.iteration, self.phase.value, self.step, self.chunk)))


def seal(key: bytes, nonce: bytes, bound: bytes, vector: bytes) -> bytes:
    """Return IV, ciphertext and tag of a vector."""
    return nonce + AesGcm(key).encrypt(nonce, vector, bound)


def unseal(key: bytes, bound: bytes, message: bytes) -> bytes:
    """Return the vector of a message.

    Raises AuthenticationError if the tag does not verify for what is expected, or there is none.
    """
    if len(message) < NONCE_BYTES + TAG_BYTES:
        raise AuthenticationError(f"a message of {len(message)} bytes")
    return AesGcm(key).decrypt(message[:NONCE_BYTES], message[NONCE_BYTES:], bound)


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

    @enforces("REQ-SEND-03", "REQ-REDUCE-01", "LIVE-SUM-BEGUN", "iteration-once")
    def begin(self, iteration: int, gradients: Vector, buckets: int = 1) -> None:
        """Begin an iteration with this rank's gradients, cut into as many chunks per bucket as there are ranks.

        Raises TurnError if the number of the iteration is not larger than the last one, or there is nothing to add;
        AlarmError if the rank raised the alarm before.
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

        Raises TurnError if it was sealed before, or what belongs in it has not come; AlarmError if the rank raised the
        alarm before.
        """
        self._heed_alarm()
        chunk = sends(self._place, self._ranks, bucket, phase, step)
        if (phase, chunk) in self._spent:
            raise TurnError(self._place, f"chunk {chunk} was sealed already in this phase")
        self._check_ready(phase, chunk)
        self._spent.add((phase, chunk))
        label = Label(self._latest, phase, step, chunk)
        return seal(
            self._outgoing, label.nonce, self._associated_data(label), self._chunks[chunk].astype(_WIRE).tobytes()
        )

    @enforces("REQ-REDUCE-04", "wait-for-sum")
    def _check_ready(self, phase: Phase, chunk: int) -> None:
        ready = self._added if phase is Phase.REDUCE else self._settled
        if chunk not in ready:
            raise TurnError(self._place, f"chunk {chunk} has not come")

    @enforces("LIVE-PARTIAL-SUM-PASSED-ON", "LIVE-SUM-PASSED-ON")
    def receive(self, bucket: int, phase: Phase, step: int, message: bytes) -> None:
        """Process the previous rank's message: add to its partial sum, or keep the complete sum.

        Raises TurnError if the chunk came before. Raises AlarmError if the tag does not verify for what is expected; or
        the rank raised the alarm before.
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
            vector = unseal(self._incoming, self._associated_data(label), message)
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

    @enforces("LIVE-FINISHED")
    def finish(self) -> Vector:
        """Return the sum of all ranks' gradients.

        Raises TurnError if the sum of some chunk is missing, or no iteration was begun; AlarmError if the rank raised
        the alarm before.
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

    @enforces("REQ-ALARM-01", "LIVE-RANK-ENDS")
    def raise_alarm(self, reason: str) -> NoReturn:
        """Raise the alarm, and discard all values. Raises AlarmError always."""
        self._alarm = self._alarm or reason
        self._chunks = []
        raise AlarmError(self._place, self._alarm)

    @enforces("REQ-ALARM-02", "alarm-final")
    def _heed_alarm(self) -> None:
        if self._alarm:
            raise AlarmError(self._place, self._alarm)

    def _associated_data(self, label: Label) -> bytes:
        return label.associated_data
