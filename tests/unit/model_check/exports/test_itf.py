"""Traces in the informal trace format, as its own Python reader takes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.unit.model_check.command import TOY, carnet


def test_an_itf_trace_round_trips_through_its_python_reader(tmp_path: Path) -> None:
    import itf_py

    file = tmp_path / "attack.itf.json"
    carnet("attack", TOY, "--without", "fresh-key", "--itf", str(file))
    written = json.loads(file.read_text())
    trace = itf_py.trace_from_json(written)
    assert list(trace.vars) == written["vars"]
    assert [state.values["mbt::actionTaken"] for state in trace.states][:3] == ["init", "lend", "read"]
    assert trace.states[1].values["lent"] == frozenset({("borrower2", "k1")})
    again = itf_py.trace_to_json(trace)
    assert itf_py.trace_from_json(again) == trace
    assert normal(again["states"]) == normal(written["states"])


def normal(value: Any) -> Any:
    """Return an ITF value with its sets and maps in one order."""
    if isinstance(value, dict):
        return {
            key: sorted(normal(part), key=str) if key in ("#set", "#map") else normal(part)
            for key, part in value.items()
        }
    return [normal(part) for part in value] if isinstance(value, list) else value
