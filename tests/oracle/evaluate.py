"""What a formula means in a finite structure: the textbook definition, a case for each kind of term.

This is the slow and plain half of the oracle. Replays use it, and the compiled half is compared with it. Nothing
here or in its neighbours imports an engine or the interpreter of ``carnet_check``: only the terms of the language.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from carnet_spec.language import terms

Sizes = Mapping[str, int]
"""How many elements each uninterpreted sort has, by name."""
Row = tuple[int, ...]
"""Elements, as numbers from zero within their sorts."""
Value = int | bool


@dataclass(frozen=True)
class Structure:
    """One state with everything in it: for each symbol, rigid or not, its value at every row."""

    sizes: Sizes
    tables: Mapping[terms.Symbol, Mapping[Row, Value]]


def size_of(sort: terms.Sort, sizes: Sizes) -> int:
    """Return the number of elements of ``sort``: of an enumeration, its members."""
    if sort == terms.BOOL:
        return 2
    return len(sort.members) if sort.members is not None else sizes[sort.name]


def rows(symbol: terms.Symbol, sizes: Sizes) -> list[Row]:
    """Return every row of arguments that ``symbol`` can be applied to."""
    return list(itertools.product(*(range(size_of(sort, sizes)) for sort in symbol.domain)))


def value(term: terms.Term, env: Mapping[terms.Var, int], structure: Structure) -> Value:
    """Return the value of ``term`` in ``structure``, with ``env`` as the values of its free variables."""
    match term:
        case terms.Var():
            return env[term]
        case terms.Member(sort, name):
            return (sort.members or ()).index(name)
        case terms.Truth(truth):
            return truth
        case terms.Apply(symbol, args):
            return structure.tables[symbol][tuple(int(value(arg, env, structure)) for arg in args)]
        case terms.Equal(left, right):
            return value(left, env, structure) == value(right, env, structure)
        case terms.Not(body):
            return not value(body, env, structure)
        case terms.And(parts):
            return all(value(part, env, structure) for part in parts)
        case terms.Or(parts):
            return any(value(part, env, structure) for part in parts)
        case terms.Implies(premise, conclusion):
            return not value(premise, env, structure) or bool(value(conclusion, env, structure))
        case terms.IfThenElse(test, then, otherwise):
            return value(then if value(test, env, structure) else otherwise, env, structure)
        case terms.Forall(bound, body):
            return all(value(body, inner, structure) for inner in extensions(bound, env, structure.sizes))
        case terms.Exists(bound, body):
            return any(value(body, inner, structure) for inner in extensions(bound, env, structure.sizes))


def extensions(bound: tuple[terms.Var, ...], env: Mapping[terms.Var, int], sizes: Sizes) -> list[dict[terms.Var, int]]:
    """Return ``env`` with every choice of elements for the ``bound`` variables, which hide outer ones."""
    choices = itertools.product(*(range(size_of(var.sort, sizes)) for var in bound))
    return [{**env, **dict(zip(bound, choice, strict=True))} for choice in choices]
