"""The appraisal of a report: each step refuses what it is there for, and a policy accepts nothing by accident."""

import json
import random
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from cryptography.hazmat import asn1

from carnet_ref.attestation.amd import report as amd_report
from carnet_ref.attestation.amd.appraisal import (
    DEFAULT_POLICY,
    DEFAULT_STEPS,
    KEYS,
    PROTECTING,
    STEPS,
    Policy,
    parse_policy,
)
from carnet_ref.attestation.amd.certificates import PRODUCT_NAME, KeyKind
from carnet_ref.attestation.amd.report import Product, TcbVersion, tcb_parts
from carnet_ref.attestation.appraisal import AnchorRole, Anchors, default_anchors
from carnet_ref.crypto.primitives import sha256
from carnet_ref.wire import MalformedError
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


@pytest.mark.parametrize("version", amd_report.VERSIONS)
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


@pytest.mark.parametrize("days", [-1, 7 * 365 + 1])
def test_certificates_are_valid_when_the_report_is_appraised(days: int) -> None:
    assert appraised(at=NOW + days * DAY).failed_step == "validity"


def test_an_expired_certificate_is_refused_though_its_authority_is_valid() -> None:
    short = chip().endorsement(lasting=DAY)
    certificates = der(short, amd().authority(VCEK))
    assert appraised(certificates=certificates, at=NOW + DAY).accepted
    assert appraised(certificates=certificates, at=NOW + 2 * DAY).failed_step == "validity"


def test_the_key_of_another_chip_or_tcb_did_not_sign_the_report() -> None:
    other = chip(seed=b"another chip").endorsement()
    assert appraised(certificates=der(other, amd().authority(VCEK))).failed_step == "signature"
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
    unsigned = signed()[:0x48] + bytes([0b11110, 0, 0, 0]) + signed()[0x4C : amd_report.SIGNED_BYTES] + bytes(512)
    appraisal = appraised(unsigned)
    assert (appraisal.failed_step, "no key signed it" in appraisal.steps[-1].detail) == ("signature", True)


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"signing_key": amd_report.SigningKey.VLEK}, VCEK),
        ({"signing_key": amd_report.SigningKey.VCEK}, VLEK),
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
@pytest.mark.parametrize(
    "cpuid", [CPUIDS[GENOA], CPUIDS[TURIN], amd_report.Cpuid(0x17, 1, 2), amd_report.Cpuid(0, 0, 0)]
)
def test_the_processor_is_of_the_line_that_its_certificate_says(version: int, cpuid: amd_report.Cpuid) -> None:
    assert appraised(changed(version=version, cpuid=cpuid)).failed_step == "product"


def test_a_report_of_venice_under_the_key_of_another_line_says_so() -> None:
    found = appraised(changed(cpuid=amd_report.Cpuid(0x1A, 0x50, 0)))
    assert found.failed_step == "product"
    assert "the key is for Milan-B0, the report is of Venice: family 1ah" in found.steps[-1].detail


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


@pytest.mark.parametrize("accepted", [{"carnet.test"}, {"other.test", "carnet.test"}])
def test_a_policy_names_the_clouds_whose_keys_may_sign(accepted: set[str]) -> None:
    policy = replace(DEFAULT_POLICY, csp_ids=frozenset(accepted))
    assert appraised(kind=VLEK, policy=policy).accepted
    refused = appraised(policy=policy)
    assert refused.failed_step == "signing-key", "a chip's own key is no cloud's"
    assert "a chip's own key" in refused.steps[-1].detail


@pytest.mark.parametrize("accepted", [set[str](), {"other.test"}, {"carnet"}, {"Carnet.test"}])
def test_a_key_of_another_cloud_is_refused_and_named(accepted: set[str]) -> None:
    refused = appraised(kind=VLEK, policy=replace(DEFAULT_POLICY, csp_ids=frozenset(accepted)))
    assert refused.failed_step == "signing-key"
    assert "a VLEK of the cloud carnet.test; accepted: the clouds" in refused.steps[-1].detail


