"""Another verifier of SNP reports and Carnet judge the same real reports, and changes of them: Carnet is never laxer.

Where Carnet is stricter, the class is named, and they are counted.
"""

import functools
import random
from collections import Counter
from dataclasses import replace

import pytest
from cryptography import x509

from carnet_ref.attestation.amd.certificates import endorsement_key, endorsement_path, parse_certificates
from carnet_ref.attestation.amd.evidence import SnpEvidence
from carnet_ref.attestation.appraisal import AnchorRole, Appraisal, default_anchors
from tests.fixtures.omne import refusal
from tests.fixtures.simulated_snp import der, flipped
from tests.fixtures.snp_evidence import EARLY, FOLDER, LATE, MISSING, Case, found, genuine

pytestmark = pytest.mark.skipif(FOLDER is None, reason=MISSING)
CASES = list(genuine()) if FOLDER else []
MUTATIONS = 300
STRICTER = {
    "parse": "bytes behind the signed part that are no part of the signature have to be zero",
    "chain": "the two algorithms that a certificate names have to be AMD's, and its validity has to be readable",
    "validity": "certificates count at a time",
    "runtime-data": "a report of Azure is over the hash of its run-time data",
}
named = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def path(case: Case) -> tuple[x509.Certificate, x509.Certificate, x509.Certificate]:
    """Return the certificates of the chip's key, of its signing key and of the root."""
    assert case.certificates is not None
    return path_among(case.certificates)


@functools.cache
def path_among(certificates: bytes) -> tuple[x509.Certificate, x509.Certificate, x509.Certificate]:
    given = parse_certificates(certificates)
    whole = endorsement_path(endorsement_key(given, None), given, default_anchors().of(AnchorRole.AMD_SEV))
    return whole.leaf.certificate, whole.authority, whole.anchor


def alone(ours: Appraisal, theirs: str | None) -> str | None:
    """Return the step at which Carnet alone refuses, ``None`` where both say the same."""
    if ours.accepted:
        assert theirs is None, f"laxer than omne-attest, which refuses at {theirs}"
    return ours.failed_step if theirs is None else None


@named
def test_both_accept_a_genuine_report(case: Case) -> None:
    leaf, authority, root = path(case)
    assert case.appraised().accepted
    debug = case.policy.allow_debug
    assert refusal(found(case.evidence).report, der(leaf), authority, root, debug=debug) is None
    assert refusal(found(case.evidence).report, der(leaf), authority, root) == ("debug_enabled" if debug else None)


def asked(case: Case, evidence: SnpEvidence, leaf: bytes) -> str | None:
    """Return the step at which Carnet alone refuses a report with a key's certificate."""
    _, authority, root = path(case)
    theirs = refusal(evidence.report, leaf, authority, root, debug=case.policy.allow_debug)
    return alone(case.appraised_with(replace(evidence, certificates=leaf)), theirs)


def test_of_mutants_carnet_alone_refuses_known_classes() -> None:
    """Of ten questions a third each are changes of the report, of the certificate, and of the time or run-time data."""
    counted = sum((_of_mutants(case) for case in CASES), Counter[str | None]())
    assert counted == {None: 1647, "validity": 500, "runtime-data": 500, "parse": 339, "chain": 14}
    assert set(counted) == {None, *STRICTER}


def _of_mutants(case: Case) -> Counter[str | None]:
    draw = random.Random(case.name)
    evidence, leaf = found(case.evidence), der(path(case)[0])
    counted: Counter[str | None] = Counter()
    for number in range(MUTATIONS):
        match number % 3:
            case 0:
                report = flipped(evidence.report, draw.randrange(8 * len(evidence.report)))
                counted[asked(case, replace(evidence, report=report), leaf)] += 1
            case 1:
                counted[asked(case, evidence, flipped(leaf, draw.randrange(8 * len(leaf))))] += 1
            case _:
                other = replace(case, at=draw.choice([EARLY, LATE]))
                data = evidence.runtime_data
                changed = evidence if data is None else replace(evidence, runtime_data=data + b" ")
                counted[asked(case if data else other, changed, leaf)] += 1
    return counted


@named
def test_both_refuse_the_key_of_every_other_chip(case: Case) -> None:
    evidence = found(case.evidence)
    leaf, authority, root = path(case)
    keys = {der(path(other)[0]) for other in CASES}
    for key in keys - {der(leaf)}:
        ours = case.appraised_with(replace(evidence, certificates=key))
        theirs = refusal(evidence.report, key, authority, root, debug=True)
        if ours.accepted:  # the same key in another certificate
            assert theirs is None
        else:
            assert theirs == "report_signature"
