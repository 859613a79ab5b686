"""The interface of engines: a task goes in, an outcome comes out.

An engine is one value of a subclass of :class:`Engine`. What commands and reports say of it (its name, what it
establishes, its budget, what it needs) is its own data. What only some engines can do (visit states, prove liveness,
decide what can never happen, ask each proof obligation separately) is a class of its own, which an engine inherits;
generic code asks the registry for engines that can do it, and never for one by name.

To add an engine: write a folder under ``engines/`` with a subclass of :class:`Engine`, or of
:class:`~carnet_check.engines.exploring.explorer.Explorer` if it visits states, and add one line to
``engines/registry.py``. Decided in docs/adr/0017-one-interface-for-engines.md.
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

# -- what is asked, and what is answered ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plan:
    """One variant's share of a task, checked and spelled out."""

    protocol: Protocol
    label: str
    threats: tuple[Threat, ...]
    pairs: tuple[tuple[Claim, Threat], ...]
    expected_to_fall: frozenset[tuple[str, str]]
    every_threat: bool
    liveness: tuple[Eventually, ...] = ()  # what should happen in the end, under every threat model of the plan
    proved: tuple[str, ...] = ()
    """What happens in the end, as another engine proved for any size: only whether anything waits is looked at."""
    lemma_claims: tuple[tuple[LemmaClaim, Threat], ...] = ()
    """What is claimed of no step, and under which threat models."""

    @property
    def stated(self) -> tuple[str, ...]:
        """All liveness properties of the plan, proved or not, in the protocol's order."""
        asked = {*self.proved, *(live.name for live in self.liveness)}
        return tuple(live.name for live in self.protocol.liveness if live.name in asked)

    def claims(self, threat: Threat) -> tuple[str, ...]:
        """Return the claims that are judged under ``threat``."""
        return tuple(claim.name for claim, other in self.pairs if other == threat)

    def falls(self, claim: str, threat: str) -> bool:
        """Whether the claim is expected to be violated there."""
        return (claim, threat) in self.expected_to_fall

    @property
    def to_prove(self) -> list[tuple[Claim, Threat]]:
        """The pairs that are expected to hold: what is expected to fall has no proof."""
        return [(claim, threat) for claim, threat in self.pairs if not self.falls(claim.name, threat.id)]


@dataclass(frozen=True, slots=True)
class Task:
    """What an engine is asked.

    Attributes:
        source: where the protocol comes from, so that worker processes find it.
        profile: the size of instances, for engines that need one.
        plans: the variants, each with the pairs of claim and threat model to judge.
        every_claim: whether nothing was left out; goals of all sizes are looked for then.
        runner: how the work is done, by how many processes and where.
        limits: where explorations stop, as far as anything is said; all together may take the memory.
    """

    source: Source
    profile: Profile
    plans: tuple[Plan, ...]
    every_claim: bool = True
    runner: Runner = ONE_PROCESS
    limits: Caps = NO_CAPS

    @property
    def jobs(self) -> int:
        """How many worker processes there may be."""
        return self.runner.jobs

    def plan(self, variant: str) -> Plan:
        """Return the plan of a variant."""
        return next(plan for plan in self.plans if plan.protocol.variant == variant)


