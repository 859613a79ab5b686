"""The engines of two solvers that share no code with Z3: cvc5 reads SMT-LIB, E reads TPTP."""

import importlib.util
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from carnet_check.engines.interface import Tool
from carnet_check.engines.proving.composition import SolverAnswer, SolverOutcome
from carnet_check.engines.proving.prover import Prover, Question
from carnet_check.engines.runner import Runner
from carnet_check.engines.solvers import cvc5, eprover
from carnet_check.engines.solvers.eprover import parts
from carnet_check.exports.tptp import tptp
from carnet_command.worker import Lost
from carnet_command.workers import only
from carnet_spec.language.terms import Term

GET_E = "pip install 'carnet[eprover]'"


@dataclass(frozen=True)
class Cvc5(Prover):
    """The engine that proves obligations with cvc5, in worker processes."""

    name: ClassVar = "cvc5"
    purpose: ClassVar = "proofs for any number of everything: unsimplified obligations, by cvc5"
    unit: ClassVar = "solver units"
    needs: ClassVar = (Tool("cvc5", "proofs by a second solver", "pip install 'carnet[cvc5]'", ("cvc5",)),)
    fewer: ClassVar = cvc5.FEWER
    most: int = cvc5.DEFAULT_RLIMIT

    def solve(self, questions: Sequence[Question], runner: Runner) -> Iterator[SolverAnswer]:
        """Yield cvc5's answer to every question."""
        asked = [(each.digest, each.text, self.budget_for(each)) for each in questions]
        with runner.pool(cvc5.version) as pool:
            for (digest, _, _), said in pool.results(cvc5.answer, asked, only):
                yield _as_answer(digest, said)

    def read(self, question: Question) -> str:
        """Return the SMT-LIB text of a question."""
        return question.text

    def version(self) -> str:
        """Return the name and version of cvc5."""
        return cvc5.version()

    def require_trusted(self) -> None:
        """Raise UsageError if cvc5 answers a known question wrongly."""
        cvc5.require_trusted()

    def missing(self) -> str:
        """Return how to install cvc5; empty if it is installed."""
        return "" if importlib.util.find_spec("cvc5") else "the extra 'cvc5' (pip install 'carnet[cvc5]')"


@dataclass(frozen=True)
class EProver(Prover):
    """The engine that proves obligations with E, one process per text."""

    name: ClassVar = "eprover"
    purpose: ClassVar = "proofs for any number of everything: unsimplified obligations, by E"
    unit: ClassVar = "processed clauses"
    needs: ClassVar = (
        Tool("eprover", "proofs by a third solver", GET_E, programs=(eprover.PROGRAM,), elsewhere=eprover.find_program),
    )
    fewer: ClassVar = eprover.FEWER
    most: int = eprover.DEFAULT_CLAUSES
    seconds: int = eprover.SECONDS  # after so long E is ended; budgets are clauses

    def solve(self, questions: Sequence[Question], runner: Runner) -> Iterator[SolverAnswer]:
        """Yield E's answer to every question; an undecided goal that has several parts is asked part by part."""
        long = {each.digest: each for each in questions if len(parts(each.obligation)) > 1}
        open_: list[Question] = []
        for answer in self._answers_to_goals([(each, (None,)) for each in questions], runner):
            if answer.outcome is SolverOutcome.UNKNOWN and answer.id in long:
                open_.append(long[answer.id])
            else:
                yield answer
        yield from self._answers_to_goals([(each, parts(each.obligation)) for each in open_], runner)

    def read(self, question: Question) -> str:
        """Return the TPTP texts of a question (one for each part of its goal) and the budget."""
        return f"{self.seconds}\n{tptp(question.obligation, question.kept)}"

    def _answers_to_goals(
        self, wanted: Sequence[tuple[Question, Sequence[Term | None]]], runner: Runner
    ) -> Iterator[SolverAnswer]:
        """Ask questions with other goals than their own, all of which have to be refuted."""
        asked = [
            eprover.ProverInput(
                each.digest,
                tuple(tptp(each.obligation, each.kept, goal) for goal in goals),
                self.budget_for(each),
                self.seconds,
                eprover.find_program() or eprover.PROGRAM,
            )
            for each, goals in wanted
        ]
        with runner.pool(eprover.version, patience=eprover.PATIENCE) as pool:
            for each, said in pool.results(eprover.answer, asked, only):
                yield _as_answer(each.digest, said)

    def version(self) -> str:
        """Return the name and version of E."""
        return eprover.version()

    def versions(self) -> dict[str, str]:
        """Return the version of E and the path of the program."""
        return {"eprover": eprover.describe_program()}

    def require_trusted(self) -> None:
        """Raise UsageError if E answers a known question wrongly."""
        eprover.require_trusted(eprover.find_program())

    def missing(self) -> str:
        """Return how to install E; empty if it is installed."""
        return "" if eprover.find_program() else f"E, the program 'eprover' ({GET_E})"


def _as_answer(digest: str, said: SolverAnswer | Lost) -> SolverAnswer:
    return SolverAnswer(digest, SolverOutcome.UNKNOWN, reason=said.reason) if isinstance(said, Lost) else said


CVC5 = Cvc5()
EPROVER = EProver()
