"""Another verifier is asked about simulated platforms: same status, and it refuses whatever is refused here."""

import json
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import dcap_qvl
import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.appraisal import AnchorRole
from carnet_ref.attestation.intel.appraisal import DEFAULT_POLICY
from carnet_ref.attestation.intel.collateral import PUBLISHED_STATUSES, TcbStatus
from carnet_ref.attestation.intel.quote import parse_quote
from carnet_ref.attestation.simulated.td import SimulatedPlatform
from tests.fixtures import simulated_quotes as tdx
from tests.fixtures.dcap import refusal
from tests.unit.reference_impl.attestation.intel.test_platform import STARTED_LATE, with_an_older_level

ROOT = tdx.PLATFORM.anchors.of(AnchorRole.INTEL_SGX)[0].public_bytes(Encoding.DER)
PCK, PCK_AUTHORITY, _ = tdx.PLATFORM.pck_chain
OTHER = SimulatedPlatform(b"another platform", tdx.NOW, fmspc=b"\1" * 6)
MUTATIONS = 150
SIGNED_MUTATIONS = 400
#: As for real quotes: bytes after the quote, the text of its certificates, roots, and lists before their time.
STRICTER = {"parse", "pck-chain", "collateral-signature", "collateral-validity"}


@pytest.mark.parametrize("status", sorted(PUBLISHED_STATUSES - {TcbStatus.REVOKED}))
def test_both_verifiers_report_the_same_status(status: TcbStatus) -> None:
    collateral = tdx.PLATFORM.issue_collateral(tdx.NOW, status=status, advisories=["INTEL-SA-1"])
    published = dcap_qvl.QuoteCollateralV3.from_json(collateral.decode())
    theirs = dcap_qvl.verify_with_root_ca(tdx.QUOTE, published, ROOT, int(tdx.NOW.timestamp()))
    policy = replace(DEFAULT_POLICY, tcb_statuses=frozenset(TcbStatus))
    ours = tdx.appraised(collateral=collateral, policy=policy).claims
    assert (ours["tcb_status"], ours["advisories"]) == (theirs.status, theirs.advisory_ids)


@pytest.mark.parametrize(
    ("quote", "collateral"),
    [
        (tdx.QUOTE, tdx.PLATFORM.issue_collateral(tdx.NOW, status=TcbStatus.REVOKED)),
        (tdx.QUOTE, tdx.PLATFORM.issue_collateral(tdx.NOW, revoked=[PCK.certificate])),
        (tdx.QUOTE, tdx.PLATFORM.issue_collateral(tdx.NOW, revoked=[PCK_AUTHORITY.certificate])),
        (tdx.QUOTE, tdx.PLATFORM.issue_collateral(tdx.NOW - timedelta(days=31))),
        (tdx.PLATFORM.td(debug=True).quote(tdx.REPORT_DATA), tdx.PLATFORM.collateral),
        (OTHER.td().quote(tdx.REPORT_DATA), tdx.PLATFORM.collateral),
    ],
    ids=["status", "platform revoked", "authority revoked", "expired", "debug", "another root"],
)
def test_both_verifiers_refuse(quote: bytes, collateral: bytes) -> None:
    assert not tdx.appraised(quote, collateral=collateral).accepted
    assert refusal(quote, collateral, tdx.NOW, ROOT) is not None


def test_the_other_verifier_refuses_nothing_that_is_accepted_here() -> None:
    question = tdx.Question(tdx.QUOTE, tdx.PLATFORM.collateral, tdx.NOW + timedelta(days=1))
    other = tdx.Question(OTHER.td().quote(bytes(64)), OTHER.collateral, tdx.NOW)
    draw = random.Random(1)
    accepted = 0
    for _ in range(MUTATIONS):
        name, asked = tdx.mutated(draw, question, other)
        ours = tdx.appraised(asked.quote, collateral=asked.collateral, at=asked.at)
        theirs = refusal(asked.quote, asked.collateral, asked.at, ROOT)
        accepted += ours.accepted
        if ours.accepted:
            assert theirs is None, f"{name}: laxer than dcap-qvl, which says {theirs}"
        elif theirs is None:
            assert ours.failed_step in STRICTER, f"{name}: stricter than dcap-qvl at {ours.steps[-1]}"
    assert 0 < accepted < MUTATIONS


def test_the_collateral_is_what_the_other_verifier_reads_too() -> None:
    assert set(json.loads(tdx.PLATFORM.collateral)) == set(
        json.loads(dcap_qvl.QuoteCollateralV3.from_json(tdx.PLATFORM.collateral.decode()).to_json())
    ) - {"pck_certificate_chain"}


