"""The tables in the documentation are of this specification and of these faults."""

from __future__ import annotations

import csv
from pathlib import Path

from carnet_check.loading.families import load
from tests.coq import agreement, test_faults
from tests.faults.seeding import COLUMNS

RESULTS = Path(__file__).parents[2] / "docs" / "results"
ALL_TOGETHER = 2_000_000


def test_the_meaning_was_compared_often_enough() -> None:
    """No comparison differs, every action happened, and every symbol that actions change was seen to change."""
    family = load(agreement.PROTOCOL).family
    with (RESULTS / "coq-agreement.csv").open(encoding="utf-8", newline="") as file:
        columns, *rows = csv.reader(file)
    assert columns == agreement.COLUMNS
    assert [row[0] for row in rows] == [*family.with_layers(family.main)]
    numbers = [[int(cell) for cell in row[2:]] for row in rows]
    assert sum(row[0] for row in numbers) >= ALL_TOGETHER
    assert all(row[1] == 0 and row[-4] == row[-3] and row[-2] == row[-1] for row in numbers)


def test_every_fault_was_noticed() -> None:
    with (RESULTS / "coq-faults.csv").open(encoding="utf-8", newline="") as file:
        columns, *rows = csv.reader(file)
    faults = test_faults.FAULTS.values()
    assert columns == COLUMNS
    assert [row[:2] for row in rows] == [[fault.says, fault.file] for fault in faults]
    assert all(row[2].startswith(fault.noticed_by) for row, fault in zip(rows, faults, strict=True))
