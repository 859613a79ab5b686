"""A check of exhausted instances that lets something wrong through has no proof."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from tests.coq.coq_files import SOURCES, Library, needs_coq

FAULTS = tomllib.loads(Path(__file__).with_name("exhaustion.toml").read_text("utf-8"))["fault"]
PROOF = "Exhaustion.vo"


def test_each_fault_can_be_seeded() -> None:
    texts = {fault["file"]: (SOURCES / fault["file"]).read_text("utf-8") for fault in FAULTS}
    assert [fault["id"] for fault in FAULTS if texts[fault["file"]].count(fault["old"]) != 1] == []
    assert len({fault["id"] for fault in FAULTS}) == len(FAULTS) > 20


@pytest.mark.slow
@needs_coq
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: str(fault["id"]))
def test_the_proof_fails(fault: dict[str, str], library: Library, tmp_path: Path) -> None:
    copy = Library.copied(library.folder, tmp_path / "coq")
    assert copy.make(PROOF).returncode == 0
    file = copy.folder / fault["file"]
    file.write_text(file.read_text("utf-8").replace(fault["old"], fault["new"]), "utf-8")
    ran = copy.make(PROOF)
    assert ran.returncode != 0
    assert "Error" in ran.stderr