@dataclass(frozen=True, slots=True)
class ProofBasis:
    """What a row of an engine that proves rests on, so that engines can be held against one another.

    Attributes:
        layer: the id of the threat model whose axioms a proof may use, or nothing: it uses none.
        satisfiable: obligations of the claim that cannot be proved in that layer, because they do not hold.
    """

    layer: str = ""
    satisfiable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EngineResult:
    """What an engine answers: rows, what it explored if it did, and remarks for the end of the run.

    ``bases`` says of rows, by their keys, what they rest on; ``standings`` how it stands with each invariant;
    ``liveness`` what could be proved of each liveness property, by variant and name; ``proofs`` how many obligations
    were proved in which way, where there is more than one.
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
    """What every engine has and can do.

    Attributes:
        name: the word in JSON and in ``--engine``.
        purpose: what it establishes, in a few words.
        verdicts: the words it can give for a claim that holds.
        refutes: whether it can show that a claim is violated.
        by_default: whether it runs unless other engines are asked for; of those that visit states, the fastest does.
        believes_no_solver: whether no solver is asked anything where only such engines run.
        needs: what has to be installed.
    """

    name: ClassVar[str]
    purpose: ClassVar[str]
    verdicts: ClassVar[tuple[Verdict, ...]]
    refutes: ClassVar[bool] = False
    by_default: ClassVar[bool] = True
    believes_no_solver: ClassVar[bool] = False
    needs: ClassVar[tuple[Tool, ...]] = ()

    @abstractmethod
    def run(self, task: Task, listener: Listener) -> EngineResult:
        """Judge what ``task`` asks for; a claim that cannot be judged within the budget is UNKNOWN."""

    @abstractmethod
    def limited(self, most: int) -> Self:
        """Return the same engine with a budget of ``most`` units of its own work."""

    def as_default(self) -> Self:
        """Return the engine as it runs where no engine is named."""
        return self

    @abstractmethod
    def expected(self, profile: Profile) -> Verdict:
        """Return the verdict on a claim that holds, at the sizes of a profile."""

    @abstractmethod
    def intention(self, task: Task) -> str:
        """Say what the engine is going to do."""

    @abstractmethod
    def strength(self, task: Task, outcome: EngineResult) -> tuple[str, ...]:
        """Say how strong what was established is, in parts."""

    @abstractmethod
    def budget(self, profile: Profile) -> str:
        """Say how much work is done before giving up."""

    def versions(self) -> dict[str, str]:
        """Return the versions of what the engine asks and runs with, by name."""
        return {name: installed(name) for tool in self.needs for name in tool.distributions}

    def require_runnable(self, task: Task) -> None:  # noqa: B027 # most engines can run any task
        """Refuse a task that cannot be run, before anything runs.

        Raises:
            UsageError: it cannot.
            InvalidSpecificationError: the specification does not allow it.
        """


class JudgesLemmaClaims(Engine):
    """Judges what is claimed of no step, by the cases of one means, and judges nothing else."""

    means: ClassVar[Means]

    def wanted(self, plan: Plan) -> tuple[LemmaClaim, ...]:
        """Return the lemma claims of a plan that this means decides."""
        asked = dict.fromkeys(claim.name for claim, _ in plan.lemma_claims)
        return tuple(
            claim for claim in plan.protocol.lemma_claims if claim.name in asked and claim.examination(self.means)
        )

    @abstractmethod
    def expected_of(self, claim: LemmaClaim) -> Verdict:
        """Return the verdict on a lemma claim that holds."""


class RunsInBackground(Engine):
    """Can begin with a task, and go on with it in other processes while this one asks other engines."""

    @abstractmethod
    def begun(self, task: Task) -> AbstractContextManager[Self]:
        """Return the same engine, which has begun with ``task`` and goes on while the block lasts.

        It answers as it would without that, whatever task it is asked to run in the end.
        """


class Shares(Engine):
    """Can do one part of its work by itself and leave the answers in a cache."""

    @abstractmethod
    def share(self, task: Task, shard: Shard, listener: Listener) -> ShardReport:
        """Do the part of the work that ``shard`` names. It establishes no claim, so there is no row."""


class Explores(Engine):
    """Visits the states of a finite instance."""

    @property
    def lacks(self) -> str:
        """What it needs and does not find, in words; nothing if it can run."""
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
            protocol: what is explored.
            instance: the elements, rigid facts, pools and adversary budget; it satisfies the axioms.
            invariants: formulas that must hold in every state reached.
            goals: formulas that some state reached should satisfy.
            caps: where to stop although the search is not complete.
            stop_at_first: end the search at the first violation of any invariant.
            stop_when_fallen: end it when every invariant is violated.
            reduction: leave out what provably cannot matter, if the engine knows how.
            threat: the threat model to name in traces.
            watch: called now and then with the states seen and the depth reached.
        """


class DecidesLiveness(Explores):
    """Decides whether something happens in the end, among all states of a finite instance."""

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
        """Look for fair runs that wait for ever; what is fair is said in :mod:`carnet_check.semantics.fairness`.

        The properties of ``liveness`` have the same rules as steps, and want the same steps taken fairly of what more
        than one of them names; the other arguments are those of :meth:`explore`.

        Returns:
            ``violations`` has a lasso where a property fails; ``goals`` has ways to triggers, ``undecided`` the rest.
        """


class Bounded(Engine):
    """Looks at runs of a few steps, however many there are of everything."""

    @abstractmethod
    def to_depth(self, steps: int) -> Self:
        """Return the same engine for runs of up to so many steps."""


