"""Every requirement and every defence of GPU Travelling is cited at the line that enforces it."""

from __future__ import annotations

import csv
import pkgutil
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from carnet_ref.citations import (
    PACKAGE,
    CitationError,
    citations,
    citations_in,
    places,
)
from carnet_ref.systems.gpu_travelling.ablations.orchestrator import defence_names
from carnet_ref.systems.gpu_travelling.exploits.catalogue import UNREPLAYED
from carnet_spec.language import Family
from carnet_spec.protocols.gpu_travelling import FAMILY

SYSTEM = PACKAGE / "systems" / "gpu_travelling"
CITED = places(citations(FAMILY.id))


def normative(family: Family) -> frozenset[str]:
    """Return the requirements that the steps of a protocol's main variants enforce, and one claim that has a place."""
    wholes = [family.drafted(name).whole() for name in family.with_layers(family.main)]
    enforced = {id for whole in wholes for action in whole.actions for id in action.enforces if id.startswith("REQ-")}
    stated = {
        id for whole in wholes for claim in whole.claims for id in re.findall(r"REQ-[A-Z0-9-]+", claim.requirement)
    }
    return frozenset({*enforced, *stated, "CLAIM-NO-SILENT-RESET"})


def relied_on(family: Family) -> frozenset[str]:
    """Return the defences without which a main variant has other steps; the rest are those of variants alone."""
    actions = [action for name in family.with_layers(family.main) for action in family.drafted(name).actions]
    parts = [each for action in actions for group in (action.guards, action.updates) for each in group]
    named = {action.shortcut_of for action in actions} | {part.defence for part in parts} | {p.unless for p in parts}
    return frozenset(name for name in defence_names() if name in named)


REQUIREMENTS = sorted(normative(FAMILY))
DEFENCES = sorted(relied_on(FAMILY))


def cited(package: Path) -> list[tuple[str, str]]:
    """Return what each line of a package cites, and the class and function that it is in."""
    return [(each.id, ".".join(each.place.split(".")[-2:])) for each in citations_in(package)]


with (PACKAGE.parents[1] / "docs" / "results" / "places" / f"{FAMILY.id}.csv").open(newline="") as kept:
    KEPT = [(row["id"], ".".join(row["place"].split(".")[-2:])) for row in csv.DictReader(kept)]


def test_there_is_something_to_cite() -> None:
    assert len(REQUIREMENTS) > 40
    assert len(DEFENCES) > 40


@pytest.mark.parametrize("id", [*REQUIREMENTS, *DEFENCES])
def test_every_requirement_and_every_defence_has_a_place(id: str) -> None:
    assert id in CITED


def test_a_defence_of_a_variant_that_has_no_place_is_listed_with_the_reason() -> None:
    without_place = defence_names() - set(CITED)
    assert without_place == {each.name for each in UNREPLAYED if each.why} & without_place
    assert "channel-update" in without_place
    assert not without_place & set(DEFENCES)


def test_nothing_is_cited_that_the_specification_does_not_have() -> None:
    assert sorted(set(CITED) - {*REQUIREMENTS, *DEFENCES}) == []


@pytest.mark.parametrize("place", sorted({place for named in CITED.values() for place in named}))
def test_every_place_can_be_found(place: str) -> None:
    assert callable(pkgutil.resolve_name(place))


def test_every_line_that_enforced_something_does_so_still() -> None:
    """One of several lines with the same id may not go unnoticed; a change that is meant is recorded again."""
    assert Counter(cited(SYSTEM)) == Counter(KEPT), "python -m docs._ext.carnet_pages.records make places"


@pytest.mark.parametrize(
    "line", sorted({(each.file, each.line) for each in citations(FAMILY.id)}), ids=lambda at: f"{at[0]}:{at[1]}"
)
def test_a_line_that_is_taken_away_is_missed(line: tuple[str, int], tmp_path: Path) -> None:
    original = PACKAGE.parent / line[0]
    package = tmp_path / SYSTEM.name
    file = package / original.relative_to(SYSTEM)
    file.parent.mkdir(parents=True)
    shutil.copy(original, file)
    before = Counter(cited(package))
    take_line_away(file, line[1])
    lost = before - Counter(cited(package))
    assert lost
    assert {id for id, _ in lost} <= {each.id for each in citations(FAMILY.id) if (each.file, each.line) == line}


def take_line_away(file: Path, line: int) -> None:
    """Make something else of the citing call, which begins on this line."""
    lines = file.read_text("utf-8").splitlines()
    lines[line - 1] = re.sub(
        r"@enforces\(|(self\.)?_?checks\.(require|expect|passes|verify)\(", _uncited, lines[line - 1]
    )
    file.write_text("\n".join(lines), "utf-8")


def _uncited(found: re.Match[str]) -> str:
    return "@unmarked(" if found[0].startswith("@") else "unchecked("


WRONG: dict[str, str] = {
    "a name that is computed": 'checks.require(name, "REQ-HOME-02", True, otherwise="")',
    "an id that is computed": 'self.checks.passes("lease", f"REQ-{n}", True)',
    "an id that is none": '@enforces("Home 2")\ndef f(): ...',
    "nothing": "@enforces()\ndef f(): ...",
}


@pytest.mark.parametrize("source", WRONG.values(), ids=WRONG)
def test_a_citation_that_cannot_be_read_is_refused(source: str, tmp_path: Path) -> None:
    (tmp_path / "role.py").write_text(source, "utf-8")
    with pytest.raises(CitationError, match="line 1: expected ids and names as literal strings, found "):
        citations_in(tmp_path)


def test_other_checklists_and_ablations_cite_nothing(tmp_path: Path) -> None:
    (tmp_path / "ablations").mkdir()
    (tmp_path / "ablations" / "role.py").write_text('@enforces("REQ-HOME-02")\ndef f(): ...', "utf-8")
    (tmp_path / "appraisal.py").write_text('steps.require(True, "chain", "yes", "no")', "utf-8")
    assert citations_in(tmp_path) == ()


def test_a_citation_says_where_it_is(tmp_path: Path) -> None:
    package = tmp_path / "role"
    package.mkdir()
    source = 'class Role:\n    @enforces("REQ-A-01", "a-defence")\n    def step(self): ...\n'
    (package / "steps.py").write_text(source, "utf-8")
    found = citations_in(package)
    assert [(each.id, each.place, each.file, each.line) for each in found] == [
        ("REQ-A-01", "role.steps.Role.step", "role/steps.py", 2),
        ("a-defence", "role.steps.Role.step", "role/steps.py", 2),
    ]
    assert [each.is_requirement for each in found] == [True, False]
