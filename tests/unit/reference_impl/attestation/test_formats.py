"""A format of evidence is one file and one registration: it has its command, its exit codes and its documentation."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from carnet_check.cli import main
from carnet_ref.attestation.formats import FORMATS, Registered
from docs._ext.carnet_pages.listings import evidence_formats

SUMMARY = "Appraise a toy."


def attest(*words: str) -> Result:
    return CliRunner().invoke(main, ["attest", *words])


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Register toys, and return where one can be written."""
    monkeypatch.setitem(FORMATS, "toy", Registered("tests.fixtures.toy_evidence:FORMAT", SUMMARY))
    return tmp_path / "a toy"


def test_a_registered_format_has_a_subcommand_with_its_help(toy: Path) -> None:
    assert re.search(rf"^  toy +{re.escape(SUMMARY)}$", attest("--help").stdout, re.MULTILINE)
    shown = attest("toy", "--help").stdout
    assert "attest toy [OPTIONS] TOY" in shown
    for option in ("--nonce HEX", "--at TIME", "--policy FILE", "--trust-anchor FILE", "--json"):
        assert option in shown


@pytest.mark.parametrize(
    ("evidence", "words", "code", "step"),
    [
        ("genuine red", [], 0, None),
        ("genuine red", ["--nonce", "0102"], 0, None),
        ("copied red", [], 1, "made"),
        ("red", [], 1, "parse"),
    ],
)
def test_a_registered_format_is_appraised(toy: Path, evidence: str, words: list[str], code: int, step: str) -> None:
    toy.write_text(evidence)
    result = attest("toy", str(toy), *words, "--at", "2026-01-01T00:00:00Z", "--json")
    shown = json.loads(result.stdout)
    assert (result.exit_code, shown["failed_step"]) == (code, step)
    assert shown["rerun"].startswith(f"carnet attest toy '{toy}'")
    assert shown["claims"] == ({} if code else {"colour": "red"})


def test_a_registered_format_has_a_policy(toy: Path) -> None:
    toy.write_text("genuine red")
    policy = toy.with_name("policy")
    policy.write_text("blue")
    result = attest("toy", str(toy), "--policy", str(policy))
    assert result.exit_code == 1
    assert "REFUSED at colour" in result.stdout


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["--nonce", "01"], "--nonce wants 2 bytes, not 1"),
        (["--nonce", "x"], "--nonce wants hexadecimal digits"),
        (["--at", "noon"], "'noon' is no time"),
        (["--policy", "nowhere"], "cannot read 'nowhere'"),
    ],
)
def test_bad_usage_exits_2_with_one_line(toy: Path, words: list[str], why: str) -> None:
    toy.write_text("genuine red")
    result = attest("toy", str(toy), *words)
    assert result.exit_code == 2
    assert why in result.stderr


def test_an_unknown_format_is_bad_usage() -> None:
    assert attest("toy", "a toy").exit_code == 2


def test_the_documentation_lists_every_format_with_its_options(toy: Path) -> None:
    page = evidence_formats()
    assert f"| `carnet attest toy` | {SUMMARY} |" in page
    assert "| `--nonce` | bytes in hexadecimal (2) | What the toy was asked with. |" in page
    for name, registered in FORMATS.items():
        assert f"## {name}" in page
        assert all(f"`{option.flag}`" in page for option in registered.load().options)


@pytest.mark.parametrize("name", FORMATS)
def test_a_formats_own_help_is_what_its_command_says(name: str) -> None:
    said = " ".join(attest(name, "--help").stdout.split())
    assert " ".join(FORMATS[name].load().help.split()) in said
