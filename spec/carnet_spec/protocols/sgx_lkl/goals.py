"""Goals: what must be reachable, or claims would be empty."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, TwoRuns
from carnet_spec.protocols.sgx_lkl.variants import has
from carnet_spec.protocols.sgx_lkl.vocabulary import (
    Ending,
    Message,
    Phase,
    Tick,
    answered,
    carried,
    chunk,
    dummy,
    extent,
    failed,
    frame,
    manifest,
    now,
    phase,
    resent,
    start,
    status,
    underway,
    waiting,
)


def state_goals_of_one(draft: Draft) -> None:
    """Add what one run has to be able to reach to ``draft``."""

    @draft.goal(sentence="A call leaves, is served, and another one waits.")
    def served(t: Tick, m: Message) -> Formula:
        return frame(t) & (carried(t) != dummy) & answered(t) & ~waiting(carried(t)) & waiting(m)

    @draft.goal(sentence="A call whose answer was made up waits for another turn.")
    def spoilt(t: Tick) -> Formula:
        again = waiting(carried(t)) & ~underway(carried(t))
        return failed & answered(t) & (carried(t) != dummy) & again

    @draft.goal(sentence="The first chunk is sent, and the last.")
    def all_chunks() -> Formula:
        return chunk(start) & chunk(manifest) & (start != manifest)

    @draft.goal(sentence="The first chunk is sent in the first tick.")
    def chunk_in_time() -> Formula:
        return chunk(start) & (now == start) & (start != manifest)

    @draft.goal(sentence="A run ends well that had a hand-over, and served a call.")
    def whole_run(t: Tick) -> Formula:
        served_call = (carried(t) != dummy) & answered(t) & ~waiting(carried(t))
        return (phase == Phase.OVER) & (status == Ending.DONE) & chunk(start) & served_call

    @draft.goal(sentence="A run ends well.")
    def ends_well() -> Formula:
        return (phase == Phase.OVER) & (status == Ending.DONE)

    @draft.goal(sentence="A run ends and tells that the host did not serve it.")
    def ends_badly() -> Formula:
        return (phase == Phase.OVER) & (status == Ending.FAILED)

    @draft.goal(sentence="A call that was refused is sent again, and served.")
    def refused(t: Tick) -> Formula:
        return resent(t) & answered(t) & (carried(t) != dummy) & ~waiting(carried(t))


def state_goals_of_both(runs: TwoRuns) -> None:
    """Add what two runs have to be able to reach together to ``runs``; where a defence lacks, one cannot follow."""
    if has(runs.variant, "dummy-calls"):

        @runs.goal(sentence="A call leaves in one run and a dummy in the other, and both are answered.")
        def one_is_idle(t: Tick) -> Formula:
            left, right = runs.left(carried(t)), runs.right(carried(t))
            return frame(t) & answered(t) & (left != dummy) & (right == dummy)

        @runs.goal(sentence="A dummy leaves in one run and a call in the other.")
        def other_is_idle(t: Tick) -> Formula:
            left, right = runs.left(carried(t)), runs.right(carried(t))
            return frame(t) & (left == dummy) & (right != dummy)

    if has(runs.variant, "fill-chunks", "fixed-hand-over"):

        @runs.goal(sentence="A chunk has data in one run, and is filler in the other.")
        def one_has_less(t: Tick) -> Formula:
            return chunk(t) & (runs.left(extent) == t) & (runs.right(extent) == start) & (t != start)

        @runs.goal(sentence="A chunk is filler in one run, and has data in the other.")
        def other_has_less(t: Tick) -> Formula:
            return chunk(t) & (runs.right(extent) == t) & (runs.left(extent) == start) & (t != start)

    if has(runs.variant, "fixed-end"):

        @runs.goal(sentence="Both runs end, and in one of them a call still waits.")
        def one_is_not_done(m: Message) -> Formula:
            return (phase == Phase.OVER) & runs.left(waiting(m)) & ~runs.right(waiting(m))
