"""A campaign: every mutant of a family's variants judged by worker processes, and pairs where one alone is no change.

Proofs come first; what survives them is judged by scenarios of the original, and what survives these by attacks on
weakened designs. A worker that is lost takes its mutant alone along: that one is unknown, and asked again by the next
campaign. So is what another worker could not look at, for every mutant that is not killed without it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from carnet_check.errors import EngineError, InvalidSpecificationError
from carnet_check.loading.families import Source, load
from carnet_check.mutation.judging import Fate, Judge, Judgement, Known
from carnet_check.mutation.mutant import Mutant
from carnet_check.mutation.operators import mutants
from carnet_check.mutation.pairs import pairs_of, telling_pairs
from carnet_check.mutation.places import Place
from carnet_check.mutation.recording import Record
from carnet_check.mutation.scenarios import Scenario, places, scenario, telling
from carnet_check.mutation.weaknesses import Weakened, Weakness, weakened, weaknesses
from carnet_check.mutation.written import (
    judgement_as_json,
    judgement_from_json,
    scenario_as_json,
    scenario_from_json,
    weaknesses_as_json,
    weaknesses_from_json,
)
from carnet_command.worker import Lost
from carnet_command.workers import WorkerPool, only
from carnet_spec.language import Action

PATIENCE = 900.0
"""Seconds after which a worker counts as stuck: the hardest mutant takes a minute."""
MEMORY = 6 << 30
"""Bytes of address space of a worker, which explores and asks a solver."""

NOTHING = Known()
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Request:
    """What to judge: variants by name, threat models or all, and how far to go."""

    source: Source
    variants: tuple[str, ...]
    threats: tuple[str, ...] = ()
    hunting: bool = False
    pairs: bool = False
    only: tuple[str, ...] = ()
    """The beginnings of the names of mutants to judge; empty: all."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The mutants and what became of each, pairs last."""

    mutants: tuple[Mutant, ...]
    judgements: tuple[Judgement, ...]
    pairs: tuple[tuple[Mutant, Judgement], ...] = ()


def listed(request: Request) -> tuple[Mutant, ...]:
    """Return the mutants of a campaign, variant by variant; what variants share is changed once."""
    found: list[Mutant] = []
    beside: list[Action] = []
    axioms: set[str] = set()
    for name in request.variants:
        protocol = request.source.sound(name)
        found += mutants(protocol, beside, axioms)
        beside += protocol.actions
        axioms.update(axiom.name for axiom in protocol.axioms)
        axioms.update(f"{threat.id}/{axiom.name}" for threat in protocol.threats for axiom in threat.axioms)
    if not request.only:
        return tuple(found)
    return tuple(each for each in found if each.name.startswith(request.only))


def run(request: Request, every: Sequence[Mutant], record: Record, jobs: int, say: Say) -> Outcome:
    """Judge all mutants.

    Raises:
        InvalidSpecificationError: something is not proved of the original, from which every judgement follows.
        EngineError: nobody could ask whether it is, or the interpreter does not confirm what an engine found.
    """
    with WorkerPool(jobs, patience=PATIENCE, memory=MEMORY) as pool:
        work = _Campaign(request, record, pool, say)
        work.require_proved(dict.fromkeys(mutant.variant for mutant in every))
        judged = work.judged(every, "mutant")
        pairs = pairs_of(every, judged, request.source) if request.pairs else ()
        told = zip(pairs, work.judged(pairs, "pair"), strict=True)
        return Outcome(tuple(every), judged, telling_pairs(every, judged, told))


