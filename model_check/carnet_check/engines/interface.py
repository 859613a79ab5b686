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
from typing import ClassVar, Self

from carnet_check.engines.exploration import NO_CAPS, Caps, Coverage, Exploration
from carnet_check.engines.obligation_answers import LivenessAnswer, ObligationAnswer, StepProofs
from carnet_check.engines.possibilities import Possibilities
from carnet_check.engines.runner import HERE, Listener, Portion, Runner, Shard
from carnet_check.engines.standings import Cti, Standing
from carnet_check.engines.tools import Tool, installed
from carnet_check.exports.exhaustion import Visited
from carnet_check.loading.families import Source
from carnet_check.results import Result, Verdict
from carnet_spec.language import Claim, Eventually, Goal, Instance, Invariant, Profile, Threat
from carnet_spec.language import Protocol as Specification
from carnet_spec.language.terms import Term

# -- what is asked, and what is answered ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Plan:
    """One variant's share of a task, checked and spelled out."""

    protocol: Specification
    label: str
    threats: tuple[Threat, ...]
    pairs: tuple[tuple[Claim, Threat], ...]
    expected_to_fall: frozenset[tuple[str, str]]
    every_threat: bool
    liveness: tuple[Eventually, ...] = ()
    """What should happen in the end, under every threat model of the plan."""
    proved: tuple[str, ...] = ()
    """What happens in the end, as another engine proved for any size: only whether anything waits is looked at."""

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
    runner: Runner = HERE
    limits: Caps = NO_CAPS

    @property
    def jobs(self) -> int:
        """How many worker processes there may be."""
        return self.runner.jobs

    def plan(self, variant: str) -> Plan:
        """Return the plan of a variant."""
        return next(plan for plan in self.plans if plan.protocol.variant == variant)


@dataclass(frozen=True, slots=True)
class Basis:
    """What a row of an engine that proves rests on, so that engines can be held against one another.

    Attributes:
        layer: the id of the threat model whose axioms a proof may use, or nothing: it uses none.
        satisfiable: obligations of the claim that cannot be proved in that layer, because they do not hold.
    """

    layer: str = ""
    satisfiable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an engine answers: rows, what it explored if it did, and remarks for the end of the run.

    ``bases`` says of rows, by their keys, what they rest on; ``standings`` how it stands with each invariant;
    ``liveness`` what could be proved of each liveness property, by variant and name.
    """

    engine: str
    rows: tuple[Result, ...] = ()
    searches: tuple[Coverage, ...] = ()
    notes: tuple[str, ...] = ()
    bases: Mapping[tuple[str, str, str, str, str], Basis] = field(default_factory=dict)
    standings: tuple[Standing, ...] = ()
    liveness: Mapping[tuple[str, str], LivenessAnswer] = field(default_factory=dict)


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
    def run(self, task: Task, listener: Listener) -> Outcome:
        """Judge what ``task`` asks for; a claim that cannot be judged within the budget is UNKNOWN."""

    @abstractmethod
    def limited(self, most: int) -> Self:
        """Return the same engine with a budget of ``most`` units of its own work."""

    @abstractmethod
    def expected(self, profile: Profile) -> Verdict:
        """Return the verdict on a claim that holds, at the sizes of a profile."""

    @abstractmethod
    def intention(self, task: Task) -> str:
        """Say what the engine is going to do."""

    @abstractmethod
    def strength(self, task: Task, outcome: Outcome) -> tuple[str, ...]:
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


class Begins(Engine):
    """Can begin with a task, and go on with it in other processes while this one asks other engines."""

    @abstractmethod
    def begun(self, task: Task) -> AbstractContextManager[Self]:
        """Return the same engine, which has begun with ``task`` and goes on while the block lasts.

        It answers as it would without that, whatever task it is asked to run in the end.
        """


class Shares(Engine):
    """Can do one part of its work by itself and leave the answers in a cache."""

    @abstractmethod
    def share(self, task: Task, shard: Shard, listener: Listener) -> Portion:
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
        protocol: Specification,
        instance: Instance,
        *,
        invariants: Sequence[Invariant],
        goals: Sequence[Goal] = (),
        caps: Caps = Caps(),  # noqa: B008 # it is immutable
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
        protocol: Specification,
        instance: Instance,
        *,
        liveness: Sequence[Eventually],
        caps: Caps = Caps(),  # noqa: B008 # it is immutable
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


class Remembers(Explores):
    """Hands out the states that it visited, so that they can be checked."""

    @abstractmethod
    def visited(
        self, protocol: Specification, instance: Instance, invariants: Sequence[Invariant], goals: Sequence[Goal]
    ) -> Visited:
        """Visit every state that matters to these invariants and goals, whichever unused elements are drawn."""


class ProvesLiveness(Engine):
    """Proves that something happens in the end."""

    @abstractmethod
    def liveness(self, protocol: Specification, live: Eventually) -> LivenessAnswer:
        """Try to prove ``live``, for instances of any size and under every threat model."""


class DecidesPossibility(Engine):
    """Finds out that something can never happen, in no instance."""

    @abstractmethod
    def possibilities(
        self, protocol: Specification, threat: Threat | None, known: Mapping[str, Term], runner: Runner
    ) -> Possibilities:
        """Return what answers questions; ``known`` are formulas that are proved to hold in every reachable state.

        Where the engine lacks what it needs, that is :class:`Unsure`.
        """


class Diagnoses(Engine):
    """Says how each invariant stands that its proofs use, and shows the states, called so, from which a proof fails."""

    shows: ClassVar[str]

    @abstractmethod
    def counterexamples(self, source: Source, standing: Standing, most: int) -> Iterator[Cti]:
        """Yield a small state for each of the first ``most`` obligations of an invariant that do not hold."""


class RemembersProofs(Engine):
    """Remembers which hypotheses sufficed for its proofs, so that others need not look for them."""

    @abstractmethod
    def remembered(self, protocol: Specification) -> Mapping[str, tuple[str, ...]]:
        """Return the names of hypotheses by the ids of obligations, without a threat model; ``carnet certify`` asks."""


class ProvesWeakened(Engine):
    """Proves claims of a protocol from which something was removed, with the lemmas that still hold."""

    @abstractmethod
    def unproved(
        self,
        protocol: Specification,
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
    verifies: tuple[str, ...]
    """The requirements that it states."""
    failure: Callable[[], str]
    """Asks it, and returns why it is not proved, or nothing."""


class Separable(Engine):
    """Has obligations that can be asked one at a time."""

    @abstractmethod
    def checks(self, plan: Plan) -> Iterator[Check]:
        """Yield every obligation of a variant."""


class ProvesSteps(Engine):
    """Proves steps one by one, those of changed actions too."""

    @abstractmethod
    def step_proofs(self, protocol: Specification, threat: Threat | None) -> StepProofs:
        """Return what answers questions about a protocol under a threat model; without one, under all."""


class ComparesFormulas(Engine):
    """Says of formulas alone, without a protocol, whether they can be true together."""

    @abstractmethod
    def contradictory(self, formulas: Mapping[str, Term]) -> bool | None:
        """Whether the named formulas contradict one another, whatever there is of each sort; ``None`` if unknown."""


class AnswersObligations(Engine):
    """Proves claims obligation by obligation, so that its answers can be compared with others' one by one."""

    @abstractmethod
    def obligation_answers(self, source: Source, protocol: Specification, jobs: int) -> Iterator[ObligationAnswer]:
        """Answer every obligation of every layer of a variant."""

    @abstractmethod
    def version(self) -> str:
        """Return the name and the version of whatever answers."""
