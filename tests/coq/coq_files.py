"""The Coq files of the tree that is tested, compiled in a copy that all processes of a test run share."""

from __future__ import annotations

import atexit
import fcntl
import functools
import os
import shutil
import subprocess
import tempfile
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from carnet_check.coq.program import run_program
from carnet_check.exports.coq_data import program_text
from carnet_check.exports.systems import System
from carnet_spec.language import Protocol

SOURCES = Path(__file__).parents[2] / "model_check" / "coq"
NEEDED = ("coqc", "coqdep", "coqchk", "ocamlfind", "make")
MISSING = [tool for tool in NEEDED if shutil.which(tool) is None]
WHY = f"needs Coq and OCaml (Debian's packages coq and ocaml-findlib) and make; missing: {', '.join(MISSING)}"
#: Marks a test that compiles Coq files itself; CI installs Coq, so there it runs.
needs_coq = pytest.mark.skipif(bool(MISSING), reason=WHY)
#: How long one program may take, generously: coqchk needs half a minute of a machine that does nothing else.
SECONDS = 280
_COMPILED = shutil.ignore_patterns("*.vo*", "*.glob", "*.cm*", "*.o", "kernel.ml*", "carnet-*", ".depend", ".*.aux")


@dataclass(frozen=True, slots=True)
class Library:
    """A copy of the Coq files, with what was compiled of them."""

    folder: Path

    @staticmethod
    def copied(source: Path, folder: Path) -> Library:
        """Copy a folder; times are kept, so that compiled files stay valid."""
        return Library(Path(shutil.copytree(source, folder)))

    def modules(self) -> list[str]:
        """Return the names of the modules, in the order of ``_CoqProject``."""
        lines = (self.folder / "_CoqProject").read_text("utf-8").splitlines()
        return [line.removesuffix(".v") for line in lines if line.endswith(".v")]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(words, cwd=self.folder, capture_output=True, text=True, timeout=SECONDS, check=False)

    def make(self, *targets: str) -> subprocess.CompletedProcess[str]:
        """Compile everything, or some files and what these need."""
        return self.run("make", "-s", "-j2", *targets)

    def said(self, name: str, text: str) -> str:
        """Compile a further file and return what Coq prints; fail if Coq does not accept it."""
        (self.folder / f"{name}.v").write_text(text, "utf-8")
        ran = self.run("coqc", "-q", "-R", ".", "Carnet", f"{name}.v")
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One replacement of text in a Coq file, and the file whose proofs notice it, if there is one that does."""

    id: str
    old: str
    new: str
    file: str = "Checker.v"
    says: str = ""
    why: str = ""
    noticed_by: str = ""

    def made(self, library: Library, folder: Path) -> Library:
        """Replace the text in a copy of a compiled library."""
        copy = Library.copied(library.folder, folder / "library")
        file = copy.folder / self.file
        file.write_text(file.read_text("utf-8").replace(self.old, self.new), "utf-8")
        return copy


def listed(table: str, kind: str = "fault") -> list[dict[str, Any]]:
    """Return the edits of one kind in a table that lies beside this file."""
    rows: list[dict[str, Any]] = tomllib.loads(Path(__file__).with_name(table).read_text("utf-8"))[kind]
    return rows


@functools.cache
def shared() -> Library:
    """Return the copy that the processes of this test run share, compiled by the first.

    A test that comes here without Coq is skipped, with the reason that :data:`needs_coq` gives.
    """
    if MISSING:
        pytest.skip(WHY)
    folder = _place()
    with locked(folder):
        if not (folder / "library").exists():
            shutil.copytree(SOURCES, folder / "library", ignore=_COMPILED)
    made("all")
    return Library(folder / "library")


def made(target: str) -> Path:
    """Make a target in the shared copy, which one process does at a time; return the copy's folder."""
    folder = _place()
    with locked(folder):
        ran = Library(folder / "library").make(target)
    assert ran.returncode == 0, ran.stderr
    return folder / "library"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keep other processes of the run out."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@functools.cache
def _place() -> Path:
    """Return the folder of this test run; the last process that uses it removes it."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    folder = Path(tempfile.gettempdir()) / f"carnet-coq-{run}"
    folder.mkdir(exist_ok=True)
    users = (folder / "users").open("w")
    fcntl.flock(users, fcntl.LOCK_SH)

    def leave() -> None:
        try:
            fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(leave)
    return folder


# -- the programs that are extracted from model_check/coq, built from the tree that is tested ------------


def compiled(folder: Path) -> subprocess.CompletedProcess[str]:
    """Compile the theorems in a folder that was written for Coq; skip the test without Coq."""
    command: list[str | Path] = ["make", "-s", "-C", folder, f"COQ={shared().folder}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)


@functools.cache
def program() -> Path:
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


# -- what is to be proved of a protocol, and so has a theorem --------------------------------------------


def to_be_proved(protocol: Protocol) -> Iterator[tuple[str, str]]:
    """Yield the threat models and claims that ``carnet verify`` is to call PROVED."""
    for claim in protocol.claims:
        if not claim.declared:
            for threat in claim.under:
                if threat not in claim.fails_under:
                    yield threat, claim.name


def require_theorems(folder: Path, name: str) -> None:
    """Compile the theorems in a folder, and require that they rest on nothing."""
    ran = compiled(folder)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    said = (folder / f"theorems_{name}.assumptions").read_text("utf-8")
    assert said.splitlines() == ["Closed under the global context"]


def require_refusal(folder: Path, name: str, file: str, old: str, new: str) -> None:
    """Change a file of theorems in a folder, and require that Coq does not compile them any more."""
    text = (folder / file).read_text("utf-8")
    assert old in text, text
    (folder / file).write_text(text.replace(old, new), "utf-8")
    assert compiled(folder).returncode != 0
    assert not (folder / f"theorems_{name}.assumptions").exists()
