"""Traces in the informal trace format, as its own Python reader takes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.unit.model_check.command import FIXTURES, TOY, carnet


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


def test_only_a_lasso_has_a_loop(tmp_path: Path) -> None:
    import itf_py

    out = tmp_path / "run"
    swinging = f"{FIXTURES / 'mended.py'}:a_light_that_swings"
    carnet("verify", swinging, "--claim", "lights-up", "--engine", "explicit", "--out", str(out))
    (file,) = (out / "attacks").glob("*.itf.json")
    trace = itf_py.trace_from_json(json.loads(file.read_text()))
    assert (trace.loop, [state.values["paid"] for state in trace.states]) == (0, [False, True, False])
    attack = tmp_path / "attack.itf.json"
    carnet("attack", TOY, "--without", "fresh-key", "--itf", str(attack))
    assert "loop" not in json.loads(attack.read_text())


def normal(value: Any) -> Any:
    """Return an ITF value with its sets and maps in one order."""
    if isinstance(value, dict):
        return {
            key: sorted(normal(part), key=str) if key in ("#set", "#map") else normal(part)
            for key, part in value.items()
        }
    return [normal(part) for part in value] if isinstance(value, list) else value
