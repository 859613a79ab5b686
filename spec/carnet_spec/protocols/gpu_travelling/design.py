"""The design put together: axioms, threat models, assumptions, defences and variants of GPU Travelling."""

from __future__ import annotations

from carnet_spec.language import Draft, Formula, forall, implies
from carnet_spec.language.family import Variant
from carnet_spec.language.requirements import Level
from carnet_spec.protocols.gpu_travelling.adversary import specify_adversary
from carnet_spec.protocols.gpu_travelling.claims import CONFINED, LEAKING, RECORDING, USUAL, state_claims
from carnet_spec.protocols.gpu_travelling.deductions import specify_deductions
from carnet_spec.protocols.gpu_travelling.endorsed import name_the_orchestrator
from carnet_spec.protocols.gpu_travelling.goals import state_goals
from carnet_spec.protocols.gpu_travelling.handover import specify_handover
from carnet_spec.protocols.gpu_travelling.lemmas import state_lemmas
from carnet_spec.protocols.gpu_travelling.other_adversaries import (
    DONE_WITHOUT,
    KINDS,
    SCOPES,
    WITH_MORE,
    state_more,
)
from carnet_spec.protocols.gpu_travelling.returning import specify_return
from carnet_spec.protocols.gpu_travelling.rotation import specify_rotation_in, specify_rotation_out
from carnet_spec.protocols.gpu_travelling.schedules import SCHEDULES, Ratchet, Schedule
from carnet_spec.protocols.gpu_travelling.setup import specify_setup
from carnet_spec.protocols.gpu_travelling.text import TEXT
from carnet_spec.protocols.gpu_travelling.timed import AGE, LEASE, LIMIT, add_time
from carnet_spec.protocols.gpu_travelling.training import specify_training
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    Agent,
    Custody,
    Data,
    Gpu,
    Key,
    Phase,
    Slot,
    Version,
    agreed,
    before,
    certified,
    chained,
    confidential,
    corrupt,
    custody,
    data_owner,
    dataset,
    elsewhere,
    enrolled,
    first,
    first_version,
    genuine,
    in_slot,
    installed,
    interferes,
    job_manifest,
    kept,
    latest,
    leaked,
    measured,
    memory_version,
    mux,
    orchestrator,
    past_keys_leak,
    phase,
    platform,
    revoked,
    rubble,
    some_holder_corrupt,
    the_model,
    upload_version,
)

ID = "gpu-travelling"
TITLE = "GPU Travelling: one confidential GPU, routed to distrusting data holders in turn"
MAIN = ("engine-per-holder", "sealed-under-master")

VARIANTS = {
    variant.name: variant
    for variant in (
        Variant(
            "engine-per-holder", "each holder has a copy engine of its own, retired at return", label="needs firmware"
        ),
        Variant("sealed-under-master", "a fresh key each time, under the session master", label="needs firmware"),
        Variant(
            "retired-engine-leaks",
            "an engine per holder, whose key leaks while the engine is retired",
            label="needs firmware",
        ),
        Variant("none", "the link key never changes", without=("rotation-out", "rotation-in")),
        Variant("ratchet", "the public driver's rotation: HKDF of the previous key"),
        Variant("wrapped-under-old", "a fresh key, sent under the outgoing link key"),
        Variant("reset", "a new session before every journey, the stock ratchet on the way in"),
        Variant("rotate-out-only", "the deck read literally: rotate before travelling only", without=("rotation-in",)),
        Variant("check-before-rotate", "check memory, then rotate", without=("rotation-before-check",)),
        Variant(
            "fence-before-rotate",
            "fence, then rotate, with the whole bundle lent",
            without=("rotation-before-fence", "h2d-half-only"),
        ),
        Variant("scrub-buffer-only", "scrub the dataset buffer alone", without=("scrub-workspace",)),
        Variant(
            "whole-bundle-lent",
            "lend both halves, keep d2h, and believe reports on the link",
            without=("h2d-half-only", "rotation-in-d2h", "session-acknowledgements"),
        ),
        Variant("launch-key-lent", "lend the launch key too", without=("launch-key-kept",)),
        Variant(
            "report-not-in-session",
            "take a report from outside the session",
            without=("report-in-session", "signer-is-responder"),
        ),
        Variant("intra-handshake-quote", "a quote not bound to the channel", without=("quote-bound-to-channel",)),
        Variant(
            "forked-orchestrator",
            "a holder takes any instance of the right code and manifest",
            without=("one-instance",),
        ),
        Variant(
            "kernel-answers",
            "the firmware's reports travel on the link, where code on the GPU can make them",
            without=("session-acknowledgements",),
        ),
        Variant(
            "kernel-orders",
            "orders travel on the link, where code on the GPU can submit them",
            without=("session-orders",),
        ),
        *WITH_MORE,
        Variant("plain-semaphores", "believe the plain scrub semaphore", without=("scrub-ack",)),
        Variant("reattach-after-reset", "re-attach silently after a reset", without=("fail-stop-on-reset",)),
        Variant("engine-reload", "copy engines can be loaded again in a session", without=("no-engine-reload",)),
        Variant("inner-key", "a one-time data key of holder and verified code, over the stock ratchet"),
        Variant("confined-holder", "hardware confines a holder to its buffer", label="needs hardware"),
        Variant("hidden-address", "hide the model's address instead of reading it back", without=("model-read-back",)),
        Variant("engine-per-holder-timed", "the same, with clock, leases and limits of keys", over=MAIN[0]),
        Variant(
            "sealed-under-master-timed",
            "the same, with clock, leases and limits of keys",
            label="needs firmware",
            over=MAIN[1],
        ),
    )
}

