"""Bookkeeping: what parties keep agrees with what they did, so that no step records less, or something else.

They are not stated for the sake of a claim. They say that the honest do their part: who draws a key knows it, a route
is asked for to where the GPU goes, and reports say what the GPU is.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, exists, implies
from carnet_spec.protocols.gpu_travelling.lemmas.words import FENCED_TOO_EARLY, OUT, during
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Address,
    Agent,
    Gpu,
    Key,
    Mode,
    Phase,
    Session,
    Slot,
    addressed,
    admitted,
    answered,
    channel,
    corrupt,
    enrolment_proof,
    genuine,
    granted,
    in_session,
    issued,
    key_exchange,
    key_session,
    knows_d2h,
    knows_h2d,
    knows_launch,
    leaked,
    link_d2h,
    link_h2d,
    mux,
    mux_request,
    next_holder,
    offer,
    orchestrated,
    orchestrator,
    owner,
    phase,
    platform,
    report,
    report_inside,
    responder,
    session,
    shows,
    tenant,
    tenanted,
)


def bookkeeping_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add what the honest keep."""
    _at_the_orchestrator(draft, schedule)
    _reports(draft)


def _at_the_orchestrator(draft: Draft, schedule: Schedule) -> None:
    @draft.lemma
    def the_orchestrator_keeps_its_keys(s: Session, k: Key) -> Formula:
        """The orchestrator knows both halves of every key that it drew, and each launch key."""
        drawn = issued(k) | key_exchange(s, k)
        return implies(drawn, knows_h2d(orchestrator, k) & knows_d2h(orchestrator, k)) & implies(
            orchestrated(s), knows_launch(orchestrator, s)
        )

    @draft.lemma
    def one_link_key() -> Formula:
        """The two halves of the link change together."""
        return implies(phase != Phase.SETUP, link_h2d == link_d2h)

    @draft.lemma
    def one_route(x: Agent, y: Agent) -> Formula:
        """One route is asked for: to the holder's channel while the GPU is out, and else home."""
        out = during(Phase.AWAY, Phase.BACK, *FENCED_TOO_EARLY)
        asked = (phase != Phase.SETUP) & ~out
        return (
            implies(mux_request(x) & mux_request(y), x == y)
            & implies(asked, mux_request(orchestrator))
            & implies(mux_request(x) & out, admitted(next_holder, x))
            & implies(mux_request(x) & ~out, x == orchestrator)
        )

    @draft.lemma
    def an_honest_platform_follows() -> Formula:
        """An honest platform routes the GPU home, or to a channel that was admitted."""
        lent = exists(lambda a: admitted(a, mux), Agent)
        return implies(~corrupt(platform), (mux == orchestrator) | lent)

    @draft.lemma
    def offers_go_by_admitted_channels(p: Agent, k: Key, v: Slot, b: Address) -> Formula:
        """A grant is sent over the channel that was admitted for its holder."""
        said = offer(orchestrator, p, k, v) | addressed(orchestrator, p, k, b)
        return implies(said, admitted(owner(k), p))

    @draft.lemma
    def lent_sessions_have_tenants(a: Agent, k: Key, v: Slot) -> Formula:
        """A session in which anything was granted was lent."""
        return implies(granted(a, k, v), tenanted(key_session(k))) & implies(
            during(Phase.ROTATING_OUT, *OUT), tenanted(session) & (tenant(session) == next_holder)
        )

    @draft.lemma
    def proofs_are_made_in_attested_channels(a: Agent, p: Agent) -> Formula:
        """An honest holder proves who it is in the channel that it attested."""
        return implies(enrolment_proof(a, p) & schedule.faithful(a), channel(a, orchestrator))


def _reports(draft: Draft) -> None:
    @draft.lemma
    def sessions_have_responders(g: Gpu, s: Session) -> Formula:
        """The GPU in a session signed its key exchange."""
        return implies(in_session(g, s), responder(s, g))

    @draft.lemma
    def reports_inside_are_reports(s: Session, g: Gpu, n: Session, mode: Mode) -> Formula:
        """What arrives inside a session is a signed report, which anybody could see elsewhere."""
        return implies(report_inside(s, g, n, mode), report(g, n, mode))

    @draft.lemma
    def reports_of_living_sessions_are_true(g: Gpu, n: Session, mode: Mode) -> Formula:
        """While its session lives, a genuine GPU's reports say what it is."""
        own = in_session(g, n) & genuine(g) & ~leaked(g)
        return implies(report(g, n, mode) & genuine(g) & ~leaked(g), answered(n)) & implies(
            report(g, n, mode) & own, shows(g, mode)
        )
