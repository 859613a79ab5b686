"""Which verdict a search amounts to: nothing that was bounded or left out is EXHAUSTED."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from carnet_check.engines.exploration import Coverage, Exploration, Part, Search
from carnet_check.engines.exploring import explorer
from carnet_check.loading.extent import Explored
from carnet_check.loading.scope import Scope
from carnet_spec.language import Instance
from carnet_spec.trace import Trace
from tests.unit.model_check.command import FIXTURES, TOY, carnet

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


def test_what_falls_in_none_of_the_sizes_is_not_as_expected() -> None:
    row, code = _falling("MISSED")
    assert (row["verdict"], code) == ("EXHAUSTED", 3)
    assert row["detail"].startswith("tiny")


BYSTANDER = f"{FIXTURES / 'bystander.py'}:FAMILY"


@pytest.mark.parametrize("engine", ["explicit", "native"])
def test_a_threat_model_without_a_claim_is_explored_for_goals_alone(engine: str) -> None:
    if engine == "native":
        pytest.importorskip("numba", reason="needs Numba (the extra 'fast')")
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
