"""Settings that every test shares: Hypothesis draws the same examples on every machine, and signals are heard."""

import fcntl
import os
import signal
from collections.abc import Generator, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import Phase, settings

from carnet_command import garbage, workers
from tests.fixtures.thorough import THOROUGH
from tests.fixtures.workers_at_hand import answered

settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True, max_examples=100 if THOROUGH else 50)
settings.register_profile("explore", parent=settings.get_profile("ci"), derandomize=False, max_examples=2_000)
settings.register_profile("failing", parent=settings.get_profile("ci"), phases=(Phase.explicit, Phase.generate))
# `--hypothesis-profile=failing` says that something fails, and makes no example small
settings.load_profile("ci")  # `pytest --hypothesis-profile=explore` draws new examples, and more of them

patch.object(garbage, "MADE", 4 * garbage.MADE).start()  # most of what tests make is kept, too, and there is more of it
garbage.look_rarely()  # as the command does

for each in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
    if signal.getsignal(each) is signal.SIG_IGN:  # under nohup or in the background, where Carnet leaves it ignored
        signal.signal(each, signal.default_int_handler if each is signal.SIGINT else signal.SIG_DFL)


@pytest.fixture(autouse=True)
def workers_at_hand(request: pytest.FixtureRequest) -> Iterator[None]:
    """Start no workers in a test, unless it is about processes."""
    if request.node.get_closest_marker("processes"):
        yield
    else:
        with patch.multiple(workers, is_one=lambda: True, answered_here=answered):
            yield


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one worker at a time do what leaves a result on the disk for the others."""
    with path.open("rb") as file:
        with suppress(OSError):  # some file systems lock no file that is only read
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Let one worker compile a module of tests, which takes longer than to load it; others find it compiled."""
    if not isinstance(collector, pytest.Module):
        return (yield)
    with locked(collector.path):
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Generator[None, None, None]:
    """Begin with what takes long, which one worker would have left when the others are done, and with what waits.

    A test about processes waits for them and for signals, while the other workers compute; in the end, all would wait.
    A test that is marked with what it verifies says so in the JUnit report. One worker looks for the constants in every
    module, from which Hypothesis draws; others find them.
    """
    for item in items:
        ids = [id for mark in item.iter_markers("verifies") for id in mark.args]
        item.user_properties += [("verifies", ", ".join(ids))] if ids else []
    items.sort(key=lambda item: [item.get_closest_marker(mark) is None for mark in ("long", "processes")])
    with locked(Path(__file__)):
        return (yield)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Use one worker more than there are processors with ``-n auto``: some tests wait for processes and signals."""
    return len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object:
    """Let every worker begin with neighbouring tests, which share what is set up for them; then it helps others."""
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)
