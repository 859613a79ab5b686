"""Components: where a run can go round in a graph, found on arrays of numbers.

A graph is given by the ends of its edges; nodes are numbers below ``size``. What is neither on a cycle nor between two
of them is taken away first, by whole levels; Tarjan's algorithm, without recursion, divides what is left.

Source: R. Tarjan, "Depth-First Search and Linear Graph Algorithms", SIAM J. Comput. 1(2), 1972.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]
Marks = npt.NDArray[np.bool_]
NOWHERE = -1


def components(sources: Numbers, targets: Numbers, size: int) -> Numbers:
    """Return for each node the number of its component; -1 where it has no other node in it."""
    kept = _untied(sources, targets, size) & _untied(targets, sources, size)
    found = np.full(size, NOWHERE, np.int64)
    nodes = np.nonzero(kept)[0]
    numbers = np.full(size, NOWHERE, np.int64)
    numbers[nodes] = np.arange(len(nodes))
    inside = kept[sources] & kept[targets]
    begins, ends = by_source(numbers[sources[inside]], numbers[targets[inside]], len(nodes))
    found[nodes] = _tarjan(begins.tolist(), ends.tolist(), len(nodes))
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


def _tarjan(begins: list[int], ends: list[int], size: int) -> Numbers:
    """Return for each node the number of its strongly connected component."""
    found = [NOWHERE] * size
    index, low, following = [NOWHERE] * size, [0] * size, begins[:size]
    open_: list[int] = []
    count = made = 0
    for root in range(size):
        if index[root] != NOWHERE:
            continue
        path = [root]
        while path:
            node = path[-1]
            if index[node] == NOWHERE:
                index[node] = low[node] = count
                count += 1
                open_.append(node)
            place, last = following[node], begins[node + 1]
            while place < last:
                child = ends[place]
                if index[child] == NOWHERE:
                    break
                if found[child] == NOWHERE and low[child] < low[node]:
                    low[node] = low[child]
                place += 1
            following[node] = place
            if place < last:
                path.append(ends[place])
                continue
            path.pop()
            if low[node] == index[node]:
                while True:
                    member = open_.pop()
                    found[member] = made
                    if member == node:
                        break
                made += 1
    return np.array(found, np.int64)
