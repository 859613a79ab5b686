"""Random claims, lemmas and goals: some follow from what the steps do, some nearly, some from nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hypothesis import strategies as st

from carnet_spec.language import Effect, Symbol, Term, terms
from carnet_spec.language.expressions import used_symbol
from tests.oracle.formulas import Reading, formulas, literals
from tests.oracle.recipe import ActionRecipe, Closed, Params, UpdateRecipe
from tests.oracle.steps import parameters
from tests.oracle.vocabulary import Words, draw_in


def claim_reading(words: Words) -> Reading:
    """What claims may read: a rule's fact is denied only."""
    return Reading(words.symbols, deniable=frozenset(words.derived))


def goal_reading(words: Words) -> Reading:
    """What goals may read: a rule's fact is asserted only."""
    return Reading(words.symbols, undeniable=frozenset(words.derived))


@st.composite
def statements(draw: st.DrawFn, words: Words, actions: Sequence[ActionRecipe], name: str) -> Closed | None:
    """Draw something that may be claimed, or be a lemma."""
    way = draw(draw_in(("from writers", "from writers", "one of", "never", "implied", "implied", "absent", "random")))
    if way == "from writers":
        return draw(_from_writers(words, actions, name))
    if way == "one of":
        return draw(_at_most_one(words, name))
    if way in ("implied", "absent"):
        return draw(_about_one(words, name, alone=way == "absent"))
    params = draw(parameters(words, least=draw(draw_in((1, 2, 0)))))
    if way == "random":
        body = draw(formulas(claim_reading(words), words.ranges, params))
        return None if body is None else (name, params, body)
    parts = [draw(literals(goal_reading(words), params)) for _ in range(draw(draw_in((2, 1, 3))))]
    present = tuple(part for part in parts if part is not None)
    return (name, params, terms.Not(terms.conjunction(present))) if present else None


@st.composite
def goals(draw: st.DrawFn, words: Words, name: str) -> Closed | None:
    """Draw something to be reached."""
    params = draw(parameters(words, least=1, most=2))
    parts = [draw(literals(goal_reading(words), params)) for _ in range(draw(draw_in((1, 2))))]
    present = tuple(part for part in parts if part is not None)
    return (name, params, terms.conjunction(present)) if present else None


@st.composite
def _at_most_one(draw: st.DrawFn, words: Words, name: str) -> Closed | None:
    """Claim that rows of a relation that agree in all places but one agree there, too."""
    wide = [symbol for symbol in words.facts + words.derived if symbol.domain]
    if not wide:
        return None
    symbol = draw(draw_in(wide))
    place = draw(st.integers(0, len(symbol.domain) - 1))
    first = tuple(terms.Var(f"x{n}", sort) for n, sort in enumerate(symbol.domain))
    second = tuple(var if n != place else terms.Var("other", var.sort) for n, var in enumerate(first))
    both = terms.conjunction((terms.Apply(symbol, first), terms.Apply(symbol, second)))
    return name, (*first, second[place]), terms.Implies(both, terms.Equal(first[place], second[place]))


@st.composite
def _about_one(draw: st.DrawFn, words: Words, name: str, alone: bool) -> Closed:
    """Claim that a relation is empty, or that something else is true of all its rows."""
    symbol = draw(draw_in(words.facts + words.derived))
    row = tuple(terms.Var(f"x{n}", sort) for n, sort in enumerate(symbol.domain))
    other = None if alone else draw(literals(claim_reading(words), row))
    return (
        name,
        row,
        terms.Not(terms.Apply(symbol, row)) if other is None else terms.Implies(terms.Apply(symbol, row), other),
    )


@st.composite
def _from_writers(draw: st.DrawFn, words: Words, actions: Sequence[ActionRecipe], name: str) -> Closed | None:
    """Claim of a relation what those who insert it make sure of: all of it, some, or a little too much."""
    written = {update.place.symbol for action in actions for update in action.updates if update.effect is Effect.INSERT}
    candidates = [symbol for symbol in words.facts + words.derived if symbol in written]
    if not candidates:
        return None
    symbol = draw(draw_in(candidates))
    row = tuple(terms.Var(f"x{n}", sort) for n, sort in enumerate(symbol.domain))
    ways = []
    for action in actions:
        for update in action.updates:
            if update.place.symbol == symbol and update.effect is Effect.INSERT:
                ensured = [term for term in _ensured(words, action, update) if draw(st.integers(0, 4)) > 0]
                ways.append(_seen_from(row, update, ensured))
    if draw(st.integers(0, 5)) == 5 and len(ways) > 1:
        ways = ways[:-1]
    body = terms.disjunction(tuple(ways))
    if body == terms.TRUE:
        return None
    return name, row, terms.Implies(terms.Apply(symbol, row), body)


def _seen_from(row: Params, update: UpdateRecipe, ensured: Sequence[Term]) -> Term:
    """Say of a ``row`` that ``update`` inserted it, when all of ``ensured`` was so: somebody was its arguments."""
    args = update.place.args
    if update.each or any(symbol.mutable for arg in args for symbol in terms.symbols_of(arg)):
        return terms.TRUE
    values = {arg: var for var, arg in reversed(list(zip(row, args, strict=True))) if isinstance(arg, terms.Var)}
    said = terms.conjunction(tuple(ensured))
    pairs = list(zip(row, args, strict=True))
    equal = [terms.Equal(var, arg) for var, arg in pairs if not isinstance(arg, terms.Var) or values[arg] != var]
    body = terms.substitute(terms.conjunction((said, *equal)), values)
    rest = tuple(sorted(terms.free_variables(body) - set(row), key=lambda var: (var.name, var.sort.name)))
    return terms.Exists(rest, body) if rest else body


def _ensured(words: Words, action: ActionRecipe, update: UpdateRecipe) -> Iterator[Term]:
    """Yield what holds after ``update``: its conditions, and what is inserted with it; later steps may end it."""
    for guard in action.guards:
        yield guard.formula
    if update.when != terms.TRUE:
        yield update.when
    for var in action.fresh:
        yield terms.Apply(used_symbol(var.sort), (var,))
    for other in action.updates:
        if other != update and other.effect is Effect.INSERT and other.when == terms.TRUE and not other.each:
            yield other.place


def deniable(words: Words, closed: Closed) -> bool:
    """Whether a claim says nothing that depends on a rule's being late."""
    return not _asserts(closed[2], frozenset(words.derived))


def _asserts(term: Term, symbols: frozenset[Symbol]) -> bool:
    from carnet_spec.language.analysis.polarity import signed_symbols

    return any(symbol in symbols and sign for symbol, sign in signed_symbols(term))
