"""Bounded model checking: attacks as short as the explorer's, replayed, and no more is said than was answered."""

import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest

from carnet_check.engines.bounded import questions
from carnet_check.engines.bounded.engine import BMC, DEFAULT_RLIMIT
from carnet_check.engines.bounded.questions import ClaimStatus, FoundRun, Questions
from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.exploring.searches import moves
from carnet_check.engines.induction.engine import Induction
from carnet_check.engines.interface import Engine, EngineResult, Plan, Task
from carnet_check.engines.proving.composition import ClaimProof, SolverOutcome
from carnet_check.engines.runner import Listener
from carnet_check.loading.families import NO_THREAT, load
from carnet_check.results import Result, Verdict
from carnet_check.semantics import Interpreter
from carnet_check.verification.campaign import verify
from carnet_check.verification.outcome import CampaignOutcome
from carnet_check.verification.planning import Request, plan_campaign
from carnet_command.worker import Lost
from carnet_command.workers import Pool
from carnet_spec.language import Formula, Protocol, SpecificationError, Step, all_of, constant, forall, implies
from tests.unit.model_check.command import FIXTURES, TOY, carnet, control
from tests.unit.model_check.small import *
from tests.unit.model_check.steps import learn, see

MOST = 4


class Here(Pool):
    def __exit__(self, *_: object) -> None:
        pass

    def results(
        self, function: Callable[[Any], Iterable[Any]], parts: Iterable[Any], last: object = None
    ) -> Iterator[tuple[Any, Any]]:
        yield from ((part, said) for part in parts for said in function(part))


def plan_of(protocol: Protocol) -> Plan:
    """Return the plan to judge every claim under every threat model."""
    threats = protocol.threats or (NO_THREAT,)
    pairs = tuple((claim, threat) for claim in protocol.claims for threat in threats)
    return Plan(protocol, "", threats, pairs, frozenset(), every_threat=True)


def standings(
    protocol: Protocol, depth: int = MOST, rlimit: int = DEFAULT_RLIMIT, pool: Pool | None = None
) -> dict[tuple[str, str], ClaimStatus]:
    """Return how each pair of claim and threat model stands."""
    plan = plan_of(protocol)
    found = Questions(plan, depth, rlimit).answer_all(pool or Here(), lambda *_: None)
    return {(claim.name, threat.id): each for (claim, threat), each in zip(plan.pairs, found, strict=True)}


def broken_after(protocol: Protocol, depth: int = MOST) -> dict[str, int | None]:
    """Return the number of steps that break each claim under no particular threat model, or nothing."""
    return {claim: _steps(standing) for (claim, _), standing in standings(protocol, depth).items()}


def _steps(standing: ClaimStatus) -> int | None:
    if standing.last is None:
        return None
    assert standing.last.found is not None
    assert len(standing.last.found.steps) == standing.last.steps == standing.least
    return standing.least


MENDED = FIXTURES / "mended.py"
DOOR = str(FIXTURES / "door.py")


def verified(reference: str, *engines: Engine, variant: str = "") -> CampaignOutcome:
    request = Request(load(reference), variants=(variant,) if variant else ())
    return verify(replace(plan_campaign(request), engines=engines or (BMC,)))


def rows(outcome: CampaignOutcome, engine: Engine = BMC) -> dict[tuple[str, str], Result]:
    return {(row.claim, row.threat): row for row in outcome.results if row.engine == engine.name}


FALLING = {
    "the toy without fresh keys": (TOY, "forgetful", ("secrecy", "none"), 5),
    "a wrong claim": (control("wrong_claim"), "", ("stays-home", "anyone"), 1),
    "keys drawn twice": (f"{MENDED}:keys_given_back", "", ("tight", "unrestricted"), 4),
    "two names of one": (f"{MENDED}:two_names_of_one", "", ("tight", "unrestricted"), 1),
}


