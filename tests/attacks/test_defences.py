"""What each defence is good for: an attack when it is removed, alone and under collusion, or a proof without it.

What the adversary can do, it does in some explored baseline, or in a design that lacks a defence.
"""

import functools
from dataclasses import replace

import pytest

from carnet_check.attacks.hunt import attack_target
from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.exploration import Caps, Search
from carnet_check.engines.exploring.searches import search
from carnet_check.engines.induction import houdini, prove
from carnet_check.engines.induction.induction import ProofResult
from carnet_check.results import Verdict
from carnet_check.verification.checks import possibilities, possible_actions
from carnet_spec.language import Action, Protocol
from tests.fixtures.travelling import BARE, COLLUSION, FAMILY, SOURCE, hunted, stated

ATTACK, REDUNDANT = "attack", "redundant"
ANY = ""
DATA = "confidentiality"

#: For each defence, the claim that its removal breaks: confidentiality if honest data is learned, else whichever.
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
#: The first is redundant, and without the second alone what is trained on stays right while every holder is honest.
PAIR = ("count-handover", "rotation-in")
#: What falls without both: the platform forges copies, as many as it likes, and nothing counts them.
OPENED = {"data-agreement", "trains-verified", "model-integrity", "provenance", "participation"}
OUTCOMES = dict.fromkeys(ATTACKS, ATTACK) | dict.fromkeys(REDUNDANTS, REDUNDANT)


def test_every_defence_has_an_outcome_and_most_are_needed() -> None:
    defences = {defence.id for defence in SOURCE.protocol().defences}
    assert set(OUTCOMES) == defences
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
    return [name for name in claims if not proof.claim(name).is_proved]


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


#: What the defence is there for, where another claim falls in as few steps.
LATER = {"wrapped-key-once": "no-replay", "session-sequence": "trains-verified"}


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


PAST_KEYS = "past-keys"
#: Profiles and threat models whose baselines are explored, together, for every step of the adversary's.
EXPLORED = (
    *(("tiny", threat.id) for threat in SOURCE.protocol().threats),
    ("open-mode", COLLUSION),
    ("afterwards", PAST_KEYS),
)

#: Honest holders alone, and no data: what the orchestrator uploads and the GPU sends home is all that crosses.
HANDED_OVER = {"corrupt": 0, "chunks": 0}

#: For each step that is impossible in the main variants: without which defences, and in how many moves, it is taken.
WEAKENED: dict[str, tuple[tuple[str, ...], int, dict[str, int]]] = {
    "code_diverts": (("rotation-in",), 2, {"rounds": 2}),
    "offer_known_key": (("orchestrator-quote",), 1, {}),
    "offer_own_key": (("orchestrator-quote",), 1, {"own_keys": 1}),
    "two_time_pad": (("sender-iv-monotonic",), 0, {"chunks": 2}),
    "known_plaintext_pad": (("rotation-in", "count-handover"), 0, {}),
    "reply_pad": (("atomic-rotation",), 1, {}),
    "reply_opened": (("atomic-rotation",), 1, {}),
    "model_opened": (("atomic-rotation",), 1, {}),
    "model_pad": (("rotation-out", "count-handover"), 0, {}),
    "upload_pad": (("rotation-out", "rotation-in", "sender-iv-monotonic"), 0, HANDED_OVER),
    "upload_opened": (("rotation-out", "rotation-in", "sender-iv-monotonic"), 0, HANDED_OVER),
    "engine_pad": (("sender-iv-monotonic",), 0, {"chunks": 2}),
    "engine_plaintext_pad": (("rotation-in", "count-handover"), 0, {}),
    "engine_upload_pad": (("channel-counter",), 0, HANDED_OVER),
    "engine_upload_opened": (("channel-counter",), 0, HANDED_OVER),
    "engine_reply_pad": (("channel-counter",), 0, {**HANDED_OVER, "rounds": 2}),
    "same_engine_forges_h2d": (("channel-counter",), 0, HANDED_OVER),
    "same_engine_forges_d2h": (("channel-counter",), 0, {**HANDED_OVER, "rounds": 2}),
}


def hostile(protocol: Protocol) -> list[Action]:
    return [action for action in protocol.actions if not action.by.honest]


@functools.cache
def taken(variant: str, profile: str, threat: str) -> frozenset[str]:
    """Return the steps that are taken when every claim is explored."""
    protocol = SOURCE.protocol(variant)
    claims = tuple(c.name for c in protocol.claims if threat in (*c.under, *c.fails_under))
    asked = Search(SOURCE.reference, variant, (), threat, SOURCE.profile(profile), claims)
    found = search(EXPLICIT, asked)
    assert found.complete
    assert not found.problems
    return frozenset(name for name, count in found.fired.items() if count)


@functools.cache
def never(variant: str) -> frozenset[str]:
    """Return the steps that are impossible under every threat model, with any number of everything."""
    protocol = SOURCE.protocol(variant)
    known = {each.name: each.formula for each in protocol.invariants if not each.under}
    may = possible_actions(protocol, possibilities(protocol, None, known), ())
    return frozenset(action.name for action in protocol.actions) - {action.name for action in may}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("variant", FAMILY.main)
def test_what_no_explored_baseline_takes_is_impossible(variant: str) -> None:
    seen = frozenset[str]().union(*(taken(variant, *where) for where in EXPLORED))
    idle = {action.name for action in hostile(SOURCE.protocol(variant))} - seen
    assert idle == never(variant)


@pytest.mark.slow
@pytest.mark.parametrize("variant", FAMILY.main[:1])
def test_what_is_impossible_has_a_weakened_design(variant: str) -> None:
    """Nothing honest is impossible, and every impossible step of the adversary's is seen below."""
    idle = never(variant)
    assert idle == set(WEAKENED)
    assert idle <= {action.name for action in hostile(SOURCE.protocol(variant))}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("step", WEAKENED)
def test_an_impossible_step_is_taken_without_a_defence(step: str) -> None:
    """Not before: the defence is what stops it."""
    without, moves, sizes = WEAKENED[step]
    protocol = SOURCE.protocol("", without)
    profile = replace(BARE, scale={**BARE.scale, "corrupt_chunks": 1, **sizes}, budget=moves)
    claims = tuple(claim.name for claim in protocol.claims if COLLUSION in claim.under)
    asked = Search(SOURCE.reference, protocol.variant, without, COLLUSION, profile, claims, caps=Caps(states=2_000_000))
    assert search(EXPLICIT, asked).fired[step]


def test_a_profile_gives_the_adversary_what_its_threat_model_allows() -> None:
    protocol = SOURCE.protocol()
    made = {threat: SOURCE.instance(protocol, threat, SOURCE.profile("tiny")) for threat in ("holder", COLLUSION)}
    assert ("mallory's chunk 1",) in made["holder"].relations["dataset"]
    assert set(made[COLLUSION].elements["Gpu"]) >= {"gpu1", "fake1"}
    assert made[COLLUSION].relations["job_manifest"] > {("orchestrator",)}
    assert set(made[COLLUSION].elements["Gpu"]) > set(made["holder"].elements["Gpu"])
