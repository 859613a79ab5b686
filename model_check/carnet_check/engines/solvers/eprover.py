"""Asking E, a prover for first-order logic with equality, as a process for each text in TPTP.

Budgets are counted in processed clauses; seconds and memory are limited only so that nothing runs for ever. A text is
tried with two ways to make clauses of it: E's own, and one that names subformulas early, as long goals need.
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass

from carnet_check.engines.proving.answers import SolverAnswer, SolverOutcome
from carnet_check.engines.solvers.parts import MOST
from carnet_check.obligations import GOAL

DEFAULT_CLAUSES = 10_000
"""Clauses that E may process in each try; a typical obligation takes some 60, and the longest some 3,000."""
FEWER = 2
"""How many times less is spent on a text with few hypotheses, if others follow."""
SECONDS = 60
MEGABYTES = 1024
PROGRAM = "eprover"
TRIES = (("--auto",), ("--auto", "--definitional-cnf=3"))
PATIENCE = 1.25 * SECONDS * len(TRIES) * MOST
"""Seconds after which the process that waits for E counts as stuck; it ends E by itself before that."""
OUTCOMES = {"Unsatisfiable": SolverOutcome.PROVED, "Satisfiable": SolverOutcome.REFUTED}

_STATUS = re.compile(r"^# SZS status (\w+)", re.MULTILINE)
_USED = re.compile(r"file\('[^']*', '((?:[^'\\]|\\.)*)'\)\)\.$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Asked:
    """An obligation, as texts that all have to be proved, and what may be spent on each try."""

    digest: str
    texts: tuple[str, ...]
    clauses: int
    seconds: int
    program: str = PROGRAM


def answer(asked: Asked) -> Iterator[SolverAnswer]:
    """Answer an obligation: what is proved is that all its texts are."""
    assert asked.texts, "nothing was asked"
    began = time.perf_counter()
    core: set[str] = set()
    outcome, reason = SolverOutcome.PROVED, ""
    for text in asked.texts:
        outcome, used, reason = _told(asked, text)
        core.update(used)
        if outcome is not SolverOutcome.PROVED:
            core.clear()
            break
    yield SolverAnswer(asked.digest, outcome, tuple(sorted(core)), time.perf_counter() - began, 0, reason)


def _told(asked: Asked, text: str) -> tuple[SolverOutcome, tuple[str, ...], str]:
    """Ask whether the formulas of ``text`` contradict one another."""
    found: tuple[SolverOutcome, tuple[str, ...], str] = (SolverOutcome.UNKNOWN, (), "nothing was tried")
    for options in TRIES:
        found = _tried(asked, text, options)
        if found[0] is not SolverOutcome.UNKNOWN:
            break
    return found


def _tried(asked: Asked, text: str, options: tuple[str, ...]) -> tuple[SolverOutcome, tuple[str, ...], str]:
    command = (
        asked.program,
        *options,
        "--silent",
        "--proof-object=1",
        f"--processed-clauses-limit={asked.clauses}",
        f"--soft-cpu-limit={asked.seconds}",
        f"--cpu-limit={asked.seconds + 1}",
        f"--memory-limit={MEGABYTES}",
    )
    patience = 2 * asked.seconds
    try:
        ran = subprocess.run(command, input=text, capture_output=True, text=True, timeout=patience, check=False)
    except subprocess.TimeoutExpired:
        return SolverOutcome.UNKNOWN, (), f"the solver did not come back within {patience} s"
    status = _STATUS.search(ran.stdout)
    if status is None:
        told = (ran.stderr or ran.stdout).strip().split("\n")[-1]
        code = f"code {ran.returncode}" + (f": {told}" if told else "")
        return SolverOutcome.UNKNOWN, (), f"the solver's process ended with {code}"
    outcome = OUTCOMES.get(status[1], SolverOutcome.UNKNOWN)
    if outcome is not SolverOutcome.PROVED:
        return outcome, (), "" if outcome is SolverOutcome.REFUTED else status[1]
    used = {re.sub(r"\\(.)", r"\1", name) for name in _USED.findall(ran.stdout)}
    return outcome, tuple(sorted(name for name in used - {GOAL} if not name.startswith(MADE))), ""


MADE = ("type:", "differ:", "exhaust:")
"""What begins the names of formulas that say what TPTP has no words for."""


@functools.cache
def version() -> str:
    """Return the name and version of the solver."""
    program = shutil.which(PROGRAM)
    if program is None:
        return "E"
    told = subprocess.run((program, "--version"), capture_output=True, text=True, timeout=SECONDS, check=False).stdout
    return " ".join(told.split()[:2])
