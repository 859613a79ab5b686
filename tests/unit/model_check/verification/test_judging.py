"""What is believed of engines: no defect passes, no verdict stands on one word, and assumptions fall only by traces."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Self
from xml.etree import ElementTree

import pytest

from carnet_check.engines import registry
from carnet_check.engines.exploration import Coverage, Search
from carnet_check.engines.exploring import explorer, searches
from carnet_check.engines.interface import Engine, EngineResult, Explores, Task
from carnet_check.engines.registry import able
from carnet_check.engines.runner import Listener
from carnet_check.errors import EngineError, UsageError
from carnet_check.loading.families import load
from carnet_check.report.run_folder import read_run
from carnet_check.results import Kind, Result, Verdict
from carnet_check.verification.campaign import verify
from carnet_check.verification.checks import possibilities, possible_actions
from carnet_check.verification.planning import Request, plan_campaign
from carnet_spec.language import Draft, Formula, Goal, Profile, Step, exists, true
from docs._ext.carnet_pages.dropped_assumptions import Fall, falls_without
from tests.unit.model_check.command import FASTEST, FIXTURES, TOY, carnet
from tests.unit.model_check.small import Party, Phase, drafted, first, phase, second, seen, third

Rows = tuple[Result, ...]


@dataclass(frozen=True)
class Liar(Engine):
    """Says that everything is proved, after a change."""

    name: ClassVar = "liar"
    purpose: ClassVar = "nothing"
    verdicts: ClassVar = (Verdict.PROVED,)
    change: Callable[[Rows], Rows] = lambda rows: rows
    known_as: str = "liar"

    def run(self, task: Task, listener: Listener) -> EngineResult:
        rows = (
            Result("toy", plan.protocol.variant, claim.name, threat.id, "liar", Verdict.PROVED, Verdict.PROVED)
            for plan in task.plans
            for claim, threat in plan.pairs
        )
        return EngineResult(self.known_as, self.change(tuple(rows)))

    def with_limit(self, most: int) -> Self:
        return self

    def expected_verdict(self, profile: Profile) -> Verdict:
        return Verdict.PROVED

    def intention(self, task: Task) -> str:
        return "to lie"

    def strength(self, task: Task, outcome: EngineResult) -> tuple[str, ...]:
        return ("liar: none",)

    def budget(self, profile: Profile) -> str:
        return "none"


def _each(**changes: Any) -> Callable[[Rows], Rows]:
    return lambda rows: tuple(replace(row, **changes) for row in rows)


def _verified(liar: Liar) -> tuple[int, list[Verdict]]:
    outcome = verify(replace(plan_campaign(Request(load(TOY))), engines=(liar,)))
    return outcome.exit_code, [row.verdict for row in outcome.results]


def test_a_row_for_each_pair_passes_whatever_an_engine_expects() -> None:
    assert _verified(Liar()) == (0, [Verdict.PROVED] * 2)
    told = _each(verdict=Verdict.UNKNOWN, expected=Verdict.UNKNOWN)
    assert _verified(Liar(told)) == (3, [Verdict.UNKNOWN] * 2)


@pytest.mark.parametrize("kept", [0, 1])
def test_what_is_not_answered_is_an_error(kept: int) -> None:
    code, verdicts = _verified(Liar(lambda rows: rows[:kept]))
    assert (code, sorted(verdicts)) == (5, sorted([Verdict.PROVED] * kept + [Verdict.ERROR] * (2 - kept)))


DEFECTS: dict[str, tuple[Liar, str]] = {
    "a row twice": (Liar(lambda rows: rows * 2), "said twice"),
    "another variant": (Liar(_each(variant="other")), "nobody asked"),
    "another claim": (Liar(_each(claim="other")), "nobody asked"),
    "another engine's row": (Liar(_each(engine="explicit")), "in the name of explicit"),
    "another engine's answer": (Liar(known_as="explicit"), "answers as 'explicit'"),
    "a goal": (Liar(_each(kind=Kind.GOAL)), "of a goal, which it does not judge"),
    "a word of its own": (Liar(_each(verdict=Verdict.EXHAUSTED)), "a word that is not among its verdicts"),
    "vacuous": (Liar(_each(verdict=Verdict.VACUOUS, expected=Verdict.VACUOUS)), "a word that is not"),
    "violated without a trace": (Liar(_each(verdict=Verdict.VIOLATED)), "no trace shows it"),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_what_an_engine_should_not_say_ends_the_run(name: str) -> None:
    liar, why = DEFECTS[name]
    with pytest.raises(EngineError, match=why):
        _verified(liar)


def test_a_run_without_an_engine_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="no engine 'expicit'"):
        plan_campaign(Request(load(TOY), engines=("expicit",)))
    monkeypatch.setattr(registry, "ENGINES", {})
    with pytest.raises(UsageError, match="no engine runs"):
        plan_campaign(Request(load(TOY)))


SOURCE = load(f"{FIXTURES / 'assumed.py'}:draft")


def fallen(assumption: str) -> list[Fall]:
    return list(falls_without(able(Explores), SOURCE, SOURCE.protocol(), assumption, ["no-thief"]))


@pytest.mark.parametrize(("assumption", "steps"), [("A1", 1), ("axiom: the founder is honest", 1)])
def test_a_claim_falls_where_the_assumption_does_not_hold(assumption: str, steps: int) -> None:
    (found,) = fallen(assumption)
    assert (found.claim, found.threat, found.steps) == ("no-thief", "anyone", steps)
    assert found.changed


def test_without_what_nothing_needs_nothing_falls() -> None:
    assert not fallen("A2")


def test_a_trace_that_does_not_replay_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(searches, "violates", lambda *_: False)
    with pytest.raises(EngineError, match="the claim still holds"):
        fallen("A1")


def _rows(*words: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = carnet("verify", *words, "--json").json["results"]
    return [{**row, "seconds": 0} for row in rows]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Search]]:
    """Tell which searches began early, and which were taken over or run when their turn came."""
    seen: dict[str, list[Search]] = {"begun": [], "taken over": [], "run": []}
    begin, take, run = explorer.RunningSearches.__init__, explorer.results, explorer.run_all

    def beginning(begun: explorer.RunningSearches, explorer: Any, tasks: Sequence[Search], *rest: Any) -> None:
        seen["begun"] += tasks
        begin(begun, explorer, tasks, *rest)

    def taking(begun: explorer.RunningSearches, *rest: Any) -> Iterator[tuple[Search, Coverage]]:
        seen["taken over"] += begun.tasks
        return take(begun, *rest)

    def running(explorer: Any, tasks: Sequence[Search], *rest: Any) -> Iterator[tuple[Search, Coverage]]:
        seen["run"] += tasks
        return run(explorer, tasks, *rest)

    monkeypatch.setattr(explorer.RunningSearches, "__init__", beginning)
    monkeypatch.setattr(explorer, "results", taking)
    monkeypatch.setattr(explorer, "run_all", running)
    return seen


def test_searches_begin_beside_the_prover_and_are_not_run_again(asked: dict[str, list[Search]]) -> None:
    together = _rows(TOY, "--jobs", "2")
    assert asked["begun"] == asked["taken over"]
    assert asked["begun"]
    assert not asked["run"]
    assert together == _rows(TOY, "--jobs", "1")


def test_memory_that_is_free_makes_no_other_search(
    asked: dict[str, list[Search]], monkeypatch: pytest.MonkeyPatch
) -> None:
    free = iter(range(10**9, 0, -1))
    monkeypatch.setattr("carnet_check.engines.exploring.searches.available_memory", lambda: next(free))
    _rows(TOY, "--jobs", "2")
    assert asked["begun"] == asked["taken over"] != []
    assert not asked["run"]


def test_nothing_begins_early_in_one_process_or_without_a_prover_before_it(asked: dict[str, list[Search]]) -> None:
    _rows(TOY, "--jobs", "1")
    _rows(TOY, "--jobs", "2", "--engine", "explicit")
    if FASTEST != "explicit":
        _rows(TOY, "--jobs", "2", "--engine", "explicit", "--engine", FASTEST, "--engine", "induction")
    assert asked["begun"] == asked["taken over"] == asked["run"] != []


def test_what_was_expected_to_be_proved_is_searched_anew_where_it_is_not(asked: dict[str, list[Search]]) -> None:
    swinging = f"{FIXTURES / 'mended.py'}:a_light_that_swings"
    together = _rows(swinging, "--jobs", "2")
    lively = [search for search in asked["run"] if search.liveness]
    assert [search for search in asked["begun"] if search.liveness] == lively != []
    assert len(asked["begun"]) > len(asked["run"])
    assert together == _rows(swinging, "--jobs", "1")
    assert {row["verdict"] for row in together if row["kind"] == "liveness"} == {"UNKNOWN", "VIOLATED"}


@pytest.fixture
def tickets(tmp_path: Path) -> str:
    assert carnet("init", str(tmp_path / "tickets")).code == 0
    return str(tmp_path / "tickets" / "protocol.py")


def test_what_two_engines_establish_passes(tickets: str) -> None:
    ran = carnet("verify", tickets, "--strict", "--json")
    assert (ran.code, ran.json["shortcomings"]) == (0, [])
    assert "strict  " not in carnet("verify", tickets, "--strict").out


@pytest.mark.mends("N21")
@pytest.mark.parametrize("engine", ["induction", "explicit"])
def test_the_word_of_one_engine_does_not_pass(tickets: str, engine: str) -> None:
    ran = carnet("verify", tickets, "--engine", engine, "--strict", "--json")
    said = f"established by {engine} alone"
    claims = ("one-entry", "own-ticket")
    assert (ran.code, ran.json["shortcomings"]) == (3, [f"{each} under collusion, main: {said}" for each in claims])
    assert ran.json["summary"]["as_expected"] is True
    assert (
        f"strict       own-ticket under collusion, main: {said}"
        in carnet("verify", tickets, "--engine", engine, "--strict").out
    )
    assert carnet("verify", tickets, "--engine", engine).code == 0


def test_no_file_of_a_run_says_that_it_passed_where_one_engine_does_not_pass(tickets: str, tmp_path: Path) -> None:
    """A script that reads one of them in place of the exit code takes the run for what it was."""
    names = {"--out": "run", "--junit": "junit.xml", "--sarif": "carnet.sarif", "--markdown": "summary.md"}
    places = {option: tmp_path / name for option, name in names.items()}
    given = [str(word) for pair in places.items() for word in pair]
    told = "own-ticket under collusion, main: established by induction alone"
    assert carnet("verify", tickets, "--engine", "induction", "--strict", *given).code == 3
    run = read_run(places["--out"])
    assert (run.exit_code, told in run.shortcomings) == (3, True)
    assert run.run["run"]["outcome"] == "every verdict as expected, and 2 objections of --strict (exit code 3)"
    suites = ElementTree.parse(places["--junit"]).getroot()
    assert told in [failure.get("message") for failure in suites.iter("failure")]
    (log,) = json.loads(places["--sarif"].read_text())["runs"]
    assert [(each["level"], log["tool"]["driver"]["rules"][each["ruleIndex"]]["id"]) for each in log["results"]] == [
        ("warning", "--strict")
    ] * 2
    assert told in [each["message"]["text"] for each in log["results"]]
    assert f"* {told}" in places["--markdown"].read_text()
    assert carnet("report", str(places["--out"]), "--html", str(tmp_path / "html")).code == 0
    assert 'class="lead bad"' in (tmp_path / "html" / "index.html").read_text()
    assert carnet("verify", tickets, "--engine", "induction", *given).code == 0
    assert (read_run(places["--out"]).exit_code, "shortcomings" in read_run(places["--out"]).run) == (0, False)
    assert not [*ElementTree.parse(places["--junit"]).getroot().iter("failure")]


def test_what_is_announced_or_sampled_alone_does_not_pass(tickets: str) -> None:
    ran = carnet("verify", TOY, "--strict", "--json")
    assert ran.code == 3
    assert any("declared, without a formula yet" in each for each in ran.json["shortcomings"])
    ran = carnet("verify", tickets, "--simulate", "5", "--strict", "--json")
    assert ran.code == 3
    assert {each.rpartition(": ")[2] for each in ran.json["shortcomings"]} == {"established by induction alone"}


@pytest.mark.parametrize(
    "options",
    [
        ("--engine", "bmc", "--depth", "1"),
        ("--engine", "explicit", "--simulate", "3"),
        ("--engine", "explicit", "--engine", "bmc", "--depth", "2"),
    ],
)
def test_what_is_no_more_than_looked_for_does_not_pass(tickets: str, options: tuple[str, ...]) -> None:
    ran = carnet("verify", tickets, *options, "--strict", "--json")
    by = "explicit alone" if "bmc" in options and "explicit" in options else "no engine"
    assert ran.json["summary"]["as_expected"] is True
    assert (ran.code, {each.rpartition(": ")[2] for each in ran.json["shortcomings"]}) == (3, {f"established by {by}"})


def test_a_claim_that_is_expected_to_fall_is_asked_of_one_engine() -> None:
    ran = carnet("verify", TOY, "--variant", "forgetful", "--strict", "--max-states", "20000", "--json")
    fallen = {(row["claim"], row["threat"]) for row in ran.json["results"] if row["expected"] == "VIOLATED"}
    assert fallen
    assert not any(f"{claim} under {threat}," in each for claim, threat in fallen for each in ran.json["shortcomings"])


def test_a_violation_comes_before_what_is_lacking(tickets: str) -> None:
    file = Path(tickets)
    file.write_text(file.read_text().replace('step.fresh(ticket, defence="fresh-ticket")', "pass"))
    assert carnet("verify", tickets, "--engine", "explicit", "--strict").code == 1


def see(step: Step, a: Party) -> None:
    step.require("late", phase == Phase.LATE)
    step.insert(seen(a))


def come(step: Step) -> None:
    step.require("early", phase == Phase.EARLY)
    step.set(phase, Phase.LATE)


def carry(step: Step) -> None:
    step.require("seen", exists(seen, Party))
    step.insert(second)


def never(step: Step) -> None:
    step.require("first", first)
    step.insert(third)


def _draft(*, begins: bool) -> Draft:
    draft = drafted(see, come, carry, never)
    if begins:
        draft.initially(phase, Phase.EARLY)
    return draft


def _may(formula: Formula, *, begins: bool = True) -> bool:
    protocol = _draft(begins=begins).protocol()
    asked = possibilities(protocol, None)
    return asked.may(Goal("it", (), formula.term, ""), possible_actions(protocol, asked, ()))


HAPPENS: dict[str, Callable[[], Formula]] = {
    "a value that is assigned": lambda: phase == Phase.LATE,
    "what is inserted": lambda: exists(seen, Party),
    "what follows from what is inserted": lambda: second,
}
NEVER: dict[str, Callable[[], Formula]] = {
    "a value that nobody assigns": lambda: phase == Phase.OVER,
    "what nobody inserts": lambda: first,
    "what waits for what nobody inserts": lambda: third,
}


@pytest.mark.parametrize("name", HAPPENS)
def test_it_may_happen(name: str) -> None:
    assert _may(HAPPENS[name]())


@pytest.mark.parametrize("name", NEVER)
def test_it_never_happens(name: str) -> None:
    assert not _may(NEVER[name]())


def test_what_may_hold_at_first_may_hold() -> None:
    assert _may(phase == Phase.OVER, begins=False)
    draft = _draft(begins=True)
    draft.initially(first, true)
    protocol = draft.protocol()
    taken = possible_actions(protocol, possibilities(protocol, None), ())
    assert {action.name for action in taken} == {"see", "come", "carry", "never"}
    protocol = _draft(begins=True).protocol()
    before = possible_actions(protocol, possibilities(protocol, None), ())
    assert {action.name for action in before} == {"see", "come", "carry"}


def test_what_was_refuted_is_asked_again_once_what_refuted_it_has_changed() -> None:
    """The more is taken, the more may happen: an answer is kept only while the facts that it rests on hold."""
    protocol = _draft(begins=True).protocol()
    asked = possibilities(protocol, None)
    late = Goal("late", (), (phase == Phase.LATE).term, "")
    assert not asked.may(late, ())
    assert not asked.may(late, ())
    assert not asked.may(late, (protocol.action("see"), protocol.action("never")))
    assert asked.may(late, (protocol.action("see"), protocol.action("come")))
    assert not asked.may(late, ())
