"""What other tools read: SARIF, JUnit XML and GitHub's Markdown, each checked against its own schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from lxml import etree

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
