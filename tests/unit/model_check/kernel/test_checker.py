"""Every rule of the kernel, accepted and refused by hand; the kernel is as short as the documentation says."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from carnet_check.kernel import checker
from carnet_check.kernel.checker import Node, Obligation, Refused, Step, check
from tests.unit.model_check.kernel.texts import *

DECLARED = Obligation(
    {
        "mother": (("person",), "person"),
        "pair": (("person", "person"), "person"),
        "eve": ((), "person"),
        "phase": (("person",), "phase"),
    },
    {"phase": ("day", "night"), "colour": ("red",)},
    {"day": "phase", "night": "phase", "red": "colour"},
    (),
    (),
)
EVE = apply("eve")
DAY, NIGHT = member("day"), member("night")


def mother(term: Node) -> Node:
    return apply("mother", term)


def old(term: Node) -> Node:
    return holds("old", term)


RAIN, WIND, SNOW = holds("rain"), holds("wind"), holds("snow")


def follow(hypotheses: Sequence[Node], *steps: Step, constants: tuple[str, ...] = ()) -> None:
    check(DECLARED._replace(constants=constants, hypotheses=tuple(hypotheses)), steps)


def refused(hypotheses: Sequence[Node], *steps: Step, constants: tuple[str, ...] = ()) -> str:
    with pytest.raises(Refused) as caught:
        follow(hypotheses, *steps, constants=constants)
    return str(caught.value)


def test_a_hypothesis_that_is_there_contradicts_its_negation() -> None:
    follow([RAIN, denied(RAIN)], use(0), use(1), close((0, 1)))
    assert "below 1, not 1" in refused([FALSE], use(1))
    assert "not -1" in refused([FALSE], use(-1), close((0,)))
    assert "below 1, not 1" in refused([RAIN], use(0), close((1,)))


@pytest.mark.parametrize("facts", [(0,), (0, 0), ()])
def test_facts_that_are_no_contradiction_do_not_close_a_branch(facts: tuple[int, ...]) -> None:
    assert "do not contradict" in refused([RAIN, denied(RAIN)], use(0), use(1), close(facts))


def test_what_differs_or_is_equal_is_no_contradiction() -> None:
    assert "do not contradict" in refused([RAIN, denied(WIND)], use(0), use(1), close((0, 1)))
    assert "do not contradict" in refused([old(EVE), denied(old(mother(EVE)))], use(0), use(1), close((0, 1)))
    assert "do not contradict" in refused([equal(EVE, EVE)], use(0), close((0,)))
    assert "do not contradict" in refused([denied(equal(DAY, NIGHT))], use(0), close((0,)))


ABSURD: dict[str, tuple[Node, Node]] = {
    "falsehood": (FALSE, TRUE),
    "truth denied": (denied(TRUE), denied(FALSE)),
    "a term that differs from itself": (denied(equal(EVE, EVE)), denied(equal(EVE, mother(EVE)))),
    "two members that are one": (equal(DAY, NIGHT), equal(DAY, DAY)),
}


@pytest.mark.parametrize("name", ABSURD)
def test_what_is_absurd_by_itself_closes_a_branch(name: str) -> None:
    absurd, sound = ABSURD[name]
    follow([absurd], use(0), close((0,)))
    assert "do not contradict" in refused([sound], use(0), close((0,)))


def test_quantified_facts_contradict_each_other_as_they_are() -> None:
    general = forall("person", old(bound(0)))
    follow([general, denied(general)], use(0), use(1), close((0, 1)))
    other = forall("person", denied(old(bound(0))))
    assert "do not contradict" in refused([general, denied(other)], use(0), use(1), close((0, 1)))
    disjunction = either(old(bound(0)), RAIN)
    both: list[Node] = [forall("person", disjunction), denied(forall("person", disjunction))]
    steps = (use(0), instance(0, EVE), use(1), witness(0))
    assert "do not contradict" in refused(both, *steps, close((0, 1, 2, 3)))


def test_equations_rewrite_other_facts_either_way_and_never_themselves() -> None:
    facts: list[Node] = [equal(mother(EVE), EVE), old(mother(mother(EVE))), denied(old(EVE))]
    uses: list[Step] = [use(0), use(1), use(2)]
    follow(facts, *uses, close((2, 1, 0), ((0, False), (0, False))))
    assert "do not contradict" in refused(facts, *uses, close((2, 1, 0), ((0, False),)))
    facts = [equal(EVE, mother(EVE)), old(mother(EVE)), denied(old(EVE))]
    follow(facts, *uses, close((2, 1, 0), ((0, True),)))
    assert "do not contradict" in refused(facts, *uses, close((2, 1, 0)))
    assert "do not contradict" in refused([equal(mother(EVE), EVE)], use(0), close((0,), ((0, False),)))
    facts = [equal(apply("phase", EVE), DAY), equal(apply("phase", EVE), NIGHT)]
    follow(facts, use(0), use(1), close((0, 1), ((0, False),)))


@pytest.mark.parametrize("formula", [denied(equal(mother(EVE), EVE)), RAIN], ids=["a difference", "no equation"])
def test_only_an_equation_that_holds_rewrites(formula: Node) -> None:
    facts: list[Node] = [formula, old(mother(EVE)), denied(old(EVE))]
    assert "no equation" in refused(facts, use(0), use(1), use(2), close((2, 1, 0), ((0, False),)))


def test_a_rewriting_by_what_is_not_chosen_or_grows_without_end_is_refused() -> None:
    facts: list[Node] = [equal(mother(EVE), EVE), old(mother(EVE)), denied(old(EVE))]
    assert "below 2, not 2" in refused(facts, use(0), use(1), use(2), close((0, 1), ((2, False),)))
    doubling = equal(EVE, apply("pair", EVE, EVE))
    assert "more than 20000 characters" in refused(
        [doubling, old(EVE)], use(0), use(1), close((0, 1), ((1, False),) * 60)
    )


TAKEN_APART: dict[str, Node] = {
    "both": both(RAIN, denied(RAIN)),
    "neither": denied(either(RAIN, denied(RAIN))),
    "premise without conclusion": denied(implies(both(RAIN, WIND), RAIN)),
    "twice negated": denied(denied(both(RAIN, denied(RAIN)))),
}


@pytest.mark.parametrize("name", TAKEN_APART)
def test_what_has_one_consequence_is_taken_apart_at_once(name: str) -> None:
    count = 3 if name.startswith("premise") else 2
    follow([TAKEN_APART[name]], use(0), close(tuple(range(count))))


def test_the_newest_fact_has_number_0_and_the_right_side_is_newer() -> None:
    follow([TRUE, both(RAIN, FALSE)], use(0), use(1), close((0,)))
    assert "do not contradict" in refused([TRUE, both(FALSE, RAIN)], use(0), use(1), close((0,)))
    follow([denied(implies(RAIN, TRUE))], use(0), close((0,)))


TWO_WAYS: dict[str, list[Node]] = {
    "or": [either(RAIN, WIND), denied(RAIN), denied(WIND)],
    "not and": [denied(both(RAIN, WIND)), RAIN, WIND],
    "implies": [implies(RAIN, WIND), RAIN, denied(WIND)],
    "choose": [choose(SNOW, RAIN, WIND), denied(RAIN), denied(WIND)],
    "not choose": [denied(choose(SNOW, RAIN, WIND)), RAIN, WIND],
}
#: All facts that there are at the end of the first way, and the newest four at the end of the second.
EVERYTHING = close((0, 1, 2, 3))


@pytest.mark.parametrize("name", TWO_WAYS)
def test_a_split_needs_both_ways(name: str) -> None:
    steps: list[Step] = [use(0), use(1), use(2), split(2)]
    ends: list[Step] = [close((0, 1, 2)), EVERYTHING] if "choose" not in name else [EVERYTHING, EVERYTHING]
    follow(TWO_WAYS[name], *steps, *ends)
    assert "left open: 1" in refused(TWO_WAYS[name], *steps, ends[0])


@pytest.mark.parametrize("name", TWO_WAYS)
@pytest.mark.parametrize("left_out", [1, 2])
def test_each_way_of_a_split_has_to_be_refuted(name: str, left_out: int) -> None:
    hypotheses: list[Node] = [*TWO_WAYS[name][:left_out], TRUE, *TWO_WAYS[name][left_out + 1 :]]
    steps: list[Step] = [use(0), use(1), use(2), split(2)]
    ends: list[Step] = [close((0, 1, 2)), EVERYTHING] if "choose" not in name else [EVERYTHING, EVERYTHING]
    assert "do not contradict" in refused(hypotheses, *steps, *ends)


def test_a_choice_may_use_its_test() -> None:
    same: list[Node] = [choose(RAIN, RAIN, denied(RAIN)), denied(choose(RAIN, RAIN, denied(RAIN)))]
    follow([same[1]], use(0), split(0), close((0, 1)), close((0, 1)))
    assert "do not contradict" in refused([same[0]], use(0), split(0), close((0, 1)), close((0, 1)))


def test_the_second_way_may_assume_that_the_first_is_not() -> None:
    hypotheses: list[Node] = [either(RAIN, denied(WIND)), either(RAIN, WIND), denied(RAIN)]
    uses: list[Step] = [use(0), use(1), use(2)]
    follow(hypotheses, *uses, split(2), close((0, 1)), split(3), close((0, 1, 2)), close((0, 2)))
    assert "do not contradict" in refused(
        [either(RAIN, WIND), denied(RAIN)], use(0), use(1), split(1), close((0, 1)), close((0, 1, 2, 3))
    )


@pytest.mark.parametrize("formula", [RAIN, forall("person", old(bound(0))), TRUE], ids=repr)
def test_what_can_be_in_one_way_only_is_not_split(formula: Node) -> None:
    assert "one way only" in refused([formula], use(0), split(0))


def test_what_holds_of_all_holds_of_a_term_and_of_several_from_the_outermost() -> None:
    follow([forall("person", old(bound(0))), denied(old(EVE))], use(0), instance(0, EVE), use(1), close((0, 1)))
    knows = holds("knows", bound(1), bound(0))
    both: list[Node] = [forall("person", forall("person", knows)), denied(holds("knows", EVE, mother(EVE)))]
    follow(both, use(0), instance(0, EVE, mother(EVE)), use(1), close((0, 1)))
    assert "do not contradict" in refused(both, use(0), instance(0, mother(EVE), EVE), use(1), close((0, 1)))
    assert "every element" in refused([exists("person", old(bound(0)))], use(0), instance(0, EVE))
    assert "every element" in refused([denied(forall("person", old(bound(0))))], use(0), instance(0, EVE))
    assert "every element" in refused([RAIN], use(0), instance(0, EVE))
    assert "do not contradict" in refused([forall("person", FALSE)], use(0), close((0,)))


BAD_TERMS: dict[str, Node] = {
    "of another sort": DAY,
    "an element that nothing names": eigen(0),
    "a negative number": eigen(-1),
    "a bound variable": bound(0),
    "an unknown function": apply("father", EVE),
    "an unknown member": member("noon"),
    "too few arguments": apply("mother"),
    "an argument of another sort": mother(NIGHT),
}


@pytest.mark.parametrize("name", BAD_TERMS)
def test_an_instance_at_what_is_no_element_of_the_sort_is_refused(name: str) -> None:
    hypotheses: list[Node] = [forall("person", old(bound(0))), denied(forall("person", TRUE))]
    refused(hypotheses, use(0), instance(0, BAD_TERMS[name]), use(1), witness(0), close((0, 1)))
    with pytest.raises(Refused):
        follow([forall("person", FALSE)], use(0), instance(0, BAD_TERMS[name]), close((0,)))


def test_a_witness_is_new_on_its_own_branch_and_of_some_element() -> None:
    some, none = exists("person", old(bound(0))), forall("person", denied(old(bound(0))))
    follow([some, none], use(0), witness(0), use(1), instance(0, eigen(0)), close((0, 2)))
    some_young = exists("person", denied(old(bound(0))))
    assert "do not contradict" in refused(
        [some, some_young], use(0), witness(0), use(1), witness(0), close((0, 1, 2, 3))
    )
    assert "of some element" in refused([forall("person", FALSE)], use(0), witness(0))
    assert "of some element" in refused([denied(exists("person", TRUE))], use(0), witness(0))
    hypotheses: list[Node] = [
        either(exists("person", old(bound(0))), RAIN),
        denied(exists("person", old(bound(0)))),
        forall("person", FALSE),
    ]
    uses: list[Step] = [use(0), use(1), use(2)]
    first: list[Step] = [split(2), witness(0), instance(2, eigen(0)), close((0,))]
    assert "not built from what exists" in refused(hypotheses, *uses, *first, instance(2, eigen(0)), close((0,)))


def test_constants_are_the_first_elements_that_are_named() -> None:
    hypotheses: list[Node] = [old(bound(1)), forall("person", denied(old(bound(0))))]
    steps: list[Step] = [use(0), use(1), instance(0, eigen(1)), close((0, 2))]
    follow(hypotheses, *steps, constants=("phase", "person"))
    assert "expected a number below" in refused(hypotheses, *steps, constants=("person",))
    assert "expected a term of sort" in refused(hypotheses, *steps, constants=("person", "phase"))
    assert "expected a number below" in refused([old(bound(0)), denied(old(bound(0)))], use(0), use(1), close((0, 1)))
    assert "speaks of an eigenvariable" in refused([old(eigen(0))], use(0), constants=("person",))


def test_a_term_is_one_of_the_members_of_its_enumeration() -> None:
    phase = apply("phase", EVE)
    hypotheses: list[Node] = [denied(equal(phase, DAY)), denied(equal(phase, NIGHT))]
    steps: list[Step] = [use(0), use(1), cases(phase)]
    follow(hypotheses, *steps, close((0, 2)), close((0, 1)))
    assert "left open: 1" in refused(hypotheses, *steps, close((0, 2)))
    assert "do not contradict" in refused(hypotheses, *steps, close((0, 2)), close((0, 2)))
    assert "no enumeration" in refused([RAIN], cases(EVE))
    assert "not built from what exists" in refused([RAIN], cases(eigen(0)))


def test_a_refutation_ends_where_its_last_branch_does() -> None:
    assert "left open: 1" in refused([FALSE])
    assert "left open: 1" in refused([FALSE], use(0))
    assert "after every branch" in refused([FALSE], use(0), close((0,)), use(0))


@pytest.mark.parametrize(
    "step",
    [
        ("guess", (0,), (), ()),
        ("use", (0, 0), (), ()),
        ("split", (), (), ()),
        ("cases", (), (), ()),
        ("witness", (0,), (EVE,), ()),
        ("close", (0,), (EVE,), ()),
    ],
    ids=repr,
)
def test_a_step_that_is_none_closes_no_branch(step: Step) -> None:
    assert "no step" in refused([FALSE], use(0), step)


def test_an_instance_without_terms_is_the_fact_again() -> None:
    """So it is in Coq, whatever the fact is."""
    hypotheses = [old(bound(0)), RAIN, denied(RAIN)]
    uses = [use(0), use(1), use(2)]
    follow(hypotheses, *uses, instance(2), instance(2), instance(2), close((0, 1)), constants=("person",))
    assert "do not contradict" in refused(hypotheses, *uses, instance(0), close((0, 1)), constants=("person",))


def test_deep_formulas_and_terms_end_in_an_exception() -> None:
    """Nothing is accepted that nobody has looked at."""
    formula: Node = RAIN
    term: Node = EVE
    for _ in range(30_000):
        formula, term = denied(formula), apply("mother", term)
    with pytest.raises(RecursionError):
        follow([formula], use(0))
    with pytest.raises(RecursionError):
        follow([forall("person", FALSE)], use(0), instance(0, term), close((0,)))


def test_long_refutations_are_followed() -> None:
    follow([RAIN, FALSE], *[use(0)] * 3_000, use(1), close((0,)))
    splits: list[Step] = [step for place in range(1, 4_001, 2) for step in (split(place), close((0,)))]
    follow([either(FALSE, RAIN), denied(RAIN)], use(0), use(1), *splits, close((0, 4_000)))


#: Lines that are empty or begin as a docstring or a comment; `docs/assurance/proofs.md` counts the others alike.
NO_CODE = re.compile(r' *("""|#|$)')


def test_the_kernel_is_as_short_as_it_is_said_to_be() -> None:
    assert checker.__file__ is not None
    text = Path(checker.__file__).read_text("utf-8")
    assert sum(NO_CODE.match(line) is None for line in text.splitlines()) <= 120
    assert text.count('"""') == 2 * len(re.findall(r'^ *""".*"""$', text, flags=re.MULTILINE)), "a long docstring"
