"""Terms of TLA+: relations as sets of tuples, functions as functions, elements as strings, with no name bound twice."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from carnet_check.exports.identifiers import Identifiers
from carnet_spec.language import Instance, Protocol, Sort, Symbol, Term
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
    Truth,
    Var,
)

WORDS = """
ASSUME ASSUMPTION AXIOM BOOLEAN CASE CHOOSE CONSTANT CONSTANTS DOMAIN ELSE ENABLED EXCEPT EXTENDS FALSE IF IN INSTANCE
LAMBDA LET LOCAL MODULE OTHER RECURSIVE STRING SUBSET THEN THEOREM TRUE UNCHANGED UNION VARIABLE VARIABLES WITH WF_
SF_ ACTION HAVE OBVIOUS PICK PROOF PROPOSITION PROVE QED STATE TAKE TEMPORAL USE WITNESS BY COROLLARY DEF DEFINE DEFS
DF HIDE LEMMA NEW OMITTED ONLY SUFFICES Nat TypeOK First Init Next Spec Now Become Deduced Saturated FirstUnused vars
spent r s t free pool used i j
"""
RESERVED = frozenset(WORDS.split())
"""Words of TLA+, of the module that is extended, and of what every export defines."""

Scope = Mapping[str, str]
"""The identifier of each variable that is bound or a parameter."""


class Terms:
    """Writes the terms of one protocol on one instance."""

    def __init__(self, protocol: Protocol, instance: Instance) -> None:
        self._ids = Identifiers(RESERVED)
        self._elements: dict[str, Identifiers] = {}
        self._instance = instance
        for sort in protocol.sorts:
            self.sort(sort)
        for symbol in protocol.symbols:
            self.symbol(symbol)

    # -- names -------------------------------------------------------------------------------------

    def sort(self, sort: Sort) -> str:
        """Return the identifier of the set of a sort's elements."""
        return self._ids.of(("sort", sort.name), sort.name)

    def symbol(self, symbol: Symbol) -> str:
        """Return the identifier of a symbol."""
        return self._ids.of(("symbol", symbol.name), symbol.name)

    def operator(self, kind: str, name: str, *ending: str) -> str:
        """Return the identifier of what is defined for an action, a claim or a rule."""
        return self._ids.of((kind, name, ending), name, *ending)

    def element(self, element: str) -> str:
        """Return an element as a string; ``<`` begins a letter that is spelt, so no other string has it."""
        return f'"{element}"' if re.fullmatch(r"[ -!#-;=-\[\]-~]*", element) else self._spelt(element)

    def _spelt(self, element: str) -> str:
        """Return an element that TLA+ has no string for, letter by letter where it must be."""
        return f'"{"".join(each if each.isascii() and each.isalnum() else f"<{ord(each):x}>" for each in element)}"'

    def bound(self, variables: Iterable[Var], scope: Scope) -> dict[str, str]:
        """Return a scope with more variables, each under a name that nothing else has there."""
        found = dict(scope)
        for var in variables:
            base = re.sub(r"\W", "_", var.name.partition(".")[0], flags=re.ASCII)
            base = base if base[:1].isalpha() else f"x_{base}"
            name, number = base, 2
            while self._ids.taken(name) or name in found.values():
                name, number = f"{base}_{number}", number + 1
            found[var.name] = name
        return found

    # -- sets and tuples ---------------------------------------------------------------------------

    def elements(self, elements: Iterable[str]) -> str:
        """Return a set of elements."""
        return f"{{{', '.join(map(self.element, elements))}}}"

    def pool(self, sort: Sort, pool: Sequence[str]) -> str:
        """Return the set of some elements of a sort; all of them have a name."""
        return self.sort(sort) if set(pool) == set(self._instance.of(sort)) else self.elements(pool)

    def product(self, sets: Sequence[str]) -> str:
        """Return the set of tuples over some sets; of one set, its elements."""
        return " \\X ".join(sets)

    def all_rows(self, sets: Sequence[str]) -> str:
        """Return the same as an operand."""
        return sets[0] if len(sets) == 1 else f"({self.product(sets)})"

    def tuple(self, parts: Sequence[str]) -> str:
        """Return a row; of one element, the element itself."""
        return parts[0] if len(parts) == 1 else f"<<{', '.join(parts)}>>"

    # -- terms -------------------------------------------------------------------------------------

    def term(self, term: Term, scope: Scope, state: str = "") -> str:
        """Return a term; what changes is read from the record ``state``, or from the variables."""
        match term:
            case Var(name):
                return scope[name]
            case Member(_, name):
                return self.element(name)
            case Truth(value):
                return "TRUE" if value else "FALSE"
            case Apply(symbol, args):
                return self._applied(symbol, [self.term(arg, scope, state) for arg in args], state)
            case Equal(left, right):
                return f"{self._operand(left, scope, state)} = {self._operand(right, scope, state)}"
            case Not(Equal(left, right)):
                return f"{self._operand(left, scope, state)} # {self._operand(right, scope, state)}"
            case Not(Apply(symbol, args)) if args:
                held = self._applied(symbol, [self.term(arg, scope, state) for arg in args], state)
                return held.replace(" \\in ", " \\notin ", 1) if held.count(" \\in ") == 1 else f"~({held})"
            case Not(body):
                return f"~{self._operand(body, scope, state)}"
            case _:
                return self._compound(term, scope, state)

    def _compound(self, term: Term, scope: Scope, state: str) -> str:
        match term:
            case And(parts) | Or(parts):
                sign, empty = (" /\\ ", "TRUE") if isinstance(term, And) else (" \\/ ", "FALSE")
                return sign.join(self._operand(part, scope, state) for part in parts) or empty
            case Implies(premise, conclusion):
                return f"{self._operand(premise, scope, state)} => {self._operand(conclusion, scope, state)}"
            case IfThenElse(test, then, otherwise):
                texts = (self.term(part, scope, state) for part in (test, then, otherwise))
                return "IF {} THEN {} ELSE {}".format(*texts)
            case Forall(bound, body) | Exists(bound, body):
                inner = self.bound(bound, scope)
                sign = "\\A" if isinstance(term, Forall) else "\\E"
                listed = ", ".join(f"{inner[var.name]} \\in {self.sort(var.sort)}" for var in bound)
                return f"{sign} {listed} : {self.term(body, inner, state)}"
            case _:
                raise TypeError(f"{term} is no term")

    def _operand(self, term: Term, scope: Scope, state: str) -> str:
        written = self.term(term, scope, state)
        return written if isinstance(term, Var | Member | Truth) or _is_atom(term) else f"({written})"

    def _applied(self, symbol: Symbol, args: Sequence[str], state: str) -> str:
        name = self.symbol(symbol)
        held = f"{state}.{name}" if state and symbol.mutable else name
        if not args:
            return held
        return f"{self.tuple(args)} \\in {held}" if symbol.is_relation else f"{held}[{', '.join(args)}]"


def _is_atom(term: Term) -> bool:
    return isinstance(term, Apply) and not (term.symbol.is_relation and term.args)
