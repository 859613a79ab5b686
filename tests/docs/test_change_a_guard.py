"""A guard is changed in a copy of the tree: no fast test of records fails, and one command makes what is stale."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from docs._ext.carnet_pages.records.__main__ import HERE
from tests.faults.seeding import ROOT, Fault, Tree

LINE = '        step.require("no context", acknowledged(link_h2d, Order.NO_CONTEXT), defence="no-context-left")\n'
AGAIN = Fault(
    id="again",
    says="a guard stands twice",
    file="spec/carnet_spec/protocols/gpu_travelling/returning.py",
    old=LINE,
    new=LINE + LINE.replace('"no context"', '"no context again"'),
    noticed_by=(),
)
STALE = ("verdicts", "attacks", "falls", "replays", "agreement", "accounts", "rounds", "proofs", "mutants")
QUICK = ("rounds/gpu-travelling", "replays/gpu-travelling", "verdicts/gpu-travelling")
SECONDS = 1800


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    made = Tree.made(tmp_path_factory.mktemp("changed") / "tree")
    for name in ("docs", "README.md", "CONTRIBUTING.md", "SECURITY.md"):
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, made.folder / name)
    for words in (["init", "-q"], ["add", "-A"]):  # what is tracked is asked of git
        subprocess.run(["git", *words], cwd=made.folder, check=True)
    return made


@pytest.mark.slow
@pytest.mark.timeout(2 * SECONDS)
def test_a_guard_is_changed_as_the_guide_says(tree: Tree) -> None:
    with tree.seeded(AGAIN):
        said = tree.python("-m", HERE, "status", seconds=SECONDS).stdout
        named = {line.partition(":")[0] for line in said.splitlines()}
        assert {f"{kind}/gpu-travelling" for kind in STALE} <= named
        failed, printed = tree.failing([str(path) for path in _tests_of_records()], SECONDS)
        assert not failed, printed
        made = tree.python("-m", HERE, "make", *QUICK, seconds=SECONDS)
        assert made.returncode == 0, made.stderr
        said = tree.python("-m", HERE, "status", seconds=SECONDS).stdout
        assert not {line.partition(":")[0] for line in said.splitlines()} & {*QUICK}


def _tests_of_records() -> list[Path]:
    names = ("records", "agreement_page", "proofs_page", "mutants_page", "discriminating", "defences_page", "gallery")
    return [Path("tests", "docs", f"test_{name}.py") for name in names]
