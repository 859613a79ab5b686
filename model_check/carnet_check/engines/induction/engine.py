"""The engine of induction: claims proved for any number of parties, keys, messages and rounds."""

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Self

from carnet_check.cache import AnswerCache
from carnet_check.certificates.file import place_of
from carnet_check.engines.induction.counterexample import counterexamples, explain_cti, failing_step, standings
from carnet_check.engines.induction.induction import (
    ClaimProofs,
    ProofResult,
    answers_to,
    attempts,
    houdini,
    mutable_symbols,
    prove,
    try_claims,
)
from carnet_check.engines.induction.liveness import LivenessProofs, by_fairness
from carnet_check.engines.induction.obligations import (
    GOAL,
    Obligation,
    System,
    at_start,
    obligations,
    obligations_of,
    obligations_of_action,
    simplify,
    system,
)
from carnet_check.engines.induction.solving import DEFAULT_RLIMIT, Batch, Question, Workers, ask, ask_apart, solve
from carnet_check.engines.induction.strengthening import WORK, strengthen
from carnet_check.engines.interface import (
    FRAME,
    AnswersObligations,
    Check,
    ComparesFormulas,
    Cti,
    DecidesPossibility,
    Diagnoses,
    EngineResult,
    FailingStep,
    Guesses,
    HasProofHints,
    InvariantStatus,
    LivenessAnswer,
    NoSolver,
    ObligationAnswer,
    Plan,
    Possibilities,
    ProofBasis,
    ProvesLiveness,
    ProvesSteps,
    ProvesWeakened,
    Separable,
    Shares,
    ShowsFailingSteps,
    StepProofs,
    Strengthening,
    Strengthens,
    Task,
)
from carnet_check.engines.proving.certified import CertifiedDesign, check_designs, fitting_cores
from carnet_check.engines.proving.composition import ClaimProof, SolverAnswer, SolverOutcome, Unbounded
from carnet_check.engines.proving.solver import (
    Z3,
    keep_answer,
    load_hints,
    require_trusted,
    solver_is_installed,
    solver_version,
)
from carnet_check.engines.proving.solver import cached_answer as remembered
from carnet_check.engines.runner import Listener, Runner, Shard, ShardReport
from carnet_check.exports.smtlib import Declarations, Statement, problem, statement
from carnet_check.loading.families import NO_THREAT, Source
from carnet_check.obligations import layers
from carnet_check.obligations import obligations as unsimplified
from carnet_check.results import Result
from carnet_command.progress import Pace
from carnet_command.text import plural
from carnet_spec.language import Action, Claim, Effect, Eventually, Goal, Profile, Protocol, Symbol, Threat, terms

SHOWN = 3  #: The most open obligations of a claim that are named.
QUICK_RLIMIT = DEFAULT_RLIMIT // 50  #: The budget of an obligation in a quick attempt at a proof.
#: Called with the number of obligations done, the number of all, and the latest answer.
Answered = Callable[[int, int, SolverAnswer], None]


