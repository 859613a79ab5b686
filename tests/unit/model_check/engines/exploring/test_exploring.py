"""What a search amounts to: a verdict no stronger than it, traces that replay, and a cache of its own question."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from carnet_check.cache import AnswerCache
from carnet_check.engines.explicit import explore
from carnet_check.engines.explicit import explorer as compiled_explorer
from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.exploration import Caps, Coverage, Exploration, Part, Search
from carnet_check.engines.exploring import explorer, searches
from carnet_check.engines.exploring.explorer import CachedExplorer
from carnet_check.engines.exploring.searches import decided_together, search_in, search_scope
from carnet_check.engines.native.engine import NATIVE
from carnet_check.loading.extent import Explored
from carnet_check.loading.families import load
from carnet_check.loading.scope import Scope
from carnet_spec.language import *
from carnet_spec.language.instance import InLine
from carnet_spec.trace import Trace, TraceStep
from tests.unit.model_check.command import FIXTURES, TOY, carnet
from tests.unit.model_check.small import *
from tests.unit.model_check.steps import learn, see

VIOLATION = {"secrecy": Trace("toy", "main", (), "none", ())}
EXPECTED: dict[str, tuple[dict[str, Any], str]] = {
    "all of it": ({}, "EXHAUSTED"),
    "stopped": ({"stopped_by": "states"}, "UNKNOWN"),
    "with a budget": ({"budget": 2}, "HOLDS-TO"),
    "stopped, with a budget": ({"stopped_by": "memory", "budget": 2}, "UNKNOWN"),
    "something left out": ({"left_out": {"secrecy": "not every first value"}}, "UNKNOWN"),
    "something left out of another claim": ({"left_out": {"another": "not every first value"}}, "EXHAUSTED"),
    "a violation": ({"violations": VIOLATION}, "VIOLATED"),
    "a violation, stopped": ({"violations": VIOLATION, "stopped_by": "states"}, "VIOLATED"),
    "a problem": ({"problems": ("an axiom is violated",), "violations": VIOLATION}, "ERROR"),
}


def _coverage(task: Search, budget: int | None = None, left_out: Any = None, **changes: Any) -> Coverage:
    instance = Instance({}, budget=budget)
    scope = Scope(((instance, None),), Explored(()), left_out or {})
    return Coverage(task, scope, (Part(instance, Exploration(7, 9, 3, **changes)),))


@pytest.mark.parametrize("name", EXPECTED)
def test_a_verdict_is_no_stronger_than_the_search(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    changes, verdict = EXPECTED[name]

    def run(_explorer: object, tasks: Sequence[Search], *_: object) -> Iterator[tuple[Search, Coverage]]:
        for task in tasks:
            yield task, _coverage(task, **changes)

    monkeypatch.setattr(explorer, "run_all", run)
    ran = carnet("verify", TOY, "--engine", "explicit", "--claim", "secrecy", "--json")
    rows = [row for row in ran.json["results"] if row["kind"] == "claim"]
    assert {row["verdict"] for row in rows} == {verdict}


def _falling(family: str) -> tuple[dict[str, Any], int]:
    """Return the row of the claim that is expected to fall, and the exit code."""
    reference = f"{FIXTURES / 'needs_more.py'}:{family}"
    words = ("--variant", "forgetful", "--claim", "secrecy", "--threat", "collusion", "--engine", "explicit")
    ran = carnet("verify", reference, *words, "--json")
    (row,) = [row for row in ran.json["results"] if row["kind"] == "claim"]
    return row, ran.code


def test_what_is_expected_to_fall_is_looked_for_where_an_attack_would_be() -> None:
    row, code = _falling("FOUND")
    assert (row["verdict"], code) == ("VIOLATED", 0)
    assert 'pair: 3 Agent · 3 Key (author: "toy: 2 borrowers' in row["detail"]
    row, code = _falling("MISSED")
    assert (row["verdict"], code) == ("EXHAUSTED", 3)
    assert row["detail"].startswith("tiny")


BYSTANDER = f"{FIXTURES / 'bystander.py'}:FAMILY"


@pytest.mark.parametrize("engine", ["explicit", "native"])
def test_a_threat_model_without_a_claim_is_explored_for_goals_alone(engine: str) -> None:
    if engine == "native" and NATIVE.lacks:
        pytest.skip(NATIVE.lacks)
    ran = carnet("verify", BYSTANDER, "--engine", engine, "--json")
    assert ran.code == 0, ran.err
    assert {row["threat"] for row in ran.json["results"] if row["kind"] == "claim"} == {"none", "collusion"}


def test_an_exploration_for_goals_alone_that_failed_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(_explorer: object, tasks: Sequence[Search], *_: object) -> Iterator[tuple[Search, Coverage]]:
        for task in tasks:
            yield task, _coverage(task, problems=() if task.claims else ("an axiom is violated",))

    monkeypatch.setattr(explorer, "run_all", run)
    ran = carnet("verify", BYSTANDER, "--engine", "explicit", "--json")
    assert {row["verdict"] for row in ran.json["results"] if row["threat"] == "bystander"} == {"ERROR"}
    assert ran.code == 5


def see_others(step: Step, a: Party) -> None:
    step.given("not alice", a != alice)
    step.insert(seen(a))


def _protocol() -> Protocol:
    draft: Draft = drafted(see_others)
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
    "against an axiom": (_instance(2, "alice"), "anyone", ("the instance under anyone violates axiom 'alice honest'",)),
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


def test_several_instances_are_complete_if_each_is_and_no_second_is_none_at_all() -> None:
    both = Scope(((_instance(2), None), (_instance(4), None)), Explored((), 2))
    whole = search_scope(EXPLICIT, TASK, _protocol(), both)
    assert (whole.states, whole.complete) == (2 + 8, True)
    capped = search_scope(EXPLICIT, replace(TASK, caps=Caps(states=6)), _protocol(), both)
    assert (capped.complete, capped.stopped_by) == (False, "states")
    stopped = search_in(EXPLICIT, replace(TASK, caps=Caps(seconds=0)), _protocol(), _instance(4))
    assert (stopped.complete, stopped.stopped_by) == (False, "time")


def test_instances_share_the_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of this run: a search that goes on from a checkpoint tells of the seconds of earlier runs, too."""
    left: list[float | None] = []
    now = [100.0]

    def slow(*_: object, caps: Caps, **__: object) -> Exploration:
        left.append(caps.seconds)
        now[0] += 4.0
        return Exploration(states=1, seconds=1_000.0)

    monkeypatch.setattr(searches, "time", SimpleNamespace(monotonic=lambda: now[0]))
    monkeypatch.setattr(compiled_explorer, "explore", slow)
    three = Scope(((_instance(2), None), (_instance(3), None), (_instance(4), None)), Explored((), 3))
    search_scope(EXPLICIT, replace(TASK, caps=Caps(seconds=7)), _protocol(), three)
    assert left == [7.0, 3.0, 0.0]


