"""Clocks: whether the instants that a checked trace gives are ones that a layer with a clock allows.

A layer may have sorts that its design lacks, such as instants. What of the layer speaks of such sorts alone is a small
protocol of its own: which steps read or set instants, and how those have to lie. A trace gives instants as numbers,
which are ordered as numbers are. So comparisons are made again here, whatever a role says that came of its own.

Of these guards, those that carry a defence are followed, and those that say how the clock runs. What is said of other
sorts as well, such as how long each of several keys is leased, is left to the checks that a role records.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from carnet_check.conformance.following import Follower
from carnet_check.conformance.machine import Machine
from carnet_spec.language import Action, Guard, GuardKind, InLine, Instance, Protocol, Sort, Symbol
from carnet_spec.language.terms import Term, free_variables, symbols_of
from carnet_spec.trace import TraceEvent, TraceStep


@dataclass(frozen=True, slots=True)
class Clock:
    """What one layer says of instants: a protocol about nothing else."""

    protocol: Protocol

    @staticmethod
    def of(design: Protocol, layers: Iterable[Protocol]) -> tuple[Clock, ...]:
        """Return the clocks of the layers over a design: of those that have a sort in line that it lacks."""
        found = (_instants(design, layer) for layer in layers)
        return tuple(Clock(_projected(layer, sorts)) for layer, sorts in zip(layers, found, strict=True) if sorts)

    def names(self, action: str) -> tuple[str, ...]:
        """Return what an action says of instants, by the names of its parameters."""
        return tuple(var.name for each in self.protocol.actions if each.name == action for var in each.params)

    def following(self, instants: Collection[float]) -> Follower:
        """Return what follows a trace that gives these instants."""
        line = tuple(dict.fromkeys(_element(each) for each in sorted(instants))) or (_element(0),)
        return Follower(Machine(self.protocol, _instance(self.protocol, line)))


def _instants(design: Protocol, layer: Protocol) -> frozenset[Sort]:
    """Return the sorts that a layer adds and orders."""
    added = {sort for sort in layer.sorts if sort not in design.sorts and not sort.is_enumeration}
    return frozenset(
        symbol.domain[0]
        for symbol in layer.symbols
        if not symbol.mutable and symbol.is_relation and len(symbol.domain) == 2 and set(symbol.domain) <= added
    )


def _projected(layer: Protocol, sorts: frozenset[Sort]) -> Protocol:
    """Return what of a layer is about these sorts alone."""
    symbols = tuple(each for each in layer.symbols if _about(each, sorts))
    actions = tuple(each for action in layer.actions if (each := _part(action, sorts, symbols)) is not None)
    initial = tuple(each for each in layer.initial if each.symbol in symbols)
    kept = tuple(sort for sort in layer.sorts if sort in sorts)
    return replace(layer, actions=actions, initial=initial, axioms=(), sorts=kept, symbols=symbols)


def _about(symbol: Symbol, sorts: frozenset[Sort]) -> bool:
    """Whether a symbol relates, or is, values of these sorts and no others."""
    return set(symbol.domain) <= sorts and (bool(symbol.domain) if symbol.is_relation else symbol.result in sorts)


def _part(action: Action, sorts: frozenset[Sort], symbols: Sequence[Symbol]) -> Action | None:
    """Return what of an action is about these sorts alone, if it is one of a role that says when it takes it."""
    params = tuple(var for var in action.params if var.sort in sorts)
    if not params or not action.by.honest:
        return None

    def kept(term: Term) -> bool:
        return free_variables(term) <= set(params) and symbols_of(term) <= set(symbols)

    updates = (each for each in action.updates if each.symbol in symbols and not each.each)
    return replace(
        action,
        params=params,
        guards=tuple(guard for guard in action.guards if _followed(guard) and kept(guard.formula)),
        updates=tuple(each for each in updates if each.value is not None and kept(each.value) and kept(each.when)),
        deduction=False,
    )


def _followed(guard: Guard) -> bool:
    return guard.defence is not None or guard.kind is GuardKind.GIVEN


def _element(instant: float) -> str:
    return repr(float(instant))


def _instance(protocol: Protocol, line: tuple[str, ...]) -> Instance:
    """Return the instance in which these instants are all there are; what is said of none is the first of them."""
    rigid = [symbol for symbol in protocol.symbols if not symbol.mutable]
    return Instance(
        {sort.name: line for sort in protocol.sorts},
        {symbol.name: InLine(line) for symbol in rigid if symbol.is_relation},
        {symbol.name: {(): line[0]} for symbol in rigid if not symbol.is_relation},
    )


@dataclass(slots=True)
class ClockJudge:
    """Goes along a checked trace and has its instants followed."""

    clocks: Sequence[Clock]
    instants: Collection[float]
    _followers: Mapping[int, Follower] = field(init=False)

    def __post_init__(self) -> None:
        """Set every clock to its start."""
        self._followers = {number: clock.following(self.instants) for number, clock in enumerate(self.clocks)}

    def take(self, event: TraceEvent) -> str:
        """Take an event; return why its instants do not fit, or nothing; without a clock nothing is asked of them."""
        if not self.clocks:
            return ""
        step, due = event.step, dict.fromkeys(self._due(event))
        if tuple(sorted(name for name, _ in event.at)) != tuple(sorted(due)):
            told = ", ".join(due) or "none"
            return f"expected the instants of the event to be {told}, found {', '.join(dict(event.at)) or 'none'}"
        if not isinstance(step, TraceStep):
            return ""
        return next((why for number in self._followers if (why := self._went_on(number, step, event.at))), "")

    def _due(self, event: TraceEvent) -> Iterable[str]:
        """Yield the names of the instants that an event has to give."""
        if isinstance(event.step, TraceStep):
            for clock in self.clocks:
                yield from clock.names(event.step.action)

    def _went_on(self, number: int, step: TraceStep, at: Sequence[tuple[str, float]]) -> str:
        names = self.clocks[number].names(step.action)
        if not names:
            return ""
        args = tuple((name, _element(instant)) for name, instant in at if name in names)
        found = self._followers[number].take(TraceStep(step.action, step.by, args))
        return found.why if found is not None else ""
