"""Where explorations stop, complete or not."""

from __future__ import annotations

from carnet_check.engines.exploration import Caps
from carnet_check.loading.extent import available_memory

GIBIBYTE = 1 << 30
CAPS = {
    "tiny": Caps(states=3_000_000, memory=4 * GIBIBYTE),
    "ci": Caps(states=100_000_000, memory=7 * GIBIBYTE),
}
"""Where the explorations of a profile stop, complete or not; memory is shared among the workers."""
DIRECTED_CAPS = Caps(states=2_000_000, memory=4 * GIBIBYTE)
MOST_STATES_DRAWN = 3_000_000
"""How many states are visited where interpretations are drawn, so that nothing can be established but a violation."""
SOUGHT_CAPS = Caps(states=250_000, memory=4 * GIBIBYTE)
"""Where a search for what is expected to fall stops, and the next size is taken."""


def caps_of(profile: str, jobs: int, limits: Caps) -> Caps:
    """Return where the explorations of a profile stop: the workers share the memory, at most what is free of it."""
    return within(CAPS.get(profile, Caps()), jobs, limits)


def within(caps: Caps, jobs: int, limits: Caps) -> Caps:
    """Keep what ``limits`` say, and the caps where they say nothing; ``jobs`` workers share what memory is free."""
    free = available_memory()
    memory = limits.memory or min(caps.memory or free, free)
    return Caps(limits.states or caps.states, memory, jobs, limits.seconds or caps.seconds)
