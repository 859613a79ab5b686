"""Interactive walks through one instance: enabled steps, reasons for refusals, knowledge, claims, and undo.

The interpreter takes every step and judges every state. Deductions are taken as soon as they can be, as in an
exploration; from a state that need not be reachable each is a step by itself, as in an induction.
"""

import itertools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from carnet_check.errors import UsageError
from carnet_check.loading.families import unknown_name
from carnet_check.semantics import Env, Interpreter, State
from carnet_check.wording import describe_refusal, fill_places, is_deduction, knowledge_of, narrate
from carnet_spec.language import Action, Claim, Guard, Instance, Protocol, Threat
from carnet_spec.language.terms import Var
from carnet_spec.trace import Trace, TraceStep

MOST_CHOICES = 200_000  #: The most choices of parameters that are tried to explain why an action is not enabled.


@dataclass(frozen=True, slots=True)
class EnabledStep:
    """An enabled step: its action and the elements of its parameters."""

    action: Action
    env: Mapping[str, str]

    @property
    def sentence(self) -> str:
        """The action's sentence with the elements filled in; parameters that it does not mention follow in brackets."""
        filled = fill_places(self.action.says, dict(self.env))
        named = set(re.findall(r"\{(\w+)\}", self.action.says))
        others = [f"{name} = {element}" for name, element in self.env.items() if name not in named]
        return f"{filled} [{', '.join(others)}]" if others else filled

    @property
    def step(self) -> TraceStep:
        """The step as part of a trace."""
        return TraceStep(self.action.name, self.action.by.name, tuple(self.env.items()))


