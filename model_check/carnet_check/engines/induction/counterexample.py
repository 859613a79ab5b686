"""Small counterexamples to induction, and their description in words.

A refuted obligation has a state in which all invariants hold, and a step after which one does not. The state need not
be reachable; if it is not, a further lemma may exclude it. A state with few elements and a minimal set of facts is
shown.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from carnet_check.engines.induction.induction import ProofResult, prove
from carnet_check.engines.induction.obligations import Obligation, invariants_under, obligations, with_constants
from carnet_check.engines.induction.solving import DEFAULT_RLIMIT, Budget, units_spent
from carnet_check.engines.interface import Cti, FailingStep, InvariantStatus, Status
from carnet_check.engines.proving.composition import SolverOutcome
from carnet_check.errors import EngineDisagreement, UsageError
from carnet_check.exports.smtlib import at_most, problem, sort_name, symbol_name
from carnet_check.loading import families
from carnet_check.reserved_symbols import Purpose, ReservedSymbol, stand_in
from carnet_check.semantics import Env, Interpreter, NotEnabled, State
from carnet_check.wording import application, fill_places
from carnet_command.worker import Lost
from carnet_command.workers import WorkerPool
from carnet_spec.language import Instance, Protocol, Row, Sort, SpecificationError, Symbol, Term, Threat
from carnet_spec.language.notation import show
from carnet_spec.language.terms import And, Implies, Var, symbols_of
from carnet_spec.trace import TraceStep


@dataclass(frozen=True)
class Counterexample:
    """A state from which ``obligation`` fails, and the state after the step; for the first state, both are equal."""

    obligation: Obligation
    before: Structure
    after: Structure

    def text(self) -> str:
        """Return the counterexample in a few lines."""
        return "\n".join(_lines(self))


def counterexample(
    obligation: Obligation, rlimit: int = DEFAULT_RLIMIT, budget: Budget | None = None
) -> Counterexample | None:
    """Return a state in which ``obligation`` fails, or None if the solver finds none with ``rlimit`` and ``budget``.

    It is small as far as these go: one limits each question, the other one, if there is one, all of them.

    Raises EngineDisagreement if the interpreter does not confirm the solver's model.
    """
    return next(counterexamples_to(obligation, rlimit, budget or Budget()), None)


def counterexamples_to(obligation: Obligation, rlimit: int, budget: Budget) -> Iterator[Counterexample]:
    """Yield a state with as few facts as possible in which ``obligation`` fails, and then one with more facts.

    Raises EngineDisagreement if the interpreter does not confirm the solver's model.
    """
    return (confirm(obligation, found) for found in SmallModel(obligation, rlimit, budget).states())


def confirm(obligation: Obligation, found: Structure) -> Counterexample:
    """Take the step of ``obligation`` in the interpreter, from the state of the model, and evaluate both states.

    The weakest precondition is not used here. All updates are applied: that a defence's updates take place is a
    hypothesis of every obligation that they affect.

    Raises EngineDisagreement if a hypothesis does not hold before, or the invariant holds after.
    """
    system, action = obligation.system, obligation.action
    judge = Interpreter(system.protocol, found.instance(system.protocol))
    unmet = judge.violated_axioms(system.all_axioms)
    _require(obligation, not unmet, f"axioms do not hold: {', '.join(unmet)}")
    if action is None:
        before = after = judge.start()
    else:
        before = found.state(system.protocol)
        for invariant in system.invariants:
            holds = judge.counterexample(invariant, before) is None
            _require(obligation, holds, f"{invariant.name} does not hold before the step")
        try:
            after = judge.fire(before, action, found.elements_for(Purpose.PARAMETER, action.params))
        except NotEnabled as problem:
            raise EngineDisagreement(f"{obligation.id}: the interpreter does not take the step: {problem}") from problem
    env = found.elements_for(Purpose.SKOLEM, obligation.invariant.params)
    _require(obligation, not judge.holds(obligation.invariant.body, after, env), "the invariant holds after all")
    return Counterexample(obligation, found.with_state(before), found.with_state(after))


def _require(obligation: Obligation, agreed: bool, why_not: str) -> None:
    if not agreed:
        raise EngineDisagreement(f"{obligation.id}: the interpreter does not confirm the counterexample: {why_not}")


def explain_cti(protocol: Protocol, obligation_id: str, threat: Threat | None = None) -> str:
    """Return a description of how the obligation with this id fails.

    Raises SpecificationError if there is no such obligation; EngineDisagreement if the interpreter does not confirm the
    solver's model.
    """
    for obligation in obligations(protocol, threat):
        if obligation.id == obligation_id:
            found = counterexample(obligation)
            return found.text() if found else f"{obligation_id}: no counterexample found"
    raise SpecificationError(f"no obligation '{obligation_id}' in {protocol.id}")


# -- description in words --------------------------------------------------------------------------


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
    for part in _false_parts(found):
        yield f"  fails      {show(part)}"


def _false_parts(found: Counterexample) -> list[Term]:
    protocol, invariant = found.obligation.system.protocol, found.obligation.invariant
    judge = Interpreter(protocol, found.after.instance(protocol))
    state = found.after.state(protocol)
    env = found.after.elements_for(Purpose.SKOLEM, invariant.params)

    def false_in(term: Term) -> list[Term]:
        match term:
            case And(parts):
                return [false for part in parts for false in false_in(part)]
            case Implies(premise, conclusion) if judge.holds(premise, state, env):
                return false_in(conclusion)
            case _:
                return [] if judge.holds(term, state, env) else [term]

    return false_in(invariant.body)


def _spoken_of(obligation: Obligation) -> frozenset[Symbol]:
    terms = (obligation.goal, *obligation.own.values(), obligation.invariant.body)
    return frozenset(symbol for term in terms for symbol in symbols_of(term))


def _values(structure: Structure, purpose: Purpose, params: Iterable[Var]) -> str:
    values = structure.elements_for(purpose, params).items()
    return ", ".join(name if name == value else f"{name} = {value}" for name, value in values)


def _state(structure: Structure, near: frozenset[Symbol]) -> Iterator[tuple[str, list[str]]]:
    """Yield the state, the rigid facts, and the values that the step and the invariant do not read."""
    before: list[str] = []
    fixed: list[str] = []
    beside: list[str] = []
    for symbol, table in structure.functions.items():
        for row, value in sorted(table.items()):
            said = application(symbol, row)
            if said == value or isinstance(symbol, ReservedSymbol):
                continue
            place = beside if symbol not in near else before if symbol.mutable else fixed
            place.append(f"{said} = {value}")
    for symbol, rows in structure.relations.items():
        if not isinstance(symbol, ReservedSymbol):
            (before if symbol.mutable else fixed).extend(application(symbol, row) for row in sorted(rows))
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
        yield from (f"+{application(symbol, row)}" for row in sorted(rows - old))
        yield from (f"-{application(symbol, row)}" for row in sorted(old - rows))
    for symbol, table in after.functions.items():
        for row, value in table.items():
            was = before.functions[symbol][row]
            if was != value:
                yield f"{application(symbol, row)}: {was} → {value}"


# --------------------------------------------------------------------------------------------------
# Small models of a refuted obligation: few elements, and a minimal set of facts.


class SmallModel:
    """Looks for a small state in which an obligation fails: first few elements, then few facts."""

    def __init__(self, obligation: Obligation, rlimit: int, budget: Budget | None = None) -> None:
        self._obligation = obligation
        self._rlimit = rlimit
        self._budget = budget or Budget()
        self._statements = (*obligation.shared_hypotheses.values(), *obligation.statements)
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

    def states(self) -> Iterator[Structure]:
        """Yield the state with as few facts as possible, and then one that the solver gives; none without a budget."""
        model = self._small()
        if model is not None:
            yield from _Facts(model, self._symbols, self._budget).structures()

    def _small(self) -> _Model | None:
        """Return a model with few elements of each sort."""
        model = self._any()
        if model is None:
            return None
        sizes = self._sizes(model)
        for sort in sorted(self._sorts, key=lambda sort: -sizes[sort]):
            too_few = 0
            while too_few < sizes[sort] - 1:
                fewer = (too_few + sizes[sort]) // 2
                if (smaller := self._checked({**sizes, sort: fewer})) is not None:
                    model, sizes = smaller, smaller.sizes
                else:
                    too_few = fewer
        return model if model.sizes == sizes else self._checked(sizes)

    def _any(self) -> _Model | None:
        """Return a model with at most four elements of each sort, or, if there is none, with any number of them."""
        limits = (*(dict.fromkeys(self._sorts, most) for most in (1, 2, 3, 4)), {})
        return next((model for each in limits if (model := self._checked(each)) is not None), None)

    def _sizes(self, model: _Model) -> Mapping[Sort, int]:
        """Return how many elements of each sort suffice."""
        if model.sizes:
            return model.sizes
        found = model.solver.model()
        universes = {str(sort): len(found.get_universe(sort)) for sort in found.sorts()}
        return {sort: universes.get(sort_name(sort), 1) for sort in self._sorts}

    def _checked(self, sizes: Mapping[Sort, int]) -> _Model | None:
        import z3

        if self._budget.is_spent:
            return None
        extra = [at_most(sort, size) for sort, size in sizes.items()]
        text = problem(self._obligation.system.declarations, self._statements, self._sort_names)
        solver = z3.SimpleSolver(ctx=z3.Context())
        solver.set("rlimit", self._budget.rlimit(self._rlimit))
        solver.from_string("\n".join([text, *extra]))
        result = solver.check()
        self._budget.spend(units_spent(solver))
        return _Model(solver, sizes) if result == z3.sat else None


@dataclass(frozen=True, slots=True)
class _Model:
    """A solver that has a model, and the most elements of each sort that it may have; any number if none is given."""

    solver: Any
    sizes: Mapping[Sort, int]


class _Facts:
    """Reads a model, and shrinks the set of its true facts until that is minimal, or the budget is spent."""

    def __init__(self, model: _Model, symbols: Iterable[Symbol], budget: Budget) -> None:
        self._solver = solver = model.solver
        self._budget = budget
        self._context = solver.ctx
        self._sizes = model.sizes
        self._symbols = [
            symbol
            for symbol in symbols
            if not (isinstance(symbol, ReservedSymbol) and symbol.purpose is Purpose.SWITCH)
        ]
        self._declared = {str(decl.name()): decl for decl in _declarations(solver)}
        self._indifferent = [symbol for symbol in self._symbols if symbol_name(symbol) not in self._declared]
        self._symbols = [symbol for symbol in self._symbols if symbol not in self._indifferent]

    def structures(self) -> Iterator[Structure]:
        """Yield what is read of a model with few facts, and of the model as it was, if that is another one."""
        first = self._solver.model()
        small = self._read(self._smaller(first))
        yield small
        if (whole := self._read(first)) != small:
            yield whole

    def _smaller(self, model: Any) -> Any:
        import z3

        facts = {atom for symbol in self._symbols if symbol.is_relation for atom in self._atoms(symbol)}
        self._solver.push()
        while not self._budget.is_spent:
            true = [atom for atom in facts if z3.is_true(model.eval(atom, model_completion=True))]
            if not true:
                break
            self._solver.add(*(z3.Not(atom) for atom in facts.difference(true)))
            self._solver.add(z3.Or([z3.Not(atom) for atom in true] + [z3.BoolVal(False, self._context)]))
            if self._result() != z3.sat:
                break
            facts = set(true)
            model = self._solver.model()
        return model

    def _result(self) -> Any:
        before = units_spent(self._solver)
        result = self._solver.check()
        self._budget.spend(units_spent(self._solver) - before)
        return result

    def _elements(self, sort: Sort) -> list[Any]:
        if sort.members is not None:
            place = self._z3_sort(sort)
            return [place.constructor(number)() for number in range(place.num_constructors())]
        return [self._declared[f"element.{sort.name}.{n}"]() for n in range(self._sizes[sort])]

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
    if isinstance(symbol, ReservedSymbol):
        return (1 if symbol.purpose is Purpose.PARAMETER else 2), symbol.name
    return (3 if symbol.mutable else 0), symbol.name


def _bare(symbol: Symbol) -> str:
    return symbol.name.split(".")[1] if isinstance(symbol, ReservedSymbol) else symbol.name


def _fresh_name(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    taken.add(name)
    return name


# -- Finite structures: one state with the rigid facts, read from the solver's model ---------------
#
# The interpreter evaluates formulas in a structure. It never sees the prover's constants for parameters:
# :meth:`Structure.elements_for` reads them as the arguments of a step or of an invariant.


@dataclass(frozen=True)
class Structure:
    """Elements of each sort and a value of each symbol at each row of elements.

    For a symbol that is not mentioned, any value is possible: a relation is then empty, and a function has the first
    element of its sort everywhere.
    """

    elements: Mapping[str, Row]  #: names of the elements of each uninterpreted sort, by the sort's name.
    relations: Mapping[Symbol, frozenset[Row]]  #: the rows at which each relation holds.
    functions: Mapping[Symbol, Mapping[Row, str]]  #: the value of each function, variable or constant at each row.

    def of(self, sort: Sort) -> Row:
        """Return the elements of ``sort``."""
        return sort.members if sort.members is not None else self.elements[sort.name]

    def rows(self, symbol: Symbol) -> Iterator[Row]:
        """Yield every row of arguments of ``symbol``."""
        return itertools.product(*(self.of(sort) for sort in symbol.domain))

    def table(self, symbol: Symbol) -> Mapping[Row, str]:
        """Return the value of a function at each row."""
        found = self.functions.get(symbol)
        return dict.fromkeys(self.rows(symbol), self.of(symbol.result)[0]) if found is None else found

    def elements_for(self, purpose: Purpose, params: Iterable[Var]) -> Env:
        """Return the elements that are the values of the prover's constants for ``params``."""
        return {param.name: self.table(stand_in(purpose, param).symbol)[()] for param in params}

    def instance(self, protocol: Protocol) -> Instance:
        """Return the elements and rigid facts as an instance; functions without initial value start as they are here.

        The instance has neither pools nor a budget.
        """
        given = {initial.symbol for initial in protocol.initial}
        functions = [symbol for symbol in protocol.symbols if not symbol.is_relation]
        return Instance(
            elements=self.elements,
            relations={
                symbol.name: rows
                for symbol, rows in self.relations.items()
                if (not symbol.mutable and symbol in protocol.symbols)
            },
            functions={symbol.name: self.table(symbol) for symbol in functions if not symbol.mutable},
            first={symbol.name: self.table(symbol) for symbol in functions if symbol.mutable and symbol not in given},
        )

    def state(self, protocol: Protocol) -> State:
        """Return the values of all mutable symbols as a state."""
        changing = [symbol for symbol in protocol.symbols if symbol.mutable]
        return State(
            {symbol.name: self.relations.get(symbol, frozenset()) for symbol in changing if symbol.is_relation},
            {symbol.name: self.table(symbol) for symbol in changing if not symbol.is_relation},
        )

    def with_state(self, state: State) -> Structure:
        """Return the structure with the values of mutable symbols taken from ``state``."""
        relations = {s: state.relations[s.name] if s.mutable else rows for s, rows in self.relations.items()}
        functions = {s: state.functions[s.name] if s.mutable else table for s, table in self.functions.items()}
        return replace(self, relations=relations, functions=functions)


