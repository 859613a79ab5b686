"""Random terms, formulas and steps over given symbols, with variables that hide one another."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from carnet_spec.language import Effect, Kind, Sort, Symbol, Term
from carnet_spec.language.expressions import used_symbol
from carnet_spec.language.terms import (
    BOOL,
    TRUE,
    And,
    Apply,
    Equal,
    Exists,
    Forall,
    Implies,
    Member,
    Not,
    Or,
    Var,
    symbols_of,
)
from tests.oracle.recipe import ActionRecipe, GuardRecipe, Params, UpdateRecipe
from tests.oracle.vocabulary import HONEST, THIEF, VARIABLES, Scope, Words, draw_in

#: Keeps a strategy for the next draw with the same arguments: Hypothesis looks at each one before it draws from it.
again = functools.lru_cache(10_000)


@dataclass(frozen=True)
class Reading:
    """What a formula may read: ``symbols``, under denial no ``undeniable`` ones, asserted no ``deniable`` ones."""

    symbols: tuple[Symbol, ...]
    undeniable: frozenset[Symbol] = frozenset()
    deniable: frozenset[Symbol] = frozenset()

    def relations(self, sign: bool) -> list[Symbol]:
        """Return the relations that may occur where ``sign`` says whether it is asserted."""
        banned = self.deniable if sign else self.undeniable
        return [symbol for symbol in self.symbols if symbol.is_relation and symbol not in banned]

    @property
    def functions(self) -> list[Symbol]:
        """The functions that may occur."""
        return [symbol for symbol in self.symbols if not symbol.is_relation]


@again
@st.composite
def individuals(draw: st.DrawFn, reading: Reading, sort: Sort, scope: Scope, depth: int = 1) -> Term | None:
    """Draw a term of ``sort``; none, if nothing in scope has that sort."""
    variables: list[Term] = [var for var in scope if var.sort == sort]
    members: list[Term] = [Member(sort, name) for name in sort.members or ()]
    simple = variables * 3 + members
    applied = [symbol for symbol in reading.functions if symbol.result == sort and (not symbol.domain or depth > 0)]
    if not simple and not applied:
        return None
    if applied and (not simple or draw(st.integers(0, 2)) == 2):
        return draw(applications(reading, draw(draw_in(applied)), scope, depth - 1))
    return draw(draw_in(simple)) if simple else None


@again
@st.composite
def applications(draw: st.DrawFn, reading: Reading, symbol: Symbol, scope: Scope, depth: int = 1) -> Apply | None:
    """Draw ``symbol`` applied to something; none, if something is missing."""
    args = [draw(individuals(reading, sort, scope, depth)) for sort in symbol.domain]
    present = [arg for arg in args if arg is not None]
    return Apply(symbol, tuple(present)) if len(present) == len(args) else None


@again
@st.composite
def atoms(draw: st.DrawFn, reading: Reading, scope: Scope, sign: bool = True) -> Term | None:
    """Draw a fact or an equality."""
    sorts = {var.sort for var in scope} | {symbol.result for symbol in reading.functions}
    comparable = sorted((sort for sort in sorts if sort != BOOL), key=lambda sort: sort.name)
    relations = reading.relations(sign)
    if comparable and (not relations or draw(st.integers(0, 3)) == 3):
        sort = draw(draw_in(comparable))
        left, right = draw(individuals(reading, sort, scope)), draw(individuals(reading, sort, scope))
        return Equal(left, right) if left is not None and right is not None and left != right else None
    return draw(applications(reading, draw(draw_in(relations)), scope)) if relations else None


@again
@st.composite
def literals(draw: st.DrawFn, reading: Reading, scope: Scope, sign: bool = True) -> Term | None:
    """Draw an atom or its denial."""
    denied = draw(draw_in((False, False, True)))
    atom = draw(atoms(reading, scope, sign != denied))
    return Not(atom) if denied and atom is not None else atom


@again
@st.composite
def formulas(
    draw: st.DrawFn, reading: Reading, sorts: Sequence[Sort], scope: Scope, depth: int = 2, sign: bool = True
) -> Term | None:
    """Draw a formula, with quantifiers over ``sorts`` whose variables may be called like others in scope."""
    kind = draw(draw_in(("literal", "literal", "and", "or", "implies", "forall", "exists"))) if depth else "literal"
    if kind == "literal":
        return draw(literals(reading, scope, sign))
    if kind in ("forall", "exists"):
        var = draw(_bound(sorts, scope))
        inner = tuple(other for other in scope if other != var)
        body = draw(formulas(reading, sorts, (*inner, var), depth - 1, sign))
        if body is None:
            return None
        return Forall((var,), body) if kind == "forall" else Exists((var,), body)
    first = draw(formulas(reading, sorts, scope, depth - 1, sign != (kind == "implies")))
    second = draw(formulas(reading, sorts, scope, depth - 1, sign))
    if first is None or second is None:
        return first if kind != "implies" else second
    if kind == "implies":
        return Implies(first, second)
    return And((first, second)) if kind == "and" else Or((first, second))


@again
@st.composite
def _bound(draw: st.DrawFn, sorts: Sequence[Sort], scope: Scope) -> Var:
    """Draw a variable that may hide one of its sort, and once in a while has the name of one of another sort."""
    sort = draw(draw_in(sorts))
    others = {var.name for var in scope if var.sort != sort}
    confusing = draw(st.integers(0, 24)) == 24
    return Var(draw(draw_in([name for name in VARIABLES if confusing or name not in others])), sort)


@again
@st.composite
def closed_formulas(draw: st.DrawFn, reading: Reading, sorts: Sequence[Sort], depth: int = 2) -> Term | None:
    """Draw a formula without free variables."""
    var = Var(draw(draw_in(VARIABLES)), draw(draw_in(sorts)))
    body = draw(formulas(reading, sorts, (var,), depth))
    if body is None:
        return None
    return Forall((var,), body) if draw(st.booleans()) else Exists((var,), body)


# -- random actions, rules and additions of a layer, over given words ------------------------------------


Written = frozenset[Symbol]  #: The relations that something inserts, so that it is worthwhile to ask for them.


def guard_reading(words: Words, daring: bool, written: Written) -> Reading:
    """What guards may read: nothing that may be unset, but for ``daring`` ones; and no rule's fact is denied.

    What nobody has ``written`` is not asked for, or the step would never be taken.
    """
    symbols = tuple(symbol for symbol in words.symbols if daring or symbol not in words.unset)
    missing = () if daring else (*words.facts, *words.derived, *words.used)
    return Reading(symbols, frozenset(() if daring else words.derived), frozenset(missing) - written)


def update_reading(words: Words, daring: bool, deduced: bool = False) -> Reading:
    """What updates may read: no history, and only updates of what is deduced may read what is."""
    banned = {*words.used, *(() if daring or deduced else words.derived), *(() if daring else words.unset)}
    symbols = tuple(symbol for symbol in words.symbols if symbol not in banned)
    return Reading(symbols, undeniable=frozenset(() if daring else words.derived))


@again
@st.composite
def parameters(draw: st.DrawFn, words: Words, least: int = 0, most: int = 3) -> Params:
    """Draw parameters with names of their own."""
    sorts = draw(st.lists(draw_in(words.ranges), min_size=least, max_size=most))
    names = draw(st.permutations(VARIABLES))
    return tuple(Var(name, sort) for name, sort in zip(names, sorts, strict=False))


@st.composite
def actions(
    draw: st.DrawFn,
    words: Words,
    name: str,
    defence: str | None,
    written: Written = frozenset(),
    clashing: bool = False,
) -> ActionRecipe:
    """Draw an action that changes each symbol in one way only, unless it may be ``clashing``."""
    params = draw(parameters(words, least=draw(draw_in((1, 2, 0)))))
    fresh = tuple(var for var in params if var.sort.fresh and draw(st.integers(0, 3)) > 0)
    daring = draw(st.integers(0, 11)) == 11
    guards = draw(_guards(words, params, daring, defence, written))
    updates = draw(_updates(words, params, fresh, daring, defence, clashing))
    guards += [GuardRecipe("given", update.place) for update in updates if update.place.symbol in words.used]
    if fresh and draw(st.integers(0, 5)) == 5:
        guards.append(_nothing_drawn(fresh[0].sort))
    by = THIEF if not all(_open(update) for update in updates) else draw(draw_in((HONEST, HONEST, THIEF)))
    by = THIEF if any(map(_hidden, guards)) else by
    return ActionRecipe(
        name,
        by,
        params,
        tuple(guard if _checkable(guard, by == HONEST) else _given(guard) for guard in guards),
        tuple(updates),
        fresh,
        actor=draw(_actors(words, params)) if by == HONEST and not _keeps_for_others(guards, updates) else None,
        cost=draw(draw_in((0, 0, 1))),
        shortcut_of=defence if defence is not None and draw(st.integers(0, 7)) == 7 else None,
    )


@st.composite
def rules(draw: st.DrawFn, words: Words, name: str) -> ActionRecipe:
    """Draw a rule: it inserts derived facts, on conditions that hold once and for all as far as rules go."""
    params = draw(parameters(words, least=1, most=2))
    undeniable = frozenset(words.derived if draw(st.integers(0, 7)) < 7 else ())
    reading = Reading(words.facts + words.derived + words.rigid, undeniable)
    found = [draw(literals(reading, params)) for _ in range(draw(draw_in((1, 2))))]
    guards = tuple(GuardRecipe("given", term) for term in found if term is not None)
    updates = []
    for symbol in draw(st.lists(draw_in(words.derived), min_size=1, max_size=2, unique=True)):
        place = draw(applications(reading, symbol, params))
        when = draw(literals(reading, params)) if draw(st.integers(0, 2)) == 2 else None
        if place is not None:
            updates.append(UpdateRecipe(Effect.INSERT, place, None, TRUE if when is None else when))
    return ActionRecipe(name, THIEF, params, guards, tuple(updates), rule=True)


@st.composite
def additions(draw: st.DrawFn, below: Words, words: Words, base: ActionRecipe) -> ActionRecipe:
    """Draw what a layer superposes on ``base``: it reads everything and changes what is its own, or nobody's yet."""
    extra = tuple(var for var in draw(parameters(words, most=1)) if var.name not in {v.name for v in base.params})
    params = (*base.params, *extra)
    guards = draw(_guards(words, params, False, None, frozenset(words.facts)))
    own = [symbol for symbol in words.facts + words.places if symbol not in below.symbols] or list(words.facts)
    update = draw(_update(words, params, draw(draw_in(own)), False))
    return ActionRecipe(
        base.name,
        base.by,
        params,
        tuple(
            guard if _checkable(guard, base.by == HONEST) else _given(guard)
            for guard in guards[:1]
            if base.by == THIEF or not _hidden(guard)
        ),
        () if update is None else (update,),
        added=True,
    )


