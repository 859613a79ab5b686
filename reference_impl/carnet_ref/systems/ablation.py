"""Helpers for ablations: parties and checks of a design that lacks some defences.

An ablation depends on the design that it weakens, and no shipped code on an ablation.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TypeVar

from carnet_ref.systems.checks import Checks

Part = TypeVar("Part")


def without(secure: type[Part], alternatives: Mapping[str, type], off: Collection[str]) -> type[Part]:
    """Return ``secure`` with the alternatives of the defences that are ``off``; with none of them, itself.

    Args:
        secure: the class with every defence.
        alternatives: for each defence the subclass that overrides what it asks for; of two that override one step, the
            first goes first and may call the other.
        off: the defences that are left out.
    """
    chosen = tuple(dict.fromkeys(kind for defence, kind in alternatives.items() if defence in off))
    return type(secure.__name__, (*chosen, secure), {"__slots__": ()}) if chosen else secure


def leaving_out(secure: type[Part], *steps: str) -> type[Part]:
    """Return a subclass of ``secure`` in which the methods named ``steps`` do nothing and return None."""

    def nothing(*_: object) -> None:
        pass

    return type(secure.__name__, (secure,), {"__slots__": (), **dict.fromkeys(steps, nothing)})


@dataclass(frozen=True, slots=True)
class ChecksWithout(Checks):
    """The checks of a party in a design without the defences ``off``."""

    off: frozenset[str]

    def insist_on(self, defence: str) -> bool:
        """Whether the design has the defence."""
        return defence not in self.off
