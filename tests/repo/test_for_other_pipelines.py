"""What other projects take from this one works there: an Action, a pre-commit hook, a container, wheel and sdist."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.unit.model_check.command import carnet

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github" / "actions" / "verify"
INPUT = re.compile(r"\$\{\{ inputs\.(\w+) \}\}")


def action() -> Any:
    return yaml.safe_load((ACTION / "action.yml").read_text())


def steps() -> list[dict[str, Any]]:
    """Return the steps of the Action that run a command, without the one that installs."""
    found: list[dict[str, Any]] = [step for step in action()["runs"]["steps"] if "run" in step]
    assert "pip install" in found[0]["run"]
    return found[1:]


def run_steps(folder: Path, inputs: Mapping[str, str], path: str) -> list[int]:
    """Run the steps as a runner of GitHub does, with these inputs; return what each exited with."""
    given = {name: str(each.get("default", "")) for name, each in action()["inputs"].items()} | dict(inputs)
    codes: list[int] = []
    for step in steps():
        assert "${{" not in step["run"], "what is put into a script may be a script"
        own = {name: INPUT.sub(lambda found: given[found[1]], text) for name, text in step.get("env", {}).items()}
        environment = {**os.environ, "PATH": path, "GITHUB_STEP_SUMMARY": str(folder / "summary"), **own}
        if codes and codes[-1] and step.get("if") != "always()":
            continue
        command = [shutil.which("bash") or "bash", "-e", "-o", "pipefail", "-c", step["run"]]
        codes.append(subprocess.run(command, cwd=folder, env=environment, check=False, capture_output=True).returncode)
    return codes


def here() -> str:
    return f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"


@pytest.fixture
def tickets(tmp_path: Path) -> Path:
    assert carnet("init", str(tmp_path / "tickets")).code == 0
    return tmp_path / "tickets"


@pytest.mark.mends("N21")
def test_the_action_verifies_and_shows_the_verdicts(tickets: Path) -> None:
    codes = run_steps(tickets, {"protocol": "protocol.py", "options": "--engine explicit --jobs 1"}, here())
    assert codes == [0, 0]
    assert "| own-ticket | EXHAUSTED" in (tickets / "summary").read_text()
    kept = {path.name for path in (tickets / "carnet-run").iterdir()}
    assert kept >= {"verdicts.jsonl", "run.json", "junit.xml", "carnet.sarif", "summary.md"}


def test_the_action_fails_with_the_claim_and_shows_the_verdicts_still(tickets: Path) -> None:
    file = tickets / "protocol.py"
    file.write_text(file.read_text().replace('step.fresh(ticket, defence="fresh-ticket")', "pass"))
    assert run_steps(tickets, {"protocol": "protocol.py", "options": "--engine explicit"}, here()) == [1, 0]
    assert "### Not as expected" in (tickets / "summary").read_text()


def test_the_action_says_nothing_where_nothing_ran(tickets: Path) -> None:
    assert run_steps(tickets, {"protocol": "no-such-protocol"}, here()) == [2, 0]
    assert not (tickets / "summary").exists()


def test_an_input_of_the_action_is_no_script(tickets: Path) -> None:
    inputs = {"protocol": "$(touch made)", "options": "; touch made too"}
    assert run_steps(tickets, inputs, here())[0] == 2
    assert not (tickets / "made").exists()
    assert not (tickets / "too").exists()


def test_the_action_installs_from_where_it_is() -> None:
    install = next(step["run"] for step in action()["runs"]["steps"] if "pip install" in step.get("run", ""))
    places = [word.strip('"') for word in install.split() if "GITHUB_ACTION_PATH" in word]
    found = [Path(place.replace("$GITHUB_ACTION_PATH", str(ACTION))).resolve() for place in places]
    assert found == [ROOT / "constraints.txt", ROOT]


@pytest.mark.mends("N21")
def test_the_hook_is_a_command(tickets: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    program, *arguments = hook["entry"].split()
    assert (program, hook["pass_filenames"]) == ("carnet", False)
    assert carnet(*arguments, str(tickets / "protocol.py"), "--engine", "explicit").code == 0


def test_the_container_is_written_as_it_should_be() -> None:
    linter = shutil.which("hadolint", path=here())
    if linter is None:
        pytest.skip("needs hadolint, of the extra 'lint'")
    ran = subprocess.run([linter, str(ROOT / "Dockerfile")], check=False, capture_output=True, text=True)
    assert (ran.returncode, ran.stdout) == (0, "")


def test_the_container_copies_what_there_is() -> None:
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    copied = [word for line in lines if line.startswith("COPY ") for word in line.split()[1:-1]]
    let_in = {line.removeprefix("!") for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"}
    assert set(copied) == let_in
    assert all((ROOT / name).exists() for name in copied)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_container_verifies() -> None:
    daemon = ["docker", "info"]
    if shutil.which("docker") is None or subprocess.run(daemon, check=False, capture_output=True).returncode:
        pytest.skip("needs Docker, and its daemon")
    subprocess.run(["docker", "build", "-t", "carnet-test", str(ROOT)], check=True)
    command = ["docker", "run", "--rm", "carnet-test", "verify", "gpu-travelling", "--engine", "kernel"]
    assert subprocess.run(command, check=False).returncode == 0


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", ["wheel", "sdist"])
def test_what_is_built_verifies_elsewhere(tmp_path: Path, kind: str) -> None:
    """Build from a clean clone, install into a new environment, and verify in an empty folder."""
    source, built, environment, work = (tmp_path / name for name in ("source", "built", "environment", "work"))
    work.mkdir()
    built.mkdir()
    subprocess.run(["git", "clone", "-q", str(ROOT), str(source)], check=True)
    make = f"from setuptools import build_meta; build_meta.build_{kind}({str(built)!r})"
    venv.create(environment, with_pip=True)
    python = str(environment / "bin" / "python")
    install = [python, "-m", "pip", "install", "-q", "-c", str(source / "constraints.txt")]
    needed = tomllib.loads((source / "pyproject.toml").read_text("utf-8"))["build-system"]["requires"]
    subprocess.run([*install, *needed], check=True)
    subprocess.run([python, "-c", make], cwd=source, check=True, capture_output=True)
    (file,) = built.iterdir()
    shutil.rmtree(source / "model_check" / "carnet_check")
    subprocess.run([*install, str(file)], check=True)
    program = str(environment / "bin" / "carnet")
    commands = ("doctor", "verify gpu-travelling", "certify gpu-travelling --out kept", "recheck kept", "init mine")
    for command in map(str.split, commands):
        ran = subprocess.run([program, *command], cwd=work, check=False, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stdout + ran.stderr
