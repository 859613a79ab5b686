"""The interface of engines: an engine takes a task and returns a result.

An engine is an instance of a subclass of :class:`Engine`. The texts about it in commands and reports (its name, what it
establishes, its budget, its requirements) are its own data. A capability of some engines (visiting states, proving
liveness, deciding what can never happen, answering single obligations) is a separate class, from which an engine
inherits. Generic code asks the registry for engines with a capability, never for an engine by name.
docs/how-to/add-an-engine.md says how to add an engine. Decided in docs/adr/0017-one-interface-for-engines.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from importlib import metadata
from typing import Any, ClassVar, Self

from carnet_check.cache import AnswerCache
from carnet_check.engines.checkpoints import Checkpoint
from carnet_check.engines.exploration import NO_CAPS, Caps, Coverage, Exploration, Walks
from carnet_check.engines.runner import ONE_PROCESS, Listener, Runner, Shard, ShardReport
from carnet_check.exports.exhaustion import Visited
from carnet_check.exports.ground.conditions import Place
from carnet_check.loading.families import Source
from carnet_check.results import Result, Verdict
from carnet_check.semantics import State
from carnet_spec.language import (
    Action,
    Claim,
    Eventually,
    Goal,
    Instance,
    Invariant,
    LemmaClaim,
    Means,
    Profile,
    Protocol,
    Symbol,
    Threat,
)
from carnet_spec.language.terms import Term
from carnet_spec.trace import TraceStep

# -- tasks and results ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plan:
    """The part of a task about one variant, checked and expanded."""

    protocol: Protocol
    label: str
    threats: tuple[Threat, ...]
    pairs: tuple[tuple[Claim, Threat], ...]
    expected_to_fall: frozenset[tuple[str, str]]
    every_threat: bool
    liveness: tuple[Eventually, ...] = ()  # to judge under every threat model of the plan
    proved: tuple[str, ...] = ()  # liveness that another engine proved for every size: only triggers are checked
    lemma_claims: tuple[tuple[LemmaClaim, Threat], ...] = ()  # about no step

    @property
    def liveness_properties(self) -> tuple[str, ...]:
        """All liveness properties of the plan, proved or not, in the protocol's order."""
        asked = {*self.proved, *(live.name for live in self.liveness)}
        return tuple(live.name for live in self.protocol.liveness if live.name in asked)

    def claims(self, threat: Threat) -> tuple[str, ...]:
        """Return the claims that are judged under ``threat``."""
        return tuple(claim.name for claim, other in self.pairs if other == threat)

    def expects_violation(self, claim: str, threat: str) -> bool:
        """Whether the claim is expected to be violated under the threat model."""
        return (claim, threat) in self.expected_to_fall

    @property
    def liveness_to_prove(self) -> tuple[Eventually, ...]:
        """The liveness properties to prove; a proof is for every threat model, so what fails under one has none."""
        return tuple(live for live in self.liveness if not live.fails_under)

    @property
    def to_prove(self) -> list[tuple[Claim, Threat]]:
        """The pairs that are expected to hold; an expected violation has no proof."""
        return [(claim, threat) for claim, threat in self.pairs if not self.expects_violation(claim.name, threat.id)]


@dataclass(frozen=True, slots=True)
class Task:
    """The task of an engine."""

    source: Source  #: the family with its reference, by which worker processes load it.
    profile: Profile  #: the size of instances, for engines that need one.
    plans: tuple[Plan, ...]  #: the variants, each with the pairs of claim and threat model to judge.
    every_claim: bool = True  #: whether all claims are judged; goals are then looked for in all sizes.
    runner: Runner = ONE_PROCESS  #: how the work is done: by how many processes, where, and with which cache.
    limits: Caps = NO_CAPS  #: the caps of explorations; all explorations together may use the memory.

    @property
    def jobs(self) -> int:
        """The most worker processes."""
        return self.runner.jobs

    def plan(self, variant: str) -> Plan:
        """Return the plan of a variant."""
        return next(plan for plan in self.plans if plan.protocol.variant == variant)


@dataclass(frozen=True, slots=True)
class ProofBasis:
    """The basis of a row of a proving engine, so that engines can be compared."""

    layer: str = ""  #: the id of the threat model whose axioms a proof may use; empty if it uses none.
    satisfiable: tuple[str, ...] = ()  #: obligations of the claim that are refuted in that layer.


