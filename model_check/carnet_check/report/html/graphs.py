"""State graphs for the report: a distinguishing name for each state, and its coordinates in an SVG picture.

The layers are networkx's; the scale is chosen so that nothing overlaps.
"""

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

WIDTH, HEIGHT = 224, 54  #: Pixels: the box of a state.
ACROSS, DOWN = WIDTH + 72, HEIGHT + 16  #: Pixels from one depth to the next, and between two states of equal depth.
MARGIN = 24
LETTERS, LINES = 28, 3  #: How many letters a line of a box holds, and how many lines it has below its number.
LINE, INDENT = 13, 32  #: Pixels from one line of text to the next, and from the rim of a box to the name.
GHOST = "used_"  #: How facts begin that a name has only if nothing else sets a state apart: what was drawn fresh.


def layout_graph(graph: Mapping[str, Any]) -> dict[str, Any]:
    """Return a state graph with a name and coordinates for each state, and end points for each step."""
    import networkx

    layered = networkx.DiGraph()
    layered.add_nodes_from((number, {"depth": node["depth"]}) for number, node in enumerate(graph["nodes"]))
    layered.add_edges_from((edge["from"], edge["to"]) for edge in graph["edges"])
    places = networkx.multipartite_layout(layered, subset_key="depth")
    depths = Counter(node["depth"] for node in graph["nodes"])
    height = max(depths.values()) * DOWN
    spread = max((abs(float(y)) for _, y in places.values()), default=0.0) or 1.0
    names = state_names([node["facts"] for node in graph["nodes"]])
    nodes = [
        {
            **node,
            "number": number,
            "name": ", ".join(names[number]),
            "lines": list(_in_box(names[number])),
            "x": MARGIN + node["depth"] * ACROSS,
            "y": round(MARGIN + height / 2 * (1 + float(places[number][1]) / spread)),
        }
        for number, node in enumerate(graph["nodes"])
    ]
    return {
        **graph,
        "nodes": nodes,
        "edges": [{**edge, **_ends(nodes[edge["from"]], nodes[edge["to"]])} for edge in graph["edges"]],
        "width": 2 * MARGIN + max(depths) * ACROSS + WIDTH,
        "height": 2 * MARGIN + height + HEIGHT,
        "box": {"width": WIDTH, "height": HEIGHT, "line": LINE, "indent": INDENT},
    }


def _in_box(name: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a name that a box has room for."""
    lines = [line for part in name for line in textwrap.wrap(part, LETTERS, subsequent_indent=" ")]
    yield from lines[: LINES - 1]
    if len(lines) >= LINES:
        yield lines[LINES - 1] if len(lines) == LINES else f"{lines[LINES - 1][: LETTERS - 2]} …"


def _ends(tail: Mapping[str, Any], head: Mapping[str, Any]) -> dict[str, float]:
    """Return where the line of a step begins and ends: at the rims of the boxes."""
    dx, dy = head["x"] - tail["x"], head["y"] - tail["y"]
    steep = max(abs(dx) / WIDTH, abs(dy) / HEIGHT, 0.5)
    x, y = dx / steep / 2, dy / steep / 2
    centre = WIDTH / 2, HEIGHT / 2
    return {
        "x1": round(tail["x"] + centre[0] + x, 1),
        "y1": round(tail["y"] + centre[1] + y, 1),
        "x2": round(head["x"] + centre[0] - x, 1),
        "y2": round(head["y"] + centre[1] - y, 1),
    }


# -- names ------------------------------------------------------------------------------------------


def state_names(states: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
    """Return for each state a minimal set of facts, positive ones first, that hold in no other state.

    None of them can be left out. What holds is preferred to what does not. States with equal facts have equal names.

    Args:
        states: the facts of each.
    """
    having: dict[str, int] = {}
    for number, facts in enumerate(states):
        for fact in facts:
            having[fact] = having.get(fact, 0) | 1 << number
    return [_name(number, set(facts), having, len(states)) for number, facts in enumerate(states)]


def _name(number: int, facts: set[str], having: Mapping[str, int], many: int) -> tuple[str, ...]:
    """Return the name of one state; ``having`` is a set of states as bits, for each fact."""
    every = (1 << many) - 1
    told = {fact: every & ~having[fact] for fact in having if fact in facts}
    told |= {f"no {fact}": states for fact, states in having.items() if fact not in facts and " = " not in fact}
    chosen: list[str] = []
    others = every & ~(1 << number)
    while told and others:
        best = max(told, key=lambda part: ((told[part] & others).bit_count(), not part.startswith(("no ", GHOST))))
        if not told[best] & others:
            break
        chosen.append(best)
        others &= ~told[best]
    return tuple(sorted(_needed(chosen, told), key=lambda part: part.startswith("no ")))


def _needed(parts: Sequence[str], told: Mapping[str, int]) -> Iterator[str]:
    """Yield those parts of a name without which other states would have it, too."""
    left = list(parts)
    for part in parts:
        rest = 0
        for other in left:
            rest |= told[other] if other != part else 0
        if told[part] & ~rest:
            yield part
        else:
            left.remove(part)
