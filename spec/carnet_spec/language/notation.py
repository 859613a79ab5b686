"""Terms for display, in mathematical notation or plain ASCII.

Parentheses are written only if the meaning needs them: ¬ binds tighter than ∧, ∧ than ∨, ∨ than →, and the scope of a
quantifier extends as far to the right as possible. Bound variables have the short names that their author gave them,
with a number if two would be equal.
"""

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from carnet_spec.language import terms


@dataclass(frozen=True, slots=True)
class Notation:
    """The signs of formulas; the sign of a quantifier includes its space."""

    forall: str
    exists: str
    conjunction: str
    disjunction: str
    negation: str
    implication: str
    unequal: str


MATH = Notation("∀", "∃", "∧", "∨", "¬", "→", "≠")
ASCII = Notation("forall ", "exists ", "&", "|", "~", "->", "!=")

_LOOSE, _IMPLIES, _OR, _AND, _TIGHT = range(5)  #: The precedence levels of operators, loosest first.

_Names = Mapping[terms.Var, str]


def show(term: terms.Term, notation: Notation = MATH, names: _Names | None = None) -> str:
    """Return ``term`` on one line; ``names`` overrides the names of its free variables."""
    known = dict(names or {})
    return _Writer(notation, reserved_names(term) | set(known.values())).text(term, known, _LOOSE)


def show_lines(term: terms.Term, notation: Notation = MATH, width: int = 88) -> list[str]:
    """Return ``term`` on as many lines as it takes to stay within ``width`` columns, if it can."""
    return _Writer(notation, reserved_names(term)).lines(term, {}, _LOOSE, width)


def reserved_names(term: terms.Term) -> set[str]:
    """Return the names that a bound variable of ``term`` must not be shown with."""
    constants = {symbol.name for symbol in terms.symbols_of(term) if not symbol.domain}
    members = {sub.name for sub in terms.subterms(term) if isinstance(sub, terms.Member)}
    return constants | members | {var.name for var in terms.free_variables(term)}


def unused_name(base: str, taken: Iterable[str]) -> str:
    """Return ``base``, or ``base`` with the first number that makes it different from all ``taken`` names."""
    candidates = itertools.chain([base], (f"{base}{number}" for number in itertools.count(2)))
    return next(name for name in candidates if name not in taken)


def binders(variables: Iterable[tuple[terms.Var, str]]) -> str:
    """Return bound variables with their sorts, adjacent ones of one sort grouped: ``a b: Agent, k: Key``."""
    groups = itertools.groupby(variables, key=lambda pair: pair[0].sort)
    return ", ".join(f"{' '.join(name for _, name in group)}: {sort.name}" for sort, group in groups)


class _Writer:
    """Writes the subterms of one term in one notation."""

    def __init__(self, notation: Notation, reserved: set[str]) -> None:
        self.notation = notation
        self.reserved = reserved

    def text(self, term: terms.Term, names: dict[terms.Var, str], around: int) -> str:
        """Write ``term`` on one line, as an operand of an operator with the precedence ``around``."""
        signs = self.notation
        match term:
            case terms.Var():
                return names.get(term, term.name)
            case terms.Member(_, name):
                return name
            case terms.Truth(value):
                return "true" if value else "false"
            case terms.Apply(symbol, args):
                inside = ", ".join(self.text(arg, names, _LOOSE) for arg in args)
                return f"{symbol.name}({inside})" if args else symbol.name
            case terms.Equal(left, right):
                return f"{self.text(left, names, _TIGHT)} = {self.text(right, names, _TIGHT)}"
            case terms.Not(terms.Equal(left, right)):
                sides = self.text(left, names, _TIGHT), self.text(right, names, _TIGHT)
                return f"{sides[0]} {signs.unequal} {sides[1]}"
            case terms.Not(body):
                operand = self.text(body, names, _TIGHT)
                bare = isinstance(body, terms.Not) and isinstance(body.body, terms.Equal)
                return signs.negation + (f"({operand})" if bare else operand)
            case terms.And(()) | terms.Or(()):
                return "true" if isinstance(term, terms.And) else "false"
            case _:
                return self._compound(term, names, around)

    def _compound(self, term: terms.Term, names: dict[terms.Var, str], around: int) -> str:
        match term:
            case terms.Forall() | terms.Exists():
                prefix, body, inner = self._prefix(term, names)
                own, written = _LOOSE, f"{prefix} {self.text(body, inner, _LOOSE)}"
            case terms.IfThenElse(test, then, otherwise):
                parts = [self.text(part, names, _LOOSE) for part in (test, then, otherwise)]
                own, written = _LOOSE, f"if {parts[0]} then {parts[1]} else {parts[2]}"
            case _:
                own, sign, operands = self._operands(term)
                written = f" {sign} ".join(self.text(part, names, level) for part, level in operands)
        return f"({written})" if own < around else written

    def lines(self, term: terms.Term, names: dict[terms.Var, str], around: int, width: int) -> list[str]:
        """Write ``term`` on one line if it fits, else on several, with the operator in front of each line."""
        line = self.text(term, names, around)
        if len(line) <= width or not isinstance(
            term, terms.And | terms.Or | terms.Implies | terms.Forall | terms.Exists
        ):
            return [line]
        if isinstance(term, terms.Forall | terms.Exists):
            prefix, body, inner = self._prefix(term, names)
            return [prefix, *_indented("  ", self.lines(body, inner, _LOOSE, width - 2))]
        _, sign, operands = self._operands(term)
        margin = " " * (len(sign) + 1)
        written: list[str] = []
        for position, (part, level) in enumerate(operands):
            block = self.lines(part, names, level, width - len(margin))
            lead = margin if position == 0 and isinstance(term, terms.Implies) else f"{sign} "
            written += [lead + block[0], *_indented(margin, block[1:])]
        return written

    def _operands(self, term: terms.Term) -> tuple[int, str, list[tuple[terms.Term, int]]]:
        """Return the precedence of an operator, its sign, and each operand with the precedence around it."""
        match term:
            case terms.And(parts):
                return _AND, self.notation.conjunction, [(part, _AND + 1) for part in parts]
            case terms.Or(parts):
                return _OR, self.notation.disjunction, [(part, _OR + 1) for part in parts]
            case terms.Implies(premise, conclusion):
                operands = [(premise, _IMPLIES + 1), (conclusion, _IMPLIES)]
                return _IMPLIES, self.notation.implication, operands
            case _:
                raise TypeError(f"not a term: {term!r}")

    def _prefix(
        self, term: terms.Forall | terms.Exists, names: dict[terms.Var, str]
    ) -> tuple[str, terms.Term, dict[terms.Var, str]]:
        """Return the prefix of ``term`` and equal quantifiers directly inside it, the body, and the names."""
        inner = dict(names)
        bound: list[tuple[terms.Var, str]] = []
        body: terms.Term = term
        while type(body) is type(term):
            for var in body.bound:
                base = var.name.partition(".")[0].rstrip("'") or var.name
                inner[var] = unused_name(base, {*self.reserved, *inner.values()})
                bound.append((var, inner[var]))
            body = body.body
        sign = self.notation.forall if isinstance(term, terms.Forall) else self.notation.exists
        return f"{sign}{binders(bound)}.", body, inner


def _indented(margin: str, lines: list[str]) -> list[str]:
    return [margin + line for line in lines]
