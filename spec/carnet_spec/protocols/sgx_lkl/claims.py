"""Claims: what the host sees is the same in two runs of one public shape, whatever the data of each."""

from __future__ import annotations

from functools import partial

from carnet_spec.language import Draft, Formula, TwoRuns, implies
from carnet_spec.protocols.sgx_lkl.text import sentence
from carnet_spec.protocols.sgx_lkl.vocabulary import (
    Ending,
    Message,
    Phase,
    Tick,
    address,
    aim,
    alike,
    answered,
    before,
    carried,
    chunk,
    chunk_size,
    deadline,
    dummy,
    extent,
    frame,
    manifest,
    misled,
    moment,
    now,
    operation,
    phase,
    place,
    resent,
    result_size,
    revisit,
    shuffled,
    size,
    status,
    twice,
    underway,
    waiting,
    within,
)

THREATS = ("watching", "meddling")
"""The threat models under which every claim is made."""

_OBLIVIOUS = "SGX-LKL, abstract: host operations independent of the workload"


def state_claims_of_one(draft: Draft) -> None:
    """Add the claims about one run to ``draft``: a silent interface would be oblivious, too."""

    @draft.claim(
        name="verified",
        sentence=sentence("CLAIM-VERIFIED"),
        requirement="CLAIM-VERIFIED",
        source="SGX-LKL, abstract: encrypts and integrity-protects all data",
        under=THREATS,
    )
    def verified(t: Tick) -> Formula:
        return ~misled(t)

    @draft.claim(
        name="faithful",
        sentence=sentence("CLAIM-FAITHFUL"),
        requirement="CLAIM-FAITHFUL",
        source="Carnet (use)",
        under=THREATS,
    )
    def faithful(t: Tick) -> Formula:
        shown = (aim(carried(t)) == operation(t)) & ((place(carried(t)) == address(t)) | shuffled)
        return implies(carried(t) != dummy, frame(t) & shown)

    @draft.claim(
        name="kept",
        sentence=sentence("CLAIM-KEPT"),
        requirement="CLAIM-KEPT",
        source="Carnet (use)",
        under=THREATS,
    )
    def kept(t: Tick, u: Tick) -> Formula:
        on_its_way = frame(t) & ~answered(t) & (carried(t) != dummy)
        same_call = frame(u) & ~answered(u) & (carried(u) == carried(t))
        known = waiting(carried(t)) & underway(carried(t))
        return ~waiting(dummy) & implies(on_its_way, known & implies(same_call, t == u))

    @draft.claim(
        name="schedule",
        sentence=sentence("CLAIM-SCHEDULE"),
        requirement="CLAIM-SCHEDULE",
        source="Carnet (use)",
        under=THREATS,
    )
    def schedule(t: Tick) -> Formula:
        chunks = implies(chunk(t), within(t, manifest) & within(t, now)) & within(extent, manifest)
        frames = implies(frame(t), before(manifest, t) & within(t, now)) & implies(answered(t) | resent(t), frame(t))
        ends = implies(phase == Phase.OVER, within(deadline, now)) & implies(status != Ending.NONE, phase == Phase.OVER)
        return chunks & frames & ends & ~twice(t)

    @draft.claim(
        name="begun",
        sentence=sentence("CLAIM-BEGUN"),
        requirement="CLAIM-BEGUN",
        source="Carnet (use)",
        under=THREATS,
    )
    def begun(m: Message) -> Formula:
        return implies(waiting(m) | (phase == Phase.OVER), before(manifest, now))


def state_claims(runs: TwoRuns) -> None:
    """Add the claims about two runs to ``runs``."""
    _frames(runs)
    _reactions(runs)
    _hand_over(runs)


def _frames(runs: TwoRuns) -> None:
    claim = partial(runs.claim, source=_OBLIVIOUS, under=THREATS)

    @claim(name="size", sentence=sentence("CLAIM-SIZE"), requirement="CLAIM-SIZE")
    def sizes(t: Tick) -> Formula:
        return runs.same(size(t))

    @claim(name="count", sentence=sentence("CLAIM-COUNT"), requirement="CLAIM-COUNT")
    def counts() -> Formula:
        return runs.together("emit") & runs.together("call")

    @claim(name="order", sentence=sentence("CLAIM-ORDER"), requirement="CLAIM-ORDER")
    def order(t: Tick) -> Formula:
        return runs.same(operation(t))

    @claim(name="time", sentence=sentence("CLAIM-TIME"), requirement="CLAIM-TIME")
    def times(t: Tick) -> Formula:
        return runs.same(moment(t))

    @claim(name="address", sentence=sentence("CLAIM-ADDRESS"), requirement="CLAIM-ADDRESS")
    def addresses(t: Tick) -> Formula:
        return runs.same(address(t))

    @claim(name="revisits", sentence=sentence("CLAIM-REVISITS"), requirement="CLAIM-REVISITS")
    def revisits(t: Tick, u: Tick) -> Formula:
        return runs.same(revisit(t, u))

    @claim(name="equality", sentence=sentence("CLAIM-EQUALITY"), requirement="CLAIM-EQUALITY")
    def equality(t: Tick, u: Tick) -> Formula:
        return runs.same(alike(t, u))


def _reactions(runs: TwoRuns) -> None:
    claim = partial(runs.claim, source="Carnet", under=THREATS)

    @claim(name="refusal", sentence=sentence("CLAIM-REFUSAL"), requirement="CLAIM-REFUSAL")
    def refusals(t: Tick) -> Formula:
        return runs.same(resent(t))

    @claim(name="end", sentence=sentence("CLAIM-END"), requirement="CLAIM-END")
    def ends() -> Formula:
        return runs.together("finish")

    @claim(name="error", sentence=sentence("CLAIM-ERROR"), requirement="CLAIM-ERROR")
    def errors() -> Formula:
        return runs.same(status)

    @claim(name="result", sentence=sentence("CLAIM-RESULT"), requirement="CLAIM-RESULT")
    def results() -> Formula:
        return runs.same(result_size)


def _hand_over(runs: TwoRuns) -> None:
    claim = partial(runs.claim, source="Carnet (the shape of a hand-over)", under=THREATS)

    @claim(name="hand-over-count", sentence=sentence("CLAIM-HAND-OVER-COUNT"), requirement="CLAIM-HAND-OVER-COUNT")
    def chunks() -> Formula:
        return runs.together("send_chunk") & runs.together("plan")

    @claim(name="hand-over-end", sentence=sentence("CLAIM-HAND-OVER-END"), requirement="CLAIM-HAND-OVER-END")
    def hand_over_ends() -> Formula:
        return runs.together("begin_run")

    @claim(name="hand-over-size", sentence=sentence("CLAIM-HAND-OVER-SIZE"), requirement="CLAIM-HAND-OVER-SIZE")
    def chunk_sizes(t: Tick) -> Formula:
        return runs.same(chunk_size(t))