@dataclass(frozen=True, slots=True)
class EngineResult:
    """The result of an engine: rows, searches, and notes for the end of the run.

    ``bases`` has the basis of rows by their keys, ``standings`` the status of each invariant, ``liveness`` the answers
    about liveness by variant and name, and ``proofs`` the number of obligations that were proved in each way.
    """

    engine: str
    rows: tuple[Result, ...] = ()
    searches: tuple[Coverage, ...] = ()
    notes: tuple[str, ...] = ()
    bases: Mapping[tuple[str, str, str, str, str], ProofBasis] = field(default_factory=dict)
    standings: tuple[InvariantStatus, ...] = ()
    liveness: Mapping[tuple[str, str], LivenessAnswer] = field(default_factory=dict)
    proofs: Mapping[str, int] = field(default_factory=dict)


# -- engines --------------------------------------------------------------------------------------


class Engine(ABC):
    """The attributes and methods of every engine."""

    name: ClassVar[str]  #: the word in JSON and in ``--engine``.
    purpose: ClassVar[str]  #: what it establishes, in a few words.
    verdicts: ClassVar[tuple[Verdict, ...]]  #: the verdicts that it can give for a claim that holds.
    refutes: ClassVar[bool] = False  #: whether it can show that a claim is violated.
    #: whether it runs unless engines are named; of those that visit states, only the fastest does.
    by_default: ClassVar[bool] = True
    believes_no_solver: ClassVar[bool] = False  #: whether it trusts no solver; a run of such engines alone uses none.
    needs: ClassVar[tuple[Tool, ...]] = ()  #: the tools that have to be installed.

    @abstractmethod
    def run(self, task: Task, listener: Listener) -> EngineResult:
        """Judge the claims of ``task``; a claim that is undecided within the budget is UNKNOWN."""

    @abstractmethod
    def with_limit(self, most: int) -> Self:
        """Return the same engine with a budget of ``most`` units of its own work."""

    def as_default(self) -> Self:
        """Return the engine with its settings for runs without named engines."""
        return self

    @abstractmethod
    def expected_verdict(self, profile: Profile) -> Verdict:
        """Return the verdict on a claim that holds, at the sizes of a profile."""

    @abstractmethod
    def intention(self, task: Task) -> str:
        """Return the announcement of what the engine is going to do."""

    @abstractmethod
    def strength(self, task: Task, outcome: EngineResult) -> tuple[str, ...]:
        """Return the words for the strength of the results, in parts."""

    @abstractmethod
    def budget(self, profile: Profile) -> str:
        """Return the words for how much work is done before giving up."""

    def versions(self) -> dict[str, str]:
        """Return the versions of the solvers and libraries that the engine uses, by name."""
        return {name: installed_version(name) for tool in self.needs for name in tool.distributions}

    def require_runnable(self, task: Task) -> None:  # noqa: B027 # most engines can run any task
        """Refuse a task that cannot be run, before anything runs.

        Raises UsageError if the engine cannot run the task; InvalidSpecificationError if the specification does not
        allow it.
        """


class JudgesLemmaClaims(Engine):
    """Judges lemma claims, by checking finitely many cases; such an engine judges nothing else."""

    means: ClassVar[Means]

    def decided_claims(self, plan: Plan) -> tuple[LemmaClaim, ...]:
        """Return the lemma claims of a plan that this engine's means decides."""
        asked = dict.fromkeys(claim.name for claim, _ in plan.lemma_claims)
        return tuple(
            claim for claim in plan.protocol.lemma_claims if claim.name in asked and claim.examination(self.means)
        )

    @abstractmethod
    def expected_of(self, claim: LemmaClaim) -> Verdict:
        """Return the verdict on a lemma claim that holds."""


class RunsInBackground(Engine):
    """Can run a task in other processes while this process runs other engines."""

    @abstractmethod
    def begun(self, task: Task) -> AbstractContextManager[Self]:
        """Return the same engine, which works on ``task`` in the background until the block ends.

        Its answers are the same as without that, for every task that it later runs.
        """


class Shares(Engine):
    """Can do one shard of its work and store the answers in a cache."""

    @abstractmethod
    def share(self, task: Task, shard: Shard, listener: Listener) -> ShardReport:
        """Do the work of ``shard``; this establishes no claim, so there are no rows."""


