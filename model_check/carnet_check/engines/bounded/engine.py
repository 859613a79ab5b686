"""The engine of bounded model checking: no run up to a number of steps violates a claim, in instances of any size."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from carnet_check.engines.bounded.questions import Answer, ClaimStatus, FoundRun, Questions
from carnet_check.engines.exploration import Coverage, Exploration, Part, Search
from carnet_check.engines.exploring.searches import replay_traces
from carnet_check.engines.interface import Bounded, EngineResult, Plan, Task
from carnet_check.engines.proving.solver import Z3, require_trusted, solver_version
from carnet_check.engines.runner import Listener
from carnet_check.loading.families import axiom_violations
from carnet_check.results import Result, Verdict
from carnet_check.semantics import Interpreter
from carnet_command.text import plural
from carnet_spec.language import Claim, Profile, Protocol, SpecificationError, Threat
from carnet_spec.trace import Trace

DEFAULT_DEPTH = 8  #: The most steps of a run.
DEFAULT_RLIMIT = 20_000_000  #: Units of Z3's resource counter for one claim and one number of steps.
ANY_NUMBER = "any number of everything"


@dataclass(frozen=True)
class BoundedModelChecking(Bounded):
    """Checks every run of at most ``depth`` steps; ``rlimit`` is the solver's budget for a claim and a depth."""

    name: ClassVar = "bmc"
    purpose: ClassVar = "every run of a few steps, for any number of everything"
    verdicts: ClassVar = (Verdict.HOLDS_TO,)
    refutes: ClassVar = True
    by_default: ClassVar = False
    needs: ClassVar = (Z3,)
    depth: int = DEFAULT_DEPTH
    rlimit: int = DEFAULT_RLIMIT

    def with_limit(self, most: int) -> Self:
        """Return the engine with another budget for each question, in units of the solver's own counter."""
        return replace(self, rlimit=most)

    def with_depth(self, steps: int) -> Self:
        """Return the engine for runs of at most ``steps`` steps."""
        return replace(self, depth=steps)

    def expected_verdict(self, profile: Profile) -> Verdict:
        """Return HOLDS-TO, for every profile."""
        return Verdict.HOLDS_TO

    def intention(self, task: Task) -> str:
        """Return the words for the length of runs, in instances of any size."""
        return f"every run of up to {plural(self.depth, 'step')}, for {ANY_NUMBER}, by {solver_version()}"

    def strength(self, task: Task, outcome: EngineResult) -> tuple[str, ...]:
        """Return the words that only the number of steps is bounded."""
        return (f"{self.name}: up to {plural(self.depth, 'step')}, rules counted, {ANY_NUMBER}",)

    def budget(self, profile: Profile) -> str:
        """Return the words for the length of runs, and the solver's budget."""
        return f"{plural(self.depth, 'step')}, {self.rlimit:,} solver units per claim and number of steps"

    def require_runnable(self, task: Task) -> None:
        """Raise UsageError if Z3 fails its self-test."""
        require_trusted()

    def run(self, task: Task, listener: Listener) -> EngineResult:
        """Look for a run that violates each claim, one variant after the other."""
        rows: list[Result] = []
        searches: list[Coverage] = []
        for plan in task.plans:
            began = time.monotonic()
            judged = list(self._judged(task, plan, self._standings(task, plan, listener)))
            seconds = time.monotonic() - began
            rows += (replace(row, seconds=seconds) for row, _ in judged)
            searches += (found for _, found in judged if found is not None)
            held = sum(row.verdict is Verdict.HOLDS_TO for row, _ in judged)
            fallen = sum(row.verdict is Verdict.VIOLATED for row, _ in judged)
            told = f"of {len(judged)}, no short run breaks {held}, and one breaks {fallen}"
            listener.line(f"{plan.protocol.variant}: {self.name}, {told}, in {seconds:.1f} s")
        return EngineResult(self.name, tuple(rows), tuple(searches))

    def _standings(self, task: Task, plan: Plan, listener: Listener) -> list[ClaimStatus]:
        variant = plan.protocol.variant

        def told(claim: str, threat: str, steps: int) -> None:
            under = f" under {threat}" if threat else ""
            listener.status(f"{variant}: {self.name}, {claim}{under}, {plural(steps, 'step')}")

        listener.status(f"{variant}: writing down runs of {plural(self.depth, 'step')}")
        try:
            with task.runner.pool(solver_version) as pool:
                return Questions(plan, self.depth, self.rlimit).answer_all(pool, told)
        except SpecificationError as error:
            return [ClaimStatus(0, Answer.unknown(0, str(error)))] * len(plan.pairs)

    # -- rows --------------------------------------------------------------------------------------

    def _judged(
        self, task: Task, plan: Plan, standings: Sequence[ClaimStatus]
    ) -> Iterator[tuple[Result, Coverage | None]]:
        for (claim, threat), standing in zip(plan.pairs, standings, strict=True):
            found = standing.last.found if standing.last else None
            if found is None:
                yield self._unbroken(task, plan, claim, threat, standing), None
            else:
                run = violation(task.source.reference, plan, threat, claim.name, found)
                yield self._broken(task, plan, claim, threat, run), run

    def _unbroken(self, task: Task, plan: Plan, claim: Claim, threat: Threat, standing: ClaimStatus) -> Result:
        bound = standing.least - 1
        stopped = _stopped(standing)
        if stopped and bound < 1:
            return self._row(task, plan, claim, threat, Verdict.UNKNOWN, stopped)
        told = f"no run of up to {plural(bound, 'step')}, rules counted, breaks it; {ANY_NUMBER}; {solver_version()}"
        detail = f"{told}; {stopped}" if stopped else told
        return replace(self._row(task, plan, claim, threat, Verdict.HOLDS_TO, detail), bound=bound)

    def _broken(self, task: Task, plan: Plan, claim: Claim, threat: Threat, run: Coverage) -> Result:
        if run.problems:
            return self._row(task, plan, claim, threat, Verdict.ERROR, "; ".join(run.problems))
        steps, size = run.violations[claim.name].steps, run.instance_of(claim.name).words
        detail = f"{plural(len(steps), 'step')} to the violation, rules counted" + (f"; with {size}" if size else "")
        return replace(self._row(task, plan, claim, threat, Verdict.VIOLATED, detail), steps=steps)

    def _row(self, task: Task, plan: Plan, claim: Claim, threat: Threat, verdict: Verdict, detail: str) -> Result:
        falls = plan.expects_violation(claim.name, threat.id)
        return Result(
            protocol=task.source.family.id,
            variant=plan.protocol.variant,
            claim=claim.name,
            threat=threat.id,
            engine=self.name,
            verdict=verdict,
            expected=Verdict.VIOLATED if falls else self.expected_verdict(task.profile),
            detail=detail,
            assumptions=plan.protocol.resting_on(axiom.states for axiom in plan.protocol.axioms),
        )


