"""What a model is built of: what an instance decides, what is read and written, and what matters."""

import pytest

from carnet_check.engines.explicit import layout
from carnet_spec.language import Draft, Formula, Instance, Protocol, Step, exists, forall, implies
from carnet_spec.language.terms import FALSE, TRUE, Exists, Forall, IfThenElse, Member, Var, symbols_of
from tests.unit.model_check.small import *
from tests.unit.model_check.steps import see

INSTANCE = Instance(
    {"Party": ("p1", "p2")},
    {"corrupt": frozenset({("p2",)}), "before": frozenset({("p1", "p2")})},
    {"alice": {(): "p1"}, "bob": {(): "p2"}},
)
FOLDING = layout.Folding(INSTANCE)
P = Party.sort
X = Party(Var("x", Party.sort))


DECIDED: dict[str, tuple[Formula, bool]] = {
    "a rigid fact": (corrupt(bob), True),
    "a rigid fact that does not hold": (before(bob, alice), False),
    "two constants": (alice == bob, False),
    "one thing and itself": (X == X, True),  # noqa: PLR0124 # that is the point
    "two members": (Phase.EARLY == Phase.LATE, False),
    "a premise that does not hold": (implies(corrupt(alice), first), True),
    "a conclusion that holds": (implies(first, corrupt(bob)), True),
    "one part of a disjunction": (first | corrupt(bob), True),
    "one part of a conjunction": (first & corrupt(alice), False),
}


@pytest.mark.parametrize("name", DECIDED)
def test_what_never_changes_is_decided(name: str) -> None:
    formula, value = DECIDED[name]
    assert FOLDING.term(formula.term) == (TRUE if value else FALSE)
    assert FOLDING.term((~formula).term) == (FALSE if value else TRUE)


def test_what_changes_is_left_with_its_arguments_folded() -> None:
    assert FOLDING.term(seen(alice).term) == seen(Party(Member(P, "p1"))).term
    assert FOLDING.term((phase == Phase.LATE).term) == (phase == Phase.LATE).term
    assert FOLDING.term((first & corrupt(bob)).term) == first.term
    assert FOLDING.term(corrupt(X).term) == corrupt(X).term, "a variable is not decided"


def test_quantifiers_and_choices_are_decided_where_they_can_be() -> None:
    bound = (Var("x", P),)
    nobody, somebody = layout.Folding(Instance({"Party": ()})), FOLDING
    for body in (TRUE, FALSE):
        assert nobody.term(Forall(bound, body)) == TRUE
        assert nobody.term(Exists(bound, body)) == FALSE
        assert somebody.term(Forall(bound, body)) == somebody.term(Exists(bound, body)) == body
    assert FOLDING.term(IfThenElse(corrupt(bob).term, alice.term, X.term)) == Member(P, "p1")
    assert FOLDING.term(IfThenElse(corrupt(alice).term, alice.term, X.term)) == X.term


def test_a_formula_is_split_into_parts_that_must_all_hold_or_must_not() -> None:
    wanted = layout.conditions_in((seen(X) & ~first).term)
    assert [(test.term, test.wanted, test.needs) for test in wanted] == [
        (seen(X).term, True, {"x"}),
        (first.term, False, frozenset()),
    ]
    denied = layout.conditions_in(implies(first, second | seen(X)).term, wanted=False)
    assert [(test.term, test.wanted) for test in denied] == [
        (first.term, True),
        (second.term, False),
        (seen(X).term, False),
    ]
    assert len(layout.conditions_in((first | second).term)) == 1, "one of several is one condition"


def test_a_domain_leaves_out_what_rigid_conditions_rule_out_and_nothing_else() -> None:
    x = Var("x", P)
    assert FOLDING.domain(x, ("p1", "p2"), layout.conditions_in((~corrupt(X)).term)) == ("p1",)
    assert FOLDING.domain(x, ("p1", "p2"), layout.conditions_in((alice != X).term)) == ("p2",)
    assert FOLDING.domain(x, ("p1", "p2"), layout.conditions_in(seen(X).term)) == ("p1", "p2")
    assert FOLDING.domain(x, ("p2",), layout.conditions_in((corrupt(X) & seen(X)).term)) == ("p2",)
    other = Party(Var("y", P))
    assert FOLDING.domain(x, ("p1", "p2"), layout.conditions_in(before(X, other).term)) == ("p1", "p2")
    before_somebody = layout.conditions_in(exists(lambda b: before(X, b), Party).term)
    assert FOLDING.domain(Var("x", P), ("p1", "p2"), before_somebody) == ("p1", "p2")


def test_guards_and_updates_of_an_action_are_folded() -> None:
    def act(step: Step, a: Party) -> None:
        step.require("after alice", before(alice, a) | exists(lambda b: corrupt(b) & seen(b), Party))
        step.insert(seen(bob), when=corrupt(a) & forall(lambda b: ~corrupt(b) | ~corrupt(alice), Party))
        step.set(last, alice)

    folded = FOLDING.action(drafted(act).protocol().action("act"))
    update, setting = folded.updates
    assert setting.value == Member(P, "p1")
    assert update.args == (Member(P, "p2"),)
    assert update.when == corrupt(Party(Var("a", P))).term
    (guard,) = folded.guards
    assert {symbol.name for symbol in symbols_of(guard.formula)} == {"before", "corrupt", "seen"}


THREE = Instance(
    {"Party": ("p1", "p2", "p3"), "Key": ("k1", "k2")}, {"corrupt": frozenset({("p3",)})}, {"alice": {(): "p1"}}
)
THREE_FOLDED = layout.Folding(THREE)


