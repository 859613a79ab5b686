"""What a command reads is not written over, and two outputs are not one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.model_check.command import carnet


@pytest.fixture
def tickets(tmp_path: Path) -> Path:
    assert carnet("init", str(tmp_path / "tickets")).code == 0
    return tmp_path / "tickets" / "protocol.py"


@pytest.mark.parametrize("option", ["--junit", "--sarif", "--markdown"])
def test_verify_does_not_write_over_the_protocol(tickets: Path, option: str) -> None:
    before = tickets.read_bytes()
    ran = carnet("verify", str(tickets), option, str(tickets))
    assert (ran.code, tickets.read_bytes()) == (2, before)
    assert f"{option} would write over '{tickets}', which is read" in ran.err


@pytest.mark.parametrize("option", ["--as-test", "--itf"])
def test_attack_does_not_write_over_the_protocol(tickets: Path, option: str) -> None:
    before = tickets.read_bytes()
    there = tickets.parent / ".." / "tickets" / "protocol.py"
    ran = carnet("attack", str(tickets), "--without", "fresh-ticket", option, str(there))
    assert (ran.code, tickets.read_bytes()) == (2, before)
    assert "which is read" in ran.err


def test_two_outputs_are_two_files(tickets: Path, tmp_path: Path) -> None:
    one = str(tmp_path / "one")
    for command in (
        ("verify", str(tickets), "--junit", one, "--sarif", one),
        ("attack", str(tickets), "--without", "fresh-ticket", "--itf", one, "--as-test", one),
    ):
        ran = carnet(*command)
        assert ran.code == 2
        assert "write to one file" in ran.err
        assert not Path(one).exists()


def test_a_result_is_written_over_neither_key_nor_evidence(tmp_path: Path) -> None:
    key, evidence = tmp_path / "key.pem", tmp_path / "evidence"
    key.write_text("a key")
    evidence.write_text("evidence")
    for ear in (key, evidence):
        ran = carnet("attest", "snp", str(evidence), "--ear", str(ear), "--key", str(key))
        assert ran.code == 2
        assert f"--ear would write over '{ear}', which is read" in ran.err
    assert (key.read_text(), evidence.read_text()) == ("a key", "evidence")


def test_a_shard_judges_nothing_strictly(tickets: Path, tmp_path: Path) -> None:
    ran = carnet("verify", str(tickets), "--shard", "1/2", "--cache", str(tmp_path / "cache"), "--strict")
    assert ran.code == 2
    assert "a shard has none" in ran.err
