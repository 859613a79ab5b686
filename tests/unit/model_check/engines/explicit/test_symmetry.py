"""Symmetry: elements that are alike are exchanged where nothing tells them apart, and no state is lost."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carnet_check.engines.explicit import explore
from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.layout import Place, Value
from carnet_check.engines.explicit.model import Model, build
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.explicit.symmetry import BundleClass, Canonicalizer, Element, Fact, interchangeable
from carnet_check.engines.exploration import Exploration
from carnet_check.engines.native.compiling import compiler
from carnet_check.engines.native.search import NativeSearch
from carnet_check.semantics import Interpreter
from carnet_spec.language import *
from tests.fixtures.unseen import sites, vote
from tests.unit.model_check.small import *
from tests.unit.model_check.steps import see

PARTIES = [("Party", name) for name in ("a", "b", "c", "d")]
TOOLS = [("Tool", name) for name in ("s", "t", "u", "v")]
A, B, C, D = PARTIES
S, T, U, V = TOOLS


def found(*facts: Fact) -> tuple[BundleClass, ...]:
    return interchangeable([*PARTIES, *TOOLS], facts)


def test_elements_of_one_sort_are_alike_unless_something_is_said_of_one() -> None:
    assert found() == (((A,), (B,), (C,), (D,)), ((S,), (T,), (U,), (V,)))
    assert interchangeable([A, S], []) == ()
    assert found(("big", (B,)))[0] == ((A,), (C,), (D,))
    assert found(*(("big", (each,)) for each in PARTIES))[0] == ((A,), (B,), (C,), (D,))


def test_what_belongs_to_another_moves_along_in_its_order() -> None:
    owns = [("owns", pair) for pair in zip(PARTIES, TOOLS, strict=True)]
    assert found(*owns) == (((A, S), (B, T), (C, U), (D, V)),)
    owns = [("owns", pair) for pair in ((A, S), (A, T), (B, V), (B, U))]
    older = [("older", pair) for pair in ((S, T), (V, U))]
    assert found(*owns, *older) == (((A, S, T), (B, V, U)), ((C,), (D,)))


def test_a_guess_has_to_keep_all_facts_with_the_order_of_arguments() -> None:
    """Each has one before it and one behind it, so nothing tells them apart; but no two can change places."""
    circle = [("before", pair) for pair in ((A, B), (B, C), (C, A))]
    assert found(*circle, ("big", (D,))) == (((S,), (T,), (U,), (V,)),)
    assert ((A,), (B,)) not in found(("before", (A, B)), ("big", (C,)), ("small", (D,)))
    assert ((A,), (B,)) in found(("before", (A, B)), ("before", (B, A)), ("big", (C,)), ("small", (D,)))


def test_no_element_is_in_two_classes() -> None:
    """Tools of one party are alike, and so are parties with all of their tools: one of both is used."""
    owns = [("owns", pair) for pair in ((A, S), (A, T), (B, U), (B, V))]
    classes = found(*owns, ("big", (C,)))
    elements = [element for bundles in classes for bundle in bundles for element in bundle]
    assert len(set(elements)) == len(elements)
    assert classes


Rows = st.one_of(
    st.tuples(st.sampled_from(PARTIES)),
    st.tuples(st.sampled_from(PARTIES), st.sampled_from(PARTIES)),
    st.tuples(st.sampled_from(PARTIES), st.sampled_from(TOOLS)),
    st.tuples(st.sampled_from(TOOLS)),
)


@given(st.lists(st.tuples(st.just("so"), Rows), max_size=9))
def test_every_permutation_of_bundles_maps_facts_to_facts(facts: list[Fact]) -> None:
    for bundles in found(*facts):
        for order in itertools.permutations(bundles):
            becomes: dict[Element, Element] = {}
            for one, other in zip(bundles, order, strict=True):
                becomes |= dict(zip(one, other, strict=True))
            moved = {(label, tuple(becomes.get(each, each) for each in row)) for label, row in facts}
            assert moved == set(facts)


@pytest.mark.parametrize("size", [2, 3, 6])
def test_a_class_has_all_that_are_alike(size: int) -> None:
    elements = [("Party", str(number)) for number in range(size)]
    assert interchangeable(elements, []) == (tuple((each,) for each in elements),)


NEEDED = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")
SEARCHES = pytest.mark.parametrize(
    "packed",
    [
        pytest.param(PackedSearch, id="explicit"),
        pytest.param(functools.partial(NativeSearch, hand_over_at=1), id="native", marks=NEEDED),
    ],
)
FOUR = Instance({"Party": ("a", "b", "c", "d")})
THREE = Instance({"Party": ("a", "b", "c")})
Packed = Callable[..., PackedSearch]


def explored(protocol: Protocol, instance: Instance, packed: Packed, *, symmetry: bool) -> Exploration:
    invariants = [claim.checked for claim in protocol.claims]
    return explore(
        protocol, instance, invariants=invariants, stop_at_first=False, packed=packed, symmetry=symmetry, threat="any"
    )


@SEARCHES
def test_a_vote_is_visited_up_to_the_names_of_sites(packed: Packed) -> None:
    every, found = (explored(vote(), sites(3), packed, symmetry=symmetry) for symmetry in (False, True))
    assert (every.states, every.represented) == (6083, 6083)
    assert (found.states, found.represented, found.depth) == (1182, 6083, every.depth)
    assert found.reduction["permutations"] == 6


told = relation("told", Party, Party, kind=Kind.MESSAGE, says="the first told the second")


@SEARCHES
def test_whom_parties_told_is_looked_at_where_they_are_alike_otherwise(packed: Packed) -> None:
    def one_way(a: Party, b: Party) -> Formula:
        return told(a, b) | ~told(b, a)

    def tell(step: Step, a: Party, b: Party) -> None:
        step.insert(told(a, b))

    every, found = (
        explored(claimed(drafted(tell), one_way=one_way), THREE, packed, symmetry=symmetry)
        for symmetry in (False, True)
    )
    assert (every.states, found.represented) == (1 << 9, 1 << 9)
    assert found.states == 104, "relations on three elements up to isomorphism"


def follow(step: Step, a: Party, b: Party) -> None:
    step.require("alone", seen(a) & ~seen(b))
    step.insert(known(b))


def meet(step: Step, a: Party) -> None:
    step.require("known", known(a))
    step.insert(seen(a))


def never(a: Party) -> Formula:
    return ~(known(a) & seen(a))


@SEARCHES
def test_a_way_is_gone_with_the_names_that_it_began_with(packed: Packed) -> None:
    """Whoever follows comes first in the state that stands for others, and is still the one that is met."""
    found = explored(claimed(drafted(see, follow, meet), never=never), FOUR, packed, symmetry=True)
    first, second, third = (dict(step.args) for step in found.violations["never"].steps)
    assert second["a"] == first["a"]
    assert third["a"] == second["b"] != first["a"]


def all_seen(a: Party, b: Party) -> Formula:
    return seen(a) | ~seen(b) | (a != b)


def push(step: Step, a: Party) -> None:
    step.insert(seen(a))


@SEARCHES
def test_what_is_left_out_at_its_cost_is_not_counted(packed: Packed) -> None:
    protocol = reordered(claimed(drafted(see, costly=(push,)), never=all_seen), ("push", "see"))
    instance = replace(FOUR, budget=2)
    every, found = (explored(protocol, instance, packed, symmetry=symmetry) for symmetry in (False, True))
    assert (every.states, found.states, found.represented) == (16, 5, 16)
    assert explored(protocol, instance, PackedSearch, symmetry=True).reduction["states_dominated"]


heard = relation("heard", Party, kind=Kind.MESSAGE)


@SEARCHES
def test_a_state_may_stand_for_more_than_half_a_word_counts(packed: Packed) -> None:
    """Twenty parties that are seen and heard or not: one state stands for 20! / 5!⁴ of them."""

    def each_alone(a: Party, b: Party) -> Formula:
        return all_seen(a, b) & (heard(a) | ~heard(b) | (a != b))

    def hear(step: Step, a: Party) -> None:
        step.insert(heard(a))

    twenty = replace(FOUR, elements={**FOUR.elements, "Party": tuple(f"p{number}" for number in range(20))})
    found = explored(claimed(drafted(push, hear), each_alone=each_alone), twenty, packed, symmetry=True)
    assert (found.states, found.represented) == (math.comb(23, 3), 4**20)
    assert math.factorial(20) // math.factorial(5) ** 4 > 1 << 32


@SEARCHES
def test_nothing_is_left_to_be_counted_when_a_search_ends(packed: Packed) -> None:
    """Whatever ends it: counting at the end what millions of states stand for would keep an interrupt waiting."""
    left: list[int] = []
    count = PackedSearch._count

    def counted(run: PackedSearch, canonical: Canonicalizer, end: int) -> None:
        left.append(end - run.counted)
        count(run, canonical, end)

    with patch.object(PackedSearch, "_count", counted):
        explored(claimed(drafted(see, push), never=all_seen), FOUR, packed, symmetry=True)
    assert sum(left) > 1
    assert left[-1] == 0


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

PEOPLE, TOOL_NAMES = ("ann", "ben", "cy", "di"), ("t1", "t2", "t3", "t4")


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
    owned: dict[Row, str] = dict(zip(((tool,) for tool in TOOL_NAMES), owners, strict=False))
    instance = Instance({"Party": PEOPLE, "Tool": TOOL_NAMES[: len(owners)]}, functions={"owner": owned})
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
    touched, cleared = model.layout.masks_for(held.items(), lambda: None)
    return touched ^ cleared


OWNERS = [("ann", "ben", "cy", "di"), ("ann", "ann", "ann", "ann"), ("ann", "ann"), ("ann", "ben")]


@settings(max_examples=150)
@given(st.data(), st.sampled_from(OWNERS), st.integers(0, 12))
def test_states_that_differ_in_names_have_one_for_all(data: st.DataObject, owners: tuple[str, ...], most: int) -> None:
    model = model_of(owners)
    places = [place for table in model.layout.tables.values() for place in table.places.values()]
    chosen = data.draw(st.lists(st.sampled_from(places), max_size=most, unique_by=id))
    held = {place: data.draw(st.sampled_from(place.values)) for place in chosen}
    orbit = set(images(model, held))
    canonical = standing_of(model)
    [stands] = {canonical(s) for s in orbit}
    assert stands in orbit
    assert {canonical.orbit_size(s) for s in orbit} == {len(orbit)}


@pytest.mark.parametrize("size", [3, 4])
def test_a_circle_is_ordered_by_trying(size: int) -> None:
    """Each is trusted by one and trusts one, so nothing tells them apart but the whole circle."""
    model = model_of(("ann", "ben", "cy", "di"))
    places, canonical = model.layout.tables["trusts"].places, standing_of(model)
    for around in itertools.permutations(PEOPLE, size):
        circle = zip(around, (*around[1:], around[0]), strict=True)
        held: dict[Place, Value] = dict.fromkeys((places[pair] for pair in circle), True)
        orbit = set(images(model, held))
        assert canonical.orbit_size(packed(model, held)) == len(orbit)
        assert len({canonical(s) for s in orbit}) == 1


def test_places_that_are_carried_to_one_another_get_their_bits_together() -> None:
    model = model_of(("ann", "ben", "cy", "di"))
    tables = model.layout.tables
    packed(model, {tables["trusts"].places["cy", "ben"]: True})
    got = {row for row, place in tables["trusts"].places.items() if place.mask}
    assert got == set(itertools.permutations(PEOPLE, 2))
    packed(model, {tables["mood"].places["di",]: "GLAD"})
    assert all(place.mask for place in tables["mood"].places.values())
    assert not any(place.mask for place in tables["ready"].places.values())


def test_a_state_goes_on_standing_for_the_same_ones_when_places_get_bits() -> None:
    model = model_of(("ann", "ben"))
    tables, canonical = model.layout.tables, standing_of(model)
    early = [packed(model, {tables["ready"].places[party,]: True}) for party in PEOPLE[2:]]
    stands = [(canonical(s), canonical.orbit_size(s)) for s in early]
    packed(model, {tables["mood"].places["di",]: "GLAD", tables["lent"].places["t1", "ben"]: True})
    assert [(canonical(s), canonical.orbit_size(s)) for s in early] == stands


def test_what_no_permutation_moves_stays_and_the_largest_number_comes_first() -> None:
    model = model_of(("ann",))
    s = packed(model, {model.layout.tables["closed"].places[()]: True})
    assert standing_of(model)(s) == s
    assert standing_of(model).orbit_size(s) == 1
    model = model_of(("ann",))
    places = model.layout.tables["ready"].places
    held: dict[Place, Value] = {places["di",]: True}
    others = [party for party in PEOPLE if party != "ann"]
    assert standing_of(model)(packed(model, held)) == packed(model, {places[others[0],]: True})


holds = function("holds", Party, to=Key, kind=Kind.STATE, of=HOLDER)
key_owner = rigid_function("owner", Key, to=Party)

NAMES = ("alice", "bob", "carol", "dave")
INSTANCE = Instance(
    {"Party": NAMES, "Key": ("k1", "k2", "k3")},
    {"before": frozenset(), "corrupt": frozenset()},
    {"alice": {(): "alice"}, "bob": {(): "bob"}, "owner": {("k1",): "bob", ("k2",): "carol", ("k3",): "dave"}},
)
EVERYBODY = {frozenset(NAMES)}
OTHERS = {frozenset(NAMES[1:])}


def alike(protocol: Protocol, instance: Instance = INSTANCE, *, reduce: bool = True) -> set[frozenset[str]]:
    """Return which elements may change places, after making sure that none are merged that should not be.

    With symmetry the states found stand for as many as there are without.
    """
    invariants = [claim.checked for claim in protocol.claims]
    counts, found = [], set()
    for symmetric in (False, True):
        model = build(Interpreter(protocol, instance), invariants, (), reduce=reduce, symmetric=symmetric)
        run = PackedSearch(model, Watch(), enough=0, dominance=False)
        run.run()
        if model.canonical is None:
            counts.append(len(run.found))
        else:
            counts.append(run.represented(model.canonical))
            found = {frozenset("+".join(name for _, name in each) for each in them) for them in model.canonical.alike}
    assert counts[0] == counts[1]
    return found


def _both_seen(a: Party, b: Party) -> Formula:
    return ~(seen(a) & seen(b) & known(a) & (last != b))


def protocol_of(*bodies: Callable[..., None], never: Callable[..., Formula] = _both_seen) -> Protocol:
    """Return a protocol in which a party may be seen, and these steps be taken, with a claim about them."""
    draft = drafted(see, *bodies)
    draft.claim(name="never", sentence="It holds.", requirement="R-1", source="tests", under=())(never)
    return draft.protocol()


def _one_seen(a: Party) -> Formula:
    return ~(seen(a) & known(a))


def know(step: Step, a: Party) -> None:
    step.require("seen", seen(a))
    step.insert(known(a))


def know_but_alice(step: Step, a: Party) -> None:
    step.require("seen", seen(a) & (a != alice))
    step.insert(known(a))


def know_unless_alice(step: Step, a: Party) -> None:
    step.insert(known(a), when=seen(a) & (a != alice))


def know_alice(step: Step, a: Party) -> None:
    step.require("seen", seen(a))
    step.insert(known(alice))


def take(step: Step, a: Party) -> None:
    step.set(last, a)


@pytest.mark.parametrize("body", [know_but_alice, know_unless_alice, know_alice], ids=["guard", "condition", "update"])
def test_one_that_a_step_names_is_like_no_other(body: Callable[..., None]) -> None:
    assert alike(protocol_of(know, never=_one_seen)) == EVERYBODY
    assert alike(protocol_of(body, never=_one_seen)) == OTHERS


@pytest.mark.parametrize("reduce", [True, False])
def test_two_that_are_named_are_not_alike(reduce: bool) -> None:
    def _bob_seen(a: Party) -> Formula:
        return ~(seen(bob) & seen(a))

    protocol = protocol_of(know_but_alice, never=_bob_seen)
    assert alike(protocol, reduce=reduce) == {frozenset(("carol", "dave"))}


def test_one_that_is_named_or_there_at_first_is_like_no_other() -> None:
    """A variable starts at the first element, or where the instance says; unless nothing reads it."""

    def _alice_seen(a: Party) -> Formula:
        return ~(seen(alice) & seen(a))

    assert alike(protocol_of(know, never=_alice_seen)) == OTHERS
    relations = {**INSTANCE.relations, "corrupt": frozenset({("alice",)})}
    assert alike(protocol_of(know, take, never=_one_seen), replace(INSTANCE, relations=relations)) == EVERYBODY
    assert alike(protocol_of(know, take)) == OTHERS
    dave = replace(INSTANCE, first={"last": {(): "dave"}})
    assert alike(protocol_of(know, take), dave) == {frozenset(NAMES[:3])}
    assert alike(protocol_of(know, take, never=_one_seen), dave) == EVERYBODY
    assert alike(protocol_of(know, take, never=_one_seen), dave, reduce=False) == {frozenset(NAMES[:3])}


@pytest.mark.parametrize(
    ("relation", "rows", "expected"),
    [
        ("corrupt", {("alice",)}, OTHERS),
        ("corrupt", {("alice",), ("bob",)}, {frozenset(("alice", "bob")), frozenset(("carol", "dave"))}),
        ("corrupt", {(party,) for party in NAMES}, EVERYBODY),
        ("before", {("alice", "bob"), ("alice", "carol"), ("alice", "dave")}, OTHERS),
        ("before", {("bob", "alice"), ("carol", "alice"), ("dave", "alice")}, OTHERS),
        ("before", {("alice", "bob"), ("bob", "carol"), ("carol", "dave")}, set()),
        ("before", {("alice", "alice")}, OTHERS),
        ("before", {(party, party) for party in NAMES}, EVERYBODY),
        ("before", InLine(NAMES), set()),
        ("before", InLine(NAMES[:2]), {frozenset(("carol", "dave"))}),
    ],
)
def test_what_never_changes_tells_apart_whom_it_holds_of(relation: str, rows: Any, expected: Any) -> None:
    def know_those_behind(step: Step, a: Party, b: Party) -> None:
        step.require("before", seen(a) & before(a, b))
        step.insert(known(b))

    def know_if_corrupt(step: Step, a: Party) -> None:
        step.require("corrupt", seen(a) & corrupt(a))
        step.insert(known(a))

    relations = {**INSTANCE.relations, relation: rows if isinstance(rows, InLine) else frozenset(rows)}
    protocol = protocol_of(know_if_corrupt, know_those_behind, never=_one_seen)
    assert alike(protocol, replace(INSTANCE, relations=relations)) == expected


def test_a_relation_that_holds_at_first_tells_apart() -> None:
    def at_first(a: Party) -> Formula:
        return a == alice

    draft = drafted(see, know)
    draft.initially(known, at_first)
    draft.claim(name="never", sentence="It holds.", requirement="R-1", source="tests", under=())(_one_seen)
    assert alike(draft.protocol()) == OTHERS


@pytest.mark.parametrize("reduce", [True, False])
@pytest.mark.parametrize("pool", [("bob", "carol"), ("carol", "bob")])
def test_a_step_that_may_choose_some_tells_them_from_the_others(pool: tuple[str, ...], reduce: bool) -> None:
    instance = replace(INSTANCE, pools={("know", "a"): pool})
    expected = {frozenset(("bob", "carol")), frozenset(("alice", "dave"))}
    assert alike(protocol_of(know, never=_one_seen), instance, reduce=reduce) == expected


def draw(step: Step, k: Key, a: Party) -> None:
    step.fresh(k)
    step.set(holds(a), k)


def look(step: Step, k: Key, a: Party) -> None:
    step.require("held", holds(a) == k)
    step.set(current, k)


def _never_current(a: Party) -> Formula:
    return (holds(a) != current) | ~seen(a)


def test_what_is_drawn_is_alike_only_outside_its_pool_or_in_any_order() -> None:
    """Where first values speak of the sort, each unused element is tried; the one that is named is like no other."""

    def forget(step: Step, k: Key) -> None:
        step.set(current, k)

    protocol = protocol_of(draw, look, never=_never_current)
    small = replace(INSTANCE, elements={**INSTANCE.elements, "Party": ("alice", "bob")}, functions={})
    assert alike(protocol, small) == {frozenset(("alice", "bob"))}
    protocol = protocol_of(draw, forget, never=_never_current)
    elements = {"Party": ("alice", "bob"), "Key": ("k1", "k2", "k3", "k4")}
    instance = Instance(elements, pools={("draw", "k"): ("k1", "k2")})
    assert alike(protocol, instance) == {frozenset(("alice", "bob")), frozenset(("k3", "k4"))}
    protocol = protocol_of(draw, look, never=_never_current)
    elements = {"Party": ("alice", "bob"), "Key": ("k1", "k2", "k3")}
    instance = Instance(elements, first={"current": {(): "k1"}})
    assert alike(protocol, instance) == {frozenset(("alice", "bob")), frozenset(("k2", "k3"))}


def know_the_owner(step: Step, k: Key, a: Party) -> None:
    step.require("owner", (key_owner(k) == a) & seen(a))
    step.insert(known(a))
    step.set(current, k)


def _current_seen(k: Key) -> Formula:
    return (current != k) | ~seen(key_owner(k))


def test_what_belongs_together_moves_together() -> None:
    """A party moves with its key; the one whose key is there at first, and the one without, stay."""
    protocol = protocol_of(know_the_owner, never=_current_seen)
    assert alike(protocol) == {frozenset(("carol+k2", "dave+k3"))}
    owned: dict[Row, str] = dict.fromkeys((("k1",), ("k2",), ("k3",)), "alice")
    functions = {**INSTANCE.functions, "owner": owned}
    protocol = protocol_of(know_the_owner, never=_current_seen)
    assert alike(protocol, replace(INSTANCE, functions=functions)) == {frozenset(NAMES[1:]), frozenset(("k2", "k3"))}


def test_members_and_pairs_that_nothing_names_are_alike() -> None:
    def _no_circle(a: Party, b: Party) -> Formula:
        return ~(ahead(a, b) & ahead(b, a) & seen(a))

    def pass_ahead(step: Step, a: Party, b: Party) -> None:
        step.require("apart", a != b)
        step.insert(ahead(a, b))

    def _not_early(a: Party) -> Formula:
        return (phase == Phase.EARLY) | ~seen(a)

    def go_anywhere(step: Step, to: Phase) -> None:
        step.set(phase, to)

    assert alike(protocol_of(go_anywhere, never=_not_early)) == {*EVERYBODY, frozenset(("LATE", "OVER"))}
    three = replace(INSTANCE, elements={**INSTANCE.elements, "Party": NAMES[:3]}, functions={})
    assert alike(protocol_of(pass_ahead, never=_no_circle), three) == {frozenset(NAMES[:3])}
    draft = Draft("still", "Nothing happens")

    @draft.action(by=HOLDER, says="it happens", source="tests")
    def turn(step: Step) -> None:
        step.set(phase, Phase.LATE)

    assert alike(draft.protocol()) == set()
