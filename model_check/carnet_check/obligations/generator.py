"""The layers of a protocol, and the obligations of a layer in the order in which Coq's generator makes them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from carnet_check.obligations.preconditions import initially, precondition
from carnet_check.obligations.reading import GOAL, Hypothesis, Reading, Statement, Steps, read
from carnet_spec.language import Action, Invariant, Protocol, Threat
from carnet_spec.language.terms import Apply, Not


@dataclass(frozen=True, eq=False)
class Layer:
    """What is proved together: claims that hold under a threat model, or, without one, under all.

    Attributes:
        known: invariants that hold already.
        claims: the invariants to be proved.
    """

    protocol: Protocol
    threat: Threat | None
    known: tuple[Invariant, ...]
    claims: tuple[Invariant, ...]
    reading: Reading = field(repr=False)

    @cached_property
    def assumed(self) -> tuple[Hypothesis, ...]:
        """What holds of every structure: axioms, and those of the threat model."""
        return (*self.reading.axioms, *(self.reading.threats[self.threat.id] if self.threat else ()))

    @cached_property
    def before(self) -> tuple[Hypothesis, ...]:
        """What may be assumed of the state before a step."""
        stated = (statement.hypothesis for statement in self._statements((*self.known, *self.claims)))
        return (*self.assumed, *stated)

    @cached_property
    def claimed(self) -> tuple[Statement, ...]:
        """The claims, read."""
        return tuple(self._statements(self.claims))

    @cached_property
    def prefix(self) -> str:
        """What begins the ids of the layer's obligations."""
        return f"{_part(self.threat.id)}:" if self.threat else ""

    def _statements(self, invariants: Iterable[Invariant]) -> Iterator[Statement]:
        return (self.reading.statements[invariant.name] for invariant in invariants)


@dataclass(frozen=True, eq=False)
class Obligation:
    """One thing to prove: no values of the constants make all hypotheses true, the negated goal among them.

    Attributes:
        id: ``init/<invariant>`` or ``step/<action>/<invariant>``, after the threat model of a layer that has one.
        steps: the action that is to keep the invariant; ``None`` for the first state.
        skipped: the action changes nothing of which the invariant speaks. The hypotheses are then the invariant and its
            negation alone, so that all such pairs of an invariant are one obligation.
    """

    id: str
    layer: Layer = field(repr=False)
    statement: Statement = field(repr=False)
    steps: Steps | None = field(repr=False)
    skipped: bool = False

    @property
    def invariant(self) -> Invariant:
        """The invariant to establish."""
        return self.statement.invariant

    @property
    def action(self) -> Action | None:
        """The action that is to keep it."""
        return self.steps.action if self.steps else None

    @property
    def constants(self) -> tuple[Apply, ...]:
        """What stands for the action's parameters."""
        return self.steps.constants if self.steps and not self.skipped else ()

    @cached_property
    def goal(self) -> Hypothesis:
        """The goal, negated."""
        if self.skipped:
            return self.statement.denied
        claim = self.statement.hypothesis.formula
        if self.steps is None:
            return Hypothesis(GOAL, Not(initially(claim, self.layer.reading.starts)))
        return Hypothesis(GOAL, Not(precondition(claim, self.steps.changes)))

    @property
    def hypotheses(self) -> tuple[Hypothesis, ...]:
        """Everything that is assumed, in order; the negated goal comes last."""
        if self.skipped:
            return (self.statement.hypothesis, self.goal)
        if self.steps is None:
            return (*self.layer.assumed, self.goal)
        return (*self.layer.before, *self.steps.asked, self.goal)


def layers(protocol: Protocol) -> tuple[Layer, ...]:
    """Return the layers of ``protocol``: the general one first, then one for each threat model that adds claims.

    What holds under every threat model is proved without the axioms of any. Where there is one threat model only, its
    axioms may be used for everything, and the general layer is empty.

    Raises:
        SpecificationError: the protocol says something that the certified language cannot say.
    """
    reading = read(protocol)
    general = () if _is_one_with_axioms(protocol) else tuple(_claimed_under(protocol, _ids(protocol)))
    found = [Layer(protocol, None, (), general, reading)]
    for threat in protocol.threats:
        further = tuple(each for each in _claimed_under(protocol, {threat.id}) if each not in general)
        if further:
            found.append(Layer(protocol, threat, general, further, reading))
    return tuple(found)


def _is_one_with_axioms(protocol: Protocol) -> bool:
    return len(protocol.threats) == 1 and bool(protocol.threats[0].axioms)


def _ids(protocol: Protocol) -> set[str]:
    return {threat.id for threat in protocol.threats}


def _claimed_under(protocol: Protocol, wanted: set[str]) -> Iterator[Invariant]:
    """Yield the invariants that are claimed under all of the ``wanted`` threat models."""
    for claim in protocol.claims:
        if claim.invariant is not None and wanted <= set(claim.under) - set(claim.fails_under):
            yield claim.invariant
    for lemma in protocol.lemmas:
        if not lemma.under or wanted <= set(lemma.under):
            yield lemma


def obligations(layer: Layer) -> Iterator[Obligation]:
    """Yield everything that has to be proved for the claims of ``layer``, pairs with nothing to prove included."""
    for statement in layer.claimed:
        yield Obligation(f"{layer.prefix}init/{_part(statement.invariant.name)}", layer, statement, None)
    for steps in layer.reading.steps:
        start = f"{layer.prefix}step/{_part(steps.action.name)}/"
        for statement in layer.claimed:
            skipped = statement.symbols.isdisjoint(steps.changes)
            yield Obligation(start + _part(statement.invariant.name), layer, statement, steps, skipped)


def _part(name: str) -> str:
    """Return a name as one part of an obligation's id, which no other name is written as."""
    return name.replace("%", "%25").replace("/", "%2F")
