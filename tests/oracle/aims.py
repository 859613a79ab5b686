"""Additions to random protocols that aim at names which tools make up, and at elements that come back.

Each is a few steps and claims that chance would seldom bring together. What is around them stays random.
"""

from __future__ import annotations

import itertools
from dataclasses import replace

from hypothesis import strategies as st

from carnet_spec.language import Effect, Kind, Sort, Symbol, Term
from carnet_spec.language.expressions import used_symbol
from carnet_spec.language.terms import BOOL, TRUE, And, Apply, Equal, Exists, Implies, Not, Var
from tests.oracle.recipe import ActionRecipe, ClaimRecipe, GuardRecipe, Params, Recipe, UpdateRecipe
from tests.oracle.vocabulary import HONEST, THIEF, draw_in, sort_class

X, OTHER = "x", "other"
Claimed = dict[str, tuple[Params, Term]]
"""Claims by name: parameters, and what is claimed of them."""


@st.composite
def aimed(draw: st.DrawFn, recipe: Recipe) -> Recipe:
    """Draw ``recipe`` with one of the additions."""
    return draw(draw_in((_switch, _strokes, _premises, _given_back, _chain)))(recipe, draw(st.booleans()))


def _flag(name: str, mutable: bool = True) -> Apply:
    kind = Kind.STATE if mutable else Kind.TRUTH
    return Apply(Symbol(name, (), BOOL, kind, mutable, HONEST if mutable else None), ())


def _act(name: str, *updates: UpdateRecipe, params: Params = (), guards: tuple[Term, ...] = ()) -> ActionRecipe:
    return ActionRecipe(name, THIEF, params, tuple(GuardRecipe("given", guard) for guard in guards), updates)


def _insert(place: Apply, defence: str | None = None) -> UpdateRecipe:
    return UpdateRecipe(Effect.INSERT, place, defence=defence)


def _with(recipe: Recipe, actions: list[ActionRecipe], claims: Claimed) -> Recipe:
    under = tuple(id for id, _ in recipe.threats)
    stated = tuple(ClaimRecipe((name, params, body), under) for name, (params, body) in claims.items())
    parts = recipe.parts
    return replace(recipe, parts=replace(parts, actions=(*parts.actions, *actions), claims=(*parts.claims, *stated)))


def _switch(recipe: Recipe, early: bool) -> Recipe:
    """A flag that never changes has the name of a switch: of an update that belongs to a defence."""
    done, switch = _flag("done"), _flag("$on.update 0", mutable=False)
    defence = recipe.defence or "d"
    action = _act("switched", _insert(done, defence), guards=(switch,) if early else ())
    return _with(replace(recipe, defence=defence), [action], {"switch": ((), Implies(done, switch))})


def _strokes(recipe: Recipe, early: bool) -> Recipe:
    """Names of actions and claims make one another when they are joined by a stroke."""
    one, two = _flag("one"), _flag("two")
    names = ("a/b", "a") if early else ("a", "a/b")
    actions = [_act(names[0], _insert(one)), _act(names[1], _insert(two))]
    both = Not(And((one, two)))
    return _with(recipe, actions, {"c": ((), Not(one)), "b/c": ((), both)})


def _premises(recipe: Recipe, early: bool) -> Recipe:
    """A claim has the name of another one's premise."""
    never, done = _flag("never"), _flag("done")
    both: Term = And((Implies(never, done), Implies(done, Not(never))))
    said = [("c", both), ("c/1", Implies(done, done))]
    claims: Claimed = {name: ((), body) for name, body in (said if early else reversed(said))}
    return _with(recipe, [_act("do", _insert(done))], claims)


def _chain(recipe: Recipe, early: bool) -> Recipe:
    """One step after another makes the next one's update happen."""
    links = [_flag(f"link{number}") for number in range(4)]
    updates = [replace(_insert(now), when=before) for before, now in itertools.pairwise(links)]
    actions = [_act("begin", _insert(links[0])), *(_act(f"go{n}", update) for n, update in enumerate(updates))]
    return _with(recipe, actions if early else actions[::-1], {"end": ((), Not(links[-1]))})


def _given_back(recipe: Recipe, early: bool) -> Recipe:
    """What is drawn is given back, and something else, or the same, is drawn then."""
    sort = next((sort for sort in recipe.words.sorts if sort.fresh), Sort("Coin", None, fresh=True))
    x, other = Var(X, sort), Var(OTHER, sort)
    used, seen = used_symbol(sort), Symbol("seen", (sort,), BOOL, Kind.KNOWLEDGE, mutable=True)
    none_out = Not(Exists((x,), Apply(used, (x,))))
    drawing = replace(_act("draw", _insert(Apply(seen, (x,))), params=(x,), guards=(none_out,)), fresh=(x,))
    back = UpdateRecipe(Effect.REMOVE, Apply(used, (x,)), None, TRUE)
    actions = [drawing, _act("give_back", back, params=(x,), guards=(Apply(used, (x,)),))]
    both = And((Apply(seen, (x,)), Apply(seen, (other,))))
    claims: Claimed = {"one coin": ((x, other), Implies(both, Equal(x, other)))}
    if early:
        claims["out"] = ((x,), Implies(Apply(seen, (x,)), Apply(used, (x,))))
    words = recipe.words
    if sort not in words.sorts:
        words = replace(words, sorts=(*words.sorts, sort), classes={**words.classes, sort: sort_class(sort)})
    return _with(replace(recipe, words=words), actions, claims)
