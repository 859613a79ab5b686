"""Which claims are proved under which threat models, once it is known which obligations are not.

Obligations alone do not say it: a claim that no layer has would be missing without a word.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from carnet_check.obligations import Layer, layers
from carnet_spec.language import Claim, Protocol

OF_NO_LAYER = "no layer has it, so nothing proves it"
UNDER_NONE = "it is claimed under no threat model"
GENERAL = ("init/", "step/")
"""How the ids of the obligations begin that are proved under no threat model."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A claim under a threat model, under nothing where none is declared; and why it is not proved, if it is not."""

    variant: str
    claim: str
    threat: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Stated:
    """A pair with what begins the ids of all obligations that it rests on; ``declared`` claims are not stated yet."""

    pair: Pair
    rests_on: tuple[str, ...] = ()
    declared: bool = False

    def judged(self, unproved: Collection[str]) -> Pair:
        """Return the pair, which is proved if none of the variant's ``unproved`` obligations is one that it needs."""
        if self.pair.why:
            return self.pair
        needed = sum(id.startswith(self.rests_on) for id in unproved)
        return replace(
            self.pair, why=f"{needed:,} of the obligations that it rests on are not proved" if needed else ""
        )


def stated(protocol: Protocol) -> Iterator[Stated]:
    """Yield every claim under each threat model that it is made for; one that is expected to fall there is not made.

    Raises:
        SpecificationError: the protocol says something that has no obligations.
    """
    every = layers(protocol)
    for claim in protocol.claims:
        if claim.invariant is None:
            yield Stated(Pair(protocol.variant, claim.name, ""), declared=True)
        elif not claim.under and not claim.fails_under and protocol.threats:
            yield Stated(Pair(protocol.variant, claim.name, "", UNDER_NONE))
        else:
            threats = [id for id in claim.under if id not in claim.fails_under] if protocol.threats else [""]
            yield from (_stated(protocol, claim, threat, every) for threat in threats)


def _stated(protocol: Protocol, claim: Claim, threat: str, every: Sequence[Layer]) -> Stated:
    pair = Pair(protocol.variant, claim.name, threat)
    for layer in every:
        if claim.invariant in layer.claims and (layer.threat is None or layer.threat.id == threat):
            own = tuple(layer.prefix + kind for kind in GENERAL)
            return Stated(pair, tuple(dict.fromkeys((*GENERAL, *own))))
    return Stated(replace(pair, why=OF_NO_LAYER))
