"""Random small protocols: everything the language has, in combinations nobody would write."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hypothesis import strategies as st

from carnet_spec.language import Effect, Eventually, Given, Kind, Sort, Symbol, Term, terms
from carnet_spec.language.expressions import used_symbol
from carnet_spec.language.terms import BOOL, FALSE, TRUE, And, Apply, Equal, Exists, Implies, Not, Or, Var
from tests.oracle.recipe import ActionRecipe, ClaimRecipe, Closed, GuardRecipe, Params, Parts, Recipe, UpdateRecipe
from tests.oracle.steps import (
    Reading,
    actions,
    additions,
    closed_formulas,
    formulas,
    individuals,
    literals,
    parameters,
    rules,
)
from tests.oracle.vocabulary import HONEST, THIEF, Words, draw_in, sort_class, words

X, OTHER = "x", "other"
Claimed = dict[str, tuple[Params, Term]]  #: Claims by name: parameters, and what is claimed of them.


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


# -- random claims ---------------------------------------------------------------------------------------


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
    return (name, params, Not(terms.conjunction(present))) if present else None


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
    first = tuple(Var(f"x{n}", sort) for n, sort in enumerate(symbol.domain))
    second = tuple(var if n != place else Var("other", var.sort) for n, var in enumerate(first))
    both = terms.conjunction((Apply(symbol, first), Apply(symbol, second)))
    return name, (*first, second[place]), Implies(both, Equal(first[place], second[place]))


@st.composite
def _about_one(draw: st.DrawFn, words: Words, name: str, alone: bool) -> Closed:
    """Claim that a relation is empty, or that something else is true of all its rows."""
    symbol = draw(draw_in(words.facts + words.derived))
    row = tuple(Var(f"x{n}", sort) for n, sort in enumerate(symbol.domain))
    other = None if alone else draw(literals(claim_reading(words), row))
    return (
        name,
        row,
        Not(Apply(symbol, row)) if other is None else Implies(Apply(symbol, row), other),
    )


@st.composite
def _from_writers(draw: st.DrawFn, words: Words, actions: Sequence[ActionRecipe], name: str) -> Closed | None:
    """Claim of a relation what those who insert it make sure of: all of it, some, or a little too much."""
    written = {update.place.symbol for action in actions for update in action.updates if update.effect is Effect.INSERT}
    candidates = [symbol for symbol in words.facts + words.derived if symbol in written]
    if not candidates:
        return None
    symbol = draw(draw_in(candidates))
    row = tuple(Var(f"x{n}", sort) for n, sort in enumerate(symbol.domain))
    ways = []
    for action in actions:
        for update in action.updates:
            if update.place.symbol == symbol and update.effect is Effect.INSERT:
                ensured = [term for term in _ensured(words, action, update) if draw(st.integers(0, 4)) > 0]
                ways.append(_seen_from(row, update, ensured))
    if draw(st.integers(0, 5)) == 5 and len(ways) > 1:
        ways = ways[:-1]
    body = terms.disjunction(tuple(ways))
    if body == TRUE:
        return None
    return name, row, Implies(Apply(symbol, row), body)


def _seen_from(row: Params, update: UpdateRecipe, ensured: Sequence[Term]) -> Term:
    """Say of a ``row`` that ``update`` inserted it, when all of ``ensured`` was so: somebody was its arguments."""
    args = update.place.args
    if update.each or any(symbol.mutable for arg in args for symbol in terms.symbols_of(arg)):
        return TRUE
    values = {arg: var for var, arg in reversed(list(zip(row, args, strict=True))) if isinstance(arg, Var)}
    said = terms.conjunction(tuple(ensured))
    pairs = list(zip(row, args, strict=True))
    equal = [Equal(var, arg) for var, arg in pairs if not isinstance(arg, Var) or values[arg] != var]
    body = terms.substitute(terms.conjunction((said, *equal)), values)
    rest = tuple(sorted(terms.free_variables(body) - set(row), key=lambda var: (var.name, var.sort.name)))
    return Exists(rest, body) if rest else body


def _ensured(words: Words, action: ActionRecipe, update: UpdateRecipe) -> Iterator[Term]:
    """Yield what holds after ``update``: its conditions, and what is inserted with it; later steps may end it."""
    for guard in action.guards:
        yield guard.formula
    if update.when != TRUE:
        yield update.when
    for var in action.fresh:
        yield Apply(used_symbol(var.sort), (var,))
    for other in action.updates:
        if other != update and other.effect is Effect.INSERT and other.when == TRUE and not other.each:
            yield other.place


def deniable(words: Words, closed: Closed) -> bool:
    """Whether a claim says nothing that depends on a rule's being late."""
    return not _asserts(closed[2], frozenset(words.derived))


def _asserts(term: Term, symbols: frozenset[Symbol]) -> bool:
    from carnet_spec.language.analysis.polarity import signed_symbols

    return any(symbol in symbols and sign for symbol, sign in signed_symbols(term))


# -- random small protocols: everything the language has, in combinations nobody would write -------------


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