_SCHEDULE_OF: dict[str, type[Schedule]] = {**SCHEDULES, "inner-key": Ratchet, **KINDS}
"""What becomes of keys in the variants that do not build on ``sealed-under-master``."""

_SCOPES = {"confined-holder": CONFINED, "inner-key": RECORDING, "retired-engine-leaks": LEAKING, **SCOPES}
"""Under which threat models the claims of a variant are made, where that is not as usual."""


def gpu_travelling(variant: str = MAIN[0]) -> Draft:
    """Draft the named variant of GPU Travelling."""
    base = VARIANTS[variant].over if variant in VARIANTS else ""
    schedule = _SCHEDULE_OF.get(base or variant, Schedule)()
    draft = _steps(variant, schedule, timed=bool(base))
    if base:
        add_time(draft, schedule, USUAL.all)
        return draft
    state_claims(draft, schedule, _SCOPES.get(variant, USUAL))
    state_more(draft, schedule)
    state_lemmas(draft, schedule)
    state_goals(draft)
    return draft


def _steps(variant: str, schedule: Schedule, *, timed: bool) -> Draft:
    """Draft what is assumed and what may happen, and claim nothing."""
    confined = variant == "confined-holder"
    inner_key = variant == "inner-key"
    draft = Draft(ID, TITLE, variant)
    _assume(draft, ("A9",) if timed else ())
    _threats(draft, recording=inner_key)
    _defences(draft)
    _start(draft)
    specify_setup(draft, schedule)
    specify_rotation_out(draft, schedule)
    specify_handover(draft, schedule)
    specify_rotation_in(draft, schedule)
    specify_return(draft)
    specify_training(draft, schedule)
    specify_adversary(draft, schedule.routed, confined=confined)
    specify_deductions(draft, schedule.routed, confined=confined, inner_key=inner_key)
    schedule.rules(draft)
    return draft


BUILT_IN = ("A1", "A2", "A3", "A4", "A6", "A7", "A8", "A11", "A15")
"""Assumptions in the shape of the steps: what a key opens, what a reset or a scrub reaches. With a clock A9 is, too."""


