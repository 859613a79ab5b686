"""The appraisal of a quote: each step refuses what it is there for."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.anchors import Anchors, Role
from carnet_ref.attestation.intel.appraisal import appraise_quote
from carnet_ref.attestation.intel.policy import DEFAULT_POLICY, Policy
from carnet_ref.attestation.intel.signatures import sign_p256
from carnet_ref.attestation.intel.tcb import TcbStatus
from carnet_ref.attestation.simulated.authority import Issued
from carnet_ref.attestation.simulated.td import SimulatedPlatform
from carnet_ref.crypto import sha256
from tests.fixtures.simulated_quotes import NOW, PLATFORM, QUOTE, REPORT_DATA, appraised, edited

SIGNATURE = 636  # where the signature data starts: signature, attestation key, certification data
QE_REPORT = SIGNATURE + 134
PCK, PCK_AUTHORITY, ROOT = PLATFORM.pck_chain
OTHER = SimulatedPlatform(b"another platform", NOW, fmspc=b"\1" * 6)
DAY = timedelta(days=1)


def pem(*issued: Issued) -> str:
    return b"".join(each.certificate.public_bytes(Encoding.PEM) for each in issued).decode()


def published(**changes: str) -> bytes:
    return json.dumps(json.loads(PLATFORM.collateral) | changes).encode()


def test_a_quote_alone_is_accepted_and_says_what_nobody_vouched_for() -> None:
    appraisal = appraised()
    assert appraisal.accepted
    open_steps = [step.id for step in appraisal.steps if step.ok is None]
    assert {"fmspc", "revocation", "tcb-status", "report-data", "measurements"} <= set(open_steps)
    assert appraisal.claims["tcb_status"] is None


def test_with_collateral_the_claims_say_the_tcb_status() -> None:
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


def test_a_chain_without_a_pck_certificate_is_refused() -> None:
    """The signer of the collateral leads to the same root, and is no platform."""
    text, other = pem(*PLATFORM.pck_chain), json.loads(PLATFORM.collateral)["tcb_info_issuer_chain"]
    start = QUOTE.index(text.encode())
    chain = other.encode()
    quote = QUOTE[:start] + chain
    quote = edited(quote, start - 4, len(chain).to_bytes(4, "little"))
    shorter = len(text) - len(chain)
    for place in (SIGNATURE - 4, SIGNATURE + 130):
        size = int.from_bytes(quote[place : place + 4], "little") - shorter
        quote = edited(quote, place, size.to_bytes(4, "little"))
    assert appraised(quote).failed_step == "pck-chain"


@pytest.mark.parametrize("days", [-1, 3651])
def test_certificates_are_valid_when_the_quote_is_appraised(days: int) -> None:
    assert appraised(at=NOW + days * DAY).failed_step == "validity"


@pytest.mark.parametrize(
    ("report_data", "step"), [(REPORT_DATA, None), (bytes(64), "report-data"), (b"", "report-data")]
)
def test_report_data_is_compared_where_it_is_known(report_data: bytes, step: str | None) -> None:
    assert appraised(report_data=report_data).failed_step == step


def test_a_policy_may_allow_debugging() -> None:
    debug = PLATFORM.td(debug=True).quote(REPORT_DATA)
    appraisal = appraised(debug, policy=replace(DEFAULT_POLICY, allow_debug=True))
    assert appraisal.accepted
    assert appraisal.claims["debug"] is True


@pytest.mark.parametrize("register", ["mrtd", "mrseam", "rtmr0", "rtmr1", "rtmr2", "rtmr3"])
def test_measurements_are_among_those_that_the_policy_accepts(register: str) -> None:
    values = {name: bytes([place]) * 48 for place, name in enumerate(("mrtd", "rtmr0", "rtmr1", "rtmr2", "rtmr3"))}
    mrtd, *rtmrs = values.values()
    quote = PLATFORM.td(mrtd, rtmrs).quote(REPORT_DATA)
    for accepted, step in ((values.get(register, bytes(48)), None), (b"\xff" * 48, "measurements")):
        policy = replace(DEFAULT_POLICY, measurements=((register, frozenset({accepted})),))
        assert appraised(quote, policy=policy).failed_step == step


def test_a_register_for_which_no_value_is_accepted_refuses() -> None:
    policy = replace(DEFAULT_POLICY, measurements=(("mrtd", frozenset()),))
    assert appraised(policy=policy).failed_step == "measurements"


def test_collateral_of_another_platform_is_refused_naming_both() -> None:
    """Published by the same authority, for platforms of another kind."""
    anchors = Anchors({Role.INTEL_SGX: (*PLATFORM.anchors.of(Role.INTEL_SGX), *OTHER.anchors.of(Role.INTEL_SGX))})
    theirs = json.loads(OTHER.collateral)
    lent = {name: theirs[name] for name in ("tcb_info", "tcb_info_signature", "tcb_info_issuer_chain")}
    appraisal = appraise_quote(QUOTE, at=NOW, policy=DEFAULT_POLICY, anchors=anchors, collateral=published(**lent))
    assert appraisal.failed_step == "fmspc"
    assert PLATFORM.fmspc.hex() in appraisal.steps[-1].detail
    assert OTHER.fmspc.hex() in appraisal.steps[-1].detail


@pytest.mark.parametrize("name", ["tcb_info", "qe_identity"])
def test_a_document_written_anew_has_lost_its_signature(name: str) -> None:
    text = json.loads(PLATFORM.collateral)[name]
    assert appraised(collateral=published(**{name: text + " "})).failed_step == "collateral-signature"


@pytest.mark.parametrize("name", ["tcb_info", "qe_identity"])
def test_a_platform_cannot_sign_collateral_for_itself(name: str) -> None:
    """Its certification key leads to the root too, and is in the platform's hands."""
    body = json.loads(PLATFORM.collateral)[name].encode()
    own = {f"{name}_signature": sign_p256(PCK.key, body).hex(), f"{name}_issuer_chain": pem(*PLATFORM.pck_chain)}
    appraisal = appraised(collateral=published(**own))
    assert appraisal.failed_step == "collateral-signature"
    assert "Intel SGX TCB Signing" in appraisal.steps[-1].detail


