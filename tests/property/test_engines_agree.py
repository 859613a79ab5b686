"""Engines, exports, reductions and liveness agree on random protocols."""

from __future__ import annotations

import importlib
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from carnet_check.engines.explicit import explore
from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.explicit.liveness import lassos
from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.engines.induction.liveness import by_fairness
from carnet_check.exports.ground.system import ground
from carnet_check.exports.promela import ModelHeader, promela
from carnet_check.exports.tla import configuration, tla
from carnet_check.semantics import Interpreter, State
from carnet_check.semantics.fairness import objection, with_rules_as_steps
from carnet_spec.language import Action, Eventually, Given, GuardKind, Protocol
from carnet_spec.language.lints.shape import hasty_reads
from carnet_spec.language.terms import Equal, Exists, Var, conjunction
from tests.fixtures.interpreted import actions_taken, interpreted
from tests.fixtures.spin import SMALL, needs_spin, verified
from tests.fixtures.thorough import share
from tests.fixtures.tla import Visited, visited
from tests.property import random_protocols

SEARCH = importlib.import_module("carnet_check.engines.explicit.search")  # the package has a function of that name
TOO_MANY = 250
relaxed = settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow], max_examples=share(100))


def _explored(sample: random_protocols.Sample, *, reduction: bool, stop_at_first: bool = False) -> Exploration:
    return explore(**sample.question, reduction=reduction, stop_at_first=stop_at_first)


def _judged(sample: random_protocols.Sample) -> Exploration:
    judged = interpreted(**sample.question, stop_at_first=False, caps=Caps(states=TOO_MANY))
    assume(judged.complete)
    return judged


def _lengths(sample: random_protocols.Sample, found: Exploration) -> tuple[dict[str, int], ...]:
    """Count the steps that lead to what is violated, and to what is reached, without deductions."""
    rules = [action.name for action in sample.protocol.actions if action.deduction]
    return tuple(random_protocols.lengths(traces, rules) for traces in (found.violations, found.goals))


@relaxed
@given(random_protocols.samples())
def test_the_compiled_search_agrees_with_the_interpreter(sample: random_protocols.Sample) -> None:
    """In every number without reductions, also if memos are joined; with reductions, in what is found and how soon."""
    judged = _judged(sample)
    plain = _explored(sample, reduction=False)
    with patch.multiple(SEARCH, SAMPLE=2, CHUNK=3, WORTHWHILE=1.1):  # as if it were large
        joined = _explored(sample, reduction=False)
    for found in (plain, joined):
        assert found.complete
        assert (found.states, found.transitions, found.depth) == (judged.states, judged.transitions, judged.depth)
        assert found.fired == judged.fired
        assert _lengths(sample, found) == _lengths(sample, judged)
    reduced = _explored(sample, reduction=True)
    assert reduced.complete
    assert reduced.states <= judged.states
    assert _lengths(sample, reduced) == _lengths(sample, judged)
    assert actions_taken(reduced) == actions_taken(judged)
    first = _explored(sample, reduction=True, stop_at_first=True)
    shortest, _ = _lengths(sample, judged)
    assert set(_lengths(sample, first)[0].values()) == {*sorted(shortest.values())[:1]}
    interpreter = Interpreter(sample.protocol, sample.instance)
    for name, trace in first.violations.items():
        [invariant] = [invariant for invariant in sample.invariants if invariant.name == name]
        assert interpreter.counterexample(invariant, interpreter.replay(trace)[-1]) is not None


# -- exported random protocols have the states -----------------------------------------------------------


TOO_MANY_EXPORTED = 300
#: For what has to be compiled each time.
relaxed_exports = settings(
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow], deadline=None, max_examples=12
)


def _judged_export(sample: random_protocols.Sample) -> Exploration:
    judged = interpreted(
        sample.protocol,
        sample.instance,
        invariants=sample.invariants,
        caps=Caps(states=TOO_MANY_EXPORTED),
        stop_at_first=False,
    )
    assume(judged.complete)
    return judged


