"""Trust in solvers: questions with known answers that a solver must answer first, and the storage of its answers."""

from __future__ import annotations

import contextlib
import functools
import importlib.resources
import importlib.util
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

from carnet_check.cache import AnswerCache, NotAnAnswerError
from carnet_check.engines.interface import Tool
from carnet_check.engines.proving.composition import SolverAnswer, SolverOutcome
from carnet_check.errors import UsageError
from carnet_spec.language import Protocol

if TYPE_CHECKING:
    from carnet_check.engines.proving.composition import SolverAnswer


# -- Z3 as all engines have it: whether it is there, its version, and how much memory it may take ---

Z3 = Tool("z3", "proofs, and runs of any size", "pip install carnet", ("z3-solver",), required=True)
MEGABYTES = 1536  #: What Z3 may take: less than the process it runs in, so that it can still say so.
#: How much less than that it takes in a search: then it has no answer, and can go on to the next question.
HEADROOM = 128


@contextlib.contextmanager
def limited_memory(z3: Any) -> Iterator[None]:
    """Run the body with Z3's memory limited, after Z3 answered the known questions correctly.

    A search that needs too much has no answer, as :func:`why_unknown` says. Outside of a search there is no such way.

    Raises UsageError if Z3 answers a known question wrongly. Raises MemoryError if Z3 needs more memory than the limit;
    it cannot be used in this process any more.
    """
    require_trusted()
    z3.set_param("memory_max_size", MEGABYTES)
    z3.set_param("memory_high_watermark_mb", MEGABYTES - HEADROOM)
    try:
        yield
    except z3.Z3Exception as error:
        if "out of memory" in str(error):
            raise MemoryError(str(error)) from None
        raise


def why_unknown(solver: Any) -> str:
    """Return why Z3 has no answer, in words where its budget of work or its memory ran out."""
    why = str(solver.reason_unknown())
    return {"canceled": "the solver's budget ran out", "memout": "the solver's memory ran out"}.get(why, why)


def solver_is_installed() -> bool:
    """Whether Z3 can be imported."""
    return importlib.util.find_spec("z3") is not None


def solver_version() -> str:
    """Return the name and version of Z3, such as ``Z3 5.4.0``."""
    import z3

    return f"Z3 {z3.get_version_string()}"


@functools.cache
def require_trusted() -> None:
    """Raise UsageError if Z3 answers a known question wrongly."""
    import z3

    require_sound(f"{solver_version()} at {z3.__file__}", functools.partial(_answer_known_question, z3))


def _answer_known_question(z3: Any, known: KnownQuestion) -> Answer:
    solver = z3.SimpleSolver(ctx=z3.Context())
    solver.set("rlimit", FEW_UNITS)
    solver.from_string(known.smtlib)
    said = solver.check()
    if said == z3.unsat:
        return SolverOutcome.PROVED, {str(name.decl().name()) for name in solver.unsat_core()}, ""
    return (SolverOutcome.REFUTED, (), "") if said == z3.sat else (SolverOutcome.UNKNOWN, (), solver.reason_unknown())


FEW_UNITS = 5_000  #: What Z3 may spend on a search without an end, which is then sure to be cut off.


# --------------------------------------------------------------------------------------------------
# Three questions whose answers are known, which a solver has to answer before anything else that it says is believed.
#
# They are a contradiction that one named hypothesis makes, a formula that a model of one element satisfies, and
# formulas that only an infinite structure satisfies: a solver that saturates or takes instances never ends there.

#: The outcome, the hypotheses that were used, and why the outcome is unknown.
Answer = tuple[SolverOutcome, Collection[str], str]


@dataclass(frozen=True, slots=True)
class KnownQuestion:
    """A test question in SMT-LIB and in TPTP, with its only correct answer."""

    name: str
    smtlib: str
    tptp: str
    outcome: SolverOutcome
    core: tuple[str, ...] = ()


