"""Until when accepted evidence counts: until the first thing that its appraisal rests on runs out, whichever it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import pytest
from cryptography import x509

from carnet_ref.attestation.anchors import AnchorRole, Anchors
from carnet_ref.attestation.nvidia.appraisal import appraise_gpu, counts_until
from carnet_ref.attestation.nvidia.policy import Policy
from carnet_ref.crypto.certificate_path import parse_pem_chain
from carnet_ref.wire import MalformedError
from tests.fixtures.nvidia_pki import (
    AT,
    DAY,
    FIRMWARE_ID,
    Authority,
    Device,
    device,
    dice,
    issue,
    ocsp_reply,
    report,
    world,
)

W = world()
PATH = W.device.path
SOON = AT + timedelta(hours=1)
SECOND = timedelta(seconds=1)
ASKED = frozenset({"chain", "validity", "revocation", "signature", "driver-rim", "vbios-rim", "rim-revocation"})


@dataclass(frozen=True)
class Shown:
    """What is shown about a device beside its report, and who is trusted."""

    leaf: Authority
    chain: bytes
    rims: tuple[bytes, ...]
    ocsp: tuple[bytes, ...]
    anchors: Anchors

    @property
    def end(self) -> datetime:
        """Until when it counts."""
        return counts_until(parse_pem_chain(self.chain), self.rims, self.ocsp, self.anchors)

    def accepted(self, at: datetime) -> bool:
        """Say whether it is accepted at a time, with every step asked for that looks at the clock."""
        return appraise_gpu(
            report(self.leaf),
            self.chain,
            at=at,
            policy=Policy(require=ASKED),
            anchors=self.anchors,
            rims=self.rims,
            ocsp=self.ocsp,
        ).accepted


def shown(
    path: tuple[Authority, ...] = PATH, rim_root: Authority = W.rim_root, signer: Authority = W.rim_signer
) -> Shown:
    """Return evidence about a device with this path, root first, and with reference values of this signer."""
    roots = {AnchorRole.NVIDIA_DEVICE: (path[0].certificate,), AnchorRole.NVIDIA_RIM: (rim_root.certificate,)}
    made = replace(W, root=path[0], rim_root=rim_root, device=Device(path), rim_signer=signer, anchors=Anchors(roots))
    return Shown(path[-1], made.device.chain(), made.rims(), (*made.replies(), *made.rim_replies()), made.anchors)


def _leaf() -> Shown:
    leaf = issue("GH100 A01 GSP FMC LF", PATH[-2], ca=False, end=SOON, extensions=[(dice(FIRMWARE_ID), False)])
    return shown((*PATH[:-1], leaf))


def _root_left_out() -> Shown:
    path = device(issue("Test Device Identity CA", None, end=SOON)).path
    return replace(shown(path), chain=Device(path[1:]).chain())


def _rim_signer() -> Shown:
    return shown(signer=issue("Test RIM Signer", W.rim_root, ca=False, end=SOON))


def _rim_root() -> Shown:
    root = issue("Test RIM Root CA", None, end=SOON)
    return shown(rim_root=root, signer=issue("Test RIM Signer", root, ca=False))


def _reply() -> Shown:
    other = ocsp_reply(PATH[1], PATH[0], next_update=SOON)
    return replace(shown(), ocsp=(other, *W.replies()[1:], *W.rim_replies()))


def _reply_about_a_signer() -> Shown:
    other = ocsp_reply(W.rim_signer, W.rim_root, next_update=SOON)
    return replace(shown(), ocsp=(*W.replies(), other))


def _responder() -> Shown:
    signing = x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.OCSP_SIGNING])
    appointed = issue("Test OCSP Responder", PATH[0], ca=False, end=SOON, extensions=[(signing, False)])
    other = ocsp_reply(PATH[1], PATH[0], appointed)
    return replace(shown(), ocsp=(other, *W.replies()[1:], *W.rim_replies()))


FIRST: dict[str, Callable[[], Shown]] = {
    "the device's certificate": _leaf,
    "a root that the chain leaves out": _root_left_out,
    "the certificate of a signer of reference values": _rim_signer,
    "the root of reference values, which the manifest names": _rim_root,
    "a reply about the device": _reply,
    "a reply about a signer of reference values": _reply_about_a_signer,
    "the certificate of an appointed responder": _responder,
}


@pytest.mark.parametrize("what", FIRST)
def test_evidence_counts_until_the_first_of_what_it_needs_runs_out(what: str) -> None:
    """It is accepted to the end, and not a second longer."""
    found = FIRST[what]()
    assert found.end == SOON
    assert (found.accepted(SOON), found.accepted(SOON + SECOND)) == (True, False)


def test_replies_run_out_before_certificates() -> None:
    assert shown().end == AT + DAY


def test_without_replies_the_certificates_decide() -> None:
    """A design that asks no authority uses evidence for as long as its certificates are valid."""
    leaf, silent = replace(_leaf(), ocsp=()), replace(shown(), ocsp=())
    assert leaf.end == SOON
    assert silent.end == min(each.certificate.not_valid_after_utc for each in (*PATH, W.rim_signer, W.rim_root))


def test_what_is_no_evidence_counts_for_no_time() -> None:
    with pytest.raises(MalformedError, match="OCSP reply"):
        _ = replace(shown(), ocsp=(b"",)).end
    with pytest.raises(MalformedError, match="RIM"):
        _ = replace(shown(), rims=(b"",)).end
