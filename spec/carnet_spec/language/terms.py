"""Core terms: many-sorted first-order logic with finite enumerations, as plain immutable values.

All other stages (evaluation, translation, substitution, printing, mutation) work on these classes. They compare and
hash structurally; sorts, symbols and variables hash by their names alone, which is much faster than hashing their whole
declarations. The operators for writing specifications are in :mod:`carnet_spec.language.expressions`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


@dataclass(frozen=True, slots=True)
class Sort:
    """A sort: uninterpreted (any number of elements) or, with ``members``, a finite enumeration."""

    name: str
    members: tuple[str, ...] | None = field(default=None, hash=False)
    #: Whether elements of the sort can be drawn fresh, that is, never used before.
    fresh: bool = field(default=False, hash=False)

    @property
    def is_enumeration(self) -> bool:
        """Whether the sort is a finite enumeration."""
        return self.members is not None


BOOL = Sort("Bool")


class Kind(Enum):
    """Who may read a symbol; the visibility lint uses these kinds."""

    PUBLIC = "public"  #: Published and rigid: any party may read it.
    STATE = "state"  #: The local state of one role.
    MESSAGE = "message"  #: Sent as a message or shown as evidence: any party may read it, the platform included.
    #: A fact about the environment that no honest party can observe (who is corrupt, which GPU is genuine).
    TRUTH = "truth"
    GHOST = "ghost"  #: A history variable, which only claims read.
    KNOWLEDGE = "knowledge"  #: The knowledge of an agent.


@dataclass(frozen=True, slots=True)
class Role:
    """A kind of party that takes steps; ``honest`` roles follow the protocol."""

    name: str
    honest: bool = True


@dataclass(frozen=True, slots=True)
class Symbol:
    """A relation (``result`` is BOOL), a function, or, without a domain, a variable."""

    name: str
    domain: tuple[Sort, ...] = field(hash=False)
    result: Sort = field(hash=False)
    kind: Kind = field(hash=False)
    mutable: bool = field(hash=False)
    role: Role | None = field(default=None, hash=False)
    says: str = field(default="", hash=False)

    @property
    def is_relation(self) -> bool:
        """Whether the symbol is Boolean-valued."""
        return self.result == BOOL


@dataclass(frozen=True, slots=True)
class Var:
    """A variable bound by an action's parameters, a quantifier or an ``each``."""

    name: str
    sort: Sort = field(hash=False)


@dataclass(frozen=True, slots=True)
class Member:
    """One member of an enumeration."""

    sort: Sort
    name: str


@dataclass(frozen=True, slots=True)
class Truth:
    """The constant true or false."""

    value: bool


@dataclass(frozen=True, slots=True)
class Apply:
    """A symbol applied to arguments."""

    symbol: Symbol
    args: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Equal:
    """Equality of two terms of one sort."""

    left: Term
    right: Term


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    body: Term


