"""Helpers for the lints: the place of a complaint, and sets of names."""

from collections import Counter
from collections.abc import Iterable, Iterator

from carnet_spec.language.actions import Action, Guard, Update
from carnet_spec.language.naming import did_you_mean
from carnet_spec.language.terms import Symbol, Term, Var, free_variables, hidden_variables

Findings = Iterator[tuple[str, str]]  #: Pairs of the place of a complaint and what to do about it.


def at(action: Action, part: Guard | Update | None = None) -> str:
    """Return the place of an action, or of one of its parts, in words."""
    where = f"{'rule' if action.deduction else 'action'} {action.name}"
    if part is None:
        return where
    return f"{where}, {'guard' if isinstance(part, Guard) else 'update'} '{part.name}'"


def parts_of(action: Action) -> tuple[Guard | Update, ...]:
    """Return the guards of ``action``, then its updates."""
    return action.guards + action.updates


def read_by(update: Update) -> tuple[Term, ...]:
    """Return the terms that ``update`` reads: its arguments, its condition, its value."""
    return (*update.args, update.when, *(() if update.value is None else (update.value,)))


def duplicates(names: Iterable[str]) -> list[str]:
    """Return the names that occur more than once."""
    return [name for name, times in Counter(names).items() if times > 1]


def by_name(symbols: Iterable[Symbol]) -> list[Symbol]:
    """Sort ``symbols`` by name."""
    return sorted(symbols, key=lambda symbol: symbol.name)


def one_of(names: Iterable[str], name: str = "") -> str:
    """Return the list of names in words, the most similar to ``name`` first."""
    known = sorted(names)
    listed = f"write one of {', '.join(known)}" if known else "declare it first"
    return " ".join(filter(None, (did_you_mean(name, known), listed)))


def strangers(where: str, term: Term, known: Iterable[Var]) -> Findings:
    """Yield complaints about variables of ``term`` that are not ``known``, and about those that hide another."""
    for var in sorted(hidden_variables(term), key=lambda var: var.name):
        yield where, f"reads {var.name} where a quantifier over another sort uses the same name: rename one"
    for var in sorted(free_variables(term) - set(known), key=lambda var: var.name):
        yield (
            where,
            f"mentions {var.name}, which is no parameter of it: declare it as one, quantify over "
            "it, or, for 'each', use it as an argument of its own; where an argument and a condition mean the same "
            "elements, write x = step.each(…) once, and x in both",
        )