@dataclass(frozen=True)
class Induction(
    Unbounded,
    AnswersObligations,
    ComparesFormulas,
    DecidesPossibility,
    Diagnoses,
    ProvesLiveness,
    ProvesSteps,
    ProvesWeakened,
    HasProofHints,
    Separable,
    Shares,
    ShowsFailingSteps,
    Strengthens,
):
    """Proves one obligation for each invariant and action; ``rlimit`` is the solver's budget for each.

    With ``certificates``, the solver only gets obligations that the certificates beside the specification leave open.
    """

    name: ClassVar = "induction"
    purpose: ClassVar = "claims, for any number of parties, keys, messages and rounds"
    needs: ClassVar = (Z3,)
    shows: ClassVar = "counterexample to induction"
    rlimit: int = DEFAULT_RLIMIT
    work: ClassVar = WORK
    certificates: bool = False

    def as_default(self) -> Self:
        """Return the engine that uses certificates, if there are any, instead of the solver."""
        return replace(self, certificates=True)

    def with_limit(self, most: int) -> Self:
        """Return the engine with another budget for each obligation, in units of the solver's own counter."""
        return replace(self, rlimit=most)

    def intention(self, task: Task) -> str:
        """Return the words that the proof holds for every size."""
        told = "for any number of parties, keys, messages and rounds"
        return f"{told}; by certificates, and by Z3 where none fits" if self._may_certify(task) else told

    def budget(self, profile: Profile) -> str:
        """Return the words for the solver's budget."""
        return f"{self.rlimit:,} solver units per obligation"

    def require_runnable(self, task: Task) -> None:
        """Raise UsageError if Z3 fails its self-test; certificates do not need Z3."""
        if not self._may_certify(task):
            require_trusted()

    def _may_certify(self, task: Task) -> bool:
        place = place_of(task.source) if self.certificates else None
        return place is not None and place.is_file()

    # -- claims -----------------------------------------------------------------------------------

    def run(self, task: Task, listener: Listener) -> EngineResult:
        """Prove the claims that are expected to hold, variant by variant; a failed induction refutes nothing."""
        rows: list[Result] = []
        bases: dict[tuple[str, str, str, str, str], ProofBasis] = {}
        found: list[InvariantStatus] = []
        every: list[ProofResult] = []
        lively: dict[tuple[str, str], LivenessAnswer] = {}
        before = task.runner.answers(self.name, self.version()) if task.runner.folder else None
        designs, remarks = self._certified(task, listener)
        with Workers(pool=task.runner.pool(solver_version), answers=before) as workers:
            for plan in task.plans:
                design = designs.get(plan.protocol.variant)
                proofs: tuple[ProofResult, ...] = ()
                if wanted := plan.to_prove:
                    tried, seconds = self._proved(plan, wanted, workers, listener, design)
                    proofs = tried.proofs
                    every += proofs
                    found += standings(proofs) if proofs or design is None else design.standings()
                    for claim, threat in wanted:
                        proof = tried.claims[claim.name, threat.id]
                        rows.append(self.row(task, plan, proof, threat, seconds, _detail(proof)))
                        bases[rows[-1].key] = ProofBasis(proof.layer, proof.satisfiable)
                asked = LivenessProofs(plan.protocol, proofs, workers, design, self.rlimit)
                for live in plan.liveness_to_prove:
                    listener.status(f"{plan.protocol.variant}: {live.name}, what eventually happens")
                    lively[plan.protocol.variant, live.name] = asked.answer(live)
        notes = (*(before.used.notes if before else ()), *remarks)
        return EngineResult(
            self.name,
            tuple(rows),
            notes=notes,
            bases=bases,
            standings=tuple(found),
            liveness=lively,
            proofs=_proof_counts(designs.values(), every, lively.values()) if designs else {},
        )

    def _certified(self, task: Task, listener: Listener) -> tuple[dict[str, CertifiedDesign], tuple[str, ...]]:
        """Return what certificates prove, by variant, and notes about certificates that are refused."""
        if not self._may_certify(task):
            return {}, ()
        listener.status("checking certificates")
        designs, remarks = check_designs(task.source, task.plans, task.jobs)
        for variant, design in designs.items():
            refused, every = design.refusals, len(design.composition.obligations)
            proved = f"certificates prove {every - len(refused):,} of {plural(every, 'obligation')}"
            listener.line(f"{variant}: {proved} in {design.seconds:.1f} s")
            if refused:
                first = ", ".join(f"{id} ({why})" for id, why in list(refused.items())[:SHOWN])
                more = ", …" if len(refused) > SHOWN else ""
                told = f"{plural(len(refused), 'obligation')} without a certificate that fits, so Z3 was asked"
                remarks += (f"{variant}: {told}: {first}{more}",)
            if design.spoilt:
                id, why = min(design.spoilt.items())
                told = f"{plural(len(design.spoilt), 'certificate')} of conditions of liveness proves nothing"
                remarks += (f"{variant}: {told}, so Z3 was asked: {id} ({why})",)
        return designs, remarks

    def share(self, task: Task, shard: Shard, listener: Listener) -> ShardReport:
        """Answer the obligations of ``shard``, without the further queries that a failed proof leads to."""
        before = task.runner.answers(self.name, self.version())
        seen = _Seen(shard, listener)
        with Workers(pool=task.runner.pool(solver_version), answers=before) as workers:
            for plan in task.plans:
                seen.variant = plan.protocol.variant
                if wanted := plan.to_prove:
                    self._together(plan, wanted, workers, seen.answered, seen.mine)
        open_ = {name: each.reason for name, each in seen.answers.items() if each.outcome is SolverOutcome.UNKNOWN}
        notes = before.used.notes if before else ()
        return ShardReport(self.name, "obligation", len(seen.answers), len(seen.every), open_, notes=notes)

    def _proved(
        self,
        plan: Plan,
        wanted: Sequence[tuple[Claim, Threat]],
        workers: Workers,
        listener: Listener,
        design: CertifiedDesign | None = None,
    ) -> tuple[ClaimProofs, float]:
        began, pace = time.monotonic(), Pace()
        variant = plan.protocol.variant
        if design is not None and not design.refusals:
            claims = {(claim.name, threat.id): design.composition.claim(claim, threat) for claim, threat in wanted}
            if all(proof.is_proved for proof in claims.values()):
                return ClaimProofs(claims, ()), design.seconds
        listener.status(f"{variant}: writing down proof obligations")

        def answered(done: int, total: int, _: SolverAnswer) -> None:
            listener.status(f"{variant}: {self.name}, {done} of {total} obligations{pace.left(done, total)}")

        tried = self._tried(plan, wanted, workers, answered, design)
        seconds = time.monotonic() - began
        held = sum(tried.claims[claim.name, threat.id].is_proved for claim, threat in wanted)
        listener.line(f"{variant}: {self.name} proves {held} of {len(wanted)} in {seconds:.1f} s")
        return tried, seconds

    def _tried(
        self,
        plan: Plan,
        wanted: Sequence[tuple[Claim, Threat]],
        workers: Workers,
        answered: Answered,
        design: CertifiedDesign | None,
    ) -> ClaimProofs:
        """Prove the wanted claims; if an invariant is not inductive, try again without it."""
        first = self._together(plan, wanted, workers, answered, design=design)
        found = {(claim.name, threat.id): first.claims[claim.name, threat.id] for claim, threat in wanted}
        proofs = [*first.proofs]
        for model in (None, *(threat for threat in plan.threats if threat != NO_THREAT)):
            again = [key for key, proof in found.items() if not proof.is_proved and _covers(plan.protocol, model, key)]
            if again:
                names = {name for name, _ in again}
                survivors = houdini(
                    plan.protocol, model, claims=names, rlimit=self.rlimit, progress=answered, workers=workers
                )
                proofs.append(survivors.proof)
                more = {name: survivors.claim(name) for name in names}
                found.update({(name, id): more[name] for name, id in again if more[name].is_proved})
        return ClaimProofs(found, tuple(proofs))

    def _together(
        self,
        plan: Plan,
        wanted: Sequence[tuple[Claim, Threat]],
        workers: Workers,
        answered: Answered,
        only: Callable[[Obligation], bool] | None = None,
        design: CertifiedDesign | None = None,
    ) -> ClaimProofs:
        """Prove all claims with all lemmas, or answer only some obligations."""
        protocol = plan.protocol
        proved = (lambda threat: design.answers(threat.id if threat else "")) if design else None
        asked: dict[str, Any] = {"rlimit": self.rlimit, "progress": answered, "only": only, "certified": proved}
        if protocol.threats:
            threats = [threat for threat in plan.threats if any(t == threat for _, t in wanted)]
            return try_claims(protocol, threats, workers=workers, **asked)
        general = prove(protocol, None, workers=workers, **asked)
        claims = {(claim.name, threat.id): general.claim(claim.name) for claim, threat in wanted}
        return ClaimProofs(claims, (general,))

    def counterexamples(self, source: Source, standing: InvariantStatus, most: int) -> Iterator[Cti]:
        """Yield small counterexamples to induction, confirmed by the interpreter or marked as unconfirmed."""
        return counterexamples(source.reference, standing, most, self.rlimit)

    def failing_step(
        self, protocol: Protocol, threat: Threat | None, invariant: str, assumed: Collection[str]
    ) -> FailingStep:
        """Ask the solver for a state from which a step breaks an invariant, and the interpreter to confirm it."""
        require_trusted()
        return failing_step(protocol, threat, invariant, assumed, self.rlimit)

    def strengthen(
        self,
        protocol: Protocol,
        threat: Threat | None,
        claims: Collection[str],
        guesses: Guesses,
        listener: Listener,
        work: int,
    ) -> Strengthening:
        """Ask about guesses that exclude states from which the induction fails."""
        with Workers(1) as workers:
            return strengthen(protocol, threat, claims, guesses, self.rlimit, workers, listener, work)

    # -- what else it can do ----------------------------------------------------------------------

    def obligation_answers(self, source: Source, protocol: Protocol, jobs: int) -> Iterator[ObligationAnswer]:
        """Yield the solver's answer to each obligation, or FRAME if the action changes no symbol of the invariant."""
        proofs: list[ProofResult] = []
        found: dict[str, ObligationAnswer] = {}
        for threat in (None, *protocol.threats):
            proofs.append(prove(protocol, threat, jobs=jobs, rlimit=self.rlimit, baselines=proofs))
            layer = threat.id if threat else ""
            for id, answer in proofs[-1].answers.items():
                name = f"{layer}:{id}" if layer else id
                found[name] = ObligationAnswer(layer, name, str(answer.outcome), "", answer.seconds, answer.reason)
        under = {proof.threat.id if proof.threat else "": proof for proof in proofs}
        for each in (each for layer in layers(protocol) for each in unsimplified(layer)):
            layer = each.layer.threat.id if each.layer.threat else ""
            if each.id in found:
                yield found[each.id]
            elif each.id.removeprefix(each.layer.prefix) not in under[layer].obligations:
                yield ObligationAnswer(layer, each.id, FRAME)

    def version(self) -> str:
        """Return the name and the version of the solver."""
        return solver_version()

    def liveness(self, source: Source, protocol: Protocol, live: Eventually) -> LivenessAnswer:
        """Try to prove ``live`` by fairness of one action that it names, or of all of them."""
        return by_fairness(protocol, live, rlimit=self.rlimit)

    def possibilities(
        self, protocol: Protocol, threat: Threat | None, known: Mapping[str, terms.Term], runner: Runner
    ) -> Possibilities:
        """Return the solver's possibilities, for instances of any size."""
        if not solver_is_installed():
            return NoSolver()
        before = runner.answers("possibility", self.version()) if runner.folder else None
        return SolverPossibilities(protocol, threat, known, before)

    def stored_hints(self, protocol: Protocol) -> Mapping[str, tuple[str, ...]]:
        """Return the hints stored beside the specification."""
        return load_hints(protocol)

    def proves_weakened(
        self,
        source: Source,
        protocol: Protocol,
        threat: Threat | None,
        claims: Collection[str],
        jobs: int,
        progress: Callable[[int, int], None],
        *,
        quickly: bool = False,
    ) -> bool:
        """Return whether all claims are proved once the lemmas that are no longer inductive are dropped."""

        def answered(done: int, total: int, _: SolverAnswer) -> None:
            progress(done, total)

        left = houdini(
            protocol,
            threat,
            claims=claims,
            together=True,
            jobs=jobs,
            rlimit=min(QUICK_RLIMIT, self.rlimit) if quickly else self.rlimit,
            progress=answered,
            expected=fitting_cores(source, protocol, threat),
        )
        return all(left.claim(name).is_proved for name in claims)

    def contradictory(self, formulas: Mapping[str, terms.Term]) -> bool | None:
        """Ask the solver whether all formulas together are unsatisfiable."""
        declarations = Declarations()
        said = [statement(name, formula, declarations) for name, formula in formulas.items()]
        outcome, _, _ = ask(problem(declarations, said), self.rlimit)
        return None if outcome is SolverOutcome.UNKNOWN else outcome is SolverOutcome.PROVED

    def step_proofs(self, protocol: Protocol, threat: Threat | None) -> StepProofs:
        """Return proofs by the solver in this process."""
        return SolverSteps(protocol, threat, self.rlimit)

    def checks(self, plan: Plan) -> Iterator[Check]:
        """Yield the obligations under every threat model, then those limited to some.

        Without a threat model there are fewer hypotheses than under any, so an obligation that is proved there holds
        under each threat model and is not repeated.
        """
        protocol = plan.protocol
        general = obligations(protocol)
        yield from (self._check(None, each) for each in general)
        proved = {each.invariant.name for each in general}
        for threat in protocol.threats:
            limited = (each for each in obligations(protocol, threat) if each.invariant.name not in proved)
            yield from (self._check(threat, each) for each in limited)

    def _check(self, threat: Threat | None, obligation: Obligation) -> Check:
        name = f"{threat.id}:{obligation.id}" if threat else obligation.id
        claims = obligation.system.protocol.claims
        stated = (c for c in claims if c.invariant is not None and c.invariant.name == obligation.invariant.name)
        return Check(name, tuple(c.requirement or c.name for c in stated), partial(self._failure, obligation))

    def _failure(self, obligation: Obligation) -> str:
        """Return how an obligation fails, with a counterexample if there is one; empty if it is proved."""
        system = obligation.system
        with Workers(1) as here:
            (answer,) = answers_to([obligation], system, load_hints(system.protocol), self.rlimit, here)
        if answer.outcome is SolverOutcome.PROVED:
            return ""
        return explain_cti(system.protocol, obligation.id, system.threat)


