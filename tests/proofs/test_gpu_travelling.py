"""What GPU Travelling claims: proved for any number of everything, and looked at state by state where it is small.

The two engines translate the specification apart from one another. So every lemma of the proof is also looked at in
every reachable state of a small instance, and a specification with a mistake planted in it has to displease them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import pytest

from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.exploration import Exploration, Search
from carnet_check.engines.exploring.searches import search
from carnet_check.engines.induction import ClaimProof, try_claims
from carnet_check.semantics import Interpreter
from carnet_spec.language import Invariant, Protocol
from tests.fixtures.travelling import (
    BARE,
    COLLUSION,
    FAMILY,
    SOURCE,
    expected_to_fall,
    explored,
    kept,
    stated,
    without_condition,
    without_guard,
    without_update,
)
from tests.unit.model_check.command import carnet

MAIN = FAMILY.main
THREATS = ("outsider", "holder", "hypervisor", COLLUSION, "past-keys")

Proofs = dict[tuple[str, str], ClaimProof]


@pytest.fixture(scope="module", params=MAIN)
def proofs(request: pytest.FixtureRequest) -> tuple[Protocol, Proofs]:
    protocol = SOURCE.protocol(request.param)
    return protocol, try_claims(protocol).claims


@functools.cache
def seen(variant: str, threat: str) -> Exploration:
    """Explore profile tiny with every claim and every lemma looked at, and every near goal looked for."""
    protocol = SOURCE.protocol(variant)
    return explored(protocol, threat, goals=tuple(goal for goal in protocol.goals if goal.rounds == 1))


# -- proofs ---------------------------------------------------------------------------------------


def test_every_claim_is_proved_wherever_it_is_made(
    proofs: tuple[Protocol, Proofs], record_property: Callable[[str, object], None]
) -> None:
    protocol, found = proofs
    record_property("verifies", ", ".join(f"{protocol.id}-{claim.requirement}" for claim in protocol.claims))
    made = {(claim, threat.id) for threat in protocol.threats for claim in stated(protocol, threat.id)}
    assert set(found) == made
    assert {pair: proof.missing for pair, proof in found.items() if not proof.proved} == {}


def test_no_claim_is_left_unstated(proofs: tuple[Protocol, Proofs]) -> None:
    protocol, _ = proofs
    assert not [claim.name for claim in protocol.claims if claim.declared]


def test_every_claim_is_made_somewhere(proofs: tuple[Protocol, Proofs]) -> None:
    _, found = proofs
    assert {threat for _, threat in found} == set(THREATS)
    assert {claim.name for claim in proofs[0].claims} == {claim for claim, _ in found}


def test_confidentiality_rests_on_what_it_should(proofs: tuple[Protocol, Proofs]) -> None:
    """A proof that needs no defence and no assumption would be a proof of nothing."""
    _, found = proofs
    proof = found["confidentiality", COLLUSION]
    assert {"A1", "A5"} <= set(proof.assumptions)
    assert {"gpu-certificate", "mode-check", "rotation-ack", "scrub-ack", "quote-bound-to-channel"} <= set(
        proof.defences
    )
    assert len(proof.lemmas) > 20


# -- every state of a small instance --------------------------------------------------------------

LARGEST = ("hypervisor", "past-keys")
SMALL = [
    *(pytest.param(MAIN[0], each, marks=[pytest.mark.slow] if each in LARGEST else []) for each in THREATS),
    *((variant, COLLUSION) for variant in MAIN[1:]),
]
small = pytest.mark.parametrize(("variant", "threat"), SMALL)


@small
def test_claims_and_lemmas_hold_in_every_reachable_state(variant: str, threat: str) -> None:
    """What fails is what is expected to fail, and a lemma that was proved fails nowhere."""
    found = seen(variant, threat)
    assert found.complete
    assert set(found.violations) == expected_to_fall(SOURCE.protocol(variant), threat)


@small
def test_the_adversary_does_something(variant: str, threat: str) -> None:
    steps = [a for a in SOURCE.protocol(variant).actions if not a.by.honest and not a.deduction]
    assert [action.name for action in steps if seen(variant, threat).fired[action.name]]


FLAWS = {"open-mode-reported", "debug-flag-reported", "old-firmware-reported"}
LENT = {"lent-channel"}
WITH_AN_ADVERSARY = {
    "outsider": {"open-mode-reported", "own-gpu"},
    "holder": set[str](),
    "hypervisor": FLAWS,
    COLLUSION: FLAWS | LENT,
    "past-keys": FLAWS | LENT,
}
"""The goals that need an adversary: one with power over a GPU, where outsiders boot their own alone, which is never
attested, or a corrupt holder with somebody to help."""


@small
def test_what_is_promised_is_reached(variant: str, threat: str) -> None:
    near = {goal.name for goal in SOURCE.protocol(variant).goals if goal.rounds == 1}
    honest = near - FLAWS - LENT - {"own-gpu", "two-chunks-returned"}
    assert set(seen(variant, threat).goals) == honest | WITH_AN_ADVERSARY[threat]


@pytest.mark.parametrize("threat", ["holder", COLLUSION])
def test_a_corrupt_holder_learns_the_model(threat: str) -> None:
    """The deck says so itself, hence a tool that does not find it is wrong."""
    protocol = SOURCE.protocol(MAIN[0])
    instance = SOURCE.instance(protocol, threat, BARE)
    final = Interpreter(protocol, instance).replay(seen(MAIN[0], threat).violations["model-confidentiality"])[-1]
    assert {agent for agent, data in final.relations["learned"] if data == "the model"} & {"mallory", "platform"}


@pytest.mark.parametrize("variant", MAIN)
def test_honest_parties_reach_a_third_round(variant: str) -> None:
    far = tuple(goal.name for goal in SOURCE.protocol(variant).goals if goal.rounds > 1)
    found = search(
        EXPLICIT,
        Search(
            reference=SOURCE.reference,
            variant=variant,
            without=(),
            threat="outsider",
            profile=SOURCE.profile("directed"),
            claims=(),
            goals=far,
            directed=True,
        ),
    )
    assert not found.problems
    assert set(found.goals) == set(far) >= {"third-round"}


# -- planted mistakes -----------------------------------------------------------------------------


def _forgotten(action: str, guard: str) -> Callable[[Protocol], Protocol]:
    return lambda protocol: without_guard(protocol, action, guard)


def _not_done(action: str, update: str) -> Callable[[Protocol], Protocol]:
    return lambda protocol: without_update(protocol, action, update)


def _always(action: str, update: str) -> Callable[[Protocol], Protocol]:
    return lambda protocol: without_condition(protocol, action, update)


MISTAKES: dict[str, tuple[str, Callable[[Protocol], Protocol], str]] = {
    "it grants to whoever is there": ("grant", _forgotten("grant", "its channel"), "key-isolation"),
    "it skips a counter value": ("provision", _forgotten("provision", "next IV"), "data-agreement"),
    "it decrypts what nobody sealed": (
        "gpu_receive",
        _forgotten("gpu_receive", "verifies"),
        "gpu-genuine single-custody",
    ),
    "it counts nothing it received": ("gpu_receive", _not_done("gpu_receive", "insert received"), "no-replay"),
    "it uses an order's number again": ("send_fence", _forgotten("send_fence", "next number"), "iv-unique"),
    "it goes on in any phase": ("rotated_out", _forgotten("rotated_out", "phase"), "no-silent-reset"),
    "it trains what was not given back": ("send_train", _forgotten("send_train", "returned"), "handoff-agreement"),
    "it asks for no report on contexts": ("verified", _forgotten("verified", "no context"), "trains-verified"),
    "it reports on contexts without a look": (
        "exec_read_back",
        _always("exec_read_back", "contexts left"),
        "no-silent-reset",
    ),
}
"""For each: where the mistake is, what it is, and the claims that fall first under collusion."""


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_displeases_both_engines(mistake: str) -> None:
    """The proof breaks at the very action, and a reachable state breaks a claim that is proved without the mistake."""
    action, change, falls = MISTAKES[mistake]
    wrong = change(SOURCE.protocol("sealed-under-master"))
    assert not kept(wrong, action)
    found = explored(wrong, COLLUSION, against=_claims, stop_at_first=True)
    assert set(found.violations) == set(falls.split())


def _claims(protocol: Protocol, threat: str) -> list[Invariant]:
    return [protocol.claim(name).checked for name in stated(protocol, threat)]


# -- long -----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.timeout(2400)
def test_an_active_move_breaks_nothing_in_profile_ci() -> None:
    """Two rounds, two chunks, two genuine GPUs and a fake, two instances; the largest of them has 99 million states."""
    engines = ("--engine", "induction", "--engine", "native")  # what is proved to happen in the end is not explored
    ran = carnet("verify", "gpu-travelling", "--profile", "ci", *engines, "--jobs", "2", "--json")
    rows = [row for row in ran.json["results"] if row["engine"] == "native"]
    assert ran.code == 0
    pairs = {(row["variant"], row["threat"]) for row in rows}
    assert pairs >= {(variant, threat) for variant in MAIN for threat in THREATS}
    assert {variant for variant, _ in pairs} == set(SOURCE.family.with_layers(MAIN))
    found = {(row["verdict"], row["bound"]) for row in rows if row["expected"] != "VIOLATED"}
    assert found == {("HOLDS-TO", 1)}
