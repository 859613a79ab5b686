"""A search is an error where its instance breaks an axiom, is complete where all of it is, and shows what replays."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import pytest

from carnet_check.engines.explicit import explore, explorer
from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.exploration import Caps, Exploration, Search
from carnet_check.engines.exploring import searches
from carnet_check.engines.exploring.searches import search_in, search_scope
from carnet_check.loading.extent import Explored
from carnet_check.loading.scope import Scope
from carnet_spec.language import Draft, Formula, Instance, Profile, Protocol, Step, forall, implies
from carnet_spec.trace import Trace
from tests.unit.model_check.small import Party, alice, claimed, corrupt, drafted, seen


def see(step: Step, a: Party) -> None:
    step.given("not alice", a != alice)
    step.insert(seen(a))


def _protocol() -> Protocol:
    draft: Draft = drafted(see)
    draft.axiom("alice honest", ~corrupt(alice))
    draft.threat("none", "nobody is corrupt", nobody=forall(lambda x: ~corrupt(x), Party))
    draft.threat("anyone", "anyone may be corrupt")
    return claimed(draft, unseen=lambda: ~seen(alice))


def _instance(parties: int = 2, *bad: str) -> Instance:
    names = ("alice", *(f"p{number}" for number in range(1, parties)))
    rows = frozenset((name,) for name in bad)
    return Instance({"Party": names}, {"corrupt": rows}, {"alice": {(): "alice"}})


TASK = Search("small", "main", (), "anyone", Profile("tiny", {}), ("unseen",), reduction=False)
INSTANCES = {
    "anyone": (_instance(2, "p1"), "anyone", ()),
    "nobody": (_instance(2), "none", ()),
    "against an axiom": (
        _instance(2, "alice"),
        "anyone",
        ("the instance under anyone violates axiom 'alice honest'",),
    ),
    "against the threat model": (
        _instance(2, "p1"),
        "none",
        ("the instance under none violates axiom 'none: nobody'",),
    ),
}


@pytest.mark.parametrize("name", INSTANCES)
def test_an_instance_that_breaks_an_axiom_is_an_error(name: str) -> None:
    instance, threat, problems = INSTANCES[name]
    found = search_in(EXPLICIT, replace(TASK, threat=threat), _protocol(), instance)
    assert found.problems == problems
    assert found.complete is not bool(problems)
    assert bool(found.states) is not bool(problems)


def test_several_instances_are_complete_if_each_of_them_is() -> None:
    both = Scope(((_instance(2), None), (_instance(4), None)), Explored((), 2))
    whole = search_scope(EXPLICIT, TASK, _protocol(), both)
    assert (whole.states, whole.complete) == (2 + 8, True)
    capped = search_scope(EXPLICIT, replace(TASK, caps=Caps(states=6)), _protocol(), both)
    assert (capped.complete, capped.stopped_by) == (False, "states")


def test_instances_share_the_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of this run: a search that goes on from a checkpoint tells of the seconds of earlier runs, too."""
    left: list[float | None] = []
    now = [100.0]

    def slow(*_: object, caps: Caps, **__: object) -> Exploration:
        left.append(caps.seconds)
        now[0] += 4.0
        return Exploration(states=1, seconds=1_000.0)

    monkeypatch.setattr(searches, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(explorer, "explore", slow)
    three = Scope(((_instance(2), None), (_instance(3), None), (_instance(4), None)), Explored((), 3))
    search_scope(EXPLICIT, replace(TASK, caps=Caps(seconds=7)), _protocol(), three)
    assert left == [7.0, 3.0, 0.0]


def test_no_second_is_none_at_all() -> None:
    stopped = search_in(EXPLICIT, replace(TASK, caps=Caps(seconds=0)), _protocol(), _instance(4))
    assert (stopped.complete, stopped.stopped_by) == (False, "time")


def test_a_trace_that_breaks_no_claim_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(*args: object, **kwargs: object) -> Exploration:
        explored = explore(*args, **kwargs)  # type: ignore[arg-type] # handed on as it came
        return replace(explored, violations={"unseen": Trace("small", "main", (), "anyone", ())})

    monkeypatch.setattr(explorer, "explore", mistaken)
    (problem,) = search_in(EXPLICIT, TASK, _protocol(), _instance()).problems
    assert problem == "the interpreter replays the counterexample to unseen, and the claim still holds"


MISTAKES: dict[str, tuple[Exploration, str]] = {
    "what the engine says against itself": (
        Exploration(states=1, problems=("half of it is lost",)),
        "half of it is lost",
    ),
    "nothing seen": (Exploration(), "the search calls itself complete, and saw no state"),
    "a goal that is not reached": (
        Exploration(states=1, goals={"$premise 1 unseen": Trace("small", "main", (), "anyone", ())}),
        "the interpreter replays the way to $premise 1 unseen, and the goal is not reached",
    ),
    "a goal that nobody asked for": (
        Exploration(states=1, goals={"other": Trace("small", "main", (), "anyone", ())}),
        "the interpreter cannot replay the way to other: 'other'",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistaken_search_is_an_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answer, problem = MISTAKES[name]
    monkeypatch.setattr(explorer, "explore", lambda *_args, **_kwargs: answer)
    assert search_in(EXPLICIT, TASK, _premised(), _instance()).problems == (problem,)


def _premised() -> Protocol:
    draft: Draft = drafted(see)
    draft.axiom("alice honest", ~corrupt(alice))
    draft.threat("anyone", "anyone may be corrupt")
    return claimed(draft, unseen=_not_alice)


def _not_alice(a: Party) -> Formula:
    return implies(seen(a), a != alice)
