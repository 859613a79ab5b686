"""Messages: what a tag binds, and sealing and opening one vector under the key of one hop.

The IV is sent with the message. A receiver opens it with the label that it expects, and so takes nothing that was
sealed for another iteration, phase, sub-step or chunk.
"""

from __future__ import annotations

from dataclasses import dataclass

from carnet_ref.crypto.primitives import NONCE_BYTES, TAG_BYTES, AesGcm, AuthenticationError
from carnet_ref.marks import enforces
from carnet_ref.systems.ring_all_reduce.schedule import Phase
from carnet_ref.wire import join, number

MAX_ITERATIONS = 2**56
MAX_CHUNKS = 2**32
_LABEL = b"carnet ring all-reduce vector"


@dataclass(frozen=True, slots=True)
class Label:
    """Where a message belongs."""

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
        """The IV: seven bytes of the iteration, one of the phase and four of the chunk."""
        return self.iteration.to_bytes(7, "big") + bytes([self.phase.value]) + self.chunk.to_bytes(4, "big")

    @property
    @enforces("REQ-SEND-01", "bound-iteration", "bound-phase", "bound-step", "bound-chunk")
    def bound(self) -> bytes:
        """The associated data: iteration, phase, sub-step and chunk."""
        return join(_LABEL, *map(number, (self.iteration, self.phase.value, self.step, self.chunk)))


def seal(key: bytes, nonce: bytes, bound: bytes, vector: bytes) -> bytes:
    """Return IV, ciphertext and tag of a vector."""
    return nonce + AesGcm(key).encrypt(nonce, vector, bound)


def unseal(key: bytes, bound: bytes, message: bytes) -> bytes:
    """Return the vector of a message.

    Raises:
        AuthenticationError: the tag does not verify for what is expected, or there is none.
    """
    if len(message) < NONCE_BYTES + TAG_BYTES:
        raise AuthenticationError(f"a message of {len(message)} bytes")
    return AesGcm(key).decrypt(message[:NONCE_BYTES], message[NONCE_BYTES:], bound)
