"""Whether something happens in the end, decided once more: by a fixpoint over the interpreter's own states.

A run is followed by what it is at and which action brought it there, so that "is taken again and again" is a property
of places, as "can change nothing again and again" is. A fair run that waits for ever begins wherever a greatest
fixpoint holds that needs, for each fair action, another such place ahead. Written from the definition in
``carnet_check.semantics.fairness``, by another algorithm than the engine's.

Source: E. A. Emerson and C.-L. Lei, "Efficient Model Checking in Fragments of the Propositional Mu-Calculus", LICS
1986.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from carnet_check.semantics import Interpreter, State
from carnet_spec.language import Action, Eventually, Given, GuardKind
from carnet_spec.language.terms import Equal, Exists, Var, conjunction

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
