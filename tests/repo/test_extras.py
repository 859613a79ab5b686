"""What the base install is enough for, and what is said where an extra is missing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from carnet_check.commands.doctor import TOOLS
from carnet_check.engines.registry import registered
from tests.repo.tracked import read
from tests.unit.model_check.command import TOY

PROJECT = tomllib.loads(read(Path("pyproject.toml")))["project"]
FOR_DEVELOPMENT = {"dev", "docs", "lint", "test"}


def brought(by: list[str]) -> set[str]:
    """Return the distributions that are installed for requirements, without any extra of theirs."""
    found: set[str] = set()
    waiting = [Requirement(line) for line in by]
    while waiting:
        needed = waiting.pop()
        name = canonicalize_name(needed.name)
        if name not in found and (needed.marker is None or needed.marker.evaluate({"extra": ""})):
            found.add(name)
            waiting += map(Requirement, metadata.requires(name) or ())
    return found


BASE = brought(PROJECT["dependencies"])
OTHERS = sorted(
    module
    for module, distributions in metadata.packages_distributions().items()
    if module.isidentifier() and {"carnet", *BASE}.isdisjoint(map(canonicalize_name, distributions))
)
"""Modules that a base install lacks."""


def on_the_base_install(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of ``carnet`` where no other module can be imported, in this process or in those that it starts."""
    (folder / "site").mkdir(exist_ok=True)
    (folder / "site" / "sitecustomize.py").write_text(f"import sys; sys.modules.update(dict.fromkeys({OTHERS}))")
    program = "from carnet_check.cli import main; main(prog_name='carnet')"
    return subprocess.run(
        [sys.executable, "-c", program, *command.split()],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder / "site"), "PATH": "/nowhere"},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ("doctor", 0),
        (f"verify {TOY} --engine kernel", 0),
        (f"explore {TOY}", 0),
        (f"export {TOY} --to promela --out spin", 0),
        ("attack gpu-travelling --without scrub-buffer --replay", 1),
        ("run --holders 2 --rounds 1", 0),
        ("datapath --table pipellm --samples 2", 0),
        ("sweep --configurations 2", 0),
    ],
)
def test_the_base_install_is_enough(command: str, code: int, tmp_path: Path) -> None:
    ran = on_the_base_install(tmp_path, command)
    assert ran.returncode == code, ran.stdout + ran.stderr


@pytest.mark.parametrize(
    ("extra", "command", "code"),
    [
        ("cluster", f"verify {TOY} --ray local", 2),
        ("cvc5", f"verify {TOY} --engine cvc5", 2),
        ("eprover", f"verify {TOY} --engine eprover", 2),
        ("fast", f"explore {TOY} --engine native", 2),
        ("live", "attest --live", 3),
        ("plot", "datapath --samples 1 --plot picture.svg", 2),
        ("train", "run --trainer torch", 2),
    ],
)
def test_a_missing_extra_is_one_line_with_the_command_that_helps(
    extra: str, command: str, code: int, tmp_path: Path
) -> None:
    ran = on_the_base_install(tmp_path, command)
    (line,) = ran.stderr.splitlines()
    assert (ran.returncode, f"pip install 'carnet[{extra}]'" in line) == (code, True), ran.stderr


def test_a_run_is_shown_without_an_extra_and_signed_with_one(tmp_path: Path) -> None:
    assert on_the_base_install(tmp_path, f"verify {TOY} --out run").returncode == 0
    assert on_the_base_install(tmp_path, "report run --html shown").returncode == 0
    assert (tmp_path / "shown" / "index.html").exists()
    (tmp_path / "key.pem").write_bytes(b"a key")
    ran = on_the_base_install(tmp_path, "report run --bundle evidence.json --key key.pem")
    (line,) = ran.stderr.splitlines()
    assert (ran.returncode, "pip install 'carnet[bundle]'" in line) == (2, True), ran.stderr


def test_the_doctor_knows_every_extra() -> None:
    tools = [*TOOLS, *(tool for engine in registered() for tool in engine.needs)]
    named = {extra for tool in tools for extra in re.findall(r"'carnet\[(\w+)\]'", tool.get)}
    assert set(PROJECT["optional-dependencies"]) - FOR_DEVELOPMENT <= named
    assert {name for tool in tools if tool.required for name in tool.distributions} <= BASE


def test_the_architecture_says_what_everything_is_for() -> None:
    page = read(Path("docs/architecture.md"))
    section = page.partition("## What is installed\n")[2].partition("\n## ")[0]
    first = [cell for line in section.splitlines() if line.startswith("| `") for cell in line.split("|")[1:2]]
    said = {name for cell in first for name in re.findall(r"`([\w-]+)`", cell)}
    declared = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]}
    assert said == declared | set(PROJECT["optional-dependencies"])
