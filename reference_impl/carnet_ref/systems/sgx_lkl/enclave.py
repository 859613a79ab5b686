"""The enclave: a library OS that queues an application's calls, and emits one frame per tick."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum

from carnet_ref.crypto.primitives import CryptoError
from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.devices import decrypt_message_unverified
from carnet_ref.systems.sgx_lkl import frames

FRAMES, ANSWERS, RESULT = b"carnet sgx-lkl frame", b"carnet sgx-lkl answer", b"carnet sgx-lkl result"


class Status(Enum):
    """The visible end of a run."""

    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of one run, one per direction."""

    out: bytes
    back: bytes


@dataclass(frozen=True, slots=True)
class End:
    """The end of a run: its status and its sealed result."""

    status: Status
    result: bytes = field(repr=False)


class Enclave:
    """One run of an application.

    Args:
        shape: what is public of the run.
        keys: shared with who stands behind the host: the disk's owner, or another trusted node.
        checks: all, unless the design is weakened.
        filled: operations whose turns have dummies in any design.
        order: where the disk has its blocks.
    """

    def __init__(
        self,
        shape: frames.Shape,
        keys: Keys,
        checks: Checks = EVERY,
        filled: frozenset[frames.Operation] = frozenset(),
        order: Callable[[int], int] = int,
    ) -> None:
        self.shape, self._keys, self._checks = shape, keys, checks
        self._filled, self._order = filled, order
        self._sealer = frames.Sealer(keys.out, FRAMES, checks)
        self.carried: dict[int, frames.Call | None] = {}
        self._answered: set[int] = set()
        self.waiting: list[frames.Call] = []
        self.taken: list[tuple[frames.Call, bytes]] = []
        self.failed = self.over = False

    def ask(self, call: frames.Call) -> None:
        """Queue a call. Raises ShapeError if the disk does not have its block."""
        if not 0 <= call.block < self.shape.blocks:
            raise frames.ShapeError(f"no block {call.block} of {self.shape.blocks}")
        self.waiting += frames.pieces(call, self.shape, self._checks)

    @enforces("REQ-ORDER-01", "REQ-ADDRESS-01", "fixed-order", "fixed-scan")
    def has_turn(self, tick: int, call: frames.Call) -> bool:
        """Whether the schedule permits a call in a tick, by its operation and block."""
        ordered = call.operation is self.shape.turn(tick) or not self._checks.insist_on("fixed-order")
        swept = call.block == self.shape.sweep(tick) or not self._checks.insist_on("fixed-scan")
        return ordered and swept

    def due(self, tick: int) -> frames.Call | None:
        """Return the first queued call that is permitted in a tick and not in flight, or None."""
        return next((call for call in self.waiting if self.may_emit(tick, call)), None)

    @property
    def on_the_way(self) -> list[frames.Call]:
        """The calls in unanswered frames."""
        return [call for tick, call in self.carried.items() if call is not None and tick not in self._answered]

    @enforces("REQ-COUNT-01", "REQ-COUNT-02", "CLAIM-COUNT", "CLAIM-KEPT", "dummy-calls")
    def may_emit(self, tick: int, call: frames.Call | None) -> bool:
        """Whether a frame with this call (or with none) may leave in a tick."""
        if call is not None:
            free = self.waiting.count(call) > self.on_the_way.count(call)
            return free and self.has_turn(tick, call)
        return self._checks.insist_on("dummy-calls") or self.shape.turn(tick) in self._filled

    def emit(self, tick: int, call: frames.Call | None) -> frames.Frame:
        """Return the frame of a tick, with a queued call or a dummy.

        Raises TurnError if the run is over, a frame left in the tick, or there is nothing that may leave.
        """
        if self.over or not 0 <= tick < self.shape.ticks or tick in self.carried:
            raise frames.TurnError(tick, "no frame is due")
        if not self.may_emit(tick, call):
            raise frames.TurnError(tick, "there is nothing to say")
        self.carried[tick] = call
        return self._frame(tick, call)

    @enforces("REQ-SIZE-01", "REQ-TIME-01", "pad-frames", "constant-rate")
    def _frame(self, tick: int, call: frames.Call | None) -> frames.Frame:
        content = b"" if call is None else call.content
        fits = len(content) <= self.shape.room
        if self._checks.insist_on("pad-frames") and fits:
            content = frames.pad(content, self.shape.block_bytes)
        work = 0 if call is None else call.work
        moment = self.shape.edge if self._checks.insist_on("constant-rate") else work
        body = self._sealer.seal(tick, content)
        asked = frames.Operation.PACKET if call is None else call.operation
        operation = self.shape.turn(tick) if self._checks.insist_on("fixed-order") else asked
        return frames.Frame(tick, operation, self._address(tick, call), moment, body)

    def _address(self, tick: int, call: frames.Call | None) -> int:
        if self._checks.insist_on("fixed-scan"):
            return self.shape.sweep(tick)
        return self._order(self.shape.blocks if call is None else call.block)

    @enforces("REQ-REFUSAL-01", "retry-alike")
    def retry(self, tick: int) -> frames.Frame | None:
        """Seal a frame again that the host refused; None if this design does not send it again.

        Raises TurnError if the run is over, there is no such frame, or it was answered.
        """
        if self.over:
            raise frames.TurnError(tick, "the run is over")
        call = self._unanswered(tick)
        if call is None and not self._checks.insist_on("retry-alike"):
            return None
        return self._frame(tick, call)

    @enforces("REQ-ERROR-02", "check-dummies")
    def process_answer(self, tick: int, answer: bytes) -> None:
        """Process the answer to a frame: verify it in any case, and use it only if the frame had a call.

        Raises TurnError if there is no such frame, or it was answered.
        """
        call = self._unanswered(tick)
        self._answered.add(tick)
        if call is None and not self._checks.insist_on("check-dummies"):
            return
        try:
            content = self._content(tick, answer)
        except frames.AnswerError:
            self.failed = True
            return
        if call is not None:
            self.waiting.remove(call)
            self.taken.append((call, content))

    @enforces("REQ-ERROR-01", "CLAIM-VERIFIED", "verify-answer")
    def _content(self, tick: int, answer: bytes) -> bytes:
        if not self._checks.insist_on("verify-answer"):
            return decrypt_message_unverified(self._keys.back, answer)
        try:
            return frames.unpad(frames.open_content(self._keys.back, ANSWERS, tick, answer))
        except (CryptoError, frames.PaddingError):
            raise frames.AnswerError(tick) from None

    def _unanswered(self, tick: int) -> frames.Call | None:
        if tick not in self.carried or tick in self._answered:
            raise frames.TurnError(tick, "no frame waits for an answer")
        return self.carried[tick]

    @enforces("REQ-END-01", "CLAIM-END", "fixed-end")
    def may_finish(self, tick: int) -> bool:
        """Whether the run ends in a tick."""
        if self._checks.insist_on("fixed-end"):
            return tick == self.shape.ticks - 1
        return not self.waiting

    @enforces("REQ-END-02", "REQ-END-03", "uniform-status", "pad-result")
    def finish(self, tick: int, result: bytes) -> End:
        """End the run, and return its sealed result.

        Raises TurnError if it does not end in this tick, or is over; ShapeError if the result does not fit.
        """
        if self.over or not self.may_finish(tick):
            raise frames.TurnError(tick, "the run does not end here")
        content = frames.pad(result, self.shape.block_bytes)
        self.over = True
        bad = self.failed if self._checks.insist_on("uniform-status") else bool(self.waiting)
        if not self._checks.insist_on("pad-result"):
            content = result
        sealed = self._sealer.seal(tick, content, RESULT)
        return End(Status.FAILED if bad else Status.DONE, sealed)