@pytest.mark.parametrize("product", Product)
def test_a_policy_names_the_chips_that_a_report_may_be_of(product: Product) -> None:
    own = chip(product).hardware_id
    policy = replace(DEFAULT_POLICY, chip_ids=frozenset({own, bytes([9]) * 64}))
    assert appraised(signed(product), product=product, policy=policy).accepted
    others = replace(DEFAULT_POLICY, chip_ids=frozenset({bytes([9]) * 64, bytes([9]) * 8}))
    refused = appraised(signed(product), product=product, policy=others)
    assert (refused.failed_step, own.hex() in refused.steps[-1].detail) == ("chip-id", True)
    assert appraised(signed(product), product=product, policy=replace(policy, chip_ids=frozenset())).failed_step


def test_a_report_that_hides_its_chip_is_of_none_that_a_policy_names() -> None:
    """Neither by a policy that lets chips be hidden, nor by one that names the id of zeros, nor under a cloud's key."""
    masked = changed(chip_id=bytes(64))
    for chips in ({chip().hardware_id}, {bytes(64)}, {bytes(8)}):
        policy = replace(DEFAULT_POLICY, chip_ids=frozenset(chips), allow_masked_chip_id=True)
        assert appraised(masked, policy=policy).failed_step == "chip-id"
        assert appraised(kind=VLEK, policy=policy).failed_step == "chip-id"


def test_no_chip_id_is_longer_than_its_own_and_a_masked_one_is_for_the_policy_to_allow() -> None:
    longer = chip(TURIN).hardware_id.ljust(63, b"\0") + b"\1"
    assert appraised(changed(TURIN, chip_id=longer), product=TURIN).failed_step == "chip-id"
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
        ({"current_version": amd_report.FirmwareVersion(1, 55, 48)}, "tcb-order"),
        ({"current_version": amd_report.FirmwareVersion(1, 54, 99)}, "tcb-order"),
        ({"current_version": amd_report.FirmwareVersion(2, 0, 0)}, None),
        ({"committed_version": amd_report.FirmwareVersion(1, 55, 50)}, "tcb-order"),
        ({"committed_version": amd_report.FirmwareVersion(1, 51, 3)}, None),
        ({"policy": amd_report.GuestPolicy(0x30138)}, "tcb-order"),
        ({"policy": amd_report.GuestPolicy(0x30137)}, None),
        ({"policy": amd_report.GuestPolicy(0x30200)}, "tcb-order"),
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


@pytest.mark.parametrize("minimum", [{}, {"snp": 0}])
def test_a_minimum_without_a_part_compares_nothing(minimum: dict[str, int]) -> None:
    own = {MILAN: minimum}
    for policy in (replace(DEFAULT_POLICY, minimum_tcb=own), replace(DEFAULT_POLICY, minimum_launch_tcb=own)):
        appraisal = appraised(policy=policy)
        assert (appraisal.accepted, "TCB not compared" in appraisal.not_compared) == (True, not minimum)
        asked = replace(policy, require=DEFAULT_STEPS | {"minimum-tcb"})
        assert appraised(policy=asked).failed_step == (None if minimum else "policy")


def test_each_part_that_is_older_than_the_policy_s_minimum_is_named_with_both_versions() -> None:
    own = TCBS[MILAN].parts
    minimum = {MILAN: {"snp": own["snp"] + 1, "microcode": own["microcode"] + 2, "tee": own["tee"]}}
    reported = replace(DEFAULT_POLICY, minimum_tcb=minimum)
    launch = replace(DEFAULT_POLICY, minimum_launch_tcb=minimum)
    for policy, which in ((reported, "reported"), (launch, "launch")):
        refused = appraised(policy=policy)
        assert refused.failed_step == "minimum-tcb"
        assert [(each.what, each.found, each.expected) for each in refused.steps[-1].differences] == [
            (f"snp of the {which} TCB", f"{own['snp']}", (f"from {own['snp'] + 1}",)),
            (f"microcode of the {which} TCB", f"{own['microcode']}", (f"from {own['microcode'] + 2}",)),
        ]


