"""The claims of SGX-LKL: the host's view is equal in two runs of one public shape with any data."""

from functools import partial

from carnet_spec.language import *
from carnet_spec.language.authoring import *
from carnet_spec.protocols.sgx_lkl.vocabulary import *

TEXT = text_beside(__file__)

THREATS = ("watching", "meddling")  #: The threat models under which every claim is made.

_OBLIVIOUS = "SGX-LKL, abstract: host operations independent of the workload"


def state_properties_of_one(draft: Draft) -> None:
    """Add claims, goals and lemmas about one run to ``draft``: a silent interface would be oblivious, too."""
    claim = Claims(draft, TEXT, THREATS)

    @claim("verified", "SGX-LKL, abstract: encrypts and integrity-protects all data")
    def verified(t: Tick) -> Formula:
        return ~misled(t)

    @claim("faithful", "Carnet (use)")
    def faithful(t: Tick) -> Formula:
        shown = (aim(carried(t)) == operation(t)) & ((place(carried(t)) == address(t)) | shuffled)
        return implies(carried(t) != dummy, frame(t) & shown)

    @claim("kept", "Carnet (use)")
    def kept(t: Tick, u: Tick) -> Formula:
        on_its_way = frame(t) & ~answered(t) & (carried(t) != dummy)
        same_call = frame(u) & ~answered(u) & (carried(u) == carried(t))
        known = waiting(carried(t)) & underway(carried(t))
        return ~waiting(dummy) & implies(on_its_way, known & implies(same_call, t == u))

    @claim("schedule", "Carnet (use)")
    def schedule(t: Tick) -> Formula:
        chunks = implies(chunk(t), within(t, manifest) & within(t, now)) & within(extent, manifest)
        frames = implies(frame(t), before(manifest, t) & within(t, now)) & implies(answered(t) | resent(t), frame(t))
        ends = implies(phase == Phase.OVER, within(deadline, now)) & implies(status != Ending.NONE, phase == Phase.OVER)
        return chunks & frames & ends & ~twice(t)

    @claim("begun", "Carnet (use)")
    def begun(m: Message) -> Formula:
        return implies(waiting(m) | (phase == Phase.OVER), before(manifest, now))

    _goals_of_one(draft)
    _lemmas_of_one(draft)


def state_properties(runs: TwoRuns) -> None:
    """Add claims, goals and lemmas about two runs to ``runs``, and say which of them fall in its variant."""
    claim = partial(Claims(runs, TEXT, THREATS), source=_OBLIVIOUS)

    @claim("size")
    def sizes(t: Tick) -> Formula:
        return runs.same(size(t))

    @claim("count")
    def counts() -> Formula:
        return runs.together("emit") & runs.together("call")

    @claim("order")
    def order(t: Tick) -> Formula:
        return runs.same(operation(t))

    @claim("time")
    def times(t: Tick) -> Formula:
        return runs.same(moment(t))

    @claim("address")
    def addresses(t: Tick) -> Formula:
        return runs.same(address(t))

    @claim("revisits")
    def revisits(t: Tick, u: Tick) -> Formula:
        return runs.same(revisit(t, u))

    @claim("equality")
    def equality(t: Tick, u: Tick) -> Formula:
        return runs.same(alike(t, u))

    claim = partial(Claims(runs, TEXT, THREATS), source="Carnet")

    @claim("refusal")
    def refusals(t: Tick) -> Formula:
        return runs.same(resent(t))

    @claim("end")
    def ends() -> Formula:
        return runs.together("finish")

    @claim("error")
    def errors() -> Formula:
        return runs.same(status)

    @claim("result")
    def results() -> Formula:
        return runs.same(result_size)

    claim = partial(Claims(runs, TEXT, THREATS), source="Carnet (the shape of a hand-over)")

    @claim("hand-over-count")
    def chunks() -> Formula:
        return runs.together("send_chunk") & runs.together("plan")

    @claim("hand-over-end")
    def hand_over_ends() -> Formula:
        return runs.together("begin_run")

    @claim("hand-over-size")
    def chunk_sizes(t: Tick) -> Formula:
        return runs.same(chunk_size(t))

    _goals_of_both(runs)
    _lemmas_of_both(runs)
    expect_falls(runs, THREATS, FALLS, UNTRUE)


# -- what falls --------------------------------------------------------------------------------------------------------
# Every claim that is not named for a variant holds in it, and is proved.

_MEDDLING = THREATS[1:]

#: For each variant the claims that fall, and under which threat models.
FALLS: Falls = {
    SHUFFLED: {"revisits": THREATS},
    ON_DEMAND: {"count": THREATS},
    "protected-only": dict.fromkeys(("size", "count", "order", "time", "address", "revisits"), THREATS),
    "early-end": dict.fromkeys(("end", "schedule"), THREATS),
    "needed-retry": {"refusal": _MEDDLING},
    "calls-checked": {"error": _MEDDLING},
    "bare-hand-over": dict.fromkeys(
        ("hand-over-count", "hand-over-end", "hand-over-size", "schedule", "begun"), THREATS
    ),
}

#: For each variant the lemmas that do not hold in it.
UNTRUE: dict[str, tuple[str, ...]] = {"bare-hand-over": ("frames_have_their_time",)}


# -- goals -------------------------------------------------------------------------------------------------------------
# What must be reachable, or claims would be empty.


def _goals_of_one(draft: Draft) -> None:

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


def _goals_of_both(runs: TwoRuns) -> None:
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


# -- lemmas ------------------------------------------------------------------------------------------------------------
# What makes the claims inductive, for any number of ticks, messages and blocks.


def _lemmas_of_one(draft: Draft) -> None:

    @draft.lemma
    def what_waits_fits(m: Message) -> Formula:
        """What waits is no longer than a frame."""
        return implies(waiting(m), fits(m))

    @draft.lemma
    def what_is_under_way_waits(m: Message) -> Formula:
        """Only calls that wait are on their way, so a dummy may always leave."""
        return implies(underway(m), waiting(m) & (m != dummy))

    @draft.lemma
    def frames_have_their_time(t: Tick) -> Formula:
        """Frames leave only after the hand-over."""
        begun = (phase == Phase.RUNNING) | (phase == Phase.OVER)
        loaded = implies(chunk(t), phase != Phase.PLANNED)
        return implies(frame(t), begun) & implies(begun, before(manifest, now)) & loaded

    @draft.lemma
    def calls_have_their_time(m: Message) -> Formula:
        """Calls wait only after the hand-over."""
        return implies(waiting(m), (phase == Phase.RUNNING) | (phase == Phase.OVER))

    @draft.lemma
    def nothing_is_carried_without_a_frame(t: Tick) -> Formula:
        """Where no frame left, nothing is carried."""
        return implies(~frame(t), carried(t) == dummy)


def _lemmas_of_both(runs: TwoRuns) -> None:

    @runs.lemma
    def both_note_failures() -> Formula:
        """Which answers did not verify, the host decided alone."""
        return runs.same(failed)