def test_a_formula_reads_no_more_than_its_variables_may_be() -> None:
    assert list(layout.read_by(seen(X).term, {"x": ("p1", "p2")}, THREE_FOLDED)) == [
        ("seen", (frozenset({"p1", "p2"}),))
    ]
    assert list(layout.read_by(seen(X).term, {"x": ("p1", "p2", "p3")}, THREE_FOLDED)) == [("seen", (None,))]
    assert list(layout.read_by(seen(last).term, {}, THREE_FOLDED)) == [("seen", (None,)), ("last", ())]
    some = exists(lambda a: corrupt(a) & seen(a), Party)
    every = forall(lambda a: corrupt(a) | known(a), Party)
    assert list(layout.read_by(some.term, {}, THREE_FOLDED)) == [("seen", (frozenset({"p3"}),))]
    assert list(layout.read_by(every.term, {}, THREE_FOLDED)) == [("known", (frozenset({"p1", "p2"}),))]


def draw(step: Step, a: Party, k: Key) -> None:
    step.require("seen", seen(a) & (phase == Phase.EARLY))
    step.fresh(k)
    step.set(current, k, when=first & ahead(a, last))
    step.set(last, friend(a))


def test_actions_read_what_guards_and_updates_mention() -> None:
    action = drafted(draw).protocol().action("draw")
    domains = {"a": ("p1",), "k": ("k1", "k2")}
    assert list(layout.read_by_guards(action, domains, THREE_FOLDED)) == [
        ("seen", (frozenset({"p1"}),)),
        ("phase", ()),
        ("used_key", (frozenset({"k1", "k2"}),)),
    ]
    update = next(u for u in drafted(draw).protocol().action("draw").updates if u.symbol.name == "current")
    found = list(layout.read_by_update(update, {"a": ("p2",), "k": ("k1",)}, THREE_FOLDED))
    assert found == [("first", ()), ("ahead", (frozenset({"p2"}), None)), ("last", ())]
    setting = drafted(draw).protocol().action("draw").updates[-1]
    assert list(layout.read_by_update(setting, {"a": ("p2",)}, THREE_FOLDED)) == [("friend", (frozenset({"p2"}),))]


@pytest.mark.parametrize(
    ("other", "meet"),
    [((None, None), True), ((frozenset({"p2"}), None), True), ((frozenset({"p1"}), frozenset({"p1"})), False)],
)
def test_patterns_overlap_if_some_row_may_match_both(other: tuple[frozenset[str] | None, ...], meet: bool) -> None:
    one = layout.pattern_of((X.term, Party(Var("y", Party.sort)).term), {"x": ("p2", "p3")}, THREE)
    assert one == (frozenset({"p2", "p3"}), None)
    assert layout.overlap(one, other) is layout.overlap(other, one) is meet


PAIR = Instance({"Party": ("p1", "p2")})
PAIR_FOLDED = layout.Folding(PAIR)
ANY = (None,)


def _relevance(
    protocol: Protocol, *watched: tuple[str, layout.Pattern], **domains: tuple[str, ...]
) -> layout.Relevance:
    known_domains = {
        action.name: {var.name: domains.get(var.name, PAIR.of(var.sort)) for var in action.params}
        for action in protocol.actions
    }
    return layout.Relevance.of(watched, protocol.actions, known_domains, PAIR_FOLDED)


def _drafted(*bodies: object) -> Protocol:
    draft: Draft = drafted(*bodies)  # type: ignore[arg-type] # functions that say what a step does
    return draft.protocol()


def learn(step: Step, a: Party) -> None:
    step.insert(known(a), when=second)


def light(step: Step) -> None:
    step.insert(second, when=first)


def test_what_is_watched_or_read_by_guards_matters_and_no_other_row() -> None:
    def need(step: Step) -> None:
        step.require("third", third)
        step.insert(first)

    assert layout.Relevance().of_place("seen", ("p1",))
    assert layout.Relevance().of_update(_drafted(see).action("see").updates[0], {"a": ("p1",)}, PAIR_FOLDED)
    found = _relevance(_drafted(see, learn), ("seen", (frozenset({"p1"}),)))
    assert [found.of_place("seen", (party,)) for party in ("p1", "p2")] == [True, False]
    assert not found.of_place("known", ("p1",))
    found = _relevance(_drafted(need))
    assert found.of_place("third", ())
    assert not found.of_place("first", ())


def test_what_decides_about_what_matters_matters_too_and_so_on() -> None:
    for order in ((learn, light, see), (light, learn, see)):
        found = _relevance(_drafted(*order), ("known", ANY))
        assert [found.of_place(name, ()) for name in ("second", "first")] == [True, True]
        assert not found.of_place("seen", ("p1",))


def test_an_update_matters_if_it_may_write_a_row_that_does() -> None:
    protocol = _drafted(see, learn)
    found = _relevance(protocol, ("seen", (frozenset({"p1"}),)))
    (seeing,), (learning,) = protocol.action("see").updates, protocol.action("learn").updates
    assert found.of_update(seeing, {"a": ("p1", "p2")}, PAIR_FOLDED)
    assert not found.of_update(seeing, {"a": ("p2",)}, PAIR_FOLDED)
    assert not found.of_update(learning, {"a": ("p1",)}, PAIR_FOLDED)
    found = _relevance(_drafted(learn), ("known", (frozenset({"p1"}),)), a=("p2",))
    assert not found.of_place("second", ())