# -- Why proofs fail: the status of each invariant, and counterexamples to induction ---------------


def standings(proofs: Sequence[ProofResult]) -> Iterator[InvariantStatus]:
    """Yield the status of each invariant after all proofs of one variant, first and later attempts.

    An invariant that is proved without the axioms of a threat model is proved under each. One that is not has a status
    for each threat model under which a proof was tried, if there are any. Otherwise it has that of the proof without
    any, unless it is a lemma that is stated of threat models alone: a proof without their axioms says nothing of it.
    """
    general = [proof for proof in proofs if proof.threat is None]
    limited = [proof for proof in proofs if proof.threat is not None]
    lemmas = {lemma.name: lemma.under for lemma in proofs[0].protocol.lemmas}
    for name in [invariant.name for invariant in proofs[0].protocol.invariants]:
        found = _standing(name, name in lemmas, general)
        if found is not None and found.status is Status.PROVED:
            yield found
            continue
        threats = dict.fromkeys(proof.threat for proof in limited)
        told = [_standing(name, name in lemmas, [p for p in limited if p.threat == threat]) for threat in threats]
        tried = [each for each in told if each is not None]
        yield from tried or ([found] if found is not None and not lemmas.get(name) else [])


def _standing(name: str, lemma: bool, proofs: Sequence[ProofResult]) -> InvariantStatus | None:
    speaking = [proof for proof in proofs if proof.speaks_of(name)]
    if not speaking:
        return None
    first = speaking[0]
    layer = first.threat.id if first.threat else ""
    if any(not proof.missing(name) for proof in speaking):
        return InvariantStatus(first.protocol.variant, name, lemma, layer, Status.PROVED)
    own = [answer for answer in first.failures if first.obligations[answer.id].invariant.name == name]
    failing = tuple(answer.id for answer in own if answer.outcome is SolverOutcome.REFUTED)
    open_ = tuple(f"{answer.id} ({answer.reason})" for answer in own if answer.outcome is not SolverOutcome.REFUTED)
    status = Status.NOT_INDUCTIVE if failing else Status.UNKNOWN
    fallen = {first.obligations[answer.id].invariant.name for answer in first.failures}
    rests_on = tuple(used for used in first.uses(name) if used != name and used in fallen)
    return InvariantStatus(first.protocol.variant, name, lemma, layer, status, failing, open_, rests_on)


