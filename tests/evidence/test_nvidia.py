"""Real NVIDIA evidence: all that is genuine is accepted, all that is not is refused at the step that its name says."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509

from carnet_ref.attestation.appraisal import AnchorRole, Appraisal, anchors_from_pem, default_anchors
from carnet_ref.attestation.documents import decode
from carnet_ref.attestation.nvidia.appraisal import DEFAULT_POLICY, Policy, appraise_gpu
from carnet_ref.attestation.nvidia.ocsp import check_not_revoked, parse_ocsp
from carnet_ref.attestation.nvidia.report import OpaqueType, device_evidence, parse_report
from carnet_ref.attestation.nvidia.rim import appraise_rim, parse_rim
from carnet_ref.crypto.certificate_path import PathError, check_path, parse_pem_chain
from carnet_ref.wire import MalformedError
from tests.evidence.nvidia_table import TABLE, table
from tests.fixtures import nvidia_evidence
from tests.fixtures.simulated_snp import flipped

pytestmark = pytest.mark.skipif(nvidia_evidence.FOLDER is None, reason=nvidia_evidence.MISSING)
CASES = list(nvidia_evidence.cases()) if nvidia_evidence.FOLDER else []
RIMS = list(nvidia_evidence.rim_cases()) if nvidia_evidence.FOLDER else []
GENUINE = {case.name: case for case in CASES if case.refused_at is None}
BITS_SAMPLED = 150


def _named(case: nvidia_evidence.Case | nvidia_evidence.RimCase) -> str:
    return case.name.rpartition("/")[2]


@pytest.mark.parametrize("case", [*CASES, *RIMS], ids=_named)
def test_a_report_or_rim_is_accepted_or_refused_as_its_name_says(
    case: nvidia_evidence.Case | nvidia_evidence.RimCase,
) -> None:
    appraisal = case.appraised()
    assert appraisal.failed_step == case.refused_at, appraisal.steps[-1]


def test_all_of_the_evidence_is_in_the_table_of_the_documentation() -> None:
    accepted = [case.appraised().claims for case in GENUINE.values()]
    assert {claims["product"] for claims in accepted} == {"GH100", "GB100", "LS10"}
    assert len({claims["ueid"] for claims in accepted}) > 15
    assert len(GENUINE) == 38
    assert sum(case.refused_at is None for case in RIMS) == 24
    assert sum("failure_" in case.name for case in RIMS) == 18
    assert TABLE.read_text("utf-8") == table(), "write it again: python -m tests.evidence.nvidia_table"


def _sample() -> nvidia_evidence.Case:
    return next(case for case in CASES if case.rims)


def test_the_ids_of_reference_values_are_the_names_by_which_nvidia_published_those_that_match() -> None:
    claims = _sample().appraised().claims
    assert claims["driver_rim_id"] == Path(nvidia_evidence.DRIVER_RIM).stem
    assert claims["vbios_rim_id"] == Path(nvidia_evidence.VBIOS_RIM).stem
    switches = [case.appraised().claims for case in GENUINE.values() if "switch" in case.name]
    assert {str(each["vbios_rim_id"]).rpartition("_")[0] for each in switches} == {"NV_SWITCH_BIOS_5612_0002_890"}
    assert {each["driver_rim_id"] for each in switches} == {None}


def test_reference_values_say_which_processor_of_the_chip_measured_some() -> None:
    driver, vbios = (parse_rim(rim) for rim in _sample().rims)
    assert all(driver.names.values())
    assert vbios.names[1] == "HashedMeasurement_1_FSP"
    assert set(vbios.names) == set(vbios.golden)


def test_the_h100_of_nvtrust_matches_its_reference_values_33_of_33() -> None:
    details = {step.id: step.detail for step in _sample().appraised().steps if step.ok}
    assert details["measurements"] == "33 of 33 match"
    assert details["revocation"] == "3 certificates are good"
    driver, vbios = (set(parse_rim(rim).golden) for rim in _sample().rims)
    assert (len(driver), len(vbios), driver & vbios) == (21, 12, set())


# Anomalies: things in the evidence on which verifiers differ, and what Carnet does.


@pytest.mark.parametrize("byte", [0, 10, 255])
def test_a_byte_after_the_signature_is_refused_since_nobody_vouches_for_it(byte: int) -> None:
    for case in _five():
        assert replace(case, report=case.report + bytes([byte])).appraised().failed_step == "parse"


def test_the_switch_report_beside_another_units_chain_is_genuine_under_its_own() -> None:
    stray = next(case for case in CASES if "test_raw_switch" in case.name)
    said = parse_report(stray.report).field(OpaqueType.SWITCH_PDI)
    assert said is not None
    devices = device_evidence(nvidia_evidence.read(f"{nvidia_evidence.TESTDATA}/test_ppcie_data.json"))
    owner = next(d for d in devices if parse_report(d.report).field(OpaqueType.SWITCH_PDI) == said)
    assert owner.chain is not None
    assert stray.appraised().failed_step == "signature"
    assert appraise(stray.report, owner.chain).accepted
    assert appraise(owner.report, owner.chain).accepted


def appraise(
    report: bytes, chain: bytes, at: datetime = nvidia_evidence.RIM_OCSP_TIME, nonce: bytes | None = None
) -> Appraisal:
    anchors = default_anchors()
    return appraise_gpu(report, chain, at=at, policy=DEFAULT_POLICY, anchors=anchors, nonce=nonce)


def test_recorded_ocsp_replies_count_for_one_day_and_not_nineteen_later() -> None:
    later = replace(_sample(), at=nvidia_evidence.OCSP_TIME + timedelta(days=19))
    appraisal = later.appraised()
    assert (appraisal.failed_step, "counts from" in appraisal.steps[-1].detail) == ("revocation", True)


def test_the_recorded_reply_about_a_rim_signers_authority_is_good_on_its_day() -> None:
    chain = parse_rim(nvidia_evidence.read(nvidia_evidence.DRIVER_RIM)).certificates
    reply = parse_ocsp(decode(nvidia_evidence.read(nvidia_evidence.RIM_OCSP_REPLY), "OCSP reply"))
    issuer = chain[3]
    assert reply.is_about(chain[2], issuer)
    check_not_revoked(reply, chain[2], issuer, nvidia_evidence.RIM_OCSP_TIME)


def test_reports_of_old_drivers_and_of_switches_have_no_firmware_id_and_say_so() -> None:
    without = [case for case in GENUINE.values() if parse_report(case.report).firmware_id is None]
    kinds = {(parse_report(case.report).driver_version or "switch") for case in without}
    assert kinds == {"535.86.09", "switch"}
    for case in without:
        (step,) = [step for step in case.appraised().steps if step.id == "firmware-id"]
        assert (step.ok, "the report has none" in step.detail) == (None, True)
        asked = Policy(require=frozenset({"signature", "firmware-id"}))
        refused = appraise_gpu(case.report, case.chain, at=case.at, policy=asked, anchors=default_anchors())
        assert refused.failed_step == "policy"


def test_opaque_fields_without_a_reader_are_kept_and_listed() -> None:
    blackwell = next(case for case in GENUINE.values() if "blackwell" in case.name)
    assert {33, 34} <= {field.type for field in parse_report(blackwell.report).opaque}
    listed = blackwell.appraised().claims["unread_fields"]
    assert isinstance(listed, list)
    assert {33, 34} <= set(listed)


# What is not theirs.


def test_a_report_under_the_chain_of_another_device_is_refused_at_the_signature() -> None:
    chains = list({case.chain: case for case in GENUINE.values()}.values())
    for case, other in zip(chains, chains[1:] + chains[:1], strict=True):
        assert replace(case, chain=other.chain, rims=(), ocsp=()).appraised().failed_step == "signature"


def test_a_nonce_of_another_report_and_reference_values_past_their_time_are_refused() -> None:
    case = _sample()
    appraisal = appraise(case.report, case.chain, nonce=bytes(32))
    assert appraisal.failed_step == "nonce"
    swapped = case.report[:4] + bytes(32) + case.report[36:]
    assert replace(case, report=swapped).appraised().failed_step == "signature"
    late = replace(_sample(), at=datetime(2026, 7, 1, tzinfo=UTC), ocsp=())
    appraisal = late.appraised()
    assert (appraisal.failed_step, appraisal.steps[-1].detail.startswith("validity")) == ("driver-rim", True)


@pytest.mark.parametrize(
    ("at", "step"),
    [
        (datetime(2021, 1, 1, tzinfo=UTC), "validity"),
        (datetime(2025, 8, 20, 12, tzinfo=UTC), "revocation"),
        (datetime(2025, 8, 23, 12, tzinfo=UTC), "revocation"),
    ],
)
def test_a_clock_before_or_after_the_evidence_is_refused(at: datetime, step: str) -> None:
    assert replace(_sample(), at=at).appraised().failed_step == step


def test_a_root_that_is_not_nvidias_vouches_for_no_rim() -> None:
    """The certificate that NVIDIA's tests call an incorrect root is no authority's, so no trust anchor either."""
    wrong = nvidia_evidence.read(f"{nvidia_evidence.UNIT}/incorrect_rim_root.crt")
    case = next(rim for rim in RIMS if rim.refused_at is None)
    for anchors in (parse_pem_chain(wrong), default_anchors().of(AnchorRole.NVIDIA_DEVICE)):
        assert appraise_rim(case.document, at=case.at, anchors=anchors).failed_step == "chain"
    with pytest.raises(MalformedError, match="certificates of authorities"):
        anchors_from_pem(wrong)


def test_an_ocsp_responder_under_the_root_of_rims_is_no_signer_of_rims() -> None:
    (responder,) = parse_ocsp(decode(nvidia_evidence.read(nvidia_evidence.RIM_OCSP_REPLY), "OCSP reply")).responders
    with pytest.raises(PathError, match="for OCSPSigning"):
        check_path([responder], default_anchors().of(AnchorRole.NVIDIA_RIM))


def test_the_default_anchors_are_published_and_each_reply_is_about_one_certificate() -> None:
    published = {AnchorRole.NVIDIA_DEVICE: "device_root.pem", AnchorRole.NVIDIA_RIM: "rim_root.pem"}
    for role, name in published.items():
        data = nvidia_evidence.read(f"03-google-go-nvattest-tools/server/cert/{name}")
        assert default_anchors().of(role) == tuple(x509.load_pem_x509_certificates(data))
    chain = parse_pem_chain(_sample().chain)
    replies = [parse_ocsp(decode(nvidia_evidence.read(path), "OCSP reply")) for path in nvidia_evidence.OCSP_REPLIES]
    about = [[reply.is_about(chain[i], chain[i + 1]) for i in range(4)].index(True) for reply in replies]
    assert about == [3, 2, 1]


# One bit, one byte less, one byte more.


def _five() -> list[nvidia_evidence.Case]:
    """Return a report of each make: old and new Hopper drivers, protected PCIe, Blackwell and a switch."""
    wanted = ("gpu/hopper", "samples/hopper", "test_ppcie_data.json, device 0", "gpu/blackwell", "switch/switch")
    five = [next(case for name, case in GENUINE.items() if part in name) for part in wanted]
    return [replace(case, rims=(), ocsp=()) for case in five]


THOROUGH = [pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.mark.parametrize("which", range(5))
@pytest.mark.parametrize("sampled", [True, pytest.param(False, marks=THOROUGH)], ids=["some", "all"])
def test_a_flipped_bit_is_refused(which: int, sampled: bool) -> None:
    case = _five()[which]
    count = len(case.report) * 8
    bits = range(which, count, count // BITS_SAMPLED) if sampled else range(count)
    steps = {replace(case, report=flipped(case.report, bit)).appraised().failed_step for bit in bits}
    assert steps <= {"parse", "signature"} if sampled else steps == {"parse", "signature"}


@pytest.mark.parametrize("which", range(5))
@pytest.mark.parametrize(("step", "behind"), [(7, 0), pytest.param(1, 256, marks=THOROUGH)], ids=["some", "all"])
def test_a_truncation_and_an_appended_byte_are_refused_while_parsing(which: int, step: int, behind: int) -> None:
    case = _five()[which]
    changed = [case.report[:end] for end in range(0, len(case.report), step)]
    changed += [case.report + bytes([byte]) for byte in range(behind)]
    assert {appraise(report, case.chain).failed_step for report in changed} == {"parse"}
