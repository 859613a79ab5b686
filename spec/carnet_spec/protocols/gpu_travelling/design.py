"""The design put together: axioms, threat models, assumptions, defences and variants of GPU Travelling."""

from __future__ import annotations

from dataclasses import replace

from carnet_spec.language import Draft, Formula, forall, implies
from carnet_spec.language.requirements import Level
from carnet_spec.protocols.gpu_travelling.adversary import specify_adversary
from carnet_spec.protocols.gpu_travelling.backup import specify_backup
from carnet_spec.protocols.gpu_travelling.claims import state_claims
from carnet_spec.protocols.gpu_travelling.deductions import specify_deductions
from carnet_spec.protocols.gpu_travelling.defences import declare_defences
from carnet_spec.protocols.gpu_travelling.endorsed import name_the_orchestrator
from carnet_spec.protocols.gpu_travelling.goals import state_goals
from carnet_spec.protocols.gpu_travelling.handover import specify_handover
from carnet_spec.protocols.gpu_travelling.hardware import PLAIN
from carnet_spec.protocols.gpu_travelling.hiding import give_up_the_model, specify_hiding
from carnet_spec.protocols.gpu_travelling.inner_key import specify_inner_key, state_inner_key
from carnet_spec.protocols.gpu_travelling.lemmas import state_lemmas
from carnet_spec.protocols.gpu_travelling.other_adversaries import DONE_WITHOUT, state_more
from carnet_spec.protocols.gpu_travelling.progress import state_progress
from carnet_spec.protocols.gpu_travelling.returning import specify_return
from carnet_spec.protocols.gpu_travelling.rotation import specify_rotation_in, specify_rotation_out
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.scopes import USUAL
from carnet_spec.protocols.gpu_travelling.setup import specify_setup
from carnet_spec.protocols.gpu_travelling.switch import specify_switch
from carnet_spec.protocols.gpu_travelling.text import TEXT
from carnet_spec.protocols.gpu_travelling.timed import add_time
from carnet_spec.protocols.gpu_travelling.training import specify_training
from carnet_spec.protocols.gpu_travelling.variants import HARDWARE, MADE, MAIN, VARIANTS, schedule_of
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
    count,
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
    made,
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


def gpu_travelling(variant: str = MAIN[0]) -> Draft:
    """Draft the named variant of GPU Travelling."""
    base = VARIANTS[variant].over if variant in VARIANTS else ""
    schedule = schedule_of(base or variant)()
    draft = _steps(variant, schedule, timed=bool(base))
    if base:
        add_time(draft, schedule, USUAL.all)
        return draft
    state_claims(draft, schedule, MADE.get(variant, USUAL))
    state_more(draft, schedule)
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
    hardware = replace(HARDWARE.get(variant, PLAIN), leads_to=schedule.routed)
    inner_key = variant == "inner-key"
    draft = Draft(ID, TITLE, variant)
    _assume(draft, (*(("A9",) if timed else ()), *(() if schedule.splits else ("A18",))))
    _threats(draft, recording=inner_key)
    declare_defences(draft)
    _start(draft)
    specify_setup(draft, schedule)
    specify_rotation_out(draft, schedule)
    specify_handover(draft, schedule, hardware)
    specify_rotation_in(draft, schedule)
    specify_return(draft)
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


BUILT_IN = ("A1", "A2", "A3", "A4", "A6", "A7", "A8", "A11", "A15", "A16", "A17", "A20")
"""Assumptions in the shape of the steps: what a key opens, what a reset or a scrub reaches, what an order does whole.

With a clock A9 is one too, and so is A18 unless retiring and opening are two orders.
"""


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

    def slot_at_first(g: Gpu) -> Formula:
        return installed(g)

    def mode_at_first(g: Gpu) -> Formula:
        return genuine(g) & ~elsewhere(g)

    draft.initially(in_slot, slot_at_first)
    draft.initially(confidential, mode_at_first)
    draft.initially(mux, orchestrator)
    draft.initially(count, first)
    draft.initially(latest, first_version)
    draft.initially(kept, first_version)

    def nothing_there(g: Gpu) -> Version:
        return rubble

    def nothing_uploaded(k: Key) -> Version:
        return rubble

    def there_at_first(n: Version) -> Formula:
        return (n == first_version) | (n == rubble)

    def chain_at_first(n: Version) -> Formula:
        return n == first_version

    draft.initially(memory_version, nothing_there)
    draft.initially(upload_version, nothing_uploaded)
    draft.initially(made, there_at_first)
    draft.initially(chained, chain_at_first)
