"""``carnet verify``: what is judged is said to be just that, of each protocol, and unsound ones are refused."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from carnet_check.commands import verify
from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.exploration import Search
from carnet_check.engines.exploring import explorer
from carnet_check.engines.exploring.searches import search
from carnet_check.engines.induction import engine, prove
from carnet_check.engines.proving.composition import SolverOutcome
from carnet_check.loading.families import load
from carnet_command.exit_codes import ExitCode
from carnet_spec.language import SpecificationError
from carnet_spec.language.lints import SOUNDNESS
from tests.fixtures import unsound
from tests.unit.model_check.command import FASTEST, FIXTURES, TOY, WIDE, Ran, carnet, carnet_once, control


def rows(ran: Ran) -> dict[tuple[str, str, str], str]:
    return {(row["claim"], row["threat"], row["engine"]): row["verdict"] for row in ran.json["results"]}


def test_a_sound_protocol_is_proved_and_exhausted() -> None:
    ran = carnet_once("verify", TOY, "--json")
    assert ran.code == 0
    assert rows(ran) == {
        ("secrecy", threat, engine): verdict
        for threat in ("none", "collusion")
        for engine, verdict in (("induction", "PROVED"), (FASTEST, "EXHAUSTED"))
    }
    assert ran.json["summary"]["as_expected"] is True
    assert ran.json["summary"]["by_verdict"] == {"PROVED": 2, "EXHAUSTED": 2}
    promised = {"protocol", "variant", "claim", "threat", "engine", "verdict", "bound", "expected", "detail"}
    for row in carnet_once("verify", TOY, "--json").json["results"]:
        assert promised | {"seconds", "assumptions"} <= row.keys()
        assert (row["bound"] is None) == (row["verdict"] == "PROVED")
    assert ran.json["summary"]["declared"] == ["punctual"]
    assert "punctual" not in {row["claim"] for row in ran.json["results"]}
    (goal,) = carnet_once("verify", TOY, "--json").json["goals"]
    assert (goal["goal"], goal["reached"], goal["steps"]) == ("loan-ends", True, 3)


def test_the_text_shows_the_matrix_and_ends_with_the_command_that_reruns_it() -> None:
    ran = carnet_once("verify", TOY, "--long")
    assert "secrecy  PROVED·EXHAUSTED  PROVED·EXHAUSTED" in ran.out
    labels = ["verdicts", "strength", "budget", "profile", "versions", "spec digest", "artefacts", "time", "rerun"]
    last = [line for line in ran.out.splitlines() if line and not line.startswith(" ")][-len(labels) :]
    assert [line[:12].strip() for line in last] == labels
    assert ran.out.splitlines()[-1].endswith(f"carnet verify {TOY} --long")
    assert all(len(line) <= 80 for line in ran.out.splitlines()[:-1])


def test_the_expected_attack_on_a_variant_counts_as_expected() -> None:
    of_one = ("--variant", "forgetful", "--threat", "collusion", "--engine", "explicit", "--max-states", "20000")
    ran = carnet("verify", TOY, *of_one, "--json")
    (row,) = ran.json["results"]
    assert (row["verdict"], row["expected"], ran.code) == ("VIOLATED", "VIOLATED", 0)
    assert row["steps"][0]["action"] == "lend"


CONTROLS = {
    "wrong_claim": ("stays-home", "VIOLATED", 1),
    "contradictory_premise": ("if-nowhere", "VACUOUS", 4),
    "premise_never_met": ("if-angry", "VACUOUS", 4),
    "inner_premise_never_met": ("if-there-and-angry", "VACUOUS", 4),
    "half_a_claim_never_applies": ("either", "VACUOUS", 4),
    "unreachable_goal": ("shared", "UNKNOWN", 3),
    "idle_action": ("find", "VACUOUS", 4),
    "idle_adversary": ("steal", "VACUOUS", 4),
    "no_adversary_moves": ("adversary", "VACUOUS", 4),
    "only_overhears": ("adversary", "VACUOUS", 4),
}


@pytest.mark.parametrize("name", CONTROLS)
def test_a_negative_control_is_caught(name: str) -> None:
    about, verdict, code = CONTROLS[name]
    ran = carnet_once("verify", control(name), "--engine", "explicit", "--json")
    assert ran.code == code
    found = {row["claim"]: row for row in ran.json["results"]}
    assert found[about]["verdict"] == verdict
    assert found[about]["expected"] != verdict
    assert found["one-holder"]["verdict"] == "EXHAUSTED", "what is sound stays established"
    assert ran.json["summary"]["as_expected"] is False


@pytest.mark.mends("R8")
def test_deductions_are_steps_of_an_adversary_and_goals_out_of_reach_where_that_is_proved() -> None:
    ran = carnet_once("verify", control("only_records"), "--engine", "explicit", "--json")
    assert "adversary" not in {row["claim"] for row in ran.json["results"]}
    ran = carnet_once("verify", control("unreachable_goal"), "--jobs", "1", "--json")
    (row,) = [row for row in ran.json["results"] if row["claim"] == "shared"]
    assert (ran.code, row["verdict"]) == (4, "VACUOUS")
    ran = carnet("verify", TOY, "--claim", "secrecy", "--threat", "none", "--engine", "explicit", "--json")
    assert rows(ran) == {("secrecy", "none", "explicit"): "EXHAUSTED"}


PREMISES = ["contradictory_premise", "premise_never_met", "inner_premise_never_met", "half_a_claim_never_applies"]


@pytest.mark.parametrize("name", PREMISES)
def test_a_vacuous_premise_is_caught_without_exploring(name: str) -> None:
    ran = carnet("verify", control(name), "--engine", "induction", "--jobs", "1", "--json")
    assert ran.code == 4
    assert rows(ran)[CONTROLS[name][0], "anyone", "induction"] == "VACUOUS"


@pytest.mark.parametrize("asked", [["--engine", "induction"], ["--claim", "one-holder"]])
def test_what_was_not_looked_for_is_said(asked: list[str]) -> None:
    ran = carnet("verify", control("idle_action"), *asked, "--jobs", "1", "--json")
    assert not any(row["kind"] == "action" for row in ran.json["results"])
    assert any("steps that no run takes were not looked for" in note for note in ran.json["notes"])
    whole = carnet_once("verify", control("idle_action"), "--engine", "explicit", "--json")
    assert not any("were not looked for" in note for note in whole.json["notes"])


def test_a_wrong_claim_spoils_no_other_and_its_violation_is_told_in_full() -> None:
    ran = carnet("verify", control("wrong_claim"), "--engine", "induction", "--jobs", "1", "--json")
    assert rows(ran) == {
        ("one-holder", "anyone", "induction"): "PROVED",
        ("stays-home", "anyone", "induction"): "UNKNOWN",
    }
    assert ran.code == 3
    ran = carnet("verify", control("wrong_claim"), "--engine", "explicit")
    assert "1.  first passes the token on to party1" in ran.out
    assert "stays-home fails for a = party1" in ran.out
    assert "--claim stays-home" in ran.out


def test_a_search_that_is_cut_off_is_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    from carnet_check.engines.exploration import Caps
    from carnet_check.engines.exploring import searches

    monkeypatch.setitem(searches.CAPS, "tiny", Caps(states=50))
    ran = carnet("verify", WIDE, "--engine", "explicit", "--json")
    (row,) = [row for row in ran.json["results"] if row["kind"] == "claim"]
    assert (row["verdict"], ran.code) == ("UNKNOWN", 3)
    assert "stopped by states" in row["detail"]


def test_the_closing_block_lists_everything_that_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ("verify", TOY, "--engine", "explicit")
    files = ("--html", "pages", "--junit", "j.xml", "--sarif", "s.json", "--markdown", "m.md")
    assert "artefacts    none written (--out DIR writes them)" in carnet(*asked, "--long").out.splitlines()
    assert "artefacts" not in carnet(*asked).out
    assert "artefacts    pages, j.xml, s.json, m.md" in carnet(*asked, *files).out.splitlines()
    assert "artefacts    run, pages, j.xml, s.json, m.md" in carnet(*asked, *files, "--out", "run").out.splitlines()


@pytest.mark.parametrize("arguments", [("explore", TOY), ("attack", TOY, "--variant", "forgetful")])
def test_only_commands_with_a_folder_to_keep_things_in_offer_it(arguments: tuple[str, ...]) -> None:
    offers = "--out DIR" in carnet(arguments[0], "--help").out
    (line,) = [line for line in carnet(*arguments).out.splitlines() if line.startswith("artefacts ")]
    assert ("--out DIR" in line) == offers
    assert "none" in line


def artefacts(folder: Path) -> dict[str, str]:
    return {str(file.relative_to(folder)): file.read_text() for file in folder.rglob("*") if file.is_file()}


def test_artefacts_are_complete_and_verdicts_repeat_byte_for_byte(tmp_path: Path) -> None:
    for number in ("1", "2"):
        carnet("verify", TOY, "--jobs", number, "--out", str(tmp_path / number), "--junit", str(tmp_path / "junit.xml"))
    first, second = artefacts(tmp_path / "1"), artefacts(tmp_path / "2")
    assert first.keys() == {"verdicts.jsonl", "timings.jsonl", "run.json", "spec.json", "graphs/main.none.json"}
    for name in first.keys() - {"timings.jsonl", "run.json"}:
        assert first[name] == second[name], name
    verdicts = [json.loads(line) for line in first["verdicts.jsonl"].splitlines()]
    assert len(verdicts) == len(first["timings.jsonl"].splitlines()) == 4
    assert not any("seconds" in row for row in verdicts)
    run: dict[str, Any] = json.loads(first["run.json"])
    assert run["run"]["rerun"].startswith("carnet verify")


def test_junit_has_a_case_for_each_row(tmp_path: Path) -> None:
    file = tmp_path / "junit.xml"
    ran = carnet("verify", control("wrong_claim"), "--engine", "explicit", "--junit", str(file), "--json")
    (suite,) = ElementTree.parse(file).getroot()
    cases = {case.attrib["name"]: case for case in suite.iter("testcase")}
    assert len(cases) == len(ran.json["results"]) == int(suite.attrib["tests"])
    failed = [name for name, case in cases.items() if case.find("failure") is not None]
    assert failed == ["claim: stays-home [explicit]"]


LAPS = str(FIXTURES / "laps.py")


def test_a_goal_beyond_the_profile_is_reached_in_a_directed_run_or_unknown() -> None:
    ran = carnet("verify", LAPS + ":FAMILY", "--engine", "explicit", "--json")
    assert ran.code == 0
    goals = {goal["goal"]: goal for goal in ran.json["goals"]}
    assert (goals["first-lap"]["steps"], goals["first-lap"]["directed"]) == (1, False)
    assert (goals["third-lap"]["steps"], goals["third-lap"]["directed"]) == (3, True)
    assert goals["third-lap"]["where"] == '3 Lap (author: "3 laps")'
    assert {row["claim"] for row in ran.json["results"]} == {"counted"}
    ran = carnet("verify", LAPS + ":DOGGED", "--engine", "explicit", "--json")
    missed = {row["claim"]: row for row in ran.json["results"] if row["kind"] == "goal"}
    assert (ran.code, set(missed), missed["third-chase"]["verdict"]) == (3, {"third-chase"}, "UNKNOWN")
    ran = carnet("verify", LAPS + ":FAMILY", "--engine", "explicit", "--profile", "ci", "--json")
    (row,) = ran.json["results"]
    assert (row["verdict"], row["bound"], row["expected"], ran.code) == ("HOLDS-TO", 1, "HOLDS-TO", 0)


BROKEN = control("wrong_claim")


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let there be one protocol that is sound and one that is not."""
    monkeypatch.setattr(verify, "registered_ids", lambda: [TOY, BROKEN])


