"""Attacks are recorded one by one: what is about the design as it is now is not looked for again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from docs._ext.carnet_pages import record
from tests.fixtures import toy

Asked = list[list[str]]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Answer commands without doing anything, and list them."""
    commands: Asked = []

    def answer(command: list[str]) -> dict[str, Any]:
        commands.append(command)
        removed = [command[command.index("--without") + 1]] if "--without" in command else []
        variant = command[command.index("--variant") + 1] if "--variant" in command else "main"
        digest = toy.FAMILY.protocol(variant, tuple(removed)).digest
        said = {"protocol": "toy", "variant": variant, "removed": removed, "threat": "collusion", "claim": "secrecy"}
        return {**said, "verdict": "VIOLATED", "detail": "", "run": {"spec_digests": {variant: digest}}}

    monkeypatch.setattr(record, "_printed", answer)
    monkeypatch.setattr(record, "RESULTS", tmp_path)
    return commands


def edited(change: Callable[[list[dict[str, Any]]], object]) -> None:
    file = record.RESULTS / "attacks" / "toy.json"
    rows = json.loads(file.read_text())
    change(rows)
    file.write_text(json.dumps(rows))


def test_every_attack_is_looked_for_once(asked: Asked) -> None:
    every = [command for _, command in record.commands(toy.FAMILY)]
    record.attacks(toy.FAMILY)
    assert asked == every
    record.attacks(toy.FAMILY)
    assert asked == every
    rows = json.loads((record.RESULTS / "attacks" / "toy.json").read_text())
    assert [row["rerun"] for row in rows] == [" ".join(command) for command in every]


def test_what_is_stale_is_looked_for_again(asked: Asked) -> None:
    record.attacks(toy.FAMILY)
    edited(lambda rows: rows[1].update(digest="0"))
    edited(lambda rows: rows[2].update(variant="a design that is gone"))
    asked.clear()
    record.attacks(toy.FAMILY)
    assert asked == [command for _, command in record.commands(toy.FAMILY)][1:3]


def test_an_interrupt_keeps_what_was_found_and_what_was_there(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    record.attacks(toy.FAMILY)
    edited(lambda rows: [row.update(digest="0") for row in rows])
    answer, stops = record._printed, iter((False, True))

    def interrupted(command: list[str]) -> Any:
        if next(stops):
            raise KeyboardInterrupt
        return answer(command)

    monkeypatch.setattr(record, "_printed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        record.attacks(toy.FAMILY)
    rows = json.loads((record.RESULTS / "attacks" / "toy.json").read_text())
    assert [row["digest"] == "0" for row in rows] == [False, True, True]