@dataclass(frozen=True, slots=True)
class And:
    """Conjunction; the empty one is true."""

    parts: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Disjunction; the empty one is false."""

    parts: tuple[Term, ...]


@dataclass(frozen=True, slots=True)
class Implies:
    """Implication."""

    premise: Term
    conclusion: Term


@dataclass(frozen=True, slots=True)
class IfThenElse:
    """A conditional term or formula; results from substituting updates, never written by authors."""

    test: Term
    then: Term
    otherwise: Term


@dataclass(frozen=True, slots=True)
class Forall:
    """Universal quantification over sorts."""

    bound: tuple[Var, ...]
    body: Term


@dataclass(frozen=True, slots=True)
class Exists:
    """Existential quantification over sorts."""

    bound: tuple[Var, ...]
    body: Term


Term = Var | Member | Truth | Apply | Equal | Not | And | Or | Implies | IfThenElse | Forall | Exists

TRUE = Truth(True)
FALSE = Truth(False)


def sort_of(term: Term) -> Sort:
    """Return the sort of ``term``; formulas have sort BOOL."""
    if isinstance(term, Apply):
        return term.symbol.result
    if isinstance(term, Var):
        return term.sort
    if isinstance(term, Member):
        return term.sort
    return sort_of(term.then) if isinstance(term, IfThenElse) else BOOL


def conjuncts(term: Term) -> tuple[Term, ...]:
    """Return the parts of a conjunction, or the formula alone."""
    return term.parts if isinstance(term, And) else (term,)


def conjunction(parts: tuple[Term, ...]) -> Term:
    """Return the conjunction of ``parts``, flattened and without trivially true parts."""
    flat: list[Term] = []
    for part in parts:
        if isinstance(part, And):
            flat.extend(part.parts)
        elif not isinstance(part, Truth):
            flat.append(part)
        elif not part.value:
            return FALSE
    return flat[0] if len(flat) == 1 else (And(tuple(flat)) if flat else TRUE)


def disjunction(parts: tuple[Term, ...]) -> Term:
    """Return the disjunction of ``parts``, flattened and without trivially false parts."""
    flat: list[Term] = []
    for part in parts:
        if isinstance(part, Or):
            flat.extend(part.parts)
        elif not isinstance(part, Truth):
            flat.append(part)
        elif part.value:
            return TRUE
    return flat[0] if len(flat) == 1 else (Or(tuple(flat)) if flat else FALSE)


def negation(term: Term) -> Term:
    """Return the negation of ``term``; a double negation is removed."""
    match term:
        case Truth(value):
            return Truth(not value)
        case Not(body):
            return body
        case _:
            return Not(term)


def children(term: Term) -> tuple[Term, ...]:
    """Return the direct subterms of ``term``, in the order in which ``rebuild`` changes them."""
    return _CHILDREN[type(term)](term)


#: For each kind of term, the function that returns its direct subterms; a table is the fastest way to find it.
_CHILDREN: Mapping[type, Callable[[Any], tuple[Term, ...]]] = {
    Apply: lambda term: term.args,
    Var: lambda term: (),
    Member: lambda term: (),
    And: lambda term: term.parts,
    Not: lambda term: (term.body,),
    Equal: lambda term: (term.left, term.right),
    Or: lambda term: term.parts,
    Forall: lambda term: (term.body,),
    Exists: lambda term: (term.body,),
    Implies: lambda term: (term.premise, term.conclusion),
    IfThenElse: lambda term: (term.test, term.then, term.otherwise),
    Truth: lambda term: (),
}


def subterms(term: Term) -> Iterator[Term]:
    """Yield ``term`` and everything inside it, outermost first."""
    pending = [term]
    while pending:
        found = pending.pop()
        yield found
        pending += _CHILDREN[type(found)](found)[::-1]


def symbols_of(term: Term) -> frozenset[Symbol]:
    """Return the symbols that occur in ``term``."""
    return frozenset(sub.symbol for sub in subterms(term) if isinstance(sub, Apply))


def free_variables(term: Term) -> frozenset[Var]:
    """Return the variables that occur free in ``term``."""
    found: set[Var] = set()
    pending = [term]
    while pending:
        sub = pending.pop()
        if isinstance(sub, Var):
            found.add(sub)
        elif isinstance(sub, Forall | Exists):
            found |= free_variables(sub.body).difference(sub.bound)
        else:
            pending += _CHILDREN[type(sub)](sub)
    return frozenset(found)


def variables_in(term: Term) -> frozenset[Var]:
    """Return the variables that occur in ``term`` or are bound in it."""
    found: set[Var] = set()
    for sub in subterms(term):
        match sub:
            case Var():
                found.add(sub)
            case Forall(bound, _) | Exists(bound, _):
                found.update(bound)
    return frozenset(found)


def hidden_variables(term: Term) -> frozenset[Var]:
    """Return the variables that ``term`` reads inside a quantifier over another variable of the same name."""
    found: set[Var] = set()
    for sub in subterms(term):
        if isinstance(sub, Forall | Exists):
            names = {var.name for var in sub.bound}
            found.update(var for var in free_variables(sub) if var.name in names)
            found.update(var for var in sub.bound if sum(other.name == var.name for other in sub.bound) > 1)
    return frozenset(found)


def rebuild(term: Term, change: Callable[[Term], Term]) -> Term:
    """Return ``term`` with ``change`` applied to each direct subterm; a term in which none changes is itself."""
    before = children(term)
    after = tuple([change(child) for child in before])
    return term if all(map(operator.is_, before, after)) else _WITH_CHILDREN[type(term)](term, after)


#: For each kind of term that has subterms, the function that returns the same with other ones.
_WITH_CHILDREN: Mapping[type, Callable[[Any, tuple[Any, ...]], Term]] = {
    Apply: lambda term, args: Apply(term.symbol, args),
    And: lambda _, parts: And(parts),
    Not: lambda _, parts: Not(*parts),
    Equal: lambda _, parts: Equal(*parts),
    Or: lambda _, parts: Or(parts),
    Forall: lambda term, parts: Forall(term.bound, *parts),
    Exists: lambda term, parts: Exists(term.bound, *parts),
    Implies: lambda _, parts: Implies(*parts),
    IfThenElse: lambda _, parts: IfThenElse(*parts),
}


def substitute(term: Term, values: Mapping[Var, Term]) -> Term:
    """Replace free variables of ``term`` by ``values``.

    Bound variables are renamed if they would capture a variable of a value.
    """
    if not values:
        return term
    match term:
        case Var():
            return values.get(term, term)
        case Forall(bound, body) | Exists(bound, body):
            inner = {var: value for var, value in values.items() if var not in bound}
            if not inner:
                return term
            captured = frozenset().union(*(free_variables(value) for value in inner.values()))
            renamed = _renamed(bound, captured, captured | free_variables(body))
            moved = {old: new for old, new in zip(bound, renamed, strict=True) if old != new}
            return type(term)(renamed, substitute(body, inner | moved))
        case _:
            return rebuild(term, lambda child: substitute(child, values))


def _renamed(bound: tuple[Var, ...], captured: frozenset[Var], taken: frozenset[Var]) -> tuple[Var, ...]:
    """Rename the variables of ``bound`` that are in ``captured`` to unused ones."""
    renamed: list[Var] = []
    for var in bound:
        new = var
        if var in captured:
            while new in taken or new in bound or new in renamed:
                new = Var(new.name + "'", new.sort)
        renamed.append(new)
    return tuple(renamed)
