"""What a verdict of the explorer speaks of: the instances that are explored for it, and what they leave out.

An instance that a family gives is one choice among many, so the verdict says what it fixes. A claim that may read what
the instance leaves arbitrary (a variable before it is written) is explored for every first value. An instance that the
checker makes by itself is no choice of anybody's: every meaning that the axioms allow is explored.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from carnet_check.loading.default_instance import BESIDE_CONSTANTS, EACH, elements_of
from carnet_check.loading.families import Source
from carnet_check.loading.meanings import TooMany, every_meaning, first_values
from carnet_command.text import counted
from carnet_spec.language import Axiom, Instance, Kind, Profile, Protocol, Sort, Symbol
from carnet_spec.language.analysis.initialisation import claims_that_read_early

MOST_MEANINGS = 2_000
MOST_FIRST_VALUES = 64


@dataclass(frozen=True, slots=True)
class Scope:
    """The instances to explore, each for some claims; nothing stands for all of them.

    ``left_out`` says of a claim why what is explored is not all that it speaks of.
    """

    instances: tuple[tuple[Instance, tuple[str, ...] | None], ...]
    describes: str
    fixes: Mapping[str, str] = field(default_factory=dict)
    """For what the instance gives one meaning of several that axioms allow, that meaning."""
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def shared(self) -> Scope:
        """The instances that all claims share: enough to look for an attack, and not to say that there is none."""
        return replace(self, instances=tuple(each for each in self.instances if each[1] is None))


def scope_of(source: Source, protocol: Protocol, threat: str, profile: Profile, claims: Sequence[str]) -> Scope:
    """Return what has to be explored for ``claims`` under a threat model.

    Raises:
        UsageError: the sizes make no instance.
    """
    early = _read_early(protocol, claims)
    if source.instances_are_made:
        return _made(source, protocol, threat, profile, claims, early)
    return _given(source.instance(protocol, threat, profile), protocol, early)


_known: dict[str, dict[str, tuple[Symbol, ...]]] = {}
"""What claims read early, by the digest of a protocol: several searches ask for it, each under a threat model."""


def _read_early(protocol: Protocol, claims: Sequence[str]) -> dict[str, tuple[Symbol, ...]]:
    """Return, for each claim that may read what nobody wrote yet, the symbols."""
    if protocol.digest not in _known:
        found: dict[str, dict[Symbol, None]] = {}
        for read in claims_that_read_early(protocol):
            found.setdefault(read.action, {})[read.symbol] = None
        _known[protocol.digest] = {claim: tuple(symbols) for claim, symbols in found.items()}
    return {claim: symbols for claim, symbols in _known[protocol.digest].items() if claim in claims}


def _given(instance: Instance, protocol: Protocol, early: Mapping[str, tuple[Symbol, ...]]) -> Scope:
    """Add to the instance of a family what lets claims be judged that read early."""
    instances: list[tuple[Instance, tuple[str, ...] | None]] = [(instance, None)]
    left_out: dict[str, str] = {}
    for symbols, claims in _grouped(early).items():
        names = ", ".join(symbol.name for symbol in symbols)
        try:
            choices = list(itertools.islice(first_values(protocol, instance, symbols), MOST_FIRST_VALUES + 1))
        except TooMany:
            choices = []
        if 0 < len(choices) <= MOST_FIRST_VALUES:
            instances += [(choice, claims) for choice in choices if len(choices) > 1]
        else:
            why = f"it may read {names} before it is written, and was explored from one first value only"
            left_out |= dict.fromkeys(claims, why)
    return Scope(tuple(instances), instance.describes, fixes(protocol, instance), left_out)


def _grouped(early: Mapping[str, tuple[Symbol, ...]]) -> dict[tuple[Symbol, ...], tuple[str, ...]]:
    groups: dict[tuple[Symbol, ...], tuple[str, ...]] = {}
    for claim, symbols in early.items():
        groups[symbols] = (*groups.get(symbols, ()), claim)
    return groups


def fixes(protocol: Protocol, instance: Instance) -> dict[str, str]:
    """Say what an instance fixes: constants, what is true of whom, and of how many elements steps may choose."""
    values: dict[Sort, dict[str, str]] = {}
    for symbol in protocol.symbols:
        if not symbol.mutable and not symbol.domain and not symbol.is_relation:
            values.setdefault(symbol.result, {})[symbol.name] = instance.functions[symbol.name][()]
    told = {sort.name: _compared(named) for sort, named in values.items() if len(named) > 1}
    for symbol in protocol.symbols:
        if not symbol.mutable and symbol.is_relation and symbol.kind is Kind.TRUTH and len(symbol.domain) == 1:
            rows = sorted(instance.relations.get(symbol.name, frozenset()))
            told[symbol.name] = ", ".join(name for (name,) in rows) or "nobody"
    return told | _narrowed(protocol, instance)


def _narrowed(protocol: Protocol, instance: Instance) -> dict[str, str]:
    """Say what steps may choose only some of; what they draw is bounded by the sizes."""
    steps: dict[tuple[str, str], list[str]] = {}
    for action in protocol.actions:
        for var in action.params:
            pool = instance.pools.get((action.name, var.name))
            if pool is not None and var not in action.fresh and len(pool) < len(instance.of(var.sort)):
                chosen = f"{len(pool)} of {len(instance.of(var.sort))}"
                steps.setdefault((var.name, chosen), []).append(action.name)
    return {f"{var} of {', '.join(names)}": chosen for (var, chosen), names in steps.items()}


def _compared(values: Mapping[str, str]) -> str:
    """Say which constants are one element and which differ."""
    groups: dict[str, list[str]] = {}
    for name, element in values.items():
        groups.setdefault(element, []).append(name)
    return " ≠ ".join(" = ".join(names) for names in groups.values())


# -- instances that the checker makes -------------------------------------------------------------


def _made(
    source: Source,
    protocol: Protocol,
    threat: str,
    profile: Profile,
    claims: Sequence[str],
    early: Mapping[str, tuple[Symbol, ...]],
) -> Scope:
    free = tuple(dict.fromkeys(symbol for symbols in early.values() for symbol in symbols))
    axioms = [*protocol.axioms, *(axiom for model in protocol.threats if model.id == threat for axiom in model.axioms)]
    for scale in _scales(profile):
        instances = _all_of(protocol, axioms, scale, free)
        if instances:
            budgeted = [replace(each, budget=profile.budget) for each in instances]
            return Scope(tuple((each, None) for each in budgeted), _described(instances, free))
    one = source.instance(protocol, threat, profile)
    why = "axioms leave more meanings of what never changes than can be explored, and it was explored in one only"
    return Scope(((one, None),), one.describes, fixes(protocol, one), dict.fromkeys(claims, why))


def _scales(profile: Profile) -> Iterator[Mapping[str, int]]:
    """Yield the sizes to try: those that were asked for, or as many beside the constants as leave few meanings."""
    yield profile.scale
    if not set(profile.scale) - {EACH}:
        for beside in range(profile.scale.get(EACH, BESIDE_CONSTANTS) - 1, -1, -1):
            yield {EACH: beside}


def _all_of(
    protocol: Protocol, axioms: Sequence[Axiom], scale: Mapping[str, int], free: Sequence[Symbol]
) -> list[Instance]:
    """Return an instance for each meaning, or none where there are too many."""
    elements = elements_of(protocol, scale)
    if not all(elements.values()):
        return []
    try:
        found = list(itertools.islice(every_meaning(protocol, axioms, elements, free), MOST_MEANINGS + 1))
    except TooMany:
        return []
    return found if len(found) <= MOST_MEANINGS else []


def _described(instances: Sequence[Instance], free: Sequence[Symbol]) -> str:
    sizes = " · ".join(f"{len(names)} {sort}" for sort, names in instances[0].elements.items())
    first = f" and every first value of {', '.join(symbol.name for symbol in free)}" if free else ""
    every = "" if len(instances) == 1 else f", {counted(len(instances), 'meaning')} of what never changes{first}"
    return f"{sizes}{every}"
