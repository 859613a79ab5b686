"""The certified language: what a specification may say so that its proofs can be checked down to Coq.

It is the language with its shorthands written out: ``and`` and ``or`` join two formulas (several are nested to the
right), and a quantifier binds one variable. What it lacks is refused here, with the place where it was found.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from carnet_spec.language import Protocol, Sort, SpecificationError, Symbol, Term
from carnet_spec.language.terms import (
    BOOL,
    FALSE,
    TRUE,
    And,
    Apply,
    Equal,
    Exists,
    Forall,
    IfThenElse,
    Implies,
    Member,
    Not,
    Or,
    Truth,
    Var,
    sort_of,
)


@dataclass(frozen=True, slots=True)
class Language:
    """What a protocol declares, by name; a name means one thing."""

    sorts: Mapping[str, Sort]
    symbols: Mapping[str, Symbol]

    def at(self, place: str, scope: Iterable[Var], *, rigid: bool = False) -> Reader:
        """Return a reader of what is said at ``place``, where ``scope`` is bound, the innermost variables last."""
        reader = Reader(self, place, {var.name: var for var in scope}, rigid)
        for var in reader.scope.values():
            reader.sort(var.sort)
        return reader


def language_of(protocol: Protocol) -> Language:
    """Return the language in which ``protocol`` speaks.

    Raises:
        SpecificationError: it declares what the certified language has not.
    """
    sorts = {sort.name: sort for sort in protocol.sorts}
    symbols = {symbol.name: symbol for symbol in protocol.symbols}
    once("sort", (sort.name for sort in protocol.sorts))
    once("symbol", (symbol.name for symbol in protocol.symbols))
    for sort in protocol.sorts:
        _check_sort(sort)
    language = Language(sorts, symbols)
    for symbol in protocol.symbols:
        reader = language.at(f"symbol {symbol.name}", ())
        for sort in (*symbol.domain, *(() if symbol.is_relation else (symbol.result,))):
            reader.sort(sort)
    return language


def once(what: str, names: Iterable[str]) -> None:
    """Make sure that each name is there once.

    Raises:
        SpecificationError: one is there twice.
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise SpecificationError(f"{what} '{name}' is there twice, so a proof that names it would be unclear")
        seen.add(name)


def _check_sort(sort: Sort) -> None:
    if sort.name == BOOL.name or "." in sort.name:
        raise SpecificationError(f"a sort of a certified protocol cannot be called '{sort.name}'")
    if sort.members is not None:
        once(f"member of {sort.name}", sort.members)
        if not sort.members:
            raise SpecificationError(f"sort {sort.name} is an enumeration without members")


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads the formulas and terms of one place of a specification."""

    language: Language
    place: str
    scope: Mapping[str, Var]
    """What a name stands for here: the variable of that name that is bound furthest in."""
    rigid: bool
    """Whether nothing may be read here that changes."""

    def formula(self, term: Term) -> Term:
        """Return a formula with its shorthands written out.

        Raises:
            SpecificationError: the certified language has no such formula.
        """
        match term:
            case Truth():
                return term
            case Apply(symbol, args) if symbol.result == BOOL:
                return Apply(self._declared(symbol), self._arguments(symbol, args))
            case Equal(left, right):
                return self._equation(left, right)
            case Not(body):
                return Not(self.formula(body))
            case And(parts):
                return conjoined([self.formula(part) for part in parts])
            case Or(parts):
                return _disjoined([self.formula(part) for part in parts])
            case Implies(premise, conclusion):
                return Implies(self.formula(premise), self.formula(conclusion))
            case Forall(bound, body):
                return universally(bound, self._under(bound).formula(body))
            case Exists(bound, body):
                return _existentially(bound, self._under(bound).formula(body))
            case IfThenElse():
                raise self.refused("a choice between two formulas")
            case _:
                raise self.refused(f"a {sort_of(term).name} in the place of a formula")

    def term(self, term: Term, sort: Sort) -> Term:
        """Return a term of ``sort``.

        Raises:
            SpecificationError: the certified language has no such term, or it is of another sort.
        """
        self._check_term(term)
        if sort_of(term) != sort:
            raise self.refused(f"a {sort_of(term).name} in the place of a {sort.name}")
        return term

    def sort(self, sort: Sort) -> None:
        """Make sure that there are things of this sort."""
        if self.language.sorts.get(sort.name) != sort:
            raise self.refused(f"the sort {sort.name}, which the protocol does not declare, or differently")

    def refused(self, what: str) -> SpecificationError:
        """Return the error which says that ``what`` was found here."""
        return SpecificationError(f"{self.place} has {what}: the certified language cannot say this")

    def _check_term(self, term: Term) -> None:
        match term:
            case Var():
                if self.scope.get(term.name) != term:
                    raise self.refused(
                        f"the variable {term.name} of sort {term.sort.name}, which is hidden or not bound"
                    )
            case Member(sort, name):
                self.sort(sort)
                if name not in (sort.members or ()):
                    raise self.refused(f"{name}, which is no member of {sort.name}")
            case Apply(symbol, args) if symbol.result != BOOL:
                self._declared(symbol)
                self._arguments(symbol, args)
            case IfThenElse():
                raise self.refused("a choice between two terms")
            case _:
                raise self.refused("a formula in the place of a term")

    def _equation(self, left: Term, right: Term) -> Term:
        if BOOL in (sort_of(left), sort_of(right)):
            raise self.refused("an equality between formulas")
        return Equal(self.term(left, sort_of(left)), self.term(right, sort_of(left)))

    def _arguments(self, symbol: Symbol, args: tuple[Term, ...]) -> tuple[Term, ...]:
        if len(args) != len(symbol.domain):
            raise self.refused(f"{symbol.name} with {len(args)} arguments in the place of {len(symbol.domain)}")
        return tuple(self.term(arg, sort) for arg, sort in zip(args, symbol.domain, strict=True))

    def _declared(self, symbol: Symbol) -> Symbol:
        if self.language.symbols.get(symbol.name) != symbol:
            raise self.refused(f"the symbol {symbol.name}, which the protocol does not declare, or differently")
        if self.rigid and symbol.mutable:
            raise self.refused(f"{symbol.name}, which steps change, where only what stays may be read")
        return symbol

    def _under(self, bound: tuple[Var, ...]) -> Reader:
        return self.language.at(self.place, (*self.scope.values(), *bound), rigid=self.rigid)


def conjoined(parts: list[Term]) -> Term:
    """Return the conjunction of ``parts``, nested to the right."""
    if not parts:
        return TRUE
    *others, joined = parts
    for part in reversed(others):
        joined = And((part, joined))
    return joined


def _disjoined(parts: list[Term]) -> Term:
    if not parts:
        return FALSE
    *others, joined = parts
    for part in reversed(others):
        joined = Or((part, joined))
    return joined


def universally(bound: tuple[Var, ...], body: Term) -> Term:
    """Return ``body`` for all values of the variables, the first outermost."""
    for var in reversed(bound):
        body = Forall((var,), body)
    return body


def _existentially(bound: tuple[Var, ...], body: Term) -> Term:
    for var in reversed(bound):
        body = Exists((var,), body)
    return body
