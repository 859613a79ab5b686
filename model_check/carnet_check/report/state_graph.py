"""The states of an instance that is small enough to draw, as plain JSON values."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from carnet_check.engines.exploration import Caps
from carnet_check.engines.interface import Explores
from carnet_check.engines.registry import able
from carnet_check.semantics import Interpreter, State
from carnet_check.wording import file_name
from carnet_spec.language import Instance, Protocol

DRAWN = 200
"""The most states that make a readable drawing."""


def state_graph(protocol: Protocol, instances: Mapping[str, Instance]) -> dict[str, Any] | None:
    """Return every state and step of the first of ``instances``, by threat model, that is small enough to draw.

    If none is, the steps of honest parties alone are drawn.

    Returns:
        ``None`` if these too are more than can be drawn.
    """
    honest = replace(protocol, actions=tuple(action for action in protocol.actions if action.by.honest))
    for part, steps in ((protocol, "every step"), (honest, "honest steps alone")):
        for threat, instance in instances.items():
            if _is_small(part, instance, threat):
                nodes, edges = _explored(Interpreter(part, instance))
                return {
                    "name": file_name(protocol.variant, threat),
                    "variant": protocol.variant,
                    "threat": threat,
                    "instance": instance.words,
                    "steps": steps,
                    "nodes": nodes,
                    "edges": edges,
                }
    return None


def _is_small(protocol: Protocol, instance: Instance, threat: str) -> bool:
    """Count with the fast explorer what the interpreter would take long to find too large."""
    caps = Caps(states=DRAWN + 1)
    seen = able(Explores).explore(protocol, instance, invariants=(), caps=caps, reduction=False, threat=threat)
    return seen.complete and seen.states <= DRAWN


def _explored(judge: Interpreter) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    first = judge.initial()
    depths: dict[State, int] = {first: 0}
    numbers: dict[State, int] = {first: 0}
    edges: dict[tuple[int, int], list[str]] = {}
    waiting = deque([first])
    while waiting:
        state = waiting.popleft()
        for action, env in judge.enabled(state):
            after = judge.step(state, action, env)
            if after not in numbers:
                numbers[after], depths[after] = len(numbers), depths[state] + 1
                waiting.append(after)
            if after != state:
                args = tuple((var.name, env[var.name]) for var in action.params)
                step = f"{action.name}({', '.join(value for _, value in args)})"
                edges.setdefault((numbers[state], numbers[after]), []).append(step)
    phases = [s.name for s in judge.protocol.symbols if s.mutable and not s.domain and s.result.is_enumeration]
    nodes = [
        {
            "depth": depths[state],
            "label": ", ".join(state.functions[name][()] for name in phases),
            "facts": _facts(state),
        }
        for state in numbers
    ]
    return nodes, [{"from": a, "to": b, "steps": steps} for (a, b), steps in edges.items()]


def _facts(state: State) -> list[str]:
    """Return what is not as empty as it can be, in the order of the specification."""
    values = (
        f"{name}{_row(row)} = {value}"
        for name, table in state.functions.items()
        for row, value in sorted(table.items())
    )
    held = (f"{name}{_row(row)}" for name, rows in state.relations.items() for row in sorted(rows))
    return [*values, *held]


def _row(row: tuple[str, ...]) -> str:
    return f"({', '.join(row)})" if row else ""
