"""Workers: whatever becomes of one, its own part of the work is lost and nothing else, also beside other work."""

import contextlib
import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from carnet_command import workers
from carnet_command.garbage import MADE
from carnet_command.interrupts import stoppable
from carnet_command.progress import Heartbeat
from carnet_command.worker import OUT_OF_MEMORY, Lost, Worker, tell
from carnet_command.workers import WorkerPool, only
from tests.fixtures.workers_at_hand import answered
from tests.unit.model_check.command import TOY, carnet

pytestmark = pytest.mark.processes

MEBIBYTE = 1024**2


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers import nothing from the current folder, and what they run here is in this one."""
    monkeypatch.chdir(tmp_path)


def behaving(how: str) -> Iterator[tuple[str, int]]:
    """Say which process this is, and then behave as told."""
    yield "here", os.getpid()
    if how == "for ever":
        while True:
            time.sleep(1)
    if how == "greedy":
        bytearray(8 * 1024 * MEBIBYTE)
    if how == "wrong":
        raise LookupError("nothing there")
    if how == "gone":
        os._exit(7)
    yield "done", os.getpid()


PARTS = ["fine", "odd one", "well", "good"]


def _told(jobs: int, how: str, *, kill: bool = False, patience: float = 60.0) -> dict[str, tuple[str, int] | Lost]:
    """Return the last answer to each part, one of which behaves as told."""
    parts = [how if part == "odd one" else part for part in PARTS]
    last: dict[str, tuple[str, int] | Lost] = {}
    with WorkerPool(jobs, patience=patience) as pool:
        for part, said in pool.results(behaving, parts):
            last[part] = said
            if kill and part == how and not isinstance(said, Lost):
                os.kill(said[1], signal.SIGKILL)
    return last


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("how", "kill", "patience", "reason"),
    [
        ("for ever", True, 60.0, "the worker was killed by signal 9"),
        ("for ever", False, 0.5, "the worker said nothing for 0.5 s"),
        ("greedy", False, 60.0, OUT_OF_MEMORY),
        ("gone", False, 60.0, "the worker ended with exit code 7"),
    ],
)
def test_only_what_a_lost_worker_had_is_lost(jobs: int, how: str, kill: bool, patience: float, reason: str) -> None:
    last = _told(jobs, how, kill=kill, patience=patience)
    assert last.pop(how) == Lost(reason)
    assert {part: said[0] for part, said in last.items() if not isinstance(said, Lost)} == dict.fromkeys(
        (part for part in PARTS if part != "odd one"), "done"
    )


def telling(part: str) -> Iterator[str]:
    for each in (f"first {part}", f"second {part}"):
        tell(f"soon: {each}")
        yield each
    tell("nothing more")


def test_other_tests_hear_at_hand_what_a_worker_would_say() -> None:
    with WorkerPool(1) as pool:
        assert list(answered(telling, PARTS)) == list(pool.results(telling, PARTS))
    with pytest.raises(LookupError, match="nothing there"):
        list(answered(behaving, ["wrong"]))


def test_what_goes_wrong_in_a_worker_goes_wrong_here() -> None:
    with pytest.raises(LookupError, match="nothing there"):
        _told(1, "wrong")


def _process(part: str) -> int:
    with WorkerPool(1) as pool:
        (_, (_, said)) = pool.results(behaving, [part])
    assert not isinstance(said, Lost)
    return said[1]


def test_a_worker_without_work_is_used_again_and_replaced_if_it_is_gone() -> None:
    first = _process("one")
    assert first != os.getpid()
    assert _process("two") == first
    os.kill(first, signal.SIGKILL)
    while _alive(first):
        time.sleep(0.01)
    assert _process("three") != first


def _alive(pid: int) -> bool:
    """Whether a process has a thread that has not ended; its first one may end before the others."""
    stats = list(Path(f"/proc/{pid}/task").glob("*/stat"))
    with contextlib.suppress(OSError):
        return any(stat.read_text().rpartition(")")[2].split()[0] not in "ZX" for stat in stats)
    return _alive(pid)


def test_few_workers_are_kept() -> None:
    with WorkerPool(4) as pool:
        assert len(list(pool.results(behaving, list("abcdefgh")))) == 16
    assert len(workers._kept) <= workers.KEPT


@pytest.mark.parametrize("given", [signal.SIGINT, signal.SIGHUP])
def test_a_signal_while_a_worker_starts_leaves_no_worker(
    given: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python runs a handler in the main thread even where another thread, such as one of NumPy's, took the signal."""
    started = Worker.ask
    before = set(multiprocessing.active_children())

    def disturbed(worker: Worker, *asked: Any) -> bool:
        signal.raise_signal(given)
        return started(worker, *asked)

    monkeypatch.setattr(Worker, "ask", disturbed)
    with pytest.raises(KeyboardInterrupt), stoppable(), WorkerPool(1, keep=False) as pool:  # as above
        list(pool.results(behaving, ["for ever"]))
    assert set(multiprocessing.active_children()) <= before