SLOW = "the toy without fresh keys"


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name == SLOW else ()) for name in FALLING]
)
def test_an_attack_is_as_short_as_the_explorers(name: str) -> None:
    reference, variant, pair, steps = FALLING[name]
    outcome = verified(reference, EXPLICIT, BMC, variant=variant)
    row, explored = rows(outcome)[pair], rows(outcome, EXPLICIT)[pair]
    protocol = load(reference).protocol(variant)
    assert row.verdict is explored.verdict is Verdict.VIOLATED
    assert len(row.steps) == steps
    assert moves(protocol, outcome.violation_of(explored).violations[pair[0]]) == steps
    assert row.detail.startswith(f"{steps} step")


@pytest.mark.parametrize("name", FALLING)
def test_the_interpreter_takes_every_step_of_an_attack(name: str) -> None:
    reference, variant, pair, _ = FALLING[name]
    outcome = verified(reference, variant=variant)
    row = rows(outcome)[pair]
    found = outcome.violation_of(row)
    judge = Interpreter(load(reference).protocol(variant), outcome.instance_of(row))
    claim = judge.protocol.claim(row.claim).checked
    states = judge.replay(found.violations[row.claim])
    assert not judge.axioms_hold()
    assert [judge.holds(claim.formula, state) for state in states] == [True] * len(row.steps) + [False]


@pytest.mark.parametrize("reference", [TOY, DOOR, control("sound")], ids=["toy", "door", "sound"])
def test_what_holds_holds_to_the_bound(reference: str) -> None:
    outcome = verified(reference, BMC.with_depth(5))
    assert outcome.exit_code == 0
    assert {(row.verdict, row.bound) for row in outcome.results} == {(Verdict.HOLDS_TO, 5)}
    assert all("no run of up to 5 steps" in row.detail for row in outcome.results)
    assert all("any number of everything" in row.detail for row in outcome.results)
    assert not outcome.searches


def test_attacks_are_the_same_each_time() -> None:
    """The same structures, names of elements and steps, in whatever order workers answer."""
    first, again = (verified(TOY, variant="forgetful") for _ in range(2))
    assert [replace(row, seconds=0.0) for row in first.results] == [replace(row, seconds=0.0) for row in again.results]
    assert [first.instance_of(row) for row in first.results] == [again.instance_of(row) for row in again.results]


def test_a_short_bound_or_a_small_budget_establishes_no_more() -> None:
    row = rows(verified(TOY, BMC.with_depth(4), variant="forgetful"))["secrecy", "none"]
    assert (row.verdict, row.bound) == (Verdict.HOLDS_TO, 4)
    row = rows(verified(TOY, BMC.with_limit(1)))["secrecy", "none"]
    assert (row.verdict, row.bound) == (Verdict.UNKNOWN, None)
    assert row.detail.startswith("nothing is established about 1 step: ")


def test_an_attack_does_not_count_as_an_exploration() -> None:
    """One run says nothing of goals that it does not reach, and of steps that it does not take."""
    outcome = verified(TOY, variant="forgetful")
    assert {row.kind for row in outcome.results} == {"claim"}
    assert any("not explored" in note for note in outcome.notes)


class Fails(Here):
    """Answers as the solver does about fewer steps than ``first``, and then not at all."""

    def __init__(self, first: int, lost: bool) -> None:
        self.first, self.lost = first, lost

    def results(
        self, function: Callable[[Any], Iterable[Any]], parts: Iterable[Any], last: object = None
    ) -> Iterator[tuple[Any, Any]]:
        for part in parts:
            for said in function(replace(part, rlimit=part.rlimit)):
                if said.steps < self.first:
                    yield part, said
            yield part, Lost("it is gone") if self.lost else replace(said, steps=self.first, outcome="unknown")


