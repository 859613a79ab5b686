"""Formulas as closures over tables: compiled once, evaluated at every step.

A closure takes a *frame*, a list with the element chosen for each variable. A :class:`Scope` gives the place of each
variable in the frame. Compiled code identifies a variable by its place, not by its name: an inner variable has its own
place even if it has the name of an outer one. So the *known* part of a frame is a set of places.
"""

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from carnet_check.conformance.tables import CANDIDATE, Column, Function, Line, Relation, Table, Work
from carnet_spec.language import Instance, Row, Sort, Symbol, Term, terms

Frame = list[str]
Evaluate = Callable[[Frame], Any]
Scope = Mapping[terms.Var, int]
Known = frozenset[int]  #: The places in the frame that are filled.
#: The elements of a variable that can make a formula true, given the other variables; None if all of them can.
Restriction = Callable[[Frame], Collection[str] | None]


class Union(Collection[str]):
    """The elements of several collections; an element may come more than once."""

    __slots__ = ("parts",)

    def __init__(self, parts: Sequence[Collection[str]]) -> None:
        self.parts = parts

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def __iter__(self) -> Iterator[str]:
        return itertools.chain.from_iterable(self.parts)

    def __contains__(self, element: object) -> bool:
        return any(element in part for part in self.parts)


class Compiler:
    """Turns terms into closures over the tables of one machine.

    ``room`` is the length that frames need for everything that was compiled so far.
    """

    def __init__(self, instance: Instance, tables: Mapping[str, Table], work: Work) -> None:
        self.instance = instance
        self.work = work
        self._tables = tables
        self.room = 0

    def scope(self, variables: Sequence[terms.Var], outer: Scope | None = None) -> dict[terms.Var, int]:
        """Return ``outer`` extended by a new place in the frame for each variable."""
        inner = dict(outer or {})
        start = 1 + max(inner.values(), default=-1)
        inner.update({var: start + number for number, var in enumerate(variables)})
        self.room = max(self.room, start + len(variables))
        return inner

    def elements(self, sort: Sort) -> Row:
        """Return the elements of a sort."""
        return self.instance.of(sort)

    def relation(self, symbol: Symbol) -> Relation:
        """Return the table of a relation."""
        table = self._tables[symbol.name]
        assert isinstance(table, Relation)
        return table

    def function(self, symbol: Symbol) -> Function:
        """Return the table of a function."""
        table = self._tables[symbol.name]
        assert isinstance(table, Function)
        return table

    # -- values ------------------------------------------------------------------------------------

    def term(self, term: Term, scope: Scope) -> Evaluate:
        """Compile a term or a formula."""
        match term:
            case terms.Var():
                at = scope[term]
                return lambda frame: frame[at]
            case terms.Member(_, name):
                return lambda frame: name
            case terms.Truth(value):
                return lambda frame: value
            case terms.Apply(symbol, args):
                return self._apply(symbol, self.row(args, scope))
            case terms.Equal(left, right):
                one, other = self.term(left, scope), self.term(right, scope)
                return lambda frame: one(frame) == other(frame)
            case terms.Not(body):
                inner = self.term(body, scope)
                return lambda frame: not inner(frame)
            case terms.And(parts) | terms.Or(parts):
                return self._junction([self.term(part, scope) for part in parts], isinstance(term, terms.And))
            case terms.Implies(premise, conclusion):
                given, then = self.term(premise, scope), self.term(conclusion, scope)
                return lambda frame: not given(frame) or then(frame)
            case terms.IfThenElse(test, then_term, otherwise):
                which = self.term(test, scope)
                yes, no = self.term(then_term, scope), self.term(otherwise, scope)
                return lambda frame: yes(frame) if which(frame) else no(frame)
            case terms.Exists(bound, body):
                return self._exists(bound, body, scope)
            case terms.Forall(bound, body) if (prefix := prefix_in(bound, body, self._tables)) is not None:
                row = self.row(prefix.args, self.scope(bound, scope))
                return PrefixTest(prefix, self.term(prefix.limit, scope), row, self.work)
            case terms.Forall(bound, body):
                found = self._exists(bound, terms.negation(body), scope)
                return lambda frame: not found(frame)

    def row(self, args: Sequence[Term], scope: Scope) -> Callable[[Frame], Row]:
        """Compile the arguments of a symbol."""
        if all(isinstance(arg, terms.Var) for arg in args):
            places = [scope[arg] for arg in args if isinstance(arg, terms.Var)]
            match places:
                case [one]:
                    return lambda frame: (frame[one],)
                case [one, two]:
                    return lambda frame: (frame[one], frame[two])
                case _:
                    return lambda frame: tuple([frame[at] for at in places])
        parts = [self.term(arg, scope) for arg in args]
        return lambda frame: tuple([part(frame) for part in parts])

    def _apply(self, symbol: Symbol, row: Callable[[Frame], Row]) -> Evaluate:
        if not symbol.is_relation:
            table = self.function(symbol)
            values, default = table.values, table.default
            return lambda frame: values.get(row(frame), default)
        held = self.relation(symbol)
        if held.following is not None:
            return lambda frame: held.holds(row(frame))
        rows = held.rows
        return lambda frame: row(frame) in rows

    @staticmethod
    def _junction(parts: list[Evaluate], every: bool) -> Evaluate:
        def junction(frame: Frame) -> bool:
            for part in parts:
                if bool(part(frame)) is not every:
                    return not every
            return every

        return junction

    def _exists(self, bound: Sequence[terms.Var], body: Term, scope: Scope) -> Evaluate:
        inner = self.scope(bound, scope)
        test = self.term(body, inner)
        if len(bound) == 1:
            return self._exists_one(bound[0], body, inner, frozenset(scope.values()), test)
        each = self.assignments(bound, body, inner, frozenset(scope.values()))

        def search(frame: Frame) -> bool:
            return any(test(frame) for _ in each(frame))

        return search

    def _exists_one(self, var: terms.Var, body: Term, scope: Scope, known: Known, test: Evaluate) -> Evaluate:
        """Compile a quantifier over one variable, the most common kind; its cost counts every element it may try."""
        at, domain, work = scope[var], self.elements(var.sort), self.work
        price = CANDIDATE * max(1, sum(isinstance(part, terms.Apply | terms.Equal) for part in terms.subterms(body)))
        source = self.candidates(body, var, scope, known)

        def search(frame: Frame) -> bool:
            found = source(frame) if source is not None else None
            for element in domain if found is None else found:
                work.left -= price
                if work.left < 0:
                    work.spend(0)
                frame[at] = element
                if test(frame):
                    return True
            return False

        return search

    def assignments(
        self, bound: Sequence[terms.Var], body: Term, scope: Scope, known: Known
    ) -> Callable[[Frame], Iterator[None]]:
        """Compile a loop that puts every choice of ``bound`` that can make ``body`` true into the frame."""
        if not bound:
            return lambda frame: iter((None,))
        var, rest = bound[0], bound[1:]
        at, domain = scope[var], self.elements(var.sort)
        source = self.candidates(body, var, scope, known)
        further = self.assignments(rest, body, scope, known | {at}) if rest else None
        work = self.work

        def loop(frame: Frame) -> Iterator[None]:
            found = source(frame) if source is not None else None
            for element in domain if found is None else found:
                work.spend(CANDIDATE)
                frame[at] = element
                if further is None:
                    yield None
                else:
                    yield from further(frame)

        return loop

    # -- candidates --------------------------------------------------------------------------------

    def candidates(
        self, term: Term, var: terms.Var, scope: Scope, known: Known, positive: bool = True
    ) -> Restriction | None:
        """Compile the elements of ``var`` that can make ``term`` true (or false), once the ``known`` places are filled.

        Return None if the form of the term restricts nothing.
        """
        match term:
            case terms.Not(body):
                return self.candidates(body, var, scope, known, not positive)
            case terms.And(parts) if positive:
                return self._fewest(parts, var, scope, known, positive)
            case terms.Or(parts) if not positive:
                return self._fewest(parts, var, scope, known, positive)
            case terms.And(parts) | terms.Or(parts):
                return self._any(parts, var, scope, known, positive)
            case terms.Implies(premise, conclusion):
                return self.candidates(terms.Or((terms.Not(premise), conclusion)), var, scope, known, positive)
            case terms.Apply(symbol, args) if positive and symbol.is_relation:
                return self._found_in(self.relation(symbol), args, var, scope, known)
            case terms.Equal(left, right) if positive:
                return self._equal(left, right, var, scope, known) or self._equal(right, left, var, scope, known)
            case terms.Truth(value):
                return None if value is positive else lambda frame: ()
            case _:
                return None

    def _fewest(
        self, parts: Sequence[Term], var: terms.Var, scope: Scope, known: Known, positive: bool
    ) -> Restriction | None:
        """Compile the candidates where all parts have to hold: those of the part that leaves the fewest."""
        compiled = (self.candidates(part, var, scope, known, positive) for part in parts)
        sources = [source for source in compiled if source is not None]
        if len(sources) < 2:
            return sources[0] if sources else None

        def fewest(frame: Frame) -> Collection[str] | None:
            best: Collection[str] | None = None
            for source in sources:
                found = source(frame)
                if found is not None and (best is None or len(found) < len(best)):
                    best = found
            return best

        return fewest

    def _any(
        self, parts: Sequence[Term], var: terms.Var, scope: Scope, known: Known, positive: bool
    ) -> Restriction | None:
        """Compile the candidates where one part has to hold: the union over all parts that can."""
        settled: list[Evaluate] = []
        sources: list[Restriction] = []
        for part in parts:
            if settles(part, scope, known):
                settled.append(self.term(part if positive else terms.negation(part), scope))
                continue
            source = self.candidates(part, var, scope, known, positive)
            if source is None:
                return None
            sources.append(source)

        def union(frame: Frame) -> Collection[str] | None:
            if any(test(frame) for test in settled):
                return None
            found = [source(frame) for source in sources]
            parts_found = [part for part in found if part is not None]
            return Union(parts_found) if len(parts_found) == len(found) else None

        return union

    def _found_in(
        self, table: Relation, args: Sequence[Term], var: terms.Var, scope: Scope, known: Known
    ) -> Restriction | None:
        """Look the variable up in the rows of a relation, by the arguments that are known."""
        if var not in args or table.following is not None:
            return None
        position = args.index(var)
        given = tuple(at for at, arg in enumerate(args) if at != position and settles(arg, scope, known))
        key = self.row([args[at] for at in given], scope)
        index = table.index(given)
        nothing: dict[Row, int] = {}
        return lambda frame: Column(index.get(key(frame), nothing), position)

    def _equal(self, side: Term, other: Term, var: terms.Var, scope: Scope, known: Known) -> Restriction | None:
        if side != var or not settles(other, scope, known):
            return None
        value = self.term(other, scope)
        return lambda frame: (value(frame),)


