"""Preconditions, obligations and proofs by induction agree with what steps do."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import pytest
import z3
from hypothesis import HealthCheck, Phase, assume, find, given, settings
from hypothesis import strategies as st

from carnet_check.engines.exploration import Caps
from carnet_check.engines.induction import SolverOutcome, houdini, prove
from carnet_check.engines.induction.counterexample import Structure, counterexample
from carnet_check.engines.induction.obligations import after_updates, with_constants
from carnet_check.exports.obligation_text import Writer
from carnet_check.obligations import Obligation, layers, obligations
from carnet_check.reserved_symbols import Purpose, stand_in, switch
from carnet_check.semantics import Interpreter, State
from carnet_spec.language import Action, Claim, Draft, Effect, Instance, Invariant, Protocol, Symbol, Term, Update
from carnet_spec.language.decoding import decode
from carnet_spec.language.terms import TRUE, Equal, Exists, Forall, IfThenElse, Not, Var, subterms
from tests.fixtures.interpreted import interpreted
from tests.fixtures.thorough import share
from tests.property import random_protocols
from tests.property.random_protocols import KEY, PARTY, PHASE, SYMBOLS, Sample, samples

RELATIONS = [symbol for symbol in SYMBOLS if symbol.mutable and symbol.is_relation]
FUNCTIONS = [symbol for symbol in SYMBOLS if symbol.mutable and not symbol.is_relation]

Transformer = Callable[[Iterable[Update]], Callable[[Term], Term]]
relaxed = settings(max_examples=share(500), suppress_health_check=[HealthCheck.too_slow])
search = settings(max_examples=3_000, phases=[Phase.generate], suppress_health_check=list(HealthCheck))


@dataclass(frozen=True)
class Case:
    """A step in an arbitrary state, reachable or not, and a closed formula to evaluate after it."""

    action: Action
    env: dict[str, str]
    instance: Instance
    before: State
    formula: Term

    @property
    def protocol(self) -> Protocol:
        return replace(Draft("small", "Small").protocol(), actions=(self.action,), symbols=SYMBOLS)

    def judge(self) -> Interpreter:
        """The interpreter, with the constants that stand for parameters given their values."""
        functions = dict(self.instance.functions)
        for param in self.action.params:
            functions[stand_in(Purpose.PARAMETER, param).symbol.name] = {(): self.env[param.name]}
        return Interpreter(self.protocol, replace(self.instance, functions=functions))

    def after(self) -> State:
        """The state after the step, as the judge sees it."""
        return self.judge().fire(self.before, self.action, self.env)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Draw a step without guards, a state, and a formula whose variables may be called like parameters."""
    params = tuple(
        Var(name, draw(st.sampled_from((PARTY, KEY)))) for name in ("party.0", "key.0")[: draw(st.integers(0, 2))]
    )
    changes = tuple(
        replace(draw(random_protocols.updates(f"update {n}", params)), defence=draw(st.sampled_from((None, "shield"))))
        for n in range(draw(st.integers(1, 3)))
    )
    action = Action("act", random_protocols.ANYONE, params, (), changes, "act", "random")
    instance = draw(random_protocols.instances(Case(action, {}, Instance({}), State({}, {}), TRUE).protocol))
    instance = replace(instance, pools={}, budget=None)

    def rows(symbol: Symbol) -> list[tuple[str, ...]]:
        return list(itertools.product(*(instance.of(sort) for sort in symbol.domain)))

    relations = {symbol.name: draw(st.frozensets(st.sampled_from(rows(symbol)))) for symbol in RELATIONS}
    functions = {
        symbol.name: {row: draw(st.sampled_from(instance.of(symbol.result))) for row in rows(symbol)}
        for symbol in FUNCTIONS
    }
    env = {param.name: draw(st.sampled_from(instance.of(param.sort))) for param in params}
    formula = draw(st.one_of(random_protocols.formulas(()), _about(changes[-1].symbol)))
    return Case(action, env, instance, State(relations, functions), formula)


@st.composite
def _about(draw: st.DrawFn, symbol: Symbol) -> Term:
    """Draw a formula that reads ``symbol`` for certain, under a quantifier as often as not."""
    bound = tuple(Var(f"{sort.name.lower()}.{n}", sort) for n, sort in enumerate(symbol.domain))
    scope = bound if draw(st.booleans()) else ()
    read = draw(random_protocols.applications(symbol, scope))
    said = read if symbol.is_relation else Equal(read, draw(random_protocols.individuals(symbol.result, scope)))
    if not scope:
        return said
    return Forall(scope, said) if draw(st.booleans()) else Exists(scope, said)


