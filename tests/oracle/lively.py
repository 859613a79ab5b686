"""Liveness by the components of the enumerator's graph: does some fair run wait for ever?

Components are those of networkx, steps those of the enumerator: a rule is a step like any other, which nobody has to
take, and a fresh parameter is any unused element. What a fresh parameter lacks in a small structure it may find in a
larger one: an action that only this keeps from being taken is neither open nor closed.
"""

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import networkx as nx

from carnet_spec.language import Action, Eventually, GuardKind, Protocol
from carnet_spec.language.terms import And
from tests.oracle.evaluate import Row, TooBigError, size_of
from tests.oracle.machine import Layout, State, successors_of, value_at


class ConflictError(Exception):
    """Two updates of a step disagree: such a step has no meaning."""


@dataclass
class Runs:
    """All runs of a protocol from one first state, as steps that change something.

    Raises TooBigError if there are more than ``most`` states; ConflictError if a step has no meaning.
    """

    protocol: Protocol
    layout: Layout
    start: State
    most: int
    steps: dict[State, list[tuple[str, Row, State]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        actions = [(action.name, successors_of(action, self.layout)) for action in self.protocol.actions]
        waiting = [self.start]
        while waiting:
            if (state := waiting.pop()) in self.steps:
                continue
            taken = [(name, args, after) for name, successors in actions for args, after in successors(state)]
            self.steps[state] = [(name, args, _meant(after)) for name, args, after in taken if after != state]
            waiting += [after for _, _, after in self.steps[state]]
            if len(self.steps) > self.most:
                raise TooBigError(f"more than {self.most} states")

    def verdict(self, live: Eventually) -> str:
        """Return what an engine has to say of ``live``: VIOLATED, UNKNOWN or EXHAUSTED."""
        sizes = [range(size_of(var.sort, self.layout.sizes)) for var in live.params]
        every = [_Question(self, live, elements) for elements in itertools.product(*sizes)]
        if any(question.waits_in_vain(question.is_closed) for question in every):
            return "VIOLATED"
        return "UNKNOWN" if any(question.waits_in_vain(question.is_idle) for question in every) else "EXHAUSTED"

    def trigger_is_reachable(self, live: Eventually) -> bool:
        """Whether the trigger of ``live`` holds in a reachable state, for some elements."""
        sizes = [range(size_of(var.sort, self.layout.sizes)) for var in live.params]
        trigger = value_at(live.trigger, live.params, self.layout)
        return any(trigger(state, row) for state in self.steps for row in itertools.product(*sizes))


def _meant(after: State | None) -> State:
    if after is None:
        raise ConflictError
    return after


class _Question:
    def __init__(self, runs: Runs, live: Eventually, elements: Row) -> None:
        self.runs, self.live, self.elements = runs, live, elements
        self.weak = [name for name in live.fair if name not in live.strong]
        self.given = {name: [*self._given(runs.protocol.action(name))] for name in live.fair}
        self.allowed = {name: self._allowed(runs.protocol.action(name)) for name in live.fair}
        self.open = {name: {state for state in runs.steps if self._may_be_taken(name, state)} for name in live.fair}

    def waits_in_vain(self, closed: Callable[[str, State], bool]) -> bool:
        """Whether a fair run waits for ever, where the fair actions cannot be taken in what is ``closed`` to them."""
        trigger, response = (self._value(term) for term in (self.live.trigger, self.live.response))
        graph = nx.DiGraph()
        graph.add_nodes_from(state for state in self.runs.steps if not response(state))
        for state in list(graph):
            for name, args, after in self.runs.steps[state]:
                if after in graph:
                    graph.add_edge(state, after)
                    fair = graph.edges[state, after].setdefault("fair", set())
                    fair |= {each for each in self.live.fair if each == name and self._is_fair(each, state, name, args)}
        begins = {state for state in graph if trigger(state)}
        reached = begins.union(*(nx.descendants(graph, state) for state in begins))
        return self._may_stay(graph.subgraph(reached), closed)

    def _may_stay(self, graph: nx.DiGraph, closed: Callable[[str, State], bool]) -> bool:
        for component in nx.strongly_connected_components(graph):
            inside = graph.subgraph(component)
            taken = set().union(*(fair for _, _, fair in inside.edges(data="fair")))
            missed = [name for name in self.weak if name not in taken]
            if not all(any(closed(name, state) for state in component) for name in missed):
                continue
            strongly = [name for name in self.live.strong if name not in taken]
            left = [state for state in component if all(closed(name, state) for name in strongly)]
            if len(left) == len(component) or self._may_stay(inside.subgraph(left), closed):
                return True
        return False

    def is_idle(self, name: str, state: State) -> bool:
        """Whether no step of an action changes anything."""
        return state not in self.open[name]

    def is_closed(self, name: str, state: State) -> bool:
        """Whether none would in a larger structure either."""
        return self.is_idle(name, state) and not self.allowed[name](state)

    def _value(self, term: object) -> Callable[[State], int]:
        value = value_at(term, self.live.params, self.runs.layout)  # type: ignore[arg-type]  # every term has a value
        return lambda state: value(state, self.elements)

    def _given(self, action: Action) -> Iterator[tuple[int, Callable[[State], int]]]:
        places = {var.name: place for place, var in enumerate(action.params)}
        for each in self.live.given:
            if each.action == action.name:
                yield places[each.parameter], self._value(each.value)

    def _is_fair(self, name: str, state: State, taken: str, args: Row) -> bool:
        return taken == name and all(args[place] == value(state) for place, value in self.given[name])

    def _may_be_taken(self, name: str, state: State) -> bool:
        return any(self._is_fair(name, state, taken, args) for taken, args, _ in self.runs.steps[state])

    def _allowed(self, action: Action) -> Callable[[State], bool]:
        """Return whether the guards allow an action that draws, whatever was drawn already."""
        guards = And(tuple(guard.formula for guard in action.guards if guard.kind is not GuardKind.FRESH))
        holds = value_at(guards, action.params, self.runs.layout)
        rows = [*itertools.product(*(range(size_of(var.sort, self.runs.layout.sizes)) for var in action.params))]

        def allowed(state: State) -> bool:
            return bool(action.fresh) and any(
                holds(state, row) and self._is_fair(action.name, state, action.name, row) for row in rows
            )

        return allowed