def _spin_agrees(sample: random_protocols.Sample, *, observed: bool) -> None:
    judged = _judged_export(sample)
    seen = EXPLICIT.observe(sample.protocol, sample.instance, Caps()) if observed else None
    written = ground(
        sample.protocol,
        sample.instance,
        {each.name: each.formula for each in sample.invariants},
        None if seen is None else seen.changing,
    )
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "random.pml"
        file.write_text(promela(sample.protocol, sample.instance, written, ModelHeader(file.name, "none")))
        counted = verified(file, optimise=SMALL)
    assert counted.states == judged.states
    assert counted.transitions - counted.errors - 1 == judged.transitions
    assert counted.errors == sum(_meant(sample).broken.values())


def _meant(sample: random_protocols.Sample) -> Visited:
    module = tla(sample.protocol, sample.instance, sample.invariants, "none")
    return visited(module, configuration(sample.protocol, sample.instance, sample.invariants))


@needs_spin
@relaxed_exports
@given(random_protocols.samples())
def test_spin_counts_what_the_interpreter_counts(sample: random_protocols.Sample) -> None:
    _spin_agrees(sample, observed=False)


@needs_spin
@relaxed_exports
@given(random_protocols.samples())
def test_spin_counts_the_same_where_what_never_changes_is_left_out(sample: random_protocols.Sample) -> None:
    _spin_agrees(sample, observed=True)


@settings(relaxed_exports, max_examples=share(200))
@given(random_protocols.samples())
def test_a_module_means_what_the_interpreter_does(sample: random_protocols.Sample) -> None:
    judged = _judged_export(sample)
    counted = _meant(sample)
    assert (counted.states, counted.steps) == (judged.states, judged.transitions)
    assert counted.broken.keys() == judged.violations.keys()


# -- with symmetry a search finds what it finds without --------------------------------------------------


relaxed_symmetry = settings(relaxed, max_examples=share(150))
TOO_MANY_STATES, TOO_MANY_STEPS = 3_000, 2_000


@relaxed_symmetry
@given(random_protocols.alike_samples(), st.booleans())
def test_one_state_stands_for_as_many_as_there_are_without_symmetry(
    sample: random_protocols.Sample, reduce: bool
) -> None:
    every, _ = random_protocols.explored(sample, symmetric=False, reduce=reduce, most=TOO_MANY_STATES)
    assume(every.complete)
    found, represented = random_protocols.explored(sample, symmetric=True, reduce=reduce)
    assert random_protocols.said(found) == random_protocols.said(every)
    assert represented in (None, every.states)
    assert found.states <= every.states


@relaxed_symmetry
@given(random_protocols.alike_samples())
def test_symmetry_finds_the_shortest_traces_that_the_interpreter_finds(sample: random_protocols.Sample) -> None:
    found = _explored(sample, reduction=True)
    assume(found.transitions <= TOO_MANY_STEPS)
    judged = _judged(sample)
    assert _lengths(sample, found) == _lengths(sample, judged)


# -- whether something happens in the end ----------------------------------------------------------------


Taken = tuple[str, tuple[tuple[str, str], ...]]  #: An action, and its arguments.
#: A state, the one before it, and the step that led from there by changing something; of no action if none did.
Node = tuple[State, State, Taken]
NOTHING: Taken = ("", ())


class TooManyError(Exception):
    """There are more states than can be looked at."""


