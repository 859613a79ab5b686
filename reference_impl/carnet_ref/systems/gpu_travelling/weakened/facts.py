"""What stands in for a fact where a weakened design makes no check; nothing else makes facts outside their checks."""

from __future__ import annotations

from dataclasses import replace

from carnet_ref.systems.gpu_travelling.roles import facts
from carnet_ref.systems.gpu_travelling.roles.facts import (
    BufferScrubbed,
    ContextsFenced,
    EpochFact,
    GpuAttested,
    KeyRotated,
    MemoryVerified,
)
from carnet_ref.systems.gpu_travelling.roles.links import Link
from carnet_ref.systems.gpu_travelling.roles.states import Established

_MINT = facts._MINT


def attested_again(session: str) -> GpuAttested:
    """Take the GPU at the end of a re-opened session for the one that was attested before."""
    return GpuAttested(_MINT, session)


def kept(link: Link) -> KeyRotated:
    """Go on under the key that is there, as if it were a new one."""
    return KeyRotated(_MINT, link.session, link.keys.epoch)


def rotated_unheard(link: Link) -> KeyRotated:
    """Take the pending key without an acknowledgement."""
    link.awaited = None
    link.take()
    return kept(link)


def not_fenced(link: Link) -> ContextsFenced:
    """Go on as if contexts were fenced."""
    return ContextsFenced(_MINT, link.session, link.keys.epoch)


def fenced_unheard(link: Link) -> ContextsFenced:
    """Take contexts for fenced without an acknowledgement."""
    link.awaited = None
    return not_fenced(link)


def scrubbed_unheard(link: Link) -> BufferScrubbed:
    """Take the buffer for clean without an acknowledgement."""
    link.awaited = None
    return BufferScrubbed(_MINT, link.session, link.keys.epoch)


def carried_over(so_far: Established, link: Link) -> Established:
    """Keep what was established in an earlier epoch of the session as if it were about this one."""
    fenced, verified = so_far.fenced, so_far.verified
    if _is_of(fenced, link):
        fenced = not_fenced(link)
    if _is_of(verified, link):
        verified = MemoryVerified(_MINT, link.session, link.keys.epoch)
    return replace(so_far, fenced=fenced, verified=verified)


def _is_of(fact: EpochFact | None, link: Link) -> bool:
    return fact is not None and fact.session == link.session