def settles(term: Term, scope: Scope, known: Known) -> bool:
    """Whether the known places determine every variable of ``term``."""
    return all(scope[var] in known for var in terms.free_variables(term))


# --------------------------------------------------------------------------------------------------
# Whether everything before an element of a line is in a relation. Guards test this of counters, which only gain rows.
#
# The length of the prefix found so far is stored, and stays valid as long as the relation loses no row. So each value
# of a counter that grows with the trace is visited once.


@dataclass(frozen=True, slots=True)
class Prefix:
    """The formula that a relation holds of every element of a linear order before ``limit``.

    The element is the argument of ``table`` at position ``at``; ``args`` are all its arguments.
    """

    line: Line
    limit: Term
    table: Relation
    args: tuple[Term, ...]
    at: int


def prefix_in(bound: Sequence[terms.Var], body: Term, tables: Mapping[str, Table]) -> Prefix | None:
    """Return the prefix statement that a universally quantified formula has the form of, or None."""
    match tuple(bound), body:
        case (terms.Var() as var,), terms.Implies(terms.Apply(before, (first, limit)), terms.Apply(held, args)) if (
            first == var
        ):
            line, table = tables.get(before.name), tables.get(held.name)
            places = [at for at, arg in enumerate(args) if var in terms.free_variables(arg)]
            plain = isinstance(table, Relation) and not isinstance(table, Line) and table.following is None
            alone = len(places) == 1 and args[places[0]] == var and var not in terms.free_variables(limit)
            if isinstance(line, Line) and isinstance(table, Relation) and plain and alone:
                return Prefix(line, limit, table, args, places[0])
    return None


@dataclass(slots=True)
class PrefixTest:
    """Evaluates a prefix statement for given other arguments of the relation."""

    prefix: Prefix
    limit: Callable[[Frame], str]
    row: Callable[[Frame], Row]  #: The row; the element at the position ``at`` has no meaning.
    work: Work
    _known: dict[Row, int] = field(default_factory=dict)
    _losses: int = 0

    def __call__(self, frame: Frame) -> bool:
        """Return whether the relation holds of everything before the limit."""
        prefix, line = self.prefix, self.prefix.line
        if self._losses != prefix.table.losses:
            self._known.clear()
            self._losses = prefix.table.losses
        row, end = self.row(frame), line.place(self.limit(frame))
        before, after = row[: prefix.at], row[prefix.at + 1 :]
        beside = before + after
        found = self._known.get(beside, 0)
        while found < end and (*before, line.elements[found], *after) in prefix.table.rows:
            self.work.spend(CANDIDATE)
            found += 1
        self._known[beside] = found
        return found >= end
