"""Effects: what the updates of an action change, compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from carnet_check.conformance.formulas import Compiler, Frame, Known, Scope
from carnet_check.conformance.reduction import Followed
from carnet_check.conformance.tables import Function, Table, Undo
from carnet_spec.language import Effect, Row, Symbol, Update
from carnet_spec.language.terms import TRUE, Apply, Var, free_variables

INSERT, REMOVE, ASSIGN, EXTEND, FORGET = range(5)


@dataclass(frozen=True, slots=True)
class Change:
    """One change of one table, decided in the state before a step."""

    table: Table
    kind: int
    row: Row
    value: str = ""
    extent: int = 0

    def apply(self) -> Undo | None:
        """Make the change; return how to take it back, or nothing if nothing changed."""
        table = self.table
        if isinstance(table, Function):
            return table.assign(self.row, self.value)
        if self.kind == INSERT:
            return table.insert(self.row)
        if self.kind == REMOVE:
            return table.remove(self.row)
        return table.extend(self.row, self.extent) if self.kind == EXTEND else table.forget(self.row)


Effects = Callable[[Frame], Iterator[Change]]


def compiled(
    update: Update, compiler: Compiler, outer: Scope, followed: Mapping[Symbol, Followed], *, inserted: bool
) -> Effects:
    """Compile one update: given a frame in the state before, it yields what is to change.

    ``inserted`` says that the same step inserts into the same relation before.
    """
    how = followed.get(update.symbol)
    if how is not None and update.each and update.effect is Effect.INSERT:
        return _following(update, compiler, outer, how, followed)
    scope = compiler.scope(update.each, outer)
    if update.effect is Effect.REMOVE and update.each and not inserted and _each_stands_alone(update):
        return _removing(update, compiler, scope, forget=how is not None)
    return _changing(update, compiler, scope, frozenset(outer.values()))


def _each_stands_alone(update: Update) -> bool:
    """Whether each variable of ``each`` is one argument, and inside no other: a row then gives them all."""
    beside = [arg for arg in update.args if arg not in update.each]
    alone = sorted(update.each, key=repr) == sorted((arg for arg in update.args if arg in update.each), key=repr)
    return alone and not any(free_variables(arg) & set(update.each) for arg in beside)


def _changing(update: Update, compiler: Compiler, scope: Scope, known: Known) -> Effects:
    table: Table
    if update.effect is Effect.ASSIGN:
        table, kind = compiler.function(update.symbol), ASSIGN
    else:
        table, kind = compiler.relation(update.symbol), INSERT if update.effect is Effect.INSERT else REMOVE
    row = compiler.row(update.args, scope)
    when = None if update.when == TRUE else compiler.term(update.when, scope)
    value = None if update.value is None else compiler.term(update.value, scope)
    each = compiler.assignments(update.each, update.when, scope, known) if update.each else None

    def change(frame: Frame) -> Iterator[Change]:
        if each is None:
            if when is None or when(frame):
                yield Change(table, kind, row(frame), "" if value is None else value(frame))
            return
        for _ in each(frame):
            if when is None or when(frame):
                yield Change(table, kind, row(frame), "" if value is None else value(frame))

    return change


def _removing(update: Update, compiler: Compiler, scope: Scope, *, forget: bool) -> Effects:
    """Remove the rows that there are, rather than every row that there could be."""
    table = compiler.relation(update.symbol)
    given = tuple(at for at, arg in enumerate(update.args) if arg not in update.each)
    key = compiler.row([update.args[at] for at in given], scope)
    index = table.index(given)
    places = [(at, scope[arg]) for at, arg in enumerate(update.args) if isinstance(arg, Var) and arg in update.each]
    when = None if update.when == TRUE else compiler.term(update.when, scope)

    def change(frame: Frame) -> Iterator[Change]:
        beside = key(frame)
        for row in index.get(beside, ()):
            for at, place in places:
                frame[place] = row[at]
            if when is None or when(frame):
                yield Change(table, REMOVE, row)
        if forget:
            yield Change(table, FORGET, beside)

    return change


def _following(
    update: Update, compiler: Compiler, scope: Scope, how: Followed, followed: Mapping[Symbol, Followed]
) -> Effects:
    """Insert a whole prefix of the rows of the followed relation, as their number."""
    table = compiler.relation(update.symbol)
    beside = compiler.row([*update.args[: how.at], *update.args[how.at + 1 :]], scope)
    assert isinstance(update.when, Apply)
    source = compiler.relation(update.when.symbol)
    if update.when.symbol == how.base:
        return lambda frame: iter((Change(table, EXTEND, beside(frame), extent=len(source.rows)),))
    at = followed[update.when.symbol].at
    read = compiler.row([*update.when.args[:at], *update.when.args[at + 1 :]], scope)
    return lambda frame: iter((Change(table, EXTEND, beside(frame), extent=source.extent.get(read(frame), 0)),))
