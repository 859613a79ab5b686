"""The state that is shown has few elements, and no fact in it can be left out."""

from __future__ import annotations

import pytest

from carnet_check.engines.induction.counterexample import SmallModel, Structure
from carnet_check.engines.induction.obligations import Obligation, obligations
from carnet_check.engines.induction.solving import DEFAULT_RLIMIT
from carnet_spec.language import Draft, Formula, Step, exists, forall
from tests.unit.model_check.small import Party, before, bob, claimed, corrupt, drafted, known, seen


def see(step: Step, a: Party) -> None:
    step.given("known", known(a))
    step.insert(seen(a))


def _unseen(a: Party) -> Formula:
    return ~seen(a)


def _found(draft: Draft, id: str = "step/see/unseen", rlimit: int = DEFAULT_RLIMIT) -> Structure | None:
    protocol = claimed(draft, unseen=_unseen)
    obligation: Obligation = next(each for each in obligations(protocol) if each.id == id)
    return SmallModel(obligation, rlimit).smallest()


def _facts(found: Structure | None) -> dict[str, set[tuple[str, ...]]]:
    assert found is not None
    return {symbol.name: set(rows) for symbol, rows in found.relations.items() if rows}


def test_one_element_and_the_one_fact_that_is_needed() -> None:
    found = _found(drafted(see))
    assert found is not None
    assert found.elements == {"Party": ("a",)}
    assert _facts(found) == {"known": {("a",)}}


def test_as_many_elements_as_an_axiom_needs_and_no_more() -> None:
    draft = drafted(see)
    draft.axiom("three in a row", exists(_in_a_row, Party, Party, Party))
    draft.axiom("one way", forall(lambda a, b: ~(before(a, b) & before(b, a)), Party, Party))
    found = _found(draft)
    assert found is not None
    assert len(found.elements["Party"]) == 3
    assert len(_facts(found)["before"]) == 2


def _in_a_row(a: Party, b: Party, c: Party) -> Formula:
    return before(a, b) & before(b, c) & (a != c)


def test_an_element_is_called_by_the_constant_or_the_parameter_that_it_is() -> None:
    draft = drafted(see)
    draft.axiom("bob is corrupt and nobody else", forall(lambda a: ~corrupt(a) | (a == bob), Party) & corrupt(bob))
    found = _found(draft)
    assert found is not None
    assert found.elements["Party"] == ("bob",), "the parameter may be bob, so it is"
    assert _facts(found)["corrupt"] == {("bob",)}


@pytest.mark.parametrize("rlimit", [1, DEFAULT_RLIMIT])
def test_nothing_is_found_without_a_budget_and_where_there_is_nothing(rlimit: int) -> None:
    draft = drafted(see)
    if rlimit > 1:
        draft.axiom("nobody", ~exists(lambda a: a == a, Party))  # noqa: PLR0124 # false wherever anyone is
    assert _found(draft, rlimit=rlimit) is None