class ListsStates(Explores):
    """Hands out the states that it visited, so that they can be checked."""

    @abstractmethod
    def visited(
        self, protocol: Protocol, instance: Instance, invariants: Sequence[Invariant], goals: Sequence[Goal]
    ) -> Visited:
        """Visit every state that matters to these invariants and goals, whichever unused elements are drawn."""


class Guesses(ABC):
    """Guesses at lemmas, which are made when they are asked for; nothing is claimed of any of them."""

    @abstractmethod
    def about(self, symbols: Collection[Symbol]) -> Sequence[Invariant]:
        """Return guesses about some symbols that change, the simplest first; their names stay the same."""

    @abstractmethod
    def plausible(self, guesses: Sequence[Invariant]) -> list[Invariant]:
        """Return those guesses that no state falsifies which was visited to find out."""


@dataclass(frozen=True, slots=True)
class Strengthening:
    """Guesses that are proved, and what they are needed for.

    Attributes:
        lemmas: guesses that are inductive together with what is stated, none of which can be left out.
        proved: the claims that are proved with them, and the names of those that the proof of each rests on.
        open: the claims that are not.
        tried: how many guesses the engine was asked about.
    """

    lemmas: tuple[Invariant, ...]
    proved: Mapping[str, tuple[str, ...]]
    open: tuple[str, ...]
    tried: int


class Strengthens(Engine):
    """Finds out which guesses make the proofs of claims go through."""

    @abstractmethod
    def strengthened(
        self, protocol: Protocol, threat: Threat | None, claims: Collection[str], guesses: Guesses, listener: Listener
    ) -> Strengthening:
        """Look for guesses that prove claims under a threat model; without one, under all.

        What is returned was proved as everything else is: by the same obligations, with the guesses as lemmas.
        """


class ProvesLiveness(Engine):
    """Proves that something happens in the end."""

    @abstractmethod
    def liveness(self, source: Source, protocol: Protocol, live: Eventually) -> LivenessAnswer:
        """Try to prove ``live``, for instances of any size and under every threat model."""


class DecidesPossibility(Engine):
    """Finds out that something can never happen, in no instance."""

    @abstractmethod
    def possibilities(
        self, protocol: Protocol, threat: Threat | None, known: Mapping[str, Term], runner: Runner
    ) -> Possibilities:
        """Return what answers questions; ``known`` are formulas that are proved to hold in every reachable state.

        Where the engine lacks what it needs, that is :class:`NoSolver`.
        """


class Diagnoses(Engine):
    """Says how each invariant stands that its proofs use, and shows the states, called so, from which a proof fails."""

    shows: ClassVar[str]

    @abstractmethod
    def counterexamples(self, source: Source, standing: InvariantStatus, most: int) -> Iterator[Cti]:
        """Yield a small state for each of the first ``most`` obligations of an invariant that do not hold."""


class HasProofHints(Engine):
    """Remembers which hypotheses sufficed for its proofs, so that others need not look for them."""

    @abstractmethod
    def remembered(self, protocol: Protocol) -> Mapping[str, tuple[str, ...]]:
        """Return the names of hypotheses by the ids of obligations, without a threat model; ``carnet certify`` asks."""


class ProvesWeakened(Engine):
    """Proves claims of a protocol from which something was removed, with the lemmas that still hold."""

    @abstractmethod
    def unproved(
        self,
        protocol: Protocol,
        threat: Threat | None,
        claims: Collection[str],
        jobs: int,
        progress: Callable[[int, int], None],
    ) -> tuple[str, ...]:
        """Return the claims that are left without a proof; ``progress`` is told how many obligations are done."""


@dataclass(frozen=True, slots=True)
class Check:
    """One proof obligation that can be asked by itself."""

    name: str
    verifies: tuple[str, ...]  # the requirements that it states
    failure: Callable[[], str]  # asks it, and returns why it is not proved, or nothing


class Separable(Engine):
    """Has obligations that can be asked one at a time."""

    @abstractmethod
    def checks(self, plan: Plan) -> Iterator[Check]:
        """Yield every obligation of a variant."""


class ProvesSteps(Engine):
    """Proves steps one by one, those of changed actions too."""

    @abstractmethod
    def step_proofs(self, protocol: Protocol, threat: Threat | None) -> StepProofs:
        """Return what answers questions about a protocol under a threat model; without one, under all."""


