"""Proofs about layers over GPU Travelling: a late adversary, time, schedules and what is to come."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from carnet_check.engines.induction import houdini, try_claims
from carnet_check.engines.proving.solver import load_hints
from carnet_check.results import Verdict
from carnet_spec.language import Action, Protocol
from carnet_spec.language.family import Variant
from carnet_spec.language.terms import symbols_of
from tests.fixtures import travelling
from tests.fixtures.travelling import COLLUSION, FAMILY, SOURCE, expected_to_fall, hunted, stated
from tests.unit.model_check.command import carnet, carnet_once

#: Each design, and the assumption that it does without.
DONE_WITHOUT = {
    "leaked-device": "A13",
    "late-corruption": "A2",
    "late-corruption-engine": "A2",
    "rolled-back-holder": "A15",
    "endorsed-instance": "A14",
}

#: The claims that fall under collusion; that a corrupt holder learns the model, the deck says itself.
FALL = {
    "leaked-device": {
        "confidentiality",
        "model-confidentiality",
        "no-replay",
        "clean-handoff",
        "no-implant",
        "trains-verified",
        "gpu-genuine",
        "data-agreement",
        "single-custody",
        "model-integrity",
        "provenance",
        "participation",
        "no-silent-reset",
    },
    "late-corruption": set[str](),
    "late-corruption-engine": {"late-secrecy"},
    "rolled-back-holder": {
        "data-agreement",
        "handoff-agreement",
        "model-confidentiality",
        "participation",
        "provenance",
    },
    "endorsed-instance": {"model-confidentiality"},
}

#: Claims that are made under collusion: all of them, or those that matter most.
SURVIVE = {
    "leaked-device": {
        "orchestrator-genuine",
        "handoff-agreement",
        "iv-unique",
        "key-isolation",
        "confidentiality-unless-betrayed",
        "key-isolation-unless-betrayed",
        "gpu-genuine-unless-betrayed",
        "hand-over-unless-betrayed",
        "training-unless-betrayed",
    },
    "late-corruption": {"late-secrecy", "late-secrecy-unless-lent-again", "confidentiality", "participation"},
    "late-corruption-engine": {"late-secrecy-unless-lent-again", "confidentiality", "participation"},
    "rolled-back-holder": {"confidentiality", "iv-unique", "key-isolation", "trains-verified", "model-integrity"},
    "endorsed-instance": {"orchestrator-genuine", "handoff-agreement", "confidentiality"},
}

#: The defence of each design, and what falls without it.
ABLATIONS = (
    ("late-corruption", "erase-after-return", "late-secrecy"),
    ("late-corruption", "channel-update", "late-secrecy"),
    ("rolled-back-holder", "chunks-pinned", "iv-unique"),
    ("rolled-back-holder", "chunks-pinned", "confidentiality"),
    ("endorsed-instance", "one-instance", "handoff-agreement"),
    ("endorsed-instance", "one-instance", "orchestrator-genuine"),
)

Verifies = Callable[[str, object], None]

designs = pytest.mark.parametrize("variant", DONE_WITHOUT)


@designs
def test_each_claim_is_expected_to_stand_or_to_fall(variant: str) -> None:
    protocol = SOURCE.protocol(variant)
    made = set(stated(protocol, COLLUSION))
    assert expected_to_fall(protocol, COLLUSION) == FALL[variant]
    assert made >= SURVIVE[variant]
    assert not made & FALL[variant]
    if variant != "endorsed-instance":
        assert made | FALL[variant] | {"forward-isolation", "model-confidentiality"} >= {
            claim.name for claim in protocol.claims
        }


@designs
def test_the_assumption_is_not_made(variant: str) -> None:
    """Neither an axiom states it nor the steps have it built in."""
    protocol = SOURCE.protocol(variant)
    dropped = DONE_WITHOUT[variant]
    assert dropped not in {each.id for each in protocol.assumptions if each.built_in}
    assert [axiom.name for axiom in protocol.axioms if axiom.assumption == dropped] == []


def test_the_main_designs_say_that_nobody_is_rolled_back() -> None:
    for variant in FAMILY.main:
        assert {each.id: each.built_in for each in SOURCE.protocol(variant).assumptions}["A15"]


@pytest.mark.verifies(
    "gpu-travelling-CLAIM-LATE-SECRECY",
    "gpu-travelling-CLAIM-LATE-SECRECY-UNLESS-LENT-AGAIN",
    "gpu-travelling-CLAIM-CONFIDENTIALITY-UNLESS-BETRAYED",
    "gpu-travelling-CLAIM-KEY-ISOLATION-UNLESS-BETRAYED",
    "gpu-travelling-CLAIM-GPU-GENUINE-UNLESS-BETRAYED",
    "gpu-travelling-CLAIM-HAND-OVER-UNLESS-BETRAYED",
    "gpu-travelling-CLAIM-TRAINING-UNLESS-BETRAYED",
)
@pytest.mark.slow
@pytest.mark.timeout(900)
@designs
def test_what_survives_is_proved(variant: str) -> None:
    """With the hints of the main design below it, which change times only."""
    protocol = SOURCE.protocol(variant)
    below = "engine-per-holder" if variant.endswith("engine") else "sealed-under-master"
    proofs = try_claims(protocol, hints=load_hints(SOURCE.protocol(below)), jobs=1).claims
    assert {pair: proof.missing for pair, proof in proofs.items() if not proof.is_proved} == {}
    assert {claim for claim, threat in proofs if threat == COLLUSION} >= SURVIVE[variant]
    used = {used for proof in proofs.values() for used in proof.assumptions}
    assert DONE_WITHOUT[variant] not in used


def test_the_proof_is_marked_with_the_claims_that_only_these_designs_make() -> None:
    (mark,) = (each for each in vars(test_what_survives_is_proved)["pytestmark"] if each.name == "verifies")
    usual = {claim.name for claim in SOURCE.protocol().claims}
    made = {
        f"{FAMILY.id}-{claim.requirement}"
        for variant in DONE_WITHOUT
        for claim in SOURCE.protocol(variant).claims
        if claim.name in SURVIVE[variant] - usual
    }
    assert set(mark.args) == made


def test_what_clocks_and_limits_promise_survives_a_leaked_device_key() -> None:
    """Clock, leases and counts are the orchestrator's and the senders' own: no GPU is asked."""
    protocol = SOURCE.protocol("leaked-device-timed")
    found = try_claims(protocol, [protocol.threat(COLLUSION)], jobs=1).claims
    proved = {claim for (claim, _), proof in found.items() if proof.is_proved}
    assert proved == {"key-lifetime", "fresh-attestation", "bounded-custody"}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("variant", "claim"), [(variant, claim) for variant in FALL for claim in sorted(FALL[variant])]
)
def test_what_falls_is_attacked(variant: str, claim: str) -> None:
    assert hunted(variant, claim=claim).verdict is Verdict.VIOLATED


@pytest.mark.parametrize(
    ("variant", "claim"),
    [
        ("leaked-device", "gpu-genuine"),
        ("endorsed-instance", "model-confidentiality"),
        ("rolled-back-holder", "model-confidentiality"),
    ],
)
def test_what_falls_is_attacked_soon(variant: str, claim: str) -> None:
    """Those of the attacks above that are quick: a fake is attested, and a corrupt holder learns the model."""
    assert hunted(variant, claim=claim).verdict is Verdict.VIOLATED


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("variant", "defence", "claim"), ABLATIONS)
def test_each_defence_is_needed(variant: str, defence: str, claim: str) -> None:
    assert hunted(variant, (defence,), claim=claim).verdict is Verdict.VIOLATED


# -- requirements of these designs ------------------------------------------------------------------------------------

#: For each: the design, the action, the part of it that is forgotten, and the invariant that the action then breaks.
REQUIREMENTS = {
    "REQ-LATE-01": ("late-corruption", "give_back", "insert erased", "erased_when_done"),
    "REQ-ROLLBACK-01": ("rolled-back-holder", "pin_chunk", "the only one", "pinned_once"),
    "REQ-SETUP-18": ("endorsed-instance", "endorse", "the first", "endorsements_are_single"),
}


@pytest.mark.parametrize("id", REQUIREMENTS)
def test_a_requirement_that_is_forgotten_breaks_a_proof(
    id: str, record_property: Callable[[str, object], None]
) -> None:
    record_property("verifies", f"{FAMILY.id}-{id}")
    variant, action, part, invariant = REQUIREMENTS[id]
    whole = SOURCE.protocol(variant)
    assert id in whole.action(action).enforces
    forget = travelling.without_update if part.startswith("insert") else travelling.without_guard
    assert travelling.kept(whole, action, invariant)
    assert not travelling.kept(forget(whole, action, part), action, invariant)


@pytest.mark.verifies("gpu-travelling-REQ-LATE-02")
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_a_holder_need_not_keep_it_can_erase() -> None:
    """REQ-LATE-02 is advice: nothing is proved of a holder that erases nothing, and nothing keeps it from erasing."""
    assert SOURCE.protocol("late-corruption").action("erase_chunk").enforces == ("REQ-LATE-02",)
    assert hunted("late-corruption-engine", claim="late-secrecy").verdict is Verdict.VIOLATED


# -- the page ---------------------------------------------------------------------------------------------------------

PAGE = Path(__file__).parents[2] / "docs" / "assurance" / "late-adversary.md"


def table() -> list[str]:
    """Say of each claim what becomes of it in each design under collusion."""
    protocols = [SOURCE.protocol(variant) for variant in DONE_WITHOUT]
    claims = dict.fromkeys(claim.name for protocol in protocols for claim in protocol.claims)
    heads = [f"`{variant}`<br>without {dropped}" for variant, dropped in DONE_WITHOUT.items()]
    rows = [[f"`{claim}`", *(_verdict(protocol, claim) for protocol in protocols)] for claim in claims]
    lines = [["claim", *heads], ["---"] * (1 + len(heads)), *(row for row in rows if any(row[1:]))]
    return ["| " + " | ".join(line) + " |" for line in lines]


def _verdict(protocol: Protocol, claim: str) -> str:
    if claim in expected_to_fall(protocol, COLLUSION):
        return "falls"
    return "proved" if claim in stated(protocol, COLLUSION) else ""


def test_the_page_shows_what_is_expected_here() -> None:
    """The verdicts themselves are looked at above."""
    shown = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    assert shown == table()


# -- the timed claims ------------------------------------------------------------------------------------


TIMED = FAMILY.with_layers(FAMILY.main)[1::2]
CLAIMS = {"key-lifetime", "fresh-attestation", "bounded-custody"}
THREATS = ("outsider", "holder", "hypervisor", COLLUSION)
DEFENCES = {"attestation-age": "fresh-attestation", "lease": "bounded-custody", "key-usage-limit": "key-lifetime"}
QUICK = ("attestation-age", "lease")
SLOW = [pytest.param(each, marks=pytest.mark.slow) for each in DEFENCES if each not in QUICK]

timed = pytest.mark.parametrize("variant", TIMED)


def test_there_is_a_layer_over_each_main_variant() -> None:
    assert [FAMILY.variants[name].over for name in TIMED] == list(FAMILY.main)


@timed
def test_every_timed_claim_is_proved_wherever_it_is_made(
    variant: str, record_property: Callable[[str, object], None]
) -> None:
    protocol = SOURCE.protocol(variant)
    record_property("verifies", ", ".join(f"{FAMILY.id}-{protocol.claim(name).requirement}" for name in sorted(CLAIMS)))
    found = try_claims(protocol, jobs=1).claims
    assert set(found) == {(claim, threat) for claim in CLAIMS for threat in THREATS}
    assert {pair: proof.missing for pair, proof in found.items() if not proof.is_proved} == {}


@timed
def test_timed_claims_and_lemmas_hold_at_every_tick_of_a_small_instance(variant: str) -> None:
    """Every time to live and every lease that three instants allow is among them."""
    protocol = SOURCE.protocol(variant)
    found = travelling.explored(protocol, "hypervisor", goals=protocol.goals)
    assert found.complete
    assert not found.violations
    assert set(found.goals) == {goal.name for goal in protocol.goals}
    assert found.fired["read_clock"]


@pytest.mark.parametrize("defence", [*QUICK, *SLOW])
def test_without_a_timed_defence_there_is_an_attack(defence: str) -> None:
    """Its own claim falls; a lease keeps the evidence fresh as well."""
    found = hunted(without=(defence,), claim=DEFENCES[defence])
    assert (found.verdict, found.claim) == (Verdict.VIOLATED, DEFENCES[defence])


# -- every run with a clock is a run without one --------------------------------------------------


@timed
def test_erasing_the_layer_leaves_the_untimed_design(variant: str) -> None:
    """Each action is an untimed one with guards and updates added, or changes nothing that is untimed."""
    protocol, base = (
        SOURCE.protocol(variant),
        SOURCE.protocol(FAMILY.variants[variant].over),
    )
    below = {update.symbol for action in base.actions for update in action.updates}
    untimed = {action.name: action for action in base.actions}
    for action in protocol.actions:
        plain = untimed.pop(action.name, None)
        added = action.updates if plain is None else action.updates[len(plain.updates) :]
        assert not {update.symbol for update in added} & below
        assert plain is None or erased(action, plain) == plain
    assert not untimed
    assert set(base.initial) <= set(protocol.initial)


def erased(action: Action, plain: Action) -> Action:
    """Return what is left of ``action`` without what was added to ``plain``: only words differ."""
    return replace(
        action,
        params=action.params[: len(plain.params)],
        guards=action.guards[: len(plain.guards)],
        updates=action.updates[: len(plain.updates)],
        says=plain.says,
        source=plain.source,
        enforces=plain.enforces,
        why=plain.why,
    )


@timed
def test_nothing_untimed_reads_the_clock(variant: str) -> None:
    base = SOURCE.protocol(FAMILY.variants[variant].over)
    new = {symbol.name for symbol in SOURCE.protocol(variant).symbols} - {symbol.name for symbol in base.symbols}
    assert {"clock", "earlier", "limit", "evidence_end", "lease_end"} <= new
    assert not {s.name for action in base.actions for g in action.guards for s in symbols_of(g.formula)} & new


# -- planted mistakes -----------------------------------------------------------------------------


def _old_lease(protocol: Protocol) -> Protocol:
    return travelling.without_update(protocol, "grant", "set lease_end")


def _old_evidence(protocol: Protocol) -> Protocol:
    return travelling.without_update(protocol, "open_session", "set evidence_end")


def _endless_save(protocol: Protocol) -> Protocol:
    return travelling.without_guard(protocol, "exec_save", "below the key's limit")


def _late_return(protocol: Protocol) -> Protocol:
    return travelling.without_guard(protocol, "take_back", "within the lease")


MISTAKES = {
    "it keeps the lease of before": ("grant", _old_lease, "bounded-custody"),
    "it keeps the evidence's end of before": ("open_session", _old_evidence, "fresh-attestation"),
    "it saves past the limit": ("exec_save", _endless_save, "key-lifetime"),
    "it takes a late return": ("take_back", _late_return, "bounded-custody"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_displeases_the_proof(mistake: str) -> None:
    action, change, _ = MISTAKES[mistake]
    assert not travelling.kept(change(SOURCE.protocol(TIMED[1])), action)


@pytest.mark.parametrize("mistake", ["it saves past the limit", "it takes a late return"])
def test_a_planted_mistake_is_seen_in_a_small_instance(mistake: str) -> None:
    """The others need a round or a session before."""
    _, change, falls = MISTAKES[mistake]
    wrong = change(SOURCE.protocol(TIMED[1]))
    against = [wrong.claim(name).checked for name in stated(wrong, "hypervisor")]
    found = travelling.explored(wrong, "hypervisor", against=lambda *_: against, stop_at_first=True, sizes={"limit": 1})
    assert set(found.violations) == {falls}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_run_over_a_variant_checks_its_layer_too() -> None:
    asked = carnet("verify", "gpu-travelling", "--variant", FAMILY.main[0], "--claim", "lease", "--json")
    assert asked.code == 2
    ran = carnet(
        *("verify", "gpu-travelling", "--variant", FAMILY.main[0], "--claim", "bounded-custody"),
        *("--engine", "induction", "--jobs", "1", "--json"),
    )
    assert {(row["variant"], row["verdict"]) for row in ran.json["results"]} == {(TIMED[0], "PROVED")}
    assert (ran.code, ran.json["summary"]["declared"]) == (0, [])


@pytest.mark.parametrize("id", ["fresh-attestation", "lease", "REQ-RETURN-04", "read_clock", "return-in-time", "A9"])
def test_what_a_layer_adds_can_be_explained(id: str) -> None:
    (entry,) = carnet("explain", id, "--json").json["entries"]
    assert entry["sentence"]
    assert id in json.dumps(carnet_once("list", "--json").json) or entry["kind"] in (
        "action",
        "assumption",
        "requirement",
    )


# -- the deck's outlook and two neighbours ---------------------------------------------------------------


WHOLE = ("confined-holder", "pcie-switch", "backup-orchestrator", "retire-then-open")
GIVEN_UP = ("trains-verified", "model-integrity", "provenance", "participation")


def test_what_the_outlook_names_are_variants() -> None:
    assert set(WHOLE) <= set(FAMILY.variants)
    assert isinstance(FAMILY.variants["pcie-switch"], Variant)


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("variant", WHOLE)
def test_every_claim_is_proved(variant: str) -> None:
    protocol = SOURCE.protocol(variant)
    found = try_claims(protocol).claims
    made = [(claim, threat.id) for threat in protocol.threats for claim in stated(protocol, threat.id)]
    assert ("confidentiality", COLLUSION) in made
    assert [pair for pair in made if not found[pair].is_proved] == []


def test_a_confined_holder_is_claimed_never_to_see_the_model() -> None:
    assert "model-confidentiality" in stated(SOURCE.protocol("confined-holder"), COLLUSION)
    assert "model-confidentiality" in expected_to_fall(SOURCE.protocol("pcie-switch"), COLLUSION)


def test_a_hidden_address_gives_up_what_is_claimed_of_the_model() -> None:
    protocol = SOURCE.protocol("hidden-address")
    assert set(GIVEN_UP) <= expected_to_fall(protocol, COLLUSION)
    assert not set(GIVEN_UP) & set(stated(protocol, "outsider"))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_hidden_model_is_overwritten_blindly() -> None:
    found = hunted("hidden-address", claim="trains-verified")
    assert found.verdict is Verdict.VIOLATED
    assert found.trace is not None
    assert "overwrite" in {step.action for step in found.trace.steps}


def test_a_dropped_retirement_leaves_two_keys_live() -> None:
    found = hunted("retire-then-open", ("retire-before-open",))
    assert (found.verdict, found.claim) == (Verdict.VIOLATED, "single-custody")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_instances_in_charge_are_a_fork() -> None:
    found = hunted("backup-orchestrator", ("one-instance",), claim="handoff-agreement")
    assert found.verdict is Verdict.VIOLATED


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_an_old_record_drops_a_holder() -> None:
    found = hunted("backup-orchestrator", ("whole-hand-over",), claim="participation")
    assert found.verdict is Verdict.VIOLATED
    assert found.trace is not None
    assert found.trace.steps[-1].action == "take_over"


# -- every key schedule has its verdict: a proof, an attack, or a proof of less than is claimed ----------


LEAKING = ("none", "ratchet", "wrapped-under-old")
PROVED = ("engine-per-holder", "sealed-under-master")


def test_the_schedules_that_are_proved_are_the_main_variants() -> None:
    """Their proofs are in test_gpu_travelling."""
    assert FAMILY.main == PROVED


def test_without_any_rotation_honest_data_is_learned() -> None:
    assert hunted("none", claim="confidentiality").verdict is Verdict.VIOLATED


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("variant", [name for name in LEAKING if name != "none"])
def test_where_keys_follow_from_keys_honest_data_is_learned(variant: str) -> None:
    assert hunted(variant, claim="confidentiality").verdict is Verdict.VIOLATED


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_reset_before_every_journey_keeps_data_confidential() -> None:
    protocol = SOURCE.protocol("reset")
    proof = houdini(protocol, protocol.threat(COLLUSION), claims=["confidentiality"])
    assert proof.claim("confidentiality").is_proved


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_reset_before_every_journey_does_not_keep_code_verified() -> None:
    """The stock ratchet on the way in gives the last holder the link in which code is checked."""
    found = hunted("reset", claim="trains-verified")
    assert (found.verdict, found.claim) == (Verdict.VIOLATED, "trains-verified")


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_inner_key_helps_against_recording() -> None:
    """With the link key never rotated, and against an adversary that does nothing but listen."""
    protocol = SOURCE.protocol("inner-key")
    claims = stated(protocol, "recording")
    proof = houdini(protocol, protocol.threat("recording"), claims=claims)
    assert "confidentiality" in claims
    assert [name for name in claims if not proof.claim(name).is_proved] == []


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_an_inner_key_is_no_help_against_interference() -> None:
    assert hunted("inner-key", claim="confidentiality").verdict is Verdict.VIOLATED
