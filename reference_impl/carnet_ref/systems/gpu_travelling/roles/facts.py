"""Facts that a role has established: values that only the establishing check can make.

A step that rests on a fact takes it as a parameter, so that it cannot be written down without the check. A fact says
what it is about: a session with a GPU (`SessionFact`), an epoch of such a session (`EpochFact`), or a holder and its
channel (`HolderEnrolled`). `require` refuses a fact about another session or another epoch than the link's.

A fact that rests on a report of the firmware comes with an AuthenticationError where the session's firmware did not
make the report, and with a ProtocolError where it reports something else.
"""

from dataclasses import dataclass
from typing import Final, NoReturn

from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

from carnet_ref.attestation.appraisal import Appraisal
from carnet_ref.crypto.primitives import sha384
from carnet_ref.systems.gpu_travelling.enforcement import Checks, ReceivedMessage
from carnet_ref.systems.gpu_travelling.names import GPU
from carnet_ref.systems.gpu_travelling.orders import Fenced, MemoryRead, Rotated, Saved, Scrubbed, Trained
from carnet_ref.systems.gpu_travelling.roles import attestation
from carnet_ref.systems.gpu_travelling.roles.links import Link
from carnet_ref.systems.gpu_travelling.roles.messages import Channel
from carnet_ref.transport.frames import ProtocolError

_MINT: Final = object()


class ForgedFactError(TypeError):
    """Code other than the establishing check tried to make a fact."""


class Fact:
    """An established fact; subclasses say what it is about."""

    __slots__ = ()

    def __init__(self, mint: object) -> None:
        if mint is not _MINT:
            raise ForgedFactError(f"{type(self).__name__} comes out of its check, and from nowhere else")

    def __setattr__(self, name: str, value: object) -> None:
        if hasattr(self, name):
            raise ForgedFactError(f"{type(self).__name__} stays as its check made it")
        super().__setattr__(name, value)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise ForgedFactError(f"{type(self).__name__} is not copied: it comes out of its check")

    def __str__(self) -> str:
        return type(self).__name__


class SessionFact(Fact):
    """A fact about one session with a GPU."""

    __slots__ = ("session",)

    def __init__(self, mint: object, session: str) -> None:
        super().__init__(mint)
        self.session = session

    def __repr__(self) -> str:
        return f"{self}({self.session})"

    def is_about(self, link: Link) -> bool:
        """Return whether the fact is about the session of ``link``."""
        return self.session == link.session


class EpochFact(SessionFact):
    """A fact about one epoch of one session."""

    __slots__ = ("epoch",)

    def __init__(self, mint: object, session: str, epoch: int) -> None:
        super().__init__(mint, session)
        self.epoch = epoch

    def __repr__(self) -> str:
        return f"{self}({self.session}/{self.epoch})"

    def is_about(self, link: Link) -> bool:
        """Return whether the fact is about the session and epoch of ``link``."""
        return (self.session, self.epoch) == (link.session, link.keys.epoch)


class GpuAttested(SessionFact):
    """The fact that the session's responder is a genuine GPU in confidential mode."""


class KeyRotated(EpochFact):
    """The fact that the firmware reported, in this session, that the GPU took the key of this epoch."""


class ContextsFenced(EpochFact):
    """The fact that the firmware reported, in this epoch, that no foreign context runs."""


class MemoryVerified(EpochFact):
    """The fact that the firmware reported, in this epoch, the expected code, model and counter, and no context."""


class VersionFact(EpochFact):
    """A fact, in one epoch, about a version of the model, which its digest identifies."""

    __slots__ = ("digest",)

    def __init__(self, mint: object, session: str, epoch: int, digest: bytes) -> None:
        super().__init__(mint, session, epoch)
        self.digest = digest


class VersionTrained(VersionFact):
    """The fact that the firmware reported this version as the result of training in this epoch."""


class VersionSaved(VersionFact):
    """The fact that the model that came home in this epoch is this version, the last one produced."""


