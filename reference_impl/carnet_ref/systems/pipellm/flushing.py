"""The runtime whose guesses wait in shared memory: what was guessed wrong is sent after all, to scratch memory."""

from __future__ import annotations

from itertools import count

from carnet_ref.marks import enforces
from carnet_ref.systems.pipellm.channel import NOP, SCRATCH, Keys, Message, encrypt, iv
from carnet_ref.systems.pipellm.memory import Memory
from carnet_ref.systems.pipellm.predictors import Predictor
from carnet_ref.systems.pipellm.runtime import Guess, Runtime, Tactics


class FlushingRuntime(Runtime):
    """The tenant's end of a channel on which the host sees guesses, and an IV encrypts once."""

    def __init__(self, keys: Keys, memory: Memory, predictor: Predictor, tactics: Tactics | None = None) -> None:
        super().__init__(keys, memory, predictor, tactics)
        self._spent: dict[int, bytes] = {}

    @property
    def shared(self) -> dict[int, bytes]:
        """What the host sees of guesses: ciphertexts, by the number of the message that they are for."""
        return dict(self._spent)

    @enforces("REQ-FLUSH-01")
    def _guess(self, count: int, page: int) -> None:
        """Leave an IV alone that encrypted something, even if that was dropped."""
        if count not in self._spent:
            super()._guess(count, page)

    def _stage(self, count: int, guess: Guess) -> None:
        self._spent[count] = guess.ciphertext
        self._staged[count] = guess

    @enforces("REQ-FLUSH-01")
    def _serve(self, copy: int, page: int) -> list[Message]:
        """Flush what was guessed wrong, before a page is encrypted anew under an IV that encrypted nothing."""
        if self._guessed(page) is not None:
            return super()._serve(copy, page)
        free = next(number for number in count(self._due) if number not in self._spent)
        iv(free)
        return [*self._pad(free), *super()._serve(copy, page)]

    @enforces("REQ-FLUSH-01")
    def _nop(self) -> Message:
        """Return what was encrypted ahead for this number, to be discarded; or a NOP, if nothing was."""
        flushed = self._spent.get(self._due)
        return self._message(encrypt(self._keys, self._due, NOP) if flushed is None else flushed, SCRATCH)
