"""The folder of a run, as its own or to be changed."""

import shutil
from pathlib import Path

import pytest

from tests.unit.model_check.command import carnet, control


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a run with an attack and a graph."""
    folder = tmp_path_factory.mktemp("hostile") / "run"
    carnet("verify", control("wrong_claim"), "--out", str(folder))
    return folder


@pytest.fixture
def changed(folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(folder, tmp_path / "changed"))
