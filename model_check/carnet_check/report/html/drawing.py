"""State graphs as coordinates for SVG: the layout is networkx's, the scale is chosen so that nothing overlaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

ACROSS = 88
"""Pixels from one depth to the next."""
DOWN = 46
"""Pixels between two states of equal depth."""
MARGIN = 24
RADIUS = 13


def drawn(graph: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state graph with a place for each state and end points for each step.

    A state is named, under its circle, by the phase that is entered there.
    """
    import networkx

    layered = networkx.DiGraph()
    layered.add_nodes_from((number, {"depth": node["depth"]}) for number, node in enumerate(graph["nodes"]))
    layered.add_edges_from((edge["from"], edge["to"]) for edge in graph["edges"])
    places = networkx.multipartite_layout(layered, subset_key="depth")
    depths = Counter(node["depth"] for node in graph["nodes"])
    height = max(depths.values()) * DOWN
    spread = max((abs(float(y)) for _, y in places.values()), default=0.0) or 1.0
    nodes = [
        {
            **node,
            "number": number,
            "entered": "",
            "x": MARGIN + node["depth"] * ACROSS,
            "y": round(MARGIN + height / 2 * (1 + float(places[number][1]) / spread)),
        }
        for number, node in enumerate(graph["nodes"])
    ]
    for edge in graph["edges"]:
        head, tail = nodes[edge["to"]], nodes[edge["from"]]
        changed = zip(head["label"].split(", "), tail["label"].split(", "), strict=True)
        head["entered"] = ", ".join(now for now, before in changed if now != before) or head["entered"]
    return {
        **graph,
        "nodes": nodes,
        "edges": [{**edge, **_ends(nodes[edge["from"]], nodes[edge["to"]])} for edge in graph["edges"]],
        "width": 2 * MARGIN + max(depths) * ACROSS,
        "height": 2 * MARGIN + height,
        "radius": RADIUS,
    }


def _ends(tail: Mapping[str, Any], head: Mapping[str, Any]) -> dict[str, float]:
    """Return where the line of a step begins and ends: at the rims of its states."""
    dx, dy = head["x"] - tail["x"], head["y"] - tail["y"]
    length = max((dx * dx + dy * dy) ** 0.5, 1.0)
    ux, uy = dx / length * RADIUS, dy / length * RADIUS
    return {
        "x1": round(tail["x"] + ux, 1),
        "y1": round(tail["y"] + uy, 1),
        "x2": round(head["x"] - 1.4 * ux, 1),
        "y2": round(head["y"] - 1.4 * uy, 1),
    }
