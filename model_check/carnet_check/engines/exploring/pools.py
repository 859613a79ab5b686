"""Worker processes for searches: they can be killed, report how far they are, and leave Ctrl-C to their parent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from carnet_check.cache import Answers, Used
from carnet_check.engines.exploration import Coverage, Search
from carnet_check.engines.exploring.remembering import Remembering
from carnet_check.engines.exploring.searches import Visits, search
from carnet_check.engines.interface import Explores
from carnet_command.workers import Lost, WorkerPool, tell

PATIENCE = 3600.0
"""Seconds without news after which a search counts as stuck; what it may take is counted in states and bytes."""


@dataclass(frozen=True, slots=True)
class _Reached:
    """How far a search is."""

    states: int
    depth: int


def run_all(
    explorer: Explores,
    tasks: Sequence[Search],
    jobs: int,
    on_progress: Callable[[Sequence[tuple[Search, int, int]]], None],
    before: Answers | None = None,
) -> Iterator[tuple[Search, Coverage]]:
    """Run every task in one of ``jobs`` processes and yield what each covered as they end.

    ``on_progress`` is called with the states and the depth of each running task whenever one of them has news;
    ``before`` has what was found before.
    """
    if not tasks:
        return
    running: dict[int, tuple[Search, int, int]] = {}
    visits = Remembering(explorer, before) if before is not None else explorer
    parts = [(visits, task, slot) for slot, task in enumerate(tasks)]
    with WorkerPool(min(jobs, len(tasks)), patience=PATIENCE, memory=None, keep=False) as pool:
        for (_, task, slot), said in pool.results(_run, parts, _is_covered):
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
