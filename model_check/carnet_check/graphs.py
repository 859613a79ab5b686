"""Strongly connected components, by Tarjan's algorithm without recursion.

Source: R. Tarjan, "Depth-First Search and Linear Graph Algorithms", SIAM J. Comput. 1(2), 1972.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import TypeVar

Node = TypeVar("Node", bound=Hashable)
NOWHERE = -1


def components(edges: Mapping[Node, Iterable[Node]]) -> list[list[Node]]:
    """Return the components of a graph, each after those that its nodes lead to; ``edges`` has every node."""
    numbers = {node: number for number, node in enumerate(edges)}
    led = [[numbers[node] for node in nodes] for nodes in edges.values()]
    begins = list(accumulate(map(len, led), initial=0))
    found = strongly_connected(begins, [number for each in led for number in each], len(led))
    together: list[list[Node]] = [[] for _ in range(max(found, default=NOWHERE) + 1)]
    for node, number in zip(edges, found, strict=True):
        together[number].append(node)
    return together


def strongly_connected(begins: Sequence[int], ends: Sequence[int], size: int) -> list[int]:
    """Return for each node the number of its component; one that others lead to has a lower number than they.

    Args:
        begins: where the edges of each node begin in ``ends``, and how many edges there are.
        ends: where the edges lead.
        size: how many nodes there are, which are the numbers below it.
    """
    found = [NOWHERE] * size
    index, low, following = [NOWHERE] * size, [0] * size, list(begins[:size])
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
    return found
