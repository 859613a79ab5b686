"""Small things that a stranger meets: what is wrong is said, with what to do, and nothing ends in a traceback."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from carnet_check.certificates.file import BadCertificateFile, read
from tests.fixtures import nvidia_pki
from tests.unit.model_check.command import FIXTURES, TOY, carnet, control

CERTIFICATES = FIXTURES / "toy.certificates.json.xz"


@pytest.mark.mends("N4")
@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "ascii", "utf-8"])
def test_every_encoding_is_written(encoding: str, tmp_path: Path) -> None:
    script = f"from carnet_check.cli import main; main(['verify', {control('sound')!r}])"
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    ran = subprocess.run(
        [sys.executable, "-c", script], env=environment, cwd=tmp_path, capture_output=True, check=False
    )
    assert (ran.returncode, b"internal error" in ran.stderr) == (0, False)
    assert b"verdicts" in ran.stdout


def test_beginnings_that_no_mutant_has_are_2_and_those_that_exist_are_named(tmp_path: Path) -> None:
    ran = carnet("mutate", TOY, "--only", "len/", "--out", str(tmp_path / "out"))
    assert (ran.code, ran.out) == (2, "")
    assert "no mutant that begins 'len/'" in ran.err
    assert "lend" in ran.err
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_place_of_a_folder_is_refused_before_anything_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("kept")
    ran = carnet("mutate", TOY, "--out", str(tmp_path / "file"))
    assert (ran.code, ran.out) == (2, "")
    assert (tmp_path / "file").read_text() == "kept"


def test_an_empty_name_is_no_name() -> None:
    ran = carnet("verify", TOY, "--cti", "")
    assert (ran.code, "--cti expects the name of a lemma or claim" in ran.err) == (2, True)


@pytest.mark.parametrize(("engine", "named"), [("kernel", False), ("explicit", True)])
def test_no_solver_is_named_where_none_was_asked(engine: str, named: bool) -> None:
    versions = carnet("verify", TOY, "--engine", engine, "--json").json["run"]["versions"]
    assert ("z3" in versions) is named
    assert {"carnet", "python"} <= set(versions)


def test_what_an_engine_needs_is_named() -> None:
    pytest.importorskip("cvc5", reason="the extra 'cvc5' is not installed")
    assert "cvc5" in carnet("verify", TOY, "--engine", "cvc5", "--json").json["run"]["versions"]


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [(lambda data: data[: len(data) // 2], "it is cut off"), (lambda data: data + b"x", "something follows after")],
    ids=["cut off", "longer"],
)
def test_what_is_wrong_with_a_file_of_certificates_is_said_with_what_to_do(spoilt: object, said: str) -> None:
    assert callable(spoilt)
    with pytest.raises(BadCertificateFile, match=f"{said}.*delete it, and `carnet certify` makes it again"):
        read(spoilt(CERTIFICATES.read_bytes()))


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_half_of_a_surrogate_pair_is_refused_in_the_locale_of_containers(
    whole: Path, tmp_path: Path, more: tuple[str, ...]
) -> None:
    folder = tmp_path / "spoilt"
    shutil.copytree(whole, folder)
    text = (folder / "index.csv").read_text("utf-8")
    (folder / "index.csv").write_text(re.sub(r'"\[""[^\n]*\]"', r'"[""\\ud800""]"', text, count=1), "utf-8")
    assert (folder / "index.csv").read_text("utf-8") != text
    environment = {name: value for name, value in os.environ.items() if name not in {"PYTHONIOENCODING", "PYTHONUTF8"}}
    script = "from carnet_check.cli import main; main()"
    ran = subprocess.run(
        [sys.executable, "-c", script, "recheck", str(folder), *more],
        env={**environment, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        check=False,
    )
    assert (ran.returncode, b"internal" in ran.stderr + ran.stdout) == (1, False)


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def in_ascii(*words: str) -> subprocess.CompletedProcess[str]:
    """Run ``carnet`` where the locale has no character but ASCII's, as in small containers."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONIOENCODING"}
    command = [sys.executable, "-c", "from carnet_check.cli import main; main()", *words]
    return subprocess.run(command, env=environment | ASCII, capture_output=True, text=True, check=False)


def test_an_ascii_locale_is_one() -> None:
    """Without this, the tests below would not have noticed anything."""
    script = "import locale; print(locale.getpreferredencoding(False))"
    ran = subprocess.run([sys.executable, "-c", script], env=os.environ | ASCII, capture_output=True, check=True)
    assert ran.stdout.strip() in (b"ANSI_X3.4-1968", b"US-ASCII")


@pytest.mark.parametrize("changed", [False, True])
def test_reference_values_are_accepted_by_their_signature_in_every_locale(changed: bool, tmp_path: Path) -> None:
    world = nvidia_pki.world()
    rim = world.rims()[0]
    (tmp_path / "rim").write_bytes(rim.replace(b'index="9"', b'index="90"', 1) if changed else rim)
    (tmp_path / "roots").write_bytes(nvidia_pki.pem([world.root.certificate, world.rim_root.certificate]))
    roots = ["--trust-anchor", str(tmp_path / "roots"), "--at", f"{nvidia_pki.AT:%Y-%m-%dT%H:%M:%SZ}"]
    ran = in_ascii("attest", "rim", str(tmp_path / "rim"), *roots)
    assert (ran.returncode, ran.stderr) == (int(changed), "")
    assert ("REFUSED at signature" in ran.stdout, "codec" in ran.stdout) == (changed, False)


def test_gpus_travel_in_every_locale() -> None:
    ran = in_ascii("run", "--holders", "2", "--rounds", "2")
    assert (ran.returncode, ran.stderr) == (0, "")
