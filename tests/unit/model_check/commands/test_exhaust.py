"""``carnet exhaust``: certificates of all that was visited, checked where the program is there."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from carnet_check.coq import program as coq_program
from carnet_check.coq.program import EXHAUST_VARIABLE, INSTANCE, STATES, SYSTEM
from carnet_check.engines.explicit.engine import Explicit
from tests.coq.built import exhaust
from tests.unit.model_check.command import TOY, carnet, control


def without_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coq_program, "exhaust_program", lambda: None)


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


def test_a_program_that_is_none_is_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EXHAUST_VARIABLE, str(tmp_path / "nowhere"))
    ran = carnet("exhaust", TOY, "--out", str(tmp_path / "out"))
    assert (ran.code, EXHAUST_VARIABLE in ran.err) == (2, True)


def test_a_folder_that_cannot_be_written_to_is_2(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert carnet("exhaust", TOY, "--out", str(tmp_path / "file" / "out")).code == 2
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "main").write_text("")
    assert carnet("exhaust", TOY, "--out", str(tmp_path / "out")).code == 2


def test_a_budget_is_refused_before_anything_is_explored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unwanted(*_: object) -> None:
        raise AssertionError("something was explored")

    monkeypatch.setattr(Explicit, "visited", unwanted)
    ran = carnet("exhaust", "gpu-travelling", "--profile", "ci", "--out", str(tmp_path))
    assert (ran.code, "bounds the adversary's moves" in ran.err) == (2, True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("program", "code"), [("", 1), ("true", 5), ("false", 5)])
def test_a_claim_that_falls_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, code: int) -> None:
    monkeypatch.setenv(EXHAUST_VARIABLE, program or str(exhaust()))
    ran = carnet("exhaust", control("wrong_claim"), "--out", str(tmp_path), "--json")
    (only,) = ran.json
    assert (ran.code, only["claims"], only["fallen"], only["unexpected"]) == (code, 1, ["stays-home"], ["stays-home"])
    assert "VIOLATED: stays-home" in carnet("exhaust", control("wrong_claim"), "--out", str(tmp_path)).out


def test_certificates_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EXHAUST_VARIABLE, str(exhaust()))
    ran = carnet("exhaust", TOY, "--out", str(tmp_path))
    assert ran.code == 0
    assert "accepted in" in ran.out
    assert "REFUSED" not in ran.out


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_instances_of_gpu_travelling_are_certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of one threat model; decision record 24 has all of them."""
    monkeypatch.setenv(EXHAUST_VARIABLE, str(exhaust()))
    ran = carnet("exhaust", "gpu-travelling", "--threat", "outsider", "--out", str(tmp_path), "--json")
    assert ran.code == 0
    assert {each["accepted"] for each in ran.json} == {True}
    assert len({each["variant"] for each in ran.json}) == 4
    assert min(each["states"] for each in ran.json) > 5_000


def test_instances_are_told_apart_and_times_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_program(monkeypatch)
    ran = carnet("exhaust", TOY, "--out", str(tmp_path))
    lines = [line for line in ran.out.splitlines() if " · " in line]
    assert len({line.partition(":")[0] for line in lines}) == len(lines) > 0
    assert all(", instance " in line and "visited in " in line for line in lines)


def test_an_interrupt_says_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_program(monkeypatch)
    written: Callable[..., int] = coq_program.write

    def interrupted(*asked: object) -> int:
        if written(*asked) and len(list(tmp_path.rglob(STATES))) == 2:
            raise KeyboardInterrupt
        return 1

    monkeypatch.setattr(coq_program, "write", interrupted)
    ran = carnet("exhaust", TOY, "--out", str(tmp_path))
    assert ran.code == 130
    assert f"interrupted: 1 certificate written into '{tmp_path}'" in ran.err


SAID = ("   0.0 s  accepted: in each of 12 states", "claim one", "claim a%20b")


@pytest.mark.parametrize(
    ("said", "accepts"),
    [
        (SAID, True),
        ((), False),
        (SAID[1:], False),
        (SAID[:2], False),
        ((*SAID, "claim more"), False),
        (("   0.0 s  accepted: in each of 2 states", *SAID[1:]), False),
    ],
)
def test_the_program_has_to_say_of_how_many_states_and_claims_it_accepts(said: tuple[str, ...], accepts: bool) -> None:
    assert coq_program.Judgement(True, said).accepts(12, ["one", "a b"]) is accepts
    assert not coq_program.Judgement(False, said).accepts(12, ["one", "a b"])