def _stopped(standing: ClaimStatus) -> str:
    """Return why nothing is known about more steps; empty if no more were requested."""
    last = standing.last
    if last is None:
        return ""
    steps = plural(last.steps, "step")
    if last.is_refuted:
        return f"the solver says that {steps} break it, and shows no structure in which they do within its budget"
    return f"nothing is established about {steps}: {last.reason}"


BMC = BoundedModelChecking()


# --------------------------------------------------------------------------------------------------
# Checking the runs that the solver found: the interpreter takes every step, in the solver's structure.

AS_FOUND = "as found"  #: The name of the size of an instance that the solver chose.


def violation(reference: str, plan: Plan, threat: Threat, claim: str, found: FoundRun) -> Coverage:
    """Return the coverage of one run that violates a claim; its problems are the interpreter's objections, if any."""
    protocol = plan.protocol
    task = Search(
        reference=reference,
        variant=protocol.variant,
        without=protocol.without,
        threat=threat.id,
        profile=Profile(AS_FOUND, {sort: len(elements) for sort, elements in found.instance.elements.items()}),
        claims=(claim,),
        alone=True,
        digest=protocol.digest,
    )
    return Coverage(task, parts=(Part(found.instance, _replayed(protocol, threat, claim, found)),))


def _replayed(protocol: Protocol, threat: Threat, claim: str, found: FoundRun) -> Exploration:
    trace = Trace(protocol.id, protocol.variant, protocol.without, threat.id, found.steps)
    run = Exploration(
        states=len(found.steps) + 1, depth=len(found.steps), stopped_by="violation", violations={claim: trace}
    )
    try:
        judge = Interpreter(protocol, found.instance)
    except SpecificationError as error:
        return _refused(f"the interpreter refuses the structure of the counterexample to {claim}: {error}")
    if wrong := axiom_violations(judge, threat):
        return _refused(*wrong)
    return replay_traces(judge, run, [protocol.claim(claim).checked], ())


def _refused(*problems: str) -> Exploration:
    return Exploration(stopped_by="an error", problems=problems)