@pytest.mark.usefixtures("two")
def test_each_is_verified_and_the_worst_decides() -> None:
    codes = [carnet("verify", each, "--json").code for each in (TOY, BROKEN)]
    together = carnet("verify", "--json")
    assert codes[0] == 0 < codes[1]
    assert together.code == codes[1]
    assert together.json["summary"]["as_expected"] is False


@pytest.mark.usefixtures("two")
def test_the_one_object_has_the_rows_and_verdicts_of_all() -> None:
    alone: list[Any] = [carnet("verify", each, "--json").json for each in (TOY, BROKEN)]
    together = carnet("verify", "--json").json
    rows = [{**row, "seconds": 0} for each in alone for row in each["results"]]
    assert [{**row, "seconds": 0} for row in together["results"]] == rows
    verdicts = [each["summary"]["by_verdict"] for each in alone]
    assert together["summary"]["by_verdict"] == {
        word: sum(each.get(word, 0) for each in verdicts) for each in verdicts for word in each
    }
    assert [each["protocol"] for each in together["protocols"]] == [each["results"][0]["protocol"] for each in alone]
    assert together["run"]["rerun"] == "carnet verify --json"


@pytest.mark.usefixtures("two")
def test_the_report_has_the_report_of_each_and_says_what_came_of_it() -> None:
    ran = carnet("verify", "--engine", "explicit")
    assert f"rerun        carnet verify {TOY} --engine explicit" in ran.out
    assert f"rerun        carnet verify {BROKEN} --engine explicit" in ran.out
    assert f"{TOY} as expected" in " ".join(ran.out.split())
    assert f"(exit code {ran.code})" in ran.out
    assert ran.out.rstrip().endswith("carnet verify --engine explicit")