@pytest.mark.parametrize("name", ["root_ca_crl", "pck_crl"])
def test_a_revocation_list_of_somebody_else_is_refused(name: str) -> None:
    theirs = json.loads(OTHER.collateral)[name]
    assert appraised(collateral=published(**{name: theirs})).failed_step == "collateral-signature"


def test_the_two_revocation_lists_are_not_exchangeable() -> None:
    lists = json.loads(PLATFORM.collateral)
    swapped = published(root_ca_crl=lists["pck_crl"], pck_crl=lists["root_ca_crl"])
    assert appraised(collateral=swapped).failed_step == "collateral-signature"


def test_the_list_comes_with_the_certificate_of_its_issuer() -> None:
    other = json.loads(PLATFORM.collateral)["tcb_info_issuer_chain"]
    assert appraised(collateral=published(pck_crl_issuer_chain=other)).failed_step == "collateral-signature"


@pytest.mark.parametrize("issued", [PCK, PCK_AUTHORITY], ids=["platform", "authority"])
def test_a_revoked_certificate_is_refused(issued: Issued) -> None:
    collateral = PLATFORM.published(NOW, revoked=[issued.certificate])
    assert appraised(collateral=collateral).failed_step == "revocation"


def test_a_revoked_signer_of_collateral_is_refused() -> None:
    signer = PLATFORM.tcb_signer.certificate
    assert appraised(collateral=PLATFORM.published(NOW, revoked=[signer])).failed_step == "revocation"


@pytest.mark.parametrize(("days", "step"), [(0, None), (30, None), (31, "collateral-validity")])
def test_collateral_is_current_when_it_is_used(days: int, step: str | None) -> None:
    assert appraised(collateral=PLATFORM.collateral, at=NOW + days * DAY).failed_step == step


def test_collateral_is_not_used_before_it_was_issued() -> None:
    collateral = PLATFORM.published(NOW + 10 * DAY)
    assert appraised(collateral=collateral, at=NOW + DAY).failed_step == "collateral-validity"


@pytest.mark.parametrize(("days", "step"), [(1, None), (2, "collateral-validity")])
def test_a_policy_may_want_collateral_that_is_young(days: int, step: str | None) -> None:
    policy = replace(DEFAULT_POLICY, collateral_ttl=86400)
    assert appraised(collateral=PLATFORM.collateral, policy=policy, at=NOW + days * DAY).failed_step == step


@pytest.mark.parametrize("status", list(TcbStatus))
def test_every_status_but_revoked_is_reported_and_accepted_by_default(status: TcbStatus) -> None:
    appraisal = appraised(collateral=PLATFORM.published(NOW, status=status))
    assert appraisal.failed_step == ("tcb-status" if status is TcbStatus.REVOKED else None)
    assert appraisal.claims.get("tcb_status") == (None if status is TcbStatus.REVOKED else status.value)


@pytest.mark.parametrize("status", list(TcbStatus))
def test_a_strict_policy_accepts_current_platforms_alone(status: TcbStatus) -> None:
    policy = replace(DEFAULT_POLICY, tcb_statuses=frozenset({TcbStatus.UP_TO_DATE}))
    appraisal = appraised(collateral=PLATFORM.published(NOW, status=status), policy=policy)
    assert appraisal.accepted == (status is TcbStatus.UP_TO_DATE)


@pytest.mark.parametrize(("number", "step"), [(1, None), (2, "tcb-status")])
def test_a_policy_may_want_a_later_evaluation(number: int, step: str | None) -> None:
    policy = replace(DEFAULT_POLICY, minimum_evaluation_number=number)
    assert appraised(collateral=PLATFORM.collateral, policy=policy).failed_step == step


def test_a_policy_may_reject_advisories() -> None:
    collateral = PLATFORM.published(NOW, status=TcbStatus.OUT_OF_DATE, advisories=["INTEL-SA-1"])
    policy = replace(DEFAULT_POLICY, rejected_advisories=frozenset({"INTEL-SA-1"}))
    assert appraised(collateral=collateral).claims["advisories"] == ["INTEL-SA-1"]
    assert appraised(collateral=collateral, policy=policy).failed_step == "tcb-status"


@pytest.mark.parametrize("step", ["revocation", "tcb-status", "report-data", "measurements", "event-log"])
def test_a_step_that_a_policy_asks_for_is_not_left_open(step: str) -> None:
    assert appraised(policy=Policy(require=frozenset({step}))).failed_step == "policy"


def test_a_refused_quote_makes_no_claims() -> None:
    assert appraised(PLATFORM.td(debug=True).quote(REPORT_DATA)).claims == {}


def test_the_attestation_key_is_named_by_the_digest_of_key_and_authentication_data() -> None:
    key, authentication = QUOTE[SIGNATURE + 64 : SIGNATURE + 128], QUOTE[QE_REPORT + 450 : QE_REPORT + 482]
    assert QUOTE[QE_REPORT + 320 : QE_REPORT + 384] == sha256(key + authentication) + bytes(32)
