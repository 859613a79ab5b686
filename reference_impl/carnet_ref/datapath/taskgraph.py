"""A schedule as a graph: a task ends when the longest path that leads through it does (networkx)."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from carnet_ref.datapath.quantities import Seconds
from carnet_ref.datapath.schedule import Schedule, Stage

if TYPE_CHECKING:
    import networkx as nx

SOURCE = -1
SINK = -2


def task_graph(schedule: Schedule) -> nx.DiGraph[int]:
    """Return the graph of what must end before what; an edge weighs as much as the task that it leaves.

    Node `SOURCE` precedes every task, node `SINK` follows every task.
    """
    import networkx as nx

    graph = nx.DiGraph()
    queues: dict[str, list[int]] = {}
    for position, task in enumerate(schedule.tasks):
        queues.setdefault(task.resource, []).append(position)
        graph.add_edge(SOURCE, position, seconds=0.0)
        graph.add_edge(position, SINK, seconds=task.seconds)
        for before in task.after:
            graph.add_edge(before, position, seconds=schedule.tasks[before].seconds)
    for positions in queues.values():
        for before, position in pairwise(positions):
            graph.add_edge(before, position, seconds=schedule.tasks[before].seconds)
    return graph


def critical_path(schedule: Schedule) -> tuple[int, ...]:
    """Return positions of tasks that, one after another, take as long as the whole schedule."""
    import networkx as nx

    path = nx.dag_longest_path(task_graph(schedule), weight="seconds")
    return tuple(node for node in path if node not in (SOURCE, SINK))


def longest_path_seconds(schedule: Schedule) -> Seconds:
    """Return how long the longest path takes, which is how long the schedule takes."""
    import networkx as nx

    return float(nx.dag_longest_path_length(task_graph(schedule), weight="seconds"))


def critical_seconds(schedule: Schedule) -> dict[Stage, Seconds]:
    """Return how much of the critical path each stage accounts for: where the time goes."""
    shares: dict[Stage, Seconds] = {}
    for position in critical_path(schedule):
        task = schedule.tasks[position]
        shares[task.stage] = shares.get(task.stage, 0.0) + task.seconds
    return shares
