"""Random walks of both engines stay among the states that are reachable, and what they say of guards is true."""

from __future__ import annotations

import functools
import importlib
import itertools
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from carnet_check.engines.explicit import explore, sample
from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.explicit.layout import reads_mutable_symbol
from carnet_check.engines.explicit.model import CompiledStep, build
from carnet_check.engines.explicit.queries import Draw
from carnet_check.engines.explicit.walking import PackedWalks, walk
from carnet_check.engines.exploration import Caps, Exploration, GuardCoverage, Walks
from carnet_check.engines.exploring.searches import moves
from carnet_check.engines.native.compiling import compiler
from carnet_check.semantics import Env, Interpreter, State
from carnet_spec.language import Guard, GuardKind
from carnet_spec.language.terms import free_variables
from tests.fixtures.thorough import share
from tests.oracle.compare import judge
from tests.oracle.protocols import recipes
from tests.oracle.recipe import Recipe
from tests.property.random_protocols import Sample, samples
from tests.property.rich_protocols import rich_samples

COMPILING, COURSE, SEARCH, WALKING = (
    importlib.import_module(f"carnet_check.engines.native.{name}")
    for name in ("compiling", "course", "search", "walking")
)
TOO_MANY = 2_000
seeds, depths = st.integers(0, 3), st.sampled_from([12, 1, 2, 3])
handful = settings(
    max_examples=6, deadline=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck), derandomize=True
)
relaxed = settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow], max_examples=share(84))


@contextmanager
def in_parts(apart: bool) -> Iterator[None]:
    """Have whatever can be asked for one element at a time be asked so."""
    names = {"MOST": 0, "SHARE": 1.0} if apart else {}
    with ExitStack() as patches:
        for name, value in names.items():
            patches.enter_context(patch(f"carnet_check.engines.explicit.walking.{name}", value))
        yield


def walked(each: Sample, walks: Walks, packed: Callable[..., PackedWalks] = PackedWalks) -> Exploration:
    return sample(each.protocol, each.instance, walks, invariants=each.invariants, goals=each.goals, packed=packed)


def taken(each: Sample, walks: Walks, apart: bool) -> tuple[PackedWalks, list[list[State]]]:
    """Take walks, and have the interpreter take each of their steps: it refuses what cannot be taken."""
    judge = Interpreter(each.protocol, each.instance)
    with in_parts(apart):
        run = PackedWalks(
            build(judge, each.invariants, each.goals, reduce=False),
            Watch(),
            walks,
        )
    ends: dict[int, int] = {}
    with patch.object(PackedWalks, "_end_walk", autospec=True, side_effect=_noting(ends, PackedWalks._end_walk)):
        assert run.run() is None
    paths = []
    for number in range(walks.number):
        states = [judge.initial()]
        for action, chosen in run._walked(number, ends[number]):
            step = each.protocol.action(run.offers.steps[action].action.name)
            env = dict(zip((var.name for var in step.params), chosen, strict=True))
            states.append(judge.step(states[-1], step, env))
        paths.append(states)
    return run, paths


def _noting(ends: dict[int, int], original: Callable[[PackedWalks], None]) -> Callable[[PackedWalks], None]:
    """Remember how many steps each walk took."""

    def end_walk(run: PackedWalks) -> None:
        ends[run.number] = run.taken
        original(run)

    return end_walk


def shown(found: Exploration) -> tuple[object, ...]:
    counts = (found.states, found.transitions, found.depth, found.stopped_by, found.fired, found.walked)
    return (*counts, found.violations, found.goals)


# -- states and steps -----------------------------------------------------------------------------


@relaxed
@given(samples(), seeds, st.booleans())
def test_the_interpreter_reaches_every_state_and_changes_nothing_where_a_walk_ends_early(
    each: Sample, seed: int, apart: bool
) -> None:
    run, paths = taken(each, Walks(5, 12, seed), apart)
    assert run.steps == sum(len(states) - 1 for states in paths)
    assert all(before != after for states in paths for before, after in itertools.pairwise(states))
    assert run.longest == max(len(states) - 1 for states in paths)
    judge = Interpreter(each.protocol, each.instance)
    stuck = [states for states in paths if len(states) - 1 < 12]
    assert run.stuck == len(stuck)
    for states in stuck:
        assert all(judge.step(states[-1], action, env) == states[-1] for action, env in judge.enabled_steps(states[-1]))


# -- what is found --------------------------------------------------------------------------------


@relaxed
@given(samples(), seeds)
def test_what_walks_find_exploration_finds_in_no_more_steps(each: Sample, seed: int) -> None:
    expected = explore(
        each.protocol,
        each.instance,
        invariants=each.invariants,
        goals=each.goals,
        reduction=False,
        stop_at_first=False,
        caps=Caps(states=TOO_MANY),
    )
    assume(expected.complete)
    found = walked(each, Walks(20, 15, seed))
    assert not found.complete
    for mine, theirs in ((found.violations, expected.violations), (found.goals, expected.goals)):
        assert set(mine) <= set(theirs)
        assert all(moves(each.protocol, mine[name]) >= moves(each.protocol, theirs[name]) for name in mine)
    assert {name for name, count in found.fired.items() if count} <= {
        name for name, count in expected.fired.items() if count
    }


@relaxed
@given(samples(), seeds, depths, st.booleans())
def test_whatever_is_violated_or_reached_on_the_way_is_told(each: Sample, seed: int, depth: int, apart: bool) -> None:
    judge = Interpreter(each.protocol, each.instance)
    run, paths = taken(each, Walks(5, depth, seed), apart)
    found = walk(each.protocol, run)
    visited = [state for states in paths for state in states]
    violated = {
        each.name for each in each.invariants if any(judge.counterexample(each, s) is not None for s in visited)
    }
    reached = {g.name for g in each.goals if any(judge.witness(g.params, g.body, s) is not None for s in visited)}
    assert (set(found.violations), set(found.goals)) == (violated, reached)


