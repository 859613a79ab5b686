"""Formula constructors that fold what is true or false on sight.

Every rule here is valid in every structure, empty sorts included, so a formula may be replaced by what these return.
"""

from __future__ import annotations

from carnet_spec.language.terms import (
    FALSE,
    TRUE,
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
    conjunction,
    disjunction,
    negation,
)


def equal(left: Term, right: Term) -> Term:
    """``left == right``: true of identical terms, false of two members of an enumeration."""
    if left == right:
        return TRUE
    if isinstance(left, Member) and isinstance(right, Member):
        return FALSE
    if isinstance(left, IfThenElse):
        return _equal_to_choice(left, right)
    if isinstance(right, IfThenElse):
        return _equal_to_choice(right, left)
    return Equal(left, right)


def _equal_to_choice(choice: IfThenElse, other: Term) -> Term:
    """``(if t then a else b) == c`` is ``if t then a == c else b == c``."""
    return choose(choice.test, equal(choice.then, other), equal(choice.otherwise, other))


def choose(test: Term, then: Term, otherwise: Term) -> Term:
    """``if test then … else …``, of terms or of formulas."""
    if test == TRUE or then == otherwise:
        return then
    if test == FALSE:
        return otherwise
    if isinstance(then, Truth):
        return both(negation(test), otherwise) if then == FALSE else either(test, otherwise)
    if isinstance(otherwise, Truth):
        return both(test, then) if otherwise == FALSE else either(negation(test), then)
    return IfThenElse(test, then, otherwise)


def both(*parts: Term) -> Term:
    """Conjunction, each conjunct once."""
    return conjunction(tuple(dict.fromkeys(parts)))


def either(*parts: Term) -> Term:
    """Disjunction, each disjunct once."""
    return disjunction(tuple(dict.fromkeys(parts)))


def implication(premise: Term, conclusion: Term) -> Term:
    """``premise`` implies ``conclusion``."""
    if premise == FALSE or conclusion in (TRUE, premise):
        return TRUE
    if premise == TRUE:
        return conclusion
    if conclusion == FALSE:
        return negation(premise)
    return Implies(premise, conclusion)


def simplified(term: Term) -> Term:
    """Fold constants everywhere in ``term``."""
    match term:
        case Var() | Member() | Truth():
            return term
        case Apply(symbol, args):
            return Apply(symbol, tuple(simplified(arg) for arg in args)) if args else term
        case Equal(left, right):
            return equal(simplified(left), simplified(right))
        case Not(body):
            return negation(simplified(body))
        case And(parts):
            return both(*(simplified(part) for part in parts))
        case Or(parts):
            return either(*(simplified(part) for part in parts))
        case Implies(premise, conclusion):
            return implication(simplified(premise), simplified(conclusion))
        case IfThenElse(test, then, otherwise):
            return choose(simplified(test), simplified(then), simplified(otherwise))
        case Forall(bound, body):
            inner = simplified(body)
            return TRUE if inner == TRUE else Forall(bound, inner)
        case Exists(bound, body):
            inner = simplified(body)
            return FALSE if inner == FALSE else Exists(bound, inner)
