"""Counterexamples to induction, small and in words.

A refuted obligation has a state in which all invariants hold and a step after which one does not. The state need not
be reachable: it is what a further lemma has to exclude. Of all such states one is shown that has few elements and of
whose facts none can be left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from carnet_check.engines.induction.obligations import Obligation, obligations
from carnet_check.engines.induction.small_model import small_model
from carnet_check.engines.induction.solving import DEFAULT_RLIMIT
from carnet_check.engines.induction.structure import Structure
from carnet_check.errors import EngineDisagreement
from carnet_check.made import Made, Purpose
from carnet_check.semantics import Env, Interpreter, NotEnabled, State
from carnet_spec.language import Action, Protocol, Row, SpecificationError, Symbol, Term, Threat
from carnet_spec.language.notation import show
from carnet_spec.language.terms import And, Implies, Var, symbols_of


@dataclass(frozen=True)
class Counterexample:
    """A state from which ``obligation`` fails, and the state after the step; both the same for the first state."""

    obligation: Obligation
    before: Structure
    after: Structure

    def text(self) -> str:
        """Return the counterexample in a few lines."""
        return "\n".join(_lines(self))


def counterexample(obligation: Obligation, rlimit: int = DEFAULT_RLIMIT) -> Counterexample | None:
    """Find a small state in which ``obligation`` fails, or nothing if the solver finds none within its budget.

    Raises:
        EngineDisagreement: the interpreter does not confirm what the solver found.
    """
    found = small_model(obligation, rlimit)
    return None if found is None else confirmed(obligation, found)


def confirmed(obligation: Obligation, found: Structure) -> Counterexample:
    """Let the interpreter take the step of ``obligation`` in the state that was found, and judge both ends of it.

    The weakest precondition that the state was found with takes no part in this. All updates are made: that those of
    a defence take place is a hypothesis of every obligation that they touch.

    Raises:
        EngineDisagreement: a hypothesis does not hold before, or the invariant holds after.
    """
    system, action = obligation.system, obligation.action
    judge = Interpreter(system.protocol, found.instance(system.protocol))
    unmet = judge.violated(system.assumed)
    _require(obligation, not unmet, f"axioms do not hold: {', '.join(unmet)}")
    if action is None:
        before = after = judge.start()
    else:
        before = found.state(system.protocol)
        for invariant in system.invariants:
            holds = judge.counterexample(invariant, before) is None
            _require(obligation, holds, f"{invariant.name} does not hold before the step")
        after = _stepped(obligation, judge, before, action, found.chosen(Purpose.PARAMETER, action.params))
    env = found.chosen(Purpose.SKOLEM, obligation.invariant.params)
    _require(obligation, not judge.holds(obligation.invariant.body, after, env), "the invariant holds after all")
    return Counterexample(obligation, found.moved(before), found.moved(after))


def _stepped(obligation: Obligation, judge: Interpreter, before: State, action: Action, env: Env) -> State:
    try:
        return judge.fire(before, action, env)
    except NotEnabled as problem:
        raise EngineDisagreement(f"{obligation.id}: the interpreter does not take the step: {problem}") from problem


def _require(obligation: Obligation, agreed: bool, why_not: str) -> None:
    if not agreed:
        raise EngineDisagreement(f"{obligation.id}: the interpreter does not confirm the counterexample: {why_not}")


def explain_cti(protocol: Protocol, obligation_id: str, threat: Threat | None = None) -> str:
    """Say in words how the obligation with this id fails.

    Raises:
        SpecificationError: there is no such obligation.
        EngineDisagreement: the interpreter does not confirm what the solver found.
    """
    for obligation in obligations(protocol, threat):
        if obligation.id == obligation_id:
            found = counterexample(obligation)
            return found.text() if found else f"{obligation_id}: no counterexample found"
    raise SpecificationError(f"no obligation '{obligation_id}' in {protocol.id}")


# -- telling it ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parts:
    """A counterexample in words, part by part."""

    about: Env
    args: Env
    before: list[str]
    fixed: list[str]
    beside: list[str]
    changes: list[str]
    false: list[str]


def parts_of(found: Counterexample) -> Parts:
    """Return it in words: for whom it fails, the step, the state before it, and what is false after it."""
    obligation, before = found.obligation, found.before
    state = dict(_state(before, _spoken_of(obligation)))
    return Parts(
        about=before.chosen(Purpose.SKOLEM, obligation.invariant.params),
        args=before.chosen(Purpose.PARAMETER, obligation.action.params) if obligation.action else {},
        before=state["before"],
        fixed=state["fixed"],
        beside=state["beside"],
        changes=list(_changes(before, found.after)),
        false=[show(part) for part in _false_parts(found)],
    )


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
    """Return the smallest conjuncts of the invariant that make it false after the step."""
    protocol, invariant = found.obligation.system.protocol, found.obligation.invariant
    judge = Interpreter(protocol, found.after.instance(protocol))
    state = found.after.state(protocol)
    env = found.after.chosen(Purpose.SKOLEM, invariant.params)

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
    values = structure.chosen(purpose, params).items()
    return ", ".join(name if name == value else f"{name} = {value}" for name, value in values)


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
