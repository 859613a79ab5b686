"""A schedule as discrete events: every resource is a process that serves its tasks in order (SimPy)."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from carnet_ref.datapath.schedule import Schedule, Timing


def simulate(schedule: Schedule) -> Timing:
    """Return when each task starts and ends on a virtual clock that begins at 0 s."""
    import simpy

    clock = simpy.Environment()
    finished = [clock.event() for _ in schedule.tasks]
    starts = [0.0] * len(schedule.tasks)
    ends = [0.0] * len(schedule.tasks)

    def serve(positions: list[int]) -> Generator[Any, Any, None]:
        for position in positions:
            task = schedule.tasks[position]
            for before in task.after:
                yield finished[before]
            starts[position] = clock.now
            yield clock.timeout(task.seconds)
            ends[position] = clock.now
            finished[position].succeed()

    queues: dict[str, list[int]] = {}
    for position, task in enumerate(schedule.tasks):
        queues.setdefault(task.resource, []).append(position)
    for positions in queues.values():
        clock.process(serve(positions))
    clock.run()
    return Timing(tuple(starts), tuple(ends))
