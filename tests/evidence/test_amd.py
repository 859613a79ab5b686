"""Real SNP evidence: all that is genuine is accepted, all that is not is refused at the step that its name says."""

import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from carnet_ref.attestation.amd.certificates import known_authorities, parse_certificates, parse_endorsement_key
from carnet_ref.attestation.amd.evidence import SnpEvidence, parse_evidence
from carnet_ref.attestation.amd.report import REPORT_BYTES, SIGNED_BYTES, Product, parse_report
from carnet_ref.attestation.appraisal import AnchorRole, default_anchors
from carnet_ref.crypto.certificate_path import parse_pem_chain
from carnet_ref.crypto.primitives import sha256
from carnet_ref.wire import MalformedError
from tests.evidence.amd_table import TABLE, table
from tests.fixtures import snp_evidence
from tests.fixtures.simulated_snp import flipped

pytestmark = pytest.mark.skipif(snp_evidence.FOLDER is None, reason=snp_evidence.MISSING)
CASES = [*snp_evidence.genuine(), *snp_evidence.refused()] if snp_evidence.FOLDER else []
GENUINE = [case for case in CASES if case.refused_at is None]
MUTATIONS = 1000
#: The bytes of r and s, which are the signature; the bytes behind each are zeros that nobody signs.
NUMBERS = [*range(SIGNED_BYTES, SIGNED_BYTES + 48), *range(SIGNED_BYTES + 72, SIGNED_BYTES + 72 + 48)]
named = pytest.mark.parametrize("case", GENUINE, ids=lambda case: case.name)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_report_is_accepted_or_refused_as_its_name_says(case: snp_evidence.Case) -> None:
    appraisal = case.appraised()
    assert appraisal.failed_step == case.refused_at, appraisal.steps[-1]


def test_every_report_in_the_evidence_is_asked_about_and_in_the_table_of_the_documentation() -> None:
    reports = {snp_evidence.found(case.evidence).report for case in GENUINE}
    assert len(reports) == 7
    assert {parse_report(report).report.version for report in reports} == {2, 3, 5}
    claims = [case.appraised().claims for case in GENUINE]
    assert {claim["product"] for claim in claims} == {Product.MILAN, Product.GENOA}
    root = Path(snp_evidence.FOLDER or "")
    paths = [path for folder in snp_evidence.FOLDERS for path in (root / folder).rglob("*") if path.is_file()]
    found = {path.relative_to(root).as_posix() for path in paths if _is_a_report(path)}
    assert found == {case.evidence for case in GENUINE}
    assert TABLE.read_text("utf-8") == table(), "run python -m tests.evidence.amd_table"


def _is_a_report(path: Path) -> bool:
    with suppress(MalformedError):
        parse_report(parse_evidence(path.read_bytes()).report)
        return True
    return False


def test_a_genuine_turin_s_key_leads_to_the_root_though_no_report_of_it_is_at_hand() -> None:
    """Its versions are laid out as no other line's, and its chip's id has 8 bytes."""
    key = parse_endorsement_key(parse_certificates(snp_evidence.read(snp_evidence.TURIN_VCEK))[0])
    assert key.product is Product.TURIN
    assert key.tcb.parts == {"fmc": 0, "bootloader": 0, "tee": 0, "snp": 0, "microcode": 9}
    assert key.hardware_id == bytes.fromhex("1e550a8ee5cf9f4d")


def test_the_anchors_and_signing_keys_are_those_that_other_sources_have_as_well() -> None:
    """Each file has a signing key and its root."""
    verify, certs, azure = f"{snp_evidence.GOOGLE}/verify/trust", snp_evidence.CERTS, snp_evidence.AZURE
    google = ["milan", "genoa", "turin_vcek", *(f"{line.lower()}_vlek" for line in Product)]
    files = [
        *(f"{verify}/ask_ark_{each}.pem" for each in google),
        *(f"{certs}/cert_chain_{each}" for each in ("milan", "turin")),
    ]
    pairs = [list(parse_pem_chain(snp_evidence.read(file))) for file in files]
    pairs += [[parse_certificates(snp_evidence.read(f"{azure}/imds-chain-{place}.der"))[0] for place in (0, 1)]]
    for authority, root in pairs:
        assert authority in known_authorities()
        assert root in default_anchors().of(AnchorRole.AMD_SEV)


