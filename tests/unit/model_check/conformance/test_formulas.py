"""Compiled formulas and followed traces by hand; that formulas mean what the interpreter says is a property."""

from collections.abc import Sequence

import pytest

from carnet_check.conformance import Divergence, Follower, Machine
from carnet_check.conformance.formulas import Union, settles
from carnet_spec import trace
from carnet_spec.language import Draft, Formula, Instance, Kind, Step, exists, forall, function, implies
from carnet_spec.language.terms import TRUE, Exists
from tests.unit.model_check.conformance.vocabulary import PARTIES, X, Y, compiler, frame, truth
from tests.unit.model_check.small import *
from tests.unit.model_check.steps import draw_two, learn, see

PX, PY = Party(X), Party(Y)

TRUTHS: dict[str, tuple[Formula, dict[str, str], bool]] = {
    "a row": (ahead(PX, PY), {"x": "p1", "y": "p3"}, True),
    "its mirror image": (ahead(PX, PY), {"x": "p3", "y": "p1"}, False),
    "a variable's value": (last == PX, {"x": "p2"}, True),
    "flags": (first & ~second, {}, True),
    "an implication from nothing": (implies(second, known(PX)), {}, True),
    "for some": (exists(lambda a: ahead(PX, a) & seen(a), Party), {"x": "p1"}, True),
    "for none": (exists(lambda a: ahead(PX, a) & seen(a), Party), {"x": "p3"}, False),
    "for all": (forall(lambda a: implies(ahead(PX, a), ~seen(a)), Party), {"x": "p3"}, True),
    "not for all": (forall(lambda a: implies(ahead(PX, a), ~seen(a)), Party), {"x": "p1"}, False),
    "two at once": (exists(lambda a, b: ahead(a, b) & (a == b), Party, Party), {}, True),
}


@pytest.mark.parametrize("name", TRUTHS)
def test_a_formula_means(name: str) -> None:
    formula, chosen, expected = TRUTHS[name]
    assert truth(formula, **chosen) is expected
    assert truth(~formula, **chosen) is not expected


def _candidates(formula: Formula, known_as: dict[str, str], positive: bool = True) -> list[str] | None:
    """Return which elements of x can make the formula true, or false, where y is known or is not."""
    made = compiler()
    scope = made.scope((X, Y))
    known_places = frozenset({scope[Y]} if "y" in known_as else ())
    source = made.candidates(formula.term, X, scope, known_places, positive)
    found = source(frame(made, "", known_as.get("y", ""))) if source is not None else None
    return None if found is None else sorted(set(found))


FOUND: dict[str, tuple[Formula, dict[str, str], list[str] | None]] = {
    "the rows of a relation": (seen(PX), {}, ["p1", "p2"]),
    "rows by what is known": (ahead(PX, PY), {"y": "p3"}, ["p1", "p3"]),
    "all rows, where nothing is": (ahead(PX, PY), {}, ["p1", "p3"]),
    "the part that leaves fewest": (seen(PX) & (last == PX), {}, ["p2"]),
    "the only element equal to something": (PX == PY, {"y": "p3"}, ["p3"]),
    "nothing can be said of a denial": (~seen(PX), {}, None),
    "of what does not mention it": (first & second, {}, None),
    "both sides of a disjunction": (seen(PX) | ahead(PY, PX), {"y": "p3"}, ["p1", "p2", "p3"]),
    "a disjunction that is settled": (first | seen(PX), {}, None),
    "a disjunction whose other part is false": (second | seen(PX), {}, ["p1", "p2"]),
    "what is false anyway": (Formula(TRUE) & ~Formula(TRUE), {}, []),
}


@pytest.mark.parametrize("name", FOUND)
def test_candidates_are_those_elements_that_can_make_it_true(name: str) -> None:
    formula, chosen, expected = FOUND[name]
    assert _candidates(formula, chosen) == expected


def test_no_element_that_makes_it_true_is_ever_left_out() -> None:
    for formula, _, _ in (*FOUND.values(), *TRUTHS.values()):
        for positive in (True, False):
            for y in PARTIES:
                found = _candidates(formula, {"y": y}, positive)
                making = {x for x in PARTIES if truth(formula, x=x, y=y) is positive}
                assert found is None or making <= set(found)


def test_variables_have_places_of_their_own_and_settle_terms_together() -> None:
    shadowed = Formula(Exists((X,), ahead(PX, PX).term))
    assert truth(shadowed & seen(PX), x="p1")
    assert not truth(shadowed & seen(PX), x="p3")
    scope = {X: 0, Y: 1}
    assert not settles(ahead(PX, PY).term, scope, frozenset({0}))
    assert settles(ahead(PX, PY).term, scope, frozenset({0, 1}))
    assert settles(last.term, scope, frozenset())
    union = Union([["a"], ["b", "a"]])
    assert (list(union), len(union), "b" in union, "c" in union) == (["a", "b", "a"], 3, True, False)


INSTANCE = Instance({"Party": ("p1", "p2", "p3"), "Key": ("k1", "k2")})
mark = function("mark", Party, to=Phase, kind=Kind.STATE, of=HOLDER)


def _followed(draft: Draft, *steps: tuple[str, Sequence[tuple[str, str]]]) -> list[Divergence | None]:
    follower = Follower(Machine(draft.protocol(), INSTANCE))
    return [follower.take(trace.TraceStep(name, "holder", tuple(args))) for name, args in steps]


def test_what_is_taken_away_is_deduced_again_and_no_value_drawn_twice() -> None:
    def use(step: Step, a: Party) -> None:
        step.given("known", known(a))
        step.insert(seen(a))

    def forget(step: Step, a: Party) -> None:
        step.remove(known(a))

    one = (("a", "p1"),)
    found = _followed(drafted(see, forget, use, rules=(learn,)), ("see", one), ("forget", one), ("use", one))
    assert found == [None, None, None]
    (refused,) = _followed(drafted(draw_two), ("draw_two", (("one", "k1"), ("other", "k1"))))
    assert refused is not None
    assert refused.why == "draw_two: values that are drawn fresh together have to differ"
    assert _followed(drafted(draw_two), ("draw_two", (("one", "k1"), ("other", "k2")))) == [None]


def choose(step: Step, a: Party) -> None:
    step.require("early", mark(a) == Phase.EARLY)
    step.set(mark(a), Phase.LATE)


def confirm(step: Step, a: Party) -> None:
    step.require("late", mark(a) == Phase.LATE)
    step.insert(seen(a))


def deny(step: Step, a: Party) -> None:
    step.require("early", mark(a) == Phase.EARLY)
    step.insert(seen(a))


def _early(a: Party) -> Phase:
    return Phase.EARLY


def _choosing() -> Draft:
    draft = drafted(choose, confirm, deny)
    draft.initially(mark, _early)
    return draft


def test_what_a_trace_leaves_out_is_chosen_so_that_the_rest_fits() -> None:
    for party in INSTANCE.elements["Party"]:
        assert _followed(_choosing(), ("choose", ()), ("confirm", (("a", party),))) == [None, None]
    others = [("deny", (("a", party),)) for party in ("p1", "p2")]
    assert _followed(_choosing(), ("choose", ()), ("confirm", (("a", "p3"),)), *others) == [None] * 4
    *_, found = _followed(_choosing(), ("choose", ()), ("confirm", (("a", "p3"),)), ("deny", (("a", "p3"),)))
    assert found is not None
    assert found.index == 2
