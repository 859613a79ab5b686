"""Claims of agreement: between holder and orchestrator, between records and models, and whose word is taken."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, any_of, forall, implies
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.scopes import Scope
from carnet_spec.protocols.gpu_travelling.text import sentence
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Address,
    Agent,
    Custody,
    Data,
    Gpu,
    Key,
    Order,
    Phase,
    Slot,
    Version,
    accepted,
    accepted_twice,
    acknowledged,
    aims,
    attested,
    attested_live,
    before,
    buffer,
    chained,
    corrupt,
    count,
    counted,
    custody,
    derives,
    digested,
    done,
    finished,
    gave_back,
    granted,
    granted_at,
    issued,
    job_manifest,
    kept,
    key_session,
    latest,
    ledger,
    lent_key,
    link_h2d,
    live_d2h,
    live_h2d,
    lost,
    made_by,
    measured,
    offer,
    orchestrator,
    owner,
    pending,
    phase,
    placed,
    precedes,
    sealed,
    sent_as,
    session,
    supplied,
    taken,
    taken_back,
    trained_on,
    trained_to,
    uploaded,
    within,
)


def agreement_claims(draft: Draft, schedule: Schedule, made: Scope) -> None:
    """State that what two parties did agrees."""

    @draft.claim(
        name="data-agreement",
        sentence=sentence("CLAIM-DATA-AGREEMENT"),
        requirement="CLAIM-DATA-AGREEMENT",
        source="Carnet (dropped tail, replay, injection)",
        under=made.everywhere,
    )
    def data_agreement(g: Gpu, u: Slot, v: Slot, m: Data, n: Data) -> Formula:
        begun = (phase == Phase.TRAINING) & attested_live(g) & schedule.faithful(owner(lent_key))
        whose = owner(lent_key)
        sent = sealed(whose, lent_key, v, m)
        placed_as_sent = implies(sent, placed(g, v, m)) & implies(placed(g, v, m), sent)
        nothing_else = implies(buffer(g, m), supplied(whose, lent_key, m))
        both_there = placed(g, u, n) & placed(g, v, m) & precedes(n, m)
        return implies(begun, placed_as_sent & nothing_else & implies(both_there, before(u, v)))

    @draft.claim(
        name="handoff-agreement",
        sentence=sentence("CLAIM-HANDOFF-AGREEMENT"),
        requirement="CLAIM-HANDOFF-AGREEMENT",
        source="deck, System Architecture; Lowe's injective agreement",
        under=made.everywhere,
    )
    def handoff_agreement() -> Formula:
        grants = forall(
            lambda a, p, k, v: implies(
                accepted(a, p, k, v) & ~corrupt(a), granted(a, k, v) & (owner(k) == a) & ~accepted_twice(a, k)
            ),
            *(Agent, Agent, Key, Slot),
        )
        places = forall(
            lambda a, k, b: implies(aims(a, k, b) & ~corrupt(a), granted_at(a, k, b)), *(Agent, Key, Address)
        )
        addressees = forall(
            lambda a, b, k, v, w: implies(granted(a, k, v) & granted(b, k, w), (a == b) & (v == w)),
            *(Agent, Agent, Key, Slot, Slot),
        )
        home = custody == Custody.RETURNED
        returns = implies(
            home & schedule.faithful(owner(lent_key)) & (phase != Phase.SETUP) & (phase != Phase.AWAY),
            gave_back(owner(lent_key), lent_key, count) & finished(owner(lent_key), lent_key),
        )
        return grants & places & addressees & returns & implies(phase == Phase.TRAINING, home)

    @draft.claim(
        name="single-custody",
        sentence=sentence("CLAIM-SINGLE-CUSTODY"),
        requirement="CLAIM-SINGLE-CUSTODY",
        source="deck, Enabler: sharing the key is sharing the GPU",
        under=made.everywhere,
    )
    def single_custody() -> Formula:
        one = forall(
            lambda g, j, k: implies((live_h2d(g, j) & live_h2d(g, k)) | (live_d2h(g, j) & live_d2h(g, k)), j == k),
            *(Gpu, Key, Key),
        )
        made = forall(
            lambda k, x: implies(made_by(k, x) & issued(k), corrupt(x) & ~schedule.faithful(owner(k))), *(Key, Agent)
        )
        exclusive = forall(lambda k, v, a, w: ~(uploaded(k, v) & granted(a, k, w)), *(Key, Slot, Agent, Slot))
        owned = forall(
            lambda k, v, m: implies(taken(k, v, m) & issued(k), sealed(owner(k), k, v, m)), *(Key, Slot, Data)
        )
        return one & made & exclusive & owned


def model_claims(draft: Draft, schedule: Schedule, made: Scope) -> None:
    """State what the versions of the model were made of."""

    @draft.claim(
        name="model-integrity",
        sentence=sentence("CLAIM-MODEL-INTEGRITY"),
        requirement="CLAIM-MODEL-INTEGRITY",
        source="deck, System Architecture: verification of the integrity of code and model",
        under=made.everywhere,
    )
    def model_integrity() -> Formula:
        return chained(latest) & chained(kept)

    @draft.claim(
        name="provenance",
        sentence=sentence("CLAIM-PROVENANCE"),
        requirement="CLAIM-PROVENANCE",
        source="VerifiableFL (arXiv 2412.10537): proofs that link inputs and outputs of training",
        under=made.everywhere,
    )
    def provenance(n: Version, p: Version, k: Key, v: Slot, m: Data) -> Formula:
        whose = owner(k)
        made_of = implies(trained_on(n, m), supplied(whose, k, m)) & implies(sealed(whose, k, v, m), trained_on(n, m))
        return implies(ledger(n, p, k), derives(n, p) & implies(schedule.faithful(whose), made_of))

    @draft.claim(
        name="participation",
        sentence=sentence("CLAIM-PARTICIPATION"),
        requirement="CLAIM-PARTICIPATION",
        source="Carnet (a rolled-back model, a skipped holder)",
        under=made.everywhere,
    )
    def participation(k: Key, v: Slot, m: Data) -> Formula:
        home = (
            Phase.BACK,
            Phase.FENCING_EARLY,
            Phase.FENCED_EARLY,
            Phase.ROTATING_IN,
            Phase.ROTATED_IN,
            Phase.FENCING,
            Phase.FENCED,
            Phase.UPLOADED,
        )
        later = (Phase.CHECKING, Phase.VERIFIED, Phase.TRAINING)
        under_way = (k == lent_key) & any_of(*(phase == each for each in (*home, *later)))
        accounted = taken_back(k) & ~lost(k) & ~under_way & schedule.faithful(owner(k))
        return implies(accounted & sealed(owner(k), k, v, m), within(latest, m))


def authenticity_claims(draft: Draft, made: Scope) -> None:
    """State who the orchestrator is, and whose word it takes."""

    @draft.claim(
        name="orchestrator-genuine",
        sentence=sentence("CLAIM-ORCHESTRATOR-GENUINE"),
        requirement="CLAIM-ORCHESTRATOR-GENUINE",
        source="deck, Threat Model: a holder trusts the orchestrator",
        under=made.everywhere,
    )
    def orchestrator_genuine(a: Agent, p: Agent, k: Key, v: Slot) -> Formula:
        checked = measured(p) & job_manifest(p)
        return implies(accepted(a, p, k, v) & ~corrupt(a), checked & offer(p, a, k, v) & (p == orchestrator))

    @draft.claim(
        name="no-silent-reset",
        sentence=sentence("CLAIM-NO-SILENT-RESET"),
        requirement="CLAIM-NO-SILENT-RESET",
        source="Carnet (attest, reset, re-attach)",
        under=made.everywhere,
    )
    def no_silent_reset() -> Formula:
        active = (phase != Phase.SETUP) & (phase != Phase.OPENED)
        rotating = (phase == Phase.ROTATING_OUT) | (phase == Phase.ROTATING_IN)
        heard_of = forall(
            lambda k, o: implies(
                active & ((k == link_h2d) | (rotating & (k == pending))) & acknowledged(k, o),
                (key_session(k) == session) & done(k, o),
            ),
            *(Key, Order),
        )
        read = forall(lambda n: implies(digested(link_h2d, n), done(link_h2d, Order.READ_BACK)), Version)
        counters = forall(lambda c, v: implies(counted(link_h2d, c, v), done(link_h2d, Order.READ_BACK)), Key, Slot)
        results = forall(
            lambda n: (
                implies(trained_to(link_h2d, n), done(link_h2d, Order.TRAIN))
                & implies(sent_as(link_h2d, n), done(link_h2d, Order.SAVE))
            ),
            Version,
        )
        own = attested(session) & (key_session(link_h2d) == session)
        return heard_of & implies(active, own & read & counters & results)
