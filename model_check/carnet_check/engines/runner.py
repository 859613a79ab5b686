"""Where obligations are answered: in how many processes, on which machines, and what is remembered of earlier answers.

Several runs can share the work: each takes the obligations and searches that fall to it, and leaves the answers in one
cache. Such a shard establishes no claim; the run that finds all answers there does.
"""

from __future__ import annotations

import hashlib
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Final, Protocol

from carnet_check import cache
from carnet_check.cache import AnswerCache, source_digest
from carnet_check.errors import UsageError
from carnet_command.worker import STARTING, Answer, Lost, Part
from carnet_command.workers import MEMORY, PATIENCE, IsLast, Pool, Work, WorkerPool


class Listener(Protocol):
    """Is told how far a task is."""

    def status(self, text: str) -> None:
        """Take note of what goes on now; replaces what was said before."""

    def line(self, text: str) -> None:
        """Take note of what was just established."""


class NullListener:
    """Listens, and says nothing."""

    def status(self, text: str) -> None:
        """Say nothing."""

    def line(self, text: str) -> None:
        """Say nothing."""


@dataclass(frozen=True, slots=True)
class Shard:
    """One of ``of`` parts of the work, counted from 1. Every piece of work is in exactly one."""

    number: int
    of: int

    def owns(self, name: str) -> bool:
        """Whether the piece of work called ``name`` is in this part: its digest says so, in every run alike."""
        return int(hashlib.sha256(name.encode()).hexdigest(), 16) % self.of == self.number - 1

    def share(self, parts: Sequence[Part]) -> list[Part]:
        """Return every ``of``-th of the parts, which are few and have a fixed order."""
        return list(parts[self.number - 1 :: self.of])

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


@dataclass(frozen=True, slots=True)
class ShardReport:
    """What became of one part of the work: how much there was of it, and what is left open or went wrong."""

    engine: str
    work: str  # what is counted: obligations or explorations
    done: int
    of: int  # how many there are in all parts together, as far as this one can tell
    open: Mapping[str, str] = field(default_factory=dict)
    """Why something has no answer, by its name; the run that joins the parts asks again."""
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Runner:
    """How the work of a run is done.

    Attributes:
        jobs: how many worker processes there may be.
        cluster: the address of the Ray cluster that answers obligations; without one, this machine does.
        folder: where answers are kept and looked up, if anywhere.
        shard: the part of the work to do, if not all of it.
    """

    jobs: int = 1
    cluster: str = ""
    folder: Path | None = None
    shard: Shard | None = None

    def pool(self, version: Callable[[], str], *, patience: float | None = None, memory: int = MEMORY) -> Pool:
        """Return workers for obligations; ``version`` says who answers, and says the same wherever they are."""
        patience = PATIENCE if patience is None else patience
        if self.cluster:
            return RayPool(self.cluster, version, patience=patience, memory=memory)
        return WorkerPool(self.jobs, patience=patience, memory=memory)

    def answers(self, *who: str) -> AnswerCache | None:
        """Return the earlier answers of a solver or search, which ``who`` names with its version and settings."""
        return AnswerCache(self.folder, (*who, cache.source_digest())) if self.folder is not None else None


ONE_PROCESS = Runner()
"""One process of this machine, nothing remembered and nothing left out."""


# --------------------------------------------------------------------------------------------------
# A Ray cluster as workers: obligations are answered on its machines, by the same workers that are used here.
#
# Each task of the cluster has a worker process of its own on its machine, with the same bounds as here; a task that is
# lost, with its machine or alone, costs what it had not answered. Whatever answers there has to be what would answer
# here, the same solver and the same code, or nothing is asked. Who may reach a Ray cluster may run any program on it.

