"""What a newcomer meets first: help at once, names completed, a doctor that says what is missing."""

from __future__ import annotations

import os
import pty
import re
import resource
import subprocess
import sys
import tomllib
from collections.abc import Iterator

import pytest

from carnet_check.commands import doctor
from carnet_check.commands.doctor import look_for
from carnet_check.engines.interface import Tool
from carnet_check.engines.registry import registered
from tests.repo.tracked import ROOT
from tests.unit.model_check.command import TOY, carnet

CARNET = "from carnet_check.cli import main; main(prog_name='carnet')"
AT_ONCE = 0.3
"""Seconds of processor time: what is seen on a machine that does nothing else."""


def processor_seconds(*command: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_help_comes_at_once() -> None:
    seconds = min(processor_seconds(sys.executable, "-c", CARNET, "--help") for _ in range(3))
    assert seconds < AT_ONCE


@pytest.mark.parametrize("group", [(), ("attest",)])
def test_a_group_alone_shows_its_help_as_it_is_meant_to_be_read(group: tuple[str, ...]) -> None:
    ran = carnet(*group)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == carnet(*group, "--help").out
    assert all(len(line) <= 80 for line in ran.err.splitlines())


def test_help_says_who_takes_json() -> None:
    said = " ".join(carnet("--help").out.split())
    assert "Every command takes --json; a group, such as attest, leaves that to its commands." in said
    assert carnet("attest", "--json").code == 2


def completed(line: str) -> list[str]:
    """Return what the shell offers where ``line`` ends."""
    words = line.split(" ")
    asked = {"_CARNET_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    ran = subprocess.run(
        [sys.executable, "-c", CARNET], env={**os.environ, **asked}, capture_output=True, text=True, check=False
    )
    return [offer.partition(",")[2] for offer in ran.stdout.splitlines() if offer]


@pytest.mark.parametrize(
    ("line", "offers"),
    [
        ("carnet ver", ["verify"]),
        ("carnet verify gpu-", ["gpu-travelling"]),
        (f"carnet verify {TOY} --claim s", ["secrecy"]),
        (f"carnet attack {TOY} --without fresh-key,ret", ["fresh-key,return-checked"]),
        (f"carnet attack {TOY} --variant f", ["forgetful"]),
        (f"carnet verify {TOY} --cti known", ["known_keys_are_used"]),
        (f"carnet verify {TOY} --cti secr", ["secrecy"]),
        (f"carnet explain --protocol {TOY} fr", ["fresh-key"]),
        ("carnet explain grant-e", ["grant-ends"]),
        ("carnet explain --protocol nothing-of-this-name g", []),
        ("carnet attack nothing-of-this-name --variant f", []),
    ],
)
def test_the_shell_completes_names(line: str, offers: list[str]) -> None:
    assert completed(line) == offers


def seen_on_a_terminal(*arguments: str, **environment: str) -> str:
    """Return what ``carnet`` shows on a terminal of its own."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-c", CARNET, *arguments],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, **environment},
    ):
        os.close(theirs)
        shown = b"".join(until_hung_up(ours))
    os.close(ours)
    return shown.decode()


def until_hung_up(terminal: int) -> Iterator[bytes]:
    """Yield what is written to a terminal, until nobody is left who could write."""
    while True:
        try:
            written = os.read(terminal, 65536)
        except OSError:  # how Linux reports that the other end is closed
            return
        if not written:
            return
        yield written


CONTROL = "\x1b"


def test_a_live_line_is_for_terminals_that_can_write_over_it() -> None:
    verify = ("verify", TOY)
    for terminal, live in (("xterm-256color", True), ("dumb", False)):
        seen = seen_on_a_terminal(*verify, TERM=terminal)
        assert "secrecy" in seen
        assert (CONTROL in seen) == live
    piped = subprocess.run([sys.executable, "-c", CARNET, *verify], capture_output=True, text=True, check=True)
    assert "secrecy" in piped.stdout
    assert CONTROL not in piped.stdout + piped.stderr


def test_the_doctor_says_what_is_there() -> None:
    ran = carnet("doctor", "--json")
    tools = {tool["name"]: tool for tool in ran.json["tools"]}
    assert (ran.code, ran.json["missing"]) == (0, [])
    assert tools["z3"]["detail"] == "z3-solver 5.4.0.0"
    assert tools["z3"]["required"]
    assert not tools["evidence bundle"]["required"]


def test_the_doctor_knows_no_engine_that_is_not_written() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    offered = {extra for tool in doctor.TOOLS for extra in re.findall(r"'carnet\[(\w+)\]'", tool.get)}
    assert offered >= {"bundle", "train", "cluster"}
    assert offered <= set(project["optional-dependencies"])
    unwritten = {"cvc5", "compiled explorer", "spin", "c compiler", "java"}
    assert unwritten.isdisjoint(tool.name for tool in doctor.TOOLS)


def test_the_doctor_asks_for_no_file_that_an_installed_carnet_lacks() -> None:
    needed = [tool for engine in registered() for tool in engine.needs]
    advice = [tool.get for tool in (*needed, *doctor.TOOLS) if "pip" in tool.get]
    assert all(re.fullmatch(r"pip install (carnet|'carnet\[\w+\]')", each) for each in advice), advice


def test_the_doctor_says_how_to_get_what_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    absent = Tool("oracle", "answers at once", "ask at Delphi", ("no-such-distribution",), required=True)
    monkeypatch.setattr(doctor, "TOOLS", (absent,))
    ran = carnet("doctor")
    assert ran.code == 1
    assert "MISSING      oracle: answers at once (get it: ask at Delphi)" in ran.out
    assert "get it: ask at Delphi" in ran.out
    assert all(len(line) <= 80 for line in ran.out.splitlines())


def test_a_program_is_looked_for_on_the_path() -> None:
    assert look_for(Tool("shell", "", "", programs=("no-such-program", "sh"))).present
    assert not look_for(Tool("shell", "", "", programs=("no-such-program",))).present
