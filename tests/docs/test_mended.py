"""Every fault that was mended is held by a test, and every mark names a fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from carnet_spec.language import SpecificationError
from docs._ext.carnet_pages.mended import FAULTS, RECORDS, Fault, gaps, marks, mended, read_faults

ROOT = Path(__file__).parents[2]
ADR = ROOT / "docs" / RECORDS
FAULT = Fault("X1", "high", "it said the wrong thing")
SMALL = Fault("X2", "low", "it left a file behind")


def test_every_fault_is_held_by_a_test_and_every_mark_names_a_fault() -> None:
    answered = (ROOT / "SECURITY.md").read_text("utf-8")
    assert gaps(read_faults(ROOT / "docs" / FAULTS), marks(ROOT / "tests"), answered, ADR) == []


def test_a_fault_that_no_test_holds_ends_the_build() -> None:
    with pytest.raises(SpecificationError, match="fault X1: no test"):
        mended([FAULT], {}, "")


def test_a_small_fault_may_be_answered_in_words_and_others_may_not() -> None:
    assert gaps([SMALL], {}, "**X2** stays, because.", ADR) == []
    assert gaps([FAULT], {}, "**X1** stays, because.", ADR) == ["fault X1: no test is marked as mending it"]


def test_a_fault_may_be_answered_by_a_decision_record_that_there_is(tmp_path: Path) -> None:
    decided = Fault("X3", "met by authors", "it could not say so", "0001-it-stays")
    assert gaps([decided], {}, "", tmp_path) == ["fault X3: there is no decision record 0001-it-stays"]
    (tmp_path / "0001-it-stays.md").write_text("# 1. It stays")
    text = mended([decided], {}, "", tmp_path)
    assert "| it could not say so | decided: {doc}`/adr/0001-it-stays` |" in text


def test_a_mark_of_no_fault_is_noticed(tmp_path: Path) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_it.py").write_text("@pytest.mark.mends('X9')\ndef test_that() -> None: ...\n")
    held = marks(folder)
    assert held == {"X9": ["tests/test_it.py::test_that"]}
    assert gaps([], held, "", ADR) == ["tests/test_it.py::test_that: marked as mending X9, which no fault is called"]


def test_the_page_names_the_tests() -> None:
    text = mended([FAULT], {"X1": ["tests/test_it.py::test_that"]}, "")
    assert "| X1 | high | it said the wrong thing | `tests/test_it.py::test_that` |" in text
