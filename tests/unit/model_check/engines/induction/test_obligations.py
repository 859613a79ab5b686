"""From obligations to the solver: which there are, what they say, and what counts as an answer."""

import itertools
import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest
import z3

from carnet_check.engines.induction import obligations, prove, solving
from carnet_check.engines.induction.obligations import (
    after_updates,
    at_start,
    both,
    choose,
    either,
    equal,
    implication,
    simplify,
)
from carnet_check.engines.induction.solving import (
    BATCH,
    DEFAULT_RLIMIT,
    SPENT,
    Batch,
    Budget,
    Question,
    Workers,
    ask,
    solve,
)
from carnet_check.engines.proving.composition import SolverAnswer, SolverOutcome
from carnet_check.engines.proving.solver import solver_version
from carnet_check.exports.smtlib import Declarations, Statement, quote_symbol, statement
from carnet_check.semantics import Interpreter, State
from carnet_spec.language import *
from carnet_spec.language.notation import show
from carnet_spec.language.terms import BOOL, FALSE, TRUE, Equal, Exists, Forall, IfThenElse, Implies, Member, Var
from tests.unit.model_check.engines.induction.lessons import blamed, draft, knows, teacher
from tests.unit.model_check.small import *
from tests.unit.model_check.steps import draw_two

pytestmark = pytest.mark.processes

LESSON = draft().protocol()


class Int(Individual):
    """A sort with an unfortunate name."""


def _ids(threat: str | None = None) -> list[str]:
    return [each.id for each in obligations(LESSON, LESSON.threat(threat) if threat else None)]


def test_every_invariant_is_proved_at_first_and_for_steps_that_it_reads() -> None:
    assert "step/tell/quiet" in _ids()
    assert "step/learn/secrecy" in _ids()
    assert "step/tell/secrecy" not in _ids()
    assert "step/learn/told_are_honest" not in _ids()
    assert {id for id in _ids() if id.startswith("init/")} == {
        f"init/{name}" for name in ("secrecy", "quiet", "wrong", "told_are_honest")
    }


def test_what_is_limited_to_a_threat_model_is_proved_and_used_there_alone() -> None:
    assert not [id for id in _ids() if "no-blame" in id]
    assert not [id for id in _ids("anyone") if "no-blame" in id]
    assert "step/blame/no-blame" in _ids("honest")
    general = obligations(LESSON)[-1]
    assert "inv:no-blame" not in general.shared_hypotheses
    assert not [name for name in general.shared_hypotheses if name.startswith("threat:")]
    limited = draft()

    @limited.lemma_under("honest")
    def nobody_is_blamed() -> Formula:
        return ~blamed(teacher)

    protocol = limited.protocol()
    assert "init/nobody_is_blamed" not in {each.id for each in obligations(protocol)}
    assert "init/nobody_is_blamed" in {each.id for each in obligations(protocol, protocol.threat("honest"))}


def test_the_goal_is_the_precondition_at_arbitrary_constants() -> None:
    (goal,) = [each.goal for each in obligations(LESSON) if each.id == "step/tell/quiet"]
    assert show(goal) == "mood = CROSS → ¬(told($any.x.Person) ∨ $any.x.Person = $par.to.Person)"


def test_values_that_one_step_draws_differ() -> None:
    protocol = claimed(drafted(draw_two), apart=lambda: forall(lambda k: ~paired(k, k), Key))
    step = next(each for each in obligations(protocol) if each.action is not None)
    assert show(step.own["fresh:values differ"]) == "$par.one.Key ≠ $par.other.Key"
    assert prove(protocol, jobs=1).claim("apart").is_proved


def test_a_file_stands_on_its_own_and_says_what_it_is() -> None:
    (obligation,) = [each for each in obligations(LESSON) if each.id == "step/tell/told_are_honest"]
    text = obligation.smtlib()
    assert text.startswith("; lesson, variant main\n; obligation step/tell/told_are_honest")
    assert "(set-logic ALL)" in text
    assert ":named guard:screened" in text.replace("|", "")
    assert "(get-unsat-core)" in text
    solver = z3.Solver(ctx=z3.Context())
    solver.from_string(text.partition("(check-sat)")[0])
    assert str(solver.check()) == "unsat"