# -- counterexamples to induction ------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Asked:
    """Failed obligations to explain, by names, so that a worker process can build them."""

    reference: str
    variant: str
    layer: str
    obligations: tuple[str, ...]
    rlimit: int


def counterexamples(reference: str, standing: InvariantStatus, most: int, rlimit: int) -> Iterator[Cti]:
    """Yield a small counterexample for each of the first refuted obligations of an invariant, with bounded memory."""
    asked = _Asked(reference, standing.variant, standing.layer, standing.failing[:most], rlimit)
    left = list(asked.obligations)
    with WorkerPool(1) as pool:
        for _, said in pool.results(_counterexamples, [asked]):
            if isinstance(said, Lost):
                yield from (Cti(id, unconfirmed=said.reason) for id in left)
            else:
                left.remove(said.obligation)
                yield said


def _counterexamples(asked: _Asked) -> Iterator[Cti]:
    protocol = families.load(asked.reference).protocol(asked.variant)
    threat = protocol.threat(asked.layer) if asked.layer else None
    listed = {each.id: each for each in obligations(protocol, threat) if each.id in asked.obligations}
    for id in asked.obligations:
        try:
            found = counterexample(listed[id], asked.rlimit)
        except EngineDisagreement as problem:
            yield Cti(id, unconfirmed=str(problem))
        else:
            yield as_cti(found) if found else Cti(id, unconfirmed="the solver gives no small state within its budget")