class Runs:
    """All runs of a protocol on an instance."""

    def __init__(self, judge: Interpreter, most: int) -> None:
        self.judge = judge
        self.steps: dict[State, set[tuple[Taken, State]]] = {}
        waiting = [judge.initial()]
        while waiting:
            state = waiting.pop()
            if state in self.steps:
                continue
            if len(self.steps) > most:
                raise TooManyError
            made = (
                ((action.name, tuple(sorted(env.items()))), judge.step(state, action, env))
                for action, env in judge.enabled_steps(state)
            )
            self.steps[state] = {(taken, after) for taken, after in made if after != state}
            waiting += [after for _, after in self.steps[state]]

    def verdict(self, live: Eventually) -> str:
        """Return what an engine has to say of ``live``: VIOLATED, UNKNOWN or EXHAUSTED."""
        if self._waits_in_vain(live, lambda action, state: not self._limited(live, action, state)):
            return "VIOLATED"
        return "UNKNOWN" if self._waits_in_vain(live, lambda action, state: True) else "EXHAUSTED"

    def _limited(self, live: Eventually, action: Action, state: State) -> bool:
        """Whether only what the instance limits may keep an action from being taken that its guards allow."""
        instance = self.judge.instance
        pools = (instance.pools.get((action.name, var.name)) for var in action.params)
        sizes = (len(instance.of(var.sort)) for var in action.params)
        pooled = any(pool is not None and len(pool) < size for pool, size in zip(pools, sizes, strict=True))
        spending = instance.budget is not None and bool(action.cost)
        guards = conjunction(
            (
                *(guard.formula for guard in action.guards if guard.kind is not GuardKind.FRESH),
                *(Equal(var, given.value) for var, given in _meant_by_liveness(live, action)),
            )
        )
        allowed = Exists(action.params, guards) if action.params else guards
        return (pooled or spending or bool(action.fresh)) and self.judge.holds(allowed, state)

    def _waits_in_vain(self, live: Eventually, closed: Callable[[Action, State], bool]) -> bool:
        waits = {state for state in self.steps if not self.judge.holds(live.response, state)}
        nodes = {(state, state, NOTHING) for state in waits}
        nodes |= {(after, state, taken) for state in waits for taken, after in self.steps[state] if after in waits}
        served = [{node for node in nodes if self._serves(live, node, name, closed)} for name in live.fair]
        staying = nodes
        while True:
            kept = staying
            for each in served or [nodes]:
                kept = kept & self._before(self._leading_to(kept & each, nodes), nodes)
            if kept == staying:
                break
            staying = kept
        begins = {state for state in waits if self.judge.holds(live.trigger, state)}
        return any(state in begins for state, _, _ in self._leading_to(staying, nodes))

    def _serves(self, live: Eventually, node: Node, name: str, closed: Callable[[Action, State], bool]) -> bool:
        state, before, taken = node
        is_open = any(self._is_meant(live, name, each, state) for each, _ in self.steps[state])
        return self._is_meant(live, name, taken, before) or (
            not is_open and closed(self.judge.protocol.action(name), state)
        )

    def _is_meant(self, live: Eventually, name: str, taken: Taken, before: State) -> bool:
        """Whether a step is one of the action that ``live`` names, with the parameters that it gives."""
        action, arguments = taken
        if action != name:
            return False
        env = dict(arguments)
        meant = _meant_by_liveness(live, self.judge.protocol.action(name))
        return all(self.judge.holds(Equal(var, given.value), before, env) for var, given in meant)

    def _after(self, node: Node) -> Iterable[Node]:
        state, _, _ = node
        return [(state, state, NOTHING), *((after, state, taken) for taken, after in self.steps[state])]

    def _before(self, goal: set[Node], nodes: set[Node]) -> set[Node]:
        return {node for node in nodes if any(after in goal for after in self._after(node))}

    def _leading_to(self, goal: set[Node], nodes: set[Node]) -> set[Node]:
        found = goal
        while more := self._before(found, nodes) - found:
            found = found | more
        return found


def _meant_by_liveness(live: Eventually, action: Action) -> list[tuple[Var, Given]]:
    """Return the parameters of an action that ``live`` says something of."""
    return [
        (var, given)
        for given in live.given
        for var in action.params
        if (given.action, given.parameter) == (action.name, var.name)
    ]


# -- what happens in the end -----------------------------------------------------------------------------


