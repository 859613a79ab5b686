"""The appraisal of a report: each step refuses what it is there for."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat import asn1

from carnet_ref.attestation.amd.certificates import PRODUCT_NAME, KeyKind
from carnet_ref.attestation.amd.policy import DEFAULT_POLICY, Policy
from carnet_ref.attestation.amd.report import (
    REPORT_BYTES,
    SIGNED_BYTES,
    VERSIONS,
    Cpuid,
    FirmwareVersion,
    GuestPolicy,
    Product,
    SigningKey,
    TcbVersion,
)
from carnet_ref.attestation.anchors import AnchorRole, Anchors, default_anchors
from tests.fixtures.simulated_snp import (
    CPUIDS,
    KINDS,
    NOW,
    REPORT_DATA,
    TCBS,
    VCEK,
    VLEK,
    SimulatedAmd,
    amd,
    appraised,
    chain,
    changed,
    chip,
    der,
    endorsement,
    flipped,
    signed,
)

DAY = timedelta(days=1)
MILAN, GENOA, TURIN = Product
MUTATIONS = 1000


def parts(product: Product, **versions: int) -> TcbVersion:
    """Return what chips of a line run, with other versions of some parts."""
    return TcbVersion(product, {**TCBS[product].parts, **versions})


def tcb(**versions: int) -> bytes:
    return parts(MILAN, **versions).encode()


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("product", "kind"), KINDS)
def test_a_genuine_report_is_accepted(product: Product, kind: KeyKind, version: int) -> None:
    appraisal = appraised(signed(product, kind, version), product=product, kind=kind, report_data=REPORT_DATA)
    assert appraisal.accepted, appraisal.steps[-1]
    claims = appraisal.claims
    assert (claims["product"], claims["signing_key"], claims["report_version"]) == (product, kind, version)
    assert claims["reported_tcb"] == TCBS[product].parts


def test_claims_say_what_a_relying_party_decides_by() -> None:
    claims = appraised().claims
    report = chip().report(REPORT_DATA)
    assert claims["measurement"] == report.measurement.hex()
    assert claims["report_data"] == REPORT_DATA.hex()
    assert claims["host_data"] == report.host_data.hex()
    assert claims["guest_policy"] == ["SMT"]
    assert claims["minimum_abi"] == "0.31"
    assert (claims["guest_svn"], claims["vmpl"]) == (2, 0)
    assert claims["chip_id"] == chip().hardware_id.hex()
    assert claims["platform_info"] == ["ALIAS_CHECK_COMPLETE", "ECC_EN", "SMT_EN"]
    assert (claims["id_key_digest"], claims["author_key_digest"]) == (None, None)
    assert (claims["current_version"], claims["current_mitigations"]) == ("1.55.49", "0x3f")


def test_a_vlek_is_bound_to_a_cloud_and_to_no_chip() -> None:
    appraisal = appraised(kind=VLEK)
    assert appraisal.accepted
    (step,) = [step for step in appraisal.steps if step.id == "chip-id"]
    assert step.ok is None
    assert (appraisal.claims["chip_id"], appraisal.claims["cloud"]) == (None, "carnet.test")
    asked = replace(DEFAULT_POLICY, require=DEFAULT_POLICY.require | {"chip-id"})
    assert appraised(kind=VLEK, policy=asked).failed_step == "policy"
    assert appraised(kind=VCEK, policy=asked).accepted


def test_simulated_reports_are_refused_with_the_production_roots() -> None:
    assert appraised(anchors=default_anchors()).failed_step == "chain"


@pytest.mark.parametrize("days", [-1, 7 * 365 + 1])
def test_certificates_are_valid_when_the_report_is_appraised(days: int) -> None:
    assert appraised(at=NOW + days * DAY).failed_step == "validity"


def test_an_expired_certificate_is_refused_though_its_authority_is_valid() -> None:
    short = chip().endorsement(lasting=DAY)
    certificates = der(short, amd().authority(VCEK))
    assert appraised(certificates=certificates, at=NOW + DAY).accepted
    assert appraised(certificates=certificates, at=NOW + 2 * DAY).failed_step == "validity"


def test_the_key_of_another_chip_did_not_sign_the_report() -> None:
    other = chip(seed=b"another chip").endorsement()
    assert appraised(certificates=der(other, amd().authority(VCEK))).failed_step == "signature"


def test_the_key_for_another_tcb_did_not_sign_the_report() -> None:
    other = chip().endorsement(tcb=parts(MILAN, snp=25))
    assert appraised(certificates=der(other, amd().authority(VCEK))).failed_step == "signature"


def test_a_signer_of_another_amd_is_not_trusted() -> None:
    theirs = SimulatedAmd(MILAN, NOW, keys="foreign")
    maker = theirs.chip(b"a chip")
    certificates = der(maker.endorsement(), theirs.authority(VCEK), theirs.root)
    assert appraised(certificates=certificates).failed_step == "chain"
    assert appraised(certificates=certificates, anchors=theirs.anchors).accepted


@pytest.mark.parametrize(
    ("certificates", "step"),
    [
        (b"", "parse"),
        (b"no certificate", "parse"),
        (chain()[:-1], "parse"),
        (der(amd().authority(VCEK), amd().root), "parse"),
        (der(endorsement()), "chain"),
        (der(endorsement(), amd().authority(VLEK)), "chain"),
        (chain(kind=VLEK), "signature"),
        (chain() + der(endorsement(kind=VLEK), amd().authority(VLEK), amd().root), None),
    ],
    ids=[
        "none",
        "text",
        "cut short",
        "authorities alone",
        "no signing key",
        "the wrong signing key",
        "of a cloud",
        "both kinds",
    ],
)
def test_certificates_that_do_not_lead_up_from_the_report(certificates: bytes, step: str | None) -> None:
    assert appraised(certificates=certificates).failed_step == step


def test_an_unsigned_report_says_so_itself() -> None:
    unsigned = signed()[:0x48] + bytes([0b11110, 0, 0, 0]) + signed()[0x4C:SIGNED_BYTES] + bytes(512)
    appraisal = appraised(unsigned)
    assert (appraisal.failed_step, "no key signed it" in appraisal.steps[-1].detail) == ("signature", True)


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"signing_key": SigningKey.VLEK}, VCEK),
        ({"signing_key": SigningKey.VCEK}, VLEK),
        ({"chip_key_masked": True}, VCEK),
    ],
    ids=["says VLEK, is VCEK", "says VCEK, is VLEK", "says that the chip's key is not used"],
)
def test_the_key_that_the_report_names_is_the_one_that_amd_certified(fields: dict[str, Any], kind: KeyKind) -> None:
    assert appraised(changed(kind=kind, **fields), kind=kind).failed_step == "signing-key"


@pytest.mark.parametrize("name", [None, "SEV-VLEK"])
def test_a_cloud_s_key_is_signed_by_the_authority_for_clouds(name: str | None) -> None:
    """The authority for chips signs it: with its own name, and with that of a cloud's key."""
    key, extensions = chip().key(VLEK), chip().extensions(VLEK, TCBS[MILAN])
    certificate = amd().certify(VCEK, key, extensions, name=name)
    certificates = der(certificate, amd().authority(VCEK))
    assert appraised(signed(kind=VLEK), certificates=certificates).failed_step == "signing-key"


