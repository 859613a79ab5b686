"""Composing answers about obligations into verdicts about claims: what is proved, from which lemmas, and what is open.

The invariants of a layer are proved together. A claim is proved if a set of invariants contains it, every obligation of
every member is proved, and every invariant in their cores is a member again. The general layer's invariants may be used
under every threat model, and are proved without any.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from carnet_check.engines.interface import Engine, EngineResult, LivenessAnswer, Plan, Task
from carnet_check.obligations import Layer, LivenessAttempt, Obligation
from carnet_check.results import Result, Verdict
from carnet_command.text import plural
from carnet_spec.language import Claim, GuardKind, Profile, Threat


class SolverOutcome(StrEnum):
    """The outcome of one obligation. Only ``proved`` is a proof; ``unknown`` never is."""

    PROVED = "proved"
    REFUTED = "refuted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class SolverAnswer:
    """The answer to one obligation."""

    id: str
    outcome: SolverOutcome
    core: tuple[str, ...] = ()  #: names of the hypotheses that the proof used; empty unless proved.
    seconds: float = 0.0
    attempt: int = -1  #: which attempt decided, from 0; -1 where no solver was needed.
    reason: str = ""  #: why the outcome is unknown.
    certified: bool = False  #: whether the kernel followed a certificate of it.
    units: int = 0  #: what all attempts took of the solver's own counter, if it has one.


SHOWN = 3  #: How many open obligations of a claim are named.
NOT_ASKED = SolverAnswer("", SolverOutcome.UNKNOWN, reason="not asked")
_Key = tuple[str | None, str]  #: A threat model, none for the general layer, and an invariant.


@dataclass(frozen=True, slots=True)
class _Member:
    """What the proofs of an invariant's obligations use, and which of these obligations are open."""

    core: frozenset[str]
    defences: frozenset[str]
    missing: tuple[str, ...]

    @property
    def invariants(self) -> frozenset[str]:
        return frozenset(name.removeprefix("inv:") for name in self.core if name.startswith("inv:"))


