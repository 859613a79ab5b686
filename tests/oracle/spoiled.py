"""Random protocols with one thing in them that has to be refused."""

from __future__ import annotations

from dataclasses import replace

from carnet_spec.language import Effect, Kind, Sort, Symbol
from carnet_spec.language.terms import BOOL, TRUE, Apply, Equal, Exists, Not, Term, Var
from tests.oracle.recipe import ActionRecipe, ClaimRecipe, GuardRecipe, Params, Parts, Recipe, UpdateRecipe
from tests.oracle.vocabulary import HONEST, THIEF, sort_class

PARTY = Sort("Party")
X, Y, STRANGER = Var("x", PARTY), Var("y", PARTY), Var("stranger", PARTY)
SPOILT = Symbol("spoilt", (PARTY,), BOOL, Kind.STATE, mutable=True, role=HONEST)
TOLD = Symbol("told", (PARTY,), BOOL, Kind.KNOWLEDGE, mutable=True)
HIDDEN = Symbol("hidden", (PARTY,), BOOL, Kind.TRUTH, mutable=False)
PLACE = Symbol("place", (), PARTY, Kind.STATE, mutable=True, role=HONEST)


def _insert(symbol: Symbol, arg: Term, when: Term = TRUE) -> UpdateRecipe:
    return UpdateRecipe(Effect.INSERT, Apply(symbol, (arg,)), None, when)


def _act(name: str, params: Params, guards: tuple[GuardRecipe, ...], *updates: UpdateRecipe) -> ActionRecipe:
    return ActionRecipe(name, HONEST, params, guards, updates)


def _more(recipe: Recipe, more: Parts) -> Recipe:
    parts = recipe.parts
    under = tuple(id for id, _ in recipe.threats)
    claims = tuple(claim if claim.under else replace(claim, under=under) for claim in more.claims)
    return replace(
        recipe,
        parts=replace(
            parts,
            actions=parts.actions + more.actions,
            initial=parts.initial + more.initial,
            axioms=parts.axioms + more.axioms,
            claims=parts.claims + claims,
        ),
    )


def updates_that_disagree(recipe: Recipe) -> Recipe:
    """One step inserts and removes what may be one fact."""
    remove = UpdateRecipe(Effect.REMOVE, Apply(SPOILT, (Y,)))
    return _more(recipe, Parts((_act("clash", (X, Y), (), _insert(SPOILT, X), remove),)))


def assignments_that_disagree(recipe: Recipe) -> Recipe:
    """One step gives a variable two values."""
    both = (UpdateRecipe(Effect.ASSIGN, Apply(PLACE, ()), value) for value in (X, Y))
    return _more(recipe, Parts((_act("clash", (X, Y), (), *both),)))


def honest_guard_on_truth(recipe: Recipe) -> Recipe:
    """An honest party checks what nobody can see."""
    guard = GuardRecipe("require", Not(Apply(HIDDEN, (X,))))
    return _more(recipe, Parts((_act("see", (X,), (guard,), _insert(SPOILT, X)),)))


def claim_under_nothing(recipe: Recipe) -> Recipe:
    """A claim is made under no threat model, though there are some."""
    threatened = replace(recipe, threats=recipe.threats or (("t", ()),))
    parts = threatened.parts
    claim = ClaimRecipe(("under nothing", (X,), Equal(X, X)))
    return replace(threatened, parts=replace(parts, claims=(*parts.claims, claim)))


def unknown_threat(recipe: Recipe) -> Recipe:
    """A claim is made under a threat model that nobody declared."""
    threatened = replace(recipe, threats=recipe.threats or (("t", ()),))
    return _more(threatened, Parts((), claims=(ClaimRecipe(("unknown", (X,), Equal(X, X)), ("nobody",)),)))


def axiom_about_state(recipe: Recipe) -> Recipe:
    """What changes is assumed."""
    written = _act("write", (X,), (), _insert(SPOILT, X))
    return _more(recipe, Parts((written,), axioms=(Exists((X,), Apply(SPOILT, (X,))),)))


def first_value_from_state(recipe: Recipe) -> Recipe:
    """A first value reads what changes."""
    return _more(recipe, Parts((_act("write", (X,), (), _insert(SPOILT, X)),), initial=((SPOILT, (X,), _told(X)),)))


def _told(var: Var) -> Term:
    return Apply(TOLD, (var,))


def rule_on_what_is_not_deduced(recipe: Recipe) -> Recipe:
    """A rule follows from what is not deduced yet."""
    rule = ActionRecipe("deduce", THIEF, (X, Y), (GuardRecipe("given", Not(_told(Y))),), (_insert(TOLD, X),), rule=True)
    return _more(recipe, Parts((rule,)))


def claim_that_asks_for_a_deduction(recipe: Recipe) -> Recipe:
    """A claim asks that something has been deduced."""
    rule = ActionRecipe("deduce", THIEF, (X,), (GuardRecipe("given", Equal(X, X)),), (_insert(TOLD, X),), rule=True)
    return _more(recipe, Parts((rule,), claims=(ClaimRecipe(("asked", (X,), _told(X))),)))


def stranger_in_a_guard(recipe: Recipe) -> Recipe:
    """A guard has a variable that nothing binds."""
    guard = GuardRecipe("require", Equal(X, STRANGER))
    return _more(recipe, Parts((_act("meet", (X,), (guard,), _insert(SPOILT, X)),)))


def stranger_in_a_claim(recipe: Recipe) -> Recipe:
    """A claim has a variable that nothing binds."""
    return _more(recipe, Parts((), claims=(ClaimRecipe(("met", (X,), Equal(X, STRANGER))),)))


def two_claims_of_a_name(recipe: Recipe) -> Recipe:
    """Two claims share a name."""
    claim = ClaimRecipe(("twice", (X,), Equal(X, X)))
    return _more(recipe, Parts((), claims=(claim, claim)))


def rigid_symbol_of_fresh_elements(recipe: Recipe) -> Recipe:
    """Elements that nobody has drawn yet are told apart."""
    coin = Sort("Coin", None, fresh=True)
    rusty = Symbol("rusty", (coin,), BOOL, Kind.PUBLIC, mutable=False)
    words = replace(recipe.words, classes={**recipe.words.classes, coin: sort_class(coin)})
    x = Var("x", coin)
    guard = GuardRecipe("given", Apply(rusty, (x,)))
    tossed = Symbol("tossed", (), BOOL, Kind.STATE, mutable=True, role=HONEST)
    action = ActionRecipe("toss", THIEF, (x,), (guard,), (UpdateRecipe(Effect.INSERT, Apply(tossed, ())),), fresh=(x,))
    return _more(replace(recipe, words=words), Parts((action,)))


def read_before_written(recipe: Recipe) -> Recipe:
    """A guard reads what nothing has written."""
    guard = GuardRecipe("require", Equal(Apply(PLACE, ()), X))
    return _more(recipe, Parts((_act("peek", (X,), (guard,), _insert(SPOILT, X)),)))


SPOILING = (
    axiom_about_state,
    claim_that_asks_for_a_deduction,
    first_value_from_state,
    read_before_written,
    rigid_symbol_of_fresh_elements,
    rule_on_what_is_not_deduced,
    stranger_in_a_claim,
    stranger_in_a_guard,
    two_claims_of_a_name,
    unknown_threat,
    assignments_that_disagree,
    claim_under_nothing,
    honest_guard_on_truth,
    updates_that_disagree,
)