def failing_step(
    protocol: Protocol, threat: Threat | None, invariant: str, assumed: Collection[str], rlimit: int
) -> FailingStep:
    """Return a small state from which a step breaks ``invariant``; see :class:`ShowsFailingSteps`."""
    names = [each.name for each in invariants_under(protocol, threat)]
    for name in (invariant, *assumed):
        if name not in names:
            under = f" under {threat.id}" if threat else ""
            raise UsageError(families.unknown_name("claim or lemma that has to hold", name, protocol.id + under, names))
    wanted = {invariant, *assumed}
    subject = replace(
        protocol,
        claims=tuple(each for each in protocol.claims if each.name in wanted),
        lemmas=tuple(each for each in protocol.lemmas if each.name in wanted),
    )
    proof = prove(subject, threat, jobs=1, rlimit=rlimit, hints={}, only=lambda each: each.invariant.name == invariant)
    refuted = [answer.id for answer in proof.failures if answer.outcome is SolverOutcome.REFUTED]
    for id in refuted:
        found = counterexample(proof.obligations[id], rlimit)
        if found is not None:
            return _as_failing_step(found, protocol, threat)
    if proof.failures:
        open_ones = ", ".join(answer.id for answer in proof.failures)
        raise UsageError(f"the solver's budget ended before it gave a state: {open_ones}")
    with_others = f" with {', '.join(assumed)}" if assumed else " by itself"
    raise UsageError(f"{invariant} is inductive{with_others}: no step breaks it")