@pytest.mark.parametrize("lost", [True, False], ids=["lost", "unknown"])
@pytest.mark.parametrize(
    ("first", "verdict", "bound"),
    [(0, Verdict.UNKNOWN, None), (1, Verdict.UNKNOWN, None), (2, Verdict.HOLDS_TO, 1), (3, Verdict.HOLDS_TO, 2)],
)
def test_only_numbers_of_steps_that_were_answered_count(
    monkeypatch: pytest.MonkeyPatch, first: int, lost: bool, verdict: Verdict, bound: int | None
) -> None:
    def unsure(asked: questions.Questions, _: object, told: questions.OnAnswer) -> list[ClaimStatus]:
        return said(asked, Fails(first, lost), told)

    said = questions.Questions.answer_all
    monkeypatch.setattr(questions.Questions, "answer_all", unsure)
    row = rows(verified(control("sound")))["one-holder", "anyone"]
    assert (row.verdict, row.bound) == (verdict, bound)
    assert f"nothing is established about {first} step" in row.detail


def test_a_run_without_a_structure_is_no_violation(monkeypatch: pytest.MonkeyPatch) -> None:
    _with(monkeypatch, lambda _: None)
    row = rows(verified(TOY, variant="forgetful"))["secrecy", "none"]
    assert (row.verdict, row.bound, row.steps) == (Verdict.HOLDS_TO, 4, ())
    assert "shows no structure" in row.detail


def test_what_the_certified_language_cannot_say_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> None:
        raise SpecificationError("it says too much")

    monkeypatch.setattr(questions, "read_protocol", refuse)
    found = rows(verified(TOY)).values()
    assert {(row.verdict, row.detail) for row in found} == {
        (Verdict.UNKNOWN, "nothing is established about 0 steps: it says too much")
    }


def _with(monkeypatch: pytest.MonkeyPatch, change: Callable[[FoundRun], FoundRun | None]) -> None:
    """Let every structure that is found be another."""

    def changed(asked: questions.Questions, *given: Any) -> list[ClaimStatus]:
        return [each if each.last is None else _changed(each) for each in said(asked, *given)]

    def _changed(standing: ClaimStatus) -> ClaimStatus:
        assert standing.last is not None
        assert standing.last.found is not None
        return replace(standing, last=replace(standing.last, found=change(standing.last.found)))

    said = questions.Questions.answer_all
    monkeypatch.setattr(questions.Questions, "answer_all", changed)


def _steps_before_the_last(found: FoundRun) -> FoundRun:
    return replace(found, steps=found.steps[:-1])


def _further_steps(found: FoundRun) -> FoundRun:
    return replace(found, steps=found.steps[1:])


def _unknown_action(found: FoundRun) -> FoundRun:
    return replace(found, steps=(replace(found.steps[0], action="fly"), *found.steps[1:]))


def _against_the_axioms(found: FoundRun) -> FoundRun:
    everyone = frozenset((name,) for name in found.instance.elements["Agent"])
    return replace(found, instance=replace(found.instance, relations={"corrupt": everyone}))


def _without_constants(found: FoundRun) -> FoundRun:
    return replace(found, instance=replace(found.instance, functions={}))


SPOILT: dict[str, tuple[Callable[[FoundRun], FoundRun], str]] = {
    "the last step is missing": (_steps_before_the_last, "the claim still holds"),
    "the first step is missing": (_further_steps, "cannot replay"),
    "an action is not there": (_unknown_action, "cannot replay"),
    "an axiom does not hold": (_against_the_axioms, "violates axiom 'lender honest'"),
    "a constant has no value": (_without_constants, "refuses the structure"),
}


