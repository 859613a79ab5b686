"""Composite evidence: one quote that binds an orchestrator to its channel, its GPU, its job and a moment.

A quote says what runs in a TD, not who is at the other end of a channel, and a GPU's report says nothing of the session
it is used in. Both are bound here, *after* the handshake:

* The TD asks for its quote with a REPORTDATA that commits to its role, to the exporter of the channel it answers on, to
  the report of its GPU, to the holder's nonce, to the epoch, to the manifest of the job and to the instance that it
  is. A quote relayed from another channel, or diverted from a TD of another role, commits to something else.
* The GPU's report is taken only from the SPDM session that is to be used, under the certificate that signed that
  session's key exchange, and on a nonce derived from what the session agreed on (`nonce_in_session`).

Source: Sardar et al., "Identity Crisis in Confidential Computing: Formal Analysis of Attested TLS" (diversion and relay
of quotes made during a handshake); RFC 9266 (channel bindings for TLS 1.3).
"""

import hmac
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cryptography.hazmat.primitives import hashes

from carnet_ref.attestation.appraisal import Anchors, Appraisal, Checklist, RefusedError
from carnet_ref.attestation.intel.appraisal import Policy as TdPolicy
from carnet_ref.attestation.intel.appraisal import appraise_quote
from carnet_ref.attestation.nvidia.appraisal import Policy as GpuPolicy
from carnet_ref.attestation.nvidia.appraisal import appraise_gpu
from carnet_ref.crypto.primitives import sha256, sha384
from carnet_ref.spdm.session import GpuSession
from carnet_ref.wire import MalformedError, Reader

_BINDING: Final = b"carnet composite binding 2\0"
_EVIDENCE: Final = b"carnet composite evidence 1\0"
_SESSION_NONCE: Final = b"carnet nonce in session 1\0"
DIGEST_BYTES: Final = 48
NONCE_BYTES: Final = 32
INSTANCE_BYTES: Final = 32
EXPORTER_BYTES: Final = range(32, 65)
LARGEST_PART: Final = 1 << 20
SOURCE: Final = "RFC 9266; Sardar et al., Identity Crisis"


@dataclass(frozen=True, slots=True)
class Binding:
    """The values that a TD commits to in its quote."""

    role: str  #: what the TD is in the protocol, such as ``orchestrator``.
    exporter: bytes  #: the exporter of the channel that it answers on, 32 to 64 bytes.
    gpu_report_digest: bytes  #: the SHA-384 of its GPU's report.
    nonce: bytes  #: the 32 bytes that the other end of the channel asked with.
    epoch: int  #: the key epoch from which on the evidence is to be relied on.
    manifest: bytes  #: the SHA-384 of the job's manifest.
    #: the 32 bytes that the TD drew when it first started, which tell it from others of its code and job.
    instance: bytes

    def encode(self) -> bytes:
        """Return the only encoding of this binding: each field preceded by its length, big-endian."""
        fields = (self.role.encode(), self.exporter, self.gpu_report_digest, self.nonce, self.manifest, self.instance)
        return _BINDING + self.epoch.to_bytes(8, "big") + b"".join(_with_length(field) for field in fields)

    def report_data(self) -> bytes:
        """Return the quote's 64 bytes of report data: the SHA-512 of the encoding."""
        context = hashes.Hash(hashes.SHA512())
        context.update(self.encode())
        return context.finalize()


@dataclass(frozen=True, slots=True)
class CompositeEvidence:
    """A binding, the quote that commits to it, and the GPU's report with its certificates in PEM."""

    binding: Binding
    quote: bytes
    gpu_report: bytes
    gpu_chain: bytes

    def encode(self) -> bytes:
        """Return the evidence as bytes, to be sent inside the channel that it is bound to."""
        parts = (self.binding.encode(), self.quote, self.gpu_report, self.gpu_chain)
        return _EVIDENCE + b"".join(_with_length(part) for part in parts)


def parse_evidence(data: bytes) -> CompositeEvidence:
    """Read composite evidence. Raises MalformedError if it is something else."""
    reader = Reader(data, "composite evidence", "big")
    reader.constant(_EVIDENCE, "header")
    names = ("binding", "quote", "GPU report", "GPU certificates")
    binding, quote, report, chain = (_part(reader, name) for name in names)
    reader.end()
    return CompositeEvidence(_parse_binding(binding), quote, report, chain)


def _parse_binding(data: bytes) -> Binding:
    reader = Reader(data, "binding", "big")
    reader.constant(_BINDING, "header")
    epoch = reader.number(8, "epoch")
    names = ("role", "exporter", "GPU report digest", "nonce", "manifest", "instance")
    role, exporter, digest, nonce, manifest, instance = (_part(reader, name) for name in names)
    reader.end()
    sizes = {"GPU report digest": len(digest), "manifest": len(manifest)}
    wrong = next((name for name, size in sizes.items() if size != DIGEST_BYTES), None)
    if wrong is not None:
        raise MalformedError("binding", f"{DIGEST_BYTES} bytes of {wrong}", f"{sizes[wrong]}")
    if len(nonce) != NONCE_BYTES or len(exporter) not in EXPORTER_BYTES:
        raise MalformedError("binding", "a nonce and an exporter of their sizes", f"{len(nonce)} and {len(exporter)}")
    if len(instance) != INSTANCE_BYTES:
        raise MalformedError("binding", f"{INSTANCE_BYTES} bytes of instance", f"{len(instance)}")
    try:
        return Binding(role.decode("ascii"), exporter, digest, nonce, epoch, manifest, instance)
    except UnicodeDecodeError:
        raise MalformedError("binding", "a role in ASCII", role.hex()) from None


