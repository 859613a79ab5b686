"""What no engine can be believed about is refused by every command that judges, or said beside the verdict."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

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
from tests.unit.model_check.command import FIXTURES, TOY, carnet

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
    assert f"no verdict would mean anything: {REFUSED[name]}: " in ran.json["error"]["message"]


@pytest.mark.parametrize("name", REFUSED)
def test_each_complaint_has_a_line_of_its_own_and_says_which_line_it_is_about(name: str) -> None:
    ran = carnet("verify", unsound_draft(name))
    lines = (FIXTURES / "unsound.py").read_text().splitlines()
    for said in ran.err.splitlines():
        found = re.match(r"carnet: unsound\.py:(\d+): main: no verdict would mean anything: ", said)
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
    assert "no verdict would mean anything: monotone" in ran.err


def test_no_trace_is_held_to_it(tmp_path: Path) -> None:
    trace = tmp_path / "trace.jsonl"
    header = {"carnet_trace": 3, "protocol": "leaking", "variant": "main", "without": [], "threat": "somebody"}
    trace.write_text(json.dumps({**header, "sizes": {}}) + "\n", encoding="utf-8")
    ran = carnet("conform", str(trace), "--protocol", unsound_draft("a_claim_ahead_of_a_rule"))
    assert ran.code == 2
    assert "no verdict would mean anything: monotone" in ran.err


def test_lemmas_of_a_name_are_refused_below_the_command_too() -> None:
    protocol = unsound.two_lemmas_of_a_name().protocol()
    with pytest.raises(SpecificationError, match="called bound"):
        prove(protocol, protocol.threat("nobody"), jobs=1)


def test_from_a_contradiction_nothing_is_proved() -> None:
    ran = carnet("verify", unsound_draft("a_threat_that_cannot_be"), "--engine", "induction", "--jobs", "1", "--json")
    (row,) = ran.json["results"]
    assert (ran.code, row["verdict"]) == (4, "VACUOUS")
    assert row["detail"] == "what is assumed under somebody contradicts itself, so anything follows"


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
    assert f"no small structure was found in which what is assumed under {threat} holds" in row["detail"]
    assert "the solver does not answer whether there is any" in row["detail"]


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
    assert all("does not answer whether there is any" in row["detail"] for row in rows), rows
    assert ran.code == ExitCode.UNKNOWN


@pytest.mark.usefixtures("no_answer")
def test_a_structure_that_is_found_is_an_answer() -> None:
    """The claim is proved, and it is said that nobody could tell whether its premise is ever met."""
    ran = carnet("verify", TOY, "--engine", "induction", "--jobs", "1", "--json")
    assert {row["verdict"] for row in ran.json["results"]} == {"PROVED"}
    assert any("nobody could tell whether the premise" in note for note in ran.json["notes"]), ran.json["notes"]


@pytest.fixture
def contradiction(tmp_path: Path) -> str:
    """Return a protocol whose axioms contradict each other, with the certificates of its claim beside it."""
    shutil.copy(FIXTURES / "unsound.py", tmp_path)
    reference = f"{tmp_path / 'unsound.py'}:axioms_that_cannot_be"
    made = carnet("certify", reference, "--jobs", "1", "--json")
    assert (made.code, made.json["variants"][0]["missing"]) == (0, {})
    return reference


def test_certificates_from_a_contradiction_prove_nothing(contradiction: str) -> None:
    (row,) = carnet("verify", contradiction, "--engine", "kernel", "--json").json["results"]
    assert (row["verdict"], row["claim"]) == ("UNKNOWN", "none-seen")
    assert "no small structure was found in which what is assumed under anybody holds" in row["detail"]
    assert "ask a solver, as `--engine induction` does" in row["detail"]
    (row,) = carnet("verify", contradiction, "--engine", "induction", "--jobs", "1", "--json").json["results"]
    assert row["verdict"] == "VACUOUS"


def test_an_exploration_that_axioms_leave_nothing_to_says_whom_to_ask(contradiction: str) -> None:
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