_HEAD = "(set-option :produce-unsat-cores true)\n(set-logic ALL)\n(declare-sort S 0)\n"
_TAIL = "(check-sat)\n(get-unsat-core)\n"
QUESTIONS = (
    KnownQuestion(
        "a theorem",
        f"""{_HEAD}(declare-fun p (S) Bool)
(declare-fun c () S)
(assert (! (forall ((x S)) (p x)) :named |all of them|))
(assert (! (not (p c)) :named |goal|))
{_TAIL}""",
        "fof('all of them', hypothesis, ![X]: p(X)).\nfof(goal, hypothesis, ~ p(c)).\n",
        SolverOutcome.PROVED,
        ("all of them",),
    ),
    KnownQuestion(
        "a formula that is no theorem",
        f"""{_HEAD}(declare-fun p (S) Bool)
(declare-fun q (S) Bool)
(declare-fun c () S)
(assert (! (or (p c) (q c)) :named |one of them|))
(assert (! (not (p c)) :named |goal|))
{_TAIL}""",
        "fof('one of them', hypothesis, p(c) | q(c)).\nfof(goal, hypothesis, ~ p(c)).\n",
        SolverOutcome.REFUTED,
    ),
    KnownQuestion(
        "a search without an end",
        f"""{_HEAD}(declare-fun r (S S) Bool)
(declare-fun f (S) S)
(assert (! (forall ((x S)) (r x (f x))) :named |next|))
(assert (! (forall ((x S) (y S) (z S)) (=> (and (r x y) (r y z)) (r x z))) :named |transitive|))
(assert (! (forall ((x S)) (not (r x x))) :named |goal|))
{_TAIL}""",
        """fof(next, hypothesis, ![X]: r(X, f(X))).
fof(transitive, hypothesis, ![X, Y, Z]: ((r(X, Y) & r(Y, Z)) => r(X, Z))).
fof(goal, hypothesis, ![X]: ~ r(X, X)).
""",
        SolverOutcome.UNKNOWN,
    ),
)


def require_sound(solver: str, ask: Callable[[KnownQuestion], Answer]) -> None:
    """Ask every known question and compare the answers; ``solver`` names the solver and its location in errors.

    Raises UsageError if an answer is wrong.
    """
    for question in QUESTIONS:
        outcome, core, reason = ask(question)
        if outcome is question.outcome and {*core} >= {*question.core}:
            continue
        told = f"{outcome}: {' '.join(reason.split())[:LONGEST]}" if reason else str(outcome)
        expected = f"{question.outcome}" + (f" from '{question.core[0]}'" if question.core else "")
        told += f" from {sorted(core)}" if question.core and outcome is question.outcome else ""
        raise UsageError(f"{solver} is not believed: of {question.name} it has to say {expected}, and said {told}")


LONGEST = 80  #: How much of what a solver says is repeated.


# -- Remembered unsat cores: which hypotheses to try first for an obligation -----------------------
#
# Hints make proofs faster, and what they are said to rest on the same in every run; they change no verdict, because an
# attempt with too few hypotheses is followed by one with all.
# They lie beside the specification, in ``carnet_spec/protocols/<protocol>/hints/<variant>.json``.

Hints = Mapping[str, tuple[str, ...]]  #: For an obligation's id, the names of the hypotheses that sufficed.


def place_of(protocol: Protocol) -> Traversable:
    """Return the path of the hints file of ``protocol``, which need not exist."""
    folder = importlib.resources.files("carnet_spec").joinpath("protocols")
    return folder.joinpath(protocol.id.replace("-", "_"), "hints", f"{protocol.variant}.json")


def load_hints(protocol: Protocol) -> Hints:
    """Return the hints in the file beside the specification of ``protocol``; empty if there is no readable file."""
    file = place_of(protocol)
    try:
        return decode_hints(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, LookupError):
        return {}


def decode_hints(content: Any) -> Hints:
    """Return the hints in the parsed content of a file."""
    names: list[str] = content["names"]
    return {id: tuple(names[number] for number in core) for id, core in content["cores"].items()}


# --------------------------------------------------------------------------------------------------
# Answers of solvers in a cache: what is kept of one, and what is believed when it is read back.

#: What is kept; ``unknown`` says what happened in one run, and is asked again in the next.
DEFINITE = (SolverOutcome.PROVED, SolverOutcome.REFUTED)


def cached_answer(
    answers: AnswerCache, id: str, text: str, budget: int, hypotheses: Collection[str]
) -> SolverAnswer | None:
    """Return the cached definite answer to ``text`` with this budget, or None.

    Its core must be within ``hypotheses``.
    """

    def read(kept: Mapping[str, Any]) -> SolverAnswer:
        outcome, core, attempt = SolverOutcome(kept["outcome"]), kept["core"], kept["attempt"]
        if outcome not in DEFINITE or type(attempt) is not int:
            raise NotAnAnswerError("it is not definite")
        if not isinstance(core, list) or not set(core) <= set(hypotheses):
            raise NotAnAnswerError("its core names what is no hypothesis")
        return SolverAnswer(id, outcome, tuple(core), attempt=attempt)

    return answers.get(text, str(budget), read)


def keep_answer(answers: AnswerCache, answer: SolverAnswer, text: str, budget: int) -> None:
    """Store ``answer`` to ``text`` in the cache, if it is definite."""
    if answer.outcome in DEFINITE:
        kept = {"outcome": str(answer.outcome), "core": list(answer.core), "attempt": answer.attempt}
        answers.keep(text, str(budget), kept)
