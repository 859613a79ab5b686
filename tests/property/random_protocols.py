"""Random small protocols with an instance each: something of everything the language has.

The vocabulary is fixed and small; what is random is how it is used. Protocols built this way mean nothing, which is
the point: an engine has to agree with the interpreter about them all the same.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, NamedTuple

from hypothesis import strategies as st
from hypothesis.vendor.pretty import RepresentationPrinter

from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.model import build
from carnet_check.engines.explicit.search import PackedSearch, search
from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.semantics import Interpreter
from carnet_spec import language
from carnet_spec.language import Guard, GuardKind, Instance, Row, terms
from carnet_spec.language.expressions import used_symbol
from carnet_spec.language.notation import show
from carnet_spec.language.printing import fair_steps, show_action, show_goal, show_initial, show_invariant
from carnet_spec.trace import Trace
from tests.fixtures.protocols import protocol_of

PARTY = language.Sort("Party")
KEY = language.Sort("Key", fresh=True)
PHASE = language.Sort("Phase", ("IDLE", "BUSY", "DONE"))
ANYONE = language.Role("anyone")


def _mutable(name: str, *domain: language.Sort, result: language.Sort = terms.BOOL) -> language.Symbol:
    return language.Symbol(name, domain, result, language.Kind.STATE, mutable=True)


def _rigid(name: str, *domain: language.Sort, result: language.Sort = terms.BOOL) -> language.Symbol:
    return language.Symbol(name, domain, result, language.Kind.PUBLIC, mutable=False)


BAD, HOME = _rigid("bad", PARTY), _rigid("home", KEY, result=PARTY)
BOSS, SPARE = _rigid("boss", result=PARTY), _rigid("spare", result=KEY)
PHASE_NOW, TURN = _mutable("phase", result=PHASE), _mutable("turn", result=PARTY)
OWNER, CURRENT = _mutable("owner", KEY, result=PARTY), _mutable("current", PARTY, result=KEY)
FLAG, READY, HELD = _mutable("flag"), _mutable("ready", PARTY), _mutable("held", PARTY, KEY)
SEEN, KNOWN, USED = _mutable("seen", KEY), _mutable("known", PARTY, KEY), used_symbol(KEY)

DERIVED = (SEEN, KNOWN)  #: What deductions insert, and so must not be denied by their premises.
RELATIONS = (BAD, FLAG, READY, HELD, SEEN, KNOWN, USED)
FUNCTIONS = (BOSS, SPARE, HOME, PHASE_NOW, TURN, OWNER, CURRENT)
SYMBOLS = RELATIONS + FUNCTIONS


@dataclass(frozen=True, repr=False)
class Sample:
    """A protocol, an instance of it, and what to look for; it prints as people read it."""

    protocol: language.Protocol
    instance: Instance
    invariants: tuple[language.Invariant, ...]
    goals: tuple[language.Goal, ...]

    @property
    def question(self) -> dict[str, Any]:
        """What a search is given, by the names of its arguments."""
        return {
            "protocol": self.protocol,
            "instance": self.instance,
            "invariants": self.invariants,
            "goals": self.goals,
        }

    def __repr__(self) -> str:
        parts = [
            *map(show_initial, self.protocol.initial),
            *map(show_action, self.protocol.actions),
            *map(show_invariant, self.invariants),
            *map(show_goal, self.goals),
            *(
                f"{show(each.trigger)} ~> {show(each.response)} fairly {fair_steps(each)}"
                for each in self.protocol.liveness
            ),
            repr(self.instance),
        ]
        return "\n".join(["", *parts])

    def _repr_pretty_(self, printer: RepresentationPrinter, _cycle: bool) -> None:
        """Keep Hypothesis from printing every field of every term."""
        printer.text(repr(self))


Scope = tuple[terms.Var, ...]  #: The variables that may be used.

# Strategies are made once and kept: Hypothesis looks through each new one, which takes longer than to draw from it.
# Those of which ``one_of`` has two, so that they are drawn twice as often, are made anew: it would take equals for one.


@functools.cache
@st.composite
def individuals(draw: st.DrawFn, sort: language.Sort, scope: Scope, depth: int = 1) -> language.Term:
    """Draw a term of the sort over the variables in scope."""
    return draw(_individuals(sort, scope, depth))


@functools.cache
def _individuals(sort: language.Sort, scope: Scope, depth: int) -> st.SearchStrategy[language.Term]:
    choices: list[st.SearchStrategy[language.Term]] = [st.just(var) for var in scope if var.sort == sort]
    if sort.members is not None:
        choices += [st.just(terms.Member(sort, name)) for name in sort.members]
    for symbol in FUNCTIONS:
        if symbol.result == sort and (not symbol.domain or depth > 0):
            choices.append(applications(symbol, scope, depth - 1))
    return st.one_of(choices)


@functools.cache
@st.composite
def applications(draw: st.DrawFn, symbol: language.Symbol, scope: Scope, depth: int = 1) -> terms.Apply:
    return terms.Apply(symbol, tuple(draw(individuals(sort, scope, depth)) for sort in symbol.domain))


@functools.cache
@st.composite
def formulas(draw: st.DrawFn, scope: Scope, depth: int = 2, denied: bool = True, sign: bool = True) -> language.Term:
    """Draw a formula; unless ``denied`` may be, derived relations occur positively in it."""
    allowed = [symbol for symbol in RELATIONS if denied or sign or symbol not in DERIVED]
    kind = draw(st.sampled_from(("fact", "equal", "not", "and", "or", "implies", "forall", "exists", "truth")))
    if kind == "truth":
        return terms.Truth(draw(st.booleans()))
    if kind == "equal":
        sort = draw(st.sampled_from((PARTY, KEY, PHASE)))
        return terms.Equal(draw(individuals(sort, scope)), draw(individuals(sort, scope)))
    if depth == 0 or kind == "fact":
        return draw(applications(draw(st.sampled_from(allowed)), scope))
    if kind == "not":
        return terms.Not(draw(formulas(scope, depth - 1, denied, not sign)))
    if kind in ("forall", "exists"):
        bound = _bound(len(scope), draw(st.sampled_from((PARTY, KEY))))
        inner = draw(formulas((*scope, *bound), depth - 1, denied, sign))
        return terms.Forall(bound, inner) if kind == "forall" else terms.Exists(bound, inner)
    first = draw(formulas(scope, depth - 1, denied, sign != (kind == "implies")))
    second = draw(formulas(scope, depth - 1, denied, sign))
    if kind == "implies":
        return terms.Implies(first, second)
    return terms.And((first, second)) if kind == "and" else terms.Or((first, second))


def _bound(depth: int, sort: language.Sort) -> tuple[terms.Var, ...]:
    return (terms.Var(f"{sort.name.lower()}.{depth}", sort),)


@st.composite
def _likely(draw: st.DrawFn, scope: Scope) -> language.Term:
    """Draw a condition that some states meet and some do not."""
    fact = draw(applications(draw(st.sampled_from([symbol for symbol in RELATIONS if symbol.mutable])), scope))
    phase = terms.Equal(terms.Apply(PHASE_NOW, ()), draw(individuals(PHASE, ())))
    choices: tuple[language.Term, ...] = (terms.Not(fact), fact, terms.Not(phase), phase)
    return draw(st.sampled_from(choices))


@st.composite
def _unlikely(draw: st.DrawFn, scope: Scope) -> language.Term:
    """Draw an invariant that only some states violate."""
    return terms.Not(terms.And(tuple(draw(_several_likely(scope)))))


@functools.cache
def _several_likely(scope: Scope) -> st.SearchStrategy[list[language.Term]]:
    return st.lists(_likely(scope), min_size=1, max_size=3)


@functools.cache
@st.composite
def updates(draw: st.DrawFn, name: str, params: Scope) -> language.Update:
    symbol = draw(st.sampled_from([symbol for symbol in SYMBOLS if symbol.mutable]))
    args: list[language.Term] = []
    each: list[terms.Var] = []
    for sort in symbol.domain:
        if draw(st.integers(0, 5)) == 0:
            each.append(terms.Var(f"each{len(each)}", sort))
            args.append(each[-1])
        else:
            args.append(draw(individuals(sort, params)))
    scope = (*params, *each)
    when = draw(_conditions(scope))
    if symbol.is_relation:
        effect = draw(st.sampled_from((language.Effect.INSERT, language.Effect.INSERT, language.Effect.REMOVE)))
        return language.Update(name, symbol, effect, tuple(args), None, when, tuple(each))
    value = draw(individuals(symbol.result, scope))
    if draw(st.integers(0, 4)) == 0:
        value = terms.IfThenElse(draw(formulas(scope, 1)), value, draw(individuals(symbol.result, scope)))
    return language.Update(name, symbol, language.Effect.ASSIGN, tuple(args), value, when, tuple(each))


@functools.cache
def _conditions(scope: Scope) -> st.SearchStrategy[language.Term]:
    return st.one_of(st.just(terms.TRUE), st.just(terms.TRUE), _likely(scope), formulas(scope, 1))


@functools.cache
@st.composite
def actions(draw: st.DrawFn, name: str) -> language.Action:
    """Draw an action: parameters, some of them fresh, guards, updates and a cost."""
    params = draw(_params(at_least=draw(st.sampled_from((1, 2, 0)))))
    conditions = draw(_guards(params))
    guards = [Guard(f"guard {n}", condition) for n, condition in enumerate(conditions)]
    changes = [draw(updates(f"update {n}", params)) for n in range(draw(st.integers(1, 4)))]
    for var in params:
        if var.sort == KEY and draw(st.integers(0, 2)) > 0:
            fact = terms.Apply(USED, (var,))
            guards.append(Guard(f"fresh {var.name}", terms.Not(fact), GuardKind.FRESH))
            changes.append(language.Update(f"use {var.name}", USED, language.Effect.INSERT, (var,)))
    cost = draw(st.sampled_from((0, 0, 1)))
    return language.Action(name, ANYONE, params, tuple(guards), tuple(changes), name, "random", cost=cost)


@functools.cache
def _guards(params: Scope) -> st.SearchStrategy[list[language.Term]]:
    return st.lists(st.one_of(_likely(params), _likely(params), formulas(params)), max_size=2)


@functools.cache
@st.composite
def rules(draw: st.DrawFn, name: str) -> language.Action:
    """Draw a deduction: its premises never deny what deductions insert, and it inserts only that."""
    params = draw(_params())
    guards = [Guard(f"given {n}", draw(formulas(params, denied=False))) for n in range(draw(st.integers(1, 2)))]
    changes = []
    for number in range(draw(st.integers(1, 2))):
        target = draw(applications(draw(st.sampled_from(DERIVED)), params))
        when = draw(_premises(params))
        changes.append(
            language.Update(f"learn {number}", target.symbol, language.Effect.INSERT, target.args, None, when)
        )
    return language.Action(name, ANYONE, params, tuple(guards), tuple(changes), name, "random", deduction=True)


@functools.cache
def _premises(params: Scope) -> st.SearchStrategy[language.Term]:
    return st.one_of(st.just(terms.TRUE), formulas(params, 1, denied=False))


@functools.cache
@st.composite
def _params(draw: st.DrawFn, at_least: int = 0) -> tuple[terms.Var, ...]:
    sorts = draw(st.lists(st.sampled_from((PARTY, KEY)), min_size=at_least, max_size=3))
    return tuple(terms.Var(f"{sort.name.lower()}{number}", sort) for number, sort in enumerate(sorts))


@st.composite
def instances(draw: st.DrawFn, protocol: language.Protocol) -> Instance:
    """Draw a small instance: elements, rigid facts, pools for some parameters, and a budget."""
    parties = tuple(f"p{n}" for n in range(draw(st.sampled_from((2, 1, 3)))))
    keys = tuple(f"k{n}" for n in range(draw(st.sampled_from((2, 1, 3)))))
    pools = {}
    for action, var in itertools.chain.from_iterable(zip(itertools.repeat(a), a.params) for a in protocol.actions):
        if not action.deduction and var.sort == KEY and draw(st.integers(0, 2)) == 0:
            pools[action.name, var.name] = tuple(draw(st.permutations(keys)))[: draw(st.integers(1, 3))]
    return Instance(
        elements={PARTY.name: parties, KEY.name: keys},
        relations={BAD.name: frozenset((party,) for party in parties if draw(st.booleans()))},
        functions={
            BOSS.name: {(): draw(st.sampled_from(parties))},
            SPARE.name: {(): draw(st.sampled_from(keys))},
            HOME.name: {(key,): draw(st.sampled_from(parties)) for key in keys},
        },
        pools=pools,
        budget=draw(st.sampled_from((None, 0, 1, 2))),
    )


@functools.cache
@st.composite
def _initial(draw: st.DrawFn, symbol: language.Symbol) -> language.Initial:
    params = tuple(terms.Var(f"{sort.name.lower()}{number}", sort) for number, sort in enumerate(symbol.domain))
    if symbol.is_relation:
        return language.Initial(symbol, params, terms.Truth(draw(st.booleans())))
    if symbol.result == PHASE:
        return language.Initial(symbol, params, terms.Member(PHASE, draw(st.sampled_from(PHASE.members or ()))))
    return language.Initial(symbol, params, terms.Apply(HOME, params) if params else terms.Apply(BOSS, ()))


@functools.cache
@st.composite
def samples(draw: st.DrawFn) -> Sample:
    """Draw a protocol, an instance and what to look for."""
    started = [symbol for symbol in (PHASE_NOW, TURN, OWNER, READY, HELD, KNOWN, FLAG) if draw(st.integers(0, 5)) == 0]
    protocol = protocol_of(
        "random",
        actions=(
            *(draw(actions(f"act{n}")) for n in range(draw(st.integers(2, 5)))),
            *(draw(rules(f"rule{n}")) for n in range(draw(st.integers(0, 3)))),
        ),
        initial=tuple(draw(_initial(symbol)) for symbol in started),
        sorts=(PARTY, KEY, PHASE),
        symbols=SYMBOLS,
    )
    invariants = []
    goals = []
    for number in range(draw(st.integers(1, 3))):
        params = draw(_params())
        body = draw(_claimed(params))
        invariants.append(language.Invariant(f"invariant{number}", params, body))
    for number in range(draw(st.integers(0, 2))):
        params = draw(_params())
        body = draw(_wanted(params))
        goals.append(language.Goal(f"goal{number}", params, body, "random"))
    return Sample(protocol, draw(instances(protocol)), tuple(invariants), tuple(goals))


@functools.cache
def _claimed(params: Scope) -> st.SearchStrategy[language.Term]:
    return st.one_of(_unlikely(params), _unlikely(params), formulas(params))


@functools.cache
def _wanted(params: Scope) -> st.SearchStrategy[language.Term]:
    return st.one_of(formulas(params), _unlikely(params).map(terms.Not))


def _lively(name: str, guards: tuple[Guard, ...], update: language.Update) -> language.Action:
    return language.Action(name, ANYONE, (), guards, (update,), name, "random")


@functools.cache
@st.composite
def lively_samples(draw: st.DrawFn) -> Sample:
    """Draw a sample with things that should happen in the end, and by whose fairness.

    Often one more action brings about what is waited for, so that it is not all in vain, and another one can always
    change something, so that a run that is fair to it has to go round.
    """
    sample = draw(samples())
    actions = sample.protocol.actions
    response: language.Term = terms.Apply(FLAG, ())
    trigger = draw(st.one_of(_likely(()), _likely(()), st.just(terms.Not(response)), formulas((), 1)))
    if draw(st.booleans()):
        guards = draw(st.lists(st.one_of(st.just(trigger), st.just(terms.Not(response)), _likely(())), max_size=2))
        serve = tuple(Guard(f"guard {n}", guard) for n, guard in enumerate(guards))
        actions = (_lively("serve", serve, language.Update("serve", FLAG, language.Effect.INSERT, ())), *actions)
    else:
        response = draw(st.one_of(_likely(()), st.just(response), formulas((), 1)))
    if draw(st.booleans()):
        now, idle, busy = terms.Apply(PHASE_NOW, ()), terms.Member(PHASE, "IDLE"), terms.Member(PHASE, "BUSY")
        swing = language.Update(
            "swing", PHASE_NOW, language.Effect.ASSIGN, (), terms.IfThenElse(terms.Equal(now, idle), busy, idle)
        )
        actions = (_lively("swing", (), swing), *actions)
    names = [action.name for action in actions]
    fair = draw(st.lists(st.sampled_from(names), max_size=3, unique=True))
    for name in ("serve", "swing"):
        if name in names and name not in fair and draw(st.integers(0, 3)):
            fair = [name, *fair]
    given = [each for name in fair for each in draw(_given(next(each for each in actions if each.name == name)))]
    lively = language.Eventually("in-the-end", trigger, response, "random", tuple(fair), tuple(given))
    return replace(sample, protocol=replace(sample.protocol, actions=actions, liveness=(lively,)))


@st.composite
def _given(draw: st.DrawFn, action: language.Action) -> list[language.Given]:
    """Draw what some parameters of an action are where it is to be taken fairly."""
    chosen = [var for var in action.params if var not in action.fresh and draw(st.booleans())]
    return [language.Given(action.name, var.name, draw(individuals(var.sort, ()))) for var in chosen]


@functools.cache
@st.composite
def staged_samples(draw: st.DrawFn) -> Sample:
    """Draw a sample in which one step prepares what another one brings about; either may be spoilt a little."""
    sample = draw(samples())
    response: language.Term = terms.Apply(FLAG, ())
    idle: language.Term = terms.Equal(terms.Apply(PHASE_NOW, ()), terms.Member(PHASE, "IDLE"))
    first, second = draw(st.sampled_from([(idle, terms.Not(idle)), (idle, terms.Not(idle)), (terms.Not(idle), idle)]))
    guards: Sequence[language.Term] = draw(st.sampled_from([(), (), (terms.Not(response),), (draw(_likely(())),)]))
    to = draw(st.sampled_from(("BUSY", "BUSY", "IDLE")))
    prepare = _lively(
        "prepare",
        tuple(Guard(f"guard {n}", guard) for n, guard in enumerate((first, *guards))),
        language.Update("prepare", PHASE_NOW, language.Effect.ASSIGN, (), terms.Member(PHASE, to)),
    )
    finish = _lively(
        "finish", (Guard("prepared", second),), language.Update("finish", FLAG, language.Effect.INSERT, ())
    )
    others = sample.protocol.actions[: draw(st.sampled_from((0, 0, 1, 2)))]
    trigger = draw(st.one_of(_likely(()), st.just(terms.Not(response)), st.just(terms.TRUE)))
    orders = (("prepare", "finish"), ("prepare", "finish"), ("finish", "prepare"))
    lively = language.Eventually("in-the-end", trigger, response, "random", draw(st.sampled_from(orders)))
    protocol = replace(sample.protocol, actions=(prepare, finish, *others), liveness=(lively,))
    return replace(sample, protocol=protocol)


# -- random protocols on instances in which many elements are alike --------------------------------------


@st.composite
def alike_instances(draw: st.DrawFn, instance: Instance) -> Instance:
    """Draw an instance that seldom tells elements apart: all are good or all are bad, and keys are at home alike."""
    parties = tuple(f"p{n}" for n in range(draw(st.sampled_from((3, 4, 2)))))
    keys = tuple(f"k{n}" for n in range(draw(st.sampled_from((1, 2, 3)))))
    bad = draw(st.sampled_from(((), parties, parties[:1], parties[:2])))
    boss = draw(st.sampled_from((parties[0], parties[-1])))
    homes = draw(st.sampled_from((itertools.repeat(boss), itertools.cycle(parties), itertools.cycle(parties[1:]))))
    home: dict[Row, str] = dict(zip(((key,) for key in keys), homes, strict=False))
    return replace(
        instance,
        elements={PARTY.name: parties, KEY.name: keys},
        relations={BAD.name: frozenset((party,) for party in bad)},
        functions={BOSS.name: {(): boss}, SPARE.name: {(): keys[0]}, HOME.name: home},
        pools={},
    )


def merged(value: Any) -> Any:
    """Return a part of a protocol with parties in the place of keys, so that symbols relate parties to parties."""
    if value == KEY:
        return PARTY
    if isinstance(value, tuple):
        return tuple(merged(each) for each in value)
    if isinstance(value, Guard) and value.kind is GuardKind.FRESH:
        value = replace(value, kind=GuardKind.REQUIRE)
    if is_dataclass(value) and not isinstance(value, type):
        return type(value)(**{each.name: merged(getattr(value, each.name)) for each in fields(value)})
    return value


@st.composite
def paired_instances(draw: st.DrawFn, instance: Instance) -> Instance:
    """Draw an instance for a protocol with merged sorts."""
    alike = draw(alike_instances(instance))
    parties = alike.elements[PARTY.name]
    homes = draw(st.sampled_from((parties, itertools.repeat(parties[0]))))
    functions: dict[str, Mapping[Row, str]] = {
        BOSS.name: alike.functions[BOSS.name],
        SPARE.name: {(): draw(st.sampled_from(parties))},
        HOME.name: dict(zip(((party,) for party in parties), homes, strict=False)),
    }
    return replace(alike, elements={PARTY.name: parties}, functions=functions)


@functools.cache
@st.composite
def alike_samples(draw: st.DrawFn) -> Sample:
    """Draw a protocol on such an instance; some have no keys, and symbols that relate parties to parties."""
    sample = draw(samples())
    if draw(st.booleans()):
        return replace(sample, instance=draw(alike_instances(sample.instance)))
    return Sample(
        replace(merged(sample.protocol), sorts=(PARTY, PHASE)),
        draw(paired_instances(sample.instance)),
        merged(sample.invariants),
        merged(sample.goals),
    )


class Explored(NamedTuple):
    """What a search found, and for how many states those that it found stand, if any do for others."""

    found: Exploration
    represented: int | None


def explored(
    sample: Sample,
    *,
    symmetric: bool,
    reduce: bool,
    most: int | None = None,
    packed: Callable[..., PackedSearch] = PackedSearch,
) -> Explored:
    """Explore a sample with or without each of the reductions; traces leave deductions out."""
    judge = Interpreter(sample.protocol, sample.instance)
    model = build(judge, sample.invariants, sample.goals, reduce=reduce, symmetric=symmetric)
    watch = Watch(Caps(states=most))
    found = search(sample.protocol, packed(model, watch, enough=0, dominance=reduce))
    for traces, bodies in ((found.violations, sample.invariants), (found.goals, sample.goals)):
        for body in bodies:
            if body.name in traces:
                require_true(judge, sample, body.name, traces[body.name])
    return Explored(found, found.reduction.get("states_stood_for"))


def require_true(judge: Interpreter, sample: Sample, name: str, trace: Trace) -> None:
    """Require that the interpreter can take the steps of a trace, and finds what it leads to."""
    final = judge.replay(trace)[-1]
    broken = [each for each in sample.invariants if each.name == name]
    reached = [each for each in sample.goals if each.name == name]
    assert all(judge.counterexample(each, final) is not None for each in broken)
    assert all(judge.witness(each.params, each.body, final) is not None for each in reached)


def lengths(traces: Mapping[str, Trace], rules: Collection[str] = ()) -> dict[str, int]:
    """Return how many steps each trace has, those of rules aside."""
    return {name: sum(step.action not in rules for step in trace.steps) for name, trace in traces.items()}


def said(found: Exploration) -> tuple[object, ...]:
    """Return what has to be the same with and without symmetry."""
    taken = {name for name, count in found.fired.items() if count}
    return found.depth, found.stopped_by, lengths(found.violations), lengths(found.goals), taken
