"""Formulas as SMT-LIB 2 text.

Names carry what they are: ``now.`` begins a symbol that steps change, ``rigid.`` one that never changes, ``par.`` a
parameter of the action, ``any.`` a parameter of the refuted invariant, ``on.`` the switch of an update, ``sort.``,
``enum.`` and ``v.`` a sort, a member of an enumeration and a bound variable, which ends in the name of its sort. So no
name of a specification can clash with a word of SMT-LIB or with a name that the prover makes, two variables of one name
and different sorts stay two, and a model can be read back.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from carnet_check.reserved_symbols import ReservedSymbol
from carnet_spec.language import Sort, SpecificationError, Symbol, terms

LOGIC = "ALL"  #: Quantified formulas over uninterpreted functions and enumerations have no shorter official name.

_SIMPLE = re.compile(r"[A-Za-z0-9~!@$%^&*_+=<>.?/-]+\Z")


@lru_cache(maxsize=4096)
def quote_symbol(name: str) -> str:
    """Return ``name`` as an SMT-LIB symbol, between bars if necessary.

    Raises SpecificationError if SMT-LIB cannot express the name.
    """
    if _SIMPLE.match(name):
        return name
    if "|" in name or "\\" in name:
        raise SpecificationError(f"'{name}' contains | or \\, which no name in a proof obligation can")
    return f"|{name}|"


def symbol_name(symbol: Symbol) -> str:
    """Return the SMT-LIB name of ``symbol``, unquoted."""
    if isinstance(symbol, ReservedSymbol):
        return symbol.name.removeprefix("$")
    return ("now." if symbol.mutable else "rigid.") + symbol.name


def sort_name(sort: Sort) -> str:
    """Return the SMT-LIB name of ``sort``, unquoted."""
    return "Bool" if sort == terms.BOOL else "sort." + sort.name


def member_name(term: terms.Member) -> str:
    """Return the SMT-LIB name of a member of an enumeration, unquoted."""
    return f"enum.{term.sort.name}.{term.name}"


def text(term: terms.Term) -> str:
    """Return ``term`` in SMT-LIB 2."""
    return with_symbols(term)[0]


def with_symbols(term: terms.Term) -> tuple[str, tuple[Sort | Symbol, ...]]:
    """Return ``term`` in SMT-LIB 2, and the sorts and symbols that occur in it, in order of first use."""
    used: dict[Sort | Symbol, None] = {}
    written = _text(term, used)
    needed: dict[Sort | Symbol, None] = {}
    for thing in used:
        if isinstance(thing, Symbol):
            needed.update(dict.fromkeys(sort for sort in (*thing.domain, thing.result) if sort != terms.BOOL))
        needed[thing] = None
    return written, tuple(needed)


def _text(term: terms.Term, used: dict[Sort | Symbol, None]) -> str:  # noqa: PLR0912 # one case for each kind of term
    """Return ``term`` in SMT-LIB 2, and add the sorts and symbols that it names to ``used``."""
    match term:
        case terms.Var(name, sort):
            used[sort] = None
            return quote_symbol(f"v.{name}.{sort.name}")
        case terms.Member(sort, _):
            used[sort] = None
            return quote_symbol(member_name(term))
        case terms.Truth(value):
            return "true" if value else "false"
        case terms.Apply(symbol, ()):
            used[symbol] = None
            return quote_symbol(symbol_name(symbol))
        case terms.Apply(symbol, args):
            used[symbol] = None
            return _list(quote_symbol(symbol_name(symbol)), args, used)
        case terms.Equal(left, right):
            return f"(= {_text(left, used)} {_text(right, used)})"
        case terms.Not(body):
            return f"(not {_text(body, used)})"
        case terms.And(()):
            return "true"
        case terms.Or(()):
            return "false"
        case terms.And(parts):
            return _list("and", parts, used)
        case terms.Or(parts):
            return _list("or", parts, used)
        case terms.Implies(premise, conclusion):
            return f"(=> {_text(premise, used)} {_text(conclusion, used)})"
        case terms.IfThenElse(test, then, otherwise):
            return f"(ite {_text(test, used)} {_text(then, used)} {_text(otherwise, used)})"
        case terms.Forall(bound, body):
            return f"(forall {_binding(bound, used)} {_text(body, used)})"
        case terms.Exists(bound, body):
            return f"(exists {_binding(bound, used)} {_text(body, used)})"


def _list(head: str, parts: Iterable[terms.Term], used: dict[Sort | Symbol, None]) -> str:
    return f"({head} {' '.join([_text(part, used) for part in parts])})"


def _binding(bound: tuple[terms.Var, ...], used: dict[Sort | Symbol, None]) -> str:
    """Bind variables; the sorts of several are named in the order in which the body needs them."""
    named = used if len(bound) == 1 else {}
    return "(" + " ".join([f"({_text(var, named)} {quote_symbol(sort_name(var.sort))})" for var in bound]) + ")"


def at_most(sort: Sort, size: int) -> str:
    """Return the assertion that a sort has at most ``size`` elements, named ``element.SORT.NUMBER``."""
    names = [quote_symbol(f"element.{sort.name}.{number}") for number in range(size)]
    place = quote_symbol(sort_name(sort))
    one_of = " ".join(f"(= v.any {name})" for name in names)
    declared = (f"(declare-fun {name} () {place})" for name in names)
    return "\n".join([*declared, f"(assert (forall ((v.any {place})) (or {one_of} false)))"])


class Statement(NamedTuple):
    """One named assertion, ready to be written out: its text and the symbols and sorts it uses."""

    name: str
    text: str
    symbols: tuple[str, ...]


def statement(name: str, formula: terms.Term, declarations: Declarations) -> Statement:
    """Return ``formula`` as a named assertion, and add what it uses to ``declarations``."""
    used: dict[str, None] = {}
    for sub in terms.subterms(formula):
        match sub:
            case terms.Apply(symbol, _):
                used.setdefault(declarations.symbol(symbol))
            case terms.Var(_, sort) | terms.Member(sort, _):
                used.setdefault(declarations.sort(sort))
            case terms.Forall(bound, _) | terms.Exists(bound, _):
                for var in bound:
                    used.setdefault(declarations.sort(var.sort))
    return Statement(name, text(formula), tuple(used))


class Declarations:
    """The declarations that statements need, in an order in which they can be written."""

    def __init__(self) -> None:
        self.sorts: dict[str, str] = {}
        self.functions: dict[str, str] = {}
        self.needs: dict[str, tuple[str, ...]] = {}  # for each function, the sorts its declaration mentions
        self._meanings: dict[str, Sort | Symbol] = {}

    def sort(self, sort: Sort) -> str:
        """Declare ``sort`` and return its name."""
        name = self._claimed(sort_name(sort), sort)
        if name not in self.sorts and sort != terms.BOOL:
            if sort.members is None:
                self.sorts[name] = f"(declare-sort {quote_symbol(name)} 0)"
            else:
                members = " ".join(f"({text(terms.Member(sort, member))})" for member in sort.members)
                self.sorts[name] = f"(declare-datatypes (({quote_symbol(name)} 0)) (({members})))"
        return name

    def symbol(self, symbol: Symbol) -> str:
        """Declare ``symbol`` and return its name."""
        name = self._claimed(symbol_name(symbol), symbol)
        if name not in self.functions:
            places = [self.sort(sort) for sort in (*symbol.domain, symbol.result)]
            domain = " ".join(quote_symbol(place) for place in places[:-1])
            self.functions[name] = f"(declare-fun {quote_symbol(name)} ({domain}) {quote_symbol(places[-1])})"
            self.needs[name] = tuple(place for place in places if place != "Bool")
        return name

    def _claimed(self, name: str, meaning: Sort | Symbol) -> str:
        """Make sure that ``name`` means one thing only; raise SpecificationError if it means something else already."""
        if self._meanings.setdefault(name, meaning) != meaning:
            raise SpecificationError(f"two different sorts or symbols are called {meaning.name}")
        return name

    def lines(self, used: Iterable[str]) -> list[str]:
        """Return the declarations of the sorts and functions named in ``used``, and of what these need.

        They come in the order of ``used``, whatever else was declared before: what is said of one thing is one text.
        """
        wanted = dict.fromkeys(used)
        sorts = dict.fromkeys(sort for name in wanted for sort in (*self.needs.get(name, ()), name))
        return [
            *(self.sorts[name] for name in sorts if name in self.sorts),
            *(self.functions[name] for name in wanted if name in self.functions),
        ]


def script(declarations: Declarations, statements: Iterable[Statement], comments: Iterable[str] = ()) -> str:
    """Return a self-contained SMT-LIB 2 file that asserts ``statements`` by name and asks for a core."""
    body = problem(declarations, statements)
    head = [f"; {comment}" for comment in comments]
    head += ["(set-option :produce-unsat-cores true)", f"(set-logic {LOGIC})"]
    return "\n".join([*head, body, "(check-sat)", "(get-unsat-core)", ""])


def problem(declarations: Declarations, statements: Iterable[Statement], also: Iterable[str] = ()) -> str:
    """Return the named assertions after the declarations that they, and the names in ``also``, need."""
    listed = list(statements)
    lines = declarations.lines([*also, *(name for said in listed for name in said.symbols)])
    lines += [f"(assert (! {said.text} :named {quote_symbol(said.name)}))" for said in listed]
    return "\n".join(lines)