@pytest.mark.parametrize("path", [snp_evidence.AZURE_2, snp_evidence.AZURE_3, snp_evidence.AZURE_3_OTHER])
def test_azures_reports_are_over_the_hash_of_their_run_time_data(path: str) -> None:
    evidence = snp_evidence.found(path)
    assert evidence.runtime_data is not None
    assert parse_report(evidence.report).report.report_data == sha256(evidence.runtime_data) + bytes(32)
    other = replace(evidence, runtime_data=evidence.runtime_data + b" ")
    (case,) = [case for case in GENUINE if case.evidence == path and case.chain is None]
    assert case.appraised_with(other).failed_step == "runtime-data"


def _mutants(data: bytes, seed: str) -> Iterator[tuple[bytes, int | None]]:
    """Yield a thousand changes, each with the place of the byte that differs, where the length does not."""
    draw = random.Random(seed)
    for number in range(MUTATIONS):
        match number % 4:
            case 0:
                yield data[: draw.randrange(len(data))], None
            case 1:
                yield data + draw.randbytes(draw.randint(1, 100)), None
            case _:
                bit = draw.randrange(8 * len(data))
                yield flipped(data, bit), bit // 8


def _refusing_steps(place: int | None) -> set[str]:
    """Return the steps that may notice a change of the byte at ``place``, or of the length."""
    if place is None:
        return {"parse"}
    if place < SIGNED_BYTES:
        return {"parse", "signature"}
    return {"signature"} if place in NUMBERS else {"parse"}


@named
@pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=[pytest.mark.slow, pytest.mark.timeout(600)])], ids=["some", "every bit"]
)
def test_a_mutated_report_is_refused_at_the_step_that_reads_it(case: snp_evidence.Case, every: bool) -> None:
    evidence = replace(snp_evidence.found(case.evidence), certificates=case.certificates)
    bits = ((flipped(evidence.report, bit), bit // 8) for bit in range(8 * REPORT_BYTES))
    for mutant, place in bits if every else _mutants(evidence.report, case.name):
        assert case.appraised_with(replace(evidence, report=mutant)).failed_step in _refusing_steps(place), place


@named
def test_a_mutated_document_is_refused_or_says_the_same(case: snp_evidence.Case) -> None:
    """JSON and base64 have several forms for the same thing; the report in them has one."""
    data, evidence = snp_evidence.read(case.evidence), snp_evidence.found(case.evidence)
    for mutant, _ in _mutants(data, case.name):
        if case.appraised(mutant).accepted:
            same = parse_evidence(mutant)
            assert (same.report, same.runtime_data) == (evidence.report, evidence.runtime_data)


@named
def test_a_mutated_certificate_is_refused_or_the_same(case: snp_evidence.Case) -> None:
    certificates = case.certificates
    assert certificates is not None
    (leaf, *_), evidence = parse_certificates(certificates), snp_evidence.found(case.evidence)
    for mutant, _ in _mutants(certificates, case.name):
        if case.appraised_with(replace(evidence, certificates=mutant)).accepted:
            assert leaf in parse_certificates(mutant)


@pytest.mark.parametrize("path", [snp_evidence.MILAN, snp_evidence.HEXADECIMAL, snp_evidence.GENOA])
def test_the_report_of_a_chip_is_not_that_of_another(path: str) -> None:
    """Of each report, the signature of each other one is put behind it."""
    report = snp_evidence.found(path).report
    (case, *_) = [case for case in GENUINE if case.evidence == path]
    others = [snp_evidence.found(other.evidence).report for other in GENUINE if other.evidence != path]
    assert len(others) >= 7
    for other in others:
        evidence = SnpEvidence(report[:SIGNED_BYTES] + other[SIGNED_BYTES:], case.certificates)
        assert case.appraised_with(evidence).failed_step == "signature"
