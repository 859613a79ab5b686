"""Another verifier is asked about simulated chips, and about its own real report: it refuses whatever is refused here.

Carnet accepts more in two ways that the other cannot read: Turin's layout, and clouds' keys.
"""

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import omne_attest
import pytest

from carnet_ref.attestation.amd.appraisal import DEFAULT_POLICY, Policy, appraise_report
from carnet_ref.attestation.amd.certificates import KeyKind, parse_certificates
from carnet_ref.attestation.amd.evidence import SnpEvidence
from carnet_ref.attestation.amd.report import (
    SIGNATURE_FIELD,
    SIGNED_BYTES,
    FirmwareVersion,
    GuestPolicy,
    PlatformInfo,
    Product,
)
from carnet_ref.attestation.appraisal import Appraisal, default_anchors
from tests.fixtures import simulated_snp as snp
from tests.fixtures.omne import refusal

MILAN, GENOA, TURIN = Product
#: Where the other refuses what is genuine: a Turin's chip id has 8 bytes, and a cloud's key is of no chip.
LAXER_FOR = {
    (TURIN, snp.VCEK): "chip_id_mismatch",
    (MILAN, snp.VLEK): "missing_extension",
    (GENOA, snp.VLEK): "missing_extension",
    (TURIN, snp.VLEK): "missing_extension",
}
MUTATIONS = 600
UNSIGNED = range(SIGNED_BYTES, 1184)


def theirs(report: bytes, vcek: bytes | None = None, product: Product = MILAN, kind: KeyKind = snp.VCEK) -> str | None:
    leaf = snp.der(snp.endorsement(product, kind)) if vcek is None else vcek
    return refusal(report, leaf, snp.amd(product).authority(kind), snp.amd(product).root)


def both(ours: Appraisal, other: str | None) -> str | None:
    """Return the step at which Carnet alone refuses, ``None`` where both say the same; Carnet is never laxer."""
    if ours.accepted:
        assert other is None, f"laxer than omne-attest, which refuses at {other}"
    return ours.failed_step if other is None else None


@pytest.mark.parametrize(("product", "kind"), snp.KINDS)
def test_both_accept_what_both_can_read(product: Product, kind: KeyKind) -> None:
    assert snp.appraised(product=product, kind=kind).accepted
    assert theirs(snp.signed(product, kind), product=product, kind=kind) == LAXER_FOR.get((product, kind))


def test_both_say_the_same_of_the_report() -> None:
    claims, read = snp.appraised().claims, omne_attest.Report.parse(snp.signed())
    assert (claims["measurement"], claims["report_data"]) == (read.measurement.hex(), read.report_data.hex())
    assert (claims["chip_id"], claims["vmpl"], claims["guest_svn"]) == (read.chip_id.hex(), read.vmpl, read.guest_svn)
    found = claims["reported_tcb"]
    tcb = read.reported_tcb
    named = {"bootloader": tcb.boot_loader, "tee": tcb.tee, "snp": tcb.snp, "microcode": tcb.microcode}
    assert found == named


OTHERS_CHIP = snp.der(snp.chip(seed=b"another chip").endorsement())
OTHERS_TCB = snp.der(snp.chip().endorsement(tcb=replace(snp.TCBS[MILAN], parts={**snp.TCBS[MILAN].parts, "snp": 25})))
FOREIGN = snp.der(snp.SimulatedAmd(MILAN, snp.NOW, keys="foreign").chip(b"a chip").endorsement())


@pytest.mark.parametrize("leaf", [OTHERS_CHIP, OTHERS_TCB, FOREIGN], ids=["chip", "TCB", "AMD"])
def test_both_refuse_a_key_that_is_another_s(leaf: bytes) -> None:
    assert not snp.appraised(certificates=leaf + snp.der(snp.amd().authority(snp.VCEK))).accepted
    assert theirs(snp.signed(), leaf) is not None


