"""Simulated attesters for the tests of a relying party: genuine evidence, and evidence that is altered in one way.

Each piece of evidence comes with the arguments for `carnet_ref.attestation.appraise` and with the step that refuses it.
The roots are test roots, which no appraisal trusts unless they are passed in.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import Any, Final

from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.appraisal import Anchors, Appraisal
from carnet_ref.attestation.dispatch import appraise
from carnet_ref.attestation.intel.collateral import TcbStatus
from carnet_ref.attestation.nvidia.report import DebugState
from carnet_ref.attestation.simulated.gpu import CURRENT, OUTDATED, SimulatedGpu, SimulatedVendor, gpu_request
from carnet_ref.attestation.simulated.td import SimulatedPlatform

START: Final = datetime(2026, 1, 1, tzinfo=UTC)
MRTD: Final = 48 + 136  #: Where the measurement of a TD is in a quote of version 4.
MEASUREMENT: Final = 37 + 8 + 7  #: Where the value of a GPU's first measurement is in its report.


@dataclass(frozen=True, slots=True)
class SimulatedEvidence:
    """Evidence with its expected appraisal."""

    what: str  #: the alteration, or ``genuine``.
    document: bytes  #: the evidence.
    given: Mapping[str, Any]  #: the arguments of `appraise` by name: a time, roots, and the nonce or report data.
    failed_step: str | None = None  #: the step at which it is refused; ``None`` where it is genuine.

    def appraise(self, **other: Any) -> Appraisal:
        """Appraise the evidence with its own arguments; those in ``other`` replace them."""
        return appraise(self.document, **{**self.given, **other})


@dataclass(frozen=True)
class SimulatedAttesters:
    """A virtual machine of Intel TDX and an NVIDIA GPU, under roots of their own; ``at`` is when evidence is made."""

    at: datetime = START

    def since(self, at: datetime) -> SimulatedAttesters:
        """Return the same attesters with evidence of another time, such as now."""
        return SimulatedAttesters(at)

    @cached_property
    def _platform(self) -> SimulatedPlatform:
        return SimulatedPlatform(b"a platform", self.at)

    @cached_property
    def _vendor(self) -> SimulatedVendor:
        return SimulatedVendor(b"a vendor", self.at)

    @property
    def anchors(self) -> Anchors:
        """Trust anchors: the test roots of both attesters."""
        return Anchors({**self._platform.anchors.by_role, **self._vendor.anchors.by_role})

    @property
    def anchors_pem(self) -> bytes:
        """The test roots in PEM, as ``--trust-anchor`` takes them."""
        roots = dict.fromkeys(root for each in self.anchors.by_role.values() for root in each)
        return b"".join(root.public_bytes(Encoding.PEM) for root in roots)

    def tdx(self, report_data: bytes) -> SimulatedEvidence:
        """Return a quote with this report data (64 bytes), and its collateral."""
        return self._quote("genuine", self._platform.td().quote(report_data), report_data)

    def gpu(self, nonce: bytes) -> SimulatedEvidence:
        """Return a document with a GPU's report on a nonce (32 bytes), reference values and OCSP replies."""
        gpu = self._gpu()
        return self._report("genuine", gpu, gpu.report(gpu_request(nonce)), nonce)

    def altered_tdx(self, report_data: bytes) -> tuple[SimulatedEvidence, ...]:
        """Return quotes that have to be refused, each altered in one way; 64 bytes of report data were asked for."""
        platform, quote = self._platform, self._platform.td().quote(report_data)
        stranger = SimulatedPlatform(b"another platform", self.at)
        behind = platform.issue_collateral(self.at, status=TcbStatus.OUT_OF_DATE)
        revoked = platform.issue_collateral(self.at, revoked=[platform.pck_chain[0].certificate])
        return tuple(
            self._quote(what, document, report_data, failed_step, collateral)
            for what, document, failed_step, collateral in (
                ("the answer to another question", platform.td().quote(_other(report_data)), "report-data", None),
                ("another measurement", _flipped(quote, MRTD), "quote-signature", None),
                ("a virtual machine that its host may read", platform.td(debug=True).quote(report_data), "debug", None),
                ("a platform of somebody else", stranger.td().quote(report_data), "pck-chain", None),
                ("a platform that misses updates", quote, "tcb-status", behind),
                ("a platform that is revoked", quote, "revocation", revoked),
                ("the end cut off", quote[:-1], "parse", None),
            )
        )

    def altered_gpu(self, nonce: bytes) -> tuple[SimulatedEvidence, ...]:
        """Return reports that have to be refused, each altered in one way; a nonce of 32 bytes was asked for."""
        gpu, request = self._gpu(), gpu_request(nonce)
        report = gpu.report(request)
        stranger = SimulatedGpu(b"a gpu", self.at, imitated=self._vendor)
        debugged = self._gpu(debug=DebugState.INVASIVE)
        outdated = self._gpu(firmware=OUTDATED, stated=CURRENT)
        return (
            self._report("the answer to another question", gpu, gpu.report(gpu_request(_other(nonce))), nonce, "nonce"),
            self._report("another measurement", gpu, _flipped(report, MEASUREMENT), nonce, "signature"),
            self._report("a device of somebody else", stranger, stranger.report(request), nonce, "chain"),
            self._report("a device that is debugged", debugged, debugged.report(request), nonce, "debug"),
            self._report("old firmware that says it is new", outdated, outdated.report(request), nonce, "measurements"),
            self._report("a device that is revoked", gpu, report, nonce, "revocation", revoked=True),
            self._report("the end cut off", gpu, report[:-1], nonce, "parse"),
        )

    def _gpu(self, **how: Any) -> SimulatedGpu:
        return SimulatedGpu(b"a gpu", self.at, vendor=self._vendor, **how)

    def _quote(
        self, what: str, document: bytes, asked: bytes, failed_step: str | None = None, collateral: bytes | None = None
    ) -> SimulatedEvidence:
        given = {"report_data": asked, "collateral": [collateral or self._platform.collateral]}
        return SimulatedEvidence(what, document, {"at": self.at, "anchors": self.anchors, **given}, failed_step)

    def _report(
        self,
        what: str,
        gpu: SimulatedGpu,
        report: bytes,
        asked: bytes,
        failed_step: str | None = None,
        *,
        revoked: bool = False,
    ) -> SimulatedEvidence:
        vendor, certificates = self._vendor, gpu.certificates
        signers = [each.certificate for each in reversed(vendor.signers)]
        replies = [*vendor.answers(certificates, certificates[1:2] if revoked else ()), *vendor.answers(signers)]
        entry = {
            "evidence": base64.b64encode(report).decode(),
            "certificate": base64.b64encode(gpu.chain_pem).decode(),
        }
        given = {"nonce": asked, "rim": list(vendor.reference_values()), "ocsp": replies}
        return SimulatedEvidence(
            what, json.dumps([entry]).encode(), {"at": self.at, "anchors": self.anchors, **given}, failed_step
        )


def _other(asked: bytes) -> bytes:
    """Return other bytes of the same length."""
    return _flipped(asked, 0)


def _flipped(data: bytes, place: int) -> bytes:
    return data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]
