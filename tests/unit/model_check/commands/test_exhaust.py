"""``carnet exhaust``: certificates of all that was visited, checked where the program is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from carnet_check.coq import exhaustion
from carnet_check.coq.exhaustion import INSTANCE, STATES, SYSTEM, VARIABLE
from tests.coq.built import exhaust
from tests.unit.model_check.command import TOY, carnet, control


def without_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exhaustion, "program", lambda: None)


def test_certificates_are_written_without_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_program(monkeypatch)
    ran = carnet("exhaust", control("sound"), "--out", str(tmp_path), "--json")
    assert ran.code == 3
    assert [each["accepted"] for each in ran.json] == [None] * len(ran.json)
    for each in ran.json:
        assert {file.name for file in Path(each["folder"]).iterdir()} == {SYSTEM, INSTANCE, STATES}
        assert (Path(each["folder"]) / STATES).stat().st_size == each["bytes"]


def test_what_was_not_checked_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_program(monkeypatch)
    assert "not checked" in carnet("exhaust", TOY, "--out", str(tmp_path)).out


def test_certificates_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(exhaust()))
    ran = carnet("exhaust", TOY, "--out", str(tmp_path))
    assert ran.code == 0
    assert "accepted in" in ran.out
    assert "REFUSED" not in ran.out


def test_a_program_that_is_none_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(tmp_path / "nowhere"))
    ran = carnet("exhaust", TOY, "--out", str(tmp_path))
    assert (ran.code, VARIABLE in ran.err) == (2, True)


def test_a_claim_that_a_state_breaks_is_not_certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(exhaust()))
    ran = carnet("exhaust", control("wrong_claim"), "--out", str(tmp_path))
    assert ran.code == 1
    assert "which a state breaks" in ran.out


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_instances_of_gpu_travelling_are_certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of one threat model; decision record 24 has all of them."""
    monkeypatch.setenv(VARIABLE, str(exhaust()))
    ran = carnet("exhaust", "gpu-travelling", "--threat", "outsider", "--out", str(tmp_path), "--json")
    assert ran.code == 0
    assert {each["accepted"] for each in ran.json} == {True}
    assert len({each["variant"] for each in ran.json}) == 4
    assert min(each["states"] for each in ran.json) > 5_000
