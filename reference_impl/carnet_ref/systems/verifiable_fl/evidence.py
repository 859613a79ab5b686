"""Evidence of exclaves, which binds a key or a single step to the launched code, and its appraisal.

An exclave introduces itself with a name, the run that it was launched for, and one of these:

* ``key``: nothing but a public key. The auditor has to know it.
* ``tdx`` with a key: evidence over that key. The key is in memory of software, so a leak of memory lets others speak
  for the exclave.
* ``tdx`` without a key: each step has evidence of its own in place of a signature. Software keeps no secret at all.
* ``nvidia-gpu``, with a key or without one: reports of a GPU. What a TD's quote is over is chosen by the code that runs
  inside, which the quote measures. What a GPU's report is over is the nonce of the request, which its asker chooses. So
  a report says that there is a GPU with these versions, and not that it said or did anything.

Source: arXiv 2412.10537v4, abstract (exclaves, and the variant on present hardware); DMTF DSP0274 1.1.0,
GET_MEASUREMENTS (the requester's nonce).
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import IntEnum
from typing import Any, Final, Protocol

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from carnet_ref.attestation.appraisal import Anchors, Appraisal, AppraisalStep
from carnet_ref.attestation.intel.appraisal import DEFAULT_STEPS, appraise_quote
from carnet_ref.attestation.intel.appraisal import Policy as TdPolicy
from carnet_ref.attestation.nvidia import appraisal as nvidia
from carnet_ref.attestation.nvidia.report import Mode
from carnet_ref.attestation.simulated.gpu import SimulatedGpu, gpu_request
from carnet_ref.attestation.simulated.td import SimulatedTd
from carnet_ref.crypto.primitives import sha256, sha384
from carnet_ref.wire import MalformedError, join

KEY, TDX, GPU = "key", "tdx", "nvidia-gpu"
KINDS: Final = (KEY, TDX, GPU)
QUOTE_STEPS: Final = DEFAULT_STEPS | {"report-data", "measurements", "tcb-status", "revocation"}
#: What is compared of a TD, in the order of a claims file: what it was launched with, and what it measured since.
TD_REGISTERS: Final = ("mrtd", "rtmr0", "rtmr1", "rtmr2", "rtmr3")
GPU_STEPS: Final = frozenset(nvidia.STEPS) - {"policy"}
REPORT_DATA_BYTES: Final = 64
POINT_BYTES: Final = 65  #: Bytes of an uncompressed point on P-256.
_KEY_LABEL: Final = b"carnet exclave key 1"
_STEP_LABEL: Final = b"carnet exclave step 1"


class Level(IntEnum):
    """The assurance levels of an audit; each includes those below it."""

    NONE = 0  #: Nothing.
    #: The graph is whole, and each log one signer's: true if the signers are honest.
    #:
    #: They are the owners of keys that the auditor knew before, and for a GPU any party that could ask it for a report.
    LINKED = 1
    ATTESTED = 2  #: Evidence binds each key to its code: true unless memory of an exclave leaks.
    EXCLAVE = 3  #: Evidence binds each step to its code, and software has no secret: true whatever leaks.


@dataclass(frozen=True, slots=True)
class Introduction:
    """An exclave's description of itself, with evidence."""

    name: str  #: what its statements call it.
    kind: str  #: one of `KINDS`.
    run: str  #: the run that it was launched for, 32 bytes in hexadecimal.
    key: bytes = b""  #: its public key, an uncompressed point on P-256; empty where each step has evidence of its own.
    #: a quote or report over name, run and key; empty where there is none.
    evidence: bytes = field(default=b"", repr=False)
    #: what vendors publish about the platform, by name: files, as their contents.
    endorsements: Mapping[str, tuple[bytes, ...]] = field(default_factory=dict, repr=False)

    @property
    def level(self) -> Level:
        """The assurance of this exclave's statements, once everything was appraised."""
        return level_of(self.kind, keyed=bool(self.key))

    @property
    def keyid(self) -> str:
        """The key id in its envelopes; for keys of hardware, the exclave's name."""
        return sha256(self.key).hex() if self.key else self.name

    @property
    def binding(self) -> bytes:
        """The bytes to which evidence about the key is bound."""
        return join(_KEY_LABEL, self.run.encode("ascii"), self.name.encode("ascii"), self.key)

    @property
    def public_key(self) -> ec.EllipticCurvePublicKey:
        """The public key. Raises MalformedError if it is no point on P-256."""
        return public_key_of(self.key)

    def to_json(self) -> dict[str, Any]:
        """Return JSON values; bytes are in base64."""
        files = {name: [_base64(each) for each in contents] for name, contents in self.endorsements.items()}
        said = {"name": self.name, "kind": self.kind, "run": self.run}
        return {**said, "key": self.key.hex(), "evidence": _base64(self.evidence), "endorsements": files}

    @classmethod
    def from_json(cls, value: object) -> Introduction:
        """Return the introduction in JSON values. Raises MalformedError if they are malformed."""
        names = ("name", "kind", "run", "key", "evidence", "endorsements")
        if not isinstance(value, dict) or value.keys() != frozenset(names):
            raise MalformedError("exclave", f"an object of {', '.join(names)}", ascii(value)[:80])
        try:
            files = {str(name): tuple(map(_octets, each)) for name, each in value["endorsements"].items()}
            name, kind, run = (str(value[name]) for name in ("name", "kind", "run"))
            key, evidence = bytes.fromhex(value["key"]), _octets(value["evidence"])
        except (TypeError, ValueError, AttributeError) as error:
            raise MalformedError("exclave", "text, hexadecimal digits and base64", str(error)[:80]) from None
        if kind not in KINDS or not (name + run).isascii():
            raise MalformedError("exclave", f"a kind out of {', '.join(KINDS)}, and ASCII", ascii((name, kind))[:80])
        return cls(name, kind, run, key, evidence, files)


