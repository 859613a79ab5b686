"""Replay: an abstract attack is carried out step by step on a system, and the claim that it breaks is looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from carnet_ref.crypto.primitives import CryptoError
from carnet_spec.language import Family
from carnet_spec.trace import TraceStep

W = TypeVar("W")
Claims = Mapping[str, Callable[[W], Iterator[str]]]
"""What shows in a world, in bytes, that a claim is violated."""


@dataclass(frozen=True, slots=True)
class Replay(Generic[W]):
    """How attacks on a system are carried out.

    Attributes:
        family: the protocol, whose variants say which defences they lack.
        world: opens the world of a variant in which some defences are off, for the steps of an attack.
        take: takes a step, given those that follow; whatever it cannot take is a refusal or a ``LookupError``.
        claims: what shows that a claim is violated.
        refusals: what the parties of the system raise.
    """

    family: Family
    world: Callable[[str, frozenset[str], Sequence[TraceStep]], AbstractContextManager[W]]
    take: Callable[[W, TraceStep, Sequence[TraceStep]], None]
    claims: Claims[W]
    refusals: type[Exception]

    def __call__(self, value: Mapping[str, Any]) -> dict[str, Any]:
        """Replay what ``carnet attack --json`` found, with the design's defences off and then with all of them on."""
        variant, claim = value["variant"], value["claim"]
        off = frozenset((*self.family.variants[variant].without, *value["removed"]))
        steps = [TraceStep.from_json(step) for step in value["steps"]]
        worlds = (self.world(variant, waived, steps) for waived in (off, frozenset[str]()))
        attacked, defended = (self.carried_out(world, steps, claim) for world in worlds)
        return {**attacked, "defended": defended}

    def carried_out(self, opened: AbstractContextManager[W], steps: Sequence[TraceStep], claim: str) -> dict[str, Any]:
        """Take the steps in a world, and return what shows that the claim is violated, or where it was stopped."""
        with opened as world:
            for index, step in enumerate(steps):
                try:
                    self.take(world, step, steps[index + 1 :])
                except (self.refusals, CryptoError, LookupError) as error:
                    at = {"index": index, "step": step.to_json(), "why": _why(error)}
                    return {"reproduced": False, "recovered": "", "stopped": at}
            found = next(self.claims[claim](world), "")
            return {"reproduced": bool(found), "recovered": found, "stopped": None}


def _why(error: Exception) -> str:
    return str(error.args[0]) if isinstance(error, LookupError) and error.args else str(error)
