"""Where the implementation enforces the specification: a mark on the step that does, with ids as literal strings.

A weakened design, on which attacks are replayed, does without some checks, by the names of their defences.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

_Step = TypeVar("_Step", bound=Callable[..., object])


def enforces(*ids: str) -> Callable[[_Step], _Step]:
    """Mark a step that is itself what these requirements ask for and, named after them, these defences."""
    del ids  # the documentation reads them from the source

    def marked(step: _Step) -> _Step:
        return step

    return marked


@dataclass(frozen=True, slots=True)
class Checks:
    """The checks of a party: all of them, less those that a weakened design leaves out."""

    waived: frozenset[str] = frozenset()

    def insist_on(self, defence: str) -> bool:
        """Whether what the defence asks for has to hold."""
        return defence not in self.waived


EVERY = Checks()
"""What a party checks unless it is weakened."""
