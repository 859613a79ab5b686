"""Components: where a run can go round in a graph, found on arrays of numbers.

A graph is given by the ends of its edges; nodes are numbers below ``size``. What is neither on a cycle nor between two
of them is taken away first, by whole levels.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from carnet_check.graphs import NOWHERE, strongly_connected

Numbers = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]


def components(sources: Numbers, targets: Numbers, size: int) -> Numbers:
    """Return for each node the number of its component; -1 where it has no other node in it."""
    kept = _untied(sources, targets, size) & _untied(targets, sources, size)
    found = np.full(size, NOWHERE, np.int64)
    nodes = np.nonzero(kept)[0]
    numbers = np.full(size, NOWHERE, np.int64)
    numbers[nodes] = np.arange(len(nodes))
    inside = kept[sources] & kept[targets]
    begins, ends = by_source(numbers[sources[inside]], numbers[targets[inside]], len(nodes))
    found[nodes] = strongly_connected(begins.tolist(), ends.tolist(), len(nodes))
    sizes = np.bincount(found[nodes], minlength=1)
    found[nodes[sizes[found[nodes]] < 2]] = NOWHERE
    return found


def by_source(sources: Numbers, targets: Numbers, size: int) -> tuple[Numbers, Numbers]:
    """Return where the edges of each node begin, and where they lead, node after node."""
    order = np.argsort(sources, kind="stable")
    begins = np.zeros(size + 1, np.int64)
    np.cumsum(np.bincount(sources, minlength=size), out=begins[1:])
    return begins, targets[order]


def gathered(begins: Numbers, nodes: Numbers) -> Numbers:
    """Return the places of all edges of some nodes."""
    counts = begins[nodes + 1] - begins[nodes]
    starts = np.repeat(begins[nodes] - np.cumsum(counts) + counts, counts)
    return starts + np.arange(len(starts))


def _untied(sources: Numbers, targets: Numbers, size: int) -> Marks:
    """Return the nodes that are left once those are taken away, again and again, that no edge leads to."""
    begins, ends = by_source(sources, targets, size)
    waiting = np.bincount(targets, minlength=size)
    left = np.ones(size, np.bool_)
    free = np.nonzero(waiting == 0)[0]
    while len(free):
        left[free] = False
        reached = ends[gathered(begins, free)]
        np.subtract.at(waiting, reached, 1)
        free = np.unique(reached[waiting[reached] == 0])
    return left