@dataclass
class _Seen:
    """The obligations that a shard met, and the answers to its own."""

    shard: Shard
    listener: Listener
    variant: str = ""
    every: set[str] = field(default_factory=set)
    answers: dict[str, SolverAnswer] = field(default_factory=dict)

    def mine(self, obligation: Obligation) -> bool:
        self.every.add(f"{self.variant}: {obligation.id}")
        return self.shard.owns(obligation.id)

    def answered(self, done: int, total: int, answer: SolverAnswer) -> None:
        self.answers[f"{self.variant}: {answer.id}"] = answer
        self.listener.status(f"{self.variant}: induction, {done} of {total} obligations of shard {self.shard}")


def _covers(protocol: Protocol, model: Threat | None, key: tuple[str, str]) -> bool:
    """Whether a proof under ``model`` is about a claim under a threat model, and no more general proof covers it."""
    claim = protocol.claim(key[0])
    everywhere = {threat.id for threat in protocol.threats} <= set(claim.under)
    return everywhere if model is None else model.id == key[1] and not everywhere


def _detail(proof: ClaimProof) -> str:
    if proof.is_proved:
        told = f"any number of everything; rests on {plural(len(proof.lemmas), 'lemma')}"
        if not proof.certified:
            return told
        asked = f" and {proof.asked:,} by Z3" if proof.asked else ""
        return f"{told}; {plural(proof.certified, 'obligation')} by certificate{asked}"
    missing = proof.missing
    told = proof.reason or f"{plural(len(missing), 'obligation')} open: " + ", ".join(missing[:SHOWN])
    return told + (", …" if len(missing) > SHOWN else "")


