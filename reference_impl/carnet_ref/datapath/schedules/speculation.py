"""PipeLLM's speculation: a block is sealed before it is asked for, under the IV that will be due then.

The GPU opens every message under its own next IV, so a sealed block can be sent only when the counter has reached the
IV it was sealed under. The counter can be advanced, by sending something, and never wound back. Here an IV, once it has
sealed, seals nothing else: what was sealed for nothing is *flushed*, that is, sent to a scratch buffer, which advances
the counter past it. Unused IVs in a gap are passed by one-byte NOPs.

Source: PipeLLM, arXiv 2411.03357, sections on speculative encryption and relinquishing; its repository, pipellm.cpp.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import groupby

from carnet_ref.datapath.quantities import NO_BYTES, QuantityError, Size
from carnet_ref.datapath.schedule import Costs, Schedule, ScheduleBuilder, Stage
from carnet_ref.datapath.schedules.confidential_io import CPU_TO_GPU
from carnet_ref.datapath.schedules.sharing import GPU, GPU_AUTH, GPU_CIPHER, PCIE


class Action(Enum):
    """What is done with one IV, or with one block in advance."""

    SPECULATE = "seal ahead"
    SEND = "send what was sealed ahead"
    SEAL_AND_SEND = "seal on demand and send"
    FLUSH = "send to scratch what was sealed for nothing"
    NOP = "pass an IV that sealed nothing"


@dataclass(frozen=True, slots=True)
class Move:
    """One action for request ``request``: on which block, under which message counter."""

    request: int
    action: Action
    block: int | None
    counter: int


@dataclass(frozen=True, slots=True)
class Speculation:
    """How far ahead blocks are sealed. Raises QuantityError if a number is negative, or there is no worker."""

    window: int = 1  #: how many blocks are sealed ahead; 0 for none.
    gap: int = 0  #: how many IVs are left free for messages on demand when sealing ahead begins.
    workers: int = 1  #: how many CPU threads seal.

    def __post_init__(self) -> None:
        if self.window < 0 or self.gap < 0 or self.workers < 1:
            raise QuantityError(f"expected window ≥ 0, gap ≥ 0 and workers ≥ 1, not {self}")


ON_DEMAND = Speculation(window=0)


def plan(
    requests: Sequence[int],
    predictions: Sequence[int],
    speculation: Speculation,
    written: Sequence[frozenset[int]] = (),
) -> tuple[Move, ...]:
    """Return the moves, in order: what is sealed under which IV, for blocks asked for in the order of ``requests``.

    ``predictions`` lists the blocks in the order in which the predictor expects them; it is consulted as far ahead as
    the window reaches. ``written`` says which blocks change before each request; what was sealed of a block before it
    changed is never sent in its place. Message counters start at 1 and each is used exactly once; what is still ahead
    at the end never leaves.
    """
    moves: list[Move] = []
    ahead: deque[tuple[int, int | None]] = deque()  # (message counter, block or nothing valid), counters consecutive
    due = 1

    def flush(request: int) -> None:
        nonlocal due
        pad(request, ahead[0][0])
        counter, block = ahead.popleft()
        moves.append(Move(request, Action.FLUSH, block, counter))
        due = counter + 1

    def pad(request: int, until: int) -> None:
        nonlocal due
        while due < until:
            moves.append(Move(request, Action.NOP, None, due))
            due += 1

    for request, block in enumerate(requests):
        changed = written[request] if request < len(written) else frozenset()
        ahead = deque((counter, None if expected in changed else expected) for counter, expected in ahead)
        if any(block == expected for _, expected in ahead):
            while ahead[0][1] != block:
                flush(request)
            pad(request, ahead[0][0])
            moves.append(Move(request, Action.SEND, block, ahead.popleft()[0]))
        else:
            while ahead and ahead[0][0] == due:
                flush(request)
            moves.append(Move(request, Action.SEAL_AND_SEND, block, due))
        due += 1
        for expected in predictions[request + 1 : request + 1 + speculation.window][len(ahead) :]:
            counter = ahead[-1][0] + 1 if ahead else due + speculation.gap
            ahead.append((counter, expected))
            moves.append(Move(request, Action.SPECULATE, expected, counter))
    return tuple(moves)


def speculative(
    requests: Sequence[int],
    predictions: Sequence[int],
    block: Size,
    costs: Costs,
    speculation: Speculation = ON_DEMAND,
) -> Schedule:
    """Return the schedule of serving ``requests``: each waits for the computation before it, and is computed on.

    Raises QuantityError if nothing is asked for, or a block is empty.
    """
    if not requests or block == NO_BYTES:
        raise QuantityError("serving needs at least one request for a block of at least one byte")
    layout = _Layout(ScheduleBuilder("PipeLLM" if speculation.window else "on demand"), block, costs, speculation)
    moves = plan(requests, predictions, speculation)
    for _, of_request in groupby(moves, key=lambda move: move.request):
        layout.serve(tuple(of_request))
    return layout.builder.done()


class _Layout:
    """Moves laid out as tasks."""

    def __init__(self, builder: ScheduleBuilder, block: Size, costs: Costs, speculation: Speculation) -> None:
        self.builder = builder
        self.computed: tuple[int, ...] = ()
        self._block = block
        self._costs = costs
        self._workers = speculation.workers
        self._turn = 0
        self._sealed: dict[int, int] = {}  # message counter -> task that seals it

    def serve(self, moves: Sequence[Move]) -> None:
        """Lay out the moves of one request, then its computation."""
        issued = self.computed
        for move in moves:
            if move.action is Action.NOP:
                self.builder.add(Stage.NOP, PCIE, self._costs.seconds(Stage.NOP), issued)
            elif move.action is Action.SPECULATE:
                self._seal(move, issued)
            elif move.action is Action.FLUSH:
                self._send(move, (*issued, self._sealed[move.counter]))
            else:
                before = self._sealed[move.counter] if move.action is Action.SEND else self._seal(move, issued)
                arrived = self._send(move, (*issued, before))
                seconds = self._costs.seconds(Stage.COMPUTE, self._block)
                self.computed = (self.builder.add(Stage.COMPUTE, GPU, seconds, (arrived,)),)

    def _seal(self, move: Move, after: tuple[int, ...]) -> int:
        worker = f"CPU {self._turn % self._workers}"
        self._turn += 1
        self._sealed[move.counter] = self._add(Stage.RE_ENCRYPT, worker, after, move)
        return self._sealed[move.counter]

    def _send(self, move: Move, after: tuple[int, ...]) -> int:
        across = self._add(Stage.PCIE, PCIE, after, move)
        verified = self._add(Stage.GPU_VERIFY, GPU_AUTH, (across,), move)
        return self._add(Stage.GPU_DECRYPT, GPU_CIPHER, (verified,), move)

    def _add(self, stage: Stage, resource: str, after: tuple[int, ...], move: Move) -> int:
        seconds = self._costs.seconds(stage, self._block)
        return self.builder.add(stage, resource, seconds, after, move.counter, CPU_TO_GPU, self._block)