def _assume(draft: Draft, also_built_in: tuple[str, ...]) -> None:
    built_in = {*BUILT_IN, *also_built_in} - {DONE_WITHOUT.get(draft.variant)}
    for id, requirement in TEXT.requirements().items():
        if requirement.level is Level.ASSUMPTION:
            draft.assumption(id, requirement.sentence, built_in=id in built_in)
    draft.axiom("the orchestrator is honest", ~corrupt(orchestrator), assumption="A5")
    draft.axiom("the orchestrator runs the job", measured(orchestrator) & job_manifest(orchestrator), assumption="A5")
    if draft.variant == "endorsed-instance":
        name_the_orchestrator(draft)
    else:
        draft.axiom(
            "one instance is agreed on",
            agreed(orchestrator)
            & forall(lambda x: implies(measured(x) & job_manifest(x) & agreed(x), x == orchestrator), Agent),
            assumption="A14",
            says="of the instances with this manifest the holders agreed on one",
        )
    draft.axiom("two parties", (orchestrator != platform) & ~measured(platform), assumption="A1")
    draft.axiom("no party is a holder", ~enrolled(orchestrator) & ~enrolled(platform), assumption="A10")
    draft.axiom(
        "what a corrupt holder is",
        forall(lambda x: implies(enrolled(x) & corrupt(x), some_holder_corrupt), Agent),
        assumption="A2",
    )
    draft.axiom("certificates tell", forall(lambda g: implies(certified(g), genuine(g)), Gpu), assumption="A1")
    if not draft.variant.startswith("leaked-device"):
        draft.axiom("what leaked is revoked", forall(lambda g: implies(leaked(g), revoked(g)), Gpu), assumption="A13")
    draft.axiom("rubble is no model", first_version != rubble, assumption="A1")
    draft.axiom("the model is the orchestrator's", ~dataset(the_model), assumption="A6")
    draft.axiom(
        "datasets are holders'", forall(lambda m: implies(dataset(m), enrolled(data_owner(m))), Data), assumption="A10"
    )
    draft.axiom("counters do not loop", forall(lambda u: ~before(u, u), Slot), assumption="A12")
    draft.axiom(
        "counters are ordered",
        forall(lambda u, v, w: implies(before(u, v) & before(v, w), before(u, w)), Slot, Slot, Slot),
        assumption="A12",
    )
    draft.axiom(
        "counters are in line",
        forall(lambda u, v: before(u, v) | (u == v) | before(v, u), Slot, Slot),
        assumption="A12",
    )
    draft.axiom("counters have a start", forall(lambda u: ~before(u, first), Slot), assumption="A12")


def _threats(draft: Draft, *, recording: bool) -> None:
    holders_honest = ~some_holder_corrupt
    keys_kept = ~past_keys_leak
    draft.threat(
        "outsider",
        "platform and every enrolled holder honest; outsiders control the network and own GPUs elsewhere",
        platform_honest=~corrupt(platform),
        holders_honest=holders_honest,
        past_keys_kept=keys_kept,
    )
    draft.threat(
        "holder",
        "platform honest, any holders corrupt, plus outsiders",
        platform_honest=~corrupt(platform),
        past_keys_kept=keys_kept,
    )
    draft.threat(
        "hypervisor",
        "platform corrupt, no enrolled holder corrupt, plus outsiders",
        holders_honest=holders_honest,
        past_keys_kept=keys_kept,
    )
    draft.threat("collusion", "anybody but the orchestrator may be corrupt", past_keys_kept=keys_kept)
    draft.threat("past-keys", "collusion, and the adversary is given every link key the GPU no longer accepts")
    if recording:
        draft.threat(
            "recording",
            "collusion that records and computes, but sends, resets and plants nothing",
            only_records=~interferes,
            past_keys_kept=keys_kept,
        )


