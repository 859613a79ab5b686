"""Defences that can be switched off, one by one, to show what each of them is worth.

All of them stand unless a test or the replay of an attack says otherwise; nothing that a peer sends can switch one off.
Their names are the specification's. Where each is enforced stands at the lines that enforce it: see module `citations`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache


@cache
def defence_names() -> frozenset[str]:
    """Return the name of every defence of the specification, in any of its variants."""
    from carnet_spec.protocols.gpu_travelling import FAMILY  # half a second, which no run without weaknesses pays

    wholes = (FAMILY.drafted(name).whole() for name in FAMILY.with_layers(FAMILY.main))
    return frozenset(defence.id for whole in wholes for defence in whole.defences)


@dataclass(frozen=True, slots=True)
class Defences:
    """Which defences stand: all of them, less those in ``off``.

    Raises:
        ValueError: ``off`` names something that is no defence.
    """

    off: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        unknown = sorted(self.off - defence_names()) if self.off else []
        if unknown:
            raise ValueError(f"'{unknown[0]}' is no defence that an implementation can have")

    def stands(self, name: str) -> bool:
        """Return whether the defence is in force."""
        return name not in self.off


ALL = Defences()
"""Every defence in force."""