class Explores(Engine):
    """Visits the states of a finite instance."""

    @property
    def lacks(self) -> str:
        """The missing requirements in words; empty if the engine can run."""
        return ""

    @abstractmethod
    def explore(
        self,
        protocol: Protocol,
        instance: Instance,
        *,
        invariants: Sequence[Invariant],
        goals: Sequence[Goal] = (),
        caps: Caps = NO_CAPS,
        stop_at_first: bool = False,
        stop_when_fallen: bool = False,
        reduction: bool = True,
        threat: str = "",
        watch: Callable[[int, int], None] | None = None,
    ) -> Exploration:
        """Search breadth first for states that violate an invariant or reach a goal.

        Args:
            protocol: the protocol to explore.
            instance: the elements, rigid facts, pools and adversary budget; it satisfies the axioms.
            invariants: formulas that must hold in every state reached.
            goals: formulas that some state reached should satisfy.
            caps: the limits at which to stop although the search is not complete.
            stop_at_first: end the search at the first violation of any invariant.
            stop_when_fallen: end it when every invariant is violated.
            reduction: leave out what provably cannot matter, if the engine has reductions.
            threat: the threat model to name in traces.
            watch: called now and then with the states seen and the depth reached.
        """


class DecidesLiveness(Explores):
    """Decides liveness properties in a finite instance, by visiting all states."""

    @abstractmethod
    def lassos(
        self,
        protocol: Protocol,
        instance: Instance,
        *,
        liveness: Sequence[Eventually],
        caps: Caps = NO_CAPS,
        reduction: bool = True,
        threat: str = "",
        watch: Callable[[int, int], None] | None = None,
    ) -> Exploration:
        """Look for fair runs that violate liveness; :mod:`carnet_check.semantics.fairness` defines fairness.

        For all properties of ``liveness`` the same rules are steps, and those that name the same fair action name the
        same steps of it. The other arguments are those of :meth:`explore`.

        Returns:
            ``violations`` has a lasso for each violated property, ``goals`` a trace to each trigger that is reached,
            and ``undecided`` the properties that limits of the instance leave undecided.
        """


class Bounded(Engine):
    """Checks all runs up to a number of steps, in instances of any size."""

    @abstractmethod
    def with_depth(self, steps: int) -> Self:
        """Return the same engine for runs of at most ``steps`` steps."""


class ListsStates(Explores):
    """Returns the states that it visited, so that they can be certified."""

    @abstractmethod
    def visit_states(
        self, protocol: Protocol, instance: Instance, invariants: Sequence[Invariant], goals: Sequence[Goal]
    ) -> Visited:
        """Visit every state that matters to these invariants and goals, up to the choice of unused elements."""


class Guesses(ABC):
    """Guessed lemmas, which are generated on demand; nothing is claimed of them."""

    @abstractmethod
    def about(self, symbols: Collection[Symbol]) -> Sequence[Invariant]:
        """Return guesses about mutable symbols, the simplest first; equal guesses have equal names in every call."""

    @abstractmethod
    def plausible(self, guesses: Sequence[Invariant]) -> list[Invariant]:
        """Return those guesses that no visited state falsifies."""


@dataclass(frozen=True, slots=True)
class Strengthening:
    """Guesses that are proved, and the claims that need them."""

    #: guesses that are inductive together with what is stated, none of which can be left out.
    lemmas: tuple[Invariant, ...]
    #: the claims that are proved with them as everything else is, and the names of those that each proof rests on.
    proved: Mapping[str, tuple[str, ...]]
    supported: Mapping[str, tuple[str, ...]]  #: the same of the protocol's lemmas.
    open: tuple[str, ...]  #: the claims that are not proved.
    tried: int  #: how many guesses the engine was asked about.
    limit: str  #: the work after which the search was stopped, in words, or nothing: it came to its end.
    undecided: int  #: how many plausible guesses the engine did not decide.
    left: int  #: how much of the work that was allowed is left for another search.


class Strengthens(Engine):
    """Finds guesses with which the proofs of claims succeed."""

    work: ClassVar[int]  #: What the searches about one design may do together, in a unit of the engine's own.

    @abstractmethod
    def strengthen(
        self,
        protocol: Protocol,
        threat: Threat | None,
        claims: Collection[str],
        guesses: Guesses,
        listener: Listener,
        work: int,
    ) -> Strengthening:
        """Look for guesses that prove claims under a threat model, or under all without one, until ``work`` is done."""


