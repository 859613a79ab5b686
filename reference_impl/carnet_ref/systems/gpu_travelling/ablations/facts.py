"""What an ablated design takes for established without a look: the checks of facts are given a link that lies.

Facts come out of their checks here too, and from nowhere else. What differs is whom a check asks: not the firmware, but
a `Pretended` link, on which whatever the design believes was reported.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from carnet_ref.attestation.appraisal import Appraisal, AppraisalStep
from carnet_ref.keys import LinkKeys
from carnet_ref.systems.gpu_travelling.ablations.checks import NoChecks
from carnet_ref.systems.gpu_travelling.device.orders import Fenced, MemoryRead, Report, Rotated, Scrubbed
from carnet_ref.systems.gpu_travelling.enforcement import ReceivedMessage
from carnet_ref.systems.gpu_travelling.names import GPU
from carnet_ref.systems.gpu_travelling.roles import facts
from carnet_ref.systems.gpu_travelling.roles.facts import (
    BufferScrubbed,
    ContextsFenced,
    EpochFact,
    Expected,
    GpuAttested,
    KeyRotated,
)
from carnet_ref.systems.gpu_travelling.roles.links import Link
from carnet_ref.systems.gpu_travelling.roles.ports import GpuEvidence, Requester
from carnet_ref.systems.gpu_travelling.roles.states import Established

_UNCHECKED: Final = NoChecks()
_NOTHING: Final = GpuEvidence(b"", b"")


class Pretended(Link):
    """The epoch that a link is in, as if the firmware had just reported this about it."""

    __slots__ = ("_keys", "_said")

    def __init__(self, link: Link, said: Report) -> None:
        self.session = link.session
        self._keys = link.keys
        self._said = said

    @property
    def keys(self) -> LinkKeys:
        """The keys of the epoch."""
        return self._keys

    @property
    def pending(self) -> LinkKeys:
        """The same keys, as if a rotation to them were under way."""
        return self._keys

    def report(self, sealed: bytes) -> Report:
        """Return the report, whatever came."""
        del sealed
        return self._said

    def take(self) -> None:
        """Stay in the epoch."""


@dataclass(frozen=True, slots=True)
class _Believing:
    """An appraiser that takes the responder of a session for the GPU that was attested before."""

    key: bytes

    def appraise(self, evidence: GpuEvidence, nonce: bytes) -> Appraisal:
        """Accept whatever was shown."""
        del evidence, nonce
        return Appraisal((AppraisalStep("believed", True, "attested in an earlier session"),), {"key": self.key})


def attested_again(session: Requester) -> GpuAttested:
    """Take the GPU at the end of a re-opened session for the one that was attested before."""
    appraiser = _Believing(session.responder_key)
    attested, _ = facts.attested(session, _NOTHING, b"", appraiser, _UNCHECKED, ReceivedMessage(GPU, b""))
    return attested


def kept(link: Link) -> KeyRotated:
    """Go on under the key that is there, as if it were a new one."""
    return facts.rotated(Pretended(link, Rotated(link.keys.epoch, 1)), b"", _UNCHECKED)


def rotated_unheard(link: Link) -> KeyRotated:
    """Take the pending key without an acknowledgement."""
    link.awaited = None
    link.take()
    return kept(link)


def not_fenced(link: Link) -> ContextsFenced:
    """Go on as if contexts were fenced."""
    return facts.fenced(Pretended(link, Fenced()), b"", _UNCHECKED)


def fenced_unheard(link: Link) -> ContextsFenced:
    """Take contexts for fenced without an acknowledgement."""
    link.awaited = None
    return not_fenced(link)


def scrubbed_unheard(link: Link) -> BufferScrubbed:
    """Take the buffer for clean without an acknowledgement."""
    link.awaited = None
    return facts.scrubbed(Pretended(link, Scrubbed(0)), b"", _UNCHECKED)


def carried_over(so_far: Established, link: Link) -> Established:
    """Keep what was established in an earlier epoch of the session as if it were about this one."""
    fenced, verified = so_far.fenced, so_far.verified
    if _is_of(fenced, link):
        fenced = not_fenced(link)
    if _is_of(verified, link):
        found = Pretended(link, MemoryRead(b"", b"", 0, 0))
        verified = facts.verified(found, b"", Expected(b"", b"", None), _UNCHECKED)
    return replace(so_far, fenced=fenced, verified=verified)


def _is_of(fact: EpochFact | None, link: Link) -> bool:
    return fact is not None and fact.session == link.session
