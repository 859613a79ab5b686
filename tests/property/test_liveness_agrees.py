"""Whether something happens in the end, decided once more: by a fixpoint over the interpreter's own states.

A run is followed by what it is at and which action brought it there, so that "is taken again and again" is a property
of places, as "can change nothing again and again" is. A fair run that waits for ever begins wherever a greatest
fixpoint holds that needs, for each fair action, another such place ahead. Written from the definition in
``carnet_check.semantics.fairness``, by another algorithm than the engine's.

Source: E. A. Emerson and C.-L. Lei, "Efficient Model Checking in Fragments of the Propositional Mu-Calculus", LICS
1986.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from carnet_check.engines.explicit.liveness import lassos
from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.engines.induction.liveness import by_fairness
from carnet_check.semantics import Interpreter, State
from carnet_check.semantics.fairness import objection, with_rules_as_steps
from carnet_spec.language import Action, Eventually, Given, GuardKind, Protocol
from carnet_spec.language.lints.shape import hasty_reads
from carnet_spec.language.terms import Equal, Exists, Var, conjunction
from tests.fixtures.thorough import share
from tests.property.random_protocols import Sample, lively_samples, staged_samples

Taken = tuple[str, tuple[tuple[str, str], ...]]
"""An action, and its arguments."""
Node = tuple[State, State, Taken]
"""A state, the one before it, and the step that led from there by changing something; of no action if none did."""
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
                for action, env in judge.enabled(state)
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
                *(Equal(var, given.value) for var, given in _meant(live, action)),
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
        meant = _meant(live, self.judge.protocol.action(name))
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


def _meant(live: Eventually, action: Action) -> list[tuple[Var, Given]]:
    """Return the parameters of an action that ``live`` says something of."""
    return [
        (var, given)
        for given in live.given
        for var in action.params
        if (given.action, given.parameter) == (action.name, var.name)
    ]


# -- what happens in the end -----------------------------------------------------------------------------


MOST = 150
relaxed = settings(suppress_health_check=list(HealthCheck))


def said(found: Exploration, live: Eventually) -> str:
    """Return what the engine says of a property."""
    if live.name in found.violations:
        return "VIOLATED"
    return "UNKNOWN" if live.name in found.undecided else "EXHAUSTED"


def runs_of(protocol: Protocol, sample: Sample) -> Runs:
    """Return all runs of a sample that is small enough."""
    try:
        return Runs(Interpreter(protocol, sample.instance), MOST)
    except TooManyError:
        assume(False)
        raise


@pytest.mark.long
def test_the_engine_says_what_a_fixpoint_over_the_interpreters_states_says() -> None:
    counts: Counter[str] = Counter()

    @settings(relaxed, max_examples=120)
    @given(lively_samples(), st.booleans())
    def agrees(sample: Sample, reduction: bool) -> None:
        (live,) = sample.protocol.liveness
        protocol = with_rules_as_steps(sample.protocol, [live])
        runs = runs_of(protocol, sample)
        found = lassos(sample.protocol, sample.instance, [live], reduction=reduction)
        assert found.complete
        assert found.states == len(runs.steps) or (reduction and found.states < len(runs.steps))
        assert said(found, live) == runs.verdict(live)
        counts[said(found, live)] += 1
        counts[f"given, {said(found, live)}"] += bool(live.given)
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

    @settings(relaxed, max_examples=share(120))
    @given(lively_samples())
    def agrees(sample: Sample) -> None:
        (live,) = sample.protocol.liveness
        assume(any(action.deduction for action in sample.protocol.actions))
        assume(not list(hasty_reads(sample.protocol)))
        rules = tuple(action.name for action in sample.protocol.actions if action.deduction)
        every = with_rules_as_steps(sample.protocol, [Eventually("all", live.trigger, live.response, "", rules)])
        runs = runs_of(every, sample)
        found = lassos(sample.protocol, sample.instance, [live])
        assert said(found, live) == runs.verdict(live)
        counts[said(found, live)] += 1

    agrees()
    assert all(counts[each] >= 3 for each in ("VIOLATED", "EXHAUSTED")), counts


def test_what_is_proved_by_fairness_fails_in_no_instance() -> None:
    counts: Counter[str] = Counter()

    @settings(relaxed, max_examples=60)
    @given(st.one_of(lively_samples(), staged_samples()))
    def agrees(sample: Sample) -> None:
        (live,) = sample.protocol.liveness
        found = lassos(sample.protocol, sample.instance, [live], caps=Caps(states=2_000))
        by = len(by_fairness(sample.protocol, live).fair)
        counts[f"proved by {by}, {said(found, live)}"] += 1
        assert not (by and said(found, live) == "VIOLATED")

    agrees()
    for least in ("proved by 1, EXHAUSTED", "proved by 2, EXHAUSTED", "proved by 0, VIOLATED"):
        assert counts[least] >= 3, counts