def test_a_trace_that_breaks_no_claim_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def mistaken(*args: object, **kwargs: object) -> Exploration:
        explored = explore(*args, **kwargs)  # type: ignore[arg-type] # handed on as it came
        return replace(explored, violations={"unseen": Trace("small", "main", (), "anyone", ())})

    monkeypatch.setattr(compiled_explorer, "explore", mistaken)
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
    monkeypatch.setattr(compiled_explorer, "explore", lambda *_args, **_kwargs: answer)
    assert search_in(EXPLICIT, TASK, _premised(), _instance()).problems == (problem,)


def _premised() -> Protocol:
    draft: Draft = drafted(see_others)
    draft.axiom("alice honest", ~corrupt(alice))
    draft.threat("anyone", "anyone may be corrupt")
    return claimed(draft, unseen=_not_alice)


def _not_alice(a: Party) -> Formula:
    return implies(seen(a), a != alice)


def test_a_premise_is_sought_in_each_instance_until_one_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    sought: list[list[str]] = []

    def noted(*args: Any, goals: Sequence[Goal], **options: Any) -> Exploration:
        sought.append([goal.name for goal in goals])
        return explore(*args, goals=goals, **options)

    monkeypatch.setattr(compiled_explorer, "explore", noted)
    draft: Draft = drafted(see_others)

    @draft.goal(sentence="Nobody saw alice yet.")
    def begun() -> Formula:
        return ~seen(alice)

    three = Scope(tuple((_instance(parties), None) for parties in (1, 2, 3)), Explored((), 3))
    task = replace(TASK, threat="unrestricted", goals=("begun",))
    found = search_scope(EXPLICIT, task, claimed(draft, unseen=_not_alice), three)
    assert sought == [["begun", "$premise 1 unseen"], ["$premise 1 unseen"], []]
    assert ({*found.goals}, found.problems) == ({"begun", "$premise 1 unseen"}, ())
    assert [len(part.exploration.goals) for part in found.parts] == [1, 1, 0]


INSTANCE = Instance({"Party": ("p",)})
LASSOS = Search("small", "main", (), "unrestricted", Profile("tiny", {}), (), liveness=("served", "known"))


def ask(step: Step) -> None:
    step.insert(first)


def serve(step: Step) -> None:
    step.insert(second)


def tell(step: Step, a: Party) -> None:
    step.require("seen", seen(a))
    step.insert(known(a))


def _lively() -> Protocol:
    draft = drafted(ask, serve, see, tell, rules=(learn,))
    draft.eventually("served", first, second, sentence="It comes.", fair=("serve",))
    draft.eventually("unfair", first, second, sentence="It comes.")
    draft.eventually("known", first, second, sentence="It comes.", fair=("tell",))
    draft.eventually("known-last", first, second, sentence="It comes.", fair=("tell",), given={"tell": {"a": last}})
    return draft.protocol()


