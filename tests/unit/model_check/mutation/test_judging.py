"""What becomes of a mutant, and what `carnet mutate` says and keeps of it."""

import functools
import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from carnet_check.engines.induction.engine import INDUCTION
from carnet_check.engines.interface import ObligationAnswer
from carnet_check.errors import EngineError
from carnet_check.loading.families import Source
from carnet_check.mutation import campaign, judging
from carnet_check.mutation.campaign import (
    RECORD_FILE,
    judgement_as_json,
    judgement_from_json,
    scenario_as_json,
    scenario_from_json,
)
from carnet_check.mutation.judging import Judge, Judgement, KilledBy, MutantStatus, OriginalFacts
from carnet_check.mutation.operators import Mutant, mutants, refusal
from carnet_check.mutation.scenarios import Scenario, lost_scenarios, places, scenario, telling_scenarios
from carnet_check.mutation.weaknesses import Designs, Weakness, defeated_attacks, weakened_designs, weaknesses
from carnet_command.worker import Lost
from carnet_command.workers import WorkerPool
from tests.fixtures import cellar, door, hall
from tests.unit.model_check.command import FIXTURES, Ran, carnet, carnet_once

SOURCE = Source("tests/fixtures/door.py", door.FAMILY, "door")
DOOR = door.FAMILY.protocol()
MUTANTS = {mutant.name: mutant for mutant in mutants(DOOR)}


@functools.cache
def scenarios() -> tuple[Scenario, ...]:
    found = (scenario(SOURCE, place) for place in places(SOURCE, "main"))
    return telling_scenarios(each for each in found if each is not None)


@functools.cache
def attacks() -> tuple[Weakness, ...]:
    return tuple(found for where in weakened_designs(SOURCE, "main") for found in weaknesses(SOURCE, where))


def judged(name: str, *, hunting: bool = False) -> Judgement:
    """Return what becomes of a mutant of the door, stage by stage."""
    return further(Judge(SOURCE, "main", hunting=hunting), MUTANTS[name])


def further(judge: Judge, mutant: Mutant) -> Judgement:
    found = judge.judge(mutant)
    for known in (OriginalFacts(scenarios=scenarios()), OriginalFacts(weaknesses=attacks())):
        if found.fate in (MutantStatus.SURVIVED, MutantStatus.UNKNOWN):
            found = judge.judged_further(mutant, found, known)
    return found


@pytest.mark.parametrize(
    ("name", "fate", "by", "told"),
    [
        ("give_key/guard inside/drop", MutantStatus.KILLED, KilledBy.PROOF, "step/give_key/keys-inside is refuted"),
        (
            "write_down/guard invited/drop",
            MutantStatus.KILLED,
            KilledBy.PROOF,
            "step/write_down/listed_are_invited is refuted",
        ),
        ("axiom the host is invited/drop", MutantStatus.KILLED, KilledBy.PROOF, "init/guests-only is refuted"),
        ("show/update insert badge/drop", MutantStatus.KILLED, KilledBy.GOAL, "goal guest"),
        ("greet/guard inside/negate", MutantStatus.KILLED, KilledBy.GOAL, "goal welcome"),
        (
            "forge/update insert badge/drop",
            MutantStatus.KILLED,
            KilledBy.LOST_ATTACK,
            "the attack on guests-only of main without",
        ),
        ("admit/guard invited/drop", MutantStatus.EQUIVALENT, "", "the same steps"),
        ("greet/update insert greeted/drop when", MutantStatus.EQUIVALENT, "", "the same steps"),
        ("show/guard outside/drop", MutantStatus.STRONGER, "", "the action can be taken more often"),
        ("forge/guard outside/drop", MutantStatus.STRONGER, "", "the action can be taken more often"),
        (
            "forge/guard outside/negate",
            MutantStatus.KILLED,
            KilledBy.LOST_ATTACK,
            "the attack on guests-only of main without",
        ),
        ("admit/guard listed/drop", MutantStatus.SURVIVED, "", "the action can be taken more often"),
        ("give_key/update insert keyed/drop", MutantStatus.SURVIVED, "", "the action leads elsewhere"),
        (
            "greet/update forget the others/swap with insert greeted",
            MutantStatus.REFUSED,
            "",
            "conflicts: action greet",
        ),
    ],
)
def test_each_fate(name: str, fate: MutantStatus, by: str, told: str) -> None:
    found = judged(name)
    assert (found.fate, found.by) == (fate, by)
    assert told in found.evidence


