"""Formulas in mathematical notation, for people who read counterexamples and proofs."""

from __future__ import annotations

from carnet_spec.language.terms import (
    And,
    Apply,
    Equal,
    Exists,
    Forall,
    IfThenElse,
    Implies,
    Member,
    Not,
    Or,
    Term,
    Truth,
    Var,
)


def shown(term: Term) -> str:  # noqa: PLR0912 # one case for each kind of term
    """Return ``term`` as a mathematician would write it."""
    match term:
        case Var(name, _):
            return name.partition(".")[0]
        case Member(_, name):
            return name
        case Truth(value):
            return "true" if value else "false"
        case Apply(symbol, args):
            name = symbol.name.removeprefix("$par.").removeprefix("$any.").partition(".")[0]
            return f"{name}({', '.join(shown(arg) for arg in args)})" if args else name
        case Equal(left, right):
            return f"{shown(left)} = {shown(right)}"
        case Not(Equal(left, right)):
            return f"{shown(left)} ≠ {shown(right)}"
        case Not(body):
            return f"¬{_tight(body)}"
        case And(parts):
            return _joined(" ∧ ", parts, "true")
        case Or(parts):
            return _joined(" ∨ ", parts, "false")
        case Implies(premise, conclusion):
            return f"{_tight(premise, And)} → {_tight(conclusion, And)}"
        case IfThenElse(test, then, otherwise):
            return f"(if {shown(test)} then {shown(then)} else {shown(otherwise)})"
        case Forall(bound, body):
            return f"∀{_bound(bound)}. {shown(body)}"
        case Exists(bound, body):
            return f"∃{_bound(bound)}. {shown(body)}"


def _joined(operator: str, parts: tuple[Term, ...], empty: str) -> str:
    return operator.join(_tight(part) for part in parts) or empty


def _tight(term: Term, *loose: type) -> str:
    """Put ``term`` in parentheses unless it holds together without them."""
    if isinstance(term, (Apply, Var, Member, Truth, Equal, Not, IfThenElse, *loose)):
        return shown(term)
    return f"({shown(term)})"


def _bound(bound: tuple[Var, ...]) -> str:
    return ", ".join(f"{shown(var)}:{var.sort.name}" for var in bound)