@pytest.mark.parametrize("option", ["--claim", "--threat", "--variant", "--cti", "--junit", "--out"])
def test_what_is_about_one_protocol_asks_which(option: str) -> None:
    ran = carnet("verify", option, "x")
    assert ran.code == 2
    assert f"{option} is about one protocol: say which" in ran.err


TOLD = "protocol.py of this folder; `carnet verify --all` verifies every registered one"


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder that `carnet init` made, where one protocol is registered."""
    folder = tmp_path / "my-tickets"
    assert carnet("init", str(folder)).code == 0
    monkeypatch.chdir(folder)
    load.cache_clear()  # which knows a file of this name in another folder
    monkeypatch.setattr(verify, "registered_ids", lambda: [control("sound")])
    return folder


@pytest.mark.mends("R466")
@pytest.mark.usefixtures("begun")
def test_the_one_of_this_folder_is_verified_and_named() -> None:
    ran = carnet("verify", "--engine", "explicit")
    assert ran.code == 0
    assert TOLD in " ".join(ran.out.split())
    assert "Tickets t" in ran.out
    assert ran.out.rstrip().endswith("rerun        carnet verify protocol.py --engine explicit")


@pytest.mark.mends("R466")
@pytest.mark.usefixtures("begun")
def test_options_about_one_protocol_are_about_it_and_json_stays_one_object() -> None:
    ran = carnet("verify", "--claim", "own-ticket", "--json")
    assert {(row["protocol"], row["claim"]) for row in ran.json["results"]} == {("my-tickets", "own-ticket")}
    assert TOLD in " ".join(ran.err.split())


@pytest.mark.mends("R466")
@pytest.mark.usefixtures("begun")
def test_all_registered_ones_can_be_asked_for() -> None:
    ran = carnet("verify", "--all", "--json")
    assert {row["protocol"] for row in ran.json["results"]} == {"token"}
    assert ran.json["run"]["rerun"] == "carnet verify --all --json"
    assert "of this folder" not in ran.err


@pytest.mark.usefixtures("begun")
def test_all_and_one_contradict_each_other() -> None:
    ran = carnet("verify", "protocol.py", "--all")
    assert (ran.code, ran.out, "leave out --all, or PROTOCOL" in ran.err) == (2, "", True)


def test_a_file_of_this_name_is_used_if_it_uses_the_language_and_nothing_else_is_asked_for(begun: Path) -> None:
    (begun / "protocol.py").write_text("raise SystemExit('run')\n")
    ran = carnet("verify", "--json")
    assert (ran.code, {row["protocol"] for row in ran.json["results"]}) == (0, {"token"})
    assert carnet("explain", "grant").code == 0
    (begun / "protocol.py").write_text("from carnet_spec.language import Nothing\n")
    for command in (("verify",), ("explain", "grant")):
        ran = carnet(*command)
        assert (ran.code, "protocol.py:1" in ran.err) == (2, True)
    assert carnet("explain", "grant", "--protocol", "gpu-travelling").code == 0


@pytest.mark.mends("R467")
@pytest.mark.usefixtures("begun")
def test_ids_of_this_folder_are_explained_beside_those_that_are_registered() -> None:
    own = carnet("explain", "own-ticket", "--json").json["entries"]
    assert [(entry["protocol"], entry["check"]) for entry in own] == [
        ("my-tickets", "carnet verify protocol.py --claim own-ticket")
    ]
    assert carnet("explain", "own-ticket", "--protocol", "protocol.py", "--json").json["entries"] == own
    assert carnet("explain", "grant", "--json").json["entries"][0]["protocol"] == "gpu-travelling"


@pytest.mark.mends("R467")
@pytest.mark.usefixtures("begun")
def test_the_nearest_id_is_offered() -> None:
    ran = carnet("explain", "own-tickt")
    assert (ran.code, ran.out) == (2, "")
    assert "no id 'own-tickt' in my-tickets, gpu-travelling" in ran.err
    assert "did you mean 'own-ticket'?" in ran.err


REFUSED = {
    "two_lemmas_of_a_name": "names",
    "two_claims_of_a_name": "names",
    "two_threats_of_an_id": "names",
    "an_axiom_about_what_changes": "axioms",
    "a_claim_ahead_of_a_rule": "monotone",
    "keys_that_differ_before_they_are_drawn": "interchangeable",
    "a_step_that_reads_what_nobody_wrote": "written-before-read",
}


def unsound_draft(name: str) -> str:
    return f"{FIXTURES / 'unsound.py'}:{name}"


@pytest.mark.parametrize("engine", ["explicit", "induction"])
@pytest.mark.parametrize("name", REFUSED)
def test_a_broken_rule_refuses_every_verdict(name: str, engine: str) -> None:
    assert REFUSED[name] in SOUNDNESS
    ran = carnet("verify", unsound_draft(name), "--engine", engine, "--jobs", "1", "--json")
    assert (ran.code, ran.json["error"]["kind"]) == (2, "specification")
    assert f"no verdict would be sound: {REFUSED[name]}: " in ran.json["error"]["message"]


@pytest.mark.parametrize("name", REFUSED)
def test_each_complaint_has_a_line_of_its_own_and_says_which_line_it_is_about(name: str) -> None:
    ran = carnet("verify", unsound_draft(name))
    lines = (FIXTURES / "unsound.py").read_text().splitlines()
    for said in ran.err.splitlines():
        found = re.match(r"carnet: unsound\.py:(\d+): main: no verdict would be sound: ", said)
        assert found
        assert lines[int(found[1]) - 1].strip()


def test_every_complaint_is_said() -> None:
    name = "a_step_that_reads_what_nobody_wrote"
    said = carnet("verify", unsound_draft(name)).err.splitlines()
    error = carnet("verify", unsound_draft(name), "--json").json["error"]
    assert len(said) == 2
    assert [f"carnet: {complaint}" for complaint in error["complaints"]] == said
    assert error["message"] == "; ".join(error["complaints"])


@pytest.mark.parametrize("command", [["explore"], ["attack", "--variant", "main"]])
def test_no_other_command_judges_it_either(command: list[str]) -> None:
    ran = carnet(command[0], unsound_draft("a_claim_ahead_of_a_rule"), *command[1:])
    assert ran.code == 2
    assert "no verdict would be sound: monotone" in ran.err


def test_no_trace_is_held_to_it(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    header = {"carnet_trace": 3, "protocol": "leaking", "variant": "main", "without": [], "threat": "somebody"}
    trace.write_text(json.dumps({**header, "sizes": {}}) + "\n", encoding="utf-8")
    ran = carnet("conform", str(trace), "--protocol", unsound_draft("a_claim_ahead_of_a_rule"))
    assert ran.code == 2
    assert "no verdict would be sound: monotone" in ran.err


def test_lemmas_of_a_name_are_refused_below_the_command_too() -> None:
    protocol = unsound.two_lemmas_of_a_name().protocol()
    with pytest.raises(SpecificationError, match="called bound"):
        prove(protocol, protocol.threat("nobody"), jobs=1)


def test_from_a_contradiction_nothing_is_proved() -> None:
    ran = carnet("verify", unsound_draft("a_threat_that_cannot_be"), "--engine", "induction", "--jobs", "1", "--json")
    (row,) = ran.json["results"]
    assert (ran.code, row["verdict"]) == (4, "VACUOUS")
    assert row["detail"] == "the assumptions under somebody contradict each other, so anything follows"


@pytest.fixture
def no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nobody say what may ever happen: the solver's worker is lost, or its budget spent."""
    monkeypatch.setattr(engine, "ask_apart", lambda _: (SolverOutcome.UNKNOWN, (), "nobody answers"))