def killed_after_its_answer(part: str) -> Iterator[str]:
    """Answer, and be killed before anybody hears that this was all."""
    yield part.upper()
    if part.startswith("killed"):
        os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("jobs", [1, 2])
def test_nothing_is_lost_with_a_worker_that_has_given_the_last_answer(jobs: int) -> None:
    parts = ["one", "killed", "killed too", "two"]
    with WorkerPool(jobs, keep=False) as pool:
        found = list(pool.results(killed_after_its_answer, parts, only))
        assert sorted(found) == sorted((part, part.upper()) for part in parts)
        unsure = [said for _, said in pool.results(killed_after_its_answer, parts)]
    assert unsure.count(Lost("the worker was killed by signal 9")) == 2


def test_what_comes_before_the_last_answer_can_be_lost() -> None:
    with WorkerPool(1, keep=False) as pool:
        found = list(pool.results(behaving, ["gone"], lambda _, said: not isinstance(said, Lost) and said[0] == "done"))
    assert [type(said) for _, said in found] == [tuple, Lost]


PARENT = """
from carnet_command.workers import WorkerPool
from tests.unit.carnet_command.test_workers import behaving

with WorkerPool(1) as pool:
    for _, said in pool.results(behaving, ["for ever"]):
        print(said[1], flush=True)
"""


def test_a_worker_ends_with_the_process_that_started_it() -> None:
    here = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, env=here) as parent:
        assert parent.stdout is not None
        worker = int(parent.stdout.readline())
        assert _alive(worker)
        parent.kill()
    until = time.monotonic() + 30
    while _alive(worker) and time.monotonic() < until:
        time.sleep(0.05)
    assert not _alive(worker)


PATIENCE = 60.0


def left(place: str) -> Iterator[str]:
    """Leave a file at a place, unless its name says that something goes wrong."""
    if Path(place).name == "wrong":
        raise LookupError("nothing there")
    Path(place).touch()
    yield place


def awaited(place: str) -> Iterator[bool]:
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


built: list[str] = []


def known(_: str) -> Iterator[tuple[list[str], list[str]]]:
    """Say what this process has built, and what it does at a signal."""
    yield built, [str(signal.getsignal(each)) for each in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)]


def _known_to_a_worker() -> tuple[list[str], list[str]]:
    with stoppable(), WorkerPool(1, keep=False) as pool:
        ((_, said),) = pool.results(known, ["one"], only)
    assert not isinstance(said, Lost)
    return said


@pytest.fixture
def something_built() -> Iterator[None]:
    built.append("something")
    yield
    built.clear()


@pytest.mark.usefixtures("something_built")
def test_a_forked_worker_has_what_was_built_and_ends_at_a_signal() -> None:
    with Heartbeat():
        assert _known_to_a_worker() == (["something"], [str(signal.SIG_DFL)] * 3)


@pytest.mark.usefixtures("something_built")
def test_beside_a_thread_that_may_hold_locks_a_worker_is_spawned() -> None:
    over = threading.Event()
    beside = threading.Thread(target=over.wait)
    beside.start()
    try:
        assert _known_to_a_worker()[0] == []
    finally:
        over.set()
        beside.join()


class SlowStream:
    """Holds a lock for as long as it takes to write something, as a stream does."""

    def __init__(self) -> None:
        self.held = threading.Lock()

    def write(self, _text: str) -> None:
        with self.held:
            time.sleep(0.05)

    def flush(self) -> None:
        """Nothing waits to be written."""


def complaining(part: str) -> Iterator[str]:
    """Write to standard error, as a process does that fails."""
    sys.stderr.write(part)
    yield part


def test_no_worker_is_forked_while_a_heartbeat_writes(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would wait for what the heartbeat held then."""
    monkeypatch.setattr(sys, "stderr", SlowStream())
    for _ in range(3):
        with Heartbeat(every=0.0), WorkerPool(1, patience=5.0, keep=False) as pool:
            assert list(pool.results(complaining, ["one"], only)) == [("one", "one")]


@pytest.fixture
def looks_often() -> Iterator[None]:
    """Look for cycles as often as Python does by default, and afterwards as often as before."""
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def thresholds(_: str) -> Iterator[tuple[int, int, int]]:
    """Say after how many objects this process looks."""
    yield gc.get_threshold()


def test_a_command_looks_rarely_and_still_at_what_is_older(looks_often: None) -> None:
    assert carnet("explain", "secrecy", "--protocol", TOY).code == 0
    assert gc.get_threshold() == (MADE, 10, 10)
    assert gc.isenabled()


def test_a_worker_looks_as_rarely(looks_often: None) -> None:
    with WorkerPool(1, keep=False) as pool:
        assert list(pool.results(thresholds, ["one"], only)) == [("one", (MADE, 10, 10))]
