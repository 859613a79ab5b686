"""The proof obligations of a leads-to property (trigger leads to response), by stages that no run repeats for ever.

The fair actions are the stages, in the order in which they are named. A state that waits for the response is at the
last stage whose action is enabled. Suppose that a waiting state always has a stage, that no step leads back to an
earlier stage or ends the waiting without the response, and that the action of a stage leads beyond it. Then a run that
waits for ever stays at one stage for ever: the stage's action is enabled all the time and never taken, which weak
fairness rules out. With one stage this is the rule WF1 of the temporal logic of actions, with several its lattice rule
(L. Lamport, "The Temporal Logic of Actions", ACM TOPLAS 16(3), 1994, sections 5.6 and 5.7). Steps may lead back from a
stage whose action is strongly fair: a run that reaches that stage infinitely often takes the action. The rule needs no
instance and no axiom of a threat model, so it holds for any number of parties and under every threat model.
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
    language_of,
    nest,
    part_of_id,
    shared_hypothesis,
    steps_of,
)
from carnet_check.reserved_symbols import Purpose, stand_in
from carnet_command.text import join_words
from carnet_spec.language import Action, Eventually, Protocol, SpecificationError, terms
from carnet_spec.language.analysis.fair_parts import divide_fair_steps
from carnet_spec.language.terms import Exists, Term, conjunction, sort_of

BEFORE = "before"  #: The name of the hypothesis about the state before a step.


@dataclass(frozen=True, eq=False, slots=True)
class Condition:
    """One condition of the rule: a step of ``action`` from a state with ``before`` leads to a state with ``after``.

    Without an action both formulas are about the same state. They are those of ``model_check/coq/Liveness.v``.
    """

    #: ``live/PROPERTY/waits/ACTION``, or ``live/PROPERTY/by/STAGES/…`` for a condition that depends on the stages.
    id: str
    action: Action | None
    before: Term
    after: Term
    lacking: str  #: the explanation of the property's verdict if the condition is not proved.


class Rule:
    """The conditions under which a property holds of one protocol; its parameters become arbitrary constants."""

    def __init__(self, protocol: Protocol, live: Eventually) -> None:
        self.protocol = protocol
        self.constants = tuple(stand_in(Purpose.SKOLEM, var) for var in live.params)
        self._live = live.at(self.constants)
        self._waiting = _all((self._live.trigger, terms.Not(self._live.response)))

    @property
    def attempts(self) -> tuple[tuple[str, ...], ...]:
        """The lists of stages to try: each fair action alone, and then all of them."""
        alone = tuple((name,) for name in self._live.fair)
        return (*alone, self._live.fair) if len(alone) > 1 else alone

    @property
    def waits(self) -> tuple[Condition, ...]:
        """The conditions for every list of stages: no step ends the waiting without the response."""
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
        """Return the conditions that depend on the stages."""
        return Stages(
            self.protocol, self._live.fair_to(names), self._waiting, self._id("by", "+".join(map(_part, names)))
        )

    def _id(self, *parts: str) -> str:
        return "/".join(("live", part_of_id(self._live.name), *parts))


def _part(name: str) -> str:
    """Escape a name as an element of a list of stages in an id."""
    return part_of_id(name).replace("+", "%2B")


class Stages:
    """The conditions for a list of fair actions, the stages, in the order in which they are named."""

    def __init__(self, protocol: Protocol, live: Eventually, waiting: Term, id: str) -> None:
        self._live, self._waiting, self._id = live, waiting, id
        self._parts = divide_fair_steps(protocol, [live])
        self._stages = [self._parts.action(name) for name in live.fair]
        self._possible = [_enabled(action) for action in self._stages]

    @property
    def possible(self) -> Condition:
        """The condition that the action of some stage is enabled in every waiting state."""
        names = [action.name for action in self._stages]
        lacking = f"there are times at which none of {join_words(names)} is possible"
        if len(names) == 1:
            lacking = f"{names[0]} is not always possible meanwhile"
        return Condition(f"{self._id}/possible", None, self._waiting, _any(self._possible), lacking)

    @property
    def moves(self) -> tuple[Condition, ...]:
        """The conditions that the action of a stage leads beyond it, and that no step leads back from it."""
        return tuple(each for place in range(len(self._stages)) for each in self._of(place))

    def _of(self, place: int) -> Iterator[Condition]:
        """Yield the conditions of one stage.

        No step can lead back from the first stage, as every waiting state has a stage. Steps may lead back from a stage
        whose action is strongly fair, as a run that reaches the stage infinitely often takes the action.
        """
        own, later = self._stages[place], [action.name for action in self._stages[place + 1 :]]
        lacking = f"{own.name} does not always bring it about" + (
            f" or make {join_words(later)} possible" if later else ""
        )
        name = part_of_id(own.name)
        yield Condition(f"{self._id}/stays/{name}", own, self._at(place), self._beyond(place + 1), lacking)
        for action in self._parts.actions if place and own.name not in self._live.strong else ():
            if action.name != own.name:
                id = f"{self._id}/back/{name}/{part_of_id(action.name)}"
                lacking = f"{action.name} may lead back from where {own.name} is possible"
                yield Condition(id, action, self._at(place), self._beyond(place), lacking)

    def _at(self, place: int) -> Term:
        """Return the formula of a waiting state at a stage: no later stage's action is enabled."""
        return _all((self._waiting, self._possible[place], *map(terms.Not, self._possible[place + 1 :])))

    def _beyond(self, place: int) -> Term:
        """Return the formula that the response holds, or the action of this or a later stage is enabled."""
        return _any((self._live.response, *self._possible[place:]))


