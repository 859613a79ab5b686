"""What Coq's theorems are about is what the interpreter does. ``tests.coq.agreement`` compares two million times."""

from __future__ import annotations

import csv

import pytest
from hypothesis import assume, given, settings

from carnet_check.loading.families import load
from carnet_spec.language import Protocol
from tests.coq.agreement import COLUMNS, PROTOCOL, Comparison
from tests.coq.certifiable import certifiable, thorny
from tests.coq.coq_files import program
from tests.faults.seeding import ROOT

FAMILY = load(PROTOCOL).family
MAIN = FAMILY.with_layers(FAMILY.main)


def require_agreement(protocol: Protocol, comparisons: int) -> list[int]:
    """Compare, and return the numbers of the table."""
    comparison = Comparison(protocol, seed=2)
    counts = comparison.compare(comparisons)
    assert not counts.differing, counts.differing[:5]
    return comparison.row()


@pytest.mark.parametrize("examples", [20, pytest.param(300, marks=pytest.mark.slow)])
def test_random_protocols_mean_the_same(examples: int) -> None:
    program()
    seen = []

    @settings(max_examples=examples, deadline=None)
    @given(certifiable())
    def compared(protocol: Protocol) -> None:
        assume(protocol.invariants)
        seen.append(require_agreement(protocol, 200))

    compared()
    changed = COLUMNS.index("changed") - COLUMNS.index("comparisons")
    assert sum(row[changed] for row in seen) > 10 * examples


def test_steps_that_change_a_symbol_several_times_mean_the_same() -> None:
    row = require_agreement(thorny(), 8_000)
    assert row[-2] == row[-1]


def test_a_timed_layer_means_the_same() -> None:
    row = require_agreement(FAMILY.protocol(MAIN[1]), 5_000)
    assert row[-4] == row[-3]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("variant", MAIN)
def test_main_variants_mean_the_same(variant: str) -> None:
    """Every action happens, and every symbol that an action changes is seen to change."""
    row = require_agreement(FAMILY.protocol(variant), 200_000)
    assert row[-4] == row[-3]
    assert row[-2] == row[-1]


def test_the_meaning_was_compared_often_enough() -> None:
    """No comparison differs, every action happened, and every symbol that actions change was seen to change."""
    with (ROOT / "docs/results/coq-agreement.csv").open(encoding="utf-8", newline="") as file:
        columns, *rows = csv.reader(file)
    assert columns == COLUMNS
    assert [row[0] for row in rows] == [*MAIN]
    numbers = [[int(cell) for cell in row[2:]] for row in rows]
    assert sum(row[0] for row in numbers) >= 2_000_000
    assert all(row[1] == 0 and row[-4] == row[-3] and row[-2] == row[-1] for row in numbers)