def test_words_of_smt_lib_are_ordinary_names_in_a_specification() -> None:
    told = relation("and", Int, kind=Kind.MESSAGE)
    clumsy = Draft("clumsy", "Clumsy")

    @clumsy.action(by=Role("writer"), says="s", source="s")
    def let(step: Step, forall: Int) -> None:
        step.insert(told(forall), name="odd name: (1)")

    @clumsy.claim(name="select store", sentence="s", requirement="R", source="s", under=())
    def _(exists: Int) -> Formula:
        return ~told(exists)

    for each in obligations(clumsy.protocol()):
        solver = z3.Solver(ctx=z3.Context())
        solver.from_string(each.smtlib().partition("(check-sat)")[0])
        assert str(solver.check()) == ("unsat" if each.action is None else "sat")


def test_names_that_cannot_be_written_or_mean_two_things_are_refused() -> None:
    with pytest.raises(SpecificationError, match="contains"):
        quote_symbol("a|b")
    declarations = Declarations()
    declarations.sort(Sort("Phase", ("A", "B")))
    with pytest.raises(SpecificationError, match="Phase"):
        declarations.sort(Sort("Phase", ("A",)))
    declarations.symbol(Symbol("told", (), BOOL, Kind.STATE, mutable=True))
    with pytest.raises(SpecificationError, match="told"):
        declarations.symbol(Symbol("told", (Sort("Key"),), BOOL, Kind.STATE, mutable=True))
    twice = draft()

    @twice.lemma
    def quiet() -> Formula:
        return ~knows(teacher)

    with pytest.raises(SpecificationError, match="quiet"):
        obligations(twice.protocol())


def _ahead_at_first(a: Party, b: Party) -> Formula:
    return before(a, b)


def meet(step: Step, a: Party, b: Party) -> None:
    step.require("ahead", ahead(a, b))
    step.insert(ahead(a, b))


def test_an_initial_value_holds_of_its_arguments_in_their_order_and_of_no_others() -> None:
    draft = drafted(meet)
    draft.initially(ahead, _ahead_at_first)
    protocol = draft.protocol()
    start = at_start(protocol.initial, protocol.symbols)
    assert show(start(ahead(alice, bob).term)) == "before(alice, bob)"
    assert show(start(ahead(bob, alice).term)) == "before(bob, alice)"
    draft = drafted(meet)
    draft.axiom("one way", before(alice, bob) & ~before(bob, alice))
    draft.initially(ahead, _ahead_at_first)
    protocol = claimed(draft, forth=lambda: ahead(alice, bob), back=lambda: ahead(bob, alice))
    proof = prove(protocol, jobs=1)
    assert [proof.claim(name).is_proved for name in ("forth", "back")] == [True, False]


def test_the_last_update_of_a_symbol_counts_and_all_read_the_state_before() -> None:
    def turn(step: Step) -> None:
        step.insert(first)
        step.remove(first, when=second, name="last")
        step.insert(second, when=first)

    protocol = drafted(turn).protocol()
    after = after_updates(protocol.action("turn").updates)
    judge = Interpreter(protocol, Instance({}))
    for one, other in ((False, False), (False, True), (True, False), (True, True)):
        state = State({"first": _flag(one), "second": _flag(other)}, {})
        assert judge.holds(after(first.term), state) is (not other)
        assert judge.holds(after(second.term), state) is (one or other)


def _flag(holds: bool) -> frozenset[tuple[str, ...]]:
    return frozenset({()} if holds else ())


A, B = first.term, second.term
X = Var("x", Party.sort)


def touch(step: Step, a: Party) -> None:
    step.require("mentioned", first | second | (last == a) | (phase == Phase.LATE))
    step.insert(seen(a))


JUDGE = Interpreter(drafted(touch).protocol(), Instance({"Party": ("p1", "p2")}))


def _states() -> Iterator[State]:
    rows = [frozenset[tuple[str, ...]](), frozenset({()})]
    for one, other, at, some in itertools.product(rows, rows, ("p1", "p2"), (set(), {("p1",)}, {("p1",), ("p2",)})):
        relations = {"first": one, "second": other, "seen": frozenset(some)}
        yield JUDGE.start().with_values(relations, {"last": {(): at}, "phase": {(): "LATE"}})


def _mean_the_same(one: Term, other: Term) -> bool:
    envs = [{"x": party} for party in ("p1", "p2")]
    return all(JUDGE.holds(one, s, env) is JUDGE.holds(other, s, env) for s in _states() for env in envs)


LATE, EARLY, HERE = (phase == Phase.LATE).term, Member(Phase.sort, "EARLY"), last.term
PARTS: list[Term] = [TRUE, FALSE, A, B, (~first).term, LATE]