class ProvesLiveness(Engine):
    """Proves liveness properties."""

    @abstractmethod
    def liveness(self, source: Source, protocol: Protocol, live: Eventually) -> LivenessAnswer:
        """Try to prove ``live``, for instances of any size and under every threat model."""


class DecidesPossibility(Engine):
    """Proves that something can never happen, in any instance."""

    @abstractmethod
    def possibilities(
        self, protocol: Protocol, threat: Threat | None, known: Mapping[str, Term], runner: Runner
    ) -> Possibilities:
        """Return an object that answers questions; ``known`` are formulas proved to hold in every reachable state.

        If a requirement of the engine is missing, the object is :class:`NoSolver`.
        """


class Diagnoses(Engine):
    """Returns the status of each invariant that its proofs use, and counterexamples to induction."""

    shows: ClassVar[str]

    @abstractmethod
    def counterexamples(self, source: Source, standing: InvariantStatus, most: int) -> Iterator[Cti]:
        """Yield a small counterexample for each of the first ``most`` obligations of an invariant that are refuted."""


class ShowsFailingSteps(Engine):
    """Finds a state and a step that show why one invariant is not inductive, with what is assumed chosen freely."""

    @abstractmethod
    def failing_step(
        self, protocol: Protocol, threat: Threat | None, invariant: str, assumed: Collection[str]
    ) -> FailingStep:
        """Return a small state from which a step breaks an invariant; the interpreter has confirmed it.

        Raises UsageError if the invariant is inductive with what is assumed, is not meant to hold under the threat
        model, or the budget of the solver ended; EngineDisagreement if the interpreter does not confirm the state.

        Args:
            protocol: the design.
            threat: the threat model whose axioms hold; without one, none do.
            invariant: the claim or lemma that breaks.
            assumed: the claims and lemmas that hold before the step beside it.
        """


class HasProofHints(Engine):
    """Stores which hypotheses sufficed for its proofs, as hints for other provers."""

    @abstractmethod
    def stored_hints(self, protocol: Protocol) -> Mapping[str, tuple[str, ...]]:
        """Return the names of hypotheses by the ids of obligations without threat models; for ``carnet certify``."""


class ProvesWeakened(Engine):
    """Proves claims of a protocol from which defences were removed, with the lemmas that still hold."""

    @abstractmethod
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
        """Return whether all claims are proved; ``progress`` gets the number of obligations done and of all.

        With ``quickly``, a proof that takes much work at one obligation is not found.
        """


@dataclass(frozen=True, slots=True)
class Check:
    """One proof obligation that can be answered on its own."""

    name: str
    verifies: tuple[str, ...]  # the ids of requirements
    failure: Callable[[], str]  # tries to prove it, and returns why it is not proved; empty if it is


class Separable(Engine):
    """Has obligations that can be answered one at a time."""

    @abstractmethod
    def checks(self, plan: Plan) -> Iterator[Check]:
        """Yield every obligation of a variant."""


class ProvesSteps(Engine):
    """Proves that single actions, also changed ones, preserve invariants."""

    @abstractmethod
    def step_proofs(self, protocol: Protocol, threat: Threat | None) -> StepProofs:
        """Return an object that answers questions about a protocol under a threat model, or, without one, under all."""


class ComparesFormulas(Engine):
    """Decides whether formulas, without a protocol, are jointly satisfiable."""

    @abstractmethod
    def contradictory(self, formulas: Mapping[str, Term]) -> bool | None:
        """Whether the named formulas contradict each other in structures of any size; ``None`` if unknown."""


class AnswersObligations(Engine):
    """Answers single obligations, so that its answers can be compared with those of other engines."""

    @abstractmethod
    def obligation_answers(self, source: Source, protocol: Protocol, jobs: int) -> Iterator[ObligationAnswer]:
        """Answer every obligation of every layer of a variant."""

    @abstractmethod
    def version(self) -> str:
        """Return the name and the version of the solver or checker."""


class OnCluster(Explores):
    """Explores on the machines of a cluster; the result does not depend on their number."""

    @abstractmethod
    def on_cluster(self, address: str) -> Self:
        """Return the same engine; its searches move to a Ray cluster once they are large.

        Raises UsageError if there is no cluster at this address.
        """


