"""The appraisal of a quote: each step refuses what it is there for, and a policy accepts nothing by accident."""

import json
import random
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.appraisal import AnchorRole
from carnet_ref.attestation.intel.appraisal import (
    DEFAULT_POLICY,
    DEFAULT_STATUSES,
    DEFAULT_STEPS,
    KEYS,
    STEPS,
    Policy,
    parse_policy,
)
from carnet_ref.attestation.intel.certificates import PCK_CERTIFICATE, SGX_EXTENSION
from carnet_ref.attestation.intel.collateral import TD_QUOTING_ENCLAVE, EnclaveIdentity, TcbStatus, parse_qe_identity
from carnet_ref.attestation.intel.quote import EXPOSING_BITS, HARMLESS_BITS
from carnet_ref.attestation.simulated.authority import Authority, Issued
from carnet_ref.attestation.simulated.td import SimulatedPlatform
from carnet_ref.crypto.primitives import sha256, sign_p256
from carnet_ref.wire import MalformedError
from tests.fixtures.simulated_quotes import (
    CODE_SIGNING,
    NOW,
    PLATFORM,
    QUOTE,
    REPORT_DATA,
    appraised,
    edited,
    of_tdx_15,
    of_tdx_15_ex,
    with_attributes,
)

SIGNATURE = 636  # where the signature data starts: signature, attestation key, certification data
QE_REPORT = SIGNATURE + 134
PCK, PCK_AUTHORITY, ROOT = PLATFORM.pck_chain
OTHER = SimulatedPlatform(b"another platform", NOW, fmspc=b"\1" * 6)
DAY = timedelta(days=1)
SGX = next(
    extension.value
    for extension in PCK.certificate.extensions
    if isinstance(extension.value, x509.UnrecognizedExtension) and extension.oid.dotted_string == SGX_EXTENSION
)


def pem(*issued: Issued) -> str:
    return b"".join(each.certificate.public_bytes(Encoding.PEM) for each in issued).decode()


def test_a_quote_alone_is_accepted_and_says_what_nobody_vouched_for() -> None:
    appraisal = appraised()
    assert appraisal.accepted
    open_steps = [step.id for step in appraisal.steps if step.ok is None]
    assert {"fmspc", "revocation", "tcb-status", "report-data", "measurements"} <= set(open_steps)
    assert appraisal.claims["tcb_status"] is None
    assert appraised(collateral=PLATFORM.collateral).claims["tcb_status"] == "UpToDate"


@pytest.mark.parametrize(
    ("step", "place"),
    [
        ("quote-signature", 48 + 520),
        ("quote-signature", SIGNATURE),
        ("qe-report-binding", SIGNATURE + 64),
        ("qe-report-signature", QE_REPORT + 320),
        ("qe-report-signature", QE_REPORT + 384),
        ("qe-report-binding", QE_REPORT + 384 + 64 + 2),
        ("pck-chain", len(QUOTE) - 100),
    ],
)
def test_a_changed_byte_is_refused_at_the_step_that_reads_it(step: str, place: int) -> None:
    assert appraised(edited(QUOTE, place, bytes([QUOTE[place] ^ 1]))).failed_step == step


def test_an_attestation_key_off_the_curve_is_refused() -> None:
    """The platform vouches for bytes that are no key: only a broken quoting enclave does that."""
    key = bytes(64)
    report, signature = PLATFORM.sign_attestation_key(key, bytes(32))
    quote = edited(edited(QUOTE, SIGNATURE + 64, key), QE_REPORT, report + signature)
    assert appraised(quote).failed_step == "quote-signature"


@pytest.mark.parametrize(
    ("quote", "step"),
    [
        (b"", "parse"),
        (QUOTE[:-1], "parse"),
        (QUOTE + b"\1", "parse"),
        (edited(QUOTE, 0, b"\3\0\2\0\0\0\0\0"), "kind"),
        (PLATFORM.td(debug=True).quote(REPORT_DATA), "debug"),
        (OTHER.td().quote(REPORT_DATA), "pck-chain"),
    ],
    ids=["empty", "cut short", "longer", "SGX", "debug", "another root"],
)
def test_quotes_that_are_not_accepted(quote: bytes, step: str) -> None:
    assert appraised(quote).failed_step == step


