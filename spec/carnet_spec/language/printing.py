"""Terms, actions and claims as people read them: mathematical notation, or plain ASCII.

Parentheses stand only where the meaning needs them: ¬ binds tighter than ∧, ∧ than ∨, ∨ than →, and a
quantifier reaches as far to the right as it can. Bound variables get back the short names that their
author gave them, with a number where two would be confused.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from carnet_spec.language.actions import Action, Effect, Guard, GuardKind, Update
from carnet_spec.language.statements import Axiom, Claim, Goal, Initial, Invariant
from carnet_spec.language.terms import (
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
    Symbol,
    Term,
    Truth,
    Var,
    free_variables,
    negation,
    subterms,
    symbols_of,
)


@dataclass(frozen=True, slots=True)
class Notation:
    """The signs that formulas are written with; a quantifier's sign brings its own space."""

    forall: str
    exists: str
    conjunction: str
    disjunction: str
    negation: str
    implication: str
    unequal: str


MATH = Notation("∀", "∃", "∧", "∨", "¬", "→", "≠")
ASCII = Notation("forall ", "exists ", "&", "|", "~", "->", "!=")

_LOOSE, _IMPLIES, _OR, _AND, _TIGHT = range(5)
"""How tightly an operator holds its operands together, loosest first."""

_Names = Mapping[Var, str]


def show(term: Term, notation: Notation = MATH, names: _Names | None = None) -> str:
    """Return ``term`` on one line; ``names`` overrides the names of its free variables."""
    known = dict(names or {})
    return _Writer(notation, _reserved(term) | set(known.values())).text(term, known, _LOOSE)


def show_lines(term: Term, notation: Notation = MATH, width: int = 88) -> list[str]:
    """Return ``term`` on as many lines as it takes to stay within ``width`` columns, if it can."""
    return _Writer(notation, _reserved(term)).lines(term, {}, _LOOSE, width)


def show_symbol(symbol: Symbol) -> str:
    """Return the declaration of ``symbol``: ``lent(Agent, Key)``, ``owner(Key): Agent``."""
    domain = f"({', '.join(sort.name for sort in symbol.domain)})" if symbol.domain else ""
    return symbol.name + domain + ("" if symbol.is_relation else f": {symbol.result.name}")


def show_signature(action: Action) -> str:
    """Return the name and the parameters of ``action``: ``lend(a: Agent, k: Key)``."""
    return f"{action.name}({', '.join(f'{var.name}: {var.sort.name}' for var in action.params)})"


def show_guard(guard: Guard, notation: Notation = MATH) -> str:
    """Return what ``guard`` asks for; that a value is fresh is said in words."""
    match guard:
        case Guard(kind=GuardKind.FRESH, formula=Not(Apply(_, (argument,)))):
            return f"{show(argument, notation)} is new"
        case _:
            return show(guard.formula, notation)


def show_update(update: Update, notation: Notation = MATH) -> str:
    """Return what ``update`` changes, for which elements, and when."""
    names = _names_of_each(update)
    arguments = f"({', '.join(show(arg, notation, names) for arg in update.args)})"
    place = update.symbol.name + (arguments if update.args else "")
    if update.effect is Effect.ASSIGN and update.value is not None:
        change = f"{place} := {show(update.value, notation, names)}"
    else:
        change = f"{update.effect.value} {place}"
    if update.each:
        change += f" for every {_binders((var, names[var]) for var in update.each)}"
    if update.when != TRUE:
        change += f" when {show(update.when, notation, names)}"
    return change


def show_action(action: Action, notation: Notation = MATH) -> str:
    """Return ``action`` as text: a line that says who takes it, then one for each part."""
    kind = "rule" if action.deduction else "action"
    lines = [f"{kind} {show_signature(action)} by {action.by.name}"]
    lines += [
        f"    {guard.kind.value} '{guard.name}': {show_guard(guard, notation)}{_tags(guard)}" for guard in action.guards
    ]
    lines += [
        f"    update '{update.name}': {show_update(update, notation)}{_tags(update)}" for update in action.updates
    ]
    return "\n".join(lines)


def show_invariant(invariant: Invariant, notation: Notation = MATH) -> str:
    """Return ``invariant`` as a closed formula after its name."""
    return f"{invariant.name}: {show(invariant.formula, notation)}"


def show_claim(claim: Claim, notation: Notation = MATH) -> str:
    """Return what ``claim`` states, or that it is only declared."""
    if claim.invariant is None:
        return f"{claim.name}: declared, not stated yet"
    return show_invariant(claim.invariant, notation)


def show_goal(goal: Goal, notation: Notation = MATH) -> str:
    """Return ``goal`` as a closed formula after its name."""
    closed = Exists(goal.params, goal.body) if goal.params else goal.body
    return f"{goal.name}: {show(closed, notation)}"


def show_axiom(axiom: Axiom, notation: Notation = MATH) -> str:
    """Return ``axiom`` after its name."""
    return f"{axiom.name}: {show(axiom.formula, notation)}"


def show_initial(initial: Initial, notation: Notation = MATH) -> str:
    """Return the value that ``initial`` gives its symbol: ``phase = HOME``."""
    place = show(Apply(initial.symbol, initial.params), notation)
    if initial.value in (TRUE, negation(TRUE)):
        return place if initial.value == TRUE else f"{notation.negation}{place}"
    sign = "if and only if" if initial.symbol.is_relation else "="
    return f"{place} {sign} {show(initial.value, notation)}"


def _tags(part: Guard | Update) -> str:
    tag = f"  [{part.defence}]" if part.defence else ""
    return tag + (f"  [only without {part.unless}]" if part.unless else "")