class Checkpointing(Explores):
    """Stores its results after each level, and can continue from there."""

    @abstractmethod
    def with_checkpoint(self, checkpoint: Checkpoint) -> Self:
        """Return the same engine; its searches continue from a checkpoint and store their results in it."""


@dataclass(frozen=True, slots=True)
class Observed:
    """The number of states of an instance, without reductions, and the places whose values differ between states."""

    states: int
    changing: frozenset[Place]


class Observes(Explores):
    """Finds the places of a state that ever change in an instance."""

    @abstractmethod
    def observe(
        self, protocol: Protocol, instance: Instance, caps: Caps, watch: Callable[[int, int], None] | None = None
    ) -> Observed | None:
        """Visit every state; return None if the search stopped before it was complete."""


class Samples(Explores):
    """Can take random walks instead of visiting every state."""

    @abstractmethod
    def random_walker(self, walks: Walks) -> Explores:
        """Return the engine of the same name for random walks; a claim that holds on them is SAMPLED, and no more.

        It takes all walks, even after violations, and without reductions. The walks depend on the protocol, the
        instance, the seed and the depth alone, not on the engine.
        """


class InThreads(Explores):
    """Explores in threads; the result does not depend on their number."""

    @abstractmethod
    def with_threads(self, threads: int) -> Self:
        """Return the same engine; each of its searches runs in ``threads`` threads."""


# -- What may ever happen, in an instance of any size ----------------------------------------------


class Possibilities(ABC):
    """Answers what is reachable in one protocol under one threat model; ``before`` is a cache, or None."""

    before: AnswerCache | None = None

    @abstractmethod
    def may(self, premise: Goal, taken: Sequence[Action] | None) -> bool:
        """Whether ``premise`` may hold if only the actions of ``taken`` are ever taken; unknown counts as yes.

        Without ``taken``, symbols may change in any way.
        """

    @abstractmethod
    def is_established(self, premise: Goal) -> bool:
        """Whether the last answer about ``premise`` was established; otherwise it is yes because it is unknown."""


class NoSolver(Possibilities):
    """Answers that anything may happen, as no solver is installed or wanted."""

    def may(self, premise: Goal, taken: Sequence[Action] | None) -> bool:
        """Return True: anything may hold."""
        return True

    def is_established(self, premise: Goal) -> bool:
        """Return False: no answer is known."""
        return False


# --------------------------------------------------------------------------------------------------
# The status of each invariant in a proof by induction, and counterexamples to induction.


class Status(StrEnum):
    """The status of one invariant. Only ``proved`` establishes it; only ``refuted`` says that it is false."""

    PROVED = "proved"
    NOT_INDUCTIVE = "not inductive"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class InvariantStatus:
    """The status of one invariant in one layer of a variant."""

    variant: str
    invariant: str
    lemma: bool  #: whether it is a lemma; otherwise it is the formula of a claim.
    layer: str  #: the id of the threat model whose axioms were assumed; empty if none were.
    status: Status
    failing: tuple[str, ...] = ()  #: its own obligations that are refuted.
    open: tuple[str, ...] = ()  #: its own obligations without an answer, each with the reason.
    rests_on: tuple[str, ...] = ()  #: the unproved invariants that its proof uses.


@dataclass(frozen=True, slots=True)
class FailingStep:
    """A state, reachable or not, and a step from it after which an invariant does not hold."""

    instance: Instance  #: the elements, and the rigid facts.
    state: State  #: where axioms, the invariant and all that was assumed hold.
    #: what breaks the invariant; nothing, if ``state`` is the first one and the invariant fails there.
    step: TraceStep | None
    excluded_by: tuple[str, ...]  #: the claims and lemmas of the specification that do not hold in ``state``.


