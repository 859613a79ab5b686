"""Faults seeded one at a time are noticed by fast tests: ``pytest -m slow tests/faults``.

With ``-k exported`` those of the way from a specification to Coq are seeded, with ``-k "not exported"`` all others.
``CARNET_SEEDED_FAULTS=docs/results/seeded-faults.csv`` in the environment writes down which test noticed which, and
``CARNET_COQ_FAULTS=docs/results/coq-faults.csv`` that of those of the way to Coq.
"""

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.coq.coq_files import needs_coq
from tests.faults.seeding import PACKAGES, ROOT, SECONDS, Fault, Tree, cannot_be_seeded, faults, not_as_recorded, record

FAULTS = faults()
COQ_FAULTS = faults(ROOT / "tests" / "coq" / "faults.toml")
CAMPAIGNS = {"": FAULTS, "coq": COQ_FAULTS}
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
    "theories/",
    "semantics/",
    "meanings.py",
    "scope.py",
    "searches.py",
    "checks.py",
    "explorer.py",
    "hunt.py",
]


def test_every_fault_can_still_be_seeded() -> None:
    """Its text is there once, and what should notice it are fast tests that exist."""
    assert (len(FAULTS) > 400, len(COQ_FAULTS) > 30) == (True, True)
    assert cannot_be_seeded(FAULTS) + cannot_be_seeded(COQ_FAULTS) == []


def test_a_fault_that_cannot_be_seeded_is_listed() -> None:
    """So is one that no test is there to notice, or that changes nothing."""
    fault, *_ = FAULTS.values()
    wrong = {
        "its text is 0 times in tests/none.py": replace(fault, file="tests/none.py"),
        f"its text is 0 times in {fault.file}": replace(fault, old="no such text"),
        "changes nothing": replace(fault, new=fault.old),
        "no test notices it": replace(fault, noticed_by=()),
        "there is no tests/faults/seeding.py::test_it": replace(
            fault, noticed_by=("tests/faults/seeding.py::test_it",)
        ),
    }
    found = [cannot_be_seeded({each.id: each}) for each in wrong.values()]
    assert found == [[f"{fault.id}: {what}"] for what in wrong]


def test_there_are_faults_of_every_part_that_verdicts_rest_on() -> None:
    counted = Counter(fault.survived for fault in FAULTS.values())
    assert counted[False] >= 15
    assert counted[True] >= 7
    assert not [place for place in PLACES if not any(place in fault.file for fault in FAULTS.values())]


def test_the_documentation_lists_them() -> None:
    results = ROOT / "docs" / "results"
    assert not_as_recorded(results / "seeded-faults.csv", FAULTS) == []
    assert not_as_recorded(results / "coq-faults.csv", COQ_FAULTS) == []


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    return Tree.made(tmp_path_factory.mktemp("seeded") / "tree")


@pytest.fixture(scope="module")
def caught() -> Iterator[dict[str, dict[str, str]]]:
    """Which test noticed each fault; written down at the end, if that was asked for and all were tried."""
    found: dict[str, dict[str, str]] = {name: {} for name in CAMPAIGNS}
    yield found
    record("CARNET_SEEDED_FAULTS", FAULTS, found[""])
    record("CARNET_COQ_FAULTS", COQ_FAULTS, found["coq"])


@pytest.mark.slow
def test_the_packages_of_a_copy_are_what_its_tests_run_against(tree: Tree) -> None:
    names = ("carnet_spec", "carnet_check", "carnet_ref")
    found = tree.python("-c", f"import {', '.join(names)}; print(*(m.__file__ for m in ({', '.join(names)})))")
    expected = [tree.folder / where / name for where, name in zip(PACKAGES, names, strict=True)]
    assert [Path(file).parent for file in found.stdout.split()] == expected


@pytest.mark.slow
@pytest.mark.timeout(10 * SECONDS)
@pytest.mark.parametrize("campaign", ["", pytest.param("coq", marks=needs_coq, id="exported")])
def test_without_a_fault_nothing_fails(campaign: str, tree: Tree) -> None:
    every = dict.fromkeys(test for fault in CAMPAIGNS[campaign].values() for test in fault.noticed_by)
    failed, said = tree.failing(list(every), 9 * SECONDS)
    assert not failed, said


@pytest.mark.slow
@pytest.mark.timeout(2 * SECONDS)
@pytest.mark.parametrize(
    ("campaign", "fault"),
    [
        *(pytest.param("", fault, id=fault.id) for fault in FAULTS.values()),
        *(pytest.param("coq", fault, id=f"exported-{fault.id}", marks=needs_coq) for fault in COQ_FAULTS.values()),
    ],
)
def test_a_fault_is_noticed(campaign: str, fault: Fault, tree: Tree, caught: dict[str, dict[str, str]]) -> None:
    if fault.needs and shutil.which(fault.needs) is None:
        pytest.skip(f"needs the program {fault.needs}")
    with tree.seeded(fault):
        failed, said = tree.failing(fault.noticed_by)
    assert failed, said
    caught[campaign][fault.id] = failed
