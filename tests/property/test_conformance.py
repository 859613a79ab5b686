"""The machine that follows traces and the interpreter agree: on what is refused, where, and on every state between."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from carnet_check.conformance import Follower, Machine, Work
from carnet_check.conformance.formulas import Compiler
from carnet_check.conformance.tables import Function, Relation, Table
from carnet_check.semantics import Interpreter, NotEnabled, State
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
from carnet_spec.trace import TraceStep
from tests.fixtures.protocols import protocol_of
from tests.fixtures.thorough import share
from tests.property.random_protocols import Sample, samples

few = settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow], deadline=None)
TOO_MANY = 400


def _unbounded(sample: Sample) -> Sample:
    """Leave the adversary's budget out: what was recorded happened, whatever it cost."""
    return replace(sample, instance=replace(sample.instance, budget=None))


def _walk(draw: st.DrawFn, judge: Interpreter) -> list[TraceStep]:
    """Draw a trace: mostly steps that are enabled, then and now one that need not be."""
    state, steps = judge.initial(), []
    for _ in range(draw(st.integers(1, 6))):
        enabled = list(itertools.islice(judge.enabled_steps(state), 20))
        if enabled and draw(st.integers(0, 4)) > 0:
            action, env = draw(st.sampled_from(enabled))
            state = judge.step(state, action, env)
        else:
            action = draw(st.sampled_from(judge.protocol.actions))
            env = {var.name: draw(st.sampled_from(judge.instance.of(var.sort))) for var in action.params}
            with contextlib.suppress(NotEnabled):
                state = judge.step(state, action, env)
        steps.append(TraceStep(action.name, action.by.name, tuple((var.name, env[var.name]) for var in action.params)))
    return steps


@st.composite
def walks(draw: st.DrawFn) -> tuple[Sample, list[TraceStep]]:
    sample = _unbounded(draw(samples()))
    return sample, _walk(draw, Interpreter(sample.protocol, sample.instance))


@st.composite
def partial_walks(draw: st.DrawFn) -> tuple[Sample, list[TraceStep]]:
    """Draw a protocol and a trace of it from which arguments are missing."""
    sample, steps = draw(walks())
    return sample, [replace(step, args=tuple(a for a in step.args if draw(st.integers(0, 2)) > 0)) for step in steps]


def _shown(machine: Machine, judge: Interpreter, state: State) -> None:
    """Compare every symbol that the machine keeps with the interpreter's."""
    for symbol in judge.protocol.symbols:
        table = machine.tables.get(symbol.name)
        if table is None or not symbol.mutable:
            continue
        rows = itertools.product(*(judge.instance.of(sort) for sort in symbol.domain))
        if isinstance(table, Relation):
            assert {row for row in rows if table.holds(row)} == state.relations[symbol.name], symbol.name
        else:
            assert isinstance(table, Function)
            found = {row: table.values.get(row, table.default) for row in rows}
            assert found == dict(state.functions[symbol.name]), symbol.name


@few
@given(walks())
def test_every_state_on_the_way_is_the_interpreters(walk: tuple[Sample, list[TraceStep]]) -> None:
    sample, steps = walk
    judge, machine = Interpreter(sample.protocol, sample.instance), Machine(sample.protocol, sample.instance)
    follower, state = Follower(machine), judge.initial()
    _shown(machine, judge, state)
    for index, step in enumerate(steps):
        divergence = follower.take(step)
        refused = _refused(judge, state, step)
        if refused is not None:
            assert divergence is not None
            assert (divergence.index, divergence.step) == (index, step)
            assert refused == "fresh values differ" or f"'{refused}'" in divergence.why
            return
        assert divergence is None
        state = judge.step(state, judge.protocol.action(step.action), step.env)
        _shown(machine, judge, state)


def _refused(judge: Interpreter, state: State, step: TraceStep) -> str | None:
    """Return the guard by which the interpreter refuses a step, or nothing."""
    try:
        judge.fire(state, judge.protocol.action(step.action), step.env)
    except NotEnabled as error:
        return error.guard
    return None


