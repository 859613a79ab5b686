"""What the follower of traces makes of a formula is what the interpreter makes of it, whatever variables are called.

Names are drawn from a few that are easily taken for one another, and are the same at different sorts and at different
depths: an inner variable hides an outer one of its name.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from carnet_check.conformance import Machine
from carnet_check.conformance.formulas import Compiler
from carnet_check.conformance.tables import Function, Relation, Table
from carnet_check.semantics import Interpreter, State
from carnet_spec.language import (
    Action,
    Effect,
    Guard,
    Instance,
    Kind,
    Protocol,
    Role,
    Row,
    Sort,
    Symbol,
    Term,
    Update,
)
from carnet_spec.language.terms import (
    BOOL,
    TRUE,
    And,
    Apply,
    Equal,
    Exists,
    Forall,
    Implies,
    Not,
    Or,
    Var,
)
from carnet_spec.trace import Step

relaxed = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None, max_examples=300
)

PARTY, KEY = Sort("Party"), Sort("Key")
NAMES = ("key", "key1", "key_1")
"""Of variables and of symbols alike."""
INSTANCE = Instance({"Party": ("1", "2", "key"), "Key": ("1", "11", "key")})
"""Elements of different sorts have the same names too."""


def _symbol(name: str, *domain: Sort, result: Sort = BOOL) -> Symbol:
    return Symbol(name, domain, result, Kind.STATE, mutable=True)


RELATIONS = (
    _symbol("key", PARTY, KEY),
    _symbol("key1", KEY, KEY),
    _symbol("key_1", PARTY),
    _symbol("key11", KEY, PARTY, KEY),
)
FUNCTIONS = (_symbol("owner", KEY, result=PARTY), _symbol("owner1", PARTY, result=KEY), _symbol("own", result=KEY))
SYMBOLS = (*RELATIONS, *FUNCTIONS)
Scope = Mapping[str, Var]
"""The variables that are not hidden, by name."""


def protocol(*actions: Action) -> Protocol:
    """Return a protocol of these actions, and nothing else, over the symbols here."""
    nothing = dict.fromkeys(("axioms", "initial", "claims", "lemmas", "goals", "liveness", "threats"), ())
    more = dict.fromkeys(("without", "assumptions", "defences"), ())
    return Protocol(
        id="names", title="", variant="main", sorts=(PARTY, KEY), symbols=SYMBOLS, actions=actions, **nothing, **more
    )


@st.composite
def individuals(draw: st.DrawFn, sort: Sort, scope: Scope, depth: int = 1) -> Term:
    """Draw a term of the sort."""
    choices: list[st.SearchStrategy[Term]] = [st.just(var) for var in scope.values() if var.sort == sort]
    for symbol in FUNCTIONS:
        if symbol.result == sort and (not symbol.domain or depth > 0 or not choices):
            choices.append(applications(symbol, scope, max(depth - 1, 0)))
    if not choices:
        choices.append(applications(FUNCTIONS[0], scope, 0))
    return draw(st.one_of(choices))


@st.composite
def applications(draw: st.DrawFn, symbol: Symbol, scope: Scope, depth: int = 1) -> Term:
    """Draw the symbol applied to something."""
    return Apply(symbol, tuple(draw(individuals(sort, scope, depth)) for sort in symbol.domain))


@st.composite
def formulas(draw: st.DrawFn, scope: Scope, depth: int = 4) -> Term:
    """Draw a formula over what is in scope."""
    kind = draw(st.sampled_from(("fact", "equal", "not", "and", "or", "implies", "all", "some", "all", "some")))
    if depth == 0 or kind == "fact":
        return draw(applications(draw(st.sampled_from(RELATIONS)), scope))
    if kind == "equal":
        sort = draw(st.sampled_from((PARTY, KEY)))
        return Equal(draw(individuals(sort, scope)), draw(individuals(sort, scope)))
    if kind in ("all", "some"):
        names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True))
        bound = tuple(Var(name, draw(st.sampled_from((PARTY, KEY)))) for name in names)
        body = draw(formulas({**scope, **{var.name: var for var in bound}}, depth - 1))
        return Forall(bound, body) if kind == "all" else Exists(bound, body)
    parts = tuple(draw(formulas(scope, depth - 1)) for _ in range(1 if kind == "not" else 2))
    match kind:
        case "not":
            return Not(parts[0])
        case "implies":
            return Implies(*parts)
        case _:
            return And(parts) if kind == "and" else Or(parts)


def rows(symbol: Symbol) -> list[Row]:
    """Return every row that a symbol has in the instance."""
    return list(itertools.product(*(INSTANCE.of(sort) for sort in symbol.domain)))


@st.composite
def states(draw: st.DrawFn) -> State:
    """Draw a state."""
    relations = {
        symbol.name: frozenset(draw(st.lists(st.sampled_from(rows(symbol)), max_size=5, unique=True)))
        for symbol in RELATIONS
    }
    functions = {
        symbol.name: {row: draw(st.sampled_from(INSTANCE.of(symbol.result))) for row in rows(symbol)}
        for symbol in FUNCTIONS
    }
    return State(relations, functions)


def tables(state: State) -> dict[str, Table]:
    """Return a state as the machine keeps it."""
    kept: dict[str, Table] = {name: Relation(name, sorted(held)) for name, held in state.relations.items()}
    return kept | {name: Function(name, values, "") for name, values in state.functions.items()}


def evaluated(term: Term, state: State, chosen: Mapping[Var, str]) -> bool:
    """Return what the compiled formula says."""
    compiler = Compiler(INSTANCE, tables(state))
    scope = compiler.scope(tuple(chosen))
    compiled = compiler.term(term, scope)
    return bool(compiled([*chosen.values(), *[""] * (compiler.room - len(chosen))]))


@pytest.mark.mends("R3")
@relaxed
@given(st.data(), states())
def test_a_formula_means_what_the_interpreter_says(data: st.DataObject, state: State) -> None:
    names = data.draw(st.lists(st.sampled_from(NAMES), max_size=3, unique=True))
    free = [Var(name, data.draw(st.sampled_from((PARTY, KEY)))) for name in names]
    chosen = {var: data.draw(st.sampled_from(INSTANCE.of(var.sort))) for var in free}
    term = data.draw(formulas({var.name: var for var in free}))
    judge = Interpreter(protocol(), INSTANCE)
    expected = judge.holds(term, state, {var.name: element for var, element in chosen.items()})
    assert evaluated(term, state, chosen) is expected


@st.composite
def updates(draw: st.DrawFn, scope: Scope) -> Update:
    """Draw an update whose "each" may hide what is in scope, stand in several arguments, or in none."""
    symbol = draw(st.sampled_from(SYMBOLS))
    names = draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True))
    each = tuple(Var(name, draw(st.sampled_from((PARTY, KEY)))) for name in names)
    inner = {**scope, **{var.name: var for var in each}}
    args = tuple(draw(individuals(sort, inner)) for sort in symbol.domain)
    when = draw(st.one_of(st.just(TRUE), formulas(inner, 2)))
    if symbol.is_relation:
        return Update("change", symbol, draw(st.sampled_from((Effect.INSERT, Effect.REMOVE))), args, None, when, each)
    return Update("change", symbol, Effect.ASSIGN, args, draw(individuals(symbol.result, inner)), when, each)


def kept(symbol: Symbol) -> Guard:
    """Return a guard that always holds and reads a symbol, so that it is kept up."""
    row = tuple(Var(f"at{number}", sort) for number, sort in enumerate(symbol.domain))
    fact = Apply(symbol, row) if symbol.is_relation else Equal(Apply(symbol, row), Apply(symbol, row))
    return Guard(symbol.name, Forall(row, Or((fact, Not(fact)))) if row else Or((fact, Not(fact))))


@pytest.mark.mends("R3")
@relaxed
@given(st.data(), states())
def test_an_update_changes_what_the_interpreter_changes(data: st.DataObject, state: State) -> None:
    names = data.draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True))
    params = tuple(Var(name, data.draw(st.sampled_from((PARTY, KEY)))) for name in names)
    changes = tuple(data.draw(st.lists(updates({var.name: var for var in params}), min_size=1, max_size=3)))
    action = Action("act", Role("anyone"), params, tuple(map(kept, SYMBOLS)), changes, "", "")
    judge = Interpreter(protocol(action), INSTANCE)
    machine = Machine(judge.protocol, INSTANCE)
    for name, table in machine.tables.items():
        if isinstance(table, Relation):
            for row in sorted(state.relations[name]):
                table.insert(row)
        else:
            table.values.update(state.functions[name])
    env = {var.name: data.draw(st.sampled_from(INSTANCE.of(var.sort))) for var in params}
    moves = machine.moves(Step("act", "anyone", tuple(env.items())))
    assert not isinstance(moves, str), moves
    machine.make(moves[0])
    after = judge.step(state, action, env)
    for symbol in SYMBOLS:
        table = machine.tables[symbol.name]
        if isinstance(table, Relation):
            assert {row for row in rows(symbol) if table.holds(row)} == after.relations[symbol.name]
        else:
            assert table.values == after.functions[symbol.name]


# -- by hand ---------------------------------------------------------------------------------------

HELD, PAIR = RELATIONS[0], RELATIONS[1]
OUTER, PARTY_OUTER = Var("key.1", KEY), Var("key.1", PARTY)
LOOPED = Exists((OUTER,), Apply(PAIR, (OUTER, OUTER)))
"""A formula of the whole protocol: its variable is called as that of any other quantifier at its depth."""


@pytest.mark.mends("R3")
@pytest.mark.parametrize(
    ("formula", "held"),
    [
        (Forall((OUTER,), Implies(Apply(PAIR, (OUTER, OUTER)), LOOPED)), True),
        (Exists((OUTER,), And((Apply(HELD, (Apply(FUNCTIONS[0], (OUTER,)), OUTER)), LOOPED))), True),
        (Forall((OUTER,), Not(LOOPED)), False),
        (Exists((PARTY_OUTER,), And((LOOPED, Apply(RELATIONS[2], (PARTY_OUTER,))))), True),
        (Exists((OUTER,), Exists((OUTER,), Equal(OUTER, Apply(FUNCTIONS[2], ())))), True),
    ],
    ids=["implied", "beside", "denied", "another sort", "twice"],
)
def test_a_variable_hides_one_of_its_name_further_out(formula: Term, held: bool) -> None:
    """Only key 11 is paired with itself, so a search that takes the outer variable for the inner one misses it."""
    state = State(
        {
            "key": frozenset({("2", "1")}),
            "key1": frozenset({("11", "11")}),
            "key_1": frozenset({("2",)}),
            "key11": frozenset(),
        },
        {
            "owner": {("1",): "2", ("11",): "1", ("key",): "1"},
            "owner1": {(party,): "1" for party in INSTANCE.of(PARTY)},
            "own": {(): "11"},
        },
    )
    assert Interpreter(protocol(), INSTANCE).holds(formula, state) is held
    assert evaluated(formula, state, {}) is held
