"""What the search of a report finds: claims and attacks, and by their ids findings and what each step enforces."""

from __future__ import annotations

import pytest

from carnet_check.report.html.views import search_index
from carnet_check.report.run_folder import read_run
from tests.fixtures import toy
from tests.unit.model_check.command import TOY, carnet


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    folder = tmp_path_factory.mktemp("run")
    carnet("verify", TOY, "--engine", "explicit", "--out", str(folder))
    carnet("attack", TOY, "--variant", "forgetful", "--out", str(folder))
    return search_index(read_run(folder))


def hits(found: list[dict[str, str]], word: str) -> set[tuple[str, str]]:
    """Return kind and name of every entry that the page shows for a word."""
    return {(each["kind"], each["name"]) for each in found if word in f"{each['name']} {each['text']}"}


@pytest.mark.mends("N14")
def test_a_finding_is_found_by_its_id(found: list[dict[str, str]]) -> None:
    (finding,) = toy.FAMILY.findings
    assert hits(found, finding.id) == {("finding", finding.id)}
    (entry,) = (each for each in found if each["kind"] == "finding")
    assert entry["url"].startswith("attack-")


@pytest.mark.mends("N14")
def test_a_requirement_finds_the_steps_that_enforce_it_and_the_claims_that_state_it(
    found: list[dict[str, str]],
) -> None:
    assert ("step", "lend") in hits(found, "REQ-TOY-1")
    claim = toy.FAMILY.protocol("forgetful").claim("secrecy")
    assert {("claim", "secrecy"), ("attack", "secrecy")} <= hits(found, claim.requirement)
