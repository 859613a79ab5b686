"""Scopes: under which threat models a variant makes the claims, and where each is expected to fall."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ALL = ("outsider", "holder", "hypervisor", "collusion")
EVERYWHERE = (*ALL, "past-keys")
WITH_CORRUPT_HOLDERS = ("holder", "collusion", "past-keys")


@dataclass(frozen=True, slots=True)
class Scope:
    """Under which threat models the claims are made, and where they are expected to fall.

    ``falling`` names single claims that a variant gives up, each with the threat models under which it falls.
    """

    all: tuple[str, ...] = ALL
    everywhere: tuple[str, ...] = EVERYWHERE
    past: tuple[str, ...] = ("past-keys",)
    past_falls: tuple[str, ...] = ()
    falls: tuple[str, ...] = ()
    keys: tuple[str, ...] = ALL
    keys_fall: tuple[str, ...] = ()
    model: tuple[str, ...] = ("outsider", "hypervisor")
    model_falls: tuple[str, ...] = ("holder", "collusion")
    falling: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def under(self, claim: str, usual: tuple[str, ...]) -> tuple[str, ...]:
        """Return the threat models under which the claim is made: those of ``usual``, unless it is given up."""
        return () if claim in self.falling else usual

    def fails_under(self, claim: str) -> tuple[str, ...]:
        """Return the threat models under which the variant gives the claim up."""
        return self.falling.get(claim, ())


USUAL = Scope()
CONFINED = Scope(model=ALL, model_falls=())
"""A holder that reaches its buffer alone never sees the model."""
HIDDEN = Scope(
    falling=dict.fromkeys(("trains-verified", "model-integrity", "provenance", "participation"), WITH_CORRUPT_HOLDERS)
)
"""Who has the link overwrites what it does not know the place of, and finds the place out if it matters."""
LEAKING = Scope(everywhere=ALL, past=(), past_falls=("past-keys",))
"""An engine's key opens every later epoch of the engine: nothing is claimed once it leaked."""
RECORDING = Scope(("recording",), ("recording",), (), (), ("collusion",), (), ("recording",), (), ())
"""What an inner key is for: the adversary records everything, and does nothing else."""