@again
@st.composite
def _guards(
    draw: st.DrawFn, words: Words, params: Params, daring: bool, defence: str | None, written: Written
) -> list[GuardRecipe]:
    reading = guard_reading(words, daring, written)
    found = []
    for _ in range(draw(draw_in((1, 1, 2, 0)))):
        compound = draw(st.integers(0, 3)) == 3
        term = draw(formulas(reading, words.ranges, params) if compound else literals(reading, params))
        if term is not None:
            tagged, untagged = draw(_tags(defence))
            found.append(GuardRecipe("require", term, tagged, untagged))
    return found


@again
@st.composite
def _tags(draw: st.DrawFn, defence: str | None) -> tuple[str | None, str | None]:
    """Draw whether a part exists always, only with the defence, or only without."""
    if defence is None:
        return None, None
    return draw(draw_in(((None, None), (defence, None), (None, None), (None, defence))))


@st.composite
def _updates(
    draw: st.DrawFn,
    words: Words,
    params: Params,
    fresh: Params,
    daring: bool,
    defence: str | None,
    clashing: bool,
) -> list[UpdateRecipe]:
    freed = tuple(used_symbol(var.sort) for var in params if var.sort.fresh and var not in fresh)
    symbols = [*words.facts, *words.facts, *words.places, *words.derived[:1], *freed]
    chosen = draw(st.lists(draw_in(symbols), min_size=1, max_size=3, unique=not clashing))
    found = []
    for symbol in chosen:
        if symbol in freed:
            update: UpdateRecipe | None = draw(_giving_back(symbol, params, fresh))
        else:
            update = draw(_update(words, params, symbol, daring))
        if update is not None:
            tagged, untagged = draw(_tags(defence))
            found.append(
                UpdateRecipe(update.effect, update.place, update.value, update.when, update.each, tagged, untagged)
            )
    return found