def _proof_counts(
    designs: Iterable[CertifiedDesign], proofs: Iterable[ProofResult], lively: Iterable[LivenessAnswer]
) -> Mapping[str, int]:
    """Count the obligations that certificates prove, and those given to the solver; a shared one counts once.

    The conditions of liveness, if there are any, are counted separately.

    Obligations that need no proof, as the action changes no symbol of the invariant, are not counted.
    """
    certified = sum(len(design.composition.obligations) - len(design.refusals) for design in designs)
    answers = (answer for proof in proofs for answer in proof.answers.values())
    asked = {id(answer) for answer in answers if answer.attempt >= 0 and not answer.certified}
    every = [*lively]
    more = {
        "conditions of liveness by certificate": sum(answer.certified for answer in every),
        "conditions of liveness by Z3": sum(answer.believed for answer in every),
    }
    counts = {"obligations by certificate": certified, "by Z3": len(asked)}
    return counts | {what: number for what, number in more.items() if number}


INDUCTION = Induction()


# --------------------------------------------------------------------------------------------------
# Single steps: which invariants a changed action still preserves, and what follows from the invariants.
#
# The solver runs in this process and answers lazily, so a caller may stop at any answer. A caller that needs bounded
# memory runs in a worker process.


class SolverSteps(StepProofs):
    """Proofs by Z3 about the steps of one protocol under one threat model."""

    def __init__(self, protocol: Protocol, threat: Threat | None, rlimit: int) -> None:
        self._system = system(protocol, threat)
        self._hints = load_hints(protocol)
        self._rlimit = rlimit

    def preservation_answers(
        self, action: Action, invariants: Collection[str], first: str = ""
    ) -> Iterator[ObligationAnswer]:
        """Yield the answer for each invariant that the action may violate."""
        subject = system(self._system.protocol, self._system.threat)
        return self._answered(subject, obligations_of_action(subject, action, invariants), first)

    def every(self, invariants: Collection[str], first: str = "") -> Iterator[ObligationAnswer]:
        """Yield the answer to each obligation."""
        listed = (each for each in obligations_of(self._system) if each.invariant.name in invariants)
        return self._answered(self._system, listed, first)

    def follows(self, given: Mapping[str, terms.Term], goal: terms.Term) -> ObligationAnswer:
        """Ask first with only those invariants whose mutable symbols all occur in the given formulas or the goal."""
        declarations, shared = self._system.declarations, self._system.step_hypotheses
        own = tuple(statement(name, simplify(formula), declarations) for name, formula in given.items())
        denied = statement(GOAL, terms.negation(simplify(goal)), declarations)
        every = (*shared, *given)
        spoken = {name for each in (*own, denied) for name in each.symbols}
        near = tuple(
            name
            for name in every
            if name in given or all(each in spoken for each in shared[name].symbols if each.startswith("now."))
        )
        tried = (near, every) if len(near) < len(every) else (every,)
        return self._asked(self._system, Question(GOAL, denied, own, tried))

    def _answered(self, subject: System, listed: Iterable[Obligation], first: str) -> Iterator[ObligationAnswer]:
        for each in sorted(listed, key=lambda each: first not in self._hints.get(each.id, ())):
            if each.goal == terms.TRUE:
                yield self._told(SolverAnswer(each.id, SolverOutcome.PROVED))
            else:
                tried = attempts(each, mutable_symbols(each.shared_hypotheses), self._hints.get(each.id))
                yield self._asked(subject, Question(each.id, each.negated_goal, each.own_statements, tried))

    def _asked(self, subject: System, question: Question) -> ObligationAnswer:
        batch = Batch(subject.declarations, subject.step_hypotheses, (question,), self._rlimit)
        (answer,) = solve(batch)
        return self._told(answer)

    def _told(self, answer: SolverAnswer) -> ObligationAnswer:
        layer = self._system.threat.id if self._system.threat else ""
        outcome, seconds, reason = str(answer.outcome), answer.seconds, answer.reason
        return ObligationAnswer(layer, answer.id, outcome, seconds=seconds, reason=reason, core=answer.core)


