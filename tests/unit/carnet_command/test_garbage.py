"""Python looks for cycles of objects less often than by default, in a command and in its workers."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from carnet_command.garbage import MADE
from carnet_command.workers import WorkerPool, only
from tests.unit.model_check.command import TOY, carnet


@pytest.fixture(autouse=True)
def afterwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Look as often afterwards as before; workers import nothing from the current folder."""
    monkeypatch.chdir(tmp_path)
    before = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*before)


def thresholds(_: str) -> Iterator[tuple[int, int, int]]:
    """Say after how many objects this process looks."""
    yield gc.get_threshold()


def test_a_command_looks_rarely_and_still_at_what_is_older() -> None:
    assert carnet("explain", "secrecy", "--protocol", TOY).code == 0
    assert gc.get_threshold() == (MADE, 10, 10)
    assert gc.isenabled()


def test_a_worker_looks_as_rarely() -> None:
    with WorkerPool(1, keep=False) as pool:
        assert list(pool.results(thresholds, ["one"], only)) == [("one", (MADE, 10, 10))]
