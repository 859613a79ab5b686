"""Weaknesses: attacks on the protocol with a defence removed, and on designs known to be weak.

An adversary that a mutant makes weaker breaks no claim. What notices it is an attack that is found no more: a weakened
design on which the mutant's adversary fails, although the original's succeeds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from carnet_check.attacks.hunt import AttackTarget, attack_target
from carnet_check.attacks.minimise import minimise
from carnet_check.errors import UsageError
from carnet_check.loading.families import Source
from carnet_check.mutation.mutant import Mutant
from carnet_check.mutation.scenarios import Place, explored
from carnet_check.semantics import Interpreter, NotEnabled
from carnet_spec.language import Protocol
from carnet_spec.trace import Trace

MOST_STATES = 60_000
"""An attack that takes a larger search is not looked for."""
OF_EACH_CLAIM = 2
"""How many attacks on a claim are tried again, the shortest first."""


@dataclass(frozen=True, slots=True)
class Weakened:
    """A design to attack: a variant, what is removed from it, a threat model, and a claim, or any."""

    variant: str
    without: tuple[str, ...]
    threat: str
    claim: str = ""

    @property
    def words(self) -> str:
        """The design in words."""
        return self.variant + (f" without {', '.join(self.without)}" if self.without else "")


@dataclass(frozen=True, slots=True)
class Weakness:
    """A minimal attack on a weakened design."""

    weakened: Weakened
    place: Place
    claim: str
    trace: Trace

    @property
    def actions(self) -> frozenset[str]:
        """The actions that are taken in it."""
        return frozenset(step.action for step in self.trace.steps)


def weakened(source: Source, variant: str) -> tuple[Weakened, ...]:
    """Return the designs to attack: those of known findings, and the variant without each defence that is meant for it.

    Every other defence is removed from the first main variant.
    """
    family, protocol = source.family, source.protocol(variant)
    first = family.main[0]
    known = [Weakened(each.variant or first, each.without, each.threat, each.claim) for each in family.findings]
    own = (each for each in protocol.defences if (each.base or first) == variant)
    removed = [each for each in own if each.id not in protocol.without]
    known += [Weakened(variant, (each.id,), "") for each in removed]
    return tuple(dict.fromkeys(known))


def weakness(source: Source, where: Weakened) -> Weakness | None:
    """Look for an attack on a design, in small sizes; nothing if none is found there."""
    try:
        target = _target(source, where)
    except UsageError:
        return None
    for size in source.family.sizes_to_hunt(where.variant):
        place = Place(where.variant, size, target.threat.id)
        found = _attack(source, target.protocol, place, target.claims)
        if found is not None:
            return Weakness(where, place, *found)
    return None


def _target(source: Source, where: Weakened) -> AttackTarget:
    return attack_target(source, variant=where.variant, without=where.without, threat=where.threat, claim=where.claim)


def _attack(source: Source, protocol: Protocol, place: Place, claims: Collection[str]) -> tuple[str, Trace] | None:
    named = [protocol.claim(name) for name in claims]
    found = explored(source, protocol, place, named, (), MOST_STATES)
    for claim in named:
        trace = found.violations.get(claim.checked.name)
        if trace is not None:
            judge = Interpreter(protocol, place.instance(source, protocol))
            return claim.name, minimise(judge, claim.checked, trace)
    return None


# -- what a mutant loses --------------------------------------------------------------------------


def defeated(
    source: Source, mutant: Mutant, original: Protocol, known: Collection[Weakness]
) -> Iterator[tuple[str, bool]]:
    """Yield the attacks that are found no more because of a mutant, and whether that is established."""
    assert mutant.action is not None
    before = original.action(mutant.action.name)
    for each in _shortest(known, before.name):
        protocol = source.protocol(each.weakened.variant, each.weakened.without)
        if protocol.action(before.name) != before:
            continue
        mutated = mutant.of(protocol)
        if _succeeds(source, mutated, each):
            continue
        claim = mutated.claim(each.claim)
        found = explored(source, mutated, each.place, (claim,), (), MOST_STATES)
        if not found.violations:
            told = f"the attack on {each.claim} of {each.weakened.words} in {each.place.words}"
            yield f"{told}, {found.states:,} states", found.complete


def _shortest(known: Iterable[Weakness], action: str) -> Iterator[Weakness]:
    """Yield the shortest attacks on each claim in which an action is taken."""
    found: Counter[str] = Counter()
    for each in sorted(known, key=lambda each: len(each.trace.steps)):
        if action in each.actions and found[each.claim] < OF_EACH_CLAIM:
            found[each.claim] += 1
            yield each


def _succeeds(source: Source, mutated: Protocol, known: Weakness) -> bool:
    judge = Interpreter(mutated, known.place.instance(source, mutated))
    try:
        states = judge.replay(known.trace)
    except NotEnabled:
        return False
    return not judge.holds(mutated.claim(known.claim).checked.formula, states[-1])
