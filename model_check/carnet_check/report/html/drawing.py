"""State graphs as coordinates for SVG: a column to a depth, and its states one below the other, about the middle."""

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
    depths, placed = Counter(node["depth"] for node in graph["nodes"]), Counter[int]()
    most = max(depths.values())
    nodes = []
    for number, node in enumerate(graph["nodes"]):
        depth = node["depth"]
        y = MARGIN + DOWN * (most - depths[depth] + 1 + 2 * placed[depth]) // 2
        placed[depth] += 1
        nodes.append({**node, "number": number, "entered": "", "x": MARGIN + depth * ACROSS, "y": y})
    for edge in graph["edges"]:
        head, tail = nodes[edge["to"]], nodes[edge["from"]]
        changed = zip(head["label"].split(", "), tail["label"].split(", "), strict=True)
        head["entered"] = ", ".join(now for now, before in changed if now != before) or head["entered"]
    return {
        **graph,
        "nodes": nodes,
        "edges": [{**edge, **_ends(nodes[edge["from"]], nodes[edge["to"]])} for edge in graph["edges"]],
        "width": 2 * MARGIN + max(depths) * ACROSS,
        "height": 2 * MARGIN + most * DOWN,
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