@pytest.mark.parametrize("part", tcb_parts(MILAN))
def test_the_part_for_which_the_certificate_is_of_another_version_is_named(part: str) -> None:
    """So an operator knows that it is the certificate of another firmware that has to be fetched."""
    own = TCBS[MILAN].parts[part]
    other = own + 1 if part == "tee" else own - 1
    refused = appraised(changed(reported_tcb=tcb(**{part: other})))
    assert refused.failed_step == "certificate-tcb"
    (named,) = refused.steps[-1].differences
    assert named.details == {"tcb": "reported", "component": part, "value": other, "certified": own}


@pytest.mark.parametrize("days", [-1, 2556])
def test_a_certificate_that_is_not_valid_is_named_by_its_subject(days: int) -> None:
    at = NOW + timedelta(days)
    refused = appraised(at=at)
    assert refused.failed_step == "validity"
    subjects = [str(each.details["subject"]) for each in refused.steps[-1].differences]
    assert any("SEV-VCEK" in subject for subject in subjects), subjects
    assert all(each.expected == (f"valid at {at:%Y-%m-%dT%H:%M:%SZ}",) for each in refused.steps[-1].differences)


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
    assert appraised(anchors=default_anchors()).failed_step == "chain"


#: The bytes of the signature. Those that follow are zeros, which nobody signs and `parse` insists on.
UNSIGNED = {
    "r": range(amd_report.SIGNED_BYTES, amd_report.SIGNED_BYTES + 48),
    "s": range(amd_report.SIGNED_BYTES + 72, amd_report.SIGNED_BYTES + 72 + 48),
}


def refusing_steps(place: int) -> set[str]:
    """Return the steps that may notice a change of the byte at ``place``."""
    if place < amd_report.SIGNED_BYTES:
        return {"parse", "signature"}
    return {"signature"} if any(place in numbers for numbers in UNSIGNED.values()) else {"parse"}


