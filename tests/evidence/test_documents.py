"""Real evidence in the documents that services deliver, and Intel's collateral in the files of its service."""

import base64
import json
import random
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.amd.appraisal import DEFAULT_POLICY as SNP_POLICY
from carnet_ref.attestation.amd.appraisal import appraise_report
from carnet_ref.attestation.amd.certificates import parse_certificates
from carnet_ref.attestation.amd.evidence import SnpEvidence, parse_evidence, user_data
from carnet_ref.attestation.amd.report import Product
from carnet_ref.attestation.appraisal import Appraisal, default_anchors
from carnet_ref.attestation.detached_eat import check_digests, parse_claims, parse_result
from carnet_ref.attestation.intel.appraisal import DEFAULT_POLICY as TD_POLICY
from carnet_ref.attestation.intel.appraisal import appraise_quote
from carnet_ref.attestation.intel.collateral import collateral_of, parse_collateral
from carnet_ref.attestation.intel.evidence import quote_evidence
from carnet_ref.attestation.intel.quote import parse_quote
from carnet_ref.attestation.kinds import kind_of
from carnet_ref.attestation.nvidia.appraisal import DEFAULT_POLICY as GPU_POLICY
from carnet_ref.attestation.nvidia.appraisal import appraise_gpu
from carnet_ref.attestation.nvidia.report import device_evidence
from carnet_ref.attestation.services.issuers import Policy as ServicePolicy
from carnet_ref.attestation.services.issuers import objections, service_of
from carnet_ref.wire import MalformedError
from tests.fixtures import intel_evidence as intel
from tests.fixtures import nvidia_evidence as nvidia
from tests.fixtures import snp_evidence as snp
from tests.fixtures.command_words import found as attest
from tests.fixtures.dstack_envelopes import in_packs, in_scale
from tests.fixtures.simulated_snp import fields, message
from tests.fixtures.wrapped_evidence import GPU_DOCUMENTS, QUOTE_DOCUMENTS
from tests.fuzz.test_parsers import mutated

pytestmark = pytest.mark.skipif(intel.FOLDER is None, reason=intel.MISSING)
DSTACK = "18-tdx-dstack/dstack/verifier/fixtures/tdx-lite-getquote.json"
AZURE = "19-coco-trustee/deps/verifier/test_data/az-tdx-vtpm/evidence-v0.json"
DSTACK_TIME = datetime(2026, 6, 1, tzinfo=UTC)
AZURE_TIME = datetime(2024, 12, 1, tzinfo=UTC)
QUOTES = {DSTACK: DSTACK_TIME, AZURE: AZURE_TIME}
REPLIES = f"{intel.DATA}/collateral"


def real(path: str) -> str:
    return str(Path(intel.FOLDER or "", path))


@pytest.mark.parametrize("bundle", nvidia.BUNDLES, ids=lambda path: path.rpartition("/")[2])
def test_every_real_document_of_devices_is_named(bundle: str) -> None:
    shown = attest("gpu", real(bundle), "--device", "0", "--at", f"{nvidia.RIM_OCSP_TIME:%Y-%m-%d}")
    name = "Python verifier" if "ppcie_data" in bundle else "NVIDIA's SDKs"
    assert (shown["accepted"], name in shown["steps"][0]["detail"]) == (True, True)


@pytest.mark.parametrize("form", GPU_DOCUMENTS)
def test_real_devices_are_accepted_in_every_document(form: str, tmp_path: Path) -> None:
    found = device_evidence(nvidia.read(nvidia.BUNDLES[0]))
    devices = [(each.report, each.chain) for each in found if each.chain is not None]
    (tmp_path / "document").write_text(json.dumps(GPU_DOCUMENTS[form](devices)))
    words = ["--device", "0", "--at", f"{nvidia.RIM_OCSP_TIME:%Y-%m-%d}"]
    assert attest("gpu", f"{tmp_path}/document", *words)["accepted"]


@pytest.mark.parametrize("form", QUOTE_DOCUMENTS)
def test_a_real_quote_is_found_in_every_document(form: str) -> None:
    quote = intel.read_quote(intel.CURRENT)
    assert quote_evidence(json.dumps(QUOTE_DOCUMENTS[form](quote)).encode()).quote == quote


def test_the_answer_of_dstack_has_its_log_replayed() -> None:
    shown = attest("tdx", real(DSTACK), "--at", f"{DSTACK_TIME:%Y-%m-%d}")
    steps = {step["id"]: step for step in shown["steps"]}
    assert (shown["accepted"], steps["event-log"]["ok"]) == (True, True)
    assert "dstack" in steps["document"]["detail"]
    assert [event["event"] for event in shown["claims"]["runtime_events"]][:3] == [
        "system-preparing",
        "app-id",
        "compose-hash",
    ]


