"""What crosses to the device and back is counted by where the device is, and adds up to what the platform carried."""

from __future__ import annotations

from pathlib import Path

import pytest

from carnet_ref.transport.crossings import Crossings, Stretch, Tally, Where, bytes_moved
from carnet_ref.transport.frames import PLATFORM, Frame, FrameKind
from carnet_ref.transport.platform import Platform

OWNER, DEVICE = "owner", "device"


def route(agent: str, clock: int = 0) -> Frame:
    return Frame(OWNER, PLATFORM, FrameKind.ROUTE, agent.encode(), clock)


def down(source: str, size: int, kind: FrameKind = FrameKind.H2D) -> Frame:
    return Frame(source, DEVICE, kind, bytes(size))


def up(size: int, kind: FrameKind = FrameKind.D2H) -> Frame:
    return Frame(DEVICE, OWNER, kind, bytes(size))


FIRST, SECOND = 11, 22
"""When the device was granted, by the clock of its owner."""
RESET = Frame(OWNER, PLATFORM, FrameKind.RESET, b"CONFIDENTIAL")
TWO_VISITS = [
    *(down(OWNER, 10, FrameKind.SESSION), up(20, FrameKind.SESSION), down(OWNER, 1_000)),
    *(route("ana", FIRST), down("ana", 300), route(OWNER), up(7), up(2_000)),
    *(route("bo", SECOND), down("bo", 400), route(OWNER), down(OWNER, 5, FrameKind.SESSION), up(8)),
]


def carried(*frames: Frame) -> Platform:
    platform = Platform(OWNER, DEVICE)
    for frame in frames:
        platform.carry(frame)
    return platform


def test_a_hand_off_is_what_crosses_from_leaving_until_leaving_again() -> None:
    stretches = carried(*TWO_VISITS).crossings.stretches
    assert [stretch.where for stretch in stretches] == [Where.SETUP, Where.AWAY, Where.HOME, Where.AWAY, Where.HOME]
    moved = bytes_moved(stretches, saved=frozenset({FIRST}))
    assert moved.to_json() == {
        "total": 3_750,
        "setup": 1_030,
        "save": 2_000,
        "per_handoff": [307, 413],
        "session": 35,
    }


def test_without_a_save_all_that_came_home_belongs_to_the_hand_off() -> None:
    moved = bytes_moved(carried(*TWO_VISITS).crossings.stretches, saved=frozenset())
    assert (moved.save, moved.per_handoff, moved.total) == (0, (2_307, 413), 3_750)


def test_a_word_that_the_device_writes_to_plain_memory_crosses_the_link_too() -> None:
    (stretch,) = carried(up(8, FrameKind.SEMAPHORE)).crossings.stretches
    assert (stretch.link, stretch.session) == (8, 0)


def test_a_grant_that_led_to_no_journey_moves_no_number() -> None:
    """Its owner died before it asked for the route, or the platform lost that; another grant follows."""
    lost, granted = 5, 9
    stretches = carried(
        RESET, route("ana", granted), down("ana", 300), route(OWNER), up(7), up(2_000)
    ).crossings.stretches
    moved = bytes_moved(stretches, saved=frozenset({granted}))
    assert (moved.save, moved.per_handoff) == (2_000, (307,))
    assert bytes_moved(stretches, saved=frozenset({lost})).per_handoff == (2_307,)


def test_each_grant_begins_a_journey_even_if_nobody_saw_the_device_come_back() -> None:
    stretches = carried(route("ana", FIRST), down("ana", 3), route("bo", SECOND), down("bo", 4)).crossings.stretches
    assert [(each.where, each.journey, each.total) for each in stretches[1:]] == [
        (Where.AWAY, FIRST, 3),
        (Where.AWAY, SECOND, 4),
    ]


def test_a_reset_begins_another_set_up_wherever_the_device_is() -> None:
    platform = carried(route("ana"), down("ana", 3), RESET, route(OWNER), down(OWNER, 90, FrameKind.SESSION))
    assert [(stretch.where, stretch.total) for stretch in platform.crossings.stretches] == [
        (Where.SETUP, 0),
        (Where.AWAY, 3),
        (Where.SETUP, 90),
    ]


@pytest.mark.parametrize(
    "frame",
    [
        down("mallory", 50),
        Frame("mallory", DEVICE, FrameKind.SESSION, bytes(50)),
        Frame("ana", OWNER, FrameKind.CHANNEL, bytes(50)),
        Frame("mallory", OWNER, FrameKind.SEMAPHORE, bytes(50)),
        Frame("mallory", PLATFORM, FrameKind.ROUTE, b"mallory"),
        Frame("mallory", PLATFORM, FrameKind.RESET, b"OPEN"),
    ],
)
def test_what_does_not_reach_the_device_is_not_counted(frame: Frame) -> None:
    assert carried(frame).crossings.stretches == [Stretch(Where.SETUP)]


def test_what_crossed_is_kept_through_a_restart(tmp_path: Path) -> None:
    def log_step(*frames: Frame) -> list[Stretch]:
        with Tally(tmp_path) as tally:
            crossings = Crossings(OWNER, DEVICE)
            for frame in frames:
                crossings.note(frame)
                tally.note(0, 0, 0, crossings.stretches)
        return crossings.stretches

    before = list(log_step(*TWO_VISITS))
    after = list(log_step(RESET, down(OWNER, 9)))
    with Tally(tmp_path) as tally:
        assert tally.stretches == [*before, *after]


def test_half_a_record_is_left_aside(tmp_path: Path) -> None:
    with Tally(tmp_path) as tally:
        tally.note(0, 0, 0, [Stretch(Where.SETUP, 1, 2, 3)])
    (crossed,) = tmp_path.glob("crossed")
    crossed.write_bytes(crossed.read_bytes() + b"half")
    with Tally(tmp_path) as tally:
        assert tally.stretches == [Stretch(Where.SETUP, 1, 2, 3)]
