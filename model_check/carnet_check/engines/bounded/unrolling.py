"""Runs of a protocol as SMT-LIB text: the first state, and one step after the other.

A state is defined, never assumed: each symbol after a step is a macro over the symbols before it, down to the first
state. So no frame has to be proved, and what quantifies over a state is, for the solver, a few rows. Exactly one action
is taken in each step, a rule like any other action: that is the step as the interpreter takes it by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from carnet_check.exports.smtlib import Declarations, quoted, sort_name, symbol_name, text
from carnet_check.made import Made, Purpose
from carnet_check.obligations.preconditions import Change, Either, Sure
from carnet_check.obligations.reading import Hypothesis, Reading, Steps
from carnet_spec.language import Action, Effect, Sort, Symbol, Threat
from carnet_spec.language.terms import BOOL, FALSE, And, Apply, IfThenElse, Kind, Not, Or, Term, Var, rebuild


@dataclass(frozen=True, slots=True)
class Option:
    """An action that may be a step: the constant that says that it is, and those that its arguments are read from."""

    action: str
    by: str
    chosen: str
    args: tuple[tuple[str, Sort, str], ...]
    """The name of each parameter, its sort and its constant."""


class Unrolling:
    """The runs of one protocol, under a threat model or under none; steps are written down as they are asked for."""

    def __init__(self, reading: Reading, threat: Threat | None) -> None:
        self._reading = reading
        self._threat = threat
        self._declarations = Declarations()
        self._mutable = [symbol for symbol in reading.protocol.symbols if symbol.mutable]
        self.open = [each for each in self._mutable if not each.is_relation and each.name not in reading.starts]
        """The functions and variables that may have any value at first."""
        self._parts = [self._first()]
        self.options: list[tuple[Option, ...]] = []
        """What each step may be."""

    def parts(self, steps: int) -> tuple[str, ...]:
        """Return the text of the first state, and that of each of so many steps."""
        while len(self._parts) <= steps:
            self._parts.append(self._step(len(self._parts) - 1))
        return tuple(self._parts[: steps + 1])

    def denied(self, invariant: str, place: int) -> str:
        """Return that an invariant does not hold after ``place`` steps."""
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
            return _definition(copied(symbol, 0), start.params, start.value)
        if symbol.is_relation:
            return _definition(copied(symbol, 0), _row(symbol), FALSE)
        return self._constant(copied(symbol, 0))

    # -- steps -------------------------------------------------------------------------------------

    def _step(self, place: int) -> str:
        """Write down the step that follows after ``place`` steps."""
        steps = [(each, taken(each.action, place), slots(each, place)) for each in self._reading.steps]
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
        """Define ``symbol`` after a step: as it was before, but for the updates of the action that is taken."""
        row = _row(symbol)
        value: Term = Apply(copied(symbol, place), row)
        for each, chosen, args in steps:
            for change in each.changes.get(symbol.name, ()):
                value = _updated(change, row, value, place, chosen, args)
        return _definition(copied(symbol, place + 1), row, value)

    def _constant(self, symbol: Symbol) -> str:
        """Return the declaration of what the solver may choose."""
        return self._declarations.functions[self._declarations.symbol(symbol)]


def _updated(change: Change, row: tuple[Var, ...], value: Term, place: int, chosen: Apply, args: Slots) -> Term:
    """Return the value at ``row`` after an update, if its action is taken, of what was ``value`` before it."""
    applies = And((chosen, at(change.applies(row), place, args)))
    match change.function(row, Sure(value)):
        case Either(_, Sure(assigned), _):
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
    bound = " ".join(f"({text(var)} {quoted(sort_name(var.sort))})" for var in params)
    return f"(define-fun {quoted(symbol_name(symbol))} ({bound}) {quoted(sort_name(symbol.result))} {text(value)})"


# -- The symbols that stand for states and steps of a run: one of a kind for each place in it ------

Slots = Mapping[Symbol, Apply]
"""The constant of one step for each parameter of an action."""


def copied(symbol: Symbol, place: int) -> Symbol:
    """Return ``symbol`` as it is after ``place`` steps."""
    return _made(Purpose.COPY, f"{place}.{symbol.name}", symbol.domain, symbol.result)


def taken(action: Action, place: int) -> Apply:
    """Return whether ``action`` is the step that follows after ``place`` steps."""
    return Apply(_made(Purpose.CHOICE, f"{place}.{action.name}", (), BOOL), ())


def slots(steps: Steps, place: int) -> Slots:
    """Return what stands for the parameters of an action; actions share their constants, since one alone is taken."""
    found: dict[Symbol, Apply] = {}
    counts: dict[Sort, int] = {}
    for constant in steps.constants:
        sort = constant.symbol.result
        number = counts[sort] = counts.get(sort, 0) + 1
        found[constant.symbol] = Apply(_made(Purpose.SLOT, f"{place}.{number}.{sort.name}", (), sort), ())
    return found


def at(term: Term, place: int, args: Slots | None = None) -> Term:
    """Return what ``term`` says of the state after ``place`` steps, of a step with ``args``."""
    changed = rebuild(term, lambda part: at(part, place, args))
    if not isinstance(changed, Apply):
        return changed
    if args and changed.symbol in args:
        return args[changed.symbol]
    return Apply(copied(changed.symbol, place), changed.args) if changed.symbol.mutable else changed


def _made(purpose: Purpose, name: str, domain: tuple[Sort, ...], result: Sort) -> Made:
    return Made(f"${purpose.value}.{name}", domain, result, Kind.TRUTH, mutable=False, purpose=purpose)