def test_the_log_of_dstack_in_a_file_of_its_own_is_replayed(tmp_path: Path) -> None:
    answer = json.loads(intel.read(DSTACK))
    (tmp_path / "quote").write_text(answer["quote"])
    (tmp_path / "log").write_text(answer["event_log"])
    words = ["--event-log", f"{tmp_path}/log", "--at", f"{DSTACK_TIME:%Y-%m-%d}"]
    shown = attest("tdx", f"{tmp_path}/quote", *words)
    assert (shown["accepted"], "event log not replayed" in shown["not_compared"]) == (True, False)


@pytest.mark.parametrize("write", [in_scale, in_packs])
def test_a_real_answer_of_dstack_is_accepted_in_an_envelope(write: Callable[..., bytes], tmp_path: Path) -> None:
    answer = json.loads(intel.read(DSTACK))
    whole = json.loads(answer["event_log"])
    cut = [event | {"digest": ""} if event["imr"] == 3 else event for event in whole if event["imr"] in (0, 3)]
    for events, replayed in ((whole, True), (cut, None)):
        (tmp_path / "envelope").write_bytes(write(bytes.fromhex(answer["quote"]), events))
        shown = attest("tdx", f"{tmp_path}/envelope", "--at", f"{DSTACK_TIME:%Y-%m-%d}")
        steps = {step["id"]: step["ok"] for step in shown["steps"]}
        assert (shown["accepted"], steps["event-log"], len(shown["claims"]["runtime_events"])) == (True, replayed, 9)


EVENTS = 29


@pytest.mark.parametrize("place", range(EVENTS))
def test_the_log_of_dstack_without_one_event_ends_in_other_registers(place: int) -> None:
    answer = json.loads(intel.read(DSTACK))
    events = json.loads(answer["event_log"])
    assert len(events) == EVENTS
    del events[place]
    found = quote_evidence(json.dumps(answer | {"event_log": events}).encode())
    assert appraised(found.quote, DSTACK_TIME, found.event_log).failed_step == "event-log"


def test_the_evidence_of_azure_is_named_and_its_vtpm_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "policy").write_text('{"require": ["quote-signature"], "require_sept_ve_disable": false}')
    shown = attest("tdx", real(AZURE), "--at", f"{AZURE_TIME:%Y-%m-%d}", "--policy", f"{tmp_path}/policy")
    assert (shown["accepted"], shown["not_compared"][0]) == (True, "vTPM quote not checked")


@pytest.mark.parametrize(
    ("path", "named", "unread"),
    [
        (snp.GENOA, "an object with the report", False),
        (snp.AZURE_2, "Azure's evidence", True),
        (snp.AZURE_3, "Azure's evidence", True),
    ],
)
def test_a_document_with_an_snp_report_is_named_and_a_vtpm_is_not_read(path: str, named: str, unread: bool) -> None:
    shown = attest("snp", real(path), "--at", f"{snp.NOW:%Y-%m-%d}")
    assert (shown["accepted"], named in shown["steps"][0]["detail"]) == (True, True)
    assert (shown["not_compared"][0] == "vTPM quote not checked") is unread


@pytest.mark.parametrize("document", [True, False])
@pytest.mark.parametrize("path", [snp.AZURE_2, snp.AZURE_3, snp.AZURE_3_OTHER])
def test_a_real_guest_of_azure_is_read_in_every_version_of_its_documents(path: str, document: bool) -> None:
    evidence = json.loads(snp.read(path))["evidence"]
    found = snp.found(path)
    # The version in the header is signed by nobody; header versions 1 and 2 are laid out alike.
    whole = base64.urlsafe_b64decode(evidence["hcl_report"] + "==")
    later = whole[:4] + b"\2" + whole[5:]
    (key,) = parse_certificates(found.certificates or b"")
    pem = key.public_bytes(Encoding.PEM).decode()
    first = json.dumps({"quote": {}, "report": [*later], "vcek": pem})
    data = json.dumps(evidence) if document else first
    again = parse_evidence(data.encode())
    assert (again.report, again.runtime_data) == (found.report, found.runtime_data)
    asked = user_data(found.runtime_data or b"")
    assert asked is not None
    assert snp_appraised(again, asked).accepted
    assert snp_appraised(again, asked[:-1] + b"\xff").failed_step == "report-data"


