"""A schedule as a recurrence in the (max, +) algebra: x(i) = c(i) ⊗ (x(previous on the resource) ⊕ ⊕ x(waited for)).

One pass over the list, so the cost is linear in tasks. For equal chunks of a pipeline the recurrence has a closed form.

Source: F. Baccelli, G. Cohen, G. J. Olsder, J.-P. Quadrat, "Synchronization and Linearity" (1992).
"""

from __future__ import annotations

from carnet_ref.datapath.quantities import Seconds
from carnet_ref.datapath.schedule import Schedule, Timing


def completion(schedule: Schedule) -> Timing:
    """Return when each task starts and ends, in seconds from the beginning."""
    free: dict[str, Seconds] = {}
    starts: list[Seconds] = []
    ends: list[Seconds] = []
    for task in schedule.tasks:
        start = free.get(task.resource, 0.0)
        for before in task.after:
            start = max(start, ends[before])
        end = start + task.seconds
        free[task.resource] = end
        starts.append(start)
        ends.append(end)
    return Timing(tuple(starts), tuple(ends))


def makespan(schedule: Schedule) -> Seconds:
    """Return when the last task ends, in seconds."""
    return completion(schedule).makespan