class BufferScrubbed(EpochFact):
    """The fact that the firmware reported, in this epoch, that no data of a dataset is left."""


class HolderEnrolled(Fact):
    """The fact that the far end of a channel has the enrolment key of a holder."""

    __slots__ = ("channel", "holder")

    def __init__(self, mint: object, holder: str, channel: bytes) -> None:
        super().__init__(mint)
        self.holder = holder
        self.channel = channel

    def __repr__(self) -> str:
        return f"{self}({self.holder}, channel {self.channel.hex()})"


def require(fact: SessionFact, link: Link) -> None:
    """Raise ProtocolError unless a fact is about the link's session and, for an epoch's fact, the link's epoch.

    Raises ProtocolError if it is about another one.
    """
    if not fact.is_about(link):
        raise ProtocolError(f"{fact!r} is not about session {link.session}, epoch {link.keys.epoch}")


def establish_attestation(
    session: attestation.Requester,
    evidence: attestation.GpuEvidence,
    nonce: bytes,
    verifier: attestation.GpuEvidenceVerifier,
    checks: Checks,
    saw: ReceivedMessage,
) -> tuple[GpuAttested, Appraisal]:
    """Establish that the session's responder is a genuine GPU in confidential mode; ``saw`` has its report.

    Raises ProtocolError if the report is refused, or another GPU than the session's responder signed it.
    """
    appraisal = verifier.appraise(evidence, nonce)
    has, told = attestation.asked_of(appraisal, "the GPU's report")
    current = appraisal.failed_step != "policy"  # which refuses versions that are too old, once every step was taken
    attestation.each_in_turn(
        appraisal,
        {
            attestation.SIGNED: lambda at: checks.require(
                "gpu-certificate", "REQ-SETUP-03", has(at), saw=saw, otherwise=told(at)
            ),
            attestation.ANSWERS: lambda at: checks.require(
                "report-nonce", "REQ-SETUP-04", has(at), saw=saw, otherwise=told(at)
            ),
            attestation.MODE: lambda at: checks.require(
                "mode-check", "REQ-SETUP-05", has(at), saw=saw, otherwise=told(at)
            ),
            attestation.DEBUG: lambda at: checks.require(
                "debug-check", "REQ-SETUP-14", has(at), saw=saw, otherwise=told(at)
            ),
            attestation.NOT_REVOKED: lambda at: checks.require(
                "revocation-check", "REQ-SETUP-16", has(at), saw=saw, otherwise=told(at)
            ),
            attestation.VALUES: lambda at: checks.require(
                "reference-values", "REQ-SETUP-15", has(at) and current, saw=saw, otherwise=told(at)
            ),
        },
    )
    attestation.require_accepted(appraisal, "the GPU's report")
    own = appraisal.claims.get("key") == session.responder_key
    another = "the GPU's report is signed by another GPU than the session's responder"
    checks.require("signer-is-responder", "REQ-SETUP-07", own, saw=saw, otherwise=another)
    return GpuAttested(_MINT, session.label), appraisal


def establish_enrolment(
    holder: str, key: EllipticCurvePublicKey, signature: bytes, channel: Channel, checks: Checks
) -> HolderEnrolled:
    """Establish that the far end of the channel has the holder's enrolment key.

    Raises ProtocolError if the proof is for another channel or by another key.
    """
    proven, told = (
        attestation.proves_enrolment(key, signature, channel.exporter),
        f"{holder}: enrolment proof does not verify",
    )
    checks.require("enrolment-check", "REQ-SETUP-12", proven, saw=ReceivedMessage(holder, signature), otherwise=told)
    return HolderEnrolled(_MINT, holder, channel.name)


