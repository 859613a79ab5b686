"""The native engine beside the explicit one, and where Numba is missing."""

from __future__ import annotations

import importlib.util
from importlib.machinery import ModuleSpec

import pytest

from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.native.engine import NATIVE
from carnet_check.loading.families import load
from carnet_command.exit_codes import ExitCode
from tests.unit.model_check.command import TOY, carnet


def test_without_numba_it_is_refused_and_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec

    def without(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "numba" else found(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    ran = carnet("verify", TOY, "--engine", "native")
    assert ran.code == ExitCode.USAGE
    assert "the engine 'native' needs the extra 'fast'" in ran.err
    assert carnet("verify", TOY, "--engine", "explicit").code == ExitCode.EXPECTED


def test_it_does_not_run_by_default() -> None:
    assert not NATIVE.by_default


def test_it_finds_in_many_states_what_the_explicit_engine_finds() -> None:
    """43,262 states of several words, so that the kernel takes over and its states get wider on the way."""
    pytest.importorskip("numba", reason="the extra 'fast' is not installed")
    source = load("gpu-travelling")
    protocol = source.protocol()
    instance = source.instance(protocol, "hypervisor", source.profile("tiny"))
    invariants = [claim.checked for claim in protocol.claims if claim.invariant]
    expected, found = (
        engine.explore(protocol, instance, invariants=invariants, goals=protocol.goals) for engine in (EXPLICIT, NATIVE)
    )
    assert (found.states, found.transitions, found.depth) == (expected.states, expected.transitions, expected.depth)
    assert found.states > 40_000
    assert found.fired == expected.fired
    for mine, theirs in ((found.goals, expected.goals), (found.violations, expected.violations)):
        assert {name: len(trace.steps) for name, trace in mine.items()} == {
            name: len(trace.steps) for name, trace in theirs.items()
        }