@pytest.mark.usefixtures("no_answer")
@pytest.mark.parametrize(
    ("draft", "threat"), [("a_threat_that_cannot_be", "somebody"), ("axioms_that_cannot_be", "anybody")]
)
def test_nothing_is_proved_of_what_nobody_knows_to_be_possible(draft: str, threat: str) -> None:
    ran = carnet("verify", unsound_draft(draft), "--engine", "induction", "--jobs", "1", "--json")
    (row,) = ran.json["results"]
    assert (ran.code, row["verdict"]) == (ExitCode.UNKNOWN, "UNKNOWN")
    assert f"no small structure that satisfies the assumptions under {threat} was found" in row["detail"]
    assert "the solver gives no answer whether one exists" in row["detail"]


@pytest.mark.usefixtures("no_answer")
@pytest.mark.parametrize("engine", ["induction", "bmc"])
def test_neither_is_progress_nor_a_run_of_a_few_steps(engine: str) -> None:
    """Liveness and bounded runs of no world are about nothing, too."""
    ran = carnet("verify", unsound_draft("progress_in_no_world"), "--engine", engine, "--jobs", "1", "--json")
    rows = ran.json["results"]
    assert {(row["kind"], row["verdict"]) for row in rows} == {
        "induction": {("claim", "UNKNOWN"), ("liveness", "UNKNOWN")},
        "bmc": {("claim", "UNKNOWN")},
    }[engine]
    assert all("gives no answer whether one exists" in row["detail"] for row in rows), rows
    assert ran.code == ExitCode.UNKNOWN


