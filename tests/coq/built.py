"""The programs that are extracted from model_check/coq, built from the tree that is tested."""

from __future__ import annotations

import functools
import subprocess
import tempfile
from pathlib import Path

from carnet_check.coq.program import run_program
from carnet_check.exports.coq_data import program_text
from carnet_check.exports.systems import System
from tests.coq.coq_files import SECONDS, made, shared


def compiled(folder: Path) -> subprocess.CompletedProcess[str]:
    """Compile the theorems in a folder that was written for Coq; skip the test without Coq."""
    command: list[str | Path] = ["make", "-s", "-C", folder, f"COQ={shared().folder}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)


@functools.cache
def program() -> Path:
    """Build the program; skip the test without Coq."""
    shared()
    return made("program") / "program" / "carnet-checker"


@functools.cache
def exhaust() -> Path:
    """Build the program that checks exhausted instances; skip the test without Coq."""
    shared()
    return made("exhaust") / "program" / "carnet-exhaust"


def said(command: str, system: System, *more: str) -> list[str]:
    """Return the lines that a command of the program prints about a system and further texts."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for number, text in enumerate((program_text(system), *more)):
            files.append(Path(folder) / str(number))
            files[-1].write_text(text, "utf-8")
        _, lines = run_program(program(), command, *files)
        return list(lines)