@pytest.mark.parametrize("name", ["copy/update insert badge/drop", "copy/guard bribed/negate"])
def test_a_mutant_changes_nothing_only_if_it_does_so_under_each_threat_model(name: str) -> None:
    source = Source("tests/fixtures/hall.py", hall.FAMILY, "hall")
    (mutant,) = (each for each in mutants(hall.FAMILY.protocol()) if each.name == name)
    orders = [("outsiders", "insiders"), ("insiders", "outsiders")]
    assert [Judge(source, "main", order).judge(mutant).fate for order in orders] == [MutantStatus.SURVIVED] * 2
    assert Judge(source, "main", ("outsiders",)).judge(mutant).fate is not MutantStatus.SURVIVED


def test_that_an_honest_party_draws_what_is_new_is_no_fact_of_the_world() -> None:
    source = Source("tests/fixtures/cellar.py", cellar.FAMILY, "cellar")
    (mutant,) = (each for each in mutants(cellar.FAMILY.protocol()) if each.name == "issue/guard fresh ticket/drop")
    assert Judge(source, "main").judge(mutant).fate is MutantStatus.SURVIVED


def test_an_instance_that_breaks_an_axiom_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source("tests/fixtures/hall.py", hall.FAMILY, "hall")
    made = source.instance
    monkeypatch.setattr(Source, "instance", lambda _, protocol, threat, size: made(protocol, "insiders", size))
    (place,) = (each for each in places(source, "main") if each.threat == "outsiders")
    with pytest.raises(EngineError, match="the instance under outsiders violates axiom"):
        scenario(source, place)


def test_an_attack_is_looked_for_where_a_proof_fails_or_the_proof_stands() -> None:
    """Without the list nobody is let in uninvited still: the porter asks for an invitation, too."""
    found = judged("give_key/guard inside/drop", hunting=True)
    assert (found.fate, found.by) == (MutantStatus.KILLED, KilledBy.ATTACK)
    assert found.evidence.startswith("keys-inside is violated in 1 step,")
    found = judged("write_down/guard invited/drop", hunting=True)
    assert (found.fate, found.by) == (MutantStatus.KILLED, KilledBy.PROOF)


def test_what_makes_a_part_redundant_is_named_and_a_sound_protocol_not_refused() -> None:
    assert {"guard:listed", "inv:listed_are_invited"} <= set(judged("admit/guard invited/drop").core)
    assert refusal(DOOR) == ""


class Undecided:
    """Answers that leave one invariant open, however much is spent on it."""

    def __init__(self, protocol: object, threat: object) -> None:
        """Open nothing."""

    def preservation_answers(self, action: object, invariants: object, first: str = "") -> Iterator[ObligationAnswer]:
        yield ObligationAnswer("", "step/x/guests-only", "unknown", reason="budget")

    def follows(self, given: object, goal: object) -> ObligationAnswer:
        return ObligationAnswer("", "goal", "unknown", reason="budget")


def test_an_undecided_obligation_makes_a_mutant_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "admit/guard listed/drop"
    judge = Judge(SOURCE, "main")
    monkeypatch.setattr(type(INDUCTION), "step_proofs", staticmethod(Undecided))
    monkeypatch.setattr(judge, "_proofs", [Undecided(None, None)])
    found = further(judge, MUTANTS[name])
    assert found.fate is MutantStatus.UNKNOWN
    assert "step/x/guests-only is not decided (budget)" in found.evidence


def test_an_attack_is_looked_for_where_nobody_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = Judge(SOURCE, "main")
    monkeypatch.setattr(type(INDUCTION), "step_proofs", staticmethod(Undecided))
    monkeypatch.setattr(judge, "_proofs", [Undecided(None, None)])
    found = judge.judge(MUTANTS["give_key/guard inside/drop"])
    assert (found.fate, found.by, found.refuted) == (MutantStatus.KILLED, KilledBy.ATTACK, "")
    assert found.evidence.startswith("keys-inside is violated in 1 step,")


def test_what_a_small_budget_leaves_open_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "FIRST_BUDGET", 1)
    found = judged("give_key/guard inside/drop")
    assert (found.fate, found.by) == (MutantStatus.KILLED, KilledBy.PROOF)