def test_connectives_and_choices_fold_and_mean_what_they_are_called() -> None:
    for one, other in itertools.product(PARTS, repeat=2):
        assert _mean_the_same(both(one, other), (Formula(one) & Formula(other)).term)
        assert _mean_the_same(either(one, other), (Formula(one) | Formula(other)).term)
        assert _mean_the_same(implication(one, other), Implies(one, other))
        for test in PARTS:
            assert _mean_the_same(choose(test, one, other), IfThenElse(test, one, other))
    chosen = IfThenElse(A, HERE, X)
    for one, other in ((chosen, X), (X, chosen), (chosen, chosen)):
        assert _mean_the_same(equal(one, other), Equal(one, other))


@pytest.mark.parametrize(
    ("term", "folded"),
    [
        (equal(HERE, HERE), TRUE),
        (equal(EARLY, Member(Phase.sort, "LATE")), FALSE),
        (both(A, A), A),
        (both(A, FALSE), FALSE),
        (either(A, TRUE, B), TRUE),
        (implication(FALSE, A), TRUE),
        (implication(A, A), TRUE),
        (choose(A, B, B), B),
        (choose(A, TRUE, FALSE), A),
    ],
    ids=str,
)
def test_what_is_decided_on_sight_is_folded(term: Term, folded: Term) -> None:
    assert term == folded


SPOKEN: list[Formula] = [
    (first & true) | false,
    implies(first | ~first, second),
    ~(~first & true),
    forall(lambda a: seen(a) & true, Party),
    exists(lambda a: (a == a) & seen(a), Party),  # noqa: PLR0124 # that is the point
    forall(lambda a: implies(false, seen(a)), Party),
    exists(lambda a: seen(a) & false, Party),
]


@pytest.mark.parametrize("formula", SPOKEN, ids=range(len(SPOKEN)))
def test_simplifying_keeps_the_meaning(formula: Formula) -> None:
    assert _mean_the_same(simplify(formula.term), formula.term)


def test_constants_are_folded_and_quantifiers_dropped_where_an_empty_sort_agrees() -> None:
    """For all of nothing is true and for some of nothing is false, so the other two stay."""
    assert simplify(forall(lambda a: implies(false, seen(a)), Party).term) == TRUE
    assert simplify(exists(lambda a: seen(a) & false, Party).term) == FALSE
    assert simplify((~(~first & true)).term) == A
    assert simplify(Forall((X,), FALSE)) == Forall((X,), FALSE)
    assert simplify(Exists((X,), TRUE)) == Exists((X,), TRUE)


DECLARED = Declarations()


def _said(name: str, formula: Formula) -> Statement:
    return statement(name, formula.term, DECLARED)


HYPOTHESES = {
    "inv:one": _said("inv:one", first),
    "inv:both": _said("inv:both", first & second),
    "inv:beside": _said("inv:beside", third),
}


def _batch(goal: Formula, *attempts: tuple[str, ...], avoid: tuple[str, ...] = (), **options: object) -> Batch:
    question = Question("step/act/goal", _said("goal", ~goal), (_said("guard:own", ~third),), attempts, avoid)
    return Batch(DECLARED, HYPOTHESES, (question,), **options)  # type: ignore[arg-type] # rlimit or minimise


EVERY = ("inv:one", "inv:both")


def test_a_contradiction_is_a_proof_and_a_model_a_refutation() -> None:
    (answer,) = solve(_batch(second, EVERY))
    assert (answer.outcome, answer.core, answer.attempt) == (SolverOutcome.PROVED, ("inv:both",), 0)
    (answer,) = solve(_batch(third, EVERY))
    assert (answer.outcome, answer.core) == (SolverOutcome.REFUTED, ())
    (answer,) = solve(_batch(first))
    assert (answer.outcome, answer.reason) == (SolverOutcome.UNKNOWN, "nothing was tried")


def test_attempts_go_on_until_one_proves_it() -> None:
    (answer,) = solve(_batch(second, ("inv:one",), (), EVERY))
    assert (answer.outcome, answer.attempt) == (SolverOutcome.PROVED, 2)
    (answer,) = solve(_batch(first, ("inv:one",), ("no such hypothesis",)))
    assert (answer.outcome, answer.attempt, answer.core) == (SolverOutcome.PROVED, 0, ("inv:one",))
    assert [next(solve(_batch(~third, names))).outcome for names in (("guard:own",), EVERY)] == [
        SolverOutcome.PROVED,
        SolverOutcome.REFUTED,
    ]


