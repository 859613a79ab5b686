"""Truth in a state, worked out by hand: terms, connectives, quantifiers, axioms, and elements that show it."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from carnet_check.semantics import Interpreter, State
from carnet_check.semantics.evaluation import Evaluation
from carnet_spec.language import *
from carnet_spec.language.terms import Exists, Forall, IfThenElse, Var
from tests.unit.model_check.small import *

RELATIONS = {"before": frozenset({("p1", "p2")}), "corrupt": frozenset({("p3",)})}
FUNCTIONS: dict[str, dict[Row, str]] = {"alice": {(): "p2"}, "leader": {("p1",): "p2", ("p2",): "p3", ("p3",): "p3"}}
INSTANCE = Instance({"Party": ("p1", "p2", "p3")}, RELATIONS, FUNCTIONS)


def touch(step: Step, a: Party, b: Party) -> None:
    step.given("mentioned", before(a, b) | corrupt(a) | (leader(a) == alice) | first | second | (last == friend(a)))
    step.insert(seen(a), when=phase == Phase.LATE)
    step.insert(ahead(a, b))


JUDGE = Interpreter(drafted(touch).protocol(), INSTANCE)
STATE = JUDGE.start().with_values(
    {"seen": frozenset({("p1",), ("p2",)}), "first": frozenset({()}), "ahead": frozenset({("p1", "p2"), ("p2", "p2")})},
    {"last": {(): "p2"}, "phase": {(): "LATE"}, "friend": {("p1",): "p3", ("p2",): "p1", ("p3",): "p3"}},
)
X, Y = Party(Var("x", Party.sort)), Party(Var("y", Party.sort))


def _holds(formula: Formula, state: State = STATE, **env: str) -> bool:
    return JUDGE.holds(formula.term, state, env)


ROWS: dict[str, tuple[Formula, bool]] = {
    "a relation holds of its rows": (seen(alice), True),
    "a relation holds of no other row": (seen(leader(alice)), False),
    "the arguments of a relation have their places": (ahead(alice, last), True),
    "a relation is not symmetric by itself": (before(alice, leader(alice)), False),
    "a flag is a relation without arguments": (first & ~second, True),
    "a variable has its value": (last == alice, True),
    "a member is itself": (phase == Phase.LATE, True),
    "and no other member": (phase == Phase.OVER, False),
    "a function is read at its argument": (friend(last) == friend(friend(friend(alice))), False),
    "a function of a function": (leader(friend(alice)) == alice, True),
    "different elements are not equal": (last != leader(last), True),
    "true": (true, True),
    "false": (false, False),
    "all of nothing": (all_of(), True),
    "any of nothing": (any_of(), False),
    "for all": (forall(lambda a: seen(a) | corrupt(a), Party), True),
    "not for all": (forall(seen, Party), False),
    "for some": (exists(corrupt, Party), True),
    "for none": (exists(lambda a: corrupt(a) & seen(a), Party), False),
    "for all pairs": (forall(lambda a, b: implies(ahead(a, b), b == alice), Party, Party), True),
    "for all there is some": (forall(lambda a: exists(lambda b: leader(a) == b, Party), Party), True),
    "there is none for all": (exists(lambda b: forall(lambda a: leader(a) == b, Party), Party), False),
}


@pytest.mark.parametrize("name", ROWS)
def test_a_formula_means(name: str) -> None:
    formula, truth = ROWS[name]
    assert _holds(formula) is truth
    assert _holds(~formula) is not truth


def test_connectives_have_their_truth_tables() -> None:
    tables = {
        "and": (first & second, [False, False, False, True]),
        "or": (first | second, [False, True, True, True]),
        "implies": (implies(first, second), [True, True, False, True]),
    }
    for formula, table in tables.values():
        found = []
        for one, other in itertools.product((False, True), repeat=2):
            flags = {"first": frozenset({()} if one else ()), "second": frozenset({()} if other else ())}
            found.append(_holds(formula, STATE.with_values(flags, {})))
        assert found == table


def test_variables_are_the_elements_named_for_them_and_inner_ones_hide_outer_ones() -> None:
    assert [_holds(seen(X), x=party) for party in ("p1", "p2", "p3")] == [True, True, False]
    assert _holds(ahead(X, Y), x="p1", y="p2")
    assert not _holds(ahead(X, Y), x="p2", y="p1")
    x = Var("x", Party.sort)
    some_corrupt = Formula(Exists((x,), corrupt(X).term))
    assert _holds(seen(X) & some_corrupt, x="p1")
    assert not _holds(Formula(Forall((x,), seen(X).term)), x="p1")
    assert _holds(some_corrupt & seen(X), x="p2"), "the outer one means what it meant, once the inner one is done"
    chosen = Party(IfThenElse(first.term, alice.term, X.term))
    assert _holds(chosen == alice, x="p1")
    assert not _holds(chosen == alice, STATE.with_values({"first": frozenset()}, {}), x="p1")


def test_a_quantifier_over_nothing_holds_for_all_and_no_sort_may_be_empty() -> None:
    empty = Evaluation(Instance({"Party": ()}))
    x = Var("x", Party.sort)
    for body in (true.term, false.term, seen(X).term):
        assert empty.value(Forall((x,), body), STATE, {}) is True
        assert empty.value(Exists((x,), body), STATE, {}) is False
    with pytest.raises(SpecificationError, match="sort Party is empty"):
        Interpreter(drafted(touch).protocol(), Instance({"Party": ()}, {}, FUNCTIONS))


def test_rigid_symbols_mean_what_the_instance_says_and_nothing_where_it_is_silent() -> None:
    other = JUDGE.start().with_values({"corrupt": frozenset({("p1",)})}, {"alice": {(): "p1"}})
    for state in (STATE, JUDGE.start(), other):
        assert [_holds(corrupt(X), state, x=party) for party in ("p1", "p2", "p3")] == [False, False, True]
        assert _holds(alice == X, state, x="p2")
    judge = Interpreter(drafted(touch).protocol(), Instance(INSTANCE.elements, {}, FUNCTIONS))
    assert not judge.holds(exists(lambda a, b: before(a, b) | corrupt(a), Party, Party).term, STATE)


def test_each_instance_says_what_is_its_own_whatever_was_asked_of_others_before() -> None:
    others = [replace(INSTANCE, relations={"corrupt": frozenset({(party,)})}) for party in ("p1", "p2", "p3")]
    judges = [Interpreter(JUDGE.protocol, each) for each in others]
    for _ in range(2):
        assert [judge.holds(corrupt(alice).term, STATE) for judge in judges] == [False, True, False]


def test_elements_are_found_in_each_state_for_each_question_whatever_was_asked_before() -> None:
    """The question is the formula, its parameters and whether it is to hold; equal states have equal answers."""
    x, y = Var("x", Party.sort), Var("y", Party.sort)
    none, equal, body = JUDGE.start(), STATE.with_values({}, {}), seen(X).term
    never = Invariant("never", (x,), body, "All are seen.")
    for _ in range(2):
        assert [JUDGE.witness((x,), body, each) for each in (STATE, none, equal)] == [{"x": "p1"}, None, {"x": "p1"}]
        assert [JUDGE.counterexample(never, each) for each in (STATE, none)] == [{"x": "p3"}, {"x": "p1"}]
        assert JUDGE.witness((y, x), body, STATE) == {"y": "p1", "x": "p1"}
        assert JUDGE.witness((x,), ahead(X, X).term, STATE) == {"x": "p2"}


@pytest.mark.parametrize(
    ("functions", "missing"),
    [
        ({"leader": FUNCTIONS["leader"]}, "the instance gives no value to alice"),
        ({**FUNCTIONS, "leader": {("p1",): "p1", ("p3",): "p1"}}, r"the instance gives no value to leader\(p2\)"),
        ({**FUNCTIONS, "alice": {(): "p9"}}, "alice: 'p9' is no element of sort Party"),
    ],
)
def test_a_rigid_function_needs_a_value_at_every_row(functions: Any, missing: str) -> None:
    with pytest.raises(SpecificationError, match=missing):
        Interpreter(drafted(touch).protocol(), Instance(INSTANCE.elements, RELATIONS, functions))


def _with_axioms(**axioms: Formula) -> Interpreter:
    draft = drafted(touch)
    for name, formula in axioms.items():
        draft.axiom(name, formula)
    return Interpreter(draft.protocol(), INSTANCE)


def test_axioms_that_are_violated_are_named_and_none_reads_state() -> None:
    judge = _with_axioms(
        ordered=forall(lambda a, b: implies(before(a, b), ~before(b, a)), Party, Party),
        nobody=forall(lambda a: ~corrupt(a), Party),
        alice=corrupt(alice),
    )
    assert judge.axioms_hold() == ["nobody", "alice"]
    assert judge.violated_axioms(judge.protocol.axioms[:2]) == ["nobody"]
    assert judge.violated_axioms([]) == []
    judge = _with_axioms(unseen=~seen(alice))
    with pytest.raises(SpecificationError, match="axiom 'unseen' reads seen, which is mutable"):
        judge.axioms_hold()


def _params(*variables: Party) -> tuple[Var, ...]:
    return tuple(variable.term for variable in variables if isinstance(variable.term, Var))


def test_counterexamples_and_witnesses_are_first_choices() -> None:
    invariant = Invariant("met", _params(X, Y), (seen(X) & seen(Y) & (X == Y)).term)
    assert JUDGE.counterexample(invariant, STATE) == {"x": "p1", "y": "p2"}
    assert JUDGE.counterexample(Invariant("seen", _params(X), seen(X).term), STATE) == {"x": "p3"}
    assert JUDGE.counterexample(Invariant("told", _params(X), (seen(X) | corrupt(X)).term), STATE) is None
    assert JUDGE.witness(_params(X, Y), ahead(Y, X).term, STATE) == {"x": "p2", "y": "p1"}
    assert JUDGE.witness(_params(X), (corrupt(X) & seen(X)).term, STATE) is None
    assert JUDGE.witness((), first.term, STATE) == {}
    assert JUDGE.witness((), second.term, STATE) is None
    assert JUDGE.counterexample(Invariant("off", (), (~first).term), STATE) == {}
    assert JUDGE.counterexample(Invariant("on", (), first.term), STATE) is None
