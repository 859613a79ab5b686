"""An address that nobody vouches for: what the buffer is said to be at, outside of every channel."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from carnet_ref.systems.gpu_travelling.roles.channel_messages import Grant
from carnet_ref.systems.gpu_travelling.roles.holder import address_in


def heard(rumours: Sequence[int], off: frozenset[str]) -> Callable[[Grant], int]:
    """Return where a holder of a design without the defences ``off`` takes the buffer's address from."""
    if "address-in-grant" not in off:
        return address_in
    return lambda grant: rumours[-1] if rumours else address_in(grant)