def _as_failing_step(found: Counterexample, protocol: Protocol, threat: Threat | None) -> FailingStep:
    action, step = found.obligation.action, None
    judge, state = Interpreter(protocol, found.before.instance(protocol)), found.before.state(protocol)
    false = [each.name for each in invariants_under(protocol, threat) if judge.counterexample(each, state) is not None]
    if action is not None:
        args = found.before.elements_for(Purpose.PARAMETER, action.params)
        step = TraceStep(action.name, action.by.name, tuple(args.items()))
    return FailingStep(judge.instance, state, step, tuple(false))


def as_cti(found: Counterexample) -> Cti:
    """Return a counterexample as plain texts, for reports and other processes."""
    obligation, before = found.obligation, found.before
    action, invariant = obligation.action, obligation.invariant
    args = before.elements_for(Purpose.PARAMETER, action.params) if action else {}
    state = {part: tuple(facts) for part, facts in _state(before, _spoken_of(obligation))}
    return Cti(
        obligation=obligation.id,
        action=action.name if action else "",
        sentence=fill_places(action.says, args) if action else "",
        args=args,
        elements=before.elements,
        about=before.elements_for(Purpose.SKOLEM, invariant.params),
        before=state["before"],
        fixed=state["fixed"],
        beside=state["beside"],
        changes=tuple(_changes(before, found.after)),
        formula=show(invariant.body),
        false=tuple(show(part) for part in _false_parts(found)),
        holding=tuple(each.name for each in obligation.system.invariants) if action else (),
    )
