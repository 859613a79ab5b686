"""Protocols: what is specified, claimed and assumed, fixed in an immutable :class:`Protocol`.

Every engine reads these values and nothing else; a :class:`~carnet_spec.language.draft.Draft` makes them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TypeVar

from carnet_spec.language.actions import Action
from carnet_spec.language.errors import SpecificationError
from carnet_spec.language.terms import Forall, Sort, Symbol, Term, Var

_Named = TypeVar("_Named", Action, "Claim")


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something taken for granted, printed with every verdict that uses it.

    ``built_in`` assumptions are in the very shape of the steps, so every verdict rests on them; the others are stated
    by axioms, and a proof rests on those it used.
    """

    id: str
    sentence: str
    built_in: bool = False


UNNAMED = "axiom: "
"""Begins what is listed for an axiom that names no assumption."""


@dataclass(frozen=True, slots=True)
class Axiom:
    """A formula over rigid symbols that is assumed, and the assumption it states."""

    name: str
    formula: Term
    assumption: str = ""
    says: str = ""

    @property
    def states(self) -> str:
        """The assumption that it states; one that names none is listed by its own name."""
        return self.assumption or UNNAMED + self.name


@dataclass(frozen=True, slots=True)
class Threat:
    """A threat model: axioms about who is corrupt."""

    id: str
    title: str
    axioms: tuple[Axiom, ...]

    @property
    def without_adversary(self) -> bool:
        """Whether it stands for the run of honest parties alone, in which no step of the adversary is missed."""
        return self.id == "none"


@dataclass(frozen=True, slots=True)
class Defence:
    """A named group of guards and updates that can be switched off together."""

    id: str
    title: str
    base: str = ""
    """The variant it is removed from; empty: the protocol's first main variant."""


@dataclass(frozen=True, slots=True)
class Initial:
    """The value of a symbol in the first state; relations without one start empty."""

    symbol: Symbol
    params: tuple[Var, ...]
    value: Term


@dataclass(frozen=True, slots=True)
class Invariant:
    """A formula that holds in every reachable state: a claim, or a lemma that helps to prove one."""

    name: str
    params: tuple[Var, ...]
    body: Term
    says: str = ""
    under: tuple[str, ...] = ()
    """The threat models a lemma is limited to; empty: all."""

    @property
    def formula(self) -> Term:
        """The invariant closed over its parameters."""
        return Forall(self.params, self.body) if self.params else self.body


@dataclass(frozen=True, slots=True)
class Claim:
    """A property of every reachable state, under the threat models it is claimed for.

    ``fails_under`` are the threat models under which it is *expected* to be violated; ``declared`` claims belong to a
    layer that does not exist yet and are never reported as passed.
    """

    name: str
    invariant: Invariant | None
    sentence: str
    requirement: str
    source: str
    under: tuple[str, ...]
    fails_under: tuple[str, ...] = ()
    declared: bool = False

    @property
    def checked(self) -> Invariant:
        """The claim's invariant.

        Raises:
            SpecificationError: the claim is only declared.
        """
        if self.invariant is None:
            raise SpecificationError(f"claim {self.name} is declared but not stated yet")
        return self.invariant


@dataclass(frozen=True, slots=True)
class Goal:
    """Something that must be reachable, or everything proved would be vacuous."""

    name: str
    params: tuple[Var, ...]
    body: Term
    sentence: str
    rounds: int = 1
    """How many rounds an instance needs before the goal can be reached."""


@dataclass(frozen=True, slots=True)
class Eventually:
    """Liveness: whenever ``trigger`` holds, ``response`` holds later, if the named actions are taken fairly."""

    name: str
    trigger: Term
    response: Term
    sentence: str
    fair: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Protocol:
    """A protocol with its design choices made: the value that every engine reads."""

    id: str
    title: str
    variant: str
    without: tuple[str, ...]
    actions: tuple[Action, ...]
    axioms: tuple[Axiom, ...]
    initial: tuple[Initial, ...]
    claims: tuple[Claim, ...]
    lemmas: tuple[Invariant, ...]
    goals: tuple[Goal, ...]
    liveness: tuple[Eventually, ...]
    threats: tuple[Threat, ...]
    assumptions: tuple[Assumption, ...]
    defences: tuple[Defence, ...]
    sorts: tuple[Sort, ...] = field(default=())
    symbols: tuple[Symbol, ...] = field(default=())

    def action(self, name: str) -> Action:
        """Return the action called ``name``."""
        return _named(self.actions, name, "action")

    def claim(self, name: str) -> Claim:
        """Return the claim called ``name``."""
        return _named(self.claims, name, "claim")

    def threat(self, id: str) -> Threat:
        """Return the threat model with this id."""
        for threat in self.threats:
            if threat.id == id:
                return threat
        raise SpecificationError(f"no threat model '{id}' in {self.id}; known: {listed(t.id for t in self.threats)}")

    def resting_on(self, used: Iterable[str]) -> tuple[str, ...]:
        """Return the assumptions built into every step, and those among ``used``, as they are declared.

        Axioms that name no assumption come last, in their own order.
        """
        stated = set(used)
        named = [each.id for each in self.assumptions if each.built_in or each.id in stated]
        return (*named, *(axiom.states for axiom in self.axioms if not axiom.assumption and axiom.states in stated))

    @property
    def invariants(self) -> tuple[Invariant, ...]:
        """All stated claims and lemmas, claims first."""
        return tuple(claim.invariant for claim in self.claims if claim.invariant is not None) + self.lemmas

    @property
    def digest(self) -> str:
        """SHA-256 of the protocol's canonical text, in hex; equal digests mean equal specifications."""
        return hashlib.sha256(repr(replace(self, sorts=(), symbols=())).encode()).hexdigest()


def _named(things: Iterable[_Named], name: str, what: str) -> _Named:
    known = tuple(things)
    for thing in known:
        if thing.name == name:
            return thing
    raise SpecificationError(f"no {what} '{name}'; known: {listed(thing.name for thing in known)}")


def listed(names: Iterable[str]) -> str:
    """Return ``names`` in words."""
    return ", ".join(names) or "none"


def terms_of_action(action: Action) -> tuple[Term, ...]:
    """Return every term that occurs in ``action``."""
    found: list[Term] = [guard.formula for guard in action.guards]
    for update in action.updates:
        found += [*update.args, update.when]
        if update.value is not None:
            found.append(update.value)
    return tuple(found)