@dataclass(frozen=True)
class _Campaign:
    request: Request
    record: Record
    pool: WorkerPool
    say: Say

    def require_proved(self, variants: Iterable[str]) -> None:
        """Refuse to judge mutants of what is not proved."""
        request = self.request
        parts = [_Original(request.source.reference, name, request.threats) for name in variants]
        waiting = [part for part in parts if ("original", part.key) not in self.record]
        for part, answer in self.pool.results(_unproved, waiting, only):
            if isinstance(answer, Lost):
                raise EngineError(f"{part.key}: nobody could ask whether all is proved of it ({answer.reason})")
            if answer:
                raise InvalidSpecificationError(
                    f"{part.key}: {answer}; its mutants are judged by what is proved of it, so prove it first"
                )
            self.record.keep("original", part.key, {})

    def judged(self, every: Sequence[Mutant], what: str) -> tuple[Judgement, ...]:
        """Judge mutants, and those that survive again: by what scenarios show, and by attacks that they may stop."""
        if not every:
            return ()
        found = self._answers(f"{what}s judged", what, [self._part(each) for each in every])
        for stage, of in (("scenarios", self._scenarios), ("attacks", self._attacks)):
            kept = {mutant.key for mutant in every if (what, mutant.key) in self.record}
            open_ = [each for each in every if each.key in kept and self._is_open(each, found[each.key])]
            known = {name: of(name) for name in dict.fromkeys(mutant.variant for mutant in open_)}
            parts = [self._part(each, known[each.variant], found[each.key]) for each in open_]
            what = f"{what}, {stage}"
            found |= self._answers(f"survivors judged by {stage}", what, parts)
        return tuple(found[each.key] for each in every)

    def _is_open(self, mutant: Mutant, judgement: Judgement) -> bool:
        return mutant.action is not None and judgement.fate in (Fate.SURVIVED, Fate.UNKNOWN)

    def _part(self, mutant: Mutant, known: Known = NOTHING, earlier: Judgement | None = None) -> _Part:
        request = self.request
        return _Part(request.source.reference, mutant, request.threats, request.hunting, known, earlier)

    def _answers(self, told: str, kind: str, parts: Sequence[_Part]) -> dict[str, Judgement]:
        found = {
            part.key: judgement_from_json(self.record.known(kind, part.key))
            for part in parts
            if (kind, part.key) in self.record
        }
        waiting = [part for part in parts if part.key not in found]
        for part, answer in self.pool.results(_judge, waiting, only):
            if isinstance(answer, Lost):
                found[part.key] = Judgement(part.key, Fate.UNKNOWN, evidence=answer.reason)
                continue
            found[part.key] = answer
            if answer.fate is not Fate.UNKNOWN or not part.known.missing:
                self.record.keep(kind, part.key, judgement_as_json(answer))
            self.say(f"{len(found):,} of {len(parts):,} {told}")
        return found

    # -- what is known of the original ------------------------------------------------------------

    def _scenarios(self, variant: str) -> Known:
        source = self.request.source
        asked = {each.words: each for each in places(source, variant, self.request.threats)}
        parts = [_Look(source.reference, f"{variant}: {words}", each) for words, each in asked.items()]
        found, missing = self._looked(f"{variant}: scenarios explored", "scenario", parts, scenario_as_json)
        return Known(scenarios=telling(scenario_from_json(each) for each in found if each), missing=missing)

    def _attacks(self, variant: str) -> Known:
        source, threats = self.request.source, self.request.threats
        parts = [_Look(source.reference, f"{each.words}: {each.threat}", each) for each in weakened(source, variant)]
        said = f"{variant}: weakened designs attacked"
        found, missing = self._looked(said, "weaknesses", parts, weaknesses_as_json)
        known = (each for some in found if some for each in weaknesses_from_json(some))
        asked = tuple(each for each in known if not threats or each.place.threat in threats)
        return Known(weaknesses=asked, missing=missing)

    def _looked(
        self, told: str, kind: str, parts: Sequence[_Look], write: Callable[[Any], dict[str, Any]]
    ) -> tuple[list[Any], tuple[str, ...]]:
        """Look, and return what was found, and where nobody could look."""
        waiting = [part for part in parts if (kind, part.key) not in self.record]
        done, missing = len(parts) - len(waiting), list[str]()
        for part, answer in self.pool.results(_look, waiting, only):
            if isinstance(answer, Lost):
                missing.append(f"{part.key} ({answer.reason})")
            else:
                self.record.keep(kind, part.key, None if answer.found is None else write(answer.found))
            done += 1
            self.say(f"{done} of {len(parts)} {told}")
        return [self.record.known(kind, part.key) for part in parts if (kind, part.key) in self.record], tuple(missing)


# -- in a worker ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Part:
    reference: str
    mutant: Mutant
    threats: tuple[str, ...]
    hunting: bool
    known: Known
    earlier: Judgement | None

    @property
    def key(self) -> str:
        return self.mutant.key


@dataclass(frozen=True, slots=True)
class _Look:
    reference: str
    key: str
    where: Place | Weakened


@dataclass(frozen=True, slots=True)
class _Original:
    reference: str
    variant: str
    threats: tuple[str, ...]

    @property
    def key(self) -> str:
        return self.variant


@dataclass(frozen=True, slots=True)
class _Seen:
    found: Scenario | tuple[Weakness, ...] | None


@functools.lru_cache(maxsize=8)
def _judging(reference: str, variant: str, threats: tuple[str, ...], hunting: bool) -> Judge:
    return Judge(load(reference), variant, threats, hunting=hunting)


def _unproved(part: _Original) -> Iterator[str]:
    yield _judging(part.reference, part.variant, part.threats, hunting=False).unproved()


def _judge(part: _Part) -> Iterator[Judgement]:
    judge = _judging(part.reference, part.mutant.variant, part.threats, part.hunting)
    if part.earlier is None:
        yield judge.judged(part.mutant)
    else:
        yield judge.judged_further(part.mutant, part.earlier, part.known)


def _look(part: _Look) -> Iterator[_Seen]:
    source = load(part.reference)
    yield _Seen(scenario(source, part.where) if isinstance(part.where, Place) else weaknesses(source, part.where))
