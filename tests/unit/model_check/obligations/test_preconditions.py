"""What has to hold before each kind of step, worked out by hand from the Coq text, and written in SMT-LIB."""

from carnet_spec.language import Formula, Step, exists, forall, implies
from tests.unit.model_check.obligations.lending import goal, held, owner
from tests.unit.model_check.small import *


def goal_of(body: Body, claim: Formula) -> str:
    """Return what has to hold before the step for the claim to hold after it."""
    return goal(claimed(drafted(body), it=lambda: claim), f"step/{body.__name__}/it")


def test_insertions_and_removals_match_their_places_in_order() -> None:
    def act(step: Step, by: Party) -> None:
        step.insert(seen(by))

    assert goal_of(act, forall(lambda q: seen(q) | first, Party)) == (
        "(forall ((q Party)) (or (or (seen q) (and (= q by) true)) first))"
    )

    def remove(step: Step, by: Party) -> None:
        step.remove(ahead(step.each(Party), by), when=first)

    assert goal_of(remove, ahead(alice, bob)) == "(and (ahead alice bob) (not (and (= bob by) first)))"

    def compare(step: Step, by: Party) -> None:
        step.insert(ahead(by, alice), when=first & second & seen(by))

    assert goal_of(compare, ahead(alice, bob)) == (
        "(or (ahead alice bob) (and (= alice by) (and (= bob alice) (and first (and second (seen by))))))"
    )


def test_an_assignment_is_a_choice_around_the_atom() -> None:
    def act(step: Step, by: Party) -> None:
        step.set(last, by, when=first)

    assert goal_of(act, seen(last)) == "(ite first (seen by) (seen last))"

    def always(step: Step, by: Party) -> None:
        step.set(last, by)

    assert goal_of(always, ~seen(last)) == "(not (ite true (seen by) (seen last)))"

    def at_a_place(step: Step, by: Party, key: Key) -> None:
        step.set(owner(key), by)

    assert goal_of(at_a_place, seen(owner(current))) == (
        "(ite (and (= current key) true) (seen by) (seen (owner current)))"
    )


def test_a_condition_and_a_value_read_what_an_open_place_matches() -> None:
    def act(step: Step, by: Party) -> None:
        key = step.each(Key)
        step.set(owner(key), by, when=held(by, key))

    assert goal_of(act, forall(lambda k: owner(k) == alice, Key)) == (
        "(forall ((k Key)) (ite (held by k) (= by alice) (= (owner k) alice)))"
    )


def test_a_function_inside_another_is_replaced_first() -> None:
    def act(step: Step, by: Party, key: Key) -> None:
        step.set(current, key, when=first)
        step.set(owner(key), by, when=second)

    assert goal_of(act, seen(owner(current))) == (
        "(ite first"
        " (ite (and (= key key) second) (seen by) (seen (owner key)))"
        " (ite (and (= current key) second) (seen by) (seen (owner current))))"
    )


def test_of_two_choices_in_an_atom_the_left_one_is_outermost() -> None:
    def act(step: Step, by: Party, key: Key) -> None:
        step.set(last, by, when=first)
        step.set(owner(key), by, when=second)

    chosen = "(ite (and (= current key) second) {0} {1})"
    assert goal_of(act, ahead(last, owner(current))) == (
        "(ite first "
        + chosen.format("(ahead by by)", "(ahead by (owner current))")
        + " "
        + chosen.format("(ahead last by)", "(ahead last (owner current))")
        + ")"
    )
    assert goal_of(act, owner(current) == last) == (
        "(ite (and (= current key) second)"
        " (ite first (= by by) (= by last))"
        " (ite first (= (owner current) by) (= (owner current) last)))"
    )


def test_updates_of_one_symbol_apply_in_the_order_in_which_they_are_written() -> None:
    def act(step: Step, by: Party) -> None:
        step.insert(seen(by), name="come")
        step.remove(seen(alice), name="go")
        step.set(last, by, name="by")
        step.set(last, bob, when=second, name="bob")

    assert goal_of(act, seen(bob)) == ("(and (or (seen bob) (and (= bob by) true)) (not (and (= bob alice) true)))")
    assert goal_of(act, last == alice) == "(ite second (= bob alice) (ite true (= by alice) (= last alice)))"


def test_all_updates_read_the_state_before() -> None:
    def act(step: Step, by: Party) -> None:
        step.insert(seen(by))
        step.insert(ahead(by, by), when=seen(alice))

    assert goal_of(act, ahead(alice, bob)) == (
        "(or (ahead alice bob) (and (= alice by) (and (= bob by) (seen alice))))"
    )


def test_a_variable_of_the_claim_is_not_captured_by_a_quantifier_of_the_condition() -> None:
    def act(step: Step) -> None:
        who = step.each(Party)
        step.insert(seen(who), when=exists(lambda q: before(q, who), Party))

    assert goal_of(act, forall(lambda q: seen(q) | first, Party)) == (
        "(forall ((q Party)) (or (or (seen q) (exists ((|q'| Party)) (before |q'| q))) first))"
    )


def test_shorthands_are_written_out() -> None:
    def act(step: Step) -> None:
        step.insert(seen(alice))

    claim = forall(lambda p, q: implies(first & second & ~before(p, q), seen(p)), Party, Party)
    assert goal_of(act, claim) == (
        "(forall ((p Party)) (forall ((q Party)) (=> (and first (and second (not (before p q))))"
        " (or (seen p) (and (= p alice) true)))))"
    )
