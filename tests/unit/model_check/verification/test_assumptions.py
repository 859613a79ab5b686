"""Claims fall without an assumption only by a trace that the interpreter replays."""

from __future__ import annotations

import pytest

from carnet_check.engines.exploring import searches
from carnet_check.engines.interface import Explores
from carnet_check.engines.registry import able
from carnet_check.errors import EngineError
from carnet_check.loading.families import load
from carnet_check.verification.assumptions import Fall, falls_without
from tests.unit.model_check.command import FIXTURES

SOURCE = load(f"{FIXTURES / 'assumed.py'}:draft")


def fallen(assumption: str) -> list[Fall]:
    """Return what falls without an assumption."""
    return list(falls_without(able(Explores), SOURCE, SOURCE.protocol(), assumption, ["no-thief"]))


@pytest.mark.parametrize(("assumption", "steps"), [("A1", 1), ("axiom: the founder is honest", 1)])
def test_a_claim_falls_where_the_assumption_does_not_hold(assumption: str, steps: int) -> None:
    (found,) = fallen(assumption)
    assert (found.claim, found.threat, found.steps) == ("no-thief", "anyone", steps)
    assert found.changed


def test_without_what_nothing_needs_nothing_falls() -> None:
    assert not fallen("A2")


def test_a_trace_that_does_not_replay_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches, "falls", lambda *_: False)
    with pytest.raises(EngineError, match="the claim still holds"):
        fallen("A1")