def with_chain(chain: str) -> bytes:
    """Return the quote with other certificates in it, and every size as it should be."""
    start = QUOTE.index(b"-----BEGIN")
    shorter = len(QUOTE) - start - len(chain)
    quote = edited(QUOTE[:start] + chain.encode(), start - 4, len(chain).to_bytes(4, "little"))
    for place in (SIGNATURE - 4, SIGNATURE + 130):
        size = int.from_bytes(quote[place : place + 4], "little") - shorter
        quote = edited(quote, place, size.to_bytes(4, "little"))
    return quote


def test_the_signer_of_collateral_is_no_platform_and_a_platform_s_key_is_for_nothing_else() -> None:
    assert appraised(with_chain(pem(PLATFORM.tcb_signer, ROOT))).failed_step == "pck-chain"
    maker = Authority(b"another", ec.SECP256R1(), hashes.SHA256(), NOW, NOW + DAY)
    above = maker.issue("Intel SGX PCK Platform CA", ROOT, authority=True, path_length=0)
    platform = maker.issue(PCK_CERTIFICATE, above, authority=False, extensions=[SGX, CODE_SIGNING])
    appraisal = appraised(with_chain(pem(platform, above, ROOT)))
    assert (appraisal.failed_step, "codeSigning" in appraisal.steps[-1].detail) == ("pck-chain", True)


@pytest.mark.parametrize(
    ("leaf", "authority", "step"),
    [
        (PCK_CERTIFICATE, "Intel SGX PCK Processor CA", "qe-report-signature"),
        ("Another Certificate", "Intel SGX PCK Processor CA", "pck-chain"),
        (PCK_CERTIFICATE, "Another CA", "pck-chain"),
    ],
)
def test_a_platform_has_a_pck_certificate_of_a_pck_authority(leaf: str, authority: str, step: str) -> None:
    """With the right names the appraisal goes on, and finds that this platform made no such quote."""
    maker = Authority(b"another", ec.SECP256R1(), hashes.SHA256(), NOW, NOW + DAY)
    above = maker.issue(authority, ROOT, authority=True, path_length=0)
    platform = maker.issue(leaf, above, authority=False, extensions=[SGX])
    assert appraised(with_chain(pem(platform, above, ROOT))).failed_step == step


@pytest.mark.parametrize("days", [-1, 3651])
def test_certificates_are_valid_when_the_quote_is_appraised(days: int) -> None:
    assert appraised(at=NOW + days * DAY).failed_step == "validity"


@pytest.mark.parametrize(
    ("report_data", "step"), [(REPORT_DATA, None), (bytes(64), "report-data"), (b"", "report-data")]
)
def test_report_data_is_compared_where_it_is_known(report_data: bytes, step: str | None) -> None:
    assert appraised(report_data=report_data).failed_step == step


def test_a_policy_may_allow_debugging_and_a_refused_quote_makes_no_claims() -> None:
    debug = PLATFORM.td(debug=True).quote(REPORT_DATA)
    appraisal = appraised(debug, policy=replace(DEFAULT_POLICY, allow_debug=True))
    assert appraisal.accepted
    assert appraisal.claims["debug"] is True
    assert appraised(PLATFORM.td(debug=True).quote(REPORT_DATA)).claims == {}


SEPT_VE_DISABLE = 1 << 28
SERVICE = b"\x53" * 48


@pytest.mark.parametrize("bit", [bit for bit in range(1, 64) if bit not in {16, 27, 28, 30, 31, 62, 63}])
def test_a_td_that_may_be_profiled_or_moved_or_whose_attributes_are_unknown_is_refused(bit: int) -> None:
    appraisal = appraised(with_attributes(SEPT_VE_DISABLE | 1 << bit))
    assert appraisal.failed_step == "attributes"
    names = {4: "HGS_PLUS_PROF", 5: "PERF_PROF", 6: "PMT_PROF", 29: "MIGRATABLE"}
    assert names.get(bit, f"unknown bit {bit}") in appraisal.steps[-1].detail


