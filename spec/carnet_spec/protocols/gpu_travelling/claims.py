"""The claims of GPU Travelling: invariants, with the threat models under which each is claimed."""

from dataclasses import dataclass

from carnet_spec.language import *
from carnet_spec.language.authoring import Claims
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.vocabulary import *

# -- scopes ------------------------------------------------------------------------------------------------------------
# Under which threat models a variant makes the claims, and where each is expected to fall.

ALL = ("outsider", "holder", "hypervisor", "collusion")
EVERYWHERE = (*ALL, "past-keys")


@dataclass(frozen=True, slots=True)
class Scope:
    """The threat models under which claims are made, and those under which their violation is expected."""

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
CONFINED = Scope(model=ALL, model_falls=())  #: A holder that reaches its buffer alone never sees the model.
#: An engine's key opens every later epoch of the engine: nothing is claimed once it leaked.
LEAKING = Scope(everywhere=ALL, past=(), past_falls=("past-keys",))
#: What an inner key is for: the adversary records everything, and does nothing else.
RECORDING = Scope(("recording",), ("recording",), (), (), ("collusion",), (), ("holder", "recording"), (), ())


# -- agreements --------------------------------------------------------------------------------------------------------
# Between holder and orchestrator, between records and models, and whose word is taken.


def agreement_claims(draft: Draft, schedule: Schedule, made: Scope) -> None:
    """State the claims that two parties agree on what they did."""
    claim = Claims(draft, TEXT, made.everywhere)

    @claim("data-agreement", "Carnet (dropped tail, replay, injection)")
    def data_agreement(g: Gpu, u: Slot, v: Slot, m: Data, n: Data) -> Formula:
        begun = (phase == Phase.TRAINING) & attested_live(g) & schedule.faithful(owner(lent_key))
        whose = owner(lent_key)
        sent = sealed(whose, lent_key, v, m)
        placed_as_sent = implies(sent, placed(g, v, m)) & implies(placed(g, v, m), sent)
        nothing_else = implies(buffer(g, m), supplied(whose, lent_key, m))
        both_there = placed(g, u, n) & placed(g, v, m) & precedes(n, m)
        return implies(begun, placed_as_sent & nothing_else & implies(both_there, before(u, v)))

    @claim("handoff-agreement", "deck, System Architecture; Lowe's injective agreement")
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

    @claim("single-custody", "deck, Enabler: sharing the key is sharing the GPU")
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
    """State the claims about the origin of model versions."""
    claim = Claims(draft, TEXT, made.everywhere)

    @claim("model-integrity", "deck, System Architecture: verification of the integrity of code and model")
    def model_integrity() -> Formula:
        return chained(latest) & chained(kept)

    @claim("provenance", "VerifiableFL (arXiv 2412.10537): proofs that link inputs and outputs of training")
    def provenance(n: Version, p: Version, k: Key, v: Slot, m: Data) -> Formula:
        whose = owner(k)
        made_of = implies(trained_on(n, m), supplied(whose, k, m)) & implies(sealed(whose, k, v, m), trained_on(n, m))
        return implies(ledger(n, p, k), derives(n, p) & implies(schedule.faithful(whose), made_of))

    @claim("participation", "Carnet (a rolled-back model, a skipped holder)")
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
    """State the claims about the identity of the orchestrator, and about the messages that it accepts."""
    claim = Claims(draft, TEXT, made.everywhere)

    @claim("orchestrator-genuine", "deck, Threat Model: a holder trusts the orchestrator")
    def orchestrator_genuine(a: Agent, p: Agent, k: Key, v: Slot) -> Formula:
        checked = measured(p) & job_manifest(p)
        return implies(accepted(a, p, k, v) & ~corrupt(a), checked & offer(p, a, k, v) & (p == orchestrator))

    @claim("no-silent-reset", "Carnet (attest, reset, re-attach)")
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


# -- claims ------------------------------------------------------------------------------------------------------------

_ANALYSIS = "deck, Security Analysis"


