"""Sessions: whom they end at, what attesting one proves, and what reports can say."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, implies, used
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Agent,
    Gpu,
    Key,
    Mode,
    Order,
    Session,
    acknowledged,
    answered,
    attested,
    confidential,
    corrupt,
    ends_at,
    genuine,
    in_session,
    issued,
    key_exchange,
    key_session,
    knows_d2h,
    knows_h2d,
    knows_master,
    leaked,
    occupied,
    orchestrated,
    orchestrator,
    owner,
    protected,
    report,
    report_inside,
    responder,
)


def session_lemmas(draft: Draft, schedule: Schedule) -> None:
    """Add what a session is and what a report inside it proves."""
    _ends_and_first_keys(draft, schedule)
    _reports(draft)


def _ends_and_first_keys(draft: Draft, schedule: Schedule) -> None:
    @draft.lemma
    def one_session(g: Gpu, s: Session, t: Session) -> Formula:
        """A GPU has one session at a time."""
        return implies(in_session(g, s) & in_session(g, t), s == t)

    @draft.lemma
    def session_ends_here(g: Gpu, s: Session) -> Formula:
        """A session ends at the one genuine GPU that is in it."""
        return implies(in_session(g, s), answered(s) & (ends_at(s) == g) & genuine(g) & occupied(g))

    @draft.lemma
    def attested_is_protected(s: Session) -> Formula:
        """What the orchestrator attested was opened with a genuine GPU in confidential mode."""
        return implies(attested(s), schedule.vouched(s) & orchestrated(s) & answered(s)) & implies(
            protected(s), answered(s) & genuine(ends_at(s)) & orchestrated(s)
        )

    @draft.lemma
    def orchestrated_is_used(s: Session) -> Formula:
        """Sessions of the orchestrator were drawn, and so was whatever was answered."""
        return implies(orchestrated(s) | answered(s), used(s))

    @draft.lemma
    def first_keys(s: Session, k: Key, x: Agent, o: Order) -> Formula:
        """The first key of a session is the orchestrator's; until it is answered nobody else has touched it."""
        untouched = implies(knows_h2d(x, k) | knows_d2h(x, k), x == orchestrator) & ~acknowledged(k, o)
        return implies(
            key_exchange(s, k),
            used(k) & orchestrated(s) & (key_session(k) == s) & (owner(k) == orchestrator),
        ) & implies(key_exchange(s, k) & ~answered(s), untouched)

    @draft.lemma
    def mode_is_kept(g: Gpu, s: Session) -> Formula:
        """A GPU's mode does not change while a session of the orchestrator lives."""
        return implies(in_session(g, s) & orchestrated(s), implies(protected(s), confidential(g))) & implies(
            in_session(g, s) & orchestrated(s), implies(confidential(g), protected(s))
        )

    @draft.lemma
    def keys_of_sessions(s: Session, j: Key, k: Key) -> Formula:
        """A session has one first key; every other key of the orchestrator's sessions was issued."""
        known = key_exchange(key_session(k), k) | issued(k) | corrupt(owner(k))
        return implies(key_exchange(s, j) & key_exchange(s, k), j == k) & implies(
            used(k) & orchestrated(key_session(k)), known
        )

    @draft.lemma
    def masters_are_kept(x: Agent, s: Session) -> Formula:
        """The master of a protected session is known to nobody else."""
        return implies(knows_master(x, s), answered(s) & ~protected(s))


def _reports(draft: Draft) -> None:
    @draft.lemma
    def responder_is_the_end(s: Session, g: Gpu) -> Formula:
        """Only the GPU at the far end can sign the key exchange, unless its device key leaked."""
        return implies(responder(s, g), answered(s) & ((ends_at(s) == g) | leaked(g)))

    @draft.lemma
    def reports_tell_the_mode(g: Gpu, n: Session) -> Formula:
        """A genuine GPU's report for its own session's nonce states its mode."""
        return implies(
            report(g, n, Mode.CONFIDENTIAL) & genuine(g) & ~leaked(g),
            answered(n) & implies(in_session(g, n), confidential(g)),
        )

    @draft.lemma
    def report_inside_binds(s: Session, g: Gpu) -> Formula:
        """A responder's own report, with the session's nonce, inside the session: the session is protected."""
        return implies(
            report_inside(s, g, s, Mode.CONFIDENTIAL) & genuine(g) & ~leaked(g) & responder(s, g) & orchestrated(s),
            protected(s),
        )

    @draft.lemma
    def reports_arrive_in_sessions(s: Session, g: Gpu, n: Session, mode: Mode) -> Formula:
        """Reports arrive inside sessions that were opened."""
        return implies(report_inside(s, g, n, mode), answered(s))