def test_the_certificate_is_for_the_line_of_its_root() -> None:
    """Milan's authority certifies a Genoa, which then signs as Genoa."""
    genoa = asn1.encode_der(asn1.IA5String("Genoa"))
    certificate = chip().endorsement(changed={PRODUCT_NAME: genoa})
    report, certificates = changed(cpuid=CPUIDS[GENOA]), der(certificate, amd().authority(VCEK))
    for anchor in (amd().root, amd().authority(VCEK)):
        anchors = Anchors({AnchorRole.AMD_SEV: (anchor,)})
        assert appraised(report, certificates=certificates, anchors=anchors).failed_step == "product"


def test_the_root_of_one_line_does_not_vouch_for_another() -> None:
    mixed = SimulatedAmd(GENOA, NOW, root="ARK-Milan")
    maker = mixed.chip(b"a chip")
    certificates = der(maker.endorsement(), mixed.authority(VCEK))
    appraisal = appraised(maker.sign(maker.report(REPORT_DATA)), certificates=certificates, anchors=mixed.anchors)
    assert appraisal.failed_step == "product"


@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("cpuid", [CPUIDS[GENOA], CPUIDS[TURIN], Cpuid(0x17, 1, 2), Cpuid(0, 0, 0)])
def test_the_processor_is_of_the_line_that_its_certificate_says(version: int, cpuid: Cpuid) -> None:
    assert appraised(changed(version=version, cpuid=cpuid)).failed_step == "product"


