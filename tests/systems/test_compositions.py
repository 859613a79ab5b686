"""Each bond of the compositions holds, needs each claim that it names, and breaks when one of them is lost."""

from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import replace
from functools import cache

import pytest

from carnet_check.certificates.file import load_certificates, place_of
from carnet_check.certificates.judging import cores
from carnet_check.engines.interface import ComparesFormulas
from carnet_check.engines.proving.solver import load_hints
from carnet_check.engines.registry import able
from carnet_check.loading.families import load
from carnet_check.obligations import layers
from carnet_spec.compositions import compositions
from carnet_spec.compositions.travelling_over_fastrack import move
from carnet_spec.language import Formula, Protocol, SpecificationError
from carnet_spec.language.composition import BuiltBond, Composition, End
from carnet_spec.language.terms import negation
from carnet_spec.protocols.fastrack import vocabulary as link
from carnet_spec.protocols.gpu_travelling import FAMILY as TRAVELLING
from carnet_spec.protocols.gpu_travelling import vocabulary as job
from docs._ext.carnet_pages.bond_status import BondStatus, judge

FOUND = {composition.id: composition for composition in compositions()}
BONDS = {f"{id}: {bond.bond.name}": bond for id, each in FOUND.items() for bond in each.build()}
#: What is passed on as it is; all others are implied.
EQUAL = {"travelling-over-fastrack: counters do not wrap", "ring-of-travelling: certificates tell"}
#: Bonds of which so many parts hold by the reading alone.
BY_READING = {"ring-of-travelling: reports are true, and stay so": 1}


def test_both_compositions_are_found_with_bonds_in_both_directions() -> None:
    assert set(FOUND) == {"ring-of-travelling", "travelling-over-fastrack"}
    for composition in FOUND.values():
        assert len(composition.bonds) >= 6
        assert {bond.of for bond in composition.bonds} == set(End)


@pytest.mark.parametrize("name", BONDS)
def test_a_bond_holds(name: str) -> None:
    judgement = judge(BONDS[name])
    assert judgement.reasons == ()
    assert judgement.standing is (BondStatus.EQUAL if name in EQUAL else BondStatus.IMPLIED)
    assert len(judgement.by_reading) == BY_READING.get(name, 0)


DROPPED = [(name, premise) for name, bond in BONDS.items() for premise in bond.premises]


@pytest.mark.parametrize(("name", "premise"), DROPPED)
def test_a_bond_breaks_without_any_of_its_claims(name: str, premise: str) -> None:
    bond = BONDS[name]
    others = {other: term for other, term in bond.premises.items() if other != premise}
    judgement = judge(replace(bond, premises=others, hypotheses_by_threat={}))
    assert judgement.standing is BondStatus.OPEN
    assert judgement.reasons[0] == "what is established does not imply what is assumed"


#: Designs of the lower protocol that lack a defence, the first bond that each breaks, and what is lost with it.
LOST = {
    "through-the-cpu": (
        "travelling-over-fastrack",
        "taken is what was sealed",
        "claim chunk-agreement .* under collusion",
    ),
    "independent-tags": ("travelling-over-fastrack", "taken is what was sealed", "claim chunk-agreement .* under"),
    "decrypt-in-place": ("travelling-over-fastrack", "taken is what was sealed", "claim chunk-agreement .* under"),
    "prefix-start": ("travelling-over-fastrack", "taken is what was sealed", "no lemma 'done_is_whole'"),
    "no-length": ("travelling-over-fastrack", "received without gaps", "claim whole-transfer .* under collusion"),
    "cpu-launches": ("travelling-over-fastrack", "chunks stay secret", "claim confidentiality .* under collusion"),
    "leaked-device": ("ring-of-travelling", "certificates tell", "is read as what gpu-travelling lacks: revoked"),
}


@pytest.mark.parametrize("variant", LOST)
def test_a_design_that_lacks_a_defence_breaks_a_bond(variant: str) -> None:
    id, bond, said = LOST[variant]
    with pytest.raises(SpecificationError, match=rf"{id}, bond '{bond}' \(\w+\.py:\d+\): .*{said}"):
        FOUND[id].build({End.LOWER: variant})


def test_a_ring_that_lacks_a_defence_breaks_a_bond() -> None:
    with pytest.raises(
        SpecificationError, match=r"bond 'hops give nothing away' .*: claim confidentiality .* does not hold"
    ):
        FOUND["ring-of-travelling"].build({End.UPPER: "unattested"})


def test_what_is_said_not_to_follow_does_not() -> None:
    """Not from all that is proved of Fastrack together: the page says so beside the bond on received values."""
    composition = FOUND["travelling-over-fastrack"]
    bond = BONDS["travelling-over-fastrack: received without gaps"]
    (lemma,) = (each for each in TRAVELLING.protocol().lemmas if each.name == "received_was_sent")
    assert "(received_was_sent) does not follow" in bond.bond.leaves
    reading = copy(bond.bond.reading)
    reading.meanings = dict(reading.meanings)

    @reading.defines(job.spent)
    def spent(a: link.Agent, k: link.Key, v: link.Position) -> Formula:
        return link.spent(a, k, move, v)

    (world,) = composition.build()[0].hypotheses_by_threat.values()
    read = reading.translate(lemma.formula)
    assert able(ComparesFormulas).contradictory({**world, "goal": negation(read)}) is False


def _terms(composition: Composition, bond: BuiltBond) -> Iterator[tuple[Protocol, str, object]]:
    for end, named in ((bond.bond.of, bond.assumed), (bond.bond.of.other, bond.premises)):
        protocol = composition.families[end].protocol()
        yield from ((protocol, name, term) for name, term in named.items())


@pytest.mark.parametrize("id", FOUND)
def test_what_is_compared_is_what_the_protocols_say(id: str) -> None:
    for bond in FOUND[id].build():
        for protocol, said, term in _terms(FOUND[id], bond):
            kind, _, name = said.partition(" ")
            invariants = {each.name: each.formula for each in protocol.invariants}
            axioms = {each.name: each.formula for each in protocol.axioms}
            assert term == (axioms if kind == "axiom" else invariants)[name]


@cache
def _used(protocol: Protocol) -> Mapping[str, frozenset[str]]:
    """Return, for each hypothesis of a recorded proof, the invariants that it was used for."""
    found: dict[str, set[str]] = {}
    for id, core in (load_hints(protocol) or _certified(protocol)).items():
        for name in core:
            found.setdefault(name.removeprefix("inv:"), set()).add(id.rpartition("/")[2])
    return {name: frozenset(ids - {name}) for name, ids in found.items()}


def _certified(protocol: Protocol) -> Mapping[str, tuple[str, ...]]:
    path = place_of(load(protocol.id))
    assert path is not None
    return {id: core for (_, id), core in cores(load_certificates(path), layers(protocol)).items()}


@pytest.mark.parametrize("name", [name for name, bond in BONDS.items() if bond.bond.assumes[0].startswith("lemma ")])
def test_a_lemma_that_is_assumed_is_used_by_the_proof_of_something_else(name: str) -> None:
    bond = BONDS[name].bond
    composition = FOUND[name.partition(":")[0]]
    for assumed in bond.assumes:
        assert _used(composition.families[bond.of].protocol())[assumed.removeprefix("lemma ")]
