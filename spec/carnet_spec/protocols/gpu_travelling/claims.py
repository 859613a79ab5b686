"""Claims: the properties of every reachable state, with the threat models under which each is claimed."""

from __future__ import annotations

from dataclasses import dataclass

from carnet_spec.language import Draft, Formula, any_of, forall, implies
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
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
    Session,
    Slot,
    Version,
    accepted,
    accepted_twice,
    aims,
    attested,
    attested_live,
    before,
    buffer,
    chained,
    confidential,
    context,
    corrupt,
    count,
    custody,
    data_owner,
    dataset,
    derives,
    ends_at,
    enrolled,
    exposed,
    finished,
    gave_back,
    genuine,
    granted,
    granted_at,
    in_session,
    issued,
    job_manifest,
    kept,
    key_session,
    knows_d2h,
    knows_h2d,
    latest,
    learned,
    ledger,
    lent_key,
    live_d2h,
    live_h2d,
    lost,
    made_by,
    measured,
    occupied,
    off_chain,
    orchestrator,
    ordered,
    owner,
    past_keys_leak,
    phase,
    placed,
    planted,
    precedes,
    protected,
    repeated,
    replayed,
    replied,
    resident,
    sealed,
    session,
    stray,
    streamed,
    supplied,
    taken,
    taken_back,
    the_model,
    trained_on,
    uploaded,
    within,
)

ALL = ("outsider", "holder", "hypervisor", "collusion")
EVERYWHERE = (*ALL, "past-keys")
_ANALYSIS = "deck, Security Analysis"


@dataclass(frozen=True, slots=True)
class Scope:
    """Under which threat models the claims are made, and where they are expected to fall."""

    all: tuple[str, ...] = ALL
    everywhere: tuple[str, ...] = EVERYWHERE
    past: tuple[str, ...] = ("past-keys",)
    past_falls: tuple[str, ...] = ()
    falls: tuple[str, ...] = ()
    keys: tuple[str, ...] = ALL
    keys_fall: tuple[str, ...] = ()
    model: tuple[str, ...] = ("outsider", "hypervisor")
    model_falls: tuple[str, ...] = ("holder", "collusion")


USUAL = Scope()
CONFINED = Scope(model=("outsider", "hypervisor", "holder"), model_falls=("collusion",))
LEAKING = Scope(everywhere=ALL, past=(), past_falls=("past-keys",))
"""An engine's key opens every later epoch of the engine: nothing is claimed once it leaked."""
RECORDING = Scope(("recording",), ("recording",), (), (), ("collusion",), (), ("recording",), (), ())
"""What an inner key is for: the adversary records everything, and does nothing else."""


def state_claims(draft: Draft, schedule: Schedule, made: Scope = USUAL) -> None:
    """Add the claims to ``draft``, under the threat models of ``made``."""
    _secrecy(draft, schedule, made)
    if made.past or made.past_falls:
        _forward_secrecy(draft, schedule, made)
    if made.model or made.model_falls:
        _model_secrecy(draft, made)
    _freshness(draft, schedule, made)
    _memory(draft, schedule, made)
    _agreement(draft, schedule, made)
    _models(draft, schedule, made)
    _authenticity(draft, made)


def _honest(schedule: Schedule, data: Data) -> Formula:
    """Whether it is a chunk of a holder that is honest, and has been ever since."""
    return dataset(data) & schedule.faithful(data_owner(data))


def _secrecy(draft: Draft, schedule: Schedule, made: Scope) -> None:
    @draft.claim(
        name="confidentiality",
        sentence=sentence("CLAIM-CONFIDENTIALITY"),
        requirement="CLAIM-CONFIDENTIALITY",
        source="deck, Threat Model: each data holder's dataset is protected",
        under=made.all,
        fails_under=made.falls,
    )
    def confidentiality(x: Agent, m: Data) -> Formula:
        others = _honest(schedule, m) & (x != data_owner(m)) & (x != orchestrator)
        return implies(others & ~past_keys_leak, ~learned(x, m))

    @draft.claim(
        name="key-isolation",
        sentence=sentence("CLAIM-KEY-ISOLATION"),
        requirement="CLAIM-KEY-ISOLATION",
        source=f"{_ANALYSIS}, Collusion: no way for a holder to intercept the next one's traffic",
        under=made.keys,
        fails_under=made.keys_fall,
    )
    def key_isolation() -> Formula:
        known = forall(
            lambda x, k: implies(
                issued(k) & (knows_h2d(x, k) | knows_d2h(x, k)) & schedule.faithful(owner(k)) & ~past_keys_leak,
                (x == orchestrator) | (x == owner(k)),
            ),
            Agent,
            Key,
        )
        opens = forall(
            lambda k, g: implies(
                issued(k) & (live_h2d(g, k) | live_d2h(g, k)),
                g == ends_at(key_session(k)),
            ),
            Key,
            Gpu,
        )
        return known & opens