def test_a_core_does_without_what_is_to_be_avoided_if_that_is_possible() -> None:
    (avoided,) = solve(_batch(first, EVERY, avoid=("inv:both",), minimise=True))
    assert avoided.core == ("inv:one",)
    (needed,) = solve(_batch(second, EVERY, avoid=("inv:both",), minimise=True))
    assert (needed.outcome, needed.core) == (SolverOutcome.PROVED, ("inv:both",))


def test_questions_are_answered_in_order_and_know_nothing_of_each_other() -> None:
    contradictory = Question("one", _said("goal", first & ~first), (), ((),))
    harmless = Question("other", _said("goal", first), (), ((),))
    answers = solve(Batch(DECLARED, {}, (contradictory, harmless, contradictory)))
    assert [(answer.id, answer.outcome) for answer in answers] == [
        ("one", SolverOutcome.PROVED),
        ("other", SolverOutcome.REFUTED),
        ("one", SolverOutcome.PROVED),
    ]


def test_the_solver_says_which_one_it_is_and_puts_no_goal_into_a_core() -> None:
    outcome, core, _ = ask("(declare-fun p () Bool)\n(assert (! p :named goal))\n(assert (! (not p) :named |h|))")
    assert (outcome, core) == (SolverOutcome.PROVED, ("h",))
    name, version = solver_version().split()
    assert name == "Z3"
    assert version[0].isdigit()


def test_the_budget_counts_for_each_question_anew() -> None:
    """All questions of a batch share a context; what earlier ones took is not taken off."""
    one = _pigeons(6)
    enough = next(units for units in range(1_000, 1_000_000, 1_000) if _proved(replace(one, rlimit=units)) == 1)
    assert enough > 2_000
    assert _proved(replace(one, rlimit=2 * enough, questions=one.questions * 8)) == 8


@pytest.mark.parametrize(("rlimit", "proved"), [(DEFAULT_RLIMIT, 8), (1_000, 0)])
def test_what_takes_much_work_is_asked_alone_with_all_of_its_budget(rlimit: int, proved: int) -> None:
    one = _pigeons(6)
    together = next(solve(one)).units
    with patch.object(solving, "SHARED_RLIMIT", 1):
        answers = list(solve(replace(one, rlimit=rlimit, questions=one.questions * 8)))
    assert sum(each.outcome is SolverOutcome.PROVED for each in answers) == proved
    assert all(each.units < 2 * together for each in answers)
    assert len({each.units for each in answers[1:]}) == 1


