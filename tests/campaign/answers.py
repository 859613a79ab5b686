"""What solvers say of the text of an obligation, and the certificate that is made of it."""

from __future__ import annotations

import time
from collections.abc import Collection

import z3

from carnet_check.certificates.file import Entry
from carnet_check.certificates.judging import cut
from carnet_check.certificates.producing.refutation import NotFound, found
from carnet_check.engines.proving.composition import SolverOutcome
from carnet_check.engines.solvers import cvc5, eprover
from carnet_check.exports.obligation_text import Writer, digest
from carnet_check.exports.tptp import tptp
from carnet_check.kernel.checker import Refused
from carnet_check.kernel.reader import read_obligation
from carnet_check.obligations import GOAL, Obligation

Z3_UNITS, CVC5_UNITS, E_CLAUSES = 200_000, 20_000, 500
"""What each may spend on a text, in its own units of work; UNKNOWN is no disagreement."""
E_SECONDS, SEARCH_SECONDS = 2, 0.5
PROVED, REFUTED, UNKNOWN = "proved", "refuted", "unknown"
_Z3 = {"unsat": PROVED, "sat": REFUTED}
_WORDS = {SolverOutcome.PROVED: PROVED, SolverOutcome.REFUTED: REFUTED}


def missing_e() -> bool:
    """Whether E is not installed."""
    return not eprover.located()


def by_z3(text: str, context: z3.Context) -> tuple[str, frozenset[str]]:
    """Return what Z3 says, with the names of hypotheses that contradict each other."""
    solver = z3.Solver(ctx=context)
    solver.set("rlimit", Z3_UNITS)
    solver.from_string(text)
    said = _Z3.get(str(solver.check()), UNKNOWN)
    core = solver.unsat_core() if said == PROVED else ()
    return said, frozenset(str(name).strip("|") for name in core)


def by_cvc5(text: str) -> str:
    """Return what cvc5 says."""
    outcome, _, _ = cvc5.ask(text, CVC5_UNITS)
    return _WORDS.get(outcome, UNKNOWN)


def by_e(obligation: Obligation) -> str:
    """Return what E says of the obligation as TPTP."""
    text = tptp(obligation)
    (said,) = eprover.answer(eprover.Asked(digest(text), (text,), E_CLAUSES, E_SECONDS, eprover.located()))
    return _WORDS.get(said.outcome, UNKNOWN)


def certificate(writer: Writer, obligation: Obligation, core: Collection[str]) -> Entry | None:
    """Return a certificate that the Python kernel accepts, if the search finds one in time."""
    try:
        here, names = read_obligation(writer.text(obligation, set(core) - {GOAL}))
        steps = found(here, time.process_time() + SEARCH_SECONDS)
        return cut(writer, obligation, steps, dict(enumerate(names)))
    except (NotFound, Refused):
        return None
