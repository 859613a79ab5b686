"""A mutant: a protocol with one small thing wrong with it, under a name that stays."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

from carnet_spec.language import Action, Axiom, Protocol
from carnet_spec.language.lints import RULES, SOUNDNESS


class Operator(StrEnum):
    """What is done to a part of a specification."""

    DROP = "drop"
    NEGATE = "negate"
    WEAKEN = "weaken"
    REPLACE = "replace"
    SWAP = "swap"


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change of a variant.

    Attributes:
        name: the place and the change, as in ``lend/guard clean/drop``; a mutant of this name is there in every run.
        parts: the guards and updates that are changed, as proofs name them: ``guard:clean``.
        action: the changed action; ``None`` where an axiom is dropped.
        axiom: the name of the axiom that is dropped.
        threat: the threat model that the axiom belongs to; empty: the protocol.
    """

    variant: str
    name: str
    operator: Operator
    parts: tuple[str, ...]
    action: Action | None = None
    axiom: str = ""
    threat: str = ""

    @property
    def key(self) -> str:
        """What tells the mutant from those of other variants."""
        return f"{self.variant}: {self.name}"

    def of(self, protocol: Protocol) -> Protocol:
        """Return ``protocol`` with the change."""
        if self.action is not None:
            return with_action(protocol, self.action)
        if not self.threat:
            return replace(protocol, axioms=_without(protocol.axioms, self.axiom))
        threats = tuple(
            replace(each, axioms=_without(each.axioms, self.axiom)) if each.id == self.threat else each
            for each in protocol.threats
        )
        return replace(protocol, threats=threats)


def with_action(protocol: Protocol, action: Action) -> Protocol:
    """Return ``protocol`` with another action in the place of the one of the same name."""
    return replace(protocol, actions=tuple(action if each.name == action.name else each for each in protocol.actions))


def without_parts(action: Action, parts: Collection[str]) -> Action:
    """Return ``action`` without some of its guards and updates."""
    return replace(
        action,
        guards=tuple(guard for guard in action.guards if f"guard:{guard.name}" not in parts),
        updates=tuple(update for update in action.updates if f"update:{update.name}" not in parts),
    )


def _without(axioms: Iterable[Axiom], name: str) -> tuple[Axiom, ...]:
    return tuple(axiom for axiom in axioms if axiom.name != name)


def refusal(protocol: Protocol) -> str:
    """Say why nobody may judge a protocol, if a lint says so.

    What may be read before it is written is no reason: proofs speak of whatever is read there.
    """
    found = (f"{name}: {where}: {what}" for name in RULES if name in SOUNDNESS for where, what in RULES[name](protocol))
    return next(found, "")
