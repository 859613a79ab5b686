"""What has to be proved of a liveness property: that it is waited for in stages, which no run goes round for ever.

The actions that are treated fairly are stages, in the order in which they are named. A state in which something is
waited for is at the last stage whose action is possible. If there always is one, if no step leads back to an earlier
stage or ends the waiting otherwise, and if the action of a stage leads beyond it, then a run that waits for ever is at
one stage for ever: its action is possible all the while and never taken, which weak fairness rules out. With one stage
this is the rule WF1 of the temporal logic of actions, with several its lattice rule (L. Lamport, "The Temporal Logic of
Actions", ACM TOPLAS 16(3), 1994, sections 5.6 and 5.7). Steps may lead back from a stage whose action is treated
strongly fairly: a run that comes there again and again has it taken in the end. The rule asks for no instance, and uses
no axiom of a threat model, so it holds for any number of parties and under every threat model.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from carnet_check.obligations.preconditions import precondition
from carnet_check.obligations.reading import (
    GOAL,
    Hypothesis,
    Language,
    Layer,
    Steps,
    joined,
    language_of,
    part_of_id,
    steps_of,
)
from carnet_check.reserved_symbols import Purpose, stand_in
from carnet_command.text import listed
from carnet_spec.language import Action, Eventually, Protocol, SpecificationError, terms
from carnet_spec.language.analysis.fair_parts import divided
from carnet_spec.language.terms import Exists, Term, conjunction, sort_of

BEFORE = "before"
"""The name of what a condition assumes of the state before a step."""


@dataclass(frozen=True, eq=False, slots=True)
class Condition:
    """One condition of the rule: where ``before`` holds, a step of ``action`` leads to where ``after`` holds.

    Without an action both speak of one state. The formulas are those of ``model_check/coq/Liveness.v``, part by part.

    Attributes:
        id: ``live/PROPERTY/waits/ACTION``, or ``live/PROPERTY/by/STAGES/…`` for what depends on the stages.
        lacking: what is said of the property if nobody proves the condition.
    """

    id: str
    action: Action | None
    before: Term
    after: Term
    lacking: str


class Rule:
    """The conditions under which a property holds of one protocol; one with parameters is about arbitrary constants."""

    def __init__(self, protocol: Protocol, live: Eventually) -> None:
        self.protocol = protocol
        self.constants = tuple(stand_in(Purpose.SKOLEM, var) for var in live.params)
        self._live = live.at(self.constants)
        self._waiting = _all((self._live.trigger, terms.Not(self._live.response)))

    @property
    def attempts(self) -> tuple[tuple[str, ...], ...]:
        """The stages to try: each action that is treated fairly alone, and then all of them."""
        alone = tuple((name,) for name in self._live.fair)
        return (*alone, self._live.fair) if len(alone) > 1 else alone

    @property
    def waits(self) -> tuple[Condition, ...]:
        """Whatever the stages are: no step ends the waiting without what is waited for."""
        waited_on = _any((self._live.trigger, self._live.response))
        return tuple(
            Condition(
                self._id("waits", each.name),
                each,
                self._waiting,
                waited_on,
                f"{each.name} may end the waiting without what is waited for",
            )
            for each in self.protocol.actions
        )

    def stages(self, names: Sequence[str]) -> Stages:
        """Return the conditions for these stages."""
        return Stages(
            self.protocol, self._live.fair_to(names), self._waiting, self._id("by", "+".join(map(_part, names)))
        )

    def _id(self, *parts: str) -> str:
        return "/".join(("live", part_of_id(self._live.name), *parts))


def _part(name: str) -> str:
    """Return a name as a part of a list of stages."""
    return part_of_id(name).replace("+", "%2B")


class Stages:
    """The conditions for actions that are treated fairly, in the order in which they are named."""

    def __init__(self, protocol: Protocol, live: Eventually, waiting: Term, id: str) -> None:
        self._live, self._waiting, self._id = live, waiting, id
        self._parts = divided(protocol, [live])
        self._stages = [self._parts.action(name) for name in live.fair]
        self._possible = [_enabled(action) for action in self._stages]

    @property
    def possible(self) -> Condition:
        """Some stage is possible wherever something is waited for."""
        names = [action.name for action in self._stages]
        lacking = f"there are times at which none of {listed(names)} is possible"
        if len(names) == 1:
            lacking = f"{names[0]} is not always possible meanwhile"
        return Condition(f"{self._id}/possible", None, self._waiting, _any(self._possible), lacking)

    @property
    def moves(self) -> tuple[Condition, ...]:
        """No run stays at a stage although its action is taken, or goes back from it."""
        return tuple(each for place in range(len(self._stages)) for each in self._of(place))

    def _of(self, place: int) -> Iterator[Condition]:
        """Yield the conditions of one stage.

        There is no way back from the first stage: where something is waited for, some stage is possible. One whose
        action is treated strongly fairly may be left again: as long as it is reached again and again, it is taken.
        """
        own, later = self._stages[place], [action.name for action in self._stages[place + 1 :]]
        lacking = f"{own.name} does not always bring it about" + (f" or make {listed(later)} possible" if later else "")
        name = part_of_id(own.name)
        yield Condition(f"{self._id}/stays/{name}", own, self._at(place), self._beyond(place + 1), lacking)
        for action in self._parts.actions if place and own.name not in self._live.strong else ():
            if action.name != own.name:
                id = f"{self._id}/back/{name}/{part_of_id(action.name)}"
                lacking = f"{action.name} may lead back from where {own.name} is possible"
                yield Condition(id, action, self._at(place), self._beyond(place), lacking)

    def _at(self, place: int) -> Term:
        """Return that it is waited for, and which stage it is at: the last one whose action is possible."""
        return _all((self._waiting, self._possible[place], *map(terms.Not, self._possible[place + 1 :])))

    def _beyond(self, place: int) -> Term:
        """Return that it is there, or that this stage or a later one is possible."""
        return _any((self._live.response, *self._possible[place:]))


def _enabled(action: Action) -> Term:
    guards = _all((*(guard.formula for guard in action.guards), *_differing(action.fresh)))
    return Exists(action.params, guards) if action.params else guards


def drawn_apart(drawn: Iterable[Term]) -> Term:
    """What one step draws fresh differs, where it is of one sort."""
    return conjunction(tuple(_differing(drawn)))


def _differing(drawn: Iterable[Term]) -> Iterator[Term]:
    pairs = itertools.combinations(drawn, 2)
    return (terms.Not(terms.Equal(a, b)) for a, b in pairs if sort_of(a) == sort_of(b))


def _all(parts: Sequence[Term]) -> Term:
    return joined(terms.And, [*parts], terms.TRUE)


def _any(parts: Sequence[Term]) -> Term:
    return joined(terms.Or, [*parts], terms.FALSE)


# --------------------------------------------------------------------------------------------------
# Conditions as obligations in the certified language.


@dataclass(frozen=True, eq=False)
class LivenessObligation:
    """A condition of the rule as an obligation: no values of the constants make all hypotheses true.

    Invariants may be assumed, as they are stated; a proof that uses one needs a proof of that invariant, too.
    """

    id: str
    variant: str
    given: tuple[Hypothesis, ...] = field(repr=False)
    constants: tuple[terms.Apply, ...] = field(repr=False)
    before: Hypothesis = field(repr=False)
    after: Term = field(repr=False)
    steps: Steps | None = field(repr=False)

    under = ""
    skipped = False
    likely = ("guard:", BEFORE)

    @cached_property
    def goal(self) -> Hypothesis:
        """The goal, negated."""
        return Hypothesis(GOAL, terms.Not(precondition(self.after, self.steps.changes) if self.steps else self.after))

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """Everything that is assumed, in order; the negated goal comes last."""
        return (*self.given, self.before, *(self.steps.asked if self.steps else ()), self.goal)


@dataclass(frozen=True, slots=True)
class LivenessAttempt:
    """The obligations of one property for some stages; if all are proved, the property is.

    The first says that some stage is always possible.
    """

    stages: tuple[str, ...]
    obligations: tuple[LivenessObligation, ...]


def assumed_of(layers: Sequence[Layer]) -> Layer:
    """Return the layer whose claims may be assumed: of all layers of a protocol the first one that has any."""
    return next((each for each in layers if each.claims), layers[0])


def attempts(layers: Sequence[Layer]) -> dict[str, tuple[LivenessAttempt, ...]]:
    """Return for each liveness property what may be proved of it, for each choice of stages: any of them suffices.

    There is none for a property that says something that the certified language cannot say.

    Args:
        layers: all layers of the protocol. No axiom of a threat model may be used.
    """
    layer = assumed_of(layers)
    found: dict[str, tuple[LivenessAttempt, ...]] = {}
    for live in layer.protocol.liveness:
        found[live.name] = ()
        with contextlib.suppress(SpecificationError):
            found[live.name] = tuple(_attempts(layer, Rule(layer.protocol, live)))
    return found


def _attempts(layer: Layer, rule: Rule) -> Iterator[LivenessAttempt]:
    reader = _Reading(layer, rule.constants)
    waits = tuple(map(reader.obligation, rule.waits))
    for names in rule.attempts:
        stages = rule.stages(names)
        own = map(reader.obligation, (stages.possible, *stages.moves))
        yield LivenessAttempt(names, (*own, *waits))


class _Reading:
    """Conditions of one property, read in the certified language."""

    def __init__(self, layer: Layer, constants: tuple[terms.Apply, ...]) -> None:
        declared = language_of(layer.protocol)
        own = {constant.symbol.name: constant.symbol for constant in constants}
        self._language = Language(declared.sorts, {**declared.symbols, **own})
        self._given = (*layer.reading.axioms, *(each.hypothesis for each in layer.claimed))
        self._variant, self._constants = layer.protocol.variant, constants
        self._steps: dict[Action, Steps] = {}

    def obligation(self, condition: Condition) -> LivenessObligation:
        reader = self._language.at(condition.id, ())
        steps = self._steps_of(condition.action) if condition.action else None
        return LivenessObligation(
            condition.id,
            self._variant,
            self._given,
            (*self._constants, *(steps.constants if steps else ())),
            Hypothesis(BEFORE, reader.formula(condition.before)),
            reader.formula(condition.after),
            steps,
        )

    def _steps_of(self, action: Action) -> Steps:
        if action not in self._steps:
            self._steps[action] = steps_of(action, self._language)
        return self._steps[action]
