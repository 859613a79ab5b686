"""Attacks carried out with real bytes: what the record says comes out again, and is about attacks of the spec."""

from __future__ import annotations

import functools
import json
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import pytest

from carnet_check.semantics import Interpreter
from carnet_ref.exploits import honest
from carnet_ref.exploits.hostile import Hostile
from carnet_ref.exploits.record import replayed
from carnet_spec.language import Instance, Profile, Protocol
from carnet_spec.trace import Step, Trace
from tests.fixtures.travelling import COLLUSION, FAMILY, SOURCE
from tests.fixtures.worlds import draws
from tests.unit.model_check.command import carnet

FILE = Path(__file__).parents[2] / "docs" / "results" / "replays" / "gpu-travelling.json"
ATTACKS: dict[str, dict[str, Any]] = {attack["id"]: attack for attack in json.loads(FILE.read_text("utf-8"))}
REPRODUCED = [id for id, attack in ATTACKS.items() if attack["replay"]["reproduced"]]
QUICK = ("finding-1", "finding-6", "finding-9", "finding-10", "without-fence", "without-wrapped-key-once")
LARGE = {
    "holders": 1,
    "corrupt": 1,
    "fakes": 1,
    "instances": 1,
    "chunks": 2,
    "rounds": 3,
    "sessions": 2,
    "own_sessions": 1,
    "own_keys": 1,
}
"""Sizes that hold whatever an attack in the record names."""


def test_the_record_is_as_rich_as_it_should_be() -> None:
    defended = [id for id in REPRODUCED if not ATTACKS[id]["replay"]["defended"]["reproduced"]]
    assert defended == REPRODUCED
    assert {finding.id for finding in FAMILY.findings} <= set(REPRODUCED)
    assert len(REPRODUCED) >= 25
    assert sum(ATTACKS[id]["claim"] == "confidentiality" for id in REPRODUCED) >= 12
    assert all("bytes in a row" in ATTACKS[id]["replay"]["recovered"] for id in REPRODUCED if _is_theft(id))


def _is_theft(id: str) -> bool:
    return bool(ATTACKS[id]["claim"] == "confidentiality")


@pytest.mark.parametrize("id", QUICK)
def test_what_the_record_says_comes_out_again(id: str) -> None:
    (again,) = replayed([ATTACKS[id]], draws(id))
    assert again == ATTACKS[id]


@pytest.mark.slow
@pytest.mark.parametrize("id", [id for id in ATTACKS if id not in QUICK])
def test_everything_else_comes_out_again(id: str) -> None:
    (again,) = replayed([ATTACKS[id]], draws(id))
    assert again == ATTACKS[id]


@functools.cache
def _design(variant: str, removed: tuple[str, ...]) -> tuple[Protocol, Instance]:
    protocol = SOURCE.protocol(variant, removed)
    return protocol, SOURCE.instance(protocol, COLLUSION, Profile("whatever is named", LARGE))


@pytest.mark.parametrize("id", ATTACKS)
def test_every_recorded_attack_breaks_its_claim_in_the_spec(id: str) -> None:
    attack = ATTACKS[id]
    protocol, instance = _design(attack["variant"], tuple(attack["removed"]))
    judge = Interpreter(protocol, instance)
    steps = tuple(Step.from_json(step) for step in attack["steps"])
    final = judge.replay(Trace(protocol.id, protocol.variant, protocol.without, COLLUSION, steps))[-1]
    assert not judge.holds(protocol.claim(attack["claim"]).checked.formula, final)


def test_steps_have_one_counterpart_each() -> None:
    """An honest step is a role's, an adversary's one operation; nothing is written for one attack."""
    for attack in ATTACKS.values():
        for step in attack["steps"]:
            name = step["action"]
            taken = name in honest.STEPS or name in honest.BY_THEMSELVES
            done = hasattr(Hostile, f"_{name}")
            assert not (taken and done), name
            assert taken or done or not attack["replay"]["reproduced"], name


def test_the_command_replays() -> None:
    arguments = ("gpu-travelling", "--variant", "intra-handshake-quote", "--jobs", "1", "--replay", "--json")
    ran = carnet("attack", *arguments)
    assert ran.code == 1
    assert ran.json["replay"]["reproduced"]
    assert not ran.json["replay"]["defended"]["reproduced"]


def test_the_checker_finds_the_implementation_by_its_entry_point() -> None:
    assert [entry.name for entry in entry_points(group="carnet.replay")] == ["gpu-travelling"]
