"""The state that stands for others: the same for all of them, one of them, and it is known for how many it stands."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carnet_check.engines.explicit.layout import Place, Value
from carnet_check.engines.explicit.model import Model, build
from carnet_check.engines.explicit.symmetry import Canonicalizer
from carnet_check.semantics import Interpreter
from carnet_spec.language import Individual, Instance, Kind, Row, Step, function, member, relation, rigid_function
from tests.unit.model_check.small import HOLDER, Party, drafted


class Tool(Individual):
    """Belongs to a party."""


class Mood(Individual):
    """How a party is."""

    CALM = member()
    CROSS = member()
    GLAD = member()


ready = relation("ready", Party, kind=Kind.STATE, of=HOLDER)
mood = function("mood", Party, to=Mood, kind=Kind.STATE, of=HOLDER)
trusts = relation("trusts", Party, Party, kind=Kind.STATE, of=HOLDER)
follows = function("follows", Party, to=Party, kind=Kind.STATE, of=HOLDER)
lent = relation("lent", Tool, Party, kind=Kind.STATE, of=HOLDER)
broken = relation("broken", Tool, kind=Kind.STATE, of=HOLDER)
closed = relation("closed", kind=Kind.STATE, of=HOLDER)
owner = rigid_function("owner", Tool, to=Party)

PARTIES, TOOLS = ("ann", "ben", "cy", "di"), ("t1", "t2", "t3", "t4")


def settle(step: Step, a: Party, b: Party, m: Mood, t: Tool) -> None:
    step.require("so", ready(a) | (mood(a) == m) | trusts(a, b) | (follows(a) == b) | lent(t, a) | broken(t) | closed())
    step.insert(ready(a))
    step.set(mood(a), m)
    step.insert(trusts(a, b))
    step.set(follows(a), b)
    step.insert(lent(t, a), when=owner(t) == a)
    step.insert(broken(t))
    step.insert(closed())


def _itself(a: Party) -> Individual:
    return a


def _calm(a: Party) -> Individual:
    return Mood.CALM


def model_of(owners: tuple[str, ...]) -> Model:
    """Return a model whose parties, each with the tools that it has, are interchangeable, and so are some tools."""
    draft = drafted(settle)
    draft.initially(follows, _itself)
    draft.initially(mood, _calm)
    owned: dict[Row, str] = dict(zip(((tool,) for tool in TOOLS), owners, strict=False))
    instance = Instance({"Party": PARTIES, "Tool": TOOLS[: len(owners)]}, functions={"owner": owned})
    return build(Interpreter(draft.protocol(), instance), (), (), reduce=False, symmetric=True)


def standing_of(model: Model) -> Canonicalizer:
    assert model.canonical is not None
    return model.canonical


def images(model: Model, held: dict[Place, Value]) -> Iterator[int]:
    """Yield what every permutation makes of a state, worked out name by name."""
    alike = standing_of(model).alike
    for orders in itertools.product(*(itertools.permutations(bundles) for bundles in alike)):
        becomes = {
            mine: its
            for bundles, order in zip(alike, orders, strict=True)
            for one, other in zip(bundles, order, strict=True)
            for mine, its in zip(one, other, strict=True)
        }

        def moved(sort: str, name: str, becomes: dict[tuple[str, str], tuple[str, str]] = becomes) -> str:
            return becomes.get((sort, name), (sort, name))[1]

        writes = {}
        for place, value in held.items():
            row = tuple(moved(sort.name, each) for sort, each in zip(place.symbol.domain, place.row, strict=True))
            its = value if isinstance(value, bool) else moved(place.symbol.result.name, value)
            writes[model.layout.tables[place.symbol.name].places[row]] = its
        yield packed(model, writes)


def packed(model: Model, held: dict[Place, Value]) -> int:
    touched, cleared = model.layout.written(held.items(), lambda: None)
    return touched ^ cleared


OWNERS = [("ann", "ben", "cy", "di"), ("ann", "ann", "ann", "ann"), ("ann", "ann"), ("ann", "ben")]


@settings(max_examples=150)
@given(st.data(), st.sampled_from(OWNERS), st.integers(0, 12))
def test_all_states_that_differ_in_names_have_one_that_stands_for_them(
    data: st.DataObject, owners: tuple[str, ...], most: int
) -> None:
    model = model_of(owners)
    places = [place for table in model.layout.tables.values() for place in table.places.values()]
    chosen = data.draw(st.lists(st.sampled_from(places), max_size=most, unique_by=id))
    held = {place: data.draw(st.sampled_from(place.values)) for place in chosen}
    orbit = set(images(model, held))
    canonical = standing_of(model)
    [stands] = {canonical(s) for s in orbit}
    assert stands in orbit
    assert {canonical.size(s) for s in orbit} == {len(orbit)}


@pytest.mark.parametrize("size", [3, 4])
def test_a_circle_is_ordered_by_trying(size: int) -> None:
    """Each is trusted by one and trusts one, so nothing tells them apart but the whole circle."""
    model = model_of(("ann", "ben", "cy", "di"))
    places, canonical = model.layout.tables["trusts"].places, standing_of(model)
    for around in itertools.permutations(PARTIES, size):
        circle = zip(around, (*around[1:], around[0]), strict=True)
        held: dict[Place, Value] = dict.fromkeys((places[pair] for pair in circle), True)
        orbit = set(images(model, held))
        assert canonical.size(packed(model, held)) == len(orbit)
        assert len({canonical(s) for s in orbit}) == 1


def test_places_that_are_carried_to_one_another_get_their_bits_together() -> None:
    model = model_of(("ann", "ben", "cy", "di"))
    tables = model.layout.tables
    packed(model, {tables["trusts"].places["cy", "ben"]: True})
    got = {row for row, place in tables["trusts"].places.items() if place.mask}
    assert got == set(itertools.permutations(PARTIES, 2))
    packed(model, {tables["mood"].places["di",]: "GLAD"})
    assert all(place.mask for place in tables["mood"].places.values())
    assert not any(place.mask for place in tables["ready"].places.values())


def test_a_state_goes_on_standing_for_the_same_ones_when_places_get_bits() -> None:
    model = model_of(("ann", "ben"))
    tables, canonical = model.layout.tables, standing_of(model)
    early = [packed(model, {tables["ready"].places[party,]: True}) for party in PARTIES[2:]]
    stands = [(canonical(s), canonical.size(s)) for s in early]
    packed(model, {tables["mood"].places["di",]: "GLAD", tables["lent"].places["t1", "ben"]: True})
    assert [(canonical(s), canonical.size(s)) for s in early] == stands


def test_what_no_permutation_moves_stays() -> None:
    model = model_of(("ann",))
    s = packed(model, {model.layout.tables["closed"].places[()]: True})
    assert standing_of(model)(s) == s
    assert standing_of(model).size(s) == 1


def test_the_bundle_with_the_largest_number_comes_first() -> None:
    model = model_of(("ann",))
    places = model.layout.tables["ready"].places
    held: dict[Place, Value] = {places["di",]: True}
    others = [party for party in PARTIES if party != "ann"]
    assert standing_of(model)(packed(model, held)) == packed(model, {places[others[0],]: True})