def _explained(sample: Sample, steps: Sequence[TraceStep]) -> int | None:
    """Return the first step that no choice of what is missing explains, by trying them all in the interpreter."""
    judge = Interpreter(sample.protocol, sample.instance)
    states = {judge.initial()}
    for index, step in enumerate(steps):
        action = judge.protocol.action(step.action)
        missing = [var for var in action.params if var.name not in step.env]
        after = set()
        for state in states:
            for row in itertools.product(*(judge.instance.of(var.sort) for var in missing)):
                env = step.env | {var.name: element for var, element in zip(missing, row, strict=True)}
                with contextlib.suppress(NotEnabled):
                    after.add(judge.step(state, action, env))
        if not after:
            return index
        assume(len(after) <= TOO_MANY)
        states = after
    return None


@few
@given(partial_walks())
def test_what_is_missing_from_a_trace_is_found_if_it_exists(walk: tuple[Sample, list[TraceStep]]) -> None:
    sample, steps = walk
    follower = Follower(Machine(sample.protocol, sample.instance))
    expected = _explained(sample, steps)
    for step in steps:
        divergence = follower.take(step)
        if divergence is not None:
            assert divergence.index == expected
            return
    assert expected is None


# -- what the follower of traces makes of a formula is what the interpreter makes of it ------------------


relaxed = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None, max_examples=share(300)
)

PARTY, KEY = Sort("Party"), Sort("Key", fresh=True)
NAMES = ("key", "key1", "key_1")  #: Of variables and of symbols alike.
#: Elements of different sorts have the same names too.
INSTANCE = Instance({"Party": ("1", "2", "key"), "Key": ("1", "11", "key")})


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
Scope = Mapping[str, Var]  #: The variables that are not hidden, by name.


def protocol(*actions: Action) -> Protocol:
    """Return a protocol of these actions, and nothing else, over the symbols here."""
    return protocol_of("names", sorts=(PARTY, KEY), symbols=SYMBOLS, actions=actions)


@st.composite
def individuals(draw: st.DrawFn, sort: Sort, scope: Scope, depth: int = 1) -> Term:
    choices: list[st.SearchStrategy[Term]] = [st.just(var) for var in scope.values() if var.sort == sort]
    for symbol in FUNCTIONS:
        if symbol.result == sort and (not symbol.domain or depth > 0 or not choices):
            choices.append(applications(symbol, scope, max(depth - 1, 0)))
    if not choices:
        choices.append(applications(FUNCTIONS[0], scope, 0))
    return draw(st.one_of(choices))


@st.composite
def applications(draw: st.DrawFn, symbol: Symbol, scope: Scope, depth: int = 1) -> Term:
    return Apply(symbol, tuple(draw(individuals(sort, scope, depth)) for sort in symbol.domain))


@st.composite
def formulas(draw: st.DrawFn, scope: Scope, depth: int = 4) -> Term:
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
    return list(itertools.product(*(INSTANCE.of(sort) for sort in symbol.domain)))


@st.composite
def states(draw: st.DrawFn) -> State:
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
    compiler = Compiler(INSTANCE, tables(state), Work())
    scope = compiler.scope(tuple(chosen))
    return bool(compiler.term(term, scope)([*chosen.values(), *[""] * (compiler.room - len(chosen))]))


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
    (move,) = machine.moves(TraceStep("act", "anyone", tuple(env.items())))
    machine.take(move)
    after = judge.step(state, action, env)
    for symbol in SYMBOLS:
        table = machine.tables[symbol.name]
        if isinstance(table, Relation):
            assert {row for row in rows(symbol) if table.holds(row)} == after.relations[symbol.name]
        else:
            assert table.values == after.functions[symbol.name]


# -- what a trace leaves out -----------------------------------------------------------------------


@st.composite
def actions(draw: st.DrawFn, name: str) -> Action:
    names = draw(st.lists(st.sampled_from(NAMES), max_size=2, unique=True))
    params = tuple(Var(name, draw(st.sampled_from((PARTY, KEY, KEY)))) for name in names)
    scope = {var.name: var for var in params}
    guards = [Guard(f"guard {n}", draw(formulas(scope, 2))) for n in range(draw(st.integers(0, 2)))]
    changes = draw(st.lists(updates(scope), min_size=1, max_size=2))
    return Action(name, Role("anyone"), params, (*map(kept, SYMBOLS), *guards), tuple(changes), "", "")


