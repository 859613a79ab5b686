"""Where the implementation enforces the specification: each place names the requirement, and the defence that it is.

A check is one line that names both, and takes one of three forms: `Checks.require` for a condition that ends the
session or the channel, `Checks.expect` for the kind of a reply, `Checks.passes` for a message that is left aside
without ending anything. A step that is itself what a requirement asks for carries the mark `enforces`. Ids and names
stand there as literal strings: the documentation's table of places is read from these lines, without running them.

A weakened design waives checks by the names of their defences, and takes other steps in the place of marked ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from carnet_ref.transport.frames import ProtocolError

_Found = TypeVar("_Found")
_Step = TypeVar("_Step", bound=Callable[..., object])


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

    def expect(self, defence: str, requirement: str, found: object, kind: type[_Found]) -> _Found:
        """Return what was ``found``, which is of the ``kind`` that ``requirement`` asks for.

        A reply of another kind cannot be read at all, so this is never waived; a design that lacks the ``defence`` does
        not look at the reply.

        Raises:
            ProtocolError: it is of another kind.
        """
        if not isinstance(found, kind):
            raise ProtocolError(f"expected {kind.__name__}, found {type(found).__name__} ({requirement})")
        return found

    def passes(self, defence: str, requirement: str, holds: bool) -> bool:
        """Return whether what ``requirement`` asks for holds, or ``defence`` is waived."""
        return holds or defence in self.waived


def enforces(*ids: str) -> Callable[[_Step], _Step]:
    """Mark a step that is itself what these requirements ask for and, named after them, these defences."""
    del ids  # the documentation reads them from the source

    def marked(step: _Step) -> _Step:
        return step

    return marked
