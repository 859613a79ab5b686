"""The scope of an explorer's verdict: which instances are explored, and what they leave out.

An instance that a family gives is one choice among many, so the verdict says what the instance fixes. A claim that may
read a variable before it is written is explored for every first value. Where the family gives no instance, every
interpretation that the axioms allow is explored. If these are too many, some are drawn at random, in the requested
sizes. That suffices to find a violation, but not to exclude one.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from carnet_check.cache import memoize
from carnet_check.errors import EngineError
from carnet_check.loading.default_instance import axioms_under, drawn_instances, elements_of
from carnet_check.loading.extent import Explored, fixed_values
from carnet_check.loading.families import Source
from carnet_check.loading.meanings import Meanings, Tables, TooManyTables, first_values
from carnet_spec.language import Instance, Profile, Protocol, Symbol
from carnet_spec.language.analysis.initialisation import claims_that_read_early

#: The most interpretations that are explored; if there are more, :data:`DRAWN` of them are drawn at random.
MOST_MEANINGS = 2_000
DRAWN = 32
MOST_FIRST_VALUES = 64


@dataclass(frozen=True, slots=True)
class Scope:
    """The instances to explore, each with the claims to check in it (None: all claims).

    ``left_out`` says, for a claim, why the explored instances do not cover all that the claim is about.
    """

    instances: tuple[tuple[Instance, tuple[str, ...] | None], ...]
    explored: Explored
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def shared_part(self) -> Scope:
        """The instances that all claims share: enough to find an attack, but not to exclude one."""
        return replace(self, instances=tuple(each for each in self.instances if each[1] is None))

    def first_alone(self, protocol: Protocol) -> Scope:
        """The first instance alone: enough to find a run to a goal."""
        (first, claims), *others = self.instances
        if not any(shared is None for _, shared in others):
            return replace(self, instances=((first, claims),))
        explored = replace(self.explored, interpretations=1, fixed=tuple(fixed_values(protocol, first).items()))
        return replace(self, instances=((first, claims),), explored=explored)


def scope_of(source: Source, protocol: Protocol, threat: str, profile: Profile, claims: Sequence[str]) -> Scope:
    """Return the scope of ``claims`` under a threat model. Raises UsageError if there is no instance of these sizes."""
    if protocol.digest not in _known:
        symbols = {symbol.name: symbol for symbol in protocol.symbols}
        _known[protocol.digest] = memoize(
            "what claims read early",
            protocol.digest,
            lambda: _read_early(protocol),
            lambda kept: {claim: tuple(symbols[name] for name in names) for claim, names in kept.items()},
        )
    early = {claim: symbols for claim, symbols in _known[protocol.digest].items() if claim in claims}
    if source.instances_are_made:
        return _scope_of_checker(source, protocol, threat, profile, claims, early)
    return _scope_of_family(source.instance(protocol, threat, profile), protocol, early)


def _read_early(protocol: Protocol) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for read in claims_that_read_early(protocol):
        found.setdefault(read.action, {})[read.symbol.name] = None
    return {claim: list(names) for claim, names in found.items()}


#: The symbols that claims may read before they are written, by the digest of a protocol; searches share this cache.
_known: dict[str, dict[str, tuple[Symbol, ...]]] = {}


def _scope_of_family(instance: Instance, protocol: Protocol, early: Mapping[str, tuple[Symbol, ...]]) -> Scope:
    """Return a family's instance, with further instances for claims that may read a symbol before it is written."""
    instances: list[tuple[Instance, tuple[str, ...] | None]] = [(instance, None)]
    left_out: dict[str, str] = {}
    for symbols, claims in _grouped(early).items():
        names = ", ".join(symbol.name for symbol in symbols)
        try:
            choices = list(itertools.islice(first_values(protocol, instance, symbols), MOST_FIRST_VALUES + 1))
        except TooManyTables:
            choices = []
        if 0 < len(choices) <= MOST_FIRST_VALUES:
            instances += [(choice, claims) for choice in choices if len(choices) > 1]
        else:
            why = f"it may read {names} before it is written, and was explored from one first value only"
            left_out |= dict.fromkeys(claims, why)
    fixed = tuple(fixed_values(protocol, instance).items())
    enumerations = {sort.name for sort in protocol.sorts if sort.is_enumeration}
    sizes = tuple((sort, number) for sort, number in instance.sizes.items() if sort not in enumerations)
    return Scope(tuple(instances), Explored(sizes, fixed=fixed, authors_words=instance.describes), left_out)


