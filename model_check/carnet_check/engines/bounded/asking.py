"""Asking Z3 for a run that breaks a claim: after no step, after one, and so on, each time in a fresh context.

This module is what a worker process imports. Where there is a run, a small finite structure is read for it, since the
interpreter needs one; that it is a run is for the interpreter to say.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from carnet_check.engines.bounded.structures import Found, Wanted, read
from carnet_check.engines.bounded.unrolling import Option
from carnet_check.engines.proving.answers import SolverOutcome
from carnet_check.engines.proving.z3_solver import limited_memory
from carnet_check.exports.smtlib import quoted, sort_name
from carnet_spec.language import Sort

SIZES = (1, 2, 3, 4, 6)
"""How many elements of each sort are tried for a structure, before as many as the solver likes."""
Sizes = Mapping[Sort, int]


@dataclass(frozen=True, slots=True)
class Asked:
    """Whether a claim can be broken, after so many steps and after more.

    Attributes:
        id: names the question.
        parts: the text of the first state, and of each step.
        denied: the text that the claim is broken, after no step, after one, and so on, as far as is asked.
        first: the least number of steps; fewer are not asked about.
        options: what each step may be.
        wanted: what is read of a structure.
        rlimit: the solver's budget for each number of steps.
    """

    id: tuple[str, str]
    parts: tuple[str, ...]
    denied: tuple[str, ...]
    first: int
    options: tuple[tuple[Option, ...], ...]
    wanted: Wanted
    rlimit: int


@dataclass(frozen=True, slots=True)
class Answer:
    """What is known of runs of exactly so many steps: PROVED says that none breaks the claim, REFUTED that one does."""

    steps: int
    outcome: SolverOutcome
    reason: str = ""
    found: Found | None = None

    @staticmethod
    def unknown(steps: int, reason: str) -> Answer:
        """Return that nothing is known, and why."""
        return Answer(steps, SolverOutcome.UNKNOWN, reason)

    @property
    def is_proved(self) -> bool:
        """Whether no run of so many steps breaks the claim."""
        return self.outcome is SolverOutcome.PROVED

    @property
    def is_refuted(self) -> bool:
        """Whether the solver says that a run does, which nobody need believe."""
        return self.outcome is SolverOutcome.REFUTED


def answers(asked: Asked) -> Iterator[Answer]:
    """Answer for one number of steps after the other, until a run breaks the claim or the budget is too small."""
    import z3

    with limited_memory(z3):
        for steps in range(asked.first, len(asked.denied)):
            answer = _answer(asked, steps)
            yield answer
            if not answer.is_proved:
                return


def is_last(asked: Asked, answer: Answer) -> bool:
    """Whether no answer follows this one."""
    return not answer.is_proved or answer.steps == len(asked.denied) - 1


def _answer(asked: Asked, steps: int) -> Answer:
    import z3

    solver = _solver(asked, steps)
    said = solver.check()
    if said == z3.unsat:
        return Answer(steps, SolverOutcome.PROVED)
    if said == z3.sat:
        return Answer(steps, SolverOutcome.REFUTED, found=_smallest(asked, steps, solver))
    return Answer.unknown(steps, str(solver.reason_unknown()))


def _solver(asked: Asked, steps: int, sizes: Sizes | None = None) -> Any:
    """Return a solver that is asked for a run of so many steps, with at most so many elements."""
    import z3

    solver = z3.SimpleSolver(ctx=z3.Context())
    solver.set("rlimit", asked.rlimit)
    bounds = [_at_most(sort, size) for sort, size in (sizes or {}).items()]
    solver.from_string("\n".join([*asked.parts[: steps + 1], asked.denied[steps], *bounds]))
    return solver


def _smallest(asked: Asked, steps: int, unbounded: Any) -> Found | None:
    """Return a structure with few elements in which a run breaks the claim, if the solver finds one."""
    sorts = asked.wanted.sorts
    for most in SIZES:
        sizes = dict.fromkeys(sorts, most)
        if model := _model(asked, steps, sizes):
            break
    else:
        return read(unbounded.model(), asked.wanted, asked.options[:steps])
    for sort in sorts:
        for fewer in range(1, sizes[sort]):
            smaller = {**sizes, sort: fewer}
            if found := _model(asked, steps, smaller):
                sizes, model = smaller, found
                break
    return read(model, asked.wanted, asked.options[:steps])


def _model(asked: Asked, steps: int, sizes: Sizes) -> Any:
    """Return a model with at most these numbers of elements, or nothing."""
    import z3

    solver = _solver(asked, steps, sizes)
    return solver.model() if solver.check() == z3.sat else None


def _at_most(sort: Sort, size: int) -> str:
    names = [quoted(f"element.{sort.name}.{number}") for number in range(size)]
    place = quoted(sort_name(sort))
    one_of = " ".join(f"(= v.any {name})" for name in names)
    return "\n".join(
        [
            *(f"(declare-fun {name} () {place})" for name in names),
            f"(assert (forall ((v.any {place})) (or {one_of} false)))",
        ]
    )