@pytest.mark.parametrize("bit", [16, 27, 30, 31, 62, 63])
def test_features_that_a_td_may_use_itself_are_no_reason_to_refuse(bit: int) -> None:
    assert appraised(with_attributes(SEPT_VE_DISABLE | 1 << bit), collateral=PLATFORM.collateral).accepted


WITHOUT_AND_WITH = pytest.mark.parametrize("collateral", [None, PLATFORM.collateral], ids=["alone", "collateral"])


@pytest.mark.mends("E7")
@pytest.mark.mends("R401")
@WITHOUT_AND_WITH
def test_a_td_whose_pages_can_go_unnoticed_is_refused(collateral: bytes | None) -> None:
    assert appraised(with_attributes(0), collateral=collateral).failed_step == "isolation"
    assert appraised(collateral=collateral).accepted


@pytest.mark.mends("E7")
def test_a_policy_may_accept_a_td_that_is_told_of_pages_taken_away() -> None:
    policy = replace(DEFAULT_POLICY, require_sept_ve_disable=False)
    appraisal = appraised(with_attributes(0), collateral=PLATFORM.collateral, policy=policy)
    details = {step.id: step.detail for step in appraisal.steps}
    assert appraisal.accepted
    assert "SEPT_VE_DISABLE is not set, which the policy allows" in details["isolation"]
    assert appraised(of_tdx_15(SERVICE), collateral=PLATFORM.collateral, policy=policy).failed_step == "isolation"


@pytest.mark.mends("R401")
@WITHOUT_AND_WITH
def test_a_service_td_is_refused_unless_the_policy_names_it(collateral: bytes | None) -> None:
    named = replace(DEFAULT_POLICY, measurements=(("mrservicetd", frozenset({SERVICE})),))
    assert appraised(of_tdx_15(SERVICE), collateral=collateral).failed_step == "isolation"
    accepted = appraised(of_tdx_15(SERVICE), collateral=collateral, policy=named)
    assert accepted.claims["mrservicetd"] == SERVICE.hex()
    assert appraised(of_tdx_15(bytes(48)), collateral=collateral).accepted
    assert appraised(of_tdx_15(b"\1" * 48), collateral=collateral, policy=named).failed_step == "isolation"


def test_a_policy_names_service_tds_beside_none() -> None:
    named = parse_policy(json.dumps({"service_tds": [SERVICE.hex()]}).encode())
    for quote, step in ((of_tdx_15(SERVICE), None), (of_tdx_15(bytes(48)), None), (QUOTE, None)):
        assert appraised(quote, policy=named).failed_step == step
    assert appraised(of_tdx_15(b"\1" * 48), policy=named).failed_step == "isolation"
    any_one = appraised(of_tdx_15(SERVICE), policy=replace(DEFAULT_POLICY, allow_any_service_td=True))
    assert any_one.accepted
    assert "service TD not compared" in any_one.not_compared
    required = replace(DEFAULT_POLICY, allow_any_service_td=True, require=DEFAULT_STEPS | {"isolation"})
    assert appraised(of_tdx_15(SERVICE), policy=required).failed_step == "policy"


@pytest.mark.parametrize("bit", [4, 5, 6, 29])
def test_a_policy_allows_attributes_by_name_and_no_other(bit: int) -> None:
    quote, name = with_attributes(SEPT_VE_DISABLE | 1 << bit), EXPOSING_BITS[bit]
    allowed = parse_policy(json.dumps({"allowed_attributes": [name]}).encode())
    appraisal = appraised(quote, policy=allowed)
    assert appraisal.accepted
    assert name in next(step.detail for step in appraisal.steps if step.id == "attributes")
    assert appraisal.claims["attributes"] == sorted([name, "SEPT_VE_DISABLE"])
    others = frozenset(EXPOSING_BITS.values()) - {name}
    assert appraised(quote, policy=replace(DEFAULT_POLICY, allowed_attributes=others)).failed_step == "attributes"
    unknown = with_attributes(SEPT_VE_DISABLE | 1 << bit | 1 << 8)
    assert appraised(unknown, policy=allowed).failed_step == "attributes"


