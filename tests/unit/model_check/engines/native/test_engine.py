"""The native engine beside the explicit one, and where Numba is missing."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from importlib.machinery import ModuleSpec

import pytest

from carnet_check.engines.explicit import explore
from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.native import search
from carnet_check.engines.native.engine import NATIVE, Native
from carnet_check.engines.registry import default_engines
from carnet_check.loading.families import load
from carnet_command.exit_codes import ExitCode
from carnet_spec.language import Invariant
from carnet_spec.language.terms import negation
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


def test_where_numba_is_to_compile_nothing_the_explicit_engine_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    assert [engine.name for engine in default_engines()] == ["induction", "explicit"]
    ran = carnet("verify", TOY, "--engine", "native")
    assert (ran.code, "NUMBA_DISABLE_JIT" in ran.err) == (ExitCode.USAGE, True)


def test_it_runs_by_default_in_place_of_the_explicit_engine() -> None:
    pytest.importorskip("numba", reason="the extra 'fast' is not installed")
    assert [engine.name for engine in default_engines()] == ["induction", "native"]


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


def test_what_is_seen_before_its_level_is_complete_has_a_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba", reason="the extra 'fast' is not installed")
    source = load("gpu-travelling")
    protocol = source.protocol()
    instance = source.instance(protocol, "hypervisor", source.profile("tiny"))
    goal = protocol.goals[0]
    never = Invariant("never", goal.params, negation(goal.body), "It is not reached.")
    monkeypatch.setattr(search, "CHUNK", 1)
    expected, found = (
        explore(protocol, instance, invariants=[never], packed=packed)
        for packed in (PackedSearch, functools.partial(search.NativeSearch, hand_over_at=1))
    )
    assert (expected.stopped_by, found.stopped_by) == ("violation", "violation")
    assert len(found.violations["never"].steps) == len(expected.violations["never"].steps)
    assert found.states < expected.states


def test_memory_that_is_not_there_ends_a_search_with_what_was_covered(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba", reason="the extra 'fast' is not installed")
    store = importlib.import_module("carnet_check.engines.native.store")
    monkeypatch.setattr(store, "MOST_STATES", 10_000)
    source = load("gpu-travelling")
    protocol = source.protocol()
    instance = source.instance(protocol, "hypervisor", source.profile("tiny"))
    found = explore(
        protocol, instance, invariants=(), packed=functools.partial(search.NativeSearch, hand_over_at=1_000)
    )
    assert found.stopped_by == "memory"
    assert 9_000 < found.states <= 10_000


def test_an_engine_in_threads_searches_by_what_it_is_told() -> None:
    class Mine(search.NativeSearch):
        """A search of somebody else's."""

    class Own(Native):
        packed = Mine

    made = Own().in_threads(3).searches_by()
    assert isinstance(made, functools.partial)
    assert (made.func, made.keywords) == (Mine, {"threads": 3})


def test_what_compiling_took_is_no_part_of_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million seconds are said to be none of its own; what was compiled before it began is none of them."""
    pytest.importorskip("numba", reason="the extra 'fast' is not installed")
    said = [1e6, 1e9]
    compiling = importlib.import_module("carnet_check.engines.native.compiling")
    monkeypatch.setattr(compiling, "seconds_compiling", lambda: said.pop() if said else 0.0)
    source = load(TOY)
    protocol = source.protocol()
    instance = source.instance(protocol, "none", source.profile("tiny"))
    invariants = [claim.checked for claim in protocol.claims if claim.invariant]
    at_once = functools.partial(search.NativeSearch, hand_over_at=1)
    found = explore(protocol, instance, invariants=invariants, packed=at_once, stop_at_first=False)
    assert not said
    assert found.stopped_by is None
    assert -1e6 < found.seconds < 3600 - 1e6
