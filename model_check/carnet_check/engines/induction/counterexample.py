"""Counterexamples to induction, small and in words.

A refuted obligation has a state in which all invariants hold and a step after which one does not. The state need not
be reachable: it is what a further lemma has to exclude. Of all such states one is shown that has few elements and of
whose facts none can be left out.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from carnet_check.engines.induction.made import Made, Purpose, stand_in
from carnet_check.engines.induction.obligations import (
    Obligation,
    instance_of,
    obligations,
)
from carnet_check.engines.induction.precondition import with_constants
from carnet_check.engines.induction.solving import DEFAULT_RLIMIT
from carnet_check.engines.induction.structure import Row, Structure
from carnet_check.errors import EngineError
from carnet_check.exports.smtlib import problem, quoted, sort_name, symbol_name
from carnet_spec.language import Protocol, Sort, SpecificationError, Symbol, Threat
from carnet_spec.language.notation import show
from carnet_spec.language.terms import Var, symbols_of


@dataclass(frozen=True)
class Counterexample:
    """A state from which ``obligation`` fails, and the state after the step."""

    obligation: Obligation
    before: Structure
    after: Structure

    def text(self) -> str:
        """Return the counterexample in a few lines."""
        return "\n".join(_lines(self))


def counterexample(obligation: Obligation, rlimit: int = DEFAULT_RLIMIT) -> Counterexample | None:
    """Find a small state in which ``obligation`` fails, or nothing if the solver finds none within its budget."""
    found = _Search(obligation, rlimit).smallest()
    if found is None:
        return None
    after = found
    if obligation.action is not None:
        after = found.updated(with_constants(obligation.action).updates)
    _require_refutation(obligation, found, after)
    return Counterexample(obligation, found, after)


def _require_refutation(obligation: Obligation, before: Structure, after: Structure) -> None:
    """Check by evaluation that the state satisfies all hypotheses and that the invariant fails after the step."""
    hypotheses = obligation.system.hypotheses if obligation.action else obligation.system.axioms
    for name, formula in (*hypotheses.items(), *obligation.own.items()):
        if not name.startswith("update:") and not before.holds(formula):
            raise EngineError(f"{obligation.id}: the solver's state violates {name}")
    formula = obligation.goal if obligation.action is None else instance_of(obligation.invariant)
    if after.holds(formula):
        raise EngineError(f"{obligation.id}: the invariant holds in the solver's counterexample")


def explain_cti(protocol: Protocol, obligation_id: str, threat: Threat | None = None) -> str:
    """Say in words how the obligation with this id fails.

    Raises:
        SpecificationError: there is no such obligation.
    """
    for obligation in obligations(protocol, threat):
        if obligation.id == obligation_id:
            found = counterexample(obligation)
            return found.text() if found else f"{obligation_id}: no counterexample found"
    raise SpecificationError(f"no obligation '{obligation_id}' in {protocol.id}")


# -- finding one -----------------------------------------------------------------------------------


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


# -- telling it ------------------------------------------------------------------------------------


def _lines(found: Counterexample) -> Iterator[str]:
    obligation, before, after = found.obligation, found.before, found.after
    sizes = ", ".join(f"{len(known)} {sort}" for sort, known in before.elements.items())
    yield f"{obligation.id} fails with {sizes}"
    invariant = obligation.invariant
    yield f"  invariant  {show(invariant.body)}"
    if invariant.params:
        yield f"       with  {_values(before, Purpose.SKOLEM, invariant.params)}"
    if obligation.action is not None:
        yield f"  step       {obligation.action.name}({_values(before, Purpose.PARAMETER, obligation.action.params)})"
    near = _spoken_of(obligation)
    for title, listed in _state(before, near):
        if listed:
            yield from _paragraph(title, listed)
    if obligation.action is not None:
        yield from _paragraph("changes", list(_changes(before, after)) or ["nothing"])
    env = {param: _value(after, Purpose.SKOLEM, param) for param in invariant.params}
    for part in after.false_parts(invariant.body, env):
        yield f"  fails      {show(part)}"


def _spoken_of(obligation: Obligation) -> frozenset[Symbol]:
    terms = (obligation.goal, *obligation.own.values(), obligation.invariant.body)
    return frozenset(symbol for term in terms for symbol in symbols_of(term))


def _values(structure: Structure, purpose: Purpose, params: Iterable[Var]) -> str:
    values = ((param.name, _value(structure, purpose, param)) for param in params)
    return ", ".join(name if name == value else f"{name} = {value}" for name, value in values)


def _value(structure: Structure, purpose: Purpose, param: Var) -> str:
    """Return the element that a parameter stands for; any will do where nothing depends on it."""
    symbol = stand_in(purpose, param).symbol
    return structure.functions[symbol][()] if symbol in structure.functions else structure.of(param.sort)[0]


def _state(structure: Structure, near: frozenset[Symbol]) -> Iterator[tuple[str, list[str]]]:
    """Yield the state, the rigid facts, and the values that the step and the invariant do not read."""
    before: list[str] = []
    fixed: list[str] = []
    beside: list[str] = []
    for symbol, table in structure.functions.items():
        for row, value in sorted(table.items()):
            said = _fact(symbol, row)
            if said == value or isinstance(symbol, Made):
                continue
            place = beside if symbol not in near else before if symbol.mutable else fixed
            place.append(f"{said} = {value}")
    for symbol, rows in structure.relations.items():
        if not isinstance(symbol, Made):
            (before if symbol.mutable else fixed).extend(_fact(symbol, row) for row in sorted(rows))
    yield from (("before", before), ("fixed", fixed), ("beside", beside))


def _paragraph(title: str, parts: list[str], width: int = 90) -> Iterator[str]:
    line = f"  {title:<11}"
    filled = False
    for part in parts:
        if filled and len(line) + len(part) > width:
            yield line + ","
            line, filled = " " * 13, False
        line += f", {part}" if filled else part
        filled = True
    yield line


def _changes(before: Structure, after: Structure) -> Iterator[str]:
    for symbol, rows in after.relations.items():
        old = before.relations[symbol]
        yield from (f"+{_fact(symbol, row)}" for row in sorted(rows - old))
        yield from (f"-{_fact(symbol, row)}" for row in sorted(old - rows))
    for symbol, table in after.functions.items():
        for row, value in table.items():
            was = before.functions[symbol][row]
            if was != value:
                yield f"{_fact(symbol, row)}: {was} → {value}"


def _fact(symbol: Symbol, row: Row) -> str:
    return f"{symbol.name}({', '.join(row)})" if row else symbol.name
