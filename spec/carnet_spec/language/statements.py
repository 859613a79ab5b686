"""What a protocol states beside its steps: what is assumed, claimed, hoped for, defended and true at first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from carnet_spec.language.errors import SpecificationError
from carnet_spec.language.naming import require_name
from carnet_spec.language.terms import Equal, Forall, Symbol, Term, Var, conjunction, substitute


@dataclass(frozen=True, slots=True)
class Assumption:
    """Something taken for granted, printed with every verdict that uses it.

    ``built_in`` assumptions are in the very shape of the steps, so every verdict rests on them; the others are stated
    by axioms, and a proof rests on those it used.
    """

    id: str
    sentence: str
    built_in: bool = False

    def __post_init__(self) -> None:
        require_name("an assumption", self.id)


UNNAMED = "axiom: "
"""Begins what is listed for an axiom that names no assumption."""


@dataclass(frozen=True, slots=True)
class Axiom:
    """A formula over rigid symbols that is assumed, and the assumption it states."""

    name: str
    formula: Term
    assumption: str = ""
    says: str = ""

    def __post_init__(self) -> None:
        require_name("an axiom", self.name)

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
    passive: bool = False
    """Whether its adversary only listens and deduces, so that deductions are all the steps it takes."""

    def __post_init__(self) -> None:
        require_name("a threat model", self.id)

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

    def __post_init__(self) -> None:
        require_name("a defence", self.id)


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

    def __post_init__(self) -> None:
        require_name("a claim or lemma", self.name)

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

    def __post_init__(self) -> None:
        require_name("a claim", self.name)

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

    def __post_init__(self) -> None:
        require_name("a goal", self.name)


@dataclass(frozen=True, slots=True)
class Given:
    """What a parameter of an action is in the steps that are to be taken fairly."""

    action: str
    parameter: str
    value: Term


@dataclass(frozen=True, slots=True)
class Eventually:
    """Liveness: whenever ``trigger`` holds, ``response`` holds later, if the named actions are taken fairly.

    Fairness is weak, but for actions that ``strong`` names, too. Of an action that ``given`` speaks of, only the steps
    with these values are to be taken fairly. With ``params`` it is one property for each choice of elements, of which
    trigger, response and what is given may speak. ``requirement`` is the id of the sentence that it states, if any.
    """

    name: str
    trigger: Term
    response: Term
    sentence: str
    fair: tuple[str, ...] = ()
    given: tuple[Given, ...] = ()
    params: tuple[Var, ...] = ()
    strong: tuple[str, ...] = ()
    requirement: str = ""

    def __post_init__(self) -> None:
        require_name("a liveness property", self.name)
        if self.strong != tuple(name for name in dict.fromkeys(self.fair) if name in self.strong):
            raise SpecificationError(f"{self.name} is strongly fair to what is not fair, or in another order")
        places = [(given.action, given.parameter) for given in self.given]
        ordered = [place for action in dict.fromkeys(self.fair) for place in places if place[0] == action]
        if len(set(places)) < len(places) or ordered != places:
            raise SpecificationError(f"{self.name} gives a value twice, of what is not fair, or in another order")

    def fair_to(self, actions: Iterable[str]) -> Eventually:
        """Return the property under fairness of some actions, and of the same steps of them."""
        names = tuple(actions)
        given = (each for name in dict.fromkeys(names) for each in self.given if each.action == name)
        strong = (name for name in dict.fromkeys(names) if name in self.strong)
        return replace(self, fair=names, given=tuple(given), strong=tuple(strong))

    def at(self, values: Iterable[Term]) -> Eventually:
        """Return the property of some elements alone, without parameters; there is a value for each parameter."""
        chosen = dict(zip(self.params, values, strict=True))
        given = tuple(replace(each, value=substitute(each.value, chosen)) for each in self.given)
        trigger, response = substitute(self.trigger, chosen), substitute(self.response, chosen)
        return replace(self, trigger=trigger, response=response, given=given, params=())

    @property
    def variables(self) -> tuple[Var, ...]:
        """A variable for each parameter that is called as no parameter of an action is."""
        return tuple(Var(f"each {var.name}", var.sort) for var in self.params)

    def condition(self, action: str, parameters: Iterable[Var]) -> Term:
        """Return which steps of an action are to be taken fairly.

        Raises:
            SpecificationError: the property has parameters, which an action may have by the same names.
        """
        if self.params:
            raise SpecificationError(f"{self.name} asks for fairness of no steps but those for some elements")
        values = {given.parameter: given.value for given in self.given if given.action == action}
        return conjunction(tuple(Equal(var, values[var.name]) for var in parameters if var.name in values))

    @property
    def terms(self) -> tuple[Term, ...]:
        """All that it says."""
        return (self.trigger, self.response, *(given.value for given in self.given))