def _names_of_each(update: Update) -> dict[Var, str]:
    """Name the variables that stand for every element after their sorts, apart from all others."""
    terms = [*update.args, update.when, *([update.value] if update.value is not None else [])]
    taken = set().union(*(_reserved(term) for term in terms))
    names: dict[Var, str] = {}
    for var in update.each:
        names[var] = _unused(var.name.removeprefix("each_").rstrip("0123456789"), taken)
        taken.add(names[var])
    return names


def _reserved(term: Term) -> set[str]:
    """Return the names that a bound variable of ``term`` must not be shown with."""
    constants = {symbol.name for symbol in symbols_of(term) if not symbol.domain}
    members = {sub.name for sub in subterms(term) if isinstance(sub, Member)}
    return constants | members | {var.name for var in free_variables(term)}


def _unused(base: str, taken: Iterable[str]) -> str:
    candidates = itertools.chain([base], (f"{base}{number}" for number in itertools.count(2)))
    return next(name for name in candidates if name not in taken)


def _binders(variables: Iterable[tuple[Var, str]]) -> str:
    """Group neighbours of one sort: ``a b: Agent, k: Key``."""
    groups = itertools.groupby(variables, key=lambda pair: pair[0].sort)
    return ", ".join(f"{' '.join(name for _, name in group)}: {sort.name}" for sort, group in groups)


class _Writer:
    """Writes the subterms of one term in one notation."""

    def __init__(self, notation: Notation, reserved: set[str]) -> None:
        self.notation = notation
        self.reserved = reserved

    def text(self, term: Term, names: dict[Var, str], around: int) -> str:
        """Write ``term`` on one line, as an operand of an operator that binds ``around``."""
        signs = self.notation
        match term:
            case Var():
                return names.get(term, term.name)
            case Member(_, name):
                return name
            case Truth(value):
                return "true" if value else "false"
            case Apply(symbol, args):
                inside = ", ".join(self.text(arg, names, _LOOSE) for arg in args)
                return f"{symbol.name}({inside})" if args else symbol.name
            case Equal(left, right):
                return f"{self.text(left, names, _TIGHT)} = {self.text(right, names, _TIGHT)}"
            case Not(Equal(left, right)):
                sides = self.text(left, names, _TIGHT), self.text(right, names, _TIGHT)
                return f"{sides[0]} {signs.unequal} {sides[1]}"
            case Not(body):
                operand = self.text(body, names, _TIGHT)
                bare = isinstance(body, Not) and isinstance(body.body, Equal)
                return signs.negation + (f"({operand})" if bare else operand)
            case And(()) | Or(()):
                return "true" if isinstance(term, And) else "false"
            case _:
                return self._compound(term, names, around)

    def _compound(self, term: Term, names: dict[Var, str], around: int) -> str:
        match term:
            case Forall() | Exists():
                prefix, body, inner = self._prefix(term, names)
                own, written = _LOOSE, f"{prefix} {self.text(body, inner, _LOOSE)}"
            case IfThenElse(test, then, otherwise):
                parts = [self.text(part, names, _LOOSE) for part in (test, then, otherwise)]
                own, written = _LOOSE, f"if {parts[0]} then {parts[1]} else {parts[2]}"
            case _:
                own, sign, operands = self._operands(term)
                written = f" {sign} ".join(self.text(part, names, level) for part, level in operands)
        return f"({written})" if own < around else written

    def lines(self, term: Term, names: dict[Var, str], around: int, width: int) -> list[str]:
        """Write ``term`` on one line if it fits, and else with an operator in front of each line."""
        line = self.text(term, names, around)
        if len(line) <= width or not isinstance(term, And | Or | Implies | Forall | Exists):
            return [line]
        if isinstance(term, Forall | Exists):
            prefix, body, inner = self._prefix(term, names)
            return [prefix, *_indented("  ", self.lines(body, inner, _LOOSE, width - 2))]
        _, sign, operands = self._operands(term)
        margin = " " * (len(sign) + 1)
        written: list[str] = []
        for position, (part, level) in enumerate(operands):
            block = self.lines(part, names, level, width - len(margin))
            lead = margin if position == 0 and isinstance(term, Implies) else f"{sign} "
            written += [lead + block[0], *_indented(margin, block[1:])]
        return written

    def _operands(self, term: Term) -> tuple[int, str, list[tuple[Term, int]]]:
        """Return how tight an operator is, its sign, and each operand with what is around it."""
        match term:
            case And(parts):
                return _AND, self.notation.conjunction, [(part, _AND + 1) for part in parts]
            case Or(parts):
                return _OR, self.notation.disjunction, [(part, _OR + 1) for part in parts]
            case Implies(premise, conclusion):
                operands = [(premise, _IMPLIES + 1), (conclusion, _IMPLIES)]
                return _IMPLIES, self.notation.implication, operands
            case _:
                raise TypeError(f"not a term: {term!r}")

    def _prefix(self, term: Forall | Exists, names: dict[Var, str]) -> tuple[str, Term, dict[Var, str]]:
        """Return the prefix of ``term`` and of like quantifiers right inside, and what they bind."""
        inner = dict(names)
        bound: list[tuple[Var, str]] = []
        body: Term = term
        while type(body) is type(term):
            for var in body.bound:
                base = var.name.partition(".")[0].rstrip("'") or var.name
                inner[var] = _unused(base, {*self.reserved, *inner.values()})
                bound.append((var, inner[var]))
            body = body.body
        sign = self.notation.forall if isinstance(term, Forall) else self.notation.exists
        return f"{sign}{_binders(bound)}.", body, inner


def _indented(margin: str, lines: list[str]) -> list[str]:
    return [margin + line for line in lines]