@pytest.mark.parametrize("part", TCBS[MILAN].parts)
@pytest.mark.parametrize("step", [-1, 1])
def test_the_certificate_is_for_the_tcb_that_the_report_was_signed_for(part: str, step: int) -> None:
    """The key of one TCB signs a report that names another, older or newer."""
    versions = {part: max(TCBS[MILAN].parts[part] + step, 1)}
    assert appraised(changed(reported_tcb=tcb(**versions))).failed_step == "certificate-tcb"


def test_turin_s_layout_of_the_tcb_is_read_as_turin_s() -> None:
    for part in TCBS[TURIN].parts:
        other = parts(TURIN, **{part: TCBS[TURIN].parts[part] - 1}).encode()
        assert appraised(changed(TURIN, reported_tcb=other), product=TURIN).failed_step == "certificate-tcb"
    milan = bytes.fromhex("04000000000018db")
    assert appraised(changed(TURIN, reported_tcb=milan), product=TURIN).failed_step == "certificate-tcb"


@pytest.mark.parametrize("product", Product)
def test_the_report_is_of_the_chip_that_the_key_is_of(product: Product) -> None:
    other = chip(product, b"another chip").hardware_id.ljust(64, b"\0")
    assert appraised(changed(product, chip_id=other), product=product).failed_step == "chip-id"


def test_behind_the_id_of_a_turin_only_zeros_follow() -> None:
    longer = chip(TURIN).hardware_id.ljust(63, b"\0") + b"\1"
    assert appraised(changed(TURIN, chip_id=longer), product=TURIN).failed_step == "chip-id"


def test_a_masked_chip_id_is_for_the_policy_to_allow() -> None:
    masked = changed(chip_id=bytes(64))
    assert appraised(masked).failed_step == "chip-id"
    appraisal = appraised(masked, policy=replace(DEFAULT_POLICY, allow_masked_chip_id=True))
    assert (appraisal.accepted, appraisal.claims["chip_id"]) == (True, None)


NEWER = tcb(snp=25)
OLDER = tcb(snp=23)


@pytest.mark.parametrize(
    ("fields", "step"),
    [
        ({"committed_tcb": OLDER}, "tcb-order"),
        ({"committed_tcb": NEWER}, "tcb-order"),
        ({"committed_tcb": NEWER, "current_tcb": NEWER}, None),
        ({"current_tcb": NEWER}, None),
        ({"current_tcb": OLDER}, "tcb-order"),
        ({"current_tcb": tcb(microcode=218)}, "tcb-order"),
        ({"launch_tcb": OLDER}, None),
        ({"launch_tcb": NEWER}, "tcb-order"),
        ({"launch_tcb": NEWER, "current_tcb": NEWER}, None),
        ({"launch_tcb": bytes.fromhex("04000100000018db")}, "tcb-order"),
        ({"current_version": FirmwareVersion(1, 55, 48)}, "tcb-order"),
        ({"current_version": FirmwareVersion(1, 54, 99)}, "tcb-order"),
        ({"current_version": FirmwareVersion(2, 0, 0)}, None),
        ({"committed_version": FirmwareVersion(1, 55, 50)}, "tcb-order"),
        ({"committed_version": FirmwareVersion(1, 51, 3)}, None),
        ({"policy": GuestPolicy(0x30138)}, "tcb-order"),
        ({"policy": GuestPolicy(0x30137)}, None),
        ({"policy": GuestPolicy(0x30200)}, "tcb-order"),
    ],
)
def test_no_version_contradicts_another(fields: dict[str, Any], step: str | None) -> None:
    assert appraised(changed(**fields)).failed_step == step