def state_claims(draft: Draft, schedule: Schedule, made: Scope = USUAL) -> None:
    """Add the claims to ``draft``, under the threat models of ``made``."""
    claim = Claims(draft, TEXT, made.everywhere)

    @claim(
        "confidentiality",
        "deck, Threat Model: each data holder's dataset is protected",
        under=made.all,
        fails_under=made.falls,
    )
    def confidentiality(x: Agent, m: Data) -> Formula:
        others = _honest(schedule, m) & (x != data_owner(m)) & (x != orchestrator)
        return implies(others & ~past_keys_leak, ~learned(x, m))

    @claim(
        "key-isolation",
        f"{_ANALYSIS}, Collusion: no way for a holder to intercept the next one's traffic",
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
        opens = forall(lambda k, g: implies(live_h2d(g, k) | live_d2h(g, k), g == ends_at(key_session(k))), Key, Gpu)
        return known & opens

    if made.past or made.past_falls:
        _forward_secrecy(draft, schedule, made)
    if made.model or made.model_falls:
        _model_secrecy(draft, made)

    claim = Claims(draft, TEXT, made.everywhere)

    @claim("iv-unique", "RFC 5116 section 3.1; SP 800-38D section 8; open-gpu-kernel-modules ccsl.c")
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

    @claim("no-replay", "open-gpu-kernel-modules uvm_hopper_ce.c: implicit IV")
    def no_replay() -> Formula:
        return forall(lambda k, v: ~replayed(k, v), Key, Slot) & forall(lambda k: ~stray(k), Key)

    claim = Claims(draft, TEXT, made.everywhere)

    @claim("clean-handoff", f"{_ANALYSIS}: the dataset buffer is cleared")
    def clean_handoff(g: Gpu, m: Data) -> Formula:
        return implies(leaving(schedule, g) & attested_live(g) & dataset(m), ~resident(g, m))

    @claim("no-implant", f"{_ANALYSIS}: code is reuploaded each time")
    def no_implant(g: Gpu, m: Data) -> Formula:
        return implies(resident(g, m) & _unexposed(schedule, m), ~planted(g) & ~context(g))

    @claim("trains-verified", "deck, System Architecture: verification of the integrity of code and model")
    def trains_verified(g: Gpu, n: Version) -> Formula:
        running = implies((phase == Phase.TRAINING) & attested_live(g), ~planted(g) & ~context(g))
        return running & ~off_chain(n)

    @claim("gpu-genuine", f"{_ANALYSIS}: a fake GPU cannot decrypt the communication")
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

    agreement_claims(draft, schedule, made)
    model_claims(draft, schedule, made)
    authenticity_claims(draft, made)


def _honest(schedule: Schedule, data: Data) -> Formula:
    """Whether it is a chunk of a holder that is honest, and has been ever since."""
    return dataset(data) & schedule.faithful(data_owner(data))


def _unexposed(schedule: Schedule, data: Data) -> Formula:
    """Whether it is such a chunk, and no past key that leaked exposed it."""
    return _honest(schedule, data) & ~exposed(data)


def has_key(agent: Agent, key: Key) -> Formula:
    """Whether the agent knows either half of the key."""
    return knows_h2d(agent, key) | knows_d2h(agent, key)


def job_key(schedule: Schedule, key: Key) -> Formula:
    """Whether an honest owner's key is of a session that the orchestrator opened with a genuine, protected GPU."""
    return used(key) & orchestrated(key_session(key)) & protected(key_session(key)) & schedule.faithful(owner(key))


def _forward_secrecy(draft: Draft, schedule: Schedule, made: Scope) -> None:
    claim = Claims(draft, TEXT, made.everywhere)

    @claim(
        "forward-isolation",
        "Carnet: what rotation is for, beyond the deck",
        under=made.past,
        fails_under=made.past_falls,
    )
    def forward_isolation() -> Formula:
        keys_kept = forall(
            lambda x, k: implies(issued(k) & has_key(x, k) & schedule.secret(k), (x == orchestrator) | (x == owner(k))),
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
    claim = Claims(draft, TEXT, made.everywhere)

    @claim(
        "model-confidentiality",
        "deck, Threat Model: the model is not protected against a malicious data holder",
        under=made.model,
        fails_under=made.model_falls,
    )
    def model_confidentiality(x: Agent) -> Formula:
        return implies(learned(x, the_model) & ~past_keys_leak, (x == orchestrator) | (enrolled(x) & ~corrupt(x)))


def leaving(schedule: Schedule, gpu: Gpu) -> Formula:
    """Whether the GPU is about to change hands: it is scrubbed, and nobody corrupt has its next key live already."""
    next_has_it = live_h2d(gpu, pending) & ~schedule.faithful(owner(pending))
    lent_has_it = live_h2d(gpu, link_h2d) & ~schedule.faithful(owner(link_h2d))
    rotating = (phase == Phase.ROTATING_OUT) & ~next_has_it
    return (phase == Phase.CLEAN) | rotating | ((phase == Phase.GRANTING) & ~lent_has_it)


# -- goals -------------------------------------------------------------------------------------------------------------
# What must be reachable, or claims would be empty.


def state_goals(draft: Draft) -> None:
    """Add the goals, which must be reachable, to ``draft``."""

    @draft.goal(sentence="An honest holder's data is resident.")
    def data_resident(g: Gpu, m: Data) -> Formula:
        return buffer(g, m) & honest_data(m)

    @draft.goal(sentence="A holder gives back what it was granted after two chunks of data.")
    def two_chunks_returned(a: Agent, k: Key, u: Slot, v: Slot, m: Data, n: Data) -> Formula:
        both = sealed(a, k, u, m) & sealed(a, k, v, n) & before(u, v) & (m != n)
        return both & (phase == Phase.BACK) & (custody == Custody.RETURNED)

    @draft.goal(sentence="The model was trained on an honest holder's data.")
    def trained(g: Gpu, m: Data) -> Formula:
        return (phase == Phase.TRAINED) & workspace(g, m) & honest_data(m)

    @draft.goal(sentence="A second holder has the GPU.", rounds=2)
    def second_holder(a: Agent, b: Agent, j: Key, k: Key, v: Slot, w: Slot) -> Formula:
        return granted(a, j, v) & granted(b, k, w) & (a != b)

    @draft.goal(sentence="The same holder has the GPU twice.", rounds=2)
    def same_holder_twice(a: Agent, j: Key, k: Key, v: Slot, w: Slot) -> Formula:
        return granted(a, j, v) & granted(a, k, w) & (j != k)

    @draft.goal(sentence="A third round begins.", rounds=3)
    def third_round(a: Agent, b: Agent, c: Agent, i: Key, j: Key, k: Key, u: Slot, v: Slot, w: Slot) -> Formula:
        three = granted(a, i, u) & granted(b, j, v) & granted(c, k, w)
        return three & (i != j) & (j != k) & (i != k)

    @draft.goal(sentence="The trained model came home.")
    def model_at_home(n: Version) -> Formula:
        return (phase == Phase.SAVED) & (kept == n) & (n != first_version)

    @draft.goal(sentence="The GPU is scrubbed while the model stays on it.")
    def scrubbed_unsaved() -> Formula:
        return (phase == Phase.SCRUBBING) & (custody == Custody.RETURNED) & (kept != latest)

    @draft.goal(sentence="The GPU is scrubbed after the model came home.")
    def scrubbed_saved() -> Formula:
        return (phase == Phase.SCRUBBING) & (custody == Custody.RETURNED) & (kept == latest)

    @draft.goal(sentence="A GPU out of confidential mode says so.")
    def open_mode_reported(s: Session, g: Gpu) -> Formula:
        return _reported(s, g, Mode.OPEN)

    @draft.goal(sentence="A GPU with its debug flag set says so.")
    def debug_flag_reported(s: Session, g: Gpu) -> Formula:
        return _reported(s, g, Mode.DEBUG)

    @draft.goal(sentence="A GPU with old firmware says so.")
    def old_firmware_reported(s: Session, g: Gpu) -> Formula:
        return _reported(s, g, Mode.OUTDATED)

    @draft.goal(sentence="An outsider's own GPU is in confidential mode.")
    def own_gpu(g: Gpu) -> Formula:
        return elsewhere(g) & confidential(g)

    @draft.goal(sentence="A corrupt holder lets somebody else sit at the end of its channel.")
    def lent_channel(a: Agent, p: Agent) -> Formula:
        return admitted(a, p) & (p != a)

    @draft.goal(sentence="An evicted holder's data was scrubbed untrained.")
    def eviction() -> Formula:
        return (custody == Custody.EVICTED) & (phase == Phase.CLEAN)


def _reported(session: Session, gpu: Gpu, mode: Mode) -> Formula:
    return report_inside(session, gpu, session, mode) & genuine(gpu) & in_session(gpu, session)


# -- progress ----------------------------------------------------------------------------------------------------------
# What happens eventually, if the actions named are fair.
#
# A grant ends because the orchestrator may evict. Everything else that it waits for is an answer of the firmware, which
# comes in two steps: the GPU carries the order out, and the orchestrator sees the report. That these are taken fairly
# assumes that the host delivers orders and reports in the end. Nothing else that anybody does keeps the answer from
# coming for ever, but ending the session, which is a fail-stop.

_NAMED = {
    "rotation-out": "to rotate before the GPU travels",
    "rotation-in": "to rotate at return",
    "fence": "to fence",
    "scrub": "to scrub",
}


def state_progress(draft: Draft, *, answers: bool) -> None:
    """Add the liveness properties to ``draft``; with ``answers`` also those that need lemmas about answers."""
    draft.eventually(
        "grant-ends",
        phase == Phase.AWAY,
        phase != Phase.AWAY,
        sentence="Every grant is followed by return, eviction or fail-stop.",
        fair=("evict",),
    )
    if answers:
        _state_answers(draft)


def _state_answers(draft: Draft) -> None:
    _answered(draft, "rotation-out", Phase.ROTATING_OUT, ("gpu_rotate_out", "rotated_out"), s=session, k=pending)
    _answered(draft, "rotation-in", Phase.ROTATING_IN, ("gpu_rotate_in", "rotated_in"), s=session, k=pending)
    _answered(draft, "fence", Phase.FENCING, ("exec_fence", "fenced"), k=link_h2d)
    _answered(draft, "scrub", Phase.SCRUBBING, ("exec_scrub", "scrubbed"), k=link_h2d)


def _answered(draft: Draft, order: str, waiting: Phase, fair: tuple[str, str], **given: Individual) -> None:
    draft.eventually(
        f"{order}-answered",
        phase == waiting,
        (phase != waiting) | ~exists(attested_live, Gpu),
        sentence=f"Every order {_NAMED[order]} is seen carried out, or the session ends.",
        fair=fair,
        given={fair[0]: given},
    )
