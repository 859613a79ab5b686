"""The statements of a protocol besides its actions: assumptions, claims, goals, liveness, defences, initial values."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from carnet_spec.language.errors import SpecificationError
from carnet_spec.language.naming import require_fields, require_name
from carnet_spec.language.terms import Equal, Forall, Symbol, Term, Var, conjunction, substitute


@dataclass(frozen=True, slots=True)
class Assumption:
    """An assumption, printed with every verdict that uses it.

    A ``built_in`` assumption is part of how the steps are modelled, so every verdict depends on it. The others are
    stated by axioms, and a proof depends on those that it used.
    """

    id: str
    sentence: str
    built_in: bool = False

    def __post_init__(self) -> None:
        require_name("an assumption", self.id)


UNNAMED = "axiom: "  #: The prefix for an axiom that names no assumption, in lists of assumptions.


@dataclass(frozen=True, slots=True)
class Axiom:
    """An assumed formula over rigid symbols, and the assumption that it states."""

    name: str
    formula: Term
    assumption: str = ""
    says: str = ""

    def __post_init__(self) -> None:
        require_name("an axiom", self.name)

    @property
    def states(self) -> str:
        """The id of the assumption that it states, or its own name with a prefix if it states none."""
        return self.assumption or UNNAMED + self.name


UNRESTRICTED = "unrestricted"  #: The id of the only threat model of a protocol that declares none.


@dataclass(frozen=True, slots=True)
class Threat:
    """A threat model: axioms about who is corrupt."""

    id: str
    title: str
    axioms: tuple[Axiom, ...]
    #: Whether its adversary only listens and deduces, so that deductions are all the steps it takes.
    passive: bool = False

    def __post_init__(self) -> None:
        require_name("a threat model", self.id)

    @property
    def without_adversary(self) -> bool:
        """Whether it is the threat model of honest runs, in which no action of the adversary is expected."""
        return self.id == "none"


@dataclass(frozen=True, slots=True)
class Defence:
    """A named group of guards and updates that can be removed together."""

    id: str
    title: str
    base: str = ""  #: The variant from which it is removed; empty: the protocol's first main variant.

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
    """A formula that should hold in every reachable state: a claim's formula, or a lemma for its proof."""

    name: str
    params: tuple[Var, ...]
    body: Term
    says: str = ""
    under: tuple[str, ...] = ()  #: The threat models a lemma is limited to; empty: all.

    def __post_init__(self) -> None:
        require_name("a claim or lemma", self.name)

    @property
    def formula(self) -> Term:
        """The universal closure of the invariant over its parameters."""
        return Forall(self.params, self.body) if self.params else self.body


@dataclass(frozen=True, slots=True)
class Claim:
    """A property of every reachable state, under the threat models ``under``.

    ``fails_under`` are the threat models under which it is *expected* to be violated. A ``declared`` claim belongs to a
    layer that does not exist yet, and is never reported as passed.
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
        require_fields(self, f"claim {self.name}", under=(str,), fails_under=(str,))

    @property
    def checked(self) -> Invariant:
        """The claim's invariant. Raises SpecificationError if the claim is only declared."""
        if self.invariant is None:
            raise SpecificationError(f"claim {self.name} is declared but not stated yet")
        return self.invariant


@dataclass(frozen=True, slots=True)
class Goal:
    """A formula that must be reachable; otherwise proofs may be vacuous."""

    name: str
    params: tuple[Var, ...]
    body: Term
    sentence: str
    rounds: int = 1  #: How many rounds an instance needs before the goal can be reached.

    def __post_init__(self) -> None:
        require_name("a goal", self.name)


@dataclass(frozen=True, slots=True)
class Given:
    """The value of an action's parameter in the fair steps."""

    action: str
    parameter: str
    value: Term


@dataclass(frozen=True, slots=True)
class Eventually:
    """A leads-to property: whenever ``trigger`` holds, ``response`` holds then or later, if actions are taken fairly.

    The actions of ``fair`` are weakly fair, and those also in ``strong`` strongly fair. If ``given`` has values for an
    action, only its steps with these values are fair. With ``params`` it is one property for each choice of elements,
    and trigger, response and given values may depend on these. ``requirement`` is the id of the sentence that it
    states, or empty. It is made under every threat model but those of ``fails_under``, under which a lasso is expected.
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
    fails_under: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_name("a liveness property", self.name)
        require_fields(self, self.name, fails_under=(str,))
        if self.strong != tuple(name for name in dict.fromkeys(self.fair) if name in self.strong):
            raise SpecificationError(f"{self.name} is strongly fair to what is not fair, or in another order")
        places = [(given.action, given.parameter) for given in self.given]
        ordered = [place for action in dict.fromkeys(self.fair) for place in places if place[0] == action]
        if len(set(places)) < len(places) or ordered != places:
            raise SpecificationError(f"{self.name} gives a value twice, of what is not fair, or in another order")

    def fair_to(self, actions: Iterable[str]) -> Eventually:
        """Return the property with fairness of the given actions only, and of the same steps of each."""
        names = tuple(actions)
        given = (each for name in dict.fromkeys(names) for each in self.given if each.action == name)
        strong = (name for name in dict.fromkeys(names) if name in self.strong)
        return replace(self, fair=names, given=tuple(given), strong=tuple(strong))

    def at(self, values: Iterable[Term]) -> Eventually:
        """Return the property without parameters for given elements, one for each parameter."""
        chosen = dict(zip(self.params, values, strict=True))
        given = tuple(replace(each, value=substitute(each.value, chosen)) for each in self.given)
        trigger, response = substitute(self.trigger, chosen), substitute(self.response, chosen)
        return replace(self, trigger=trigger, response=response, given=given, params=())

    @property
    def variables(self) -> tuple[Var, ...]:
        """A variable for each parameter, with a name that no parameter of an action has."""
        return tuple(Var(f"each {var.name}", var.sort) for var in self.params)

    def condition(self, action: str, parameters: Iterable[Var]) -> Term:
        """Return the formula that describes the fair steps of an action.

        Raises SpecificationError if the property has parameters, whose names could clash with the action's.
        """
        if self.params:
            raise SpecificationError(f"{self.name} asks for fairness of no steps but those for some elements")
        values = {given.parameter: given.value for given in self.given if given.action == action}
        return conjunction(tuple(Equal(var, values[var.name]) for var in parameters if var.name in values))

    @property
    def terms(self) -> tuple[Term, ...]:
        """All terms of the property."""
        return (self.trigger, self.response, *(given.value for given in self.given))
