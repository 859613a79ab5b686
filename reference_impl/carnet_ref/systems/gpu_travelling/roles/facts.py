"""Facts that a role has established: values that only the check that establishes them can make.

A step that rests on a fact takes it as a parameter, so that it cannot be written down without the check. Each fact says
which session and epoch it is about; `require` refuses one that is about another.
"""

from __future__ import annotations

from typing import Final

from carnet_ref.crypto.primitives import AuthenticationError, sha384
from carnet_ref.systems.gpu_travelling.defences import Defences
from carnet_ref.systems.gpu_travelling.device.commands import Fenced, MemoryRead, Rotated, Scrubbed
from carnet_ref.systems.gpu_travelling.roles.links import Link
from carnet_ref.transport.frames import ProtocolError

_MINT: Final = object()


class ForgedFactError(TypeError):
    """A fact was made by something else than the check that establishes it."""


class Fact:
    """Something established about one epoch of one session."""

    __slots__ = ("about",)

    def __init__(self, mint: object, about: str) -> None:
        if mint is not _MINT:
            raise ForgedFactError(f"{type(self).__name__} comes out of its check, and from nowhere else")
        self.about = about

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.about})"


class GpuAttested(Fact):
    """The session's responder is a genuine GPU in confidential mode; about a session."""


class HolderEnrolled(Fact):
    """The far end of a holder's channel proved its enrolment key; about a holder."""


class KeyRotated(Fact):
    """The GPU acknowledged a key under that key; about the new epoch."""


class ContextsFenced(Fact):
    """The GPU acknowledged that nothing of anybody else's runs; about the epoch it said so in."""


class MemoryVerified(Fact):
    """Code, model and receive counter were read back and are as they should be; about the epoch they were read in."""


class BufferScrubbed(Fact):
    """The GPU acknowledged that nothing of a dataset is left; about the epoch it said so in."""


def require(fact: Fact, link: Link) -> None:
    """Insist that a fact is about the link's session.

    Raises:
        ProtocolError: it is about another one.
    """
    if fact.about.split("/")[0] != link.session:
        raise ProtocolError(f"{fact!r} is not about session {link.session}")


def attested(session: str) -> GpuAttested:
    """Return the fact that `appraising.accept_report` established about ``session``."""
    return GpuAttested(_MINT, session)


def enrolled(holder: str) -> HolderEnrolled:
    """Return the fact that `appraising.accept_enrolment` established about ``holder``."""
    return HolderEnrolled(_MINT, holder)


def rotated(link: Link, sealed: bytes | None, inward: bool, defences: Defences) -> KeyRotated:
    """Take the pending key, on the GPU's acknowledgement under it.

    Raises:
        AuthenticationError: the acknowledgement does not verify under the new key, or there is none.
        ProtocolError: it acknowledges something else.
    """
    if defences.stands("rotation-ack"):
        reply = link.acknowledge(_present(sealed, "rotation"))
        if link.pending is None or not isinstance(reply, Rotated) or reply.epoch != link.pending.epoch:
            raise ProtocolError(f"expected the acknowledgement of a rotation, found {type(reply).__name__}")
        if defences.stands("engine-retirement") and reply.live != 1:
            raise ProtocolError(f"{reply.live} copy engines take traffic after a rotation, not one")
    else:
        link.disregard(Rotated)
    link.take()
    return KeyRotated(_MINT, link.name(link.keys))


def kept(link: Link, defences: Defences) -> KeyRotated:
    """Return what stands in for a rotation where there is none, because its defence is off.

    Raises:
        ProtocolError: no such defence is off.
    """
    if all(map(defences.stands, ("rotation-out", "rotation-in", "rotation-before-check", "fail-stop-on-reset"))):
        raise ProtocolError("the key is to be rotated")
    return KeyRotated(_MINT, link.name(link.keys))


def fenced(link: Link, sealed: bytes | None, defences: Defences) -> ContextsFenced:
    """Establish that contexts are fenced, on the GPU's acknowledgement under the link key.

    Raises:
        AuthenticationError: the acknowledgement does not verify, or there is none.
        ProtocolError: it acknowledges something else.
    """
    if defences.stands("fence-ack"):
        reply = link.open(_present(sealed, "fence"))
        if not isinstance(reply, Fenced):
            raise ProtocolError(f"expected Fenced, found {type(reply).__name__}")
    else:
        link.disregard(Fenced)
    return ContextsFenced(_MINT, link.name(link.keys))


def fence_left_out(link: Link, defences: Defences) -> ContextsFenced:
    """Return what stands in for a fence where there is none, because its defence is off.

    Raises:
        ProtocolError: no such defence is off.
    """
    if defences.stands("fence") and defences.stands("rotation-before-fence"):
        raise ProtocolError("contexts are to be fenced")
    return ContextsFenced(_MINT, link.name(link.keys))


def scrubbed(link: Link, sealed: bytes | None, defences: Defences) -> BufferScrubbed:
    """Establish that the scrub happened, on the GPU's acknowledgement under the link key, never on a semaphore.

    Raises:
        AuthenticationError: the acknowledgement does not verify, or there is none.
        ProtocolError: it acknowledges something else.
    """
    if defences.stands("scrub-ack"):
        reply = link.open(_present(sealed, "scrub"))
        if not isinstance(reply, Scrubbed):
            raise ProtocolError(f"expected Scrubbed, found {type(reply).__name__}")
        whole = defences.stands("scrub-buffer") and defences.stands("scrub-workspace")
        if whole and reply.left:
            raise ProtocolError(f"{reply.left} bytes are left after the scrub")
    return BufferScrubbed(_MINT, link.name(link.keys))


def verified(link: Link, sealed: bytes, expected: Expected, defences: Defences) -> MemoryVerified:
    """Compare what the copy engine read back with what it should be.

    Raises:
        AuthenticationError: the reply does not verify under the link key.
        ProtocolError: code, model or counter differ.
    """
    reply = link.open(sealed)
    if not isinstance(reply, MemoryRead):
        raise ProtocolError(f"expected a read-back, found {type(reply).__name__}")
    if defences.stands("code-read-back") and sha384(reply.code) != expected.code_digest:
        raise ProtocolError("code in GPU memory is not the orchestrator's")
    if defences.stands("model-read-back") and sha384(reply.model) != expected.model_digest:
        raise ProtocolError("the model in GPU memory is not the one last produced")
    if defences.stands("received-count") and expected.count is not None and reply.received != expected.count:
        raise ProtocolError(f"the GPU received {reply.received} messages, the holder sent {expected.count}")
    return MemoryVerified(_MINT, link.name(link.keys))


class Expected:
    """What a read-back should find; ``count`` is ``None`` where no holder returned one."""

    __slots__ = ("code_digest", "count", "model_digest")

    def __init__(self, code_digest: bytes, model_digest: bytes, count: int | None) -> None:
        self.code_digest = code_digest
        self.model_digest = model_digest
        self.count = count


def _present(sealed: bytes | None, what: str) -> bytes:
    if sealed is None:
        raise AuthenticationError(f"acknowledgement of the {what}")
    return sealed
