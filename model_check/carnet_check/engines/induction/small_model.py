"""Small models of a refuted obligation: few elements, and of their facts none that can be left out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from carnet_check.engines.induction.obligations import Obligation
from carnet_check.engines.induction.precondition import with_constants
from carnet_check.engines.induction.structure import Structure
from carnet_check.exports.smtlib import problem, quoted, sort_name, symbol_name
from carnet_check.made import Made, Purpose
from carnet_spec.language import Row, Sort, Symbol
from carnet_spec.language.terms import symbols_of


def small_model(obligation: Obligation, rlimit: int) -> Structure | None:
    """Return a small state in which ``obligation`` fails, or nothing if the solver finds none within its budget."""
    return _Search(obligation, rlimit).smallest()


class _Search:
    """Looks for a small model: first few elements, then few facts."""

    def __init__(self, obligation: Obligation, rlimit: int) -> None:
        self._obligation = obligation
        self._rlimit = rlimit
        self._statements = (*obligation.shared.values(), *obligation.statements)
        terms = (*obligation.system.hypotheses.values(), *obligation.own.values(), obligation.goal)
        symbols = {symbol for term in terms for symbol in symbols_of(term)}
        if obligation.action is not None:
            ground = with_constants(obligation.action)
            for update in ground.updates:
                symbols.add(update.symbol)
                for part in (*update.args, update.when, *([update.value] if update.value else [])):
                    symbols |= symbols_of(part)
        self._symbols = sorted(symbols, key=lambda symbol: symbol.name)
        self._sorts = [sort for sort in obligation.system.protocol.sorts if not sort.is_enumeration]
        self._sort_names = [obligation.system.declarations.sort(sort) for sort in self._sorts]

    def smallest(self) -> Structure | None:
        sizes = self._sizes()
        if sizes is None:
            return None
        for sort in sorted(self._sorts, key=lambda sort: -sizes[sort]):
            for fewer in range(1, sizes[sort]):
                if self._checked({**sizes, sort: fewer}) is not None:
                    sizes[sort] = fewer
                    break
        solver = self._checked(sizes)
        if solver is None:
            return None
        return _FewFacts(solver, self._symbols, sizes).structure()

    def _sizes(self) -> dict[Sort, int] | None:
        """Return how many elements of each sort suffice, trying up to four of each, then whatever the solver likes."""
        for most in (1, 2, 3, 4):
            sizes = dict.fromkeys(self._sorts, most)
            if self._checked(sizes) is not None:
                return sizes
        solver = self._checked({})
        if solver is None:
            return None
        universes = {str(sort): len(solver.model().get_universe(sort)) for sort in solver.model().sorts()}
        return {sort: universes.get(sort_name(sort), 1) for sort in self._sorts}

    def _checked(self, sizes: Mapping[Sort, int]) -> Any:
        """Return a solver that has a model with at most these numbers of elements, or nothing."""
        import z3

        extra = [_at_most(sort, size) for sort, size in sizes.items()]
        text = problem(self._obligation.system.declarations, self._statements, self._sort_names)
        solver = z3.SimpleSolver(ctx=z3.Context())
        solver.set("rlimit", self._rlimit)
        solver.from_string("\n".join([text, *extra]))
        return solver if solver.check() == z3.sat else None


def _element_name(sort: Sort, number: int) -> str:
    return f"element.{sort.name}.{number}"


def _at_most(sort: Sort, size: int) -> str:
    names = [quoted(_element_name(sort, number)) for number in range(size)]
    place = quoted(sort_name(sort))
    one_of = " ".join(f"(= v.any {name})" for name in names)
    return "\n".join(
        [
            *(f"(declare-fun {name} () {place})" for name in names),
            f"(assert (forall ((v.any {place})) (or {one_of} false)))",
        ]
    )


class _FewFacts:
    """Shrinks the set of true facts of a model until none can be left out."""

    def __init__(self, solver: Any, symbols: Iterable[Symbol], sizes: Mapping[Sort, int]) -> None:
        self._solver = solver
        self._context = solver.ctx
        self._sizes = sizes
        self._symbols = [symbol for symbol in symbols if not _is_switch(symbol)]
        self._declared = {str(decl.name()): decl for decl in _declarations(solver)}
        self._indifferent = [symbol for symbol in self._symbols if symbol_name(symbol) not in self._declared]
        self._symbols = [symbol for symbol in self._symbols if symbol not in self._indifferent]

    def structure(self) -> Structure:
        import z3

        model = self._solver.model()
        facts = {atom for symbol in self._symbols if symbol.is_relation for atom in self._atoms(symbol)}
        self._solver.push()
        while True:
            true = [atom for atom in facts if z3.is_true(model.eval(atom, model_completion=True))]
            if not true:
                break
            self._solver.add(*(z3.Not(atom) for atom in facts.difference(true)))
            self._solver.add(z3.Or([z3.Not(atom) for atom in true] + [z3.BoolVal(False, self._context)]))
            if self._solver.check() != z3.sat:
                break
            facts = set(true)
            model = self._solver.model()
        return self._read(model)

    def _elements(self, sort: Sort) -> list[Any]:
        if sort.members is not None:
            place = self._z3_sort(sort)
            return [place.constructor(number)() for number in range(place.num_constructors())]
        return [self._declared[_element_name(sort, n)]() for n in range(self._sizes[sort])]

    def _z3_sort(self, sort: Sort) -> Any:
        for symbol in self._symbols:
            decl = self._declared[symbol_name(symbol)]
            for place, known in enumerate(symbol.domain):
                if known == sort:
                    return decl.domain(place)
            if symbol.result == sort:
                return decl.range()
        raise LookupError(sort.name)

    def _atoms(self, symbol: Symbol) -> Iterator[Any]:
        decl = self._declared[symbol_name(symbol)]
        for args in itertools.product(*(self._elements(sort) for sort in symbol.domain)):
            yield decl(*args)

    def _cells(self, symbol: Symbol, named: Callable[[Sort, Any], str]) -> Iterator[tuple[Row, Any]]:
        for atom in self._atoms(symbol):
            pairs = zip(symbol.domain, atom.children(), strict=True)
            yield tuple(named(sort, arg) for sort, arg in pairs), atom

    def _read(self, model: Any) -> Structure:
        import z3

        def value(term: Any) -> Any:
            return model.eval(term, model_completion=True)

        names: dict[str, dict[Any, str]] = {}
        taken: set[str] = set()
        for sort in self._sizes:
            names[sort.name] = self._named(sort, value, taken)

        def named(sort: Sort, term: Any) -> str:
            if sort.members is not None:
                return str(value(term)).removeprefix("|").removesuffix("|").rpartition(".")[2]
            return names[sort.name][value(term)]

        relations: dict[Symbol, frozenset[Row]] = {}
        functions: dict[Symbol, Mapping[Row, str]] = {}
        for symbol in self._symbols:
            cells = [(row, value(atom)) for row, atom in self._cells(symbol, named)]
            if symbol.is_relation:
                relations[symbol] = frozenset(row for row, cell in cells if z3.is_true(cell))
            else:
                functions[symbol] = {row: named(symbol.result, cell) for row, cell in cells}
        elements = {place: tuple(dict.fromkeys(known.values())) for place, known in names.items()}
        found = Structure(elements, relations, functions)
        for symbol in self._indifferent:
            if symbol.is_relation:
                relations[symbol] = frozenset()
            else:
                functions[symbol] = dict.fromkeys(found.rows(symbol), found.of(symbol.result)[0])
        return found

    def _named(self, sort: Sort, value: Any, taken: set[str]) -> dict[Any, str]:
        """Name each element by a constant, parameter or variable that equals it, if there is one."""
        found: dict[Any, str] = {}
        nullary = [symbol for symbol in self._symbols if not symbol.domain and symbol.result == sort]
        for symbol in sorted(nullary, key=_naming_order):
            element = value(self._declared[symbol_name(symbol)]())
            if element not in found:
                found[element] = _fresh_name(_bare(symbol), taken)
        for number, element in enumerate(self._elements(sort)):
            if value(element) not in found:
                found[value(element)] = _fresh_name(f"{sort.name.lower()}{number}", taken)
        used = {value(element) for element in self._elements(sort)}
        return {element: name for element, name in found.items() if element in used}


def _declarations(solver: Any) -> Iterator[Any]:
    """Yield every declaration that the solver's assertions mention."""
    import z3

    seen: set[int] = set()
    waiting = list(solver.assertions())
    while waiting:
        term = waiting.pop()
        if term.get_id() in seen:
            continue
        seen.add(term.get_id())
        if z3.is_quantifier(term):
            waiting.append(term.body())
        elif z3.is_app(term):
            yield term.decl()
            waiting.extend(term.children())


def _naming_order(symbol: Symbol) -> tuple[int, str]:
    if isinstance(symbol, Made):
        return (1 if symbol.purpose is Purpose.PARAMETER else 2), symbol.name
    return (3 if symbol.mutable else 0), symbol.name


def _is_switch(symbol: Symbol) -> bool:
    return isinstance(symbol, Made) and symbol.purpose is Purpose.SWITCH


def _bare(symbol: Symbol) -> str:
    return symbol.name.split(".")[1] if isinstance(symbol, Made) else symbol.name


def _fresh_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    taken.add(name)
    return name
