"""Queries: formulas as generated Python over one integer.

A formula becomes a Python expression; a search for elements that satisfy several formulas becomes nested loops. If
possible, a loop runs over the rows at which a relation held in any state so far, instead of over all elements. Every
test is in the outermost loop that its variables allow.
"""

import functools
import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from types import CodeType
from typing import Any

from carnet_check.engines.explicit.layout import Condition, Folding, Layout, conditions_in
from carnet_spec.language import Row, Symbol, Term, terms

Names = Mapping[str, str]  #: The Python name of each variable.

Lines = list[str]


@dataclass(frozen=True, slots=True)
class Draw:
    """The element of ``pool`` that comes first among those for which a relation does not hold, or ``each`` of them.

    ``after`` are variables drawn earlier, whose elements do not count.
    """

    used: Symbol
    pool: Row
    after: tuple[str, ...] = ()
    each: bool = False


Domain = Row | Draw


@dataclass(frozen=True, slots=True)
class _Loop:
    """One way to choose some variables next: its cost, and its lines of source."""

    cost: float
    chosen: dict[str, str]  # the Python name of every variable chosen
    opens: Lines  # lines that each open a block inside the one before
    settles: Condition | None = None

    def cost_of_each(self) -> float:
        return float(self.cost ** (1 / len(self.chosen)))


