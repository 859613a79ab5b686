"""The queries about the claims of one variant, without and under threat models.

A threat model only adds axioms. So if no run violates a claim without a threat model, none does under one. Each claim
is tried without a threat model first, and under a threat model only from the first undecided number of steps on.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from carnet_check.engines.interface import Plan
from carnet_check.engines.proving.composition import SolverOutcome
from carnet_check.engines.proving.solver import limited_memory, why_unknown
from carnet_check.exports.smtlib import Declarations, at_most, member_name, quote_symbol, sort_name, symbol_name, text
from carnet_check.obligations.preconditions import Change, Conditional, Sure
from carnet_check.obligations.reading import Hypothesis, Reading, Steps, read_protocol
from carnet_check.reserved_symbols import Purpose, ReservedSymbol
from carnet_command.worker import Lost
from carnet_command.workers import Pool
from carnet_spec.language import Action, Effect, Instance, Row, Sort, Symbol, Threat
from carnet_spec.language.terms import BOOL, FALSE, And, Apply, IfThenElse, Kind, Member, Not, Or, Term, Var, rebuild
from carnet_spec.trace import TraceStep

#: Called with a claim, a threat model or an empty text, and the number of steps of an answer.
OnAnswer = Callable[[str, str, int], None]


@dataclass(frozen=True, slots=True)
class ClaimStatus:
    """The status of a claim under a threat model: at least ``least`` steps are needed to violate it.

    ``last`` is the answer for ``least`` steps, or None if that many were not requested.
    """

    least: int = 0
    last: Answer | None = None


class Questions:
    """The queries about one variant, up to a number of steps.

    Raises SpecificationError if the protocol has a construct that the certified language lacks.
    """

    def __init__(self, plan: Plan, depth: int, rlimit: int) -> None:
        self._plan = plan
        self._depth = depth
        self._rlimit = rlimit
        self._reading = read_protocol(plan.protocol)

    def answer_all(self, pool: Pool, told: OnAnswer) -> list[ClaimStatus]:
        """Return the status of each pair of claim and threat model, in the plan's order."""
        pairs = self._plan.pairs
        claims = list(dict.fromkeys(claim.name for claim, _ in pairs))
        general = dict(zip(claims, self._decide(pool, [(name, None, 0) for name in claims], told), strict=True))
        again = [(claim, threat) for claim, threat in pairs if self._is_open(general[claim.name], threat)]
        further = [(claim.name, threat, general[claim.name].least) for claim, threat in again]
        found = dict(zip(again, self._decide(pool, further, told), strict=True))
        return [found.get(pair) or general[pair[0].name] for pair in pairs]

    def _is_open(self, general: ClaimStatus, threat: Threat) -> bool:
        """Whether the axioms of a threat model may change the answer."""
        return general.last is not None and bool(self._reading.threats.get(threat.id))

    def _decide(
        self, pool: Pool, wanted: Sequence[tuple[str, Threat | None, int]], told: OnAnswer
    ) -> list[ClaimStatus]:
        unrolled = {threat: Unrolling(self._reading, threat) for threat in dict.fromkeys(each for _, each, _ in wanted)}
        asked = [self._question(unrolled[threat], claim, threat, first) for claim, threat, first in wanted]
        found = {each.id: ClaimStatus(each.first) for each in asked}
        for part, said in pool.results(answers, asked, is_last):
            least = found[part.id].least
            answer = Answer.unknown(least, said.reason) if isinstance(said, Lost) else said
            found[part.id] = ClaimStatus(answer.steps + 1) if answer.is_proved else ClaimStatus(least, answer)
            told(*part.id, answer.steps)
        return [found[each.id] for each in asked]

    def _question(self, unrolling: Unrolling, claim: str, threat: Threat | None, first: int) -> BoundedQuery:
        invariant = self._plan.protocol.claim(claim).checked.name
        parts = unrolling.parts(self._depth)
        denied = tuple(unrolling.denied(invariant, place) for place in range(self._depth + 1))
        options = tuple(unrolling.options)
        id = (claim, threat.id if threat else "")
        return BoundedQuery(id, parts, denied, first, options, self._wanted(unrolling), self._rlimit)

    def _wanted(self, unrolling: Unrolling) -> ModelSymbols:
        protocol = self._reading.protocol
        return ModelSymbols(
            sorts=tuple(sort for sort in protocol.sorts if not sort.is_enumeration),
            rigid=tuple((symbol_name(symbol), symbol) for symbol in protocol.symbols if not symbol.mutable),
            first=tuple((symbol_name(at_step(symbol, 0)), symbol) for symbol in unrolling.open),
        )


