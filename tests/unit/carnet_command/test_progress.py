"""Long work is never silent: heartbeats, a live line on a terminal, and a guess at the time that is left."""

from __future__ import annotations

import time

import pytest

from carnet_command.progress import ERASE, Heartbeat, LiveLine, Pace


def test_silence_is_broken_by_a_heartbeat(capsys: pytest.CaptureFixture[str]) -> None:
    with Heartbeat(every=0.1) as shown:
        shown.status("counting states")
        time.sleep(0.5)
    spoken = capsys.readouterr()
    assert "counting states" in spoken.err
    assert spoken.out == ""


def test_a_long_line_of_progress_hangs(capsys: pytest.CaptureFixture[str]) -> None:
    Heartbeat().line("engine-per-holder · collusion: " + "1,234 states, depth 40, " * 4 + "in 1.0 s")
    first, second = capsys.readouterr().err.splitlines()
    assert len(first) <= 80
    assert second.startswith("  ")


def test_the_time_left_is_guessed_once_there_is_something_to_go_by() -> None:
    times = iter([0.0, 10.0, 12.0, 20.0, 30.0, 40.0, 41.0])
    pace = Pace(clock=lambda: next(times))
    assert pace.left(1, 100) == ""  # the clock starts here, at 10 s
    assert pace.left(2, 100) == "", "two seconds are too few"
    assert pace.left(11, 100) == ", about 89 s left"
    assert pace.left(21, 1000) == ", about 16 min left"
    assert pace.left(1, 50) == "", "another count, another clock"
    assert pace.left(50, 50) == ""


def on_screen(written: str) -> list[str]:
    """Return the lines that a terminal shows once all of this was written to it."""
    return [line.rpartition(ERASE)[2] for line in written.split("\n")]


def test_a_live_line_is_written_over_cut_at_the_edge_and_taken_away(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    with LiveLine() as shown:
        shown.status("1,234 states, of a name that ends \x1b[2J")
        time.sleep(1.0)
        seen = capsys.readouterr().err
        shown.line("all of it in 1.0 s")
        shown.status("the next")
        time.sleep(1.0)
    after = capsys.readouterr().err
    (last,) = on_screen(seen)
    assert "] 1,234 states, of a name" in last
    assert "\x1b" not in last
    assert len(last) < 40
    assert "] the next" in after
    assert on_screen(after) == ["all of it in 1.0 s", ""]


def test_other_output_finds_no_live_line(capsys: pytest.CaptureFixture[str]) -> None:
    with LiveLine() as shown:
        shown.status("counting")
        time.sleep(1.0)
        shown.status("")
        time.sleep(0.5)
        assert on_screen(capsys.readouterr().err) == [""]
