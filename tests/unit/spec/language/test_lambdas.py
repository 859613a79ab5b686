"""A lambda says what holds at first, where its relation or function says of which sorts; elsewhere an error helps."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from carnet_spec.language import Draft, Formula, Individual, Initial, MisuseError, forall, rigid_function, true, used
from carnet_spec.language.terms import Apply
from tests.unit.spec.language.vocabulary import PARTY, Agent, Key, boss, drafted, knows, owner


def no_function(value: object) -> Any:
    """Return what static types would refuse."""
    return value


def _kept(key: Key, keys: list[Individual]) -> Agent:
    keys.append(key)
    return boss


def _everybody(a: Agent, k: Key) -> Formula:
    return (a == boss) & ~used(k)


def _first_of(value: Callable[..., Any], what: Any = knows) -> object:
    return drafted(lambda draft: draft.initially(what, value)).protocol().initial[-1]


@pytest.mark.mends("R464")
def test_the_parameters_of_a_first_value_have_the_sorts_of_what_it_is_the_value_of() -> None:
    assert _first_of(lambda a, k: (a == boss) & ~used(k)) == _first_of(_everybody)
    assert _first_of(lambda k: boss, owner) == _first_of(_boss, owner)


@pytest.mark.mends("R464")
def test_a_first_value_may_be_a_rigid_function_as_it_is() -> None:
    """``initially(level, first_level)``: a lambda around it says no more."""
    made_for = rigid_function("made_for", Key, to=Agent)
    first = _first_of(made_for, owner)
    assert isinstance(first, Initial)
    assert first.value == Apply(made_for.symbol, first.params)
    assert [param.sort.name for param in first.params] == ["Key"]


@pytest.mark.mends("R465")
def test_a_rigid_function_of_another_sort_is_no_first_value() -> None:
    with pytest.raises(MisuseError, match="owner takes Key, and its first value is given for Agent"):
        _first_of(rigid_function("friend", Agent, to=Agent), owner)


def _boss(k: Key) -> Agent:
    return boss


def _turned(k: Key, a: Agent) -> Formula:
    return _everybody(a, k)


def _less(a: Agent) -> Formula:
    return a == boss


@pytest.mark.mends("R465")
@pytest.mark.parametrize(
    ("value", "said"),
    [
        (_turned, "knows takes Agent, Key, and its first value is given for Key, Agent"),
        (_less, "knows takes Agent, Key, and its first value is given for Agent"),
        (lambda a: a == boss, "knows takes Agent, Key, and its first value is given for Agent"),
        (lambda: true, "knows takes Agent, Key, and its first value is given for nothing"),
        (lambda a, k, more: true, "parameter 'more' of a lambda needs a sort"),
    ],
)
def test_a_first_value_of_other_sorts_is_refused(value: Callable[..., Any], said: str) -> None:
    with pytest.raises(MisuseError, match=said):
        _first_of(value)


STATED: dict[str, Callable[[Draft], object]] = {
    "a claim": lambda d: d.claim(name="c", sentence="…", requirement="R", source="s", under=("any",))(
        lambda agent: true
    ),
    "a lemma": lambda d: d.lemma_under("any")(lambda agent: true),
    "a goal": lambda d: d.goal(sentence="…")(lambda agent: true),
    "a step": lambda d: d.action(by=PARTY, says="…", source="s")(lambda step, agent: None),
}


@pytest.mark.mends("R464")
@pytest.mark.parametrize("what", STATED)
def test_elsewhere_it_is_told_what_to_write_with_a_sort_that_there_is(what: str) -> None:
    with pytest.raises(MisuseError) as refused:
        STATED[what](drafted())
    assert str(refused.value) in (
        "parameter 'agent' of a lambda needs a sort, which a lambda cannot say: write a function, "
        "'def name(agent: Agent, …)'",
        f"{what} is named after its function, and the function <lambda> has no name: write a 'def'",
    )


@pytest.mark.mends("R464")
def test_a_step_without_parameters_has_to_have_a_name() -> None:
    with pytest.raises(MisuseError, match="a step is named after its function, and the function <lambda> has no name"):
        drafted().action(by=PARTY, says="…", source="s")(lambda step: None)


def _bare(key, agent) -> Formula:  # type: ignore[no-untyped-def] # the mistake
    return knows(agent, key)


@pytest.mark.mends("R464")
def test_the_sort_that_is_offered_is_one_of_the_module_and_alike() -> None:
    claim = drafted().claim(name="c", sentence="…", requirement="R", source="s", under=("any",))
    with pytest.raises(MisuseError, match=re.escape("parameter 'key' of _bare needs a sort: write 'key: Key'")):
        claim(_bare)
    scope: dict[str, Any] = {"true": true}
    exec("def alone(a): return true", scope)
    with pytest.raises(MisuseError, match=re.escape("'a: SORT', where the sort is declared with 'class SORT(Indi")):
        claim(scope["alone"])


@pytest.mark.mends("R464")
@pytest.mark.parametrize(
    ("ask", "said"),
    [
        (lambda: forall(no_function(true), Agent), "a quantifier needs a function of its elements, as 'lambda x: …'"),
        (lambda: drafted().lemma(no_function("x")), "a lemma is named after its function, and 'x' has no name"),
        (
            lambda: drafted().claim(name="c", sentence="…", requirement="R", source="s", under=("any",))(
                no_function(true)
            ),
            "expected a function, not the formula 'true'",
        ),
    ],
)
def test_what_is_no_function_is_refused(ask: Callable[[], object], said: str) -> None:
    with pytest.raises(MisuseError, match=re.escape(said)):
        ask()


def test_a_parameter_of_a_lambda_is_an_element_like_any_other() -> None:
    seen: list[Individual] = []
    drafted(lambda draft: draft.initially(owner, lambda k: _kept(k, seen)))
    assert [(each.sort, each.sort.fresh) for each in seen] == [(Key.sort, True)]
