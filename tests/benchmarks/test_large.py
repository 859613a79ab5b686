"""The table of large searches, made for a vote that is small."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

pytest.importorskip("numba", reason="the extra 'fast' is not installed")

from tests.benchmarks import large


def test_state_by_state_there_are_as_many_as_those_found_stand_for(tmp_path: Path) -> None:
    folder, table = tmp_path / "kept", tmp_path / "large.csv"
    folder.mkdir()
    large.main(["--sites", "4", "--folder", str(folder), "--out", str(table)])
    with table.open(encoding="utf-8", newline="") as file:
        reduced, whole = csv.DictReader(file)
    assert whole["states visited"] == whole["states stood for"] == reduced["states stood for"] == "32,498"
    assert reduced["states visited"] == "6,212"
    assert reduced["depth"] == whole["depth"]
    assert any(folder.glob("*.states.*"))