@dataclass(frozen=True)
class Liar:
    """Finds what the explicit engine finds, after a change."""

    change: dict[str, Any]

    def explore(
        self,
        protocol: Protocol,
        instance: Instance,
        *,
        invariants: Sequence[Invariant],
        goals: Sequence[Goal] = (),
        **_: Any,
    ) -> Exploration:
        """Find nothing."""
        return Exploration()

    def lassos(
        self, protocol: Protocol, instance: Instance, *, liveness: Sequence[Eventually], **_: Any
    ) -> Exploration:
        """Lie."""
        return replace(EXPLICIT.lassos(protocol, instance, liveness=liveness), **self.change)


def test_lassos_that_the_interpreter_accepts_violate_what_is_decided_together() -> None:
    protocol = _lively()
    assert decided_together(protocol, protocol.liveness) == [("served", "unfair"), ("known",), ("known-last",)]
    found = search_in(EXPLICIT, replace(LASSOS, liveness=("served", "unfair")), _lively(), INSTANCE)
    assert (found.problems, list(found.violations)) == ((), ["unfair"])


def _steps(*names: str) -> Trace:
    return Trace("small", "main", (), "", tuple(TraceStep(name, "holder") for name in names), len(names))


LIES = {
    "an unfair run": ({"violations": {"served": _steps("ask")}}, "it is not fair to serve"),
    "a run that is served": ({"violations": {"served": _steps("ask", "serve")}}, "it does not wait in vain"),
    "no run": ({"violations": {"served": _steps("dance")}}, "no action 'dance'"),
    "a way that leads elsewhere": ({"goals": {"$premise 1 served": _steps("serve")}}, "the goal is not reached"),
}


@pytest.mark.parametrize("name", LIES)
def test_what_the_interpreter_objects_to_is_a_problem(name: str) -> None:
    change, why = LIES[name]
    found = search_in(Liar(change), replace(LASSOS, liveness=("served",)), _lively(), INSTANCE)
    assert why in " ".join(found.problems)


def test_an_engine_that_decides_no_liveness_is_an_error() -> None:
    class Other:
        def explore(self, protocol: Protocol, instance: Instance, **_: Any) -> Exploration:
            return Exploration()

    found = search_in(Other(), LASSOS, _lively(), INSTANCE)
    assert found.problems == ("the engine decides no liveness",)


SOURCE = load(TOY)
PROTOCOL = SOURCE.protocol()
SECRECY = PROTOCOL.claim("secrecy").checked
COLLUSION = SOURCE.instance(PROTOCOL, "collusion", SOURCE.profile("tiny"))
ASKED: dict[str, Any] = {"invariants": (SECRECY,), "goals": PROTOCOL.goals, "caps": Caps(), "threat": "collusion"}


def found(folder: Path, instance: Instance = COLLUSION, **changed: Any) -> tuple[Exploration, int]:
    """Return what is found with a cache, and how many answers it has then."""
    before = AnswerCache(folder, ("explicit",))
    return CachedExplorer(EXPLICIT, before).explore(PROTOCOL, instance, **{**ASKED, **changed}), len(
        list(folder.glob("*/*"))
    )


def test_what_is_known_is_what_was_found(tmp_path: Path) -> None:
    first, count = found(tmp_path)
    again, still = found(tmp_path)
    assert (count, still) == (1, 1)
    assert again == replace(first, seconds=0.0, peak_memory_bytes=0)
    assert [*again.fired] == [*first.fired]
    assert [*again.goals] == [*first.goals]


CHANGED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "elements": ({"elements": {**COLLUSION.elements, "Key": ("k1", "k2")}}, {}),
    "relations": ({"relations": {}}, {}),
    "budget": ({"budget": 1}, {}),
    "pools": ({"pools": {("lend", "key"): ("k1",)}}, {}),
    "cap": ({}, {"caps": Caps(states=1_000_000)}),
    "threat": ({}, {"threat": "none"}),
    "goals": ({}, {"goals": ()}),
    "end": ({}, {"stop_at_first": True}),
    "reduction": ({}, {"reduction": False}),
}


@pytest.mark.parametrize("what", CHANGED)
def test_another_question_has_another_answer(what: str, tmp_path: Path) -> None:
    found(tmp_path)
    instance, asked = CHANGED[what]
    other, count = found(tmp_path, replace(COLLUSION, **instance), **asked)
    assert (count, other.complete) == (2, True)


def test_only_what_makes_a_difference_is_another_answer(tmp_path: Path) -> None:
    found(tmp_path)
    _, count = found(tmp_path, watch=lambda *_: None, caps=Caps(memory=1 << 40, workers=7))
    assert count == 1
    renamed = replace(SECRECY, params=(), body=SECRECY.formula)
    (tmp_path / "renamed").mkdir()
    assert found(tmp_path / "renamed", invariants=(renamed,))[1] == 0


def test_an_order_is_not_taken_for_its_elements(tmp_path: Path) -> None:
    for number, rows in enumerate((InLine(("a", "b")), frozenset({("b", "a")}), InLine(("b", "a"))), 1):
        assert found(tmp_path, replace(COLLUSION, relations={**COLLUSION.relations, "passed over": rows}))[1] == number
