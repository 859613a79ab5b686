"""A hand-off moves the data, and as little beside it, whatever the size of the model, which stays on the GPU."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner

from carnet_check.cli import main
from carnet_ref.systems.gpu_travelling.commands.running import RunRequest, _saved
from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_ref.training.characters import CharacterModel
from carnet_ref.transport.crossings import BytesMoved, bytes_moved
from carnet_ref.transport.frames import Frame, FrameKind
from tests.fixtures.worlds import TestWorld, world_of

SIZES = (4, 32, 256)
"""Units of the hidden layer: models of 11, 87 and 692 KB."""
CHUNKS, CHUNK_BYTES = 3, 2048
MOST = 1.1 * CHUNKS * CHUNK_BYTES + (64 << 10)
ELSEWHERE = {FrameKind.CHANNEL, FrameKind.ROUTE, FrameKind.RESET}


def told(*args: object) -> dict[str, Any]:
    ran = CliRunner().invoke(main, ["run", *map(str, args), "--json"])
    assert ran.exit_code == 0, ran.stderr
    fields: dict[str, Any] = json.loads(ran.stdout)
    return fields


def within(fields: dict[str, Any]) -> None:
    """Insist on what a hand-off may move, and that the parts make the whole."""
    moved, dataset = fields["bytes_moved"], fields["bytes_provisioned"] / fields["handoffs"]
    assert len(moved["per_handoff"]) == fields["handoffs"]
    assert max(moved["per_handoff"]) <= 1.1 * dataset + (64 << 10)
    assert min(moved["per_handoff"]) > dataset
    assert moved["total"] == moved["setup"] + moved["save"] + sum(moved["per_handoff"])
    assert 0 < moved["session"] < moved["total"]


def test_a_hand_off_moves_the_same_with_a_model_of_any_size() -> None:
    runs = [told("--rounds", 3, "--hidden", hidden) for hidden in SIZES]
    for fields, hidden in zip(runs, SIZES, strict=True):
        within(fields)
        model = len(CharacterModel(hidden=hidden).first_model())
        assert model < fields["bytes_moved"]["save"] < model + 100
        assert model < fields["bytes_moved"]["setup"] < model + (16 << 10)
    handoffs = [fields["bytes_moved"]["per_handoff"] for fields in runs]
    assert max(map(max, handoffs)) - min(map(min, handoffs)) < 200


@pytest.mark.slow
@pytest.mark.parametrize("hidden", SIZES)
def test_a_hand_off_between_processes_moves_no_model_either(hidden: int) -> None:
    fields = told("--holders", 3, "--rounds", 9, "--processes", "--hidden", hidden)
    within(fields)
    assert fields["conforms"] is True


def test_a_model_that_comes_home_after_every_round_is_no_part_of_a_hand_off() -> None:
    often, once = (told("--rounds", 4, "--save-every", every)["bytes_moved"] for every in (1, 4))
    assert often["save"] == 4 * once["save"]
    assert max(often["per_handoff"]) - max(once["per_handoff"]) < 500, "an order more, and a report"


@pytest.mark.parametrize("schedule", ["sealed-under-master", "reset"])
def test_a_new_session_is_set_up_anew_and_its_hand_offs_stay_small(schedule: str) -> None:
    fields = told("--rounds", 3, "--key-schedule", schedule)
    within(fields)
    model = len(CharacterModel().first_model())
    uploads = 3 if schedule == "reset" else 1
    assert uploads * model < fields["bytes_moved"]["setup"] < uploads * (model + (16 << 10))


def run_of(deployment: Deployment) -> tuple[TestWorld, BytesMoved, int]:
    """Return a run, what it moved, and how many bytes reached the device or left it."""
    world, _ = world_of(deployment)
    crossed: list[Frame] = []
    world.platform.keep = crossed.append
    world.run()
    sizes = [len(frame.body) for frame in crossed if frame.kind not in ELSEWHERE]
    return world, bytes_moved(world.platform.crossings.stretches, _saved(world.recorder.lines)), sum(sizes)


@pytest.mark.parametrize("schedule", ["engine-per-holder", "sealed-under-master"])
def test_every_byte_over_the_link_is_counted_once(schedule: str) -> None:
    _, moved, crossed = run_of(Deployment(holder_names(2), 3, schedule))
    assert moved.total == crossed


def test_a_hand_off_that_moves_the_model_is_seen() -> None:
    """A model that crosses is part of the hand-off, unless it is known to have come home after it."""
    trainer = CharacterModel(hidden=SIZES[-1])
    world, moved, _ = run_of(Deployment(holder_names(1), 2, save_every=1, trainer=trainer))
    undeclared = bytes_moved(world.platform.crossings.stretches, frozenset())
    assert max(moved.per_handoff) <= MOST < min(undeclared.per_handoff)
    assert undeclared.total == moved.total


def test_a_run_is_repeated_with_the_same_size() -> None:
    words = RunRequest(2, 2, "reset", hidden=8).rerun.split()
    assert words[words.index("--hidden") + 1] == "8"


def test_every_grant_of_a_run_is_found_again_by_its_journey() -> None:
    world, moved, _ = run_of(Deployment(holder_names(2), 3, save_every=1))
    events = [json.loads(line) for line in world.recorder.lines]
    grants = {event["clock"] for event in events if event.get("action") == "grant"}
    assert _saved(world.recorder.lines) == grants
    assert {each.journey for each in world.platform.crossings.stretches} - {0} == grants
    assert len(moved.per_handoff) == len(grants)