@handful
@given(recipes(), seeds)
def test_what_a_run_says_by_walks_is_true(recipe: Recipe, seed: int) -> None:
    """The oracle, which shares nothing with the engines, replays every violation that it is told of."""
    found = judge(recipe, (EXPLICIT.random_walker(Walks(20, 12, seed)),))
    assert not found.disagreements, "\n".join(map(str, found.disagreements))
    assert not [row for row in found.rows if row.endswith(("EXHAUSTED", "HOLDS-TO", "PROVED"))]


# -- guards ---------------------------------------------------------------------------------------


@relaxed
@given(samples(), seeds, st.booleans())
def test_what_is_said_of_guards_is_what_the_states_show(each: Sample, seed: int, apart: bool) -> None:
    judge = Interpreter(each.protocol, each.instance)
    run, paths = taken(each, Walks(4, 8, seed), apart)
    found = walk(each.protocol, run).walked
    assert found is not None
    left = [state for states in paths for state in (states[:-1] if len(states) > 8 else states)]
    for step in run.model.steps:
        states = [state for state in left if _affordable(each, step, state)]
        seen = found.actions[step.action.name]
        for name, guard in seen.guards.items():
            assert guard == _brute(judge, step, name, states), f"{step.action.name}: {name}"
        assert seen.enabled == any(
            step.action.name == action.name for s in states for action, _ in judge.enabled_steps(s)
        )


def _affordable(each: Sample, step: CompiledStep, state: State) -> bool:
    budget = each.instance.budget
    return budget is None or state.spent + step.action.cost <= budget


def _brute(judge: Interpreter, step: CompiledStep, name: str, states: list[State]) -> GuardCoverage:
    """Judge a guard in every state for all arguments that the instance allows, by the interpreter."""
    action = judge.protocol.action(step.action.name)
    judged = {guard.name: guard.formula for guard in action.guards if guard.kind is not GuardKind.FRESH}
    needed = {var.name for var in free_variables(judged[name])}
    needed |= {before for var in needed if isinstance(draw := step.choices[var], Draw) for before in draw.after}
    held = failed = alone = False
    for state in states:
        some = [judge.holds(judged[name], state, env) for env in _arguments(step, state, needed)]
        held, failed = held or any(some), failed or not all(some)
        alone = alone or any(
            not judge.holds(judged[name], state, env)
            and all(judge.holds(term, state, env) for other, term in judged.items() if other != name)
            for env in _arguments(step, state, set(step.choices))
        )
    return GuardCoverage(
        held, failed, alone, decided=not any(map(reads_mutable_symbol, (g.formula for g in _named(step, name))))
    )


def _named(step: CompiledStep, name: str) -> Iterator[Guard]:
    return (guard for guard in step.action.guards if guard.name == name)


def _arguments(step: CompiledStep, state: State, needed: set[str]) -> Iterator[Env]:
    def choose(names: list[str], chosen: Env) -> Iterator[Env]:
        if not names:
            yield chosen
            return
        domain = step.choices[names[0]]
        if isinstance(domain, Draw):
            drawn = {chosen.get(other) for other in domain.after}
            used = state.relations[domain.used.name]
            unused = [each for each in domain.pool if (each,) not in used and each not in drawn]
            elements = unused if domain.each else unused[:1]
        else:
            elements = list(domain)
        for element in elements:
            yield from choose(names[1:], {**chosen, names[0]: element})

    return choose([name for name in step.choices if name in needed], {})


# -- the kernel -----------------------------------------------------------------------------------


@pytest.mark.skipif(compiler() is None, reason="there is no C compiler")
@relaxed
@given(st.one_of(samples(), rich_samples()), seeds, depths, st.sampled_from([0, 1, 7, 40]), st.booleans())
def test_compiled_code_takes_the_same_walks(
    each: Sample, seed: int, depth: int, hand_over_at: int, tight: bool
) -> None:
    """With little room, places get bits late, memos are asked one by one, and what they were asked is forgotten."""
    room: Mapping[tuple[object, str], int] = {
        (WALKING, "LOOKED_AHEAD"): 0,
        (WALKING, "MOST_HERE"): 3,
        (COURSE, "STEPS_AT_ONCE"): 3,
        (COURSE, "QUESTIONS"): 0,
        (COURSE, "ASKED"): 1 << 10,
    }
    packed = functools.partial(WALKING.NativeWalks, hand_over_at=hand_over_at)
    chunk = patch("carnet_check.engines.explicit.walking.CHUNK", 3)
    with ExitStack() as patches, chunk, in_parts(tight), tempfile.TemporaryDirectory() as folder:
        patches.enter_context(patch.dict(os.environ, {COMPILING.FOLDER: folder}))
        for (module, name), value in (room if tight else {}).items():
            patches.enter_context(patch.object(module, name, value))
        found = [walked(each, Walks(12, depth, seed), packed) for _ in range(2)]  # the second by code that was kept
    with in_parts(tight):
        expected = shown(walked(each, Walks(12, depth, seed)))
    assert [*map(shown, found)] == [expected, expected]


@relaxed
@given(samples(), seeds)
def test_forgetting_changes_no_walk(each: Sample, seed: int) -> None:
    expected = walked(each, Walks(12, 15, seed))
    with (
        patch("carnet_check.engines.explicit.walking.MOST_ANSWERS", 3),
        patch("carnet_check.engines.explicit.walking.CHUNK", 4),
    ):
        assert shown(walked(each, Walks(12, 15, seed))) == shown(expected)
