"""Elements are interchangeable if nothing tells them apart: each thing that does is tried alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.model import build
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.semantics import Interpreter
from carnet_spec.language import Draft, Formula, InLine, Instance, Kind, Protocol, Row, Step, function, rigid_function
from tests.unit.model_check.small import (
    HOLDER,
    Key,
    Party,
    Phase,
    ahead,
    alice,
    before,
    bob,
    corrupt,
    current,
    drafted,
    known,
    last,
    phase,
    see,
    seen,
)

holds = function("holds", Party, to=Key, kind=Kind.STATE, of=HOLDER)
owner = rigid_function("owner", Key, to=Party)

PARTIES = ("alice", "bob", "carol", "dave")
INSTANCE = Instance(
    {"Party": PARTIES, "Key": ("k1", "k2", "k3")},
    {"before": frozenset(), "corrupt": frozenset()},
    {"alice": {(): "alice"}, "bob": {(): "bob"}, "owner": {("k1",): "bob", ("k2",): "carol", ("k3",): "dave"}},
)
EVERYBODY = {frozenset(PARTIES)}
OTHERS = {frozenset(PARTIES[1:])}


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


def _alice_seen(a: Party) -> Formula:
    return ~(seen(alice) & seen(a))


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


def know_if_corrupt(step: Step, a: Party) -> None:
    step.require("corrupt", seen(a) & corrupt(a))
    step.insert(known(a))


def know_those_behind(step: Step, a: Party, b: Party) -> None:
    step.require("before", seen(a) & before(a, b))
    step.insert(known(b))


def take(step: Step, a: Party) -> None:
    step.set(last, a)


@pytest.mark.parametrize("body", [know_but_alice, know_unless_alice, know_alice], ids=["guard", "condition", "update"])
def test_one_that_a_step_names_is_like_no_other(body: Callable[..., None]) -> None:
    assert alike(protocol_of(know, never=_one_seen)) == EVERYBODY
    assert alike(protocol_of(body, never=_one_seen)) == OTHERS


def _bob_seen(a: Party) -> Formula:
    return ~(seen(bob) & seen(a))


@pytest.mark.parametrize("reduce", [True, False])
def test_two_that_are_named_are_not_alike(reduce: bool) -> None:
    protocol = protocol_of(know_but_alice, never=_bob_seen)
    assert alike(protocol, reduce=reduce) == {frozenset(("carol", "dave"))}


def test_one_that_a_claim_names_is_like_no_other() -> None:
    assert alike(protocol_of(know, never=_alice_seen)) == OTHERS


@pytest.mark.parametrize(
    ("relation", "rows", "expected"),
    [
        ("corrupt", {("alice",)}, OTHERS),
        ("corrupt", {("alice",), ("bob",)}, {frozenset(("alice", "bob")), frozenset(("carol", "dave"))}),
        ("corrupt", {(party,) for party in PARTIES}, EVERYBODY),
        ("before", {("alice", "bob"), ("alice", "carol"), ("alice", "dave")}, OTHERS),
        ("before", {("bob", "alice"), ("carol", "alice"), ("dave", "alice")}, OTHERS),
        ("before", {("alice", "bob"), ("bob", "carol"), ("carol", "dave")}, set()),
        ("before", {("alice", "alice")}, OTHERS),
        ("before", {(party, party) for party in PARTIES}, EVERYBODY),
        ("before", InLine(PARTIES), set()),
        ("before", InLine(PARTIES[:2]), {frozenset(("carol", "dave"))}),
    ],
)
def test_what_never_changes_tells_apart_whom_it_holds_of(relation: str, rows: Any, expected: Any) -> None:
    relations = {**INSTANCE.relations, relation: rows if isinstance(rows, InLine) else frozenset(rows)}
    protocol = protocol_of(know_if_corrupt, know_those_behind, never=_one_seen)
    assert alike(protocol, replace(INSTANCE, relations=relations)) == expected


def test_what_nothing_reads_tells_nobody_apart() -> None:
    relations = {**INSTANCE.relations, "corrupt": frozenset({("alice",)})}
    assert alike(protocol_of(know, take, never=_one_seen), replace(INSTANCE, relations=relations)) == EVERYBODY


def test_the_one_that_is_there_at_first_is_like_no_other() -> None:
    """A variable starts at the first element, or where the instance says; unless nothing reads it."""
    assert alike(protocol_of(know, take)) == OTHERS
    dave = replace(INSTANCE, first={"last": {(): "dave"}})
    assert alike(protocol_of(know, take), dave) == {frozenset(PARTIES[:3])}
    assert alike(protocol_of(know, take, never=_one_seen), dave) == EVERYBODY
    assert alike(protocol_of(know, take, never=_one_seen), dave, reduce=False) == {frozenset(PARTIES[:3])}


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


def forget(step: Step, k: Key) -> None:
    step.set(current, k)


def _never_current(a: Party) -> Formula:
    return (holds(a) != current) | ~seen(a)


def test_what_is_drawn_in_an_order_is_not_alike() -> None:
    protocol = protocol_of(draw, look, never=_never_current)
    small = replace(INSTANCE, elements={**INSTANCE.elements, "Party": ("alice", "bob")}, functions={})
    assert alike(protocol, small) == {frozenset(("alice", "bob"))}


def test_what_is_in_no_pool_that_is_drawn_from_may_be_alike() -> None:
    protocol = protocol_of(draw, forget, never=_never_current)
    elements = {"Party": ("alice", "bob"), "Key": ("k1", "k2", "k3", "k4")}
    instance = Instance(elements, pools={("draw", "k"): ("k1", "k2")})
    assert alike(protocol, instance) == {frozenset(("alice", "bob")), frozenset(("k3", "k4"))}


def test_what_is_drawn_in_any_order_is_alike() -> None:
    """Where first values speak of the sort, each unused element is tried; the one that is named is like no other."""
    protocol = protocol_of(draw, look, never=_never_current)
    elements = {"Party": ("alice", "bob"), "Key": ("k1", "k2", "k3")}
    instance = Instance(elements, first={"current": {(): "k1"}})
    assert alike(protocol, instance) == {frozenset(("alice", "bob")), frozenset(("k2", "k3"))}


def know_the_owner(step: Step, k: Key, a: Party) -> None:
    step.require("owner", (owner(k) == a) & seen(a))
    step.insert(known(a))
    step.set(current, k)


def _current_seen(k: Key) -> Formula:
    return (current != k) | ~seen(owner(k))


def test_what_belongs_together_moves_together() -> None:
    """A party moves with its key; the one whose key is there at first, and the one without, stay."""
    protocol = protocol_of(know_the_owner, never=_current_seen)
    assert alike(protocol) == {frozenset(("carol+k2", "dave+k3"))}


def test_keys_of_one_party_are_alike_by_themselves() -> None:
    owned: dict[Row, str] = dict.fromkeys((("k1",), ("k2",), ("k3",)), "alice")
    functions = {**INSTANCE.functions, "owner": owned}
    protocol = protocol_of(know_the_owner, never=_current_seen)
    assert alike(protocol, replace(INSTANCE, functions=functions)) == {frozenset(PARTIES[1:]), frozenset(("k2", "k3"))}


def go_anywhere(step: Step, to: Phase) -> None:
    step.set(phase, to)


def _not_early(a: Party) -> Formula:
    return (phase == Phase.EARLY) | ~seen(a)


def test_members_that_nothing_names_are_alike() -> None:
    assert alike(protocol_of(go_anywhere, never=_not_early)) == {*EVERYBODY, frozenset(("LATE", "OVER"))}


def pass_ahead(step: Step, a: Party, b: Party) -> None:
    step.require("apart", a != b)
    step.insert(ahead(a, b))


def _no_circle(a: Party, b: Party) -> Formula:
    return ~(ahead(a, b) & ahead(b, a) & seen(a))


def test_a_relation_between_them_does_not_tell_them_apart() -> None:
    three = replace(INSTANCE, elements={**INSTANCE.elements, "Party": PARTIES[:3]}, functions={})
    assert alike(protocol_of(pass_ahead, never=_no_circle), three) == {frozenset(PARTIES[:3])}


def test_a_draft_without_elements_that_matter_has_none_that_are_alike() -> None:
    draft = Draft("still", "Nothing happens")

    @draft.action(by=HOLDER, says="it happens", source="tests")
    def turn(step: Step) -> None:
        step.set(phase, Phase.LATE)

    assert alike(draft.protocol()) == set()