@pytest.mark.parametrize(
    ("minimum", "step"),
    [
        ({MILAN: {}}, None),
        ({MILAN: {"snp": 24, "microcode": 219, "bootloader": 4, "tee": 0}}, None),
        ({MILAN: {"snp": 25}}, "minimum-tcb"),
        ({MILAN: {"microcode": 220}}, "minimum-tcb"),
        ({MILAN: {"bootloader": 5}}, "minimum-tcb"),
        ({MILAN: {"tee": 1}}, "minimum-tcb"),
        ({GENOA: {}}, "minimum-tcb"),
        ({}, "minimum-tcb"),
    ],
)
def test_a_policy_has_a_minimum_for_each_line_that_it_accepts(
    minimum: dict[Product, dict[str, int]], step: str | None
) -> None:
    for policy in (replace(DEFAULT_POLICY, minimum_tcb=minimum), replace(DEFAULT_POLICY, minimum_launch_tcb=minimum)):
        assert appraised(policy=policy).failed_step == step


def test_the_minimum_is_asked_of_the_reported_tcb_and_the_other_of_that_at_launch() -> None:
    minimum = {MILAN: {"snp": 25}}
    newer = changed(current_tcb=NEWER, committed_tcb=NEWER, launch_tcb=NEWER)
    assert appraised(newer, policy=replace(DEFAULT_POLICY, minimum_tcb=minimum)).failed_step == "minimum-tcb"
    assert appraised(newer, policy=replace(DEFAULT_POLICY, minimum_launch_tcb=minimum)).accepted


@pytest.mark.parametrize("step", ["minimum-tcb", "report-data", "runtime-data", "measurement", "id-keys"])
def test_a_step_that_a_policy_asks_for_is_not_left_open(step: str) -> None:
    assert appraised(policy=Policy(require=frozenset({step}))).failed_step == "policy"


def test_a_refused_report_makes_no_claims() -> None:
    assert appraised(changed(chip_id=bytes(64))).claims == {}


UNSIGNED = {
    "r": range(SIGNED_BYTES, SIGNED_BYTES + 48),
    "s": range(SIGNED_BYTES + 72, SIGNED_BYTES + 72 + 48),
}
"""The bytes of the signature. Those that follow are zeros, which nobody signs and `parse` insists on."""


def refusing_steps(place: int) -> set[str]:
    """Return the steps that may notice a change of the byte at ``place``."""
    if place < SIGNED_BYTES:
        return {"parse", "signature"}
    return {"signature"} if any(place in numbers for numbers in UNSIGNED.values()) else {"parse"}


@pytest.mark.parametrize(("product", "kind"), KINDS)
def test_any_mutation_is_refused_at_the_step_that_reads_it(product: Product, kind: KeyKind) -> None:
    draw = random.Random(f"{product} {kind}")
    report = signed(product, kind, draw.choice(VERSIONS))
    for number in range(MUTATIONS):
        match number % 4:
            case 0:
                size = draw.randrange(REPORT_BYTES)
                mutant, steps = report[:size], {"parse"}
            case 1:
                mutant, steps = report + draw.randbytes(draw.randint(1, 100)), {"parse"}
            case _:
                bit = draw.randrange(8 * REPORT_BYTES)
                mutant, steps = flipped(report, bit), refusing_steps(bit // 8)
        assert appraised(mutant, product=product, kind=kind).failed_step in steps