@st.composite
def _giving_back(draw: st.DrawFn, used: Symbol, params: Params, fresh: Params) -> UpdateRecipe:
    """Draw which of the parameters that are not drawn fresh goes back among what may be drawn."""
    var = draw(draw_in([var for var in params if (var.sort,) == used.domain and var not in fresh]))
    return UpdateRecipe(Effect.REMOVE, Apply(used, (var,)))


@again
@st.composite
def _update(draw: st.DrawFn, words: Words, params: Params, symbol: Symbol, daring: bool) -> UpdateRecipe | None:
    reading = update_reading(words, daring, deduced=symbol in words.derived)
    args: list[Term] = []
    each: list[Var] = []
    for sort in symbol.domain:
        if sort in words.classes and not sort.is_enumeration and draw(st.integers(0, 6)) == 6:
            each.append(Var(f"each {len(each)}", sort))
            args.append(each[-1])
            continue
        arg = draw(individuals(reading, sort, params))
        if arg is None:
            return None
        args.append(arg)
    scope = (*params, *each)
    when = draw(_conditions(reading, words, scope)) if draw(st.integers(0, 4)) > 2 else None
    condition = TRUE if when is None else when
    place = Apply(symbol, tuple(args))
    if symbol.is_relation:
        taken = symbol not in words.derived and draw(st.integers(0, 3)) == 3
        effect = Effect.REMOVE if taken else Effect.INSERT
        return UpdateRecipe(effect, place, None, condition, tuple(each))
    value = draw(individuals(reading, symbol.result, scope))
    return None if value is None else UpdateRecipe(Effect.ASSIGN, place, value, condition, tuple(each))