LOCAL: Final = "local"
"""Stands for a cluster that is started on this machine and ends with this process."""
CONNECTING: Final = 5.0
"""Seconds that a cluster has to take a connection."""
_QUIET: Final = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""Ray reports to nobody how it is used, and leaves the environment of its workers alone."""


def connected_ray(address: str) -> Any:
    """Return the module of Ray once it is connected to the cluster at ``address``.

    Raises:
        UsageError: Ray is not installed, or there is no cluster.
    """
    os.environ.update(_QUIET)
    try:
        import ray
    except ImportError:
        raise UsageError("--ray expects the extra 'cluster' (pip install 'carnet[cluster]')") from None
    if not ray.is_initialized():
        _require_reachable(address)
        started = {"include_dashboard": False} if address == LOCAL else {}
        try:
            ray.init(address=address, log_to_driver=False, configure_logging=False, **started)
        except Exception as error:  # Ray has no common class for what keeps it from a cluster
            why = str(error).strip().split("\n")[0]
            raise UsageError(f"expected a Ray cluster at '{address}': {type(error).__name__}: {why}") from None
    return ray


def _require_reachable(address: str) -> None:
    """Insist that somebody listens at an address with a port: Ray itself tries for a minute, and then ends the process.

    Raises:
        UsageError: nobody does.
    """
    host, _, port = address.rpartition(":")
    if not (host and port.isdecimal()) or "/" in host:
        return
    try:
        socket.create_connection((host, int(port)), CONNECTING).close()
    except (OSError, OverflowError) as error:
        raise UsageError(f"expected a Ray cluster at '{address}', and nobody answers: {error}") from None


class RayPool(Pool):
    """The processors of a Ray cluster.

    Args:
        address: where it is.
        version: says who answers, here and there.
        patience: seconds without an answer after which a worker, or a task, counts as stuck.
        memory: bytes of address space that a worker may have.
    """

    def __init__(
        self, address: str, version: Callable[[], str], *, patience: float = PATIENCE, memory: int = MEMORY
    ) -> None:
        self._ray = connected_ray(address)
        self._asked = (version, (version(), source_digest()), patience, memory)
        self._silence = patience + 2 * STARTING
        self.jobs = max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def __exit__(self, *_: object) -> None:
        """Do nothing: the cluster goes on."""

    def results(
        self,
        function: Callable[[Part], Iterable[Answer]],
        parts: Iterable[Part],
        last: IsLast[Part, Answer] | None = None,
    ) -> Iterator[tuple[Part, Answer | Lost]]:
        """Yield the answers of tasks of the cluster; see :meth:`Pool.results`."""
        remote = self._ray.remote(num_cpus=1, max_retries=0, num_returns="streaming")(_answers)
        waiting = iter(parts)
        busy: dict[Any, tuple[Work[Part], float]] = {}
        try:
            while True:
                for part in islice(waiting, self.jobs - len(busy)):
                    busy[remote.remote(function, part, *self._asked)] = (Work(part), self._deadline())
                if not busy:
                    return
                for task in self._ready_tasks(busy):
                    work, deadline = busy.pop(task)
                    if deadline <= time.monotonic():
                        self._ray.cancel(task, force=True)
                        said: Any = Lost(f"the cluster said nothing for {self._silence:g} s")
                    else:
                        try:
                            said = self._task_result(next(task))
                        except StopIteration:
                            continue
                        if not isinstance(said, Lost):
                            busy[task] = (work, self._deadline())
                    if work.awaits(said, last):
                        yield work.part, said
        finally:
            for task in busy:
                self._ray.cancel(task, force=True)

    def _deadline(self) -> float:
        return time.monotonic() + self._silence

    def _ready_tasks(self, busy: dict[Any, tuple[Any, float]]) -> list[Any]:
        soonest = min(deadline for _, deadline in busy.values())
        ready, _ = self._ray.wait(list(busy), num_returns=1, timeout=max(0.0, soonest - time.monotonic()))
        return list(ready) or [task for task, (_, deadline) in busy.items() if deadline <= time.monotonic()]

    def _task_result(self, reference: Any) -> Any:
        errors = self._ray.exceptions
        try:
            return self._ray.get(reference)
        except errors.RayTaskError as error:
            raise error.cause from None
        except errors.RayError as error:
            return Lost(f"the cluster lost the worker: {type(error).__name__}")


def _answers(
    function: Callable[[Part], Iterable[Answer]],
    part: Part,
    version: Callable[[], str],
    expected: tuple[str, str],
    patience: float,
    memory: int,
) -> Iterator[Answer | Lost]:
    """Answer on a machine of the cluster, in a worker that can be killed."""
    there = (version(), source_digest())
    if there != expected:
        raise UsageError(f"expected the cluster to answer by {_version_of(expected)}, and it has {_version_of(there)}")
    with WorkerPool(1, patience=patience, memory=memory) as pool:
        yield from (said for _, said in pool.results(function, [part]))


def _version_of(who: tuple[str, str]) -> str:
    return f"{who[0]} and Carnet's code {who[1][:16]}"
