"""Without the name of a protocol, `carnet verify` and `carnet explain` take the one that `carnet init` put here."""

from __future__ import annotations

from pathlib import Path

import pytest

from carnet_check.commands import verify
from carnet_check.loading.families import load
from tests.unit.model_check.command import carnet, control

TOLD = "protocol.py of this folder; `carnet verify --all` verifies every registered one"


@pytest.fixture
def begun(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder that `carnet init` made, where one protocol is registered."""
    folder = tmp_path / "my-tickets"
    assert carnet("init", str(folder)).code == 0
    monkeypatch.chdir(folder)
    load.cache_clear()  # which knows a file of this name in another folder
    monkeypatch.setattr(verify, "registered_ids", lambda: [control("sound")])
    return folder


@pytest.mark.mends("R466")
@pytest.mark.usefixtures("begun")
def test_the_one_of_this_folder_is_verified_and_named() -> None:
    ran = carnet("verify", "--engine", "explicit")
    assert ran.code == 0
    assert TOLD in " ".join(ran.out.split())
    assert "my-tickets · main" in ran.out
    assert ran.out.rstrip().endswith("rerun        carnet verify protocol.py --engine explicit")


@pytest.mark.mends("R466")
@pytest.mark.usefixtures("begun")
def test_options_about_one_protocol_are_about_it_and_json_stays_one_object() -> None:
    ran = carnet("verify", "--claim", "own-ticket", "--json")
    assert {(row["protocol"], row["claim"]) for row in ran.json["results"]} == {("my-tickets", "own-ticket")}
    assert TOLD in " ".join(ran.err.split())


@pytest.mark.mends("R466")
@pytest.mark.usefixtures("begun")
def test_all_registered_ones_can_be_asked_for() -> None:
    ran = carnet("verify", "--all", "--json")
    assert {row["protocol"] for row in ran.json["results"]} == {"token"}
    assert ran.json["run"]["rerun"] == "carnet verify --all --json"
    assert "of this folder" not in ran.err


@pytest.mark.usefixtures("begun")
def test_all_and_one_contradict_each_other() -> None:
    ran = carnet("verify", "protocol.py", "--all")
    assert (ran.code, ran.out, "leave out --all, or PROTOCOL" in ran.err) == (2, "", True)


def test_a_file_of_this_name_that_does_not_use_the_language_is_not_run(begun: Path) -> None:
    (begun / "protocol.py").write_text("raise SystemExit('run')\n")
    ran = carnet("verify", "--json")
    assert (ran.code, {row["protocol"] for row in ran.json["results"]}) == (0, {"token"})
    assert carnet("explain", "grant").code == 0


def test_what_is_wrong_with_the_file_is_told(begun: Path) -> None:
    (begun / "protocol.py").write_text("from carnet_spec.language import Nothing\n")
    for command in (("verify",), ("explain", "grant")):
        ran = carnet(*command)
        assert (ran.code, "protocol.py:1" in ran.err) == (2, True)


@pytest.mark.mends("R467")
@pytest.mark.usefixtures("begun")
def test_ids_of_this_folder_are_explained_beside_those_that_are_registered() -> None:
    own = carnet("explain", "own-ticket", "--json").json["entries"]
    assert [(entry["protocol"], entry["check"]) for entry in own] == [
        ("my-tickets", "carnet verify protocol.py --claim own-ticket")
    ]
    assert carnet("explain", "own-ticket", "--protocol", "protocol.py", "--json").json["entries"] == own
    assert carnet("explain", "grant", "--json").json["entries"][0]["protocol"] == "gpu-travelling"


@pytest.mark.mends("R467")
@pytest.mark.usefixtures("begun")
def test_the_nearest_id_is_offered() -> None:
    ran = carnet("explain", "own-tickt")
    assert (ran.code, ran.out) == (2, "")
    assert "no id 'own-tickt' in my-tickets, gpu-travelling" in ran.err
    assert "did you mean 'own-ticket'?" in ran.err


def test_one_protocol_that_is_asked_for_is_the_only_one(begun: Path) -> None:
    (begun / "protocol.py").write_text("from carnet_spec.language import Nothing\n")
    assert carnet("explain", "grant", "--protocol", "gpu-travelling").code == 0
