"""Judging one mutant, with cheap methods first.

A mutant is refused if a lint for soundness refuses it, as no verdict on it would have a meaning. It is killed if an
obligation of the induction is refuted, if a goal or a step is lost, or if an attack on a weakened design is lost. It is
equivalent if it takes the same steps as the original in every state that the invariants allow, or if it drops an axiom
that no proof needs. It is stronger if it only lets the environment or the adversary do more, and everything is still
proved; no check can kill such a mutant, because its proof implies that of the original. Otherwise it survives. If a
budget leaves an obligation open, an attack in a small instance kills the mutant; without one the mutant is unknown,
which is none of these.
"""

import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from carnet_check.engines.interface import FRAME, ObligationAnswer, ProvesSteps, StepProofs
from carnet_check.engines.registry import able
from carnet_check.loading.families import Source
from carnet_check.mutation.equivalence import PROVED, Difference, StepEquivalence, step_equivalence, under_every_threat
from carnet_check.mutation.operators import Mutant, refusal
from carnet_check.mutation.scenarios import MOST_STATES, Place, Scenario, explore_place, lost_scenarios, places
from carnet_check.mutation.weaknesses import Designs, Weakness, defeated_attacks
from carnet_check.obligations import layers
from carnet_check.obligations.reading import Language, language_of
from carnet_command.text import plural
from carnet_spec.language import GuardKind, Protocol, SpecificationError, Threat

REFUTED = "refuted"
#: Units of the solver's counter for each obligation; an undecided one is tried again with its own budget.
FIRST_BUDGET = 5_000_000


class MutantStatus(StrEnum):
    """The possible judgements on a mutant."""

    KILLED = "killed"
    EQUIVALENT = "equivalent"
    STRONGER = "stronger"
    SURVIVED = "survived"
    UNKNOWN = "unknown"
    REFUSED = "refused"


class KilledBy(StrEnum):
    """The checks that kill a mutant."""

    ATTACK = "attack"
    PROOF = "failed proof"
    GOAL = "lost goal"
    LOST_ATTACK = "lost attack"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement on one mutant."""

    key: str  #: the key of the mutant.
    fate: MutantStatus
    by: str = ""  #: the check that killed it.
    evidence: str = ""  #: what shows the judgement, in words.
    #: for an equivalent mutant, the names of the hypotheses from which the equivalence follows.
    core: tuple[str, ...] = ()
    seconds: float = 0.0  #: how long judging took.
    #: for a failed proof, the invariant that is not preserved; it is tried first when the specification changes.
    refuted: str = ""


@dataclass(frozen=True, slots=True)
class OriginalFacts:
    """Baseline from the unmutated specification: a variant's scenarios, or the attacks on weakened designs."""

    scenarios: tuple[Scenario, ...] = ()
    weaknesses: tuple[Weakness, ...] = ()
    missing: tuple[str, ...] = ()  #: The places that were not explored, because a worker was lost.


