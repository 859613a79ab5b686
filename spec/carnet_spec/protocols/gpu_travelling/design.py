"""The designs of GPU Travelling: axioms, threat models, assumptions, defences and variants."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from carnet_spec.language import *
from carnet_spec.language.authoring import assumptions_from, by_name
from carnet_spec.language.family import Finding, PartyKind, PartyView, Profile, Service, Variant, Visibility
from carnet_spec.protocols.gpu_travelling.adversary import PLAIN, Hardware, specify_adversary
from carnet_spec.protocols.gpu_travelling.claims import (
    CONFINED,
    LEAKING,
    RECORDING,
    USUAL,
    state_claims,
    state_goals,
    state_progress,
)
from carnet_spec.protocols.gpu_travelling.deductions import (
    give_up_the_model,
    specify_deductions,
    specify_hiding,
    specify_switch,
)
from carnet_spec.protocols.gpu_travelling.engines import EnginePerHolder, RetiredEngineLeaks, RetireThenOpen
from carnet_spec.protocols.gpu_travelling.handover import specify_handover, specify_training
from carnet_spec.protocols.gpu_travelling.inner_key import specify_inner_key, state_inner_key
from carnet_spec.protocols.gpu_travelling.lemmas import state_lemmas
from carnet_spec.protocols.gpu_travelling.other_adversaries import (
    DONE_WITHOUT,
    KINDS,
    SCOPES,
    WITH_MORE,
    state_claims_of_variants,
)
from carnet_spec.protocols.gpu_travelling.rotation import (
    specify_checks,
    specify_rotation_in,
    specify_rotation_out,
)
from carnet_spec.protocols.gpu_travelling.schedules import Ratchet, ResetOut, Schedule, WrappedUnderOld
from carnet_spec.protocols.gpu_travelling.setup import name_the_orchestrator, specify_backup, specify_setup
from carnet_spec.protocols.gpu_travelling.timed import AGE, LEASE, LIMIT, add_time
from carnet_spec.protocols.gpu_travelling.vocabulary import *
from carnet_spec.theories.linear_order import StrictOrder

# -- variants ----------------------------------------------------------------------------------------------------------
# The design choices that are compared, with what lies beneath each and what each claims.

MAIN = ("engine-per-holder", "sealed-under-master")

VARIANTS = by_name(
    Variant("engine-per-holder", "each holder has a copy engine of its own, retired at return", label="needs firmware"),
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
        "fence, then rotate, and ask for no contexts; with the whole bundle lent",
        without=("rotation-before-fence", "no-context-left", "h2d-half-only"),
        hunts=(Profile("two rounds", {"rounds": 2, "corrupt_chunks": 1}, budget=1),),
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
    Variant("pcie-switch", "a switch for a MUX: several hosts reach the GPU at once", label="needs hardware"),
    Variant(
        "retire-then-open",
        "retiring an engine and opening the next are two orders, and the host may drop one",
        label="needs firmware",
    ),
    Variant(
        "backup-orchestrator",
        "a second instance takes over after a fail-stop (a pattern, without replication)",
        label="needs firmware",
    ),
    Variant(
        "hidden-address",
        "hide the model's address instead of comparing its digest",
        without=("model-read-back",),
        hunts=(
            Profile("one round", {"rounds": 1, "corrupt_chunks": 1}, budget=1),
            Profile("two short rounds", {"rounds": 2}, budget=1),
        ),
    ),
    Variant(
        "engine-per-holder-timed",
        "the same, with clock, leases and limits of keys",
        label="needs firmware",
        over=MAIN[0],
    ),
    Variant(
        "sealed-under-master-timed",
        "the same, with clock, leases and limits of keys",
        label="needs firmware",
        over=MAIN[1],
    ),
)

#: Where the claims of a variant are not made as usual.
MADE = {"confined-holder": CONFINED, "inner-key": RECORDING, "retired-engine-leaks": LEAKING, **SCOPES}
#: What lies beneath the variants that change it.
HARDWARE = {
    "confined-holder": Hardware(confined=True),
    "hidden-address": Hardware(hidden=True),
    "pcie-switch": Hardware(switched=True),
}
#: Key schedules by name; ``none`` is a schedule with both rotations removed.
SCHEDULES: dict[str, type[Schedule]] = {
    kind.name: kind for kind in (EnginePerHolder, RetiredEngineLeaks, Schedule, Ratchet, ResetOut, WrappedUnderOld)
}
#: What becomes of keys in the variants that do not build on ``sealed-under-master``.
_SCHEDULE_OF: dict[str, type[Schedule]] = {
    **SCHEDULES,
    "inner-key": Ratchet,
    "pcie-switch": EnginePerHolder,
    "backup-orchestrator": EnginePerHolder,
    "retire-then-open": RetireThenOpen,
    **KINDS,
}


def schedule_of(variant: str) -> type[Schedule]:
    """Return the key schedule that a variant builds on."""
    return _SCHEDULE_OF.get(variant, Schedule)


# -- defences ----------------------------------------------------------------------------------------------------------
# The guards and updates that can be taken away one by one, to see what each is for.


#: Each with what it does, and the variant that it belongs to if that is not every one.
DEFENCES = (
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
    ("whole-hand-over", "the instance that takes over has the newest record", "backup-orchestrator"),
    ("retire-before-open", "no engine is opened before the one in use is retired", "retire-then-open"),
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
    ("no-context-left", "the firmware says with the digests that no context is left"),
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
    (
        AGE,
        "the age of the evidence is looked at when the GPU is handed over, not only when it is appraised",
        "engine-per-holder-timed",
    ),
    (LEASE, "custody ends when its lease does", "engine-per-holder-timed"),
    (LIMIT, "a key is used up to its limit only", "engine-per-holder-timed"),
)


# -- firmware ----------------------------------------------------------------------------------------------------------
# What each variant asks of the GPU, and what the public driver has of it.
#
# *Shown*: the public driver performs it or calls it. *Hidden*: the driver has a part of it, and closed firmware would
# have to do the rest. *Lacking*: the driver neither performs it nor calls it.
#
# The driver is open-gpu-kernel-modules, release 595.45.04, cited by file; DEMY is arXiv 2507.02770. Nothing here was
# tried on a GPU.

SHOWN, HIDDEN, LACKING = "shown", "hidden", "lacking"
_IN_SESSION = "session-acknowledgements"


def _any(schedule: type[Schedule]) -> bool:
    return True


def _engines(schedule: type[Schedule]) -> bool:
    return issubclass(schedule, EnginePerHolder)


def _ratchets(schedule: type[Schedule]) -> bool:
    return issubclass(schedule, Ratchet)


def _fresh(schedule: type[Schedule]) -> bool:
    return not _engines(schedule) and not _ratchets(schedule)


def _service(
    id: str,
    title: str,
    available: str,
    *,
    schedules: Callable[[type[Schedule]], bool] = _any,
    unless: tuple[str, ...] = (),
    variants: tuple[str, ...] = tuple(VARIANTS),
) -> Callable[[str], Service]:
    """Return what makes a service of the file that shows it.

    The variants on ``schedules`` need it, but for those that lack a defence of ``unless``.
    """
    needed_by = frozenset(
        name
        for name in variants
        if schedules(schedule_of(VARIANTS[name].over or name)) and not {*VARIANTS[name].without} & {*unless}
    )
    return lambda where: Service(id, title, available, where, needed_by)


#: What each party sees of an honest one's data, and what it is trusted for.
VIEWS = (
    PartyView(
        PartyKind.OTHERS,
        "other holders",
        Visibility.RESULT,
        "the model, which is made of the data; no dataset",
        limited_by=("confidentiality",),
    ),
    PartyView(
        PartyKind.TEE,
        "orchestrator",
        Visibility.CLEAR,
        "it has the secret of the session, from which the link keys of its GPU are drawn",
        trusted_for="opening sessions, ordering rotations and scrubs, and a journal that is not rolled back",
        assumed_in=("A5", "A14"),
    ),
    PartyView(
        PartyKind.ACCELERATOR,
        "travelling GPU",
        Visibility.CLEAR,
        "the dataset of the holder that it is lent to, until the scrub",
        trusted_for="firmware that keeps keys, carries orders out and scrubs every byte",
        assumed_in=("A3", "A8", "A11", "A16", "A20"),
    ),
    PartyView(
        PartyKind.HOST,
        "platform and network",
        Visibility.HIDDEN,
        "chunks and orders on the link, and when they pass",
        limited_by=("confidentiality", "key-isolation"),
    ),
)


#: What is asked of the GPU, in the order of what is known of it.
SERVICES = (
    _service("session", "a session, and a signed report inside it", SHOWN)("spdm.c"),
    _service("lent-key", "raw link keys, for user mode to pass on", SHOWN)(
        "kernel_channel.c (GET_KMB); cc_drv.h: both directions come in one bundle"
    ),
    _service("implicit-iv", "copies decrypted at the engine's own next IV", SHOWN)("uvm_hopper_ce.c"),
    _service(
        "engine-keys",
        "an engine with a key pair of its own, whose channels have counters of their own",
        SHOWN,
        schedules=_engines,
    )("conf_compute_keystore_gh100.c; kernel_channel.c"),
    _service("ratchet", "a rotation that derives the next key from the last", SHOWN, schedules=_ratchets)(
        "conf_compute_keystore_gh100.c; conf_compute_key_rotation.c: past a threshold, or at the kernel's request"
    ),
    _service(
        "engine-retirement",
        "an engine's channels retired, and that reported",
        HIDDEN,
        schedules=_engines,
        unless=("engine-retirement",),
    )("conf_compute_key_rotation.c: channels are disabled as a part of a rotation; no retirement by itself"),
    _service(
        "orders",
        "orders that name an epoch and a number, carried out in order, each once",
        HIDDEN,
        unless=("session-orders",),
    )("message_queue_cpu.c: requests are encrypted; the queue is not, so they are reordered and omitted (DEMY)"),
    _service("fence", "every resident context stopped", HIDDEN, unless=("fence",))(
        "conf_compute_key_rotation.c: channels that do not idle are killed; nothing reports that none is left"
    ),
    _service("counter", "the receive counter of an epoch, reported", HIDDEN, unless=("received-count", _IN_SESSION))(
        "uvm_hopper_ce.c: the engine has the counter, and nothing asks for it"
    ),
    _service("key-limit", "an engine that stops at the limit of its key", HIDDEN)(
        "conf_compute_key_rotation.c: the driver counts and disables channels; what an engine refuses is not shown"
    ),
    _service(
        "rotation-report",
        "a rotation reported inside the session, with its epoch",
        HIDDEN,
        unless=(_IN_SESSION, "rotation-out"),
    )("conf_compute_gh100.c: the reply to ROTATE_KEYS comes inside the session, and names no epoch"),
    _service("whole-scrub", "a scrub of all memory but code and model", HIDDEN, unless=("scrub-workspace",))(
        "mem_scrub.c scrubs memory that is freed"
    ),
    _service("copies", "a holder's copies submitted, to the address that the holder names", HIDDEN)(
        "cc_keystore.h: launching work needs a channel and a key of its own, which are not lent"
    ),
    _service(
        "fresh-key",
        "a fresh link key, taken once, in the order of epochs",
        LACKING,
        schedules=_fresh,
        unless=("rotation-out",),
    )("conf_compute_keystore_gh100.c derives each key from the last"),
    _service(
        "reports", "fence and scrub reported inside the session, with epoch and number", LACKING, unless=(_IN_SESSION,)
    )("mem_scrub.c: the completion semaphore is in unprotected memory (DEMY)"),
    _service(
        "digests",
        "digests of code and model as they are in memory, after training and on the way home",
        LACKING,
        unless=(_IN_SESSION,),
    )("no file: the driver measures firmware, not the memory of a job"),
    _service(
        "contexts-left",
        "that nothing else runs, reported with the digests",
        LACKING,
        unless=(_IN_SESSION, "no-context-left"),
    )("no file: nothing reports which contexts are left, at the instant of a digest or at any other"),
    _service("debug-flag", "a debug flag in the report", LACKING, unless=("debug-check",))(
        "no file: no report seen so far states a device mode; debug firmware has no reference value"
    ),
    _service("confinement", "a link key that reaches the dataset buffer only", LACKING, variants=("confined-holder",))(
        "no file: the deck hopes for it (Outlook)"
    ),
)


# -- findings ----------------------------------------------------------------------------------------------------------
# Attacks on readings of the deck, on the stock driver, and on Carnet's own design and its neighbours.
#
# Each comes out of ``carnet attack``. A finding about the deck or the driver rests on how either was read: the page of
# findings says under which assumption it holds, and what the authors could answer.

DECK = "the deck"
DRIVER = "the stock driver"
OURS = "Carnet's design and its neighbours"
LISTS = (DECK, DRIVER, OURS)  #: What findings are about, in the order in which they are listed.

_finding = partial(Finding, threat="collusion", claim="confidentiality")

#: What Carnet found; each comes out of ``carnet attack``.
FINDINGS = (
    _finding(
        "finding-1", "the stock ratchet, and the last holder computes the next key", variant="ratchet", about=DRIVER
    ),
    _finding("finding-2", "rotation before travelling only: a late write", variant="rotate-out-only", about=DECK),
    _finding("finding-3", "fence before rotation: the fence proves nothing", variant="fence-before-rotate", about=OURS),
    _finding("finding-4", "scrub of the buffer alone: residue is read", variant="scrub-buffer-only", about=DECK),
    _finding(
        "finding-5", "two writers, one key: an IV is used twice", without=("count-handover", "rotation-in"), about=OURS
    ),
    _finding("finding-6", "a plain semaphore: a scrub that never happened", variant="plain-semaphores", about=DRIVER),
    _finding("finding-7", "the whole bundle lent, d2h kept: traffic opened", variant="whole-bundle-lent", about=DRIVER),
    _finding("finding-8", "a report from outside the session", variant="report-not-in-session", about=DRIVER),
    _finding("finding-9", "attest, reset, silent re-attach", variant="reattach-after-reset", about=OURS),
    _finding("finding-10", "an intra-handshake quote is relayed", variant="intra-handshake-quote", about=DECK),
    _finding("finding-10-manifest", "a genuine instance with other inputs", without=("manifest-check",), about=DECK),
    _finding("finding-11", "an engine per holder, not retired", without=("engine-retirement",), about=OURS),
    _finding(
        "finding-12", "half a rotation: counters restart", claim="iv-unique", without=("atomic-rotation",), about=OURS
    ),
    _finding("finding-13", "reports on the link: the kernel left behind answers", variant="kernel-answers", about=OURS),
    _finding(
        "finding-14",
        "orders on the link: the kernel left behind gives them first",
        claim="trains-verified",
        variant="kernel-orders",
        about=OURS,
    ),
    _finding(
        "finding-15",
        "an engine's key leaks while it is retired: its later epochs open",
        threat="past-keys",
        claim="forward-isolation",
        variant="retired-engine-leaks",
        about=OURS,
    ),
    _finding(
        "finding-16",
        "a device key leaked and nobody asks: the platform is the GPU",
        variant="leaked-device",
        about=OURS,
    ),
    _finding(
        "finding-17",
        "two instances of one manifest: a holder serves the other one",
        claim="handoff-agreement",
        variant="forked-orchestrator",
        about=DECK,
    ),
    _finding(
        "finding-18",
        "a hidden address: the model is overwritten blindly",
        claim="trains-verified",
        variant="hidden-address",
        about=DECK,
    ),
)


# -- design ------------------------------------------------------------------------------------------------------------

ID = "gpu-travelling"
TITLE = "GPU Travelling: one confidential GPU, routed to distrusting data holders in turn"


def gpu_travelling(variant: str = MAIN[0]) -> Draft:
    """Draft the named variant of GPU Travelling."""
    base = VARIANTS[variant].over if variant in VARIANTS else ""
    schedule = schedule_of(base or variant)()
    draft = _steps(variant, schedule, timed=bool(base))
    if base:
        add_time(draft, schedule, USUAL.all)
        return draft
    state_claims(draft, schedule, MADE.get(variant, USUAL))
    state_claims_of_variants(draft, schedule)
    state_lemmas(draft, schedule, HARDWARE.get(variant, PLAIN))
    if variant == "hidden-address":
        give_up_the_model(draft)
    state_goals(draft)
    state_progress(draft, answers=variant in MAIN)
    if variant == "inner-key":
        state_inner_key(draft)
    return draft


def _steps(variant: str, schedule: Schedule, *, timed: bool) -> Draft:
    """Draft what is assumed and what may happen, and claim nothing."""
    hardware = replace(HARDWARE.get(variant, PLAIN), leads_to=schedule.is_routed_to)
    inner_key = variant == "inner-key"
    draft = Draft(ID, TITLE, variant)
    _assume(draft, (*(("A9",) if timed else ()), *(() if schedule.splits else ("A18",))))
    _threats(draft, recording=inner_key)
    for id, title, *base in DEFENCES:
        draft.defence(id, title, base="".join(base))
    _start(draft)
    specify_setup(draft, schedule)
    specify_rotation_out(draft, schedule)
    specify_handover(draft, schedule, hardware)
    specify_rotation_in(draft, schedule)
    specify_checks(draft)
    specify_training(draft, schedule)
    specify_adversary(draft, hardware)
    specify_deductions(draft, hardware, inner_key=inner_key)
    if hardware.hidden:
        specify_hiding(draft, hardware)
    if variant == "backup-orchestrator":
        specify_backup(draft, schedule)
    if hardware.switched:
        specify_switch(draft)
    schedule.rules(draft)
    if inner_key:
        specify_inner_key(draft, hardware)
    return draft


#: Assumptions in the shape of the steps: what a key opens, what a reset or a scrub reaches, what an order does whole.
#:
#: With a clock A9 is one too, and so is A18 unless retiring and opening are two orders.
BUILT_IN = ("A1", "A2", "A3", "A4", "A6", "A7", "A8", "A11", "A15", "A16", "A17", "A20")


def _assume(draft: Draft, also_built_in: tuple[str, ...]) -> None:
    built_in = {*BUILT_IN, *also_built_in} - {DONE_WITHOUT.get(draft.variant, "")}
    assumptions_from(draft, TEXT, built_in)
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
    draft.axiom("two parties", orchestrator != platform, assumption="A5")
    draft.axiom("quotes are of code that runs", ~measured(platform), assumption="A1")
    draft.axiom("no party is a holder", ~enrolled(orchestrator) & ~enrolled(platform), assumption="A10")
    draft.axiom(
        "what a corrupt holder is",
        forall(lambda x: implies(enrolled(x) & corrupt(x), some_holder_corrupt), Agent),
        assumption="A2" if "A2" in built_in else "",
        says="threat models tell whether a holder is corrupt from the start",
    )
    draft.axiom("certificates tell", forall(lambda g: implies(certified(g), genuine(g)), Gpu), assumption="A1")
    if not draft.variant.startswith("leaked-device"):
        draft.axiom("what leaked is revoked", forall(lambda g: implies(leaked(g), revoked(g)), Gpu), assumption="A13")
    draft.axiom("rubble is no model", first_version != rubble, assumption="A1")
    draft.axiom("the model is the orchestrator's", ~dataset(the_model), assumption="A6")
    draft.axiom(
        "datasets are holders'", forall(lambda m: implies(dataset(m), enrolled(data_owner(m))), Data), assumption="A10"
    )
    StrictOrder("counters", Slot, before, "A12").assume_linear(draft, first)


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
    draft.threat("past-keys", "collusion, and the adversary is given every link key the GPU will never accept again")
    if recording:
        draft.threat(
            "recording",
            "collusion that records and computes, but sends, resets and plants nothing",
            passive=True,
            only_records=~interferes,
            past_keys_kept=keys_kept,
        )


def _start(draft: Draft) -> None:
    draft.initially(phase, Phase.SETUP)
    draft.initially(custody, Custody.NONE)

    draft.initially(in_slot, lambda g: installed(g))
    draft.initially(confidential, lambda g: genuine(g) & ~elsewhere(g))
    draft.initially(mux, orchestrator)
    draft.initially(count, first)
    draft.initially(latest, first_version)
    draft.initially(kept, first_version)

    draft.initially(memory_version, lambda g: rubble)
    draft.initially(upload_version, lambda k: rubble)
    draft.initially(made, lambda n: (n == first_version) | (n == rubble))
    draft.initially(chained, lambda n: n == first_version)
