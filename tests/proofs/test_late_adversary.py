"""What survives when things go wrong late: leaked device keys, holders that turn or are rolled back, forks.

In each of these designs the adversary has something that the main ones exclude by an assumption. Every claim is then
either proved, for any number of everything, or attacked.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from carnet_check.engines.induction import try_claims
from carnet_check.engines.proving.solver import load_hints
from carnet_check.results import Verdict
from carnet_spec.language import Protocol
from tests.fixtures.travelling import (
    COLLUSION,
    FAMILY,
    SOURCE,
    expected_to_fall,
    hunted,
    kept,
    stated,
    without_guard,
    without_update,
)

DONE_WITHOUT = {
    "leaked-device": "A13",
    "late-corruption": "A2",
    "late-corruption-engine": "A2",
    "rolled-back-holder": "A15",
    "endorsed-instance": "A14",
}
"""Each design, and the assumption that it does without."""

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
"""The claims that fall under collusion; that a corrupt holder learns the model, the deck says itself."""

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
"""Claims that are made under collusion: all of them, or those that matter most."""

ABLATIONS = (
    ("late-corruption", "erase-after-return", "late-secrecy"),
    ("late-corruption", "channel-update", "late-secrecy"),
    ("rolled-back-holder", "chunks-pinned", "iv-unique"),
    ("rolled-back-holder", "chunks-pinned", "confidentiality"),
    ("endorsed-instance", "one-instance", "handoff-agreement"),
    ("endorsed-instance", "one-instance", "orchestrator-genuine"),
)
"""The defence of each design, and what falls without it."""

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
    built_in = {each.id for each in protocol.assumptions if each.built_in}
    assert dropped not in built_in
    assert [axiom.name for axiom in protocol.axioms if axiom.assumption == dropped] == []


def test_the_main_designs_say_that_nobody_is_rolled_back() -> None:
    for variant in FAMILY.main:
        assumptions = {each.id: each.built_in for each in SOURCE.protocol(variant).assumptions}
        assert assumptions["A15"]


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
    assert {pair: proof.missing for pair, proof in proofs.items() if not proof.proved} == {}
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
    proved = {claim for (claim, _), proof in found.items() if proof.proved}
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

REQUIREMENTS = {
    "REQ-LATE-01": ("late-corruption", "give_back", "insert erased", "erased_when_done"),
    "REQ-ROLLBACK-01": ("rolled-back-holder", "pin_chunk", "the only one", "pinned_once"),
    "REQ-SETUP-18": ("endorsed-instance", "endorse", "the first", "endorsements_are_single"),
}
"""For each: the design, the action, the part of it that is forgotten, and the invariant that the action then breaks."""


@pytest.mark.parametrize("id", REQUIREMENTS)
def test_a_requirement_that_is_forgotten_breaks_a_proof(
    id: str, record_property: Callable[[str, object], None]
) -> None:
    record_property("verifies", f"{FAMILY.id}-{id}")
    variant, action, part, invariant = REQUIREMENTS[id]
    whole = SOURCE.protocol(variant)
    assert id in whole.action(action).enforces
    forget = without_update if part.startswith("insert") else without_guard
    assert kept(whole, action, invariant)
    assert not kept(forget(whole, action, part), action, invariant)


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
