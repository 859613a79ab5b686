"""Why a step is refused: the guard, its formula with the elements put in, and what the state says instead."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from carnet_check.conformance.formulas import Compiler, Frame
from carnet_spec.language import Action, Guard, GuardKind
from carnet_spec.language.notation import show
from carnet_spec.language.terms import Apply, Exists, Forall, Term, Var, children, free_variables

_REASONS = {
    GuardKind.REQUIRE: "the check '{name}' fails",
    GuardKind.GIVEN: "'{name}' does not hold",
    GuardKind.ACTOR: "the party that acts does not follow the protocol",
    GuardKind.FRESH: "'{name}': the value was used before",
}


def describe_refusal(action: Action, guard: Guard, scope: Mapping[Var, int], frame: Frame, compiler: Compiler) -> str:
    """Say which guard refuses a step, and what it reads."""
    names = {var: frame[at] for var, at in scope.items() if frame[at]}
    formula = show(guard.formula, names=names)
    values = _values(guard.formula, scope, frame, compiler)
    seen = f", where {', '.join(f'{name} = {value}' for name, value in values.items())}" if values else ""
    return f"{action.name}: {_REASONS[guard.kind].format(name=guard.name)}: {formula}{seen}"


def _values(formula: Term, scope: Mapping[Var, int], frame: Frame, compiler: Compiler) -> dict[str, str]:
    """Return what the functions in a formula stand for, where that depends on nothing that is open."""
    known = {var for var, at in scope.items() if frame[at]}
    found = {}
    for part in _open(formula):
        read = isinstance(part, Apply) and not part.symbol.is_relation and part.symbol.mutable
        if read and free_variables(part) <= known:
            names = {var: frame[at] for var, at in scope.items()}
            found[show(part, names=names)] = str(compiler.term(part, scope)(frame))
    return found


def _open(term: Term, hidden: frozenset[Var] = frozenset()) -> Iterator[Term]:
    """Yield what is inside ``term`` and reads no variable of a quantifier inside it."""
    if not free_variables(term) & hidden:
        yield term
    inside = hidden | set(term.bound) if isinstance(term, Exists | Forall) else hidden
    for child in children(term):
        yield from _open(child, inside)
