"""Formulas that the program prints, compiled to Python: what they say of a finite structure.

The interpreter of Carnet has no part in it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, NamedTuple

from carnet_spec.language import Row


class World(NamedTuple):
    """A state with its structure: tables of symbols and elements of sorts, by number, and the members."""

    relations: Mapping[int, Collection[Row]]
    functions: Mapping[int, Mapping[Row, str]]
    elements: Mapping[int, Row]
    members: Mapping[int, str]


Truth = Callable[[World, Row], bool]
"""Whether a formula holds in a world, where the row lists the elements for its free variables, ``Bound 0`` first."""
_TOKEN = re.compile(r"[()]|[^\s()]+")
_JOINED = {"And": " and ", "Or": " or "}


def parsed(text: str) -> Any:
    """Return the lists that a text in brackets holds."""
    outer: list[list[Any]] = [[]]
    for token in _TOKEN.findall(text):
        if token == "(":
            outer.append([])
        elif token == ")":
            outer[-2].append(outer.pop())
        else:
            outer[-1].append(token)
    (found,) = outer[0]
    return found


def within(formula: Any, binders: int) -> Any:
    """Return what stands below so many universal quantifiers."""
    for _ in range(binders):
        assert formula[0] == "Forall"
        formula = formula[2]
    return formula


def compiled(formula: Any) -> Truth:
    """Return a formula as a function."""
    found: Truth = eval(f"lambda w, x: {_formula(formula, 0)}", {"__builtins__": {"all": all, "any": any}})
    return found


def _formula(formula: Any, depth: int) -> str:
    match formula:
        case ["Const", value]:
            return str(value == "true")
        case ["Holds", symbol, args]:
            return f"({_row(args, depth)} in w.relations[{symbol}])"
        case ["Equal", left, right]:
            return f"({_term(left, depth)} == {_term(right, depth)})"
        case ["Not", body]:
            return f"(not {_formula(body, depth)})"
        case ["And" | "Or" as word, *_]:
            return f"({_JOINED[word].join(_formula(part, depth) for part in _parts(word, formula))})"
        case ["Implies", premise, conclusion]:
            return f"(not {_formula(premise, depth)} or {_formula(conclusion, depth)})"
        case ["Choose", test, yes, no]:
            return f"({_formula(yes, depth)} if {_formula(test, depth)} else {_formula(no, depth)})"
        case ["Forall" | "Exists" as word, sort, body]:
            every = "all" if word == "Forall" else "any"
            return f"{every}({_formula(body, depth + 1)} for v{depth} in w.elements[{sort}])"
    raise AssertionError(f"no formula: {formula}")


def _parts(word: str, formula: Any) -> Iterator[Any]:
    if formula[0] == word:
        yield from _parts(word, formula[1])
        yield from _parts(word, formula[2])
    else:
        yield formula


def _term(term: Any, depth: int) -> str:
    match term:
        case ["Bound", index]:
            return f"v{depth - 1 - int(index)}" if int(index) < depth else f"x[{int(index) - depth}]"
        case ["Member", number]:
            return f"w.members[{number}]"
        case ["Apply", symbol, args]:
            return f"w.functions[{symbol}][{_row(args, depth)}]"
    raise AssertionError(f"no term: {term}")


def _row(args: Any, depth: int) -> str:
    return f"({''.join(_term(arg, depth) + ',' for arg in args)})"