def _with_length(field: bytes) -> bytes:
    return len(field).to_bytes(4, "big") + field


def _part(reader: Reader, name: str) -> bytes:
    size = reader.number(4, f"length of {name}")
    if size > LARGEST_PART:
        raise reader.malformed(f"at most {LARGEST_PART} bytes of {name}", f"{size}")
    return reader.take(size, name)


@dataclass(frozen=True, slots=True)
class Expected:
    """The verifier's own values for a `Binding`, none of which come from the evidence."""

    role: str
    exporter: bytes
    nonce: bytes
    epoch: int
    manifest: bytes


@dataclass(frozen=True, slots=True)
class Verifier:
    """The verifier's trust anchors and policies, with collateral for the platform and the GPU.

    ``collateral`` is about the TD's platform; ``rims`` and ``ocsp`` are about the GPU, as for `appraise_gpu`. Without a
    ``gpu_policy`` the verifier leaves the GPU to the TD, which took the report inside its own session.
    """

    anchors: Anchors
    td_policy: TdPolicy
    gpu_policy: GpuPolicy | None = None
    collateral: bytes | None = None
    rims: Sequence[bytes] = ()
    ocsp: Sequence[bytes] = ()


def appraise_composite(
    evidence: bytes,
    expected: Expected,
    verifier: Verifier,
    *,
    at: datetime,
) -> Appraisal:
    """Appraise composite evidence from the channel to which it should be bound.

    Steps of the quote's and of the report's own appraisal are listed with ``quote.`` and ``gpu.`` before their ids.

    ``at`` is when it is appraised; it has a time zone.
    """
    steps = Checklist()
    try:
        with steps.refusing("parse", MalformedError):
            parsed = parse_evidence(evidence)
        steps.passed("parse", f"binding of {len(parsed.binding.encode())} bytes, a quote and a report")
        # Establish that a TD made the binding, before anything in the binding is believed
        quote = appraise_quote(
            parsed.quote,
            at=at,
            policy=verifier.td_policy,
            anchors=verifier.anchors,
            collateral=verifier.collateral,
            report_data=parsed.binding.report_data(),
        )
        steps.adopt(quote, "quote")
        for step, holds, otherwise in _comparisons(parsed, expected):
            steps.require(holds, step, "as expected", otherwise, SOURCE)
        gpu = _appraise_report(steps, parsed, verifier, at)
    except RefusedError:
        return steps.conclude({})
    binding = parsed.binding
    told = {"manifest": binding.manifest.hex(), "instance": binding.instance.hex()}
    return steps.conclude(
        {"role": binding.role, "epoch": binding.epoch, **told, "quote": dict(quote.claims), "gpu": dict(gpu)}
    )


def _comparisons(parsed: CompositeEvidence, expected: Expected) -> tuple[tuple[str, bool, str], ...]:
    """Return each step that holds the binding against what is expected: its id, whether it holds, what if not."""
    bound = parsed.binding
    digest = sha384(parsed.gpu_report)
    return (
        ("role", bound.role == expected.role, f"bound to the role {bound.role!r}, not {expected.role!r}"),
        ("channel", _same(bound.exporter, expected.exporter), "bound to another channel: relayed or diverted"),
        ("nonce", _same(bound.nonce, expected.nonce), "bound to another nonce: not made for this request"),
        ("epoch", bound.epoch == expected.epoch, f"bound to epoch {bound.epoch}, not {expected.epoch}"),
        ("manifest", _same(bound.manifest, expected.manifest), "bound to the manifest of another job"),
        ("gpu-report", _same(bound.gpu_report_digest, digest), "bound to the report of another GPU or session"),
    )


def _same(one: bytes, other: bytes) -> bool:
    return hmac.compare_digest(one, other)


def _appraise_report(
    steps: Checklist, parsed: CompositeEvidence, verifier: Verifier, at: datetime
) -> Mapping[str, object]:
    """Appraise the report that the TD relies on; that it came inside the TD's session is the TD's word."""
    if verifier.gpu_policy is None:
        steps.left_out(
            "gpu", "left to the TD, which took the report inside its own session", lacking="GPU not appraised"
        )
        return {}
    appraisal = appraise_gpu(
        parsed.gpu_report,
        parsed.gpu_chain,
        at=at,
        policy=verifier.gpu_policy,
        anchors=verifier.anchors,
        rims=verifier.rims,
        ocsp=verifier.ocsp,
    )
    steps.adopt(appraisal, "gpu")
    return appraisal.claims


def nonce_in_session(session: GpuSession, nonce: bytes) -> bytes:
    """Return the 32-byte nonce for requesting a report inside a session.

    They commit to the session's transcript, so that a report which the same device made elsewhere does not fit.
    """
    return sha256(_SESSION_NONCE + _with_length(session.transcript) + _with_length(nonce))
