"""``carnet lint``: each complaint stands where the specification says what it is about, for people and for programs."""

import json
import re
from pathlib import Path

import pytest

from carnet_check.commands.lint import findings_of
from carnet_spec.language.lints import RULES
from tests.unit.model_check.command import TOY, carnet

SOUND = '''from carnet_spec.language import Draft, Formula, Individual, Kind, Role, Step, implies, relation


class Party(Individual):
    """A party."""


ROLE = Role("clerk")
has = relation("has", Party, kind=Kind.STATE, of=ROLE, says="has it")
draft = Draft("token", "A token")
draft.threat("anyone", "nothing is assumed")
draft.defence("once", "a party gets it once")


@draft.action(by=ROLE, says="{party} gets it", source="example")
def give(step: Step, party: Party) -> None:
    step.require("free", ~has(party), defence="once")
    step.insert(has(party))


@draft.goal(sentence="Somebody has it.")
def somebody_has_it(party: Party) -> Formula:
    return has(party)


@draft.claim(name="same", sentence="Who has it has it.", requirement="CLAIM-SAME", source="example", under=("anyone",))
def same(party: Party) -> Formula:
    return implies(has(party), has(party))
'''
MISTAKES: dict[str, tuple[str, str, str, str]] = {
    "a defence that nobody declares": ('defence="once"', 'defence="onze"', "defences", "did you mean 'once'?"),
    "a place in a sentence that is no parameter": ("{party} gets", "{partie} gets", "places", "{partie}"),
    "a threat model that nobody declares": ('under=("anyone",)', 'under=("anione",)', "threats", "anione"),
    "an action without a source": ('source="example")\ndef give', 'source="")\ndef give', "source", "has no source"),
    "what is no Python": ("def give(", "def give((", "specification", ""),
    "a call that lacks something": ('name="same", ', "", "specification", "'name'"),
    "an import of what is not there": ("implies, relation", "implies, relatian", "specification", "relatian"),
}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path / f"spec_{tmp_path.name}.py".replace("-", "_")


def test_a_specification_in_order_has_nothing(file: Path) -> None:
    file.write_text(SOUND, "utf-8")
    ran = carnet("lint", str(file))
    assert (ran.code, ran.out.splitlines()[0]) == (0, "0 errors, 0 notes")
    assert not findings_of(TOY)


def test_where_no_threat_model_is_declared_claims_need_none(file: Path) -> None:
    declared = 'draft.threat("anyone", "nothing is assumed")\n'
    file.write_text(SOUND.replace(declared, "").replace('under=("anyone",)', "under=()"), "utf-8")
    assert not findings_of(str(file))
    other = file.with_name(f"other_{file.name}")
    other.write_text(SOUND.replace('under=("anyone",)', "under=()"), "utf-8")
    assert [each.rule for each in findings_of(str(other))] == ["claims", "judged"]


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_is_found_in_its_file_by_its_rule(mistake: str, file: Path) -> None:
    right, wrong, rule, says = MISTAKES[mistake]
    assert SOUND.count(right) >= 1
    text = SOUND.replace(right, wrong)
    file.write_text(text, "utf-8")
    ran = carnet("lint", str(file), "--json")
    assert ran.code == 1
    (found, *_) = [each for each in ran.json["findings"] if each["rule"] == rule or not rule]
    assert found["file"] == file.name
    assert says in found["message"]
    assert 1 <= found["line"] <= len(text.splitlines())
    assert found["rule"] in {*RULES, "specification", "family", "defences"}


def test_the_line_is_that_of_the_mistake(file: Path) -> None:
    file.write_text(SOUND.replace('defence="once"', 'defence="onze"'), "utf-8")
    lines = file.read_text("utf-8").splitlines()
    (found, *_) = [each for each in findings_of(str(file)) if each.rule == "defences"]
    assert "onze" in lines[found.line - 1]


FAMILY = """from carnet_spec.language import Draft, Family


def draft(variant: str) -> Draft:
    token = Draft("token", "A token", variant)
    token.withdraw("a lemma")
    return token


FAMILY = Family(id="token", title="A token", draft=draft)
"""


def test_the_draft_of_a_family_that_cannot_be_built_has_a_line(file: Path) -> None:
    file.write_text(FAMILY, "utf-8")
    ran = carnet("lint", str(file))
    assert (ran.code, ran.err) == (1, "")
    assert ran.out.startswith(f"{file.name}:6: error: no lemma 'a lemma' to take back")


def test_a_complaint_is_written_as_compilers_write_theirs(file: Path) -> None:
    file.write_text(SOUND.replace('defence="once"', 'defence="onze"'), "utf-8")
    ran = carnet("lint", str(file))
    matched = [re.fullmatch(r"(.+?):(\d+): (error|warning): (.+) \[([\w-]+)\]", line) for line in ran.out.splitlines()]
    assert any(found and found[1] == file.name and found[5] == "defences" for found in matched)


def test_several_are_asked_at_once_and_sarif_has_a_place_for_each(file: Path, tmp_path: Path) -> None:
    file.write_text(SOUND.replace("{party} gets", "{partie} gets"), "utf-8")
    ran = carnet("lint", TOY, str(file), "--sarif", "log.sarif", "--json")
    (run,) = json.loads((tmp_path / "log.sarif").read_text("utf-8"))["runs"]
    assert len(run["results"]) == len(ran.json["findings"]) >= 1
    for result in run["results"]:
        place = result["locations"][0]["physicalLocation"]
        assert place["artifactLocation"]["uri"] == file.name
        assert place["region"]["startLine"] >= 1
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]


def test_what_is_no_protocol_is_refused(tmp_path: Path) -> None:
    ran = carnet("lint", str(tmp_path / "nowhere.py"))
    assert (ran.code, "does not exist" in ran.err) == (2, True)


def test_sarif_over_the_specification_is_refused(file: Path) -> None:
    file.write_text(SOUND, "utf-8")
    ran = carnet("lint", str(file), "--sarif", str(file))
    assert ran.code == 2
    assert file.read_text("utf-8") == SOUND
