"""What a newcomer installs and types: the README's commands, pins, extras, and what an older Python is told."""

import functools
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
from carnet_check.engines.registry import registered_engines
from tests.repo.tracked import ROOT, read
from tests.unit.model_check.command import TOY

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


# -- what the base install is enough for, and what is said where an extra is missing ---------------------


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


@functools.cache
def base() -> set[str]:
    return brought(PROJECT["dependencies"])


@functools.cache
def others() -> list[str]:
    lacking = {
        module
        for module, distributions in metadata.packages_distributions().items()
        if module.isidentifier() and {"carnet", *base()}.isdisjoint(map(canonicalize_name, distributions))
    }
    return sorted(lacking)


def on_the_base_install(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of ``carnet`` where no other module can be imported, in this process or in those that it starts."""
    (folder / "site").mkdir(exist_ok=True)
    (folder / "site" / "sitecustomize.py").write_text(f"import sys; sys.modules.update(dict.fromkeys({others()}))")
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
        ("lsp", "lsp", 2),
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
    tools = [*TOOLS, *(tool for engine in registered_engines() for tool in engine.needs)]
    named = {extra for tool in tools for extra in re.findall(r"'carnet\[(\w+)\]'", tool.get)}
    assert set(PROJECT["optional-dependencies"]) - FOR_DEVELOPMENT <= named
    assert {name for tool in tools if tool.required for name in tool.distributions} <= base()


def test_the_architecture_says_what_everything_is_for() -> None:
    page = read(Path("docs/architecture.md"))
    section = page.partition("## What is installed\n")[2].partition("\n## ")[0]
    first = [cell for line in section.splitlines() if line.startswith("| `") for cell in line.split("|")[1:2]]
    said = {name for cell in first for name in re.findall(r"`([\w-]+)`", cell)}
    declared = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]}
    assert said == declared | set(PROJECT["optional-dependencies"])


# -- who installs or runs Carnet with an older Python is told which one it needs -------------------------


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
