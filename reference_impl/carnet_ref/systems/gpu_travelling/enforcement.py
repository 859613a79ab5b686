"""Where the implementation enforces the specification: each place names the requirement, and the defence that it is.

A check is one line that names both; a step that is itself what a requirement asks for carries a mark. The
documentation's table of places is read from these lines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from carnet_ref.transport.frames import ProtocolError

Step = TypeVar("Step", bound=Callable[..., object])


@dataclass(frozen=True, slots=True)
class Checks:
    """The checks of a role: all of them, less those that a weakened design leaves out."""

    waived: frozenset[str] = frozenset()

    def require(self, defence: str, requirement: str, holds: bool, *, otherwise: str) -> None:
        """Insist on what ``requirement`` asks for; ``otherwise`` says what was found instead.

        Raises:
            ProtocolError: it does not hold, and ``defence`` is not waived.
        """
        if not holds and defence not in self.waived:
            raise ProtocolError(f"{otherwise} ({requirement})")


def enforces(*requirements: str) -> Callable[[Step], Step]:
    """Mark a step that is itself what ``requirements`` ask for."""
    del requirements  # the documentation reads them from the source

    def marked(step: Step) -> Step:
        return step

    return marked
