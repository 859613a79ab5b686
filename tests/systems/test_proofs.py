"""What each protocol claims: proved for any number of everything, and explored state by state where it is small."""

import functools
from importlib import import_module
from typing import Any

import pytest

from carnet_check.engines.explicit import explore
from carnet_check.engines.induction import try_claims
from carnet_check.engines.induction.induction import ClaimProofs
from carnet_check.engines.induction.solving import Workers
from carnet_check.engines.proving.certified import fitting_cores
from carnet_check.loading.families import axiom_violations, load
from carnet_check.semantics import Interpreter
from carnet_spec.language import Profile
from carnet_spec.language.lints import lint_family
from carnet_spec.language.terms import symbols_of
from carnet_spec.protocols.fastrack.vocabulary import THROUGH_THE_CPU
from carnet_spec.protocols.pipellm.vocabulary import FLUSHED
from carnet_spec.protocols.ring_all_reduce.vocabulary import CERTIFICATE_ONLY
from carnet_spec.protocols.sgx_lkl.design import oblivious
from carnet_spec.protocols.tensortee.vocabulary import MACHINE_KEY
from carnet_spec.protocols.verifiable_fl.vocabulary import SOFTWARE_KEY

THREATS = {
    "fastrack": ("outsider", "collusion"),
    "pipellm": ("lone-host", "collusion"),
    "ring-all-reduce": ("links", "tenants"),
    "sgx-lkl": ("watching", "meddling"),
    "teechain": ("platform", "broken"),
    "tensortee": ("bus", "neighbour"),
    "verifiable-fl": ("sealed", "leaking"),
}
SOURCES = {id: load(id) for id in THREATS}
PROTOCOLS = {id: source.protocol() for id, source in SOURCES.items()}
FALLS: dict[str, Any] = {
    id: import_module(f"carnet_spec.protocols.{id.replace('-', '_')}.claims").FALLS for id in THREATS
}
#: The readings under which no lemma of the main design is untrue.
STILL_TRUE = {
    "fastrack": {THROUGH_THE_CPU},
    "pipellm": set[str](),
    "ring-all-reduce": {CERTIFICATE_ONLY},
    "tensortee": {MACHINE_KEY},
    "verifiable-fl": {SOFTWARE_KEY},
}
SLOW = set(FALLS["teechain"]) - {"tail-alone", "any-survivor"}
READINGS = [
    pytest.param(
        id,
        variant,
        marks=[
            *([pytest.mark.slow] if variant in SLOW else []),
            *([pytest.mark.verifies("pipellm-REQ-FLUSH-01")] if variant == FLUSHED else []),
        ],
    )
    for id, falls in FALLS.items()
    for variant in falls
]


@functools.cache
def solver_of(id: str) -> Workers:
    """Return what answers about all variants of a protocol: it asks once what several of them have to prove."""
    return Workers(1)


@functools.cache
def proofs_of(id: str) -> ClaimProofs:
    """Prove the claims of a protocol's main variant, with what its certificates rest on tried first."""
    source, protocol = SOURCES[id], PROTOCOLS[id]
    hints = {name: core for each in protocol.threats for name, core in fitting_cores(source, protocol, each).items()}
    return try_claims(protocol, workers=solver_of(id), hints=hints)


def assert_proved(proofs: ClaimProofs, expected: set[tuple[str, str]]) -> None:
    assert set(proofs.claims) == expected
    assert {pair: proof.missing for pair, proof in proofs.claims.items() if not proof.is_proved} == {}


@pytest.mark.parametrize(
    "id",
    [
        pytest.param(id, marks=pytest.mark.verifies(*(f"{id}-{claim.requirement}" for claim in protocol.claims)))
        for id, protocol in PROTOCOLS.items()
    ],
)
def test_every_claim_is_proved(id: str) -> None:
    claims = PROTOCOLS[id].claims
    assert_proved(
        proofs_of(id),
        {(claim.name, threat) for claim in claims for threat in (claim.under if id == "teechain" else THREATS[id])},
    )


@pytest.mark.parametrize(("id", "variant"), READINGS)
def test_what_a_reading_still_gives_is_proved(id: str, variant: str) -> None:
    """What the main variant's proofs rest on is tried first: a reading has most of these obligations as they are."""
    protocol = SOURCES[id].protocol(variant)
    hints = {name: answer.core for proof in proofs_of(id).proofs for name, answer in proof.answers.items()}
    proofs = try_claims(protocol, workers=solver_of(id), hints=hints)
    assert_proved(proofs, {(claim.name, threat) for claim in protocol.claims for threat in claim.under})


