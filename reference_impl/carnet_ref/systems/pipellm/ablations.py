"""Ablations of the parties: for each defence, a subclass without what it demands."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, NoReturn

from carnet_ref.crypto.primitives import TAG_BYTES, AesGcm
from carnet_ref.systems.ablation import leaving_out
from carnet_ref.systems.pipellm.channel import NOP, SCRATCH, Channel, ChannelError, Gpu, Keys, Message, encrypt, iv
from carnet_ref.systems.pipellm.runtime import AheadRuntime, FlushingRuntime, Guess, Memory, Predictor, Runtime, Tactics


class GivesAgain(Channel):
    """Ablation: an end of a channel is given out as often as it is asked for."""

    def _take(self, end: str) -> Keys:
        return self._keys


class SharedStaging(Runtime):
    """Ablation: guesses are encrypted into memory that the host sees."""

    def __init__(self, keys: Keys, memory: Memory, predictor: Predictor, tactics: Tactics | None = None) -> None:
        super().__init__(keys, memory, predictor, tactics)
        self._shared: dict[int, bytes] = {}

    @property
    def visible_guesses(self) -> Mapping[int, bytes]:
        """The ciphertexts of guesses that the host sees, by IV."""
        return self._shared

    def _stage(self, count: int, guess: Guess) -> None:
        self._shared[count] = guess.ciphertext
        super()._stage(count, guess)


class AnyOrder(Runtime):
    """Ablation: copies are sent in any order."""

    wanted: int  #: The copy that is sent next.

    def send_next(self) -> list[Message]:
        """Send the wanted copy before all others."""
        places = [place for place, (copy, _) in enumerate(self._pending) if copy == self.wanted]
        self._pending.rotate(-sum(places))
        return super().send_next()


class SendsWhatIsThere(Runtime):
    """Ablation: the runtime does not check which page it staged."""

    def _is_of(self, count: int, page: int) -> bool:
        return count in self._staged


class SendsBehind(Runtime):
    """Ablation: a guess whose IV has passed is kept and sent."""

    def _in_reach(self) -> range:
        return range(self._due + self._tactics.reach + 1)

    def _message(self, ciphertext: bytes, copy: int) -> Message:
        kept = dict(self._staged)
        message = super()._message(ciphertext, copy)
        self._staged = kept
        return message


class NeverPads(Runtime):
    """Ablation: a guess is sent although the GPU's counter has not reached its IV."""

    def _pad(self, count: int) -> Iterator[Message]:
        yield from ()


def _leaving_the_iv(step: str) -> type[Runtime]:
    """Return a kind that thinks that what a step encrypts leaves its IV to the next message."""

    def leave(self: Runtime, *args: int) -> Message:
        due, staged = self._due, dict(self._staged)
        message: Message = getattr(super(kind, self), step)(*args)
        self._due, self._staged = due, staged
        return message

    kind = type("Runtime", (Runtime,), {step: leave})
    return kind


class PadsOverTheLast(Runtime):
    """Ablation: without scratch memory, a NOP overwrites the destination of the last copy."""

    def _nop(self) -> Message:
        return self._message(encrypt(self._keys, self._due, NOP), self._asked - 1 if self._asked else SCRATCH)


class LaunchesAtOnce(AheadRuntime):
    """Ablation: kernels are launched on any stream, without waiting for copies."""

    def launch(self, copy: int, counter: int) -> None:
        """Let a kernel read at any time."""
        del copy, counter


class EncryptsAgain(FlushingRuntime):
    """Ablation: the runtime forgets the IVs that it used for guesses."""

    _guess = Runtime._guess
    _serve = Runtime._serve
    _nop = Runtime._nop


@dataclass(frozen=True, slots=True)
class AddressedMessage(Message):
    """A message with unauthenticated statements of the host about it."""

    iv: int
    number: int


class TakesAnyIv(Gpu):
    """Ablation: the GPU decrypts under the IV that the host names."""

    def _iv(self, message: Message) -> int:
        return message.iv if isinstance(message, AddressedMessage) else super()._iv(message)


class TakesAnyCommand(Gpu):
    """Ablation: the GPU accepts a command under the number that the host names."""

    def _number(self, message: Message) -> int:
        return message.number if isinstance(message, AddressedMessage) else super()._number(message)


class TakesAnyBytes(Gpu):
    """Ablation: the GPU decrypts without checking the tag."""

    def _block(self, count: int, ciphertext: bytes) -> bytes:
        known = AesGcm(self._keys.blocks).encrypt(iv(count), bytes(len(ciphertext) - TAG_BYTES))
        return xor_ciphertexts(known, ciphertext)


class GoesOn(Gpu):
    """Ablation: the GPU skips a message that does not verify, and continues."""

    def _end(self, reason: str) -> NoReturn:
        with suppress(ChannelError):
            super()._end(reason)
        self._ended = False
        self._counter += 1
        raise ChannelError(self._counter - 1, reason)


CHANNELS: Final[Mapping[str, type[Channel]]] = {"own-key": GivesAgain, "new-key": GivesAgain}
RUNTIMES: Final[Mapping[str, type[Runtime]]] = {
    "write-invalidates": leaving_out(Runtime, "_drop"),
    "write-waits": leaving_out(Runtime, "_refuse_while_pending"),
    "private-staging": SharedStaging,
    "in-order": AnyOrder,
    "page-checked": SendsWhatIsThere,
    "behind-anew": SendsBehind,
    "pad-first": NeverPads,
    "miss-advances": _leaving_the_iv("_encrypt_now"),
    "pad-advances": _leaving_the_iv("_nop"),
    "pad-discarded": PadsOverTheLast,
    "encrypt-once": EncryptsAgain,
    "stream-order": LaunchesAtOnce,
}
GPUS: Final[Mapping[str, type[Gpu]]] = {
    "implicit-counter": TakesAnyIv,
    "tag-checked": TakesAnyBytes,
    "command-counted": TakesAnyCommand,
    "fail-closed": GoesOn,
}


def xor_ciphertexts(one: bytes, two: bytes) -> bytes:
    """Return the XOR of two ciphertexts without tags: the XOR of the plaintexts, if the IV is the same."""
    return bytes(a ^ b for a, b in zip(one[:-TAG_BYTES], two[:-TAG_BYTES], strict=False))
