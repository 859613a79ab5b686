"""A file is read twice, and one that says something else the second time is no specification."""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path

import pytest

from carnet_check.errors import InvalidSpecificationError
from carnet_check.loading.families import load
from tests.unit.model_check.command import carnet

CHANCE = {
    "the system's chance": "import os; NAME = 'office' + os.urandom(4).hex()",
    "the time": "import time; NAME = f'office{time.time_ns()}'",
    "an identifier": "import uuid; NAME = f'office{uuid.uuid4().hex}'",
    "chance": "import random; NAME = f'office{random.random()}'",
    "a neighbour": "from neighbour import NAME",
}


@pytest.fixture
def starter(tmp_path: Path) -> Path:
    file = tmp_path / "protocol.py"
    file.write_text(resources.files("carnet_check.starter").joinpath("protocol.py").read_text("utf-8"))
    return file


@pytest.mark.parametrize("chance", CHANCE)
def test_a_specification_that_depends_on_chance_is_refused(starter: Path, chance: str) -> None:
    (starter.parent / "neighbour.py").write_text(CHANCE["the system's chance"])
    starter.write_text(starter.read_text().replace('OFFICE = Role("office")', f"{CHANCE[chance]}\nOFFICE = Role(NAME)"))
    ran = carnet("verify", str(starter), "--json")
    assert (ran.code, ran.json["error"]["kind"]) == (2, "specification")
    said = "protocol.py: main says something else each time that it is loaded: let nothing in it depend on chance"
    assert ran.json["error"]["message"].startswith(said)


def test_what_the_file_and_its_neighbours_are_is_as_it_was_after_the_first_reading(starter: Path) -> None:
    (starter.parent / "beside_it.py").write_text("LOADED = object()\n")
    starter.write_text(starter.read_text() + "\nimport beside_it\nprint('read')\n")
    family = load(str(starter)).family
    module = sys.modules["carnet_protocol_protocol"]
    assert family.drafted("main") is vars(module)["draft"]
    assert vars(module)["beside_it"] is sys.modules["beside_it"]
    del sys.modules["beside_it"]


def test_the_second_reading_says_nothing(starter: Path, capsys: pytest.CaptureFixture[str]) -> None:
    starter.write_text(starter.read_text() + "\nprint('read')\n")
    load(str(starter))
    assert capsys.readouterr().err == "read\n"


def test_a_design_that_cannot_be_built_is_refused_where_it_is_asked_for(starter: Path) -> None:
    starter.write_text("def draft():\n    return undefined\n")
    with pytest.raises(InvalidSpecificationError, match="NameError"):
        load(str(starter))
