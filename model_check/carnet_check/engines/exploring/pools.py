"""Worker processes for searches: they can be killed, report how far they are, and leave Ctrl-C to their parent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from carnet_check.cache import Answers, Used
from carnet_check.engines.exploration import Coverage, Search
from carnet_check.engines.exploring.remembering import Remembering
from carnet_check.engines.exploring.searches import Visits, search
from carnet_check.engines.interface import Explores
from carnet_command.worker import Lost, tell
from carnet_command.workers import WorkerPool

PATIENCE = 3600.0
"""Seconds without news after which a search counts as stuck; what it may take is counted in states and bytes."""


OnProgress = Callable[[Sequence[tuple[Search, int, int]]], None]
"""Called with the states and the depth of each search that runs."""


@dataclass(frozen=True, slots=True)
class _Reached:
    """How far a search is."""

    states: int
    depth: int


class Begun:
    """Searches that processes run while this one does something else, to be used as a context manager.

    Attributes:
        tasks: the searches.
        parts: these searches, as they are under way.
    """

    def __init__(self, explorer: Explores, tasks: Sequence[Search], jobs: int, before: Answers | None = None) -> None:
        visits = Remembering(explorer, before) if before is not None else explorer
        parts = [(visits, task, slot) for slot, task in enumerate(tasks)]
        pool = WorkerPool(max(1, min(jobs, len(tasks))), patience=PATIENCE, memory=None, keep=False)
        self.tasks = list(tasks)
        self.parts = pool.begun(_run, parts, _is_covered)

    def __enter__(self) -> Self:
        self.parts.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """End what is still running."""
        self.parts.end()


def run_all(
    explorer: Explores,
    tasks: Sequence[Search],
    jobs: int,
    on_progress: OnProgress,
    before: Answers | None = None,
) -> Iterator[tuple[Search, Coverage]]:
    """Run every task in one of ``jobs`` processes and yield what each covered as they end.

    ``on_progress`` is called with the states and the depth of each running task whenever one of them has news;
    ``before`` has what was found before.
    """
    with Begun(explorer, tasks, jobs, before) as begun:
        yield from results(begun, on_progress, before)


def results(begun: Begun, on_progress: OnProgress, before: Answers | None = None) -> Iterator[tuple[Search, Coverage]]:
    """Yield what each of the searches that were begun covered; see :func:`run_all`."""
    running: dict[int, tuple[Search, int, int]] = {}
    for (_, task, slot), said in begun.parts.results():
        if isinstance(said, Used):
            if before is not None:
                before.used.add(said)
        elif isinstance(said, _Reached):
            running[slot] = (task, said.states, said.depth)
        else:
            running.pop(slot, None)
            yield task, Coverage(task, failure=said.reason) if isinstance(said, Lost) else said
        on_progress([running[slot] for slot in sorted(running)])


def _is_covered(_part: object, said: object) -> bool:
    """Whether a search has ended: what it covered is the last that it says."""
    return isinstance(said, Coverage)


def failed(task: Search, error: Exception) -> Coverage:
    """Return what a search covered that ended with an error."""
    return Coverage(task, failure=f"{type(error).__name__}: {error}")


def _run(part: tuple[Visits, Search, int]) -> Iterator[_Reached | Used | Coverage]:
    explorer, task, _ = part
    try:
        yield search(explorer, task, lambda states, depth: tell(_Reached(states, depth)))
    except MemoryError:
        raise
    except Exception as error:  # what is wrong with one search is said of its claims
        yield failed(task, error)
