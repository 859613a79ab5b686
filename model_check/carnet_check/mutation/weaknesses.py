"""Weaknesses: attacks on the protocol with a defence removed, and on designs known to be weak.

A mutant that weakens the adversary violates no claim. It is killed by an attack that is lost: on some weakened design,
the mutant's adversary does not succeed in as few steps, and with as few active moves, as the original's. A move of the
adversary may matter to one claim alone, or only if some party is honest. So every claim is attacked, under each threat
model.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice

from carnet_check.attacks.hunt import AttackTarget, attack_target
from carnet_check.engines.exploration import Exploration
from carnet_check.engines.exploring.searches import moves
from carnet_check.errors import UsageError
from carnet_check.loading.families import NO_THREAT, Source
from carnet_check.minimise import minimise
from carnet_check.mutation.operators import Mutant, refusal
from carnet_check.mutation.scenarios import Place, explore_place, from_every_first_value
from carnet_check.semantics import Interpreter
from carnet_check.witnesses import breaks, is_attack
from carnet_command.text import plural
from carnet_spec.language import Claim, Profile, Protocol, SpecificationError, Threat
from carnet_spec.trace import Trace

MOST_STATES = 60_000  #: The most states in the search of a weakened design; attacks found before that limit are valid.
ROOM = 4  #: The most states in a mutant's search, as a multiple of the original's.
TAKEN_AGAIN = 6  #: The most attacks on a claim under a threat model that are replayed, the shortest first.
OF_EACH_CLAIM = 3  #: The most places in which a mutant is explored for one claim under one threat model.
MOST_PLACES = 20  #: The most places in which a mutant is explored.


@dataclass(frozen=True, slots=True)
class WeakenedDesign:
    """A design to attack: a variant, the defences removed from it, and the threat model with the fewest assumptions."""

    variant: str
    without: tuple[str, ...]
    threat: str

    @property
    def words(self) -> str:
        """The design in words."""
        return self.variant + (f" without {', '.join(self.without)}" if self.without else "")


@dataclass(frozen=True, slots=True)
class Weakness:
    """A minimal attack on a claim of a weakened design."""

    weakened: WeakenedDesign
    place: Place  #: The place in which it was found, with the least number of active moves of the adversary.
    claim: str
    trace: Trace
    states: int  #: The number of states that were visited to find it.

    @property
    def actions(self) -> frozenset[str]:
        """The actions of its steps."""
        return frozenset(step.action for step in self.trace.steps)

    @property
    def tells(self) -> tuple[str, str]:
        """The claim and the threat model that it is an attack on."""
        return self.claim, self.place.threat


def weakened_designs(source: Source, variant: str) -> tuple[WeakenedDesign, ...]:
    """Return the designs to attack: those of known findings, and the variant without each defence that belongs to it.

    Every other defence is removed from the first main variant. Each design is attacked under the threat model of its
    finding, or else the family's default. The variant itself is attacked, too: some violations are expected.
    """
    family, protocol = source.family, source.protocol(variant)
    first, known = family.main[0], {threat.id for threat in protocol.threats}
    own = [each for each in protocol.defences if (each.base or first) == variant and each.id not in protocol.without]
    least = min(protocol.threats, key=lambda threat: len(threat.axioms)).id if known else ""
    usual = family.default_threat if family.default_threat in known else least
    found = [WeakenedDesign(each.variant or first, each.without, each.threat) for each in family.findings]
    found += [WeakenedDesign(variant, without, usual) for without in [(), *((each.id,) for each in own)]]
    return tuple(dict.fromkeys([*found, WeakenedDesign(variant, (), least)]))


def weaknesses(source: Source, where: WeakenedDesign) -> tuple[Weakness, ...]:
    """Look for an attack on each claim of a design, in the smallest size in which the claim is violated.

    In that size the claim is also attacked under stronger assumptions. A claim that holds under weaker assumptions is
    not attacked again.
    """
    try:
        target = attack_target(
            source, variant=where.variant, without=where.without, threat=where.threat, every_claim=True
        )
    except UsageError:
        return ()
    left, found = _claims(source, target), list[Weakness]()
    for size in source.family.sizes_to_hunt(where.variant):
        here = _attacks(source, where, target, size, left)
        fallen = {each.claim for each in here}
        found += here
        for threat in _assuming_more(target.protocol, target.threat):
            under = replace(target, threat=threat)
            found += _attacks(source, where, under, size, [c for c in _claims(source, under) if c.name in fallen])
        left = [claim for claim in left if claim.name not in fallen]
    return tuple(found)


def still_attacks(source: Source, known: Iterable[Weakness]) -> bool:
    """Whether attacks on an earlier specification are all attacks on the present weakened design.

    An attack that a mutant loses is lost, even if the design has other attacks.
    """
    designs = Designs(source)
    try:
        return all(
            is_attack(source, designs[each.weakened], each.place.profile, each.claim, each.trace) for each in known
        )
    except (UsageError, SpecificationError):
        return False


def _assuming_more(protocol: Protocol, least: Threat) -> Iterator[Threat]:
    """Yield the threat models with all assumptions of ``least``, and more."""
    for threat in protocol.threats:
        if len(threat.axioms) > len(least.axioms) and _assumed(threat) >= _assumed(least):
            yield threat


def _assumed(threat: Threat) -> set[object]:
    return {axiom.formula for axiom in threat.axioms}


def _claims(source: Source, target: AttackTarget) -> list[Claim]:
    """Return the claims about a threat model; one that every design violates is attacked in main variants only."""
    family, protocol, threat = source.family, target.protocol, target.threat
    stated = [claim for claim in protocol.claims if not claim.declared]
    named = [claim for claim in stated if threat == NO_THREAT or threat.id in (*claim.under, *claim.fails_under)]
    if protocol.variant in family.with_layers(family.main) and not target.removed:
        return named
    strong = source.protocol(protocol.variant if target.removed else family.main[0])
    anyhow = {claim.name for claim in strong.claims if threat.id in claim.fails_under}
    return [claim for claim in named if claim.name not in anyhow]


def _attacks(
    source: Source, where: WeakenedDesign, target: AttackTarget, size: Profile, claims: Collection[Claim]
) -> list[Weakness]:
    """Attack claims in one size under one threat model."""
    if not claims:
        return []
    place = Place(where.variant, size, target.threat.id)
    found = explore_place(source, target.protocol, place, claims, (), MOST_STATES, until_fallen=True)
    judge = Interpreter(target.protocol, place.instance(source, target.protocol))
    attacks = []
    for claim in claims:
        if (trace := found.violations.get(claim.checked.name)) is not None:
            needed = minimise(judge, claim.checked, trace)
            active = sum(target.protocol.action(step.action).cost for step in needed.steps)
            least = replace(place, profile=replace(size, budget=active))
            attacks.append(Weakness(where, least, claim.name, needed, found.states))
    return attacks


# -- what a mutant loses --------------------------------------------------------------------------


@dataclass(frozen=True)
class Designs:
    """Weakened designs, each built once."""

    source: Source
    _built: dict[tuple[str, tuple[str, ...]], Protocol] = field(default_factory=dict)

    def __getitem__(self, where: WeakenedDesign) -> Protocol:
        """Return a design."""
        key = (where.variant, where.without)
        if key not in self._built:
            self._built[key] = self.source.protocol(*key)
        return self._built[key]


def defeated_attacks(
    designs: Designs, mutant: Mutant, original: Protocol, known: Collection[Weakness]
) -> Iterator[tuple[str, bool]]:
    """Yield the attacks that are lost in a mutant, and whether the loss is established.

    The attacks are replayed. For those that cannot be replayed, the mutant is explored, in small places first.
    """
    assert mutant.action is not None
    before = original.action(mutant.action.name)
    same = [
        each for each in known if before.name in each.actions and designs[each.weakened].action(before.name) == before
    ]
    stopped = [_stopped(designs, mutant, each) for each in _together(_shortest(same))]
    for each in islice(_telling(each for each in stopped if each), MOST_PLACES):
        yield from _lost(designs, mutant, each)


def _shortest(known: Iterable[Weakness]) -> Iterator[Weakness]:
    """Yield the shortest attacks on each claim under each threat model."""
    found: Counter[tuple[str, str]] = Counter()
    for each in sorted(known, key=lambda each: len(each.trace.steps)):
        if found[each.tells] < TAKEN_AGAIN:
            found[each.tells] += 1
            yield each


def _together(known: Iterable[Weakness]) -> Iterable[list[Weakness]]:
    """Return the attacks, grouped by place."""
    found = defaultdict[tuple[WeakenedDesign, str, int | None], list[Weakness]](list)
    for each in known:
        found[each.weakened, each.place.words, each.place.profile.budget].append(each)
    return found.values()


def _stopped(designs: Designs, mutant: Mutant, known: Sequence[Weakness]) -> list[Weakness]:
    """Return the attacks of one place that cannot be replayed; none if a lint refuses the mutant there."""
    mutated = mutant.of(designs[known[0].weakened])
    try:
        judge = Interpreter(mutated, known[0].place.instance(designs.source, mutated))
    except SpecificationError:
        return []
    return [each for each in known if not breaks(judge, each.claim, each.trace)]


def _telling(stopped: Iterable[Sequence[Weakness]]) -> Iterator[Sequence[Weakness]]:
    """Yield attacks place by place, small places first, up to a number of places for each claim."""
    tried: Counter[tuple[str, str]] = Counter()
    for together in sorted(stopped, key=lambda each: (each[0].place.profile.budget or 0, each[0].states)):
        if any(tried[each.tells] < OF_EACH_CLAIM for each in together):
            tried.update(each.tells for each in together)
            yield together


def _lost(designs: Designs, mutant: Mutant, known: Sequence[Weakness]) -> Iterator[tuple[str, bool]]:
    """Yield the attacks of one place for which the mutant has none as short, and whether that is established.

    A mutant that a lint refuses there is not judged. Symbols that are read before they are written may have any first
    value, so an attack counts as lost if it is lost for each first value.
    """
    place, where = known[0].place, known[0].weakened
    mutated = mutant.of(designs[where])
    if refusal(mutated):
        return
    claims = [mutated.claim(each.claim) for each in known]
    most = ROOM * max(each.states for each in known)
    runs, every = from_every_first_value(designs.source, mutated, place, claims, (), most, until_fallen=True)
    active = plural(place.profile.budget or 0, "active adversary move")
    for each, claim in zip(known, claims, strict=True):
        steps, name = moves(mutated, each.trace), claim.checked.name
        others = [found.violations[name] for found in runs if name in found.violations]
        left = min((moves(mutated, other) for other in others), default=None)
        if left is None or left > steps:
            told = f"the attack on {each.claim} of {where.words} in {place.words}, {plural(steps, 'step')}, {active}"
            searched = every and all(found.complete or found.depth >= steps for found in runs)
            yield f"{told}; {_replacement_in_words(left, runs)}", searched


def _replacement_in_words(steps: int | None, runs: Sequence[Exploration]) -> str:
    """Return the words for what replaces an attack: a longer one, none, or an unfinished search."""
    searched = f"{sum(found.states for found in runs):,} states"
    if steps is not None:
        return f"it takes {plural(steps, 'step')} now, {searched}"
    if all(found.complete for found in runs):
        return f"none is left, {searched}"
    return f"none within {plural(min(found.depth for found in runs), 'step')}, {searched}"