# -- Whether something can happen at all, in an instance of any size: the solver's answer ----------
#
# The question over-approximates reachability, but requires more than consistency with the axioms: a relation into which
# no possible action inserts has its initial rows, and a variable over an enumeration has its initial value or one that
# a possible action assigns. The possible actions are computed iteratively from the first state. So "never" is
# established for every instance, while "perhaps" establishes nothing.

PREMISE = "premise"


class SolverPossibilities(Possibilities):
    """The solver's answers for one protocol under one threat model, given formulas ``known`` to hold in every state.

    The text of the hypotheses is written once. A refuted question stays refuted as long as the facts in its core hold:
    the more actions are possible, the fewer facts hold.
    """

    def __init__(
        self,
        protocol: Protocol,
        threat: Threat | None,
        known: Mapping[str, terms.Term],
        before: AnswerCache | None = None,
    ) -> None:
        self.before = before
        subject = system(protocol, threat)
        self._declarations = subject.declarations
        formulas: dict[str, terms.Term] = {
            **subject.axioms,
            **{f"known:{name}": formula for name, formula in known.items()},
        }
        self._given = [statement(name, formula, self._declarations) for name, formula in formulas.items()]
        self._confined = _Confined(protocol)
        self._written: dict[tuple[Symbol, tuple[terms.Term | None, ...]], Statement] = {}
        self._refuted: dict[Goal, frozenset[str]] = {}
        self._unanswered: set[Goal] = set()

    def may(self, premise: Goal, taken: Sequence[Action] | None) -> bool:
        """Whether ``premise`` may hold if only the actions of ``taken`` are ever taken; unknown counts as yes."""
        facts = {said.text: said for said in self._facts(taken)} if taken is not None else {}
        if premise in self._refuted and self._refuted[premise] <= facts.keys():
            return False
        body = terms.Exists(premise.params, premise.body) if premise.params else premise.body
        said = [*self._given, *facts.values(), statement(PREMISE, body, self._declarations)]
        answer = self._answer(problem(self._declarations, said), [each.name for each in said])
        self._unanswered.discard(premise)
        if answer.outcome is SolverOutcome.UNKNOWN:
            self._unanswered.add(premise)
        if answer.outcome is not SolverOutcome.PROVED:
            return True
        self._refuted[premise] = frozenset(text for text, fact in facts.items() if fact.name in answer.core)
        return False

    def is_established(self, premise: Goal) -> bool:
        """Whether the question of ``premise`` has a definite answer: the budget sufficed, and no worker was lost."""
        return premise not in self._unanswered

    def _answer(self, text: str, names: Sequence[str]) -> SolverAnswer:
        if self.before is not None and (found := remembered(self.before, PREMISE, text, DEFAULT_RLIMIT, names)):
            return found
        outcome, core, reason = ask_apart(text)
        answer = SolverAnswer(PREMISE, outcome, core, reason=reason)
        if self.before is not None:
            keep_answer(self.before, answer, text, DEFAULT_RLIMIT)
        return answer

    def _facts(self, taken: Sequence[Action]) -> Iterator[Statement]:
        """Yield the facts about symbols' values that hold as long as only the actions of ``taken`` are taken."""
        for symbol, values in self._confined.to(taken):
            if (symbol, values) not in self._written:
                fact = self._confined.fact(symbol, values)
                self._written[symbol, values] = statement(f"constant:{symbol.name}", fact, self._declarations)
            yield self._written[symbol, values]