class ComparesFormulas(Engine):
    """Says of formulas alone, without a protocol, whether they can be true together."""

    @abstractmethod
    def contradictory(self, formulas: Mapping[str, Term]) -> bool | None:
        """Whether the named formulas contradict one another, whatever there is of each sort; ``None`` if unknown."""


class AnswersObligations(Engine):
    """Proves claims obligation by obligation, so that its answers can be compared with others' one by one."""

    @abstractmethod
    def obligation_answers(self, source: Source, protocol: Protocol, jobs: int) -> Iterator[ObligationAnswer]:
        """Answer every obligation of every layer of a variant."""

    @abstractmethod
    def version(self) -> str:
        """Return the name and the version of whatever answers."""


class OnCluster(Explores):
    """Explores on the machines of a cluster, and finds the same however many there are."""

    @abstractmethod
    def on_cluster(self, address: str) -> Self:
        """Return the same engine, whose searches go on in a Ray cluster once they are large.

        Raises:
            UsageError: there is no cluster at this address.
        """


class Checkpointing(Explores):
    """Keeps what it found after each level, and goes on from there."""

    @abstractmethod
    def keeping(self, checkpoint: Checkpoint) -> Self:
        """Return the same engine, whose searches go on from a checkpoint and keep what they find in it."""


@dataclass(frozen=True, slots=True)
class Observed:
    """How many states an instance has, nothing left out, and the places that do not hold the same in all of them."""

    states: int
    changing: frozenset[Place]


class Observes(Explores):
    """Says what ever changes in an instance."""

    @abstractmethod
    def observed(
        self, protocol: Protocol, instance: Instance, caps: Caps, watch: Callable[[int, int], None] | None = None
    ) -> Observed | None:
        """Visit every state; return nothing if the search stopped before it had seen all of them."""


class Samples(Explores):
    """Can take random walks instead of visiting every state."""

    @abstractmethod
    def sampling(self, walks: Walks) -> Explores:
        """Return the engine of the same name for random walks: what holds on them is SAMPLED, and nothing more.

        What it explores are these walks, all of them whatever falls, and nothing is left out of a state. Which walks
        they are depends on the protocol, the instance, the seed and the depth alone, not on the engine.
        """


class InThreads(Explores):
    """Explores in threads, and finds the same however many there are."""

    @abstractmethod
    def in_threads(self, threads: int) -> Self:
        """Return the same engine, each of whose searches runs in so many threads."""


# -- What may ever happen, in an instance of any size: what is asked, and of whom ------------------


class Possibilities(ABC):
    """What may ever happen in one protocol under one threat model; ``before`` are earlier answers, if some are kept."""

    before: AnswerCache | None = None

    @abstractmethod
    def may(self, premise: Goal, taken: Sequence[Action] | None) -> bool:
        """Whether ``premise`` may hold when only the actions of ``taken`` are ever taken; unsure counts as yes.

        Without ``taken`` nothing is said about how symbols change.
        """

    @abstractmethod
    def answered(self, premise: Goal) -> bool:
        """Whether anybody knew when it was asked last whether ``premise`` may hold: if not, yes was a guess."""


class NoSolver(Possibilities):
    """Nobody can tell what never happens, since what tells is not installed or not wanted: anything may."""

    def may(self, premise: Goal, taken: Sequence[Action] | None) -> bool:
        """Return that it may hold."""
        return True

    def answered(self, premise: Goal) -> bool:
        """Return that nobody knew."""
        return False


# --------------------------------------------------------------------------------------------------
# How each invariant stands where claims are proved by induction, and the state from which an induction fails.