@pytest.mark.parametrize("bit", [16, 27, 30, 31, 62, 63])
def test_a_policy_requires_attributes_by_name(bit: int) -> None:
    policy = replace(DEFAULT_POLICY, required_attributes=frozenset({HARMLESS_BITS[bit]}))
    assert appraised(with_attributes(SEPT_VE_DISABLE | 1 << bit), policy=policy).accepted
    refused = appraised(with_attributes(SEPT_VE_DISABLE), policy=policy)
    assert (refused.failed_step, HARMLESS_BITS[bit] in refused.steps[-1].detail) == ("attributes", True)


@pytest.mark.parametrize(("days", "step"), [(-1, None), (0, None), (1, "tcb-status")])
def test_a_policy_names_the_oldest_date_of_a_tcb_level(days: int, step: str | None) -> None:
    accepted = appraised(collateral=PLATFORM.collateral)
    day = str(accepted.claims["tcb_date"])[:10]
    moment = datetime.fromisoformat(day).replace(tzinfo=UTC) + days * DAY
    policy = parse_policy(json.dumps({"minimum_tcb_date": f"{moment:%Y-%m-%d}"}).encode())
    refused = appraised(collateral=PLATFORM.collateral, policy=policy)
    assert refused.failed_step == step
    assert (f"accepted: from {moment:%Y-%m-%d}" in refused.steps[-1].detail) is bool(step)


@pytest.mark.parametrize(
    "asked",
    [{"minimum_tcb_date": "2019-01-01"}, {"minimum_evaluation_number": 1}, {"rejected_advisories": ["INTEL-SA-00001"]}],
    ids=str,
)
def test_what_only_collateral_tells_is_not_asked_for_in_vain(asked: dict[str, object]) -> None:
    policy = parse_policy(json.dumps(asked).encode())
    assert appraised(collateral=PLATFORM.collateral, policy=policy).accepted
    refused = appraised(policy=policy)
    assert (refused.failed_step, "tcb-status" in refused.steps[-1].detail) == ("policy", True)
    assert refused.steps[-1].without == ("collateral",)


SERVING = ("service TD", "service TD at its creation", "current service TD")


@WITHOUT_AND_WITH
@pytest.mark.parametrize("place", range(3))
def test_each_service_td_of_a_td_report_1_5_ex_has_to_be_named(place: int, collateral: bytes | None) -> None:
    hashes = [SERVICE if place == each else bytes(48) for each in range(3)]
    quote = of_tdx_15_ex(hashes[0], initial_servicetd=hashes[1], current_servicetd=hashes[2])
    refused = appraised(quote, collateral=collateral)
    assert (refused.failed_step, f"a {SERVING[place]} that" in refused.steps[-1].detail) == ("isolation", True)
    named = replace(DEFAULT_POLICY, measurements=(("mrservicetd", frozenset({SERVICE, bytes(48)})),))
    assert appraised(quote, collateral=collateral, policy=named).accepted
    both = of_tdx_15_ex(SERVICE, initial_servicetd=SERVICE, current_servicetd=b"\1" * 48)
    assert appraised(both, collateral=collateral, policy=named).failed_step == "isolation"


@WITHOUT_AND_WITH
def test_a_quote_with_a_td_report_1_5_ex_is_named_and_read(collateral: bytes | None) -> None:
    accepted = appraised(of_tdx_15_ex(vmid=b"\2", td_id=b"t" * 32), collateral=collateral)
    assert {step.id: step.detail for step in accepted.steps}["kind"] == "TDX quote of version 5, TD report 1.5 Ex"
    extension = accepted.claims["extension"]
    assert isinstance(extension, dict)
    assert (accepted.claims["td_report"], extension["vmid"], extension["td_id"]) == ("TD report 1.5 Ex", 2, "74" * 32)
    assert appraised().claims["extension"] is None


