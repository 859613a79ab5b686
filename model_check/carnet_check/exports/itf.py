"""A trace in Apalache's informal trace format (ADR-015), for the viewers that read it."""

from collections.abc import Sequence
from typing import Any

from carnet_check.semantics import State
from carnet_spec.language import Protocol, Symbol
from carnet_spec.trace import Trace, TraceStep

ACTION = "mbt::actionTaken"
CHOICES = "mbt::nondetPicks"  #: Viewers hide ``#meta``, so the action and its arguments are variables.


def itf(protocol: Protocol, states: Sequence[State], trace: Trace) -> dict[str, Any]:
    """Return a trace, with the states along it, as an ITF value.

    ``loop`` is the index of the state to which a lasso returns; the last state equals it.
    """
    symbols = [symbol for symbol in protocol.symbols if symbol.mutable]
    steps: list[TraceStep | None] = [None, *trace.steps]
    return {
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "source": f"{trace.protocol}, variant {trace.variant}",
            "description": f"without {', '.join(trace.without) or 'nothing'}, under {trace.threat}",
        },
        "vars": [ACTION, CHOICES, *(symbol.name for symbol in symbols)],
        "states": [
            _state(number, step, state, symbols) for number, (step, state) in enumerate(zip(steps, states, strict=True))
        ],
        **({} if trace.loop is None else {"loop": trace.loop}),
    }


def _state(number: int, step: TraceStep | None, state: State, symbols: Sequence[Symbol]) -> dict[str, Any]:
    return {
        "#meta": {"index": number},
        ACTION: step.action if step else "init",
        CHOICES: dict(step.args) if step else {},
        **{symbol.name: _value(symbol, state) for symbol in symbols},
    }


def _value(symbol: Symbol, state: State) -> Any:
    if symbol.is_relation:
        rows = sorted(state.relations[symbol.name])
        return bool(rows) if not symbol.domain else {"#set": [_key(row) for row in rows]}
    table = state.functions[symbol.name]
    if not symbol.domain:
        return table[()]
    return {"#map": [[_key(row), value] for row, value in sorted(table.items())]}


def _key(row: tuple[str, ...]) -> Any:
    return row[0] if len(row) == 1 else {"#tup": list(row)}