def test_questions_that_share_a_budget_are_unknown_when_it_is_spent() -> None:
    one = _pigeons(6)
    names = [f"pigeons{number}" for number in range(6)]
    many = replace(one, questions=tuple(replace(one.questions[0], id=name) for name in names), minimise=True)
    budget = Budget(5 * next(iter(solve(many))).units // 2)
    with Workers(1, budget=budget) as workers:
        answers = list(workers.answers(many))
        later = list(workers.answers(one))
    assert [each.id for each in answers] == names
    assert [each.outcome for each in answers[:2]] == [SolverOutcome.PROVED] * 2
    assert {(each.outcome, each.reason) for each in (*answers[3:], *later)} == {(SolverOutcome.UNKNOWN, SPENT)}
    assert budget.is_spent


def test_a_spent_budget_is_not_taken_for_no_limit() -> None:
    assert Budget(0).rlimit(1_000) == Budget(-5).rlimit(1_000) == 1
    assert Budget(700).rlimit(1_000) == 700
    assert Budget().rlimit(1_000) == 1_000


def _proved(batch: Batch) -> int:
    return sum(answer.outcome is SolverOutcome.PROVED for answer in solve(batch))


def _pigeons(count: int) -> Batch:
    """Ask for a proof that so many pigeons do not fit into holes of which there is one less: it takes some work."""
    declared, holes = Declarations(), range(count - 1)
    names = [[f"p{pigeon}.{hole}" for hole in holes] for pigeon in range(count)]
    declared.functions.update((name, f"(declare-fun {name} () Bool)") for row in names for name in row)
    sits = [f"(or {' '.join(row)})" for row in names]
    apart = [f"(not (and {one[hole]} {two[hole]}))" for one, two in itertools.combinations(names, 2) for hole in holes]
    goal = Statement("goal", f"(and {' '.join((*sits, *apart))})", tuple(itertools.chain(*names)))
    return Batch(declared, {}, (Question("pigeons", goal, (), ((),)),))


GOAL = statement("goal", first.term, Declarations())


def _batch_of(count: int) -> Batch:
    """Make questions whose texts differ, with one hypothesis or none."""
    own = [(Statement(f"own:{number}", "true", ()),) for number in range(count)]
    questions = (Question(f"q{number}", GOAL, said, ((said[0].name,), ())) for number, said in enumerate(own))
    return Batch(Declarations(), {}, tuple(questions))


def _told(batch: Batch) -> list[SolverAnswer]:
    """Answer each question with the process that was asked and how many were asked at once."""
    reason = f"{os.getpid()} {len(batch.questions)}"
    return [SolverAnswer(question.id, SolverOutcome.UNKNOWN, reason=reason) for question in batch.questions]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave the folder of these solvers: workers import nothing from the current one."""
    monkeypatch.chdir(tmp_path)


def test_one_job_is_one_other_process() -> None:
    with Workers(1, solver=_told) as workers:
        answers = list(workers.answers(_batch_of(8)))
    assert [answer.id for answer in answers] == [f"q{number}" for number in range(8)]
    (told,) = {answer.reason for answer in answers}
    assert told.endswith(" 8")
    assert not told.startswith(f"{os.getpid()} ")


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_asked_together_does_not_depend_on_the_workers(jobs: int) -> None:
    with Workers(jobs, solver=_told) as workers:
        answers = list(workers.answers(_batch_of(BATCH + 3)))
    assert sorted(answer.reason.split()[1] for answer in answers) == ["3"] * 3 + [str(BATCH)] * BATCH


def _proving(batch: Batch) -> list[SolverAnswer]:
    """Prove what is asked at the first attempt, but for the questions that are called so."""
    return [_proof(question.id, len(batch.questions)) for question in batch.questions]


def _proof(id: str, asked: int) -> SolverAnswer:
    if id.startswith("late"):
        return SolverAnswer(id, SolverOutcome.PROVED, ("inv:other",), attempt=1, reason=str(asked))
    if id.startswith("never"):
        return SolverAnswer(id, SolverOutcome.REFUTED, attempt=1, reason=str(asked))
    return SolverAnswer(id, SolverOutcome.PROVED, ("own:0",), attempt=0, reason=str(asked))


def _same(*ids: str) -> Batch:
    """Make questions that begin with one text, and end with texts of their own."""
    (question,) = _batch_of(1).questions
    return replace(_batch_of(1), questions=tuple(replace(question, id=id) for id in ids))


def test_a_text_that_was_proved_is_not_asked_again() -> None:
    with Workers(1, solver=_proving) as workers:
        first, second = workers.answers(_same("first", "second"))
        (third,) = workers.answers(_same("third"))
    assert first.reason == "1"
    assert (second, third) == tuple(
        SolverAnswer(id, SolverOutcome.PROVED, ("own:0",), attempt=0) for id in ("second", "third")
    )


@pytest.mark.parametrize("kind", ["late", "never"])
def test_what_took_more_than_its_first_text_says_nothing_of_another_question(kind: str) -> None:
    with Workers(1, solver=_proving) as workers:
        answers = {each.id: each for each in workers.answers(_same(kind, f"{kind} too", "first"))}
    assert set(answers) == {kind, f"{kind} too", "first"}
    assert [answers[id].attempt for id in (kind, f"{kind} too", "first")] == [1, 1, 0]


def test_texts_that_differ_in_a_declaration_alone_are_two() -> None:
    """The same words may speak of other sorts in another protocol."""
    (question,) = _batch_of(1).questions
    said = GOAL._replace(symbols=("now.f",))
    asked = []
    for sort in ("sort.A", "sort.B"):
        declarations = Declarations()
        declarations.functions["now.f"] = f"(declare-fun now.f ({sort}) Bool)"
        asked.append(Batch(declarations, {}, (replace(question, goal=said),)))
    with Workers(1, solver=_proving) as workers:
        reasons = [answer.reason for batch in asked for answer in workers.answers(batch)]
    assert reasons == ["1", "1"]


def test_at_least_one_job_is_needed() -> None:
    with pytest.raises(ValueError, match="at least one job is needed, not 0"):
        Workers(0)
