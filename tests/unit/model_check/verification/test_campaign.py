"""Which verdict a search amounts to: nothing that was bounded or left out is EXHAUSTED."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import pytest

from carnet_check.engines.explicit.searches import Found, Search
from carnet_check.verification import campaign
from carnet_spec.trace import Trace
from tests.unit.model_check.command import TOY, carnet

VIOLATION = {"secrecy": Trace("toy", "main", (), "none", ())}
EXPECTED: dict[str, tuple[dict[str, Any], str]] = {
    "all of it": ({}, "EXHAUSTED"),
    "stopped": ({"complete": False, "stopped_by": "states"}, "UNKNOWN"),
    "with a budget": ({"budget": 2}, "HOLDS-TO"),
    "stopped, with a budget": ({"complete": False, "stopped_by": "memory", "budget": 2}, "UNKNOWN"),
    "something left out": ({"left_out": {"secrecy": "not every first value"}}, "UNKNOWN"),
    "something left out of another claim": ({"left_out": {"another": "not every first value"}}, "EXHAUSTED"),
    "a violation": ({"violations": VIOLATION}, "VIOLATED"),
    "a violation, stopped": ({"violations": VIOLATION, "complete": False}, "VIOLATED"),
    "a problem": ({"problems": ("an axiom is violated",), "violations": VIOLATION}, "ERROR"),
}


def _whole(task: Search) -> Found:
    return Found(task, 7, 9, 3, True, "", 0.0, 0, "small", None, {}, {}, {})


@pytest.mark.parametrize("name", EXPECTED)
def test_a_verdict_is_no_stronger_than_the_search(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    changes, verdict = EXPECTED[name]

    def run(tasks: Sequence[Search], *_: object) -> Iterator[tuple[Search, Found]]:
        for task in tasks:
            yield task, replace(_whole(task), **changes)

    monkeypatch.setattr(campaign, "run_all", run)
    ran = carnet("verify", TOY, "--engine", "explicit", "--claim", "secrecy", "--json")
    rows = [row for row in ran.json["results"] if row["kind"] == "claim"]
    assert {row["verdict"] for row in rows} == {verdict}
