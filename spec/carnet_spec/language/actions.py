"""Actions: what a party may do, as named guards and named updates.

An action is written as a Python function. The function is called once with symbolic values, and its :class:`Step`
argument records the guards and updates. All guards and updates read the state *before* the step. Symbols and rows that
no update mentions are unchanged. Updates of one symbol apply in the order in which they are written.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import TypeVar

from carnet_spec.language.errors import MisuseError
from carnet_spec.language.expressions import (
    Expression,
    Formula,
    Individual,
    declared_sort,
    describe,
    formula_term,
    used_symbol,
)
from carnet_spec.language.naming import require_name
from carnet_spec.language.terms import TRUE, Apply, Not, Role, Symbol, Term, Var, sort_of
from carnet_spec.language.tracing import traced_twice


class GuardKind(Enum):
    """The kinds of guards."""

    REQUIRE = "require"  #: A check that the acting party makes.
    GIVEN = "given"  #: A fact about the environment that makes the step possible; no party reads it.
    ACTOR = "actor"  #: The acting agent follows the protocol (corrupt agents act through the adversary's actions).
    FRESH = "fresh"  #: The condition that a value was never used before.


class Effect(Enum):
    """How an update changes its symbol."""

    INSERT = "insert"
    REMOVE = "remove"
    ASSIGN = "assign"


@dataclass(frozen=True, slots=True)
class Guard:
    """A named condition of an action; ``defence`` is the defence whose removal drops it."""

    name: str
    formula: Term
    kind: GuardKind = GuardKind.REQUIRE
    defence: str | None = None
    unless: str | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """A named change of one symbol.

    It inserts or removes the tuples ``args`` (or assigns ``value`` at them) if ``when`` holds in the state before. A
    variable of ``each`` ranges over all elements of its sort, and occurs exactly once, as an argument.
    """

    name: str
    symbol: Symbol
    effect: Effect
    args: tuple[Term, ...]
    value: Term | None = None
    when: Term = TRUE
    each: tuple[Var, ...] = ()
    defence: str | None = None
    unless: str | None = None


_Part = TypeVar("_Part", Guard, Update)


@dataclass(frozen=True, slots=True)
class Action:
    """One kind of step.

    ``cost`` is the part of an adversary budget that a step spends. A ``deduction`` is a rule: insert-only and free, so
    engines may apply it as early as possible. A ``shortcut_of`` a defence exists only if that defence is removed.
    """

    name: str
    by: Role
    params: tuple[Var, ...]
    guards: tuple[Guard, ...]
    updates: tuple[Update, ...]
    says: str
    source: str
    message: str = ""
    enforces: tuple[str, ...] = ()
    cost: int = 0
    deduction: bool = False
    actor: Term | None = None
    shortcut_of: str | None = None
    why: str = ""

    def __post_init__(self) -> None:
        require_name("an action", self.name)

    def without(self, defences: Collection[str]) -> Action:
        """Return the action with some defences removed: without their parts, and with the parts that replace these."""

        def kept(parts: tuple[_Part, ...]) -> tuple[_Part, ...]:
            return tuple(
                part
                for part in parts
                if part.defence not in defences and (part.unless is None or part.unless in defences)
            )

        return replace(self, guards=kept(self.guards), updates=kept(self.updates))

    @property
    def fresh(self) -> tuple[Var, ...]:
        """The parameters that this step draws fresh, in order."""
        return tuple(
            guard.formula.body.args[0]
            for guard in self.guards
            if guard.kind is GuardKind.FRESH
            and isinstance(guard.formula, Not)
            and isinstance(guard.formula.body, Apply)
            and isinstance(guard.formula.body.args[0], Var)
        )


class Step:
    """Records what one action requires and changes, while its function is traced."""

    def __init__(
        self,
        action: str,
        params: tuple[Individual, ...],
        by: Role,
        deduction: bool,
        sentence: str = "",
        sends: str = "",
        taken: Iterable[str] = (),
    ) -> None:
        """Start recording; ``taken`` are the names of further variables of the action, besides its parameters."""
        if not isinstance(by, Role):
            raise MisuseError(f"by= takes the Role that acts, not {by!r}")
        self.action = action
        self._params = {param.term for param in params}
        self._taken = {*taken, *(param.term.name for param in params if isinstance(param.term, Var))}
        self._by = by
        self._deduction = deduction
        self._each: list[Var] = []
        self.guards: list[Guard] = []
        self.updates: list[Update] = []
        self.acting: Term | None = None
        self.sentence = sentence
        self.sends = sends

    def says(self, sentence: str) -> None:
        """Describe the step in a sentence with ``{parameter}`` places."""
        if self.sentence:
            raise MisuseError(f"{self.action}: a step is one sentence, and it says '{self.sentence}' already")
        self.sentence = sentence

    def message(self, text: str) -> None:
        """Describe the message of the step as ``sender -> receiver: text``, for the arrow of a sequence diagram."""
        if self.sends:
            raise MisuseError(f"{self.action}: a step has one message, and sends '{self.sends}' already")
        self.sends = text

    def actor(self, agent: Individual, honest: Formula) -> None:
        """Declare which agent takes the step; ``honest`` holds of agents that follow the protocol."""
        self.acting = agent.term
        self._guard("actor", honest, GuardKind.ACTOR, None, None)

    def require(self, name: str, formula: Formula, *, defence: str | None = None, unless: str | None = None) -> None:
        """Add the guard ``formula``, which the acting party checks."""
        if self._deduction and not self._by.honest:
            raise MisuseError(f"rule {self.action}: nobody checks anything in a deduction: write given('{name}', …)")
        self._guard(name, formula, GuardKind.REQUIRE, defence, unless)

    def given(self, name: str, formula: Formula, *, defence: str | None = None, unless: str | None = None) -> None:
        """Add the guard ``formula``, a fact about the environment that no party needs to see."""
        self._guard(name, formula, GuardKind.GIVEN, defence, unless)

    def fresh(self, element: Individual, *, defence: str | None = None, name: str = "") -> None:
        """Draw the parameter ``element`` as a value that was never used before, and mark it as used."""
        if not isinstance(element, Individual) or element.term not in self._params:
            raise MisuseError(f"{self.action}: fresh needs a parameter of the action, not {describe(element)}")
        symbol = used_symbol(sort_of(element.term))
        relation = Apply(symbol, (element.term,))
        label = name or f"fresh {_label(element.term)}"
        self._add_guard(Guard(label, Not(relation), GuardKind.FRESH, defence))
        self._update(f"use {_label(element.term)}", symbol, Effect.INSERT, (element.term,), None, TRUE, None, None)

    def each(self, sort: type[Individual]) -> Individual:
        """Return a variable for one argument of an update, which ranges over all elements of ``sort``."""
        declared = declared_sort(f"{self.action}: each", sort)
        base = f"each_{declared.name.lower()}"
        names = (f"{base}{number or ''}" for number in itertools.count(len(self._each)))
        var = Var(next(name for name in names if name not in self._taken), declared)
        self._taken.add(var.name)
        self._each.append(var)
        return sort(var)

    def insert(
        self,
        *facts: Formula,
        when: Formula | None = None,
        name: str = "",
        defence: str | None = None,
        unless: str | None = None,
    ) -> None:
        """Make ``facts`` true, each a relation applied to arguments."""
        self._change(facts, Effect.INSERT, when, name, defence, unless)

    def remove(
        self,
        *facts: Formula,
        when: Formula | None = None,
        name: str = "",
        defence: str | None = None,
        unless: str | None = None,
    ) -> None:
        """Make ``facts`` false, each a relation applied to arguments; with :meth:`each`, of every such tuple."""
        if self._deduction:
            raise MisuseError(f"rule {self.action}: a deduction only inserts; what removes facts is an action")
        self._change(facts, Effect.REMOVE, when, name, defence, unless)

    def set(
        self,
        place: Expression,
        value: Expression,
        *,
        when: Formula | None = None,
        name: str = "",
        defence: str | None = None,
        unless: str | None = None,
    ) -> None:
        """Assign a new value to a variable, or to a function at some arguments."""
        if self._deduction:
            raise MisuseError(f"rule {self.action}: a deduction only inserts")
        target = place.term if isinstance(place, Expression) else None
        if not isinstance(target, Apply) or target.symbol.is_relation:
            raise MisuseError(
                f"{self.action}: set needs a variable or a function applied to arguments, not {describe(place)}"
            )
        if not isinstance(value, Expression) or sort_of(value.term) != target.symbol.result:
            raise MisuseError(
                f"{self.action}: {target.symbol.name} holds a {target.symbol.result.name}, not {describe(value)}"
            )
        self._update(
            name or f"set {target.symbol.name}",
            target.symbol,
            Effect.ASSIGN,
            target.args,
            value.term,
            _condition(when),
            defence,
            unless,
        )

    def _change(
        self,
        facts: tuple[Formula, ...],
        effect: Effect,
        when: Formula | None,
        name: str,
        defence: str | None,
        unless: str | None,
    ) -> None:
        if not facts:
            raise MisuseError(f"{self.action}: {effect.value} needs a relation applied to arguments")
        for fact in facts:
            target = fact.term if isinstance(fact, Formula) else None
            if not isinstance(target, Apply):
                raise MisuseError(
                    f"{self.action}: {effect.value} needs a relation applied to arguments, not {describe(fact)}"
                )
            label = name or f"{effect.value} {target.symbol.name}"
            self._update(label, target.symbol, effect, target.args, None, _condition(when), defence, unless)

    def _update(
        self,
        name: str,
        symbol: Symbol,
        effect: Effect,
        args: tuple[Term, ...],
        value: Term | None,
        when: Term,
        defence: str | None,
        unless: str | None,
    ) -> None:
        if not symbol.mutable:
            raise MisuseError(f"{self.action}: {symbol.name} never changes")
        self._require_writable(name)
        if any(update.name == name for update in self.updates):
            raise MisuseError(f"{self.action}: two updates are called '{name}': give one a name of its own, name='…'")
        each = tuple(arg for arg in args if isinstance(arg, Var) and arg in self._each)
        if len(set(each)) != len(each):
            raise MisuseError(f"{self.action}: an 'each' stands for one argument of {symbol.name} only")
        self.updates.append(Update(name, symbol, effect, args, value, when, each, defence, unless))

    def _guard(self, name: str, formula: Formula, kind: GuardKind, defence: str | None, unless: str | None) -> None:
        self._require_writable(name)
        term = formula_term(formula, f"{self.action}: guard '{name}'")
        self._add_guard(Guard(name, term, kind, defence, unless))

    def _require_writable(self, name: str) -> None:
        if "|" in name or "\\" in name:
            raise MisuseError(f"{self.action}: no proof obligation can write '{name}': leave out | and \\")

    def _add_guard(self, guard: Guard) -> None:
        if any(other.name == guard.name for other in self.guards):
            raise MisuseError(f"{self.action}: two guards are called '{guard.name}': give one a name of its own")
        self.guards.append(guard)


def _refuse_result(result: object, action: str) -> None:
    """Refuse any result of the function, such as that of a generator or a coroutine, which records nothing."""
    if result is not None:
        raise MisuseError(f"{action} returns a {type(result).__name__}: an action says what happens by its step alone")


def traced_step(function: Callable[..., object], params: tuple[Individual, ...], begin: Callable[[], Step]) -> Step:
    """Call ``function`` with a step that ``begin`` returns, and return that step with the record.

    Raises MisuseError if the function does not only record, or records something else when it is called again.
    """
    steps: list[Step] = []

    def say() -> tuple[object, ...]:
        steps.append(step := begin())
        _refuse_result(function(step, *params), step.action)
        return (tuple(step.guards), tuple(step.updates), step.acting, step.sentence, step.sends)

    traced_twice(function, say)
    return steps[0]


def _condition(when: Formula | None) -> Term:
    return TRUE if when is None else formula_term(when, "'when'")


def _label(term: Term) -> str:
    return term.name if isinstance(term, Var) else "value"