def establish_rotation(link: Link, sealed: bytes, checks: Checks) -> KeyRotated:
    """Establish that the GPU took the pending key, by the firmware's report, and use that key."""
    saw = ReceivedMessage(GPU, sealed)
    report = checks.expect("rotation-ack", "REQ-KEY-05", link.report(sealed), Rotated, saw=saw)
    ordered = link.pending is not None and report.epoch == link.pending.epoch
    told = f"epoch {report.epoch} was not ordered"
    checks.require("rotation-ack", "REQ-KEY-05", ordered, saw=saw, otherwise=told)
    told = f"{report.live} copy engines take traffic after a rotation, not one"
    checks.require("engine-retirement", "REQ-KEY-04", report.live == 1, saw=saw, otherwise=told)
    link.take()
    return KeyRotated(_MINT, link.session, link.keys.epoch)


def establish_fence(link: Link, sealed: bytes, checks: Checks) -> ContextsFenced:
    """Establish that contexts are fenced, by the firmware's report."""
    saw = ReceivedMessage(GPU, sealed)
    checks.expect("fence-ack", "REQ-HOME-02", link.report(sealed), Fenced, saw=saw)
    return ContextsFenced(_MINT, link.session, link.keys.epoch)


def establish_scrub(link: Link, sealed: bytes, checks: Checks) -> BufferScrubbed:
    """Establish that the scrub happened, by the firmware's report, never by a semaphore."""
    saw = ReceivedMessage(GPU, sealed)
    report = checks.expect("scrub-ack", "REQ-SCRUB-03", link.report(sealed), Scrubbed, saw=saw)
    told = f"{report.left} bytes are left after the scrub"
    checks.require("scrub-workspace", "REQ-SCRUB-02", report.left == 0, saw=saw, otherwise=told)
    return BufferScrubbed(_MINT, link.session, link.keys.epoch)


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected result of a read-back; ``count`` is None if no holder returned one."""

    code_digest: bytes
    model_digest: bytes
    count: int | None


def establish_memory(link: Link, sealed: bytes, expected: Expected, checks: Checks) -> MemoryVerified:
    """Establish that digests, counter and contexts in the firmware's report are as ``expected``."""
    saw = ReceivedMessage(GPU, sealed)
    found = checks.expect("code-read-back", "REQ-HOME-04", link.report(sealed), MemoryRead, saw=saw)
    own, last = found.code == expected.code_digest, found.model == expected.model_digest
    told = "code in GPU memory is not the orchestrator's"
    checks.require("code-read-back", "REQ-HOME-04", own, saw=saw, otherwise=told)
    told = "the model in GPU memory is not the one last produced"
    checks.require("model-read-back", "REQ-HOME-05", last, saw=saw, otherwise=told)
    told = f"expected no context besides the firmware, found {found.contexts}"
    checks.require("no-context-left", "REQ-HOME-07", found.contexts == 0, saw=saw, otherwise=told)
    told = f"the GPU received {found.received} messages, the holder sent {expected.count}"
    same = expected.count in {None, found.received}
    checks.require("received-count", "REQ-HOME-06", same, saw=saw, otherwise=told)
    return MemoryVerified(_MINT, link.session, link.keys.epoch)


def establish_version(link: Link, sealed: bytes, checks: Checks) -> VersionTrained:
    """Establish which version training produced, by the firmware's report; data on the link is not used."""
    saw = ReceivedMessage(GPU, sealed)
    report = checks.expect("session-acknowledgements", "REQ-MODEL-02", link.report(sealed), Trained, saw=saw)
    return VersionTrained(_MINT, link.session, link.keys.epoch, report.model)


def establish_saved_version(link: Link, sealed: bytes, model: bytes, latest: bytes, checks: Checks) -> VersionSaved:
    """Establish that the model that came home is the last produced version."""
    saw = ReceivedMessage(GPU, sealed)
    report = checks.expect("saved-digest", "REQ-MODEL-03", link.report(sealed), Saved, saw=saw)
    told = "the model that went home is not the one last produced"
    checks.require("saved-digest", "REQ-MODEL-03", report.model == latest, saw=saw, otherwise=told)
    told = "the model that came home is not the one that the firmware sent"
    same = sha384(model) == report.model
    checks.require("saved-digest", "REQ-MODEL-03", same, saw=saw, otherwise=told)
    return VersionSaved(_MINT, link.session, link.keys.epoch, report.model)
