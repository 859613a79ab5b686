"""Parts that workers are at while this process waits for others."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from carnet_command import workers
from carnet_command.interrupts import stoppable
from carnet_command.worker import Lost, Worker
from carnet_command.workers import WorkerPool, only

PATIENCE = 60.0


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers import nothing from the current folder, and what they run here is in this one."""
    monkeypatch.chdir(tmp_path)


def left(place: str) -> Iterator[str]:
    """Leave a file at a place, unless its name says that something goes wrong."""
    if Path(place).name == "wrong":
        raise LookupError("nothing there")
    Path(place).touch()
    yield place


def awaited(place: str) -> Iterator[bool]:
    """Wait for a file, and say whether it came."""
    until = time.monotonic() + PATIENCE
    while not Path(place).exists() and time.monotonic() < until:
        time.sleep(0.01)
    yield Path(place).exists()


def begun_here(place: str) -> Iterator[tuple[bool, list[str]]]:
    """Begin with a part in a worker; say whether that was done at once, and what was answered when asked."""
    with WorkerPool(2).begun(left, [place], only) as beside:
        at_once = Path(place).exists()
        yield at_once, [str(said) for _, said in beside.results()]


def test_all_parts_are_answered_while_others_are_waited_for(tmp_path: Path) -> None:
    places = [str(tmp_path / name) for name in "abc"]
    with WorkerPool(1, keep=False).begun(left, places, only) as beside:
        with WorkerPool(1, keep=False) as pool:
            assert [said for _, said in pool.results(awaited, [places[-1]], only)] == [True]
        assert list(beside.results()) == [(place, place) for place in places]


def test_what_goes_wrong_beside_is_said_when_it_is_asked_for(tmp_path: Path) -> None:
    places = [str(tmp_path / name) for name in ("a", "wrong", "c")]
    with WorkerPool(1, keep=False).begun(left, places, only) as beside:
        with WorkerPool(1, keep=False) as pool:
            assert [said for _, said in pool.results(awaited, [places[0]], only)] == [True]
        with pytest.raises(LookupError, match="nothing there"):
            list(beside.results())
    assert not Path(places[-1]).exists()


def test_nothing_is_left_of_it_when_the_block_ends(tmp_path: Path) -> None:
    before = set(multiprocessing.active_children())
    never = [str(tmp_path / name) for name in ("never", "never either")]
    with WorkerPool(2, keep=False).begun(awaited, never, only) as beside:
        assert len(set(multiprocessing.active_children()) - before) == 2
        beside.end()
        assert set(multiprocessing.active_children()) <= before
    assert not workers._beside


def test_a_signal_that_comes_while_it_begins_leaves_no_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = set(multiprocessing.active_children())
    started = Worker.ask

    def disturbed(worker: Worker, *asked: Any) -> bool:
        signal.raise_signal(signal.SIGINT)
        return started(worker, *asked)

    monkeypatch.setattr(Worker, "ask", disturbed)
    beginning = WorkerPool(2, keep=False).begun(awaited, [str(tmp_path / "never")], only)
    with pytest.raises(KeyboardInterrupt), stoppable(), beginning:
        pass
    assert set(multiprocessing.active_children()) <= before
    assert not workers._beside


def test_a_worker_begins_nothing_before_it_is_asked(tmp_path: Path) -> None:
    place = str(tmp_path / "a")
    with WorkerPool(1, keep=False) as pool:
        ((_, said),) = pool.results(begun_here, [place], only)
    assert not isinstance(said, Lost)
    assert said == (False, [place])
