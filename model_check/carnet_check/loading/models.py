"""Whether axioms have a model, as far as that is known without a solver: from contradictory ones anything follows.

The instance that a family gives is a model, if it obeys the axioms. Beside it, structures of a few elements are looked
at, by the interpreter and within a bound. That none was found says that nobody knows of any, and no more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from carnet_check.errors import UsageError
from carnet_check.loading.default_instance import EACH, elements_of
from carnet_check.loading.families import Source
from carnet_check.loading.meanings import TooMany, some_meaning
from carnet_check.loading.threats import violated_axioms
from carnet_check.semantics import Interpreter
from carnet_spec.language import Axiom, Profile, Protocol, Scale, Threat
from carnet_spec.language.terms import symbols_of

ELEMENTS = (1, 2, 3)
"""How many elements of each sort are tried; then as many as there are constants, and one more."""
MOST_TRIED = 5_000
"""How many tables of symbols are looked at for structures of one size."""


def has_model(source: Source, protocol: Protocol, threat: Threat, profile: Profile) -> bool:
    """Whether a model of the axioms is known, with those of a threat model: the family's instance, or a small one."""
    return _is_given(source, protocol, threat, profile) or _is_small(protocol, threat)


def _is_given(source: Source, protocol: Protocol, threat: Threat, profile: Profile) -> bool:
    if source.instances_are_made:
        return False
    try:
        instance = source.instance(protocol, threat.id, profile)
    except UsageError:
        return False
    return not violated_axioms(Interpreter(protocol, instance), threat)


def _is_small(protocol: Protocol, threat: Threat) -> bool:
    axioms = (*protocol.axioms, *threat.axioms)
    spoken = _spoken_of(protocol, axioms)
    return any(_satisfied(spoken, axioms, scale) for scale in _scales(spoken))


def _spoken_of(protocol: Protocol, axioms: Sequence[Axiom]) -> Protocol:
    """Return what the axioms speak of; whatever else never changes may mean anything."""
    read = frozenset().union(*(symbols_of(axiom.formula) for axiom in axioms))
    symbols = tuple(symbol for symbol in protocol.symbols if symbol in read)
    return replace(
        protocol, symbols=symbols, actions=(), initial=(), claims=(), lemmas=(), goals=(), liveness=(), threats=()
    )


def _scales(protocol: Protocol) -> Iterator[Scale]:
    for count in ELEMENTS:
        yield {sort.name: count for sort in protocol.sorts if not sort.is_enumeration}
    for beside in (0, 1):
        yield {EACH: beside}


def _satisfied(protocol: Protocol, axioms: Sequence[Axiom], scale: Scale) -> bool:
    """Whether some structure of a size satisfies the axioms, each of them judged again in the whole structure."""
    elements = elements_of(protocol, scale)
    if not all(elements.values()):
        return False
    try:
        found = some_meaning(protocol, axioms, elements, MOST_TRIED)
    except TooMany:
        return False
    return found is not None and not Interpreter(protocol, found).violated(axioms)
