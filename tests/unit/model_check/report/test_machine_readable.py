"""What other tools read: SARIF, JUnit XML and GitHub's Markdown, each checked against its own schema."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from lxml import etree

import carnet_spec
from carnet_check.report.formats import junit
from carnet_check.results import Result, Verdict
from carnet_spec.trace import TraceStep
from tests.unit.model_check.command import FIXTURES, TOY, carnet, control

SCHEMAS = FIXTURES / "schemas"
RUNS = {
    "sound": ("verify", TOY, "--jobs", "1"),
    "violated": ("verify", control("wrong_claim"), "--engine", "explicit"),
    "vacuous": ("verify", control("unreachable_goal"), "--jobs", "1"),
    "unknown": ("verify", control("wrong_claim"), "--engine", "induction", "--jobs", "1"),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with every output of every run."""
    folder = tmp_path_factory.mktemp("written")
    for name, arguments in RUNS.items():
        outputs = {"--sarif": "sarif", "--junit": "xml", "--markdown": "md"}
        options = [word for option, end in outputs.items() for word in (option, str(folder / f"{name}.{end}"))]
        carnet(*arguments, *options)
    return folder


def sarif_of(written: Path, name: str) -> Any:
    return json.loads((written / f"{name}.sarif").read_text())


@pytest.mark.parametrize("name", RUNS)
def test_sarif_is_valid_by_the_official_schema(written: Path, name: str) -> None:
    import jsonschema

    schema = json.loads((SCHEMAS / "sarif-schema-2.1.0.json").read_text())
    validator = jsonschema.Draft4Validator(schema, format_checker=jsonschema.FormatChecker())
    assert [error.message for error in validator.iter_errors(sarif_of(written, name))] == []


def test_sarif_has_results_only_for_what_failed(written: Path) -> None:
    assert sarif_of(written, "sound")["runs"][0]["results"] == []
    found = {
        name: [(result["ruleId"], result["level"]) for result in sarif_of(written, name)["runs"][0]["results"]]
        for name in ("violated", "vacuous", "unknown")
    }
    assert found == {
        "violated": [("R-2", "error")],
        "vacuous": [("goal/shared", "error")],
        "unknown": [("R-2", "warning")],
    }


def test_sarif_rules_are_the_requirements_and_results_point_at_them(written: Path) -> None:
    (run,) = sarif_of(written, "violated")["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["R-1", "R-2"]
    (result,) = run["results"]
    assert rules[result["ruleIndex"]]["id"] == result["ruleId"]


def test_a_sarif_code_flow_has_a_thread_for_each_party_that_acts(written: Path) -> None:
    (result,) = sarif_of(written, "violated")["runs"][0]["results"]
    (flow,) = result["codeFlows"]
    assert [thread["id"] for thread in flow["threadFlows"]] == ["first"]
    (step,) = flow["threadFlows"][0]["locations"]
    assert step["location"]["message"]["text"] == "first passes the token on to party1"
    assert step["executionOrder"] == 1


def test_a_fingerprint_does_not_depend_on_what_else_was_checked(written: Path, tmp_path: Path) -> None:
    file = tmp_path / "one.sarif"
    carnet("verify", control("wrong_claim"), "--engine", "explicit", "--claim", "stays-home", "--sarif", str(file))
    (alone,) = json.loads(file.read_text())["runs"][0]["results"]
    (among,) = sarif_of(written, "violated")["runs"][0]["results"]
    assert alone["partialFingerprints"] == among["partialFingerprints"]


@pytest.mark.parametrize("name", RUNS)
def test_junit_is_valid_by_its_schema(written: Path, name: str) -> None:
    schema = etree.XMLSchema(etree.parse(str(SCHEMAS / "junit-10.xsd")))
    schema.assertValid(etree.parse(str(written / f"{name}.xml")))


def test_the_summary_tells_what_failed_first(written: Path) -> None:
    text = (written / "violated.md").read_text()
    assert text.index("### Not as expected") < text.index("| claim | anyone |")
    assert "* **VIOLATED**, expected EXHAUSTED: **stays-home** in main under anyone, explicit" in text
    assert "  1. first passes the token on to party1" in text
    assert "### Not as expected" not in (written / "sound.md").read_text()


@pytest.mark.mends("N21")
@pytest.mark.mends("N6")
def test_a_result_points_at_the_line_of_its_claim_and_each_step_at_its_action(written: Path) -> None:
    (result,) = sarif_of(written, "violated")["runs"][0]["results"]
    (step,) = result["codeFlows"][0]["threadFlows"][0]["locations"]
    said = [_said_at(place["physicalLocation"]) for place in (*result["locations"], step["location"])]
    assert said == ["    def stated(", "    @token.action("]


def _said_at(place: Any) -> str:
    lines = Path(unquote(place["artifactLocation"]["uri"])).read_text().splitlines()
    line: str = lines[place["region"]["startLine"] - 1]
    return line[: line.index("(") + 1]


def test_a_claim_of_a_package_is_in_the_file_that_states_it(tmp_path: Path) -> None:
    only = ("--claim", "iv-unique", "--threat", "outsider", "--engine", "explicit")
    carnet("verify", "gpu-travelling", *only, "--out", str(tmp_path))
    places = json.loads((tmp_path / "spec.json").read_text())["places"]
    (claim,) = (place for place in places if (place["kind"], place["name"]) == ("claim", "iv-unique"))
    root = Path(next(iter(carnet_spec.__path__))).parent
    lines = (root / claim["file"]).read_text().splitlines()
    assert "claim" in lines[claim["line"] - 1]
    assert '@claim("iv-unique"' in "".join(lines[claim["line"] - 1 : claim["line"] + 3])
    assert len({place["file"] for place in places}) > 5


@pytest.mark.mends("N6")
def test_junit_counts_no_second_twice() -> None:
    rows = [_row("a", 3.0), _row("b", 3.0), _row("c", 3.0), _row("d", 1.5)]
    suites = ElementTree.fromstring(junit(rows))
    assert [case.get("time") for case in suites.iter("testcase")] == ["1.000", "1.000", "1.000", "1.500"]
    assert [suite.get("time") for suite in suites.iter("testsuite")] == ["4.500"]


def test_junit_tells_the_steps_of_what_failed(written: Path) -> None:
    failures = [failure.text or "" for failure in ElementTree.parse(written / "violated.xml").iter("failure")]
    assert [text.splitlines()[1:] for text in failures] == [["  1. pass_on(a=first, b=party1)"]]


def _row(claim: str, seconds: float) -> Result:
    return Result("p", "main", claim, "t", "explicit", Verdict.EXHAUSTED, Verdict.EXHAUSTED, 1, seconds=seconds)


def test_junit_counts_steps_as_the_story_of_an_attack_does() -> None:
    steps = [TraceStep("lend", "lender"), TraceStep("learn", "adversary"), TraceStep("use", "borrower")]
    fallen = replace(_row("a", 1.0), verdict=Verdict.VIOLATED, steps=tuple(steps))
    (failure,) = ElementTree.fromstring(junit([fallen], {"learn"})).iter("failure")
    assert (failure.text or "").splitlines()[-3:] == ["  1. lend()", "     learn()", "  2. use()"]
