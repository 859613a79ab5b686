"""Random terms and formulas over given symbols, with variables that hide one another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from carnet_spec.language import Sort, Symbol, Term
from carnet_spec.language.terms import BOOL, And, Apply, Equal, Exists, Forall, Implies, Member, Not, Or, Var
from tests.oracle.vocabulary import VARIABLES, Scope, draw_in


@dataclass(frozen=True)
class Reading:
    """What a formula may read: ``symbols``, under denial no ``undeniable`` ones, asserted no ``deniable`` ones."""

    symbols: tuple[Symbol, ...]
    undeniable: frozenset[Symbol] = frozenset()
    deniable: frozenset[Symbol] = frozenset()

    def relations(self, sign: bool) -> list[Symbol]:
        """Return the relations that may occur where ``sign`` says whether it is asserted."""
        banned = self.deniable if sign else self.undeniable
        return [symbol for symbol in self.symbols if symbol.is_relation and symbol not in banned]

    @property
    def functions(self) -> list[Symbol]:
        """The functions that may occur."""
        return [symbol for symbol in self.symbols if not symbol.is_relation]


@st.composite
def individuals(draw: st.DrawFn, reading: Reading, sort: Sort, scope: Scope, depth: int = 1) -> Term | None:
    """Draw a term of ``sort``; none, if nothing in scope has that sort."""
    variables: list[Term] = [var for var in scope if var.sort == sort]
    members: list[Term] = [Member(sort, name) for name in sort.members or ()]
    simple = variables * 3 + members
    applied = [symbol for symbol in reading.functions if symbol.result == sort and (not symbol.domain or depth > 0)]
    if not simple and not applied:
        return None
    if applied and (not simple or draw(st.integers(0, 2)) == 2):
        return draw(applications(reading, draw(draw_in(applied)), scope, depth - 1))
    return draw(draw_in(simple)) if simple else None


@st.composite
def applications(draw: st.DrawFn, reading: Reading, symbol: Symbol, scope: Scope, depth: int = 1) -> Apply | None:
    """Draw ``symbol`` applied to something; none, if something is missing."""
    args = [draw(individuals(reading, sort, scope, depth)) for sort in symbol.domain]
    present = [arg for arg in args if arg is not None]
    return Apply(symbol, tuple(present)) if len(present) == len(args) else None


@st.composite
def atoms(draw: st.DrawFn, reading: Reading, scope: Scope, sign: bool = True) -> Term | None:
    """Draw a fact or an equality."""
    sorts = {var.sort for var in scope} | {symbol.result for symbol in reading.functions}
    comparable = sorted((sort for sort in sorts if sort != BOOL), key=lambda sort: sort.name)
    relations = reading.relations(sign)
    if comparable and (not relations or draw(st.integers(0, 3)) == 3):
        sort = draw(draw_in(comparable))
        left, right = draw(individuals(reading, sort, scope)), draw(individuals(reading, sort, scope))
        return Equal(left, right) if left is not None and right is not None and left != right else None
    return draw(applications(reading, draw(draw_in(relations)), scope)) if relations else None


@st.composite
def literals(draw: st.DrawFn, reading: Reading, scope: Scope, sign: bool = True) -> Term | None:
    """Draw an atom or its denial."""
    denied = draw(draw_in((False, False, True)))
    atom = draw(atoms(reading, scope, sign != denied))
    return Not(atom) if denied and atom is not None else atom


@st.composite
def formulas(
    draw: st.DrawFn, reading: Reading, sorts: Sequence[Sort], scope: Scope, depth: int = 2, sign: bool = True
) -> Term | None:
    """Draw a formula, with quantifiers over ``sorts`` whose variables may be called like others in scope."""
    kind = draw(draw_in(("literal", "literal", "and", "or", "implies", "forall", "exists"))) if depth else "literal"
    if kind == "literal":
        return draw(literals(reading, scope, sign))
    if kind in ("forall", "exists"):
        var = draw(_bound(sorts, scope))
        inner = tuple(other for other in scope if other != var)
        body = draw(formulas(reading, sorts, (*inner, var), depth - 1, sign))
        if body is None:
            return None
        return Forall((var,), body) if kind == "forall" else Exists((var,), body)
    first = draw(formulas(reading, sorts, scope, depth - 1, sign != (kind == "implies")))
    second = draw(formulas(reading, sorts, scope, depth - 1, sign))
    if first is None or second is None:
        return first if kind != "implies" else second
    if kind == "implies":
        return Implies(first, second)
    return And((first, second)) if kind == "and" else Or((first, second))


@st.composite
def _bound(draw: st.DrawFn, sorts: Sequence[Sort], scope: Scope) -> Var:
    """Draw a variable that may hide one of its sort, and once in a while has the name of one of another sort."""
    sort = draw(draw_in(sorts))
    others = {var.name for var in scope if var.sort != sort}
    confusing = draw(st.integers(0, 24)) == 24
    return Var(draw(draw_in([name for name in VARIABLES if confusing or name not in others])), sort)


@st.composite
def closed_formulas(draw: st.DrawFn, reading: Reading, sorts: Sequence[Sort], depth: int = 2) -> Term | None:
    """Draw a formula without free variables."""
    var = Var(draw(draw_in(VARIABLES)), draw(draw_in(sorts)))
    body = draw(formulas(reading, sorts, (var,), depth))
    if body is None:
        return None
    return Forall((var,), body) if draw(st.booleans()) else Exists((var,), body)