class Walkthrough:
    """A walk through one instance: the chosen steps, and the states that they lead to.

    Args:
        protocol: the design.
        without: the defences that were removed from it.
        threat: the threat model.
        instance: the elements that there are.
        begin: a state to begin in, reachable or not, instead of the first one.
    """

    def __init__(
        self,
        protocol: Protocol,
        without: tuple[str, ...],
        threat: Threat,
        instance: Instance,
        begin: State | None = None,
    ) -> None:
        self.protocol = protocol
        self.without = without
        self.threat = threat
        self.judge = Interpreter(protocol, instance)
        self.is_run = begin is None
        """Whether the walk begins in the first state, so that every state of it is reachable."""
        derived, first = self.judge.expanded_start() if begin is None else ([], begin)
        self._written = [derived]
        self._states = [first]

    # -- the current state --------------------------------------------------------------------------

    @property
    def state(self) -> State:
        """The current state."""
        return self._states[-1]

    @property
    def steps(self) -> tuple[TraceStep, ...]:
        """The chosen steps, without deductions."""
        return tuple(written[0] for written in self._written[1:])

    @property
    def trace(self) -> Trace:
        """The chosen steps, with every deduction between them."""
        steps = tuple(itertools.chain.from_iterable(self._written))
        return Trace(self.protocol.id, self.protocol.variant, self.without, self.threat.id, steps)

    @property
    def chosen_trace(self) -> Trace:
        """The chosen steps, as a trace without deductions."""
        return Trace(self.protocol.id, self.protocol.variant, self.without, self.threat.id, self.steps)

    def enabled_steps(self) -> list[EnabledStep]:
        """Return the enabled steps, in the order of the protocol."""
        steps = [EnabledStep(action, env) for action, env in self.judge.enabled_steps(self.state)]
        return steps if self.is_run else [*steps, *self._deductions()]

    def _deductions(self) -> Iterator[EnabledStep]:
        """Yield the deductions that add something here."""
        for action in self.protocol.actions:
            if action.deduction:
                able = (EnabledStep(action, env) for env in self.judge.enabled_by(action, self.state))
                yield from (each for each in able if self.judge.fire(self.state, action, each.env) != self.state)

    def story(self, last: int | None = None) -> list[str]:
        """Return sentences about the steps (all, or the ``last`` ones), with what each party learned."""
        states, trace = self.states_and_trace(last)
        before = itertools.chain.from_iterable(self._written[: 0 if last is None else -last])
        numbered = sum(not is_deduction(self.protocol.action(step.action)) for step in before)
        return narrate(self.protocol, states, trace, before=numbered)

    def states_and_trace(self, last: int | None = None) -> tuple[list[State], Trace]:
        """Return the states and the trace of the walk's steps, with every deduction: all, or the ``last`` ones."""
        begin = 0 if last is None else max(0, len(self._written) - last)
        steps = tuple(itertools.chain.from_iterable(self._written[begin:]))
        first = self._states[begin - 1] if begin else self.judge.start() if self.is_run else self._states[0]
        states = [first]
        for step in steps:
            states.append(self.judge.fire(states[-1], self.protocol.action(step.action), step.env))
        return states, Trace(self.protocol.id, self.protocol.variant, self.without, self.threat.id, steps)

    def knowledge(self) -> dict[str, list[str]]:
        """Return what each party knows in the current state."""
        return knowledge_of(self.protocol, self.state)

    def claims(self) -> Iterator[tuple[Claim, Env | None]]:
        """Yield each stated claim, with the elements for which it is false in the current state (None if it holds)."""
        for claim in self.protocol.claims:
            if claim.invariant is not None:
                yield claim, self.judge.counterexample(claim.invariant, self.state)

    # -- taking and undoing steps -------------------------------------------------------------------

    def take(self, step: TraceStep) -> None:
        """Take a step, and in a run every deduction that it makes possible.

        Raises NotEnabled if a guard does not hold; no step is taken. Raises SpecificationError if the action is
        unknown, or the arguments do not fit its parameters.
        """
        if self.is_run:
            written, after = self.judge.step_with_deductions(self.state, step)
        else:
            written, after = [step], self.judge.fire(self.state, self.protocol.action(step.action), step.env)
        self._written.append(written)
        self._states.append(after)

    def undo(self, number: int = 1) -> int:
        """Undo the last steps, and return how many were undone."""
        back = min(number, len(self._states) - 1)
        if back:
            del self._written[-back:], self._states[-back:]
        return back

    def follow(self, trace: Trace) -> None:
        """Begin again in the first state, and take the steps of a trace; its deductions are taken when they are due.

        Raises NotEnabled if a step cannot be taken; the walk is unchanged. Raises SpecificationError if the trace has
        names that the protocol does not have.
        """
        other = Walkthrough(self.protocol, self.without, self.threat, self.judge.instance)
        for step in trace.steps:
            if not self.protocol.action(step.action).deduction:
                other.take(step)
        self._written, self._states, self.is_run = other._written, other._states, True

    # -- why not ----------------------------------------------------------------------------------

    def action(self, name: str) -> Action:
        """Return the action or deduction of this name; raise UsageError if there is none."""
        able = {action.name: action for action in self.protocol.actions}
        if name not in able:
            raise UsageError(unknown_name("action", name, self.protocol.id, able))
        return able[name]

    def matching(self, action: Action, given: Mapping[str, str]) -> list[EnabledStep]:
        """Return the enabled steps of an action or deduction that have the given parameters."""
        self._require_elements(action, given)
        able = (EnabledStep(action, env) for env in self.judge.enabled_by(action, self.state))
        return [each for each in able if given.items() <= dict(each.env).items()]

    def refusal(self, action: Action, given: Mapping[str, str]) -> str:
        """Return why an action is not enabled: the first guard that is false for the best choice of its parameters.

        The best choice is the one for which most guards hold, in their order.
        """
        self._require_elements(action, given)
        pools = [[given[var.name]] if var.name in given else self._elements(action, var) for var in action.params]
        best: tuple[int, Guard | None, Mapping[str, str]] = (-1, None, {})
        choices = itertools.product(*pools)
        for row in itertools.islice(choices, MOST_CHOICES):
            env = {var.name: element for var, element in zip(action.params, row, strict=True)}
            met, guard = self._first_unmet(action, env)
            if met > best[0]:
                best = met, guard, env
        _, guard, nearest = best
        some = "" if next(choices, None) is None else f" (of the first {MOST_CHOICES:,} choices of its parameters)"
        if not nearest and action.params:
            return f"{action.name}: there is no element left for its parameters"
        if guard is None:
            return f"{action.name}: the adversary's budget is spent, or values that are drawn fresh are the same"
        names = {var: nearest[var.name] for var in action.params}
        why = describe_refusal(action, guard, names, lambda term: str(self.judge.value(term, self.state, nearest)))
        chosen = ", ".join(f"{name} = {element}" for name, element in nearest.items() if name not in given)
        return f"{why}{f'; nearest choice: {chosen}' if chosen else ''}{some}"

    def _elements(self, action: Action, var: Var) -> Sequence[str]:
        instance = self.judge.instance
        return instance.pools.get((action.name, var.name), instance.of(var.sort))

    def _first_unmet(self, action: Action, env: Env) -> tuple[int, Guard | None]:
        for met, guard in enumerate(action.guards):
            if not self.judge.holds(guard.formula, self.state, env):
                return met, guard
        return len(action.guards), None

    def _require_elements(self, action: Action, given: Mapping[str, str]) -> None:
        sorts = {var.name: var.sort for var in action.params}
        for name, element in given.items():
            if name not in sorts:
                raise UsageError(unknown_name("parameter", name, action.name, sorts))
            elements = self.judge.instance.of(sorts[name])
            if element not in elements:
                raise UsageError(
                    unknown_name(f"element of sort {sorts[name].name}", element, "this instance", elements)
                )
