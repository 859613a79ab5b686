"""The checks of an enclave, of which a weakened design, on which attacks are replayed, leaves some out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Checks:
    """The checks of an enclave: all of them, less those that a weakened design leaves out."""

    waived: frozenset[str] = frozenset()

    def insist_on(self, defence: str) -> bool:
        """Whether what the defence asks for has to hold."""
        return defence not in self.waived


EVERY = Checks()
"""What an enclave checks unless it is weakened."""
