"""Attacks are recorded one by one: what still is an attack on the design as it is now is not looked for again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from carnet_check.attacks.hunt import attack_target, hunt
from carnet_check.loading.families import load
from docs._ext.carnet_pages import traces
from docs._ext.carnet_pages.records import recorders
from docs._ext.carnet_pages.traces import Attacked, Traces
from tests.fixtures import toy
from tests.unit.model_check.command import TOY

Asked = list[list[str]]
FOUND = hunt(attack_target(load(TOY), without=("fresh-key",)))
COMMANDS = [command for _, command in recorders.commands(toy.FAMILY)]


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Asked:
    """Answer commands without doing anything, and list them."""
    commands: Asked = []

    def answer(finding: str, command: list[str], _: Traces) -> dict[str, Any]:
        commands.append(command)
        found = recorders.recorded(finding, command, FOUND)
        removed = [command[command.index("--without") + 1]] if "--without" in command else []
        variant = command[command.index("--variant") + 1] if "--variant" in command else "main"
        return {**found, "variant": variant, "removed": removed, "digest": toy.FAMILY.digest(variant, tuple(removed))}

    monkeypatch.setattr(recorders, "_looked_for", answer)
    monkeypatch.setattr(recorders, "RESULTS", tmp_path)
    monkeypatch.setattr(traces, "RESULTS", tmp_path)
    monkeypatch.setattr(recorders, "load", lambda _: load(TOY))
    return commands


def edited(change: Callable[[list[dict[str, Any]]], object]) -> None:
    file = recorders.RESULTS / "attacks" / "toy.json"
    rows = json.loads(file.read_text())
    change(rows)
    file.write_text(json.dumps(rows))


def rows() -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = json.loads((recorders.RESULTS / "attacks" / "toy.json").read_text())
    return kept


def keep(claim: str) -> None:
    """Keep the steps of the attack that was found, as if they broke a claim."""
    assert FOUND.trace is not None
    assert FOUND.profile is not None
    kept = Traces(load(TOY), "attacks")
    kept.keep(Attacked(FOUND.target.protocol, ("fresh-key",), claim, FOUND.profile, FOUND.trace))
    kept.write()


def test_every_attack_is_looked_for_once(asked: Asked) -> None:
    recorders.attacks(toy.FAMILY)
    assert asked == COMMANDS
    recorders.attacks(toy.FAMILY)
    assert asked == COMMANDS
    assert [row["rerun"] for row in rows()] == [" ".join(command) for command in COMMANDS]


def test_what_is_stale_is_looked_for_again(asked: Asked) -> None:
    recorders.attacks(toy.FAMILY)
    edited(lambda rows: rows[1].update(digest="0"))
    edited(lambda rows: rows[2].update(variant="a design that is gone"))
    asked.clear()
    recorders.attacks(toy.FAMILY)
    assert asked == COMMANDS[1:3]


def test_what_still_is_an_attack_is_kept(asked: Asked) -> None:
    recorders.attacks(toy.FAMILY)
    before = rows()
    place = COMMANDS.index(["carnet", "attack", "toy", "--without", "fresh-key"])
    edited(lambda rows: rows[place].update(digest="0"))
    keep("secrecy")
    asked.clear()
    recorders.attacks(toy.FAMILY)
    assert (asked, rows()) == ([], before)


def test_steps_that_break_nothing_or_cannot_be_taken_are_no_attack(asked: Asked) -> None:
    keep("secrecy")
    kept, design = Traces(load(TOY), "attacks"), FOUND.target
    found = kept.attack(design.protocol, ("fresh-key",), design.threat.id, "secrecy")
    assert found is not None
    assert found.trace == FOUND.trace
    whole = toy.FAMILY.protocol()
    for protocol, removed in ((whole, ("fresh-key",)), (whole, ())):
        assert kept.attack(protocol, removed, design.threat.id, "secrecy") is None


def test_what_was_proved_is_proved_again(asked: Asked) -> None:
    recorders.attacks(toy.FAMILY)
    edited(lambda rows: rows[0].update(digest="0", verdict="PROVED"))
    asked.clear()
    recorders.attacks(toy.FAMILY)
    assert asked == COMMANDS[:1]


def test_an_interrupt_keeps_what_was_found_and_what_was_there(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    recorders.attacks(toy.FAMILY)
    edited(lambda rows: [row.update(digest="0") for row in rows])
    answer, stops = recorders._looked_for, iter((False, True))

    def interrupted(*given: Any) -> Any:
        if next(stops):
            raise KeyboardInterrupt
        return answer(*given)

    monkeypatch.setattr(recorders, "_looked_for", interrupted)
    with pytest.raises(KeyboardInterrupt):
        recorders.attacks(toy.FAMILY)
    assert [row["digest"] == "0" for row in rows()] == [False, True, True]