@pytest.mark.parametrize(
    "place", [54, 54 + 600, *(54 + at for at in (648, 649, 681, 729, 777, 785, 801, 817, 829, 884))]
)
def test_no_field_of_a_td_report_1_5_ex_can_change(place: int) -> None:
    quote = of_tdx_15_ex()
    assert appraised(edited(quote, place, bytes([quote[place] ^ 1]))).failed_step == "quote-signature"


def test_a_changed_quote_with_a_td_report_1_5_ex_is_refused() -> None:
    quote, draw = of_tdx_15_ex(), random.Random(15)
    for _ in range(1000):
        place = draw.randrange(len(quote))
        changed = edited(quote, place, bytes([quote[place] ^ 1 << draw.randrange(8)]))
        assert not appraised(changed).accepted


QE_SIGNER, QE_PRODUCT, QE_ATTRIBUTES, QE_MISCSELECT = 128, 256, 48, 16
STRANGER = b"\xbb" * 32


def vouched_for(*changes: tuple[int, bytes]) -> bytes:
    """Return the quote with another report of the quoting enclave, which the platform certified."""
    report = QUOTE[QE_REPORT : QE_REPORT + 384]
    for place, value in changes:
        report = edited(report, place, value)
    return edited(QUOTE, QE_REPORT, report + sign_p256(PCK.key, report))


OF_ANOTHER_ENCLAVE = {
    "signer": ((QE_SIGNER, STRANGER),),
    "SGX's signer": ((QE_SIGNER, bytes.fromhex("8c4f5775d796503e96137f77c68a829a0056ac8ded70140b081b094490c57bff")),),
    "product": ((QE_PRODUCT, b"\x77\x77"),),
    "SGX's product": ((QE_PRODUCT, b"\1\0"),),
    "debug": ((QE_ATTRIBUTES, b"\x13"),),
    "other attributes": ((QE_ATTRIBUTES, b"\x31"),),
    "miscselect": ((QE_MISCSELECT, b"\1"),),
}