def _forward_secrecy(draft: Draft, schedule: Schedule, made: Scope) -> None:
    @draft.claim(
        name="forward-isolation",
        sentence=sentence("CLAIM-FORWARD-ISOLATION"),
        requirement="CLAIM-FORWARD-ISOLATION",
        source="Carnet: what rotation is for, beyond the deck",
        under=made.past,
        fails_under=made.past_falls,
    )
    def forward_isolation() -> Formula:
        keys_kept = forall(
            lambda x, k: implies(
                issued(k) & (knows_h2d(x, k) | knows_d2h(x, k)) & schedule.secret(k),
                (x == orchestrator) | (x == owner(k)),
            ),
            Agent,
            Key,
        )
        data_kept = forall(
            lambda x, m: implies(
                _honest(schedule, m) & (x != data_owner(m)) & (x != orchestrator) & ~exposed(m), ~learned(x, m)
            ),
            Agent,
            Data,
        )
        return keys_kept & data_kept


def _model_secrecy(draft: Draft, made: Scope) -> None:
    @draft.claim(
        name="model-confidentiality",
        sentence=sentence("CLAIM-MODEL-CONFIDENTIALITY"),
        requirement="CLAIM-MODEL-CONFIDENTIALITY",
        source="deck, Threat Model: the model is not protected against a malicious data holder",
        under=made.model,
        fails_under=made.model_falls,
    )
    def model_confidentiality(x: Agent) -> Formula:
        return implies(learned(x, the_model) & ~past_keys_leak, (x == orchestrator) | (enrolled(x) & ~corrupt(x)))


def _freshness(draft: Draft, schedule: Schedule, made: Scope) -> None:
    @draft.claim(
        name="iv-unique",
        sentence=sentence("CLAIM-IV-UNIQUE"),
        requirement="CLAIM-IV-UNIQUE",
        source="RFC 5116 section 3.1; SP 800-38D section 8; open-gpu-kernel-modules ccsl.c",
        under=made.everywhere,
    )
    def iv_unique() -> Formula:
        chunks = forall(
            lambda a, b, j, k, v, m, n: implies(
                sealed(a, j, v, m) & sealed(b, k, v, n) & schedule.same_ivs(j, k), (a == b) & (j == k) & (m == n)
            ),
            *(Agent, Agent, Key, Key, Slot, Data, Data),
        )
        both = forall(
            lambda a, j, k, v, m: ~(sealed(a, j, v, m) & uploaded(k, v) & schedule.same_ivs(j, k)),
            *(Agent, Key, Key, Slot, Data),
        )
        uploads = forall(
            lambda j, k, v: implies(uploaded(j, v) & uploaded(k, v) & schedule.same_ivs(j, k), j == k), Key, Key, Slot
        )
        home = forall(
            lambda j, k, v: (
                ~repeated(k, v) & implies(streamed(j, v) & streamed(k, v) & schedule.same_ivs(j, k), j == k)
            ),
            *(Key, Key, Slot),
        )
        orders = forall(
            lambda k, v, o, q: implies(ordered(k, v, o) & ordered(k, v, q), o == q), *(Key, Slot, Order, Order)
        )
        reports = forall(
            lambda k, v, o, q: implies(replied(k, v, o) & replied(k, v, q), o == q), *(Key, Slot, Order, Order)
        )
        return chunks & both & uploads & home & orders & reports

    @draft.claim(
        name="no-replay",
        sentence=sentence("CLAIM-NO-REPLAY"),
        requirement="CLAIM-NO-REPLAY",
        source="open-gpu-kernel-modules uvm_hopper_ce.c: implicit IV",
        under=made.everywhere,
    )
    def no_replay() -> Formula:
        return forall(lambda k, v: ~replayed(k, v), Key, Slot) & forall(lambda k: ~stray(k), Key)