class Status(StrEnum):
    """What is known of one invariant. Only ``proved`` establishes it; only ``refuted`` says that it is false."""

    PROVED = "proved"
    NOT_INDUCTIVE = "not inductive"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class InvariantStatus:
    """How one invariant stands in one layer of a variant.

    Attributes:
        lemma: whether it is a lemma; otherwise it is what a claim says.
        layer: the id of the threat model whose axioms were assumed, or nothing: none were.
        failing: its own obligations that do not hold, whatever else is assumed to hold before.
        open: its own obligations that got no answer, each with why.
        rests_on: the invariants that its proof uses and that are not proved.
    """

    variant: str
    invariant: str
    lemma: bool
    layer: str
    status: Status
    failing: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    rests_on: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Cti:
    """A counterexample to induction: a state in which every invariant holds, and a step after which one does not.

    Nobody says that the state can be reached. The interpreter has taken the step and judged both ends of it, unless
    ``unconfirmed`` says why not; nothing is known of a state then, so everything else is empty.

    Attributes:
        action: the step; nothing, if the invariant fails in the first state.
        sentence: the step in words.
        elements: the elements of each sort.
        about: the elements for which the invariant fails, by its parameters.
        before: the facts of the state that the step and the invariant are about; ``fixed`` never change, and ``beside``
            are values that neither of them reads.
        changes: what the step changed.
        formula: the invariant, and ``false`` the parts of it that do not hold afterwards.
        holding: the claims and lemmas that hold before the step: all that are assumed there.
    """

    obligation: str
    unconfirmed: str = ""
    action: str = ""
    sentence: str = ""
    args: Mapping[str, str] | None = None
    elements: Mapping[str, tuple[str, ...]] | None = None
    about: Mapping[str, str] | None = None
    before: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    changes: tuple[str, ...] = ()
    formula: str = ""
    false: tuple[str, ...] = ()
    holding: tuple[str, ...] = ()

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
# What engines that prove say: of single obligations, of single steps, and of what happens in the end.

FRAME = "frame"
"""Of a step that leaves what an invariant says as it is: induction proves all these by one argument."""


@dataclass(frozen=True, slots=True)
class ObligationAnswer:
    """What an engine says of one obligation of one variant.

    Attributes:
        layer: the id of the threat model in whose layer it is, or nothing.
        obligation: its id, the same for all engines.
        outcome: ``proved``, ``refuted`` or ``unknown``, or ``frame`` where the engine has nothing to prove: the step
            leaves what the invariant says as it is.
        digest: of the first text that was asked, where engines share the text.
        reason: why it is unknown.
        core: names of hypotheses that suffice, where the engine says so.
    """

    layer: str
    obligation: str
    outcome: str
    digest: str = ""
    seconds: float = 0.0
    reason: str = ""
    core: tuple[str, ...] = ()

    @property
    def invariant(self) -> str:
        """The name of the invariant that the obligation is about."""
        return self.obligation.rpartition("/")[2].replace("%2F", "/").replace("%25", "%")


class StepProofs(ABC):
    """What is proved of single steps, from the axioms and the invariants of one protocol under one threat model."""

    @abstractmethod
    def kept(self, action: Action, invariants: Collection[str], first: str = "") -> Iterator[ObligationAnswer]:
        """Answer whether ``action`` keeps each of some invariants.

        Args:
            action: any action over the protocol's symbols, one that the protocol does not have too.
            invariants: the names of the invariants.
            first: a hypothesis; what is likely to need it comes first.
        """

    @abstractmethod
    def every(self, invariants: Collection[str], first: str = "") -> Iterator[ObligationAnswer]:
        """Answer every obligation of some invariants, those of the first state included, as :meth:`kept` does."""

    @abstractmethod
    def follows(self, given: Mapping[str, Term], goal: Term) -> ObligationAnswer:
        """Answer whether ``goal`` holds wherever the axioms, the invariants and what is ``given`` hold."""


@dataclass(frozen=True, slots=True)
class LivenessAnswer:
    """Whether a liveness property is proved: by whose fairness, from which axioms and lemmas, or why it is not.

    ``certified`` counts the conditions that certificates prove, and ``believed`` those of which a solver is believed
    where certificates prove what else there is.
    """

    fair: tuple[str, ...] = ()
    axioms: frozenset[str] = frozenset()
    lemmas: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    certified: int = 0
    believed: int = 0
    seconds: float = 0.0

    @property
    def proved(self) -> bool:
        """Whether it is proved."""
        return bool(self.fair)


# --------------------------------------------------------------------------------------------------
# What engines need from outside: libraries and programs, how each is recognised, and which version is there.


@dataclass(frozen=True, slots=True)
class Tool:
    """Something that Carnet can use: how it is recognised, what it is for, and how to get it."""

    name: str
    purpose: str
    get: str
    distributions: tuple[str, ...] = ()  # Python distributions that have to be installed, all of them
    programs: tuple[str, ...] = ()  # programs of which one has to be on the path
    elsewhere: Callable[[], str] = str
    """Finds a program that need not be on the path; returns nothing if there is none."""
    required: bool = False


def installed(distribution: str) -> str:
    """Return the version of a Python distribution."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "not installed"
