"""How much each AES key of a run protected is told as both ends count it, and is never over its limit."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from carnet_check.cli import main

ENDS = ("orchestrator", "gpu")


def usage(*args: object) -> list[dict[str, Any]]:
    ran = CliRunner().invoke(main, ["run", *map(str, args), "--json"])
    assert ran.exit_code == 0, ran.stderr
    told: list[dict[str, Any]] = json.loads(ran.stdout)["key_usage"]
    return told


def agreed(told: list[dict[str, Any]]) -> None:
    """Insist that nothing is over its limit, and that both ends counted the same under each key."""
    assert all(use["within"] and use["units"] <= use["most_units"] for use in told)
    assert all(use["most_messages"] is None or use["messages"] <= use["most_messages"] for use in told)
    counted = [{_key(use) for use in told if use["end"] == end} for end in ENDS]
    assert counted[0] == counted[1]


def _key(use: dict[str, Any]) -> tuple[object, ...]:
    return use["engine"], use["direction"], use["messages"], use["units"]


def test_both_ends_count_the_same_for_each_key_of_each_engine() -> None:
    told = usage("--holders", 2, "--rounds", 4)
    agreed(told)
    places = sorted((str(use["engine"]), use["direction"]) for use in told if use["end"] == "gpu")
    engines = [(str(engine), way) for engine in range(3) for way in ("d2h", "h2d")]
    assert places == sorted([*engines, ("None", "orders"), ("None", "reports")])
    chunks = [use["messages"] for use in told if use["direction"] == "h2d" and use["engine"] in (1, 2)]
    assert chunks == [6, 6, 6, 6], "two visits of three chunks, under one key"


def test_a_schedule_with_a_key_for_each_epoch_tells_of_each() -> None:
    told = usage("--holders", 1, "--rounds", 3, "--key-schedule", "sealed-under-master")
    agreed(told)
    assert sum(use["direction"] == "h2d" for use in told if use["end"] == "gpu") > 3


def test_keys_that_reach_their_limit_are_followed_by_others_and_never_pass_it() -> None:
    told = usage("--holders", 1, "--rounds", 4, "--key-limit", 5)
    agreed(told)
    assert {use["most_messages"] for use in told if use["engine"] is not None} == {5}
    assert sum(use["direction"] == "orders" for use in told if use["end"] == "gpu") > 1, "in several sessions"


@pytest.mark.slow
def test_processes_tell_of_the_keys_at_both_ends_too() -> None:
    agreed(usage("--holders", 1, "--rounds", 2, "--processes"))
