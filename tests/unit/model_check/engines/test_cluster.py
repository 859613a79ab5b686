"""A Ray cluster of two workers on this machine: it answers as this machine does, and a lost worker costs its part."""

import functools
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from carnet_check.engines import runner
from carnet_check.engines.explicit import explore
from carnet_check.engines.explicit.places import PlacesSearch, RayPlaces
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.runner import RayPool, connected_ray
from carnet_check.errors import UsageError
from carnet_command.worker import Lost
from tests.fixtures.unseen import sites, vote
from tests.unit.model_check.command import TOY, carnet

ray = pytest.importorskip("ray", reason="the extra 'cluster' is not installed")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture(autouse=True, scope="module")
def _two_workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = Path.cwd()
    os.environ.update(runner._QUIET)
    os.chdir(tmp_path_factory.mktemp("elsewhere"))  # workers import nothing from the current folder
    ray.init(
        address=runner.LOCAL,
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        configure_logging=False,
        runtime_env={"env_vars": {"PYTHONPATH": str(Path(__file__).parents[4])}},
    )
    yield
    ray.shutdown()
    os.chdir(before)


def said(part: str) -> Iterator[tuple[str, int]]:
    """Say which task this is, and then behave as told."""
    yield "here", os.getppid()
    if part == "killed":
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
    if part == "greedy":
        bytearray(8 << 30)
    if part == "silent":
        signal.pause()
    if part == "wrong":
        raise LookupError("nothing there")
    yield "done", os.getpid()


def version() -> str:
    return "nobody 1"


def process() -> str:
    return f"somebody {os.getpid()}"


def last(*parts: str, patience: float = 60.0) -> dict[str, Any]:
    with RayPool(runner.LOCAL, version, patience=patience) as pool:
        assert pool.jobs == 2
        return dict(pool.results(said, parts))


LOST = {"killed": "the cluster lost the worker", "greedy": "needs more memory", "silent": "said nothing for 5 s"}


@pytest.mark.parametrize("how", LOST)
def test_only_what_a_lost_worker_had_is_lost(how: str) -> None:
    found = last("one", how, "two", "three", patience=5.0 if how == "silent" else 60.0)
    lost = found.pop(how)
    assert isinstance(lost, Lost)
    assert LOST[how] in lost.reason
    assert {part: each[0] for part, each in found.items()} == dict.fromkeys(("one", "two", "three"), "done")


def test_what_goes_wrong_there_goes_wrong_here() -> None:
    with pytest.raises(LookupError, match="nothing there"):
        last("wrong")


def test_a_cluster_with_another_solver_is_asked_nothing() -> None:
    with RayPool(runner.LOCAL, process) as pool, pytest.raises(UsageError, match="expected the cluster to answer by"):
        list(pool.results(said, ["one"]))


def test_nobody_is_told_how_ray_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    from ray._common.usage import usage_lib

    monkeypatch.delenv("RAY_USAGE_STATS_ENABLED")
    assert usage_lib.usage_stats_enabled(), "Ray reports unless it is told not to, so the next lines say something"
    connected_ray(runner.LOCAL)
    assert not usage_lib.usage_stats_enabled()


def test_verdicts_are_those_of_this_machine(tmp_path: Path) -> None:
    for name, more in (("here", ()), ("there", ("--ray", "local"))):
        assert carnet("verify", TOY, "--engine", "induction", *more, "--out", str(tmp_path / name)).code == 0
    here, there = ((tmp_path / name / "verdicts.jsonl").read_bytes() for name in ("here", "there"))
    assert here == there


class Killed(RayPlaces):
    """Places of which one is killed when it has expanded a few levels."""

    left = 3

    def each(self, method: str, *arguments: Any) -> list[Any]:
        self.left -= method == "sent"
        if not self.left:
            ray.kill(self._keepers[0])
        return super().each(method, *arguments)


def test_a_search_that_goes_on_there_finds_what_it_finds_here() -> None:
    invariants = [claim.checked for claim in vote().claims if claim.invariant]
    here, there = (
        explore(vote(), sites(4), invariants=invariants, packed=packed, stop_at_first=False)
        for packed in (PackedSearch, functools.partial(PlacesSearch, places=RayPlaces(runner.LOCAL), hand_over_at=300))
    )
    assert (there.states, there.represented, there.transitions) == (here.states, here.represented, here.transitions)
    assert (there.depth, there.fired, there.complete) == (here.depth, here.fired, True)
    assert {name: len(trace.steps) for name, trace in there.violations.items()} == {
        name: len(trace.steps) for name, trace in here.violations.items()
    }


def test_a_place_that_is_killed_ends_the_search() -> None:
    packed = functools.partial(PlacesSearch, places=Killed(runner.LOCAL), hand_over_at=300)
    found = explore(vote(), sites(4), invariants=(), packed=packed)
    assert found.stopped_by == "a lost worker"
    assert found.states >= 300


def test_the_command_says_the_same_of_an_instance_explored_there() -> None:
    sizes = ("gpu-travelling", "--threat", "hypervisor", "--json")
    here = carnet("explore", *sizes, "--engine", "explicit")
    there = carnet("explore", *sizes, "--ray", "local")
    assert here.code == there.code
    for name in ("states", "transitions", "depth", "complete", "engine"):
        assert here.json[name] == there.json[name], name
    assert here.json["states"] > 40_000