def _nobody_is_laxer(quote: bytes, collateral: bytes, stricter: set[str]) -> bool:
    """Return whether both accept; Carnet accepts nothing that the other refuses, and refuses more at known steps."""
    ours, theirs = tdx.appraised(quote, collateral=collateral), refusal(quote, collateral, tdx.NOW, ROOT)
    if ours.accepted:
        assert theirs is None, f"laxer than dcap-qvl, which says {theirs}"
    elif theirs is None:
        assert ours.failed_step in stricter, f"stricter than dcap-qvl at {ours.steps[-1]}"
    return ours.accepted


@pytest.mark.parametrize("mutation", [tdx.report_mutated, tdx.enclave_mutated])
def test_what_a_platform_really_signed_is_believed_no_more_than_the_other_verifier_believes_it(
    mutation: Callable[[random.Random], bytes],
) -> None:
    """Bits 18 to 22 of the attributes have no meaning here yet, so they refuse."""
    draw = random.Random(2)
    quotes = {mutation(draw) for _ in range(SIGNED_MUTATIONS)}
    accepted = sum(_nobody_is_laxer(quote, tdx.PLATFORM.collateral, {"attributes"}) for quote in quotes)
    assert 0 < accepted < len(quotes)


def test_published_documents_are_read_no_more_freely_than_by_the_other_verifier() -> None:
    """Stricter are: versions of the documents, ways to write moments, and published values outside their masks."""
    draw = random.Random(3)
    documents = {tdx.collateral_mutated(draw, tdx.PLATFORM.collateral) for _ in range(SIGNED_MUTATIONS)}
    known = {"parse", "qe-identity", "tdx-module"}
    assert 0 < sum(_nobody_is_laxer(tdx.QUOTE, document, known) for document in documents) < len(documents)


@pytest.mark.parametrize("service", [bytes(48), b"\1" * 48])
def test_a_service_td_is_refused_by_both(service: bytes) -> None:
    accepted = not any(service)
    assert _nobody_is_laxer(tdx.of_tdx_15(service), tdx.PLATFORM.collateral, set()) == accepted
    assert (refusal(tdx.of_tdx_15(service), tdx.PLATFORM.collateral, tdx.NOW, ROOT) is None) == accepted


def test_both_verifiers_say_that_a_td_should_be_started_anew() -> None:
    collateral = with_an_older_level()
    policy = replace(DEFAULT_POLICY, tcb_statuses=frozenset(TcbStatus))
    appraisal = tdx.appraised(STARTED_LATE, collateral=collateral, policy=policy)
    published = dcap_qvl.QuoteCollateralV3.from_json(collateral.decode())
    theirs = dcap_qvl.verify_with_root_ca(STARTED_LATE, published, ROOT, int(tdx.NOW.timestamp()))
    assert appraisal.claims["tcb_status"] == theirs.status == "TDRelaunchAdvised"


THEIR_NAMES = {
    "vmid": "vmid",
    "td_id": "td_id",
    "device_info": "dev_info",
    "initial_servicetd": "init_service_td_hash",
    "initial_servicetd_attributes": "init_service_td_attributes",
    "initial_cpusvn": "init_cpu_svn",
    "initial_tee_tcb_svn": "init_tee_tcb_svn",
    "initial_fmspc": "init_tee_fmspc",
    "current_servicetd": "cur_service_td_hash",
    "current_servicetd_attributes": "cur_service_td_attributes",
}


def test_both_verifiers_read_a_td_report_1_5_ex_in_the_same_way() -> None:
    values = {name: bytes([place + 1]) * size for place, (name, size) in enumerate(tdx.EXTENSION.items())}
    quote = tdx.of_tdx_15_ex(b"m" * 48, **values)
    ours, theirs = parse_quote(quote).report.extension, dcap_qvl.parse_quote(quote).report
    for name, other in THEIR_NAMES.items():
        assert getattr(ours, name) == getattr(theirs, other), name
    assert _nobody_is_laxer(tdx.of_tdx_15_ex(), tdx.PLATFORM.collateral, set())


@pytest.mark.parametrize("name", ["initial_servicetd", "current_servicetd"])
def test_a_service_td_that_only_a_td_report_1_5_ex_names_is_refused_here_alone(name: str) -> None:
    assert not _nobody_is_laxer(tdx.of_tdx_15_ex(**{name: b"\1" * 48}), tdx.PLATFORM.collateral, {"isolation"})