def _agrees(case: Case, transformer: Transformer = after_updates) -> bool:
    precondition = transformer(with_constants(case.action).updates)(case.formula)
    judge = case.judge()
    return judge.holds(precondition, case.before) == judge.holds(case.formula, case.after())


@given(cases())
@relaxed
def test_the_precondition_holds_before_exactly_if_the_formula_holds_after(case: Case) -> None:
    assert _agrees(case)


@given(cases(), st.booleans())
@relaxed
def test_a_switch_that_is_off_is_an_update_that_does_not_happen(case: Case, on: bool) -> None:
    switched = after_updates(with_constants(case.action).updates, switches=True)(case.formula)
    judge = case.judge()
    flags = {switch(update).symbol.name: frozenset({()} if on else ()) for update in case.action.updates}
    told = replace(judge.instance, relations={**judge.instance.relations, **flags})
    kept = tuple(update for update in case.action.updates if on or update.defence is None)
    after = judge.fire(case.before, replace(case.action, updates=kept), case.env)
    assert Interpreter(case.protocol, told).holds(switched, case.before) == judge.holds(case.formula, after)


@given(cases())
@relaxed
def test_a_structure_is_the_state_that_the_judge_goes_on_from(case: Case) -> None:
    """The constants that stand for parameters come back as arguments; what the judge makes of them is the same."""
    found = _structure(case)
    judge = Interpreter(case.protocol, found.instance(case.protocol))
    assert found.state(case.protocol) == case.before
    assert found.elements_for(Purpose.PARAMETER, case.action.params) == case.env
    after = judge.fire(
        found.state(case.protocol), case.action, found.elements_for(Purpose.PARAMETER, case.action.params)
    )
    assert after == case.after() == found.with_state(after).state(case.protocol)
    assert judge.holds(case.formula, after) == case.judge().holds(case.formula, case.after())


def _structure(case: Case) -> Structure:
    told = case.judge().instance
    rigid = [symbol for symbol in SYMBOLS if not symbol.mutable]
    rigid += [stand_in(Purpose.PARAMETER, param).symbol for param in case.action.params]
    relations = {symbol: case.before.relations[symbol.name] for symbol in RELATIONS}
    functions = {symbol: case.before.functions[symbol.name] for symbol in FUNCTIONS}
    for symbol in rigid:
        if symbol.is_relation:
            relations[symbol] = frozenset(told.relations[symbol.name])
        else:
            functions[symbol] = told.functions[symbol.name]
    return Structure(told.elements, relations, functions)


def _everywhere(update: Update) -> Update:
    """Change every tuple, whatever the arguments say."""
    if not update.symbol.is_relation:
        return update
    each = tuple(Var(f"place{number}", sort) for number, sort in enumerate(update.symbol.domain))
    return replace(update, args=each, each=each, when=TRUE)