#: For each protocol the variant, the profiles, the threat models, and whether symmetric states are explored once.
#:
#: Large enough that the second of a transfer's chunks, of PipeLLM's IVs and of a ring's ranks is neither the first nor
#: the last, that the lines of two chunks begin at different ranks, that an IV of TensorTEE could be used for either
#: block of a line, and that a backup of Teechain between the head and the tail, in either of two epochs, has to vote.
EXPLORED = {
    "fastrack": ("", ["ci"], THREATS["fastrack"], False),
    "pipellm": ("", ["ci"], THREATS["pipellm"], False),
    "pipellm, flushed": (FLUSHED, ["ci"], THREATS["pipellm"], False),
    "ring-all-reduce": ("", ["chunks", "three"], ("links",), True),
    "sgx-lkl": ("", ["tiny"], THREATS["sgx-lkl"], False),
    "teechain": ("", ["epochs", "backups"], THREATS["teechain"], True),
    "tensortee": ("", ["ci"], THREATS["tensortee"], False),
    "verifiable-fl": ("", ["raw", "runs"], THREATS["verifiable-fl"], False),
}


@pytest.mark.parametrize(
    ("name", "profile", "threat"),
    [(name, profile, threat) for name, row in EXPLORED.items() for profile in row[1] for threat in row[2]],
)
def test_every_claim_and_lemma_is_looked_at_in_every_state(name: str, profile: str, threat: str) -> None:
    variant, _, _, reduction = EXPLORED[name]
    source = SOURCES[name.partition(",")[0]]
    protocol = source.protocol(variant)
    instance = source.instance(protocol, threat, source.profile(profile))
    assert not axiom_violations(Interpreter(protocol, instance), protocol.threat(threat))
    elsewhere = {claim.name for claim in protocol.claims if threat not in claim.under}
    invariants = [
        each for each in protocol.invariants if each.name not in elsewhere and (not each.under or threat in each.under)
    ]
    assert len(invariants) > len(protocol.claims) - len(elsewhere)
    found = explore(protocol, instance, invariants=invariants, reduction=reduction, threat=threat)
    assert found.complete
    assert not found.violations


@pytest.mark.parametrize("threat", THREATS["ring-all-reduce"])
@pytest.mark.parametrize("ranks", [2, 3, 5])
def test_instances_are_rings(ranks: int, threat: str) -> None:
    protocol = PROTOCOLS["ring-all-reduce"]
    profile = Profile("ring", {"ring_size": ranks, "chunks": ranks, "buckets": 2, "outsiders": 3})
    instance = SOURCES["ring-all-reduce"].instance(protocol, threat, profile)
    assert not axiom_violations(Interpreter(protocol, instance), protocol.threat(threat))


def test_nothing_that_the_host_sees_of_two_runs_is_left_out() -> None:
    """Some claim speaks of every message that may depend on a secret, and of every step that is compared."""
    runs = oblivious("fixed-shape")
    spoken = {symbol.name for claim in PROTOCOLS["sgx-lkl"].claims for symbol in symbols_of(claim.checked.body)}
    assert {f"left_{symbol.name}" for symbol in runs.seen} <= spoken
    assert {f"apart_{action}" for action in runs.secretly_possible} <= spoken
    assert len(runs.seen) == 10


@pytest.mark.parametrize("id", THREATS)
def test_the_readings_are_the_variants(id: str) -> None:
    family = SOURCES[id].family
    variants = set(family.variants) - set(family.main)
    assert set(FALLS[id]) == variants
    if id in STILL_TRUE:
        untrue = import_module(f"carnet_spec.protocols.{id.replace('-', '_')}.claims").UNTRUE
        assert set(untrue) == variants - STILL_TRUE[id]


@pytest.mark.parametrize("id", THREATS)
def test_nothing_is_wrong_with_the_text(id: str) -> None:
    """In the ring a group key is handed on in one step, which is a write that is not the actor's own.

    A statement names statements, so functions run in a circle: what is proved is proved, and a proof might not be
    found.
    """
    noted = {"ring-all-reduce": ["own-writes"], "verifiable-fl": ["stratified"]}
    assert [each.rule for each in lint_family(SOURCES[id].family)] == noted.get(id, [])
