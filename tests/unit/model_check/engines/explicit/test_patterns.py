"""Patterns: what is read and written is never less than what a formula or an update touches."""

from __future__ import annotations

import pytest

from carnet_check.engines.explicit.layout import Folding, overlap, pattern_of, read_by, read_by_guards, read_by_update
from carnet_spec.language import Instance, Kind, Step, exists, forall, function
from carnet_spec.language.terms import Var
from tests.unit.model_check.small import (
    HOLDER,
    Key,
    Party,
    Phase,
    ahead,
    corrupt,
    current,
    drafted,
    first,
    known,
    last,
    phase,
    seen,
)

INSTANCE = Instance(
    {"Party": ("p1", "p2", "p3"), "Key": ("k1", "k2")}, {"corrupt": frozenset({("p3",)})}, {"alice": {(): "p1"}}
)
FOLDING = Folding(INSTANCE)
friend = function("friend", Party, to=Party, kind=Kind.STATE, of=HOLDER)
X = Party(Var("x", Party.sort))


def test_a_variable_is_read_at_the_elements_that_it_may_be() -> None:
    assert list(read_by(seen(X).term, {"x": ("p1", "p2")}, FOLDING)) == [("seen", (frozenset({"p1", "p2"}),))]
    assert list(read_by(seen(X).term, {"x": ("p1", "p2", "p3")}, FOLDING)) == [("seen", (None,))]


def test_inside_a_term_that_changes_any_row_may_be_read() -> None:
    assert list(read_by(seen(last).term, {}, FOLDING)) == [("seen", (None,)), ("last", ())]


def test_a_quantifier_reads_where_its_rigid_conditions_allow_and_no_further() -> None:
    some = exists(lambda a: corrupt(a) & seen(a), Party)
    every = forall(lambda a: corrupt(a) | known(a), Party)
    assert list(read_by(some.term, {}, FOLDING)) == [("seen", (frozenset({"p3"}),))]
    assert list(read_by(every.term, {}, FOLDING)) == [("known", (frozenset({"p1", "p2"}),))]


def draw(step: Step, a: Party, k: Key) -> None:
    step.require("seen", seen(a) & (phase == Phase.EARLY))
    step.fresh(k)
    step.set(current, k, when=first & ahead(a, last))
    step.set(last, friend(a))


def test_guards_read_what_they_mention_and_whether_a_draw_is_used() -> None:
    action = drafted(draw).protocol().action("draw")
    domains = {"a": ("p1",), "k": ("k1", "k2")}
    assert list(read_by_guards(action, domains, FOLDING)) == [
        ("seen", (frozenset({"p1"}),)),
        ("phase", ()),
        ("used_key", (frozenset({"k1", "k2"}),)),
    ]


def test_an_update_reads_what_decides_whether_where_and_what_it_writes() -> None:
    update = next(u for u in drafted(draw).protocol().action("draw").updates if u.symbol.name == "current")
    found = list(read_by_update(update, {"a": ("p2",), "k": ("k1",)}, FOLDING))
    assert found == [("first", ()), ("ahead", (frozenset({"p2"}), None)), ("last", ())]
    setting = drafted(draw).protocol().action("draw").updates[-1]
    assert list(read_by_update(setting, {"a": ("p2",)}, FOLDING)) == [("friend", (frozenset({"p2"}),))]


@pytest.mark.parametrize(
    ("other", "meet"),
    [((None, None), True), ((frozenset({"p2"}), None), True), ((frozenset({"p1"}), frozenset({"p1"})), False)],
)
def test_patterns_overlap_if_some_row_may_match_both(other: tuple[frozenset[str] | None, ...], meet: bool) -> None:
    one = pattern_of((X.term, Party(Var("y", Party.sort)).term), {"x": ("p2", "p3")}, INSTANCE)
    assert one == (frozenset({"p2", "p3"}), None)
    assert overlap(one, other) is overlap(other, one) is meet
