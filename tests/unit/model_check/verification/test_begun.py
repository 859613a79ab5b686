"""Explorations that begin while other engines are asked: what is found is the same, and nothing else is believed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from carnet_check.engines.exploration import Coverage, Search
from carnet_check.engines.exploring import explorer
from tests.unit.model_check.command import FASTEST, FIXTURES, TOY, carnet


def _rows(*words: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = carnet("verify", *words, "--json").json["results"]
    return [{**row, "seconds": 0} for row in rows]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Search]]:
    """Tell which searches began early, and which were taken over or run when their turn came."""
    seen: dict[str, list[Search]] = {"begun": [], "taken over": [], "run": []}
    begin, take, run = explorer.Begun.__init__, explorer.results, explorer.run_all

    def beginning(begun: explorer.Begun, explorer: Any, tasks: Sequence[Search], *rest: Any) -> None:
        seen["begun"] += tasks
        begin(begun, explorer, tasks, *rest)

    def taking(begun: explorer.Begun, *rest: Any) -> Iterator[tuple[Search, Coverage]]:
        seen["taken over"] += begun.tasks
        return take(begun, *rest)

    def running(explorer: Any, tasks: Sequence[Search], *rest: Any) -> Iterator[tuple[Search, Coverage]]:
        seen["run"] += tasks
        return run(explorer, tasks, *rest)

    monkeypatch.setattr(explorer.Begun, "__init__", beginning)
    monkeypatch.setattr(explorer, "results", taking)
    monkeypatch.setattr(explorer, "run_all", running)
    return seen


def test_searches_begin_beside_the_prover_and_are_not_run_again(asked: dict[str, list[Search]]) -> None:
    together = _rows(TOY, "--jobs", "2")
    assert asked["begun"] == asked["taken over"]
    assert asked["begun"]
    assert not asked["run"]
    assert together == _rows(TOY, "--jobs", "1")


def test_how_much_memory_is_free_at_the_moment_makes_no_other_search(
    asked: dict[str, list[Search]], monkeypatch: pytest.MonkeyPatch
) -> None:
    free = iter(range(10**9, 0, -1))
    monkeypatch.setattr("carnet_check.engines.exploring.searches.available_memory", lambda: next(free))
    _rows(TOY, "--jobs", "2")
    assert asked["begun"] == asked["taken over"] != []
    assert not asked["run"]


def test_nothing_begins_early_in_one_process_or_without_a_prover_before_it(asked: dict[str, list[Search]]) -> None:
    _rows(TOY, "--jobs", "1")
    _rows(TOY, "--jobs", "2", "--engine", "explicit")
    if FASTEST != "explicit":
        _rows(TOY, "--jobs", "2", "--engine", "explicit", "--engine", FASTEST, "--engine", "induction")
    assert asked["begun"] == asked["taken over"] == asked["run"] != []


def test_what_was_expected_to_be_proved_is_searched_anew_where_it_is_not(asked: dict[str, list[Search]]) -> None:
    swinging = f"{FIXTURES / 'mended.py'}:a_light_that_swings"
    together = _rows(swinging, "--jobs", "2")
    lively = [search for search in asked["run"] if search.liveness]
    assert [search for search in asked["begun"] if search.liveness] == lively != []
    assert len(asked["begun"]) > len(asked["run"])
    assert together == _rows(swinging, "--jobs", "1")
    assert {row["verdict"] for row in together if row["kind"] == "liveness"} == {"UNKNOWN", "VIOLATED"}