def level_of(kind: str, *, keyed: bool) -> Level:
    """Return the assurance of statements of such an exclave, which signs with a key or attests each step."""
    if kind != TDX:
        return Level.LINKED
    return Level.ATTESTED if keyed else Level.EXCLAVE


def public_key_of(point: bytes) -> ec.EllipticCurvePublicKey:
    """Return the public key of an uncompressed point. Raises MalformedError for any other encoding."""
    wrong = MalformedError("exclave", "an uncompressed point on P-256", point.hex()[:16])
    if len(point) != POINT_BYTES:
        raise wrong
    try:
        return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), point)
    except ValueError:
        raise wrong from None


def step_binding(signed: bytes) -> bytes:
    """Return the bytes to which evidence about a single step is bound; ``signed`` is what a key would sign."""
    return join(_STEP_LABEL, signed)


@dataclass(frozen=True, slots=True)
class ExpectedExclave:
    """The claims about an exclave: its kind, measurement and assurance level.

    ``measurement`` is the MRTD of a TD in hexadecimal and, after spaces, as many of RTMR0 to RTMR3 as are compared, the
    driver and VBIOS versions of a GPU with a space between them, which have to be these very ones, or the key itself in
    hexadecimal.
    """

    name: str
    kind: str
    measurement: str
    level: Level = Level.LINKED


def appraise(
    shown: Introduction, evidence: bytes, binding: bytes, expected: ExpectedExclave, anchors: Anchors, at: datetime
) -> Appraisal:
    """Appraise evidence of an exclave: its signer, what it is bound to, and what it measured.

    ``evidence`` is over the exclave's key, or over one step. Raises LookupError for a kind that has no evidence.
    """
    files = shown.endorsements
    if shown.kind == TDX:
        values = (frozenset({bytes.fromhex(each)}) for each in expected.measurement.split(" "))
        policy = TdPolicy(QUOTE_STEPS, measurements=tuple(zip(TD_REGISTERS, values, strict=False)))
        collateral = next(iter(files.get("collateral", ())), None)
        data = report_data(binding)
        return appraise_quote(evidence, at=at, policy=policy, anchors=anchors, collateral=collateral, report_data=data)
    if shown.kind == GPU:
        policy_ = nvidia.Policy(GPU_STEPS, modes=frozenset({Mode.SINGLE_GPU}))
        chain = next(iter(files.get("chain", ())), b"")
        given = {"rims": files.get("rims", ()), "ocsp": files.get("ocsp", ())}
        nonce = sha256(binding)
        found = nvidia.appraise_gpu(evidence, chain, at=at, policy=policy_, anchors=anchors, nonce=nonce, **given)
        return _of_versions(found, expected.measurement)
    raise LookupError(shown.kind)


def _of_versions(found: Appraisal, expected: str) -> Appraisal:
    """Return the appraisal of a GPU, refused if it has other versions of driver and VBIOS than is expected."""
    if not found.accepted:
        return found
    versions = f"{found.claims['driver_version']} {found.claims['vbios_version']}"
    if versions.lower() == expected.lower():
        return found
    step = AppraisalStep("versions", False, f"driver and VBIOS are {versions}, and not {expected}")
    return replace(found, steps=(*found.steps, step), claims={})


def report_data(binding: bytes) -> bytes:
    """Return the 64 bytes of report data for a TD's quote."""
    return sha384(binding).ljust(REPORT_DATA_BYTES, b"\0")


# -- who makes evidence --------------------------------------------------------------------------------------------


class Attester(Protocol):
    """The hardware below an exclave."""

    @property
    def kind(self) -> str:
        """The kind of evidence."""

    @property
    def endorsements(self) -> Mapping[str, tuple[bytes, ...]]:
        """The vendor's endorsements of the hardware, by name."""

    def evidence(self, binding: bytes) -> bytes:
        """Return evidence about the running code, bound to ``binding``."""


@dataclass(frozen=True, slots=True)
class TdAttester:
    """A simulated TD."""

    td: SimulatedTd
    kind: str = TDX

    @property
    def endorsements(self) -> Mapping[str, tuple[bytes, ...]]:
        """The collateral of the platform."""
        return {"collateral": (self.td.collateral,)}

    def evidence(self, binding: bytes) -> bytes:
        """Return a quote."""
        return self.td.quote(report_data(binding))


@dataclass(frozen=True, slots=True)
class GpuAttester:
    """A simulated GPU, with its vendor's reference values and OCSP replies."""

    gpu: SimulatedGpu
    rims: tuple[bytes, ...]
    ocsp: tuple[bytes, ...]
    kind: str = GPU

    @property
    def endorsements(self) -> Mapping[str, tuple[bytes, ...]]:
        """The GPU's certificates, firmware manifests and OCSP replies."""
        return {"chain": (self.gpu.chain_pem,), "rims": self.rims, "ocsp": self.ocsp}

    def evidence(self, binding: bytes) -> bytes:
        """Return a report."""
        return self.gpu.report(gpu_request(sha256(binding)))


def point_of(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the public key as an uncompressed point."""
    return key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _octets(value: object) -> bytes:
    try:
        return base64.b64decode(value if isinstance(value, str) else "-", validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