# --------------------------------------------------------------------------------------------------
# Asking Z3 for a run that violates a claim: after no step, after one, and so on, each time in a fresh context.
#
# Worker processes import this module. If there is a run, a small finite structure is read from the model, since the
# interpreter needs one; the interpreter then decides whether it is a run.

#: The numbers of elements of each sort that are tried for a structure, before any number is allowed.
SIZES = (1, 2, 3, 4, 6)
Sizes = Mapping[Sort, int]


@dataclass(frozen=True, slots=True)
class BoundedQuery:
    """The query whether a claim can be violated after ``first`` steps or more."""

    id: tuple[str, str]  #: the name of the query.
    parts: tuple[str, ...]  #: the text of the first state, and of each step.
    denied: tuple[str, ...]  #: the text of the negated claim after no step, after one, and so on.
    first: int  #: the least number of steps to try.
    options: tuple[tuple[Option, ...], ...]  #: the possible actions of each step.
    wanted: ModelSymbols  #: the symbols to read from a model.
    rlimit: int  #: the solver's budget for each number of steps.


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer for runs of exactly ``steps`` steps: PROVED if none violates the claim, REFUTED if one does."""

    steps: int
    outcome: SolverOutcome
    reason: str = ""
    found: FoundRun | None = None

    @staticmethod
    def unknown(steps: int, reason: str) -> Answer:
        """Return the answer UNKNOWN with its reason."""
        return Answer(steps, SolverOutcome.UNKNOWN, reason)

    @property
    def is_proved(self) -> bool:
        """Whether no run of this length violates the claim."""
        return self.outcome is SolverOutcome.PROVED

    @property
    def is_refuted(self) -> bool:
        """Whether the solver found a run that violates the claim; the interpreter has yet to confirm it."""
        return self.outcome is SolverOutcome.REFUTED


def answers(asked: BoundedQuery) -> Iterator[Answer]:
    """Answer for increasing numbers of steps, until a run violates the claim or the budget is exhausted."""
    import z3

    with limited_memory(z3):
        for steps in range(asked.first, len(asked.denied)):
            answer = _answer(asked, steps)
            yield answer
            if not answer.is_proved:
                return


def is_last(asked: BoundedQuery, answer: Answer) -> bool:
    """Whether no answer follows this one."""
    return not answer.is_proved or answer.steps == len(asked.denied) - 1


def _answer(asked: BoundedQuery, steps: int) -> Answer:
    import z3

    solver = _solver(asked, steps)
    said = solver.check()
    if said == z3.unsat:
        return Answer(steps, SolverOutcome.PROVED)
    if said == z3.sat:
        return Answer(steps, SolverOutcome.REFUTED, found=_smallest(asked, steps, solver))
    return Answer.unknown(steps, why_unknown(solver))


def _solver(asked: BoundedQuery, steps: int, sizes: Sizes | None = None) -> Any:
    import z3

    solver = z3.SimpleSolver(ctx=z3.Context())
    solver.set("rlimit", asked.rlimit)
    bounds = [at_most(sort, size) for sort, size in (sizes or {}).items()]
    solver.from_string("\n".join([*asked.parts[: steps + 1], asked.denied[steps], *bounds]))
    return solver


def _smallest(asked: BoundedQuery, steps: int, unbounded: Any) -> FoundRun | None:
    sorts = asked.wanted.sorts
    for most in SIZES:
        sizes = dict.fromkeys(sorts, most)
        if model := _model(asked, steps, sizes):
            break
    else:
        return structure_of(unbounded.model(), asked.wanted, asked.options[:steps])
    for sort in sorts:
        for fewer in range(1, sizes[sort]):
            smaller = {**sizes, sort: fewer}
            if found := _model(asked, steps, smaller):
                sizes, model = smaller, found
                break
    return structure_of(model, asked.wanted, asked.options[:steps])


def _model(asked: BoundedQuery, steps: int, sizes: Sizes) -> Any:
    import z3

    solver = _solver(asked, steps, sizes)
    return solver.model() if solver.check() == z3.sat else None


# --------------------------------------------------------------------------------------------------
# Finite structures and runs in them, read from the solver's models: plain values that a worker process can send.


@dataclass(frozen=True, slots=True)
class ModelSymbols:
    """The symbols to read from a model."""

    sorts: tuple[Sort, ...]  #: the uninterpreted sorts.
    rigid: tuple[tuple[str, Symbol], ...]  #: the rigid symbols, by their names in the text.
    #: the symbols without an initial value, by the names of their first values in the text.
    first: tuple[tuple[str, Symbol], ...]


@dataclass(frozen=True, slots=True)
class FoundRun:
    """A structure, and a run in it."""

    instance: Instance
    steps: tuple[TraceStep, ...]


def structure_of(model: Any, wanted: ModelSymbols, options: Sequence[Sequence[Option]]) -> FoundRun:
    """Return the structure of ``model``, and the run: for each step the one of its ``options`` that is taken."""
    return _Reading(model, wanted).found(options)


class _Reading:
    """Reads one model; a value that the model leaves open becomes false or the first element."""

    def __init__(self, model: Any, wanted: ModelSymbols) -> None:
        self._model = model
        self._wanted = wanted
        self._given = {str(each.name()): each for each in model.decls()}
        self._universes = {sort: self._universe(sort) for sort in wanted.sorts}
        self._names = self._element_names()

    def found(self, options: Sequence[Sequence[Option]]) -> FoundRun:
        rigid = self._wanted.rigid
        elements = {sort.name: tuple(self._names[sort].values()) for sort in self._wanted.sorts}
        instance = Instance(
            elements=elements,
            relations={symbol.name: self._rows(name, symbol) for name, symbol in rigid if symbol.is_relation},
            functions={symbol.name: self._table(name, symbol) for name, symbol in rigid if not symbol.is_relation},
            first={symbol.name: self._table(name, symbol) for name, symbol in self._wanted.first},
        )
        return FoundRun(instance, tuple(map(self._step, options)))

    def _step(self, options: Sequence[Option]) -> TraceStep:
        option = next(each for each in options if self._is_true(self._value(each.chosen)))
        args = ((name, self._name(sort, self._value(constant))) for name, sort, constant in option.args)
        return TraceStep(option.action, option.by, tuple(args))

    # -- elements ----------------------------------------------------------------------------------

    def _universe(self, sort: Sort) -> list[Any]:
        """Return the elements of a sort; ``None`` represents the only element of a sort that the model omits."""
        places = (each for each in self._model.sorts() if str(each.name()) == sort_name(sort))
        return next((sorted(self._model.get_universe(place), key=str) for place in places), [None])

    def _element_names(self) -> dict[Sort, dict[str, str]]:
        taken: set[str] = set()
        names: dict[Sort, dict[str, str]] = {}
        for sort, universe in self._universes.items():
            constants = [
                (n, s) for n, s in self._wanted.rigid if not s.domain and s.result == sort and n in self._given
            ]
            called = {str(self._value(name)): symbol.name for name, symbol in reversed(constants)}
            names[sort] = {}
            for number, element in enumerate(universe):
                name = called.get(str(element), f"{sort.name.lower()}{number}")
                while name in taken:
                    name += "'"
                taken.add(name)
                names[sort][str(element)] = name
        return names

    def _name(self, sort: Sort, value: Any) -> str:
        if sort.members is None:
            return self._names[sort].get(str(value)) or next(iter(self._names[sort].values()))
        named = {member_name(Member(sort, member)): member for member in sort.members}
        return sort.members[0] if value is None else named[str(value.decl().name())]

    def _elements(self, sort: Sort, place: Any) -> list[tuple[str, Any]]:
        if sort.members is None:
            return [(self._names[sort][str(element)], element) for element in self._universes[sort]]
        members = [place.constructor(number)() for number in range(place.num_constructors())]
        return [(self._name(sort, member), member) for member in members]

    # -- values ------------------------------------------------------------------------------------

    def _rows(self, name: str, symbol: Symbol) -> frozenset[Row]:
        if name not in self._given:
            return frozenset()
        return frozenset(row for row, value in self._cells(name, symbol) if self._is_true(value))

    def _table(self, name: str, symbol: Symbol) -> Mapping[Row, str]:
        if name not in self._given:
            value = self._name(symbol.result, None)
            return dict.fromkeys(itertools.product(*map(self._of, symbol.domain)), value)
        return {row: self._name(symbol.result, value) for row, value in self._cells(name, symbol)}

    def _of(self, sort: Sort) -> Row:
        return sort.members if sort.members is not None else tuple(self._names[sort].values())

    def _cells(self, name: str, symbol: Symbol) -> Iterator[tuple[Row, Any]]:
        decl = self._given[name]
        places = [self._elements(sort, decl.domain(place)) for place, sort in enumerate(symbol.domain)]
        for cell in itertools.product(*places):
            yield tuple(named for named, _ in cell), self._evaluated(decl(*(element for _, element in cell)))

    def _value(self, constant: str) -> Any:
        return self._evaluated(self._given[constant]()) if constant in self._given else None

    def _evaluated(self, term: Any) -> Any:
        return self._model.eval(term, model_completion=True)

    def _is_true(self, value: Any) -> bool:
        import z3

        return value is not None and z3.is_true(value)


# -- Runs of a protocol as SMT-LIB text: the first state, and one step after the other -------------
#
# Each symbol after a step is defined as a macro over the symbols before it, down to the first state. So no frame axioms
# are needed, and a quantifier over a state is, for the solver, one over a few rows. Exactly one action is taken in each
# step; a deduction is an action like any other, as in the interpreter's replay of traces with deductions.


@dataclass(frozen=True, slots=True)
class Option:
    """A possible action of a step: the flag that it is taken, and the constants of its arguments."""

    action: str
    by: str
    chosen: str
    args: tuple[tuple[str, Sort, str], ...]  # name, sort and constant of each parameter


class Unrolling:
    """The runs of one protocol, under a threat model or under none; the text of steps is generated on demand."""

    def __init__(self, reading: Reading, threat: Threat | None) -> None:
        self._reading = reading
        self._threat = threat
        self._declarations = Declarations()
        self._mutable = [symbol for symbol in reading.protocol.symbols if symbol.mutable]
        self.open = [each for each in self._mutable if not each.is_relation and each.name not in reading.starts]
        """The functions and variables that may have any value at first."""
        self._parts = [self._first()]
        self.options: list[tuple[Option, ...]] = []  # the possible actions of each step

    def parts(self, steps: int) -> tuple[str, ...]:
        """Return the text of the first state, and that of each of ``steps`` steps."""
        while len(self._parts) <= steps:
            self._parts.append(self._step(len(self._parts) - 1))
        return tuple(self._parts[: steps + 1])

    def denied(self, invariant: str, place: int) -> str:
        """Return the text that an invariant does not hold after ``place`` steps."""
        return _assertion(Not(at(self._reading.statements[invariant].hypothesis.formula, place)))

    # -- the first state ---------------------------------------------------------------------------

    def _first(self) -> str:
        protocol = self._reading.protocol
        for sort in protocol.sorts:
            self._declarations.sort(sort)
        rigid = [self._constant(symbol) for symbol in protocol.symbols if not symbol.mutable]
        starts = [self._start(symbol) for symbol in self._mutable]
        assumed = [_assertion(each.formula) for each in (*self._reading.axioms, *self._threat_axioms())]
        return "\n".join([*self._declarations.sorts.values(), *rigid, *assumed, *starts])

    def _threat_axioms(self) -> tuple[Hypothesis, ...]:
        return self._reading.threats[self._threat.id] if self._threat else ()

    def _start(self, symbol: Symbol) -> str:
        start = self._reading.starts.get(symbol.name)
        if start is not None:
            return _definition(at_step(symbol, 0), start.params, start.value)
        if symbol.is_relation:
            return _definition(at_step(symbol, 0), _row(symbol), FALSE)
        return self._constant(at_step(symbol, 0))

    # -- steps -------------------------------------------------------------------------------------

    def _step(self, place: int) -> str:
        steps = [
            (each, is_step_taken(each.action, place), step_parameters(each, place)) for each in self._reading.steps
        ]
        self.options.append(tuple(_option(*each) for each in steps))
        made = dict.fromkeys(made.symbol for _, chosen, args in steps for made in (chosen, *args.values()))
        lines = [self._constant(each) for each in made]
        choices = " ".join(text(chosen) for _, chosen, _ in steps)
        lines.append(f"(assert (or {choices} false))")
        if steps:
            lines.append(f"(assert ((_ at-most 1) {choices}))")
        for each, chosen, args in steps:
            lines += (_assertion(Or((Not(chosen), at(hypothesis.formula, place, args)))) for hypothesis in each.asked)
        lines += (self._after(symbol, place, steps) for symbol in self._mutable)
        return "\n".join(lines)

    def _after(self, symbol: Symbol, place: int, steps: Iterable[tuple[Steps, Apply, Slots]]) -> str:
        """Return the definition of ``symbol`` after a step: its value before, changed by the action that is taken."""
        row = _row(symbol)
        value: Term = Apply(at_step(symbol, place), row)
        for each, chosen, args in steps:
            for change in each.changes.get(symbol.name, ()):
                value = _updated(change, row, value, place, chosen, args)
        return _definition(at_step(symbol, place + 1), row, value)

    def _constant(self, symbol: Symbol) -> str:
        return self._declarations.functions[self._declarations.symbol(symbol)]


def _updated(change: Change, row: tuple[Var, ...], value: Term, place: int, chosen: Apply, args: Slots) -> Term:
    """Return the value at ``row`` after an update if its action is taken; ``value`` is the value before."""
    applies = And((chosen, at(change.applies(row), place, args)))
    match change.function(row, Sure(value)):
        case Conditional(_, Sure(assigned), _):
            return IfThenElse(applies, at(assigned, place, args), value)
    return Or((value, applies)) if change.effect is Effect.INSERT else And((value, Not(applies)))


def _option(steps: Steps, chosen: Apply, args: Slots) -> Option:
    constants = (args[constant.symbol].symbol for constant in steps.constants)
    pairs = zip(steps.action.params, constants, strict=True)
    named = tuple((var.name, var.sort, symbol_name(constant)) for var, constant in pairs)
    return Option(steps.action.name, steps.action.by.name, symbol_name(chosen.symbol), named)


def _row(symbol: Symbol) -> tuple[Var, ...]:
    return tuple(Var(f"row{number}", sort) for number, sort in enumerate(symbol.domain))


def _assertion(formula: Term) -> str:
    return f"(assert {text(formula)})"


def _definition(symbol: Symbol, params: tuple[Var, ...], value: Term) -> str:
    bound = " ".join(f"({text(var)} {quote_symbol(sort_name(var.sort))})" for var in params)
    name, sort = quote_symbol(symbol_name(symbol)), quote_symbol(sort_name(symbol.result))
    return f"(define-fun {name} ({bound}) {sort} {text(value)})"


# -- The reserved symbols for states and steps of a run: one for each place in it ------------------

Slots = Mapping[Symbol, Apply]  #: The constant of one step for each parameter of an action.


def at_step(symbol: Symbol, place: int) -> Symbol:
    """Return the copy of ``symbol`` after ``place`` steps."""
    return _reserved_symbol(Purpose.COPY, f"{place}.{symbol.name}", symbol.domain, symbol.result)


def is_step_taken(action: Action, place: int) -> Apply:
    """Return the flag that ``action`` is the step after ``place`` steps."""
    return Apply(_reserved_symbol(Purpose.CHOICE, f"{place}.{action.name}", (), BOOL), ())


def step_parameters(steps: Steps, place: int) -> Slots:
    """Return the constants of an action's parameters; actions share constants, since exactly one action is taken."""
    found: dict[Symbol, Apply] = {}
    counts: dict[Sort, int] = {}
    for constant in steps.constants:
        sort = constant.symbol.result
        number = counts[sort] = counts.get(sort, 0) + 1
        found[constant.symbol] = Apply(_reserved_symbol(Purpose.SLOT, f"{place}.{number}.{sort.name}", (), sort), ())
    return found


def at(term: Term, place: int, args: Slots | None = None) -> Term:
    """Return ``term`` for the state after ``place`` steps, with ``args`` in place of parameters."""
    changed = rebuild(term, lambda part: at(part, place, args))
    if not isinstance(changed, Apply):
        return changed
    if args and changed.symbol in args:
        return args[changed.symbol]
    return Apply(at_step(changed.symbol, place), changed.args) if changed.symbol.mutable else changed


def _reserved_symbol(purpose: Purpose, name: str, domain: tuple[Sort, ...], result: Sort) -> ReservedSymbol:
    return ReservedSymbol(f"${purpose.value}.{name}", domain, result, Kind.TRUTH, mutable=False, purpose=purpose)