def test_a_goal_is_not_lost_where_the_search_was_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carnet_check.mutation.scenarios.ROOM", 0)
    monkeypatch.setattr("carnet_check.mutation.scenarios.LEAST_ROOM", 1)
    found = judged("show/update insert badge/drop")
    assert found.fate is MutantStatus.UNKNOWN
    assert "perhaps lost: goal guest" in found.evidence


def test_an_exploration_that_the_interpreter_does_not_confirm_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carnet_check.mutation.scenarios.reaches", lambda *_: False)
    with pytest.raises(EngineError, match="does not confirm"):
        scenario(SOURCE, places(SOURCE, "main")[0])


def test_nothing_is_lost_of_the_original_and_scenarios_show_something() -> None:
    assert [each.place.honest for each in scenarios()] == [True, False]
    honest, all_parties = scenarios()
    assert honest.states < all_parties.states
    assert all_parties.shows - honest.shows == {"step forge"}
    for action in DOOR.actions:
        assert list(lost_scenarios(SOURCE, DOOR, scenarios(), action.name)) == []
    (found,) = attacks()
    assert (found.claim, found.weakened.without) == ("guests-only", ("guest-list",))
    same = Mutant("main", "nothing", MUTANTS["show/guard invited/drop"].operator, (), DOOR.action("forge"))
    assert list(defeated_attacks(Designs(SOURCE), same, DOOR, attacks())) == []
    for each in scenarios():
        assert scenario_from_json(scenario_as_json(each)) == each
    judgement = judged("admit/guard invited/drop")
    assert judgement_from_json(judgement_as_json(judgement)) == judgement


DOOR_FILE = str(FIXTURES / "door.py")
SURVIVORS = [
    "show/guard invited/drop",
    "admit/guard badge/drop",
    "admit/guard badge/negate",
    "admit/guard listed/drop",
    "admit/guard listed/negate",
    "give_key/update insert keyed/drop",
    "greet/guard inside/drop",
    "greet/update forget the others/drop",
]
ARGUED = "admit/guard listed/drop"


def mutate(*words: str) -> Ran:
    return carnet("mutate", *words, "--jobs", "1")


def whole() -> Ran:
    return carnet_once("mutate", DOOR_FILE, "--pairs", "--jobs", "1", "--json")


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """Return a copy of the door in which one survivor is argued."""
    file = Path(shutil.copy(DOOR_FILE, tmp_path))
    digest = door.FAMILY.protocol().digest
    file.with_name("door.argued-mutants.toml").write_text(
        f'[[argued]]\nmutant = "{ARGUED}"\nvariant = "main"\ndigest = "{digest}"\nargument = "The list is a copy."\n',
        encoding="utf-8",
    )
    return file


def test_every_mutant_has_its_fate() -> None:
    ran = whole()
    value = ran.json
    assert ran.code == 1
    assert value["protocol"] == "door"
    assert [each["mutant"] for each in value["survived"]] == SURVIVORS
    noticed = value["killed"] + value["equivalent"] + value["stronger"]
    assert noticed + len(value["survived"]) == value["mutants"] == 28
    assert (value["killed"], value["equivalent"], value["stronger"], value["unknown"]) == (16, 2, 2, [])
    assert value["killed_by"] == {"failed proof": 5, "lost attack": 2, "lost goal": 9}
    assert [each["mutant"] for each in value["refused"]] == ["greet/update forget the others/swap with insert greeted"]
    assert {each["argument"] for each in value["survived"]} == {None}


def test_survivors_are_told_with_pairs_and_threat_models() -> None:
    ran = mutate(DOOR_FILE, "--only", "admit/guard listed")
    assert ran.code == 1
    assert "SURVIVED main: admit/guard listed/drop" in ran.out
    assert "the action can be taken more often" in " ".join(ran.out.split())
    assert "2 unexplained survivors" in ran.out
    assert f"rerun        carnet mutate {DOOR_FILE} --only 'admit/guard listed'" in ran.out
    pairs = whole().json["pairs"]
    assert [each["mutant"] for each in pairs["killed"]] == ["admit/guard invited and guard listed/drop"]
    ran = mutate(DOOR_FILE, "--threat", "intruders", "--only", "give_key/guard", "--json")
    assert (ran.code, ran.json["killed"], ran.json["mutants"]) == (0, 2, 2)
    assert "under intruders" in ran.json["judgements"][0]["evidence"]