@dataclass
class Judge:
    """Judges the mutants of one variant."""

    source: Source
    variant: str
    threats: tuple[str, ...] = ()  #: The threat models to judge under; empty: all those of the variant's claims.
    hunting: bool = False  #: Whether to look for an attack if a proof fails.

    def __post_init__(self) -> None:
        self.protocol: Protocol = self.source.protocol(self.variant)
        self._designs = Designs(self.source)
        self._language: Language = language_of(self.protocol)
        self._proved_in = _layers(self.protocol, self.threats)
        asked = self._proved_in if self.threats else [None]
        self._proofs: list[StepProofs] = [able(ProvesSteps).step_proofs(self.protocol, each) for each in asked]

    def unproved_original(self) -> str:
        """Return what is not proved of the original; empty if all is, which every judgement presupposes."""
        engine = able(ProvesSteps)
        for threat, invariants in self._proved_in.items():
            for answer in engine.step_proofs(self.protocol, threat).every(invariants):
                if answer.outcome not in (PROVED, FRAME):
                    return f"{answer.obligation}{_under(answer)} is not proved"
        return ""

    def judge(self, mutant: Mutant, earlier: Judgement | None = None) -> Judgement:
        """Judge a mutant by proofs.

        Args:
            mutant: the mutant.
            earlier: the judgement before the specification changed; its evidence is tried first.
        """
        began = time.perf_counter()
        try:
            found = self._judged(mutant, earlier)
        except SpecificationError as error:
            found = Judgement(mutant.key, MutantStatus.REFUSED, evidence=str(error))
        return replace(found, seconds=round(time.perf_counter() - began, 3))

    def judged_further(self, mutant: Mutant, earlier: Judgement, known: OriginalFacts) -> Judgement:
        """Judge a mutant that proofs did not kill, by the scenarios or attacks of ``known`` that it may lose."""
        began = time.perf_counter()
        found = _first_lost(earlier, *self._losses(mutant, known), known.missing)
        return replace(found, seconds=round(earlier.seconds + time.perf_counter() - began, 3))

    def _losses(self, mutant: Mutant, known: OriginalFacts) -> tuple[KilledBy, Iterator[tuple[str, bool]]]:
        assert mutant.action is not None
        if known.weaknesses:
            return KilledBy.LOST_ATTACK, defeated_attacks(self._designs, mutant, self.protocol, known.weaknesses)
        return KilledBy.GOAL, lost_scenarios(self.source, mutant.of(self.protocol), known.scenarios, mutant.action.name)

    def _judged(self, mutant: Mutant, earlier: Judgement | None) -> Judgement:
        if why := refusal(mutant.of(self.protocol)):
            return Judgement(mutant.key, MutantStatus.REFUSED, evidence=why)
        if earlier and earlier.refuted:
            failing, _ = self._unproved(mutant, {earlier.refuted})
            if failing:
                return self._killed(mutant, failing)
        same = self._same_steps(mutant) if earlier and earlier.fate is MutantStatus.EQUIVALENT else None
        if same and same.is_proved:  # it preserves the same invariants as the original
            return _equivalent(mutant, same)
        failing, open_ = self._unproved(mutant)
        if failing:
            return self._killed(mutant, failing)
        same = same or self._same_steps(mutant)
        if same and same.is_proved:
            return _equivalent(mutant, same)
        if open_:
            fallen = self._fallen(mutant, places(self.source, self.variant, self.threats))
            return fallen or Judgement(mutant.key, MutantStatus.UNKNOWN, evidence=open_)
        if same is None:
            return Judgement(mutant.key, MutantStatus.EQUIVALENT, evidence="not needed: all is proved without it")
        stronger = same.differs == (Difference.MORE,) and self._is_of_the_world(mutant)
        said = f"everything is proved; the action {' and '.join(same.differs)}"
        return Judgement(mutant.key, MutantStatus.STRONGER if stronger else MutantStatus.SURVIVED, evidence=said)

    def _same_steps(self, mutant: Mutant) -> StepEquivalence | None:
        """Return whether the changed action takes the same steps; None if no action is changed."""
        if mutant.action is None:
            return None
        before = self.protocol.action(mutant.action.name)
        return under_every_threat(
            step_equivalence(proofs, self._language, before, mutant.action) for proofs in self._proofs
        )

    def _is_of_the_world(self, mutant: Mutant) -> bool:
        """Return whether the changed guard is no check by an honest party."""
        assert mutant.action is not None
        action = self.protocol.action(mutant.action.name)
        changed = [guard for guard in action.guards if f"guard:{guard.name}" in mutant.parts]
        return not action.by.honest or all(guard.kind in (GuardKind.GIVEN, GuardKind.ACTOR) for guard in changed)

    # -- proofs -----------------------------------------------------------------------------------

    def _unproved(self, mutant: Mutant, only: Collection[str] = ()) -> tuple[ObligationAnswer | None, str]:
        """Return the first refuted obligation or None, and which obligations are undecided with the full budget.

        Args:
            mutant: the mutant.
            only: the names of the invariants to ask about; empty: all.
        """
        unsure: list[str] = []
        for threat, proved in self._proved_in.items():
            if mutant.threat and (threat is None or threat.id != mutant.threat):
                continue
            for answer in self._answers(mutant, threat, proved.intersection(only) if only else proved):
                if answer.outcome == REFUTED:
                    return answer, ""
                if answer.outcome != PROVED:
                    unsure.append(f"{answer.obligation} is not decided ({answer.reason})")
        return None, "; ".join(unsure)

    def _answers(
        self, mutant: Mutant, threat: Threat | None, invariants: Collection[str]
    ) -> Iterator[ObligationAnswer]:
        """Answer the obligations that the mutant changes: with a small budget first, the undecided ones in full."""
        engine, open_ = able(ProvesSteps), set()
        for answer in self._engine_answers(engine.with_limit(FIRST_BUDGET), mutant, threat, invariants):
            if answer.outcome in (PROVED, REFUTED):
                yield answer
            else:
                open_.add(answer.invariant)
        if open_:
            yield from self._engine_answers(engine, mutant, threat, open_)

    def _engine_answers(
        self, engine: ProvesSteps, mutant: Mutant, threat: Threat | None, invariants: Collection[str]
    ) -> Iterator[ObligationAnswer]:
        (part, *_) = mutant.parts
        if mutant.action is not None:
            return engine.step_proofs(self.protocol, threat).preservation_answers(mutant.action, invariants, part)
        mutated = mutant.of(self.protocol)
        model = mutated.threat(threat.id) if threat else None
        return engine.step_proofs(mutated, model).every(invariants, part)

    # -- attacks ----------------------------------------------------------------------------------

    def _killed(self, mutant: Mutant, failing: ObligationAnswer) -> Judgement:
        """Return the judgement for a failed proof, or for an attack in the smallest size if one is looked for."""
        said = f"{failing.obligation}{_under(failing)} is refuted"
        killed = Judgement(mutant.key, MutantStatus.KILLED, KilledBy.PROOF, said, refuted=failing.invariant)
        smallest = places(self.source, self.variant, self.threats)[:1] if self.hunting else ()
        fallen = self._fallen(mutant, smallest)
        return replace(fallen, refuted=failing.invariant) if fallen else killed

    def _fallen(self, mutant: Mutant, where: Iterable[Place]) -> Judgement | None:
        """Return the judgement that a claim is violated in one of these places; None if no exploration finds that."""
        mutated = mutant.of(self.protocol)
        for place in where:
            claims = [claim for claim in mutated.claims if claim.invariant and place.threat in claim.under]
            found = explore_place(self.source, mutated, place, claims, (), MOST_STATES, stop_at_first=True)
            for name, trace in found.violations.items():
                told = f"{name} is violated in {plural(len(trace.steps), 'step')}, in {place.words}"
                return Judgement(mutant.key, MutantStatus.KILLED, KilledBy.ATTACK, told)
        return None


