"""What a newcomer types: the README's commands, their pins, and the script that runs them in CI."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.repo.tracked import ROOT, read

VENV = "python3.11 -m venv .venv && . .venv/bin/activate && "
COMMANDS = {
    "verify": VENV + "pip install -c constraints.txt '.[fast]' && carnet verify gpu-travelling",
    "test": VENV + "pip install -c constraints.txt -e '.[test]' && pytest -n auto",
}


def _shown_in_readme(name: str) -> str:
    """Take the README's command as a reader would copy it: the one block between its markers."""
    pattern = rf"<!-- command: {name} -->\n```sh\n(.*?)\n```\n<!-- end command -->"
    blocks: list[str] = re.findall(pattern, read(Path("README.md")), flags=re.DOTALL)
    assert len(blocks) == 1
    return blocks[0]


@pytest.mark.parametrize("name", COMMANDS)
def test_the_readme_shows_the_promised_command(name: str) -> None:
    assert _shown_in_readme(name) == COMMANDS[name]


def test_ci_runs_the_readme_command_word_for_word() -> None:
    """The script takes the command out of the README; run that part of it and compare."""
    script = read(Path(".ci/run"))
    function = re.search(r"^readme_command\(\) \{.*?^\}", script, flags=re.DOTALL | re.MULTILINE)
    assert function
    shown = subprocess.run(
        ["bash", "-c", f"{function[0]}\nreadme_command test"],
        env={**os.environ, "clone": str(ROOT)},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert shown.strip() == _shown_in_readme("test")
    assert "as_newcomer test" in script
    assert not re.search(r"\bpytest\b", script), "tests run through the README's command only"


def test_ci_is_executable() -> None:
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def _pins() -> dict[str, str]:
    lines = [line for line in read(Path("constraints.txt")).splitlines() if not line.startswith("#")]
    pins = [re.fullmatch(r"([A-Za-z0-9._-]+)==([A-Za-z0-9.]+)", line) for line in lines]
    unpinned = [line for line, pin in zip(lines, pins, strict=True) if pin is None]
    assert not unpinned, "a constraint is NAME==VERSION and nothing else"
    return {_normal(pin[1]): pin[2] for pin in pins if pin}


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def test_constraints_pin_exact_versions_once_and_in_order() -> None:
    names = [
        line.partition("==")[0].lower()
        for line in read(Path("constraints.txt")).splitlines()
        if not line.startswith("#")
    ]
    assert len(_pins()) == len(names)
    assert names == sorted(names)


def test_every_declared_dependency_is_pinned() -> None:
    project = tomllib.loads(read(Path("pyproject.toml")))["project"]
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    declared = {_normal(re.split(r"[\[<>=!~ ]", entry, maxsplit=1)[0]) for group in groups for entry in group}
    assert declared - {"carnet"} <= set(_pins())


def test_the_solver_is_the_same_build_in_both_places() -> None:
    dependencies = tomllib.loads(read(Path("pyproject.toml")))["project"]["dependencies"]
    assert f"z3-solver=={_pins()['z3-solver']}" in dependencies