def _memory(draft: Draft, schedule: Schedule, made: Scope) -> None:
    @draft.claim(
        name="clean-handoff",
        sentence=sentence("CLAIM-CLEAN-HANDOFF"),
        requirement="CLAIM-CLEAN-HANDOFF",
        source=f"{_ANALYSIS}: the dataset buffer is cleared",
        under=made.everywhere,
    )
    def clean_handoff(g: Gpu, m: Data, k: Key) -> Formula:
        leaving = (phase == Phase.CLEAN) | (phase == Phase.ROTATING_OUT) | (phase == Phase.GRANTING)
        changed_hands = live_h2d(g, k) & ~schedule.faithful(owner(k))
        return implies(leaving & attested_live(g) & dataset(m) & live_h2d(g, k) & ~changed_hands, ~resident(g, m))

    @draft.claim(
        name="no-implant",
        sentence=sentence("CLAIM-NO-IMPLANT"),
        requirement="CLAIM-NO-IMPLANT",
        source=f"{_ANALYSIS}: code is reuploaded each time",
        under=made.everywhere,
    )
    def no_implant(g: Gpu, m: Data) -> Formula:
        return implies(resident(g, m) & _honest(schedule, m), ~planted(g) & ~context(g))

    @draft.claim(
        name="trains-verified",
        sentence=sentence("CLAIM-TRAINS-VERIFIED"),
        requirement="CLAIM-TRAINS-VERIFIED",
        source="deck, System Architecture: verification of the integrity of code and model",
        under=made.everywhere,
    )
    def trains_verified(g: Gpu, n: Version) -> Formula:
        running = implies((phase == Phase.TRAINING) & attested_live(g), ~planted(g) & ~context(g))
        return running & ~off_chain(n)

    @draft.claim(
        name="gpu-genuine",
        sentence=sentence("CLAIM-GPU-GENUINE"),
        requirement="CLAIM-GPU-GENUINE",
        source=f"{_ANALYSIS}: a fake GPU cannot decrypt the communication",
        under=made.everywhere,
    )
    def gpu_genuine() -> Formula:
        sent = forall(
            lambda a, k, v, m: implies(
                sealed(a, k, v, m) & _honest(schedule, m),
                protected(key_session(k)) & attested(key_session(k)) & genuine(ends_at(key_session(k))),
            ),
            *(Agent, Key, Slot, Data),
        )
        kept = forall(
            lambda g, m, s: implies(
                resident(g, m) & _honest(schedule, m),
                genuine(g) & confidential(g) & occupied(g) & implies(in_session(g, s), protected(s) & attested(s)),
            ),
            *(Gpu, Data, Session),
        )
        return sent & kept


def _agreement(draft: Draft, schedule: Schedule, made: Scope) -> None:
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


def _models(draft: Draft, schedule: Schedule, made: Scope) -> None:
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
        home = (Phase.BACK, Phase.ROTATING_IN, Phase.ROTATED_IN, Phase.FENCING, Phase.FENCED, Phase.UPLOADED)
        later = (Phase.CHECKING, Phase.VERIFIED, Phase.TRAINING)
        under_way = (k == lent_key) & any_of(*(phase == each for each in (*home, *later)))
        accounted = taken_back(k) & ~lost(k) & ~under_way & schedule.faithful(owner(k))
        return implies(accounted & sealed(owner(k), k, v, m), within(latest, m))


def _authenticity(draft: Draft, made: Scope) -> None:
    @draft.claim(
        name="orchestrator-genuine",
        sentence=sentence("CLAIM-ORCHESTRATOR-GENUINE"),
        requirement="CLAIM-ORCHESTRATOR-GENUINE",
        source="deck, Threat Model: a holder trusts the orchestrator",
        under=made.everywhere,
    )
    def orchestrator_genuine(a: Agent, p: Agent, k: Key, v: Slot) -> Formula:
        return implies(accepted(a, p, k, v) & ~corrupt(a), measured(p) & job_manifest(p) & (p == orchestrator))

    @draft.claim(
        name="no-silent-reset",
        sentence=sentence("CLAIM-NO-SILENT-RESET"),
        requirement="CLAIM-NO-SILENT-RESET",
        source="Carnet (attest, reset, re-attach)",
        under=made.everywhere,
    )
    def no_silent_reset() -> Formula:
        return implies((phase != Phase.SETUP) & (phase != Phase.OPENED), attested(session))
