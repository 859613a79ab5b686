"""Effects: what the updates of an action change, compiled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from carnet_check.conformance.formulas import Compiler, Frame, Known, Scope
from carnet_check.conformance.tables import Function, Table, Undo
from carnet_spec.language import Action, Effect, Protocol, Row, Symbol, Term, Update
from carnet_spec.language.terms import TRUE, Apply, Exists, Forall, Var, free_variables, subterms, symbols_of

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
        """Make the change; return how to undo it, or None if nothing changed."""
        table = self.table
        if isinstance(table, Function):
            return table.assign(self.row, self.value)
        if self.kind == INSERT:
            return table.insert(self.row)
        if self.kind == REMOVE:
            return table.remove(self.row)
        return table.extend(self.row, self.extent) if self.kind == EXTEND else table.forget(self.row)


Effects = Callable[[Frame], Iterator[Change]]


def compile_update(
    update: Update, compiler: Compiler, outer: Scope, followed: Mapping[Symbol, FollowedRelation], *, inserted: bool
) -> Effects:
    """Compile one update into a function that yields its changes, given a frame, in the state before the step.

    ``inserted`` says that an earlier update of the same action inserts into the same relation.
    """
    how = followed.get(update.symbol)
    if how is not None and update.each and update.effect is Effect.INSERT:
        return _following(update, compiler, outer, how, followed)
    scope = compiler.scope(update.each, outer)
    if update.effect is Effect.REMOVE and update.each and not inserted and _each_stands_alone(update):
        return _removing(update, compiler, scope, forget=how is not None)
    return _changing(update, compiler, scope, frozenset(outer.values()))


def _each_stands_alone(update: Update) -> bool:
    """Whether each variable of ``each`` is one whole argument and occurs in no other: a row then determines all."""
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
    """Compile a removal that visits the rows in the table, not every possible row."""
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
    update: Update, compiler: Compiler, scope: Scope, how: FollowedRelation, followed: Mapping[Symbol, FollowedRelation]
) -> Effects:
    """Compile an insertion of a prefix of the followed relation's rows, which is stored as their number."""
    table = compiler.relation(update.symbol)
    beside = compiler.row([*update.args[: how.at], *update.args[how.at + 1 :]], scope)
    assert isinstance(update.when, Apply)
    source = compiler.relation(update.when.symbol)
    if update.when.symbol == how.base:
        return lambda frame: iter((Change(table, EXTEND, beside(frame), extent=len(source.rows)),))
    at = followed[update.when.symbol].at
    read = compiler.row([*update.when.args[:at], *update.when.args[at + 1 :]], scope)
    return lambda frame: iter((Change(table, EXTEND, beside(frame), extent=source.extent.get(read(frame), 0)),))


# --------------------------------------------------------------------------------------------------
# The symbols that have to be maintained to decide which steps are enabled, and how to do that at constant cost.
#
# Histories that no guard reads are left out. Where a step inserts "every row of some relation so far" into another
# one, as an order of epochs does, only the number of those rows is stored: see :class:`FollowedRelation`.


@dataclass(frozen=True, slots=True)
class FollowedRelation:
    """Describes a relation into which steps insert, at position ``at``, whole prefixes of the rows of ``base``."""

    base: Symbol
    at: int


def relevant_symbols(protocol: Protocol) -> frozenset[Symbol]:
    """Return the mutable symbols that decide which steps are enabled, directly or through updates."""
    found = {symbol for action in protocol.actions for guard in action.guards for symbol in symbols_of(guard.formula)}
    read = [(update.symbol, read_by(update)) for action in protocol.actions for update in action.updates]
    while True:
        more = {symbol for written, symbols in read if written in found for symbol in symbols} - found
        if not more:
            return frozenset(symbol for symbol in found if symbol.mutable)
        found |= more


def read_by(update: Update) -> frozenset[Symbol]:
    """Return the symbols that an update reads."""
    value = () if update.value is None else (update.value,)
    return frozenset().union(*(symbols_of(term) for term in (*update.args, update.when, *value)))


