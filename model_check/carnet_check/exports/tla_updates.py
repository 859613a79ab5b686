"""Updates of TLA+: what an action or a rule changes, as parts of an ``EXCEPT`` over the record of all variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from carnet_check.exports.tla_terms import Scope, Terms
from carnet_spec.language import Effect, Update
from carnet_spec.language.terms import TRUE, Var


def change(update: Update, terms: Terms, scope: Scope) -> str:
    """Return what an update does; all that it reads it reads from the variables."""
    name = terms.symbol(update.symbol)
    inner = terms.bound(update.each, scope)
    if update.symbol.is_relation:
        return f"!.{name} = {_relation(update, terms, inner)}"
    when = "" if update.when == TRUE else terms.term(update.when, inner)
    assert update.value is not None
    value = terms.term(update.value, inner)
    if update.each:
        return f"!.{name} = {_function(update, terms, inner, value, when)}"
    args = ", ".join(terms.term(arg, inner) for arg in update.args)
    place = f"!.{name}[{args}]" if args else f"!.{name}"
    return f"{place} = IF {when} THEN {value} ELSE @" if when else f"{place} = {value}"


def rows(update: Update, terms: Terms, scope: Scope, over: Mapping[str, str], state: str = "") -> str:
    """Return the set of rows that an update inserts or removes; ``over`` has a set for each variable that runs."""
    row = terms.tuple([terms.term(arg, scope, state) for arg in update.args])
    when = "" if update.when == TRUE else terms.term(update.when, scope, state)
    if not over:
        return f"(IF {when} THEN {{{row}}} ELSE {{}})" if when else f"{{{row}}}"
    pattern, values = terms.tuple(list(over)), terms.product(list(over.values()))
    if row == pattern:
        return f"{{{pattern} \\in {values} : {when}}}" if when else f"({values})"
    chosen = f"{{{pattern} \\in {values} : {when}}}" if when else values
    return f"{{{row} : {pattern} \\in {chosen}}}"


def _relation(update: Update, terms: Terms, scope: Scope) -> str:
    inserts = update.effect is Effect.INSERT
    if not update.args:
        if update.when == TRUE:
            return "TRUE" if inserts else "FALSE"
        when = terms.term(update.when, scope)
        return f"(@ \\/ ({when}))" if inserts else f"(@ /\\ ~({when}))"
    over = {scope[var.name]: terms.sort(var.sort) for var in update.each}
    sign = "\\union" if inserts else "\\"
    return f"@ {sign} {rows(update, terms, scope, over)}"


def _function(update: Update, terms: Terms, scope: Scope, value: str, when: str) -> str:
    """Return a function that is changed at the rows in which an ``each`` stands for every element."""
    names = terms.bound((Var(f"at {place}", sort) for place, sort in enumerate(update.symbol.domain)), scope)
    places = [
        scope[arg.name] if isinstance(arg, Var) and arg in update.each else names[f"at {place}"]
        for place, arg in enumerate(update.args)
    ]
    meant = [
        f"{place} = {terms.term(arg, scope)}"
        for place, arg in zip(places, update.args, strict=True)
        if not (isinstance(arg, Var) and arg in update.each)
    ]
    tests = [*meant, *([f"({when})"] if when else [])]
    domain = ", ".join(
        f"{place} \\in {terms.sort(sort)}" for place, sort in zip(places, update.symbol.domain, strict=True)
    )
    kept = f"IF {_all(tests)} THEN {value} ELSE @[{', '.join(places)}]" if tests else value
    return f"[{domain} |-> {kept}]"


def _all(tests: Sequence[str]) -> str:
    return " /\\ ".join(tests)
