"""Claims: the properties of every reachable state, with the threat models under which each is claimed."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, forall, implies, used
from carnet_spec.protocols.gpu_travelling.agreements import agreement_claims, authenticity_claims, model_claims
from carnet_spec.protocols.gpu_travelling.history import reported_again, sealed_again, sent_in
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.scopes import USUAL, Scope
from carnet_spec.protocols.gpu_travelling.text import sentence
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Agent,
    Data,
    Gpu,
    Key,
    Order,
    Phase,
    Session,
    Slot,
    Version,
    attested,
    attested_live,
    confidential,
    context,
    corrupt,
    data_owner,
    dataset,
    ends_at,
    enrolled,
    exposed,
    forges_d2h,
    forges_h2d,
    genuine,
    in_session,
    issued,
    key_session,
    knows_d2h,
    knows_h2d,
    learned,
    link_h2d,
    live_d2h,
    live_h2d,
    occupied,
    off_chain,
    orchestrated,
    orchestrator,
    ordered,
    owner,
    past_keys_leak,
    pending,
    phase,
    planted,
    protected,
    repeated,
    replayed,
    replied,
    resident,
    sealed,
    stray,
    streamed,
    the_model,
    uploaded,
)

_ANALYSIS = "deck, Security Analysis"


def state_claims(draft: Draft, schedule: Schedule, made: Scope = USUAL) -> None:
    """Add the claims to ``draft``, under the threat models of ``made``."""
    _secrecy(draft, schedule, made)
    if made.past or made.past_falls:
        _forward_secrecy(draft, schedule, made)
    if made.model or made.model_falls:
        _model_secrecy(draft, made)
    _freshness(draft, schedule, made)
    _memory(draft, schedule, made)
    agreement_claims(draft, schedule, made)
    model_claims(draft, schedule, made)
    authenticity_claims(draft, made)


def _honest(schedule: Schedule, data: Data) -> Formula:
    """Whether it is a chunk of a holder that is honest, and has been ever since."""
    return dataset(data) & schedule.faithful(data_owner(data))


def _unexposed(schedule: Schedule, data: Data) -> Formula:
    """Whether it is such a chunk, and no past key that leaked exposed it."""
    return _honest(schedule, data) & ~exposed(data)


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
                job_key(schedule, k) & (has_key(x, k) | forges_h2d(x, k) | forges_d2h(x, k)) & ~past_keys_leak,
                (x == orchestrator) | (x == owner(k)),
            ),
            Agent,
            Key,
        )
        opens = forall(
            lambda k, g: implies(
                live_h2d(g, k) | live_d2h(g, k),
                g == ends_at(key_session(k)),
            ),
            Key,
            Gpu,
        )
        return known & opens


def has_key(agent: Agent, key: Key) -> Formula:
    """Whether the agent knows either half of the key."""
    return knows_h2d(agent, key) | knows_d2h(agent, key)


def job_key(schedule: Schedule, key: Key) -> Formula:
    """Whether an honest owner's key is of a session that the orchestrator opened with a genuine, protected GPU."""
    return used(key) & orchestrated(key_session(key)) & protected(key_session(key)) & schedule.faithful(owner(key))


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
                issued(k) & has_key(x, k) & schedule.secret(k),
                (x == orchestrator) | (x == owner(k)),
            ),
            Agent,
            Key,
        )
        data_kept = forall(
            lambda x, m: implies(_unexposed(schedule, m) & (x != data_owner(m)) & (x != orchestrator), ~learned(x, m)),
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
        once = forall(lambda k, v: ~sealed_again(k, v) & ~reported_again(k, v), Key, Slot)
        return chunks & both & uploads & once & home & orders & reports

    @draft.claim(
        name="no-replay",
        sentence=sentence("CLAIM-NO-REPLAY"),
        requirement="CLAIM-NO-REPLAY",
        source="open-gpu-kernel-modules uvm_hopper_ce.c: implicit IV",
        under=made.everywhere,
    )
    def no_replay() -> Formula:
        return forall(lambda k, v: ~replayed(k, v), Key, Slot) & forall(lambda k: ~stray(k), Key)


def leaving(schedule: Schedule, gpu: Gpu) -> Formula:
    """Whether the GPU is about to change hands: it is scrubbed, and nobody corrupt has its next key live already."""
    next_has_it = live_h2d(gpu, pending) & ~schedule.faithful(owner(pending))
    lent_has_it = live_h2d(gpu, link_h2d) & ~schedule.faithful(owner(link_h2d))
    rotating = (phase == Phase.ROTATING_OUT) & ~next_has_it
    return (phase == Phase.CLEAN) | rotating | ((phase == Phase.GRANTING) & ~lent_has_it)


def _memory(draft: Draft, schedule: Schedule, made: Scope) -> None:
    @draft.claim(
        name="clean-handoff",
        sentence=sentence("CLAIM-CLEAN-HANDOFF"),
        requirement="CLAIM-CLEAN-HANDOFF",
        source=f"{_ANALYSIS}: the dataset buffer is cleared",
        under=made.everywhere,
    )
    def clean_handoff(g: Gpu, m: Data) -> Formula:
        return implies(leaving(schedule, g) & attested_live(g) & dataset(m), ~resident(g, m))

    @draft.claim(
        name="no-implant",
        sentence=sentence("CLAIM-NO-IMPLANT"),
        requirement="CLAIM-NO-IMPLANT",
        source=f"{_ANALYSIS}: code is reuploaded each time",
        under=made.everywhere,
    )
    def no_implant(g: Gpu, m: Data) -> Formula:
        return implies(resident(g, m) & _unexposed(schedule, m), ~planted(g) & ~context(g))

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
        opened = forall(
            lambda a, k, v, m, g: implies(
                sealed(a, k, v, m) & _honest(schedule, m) & (live_h2d(g, k) | live_d2h(g, k)),
                g == ends_at(key_session(k)),
            ),
            *(Agent, Key, Slot, Data, Gpu),
        )
        kept = forall(
            lambda g, m: implies(resident(g, m) & _unexposed(schedule, m), genuine(g) & confidential(g) & occupied(g)),
            Gpu,
            Data,
        )
        there = forall(
            lambda g, m, s: implies(
                resident(g, m) & _unexposed(schedule, m) & in_session(g, s), protected(s) & attested(s) & sent_in(s, m)
            ),
            *(Gpu, Data, Session),
        )
        return sent & opened & kept & there
