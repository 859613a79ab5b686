"""Proof obligations: what has to be valid for a set of invariants to be inductive.

``init/<invariant>`` says that the invariant holds in every first state, ``step/<action>/<invariant>`` that the action
preserves it where all invariants hold before. Deductions are actions like any other here.

A pair whose action changes no symbol of the invariant is left out: the weakest precondition is then the invariant
itself, which is one of the hypotheses, so there is nothing to prove.

Hypotheses and goals are named: ``axiom:…``, ``threat:…``, ``inv:…``, ``guard:…``, ``update:…`` (an update that belongs
to a defence takes place) and ``goal``. Invariants whose claim or lemma is limited to some threat models take part only
in obligations under one of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from carnet_check.symbolic.precondition import (
    SKOLEM,
    after_updates,
    at_start,
    stand_in,
    switch,
    with_constants,
)
from carnet_check.symbolic.simplify import simplified
from carnet_check.symbolic.smtlib import Declarations, Statement, script, statement
from carnet_spec.language import Action, Invariant, Protocol, SpecificationError, Symbol, Term, Threat
from carnet_spec.language.terms import (
    Var,
    negation,
    substitute,
    symbols_of,
)

GOAL = "goal"


@dataclass(frozen=True)
class Obligation:
    """One thing to prove: that the hypotheses make the goal true, whatever its constants stand for.

    Attributes:
        id: ``init/<invariant>`` or ``step/<action>/<invariant>``.
        invariant: the invariant to establish.
        action: the action that is to preserve it; ``None`` for the first state.
        goal: the weakest precondition, its leading variables replaced by arbitrary constants.
        own: hypotheses of this obligation alone (guards, switches of updates).
    """

    id: str
    invariant: Invariant
    action: Action | None
    goal: Term
    own: Mapping[str, Term]
    system: System = field(repr=False, compare=False)

    @cached_property
    def statements(self) -> tuple[Statement, ...]:
        """The obligation's own hypotheses, and its goal negated."""
        declarations = self.system.declarations
        own = [statement(name, formula, declarations) for name, formula in self.own.items()]
        return (*own, statement(GOAL, negation(self.goal), declarations))

    @property
    def shared(self) -> Mapping[str, Statement]:
        """The hypotheses that this obligation shares with others of its kind."""
        return self.system.step_hypotheses if self.action else self.system.init_hypotheses

    def smtlib(self) -> str:
        """Return the obligation, all hypotheses included, as one SMT-LIB 2 file; ``unsat`` is a proof."""
        protocol = self.system.protocol
        comments = (
            f"{protocol.id}, variant {protocol.variant}"
            + (f", without {', '.join(protocol.without)}" if protocol.without else ""),
            f"obligation {self.id}; unsat means proved",
        )
        return script(self.system.declarations, (*self.shared.values(), *self.statements), comments)


@dataclass(frozen=True)
class System:
    """A protocol under a threat model (or under none), with the text of its hypotheses made once."""

    protocol: Protocol
    threat: Threat | None
    invariants: tuple[Invariant, ...]
    declarations: Declarations = field(default_factory=Declarations, compare=False)

    @cached_property
    def axioms(self) -> Mapping[str, Term]:
        """The protocol's axioms and those of the threat model, by the names they have in cores."""
        found = {f"axiom:{axiom.name}": axiom.formula for axiom in self.protocol.axioms}
        for axiom in self.threat.axioms if self.threat else ():
            found[f"threat:{axiom.name}"] = axiom.formula
        return found

    @cached_property
    def hypotheses(self) -> Mapping[str, Term]:
        """Axioms and invariants, by the names they have in cores."""
        return {
            **self.axioms,
            **{f"inv:{invariant.name}": invariant.formula for invariant in self.invariants},
        }

    @cached_property
    def init_hypotheses(self) -> Mapping[str, Statement]:
        """What may be assumed of the first state."""
        return self._said(self.axioms)

    @cached_property
    def step_hypotheses(self) -> Mapping[str, Statement]:
        """What may be assumed of the state before a step."""
        return self._said(self.hypotheses)

    def _said(self, formulas: Mapping[str, Term]) -> Mapping[str, Statement]:
        return {name: statement(name, formula, self.declarations) for name, formula in formulas.items()}


def system(protocol: Protocol, threat: Threat | None) -> System:
    """Return ``protocol`` under ``threat`` with the invariants that are meant to hold there.

    Raises:
        SpecificationError: two invariants, or two axioms, have the same name.
    """
    invariants = tuple(invariants_under(protocol, threat))
    names = [invariant.name for invariant in invariants]
    names += [axiom.name for axiom in protocol.axioms]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise SpecificationError(f"two axioms or invariants are called {', '.join(twice)}")
    return System(protocol, threat, invariants)


def invariants_under(protocol: Protocol, threat: Threat | None) -> Iterator[Invariant]:
    """Yield the invariants that are meant to hold under ``threat``, or, without one, under all."""
    every = {declared.id for declared in protocol.threats}
    wanted = every if threat is None else {threat.id}
    for claim in protocol.claims:
        if claim.invariant is not None and wanted <= set(claim.under) - set(claim.fails_under):
            yield claim.invariant
    for lemma in protocol.lemmas:
        under: tuple[str, ...] = getattr(lemma, "under", ())
        if not under or wanted <= set(under):
            yield lemma


def obligations(protocol: Protocol, threat: Threat | None = None) -> tuple[Obligation, ...]:
    """Return everything that has to be proved of ``protocol`` under ``threat``; without one, under all of them."""
    return tuple(obligations_of(system(protocol, threat)))


def obligations_of(system: System) -> Iterator[Obligation]:
    """Yield the obligations of ``system``, those of the first state first."""
    start = at_start(system.protocol.initial, system.protocol.symbols)
    for invariant in system.invariants:
        goal = start(instance_of(invariant))
        yield Obligation(f"init/{invariant.name}", invariant, None, goal, {}, system)
    mentioned = {invariant.name: symbols_of(invariant.body) for invariant in system.invariants}
    for action in system.protocol.actions:
        yield from _steps(system, action, mentioned)


def _steps(system: System, action: Action, mentioned: Mapping[str, frozenset[Symbol]]) -> Iterator[Obligation]:
    ground = with_constants(action)
    changed = {update.symbol for update in ground.updates}
    after = after_updates(ground.updates, switches=True)
    guards = {f"guard:{guard.name}": guard.formula for guard in ground.guards}
    for invariant in system.invariants:
        touched = changed & mentioned[invariant.name]
        if not touched:
            continue
        before = instance_of(invariant)
        goal = after(before)
        if goal == before:
            continue
        switches = {
            f"update:{update.name}": switch(update)
            for update in ground.updates
            if update.defence is not None and update.symbol in touched
        }
        own = {**guards, **switches}
        id = f"step/{action.name}/{invariant.name}"
        yield Obligation(id, invariant, action, goal, own, system)


def instance_of(invariant: Invariant) -> Term:
    """Return the invariant at arbitrary constants."""
    values: dict[Var, Term] = {param: stand_in(SKOLEM, param) for param in invariant.params}
    return simplified(substitute(invariant.body, values))
