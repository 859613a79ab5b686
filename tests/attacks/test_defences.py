"""What each defence is good for: an attack when it is removed, or a proof that the others are enough.

Removed alone, on the variant that it belongs to, under collusion.
"""

from __future__ import annotations

import functools

import pytest

from carnet_check.attacks.hunt import attack_target
from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.exploration import Search
from carnet_check.engines.exploring.searches import search
from carnet_check.engines.induction import houdini, prove
from carnet_check.engines.induction.induction import ProofResult
from carnet_check.results import Verdict
from tests.fixtures.travelling import BARE, COLLUSION, SOURCE, hunted, stated

ATTACK, REDUNDANT = "attack", "redundant"
ANY = ""
DATA = "confidentiality"

ATTACKS = {
    "gpu-certificate": DATA,
    "report-nonce": DATA,
    "report-in-session": DATA,
    "signer-is-responder": DATA,
    "mode-check": DATA,
    "debug-check": DATA,
    "reference-values": DATA,
    "revocation-check": DATA,
    "orchestrator-quote": DATA,
    "quote-bound-to-channel": DATA,
    "manifest-check": DATA,
    "one-instance": "key-isolation",
    "enrolment-check": DATA,
    "rotation-out": DATA,
    "rotation-in": DATA,
    "rotation-in-h2d": "no-replay",
    "rotation-ack": "no-replay",
    "rotation-before-check": DATA,
    "atomic-rotation": DATA,
    "wrapped-key-once": "iv-unique",
    "fresh-key": DATA,
    "engine-retirement": DATA,
    "no-engine-reload": "no-replay",
    "scrub-buffer": DATA,
    "scrub-workspace": DATA,
    "scrub-ack": DATA,
    "code-read-back": "trains-verified",
    "no-context-left": "trains-verified",
    "model-read-back": "trains-verified",
    "session-orders": "trains-verified",
    "session-acknowledgements": DATA,
    "session-sequence": "iv-unique",
    "channel-counter": "key-isolation",
    "received-count": "data-agreement",
    "gpu-implicit-iv": "no-replay",
    "sender-iv-monotonic": DATA,
    "launch-key-kept": "trains-verified",
    "grant-addressee": "key-isolation",
    "address-in-grant": "handoff-agreement",
    "grant-once": "handoff-agreement",
    "return-authenticated": "handoff-agreement",
    "fail-stop-on-reset": DATA,
    "attestation-age": "fresh-attestation",
    "lease": "fresh-attestation",
    "key-usage-limit": "key-lifetime",
    "whole-hand-over": "participation",
    "retire-before-open": "single-custody",
    "erase-after-return": "late-secrecy",
    "channel-update": "late-secrecy",
    "chunks-pinned": "confidentiality",
}
"""For each defence, the claim that its removal breaks: confidentiality if honest data is learned, else whichever."""
REDUNDANTS = (
    "epochs-increase",
    "rotation-before-fence",
    "fence",
    "fence-ack",
    "code-reupload",
    "saved-digest",
    "count-handover",
    "h2d-half-only",
    "rotation-in-d2h",
)
PAIR = ("count-handover", "rotation-in")
"""The first is redundant, and without the second alone what is trained on stays right while every holder is honest."""
OPENED = {"data-agreement", "trains-verified", "model-integrity", "provenance", "participation"}
"""What falls without both: the platform forges copies, as many as it likes, and nothing counts them."""
OUTCOMES = dict.fromkeys(ATTACKS, ATTACK) | dict.fromkeys(REDUNDANTS, REDUNDANT)


def test_every_defence_has_an_outcome() -> None:
    defences = {defence.id for defence in SOURCE.protocol().defences}
    assert set(OUTCOMES) == defences


def test_most_defences_are_needed() -> None:
    assert not set(ATTACKS) & set(REDUNDANTS)
    assert len(ATTACKS) >= 5 * len(REDUNDANTS)
    assert sum(claim == DATA for claim in ATTACKS.values()) >= 20


@pytest.mark.parametrize("without", ["rotation-in-h2d", "engine-retirement"])
def test_a_defence_is_hunted_where_it_belongs(without: str) -> None:
    """Findings that make no sense there do not stand in the way."""
    base = next(defence.base for defence in SOURCE.protocol().defences if defence.id == without)
    assert attack_target(SOURCE, without=(without,)).protocol.variant == base


@functools.cache
def unchanged() -> ProofResult:
    """Prove the main variant: what does not touch a defence need not be proved again without it."""
    protocol = SOURCE.protocol()
    return prove(protocol, protocol.threat(COLLUSION), jobs=1)


def unproved(without: tuple[str, ...]) -> list[str]:
    """Return the claims that cannot be proved without some defences."""
    protocol = SOURCE.protocol("", without)
    claims = stated(protocol, COLLUSION)
    proof = houdini(protocol, protocol.threat(COLLUSION), claims=claims, baselines=[unchanged()], jobs=1)
    return [name for name in claims if not proof.claim(name).proved]


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("without", REDUNDANTS)
def test_a_second_line_is_proved_to_be_redundant(without: str) -> None:
    assert unproved((without,)) == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_all_second_lines_together_are_proved_to_be_redundant() -> None:
    """So no two of them, nor three, are each other's second line: none that is gone makes another one matter."""
    assert unproved(REDUNDANTS) == []


def fallen(without: tuple[str, ...]) -> set[str]:
    """Return the claims that fall in some state of the bare instance, with nobody corrupt but the platform."""
    protocol = SOURCE.protocol("", without)
    claims = tuple(stated(protocol, "hypervisor"))
    found = search(EXPLICIT, Search(SOURCE.reference, protocol.variant, without, "hypervisor", BARE, claims))
    assert found.complete
    return set(found.violations)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_pair_opens_more_than_each_alone() -> None:
    redundant, needed = PAIR
    assert redundant in REDUNDANTS
    assert fallen(PAIR) - fallen((needed,)) == OPENED


LATER = {"wrapped-key-once": "no-replay", "session-sequence": "trains-verified"}
"""What the defence is there for, where another claim falls in as few steps."""


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("without", LATER)
def test_what_it_is_there_for_falls_too(without: str) -> None:
    found = hunted(without=(without,), claim=LATER[without])
    assert (found.verdict, found.claim) == (Verdict.VIOLATED, LATER[without]), found.detail


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("without", ATTACKS)
def test_removing_it_opens_an_attack(without: str) -> None:
    claim = DATA if ATTACKS[without] == DATA else ANY
    found = hunted(without=(without,), claim=claim)
    assert (found.verdict, found.claim) == (Verdict.VIOLATED, ATTACKS[without]), found.detail