@pytest.mark.usefixtures("no_answer")
def test_a_structure_that_is_found_is_an_answer() -> None:
    """The claim is proved, and it is said to be unknown whether its premise is ever met."""
    ran = carnet("verify", TOY, "--engine", "induction", "--jobs", "1", "--json")
    assert {row["verdict"] for row in ran.json["results"]} == {"PROVED"}
    assert any("it is unknown whether the premise" in note for note in ran.json["notes"]), ran.json["notes"]


DARK = '''from carnet_spec.language import Draft, Formula, Individual, Kind, Role, Step, implies, relation


class Lamp(Individual):
    """A lamp."""


KEEPER = Role("keeper")
lit = relation("lit", Lamp, kind=Kind.STATE, of=KEEPER, says="it is lit")
draft = Draft("dark", "Lamps that stay dark")


@draft.action(by=KEEPER, says="{lamp} is lit.", source="tests")
def light(step: Step, lamp: Lamp) -> None:
    step.require("lit before", lit(lamp))
    step.insert(lit(lamp))


@draft.claim(name="steady", sentence="What is lit is lit.", requirement="R-1", source="tests", under=())
def steady(lamp: Lamp) -> Formula:
    return implies(lit(lamp), lit(lamp))
'''


@pytest.mark.usefixtures("no_answer")
def test_a_premise_that_no_state_meets_is_noted_though_the_solver_does_not_answer(tmp_path: Path) -> None:
    file = tmp_path / "dark_lamps.py"
    file.write_text(DARK, "utf-8")
    ran = carnet("verify", str(file), "--engine", "induction", "--engine", "explicit", "--jobs", "1", "--json")
    assert [note for note in ran.json["notes"] if "premise" in note] == [
        "main: the premise of steady holds in no state of this profile, and it is unknown whether it can be satisfied: "
        "no answer by the solver"
    ]


