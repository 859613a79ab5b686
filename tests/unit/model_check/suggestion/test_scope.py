"""What names stand for beside the claims: how they are found out changes nothing for whoever watches the run."""

from __future__ import annotations

import cProfile
import pstats
import sys
from types import FrameType

from carnet_check.loading.families import load
from carnet_check.suggestion.scope import scope_of_claims
from tests.unit.model_check.command import FIXTURES

DEPOT = load(str(FIXTURES / "depot.py"))


def _after() -> None:
    """Run after the names were looked at."""


def test_the_local_names_beside_the_claims_are_found() -> None:
    assert {"draft", "variant"} <= scope_of_claims(DEPOT, "chief").keys()


def test_a_profiler_goes_on_after_the_names_were_looked_at() -> None:
    profiler = cProfile.Profile()
    profiler.enable()
    try:
        scope = scope_of_claims(DEPOT, "chief")
        _after()
    finally:
        profiler.disable()
    assert "draft" in scope
    assert any(name == _after.__name__ for _, _, name in pstats.Stats(profiler).stats)  # type: ignore[attr-defined] # typeshed leaves it out


def test_a_profile_function_stays_in_place() -> None:
    calls: list[str] = []

    def watch(frame: FrameType, event: str, argument: object) -> None:
        calls.append(frame.f_code.co_name)

    before = sys.getprofile()
    sys.setprofile(watch)
    try:
        scope = scope_of_claims(DEPOT, "chief")
        assert sys.getprofile() is watch
        _after()
    finally:
        sys.setprofile(before)
    assert "draft" in scope
    assert _after.__name__ in calls