@pytest.mark.parametrize("name", SPOILT)
def test_a_trace_that_does_not_replay_is_an_error(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    change, why = SPOILT[name]
    _with(monkeypatch, change)
    outcome = verified(TOY, variant="forgetful")
    row = rows(outcome)["secrecy", "none"]
    assert (row.verdict, row.steps) == (Verdict.ERROR, ())
    assert why in row.detail
    assert outcome.exit_code == 5


@dataclass(frozen=True)
class Believer(Induction):
    """Proves everything."""

    by_default: ClassVar = False

    def run(self, task: Task, listener: Listener) -> EngineResult:
        pairs = [(plan, claim, threat) for plan in task.plans for claim, threat in plan.pairs]
        proofs = [(plan, ClaimProof(claim.name, SolverOutcome.PROVED), threat) for plan, claim, threat in pairs]
        return EngineResult(self.name, tuple(self.row(task, *proof, 0.0, "of course") for proof in proofs))


def test_an_attack_on_what_another_engine_proves_is_an_error() -> None:
    outcome = verified(TOY, Believer(), BMC, variant="forgetful")
    pair = [row for row in outcome.results if (row.claim, row.threat) == ("secrecy", "none")]
    assert {row.engine for row in pair} == {BMC.name, Believer.name}
    assert {row.verdict for row in pair} == {Verdict.ERROR}
    assert all("the engines disagree" in row.detail for row in pair)


def test_the_depth_is_an_option_of_engines_that_bound_it() -> None:
    ran = carnet("verify", TOY, "--engine", "bmc", "--depth", "3", "--json")
    assert ran.code == 0
    assert {(row["verdict"], row["bound"]) for row in ran.json["results"]} == {("HOLDS-TO", 3)}
    assert "up to 3 steps, rules counted, any number of everything" in ran.json["run"]["strength"]
    ran = carnet("verify", TOY, "--engine", "induction", "--depth", "3")
    assert ran.code == 2
    assert "add bmc" in ran.err
    assert carnet("verify", TOY, "--engine", "bmc", "--depth", "0").code == 2


def test_an_attack_is_kept_and_shown(tmp_path: Any) -> None:
    ran = carnet("verify", TOY, "--variant", "forgetful", "--engine", "bmc", "--out", str(tmp_path))
    assert ran.code == 1
    assert "✗!" in ran.out
    assert "the lender takes" in ran.out
    assert len(list((tmp_path / "attacks").glob("*.itf.json"))) == 2
    assert "carnet verify" in ran.out.split("lender    key0")[1]
    (kept,) = {json.loads(file.read_text("utf-8"))["rerun"] for file in tmp_path.glob("attacks/*none*y.json")}
    assert kept.endswith("--variant forgetful --threat none --claim secrecy --engine bmc")


class Noting(Here):
    """Notes of each part which of its answers are known to be the last."""

    def __init__(self) -> None:
        self.noted: list[list[bool]] = []

    def results(
        self, function: Callable[[Any], Iterable[Any]], parts: Iterable[Any], last: Any = None
    ) -> Iterator[tuple[Any, Any]]:
        for part in parts:
            found = list(function(part))
            self.noted.append([last(part, said) for said in found])
            yield from ((part, said) for said in found)


@pytest.mark.parametrize("name", ["sound", "wrong_claim"])
def test_the_last_answer_and_no_other_is_known_to_be_the_last(name: str) -> None:
    pool = Noting()
    standings(load(control(name)).protocol("main"), pool=pool)
    assert pool.noted
    assert all(noted == [False] * (len(noted) - 1) + [True] for noted in pool.noted)


def light_first(step: Step) -> None:
    step.insert(first)


def light_second(step: Step) -> None:
    step.require("first", first)
    step.insert(second)


def put_out(step: Step) -> None:
    step.require("second", second)
    step.remove(first)


def swap(step: Step) -> None:
    """Both read the state before."""
    step.require("first", first)
    step.insert(third, when=second)
    step.insert(second)


def blink(step: Step) -> None:
    """The later of two updates counts."""
    step.insert(third)
    step.remove(third, name="again")


def meet(step: Step, a: Party, b: Party) -> None:
    step.require("two", a != b)
    step.insert(ahead(a, b))


def everyone_is_seen(step: Step) -> None:
    step.insert(seen(step.each(Party)))


def follow(step: Step, a: Party, b: Party) -> None:
    step.require("ahead", ahead(a, b))
    step.insert(seen(b), when=seen(a))


def forget_all(step: Step) -> None:
    step.require("first", first)
    step.remove(ahead(step.each(Party), alice))


def turn(step: Step, a: Party) -> None:
    step.set(last, a)


def move_on(step: Step) -> None:
    step.require("early", phase == Phase.EARLY)
    step.set(phase, Phase.LATE)


def end(step: Step) -> None:
    step.require("late", phase == Phase.LATE)
    step.set(phase, Phase.OVER)


def draw_two(step: Step, a: Key, b: Key) -> None:
    step.fresh(a)
    step.fresh(b)
    step.insert(paired(a, b))


def draw(step: Step, k: Key) -> None:
    step.fresh(k)
    step.insert(second, when=paired(k, k))
    step.insert(paired(k, k))


def betray(step: Step) -> None:
    step.given("corrupt", corrupt(alice))
    step.insert(known(alice))


def impossible(step: Step) -> None:
    step.require("both", first & ~first)
    step.insert(second)


def at_first(draft: Any, **values: Any) -> Any:
    for name, value in values.items():
        draft.initially({"seen": seen, "phase": phase, "ahead": ahead, "last": last}[name], value)
    return draft


LIT = (light_first, light_second, put_out)


def loops(a: Party) -> Formula:
    return before(a, a)


RUNS: dict[str, tuple[Protocol, dict[str, int | None]]] = {
    "what was inserted stays": (
        claimed(
            drafted(*LIT), never=lambda: ~second, both=lambda: ~(second & first), out=lambda: implies(second, first)
        ),
        {"never": 2, "both": 2, "out": 3},
    ),
    "conditions read the state before": (claimed(drafted(light_first, swap), third=lambda: ~third), {"third": 3}),
    "updates of one symbol are made in order": (
        claimed(drafted(light_first, blink), dark=lambda: ~third),
        {"dark": None},
    ),
    "two actions share their constants": (
        claimed(
            drafted(meet, see),
            same=lambda: forall(lambda a: ~ahead(a, a), Party),
            met=lambda: forall(lambda a, b: ~ahead(a, b), Party, Party),
            round=lambda: forall(lambda a, b: ~(ahead(a, b) & ahead(b, a)), Party, Party),
            three=lambda: forall(lambda a, b: ~(ahead(a, b) & seen(a) & seen(b)), Party, Party),
        ),
        {"same": None, "met": 1, "round": 2, "three": 3},
    ),
    "each is for all": (
        claimed(
            drafted(everyone_is_seen),
            some=lambda: forall(lambda a: ~seen(a), Party),
            two=lambda: forall(lambda a, b: implies(seen(a), seen(b)), Party, Party),
        ),
        {"some": 1, "two": None},
    ),
    "a condition has the arguments of its action": (
        claimed(
            drafted(meet, see, follow),
            seen=lambda: forall(lambda a, b: implies(seen(b) & ahead(a, b), ~seen(a)), Party, Party),
        ),
        {"seen": 3},
    ),
    "a removal leaves other rows": (
        claimed(
            drafted(meet, light_first, forget_all),
            mine=lambda: forall(lambda a: implies(first, ~ahead(a, alice)), Party),
            other=lambda: forall(lambda a, b: implies(ahead(a, b), ~first), Party, Party),
        ),
        {"mine": 2, "other": 2},
    ),
    "what has no first value may have any": (claimed(drafted(turn), alice=lambda: last == alice), {"alice": 0}),
    "what is assigned": (claimed(at_first(drafted(turn), last=alice), alice=lambda: last == alice), {"alice": 1}),
    "members are different": (
        claimed(
            at_first(drafted(move_on, end), phase=Phase.EARLY),
            late=lambda: phase != Phase.LATE,
            over=lambda: phase != Phase.OVER,
        ),
        {"late": 1, "over": 2},
    ),
    "a first value is read": (
        claimed(at_first(drafted(see), seen=loops), none=lambda: forall(lambda a: ~seen(a), Party)),
        {"none": 0},
    ),
    "what has a first value has no other": (
        claimed(
            at_first(drafted(meet), seen=loops), some=lambda: forall(lambda a: implies(seen(a), before(a, a)), Party)
        ),
        {"some": None},
    ),
    "two fresh values differ": (
        claimed(
            drafted(draw_two),
            apart=lambda: forall(lambda a: ~paired(a, a), Key),
            drawn=lambda: forall(lambda a, b: ~paired(a, b), Key, Key),
        ),
        {"apart": None, "drawn": 1},
    ),
    "a fresh value was not used before": (
        claimed(drafted(draw), again=lambda: ~second, drawn=lambda: forall(lambda a: ~paired(a, a), Key)),
        {"again": None, "drawn": 1},
    ),
    "the adversary acts": (claimed(drafted(see, costly=(betray,)), secret=lambda: ~known(alice)), {"secret": 1}),
    "a rule is a step": (
        claimed(drafted(see, rules=(learn,)), secret=lambda: forall(lambda a: ~known(a), Party)),
        {"secret": 2},
    ),
    "where no step can be taken there are no runs": (
        claimed(drafted(impossible), dark=lambda: ~second),
        {"dark": None},
    ),
}


@pytest.mark.parametrize("name", RUNS)
def test_claims_break_after_as_many_steps_as_it_takes(name: str) -> None:
    protocol, expected = RUNS[name]
    assert broken_after(protocol) == expected


def test_runs_are_looked_at_up_to_the_bound_from_the_first_state() -> None:
    protocol = claimed(drafted(), alone=lambda: last == alice, dark=lambda: ~first)
    assert broken_after(protocol) == {"alone": 0, "dark": None}
    protocol = claimed(drafted(*LIT), out=lambda: implies(second, first))
    assert [broken_after(protocol, depth)["out"] for depth in (1, 2, 3, 4)] == [None, None, 3, 3]
    assert [standings(protocol, depth)["out", "unrestricted"].least for depth in (1, 2)] == [2, 3]


def betrayed(**axioms: Formula) -> Any:
    draft = drafted(see, costly=(betray,))
    draft.assumption("A1", "It is so.")
    for name, formula in axioms.items():
        draft.axiom(name, formula, assumption="A1")
    return draft


def test_axioms_hold_in_every_run() -> None:
    def secret() -> Formula:
        return ~known(alice)

    assert broken_after(claimed(betrayed(), secret=secret)) == {"secret": 1}
    assert broken_after(claimed(betrayed(honest=~corrupt(alice)), secret=secret)) == {"secret": None}
    assert broken_after(claimed(betrayed(other=~corrupt(bob)), secret=secret)) == {"secret": 1}


def test_the_axioms_of_a_threat_model_hold_under_it_alone() -> None:
    draft = betrayed()
    draft.threat("nobody", "nobody is corrupt", nobody=forall(lambda x: ~corrupt(x), Party))
    draft.threat("bob", "bob is honest", bob=~corrupt(bob))
    draft.threat("anyone", "anyone may be corrupt")
    found = standings(claimed(draft, secret=lambda: ~known(alice)))
    assert {threat: (each.least, each.last is None) for (_, threat), each in found.items()} == {
        "nobody": (5, True),
        "bob": (1, False),
        "anyone": (1, False),
    }


def test_nothing_is_asked_after_what_is_not_known() -> None:
    """Whatever is answered about more steps says nothing of so many or fewer."""
    protocol = claimed(drafted(*LIT), out=lambda: implies(second, first))
    (standing,) = standings(protocol, rlimit=1).values()
    assert standing.last is not None
    assert (standing.least, standing.last.steps, standing.last.found) == (1, 1, None)
    assert not standing.last.is_proved
    assert not standing.last.is_refuted


@pytest.mark.parametrize(("number", "shown"), [(1, 1), (2, 2), (5, 5), (7, 8)])
def test_a_structure_has_as_many_elements_as_it_takes(number: int, shown: int) -> None:
    """Beyond those sizes that are tried it has as many as the solver likes."""
    parties = [constant(f"p{place}", Party) for place in range(number)]
    apart = [a != b for a, b in itertools.combinations(parties, 2)]
    draft = betrayed(many=all_of(*apart, *(corrupt(a) for a in parties)))
    ((_, standing),) = standings(claimed(draft, secret=lambda: ~known(alice) | ~corrupt(alice))).items()
    assert standing.last is not None
    assert standing.last.found is not None
    instance = standing.last.found.instance
    assert len(instance.elements["Party"]) == shown
    assert instance.words.startswith(f"{shown} Party")
    assert len(instance.relations["corrupt"]) >= number