@dataclass(frozen=True)
class Composition:
    """The answers to obligations, by id, composed into verdicts about claims and lemmas."""

    layers: Sequence[Layer]
    obligations: Sequence[Obligation]
    answers: Mapping[str, SolverAnswer]
    #: The obligations of each invariant in each layer.
    _of: dict[_Key, list[Obligation]] = field(default_factory=dict, repr=False)
    #: What is known of each invariant in each layer: many claims rest on it.
    _members: dict[_Key, _Member] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        for each in self.obligations:
            self._of.setdefault((_of_threat(each.layer), each.invariant.name), []).append(each)

    def claim(self, claim: Claim, threat: Threat) -> ClaimProof:
        """Return whether ``claim`` is proved under ``threat``, and what the proof rests on."""
        invariant = claim.checked
        able = (each for each in self.layers if each.threat is None or each.threat.id == threat.id)
        layer = next((each for each in able if invariant in each.claims), None)
        if layer is None:
            return ClaimProof(claim.name, SolverOutcome.UNKNOWN, reason=f"not claimed under threat model {threat.id}")
        members = self._reached(invariant.name, threat.id)
        rest_on = [self._member(member, threat.id) for member in members]
        used = frozenset[str]().union(*(member.core for member in rest_on))
        axioms = {name.partition(":")[2] for name in used if name.startswith(("axiom:", "threat:"))}
        missing = tuple(id for member in rest_on for id in member.missing)
        own = self._of[self._key(invariant.name, threat.id)]
        answers = [self._answer(each) for member in members for each in self._of[self._key(member, threat.id)]]
        protocol = layer.protocol
        stated = {axiom.name: axiom.states for axiom in protocol.axioms}
        return ClaimProof(
            claim=claim.name,
            outcome=SolverOutcome.UNKNOWN if missing else SolverOutcome.PROVED,
            lemmas=tuple(member for member in members if member != invariant.name),
            assumptions=tuple(sorted({stated[name] for name in axioms if name in stated})),
            defences=tuple(sorted(frozenset[str]().union(*(member.defences for member in rest_on)))),
            axioms=tuple(sorted(axioms)),
            missing=missing,
            reason=self._why(missing),
            layer=_of_threat(layer) or "",
            satisfiable=tuple(each.id for each in own if self._answer(each).outcome is SolverOutcome.REFUTED),
            certified=sum(answer.certified for answer in answers),
        )

    def everywhere(self, invariants: Iterable[str]) -> tuple[frozenset[str], frozenset[str]] | None:
        """Return the invariants and the axioms that proofs of ``invariants`` rest on.

        None if some proof is missing, or needs the axioms of a threat model.
        """
        layer = next((each for each in self.layers if each.claims), self.layers[0])
        threat, wanted = _of_threat(layer) or "", set(invariants)
        if not wanted <= {each.name for each in layer.claims}:
            return None
        members = {member for name in wanted for member in self._reached(name, threat)}
        rest_on = [self._member(member, threat) for member in members]
        used = frozenset[str]().union(*(each.core for each in rest_on))
        if any(each.missing for each in rest_on) or any(name.startswith("threat:") for name in used):
            return None
        return frozenset(members), frozenset(name.partition(":")[2] for name in used if name.startswith("axiom:"))

    def _key(self, invariant: str, threat: str) -> _Key:
        general = None, invariant
        return general if general in self._of else (threat, invariant)

    def _member(self, invariant: str, threat: str) -> _Member:
        key = self._key(invariant, threat)
        if key not in self._members:
            needed = self._of[key]
            core = frozenset[str]().union(*(self._answer(each).core for each in needed))
            defences = frozenset[str]().union(*map(self._defences, needed))
            missing = (each.id for each in needed if self._answer(each).outcome is not SolverOutcome.PROVED)
            self._members[key] = _Member(core, defences, tuple(missing))
        return self._members[key]

    def _reached(self, invariant: str, threat: str) -> tuple[str, ...]:
        reached = {invariant}
        waiting = [invariant]
        while waiting:
            used = self._member(waiting.pop(), threat).invariants
            waiting += used - reached
            reached |= used
        return tuple(sorted(reached))

    def _answer(self, obligation: Obligation) -> SolverAnswer:
        return self.answers.get(obligation.id, NOT_ASKED)

    def _defences(self, obligation: Obligation) -> set[str]:
        """Return the defences whose guards were used, or whose updates are in what was proved.

        What a step changes stands in the goal itself, so no core says whether it was needed.
        """
        action = obligation.action
        if action is None or obligation.skipped:
            return set()
        core = self._answer(obligation).core
        drawn = any(name.startswith("fresh:") for name in core)
        used = [
            guard.defence
            for guard in action.guards
            if f"guard:{guard.name}" in core or (drawn and guard.kind is GuardKind.FRESH)
        ]
        read = obligation.statement.symbols
        used += [update.defence for update in action.updates if update.symbol.name in read]
        return {defence for defence in used if defence}

    def _why(self, missing: Sequence[str]) -> str:
        """Say which obligations are open and why, the satisfiable ones first."""
        if not missing:
            return ""
        found = sorted((self.answers.get(id, NOT_ASKED).outcome is not SolverOutcome.REFUTED, id) for id in missing)
        told = [f"{id} ({self.answers.get(id, NOT_ASKED).reason if unsure else 'satisfiable'})" for unsure, id in found]
        more = ", …" if len(told) > SHOWN else ""
        return f"{plural(len(told), 'obligation')} open: {', '.join(told[:SHOWN])}{more}"


def _of_threat(layer: Layer) -> str | None:
    """Return the threat model that a layer is proved under; the general layer has none, not one without a name."""
    return layer.threat.id if layer.threat else None


