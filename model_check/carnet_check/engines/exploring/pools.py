"""Worker processes for searches: they can be killed, report how far they are, and leave Ctrl-C to their parent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any

from carnet_check.engines.exploration import Coverage, Search
from carnet_check.engines.exploring.searches import search
from carnet_check.engines.interface import Explores
from carnet_command.interrupts import held_back
from carnet_command.processes import isolated_spawn

POLL_SECONDS = 0.2

_counters: Any = None


def run_all(
    explorer: Explores,
    tasks: Sequence[Search],
    jobs: int,
    on_progress: Callable[[Sequence[tuple[Search, int, int]]], None],
) -> Iterator[tuple[Search, Coverage]]:
    """Run every task in one of ``jobs`` processes and yield what each covered as they end.

    ``on_progress`` is called a few times a second with the states and the depth of each running task.
    """
    from pebble import ProcessPool

    context = isolated_spawn()
    counters = context.Array("q", 2 * max(1, len(tasks)), lock=False)
    pool: Any = ProcessPool(
        max_workers=min(jobs, max(1, len(tasks))), initializer=_enter, initargs=(counters,), context=context
    )
    try:
        with held_back():
            waiting: dict[Future[Coverage], tuple[int, Search]] = {
                pool.schedule(_run, args=(explorer, task, slot)): (slot, task) for slot, task in enumerate(tasks)
            }
        while waiting:
            done, _ = wait(waiting, timeout=POLL_SECONDS, return_when=FIRST_COMPLETED)
            for future in done:
                _, task = waiting.pop(future)
                error = future.exception()
                if error is not None and not isinstance(error, Exception):
                    raise error
                yield task, future.result() if error is None else failed(task, error)
            running = ((task, counters[2 * slot], counters[2 * slot + 1]) for slot, task in waiting.values())
            on_progress([(task, states, depth) for task, states, depth in running if states])
        pool.close()
    finally:
        pool.stop()
        pool.join()


def failed(task: Search, error: Exception) -> Coverage:
    """Return what a search covered that ended with an error."""
    return Coverage(task, failure=f"{type(error).__name__}: {error}")


def _enter(counters: Any) -> None:
    global _counters  # noqa: PLW0603 # a worker's own slot board, set once when the worker starts
    _counters = counters


def _run(explorer: Explores, task: Search, slot: int) -> Coverage:
    def watch(states: int, depth: int) -> None:
        _counters[2 * slot] = states
        _counters[2 * slot + 1] = depth

    return search(explorer, task, watch)
