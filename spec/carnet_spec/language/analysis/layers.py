"""Layers: refinements that add symbols, guards and updates to a design (superposition).

The claims of a design hold in a layer over it if every run of the layer, with the layer's own symbols removed, is a run
of the design. This is guaranteed if each action of the layer is an action of the design with guards and updates added,
or changes no symbol of the design, if the design's symbols have the same initial values, and if the layer has at least
the design's assumptions under each threat model.
"""

from collections.abc import Iterator

from carnet_spec.language.actions import Action, Guard, Update
from carnet_spec.language.protocol import Protocol
from carnet_spec.language.terms import Symbol


def departures(layer: Protocol, design: Protocol) -> Iterator[str]:
    """Yield each reason why ``layer`` is no layer over ``design``."""
    known = frozenset(design.symbols)
    plain = {action.name: action for action in design.actions}
    for action in layer.actions:
        below = plain.get(action.name)
        if below is None:
            yield from (f"{action.name} is new and changes {name}" for name in _changed(action.updates, known))
        else:
            yield from _departures(action, below, known)
    kept = {action.name for action in layer.actions}
    yield from (f"{name} is gone" for name in plain if name not in kept)
    ours = {initial for initial in layer.initial if initial.symbol in known}
    for initial in ours.symmetric_difference(design.initial):
        yield f"{initial.symbol.name} has another initial value"
    yield from (f"axiom '{axiom.name}' is gone" for axiom in design.axioms if axiom not in layer.axioms)
    assumed = {threat.id: threat.axioms for threat in layer.threats}
    for threat in design.threats:
        gone = (axiom for axiom in threat.axioms if axiom not in assumed.get(threat.id, threat.axioms))
        yield from (f"axiom '{axiom.name}' of {threat.id} is gone" for axiom in gone)


def _departures(action: Action, below: Action, known: frozenset[Symbol]) -> Iterator[str]:
    if action.by != below.by or action.deduction != below.deduction:
        yield f"{action.name} is taken by another party, or in another way"
    if action.params[: len(below.params)] != below.params:
        yield f"{action.name} has other parameters"
    yield from (f"{action.name} lacks {_describe_part(part)}" for part in below.guards if part not in action.guards)
    yield from (f"{action.name} lacks {_describe_part(part)}" for part in below.updates if part not in action.updates)
    added = [update for update in action.updates if update not in below.updates]
    yield from (f"{action.name} also changes {name}" for name in _changed(added, known))


def _changed(updates: list[Update] | tuple[Update, ...], known: frozenset[Symbol]) -> list[str]:
    return sorted({update.symbol.name for update in updates if update.symbol in known})


def _describe_part(part: Guard | Update) -> str:
    return f"{'guard' if isinstance(part, Guard) else 'update'} '{part.name}'"