class Queries:
    """Generates source, and stores the objects that the source refers to."""

    def __init__(self, layout: Layout, folding: Folding) -> None:
        self.layout = layout
        self.folding = folding
        self.instance = layout.instance
        self.namespace: dict[str, Any] = {"unused": unused_elements}
        self._known_as: dict[tuple[str, str], str] = {}
        self._helpers: Lines = []
        self._count = 0

    def function(self, params: Sequence[str], body: Callable[[Names], Lines]) -> Callable[..., Any]:
        """Generate a function of the state ``s`` and of ``params``.

        Names are counted anew in each function, so functions that are alike in several instances have one text.
        """
        self._count = 0
        names = {param: self.fresh_name("x") for param in params}
        lines = [f"def generated({', '.join(['s', *names.values()])}):", *_indented(body(names))]
        source = "\n".join([*self._helpers, *lines])
        self._helpers = []
        exec(_compiled(source), self.namespace)
        made: Callable[..., Any] = self.namespace.pop("generated")
        return made

    def witness(self, domains: Mapping[str, Domain], tests: Sequence[Condition], names: Names) -> Lines:
        """Generate the body of a function that returns whether some elements of ``domains`` pass the tests."""
        return [*self.search(domains, tests, names, lambda _: ["return True"], _Loop.cost_of_each), "return False"]

    def search(
        self,
        domains: Mapping[str, Domain],
        tests: Sequence[Condition],
        names: Names,
        found: Callable[[Names], Lines],
        cost: Callable[[_Loop], float] = attrgetter("cost"),
    ) -> Lines:
        """Generate loops over all elements of ``domains`` that pass the tests; ``found`` is the innermost body.

        The loop of the least ``cost`` is outermost, which determines the order of the elements.
        """
        ready = [test for test in tests if test.needs.isdisjoint(domains)]
        if ready:
            left = [test for test in tests if not test.needs.isdisjoint(domains)]
            conditions = [self._signed(test, names) for test in ready]
            inner = self.search(domains, left, names, found, cost)
            return [f"if {' and '.join(conditions)}:", *_indented(inner)] if conditions else inner
        if not domains:
            return found(names)
        loop = min(self._loops(domains, tests, names), key=cost)
        rest = {name: domain for name, domain in domains.items() if name not in loop.chosen}
        left = [test for test in tests if test is not loop.settles]
        inner = self.search(rest, left, {**names, **loop.chosen}, found, cost)
        opens = [line for depth, line in enumerate(loop.opens) for line in _indented([line], depth)]
        return [*opens, *_indented(inner, len(opens))]

    def formula(self, term: Term, names: Names) -> str:
        """Return an expression for a formula."""
        match term:
            case terms.Truth(value):
                return str(value)
            case terms.Apply(symbol, args):
                return self._fact(symbol, self.row(args, names))
            case terms.Equal(left, right):
                return f"({self.individual(left, names)} == {self.individual(right, names)})"
            case terms.Not(body):
                return f"(not {self.formula(body, names)})"
            case terms.And(parts):
                return f"({' and '.join(self.formula(part, names) for part in parts) or 'True'})"
            case terms.Or(parts):
                return f"({' or '.join(self.formula(part, names) for part in parts) or 'False'})"
            case terms.Implies(premise, conclusion):
                return f"(not {self.formula(premise, names)} or {self.formula(conclusion, names)})"
            case terms.Exists(bound, body):
                return self._exists(bound, conditions_in(body, True), names)
            case terms.Forall(bound, body):
                return f"(not {self._exists(bound, conditions_in(body, False), names)})"
            case terms.IfThenElse(test, then, otherwise):
                first, second = self.formula(then, names), self.formula(otherwise, names)
                return f"({first} if {self.formula(test, names)} else {second})"
            case _:
                raise TypeError(f"{term} is no formula")

    def individual(self, term: Term, names: Names) -> str:
        """Return an expression for an element."""
        match term:
            case terms.Var(name, _):
                return names[name]
            case terms.Member(_, name):
                return repr(name)
            case terms.Apply(symbol, args) if symbol.mutable:
                elements = self.name_for("element", symbol.name, self.layout.tables[symbol.name].elements)
                row = self.row(args, names)
                return f"{elements}[{row}][s & {self._masks(symbol)}[{row}]]"
            case terms.Apply(symbol, args):
                table = self.name_for("table", symbol.name, self.instance.functions[symbol.name])
                return f"{table}[{self.row(args, names)}]"
            case terms.IfThenElse(test, then, otherwise):
                first, second = self.individual(then, names), self.individual(otherwise, names)
                return f"({first} if {self.formula(test, names)} else {second})"
            case _:
                raise TypeError(f"{term} is no individual")

    def row(self, args: Sequence[Term], names: Names) -> str:
        """Return an expression for the row of argument values."""
        return _tuple(self.individual(arg, names) for arg in args)

    def fresh_name(self, prefix: str) -> str:
        """Return a Python name that the function that is being generated does not use yet."""
        self._count += 1
        return f"{prefix}{self._count}"

    # -- expressions -------------------------------------------------------------------------------

    def name_for(self, what: str, symbol: str, value: object) -> str:
        """Return the name by which generated code refers to ``value``, an object about a symbol."""
        if (what, symbol) not in self._known_as:
            letters = (each if each.isascii() and each.isalnum() else f"_{ord(each):x}_" for each in symbol)
            self._known_as[what, symbol] = f"{what}_of_{''.join(letters)}"
            self.namespace[self._known_as[what, symbol]] = value
        return self._known_as[what, symbol]

    def _masks(self, symbol: Symbol) -> str:
        return self.name_for("mask", symbol.name, self.layout.tables[symbol.name].masks)

    def _first(self, symbol: Symbol) -> str:
        return self.name_for("first", symbol.name, self.layout.tables[symbol.name].first)

    def _fact(self, symbol: Symbol, row: str) -> str:
        if not symbol.mutable:
            rows = self.instance.relations.get(symbol.name, frozenset())
            return f"({row} in {self.name_for('rows', symbol.name, rows)})"
        if not self.layout.tables[symbol.name].first:
            return f"(s & {self._masks(symbol)}[{row}])"
        return f"((not s & {self._masks(symbol)}[{row}]) == ({row} in {self._first(symbol)}))"

    def _signed(self, test: Condition, names: Names) -> str:
        formula = self.formula(test.term, names)
        return formula if test.wanted else f"not {formula}"

    def _exists(self, bound: Sequence[terms.Var], tests: Sequence[Condition], names: Names) -> str:
        domains = self.folding.domains(bound, tests)
        outer = sorted({name for test in tests for name in test.needs} - domains.keys())
        inner = {name: self.fresh_name("x") for name in outer}
        parameters = ", ".join(["s", *inner.values()])
        body = [f"({parameters}):", *_indented(self.witness(domains, tests, inner))]
        name = f"exists_{hashlib.sha256(repr(body).encode()).hexdigest()}"
        self._helpers += [f"def {name}{body[0]}", *body[1:]]
        return f"{name}({', '.join(['s', *(names[each] for each in outer)])})"

    # -- loops -------------------------------------------------------------------------------------

    def _loops(self, domains: Mapping[str, Domain], tests: Sequence[Condition], names: Names) -> Iterator[_Loop]:
        for name, domain in domains.items():
            chosen = self.fresh_name("x")
            if isinstance(domain, tuple):
                yield _Loop(len(domain), {name: chosen}, [f"for {chosen} in {domain!r}:"])
            elif domains.keys().isdisjoint(domain.after):
                drawn = _tuple(names[other] for other in domain.after)
                given = f"s, {self._masks(domain.used)}, {self._first(domain.used)}, {domain.pool!r}, {drawn}"
                many = "" if domain.each else "[:1]"
                cost = len(domain.pool) if domain.each else 1
                yield _Loop(cost, {name: chosen}, [f"for {chosen} in unused({given}){many}:"])
        for test in tests:
            if test.wanted:
                match test.term:
                    case terms.Apply(symbol, args):
                        yield from self._over_rows(symbol, args, domains, names)
                    case terms.Equal(left, right):
                        yield from self._over_value(left, right, test, domains, names)
                        yield from self._over_value(right, left, test, domains, names)

    def _over_value(
        self, place: Term, value: Term, test: Condition, domains: Mapping[str, Domain], names: Names
    ) -> Iterator[_Loop]:
        if isinstance(place, terms.Var) and isinstance(domains.get(place.name), tuple) and _is_known(value, names):
            chosen = self.fresh_name("x")
            line = f"for {chosen} in ({self.individual(value, names)},):"
            yield _Loop(0, {place.name: chosen}, [line, *self._restriction({place: chosen}, domains)], test)

    def _over_rows(
        self, symbol: Symbol, args: Sequence[Term], domains: Mapping[str, Domain], names: Names
    ) -> Iterator[_Loop]:
        """Yield loops over the rows at which a relation may hold; every argument is known or a distinct variable."""
        chosen: dict[terms.Var, str] = {}
        known: dict[int, str] = {}
        for position, arg in enumerate(args):
            if isinstance(arg, terms.Var) and isinstance(domains.get(arg.name), tuple) and arg not in chosen:
                chosen[arg] = self.fresh_name("x")
            elif _is_known(arg, names):
                known[position] = self.individual(arg, names)
            else:
                return
        line = (
            f"for {_tuple(chosen.values())} in {self._index(symbol, tuple(known))}.get({_tuple(known.values())}, ()):"
        )
        size = math.prod(len(self.instance.of(var.sort)) for var in chosen)
        cost = math.sqrt(size)
        if not symbol.mutable:
            rows = len(self.instance.relations.get(symbol.name, frozenset()))
            cost = size * (rows / max(1, math.prod(len(self.instance.of(sort)) for sort in symbol.domain)))
        by_name = {var.name: python for var, python in chosen.items()}
        yield _Loop(cost, by_name, [line, *self._restriction(chosen, domains)])

    def _index(self, symbol: Symbol, known: tuple[int, ...]) -> str:
        what = f"rows_by_{'_'.join(map(str, known))}"
        if (what, symbol.name) in self._known_as:
            return self._known_as[what, symbol.name]
        if symbol.mutable:
            return self.name_for(what, symbol.name, self.layout.tables[symbol.name].index(known))
        index: dict[Row, list[Row]] = {}
        for row in sorted(self.instance.relations.get(symbol.name, frozenset())):
            rest = tuple(element for position, element in enumerate(row) if position not in known)
            index.setdefault(tuple(row[position] for position in known), []).append(rest)
        return self.name_for(what, symbol.name, index)

    def _restriction(self, chosen: Mapping[terms.Var, str], domains: Mapping[str, Domain]) -> Lines:
        conditions = [
            f"{python} in {domains[var.name]!r}"
            for var, python in chosen.items()
            if domains[var.name] != self.instance.of(var.sort)
        ]
        return [f"if {' and '.join(conditions)}:"] if conditions else []


@functools.lru_cache(maxsize=4096)
def _compiled(source: str) -> CodeType:
    return compile(source, "<generated>", "exec")


def _is_known(term: Term, names: Names) -> bool:
    return all(var.name in names for var in terms.free_variables(term))


def unused_elements(
    s: int, masks: Mapping[Row, int], first: frozenset[Row], pool: Row, drawn: Sequence[str]
) -> tuple[str, ...]:
    """Return the elements of the pool that are neither used nor drawn, in order."""
    return tuple(
        element for element in pool if (not s & masks[element,]) != ((element,) in first) and element not in drawn
    )


def _tuple(parts: Iterable[str]) -> str:
    listed = list(parts)
    return f"({', '.join(listed)}{',' if len(listed) == 1 else ''})"


def _indented(lines: Sequence[str], depth: int = 1) -> Lines:
    return ["    " * depth + line for line in lines]