@pytest.mark.parametrize(("product", "kind"), KINDS)
def test_any_mutation_is_refused_at_the_step_that_reads_it(product: Product, kind: KeyKind) -> None:
    draw = random.Random(f"{product} {kind}")
    report = signed(product, kind, draw.choice(amd_report.VERSIONS))
    for number in range(MUTATIONS):
        match number % 4:
            case 0:
                size = draw.randrange(amd_report.REPORT_BYTES)
                mutant, steps = report[:size], {"parse"}
            case 1:
                mutant, steps = report + draw.randbytes(draw.randint(1, 100)), {"parse"}
            case _:
                bit = draw.randrange(8 * amd_report.REPORT_BYTES)
                mutant, steps = flipped(report, bit), refusing_steps(bit // 8)
        assert appraised(mutant, product=product, kind=kind).failed_step in steps


ORDINARY = 0x3001F
BITS = {name: 1 << bit for bit, name in amd_report.POLICY_BITS.items()}
PLATFORM = {name: 1 << bit for bit, name in amd_report.PLATFORM_BITS.items()}
DIGEST, OTHER_DIGEST = b"\x11" * 48, b"\x22" * 48


def failed(report: bytes | None = None, **asked: Any) -> str | None:
    """Return the step that refuses a report under the default policy with other answers to some questions."""
    return appraised(report, policy=replace(DEFAULT_POLICY, **asked)).failed_step


@pytest.mark.parametrize(
    ("report_data", "step"), [(REPORT_DATA, None), (bytes(64), "report-data"), (b"", "report-data")]
)
def test_report_data_is_compared_where_it_is_known(report_data: bytes, step: str | None) -> None:
    assert appraised(report_data=report_data).failed_step == step


def test_a_report_is_over_the_hash_of_the_run_time_data_beside_it() -> None:
    runtime = b'{"keys":[]}'
    bound = changed(report_data=sha256(runtime) + bytes(32))
    appraisal = appraised(bound, runtime_data=runtime)
    assert (appraisal.accepted, appraisal.claims["runtime_data_sha256"]) == (True, sha256(runtime).hex())
    assert appraised(bound, runtime_data=runtime + b" ").failed_step == "runtime-data"
    longer = changed(report_data=sha256(runtime) + bytes(31) + b"\1")
    assert appraised(longer, runtime_data=runtime).failed_step == "runtime-data"


def test_a_debug_guest_is_refused_unless_the_policy_allows_it() -> None:
    debug = changed(policy=amd_report.GuestPolicy(ORDINARY | BITS["DEBUG"]))
    assert failed(debug) == "debug"
    appraisal = appraised(debug, policy=replace(DEFAULT_POLICY, allow_debug=True))
    assert (appraisal.accepted, appraisal.claims["guest_policy"]) == (True, ["DEBUG", "SMT"])


@pytest.mark.parametrize(
    "fields",
    [{"policy": amd_report.GuestPolicy(ORDINARY | BITS["MIGRATE_MA"])}, {"migration_agent_report_id": b"\x33" * 32}],
    ids=["may have one", "has one"],
)
def test_a_migration_agent_is_refused_unless_the_policy_allows_it(fields: dict[str, Any]) -> None:
    assert failed(changed(**fields)) == "migration"
    assert failed(changed(**fields), allow_migration_agent=True) is None


def test_a_guest_without_an_agent_has_its_report_id_all_ones_or_all_zeros() -> None:
    assert failed(changed(migration_agent_report_id=bytes(32))) is None


@pytest.mark.parametrize(("word", "option"), [("SMT", "allow_smt"), ("CXL_ALLOW", "allow_cxl")])
def test_what_opens_side_channels_is_for_the_policy_to_forbid(word: str, option: str) -> None:
    report = changed(policy=amd_report.GuestPolicy(ORDINARY | BITS[word]))
    assert failed(report) is None
    assert failed(report, **{option: False}) == "guest-policy"
    without = changed(policy=amd_report.GuestPolicy(ORDINARY & ~BITS[word]))
    assert failed(without, **{option: False}) is None


@pytest.mark.parametrize("bits", [ORDINARY | 1 << 26, ORDINARY | 1 << 63, ORDINARY & ~(1 << 17)])
def test_bits_of_the_guest_policy_that_mean_nothing_here_are_refused(bits: int) -> None:
    assert failed(changed(policy=amd_report.GuestPolicy(bits))) == "guest-policy"


@pytest.mark.parametrize("word", PROTECTING)
def test_a_bit_that_protects_the_guest_can_be_asked_for(word: str) -> None:
    asked = frozenset({word})
    assert failed(required_guest_policy=asked) == "guest-policy"
    assert failed(changed(policy=amd_report.GuestPolicy(ORDINARY | BITS[word])), required_guest_policy=asked) is None


@pytest.mark.parametrize("word", PLATFORM)
def test_a_bit_of_the_platform_can_be_asked_for(word: str) -> None:
    asked = frozenset({word})
    with_it = changed(platform=amd_report.PlatformInfo(PLATFORM[word]))
    without = changed(platform=amd_report.PlatformInfo(0xFF & ~PLATFORM[word]))
    assert failed(with_it, required_platform_info=asked) is None
    assert failed(without, required_platform_info=asked) == "platform-info"


@pytest.mark.parametrize(
    ("vmpl", "maximum", "step"), [(0, 0, None), (1, 0, "vmpl"), (3, 3, None), (4, 3, "vmpl"), (0xFFFFFFFF, 3, "vmpl")]
)
def test_a_report_is_asked_for_by_a_level_that_the_policy_accepts(vmpl: int, maximum: int, step: str | None) -> None:
    assert failed(changed(vmpl=vmpl), maximum_vmpl=maximum) == step


def test_a_report_that_the_host_asked_for_is_called_that() -> None:
    assert "the host" in appraised(changed(vmpl=0xFFFFFFFF)).steps[-1].detail


@pytest.mark.parametrize(("minimum", "step"), [(2, None), (3, "guest-svn"), (0, None)])
def test_a_guest_is_as_new_as_the_policy_asks(minimum: int, step: str | None) -> None:
    assert failed(minimum_guest_svn=minimum) == step


@pytest.mark.parametrize(
    ("step", "option", "value"),
    [
        ("measurement", "measurements", chip().report(REPORT_DATA).measurement),
        ("host-data", "host_data", chip().report(REPORT_DATA).host_data),
    ],
)
def test_a_guest_was_launched_as_the_policy_accepts(step: str, option: str, value: bytes) -> None:
    for accepted, refused_at in (({value, bytes(len(value))}, None), ({bytes(len(value))}, step), (set[bytes](), step)):
        asked: dict[str, Any] = {option: frozenset(accepted)}
        assert failed(**asked) == refused_at


def test_the_keys_of_the_guest_s_owner_are_those_that_the_policy_accepts() -> None:
    report = changed(id_key_digest=DIGEST, author_key_digest=OTHER_DIGEST, author_key_enabled=True)
    assert failed(report, id_key_digests=frozenset({DIGEST})) is None
    assert failed(report, author_key_digests=frozenset({OTHER_DIGEST})) is None
    assert failed(report, id_key_digests=frozenset({OTHER_DIGEST})) == "id-keys"
    assert failed(report, id_key_digests=frozenset({DIGEST}), author_key_digests=frozenset({DIGEST})) == "id-keys"
    claims = appraised(report).claims
    assert (claims["id_key_digest"], claims["author_key_digest"]) == (DIGEST.hex(), OTHER_DIGEST.hex())


def test_a_guest_without_keys_has_none_that_a_policy_accepts() -> None:
    assert failed(id_key_digests=frozenset({bytes(48)})) == "id-keys"
    assert failed(author_key_digests=frozenset({bytes(48)})) == "id-keys"
    not_enabled = changed(author_key_digest=DIGEST)
    assert failed(not_enabled, author_key_digests=frozenset({DIGEST})) == "id-keys"


EVERYTHING = {
    "require": ["signature", "measurement"],
    "allow_debug": True,
    "allow_migration_agent": True,
    "allow_smt": False,
    "allow_cxl": False,
    "allow_masked_chip_id": True,
    "csp_ids": ["carnet.test"],
    "chip_ids": ["44" * 64, "0x" + "55" * 8],
    "required_guest_policy": ["SINGLE_SOCKET", "CIPHERTEXT_HIDING_DRAM"],
    "required_platform_info": ["ECC_EN", "ALIAS_CHECK_COMPLETE"],
    "maximum_vmpl": 0,
    "minimum_guest_svn": 3,
    "minimum_tcb": {"Milan": {"snp": 24, "microcode": 219}, "Turin": {"fmc": 1}},
    "minimum_launch_tcb": {"Genoa": {}},
    "measurements": ["00" * 48, "11" * 48],
    "host_data": ["22" * 32],
    "id_key_digests": ["33" * 48],
    "author_key_digests": [],
}


def test_a_policy_is_read_from_json() -> None:
    assert tuple(EVERYTHING) == KEYS
    assert parse_policy(json.dumps(EVERYTHING).encode()) == Policy(
        require=DEFAULT_STEPS | {"signature", "measurement"},
        allow_debug=True,
        allow_migration_agent=True,
        allow_smt=False,
        allow_cxl=False,
        allow_masked_chip_id=True,
        csp_ids=frozenset({"carnet.test"}),
        chip_ids=frozenset({b"\x44" * 64, b"\x55" * 8}),
        required_guest_policy=frozenset({"SINGLE_SOCKET", "CIPHERTEXT_HIDING_DRAM"}),
        required_platform_info=frozenset({"ECC_EN", "ALIAS_CHECK_COMPLETE"}),
        maximum_vmpl=0,
        minimum_guest_svn=3,
        minimum_tcb={Product.MILAN: {"snp": 24, "microcode": 219}, Product.TURIN: {"fmc": 1}},
        minimum_launch_tcb={Product.GENOA: {}},
        measurements=frozenset({bytes(48), b"\x11" * 48}),
        host_data=frozenset({b"\x22" * 32}),
        id_key_digests=frozenset({b"\x33" * 48}),
        author_key_digests=frozenset(),
    )


def test_an_empty_policy_asks_for_nothing_and_allows_the_host_nothing_more() -> None:
    assert parse_policy(b"{}") == Policy()
    assert not any((Policy().allow_debug, Policy().allow_migration_agent, Policy().allow_masked_chip_id))


def test_an_empty_policy_accepts_nothing() -> None:
    assert appraised(policy=parse_policy(b"{}")).failed_step == "policy"


def test_every_step_of_an_appraisal_can_be_asked_for_and_no_other() -> None:
    assert tuple(step.id for step in appraised().steps) == STEPS


def test_the_default_policy_asks_for_what_every_genuine_report_can_show() -> None:
    assert Policy(require=DEFAULT_STEPS) == DEFAULT_POLICY
    assert {step.id for step in appraised().steps if step.ok} - {"parse", "policy"} == DEFAULT_STEPS | {"chip-id"}


@pytest.mark.parametrize(
    "policy",
    [
        b"",
        b"[]",
        b'{"required": []}',
        b'{"require": ["everything"]}',
        b'{"require": "parse"}',
        b'{"require": [], "require": ["parse"]}',
        b'{"allow_debug": 1}',
        b'{"allow_smt": "no"}',
        b'{"required_guest_policy": ["DEBUG"]}',
        b'{"required_guest_policy": ["SMT"]}',
        b'{"required_platform_info": ["ECC"]}',
        b'{"required_platform_info": "ECC_EN"}',
        b'{"maximum_vmpl": 4}',
        b'{"maximum_vmpl": -1}',
        b'{"minimum_guest_svn": "3"}',
        b'{"csp_ids": "cloud"}',
        b'{"chip_ids": ["00"]}',
        b'{"minimum_tcb": []}',
        b'{"minimum_tcb": {"snp": 3}}',
        b'{"minimum_tcb": {"Naples": {}}}',
        b'{"minimum_tcb": {"Milan": {"fmc": 1}}}',
        b'{"minimum_tcb": {"Milan": {"snp": -1}}}',
        b'{"minimum_tcb": {"Milan": 3}}',
        b'{"measurements": ["00"]}',
        b'{"measurements": "00"}',
        b'{"host_data": ["%s"]}' % (b"00" * 48),
        b'{"id_key_digests": [1]}',
    ],
)
def test_a_policy_with_anything_unknown_is_malformed(policy: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_policy(policy)


ASKED = bytes(range(100, 164))
SAID = b'{"keys":[],"user-data":"%s"}' % ASKED.hex().encode()


def over(runtime: bytes) -> bytes:
    return changed(report_data=sha256(runtime) + bytes(32))


def test_what_azures_guest_asked_with_is_in_the_run_time_data_that_the_report_is_over() -> None:
    appraisal = appraised(over(SAID), runtime_data=SAID, report_data=ASKED)
    step = next(step for step in appraisal.steps if step.id == "report-data")
    assert (appraisal.accepted, "user-data" in step.detail) == (True, True)
    assert appraisal.claims["user_data"] == ASKED.hex()
    assert appraised(over(SAID), runtime_data=SAID, report_data=sha256(SAID) + bytes(32)).accepted


NOT_ASKED = {
    "other user-data": (over(SAID), SAID, bytes(64)),
    "run-time data that the report is not over": (changed(), SAID, ASKED),
    "run-time data of another report": (over(SAID + b" "), SAID, ASKED),
    "a hash in the first half alone": (changed(report_data=sha256(SAID) + b"\1" * 32), SAID, ASKED),
    "no user-data": (over(b'{"keys":[]}'), b'{"keys":[]}', ASKED),
    "shorter user-data": (over(SAID[:-4] + b'"}'), SAID[:-4] + b'"}', ASKED),
    "user-data twice": (over(SAID[:-1] + b',"user-data":""}'), SAID[:-1] + b',"user-data":""}', ASKED),
    "user-data inside another object": (over(b'{"a":%s}' % SAID), b'{"a":%s}' % SAID, ASKED),
    "run-time data that is no JSON": (over(SAID[1:]), SAID[1:], ASKED),
    "no run-time data": (over(SAID), None, ASKED),
}


@pytest.mark.parametrize("name", NOT_ASKED)
def test_user_data_is_believed_only_where_the_report_is_over_it(name: str) -> None:
    report, runtime, expected = NOT_ASKED[name]
    assert appraised(report, runtime_data=runtime, report_data=expected).failed_step == "report-data"
