"""Where explorations stop, complete or not."""

from __future__ import annotations

from dataclasses import replace

from carnet_check.engines.exploration import Caps
from carnet_check.loading.extent import available_memory

GIBIBYTE = 1 << 30
CAPS = {
    "tiny": Caps(states=3_000_000, memory=4 * GIBIBYTE),
    "ci": Caps(states=60_000_000, memory=7 * GIBIBYTE),
}
"""Where the explorations of a profile stop, complete or not; memory is shared among the workers."""
DIRECTED_CAPS = Caps(states=2_000_000, memory=4 * GIBIBYTE)
SOUGHT_CAPS = Caps(states=250_000, memory=4 * GIBIBYTE)
"""Where a search for what is expected to fall stops, and the next size is taken."""


def caps_of(profile: str, jobs: int, memory: int | None = None) -> Caps:
    """Return where the explorations of a profile stop: the workers share the memory, at most what is free of it."""
    return within_memory(CAPS.get(profile, Caps()), jobs, memory)


def within_memory(caps: Caps, jobs: int, memory: int | None) -> Caps:
    """Let ``jobs`` workers share ``memory``, or where nothing is said what the caps allow and is free."""
    free = available_memory()
    return replace(caps, memory=memory or min(caps.memory or free, free), workers=jobs)