def _defences(draft: Draft) -> None:
    for id, title, *base in (
        ("gpu-certificate", "the GPU's certificate chain is checked"),
        ("report-nonce", "the report has to answer this session's nonce"),
        ("report-in-session", "the report has to arrive inside the session"),
        ("signer-is-responder", "the report's signer has to be the session's responder"),
        ("mode-check", "the report has to say confidential mode"),
        ("debug-check", "the report has to say that the debug flag is off"),
        ("reference-values", "the report's measurements have to be the reference values of current firmware"),
        ("revocation-check", "the signer's certificate must not be revoked"),
        ("orchestrator-quote", "the holder checks the orchestrator's measurement"),
        ("quote-bound-to-channel", "the quote has to be bound to the channel, after the handshake"),
        ("manifest-check", "the holder checks the job manifest in the quote"),
        ("one-instance", "the holder checks that the quote is the instance's that the holders agreed on"),
        ("enrolment-check", "the orchestrator checks the holder's enrolment key in the channel"),
        ("rotation-out", "the link key rotates before travelling"),
        ("rotation-in", "the link key rotates at return"),
        ("rotation-in-h2d", "the rotation at return changes the host-to-device half", "sealed-under-master"),
        ("rotation-in-d2h", "the rotation at return changes the device-to-host half"),
        ("rotation-ack", "the orchestrator waits for the acknowledgement of a rotation"),
        ("rotation-before-check", "memory is checked after the rotation at return"),
        ("rotation-before-fence", "contexts are fenced after the rotation at return"),
        ("atomic-rotation", "counters restart only together with a key change"),
        ("wrapped-key-once", "the GPU accepts each key once"),
        ("epochs-increase", "the GPU accepts keys in the order of their epochs"),
        ("fresh-key", "every epoch's key was never used before"),
        ("engine-retirement", "the returned engine is retired, acknowledged", "engine-per-holder"),
        ("no-engine-reload", "copy engines are not loaded again within a session"),
        ("fence", "resident contexts are fenced at return"),
        ("fence-ack", "the orchestrator waits for the acknowledgement of the fence"),
        ("scrub-buffer", "the scrub clears the dataset buffer"),
        ("scrub-workspace", "the scrub clears what training derived"),
        ("scrub-ack", "the scrub has to be acknowledged by the firmware"),
        ("code-reupload", "the code is uploaded again at return"),
        ("code-read-back", "the firmware's digest of the code is compared"),
        ("model-read-back", "the firmware's digest of the model is compared"),
        (
            "saved-digest",
            "the model that comes home is compared, by the firmware's digest, with the version last produced",
        ),
        ("received-count", "the GPU's receive counter is compared with the returned count"),
        ("session-orders", "orders travel inside the session, out of reach of code on the GPU"),
        ("session-acknowledgements", "the firmware acknowledges inside the session, where no code on the GPU can"),
        ("session-sequence", "the firmware carries out the orders of an epoch in their order, each once"),
        ("channel-counter", "each epoch on an engine has a channel counter of its own", "engine-per-holder"),
        ("gpu-implicit-iv", "the GPU decrypts at its own next counter value only"),
        ("sender-iv-monotonic", "senders never use a counter value twice"),
        ("count-handover", "counter values used by the other side are handed over"),
        ("h2d-half-only", "a holder is lent the host-to-device half only"),
        ("launch-key-kept", "the launch key is never lent"),
        ("grant-addressee", "a grant goes to the holder whose key it is"),
        ("address-in-grant", "the buffer's address is stated in the grant"),
        ("grant-once", "a holder accepts a grant once"),
        ("return-authenticated", "a return has to come from the holder"),
        ("fail-stop-on-reset", "a failed session is never continued"),
        ("chunks-pinned", "the orchestrator confirms one chunk for each counter value", "rolled-back-holder"),
        ("erase-after-return", "a holder erases the link key when it gives the GPU back", "late-corruption"),
        ("channel-update", "a holder keeps nothing that opens the grants it had", "late-corruption"),
    ):
        draft.defence(id, title, base=base[0] if base else "")
    for id, title in (
        (AGE, "the age of the evidence is looked at when the GPU is handed over, not only when it is appraised"),
        (LEASE, "custody ends when its lease does"),
        (LIMIT, "a key is used up to its limit only"),
    ):
        draft.defence(id, title, base="engine-per-holder-timed")


def _start(draft: Draft) -> None:
    draft.initially(phase, Phase.SETUP)
    draft.initially(custody, Custody.NONE)

    def slot_at_first(g: Gpu) -> Formula:
        return installed(g)

    def mode_at_first(g: Gpu) -> Formula:
        return genuine(g) & ~elsewhere(g)

    draft.initially(in_slot, slot_at_first)
    draft.initially(confidential, mode_at_first)
    draft.initially(mux, orchestrator)
    draft.initially(latest, first_version)
    draft.initially(kept, first_version)

    def nothing_there(g: Gpu) -> Version:
        return rubble

    def nothing_uploaded(k: Key) -> Version:
        return rubble

    def chain_at_first(n: Version) -> Formula:
        return n == first_version

    draft.initially(memory_version, nothing_there)
    draft.initially(upload_version, nothing_uploaded)
    draft.initially(chained, chain_at_first)