def liveness_of(
    composition: Composition,
    properties: Mapping[str, Sequence[LivenessAttempt]],
    accepted: Mapping[str, Sequence[str]],
) -> dict[str, LivenessAnswer]:
    """Return the liveness properties whose conditions are all proved for some stages, with the lemmas used.

    Args:
        composition: what is proved of invariants.
        properties: what may be proved of each property.
        accepted: the hypotheses that accepted certificates use, by the ids of conditions.
    """
    tried = ((name, _proved(composition, every, accepted)) for name, every in properties.items())
    return {name: answer for name, answer in tried if answer}


def _proved(
    composition: Composition, tried: Iterable[LivenessAttempt], accepted: Mapping[str, Sequence[str]]
) -> LivenessAnswer | None:
    for attempt in tried:
        ids = [each.id for each in attempt.obligations]
        if not accepted.keys() >= {*ids}:
            continue
        used = {name for id in ids for name in accepted[id]}
        lemmas = composition.everywhere(name.removeprefix("inv:") for name in used if name.startswith("inv:"))
        if lemmas is not None:
            axioms = {name.removeprefix("axiom:") for name in used if name.startswith("axiom:")}
            names, more = lemmas
            return LivenessAnswer(attempt.stages, more | axioms, tuple(sorted(names)), certified=len(ids))
    return None


@dataclass(frozen=True, slots=True)
class ClaimProof:
    """The result of an induction for one claim."""

    claim: str
    outcome: SolverOutcome  #: ``proved``, or ``unknown``: a failed induction refutes no claim.
    lemmas: tuple[str, ...] = ()  #: the invariants, other claims among them, that the proof rests on.
    assumptions: tuple[str, ...] = ()  #: ids of the assumptions that it used.
    #: ids of the defences whose guards or updates it used; where no core tells of updates, all it could use.
    defences: tuple[str, ...] = ()
    axioms: tuple[str, ...] = ()  #: names of the axioms that it used, those of the threat model included.
    missing: tuple[str, ...] = ()  #: obligations that were not proved.
    reason: str = ""  #: why there is no proof, where no obligation says so.
    layer: str = ""  #: the threat model whose axioms could be used; without one, the proof is good under all.
    #: obligations of the claim itself that were refuted, whatever else is assumed to hold before.
    satisfiable: tuple[str, ...] = ()
    #: how many of the obligations that it rests on certificates prove, where certificates come first.
    certified: int = 0
    asked: int = 0  #: how many of them a solver answered then.

    @property
    def is_proved(self) -> bool:
        """Whether the claim is proved."""
        return self.outcome is SolverOutcome.PROVED


class Unbounded(Engine):
    """The base class of engines that prove claims for instances of any size; a claim without a proof is UNKNOWN."""

    verdicts: ClassVar = (Verdict.PROVED,)

    def expected_verdict(self, profile: Profile) -> Verdict:
        """Return PROVED: an unbounded engine is expected to prove every claim, whatever the profile."""
        return Verdict.PROVED

    def strength(self, task: Task, outcome: EngineResult) -> tuple[str, ...]:
        """Return the words for the strength of the proofs, and for their kind if a solver did not make all."""
        told = ", ".join(f"{number:,} {what}" for what, number in outcome.proofs.items())
        return (f"{self.name}: unbounded{told and f' ({told})'}",)

    def row(self, task: Task, plan: Plan, proof: ClaimProof, threat: Threat, seconds: float, detail: str) -> Result:
        """Return the result row of a claim, with the lemmas, assumptions and defences that its proof rests on."""
        return Result(
            protocol=task.source.family.id,
            variant=plan.protocol.variant,
            claim=proof.claim,
            threat=threat.id,
            engine=self.name,
            verdict=Verdict.PROVED if proof.is_proved else Verdict.UNKNOWN,
            expected=self.expected_verdict(task.profile),
            detail=detail,
            seconds=seconds,
            assumptions=plan.protocol.resting_on(proof.assumptions),
            defences=proof.defences,
            lemmas=proof.lemmas,
        )
