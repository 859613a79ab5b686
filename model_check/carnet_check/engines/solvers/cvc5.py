"""Queries to cvc5: a fresh solver for each text, with a budget in the solver's own units of work.

Worker processes import this module. ``enum-inst`` tries the terms that are there as instances of quantified formulas,
which finds nearly every proof in obligations whose sorts have no functions in a circle.
"""

import functools
import time
from collections.abc import Iterator
from typing import Any

from carnet_check.engines.proving.composition import SolverAnswer, SolverOutcome
from carnet_check.engines.proving.solver import require_sound
from carnet_check.obligations import GOAL

#: Units of cvc5's resource counter; a typical obligation takes some 1,000, with all hypotheses some 30,000.
DEFAULT_RLIMIT = 1_000_000
FEWER = 50  #: How many times less is spent on a text with few hypotheses, if others follow.
OPTIONS = {"enum-inst": "true"}


def answer(asked: tuple[str, str, int]) -> Iterator[SolverAnswer]:
    """Yield the answer to one query ``(digest, SMT-LIB text, budget)``."""
    digest, text, rlimit = asked
    began = time.perf_counter()
    outcome, core, reason = ask(text, rlimit)
    yield SolverAnswer(digest, outcome, core, time.perf_counter() - began, 0, reason)


def ask(text: str, rlimit: int) -> tuple[SolverOutcome, tuple[str, ...], str]:
    """Ask cvc5 whether the assertions contradict each other; return the outcome, the core, and why it is unknown."""
    import cvc5

    solver = cvc5.Solver(cvc5.TermManager())
    for name, value in {**OPTIONS, "rlimit": str(rlimit)}.items():
        solver.setOption(name, value)
    said = _run_commands(cvc5, solver, text)
    if said[:1] == ["unsat"]:
        core = sorted(name.strip().removeprefix("|").removesuffix("|") for name in said[1].strip("()\n").split("\n"))
        return SolverOutcome.PROVED, tuple(name for name in core if name != GOAL), ""
    if said[:1] == ["sat"]:
        return SolverOutcome.REFUTED, (), ""
    return SolverOutcome.UNKNOWN, (), said[0] if said else "no answer"


def _run_commands(cvc5: Any, solver: Any, text: str) -> list[str]:
    parser = cvc5.InputParser(solver)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, text, "obligation")
    symbols = parser.getSymbolManager()
    found: list[str] = []
    while not (command := parser.nextCommand()).isNull():
        if told := str(command.invoke(solver, symbols)).strip():
            found.append(told)
            if told != "unsat":
                break
    return found


def version() -> str:
    """Return the name and version of cvc5."""
    from importlib import metadata

    return f"cvc5 {metadata.version('cvc5')}"


@functools.cache
def require_trusted() -> None:
    """Raise UsageError if cvc5 answers a known question wrongly."""
    import cvc5

    where = getattr(cvc5, "__file__", "built in")
    require_sound(f"{version()} at {where}", lambda known: ask(known.smtlib, FEW_UNITS))


FEW_UNITS = 2_000  #: What cvc5 may spend on a search without an end, which is then sure to be cut off.