def _grouped(early: Mapping[str, tuple[Symbol, ...]]) -> dict[tuple[Symbol, ...], tuple[str, ...]]:
    groups: dict[tuple[Symbol, ...], tuple[str, ...]] = {}
    for claim, symbols in early.items():
        groups[symbols] = (*groups.get(symbols, ()), claim)
    return groups


# -- instances that the checker makes -------------------------------------------------------------


#: A cache of the latest scopes: a scope is needed once for the announcement and once for the exploration.
_made_before: dict[tuple[object, ...], Scope] = {}
MOST_MADE = 16


def forget() -> None:
    """Empty the cache of scopes."""
    _made_before.clear()


def _scope_of_checker(
    source: Source,
    protocol: Protocol,
    threat: str,
    profile: Profile,
    claims: Sequence[str],
    early: Mapping[str, tuple[Symbol, ...]],
) -> Scope:
    free = tuple(dict.fromkeys(symbol for symbols in early.values() for symbol in symbols))
    key = (protocol.digest, threat, tuple(sorted(profile.scale.items())), profile.budget, tuple(claims))
    if key not in _made_before:
        if len(_made_before) >= MOST_MADE:
            forget()
        whole = _every_interpretation(source, protocol, threat, profile, free)
        left_out = dict.fromkeys(claims, whole.explored.shortfall) if whole.explored.shortfall else {}
        budgeted = tuple((replace(each, budget=profile.budget), None) for each, _ in whole.instances)
        _made_before[key] = Scope(budgeted, whole.explored, left_out)
    return _made_before[key]


def _every_interpretation(
    source: Source, protocol: Protocol, threat: str, profile: Profile, free: Sequence[Symbol]
) -> Scope:
    """Return a scope with an instance for each interpretation, or with drawn ones if these are too many."""
    source.instance(protocol, threat, profile)  # raises an error if there is no instance
    axioms, elements = axioms_under(protocol, threat), elements_of(protocol, profile.scale)
    sizes = tuple((sort, len(names)) for sort, names in elements.items())
    names = tuple(symbol.name for symbol in free)
    meanings = Meanings(protocol, axioms, elements, free)
    kinds, number, counted = _counted(meanings)
    if counted and not number:
        raise EngineError(f"'{protocol.id}': no interpretation was found that the axioms allow, and the solver has one")
    if counted and number <= MOST_MEANINGS:
        explored = Explored(sizes, number, number, first_values=names)
        return _shared_by_all(meanings, kinds, explored)
    drawn = drawn_instances(protocol, axioms, elements, free, DRAWN)
    kinds = list(dict.fromkeys(map(meanings.tables_of, drawn)))
    allowed = number if counted else None
    left = f"{number:,}" if counted else "an uncounted number of"
    why = f"axioms leave {left} interpretations of the rigid symbols: {len(kinds)}, drawn by fixed seeds, are explored"
    explored = Explored(sizes, len(kinds), allowed, first_values=names, shortfall=why)
    return _shared_by_all(meanings, kinds, explored)


def _shared_by_all(meanings: Meanings, kinds: Sequence[Tables], explored: Explored) -> Scope:
    return Scope(tuple((meanings.instance(tables), None) for tables in kinds), explored)


def _counted(meanings: Meanings) -> tuple[list[Tables], int, bool]:
    """Return the first interpretations, how many were counted, and whether the count is complete."""
    first: list[Tables] = []
    number = 0
    try:
        for tables in meanings.each_kind():
            number += 1
            if number <= MOST_MEANINGS:
                first.append(tables)
    except TooManyTables:
        return first, number, False
    return first, number, True
