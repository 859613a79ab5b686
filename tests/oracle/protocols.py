"""Random small protocols: everything the language has, in combinations nobody would write."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from carnet_spec.language import Effect, Kind, Symbol, Term, terms
from carnet_spec.language.expressions import used_symbol
from tests.oracle.aims import aimed
from tests.oracle.formulas import Reading, closed_formulas, individuals, literals
from tests.oracle.recipe import ActionRecipe, ClaimRecipe, Closed, GuardRecipe, Params, Parts, Recipe, UpdateRecipe
from tests.oracle.statements import deniable, goals, statements
from tests.oracle.steps import actions, additions, rules
from tests.oracle.vocabulary import HONEST, Words, draw_in, words

THREATS = ("t", "t1", "t_1")
ACTIONS, CLAIMS = ("act0", "act1", "act2", "act3"), tuple(f"claim{n}" for n in range(6))


@st.composite
def recipes(draw: st.DrawFn, clashing: bool = False) -> Recipe:
    """Draw a protocol; one that is ``clashing`` may have updates that disagree."""
    spoken = draw(words())
    defence = "d" if draw(st.integers(0, 4)) == 4 else None
    acting: list[ActionRecipe] = []
    for name in ACTIONS[: draw(draw_in((3, 2, 4, 1)))]:
        acting.append(draw(actions(spoken, name, defence, _written(spoken, acting), clashing)))
    if spoken.derived:
        acting += [draw(rules(spoken, f"rule{n}")) for n in range(draw(draw_in((1, 2))))]
    acting = [action for action in acting if action.updates]
    threats = draw(_threats(spoken))
    stated = draw(_statements(spoken, acting, CLAIMS[: draw(draw_in((4, 5, 3, 6)))]))
    if not stated:
        stated = [("claim", (), terms.Truth(True))]
    parts = Parts(
        tuple(acting),
        initial=tuple(draw(_initial(spoken))),
        axioms=tuple(draw(_axioms(spoken))),
        claims=tuple([draw(_claims(closed, tuple(id for id, _ in threats))) for closed in stated]),
        lemmas=tuple(draw(_lemmas(spoken, acting, tuple(id for id, _ in threats)))),
        goals=tuple(draw(_goals(spoken))),
    )
    recipe = Recipe(_complete(spoken, parts), parts, tuple(threats), defence if _tagged(acting) else None)
    if draw(st.integers(0, 9)) == 9:
        return draw(_layered(recipe))
    return draw(aimed(recipe)) if draw(st.integers(0, 4)) == 4 else recipe


def _written(spoken: Words, acting: list[ActionRecipe]) -> frozenset[Symbol]:
    """Return the relations that ``acting`` inserts, with those that rules may add."""
    inserted = {u.place.symbol for action in acting for u in action.updates if u.effect is Effect.INSERT}
    inserted |= {used_symbol(var.sort) for action in acting for var in action.fresh}
    return frozenset(inserted | set(spoken.derived if acting else ()))


def _complete(spoken: Words, parts: Parts) -> Words:
    """Say of the ``words`` which places turned out to have no initial value."""
    given = {symbol for symbol, _, _ in parts.initial}
    return replace(spoken, unset=frozenset(place for place in spoken.places if place not in given))


def _tagged(acting: list[ActionRecipe]) -> bool:
    """Whether anything depends on the defence."""
    parts: list[GuardRecipe | UpdateRecipe] = [part for action in acting for part in action.guards]
    parts += [part for action in acting for part in action.updates]
    return any(part.defence or part.unless for part in parts) or any(action.shortcut_of for action in acting)


@st.composite
def _statements(draw: st.DrawFn, spoken: Words, acting: list[ActionRecipe], names: tuple[str, ...]) -> list[Closed]:
    found = [draw(statements(spoken, acting, name)) for name in names]
    daring = draw(st.integers(0, 15)) == 15
    return [closed for closed in found if closed is not None and (daring or deniable(spoken, closed))]


@st.composite
def _claims(draw: st.DrawFn, closed: Closed, threats: tuple[str, ...]) -> ClaimRecipe:
    if not threats:
        return ClaimRecipe(closed)
    under = draw(st.lists(draw_in(threats), min_size=1, unique=True))
    return ClaimRecipe(closed, tuple(id for id in threats if id in under))


@st.composite
def _lemmas(
    draw: st.DrawFn, spoken: Words, acting: list[ActionRecipe], threats: tuple[str, ...]
) -> list[tuple[Closed, tuple[str, ...]]]:
    found: list[tuple[Closed, tuple[str, ...]]] = []
    for number in range(draw(draw_in((0, 1, 2, 2)))):
        closed = draw(statements(spoken, acting, f"lemma{number}"))
        if closed is not None:
            under = (draw(draw_in(threats)),) if threats and draw(st.integers(0, 2)) == 2 else ()
            found.append((closed, under))
    return found


@st.composite
def _goals(draw: st.DrawFn, spoken: Words) -> list[Closed]:
    found = [draw(goals(spoken, f"goal{n}")) for n in range(draw(draw_in((0, 1, 1, 2))))]
    return [closed for closed in found if closed is not None]


@st.composite
def _initial(draw: st.DrawFn, spoken: Words) -> list[tuple[Symbol, Params, Term]]:
    """Draw first values: of places that are not to stay open, and of some relations."""
    rigid = Reading(spoken.rigid)
    found: list[tuple[Symbol, Params, Term]] = []
    for symbol in spoken.places:
        params = tuple(terms.Var(f"x{n}", sort) for n, sort in enumerate(symbol.domain))
        value = None if symbol in spoken.unset else draw(individuals(rigid, symbol.result, params))
        if value is not None:
            found.append((symbol, params, value))
    for symbol in spoken.facts:
        if draw(st.integers(0, 5)) == 5:
            found.append(draw(_first_of_a_relation(spoken, symbol)))
    return found


@st.composite
def _first_of_a_relation(draw: st.DrawFn, spoken: Words, symbol: Symbol) -> tuple[Symbol, Params, Term]:
    params = tuple(terms.Var(f"x{n}", sort) for n, sort in enumerate(symbol.domain))
    value = draw(literals(Reading(spoken.rigid), params))
    return symbol, params, terms.Truth(True) if value is None else value


@st.composite
def _axioms(draw: st.DrawFn, spoken: Words) -> list[Term]:
    found = [draw(_axiom(spoken)) for _ in range(draw(draw_in((0, 1, 0, 2))))] if spoken.rigid else []
    return [axiom for axiom in found if axiom is not None]


@st.composite
def _axiom(draw: st.DrawFn, spoken: Words) -> Term | None:
    """Draw something about a rigid symbol that is usually consistent."""
    symbol = draw(draw_in(spoken.rigid))
    x, y = (terms.Var(name, symbol.domain[0] if symbol.domain else symbol.result) for name in ("x", "y"))
    if symbol.is_relation and len(symbol.domain) == 1:
        some, all_ = terms.Exists((x,), terms.Apply(symbol, (x,))), terms.Forall((x,), terms.Apply(symbol, (x,)))
        about: tuple[Term, ...] = (some, terms.Not(all_), terms.Not(some), all_)
        return draw(draw_in(about))
    if len(symbol.domain) == 2:
        forth, back = terms.Apply(symbol, (x, y)), terms.Apply(symbol, (y, x))
        total = terms.Forall((x, y), terms.Or((forth, terms.Equal(x, y), back)))
        return draw(
            draw_in(
                (
                    terms.Forall((x,), terms.Not(terms.Apply(symbol, (x, x)))),
                    total,
                    terms.Forall((x, y), terms.Implies(forth, back)),
                )
            )
        )
    if not symbol.is_relation and not symbol.domain:
        others = [s for s in spoken.rigid if s != symbol and not s.domain and s.result == symbol.result]
        if others:
            return terms.Not(terms.Equal(terms.Apply(symbol, ()), terms.Apply(draw(draw_in(others)), ())))
    if symbol.domain == (symbol.result,):
        once = terms.Apply(symbol, (x,))
        twice = terms.Forall((x,), terms.Equal(terms.Apply(symbol, (once,)), x))
        return draw(draw_in((twice, terms.Forall((x,), terms.Not(terms.Equal(once, x))))))
    return draw(closed_formulas(Reading(spoken.rigid), spoken.ranges, 1))


@st.composite
def _threats(draw: st.DrawFn, spoken: Words) -> list[tuple[str, tuple[Term, ...]]]:
    found: list[tuple[str, tuple[Term, ...]]] = []
    for id in draw(draw_in(((), ("t",), ("t", "t1"), ("t",), THREATS))):
        axiom = draw(_axiom(spoken)) if spoken.rigid and draw(st.integers(0, 2)) < 2 else None
        found.append((id, () if axiom is None else (axiom,)))
    return found


@st.composite
def _layered(draw: st.DrawFn, recipe: Recipe) -> Recipe:
    """Draw a layer over the recipe: symbols of its own, additions to actions, actions and claims of its own."""
    below = recipe.words
    mark = Symbol("mark", draw(draw_in(((), (below.sorts[0],)))), terms.BOOL, Kind.STATE, mutable=True, role=HONEST)
    spoken = replace(below, facts=(mark, *below.facts))
    changed = {update.place.symbol for action in recipe.parts.actions for update in action.updates}
    free = tuple(symbol for symbol in spoken.facts if symbol not in changed)
    added = [draw(additions(below, spoken, action)) for action in recipe.parts.actions[:2] if not action.rule]
    own = draw(actions(replace(spoken, facts=free, derived=(), places=()), "layered", None, frozenset(changed)))
    acting = [action for action in (*added, own) if action.updates]
    claims = draw(_statements(spoken, [*recipe.parts.actions, *acting], ("layer claim", "layer claim 2")))
    threats = tuple(id for id, _ in recipe.threats)
    started = {symbol for symbol, _, _ in recipe.parts.initial}
    first = [draw(_first_of_a_relation(below, symbol)) for symbol in below.facts if symbol not in started]
    parts = Parts(
        tuple(acting),
        initial=tuple(first[:1]) if draw(st.integers(0, 3)) == 3 else (),
        claims=tuple([draw(_claims(closed, threats)) for closed in claims]),
    )
    return replace(recipe, words=replace(spoken, unset=below.unset), layer=parts)
