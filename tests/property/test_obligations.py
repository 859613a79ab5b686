"""Obligations say what the judge says, and solvers answer about their texts as the proof engine does."""

from __future__ import annotations

from dataclasses import replace

import z3
from hypothesis import HealthCheck, assume, given, settings

from carnet_check.engines.induction import SolverOutcome, prove
from carnet_check.exports.obligation_text import Writer
from carnet_check.obligations import Obligation, layers, obligations
from carnet_check.semantics import Interpreter
from carnet_spec.language import Claim, Invariant, Protocol, Term
from carnet_spec.language.decoding import decoded
from carnet_spec.language.terms import IfThenElse, Not, subterms
from tests.fixtures.thorough import share
from tests.property.random_protocols import KEY, PARTY, PHASE, SYMBOLS, Sample, samples
from tests.property.test_preconditions import Case, cases

RLIMIT = 2_000_000
relaxed = settings(max_examples=share(150), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
few = settings(relaxed, max_examples=15)
"""Whole protocols take long to draw."""


def _is_certified(protocol: Protocol) -> bool:
    """Whether no value is chosen by a condition, which random protocols do and the certified language does not."""
    values = [update.value for action in protocol.actions for update in action.updates if update.value is not None]
    return not any(isinstance(sub, IfThenElse) for value in values for sub in subterms(value))


def _goal(obligation: Obligation) -> Term:
    assert isinstance(obligation.goal.formula, Not)
    return obligation.goal.formula.body


@given(cases().filter(lambda case: _is_certified(case.protocol)))
@relaxed
def test_what_is_asked_of_a_step_holds_before_exactly_if_the_claim_holds_after(case: Case) -> None:
    stated = replace(case.protocol, lemmas=(Invariant("it", (), case.formula),), sorts=(PARTY, KEY, PHASE))
    _, step = obligations(layers(stated)[0])
    judge = case.judge()
    assert judge.holds(_goal(step), case.before) == judge.holds(case.formula, case.after())
    assert step.skipped == (_goal(step) == step.statement.hypothesis.formula)


@given(samples())
@settings(relaxed, max_examples=share(40))
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
    read = decoded(protocol.encoded)
    assert set(read.symbols) == set(SYMBOLS)
    assert set(read.sorts) == set(protocol.sorts)
    assert replace(read, symbols=protocol.symbols, sorts=protocol.sorts) == protocol
    assert read.encoded == protocol.encoded
    assume(_is_certified(protocol))
    ours, theirs = ([Writer().text(each) for each in obligations(layers(p)[0])] for p in (protocol, read))
    assert ours == theirs