def _enabled(action: Action) -> Term:
    guards = _all((*(guard.formula for guard in action.guards), *_differing(action.fresh)))
    return Exists(action.params, guards) if action.params else guards


def drawn_apart(drawn: Iterable[Term]) -> Term:
    """Return the formula that values of the same sort which one step draws fresh are distinct."""
    return conjunction(tuple(_differing(drawn)))


def _differing(drawn: Iterable[Term]) -> Iterator[Term]:
    pairs = itertools.combinations(drawn, 2)
    return (terms.Not(terms.Equal(a, b)) for a, b in pairs if sort_of(a) == sort_of(b))


def _all(parts: Sequence[Term]) -> Term:
    return nest(terms.And, [*parts], terms.TRUE)


def _any(parts: Sequence[Term]) -> Term:
    return nest(terms.Or, [*parts], terms.FALSE)


# --------------------------------------------------------------------------------------------------
# Conditions as obligations in the certified language.


@dataclass(frozen=True, eq=False)
class LivenessObligation:
    """A condition of the rule as an obligation: no values of the constants make all hypotheses true.

    Stated invariants may be assumed; a proof that uses one depends on the proof of that invariant.
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
        """The negated goal."""
        after = precondition(self.after, self.steps.changes) if self.steps else self.after
        return shared_hypothesis(GOAL, terms.Not(after))

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """All hypotheses in order; the negated goal is the last."""
        return (*self.given, self.before, *(self.steps.asked if self.steps else ()), self.goal)


@dataclass(frozen=True, slots=True)
class LivenessAttempt:
    """The obligations of one property for one list of stages; together they prove the property.

    The first says that every waiting state has a stage.
    """

    stages: tuple[str, ...]
    obligations: tuple[LivenessObligation, ...]


def assumed_of(layers: Sequence[Layer]) -> Layer:
    """Return the layer whose claims may be assumed: the first of a protocol's layers that has any."""
    return next((each for each in layers if each.claims), layers[0])


def attempts(layers: Sequence[Layer]) -> dict[str, tuple[LivenessAttempt, ...]]:
    """Return the attempts for each liveness property, one for each list of stages; one proved attempt suffices.

    A property that the certified language cannot express has no attempts. One that is expected to be violated is left
    out.

    Args:
        layers: all layers of the protocol. No axiom of a threat model is used.
    """
    layer = assumed_of(layers)
    found: dict[str, tuple[LivenessAttempt, ...]] = {}
    for live in (each for each in layer.protocol.liveness if not each.fails_under):
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
    """The conditions of one property in the certified language."""

    def __init__(self, layer: Layer, constants: tuple[terms.Apply, ...]) -> None:
        declared = language_of(layer.protocol)
        own = {constant.symbol.name: constant.symbol for constant in constants}
        self._language = Language(declared.sorts, {**declared.symbols, **own})
        self._given = (*layer.reading.axioms, *(each.hypothesis for each in layer.claimed))
        self._variant, self._constants = layer.protocol.variant, constants
        self._steps = {id(each.action): each for each in layer.reading.steps}

    def obligation(self, condition: Condition) -> LivenessObligation:
        reader = self._language.at(condition.id, ())
        steps = self._steps_of(condition.action) if condition.action else None
        return LivenessObligation(
            condition.id,
            self._variant,
            self._given,
            (*self._constants, *(steps.constants if steps else ())),
            shared_hypothesis(BEFORE, reader.formula(condition.before)),
            reader.formula(condition.after),
            steps,
        )

    def _steps_of(self, action: Action) -> Steps:
        if id(action) not in self._steps:  # steps keep their action, so no other has its id
            self._steps[id(action)] = steps_of(action, self._language)
        return self._steps[id(action)]
