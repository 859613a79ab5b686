"""Every meaning of what never changes comes once, up to the names of elements."""

from __future__ import annotations

import itertools

import pytest

from carnet_check.loading.meanings import every_meaning, first_values
from carnet_spec.language import Draft, Formula, Instance, Protocol, Step, forall, used
from tests.unit.model_check.small import Party, alice, before, bob, corrupt, current, drafted, last, seen

TWO = {"Party": ("party1", "party2"), "Key": ("k1", "k2", "k3")}


def see(step: Step, a: Party) -> None:
    step.insert(seen(a))


def _assuming(**axioms: Formula) -> Protocol:
    draft: Draft = drafted(see)
    for name, formula in axioms.items():
        draft.axiom(name, formula)
    return draft.protocol()


def _said(instance: Instance) -> tuple[bool, bool, bool]:
    """Whether the constants are one element, and whether each is corrupt."""
    one, other = (instance.functions[name][()] for name in ("alice", "bob"))
    bad = instance.relations["corrupt"]
    return one == other, (one,) in bad, (other,) in bad


NOTHING = {
    "two constants": (corrupt(alice) | ~corrupt(alice) | corrupt(bob), 8),
    "the first is corrupt": (corrupt(alice) & (corrupt(bob) | ~corrupt(bob)), 4),
    "one of them is": (corrupt(alice) & ~corrupt(bob), 1),
}


@pytest.mark.parametrize("name", NOTHING)
def test_each_kind_comes_once(name: str) -> None:
    axiom, kinds = NOTHING[name]
    protocol = _assuming(axiom=axiom)
    found = list(every_meaning(protocol, protocol.axioms, TWO, ()))
    assert len(found) == kinds


def test_constants_coincide_and_differ_in_every_way() -> None:
    protocol = _assuming(axiom=NOTHING["two constants"][0])
    told = {_said(instance) for instance in every_meaning(protocol, protocol.axioms, TWO, ())}
    assert told == {
        (same, *bad) for same, *bad in itertools.product((True, False), repeat=3) if not same or len({*bad}) == 1
    }


def test_axioms_about_one_relation_alone_are_kept() -> None:
    protocol = _assuming(irreflexive=forall(lambda a: ~before(a, a), Party))
    found = {frozenset(each.relations["before"]) for each in every_meaning(protocol, protocol.axioms, TWO, ())}
    assert sorted(map(len, found)) == [0, 1, 2]


def test_first_values_are_all_there_are() -> None:
    protocol = drafted(see, look_again).protocol()
    free = [symbol for symbol in protocol.symbols if symbol.name in ("last", "current")]
    found = list(first_values(protocol, Instance(TWO), free))
    assert len({(each.first["last"][()], each.first["current"][()]) for each in found}) == len(found) == 6


def look_again(step: Step) -> None:
    step.given("either", seen(last) | used(current))
    step.insert(seen(last))