@pytest.fixture
def intel_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the simulated platform's root for Intel's."""
    monkeypatch.setattr("carnet_ref.attestation.intel.appraisal.default_anchors", lambda: PLATFORM.anchors)


@pytest.mark.mends("R400")
@pytest.mark.usefixtures("intel_root")
@pytest.mark.parametrize("change", OF_ANOTHER_ENCLAVE)
@WITHOUT_AND_WITH
def test_a_quote_by_another_enclave_on_a_genuine_platform_is_refused(change: str, collateral: bytes | None) -> None:
    quote = vouched_for(*OF_ANOTHER_ENCLAVE[change])
    assert appraised(quote, collateral=collateral).failed_step == "qe-identity"
    assert "qe-identity" in [step.id for step in appraised(collateral=collateral).steps if step.ok]


@pytest.mark.usefixtures("intel_root")
def test_intel_s_root_is_known_by_its_key_in_another_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    (root,) = PLATFORM.anchors.of(AnchorRole.INTEL_SGX)
    again = SimulatedPlatform(b"a platform", NOW + DAY).anchors
    (other,) = again.of(AnchorRole.INTEL_SGX)
    assert (root == other, root.public_key() == other.public_key()) == (False, True)
    monkeypatch.setattr("carnet_ref.attestation.intel.appraisal.default_anchors", lambda: again)
    assert appraised(vouched_for((QE_SIGNER, STRANGER))).failed_step == "qe-identity"


@WITHOUT_AND_WITH
@pytest.mark.parametrize("change", OF_ANOTHER_ENCLAVE)
def test_under_another_root_any_signer_is_accepted_where_neither_collateral_nor_policy_names_one(
    change: str, collateral: bytes | None
) -> None:
    found = appraised(vouched_for(*OF_ANOTHER_ENCLAVE[change]), collateral=collateral)
    assert found.accepted == ("signer" in change and collateral is None)
    if found.accepted:
        (said,) = [step.detail for step in found.steps if step.id == "qe-identity"]
        assert said.startswith("a quoting enclave for TDs signed by ")
    named = replace(DEFAULT_POLICY, quoting_enclave_signers=frozenset({b"\xcc" * 32}))
    assert not appraised(vouched_for(*OF_ANOTHER_ENCLAVE[change]), policy=named, collateral=collateral).accepted


@pytest.mark.parametrize("attributes", ["11", "15"])
def test_the_quoting_enclave_may_say_that_it_runs_in_64_bit_mode(attributes: str) -> None:
    assert appraised(vouched_for((QE_ATTRIBUTES, bytes.fromhex(attributes)))).accepted


def test_a_policy_may_name_the_signer_of_another_quoting_enclave_but_no_other_product_and_no_debugging() -> None:
    named = replace(DEFAULT_POLICY, quoting_enclave_signers=frozenset({STRANGER}))
    signed = (QE_SIGNER, STRANGER)
    assert appraised(vouched_for(signed), policy=named).accepted
    assert appraised(policy=named).accepted
    assert appraised(vouched_for(signed), policy=named, collateral=PLATFORM.collateral).failed_step == "qe-identity"
    for change in ("product", "debug", "miscselect"):
        quote = vouched_for(signed, *OF_ANOTHER_ENCLAVE[change])
        assert appraised(quote, policy=named).failed_step == "qe-identity"


def test_intel_s_quoting_enclave_is_the_one_that_it_publishes() -> None:
    """Source: Intel PCS API, version 4, TDX enclave identity of 2026-03-16."""
    published = parse_qe_identity(
        b'{"id":"TD_QE","version":2,"issueDate":"2026-03-16T22:16:03Z","nextUpdate":"2026-04-15T22:16:03Z",'
        b'"tcbEvaluationDataNumber":18,"miscselect":"00000000","miscselectMask":"FFFFFFFF",'
        b'"attributes":"11000000000000000000000000000000","attributesMask":"FBFFFFFFFFFFFFFF0000000000000000",'
        b'"mrsigner":"DC9E2A7C6F948F17474E34A7FC43ED030F7C1563F1BABDDF6340C82E0E54A8C5","isvprodid":2,"tcbLevels":[]}'
    )
    assert EnclaveIdentity(*(getattr(published, each.name) for each in fields(EnclaveIdentity))) == TD_QUOTING_ENCLAVE


def test_a_register_that_is_not_there_or_for_which_no_value_is_accepted_refuses() -> None:
    policy = replace(DEFAULT_POLICY, measurements=(("mrservicetd", frozenset({bytes(48)})),))
    assert appraised(policy=policy).failed_step == "measurements"
    policy = replace(DEFAULT_POLICY, measurements=(("mrtd", frozenset()),))
    assert appraised(policy=policy).failed_step == "measurements"


@pytest.mark.parametrize("register", ["mrtd", "mrseam", "rtmr0", "rtmr1", "rtmr2", "rtmr3"])
def test_measurements_are_among_those_that_the_policy_accepts(register: str) -> None:
    values = {name: bytes([place]) * 48 for place, name in enumerate(("mrtd", "rtmr0", "rtmr1", "rtmr2", "rtmr3"))}
    mrtd, *rtmrs = values.values()
    quote = PLATFORM.td(mrtd, rtmrs).quote(REPORT_DATA)
    for accepted, step in ((values.get(register, bytes(48)), None), (b"\xff" * 48, "measurements")):
        policy = replace(DEFAULT_POLICY, measurements=((register, frozenset({accepted})),))
        assert appraised(quote, policy=policy).failed_step == step
    for others, said in (({b"\xff" * 48}, "1 other"), ({b"\xff" * 48, b"\xfe" * 48}, "2 others"), (set(), "none")):
        policy = replace(DEFAULT_POLICY, measurements=((register, frozenset(others)),))
        assert appraised(quote, policy=policy).steps[-1].detail.endswith(f"; accepted: {said}")


@pytest.mark.parametrize("step", ["revocation", "tcb-status", "report-data", "measurements", "event-log"])
def test_a_step_that_a_policy_asks_for_is_not_left_open(step: str) -> None:
    assert appraised(policy=Policy(require=frozenset({step}))).failed_step == "policy"


def test_the_attestation_key_is_named_by_the_digest_of_key_and_authentication_data() -> None:
    key, authentication = QUOTE[SIGNATURE + 64 : SIGNATURE + 128], QUOTE[QE_REPORT + 450 : QE_REPORT + 482]
    assert QUOTE[QE_REPORT + 320 : QE_REPORT + 384] == sha256(key + authentication) + bytes(32)


def test_a_policy_is_read_from_json() -> None:
    written = {
        "require": ["quote-signature", "tcb-status"],
        "allow_debug": True,
        "require_sept_ve_disable": False,
        "measurements": {"mrtd": ["00" * 48], "rtmr2": ["11" * 48, "0x" + "22" * 48]},
        "tcb_statuses": ["UpToDate"],
        "rejected_advisories": ["INTEL-SA-00837"],
        "minimum_evaluation_number": 17,
        "collateral_ttl": 86400,
        "quoting_enclave_signers": ["33" * 32],
    }
    assert parse_policy(json.dumps(written).encode()) == Policy(
        require=DEFAULT_STEPS | {"quote-signature", "tcb-status"},
        allow_debug=True,
        require_sept_ve_disable=False,
        measurements=(("mrtd", frozenset({bytes(48)})), ("rtmr2", frozenset({b"\x11" * 48, b"\x22" * 48}))),
        tcb_statuses=frozenset({TcbStatus.UP_TO_DATE}),
        rejected_advisories=frozenset({"INTEL-SA-00837"}),
        minimum_evaluation_number=17,
        collateral_ttl=86400,
        quoting_enclave_signers=frozenset({b"\x33" * 32}),
    )


def test_an_empty_policy_asks_for_nothing_allows_nothing_and_accepts_nothing() -> None:
    assert parse_policy(b"{}") == Policy()
    assert not Policy().allow_debug
    assert Policy().require_sept_ve_disable
    assert not DEFAULT_STATUSES & {status for status in TcbStatus if "OutOfDate" in status or "Revoked" in status}
    assert {*KEYS, "preset"} == set(Policy.__dataclass_fields__)
    assert appraised(policy=parse_policy(b"{}"), collateral=PLATFORM.collateral).failed_step == "policy"


def test_every_step_of_an_appraisal_can_be_asked_for_and_no_other() -> None:
    assert tuple(step.id for step in appraised(collateral=PLATFORM.collateral).steps) == STEPS


@pytest.mark.parametrize(
    "policy",
    [
        b"",
        b"[]",
        b'{"required": []}',
        b'{"require": ["everything"]}',
        b'{"require": "parse"}',
        b'{"allow_debug": 1}',
        b'{"require_sept_ve_disable": "no"}',
        b'{"measurements": []}',
        b'{"measurements": {"rtmr4": []}}',
        b'{"measurements": {"mrtd": ["00"]}}',
        b'{"measurements": {"mrtd": "00"}}',
        b'{"tcb_statuses": ["Fine"]}',
        b'{"collateral_ttl": "a day"}',
        b'{"quoting_enclave_signers": ["33"]}',
        b'{"quoting_enclave_signers": "' + b"33" * 32 + b'"}',
        b'{"minimum_evaluation_number": -1}',
        b'{"require": [], "require": ["parse"]}',
        b'{"allowed_attributes": ["DEBUG"]}',
        b'{"allowed_attributes": ["SEPT_VE_DISABLE"]}',
        b'{"required_attributes": ["MIGRATABLE"]}',
        b'{"service_tds": ["00"]}',
        b'{"minimum_tcb_date": "2026"}',
        b'{"rtmrs_without_log": ["mrtd"]}',
        b'{"rtmrs_without_log": ["rtmr0"]}',
        b'{"rtmrs_without_log": ["rtmr0", "rtmr1"], "measurements": {"rtmr1": []}}',
    ],
)
def test_a_policy_with_anything_unknown_is_malformed(policy: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_policy(policy)