@pytest.fixture
def contradiction(tmp_path: Path) -> str:
    """Return a protocol whose axioms contradict each other, with the certificates of its claim beside it."""
    shutil.copy(FIXTURES / "unsound.py", tmp_path)
    reference = f"{tmp_path / 'unsound.py'}:axioms_that_cannot_be"
    made = carnet("certify", reference, "--jobs", "1", "--json")
    assert (made.code, made.json["variants"][0]["missing"]) == (0, {})
    return reference


def test_nothing_is_proved_from_a_contradiction(contradiction: str) -> None:
    (row,) = carnet("verify", contradiction, "--engine", "kernel", "--json").json["results"]
    assert (row["verdict"], row["claim"]) == ("UNKNOWN", "none-seen")
    assert "no small structure that satisfies the assumptions under anybody was found" in row["detail"]
    assert "ask a solver, as `--engine induction` does" in row["detail"]
    (row,) = carnet("verify", contradiction, "--engine", "induction", "--jobs", "1", "--json").json["results"]
    assert row["verdict"] == "VACUOUS"
    ran = carnet("verify", contradiction)
    assert ran.code == 2
    assert "if they contradict each other, an engine of `carnet verify` that proves can say so" in ran.err


@pytest.mark.mends("R10")
def test_a_claim_that_reads_early_is_explored_from_every_first_value() -> None:
    asked = ("verify", unsound_draft("a_claim_about_what_nobody_wrote"), "--jobs", "1", "--json")
    (row,) = carnet(*asked, "--engine", "explicit").json["results"]
    assert (row["claim"], row["verdict"]) == ("none-before", "VIOLATED")
    assert "every first value of last" in row["detail"]


def test_a_search_is_about_the_specification_that_was_planned() -> None:
    source = load(TOY)
    protocol = source.protocol()
    task = Search(
        reference=source.reference,
        variant="",
        without=(),
        threat=protocol.threats[0].id,
        profile=source.profile("tiny"),
        claims=(),
        digest=protocol.digest,
    )
    assert not search(EXPLICIT, task).problems
    (problem,) = search(EXPLICIT, replace(task, digest="0" * 64)).problems
    assert problem == f"the specification changed while it was checked: it was {'0' * 16}"


def test_every_exploration_of_a_run_names_its_specification(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Search] = []

    def noted(_explorer: object, tasks: list[Search], *_: object) -> list[object]:
        seen.extend(tasks)
        return []

    monkeypatch.setattr(explorer, "run_all", noted)
    carnet("verify", TOY, "--engine", "explicit")
    digests = {load(TOY).protocol(task.variant).digest for task in seen}
    assert digests == {task.digest for task in seen} != set()
