"""Checks that a design leaves out, with the defences that they belong to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from carnet_ref.systems.gpu_travelling.enforcement import Checks, Seen

_Found = TypeVar("_Found")


@cache
def defence_names() -> frozenset[str]:
    """Return the name of every defence of the specification, in any of its variants."""
    from carnet_spec.protocols.gpu_travelling import FAMILY  # half a second, which no run without ablations pays

    wholes = (FAMILY.drafted(name).whole() for name in FAMILY.with_layers(FAMILY.main))
    return frozenset(defence.id for whole in wholes for defence in whole.defences)


@dataclass(frozen=True, slots=True)
class ChecksWithout(Checks):
    """The checks of a role in a design without the defences ``off``."""

    off: frozenset[str]

    def passes(self, defence: str, requirement: str, holds: bool, *, saw: Seen = ()) -> bool:
        """Return whether what ``requirement`` asks for holds, or is not looked at, since ``defence`` is off."""
        return defence in self.off or Checks.passes(self, defence, requirement, holds, saw=saw)


class NoChecks(Checks):
    """No check is made, and none is logged."""

    __slots__ = ()

    def expect(self, defence: str, requirement: str, found: object, kind: type[_Found], *, saw: Seen = ()) -> _Found:
        """Return what was ``found``, which the design made up."""
        del defence, requirement, saw
        assert isinstance(found, kind)
        return found

    def passes(self, defence: str, requirement: str, holds: bool, *, saw: Seen = ()) -> bool:
        """Return that whatever was asked for holds."""
        return True