def test_of_a_mutated_report_carnet_alone_refuses_what_nobody_signed() -> None:
    """The class is one: bytes behind the signed part that are no part of the signature have to be zero."""
    draw = random.Random(1)
    stricter: Counter[str | None] = Counter()
    for _ in range(MUTATIONS):
        bit = draw.choice([draw.randrange(8 * SIGNED_BYTES), draw.randrange(8 * SIGNED_BYTES, 8 * len(snp.signed()))])
        mutant = snp.flipped(snp.signed(), bit)
        step = both(snp.appraised(mutant), theirs(mutant))
        stricter[step] += 1
        place = (bit // 8 - SIGNED_BYTES) % SIGNATURE_FIELD
        behind = bit // 8 >= SIGNED_BYTES + 2 * SIGNATURE_FIELD or place >= 48
        assert (step == "parse") == (bit // 8 in UNSIGNED and behind)
    assert set(stricter) == {None, "parse"}
    assert min(stricter.values()) > 100


def test_of_a_certificate_s_mutants_carnet_alone_refuses_those_outside_of_amd_s_profile() -> None:
    draw = random.Random(2)
    leaf = snp.der(snp.endorsement())
    stricter: Counter[str | None] = Counter()
    for _ in range(MUTATIONS):
        mutant = snp.flipped(leaf, draw.randrange(8 * len(leaf)))
        stricter[
            both(
                snp.appraised(certificates=mutant + snp.der(snp.amd().authority(snp.VCEK))),
                theirs(snp.signed(), mutant),
            )
        ] += 1
    assert set(stricter) <= {None, "parse", "chain"}
    assert stricter[None] > MUTATIONS // 2


def _firmware(draw: random.Random) -> FirmwareVersion:
    return FirmwareVersion(1, draw.choice([54, 55]), draw.choice([48, 49]))


def _tcb(draw: random.Random) -> bytes:
    parts = dict(snp.TCBS[MILAN].parts)
    part = draw.choice(list(parts))
    parts[part] = max(0, parts[part] + draw.choice([-1, 1]))
    return replace(snp.TCBS[MILAN], parts=parts).encode()


#: What the firmware may say, which it really signs.
CHANGES: dict[str, Callable[[random.Random], Any]] = {
    "policy": lambda draw: GuestPolicy(0x3001F ^ 1 << draw.randrange(64)),
    "platform": lambda draw: PlatformInfo(draw.getrandbits(8)),
    "vmpl": lambda draw: draw.randrange(5),
    "current_tcb": _tcb,
    "committed_tcb": _tcb,
    "reported_tcb": _tcb,
    "launch_tcb": _tcb,
    "current_version": _firmware,
    "committed_version": _firmware,
    "cpuid": lambda draw: snp.CPUIDS[draw.choice(list(Product))],
    "chip_id": lambda draw: draw.choice([bytes(64), draw.randbytes(64), snp.chip().hardware_id]),
    "chip_key_masked": lambda draw: draw.choice([True, False]),
    "migration_agent_report_id": lambda draw: draw.choice([bytes(32), draw.randbytes(32)]),
}
#: At which steps Carnet alone refuses what a chip signed, and what the other verifier does not look at.
STRICTER = {
    "parse": "reserved bits, and bytes in which newer versions might say something",
    "signing-key": "the report says that the chip's key is not used",
    "product": "the processor is of another line than its certificate",
    "tcb-order": "a version contradicts another",
    "migration": "another guest may take this one away",
    "guest-policy": "a bit of the guest's policy is unknown, or the one that is always set is not",
}


def test_of_what_a_chip_really_signed_carnet_believes_no_more() -> None:
    draw = random.Random(3)
    stricter: Counter[str | None] = Counter()
    accepted = 0
    for _ in range(MUTATIONS):
        names = draw.sample(list(CHANGES), draw.choice([1, 2]))
        report = replace(snp.chip().report(snp.REPORT_DATA), **{name: CHANGES[name](draw) for name in names})
        body = snp.encode_report(report)
        if draw.random() < 0.2:
            body = snp.flipped(body, 8 * draw.randrange(0x1FC, SIGNED_BYTES) + draw.randrange(8))
        mutant = snp.chip().sign_bytes(body)
        ours = snp.appraised(mutant)
        accepted += ours.accepted
        stricter[both(ours, theirs(mutant))] += 1
    assert set(stricter) == {None, *STRICTER}
    assert 0 < accepted < MUTATIONS


@pytest.mark.parametrize("at", [snp.NOW - timedelta(1), snp.NOW + timedelta(8 * 365)])
def test_the_other_looks_at_no_time(at: datetime) -> None:
    assert (snp.appraised(at=at).failed_step, theirs(snp.signed())) == ("validity", None)


REAL_TIME = datetime(2027, 1, 1, tzinfo=UTC)
DEBUG_ALLOWED = replace(DEFAULT_POLICY, allow_debug=True)


@pytest.mark.parametrize(("policy", "step"), [(DEBUG_ALLOWED, None), (DEFAULT_POLICY, "debug")])
def test_the_real_report_in_the_other_verifier_s_package_is_judged_alike(policy: Policy, step: str | None) -> None:
    """A plain clone meets a report of a real Milan, of a guest that its host may debug."""
    vectors = omne_attest.vectors
    given = SnpEvidence(vectors.attestation(), vectors.vcek())
    ours = appraise_report(given, at=REAL_TIME, policy=policy, anchors=default_anchors())
    authority, root = parse_certificates(vectors.ask() + vectors.ark())
    other = refusal(given.report, vectors.vcek(), authority, root, debug=policy.allow_debug)
    assert (ours.failed_step, other) == (step, step and "debug_enabled")
