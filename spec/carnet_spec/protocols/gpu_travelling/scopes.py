"""Scopes: under which threat models a variant makes the claims, and where each is expected to fall."""

from __future__ import annotations

from dataclasses import dataclass

ALL = ("outsider", "holder", "hypervisor", "collusion")
EVERYWHERE = (*ALL, "past-keys")


@dataclass(frozen=True, slots=True)
class Scope:
    """Under which threat models the claims are made, and where they are expected to fall."""

    all: tuple[str, ...] = ALL
    everywhere: tuple[str, ...] = EVERYWHERE
    past: tuple[str, ...] = ("past-keys",)
    past_falls: tuple[str, ...] = ()
    falls: tuple[str, ...] = ()
    keys: tuple[str, ...] = ALL
    keys_fall: tuple[str, ...] = ()
    model: tuple[str, ...] = ("outsider", "hypervisor")
    model_falls: tuple[str, ...] = ("holder", "collusion")


USUAL = Scope()
CONFINED = Scope(model=ALL, model_falls=())
"""A holder that reaches its buffer alone never sees the model."""
LEAKING = Scope(everywhere=ALL, past=(), past_falls=("past-keys",))
"""An engine's key opens every later epoch of the engine: nothing is claimed once it leaked."""
RECORDING = Scope(("recording",), ("recording",), (), (), ("collusion",), (), ("holder", "recording"), (), ())
"""What an inner key is for: the adversary records everything, and does nothing else."""
