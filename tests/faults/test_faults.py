"""Faults seeded one at a time are noticed by fast tests: ``pytest -m slow tests/faults``.

``CARNET_SEEDED_FAULTS=docs/results/seeded-faults.csv`` in the environment writes down which test noticed which.
"""

from __future__ import annotations

import csv
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.seeding import COLUMNS, PACKAGES, ROOT, SECONDS, Fault, Tree, faults, record

FAULTS = faults()
SHOWN = ROOT / "docs" / "results" / "seeded-faults.csv"
PLACES = [
    "bounded/",
    "explicit/",
    "native/",
    "induction/",
    "kernel/",
    "solvers/",
    "conformance/",
    "language/",
    "obligations/",
    "lints/",
    "semantics/",
    "meanings.py",
    "scope.py",
    "searches.py",
    "checks.py",
    "explorer.py",
    "hunt.py",
]


@pytest.mark.parametrize("id", FAULTS)
def test_a_fault_can_still_be_seeded(id: str) -> None:
    """Its text is there once, and what should notice it are fast tests that exist."""
    fault = FAULTS[id]
    assert (ROOT / fault.file).read_text("utf-8").count(fault.old) == 1
    assert fault.old != fault.new
    assert fault.noticed_by
    for test in fault.noticed_by:
        file, _, name = test.partition("::")
        assert (ROOT / file).is_file(), file
        assert f"def {name}" in (ROOT / file).read_text("utf-8")


def test_there_are_faults_of_every_part_that_verdicts_rest_on() -> None:
    counted = Counter(fault.survived for fault in FAULTS.values())
    assert counted[False] >= 15
    assert counted[True] >= 7
    assert not [place for place in PLACES if not any(place in fault.file for fault in FAULTS.values())]


def test_the_documentation_lists_them() -> None:
    with SHOWN.open(encoding="utf-8", newline="") as file:
        columns, *rows = csv.reader(file)
    assert columns == COLUMNS
    assert [row[:2] for row in rows] == [[fault.says, fault.file] for fault in FAULTS.values()]
    for (*_, caught), fault in zip(rows, FAULTS.values(), strict=True):
        assert caught.startswith(fault.noticed_by)
        module, _, name = caught.partition("::")
        assert f"def {name.partition('[')[0]}(" in (ROOT / module).read_text("utf-8")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree.made(tmp_path_factory.mktemp("seeded") / "tree")


@pytest.fixture(scope="module")
def caught() -> Iterator[dict[str, str]]:
    """Which test noticed each fault; written down at the end, if that was asked for and all were tried."""
    found: dict[str, str] = {}
    yield found
    record("CARNET_SEEDED_FAULTS", FAULTS, found)


@pytest.mark.slow
@pytest.mark.timeout(10 * SECONDS)
def test_without_a_fault_nothing_fails(tree: Tree) -> None:
    """The copy's packages are what the copy's tests run against, and these pass."""
    names = ("carnet_spec", "carnet_check", "carnet_ref")
    found = tree.python("-c", f"import {', '.join(names)}; print(*(m.__file__ for m in ({', '.join(names)})))")
    expected = [tree.folder / where / name for where, name in zip(PACKAGES, names, strict=True)]
    assert [Path(file).parent for file in found.stdout.split()] == expected
    every = dict.fromkeys(test for fault in FAULTS.values() for test in fault.noticed_by)
    failed, said = tree.failing(list(every), 9 * SECONDS)
    assert not failed, said


@pytest.mark.slow
@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.parametrize("fault", FAULTS.values(), ids=list(FAULTS))
def test_a_fault_is_noticed(fault: Fault, tree: Tree, caught: dict[str, str]) -> None:
    if fault.needs and shutil.which(fault.needs) is None:
        pytest.skip(f"needs the program {fault.needs}")
    with tree.seeded(fault):
        failed, said = tree.failing(fault.noticed_by)
    assert failed, said
    caught[fault.id] = failed