def test_without_an_unexplained_survivor_all_is_well(spec: Path) -> None:
    ran = mutate(str(spec), "--only", ARGUED, "--only", "forge", "--json")
    assert ran.code == 0
    assert ran.json["survived"] == [{"mutant": ARGUED, "variant": "main", "argument": "The list is a copy."}]
    assert ran.json["killed"] == 2
    assert f"ARGUED main: {ARGUED}" in mutate(str(spec), "--only", ARGUED).out


def test_an_argument_that_nobody_needs_is_told(spec: Path) -> None:
    arguments = spec.with_name("door.argued-mutants.toml")
    arguments.write_text(arguments.read_text("utf-8").replace(ARGUED, "give_key/guard inside/drop"), encoding="utf-8")
    told = " ".join(mutate(str(spec), "--only", "give_key/guard").out.split())
    assert "the argument for main: give_key/guard inside/drop is not needed: the mutant is killed" in told


def test_an_argument_expires_with_the_specification(spec: Path) -> None:
    spec.write_text(spec.read_text("utf-8").replace("Only guests come in.", "Guests alone come in."), encoding="utf-8")
    ran = mutate(str(spec))
    assert ran.code == 2
    assert "has expired" in ran.err


@pytest.mark.parametrize("words", [["--variant", "other"], ["--threat", "other"], ["--jobs", "0"]])
def test_what_does_not_exist_is_refused(words: list[str]) -> None:
    assert carnet("mutate", DOOR_FILE, *words).code == 2


#: What asks workers, as a test sees it: parts and answers of any kind.
Results = Callable[..., Iterator[tuple[Any, Any]]]


def kept(folder: Path, kind: str) -> list[str]:
    lines = (folder / RECORD_FILE).read_text("utf-8").splitlines()
    return [entry["key"] for entry in map(json.loads, lines[1:]) if entry["kind"] == kind]


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = (DOOR_FILE, "--only", "admit", "--out", str(tmp_path), "--json")
    results: Results = WorkerPool.results
    asked: list[str] = []

    def stopped(self: WorkerPool, function: object, *asked_for: object) -> Iterator[tuple[Any, Any]]:
        for number, (part, answer) in enumerate(results(self, function, *asked_for)):
            asked.append(part.key)
            if function is campaign._judge and number == 3:
                raise KeyboardInterrupt
            yield part, answer

    monkeypatch.setattr(WorkerPool, "results", stopped)
    ran = mutate(*words)
    assert ran.code == 130
    assert "interrupted" in ran.err
    before = kept(tmp_path, "mutant")
    assert len(before) == 3
    monkeypatch.undo()

    def counting(self: WorkerPool, *asked_for: object) -> Iterator[tuple[Any, Any]]:
        for part, answer in results(self, *asked_for):
            asked.append(part.key)
            yield part, answer

    asked.clear()
    monkeypatch.setattr(WorkerPool, "results", counting)
    again = mutate(*words)
    assert again.code == 1
    assert not set(before) & set(asked[: asked.index("main: small under intruders")])
    monkeypatch.undo()
    afresh = mutate(*words[:3], "--json").json
    assert [each["fate"] for each in again.json["judgements"]] == [each["fate"] for each in afresh["judgements"]]


def test_a_lost_worker_takes_one_mutant_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = (DOOR_FILE, "--only", "give_key/guard", "--out", str(tmp_path), "--json")
    results: Results = WorkerPool.results

    def losing(self: WorkerPool, function: object, *asked_for: object) -> Iterator[tuple[Any, Any]]:
        for part, answer in results(self, function, *asked_for):
            gone = function is campaign._judge and part.key.endswith("/drop")
            yield part, Lost("the worker was killed by signal 9") if gone else answer

    monkeypatch.setattr(WorkerPool, "results", losing)
    ran = mutate(*words)
    assert ran.code == 3
    assert ran.json["unknown"] == [
        {"mutant": "give_key/guard inside/drop", "variant": "main", "why": "the worker was killed by signal 9"}
    ]
    assert (ran.json["killed"], ran.json["mutants"]) == (1, 2)
    monkeypatch.undo()
    assert mutate(*words).code == 0
