"""Folders that `carnet certify --out` wrote, for tests of `carnet recheck`."""

import shutil
from pathlib import Path

import pytest

from tests.unit.model_check.command import TOY, carnet


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that was written for `carnet recheck`."""
    folder = tmp_path_factory.mktemp("certified") / "out"
    assert carnet("certify", TOY, "--out", str(folder), "--jobs", "1").code == 0
    return folder


@pytest.fixture
def folder(whole: Path, tmp_path: Path) -> Path:
    """Return a copy of that folder, to be spoilt."""
    return Path(shutil.copytree(whole, tmp_path / "out"))
