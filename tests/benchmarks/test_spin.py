"""The comparison with Spin runs, counts the same on both sides, and writes its table."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from tests.benchmarks import spin
from tests.fixtures.spin import needs_spin
from tests.unit.model_check.command import TOY


@needs_spin
def test_the_table_has_what_both_sides_took(tmp_path: Path) -> None:
    table = tmp_path / "spin.csv"
    spin.main(["--instance", TOY, "--repeat", "2", "--out", str(table)])
    with table.open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert list(row) == [*spin.HEADINGS]
    assert (row["instance"], row["states"]) == (TOY, "144")
    ratio = re.fullmatch(r"([\d.]+) \(([\d.]+) to ([\d.]+), 2 runs\)", row["ratio of CPU time"])
    assert ratio
    assert float(ratio[2]) <= float(ratio[1]) <= float(ratio[3])
    assert (
        min(
            float(row[name])
            for name in ("Carnet, CPU s", "ratio with reductions", "Carnet, MiB", "Spin, MiB", "Spin, bytes a state")
        )
        > 0
    )


@needs_spin
@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_both_sides_count_the_states_of_the_usual_instances(tmp_path: Path) -> None:
    table = tmp_path / "spin.csv"
    spin.main(["--repeat", "1", "--out", str(table)])
    assert len(table.read_text("utf-8").splitlines()) == len(spin.USUAL) + 1