def followed_relations(protocol: Protocol, kept: frozenset[Symbol]) -> Mapping[Symbol, FollowedRelation]:
    """Return the relations whose insertions for all elements of a sort can be stored as a number.

    Such a relation has all of these properties. Every insertion for all elements has no other condition than the base,
    or another such relation with the same base. The base never loses a row. A removal from the relation removes the
    rows of every element. Guards only test one row at a time.
    """
    updates = [update for action in protocol.actions for update in action.updates if update.symbol in kept]
    given = {initial.symbol for initial in protocol.initial}
    unfit = {symbol for action in protocol.actions for symbol in (*_looked_through(action), *_replaced(action))}
    found: dict[Symbol, FollowedRelation] = {}
    while True:
        more = {}
        for update in updates:
            symbol = update.symbol
            fit = symbol not in found and symbol not in unfit and symbol not in given
            if fit and update.effect is Effect.INSERT and (place := _set_argument(update)) is not None:
                base = _base(update, updates, found)
                if (
                    base is not None
                    and base not in given
                    and _eligible(symbol, FollowedRelation(base, place), updates, found)
                ):
                    more[symbol] = FollowedRelation(base, place)
        if not more:
            return found
        found |= more


def _set_argument(update: Update) -> int | None:
    """Return the position of the argument that ranges over all elements of a sort, if there is exactly one."""
    places = [at for at, arg in enumerate(update.args) if free_variables(arg) & set(update.each)]
    return places[0] if len(places) == 1 == len(update.each) and update.args[places[0]] == update.each[0] else None


def _base(update: Update, updates: list[Update], found: Mapping[Symbol, FollowedRelation]) -> Symbol | None:
    """Return the relation whose rows so far an update copies."""
    match update.when:
        case Apply(symbol, (Var() as var,)) if var == update.each[0] and _only_grows(symbol, updates):
            return symbol
        case Apply(symbol, args) if symbol in found and only_prefixes_inserted(symbol, updates):
            at = found[symbol].at
            beside = (*args[:at], *args[at + 1 :])
            if args[at] == update.each[0] and not any(update.each[0] in free_variables(arg) for arg in beside):
                return found[symbol].base
    return None


def _only_grows(symbol: Symbol, updates: list[Update]) -> bool:
    return symbol.mutable and all(u.effect is Effect.INSERT for u in updates if u.symbol == symbol)


def only_prefixes_inserted(symbol: Symbol, updates: list[Update]) -> bool:
    """Whether insertions for all elements of a sort are the only changes of a relation."""
    return all(u.effect is Effect.INSERT and _set_argument(u) is not None for u in updates if u.symbol == symbol)


def _eligible(
    symbol: Symbol, how: FollowedRelation, updates: list[Update], found: Mapping[Symbol, FollowedRelation]
) -> bool:
    if symbol == how.base:
        return False
    for update in updates:
        if update.symbol == symbol and update.effect is Effect.REMOVE:
            if _set_argument(update) != how.at or update.when != TRUE:
                return False
        elif update.symbol == symbol and update.each:
            if _set_argument(update) != how.at or _base(update, updates, found) != how.base:
                return False
        elif symbol in symbols_of(update.when) and not _copies(update, symbol, how):
            return False
    return True


def _copies(update: Update, symbol: Symbol, how: FollowedRelation) -> bool:
    """Whether an update reads the relation only to copy it to another relation with the same base."""
    match update.when:
        case Apply(read, args) if read == symbol:
            return len(update.each) == 1 and args[how.at] == update.each[0]
        case _:
            return False


def _replaced(action: Action) -> set[Symbol]:
    """Return the relations that one step both inserts into and removes from."""
    by_effect = {effect: {u.symbol for u in action.updates if u.effect is effect} for effect in Effect}
    return by_effect[Effect.INSERT] & by_effect[Effect.REMOVE]


def _looked_through(action: Action) -> Iterator[Symbol]:
    """Yield the symbols whose rows are enumerated, rather than tested one by one."""
    for guard in action.guards:
        if action.deduction:
            yield from symbols_of(guard.formula)
        else:
            yield from _under_quantifiers(guard.formula)
    for update in action.updates:
        for term in (*update.args, *(() if update.value is None else (update.value,))):
            yield from _under_quantifiers(term)


def _under_quantifiers(term: Term) -> Iterator[Symbol]:
    for part in subterms(term):
        if isinstance(part, Exists | Forall):
            yield from symbols_of(part)