@dataclass(frozen=True, slots=True)
class Cti:
    """A counterexample to induction: a state in which every invariant holds, and a step after which one does not.

    The state need not be reachable. The interpreter has taken the step and evaluated the invariants before and after
    it, unless ``unconfirmed`` says why not; all other fields are empty then.
    """

    obligation: str
    unconfirmed: str = ""
    action: str = ""  #: the action of the step; empty if the invariant is false in the first state.
    sentence: str = ""  #: the step in words.
    args: Mapping[str, str] | None = None
    elements: Mapping[str, tuple[str, ...]] | None = None  #: the elements of each sort.
    about: Mapping[str, str] | None = None  #: the elements for which the invariant is false, by its parameters.
    #: the facts of the state that the step and the invariant read; ``fixed`` has the rigid ones, and ``beside`` the
    #: values that neither reads.
    before: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()  #: what the step changed.
    formula: str = ""  #: the invariant; ``false`` has its parts that are false afterwards.
    false: tuple[str, ...] = ()
    holding: tuple[str, ...] = ()  #: the claims and lemmas that hold before the step: all that are assumed there.

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        tables = {name: dict(getattr(self, name) or {}) for name in ("args", "about")}
        lists = ("before", "fixed", "beside", "changes", "false", "holding")
        return {
            **{name: getattr(self, name) for name in ("obligation", "unconfirmed", "action", "sentence", "formula")},
            **tables,
            "elements": {sort: list(names) for sort, names in (self.elements or {}).items()},
            **{name: list(getattr(self, name)) for name in lists},
        }


# --------------------------------------------------------------------------------------------------
# The answers of proving engines: to single obligations, about single steps, and about liveness.

#: The outcome for an action that changes no symbol of an invariant: one argument proves all these obligations.
FRAME = "frame"


@dataclass(frozen=True, slots=True)
class ObligationAnswer:
    """The answer of an engine to one obligation of one variant."""

    layer: str  #: the id of the threat model of its layer, or empty.
    obligation: str  #: its id, the same for all engines.
    #: ``proved``, ``refuted`` or ``unknown``, or ``frame`` if the action changes no symbol of the invariant, so that
    #: there is nothing to prove.
    outcome: str
    digest: str = ""  #: the digest of the obligation's text, if engines share the text.
    seconds: float = 0.0
    reason: str = ""  #: why the answer is unknown.
    core: tuple[str, ...] = ()  #: names of hypotheses that suffice, if the engine reports them.

    @property
    def invariant(self) -> str:
        """The name of the invariant that the obligation is about."""
        return self.obligation.rpartition("/")[2].replace("%2F", "/").replace("%25", "%")


class StepProofs(ABC):
    """Proofs about single steps, from the axioms and the invariants of one protocol under one threat model."""

    @abstractmethod
    def preservation_answers(
        self, action: Action, invariants: Collection[str], first: str = ""
    ) -> Iterator[ObligationAnswer]:
        """Answer whether ``action`` preserves each of some invariants.

        Args:
            action: any action over the protocol's symbols, which need not be one of the protocol's.
            invariants: the names of the invariants.
            first: the name of a hypothesis; obligations that are likely to need it come first.
        """

    @abstractmethod
    def every(self, invariants: Collection[str], first: str = "") -> Iterator[ObligationAnswer]:
        """Answer every obligation of some invariants, initiation included, as :meth:`preservation_answers` does."""

    @abstractmethod
    def follows(self, given: Mapping[str, Term], goal: Term) -> ObligationAnswer:
        """Answer whether the axioms, the invariants and the ``given`` formulas imply ``goal``."""


@dataclass(frozen=True, slots=True)
class LivenessAnswer:
    """Whether a liveness property is proved: by which fairness, from which axioms and lemmas, or why it is not.

    ``certified`` counts the conditions that certificates prove, and ``believed`` those that only a solver proves while
    certificates prove the others.
    """

    fair: tuple[str, ...] = ()
    axioms: frozenset[str] = frozenset()
    lemmas: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    certified: int = 0
    believed: int = 0
    seconds: float = 0.0

    @property
    def is_proved(self) -> bool:
        """Whether the property is proved."""
        return bool(self.fair)


# --------------------------------------------------------------------------------------------------
# External requirements of engines: libraries and programs, how to detect them, and their versions.


@dataclass(frozen=True, slots=True)
class Tool:
    """A library or program that Carnet can use: how it is detected, what it is for, and how to install it."""

    name: str
    purpose: str
    get: str
    distributions: tuple[str, ...] = ()  # Python distributions, all of which have to be installed
    programs: tuple[str, ...] = ()  # programs, one of which has to be on the path
    elsewhere: Callable[[], str] = str  #: Returns the path of a program outside the search path, or an empty text.
    required: bool = False


def installed_version(distribution: str) -> str:
    """Return the version of a Python distribution."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"