@pytest.mark.parametrize("path", [snp.GENOA, snp.MILAN, snp.HEXADECIMAL, snp.AZURE_3])
def test_a_real_report_as_fields_or_as_a_message_is_accepted(path: str) -> None:
    found = snp.found(path)
    chain = found.certificates or snp.read({snp.MILAN: snp.MILAN_VCEK, snp.HEXADECIMAL: snp.HEXADECIMAL_VCEK}[path])
    table = [{"cert_type": "VCEK", "data": [*chain]}]
    data = json.dumps({"attestation_report": fields(found.report, Product.MILAN), "cert_chain": table})
    again = parse_evidence(data.encode())
    assert (again.report, again.certificates) == (found.report, chain)
    assert parse_evidence(json.dumps(message(found.report)).encode()).report == found.report
    assert snp_appraised(again, None, at=snp.THEN if path in (snp.MILAN, snp.HEXADECIMAL) else snp.NOW).accepted


def snp_appraised(evidence: SnpEvidence, report_data: bytes | None, at: datetime = snp.NOW) -> Appraisal:
    policy, anchors = SNP_POLICY, default_anchors()
    return appraise_report(evidence, at=at, policy=policy, anchors=anchors, report_data=report_data)


@pytest.mark.parametrize(("key", "step"), [(True, "isolation"), (False, None)])
def test_a_td_of_azure_is_isolated_only_where_the_policy_leaves_pages_to_it(key: bool, step: str | None) -> None:
    asked = replace(TD_POLICY, require_sept_ve_disable=key)
    found = quote_evidence(intel.read(AZURE))
    appraisal = appraise_quote(found.quote, at=AZURE_TIME, policy=asked, anchors=default_anchors())
    assert appraisal.failed_step == step


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (f"{intel.DATA}/snp/test-report.bin", "an AMD SEV-SNP report"),
        (f"{intel.DATA}/snp/live-evidence-genoa.json", "a document with an AMD SEV-SNP report"),
        (f"{intel.DATA}/az_snp/hcl-report.bin", "Azure's wrapping of an AMD SEV-SNP report (HCL)"),
        (f"{intel.DATA}/az_snp/live-evidence.json", "Azure's evidence of an AMD SEV-SNP virtual machine"),
        (f"{intel.DATA}/az_snp/tpm-quote.msg", "a quote of a TPM"),
        (f"{intel.DATA}/tdx_tdreport_live.bin", "a TDREPORT, which only its own machine can check"),
        (f"{intel.DATA}/tdx_ccel_live.bin", "an event log"),
        (intel.SGX, "a quote of an SGX enclave"),
        (intel.CURRENT_COLLATERAL, "Intel's collateral"),
        (
            f"{nvidia.UNIT}/sample_attestation_data/hopperClaimsv3_detached_eat.json",
            "a token of NVIDIA's remote attestation service (NRAS)",
        ),
        (nvidia.DRIVER_RIM, "XML, such as NVIDIA's reference values"),
    ],
    ids=lambda value: value.rpartition("/")[2],
)
def test_real_evidence_of_another_kind_is_called_by_its_name(path: str, kind: str) -> None:
    assert kind_of(intel.read(path)) == kind
    if path != intel.SGX:
        for command in ("gpu", "tdx"):
            shown = attest(command, real(path))
            assert (shown["failed_step"], f"found {kind}" in shown["steps"][-1]["detail"]) == ("parse", True)


def replies(fmspc: str) -> list[str]:
    """Return the files of Intel's service about a kind of platform."""
    names = (f"tcb_info_{fmspc}.json", "td_qe_identity.json", "root_ca_crl.der", "pck_crl_platform.der")
    chains = ("tcb_signing_chain.pem", "qe_identity_signing_chain.pem")
    return [f"{REPLIES}/{name}" for name in (*names, *chains)]


@pytest.mark.parametrize("fmspc", [intel.FMSPC_50806F, intel.FMSPC_90C06F])
def test_the_files_of_intels_service_are_what_one_object_is(fmspc: str) -> None:
    whole = parse_collateral(intel.assembled(fmspc))
    files = collateral_of([intel.read(path) for path in replies(fmspc)])
    assert parse_collateral(files)._replace(pck_crl_chain=whole.pck_crl_chain) == whole


def test_a_real_quote_is_appraised_with_the_files_of_intels_service(tmp_path: Path) -> None:
    asked = {"require": ["tcb-status", "revocation"], "allow_debug": True, "tcb_statuses": ["OutOfDate"]}
    (tmp_path / "policy").write_text(json.dumps(asked))
    given = [word for path in replies(intel.FMSPC_50806F) for word in ("--collateral", real(path))]
    words = [*given, "--policy", f"{tmp_path}/policy", "--at", f"{intel.PARTS_TIME:%Y-%m-%d}"]
    shown = attest("tdx", real(intel.DEBUG), *words)
    assert (shown["failed_step"], shown["claims"].get("tcb_status")) == (None, "OutOfDate")