def _equivalent(mutant: Mutant, same: StepEquivalence) -> Judgement:
    return Judgement(mutant.key, MutantStatus.EQUIVALENT, evidence="the same steps", core=same.core)


def _first_lost(
    earlier: Judgement, by: KilledBy, losses: Iterable[tuple[str, bool]], missing: Collection[str] = ()
) -> Judgement:
    """Return the judgement for the first loss, established or possible; the earlier judgement if there is none."""
    unsure = [earlier.evidence] if earlier.fate is MutantStatus.UNKNOWN else []
    unsure += [f"{where} could not be explored" for where in missing]
    for what, established in losses:
        if established:
            return Judgement(earlier.key, MutantStatus.KILLED, by, f"lost: {what}")
        unsure.append(f"perhaps lost: {what}")
    return Judgement(earlier.key, MutantStatus.UNKNOWN, evidence="; ".join(unsure)) if unsure else earlier


def _layers(protocol: Protocol, threats: tuple[str, ...]) -> dict[Threat | None, frozenset[str]]:
    """Return the invariants to prove without a threat model and under each one, or under each of ``threats``."""
    found = {layer.threat: frozenset(each.name for each in layer.claims) for layer in layers(protocol)}
    if not threats:
        return found
    asked = [protocol.threat(id) for id in threats]
    return {threat: found[None] | found.get(threat, frozenset()) for threat in asked}


def _under(answer: ObligationAnswer) -> str:
    return f" under {answer.layer}" if answer.layer else ""
