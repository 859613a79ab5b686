"""Faults in what leads from a specification to Coq are noticed: ``pytest -m slow tests/coq/test_faults.py``.

``CARNET_COQ_FAULTS=docs/results/coq-faults.csv`` in the environment writes down which test noticed which.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.coq.coq_files import SOURCES, Library, needs_coq
from tests.faults.seeding import ROOT, SECONDS, Fault, Tree, cannot_be_seeded, faults, not_as_recorded, record

FAULTS = faults(Path(__file__).with_name("faults.toml"))


def test_every_fault_can_still_be_seeded_and_was_noticed() -> None:
    """Its text is there once, and what should notice it are fast tests that exist."""
    assert cannot_be_seeded(FAULTS) == []
    assert not_as_recorded(ROOT / "docs" / "results" / "coq-faults.csv", FAULTS) == []


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree.made(tmp_path_factory.mktemp("seeded") / "tree")


@pytest.fixture(scope="module")
def caught() -> Iterator[dict[str, str]]:
    """Which test noticed each fault; written down at the end, if that was asked for and all were tried."""
    found: dict[str, str] = {}
    yield found
    record("CARNET_COQ_FAULTS", FAULTS, found)


@needs_coq
@pytest.mark.slow
@pytest.mark.timeout(2 * SECONDS)
def test_without_a_fault_nothing_fails(tree: Tree) -> None:
    failed, said = tree.failing(list(dict.fromkeys(test for fault in FAULTS.values() for test in fault.noticed_by)))
    assert not failed, said


@needs_coq
@pytest.mark.slow
@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
def test_a_fault_is_noticed(fault: Fault, tree: Tree, caught: dict[str, str]) -> None:
    with tree.seeded(fault):
        failed, said = tree.failing(fault.noticed_by)
    assert failed, said
    caught[fault.id] = failed


# -- the check of exhausted instances in Coq ---------------------------------------------------------

EDITS = tomllib.loads(Path(__file__).with_name("exhaustion.toml").read_text("utf-8"))["fault"]
PROOF = "Exhaustion.vo"


def test_each_edit_can_be_made() -> None:
    texts = {fault["file"]: (SOURCES / fault["file"]).read_text("utf-8") for fault in EDITS}
    assert [fault["id"] for fault in EDITS if texts[fault["file"]].count(fault["old"]) != 1] == []
    assert len({fault["id"] for fault in EDITS}) == len(EDITS) > 20


@pytest.mark.slow
@needs_coq
@pytest.mark.parametrize("fault", EDITS, ids=lambda fault: str(fault["id"]))
def test_a_check_that_lets_wrongs_through_has_no_proof(fault: dict[str, str], library: Library, tmp_path: Path) -> None:
    copy = Library.copied(library.folder, tmp_path / "coq")
    assert copy.make(PROOF).returncode == 0
    file = copy.folder / fault["file"]
    file.write_text(file.read_text("utf-8").replace(fault["old"], fault["new"]), "utf-8")
    ran = copy.make(PROOF)
    assert ran.returncode != 0
    assert "Error" in ran.stderr