class _Confined:
    """The possible values of each symbol if only some actions are taken.

    A relation into which no action inserts keeps its initial rows. A variable over an enumeration whose assigned values
    are all members has its initial value or an assigned one.
    """

    def __init__(self, protocol: Protocol) -> None:
        self._start = at_start(protocol.initial, protocol.symbols)
        self._mutable = [symbol for symbol in protocol.symbols if symbol.mutable]
        self._first: dict[Symbol, list[terms.Term | None]] = {each: [] for each in self._mutable}
        for initial in protocol.initial:
            self._first[initial.symbol].append(initial.value)

    def to(self, taken: Sequence[Action]) -> Iterator[tuple[Symbol, tuple[terms.Term | None, ...]]]:
        """Yield each restricted symbol with its possible values; for a relation there are no values."""
        inserted = {u.symbol for action in taken for u in action.updates if u.effect is Effect.INSERT}
        assigned: dict[Symbol, list[terms.Term | None]] = {}
        for update in (update for action in taken for update in action.updates):
            assigned.setdefault(update.symbol, []).append(update.value)
        for symbol in self._mutable:
            if symbol.is_relation and symbol not in inserted:
                yield symbol, ()
            elif symbol.result.is_enumeration:
                values = self._first[symbol] or [None]
                values = [*values, *assigned.get(symbol, ())]
                if all(isinstance(value, terms.Member) for value in values):
                    yield symbol, tuple(dict.fromkeys(values))

    def fact(self, symbol: Symbol, values: tuple[terms.Term | None, ...]) -> terms.Term:
        params = tuple(terms.Var(f"c{number}", sort) for number, sort in enumerate(symbol.domain))
        place = terms.Apply(symbol, params)
        named = terms.disjunction(tuple(terms.Equal(place, value) for value in values if value is not None))
        confined = terms.Implies(place, self._start(place)) if symbol.is_relation else named
        return terms.Forall(params, confined) if params else confined