@again
@st.composite
def _conditions(draw: st.DrawFn, reading: Reading, words: Words, scope: Params) -> Term | None:
    """Draw a condition of an update: a fact of the state, mostly, so that one step prepares another."""
    state = Reading(tuple(symbol for symbol in reading.symbols if symbol.mutable), reading.undeniable)
    if draw(st.integers(0, 2)) > 0:
        return draw(literals(state, scope))
    return draw(formulas(reading, words.ranges, scope, 1))


@st.composite
def _actors(draw: st.DrawFn, words: Words, params: Params) -> tuple[Var, Term] | None:
    """Draw who acts: a parameter, under the condition that some truth about it does not hold."""
    truths = [symbol for symbol in words.rigid if symbol.is_relation and len(symbol.domain) == 1]
    pairs = [(var, truth) for var in params for truth in truths if truth.domain == (var.sort,)]
    if not pairs or draw(st.booleans()):
        return None
    var, truth = draw(draw_in(pairs))
    return var, Not(Apply(truth, (var,)))


def _nothing_drawn(sort: Sort) -> GuardRecipe:
    """The condition that everything that was drawn is given back."""
    var = Var("x", sort)
    return GuardRecipe("given", Not(Exists((var,), Apply(used_symbol(sort), (var,)))))


def _seen(terms: Iterable[Term]) -> set[Symbol]:
    return {symbol for term in terms for symbol in symbols_of(term)}


def _readable(symbol: Symbol) -> bool:
    """Whether the honest party can look at it."""
    return symbol.kind in (Kind.PUBLIC, Kind.MESSAGE) or (symbol.kind is Kind.STATE and symbol.role == HONEST)


def _open(update: UpdateRecipe) -> bool:
    """Whether an honest party can make the update: it reads what it may, and writes no knowledge of others."""
    read = [*update.place.args, update.when, *([] if update.value is None else [update.value])]
    return all(map(_readable, _seen(read))) and update.place.symbol.kind is not Kind.KNOWLEDGE


def _checkable(guard: GuardRecipe, honest: bool) -> bool:
    return honest and all(map(_readable, _seen([guard.formula])))


def _hidden(guard: GuardRecipe) -> bool:
    """Whether it reads what no honest step may wait for: history, or what is true of somebody from the start."""
    read = _seen([guard.formula])
    return any(symbol.kind is Kind.GHOST or (symbol.kind is Kind.TRUTH and not symbol.mutable) for symbol in read)


def _given(guard: GuardRecipe) -> GuardRecipe:
    """The same condition as a fact of the world, which nobody has to be able to see."""
    return GuardRecipe("given", guard.formula, guard.defence, guard.unless)


def _keeps_for_others(guards: Sequence[GuardRecipe], updates: Sequence[UpdateRecipe]) -> bool:
    """Whether anything is read or kept by agents: then an actor would look at what another one keeps."""
    read = [guard.formula for guard in guards] + [update.place for update in updates]
    read += [update.when for update in updates] + [update.value for update in updates if update.value is not None]
    return any(symbol.mutable and symbol.domain for symbol in _seen(read))
