"""`carnet certify`: what it writes, says and ends with."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.unit.model_check.command import FIXTURES, TOY, Ran, carnet

CERTIFICATES = "toy.certificates.json.xz"


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    """Return a copy of the toy with its certificates beside it."""
    shutil.copy(TOY, tmp_path)
    shutil.copy(FIXTURES / CERTIFICATES, tmp_path)
    return tmp_path / "toy.py"


def certify(*words: str) -> Ran:
    return carnet("certify", *words, "--jobs", "1")


def test_certificates_that_serve_are_kept_and_their_file_stays_as_it_is(spec: Path) -> None:
    before = spec.with_name(CERTIFICATES).read_bytes()
    ran = certify(str(spec), "--json")
    (main,) = ran.json["variants"]
    assert ran.code == 0
    assert (main["variant"], main["found"], main["missing"]) == ("main", 0, {})
    assert main["kept"] == main["obligations"] > 15
    assert ran.json["bytes"] == len(before)
    assert spec.with_name(CERTIFICATES).read_bytes() == before
    assert f"{main['kept']} kept, 0 adapted, 0 found, 0 missing" in " ".join(certify(str(spec)).out.split())


def test_what_is_missing_is_made(spec: Path) -> None:
    spec.with_name(CERTIFICATES).unlink()
    ran = certify(str(spec), "--json")
    (main,) = ran.json["variants"]
    assert (ran.code, main["kept"], main["missing"]) == (0, 0, {})
    assert main["found"] == main["obligations"]
    assert carnet("verify", str(spec), "--engine", "kernel").code == 0


def test_what_cannot_be_proved_is_missing_and_named(tmp_path: Path) -> None:
    shutil.copy(FIXTURES / "controls.py", tmp_path)
    ran = certify(f"{tmp_path / 'controls.py'}:wrong_claim")
    assert ran.code == 3
    assert "missing      step/" in ran.out


def test_a_file_that_is_none_is_refused(spec: Path) -> None:
    spec.with_name(CERTIFICATES).write_bytes(b"certificates")
    ran = certify(str(spec))
    assert ran.code == 2
    assert "is no file of certificates" in ran.err


def test_a_protocol_in_no_file_needs_a_folder() -> None:
    assert certify("no-such-protocol").code == 2
