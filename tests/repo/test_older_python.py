"""Who installs or runs Carnet with an older Python is told which one it needs, and nothing else."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib

import pytest

from tests.repo.tracked import ROOT

OLDER = "import setuptools, sys; sys.version_info = (3, 10, 13); sys.version = '3.10.13 (main)'; "
NEEDED = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["requires-python"].removeprefix(">=")


def _said(code: str) -> tuple[int, str, str]:
    ran = subprocess.run([sys.executable, "-c", OLDER + code], cwd=ROOT, capture_output=True, text=True, check=False)
    return ran.returncode, ran.stdout, ran.stderr


@pytest.mark.mends("R469")
def test_an_older_one_is_refused_before_pip_looks_for_what_it_cannot_have() -> None:
    code, out, err = _said("import runpy; runpy.run_path('setup.py', run_name='__main__')")
    assert (code, out) == (1, "")
    assert err == f"Carnet needs Python {NEEDED} or newer, and this is Python 3.10: try python3.11 -m venv .venv\n"


@pytest.mark.mends("R469")
def test_the_command_says_so_in_one_line() -> None:
    wanted = f"carnet: needs Python {NEEDED} or newer, and this is Python 3.10.13\n"
    assert _said("from carnet_check.cli import main") == (2, "", wanted)


@pytest.mark.parametrize("file", ["setup.py", "model_check/carnet_check/__init__.py"])
def test_it_is_the_one_that_the_package_declares(file: str) -> None:
    numbers = re.findall(r"sys\.version_info < \((\d+), (\d+)\)", (ROOT / file).read_text("utf-8"))
    assert [".".join(each) for each in numbers] == [NEEDED]