@pytest.mark.parametrize(("folder", "form"), [("tdx/", "der"), ("", "der"), ("", "pem")])
def test_intels_own_samples_are_told_apart_and_are_no_collateral_of_a_platform(folder: str, form: str) -> None:
    """Those for TDX have security versions that no platform has; the others are about enclaves, and say so."""
    names = ("tcbInfo.json", "qeIdentity.json", f"rootCaCrl.{form}", f"intermediateCaCrl.{form}", "tcbSignChain.pem")
    files = [intel.read(f"{intel.INTEL}/{folder}{name}") for name in names]
    files[-1] = _turned(files[-1]) if folder else files[-1]
    with pytest.raises(
        MalformedError, match="security versions up to 255" if folder else "expected a field 'id', found none"
    ):
        parse_collateral(collateral_of(files))


def test_the_chain_of_intels_sample_for_tdx_is_refused_with_the_order_that_is_expected() -> None:
    """Intel's service sends the signer first, and so is the other sample; in this one the root stands first."""
    expected = "expected the signer's certificate first and the root last, found the root first"
    with pytest.raises(MalformedError, match=expected):
        collateral_of([intel.read(f"{intel.INTEL}/tdx/tcbSignChain.pem")])


def _turned(chain: bytes) -> bytes:
    """Return a chain of PEM certificates in the other order; the root stands first in these samples."""
    end = b"-----END CERTIFICATE-----\n"
    return b"".join(reversed([block + end for block in chain.replace(b"\r\n", b"\n").split(end) if block.strip()]))


def appraised(quote: bytes, at: datetime, event_log: bytes | None = None) -> Appraisal:
    """Return the appraisal by a policy that accepts TDs of Azure, which lack SEPT_VE_DISABLE."""
    policy = replace(TD_POLICY, require_sept_ve_disable=False)
    return appraise_quote(quote, at=at, policy=policy, anchors=default_anchors(), event_log=event_log)


def _quote_as_before(data: bytes, path: str) -> bool:
    try:
        found = quote_evidence(data)
    except MalformedError:
        return False
    verdict = appraised(found.quote, QUOTES[path], found.event_log)
    if verdict.accepted:
        before, after = parse_quote(quote_evidence(intel.read(path)).quote), parse_quote(found.quote)
        assert (after.signed, after.signature) == (before.signed, before.signature)
    return verdict.accepted


def _devices_as_before(data: bytes, path: str) -> bool:
    """Return whether the first device is accepted, which then is one of those before."""
    try:
        first = device_evidence(data)[0]
    except MalformedError:
        return False
    at, anchors = nvidia.RIM_OCSP_TIME, default_anchors()
    verdict = appraise_gpu(first.report, first.chain or b"", at=at, policy=GPU_POLICY, anchors=anchors)
    if verdict.accepted:
        assert first.report in {each.report for each in device_evidence(nvidia.read(path))}
    return verdict.accepted


@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("path", QUOTES)
def test_changed_documents_with_a_real_quote_are_refused_or_have_the_same_quote(path: str, count: int) -> None:
    draw = random.Random(path)
    assert _quote_as_before(intel.read(path), path)
    assert sum(_quote_as_before(mutated(intel.read(path), draw), path) for _ in range(count)) < count


@pytest.mark.parametrize("count", [20, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("path", nvidia.BUNDLES, ids=lambda path: path.rpartition("/")[2])
def test_changed_documents_of_real_devices_are_refused_or_have_the_same_report(path: str, count: int) -> None:
    draw = random.Random(path)
    assert _devices_as_before(nvidia.read(path), path)
    assert sum(_devices_as_before(mutated(nvidia.read(path), draw), path) for _ in range(count)) < count


SAMPLES = "02-nvidia-attestation-sdk/nv-attestation-sdk-cpp/unit-tests/testdata/sample_attestation_data"


@pytest.mark.parametrize(("sample", "device"), [("hopperClaimsv3", "GPU-0"), ("switch", "SWITCH-0")])
def test_real_results_of_nvidias_service_are_read_and_lack_their_key(sample: str, device: str) -> None:
    """Nobody published the keys of that day, so the signatures of these samples cannot be verified."""
    path = f"{SAMPLES}/{sample}_detached_eat.json"
    result = parse_result(intel.read(path))
    overall = parse_claims(result.token)
    check_digests(overall, result.devices)
    claims = {**overall, "submods": {name: parse_claims(token) for name, token in result.devices.items()}}
    assert set(result.devices) == {device}
    service = service_of(claims)
    assert service is not None
    assert (service.name, list(objections(service, claims, ServicePolicy()))) == ("NVIDIA", [])
    assert json.loads(intel.read(f"{SAMPLES}/{sample}_decoded.json")) == claims["submods"]
    shown = attest("result", real(path), "--at", "2025-06-11")
    assert (shown["failed_step"], "no key of the service is given" in shown["steps"][-1]["detail"]) == (
        "signature",
        True,
    )