@st.composite
def lively_recipes(draw: st.DrawFn) -> Recipe:
    """Draw a protocol that also says what happens in the end, denies something, and expects claims to fall."""
    recipe = draw(recipes())
    parts, words = recipe.parts, recipe.words
    claims = [draw(_expected(replace(claim, stated=_in_other_words(claim.stated)))) for claim in parts.claims]
    taken = [each for each in parts.actions if each.by == HONEST and not (each.rule or each.added or each.shortcut_of)]
    found = [draw(_happenings(words, taken, f"live{n}")) for n in range(draw(draw_in((2, 1, 3))))]
    happening = tuple(live for live in found if live is not None)
    return replace(recipe, parts=replace(parts, claims=tuple(claims), liveness=happening))


def _in_other_words(closed: Closed) -> Closed:
    """State a claim as authors may, too: what never holds implies ``false``, and of two implications one uses ``~``."""
    name, params, body = closed
    if isinstance(body, Not):
        return name, params, Implies(body.body, FALSE)
    if isinstance(body, Implies) and name in CLAIMS[::2]:
        return name, params, Or((Not(body.premise), body.conclusion))
    return closed


@st.composite
def _expected(draw: st.DrawFn, claim: ClaimRecipe) -> ClaimRecipe:
    """Expect now and then that a claim falls where it is made."""
    falling = {threat for threat in claim.under if draw(st.integers(0, 3)) == 3}
    holds = tuple(threat for threat in claim.under if threat not in falling)
    return replace(claim, under=holds, fails_under=tuple(threat for threat in claim.under if threat in falling))


@st.composite
def _happenings(draw: st.DrawFn, words: Words, taken: Sequence[ActionRecipe], name: str) -> Eventually | None:
    """Draw a liveness property: often what an action brings about, by fairness of that action."""
    reading = Reading(tuple(each for each in words.symbols if each not in words.derived and each.name))
    params = draw(parameters(words, least=0, most=1))
    trigger, response = (draw(literals(reading, params)) for _ in range(2))
    names = tuple(action.name for action in taken)
    fair = draw(st.lists(draw_in(names), max_size=2, unique=True)) if names else []
    if fair and draw(st.integers(0, 3)) > 0:
        (does,) = (action for action in taken if action.name == fair[-1])
        brought = [
            u for u in does.updates if u.effect is Effect.INSERT and not u.each and u.place.symbol in reading.symbols
        ]
        for place in (update.place for update in brought[:1]):
            row = tuple(Var(f"y{n}", sort) for n, sort in enumerate(place.symbol.domain))
            response = Exists(row, Apply(place.symbol, row)) if row else place
            trigger = Not(response) if draw(st.booleans()) else trigger
    if trigger is None or response is None:
        return None
    values = []
    for action in (next(each for each in taken if each.name == one) for one in fair):
        for var in action.params:
            chosen = [each for each in params if each.sort == var.sort and var not in action.fresh]
            if draw(st.booleans()) and chosen:
                values.append(Given(action.name, var.name, chosen[0]))
    strong = tuple(each for each in fair if draw(st.booleans()))
    return Eventually(name, trigger, response, "It happens.", tuple(fair), tuple(values), params, strong)


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
        params = tuple(Var(f"x{n}", sort) for n, sort in enumerate(symbol.domain))
        value = None if symbol in spoken.unset else draw(individuals(rigid, symbol.result, params))
        if value is not None:
            found.append((symbol, params, value))
    for symbol in spoken.facts:
        if draw(st.integers(0, 5)) == 5:
            found.append(draw(_first_of_a_relation(spoken, symbol)))
    return found


@st.composite
def _first_of_a_relation(draw: st.DrawFn, spoken: Words, symbol: Symbol) -> tuple[Symbol, Params, Term]:
    params = tuple(Var(f"x{n}", sort) for n, sort in enumerate(symbol.domain))
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
    x, y = (Var(name, symbol.domain[0] if symbol.domain else symbol.result) for name in ("x", "y"))
    if symbol.is_relation and len(symbol.domain) == 1:
        some, all_ = Exists((x,), Apply(symbol, (x,))), terms.Forall((x,), Apply(symbol, (x,)))
        about: tuple[Term, ...] = (some, Not(all_), Not(some), all_)
        return draw(draw_in(about))
    if len(symbol.domain) == 2:
        forth, back = Apply(symbol, (x, y)), Apply(symbol, (y, x))
        total = terms.Forall((x, y), terms.Or((forth, Equal(x, y), back)))
        return draw(
            draw_in(
                (
                    terms.Forall((x,), Not(Apply(symbol, (x, x)))),
                    total,
                    terms.Forall((x, y), Implies(forth, back)),
                )
            )
        )
    if not symbol.is_relation and not symbol.domain:
        others = [s for s in spoken.rigid if s != symbol and not s.domain and s.result == symbol.result]
        if others:
            return Not(Equal(Apply(symbol, ()), Apply(draw(draw_in(others)), ())))
    if symbol.domain == (symbol.result,):
        once = Apply(symbol, (x,))
        twice = terms.Forall((x,), Equal(Apply(symbol, (once,)), x))
        return draw(draw_in((twice, terms.Forall((x,), Not(Equal(once, x))))))
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
    mark = Symbol("mark", draw(draw_in(((), (below.sorts[0],)))), BOOL, Kind.STATE, mutable=True, role=HONEST)
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
