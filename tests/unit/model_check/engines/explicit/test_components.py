"""Components are those of a textbook, on random graphs; edges are gathered node after node."""

from __future__ import annotations

import networkx as nx
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from carnet_check.engines.explicit.liveness import NOWHERE, by_source, components, gathered

SIZE = 9
edges = st.lists(st.tuples(st.integers(0, SIZE - 1), st.integers(0, SIZE - 1)), max_size=24)


def _ends(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    ends = np.array(pairs, np.int64).reshape(-1, 2)
    return ends[:, 0], ends[:, 1]


@given(edges)
def test_components_are_the_strongly_connected_ones_of_several_nodes(pairs: list[tuple[int, int]]) -> None:
    graph = nx.DiGraph(pairs)
    expected = {frozenset(each) for each in nx.strongly_connected_components(graph) if len(each) > 1}
    found = components(*_ends(pairs), SIZE)
    groups: dict[int, set[int]] = {}
    for node, number in enumerate(found.tolist()):
        groups.setdefault(number, set()).add(node)
    groups.pop(NOWHERE, None)
    assert set(map(frozenset, groups.values())) == expected


@given(edges, st.lists(st.integers(0, SIZE - 1), unique=True))
def test_the_edges_of_some_nodes_are_gathered(pairs: list[tuple[int, int]], nodes: list[int]) -> None:
    begins, ends = by_source(*_ends(pairs), SIZE)
    places = gathered(begins, np.array(nodes, np.int64))
    assert ends[places].tolist() == [target for node in nodes for source, target in pairs if source == node]


def test_a_long_cycle_is_one_component() -> None:
    """Where a recursion would be too deep."""
    size = 50_000
    sources = np.arange(size)
    assert len(set(components(sources, (sources + 1) % size, size).tolist())) == 1