MOST = 150
relaxed_liveness = settings(suppress_health_check=list(HealthCheck))


def said_of_runs(found: Exploration, live: Eventually) -> str:
    """Return what the engine says of a property."""
    if live.name in found.violations:
        return "VIOLATED"
    return "UNKNOWN" if live.name in found.undecided else "EXHAUSTED"


def runs_of(protocol: Protocol, sample: random_protocols.Sample) -> Runs:
    """Return all runs of a sample that is small enough."""
    try:
        return Runs(Interpreter(protocol, sample.instance), MOST)
    except TooManyError:
        assume(False)
        raise


@pytest.mark.long
def test_the_engine_says_what_a_fixpoint_over_the_interpreters_states_says() -> None:
    counts: Counter[str] = Counter()

    @settings(relaxed_liveness, max_examples=120)
    @given(random_protocols.lively_samples(), st.booleans())
    def agrees(sample: random_protocols.Sample, reduction: bool) -> None:
        (live,) = sample.protocol.liveness
        protocol = with_rules_as_steps(sample.protocol, [live])
        runs = runs_of(protocol, sample)
        found = lassos(sample.protocol, sample.instance, [live], reduction=reduction)
        assert found.complete
        assert found.states == len(runs.steps) or (reduction and found.states < len(runs.steps))
        assert said_of_runs(found, live) == runs.verdict(live)
        counts[said_of_runs(found, live)] += 1
        counts[f"given, {said_of_runs(found, live)}"] += bool(live.given)
        if live.name in found.violations:
            assert objection(runs.judge, live, found.violations[live.name]) == ""
            counts["goes round"] += found.violations[live.name].loop != len(found.violations[live.name].steps)

    agrees()
    assert all(counts[each] >= 5 for each in ("VIOLATED", "UNKNOWN", "EXHAUSTED", "goes round")), counts
    assert all(counts[f"given, {each}"] >= 3 for each in ("VIOLATED", "EXHAUSTED")), counts


@pytest.mark.long
def test_the_engine_says_what_is_so_if_no_rule_has_to_be_taken() -> None:
    """Where rules keep to what the lint asks of them, those that are taken at once hide no run."""
    counts: Counter[str] = Counter()

    @settings(relaxed_liveness, max_examples=share(200))
    @given(random_protocols.lively_samples())
    def agrees(sample: random_protocols.Sample) -> None:
        (live,) = sample.protocol.liveness
        assume(any(action.deduction for action in sample.protocol.actions))
        assume(not list(hasty_reads(sample.protocol)))
        rules = tuple(action.name for action in sample.protocol.actions if action.deduction)
        every = with_rules_as_steps(sample.protocol, [Eventually("all", live.trigger, live.response, "", rules)])
        runs = runs_of(every, sample)
        found = lassos(sample.protocol, sample.instance, [live])
        assert said_of_runs(found, live) == runs.verdict(live)
        counts[said_of_runs(found, live)] += 1

    agrees()
    assert all(counts[each] >= 3 for each in ("VIOLATED", "EXHAUSTED")), counts


def test_what_is_proved_by_fairness_fails_in_no_instance() -> None:
    counts: Counter[str] = Counter()

    @settings(relaxed_liveness, max_examples=60)
    @given(st.one_of(random_protocols.lively_samples(), random_protocols.staged_samples()))
    def agrees(sample: random_protocols.Sample) -> None:
        (live,) = sample.protocol.liveness
        found = lassos(sample.protocol, sample.instance, [live], caps=Caps(states=2_000))
        by = len(by_fairness(sample.protocol, live).fair)
        counts[f"proved by {by}, {said_of_runs(found, live)}"] += 1
        assert not (by and said_of_runs(found, live) == "VIOLATED")

    agrees()
    for least in ("proved by 1, EXHAUSTED", "proved by 2, EXHAUSTED", "proved by 0, VIOLATED"):
        assert counts[least] >= 3, counts
