"""The resources of a run: worker processes, a cluster, the cache, and the shard of the work to do.

Several runs can share the work: each run does one shard of the obligations and searches, and stores the answers in a
common cache. A shard establishes no claim; a later run that finds all answers in the cache does.
"""

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
    """Receives the progress of a task."""

    def status(self, text: str) -> None:
        """Receive the text of the current activity, which replaces the previous one."""

    def line(self, text: str) -> None:
        """Receive a line about a result, which is kept."""


class NullListener:
    """A listener that ignores everything."""

    def status(self, text: str) -> None:
        """Ignore the text."""

    def line(self, text: str) -> None:
        """Ignore the line."""


@dataclass(frozen=True, slots=True)
class Shard:
    """One of ``of`` parts of the work, counted from 1; every obligation and search is in exactly one."""

    number: int
    of: int

    def owns(self, name: str) -> bool:
        """Whether the obligation or search called ``name`` belongs to this shard, which the name's digest decides."""
        return int(hashlib.sha256(name.encode()).hexdigest(), 16) % self.of == self.number - 1

    def share(self, parts: Sequence[Part]) -> list[Part]:
        """Return every ``of``-th of ``parts``, for parts that are few and have a fixed order."""
        return list(parts[self.number - 1 :: self.of])

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


@dataclass(frozen=True, slots=True)
class ShardReport:
    """The result of one shard: the amount of work, and what is unanswered or went wrong."""

    engine: str
    work: str  # what is counted: obligations or explorations
    done: int
    of: int  # how many there are in all shards together, as far as this one knows
    #: Why an obligation or search has no answer, by its name; the run that joins the shards tries it again.
    open: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Runner:
    """How the work of a run is done."""

    jobs: int = 1  #: the most worker processes.
    cluster: str = ""  #: the address of the Ray cluster that answers obligations; without one, this machine does.
    folder: Path | None = None  #: the folder of the cache, or None.
    shard: Shard | None = None  #: the shard of the work to do, or None for all of it.

    def pool(self, version: Callable[[], str], *, patience: float | None = None, memory: int = MEMORY) -> Pool:
        """Return workers for obligations; ``version`` returns the solver's version, equal on all machines."""
        patience = PATIENCE if patience is None else patience
        if self.cluster:
            return RayPool(self.cluster, version, patience=patience, memory=memory)
        return WorkerPool(self.jobs, patience=patience, memory=memory)

    def answers(self, *who: str) -> AnswerCache | None:
        """Return the cache of a solver's or search's answers; ``who`` is its name, version and settings."""
        return AnswerCache(self.folder, (*who, cache.source_digest())) if self.folder is not None else None


ONE_PROCESS = Runner()  #: One process of this machine, without a cache, for all of the work.


# --------------------------------------------------------------------------------------------------
# A Ray cluster as a pool: obligations are answered on its machines, by worker processes as on this machine.
#
# Each task of the cluster starts its own worker process on its machine, with the same limits as here. If a task is
# lost, alone or with its machine, only its unanswered part is lost. The cluster must have the same solver and the same
# code as this machine; otherwise it is not used. Everyone who can connect to a Ray cluster can run any program on it.

LOCAL: Final = "local"  #: The address of a cluster that is started on this machine and ends with this process.
CONNECTING: Final = 5.0  #: Seconds that a cluster may take to accept a connection.
#: Settings: Ray sends no usage reports, and does not change the environment of its workers.
_QUIET: Final = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}


def connected_ray(address: str) -> Any:
    """Return the module of Ray once it is connected to the cluster at ``address``.

    Raises UsageError if Ray is not installed, or there is no cluster.
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
        except Exception as error:  # Ray has no common class for errors of a connection
            why = str(error).strip().split("\n")[0]
            raise UsageError(f"expected a Ray cluster at '{address}': {type(error).__name__}: {why}") from None
    return ray


def _require_reachable(address: str) -> None:
    """Require that an address with a port accepts connections: Ray would try for a minute, and then end the process.

    Raises UsageError if it does not.
    """
    host, _, port = address.rpartition(":")
    if not (host and port.isdecimal()) or "/" in host:
        return
    try:
        socket.create_connection((host, int(port)), CONNECTING).close()
    except (OSError, OverflowError) as error:
        raise UsageError(f"expected a Ray cluster at '{address}', and none answers: {error}") from None


class RayPool(Pool):
    """The processors of a Ray cluster.

    Args:
        address: the address of the cluster.
        version: returns the version of the solver, on any machine.
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
        """Do nothing: the cluster continues to run."""

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