@st.composite
def gappy_steps(draw: st.DrawFn, protocol: Protocol) -> list[TraceStep]:
    """Draw steps of a protocol from which most arguments are missing."""
    steps = []
    for _ in range(draw(st.integers(1, 4))):
        action = draw(st.sampled_from(protocol.actions))
        given = [var for var in action.params if draw(st.integers(0, 3)) == 0]
        args = tuple((var.name, draw(st.sampled_from(INSTANCE.of(var.sort)))) for var in given)
        steps.append(TraceStep(action.name, "anyone", args))
    return steps


def explained(judge: Interpreter, steps: Sequence[TraceStep]) -> int | None:
    """Return the first step that no choice of what is missing explains, by trying them all in the interpreter."""
    states = {judge.initial()}
    for index, step in enumerate(steps):
        action = judge.protocol.action(step.action)
        pools = ([step.env[v.name]] if v.name in step.env else judge.instance.of(v.sort) for v in action.params)
        envs = [dict(zip([v.name for v in action.params], row, strict=True)) for row in itertools.product(*pools)]
        after = set()
        for state, env in itertools.product(states, envs):
            with contextlib.suppress(NotEnabled):
                after.add(judge.step(state, action, env))
        if not after:
            return index
        assume(len(after) < 100)
        states = after
    return None


@pytest.mark.mends("M4")
@settings(relaxed, max_examples=share(120))
@given(st.data())
def test_elements_that_the_trace_does_not_name_may_stand_in_for_one_another(data: st.DataObject) -> None:
    spec = protocol(*(data.draw(actions(f"act{n}")) for n in range(data.draw(st.integers(1, 3)))))
    steps = data.draw(gappy_steps(spec))
    keys = {v.name for action in spec.actions for v in action.params if v.sort == KEY}
    named = {"Key": [element for step in steps for name, element in step.args if name in keys]}
    follower = Follower(Machine(spec, INSTANCE, named))
    found = next((divergence for step in steps if (divergence := follower.take(step)) is not None), None)
    assert (found and found.index) == explained(Interpreter(spec, INSTANCE), steps)


# -- by hand ---------------------------------------------------------------------------------------

HELD, PAIR = RELATIONS[0], RELATIONS[1]
OUTER, PARTY_OUTER = Var("key.1", KEY), Var("key.1", PARTY)
#: A formula of the whole protocol: its variable is called as that of any other quantifier at its depth.
LOOPED = Exists((OUTER,), Apply(PAIR, (OUTER, OUTER)))


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


ONE, OTHER, OWN = Var("one", KEY), Var("other", KEY), Apply(FUNCTIONS[2], ())
LINKED, MARKED = Apply(PAIR, (ONE, OTHER)), Apply(PAIR, (ONE, ONE))
LINK = Action(
    "link",
    Role("anyone"),
    (ONE, OTHER),
    (
        Guard("apart", And((Not(Equal(ONE, OTHER)), Not(Equal(ONE, OWN)), Not(Equal(OTHER, OWN))))),
        Guard("new", Not(LINKED)),
    ),
    (Update("link", PAIR, Effect.INSERT, LINKED.args),),
    "",
    "",
)
MARK = Action(
    "mark",
    Role("anyone"),
    (ONE,),
    (Guard("new", Not(MARKED)),),
    (Update("mark", PAIR, Effect.INSERT, MARKED.args),),
    "",
    "",
)


@pytest.mark.mends("M4")
@pytest.mark.parametrize(("action", "often"), [(LINK, 2), (MARK, 3)], ids=["two at once", "one after another"])
@pytest.mark.parametrize("named", [(), ("11",), ("1", "11", "key")])
def test_as_many_elements_that_are_alike_are_tried_as_make_a_difference(
    action: Action, often: int, named: Sequence[str]
) -> None:
    follower = Follower(Machine(protocol(action), INSTANCE, {"Key": named}))
    step = TraceStep(action.name, "anyone")
    assert [follower.take(step) is None for _ in range(often)] == [True] * often
    divergence = follower.take(step)
    assert divergence is not None
    assert divergence.index == often