# Ways to get the frame wrong. Each has to be noticed, or the tests above could not fail.
MISTAKES: dict[str, Callable[[list[Update]], list[Update]]] = {
    "conditions are forgotten": lambda listed: [replace(update, when=TRUE) for update in listed],
    "an update reaches every tuple": lambda listed: [_everywhere(update) for update in listed],
    "a removal inserts": lambda listed: [
        replace(u, effect=Effect.INSERT) if u.effect is Effect.REMOVE else u for u in listed
    ],
    "the last update is lost": lambda listed: listed[:-1],
    "updates apply backwards": lambda listed: listed[::-1],
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_frame_is_noticed(mistake: str) -> None:
    def broken(listed: Iterable[Update]) -> Callable[[Term], Term]:
        return after_updates(MISTAKES[mistake](list(listed)))

    find(cases(), lambda case: not _agrees(case, broken), settings=search)


# -- obligations say what the judge says -----------------------------------------------------------------


RLIMIT = 2_000_000
few = settings(max_examples=share(150), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
few = settings(few, max_examples=15)  #: Whole protocols take long to draw.


def _is_certified(protocol: Protocol) -> bool:
    """Whether no value is chosen by a condition, which random protocols do and the certified language does not."""
    values = [update.value for action in protocol.actions for update in action.updates if update.value is not None]
    return not any(isinstance(sub, IfThenElse) for value in values for sub in subterms(value))


def _goal(obligation: Obligation) -> Term:
    assert isinstance(obligation.goal.formula, Not)
    return obligation.goal.formula.body


@given(cases().filter(lambda case: _is_certified(case.protocol)))
@few
def test_what_is_asked_of_a_step_holds_before_exactly_if_the_claim_holds_after(case: Case) -> None:
    stated = replace(case.protocol, lemmas=(Invariant("it", (), case.formula),), sorts=(PARTY, KEY, PHASE))
    _, step = obligations(layers(stated)[0])
    judge = case.judge()
    assert judge.holds(_goal(step), case.before) == judge.holds(case.formula, case.after())
    assert step.skipped == (_goal(step) == step.statement.hypothesis.formula)


@given(samples())
@settings(few, max_examples=share(40))
def test_what_is_asked_of_the_first_state_is_what_the_claim_says_there(sample: Sample) -> None:
    protocol = replace(sample.protocol, actions=(), lemmas=sample.invariants)
    judge = Interpreter(protocol, sample.instance)
    for obligation in obligations(layers(protocol)[0]):
        assert judge.holds(_goal(obligation), judge.start()) == judge.holds(obligation.invariant.formula, judge.start())


def _answer(text: str) -> str:
    solver = z3.Solver()
    solver.set("rlimit", RLIMIT)
    solver.from_string(text)
    return str(solver.check())


@given(samples().filter(lambda sample: _is_certified(sample.protocol)))
@few
def test_a_solver_that_reads_the_texts_answers_as_the_proof_engine_does(sample: Sample) -> None:
    claims = tuple(Claim(each.name, each, "says", "REQ", "random", ()) for each in sample.invariants)
    protocol = replace(sample.protocol, claims=claims)
    result = prove(protocol, jobs=1, rlimit=RLIMIT)
    texts = Writer()
    said = {SolverOutcome.PROVED: "unsat", SolverOutcome.REFUTED: "sat"}
    answered = {answer.id: said.get(answer.outcome, "unknown") for answer in result.answers.values()}
    for obligation in obligations(layers(protocol)[0]):
        read = _answer(texts.text(obligation))
        expected = answered.get(obligation.id, "unsat")
        assert read == expected or "unknown" in (read, expected), obligation.id


@given(samples())
@few
def test_a_protocol_is_read_back_from_its_encoding(sample: Sample) -> None:
    protocol = replace(sample.protocol, lemmas=sample.invariants, goals=sample.goals)
    read = decode(protocol.canonical_json)
    assert set(read.symbols) == set(SYMBOLS)
    assert set(read.sorts) == set(protocol.sorts)
    assert replace(read, symbols=protocol.symbols, sorts=protocol.sorts) == protocol
    assert read.canonical_json == protocol.canonical_json
    assume(_is_certified(protocol))
    ours, theirs = ([Writer().text(each) for each in obligations(layers(p)[0])] for p in (protocol, read))
    assert ours == theirs


# -- induction and exploration never contradict one another, on random protocols -------------------------


BUDGET = 2_000_000
fewest = settings(max_examples=share(60), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def _claiming(sample: Sample) -> Protocol:
    claims = tuple(Claim(each.name, each, "says", "REQ", "random", ()) for each in sample.invariants)
    return replace(sample.protocol, claims=claims)


def _violated(sample: Sample) -> set[str]:
    found = interpreted(sample.protocol, sample.instance, invariants=sample.invariants, caps=Caps(states=200))
    return set(found.violations)


@pytest.mark.long
@given(samples())
@fewest
def test_what_is_proved_is_never_violated(sample: Sample) -> None:
    protocol = _claiming(sample)
    result = prove(protocol, jobs=1, rlimit=BUDGET)
    proved = {claim.name for claim in protocol.claims if result.claim(claim.name).is_proved}
    survived = houdini(protocol, jobs=1, rlimit=BUDGET, baselines=[result])
    assert proved <= set(survived.surviving)
    assume(survived.surviving)
    assert not _violated(sample) & set(survived.surviving)


@given(samples())
@fewest
def test_every_refutation_has_a_state_that_shows_it(sample: Sample) -> None:
    """The state is checked by evaluation before it is returned."""
    protocol = _claiming(sample)
    result = prove(protocol, jobs=1, rlimit=BUDGET)
    refuted = [answer.id for answer in result.failures if answer.outcome is SolverOutcome.REFUTED]
    assume(refuted)
    found = counterexample(result.obligations[refuted[0]], BUDGET)
    assert found is not None
    assert refuted[0] in found.text()
