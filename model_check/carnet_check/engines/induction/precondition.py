"""Weakest preconditions by substitution: what must hold before a step for a formula to hold after it.

The value of a symbol after a step is a formula (or a term) over the state before it, so a step needs no second copy
of the state and no axioms about what stays the same: a symbol that the step does not mention is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache

from carnet_check.made import Purpose, stand_in, switch
from carnet_spec.language import Action, Effect, Initial, SpecificationError, Symbol, Update
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
    rebuild,
    substitute,
    symbols_of,
)


@lru_cache(maxsize=1024)
def with_constants(action: Action) -> Action:
    """Replace the parameters of ``action`` by constants, so that no quantifier can capture them."""
    values: dict[Var, Term] = {param: stand_in(Purpose.PARAMETER, param) for param in action.params}

    def ground(term: Term) -> Term:
        return simplified(substitute(term, values))

    return replace(
        action,
        guards=tuple(replace(guard, formula=ground(guard.formula)) for guard in action.guards),
        updates=tuple(
            replace(
                update,
                args=tuple(ground(arg) for arg in update.args),
                value=None if update.value is None else ground(update.value),
                when=ground(update.when),
            )
            for update in action.updates
        ),
    )


def after_updates(updates: Iterable[Update], *, switches: bool = False) -> Callable[[Term], Term]:
    """Return the function that takes a formula to its weakest precondition under ``updates``.

    With ``switches`` an update that belongs to a defence happens only if its :func:`switch` is on. A proof that does
    not use that the switch is on is a proof with and without the update.
    """
    changed: dict[Symbol, list[Update]] = {}
    for update in updates:
        changed.setdefault(update.symbol, []).append(update)

    def value(symbol: Symbol, args: tuple[Term, ...]) -> Term:
        result: Term = Apply(symbol, args)
        for update in changed[symbol]:
            result = _changed(update, args, result, switches)
        return result

    return lambda formula: replace_symbols(formula, changed, value)


def _changed(update: Update, args: tuple[Term, ...], before: Term, switches: bool) -> Term:
    """Return the value at ``args`` after ``update``, which was ``before`` until then."""
    places = tuple(zip(update.args, args, strict=True))
    matched: dict[Var, Term] = {
        pattern: arg for pattern, arg in places if isinstance(pattern, Var) and pattern in update.each
    }
    equalities = [equal(arg, substitute(pattern, matched)) for pattern, arg in places if pattern not in matched]
    test = both(*equalities, simplified(substitute(update.when, matched)))
    if switches and update.defence is not None:
        test = both(test, switch(update))
    match update.effect:
        case Effect.INSERT:
            return either(before, test)
        case Effect.REMOVE:
            return both(before, negation(test))
        case Effect.ASSIGN:
            if update.value is None:
                raise SpecificationError(f"update '{update.name}' assigns no value")
            return choose(test, substitute(update.value, matched), before)


def at_start(initial: Iterable[Initial], symbols: Iterable[Symbol]) -> Callable[[Term], Term]:
    """Return the function that takes a formula to what it says of the first state.

    A mutable relation without an initial value is empty; a variable or function without one is arbitrary.

    Raises:
        SpecificationError: an initial value reads the state it is part of.
    """
    given = {start.symbol: start for start in initial}
    for start in given.values():
        if any(symbol.mutable for symbol in symbols_of(start.value)):
            raise SpecificationError(f"the initial value of {start.symbol.name} reads state")
    fixed = {
        symbol: given.get(symbol) for symbol in symbols if symbol.mutable and (symbol in given or symbol.is_relation)
    }

    def value(symbol: Symbol, args: tuple[Term, ...]) -> Term:
        start = fixed[symbol]
        if start is None:
            return FALSE
        return simplified(substitute(start.value, dict(zip(start.params, args, strict=True))))

    return lambda formula: replace_symbols(formula, fixed, value)


def replace_symbols(
    formula: Term,
    symbols: Mapping[Symbol, object],
    value: Callable[[Symbol, tuple[Term, ...]], Term],
) -> Term:
    """Replace every application of one of ``symbols`` by its ``value`` at the (replaced) arguments."""

    def visit(term: Term) -> Term:
        rebuilt = rebuild(term, visit)
        if isinstance(rebuilt, Apply) and rebuilt.symbol in symbols:
            return value(rebuilt.symbol, rebuilt.args)
        return rebuilt

    return simplified(visit(formula))


# -- Formula constructors that fold what is true or false on sight ---------------------------------
#
# Every rule here is valid in every structure, empty sorts included, so a formula may be replaced by what these return.


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
