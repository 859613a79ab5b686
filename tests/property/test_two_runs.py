"""The product of two runs means what it says: it has the pairs of runs that brute force finds, and tells them apart."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from carnet_check.semantics import Interpreter
from carnet_check.semantics.evaluation import State
from carnet_spec import language
from carnet_spec.language.expressions import Function, Individual, Relation
from carnet_spec.language.terms import BOOL, TRUE, And, Apply, Equal, Exists, Forall, Not, Or, Var
from carnet_spec.language.two_runs import RunSide
from tests.fixtures.thorough import share

PARTY, ANYONE, PARTIES, WHO = (
    language.Sort("Party"),
    language.Role("anyone"),
    ("ann", "ben"),
    Var("who", language.Sort("Party")),
)
BAD = language.Symbol("bad", (PARTY,), BOOL, language.Kind.PUBLIC, mutable=False)
FLAG = language.Symbol("flag", (), BOOL, language.Kind.STATE, mutable=True)
READY = language.Symbol("ready", (PARTY,), BOOL, language.Kind.STATE, mutable=True)
HELD = language.Symbol("held", (PARTY,), BOOL, language.Kind.STATE, mutable=True)
TURN = language.Symbol("turn", (), PARTY, language.Kind.STATE, mutable=True)
RELATIONS = (BAD, FLAG, READY, HELD)
TOO_MANY = 400
relaxed = settings(
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow], max_examples=share(1500), deadline=None
)
Label = tuple[str, tuple[tuple[str, str], ...]]


@dataclass(frozen=True)
class Twins:
    """One run, what is secret in it and what it chooses for itself, and the instance of each of two runs."""

    one: language.Draft
    secret: tuple[language.Symbol, ...]
    own: Mapping[str, tuple[str, ...]]
    left: language.Instance
    right: language.Instance

    def product(self) -> language.TwoRuns:
        """Return both runs side by side, or skip what has no product."""
        spoken = [Relation(each) if each.is_relation else Function(each, Individual) for each in self.secret]
        try:
            return language.TwoRuns(self.one, secret=spoken, own=self.own)
        except language.SpecificationError as error:
            assume("which is one for both runs" not in str(error) and "begins the same in both runs" not in str(error))
            raise

    def together(self, protocol: language.Protocol) -> language.Instance:
        names = {symbol.name for symbol in protocol.symbols}
        relations, functions = dict(self.left.relations), dict(self.left.functions)
        for symbol in self.secret:
            if symbol == BAD:
                for side, instance in ((RunSide.LEFT, self.left), (RunSide.RIGHT, self.right)):
                    relations[f"{side.value}_{symbol.name}"] = instance.relations[symbol.name]
        return replace(
            self.left,
            relations={name: rows for name, rows in relations.items() if name in names},
            functions={name: table for name, table in functions.items() if name in names},
        )


@st.composite
def facts(draw: st.DrawFn, scope: tuple[Var, ...]) -> language.Term:
    """Draw a fact, said or denied, or that two parties are one."""
    kind = draw(st.integers(0, 5))
    if kind == 0 and scope:
        fact: language.Term = Equal(Apply(TURN, ()), draw(st.sampled_from(scope)))
    else:
        symbol = draw(st.sampled_from([each for each in RELATIONS if scope or not each.domain]))
        fact = Apply(symbol, tuple(draw(st.sampled_from(scope)) for _ in symbol.domain))
    return draw(st.sampled_from((fact, Not(fact))))


@st.composite
def formulas(draw: st.DrawFn, scope: tuple[Var, ...]) -> language.Term:
    kind = draw(st.integers(0, 7))
    if kind > 3:
        return draw(facts(scope))
    if kind > 1:
        parts = (draw(facts(scope)), draw(facts(scope)))
        return And(parts) if kind == 2 else Or(parts)
    bound = Var("other.0", PARTY)
    body = draw(facts((*scope, bound)))
    return Forall((bound,), body) if kind else Exists((bound,), body)


@st.composite
def updates(draw: st.DrawFn, name: str, params: tuple[Var, ...]) -> language.Update:
    """Draw a change of anything that changes."""
    every = Var("each", PARTY)
    symbol = draw(st.sampled_from((FLAG, READY, HELD, *((TURN,) if params else ()))))
    args: tuple[Var, ...] = ()
    if symbol.domain:
        args = (draw(st.sampled_from((*params, every))),)
    each = (every,) if every in args else ()
    when = draw(st.one_of(st.just(TRUE), formulas((*params, *each))))
    if symbol == TURN:
        return language.Update(name, symbol, language.Effect.ASSIGN, (), draw(st.sampled_from(params)), when)
    return language.Update(
        name, symbol, draw(st.sampled_from((language.Effect.INSERT, language.Effect.REMOVE))), args, None, when, each
    )


@st.composite
def actions(draw: st.DrawFn, name: str) -> language.Action:
    params = tuple(Var(f"p{number}", PARTY) for number in range(draw(st.integers(0, 2))))
    guards = tuple(language.Guard(f"guard {n}", draw(formulas(params))) for n in range(draw(st.integers(0, 2))))
    changes = tuple(draw(updates(f"update {n}", params)) for n in range(draw(st.integers(1, 2))))
    return language.Action(name, ANYONE, params, guards, changes, name, "random")


@st.composite
def twins(draw: st.DrawFn) -> Twins:
    """Draw a protocol, what is secret in it, and two instances that differ in nothing else."""
    one = language.Draft("random", "Random")
    one._actions = [draw(actions(f"act{number}")) for number in range(draw(st.integers(1, 3)))]
    told = draw(st.sampled_from(((), (), (READY,), (HELD,), (READY, HELD))))
    one._initial = [language.Initial(symbol, (WHO,), Apply(BAD, (WHO,))) for symbol in told]
    secret = draw(st.sampled_from(((BAD,), (BAD, FLAG), (BAD, HELD), ())))
    own = {each.name: tuple(var.name for var in each.params if draw(st.integers(0, 2)) == 0) for each in one._actions}
    spoken = one.protocol()
    names, sorts = {symbol.name for symbol in spoken.symbols}, {sort.name for sort in spoken.sorts}

    def instance(bad: tuple[str, ...]) -> language.Instance:
        relations = {BAD.name: frozenset((party,) for party in bad)} if BAD.name in names else {}
        return language.Instance(elements={PARTY.name: PARTIES} if PARTY.name in sorts else {}, relations=relations)

    left = draw(st.sampled_from(((), PARTIES[:1], PARTIES)))
    right = draw(st.sampled_from(((), PARTIES[:1], PARTIES[1:]))) if BAD in secret else left
    return Twins(one, tuple(each for each in secret if each.name in names), own, instance(left), instance(right))


@dataclass(frozen=True)
class Found:
    """Which pairs of states two runs with the same labels reach, and what tells them apart."""

    pairs: frozenset[tuple[State, State]]
    apart: frozenset[str]
    differ: frozenset[str]


def by_brute_force(subject: Twins, split: frozenset[str]) -> Found:
    """Take every pair of runs with the same labels, by what one run means."""
    protocol = subject.one.protocol()
    judges = Interpreter(protocol, subject.left), Interpreter(protocol, subject.right)
    start = judges[0].start(), judges[1].start()
    pairs, waiting, apart, differ = {start}, [start], set(), set()
    while waiting:
        pair = waiting.pop()
        assume(len(pairs) <= TOO_MANY)
        differ |= {name for name in split if _value(pair[0], name) != _value(pair[1], name)}
        left, right = (_labelled(judge, state, subject.own) for judge, state in zip(judges, pair, strict=True))
        apart |= {label[0] for label in left.keys() ^ right.keys()}
        for label in left.keys() & right.keys():
            for after in itertools.product(left[label], right[label]):
                if after not in pairs:
                    pairs.add(after)
                    waiting.append(after)
    return Found(frozenset(pairs), frozenset(apart), frozenset(differ))


def _labelled(judge: Interpreter, state: State, own: Mapping[str, tuple[str, ...]]) -> dict[Label, set[State]]:
    found: dict[Label, set[State]] = {}
    for action, env in judge.enabled_steps(state):
        public = tuple(sorted((name, value) for name, value in env.items() if name not in own[action.name]))
        found.setdefault((action.name, public), set()).add(judge.fire(state, action, env))
    return found


def _value(state: State, name: str) -> object:
    return state.relations.get(name, state.functions.get(name))


def in_the_product(subject: Twins, runs: language.TwoRuns) -> Found:
    """Explore the product, and read off its states what they say of two runs."""
    protocol = runs.protocol()
    judge = Interpreter(protocol, subject.together(protocol))
    start = judge.start()
    states, waiting = {start}, [start]
    while waiting:
        state = waiting.pop()
        for action, env in judge.enabled_steps(state):
            after = judge.fire(state, action, env)
            if after not in states:
                states.add(after)
                waiting.append(after)
    one = subject.one.protocol()
    split = {name.removeprefix("left_") for name in _names(protocol) if name.startswith("left_")}
    pairs = {(_side(state, one, RunSide.LEFT, split), _side(state, one, RunSide.RIGHT, split)) for state in states}
    apart = {
        name
        for name in runs.secretly_possible
        if any(not judge.holds(runs.together(name).term, state) for state in states)
    }
    mutable = {symbol for symbol in one.symbols if symbol.name in split and symbol.mutable}
    differ = {
        symbol.name
        for symbol in mutable
        if any(_value(state, f"left_{symbol.name}") != _value(state, f"right_{symbol.name}") for state in states)
    }
    return Found(frozenset(pairs), frozenset(apart), frozenset(differ))


def _names(protocol: language.Protocol) -> Iterator[str]:
    return (symbol.name for symbol in protocol.symbols)


def _side(state: State, one: language.Protocol, side: RunSide, split: set[str]) -> State:
    called = {
        symbol.name: f"{side.value}_{symbol.name}" if symbol.name in split else symbol.name
        for symbol in one.symbols
        if symbol.mutable
    }
    return State(
        {name: state.relations[there] for name, there in called.items() if there in state.relations},
        {name: state.functions[there] for name, there in called.items() if there in state.functions},
    )


@relaxed
@given(twins())
def test_the_product_has_the_pairs_of_runs_that_brute_force_finds(subject: Twins) -> None:
    runs = subject.product()
    names = {symbol.name for symbol in subject.one.protocol().symbols if symbol.mutable}
    brute = by_brute_force(subject, frozenset(names))
    product = in_the_product(subject, runs)
    assert product.pairs == brute.pairs
    assert product.apart == brute.apart
    assert product.differ == brute.differ
