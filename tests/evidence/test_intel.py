"""Real TDX evidence: all that is genuine is accepted, all that is not is refused at the step that its name says."""

import json
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest

from carnet_ref.attestation.appraisal import AnchorRole, default_anchors
from carnet_ref.attestation.intel.appraisal import DEFAULT_POLICY
from carnet_ref.attestation.intel.certificates import p256_key
from carnet_ref.attestation.intel.collateral import SignedDocument, split_reply
from carnet_ref.attestation.intel.event_log import parse_event_log, replay_rtmr
from carnet_ref.attestation.intel.quote import PADDING_LIMIT, parse_quote
from carnet_ref.attestation.kinds import INTEL_QE_VENDOR
from carnet_ref.crypto.certificate_path import PathError, check_path, parse_pem_chain
from carnet_ref.crypto.primitives import verify_p256
from tests.evidence.intel_table import AGREEMENT, TABLE, agreement, table
from tests.fixtures.dcap import appraised, both_asked, published, status
from tests.fixtures.intel_evidence import (
    COS,
    CURRENT,
    CURRENT_COLLATERAL,
    CURRENT_TIME,
    DATA,
    DEBUG,
    DEBUG_ALLOWED,
    FMSPC_90C06F,
    FMSPC_50806F,
    FOLDER,
    FOREIGN_BYTES,
    GOOGLE,
    INTEL,
    LATE_DEBUG_ALLOWED,
    LIVE,
    LIVE_TIME,
    MISSING,
    NEAR_COLLATERAL,
    OUTDATED_COLLATERAL,
    PARTS_TIME,
    SGX,
    SGX_COLLATERAL,
    Case,
    genuine,
    pairs,
    read,
    read_quote,
    refused,
)
from tests.fixtures.simulated_quotes import refusing_steps
from tests.fixtures.simulated_snp import flipped

pytestmark = pytest.mark.skipif(FOLDER is None, reason=MISSING)
CASES = [*genuine(), *refused()] if FOLDER else []
GENUINE = [case for case in CASES if case.refused_at is None]
CERTIFIED = [Case(case.quote, case.at, policy=case.policy) for case in GENUINE]
BITS_SAMPLED = 60
#: Where Carnet refuses what dcap-qvl accepts, and why; nothing else may differ.
STRICTER = {
    "kind": "the quote of an SGX enclave is genuine, and says nothing of a TD",
    "parse": "nothing but 4096 zeros may follow, and every certificate in the collateral must be readable, roots too",
    "pck-chain": "the quote's certificates are exactly PEM, end in a trust anchor, and the root among them counts",
    "collateral-signature": "the root among the certificates of the collateral counts",
    "collateral-validity": "a revocation list is not used before the time at which it was issued",
}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_quote_is_accepted_or_refused_as_its_name_says(case: Case) -> None:
    appraisal = case.appraised()
    assert appraisal.failed_step == case.refused_at, appraisal.steps[-1]


def test_a_real_platform_that_is_behind_is_told_which_component_and_which_level() -> None:
    """Intel names the components in its TCB info."""
    (late,) = [case for case in CASES if case.collateral == OUTDATED_COLLATERAL and case.refused_at == "tcb-status"]
    (behind,) = late.appraised().steps[-1].differences
    assert (behind.what, behind.found, behind.expected) == (
        "SGX TCB component 7 (OS/VMM: SEAMLDR ACM)",
        "3",
        ("from 5",),
    )
    assert behind.details["level_asked"] == {"status": "UpToDate", "date": "2024-11-13T00:00:00Z"}


def test_every_quote_in_the_evidence_is_asked_about_and_in_the_table_of_the_documentation() -> None:
    quotes = [parse_quote(read_quote(case.quote)) for case in GENUINE]
    assert len({quote.signed for quote in quotes}) == len(quotes) == 8
    assert {quote.version for quote in quotes} == {4, 5}
    assert {quote.padding for quote in quotes} == {0, 70, 307, 3065}
    root = Path(FOLDER or "")
    found = {path for path in root.rglob("*") if path.is_file() and _has_the_header_of_a_quote(path)}
    assert {path.relative_to(root).as_posix() for path in found} <= {case.quote for case in CASES}
    assert len(found) == 13
    assert parse_quote(read_quote(COS)).padding < PADDING_LIMIT
    assert TABLE.read_text("utf-8") == table(), "run python -m tests.evidence.intel_table"


def _has_the_header_of_a_quote(path: Path) -> bool:
    data = path.read_bytes()
    with suppress(ValueError):
        data = bytes.fromhex(data.decode("ascii").strip().removeprefix("0x"))
    return data[12:28] == INTEL_QE_VENDOR


def test_a_debug_quote_has_a_good_signature_and_is_refused_by_policy() -> None:
    held = [step.id for step in Case(DEBUG, CURRENT_TIME).appraised().steps if step.ok]
    assert "quote-signature" in held
    late = Case(DEBUG, PARTS_TIME, collateral=FMSPC_50806F, policy=DEBUG_ALLOWED).appraised()
    assert (late.failed_step, "OutOfDate" in late.steps[-1].detail) == ("tcb-status", True)
    allowed = Case(DEBUG, PARTS_TIME, collateral=FMSPC_50806F, policy=LATE_DEBUG_ALLOWED).appraised()
    assert allowed.claims["tcb_status"] == "OutOfDate"


def test_foreign_bytes_behind_a_quote_are_refused_and_the_quote_without_them_is_accepted() -> None:
    case = Case(FOREIGN_BYTES, CURRENT_TIME, policy=replace(DEFAULT_POLICY, require_sept_ve_disable=False))
    quote = read_quote(FOREIGN_BYTES)
    assert case.appraised().failed_step == "parse"
    assert case.appraised(quote[:-39]).accepted
    assert case.appraised(quote[:-39] + bytes(39)).accepted


@pytest.mark.parametrize("collateral", [None, FMSPC_50806F])
def test_the_td_of_that_quote_can_lose_pages_unnoticed(collateral: str | None) -> None:
    case = Case(FOREIGN_BYTES, PARTS_TIME, collateral=collateral)
    assert case.appraised(read_quote(FOREIGN_BYTES)[:-39]).failed_step == "isolation"


def _with_certificates_of(quote: bytes, other: bytes) -> bytes:
    """Return ``quote`` with the certificates of ``other``, every size as it should be."""
    ours, theirs = (parse_quote(each).signature.pck_chain for each in (quote, other))
    start, signed = quote.index(ours), len(parse_quote(quote).signed)
    changed = bytearray(quote[:start] + theirs)
    for place in (signed, signed + 4 + 130, start - 4):
        size = int.from_bytes(quote[place : place + 4], "little") + len(theirs) - len(ours)
        changed[place : place + 4] = size.to_bytes(4, "little")
    return bytes(changed)


@pytest.mark.parametrize("case", CERTIFIED, ids=lambda case: case.name)
def test_the_certificates_of_another_platform_do_not_vouch_for_a_quote(case: Case) -> None:
    quote = read_quote(case.quote)
    chain = parse_quote(quote).signature.pck_chain
    others = [read_quote(other.quote) for other in CERTIFIED]
    others = [other for other in others if parse_quote(other).signature.pck_chain.rstrip(b"\0") != chain.rstrip(b"\0")]
    assert len(others) >= 5
    later = replace(case, at=LIVE_TIME)
    spliced = {later.appraised(_with_certificates_of(quote, other)).failed_step for other in others}
    assert spliced == {"qe-report-signature"}
    assert later.appraised(_with_certificates_of(quote, quote)).accepted


def test_intels_test_root_has_the_name_of_the_real_one_and_is_not_taken_for_it() -> None:
    folder = f"{INTEL}/tdx"
    root, authority = parse_pem_chain(read(f"{folder}/pckSignChain.pem"))
    leaf = parse_pem_chain(read(f"{folder}/pckCert.pem"))[0]
    (anchor,) = default_anchors().of(AnchorRole.INTEL_SGX)
    assert root.subject == anchor.subject
    assert check_path([leaf, authority, root], [root]) == root
    for chain in ([leaf, authority, root], [leaf, authority]):
        with pytest.raises(PathError):
            check_path(chain, [anchor])


def test_collateral_of_another_platform_is_refused_naming_both() -> None:
    detail = Case(CURRENT, PARTS_TIME, collateral=FMSPC_50806F).appraised().steps[-1].detail
    assert "b0c06f000000" in detail
    assert FMSPC_50806F in detail


def test_an_event_log_ends_in_the_registers_of_its_quote_and_an_older_one_does_not() -> None:
    rtmrs = parse_quote(read_quote(LIVE)).report.rtmrs
    newer, older = (replay_rtmr(parse_event_log(read(f"{DATA}/{name}"))) for name in LOGS)
    assert newer == rtmrs
    assert [index for index in range(4) if older[index] != rtmrs[index]] == [2]


LOGS = ("tdx_ccel_live2.dat", "tdx_ccel_live.bin")


def _documents() -> Iterator[tuple[SignedDocument, str]]:
    """Yield every document that Intel's TCB signing authority signed, with the certificates of the signer."""
    for path in (CURRENT_COLLATERAL, OUTDATED_COLLATERAL, NEAR_COLLATERAL, SGX_COLLATERAL):
        fields = json.loads(read(path))
        for name in ("tcb_info", "qe_identity"):
            signature = bytes.fromhex(fields[f"{name}_signature"])
            yield SignedDocument(fields[name].encode(), signature), fields[f"{name}_issuer_chain"]
    chain = read(f"{DATA}/collateral/tcb_signing_chain.pem").decode()
    google = f"{GOOGLE}/testdata/sample"
    for path, key in (
        (f"{google}_tcbInfo_response", "tcbInfo"),
        (f"{google}_tcbinfo_response_v5", "tcbInfo"),
        (f"{google}_qeIdentity_response", "enclaveIdentity"),
        (f"{DATA}/collateral/tcb_info_{FMSPC_50806F}.json", "tcbInfo"),
        (f"{DATA}/collateral/tcb_info_{FMSPC_90C06F}.json", "tcbInfo"),
        (f"{DATA}/collateral/td_qe_identity.json", "enclaveIdentity"),
    ):
        yield split_reply(read(path), key), chain


def test_every_document_of_intel_is_signed_over_the_exact_bytes_of_its_value() -> None:
    documents = list(_documents())
    assert len(documents) == 14
    for document, chain in documents:
        key = p256_key(parse_pem_chain(chain.encode())[0])
        verify_p256(key, document.signature, document.body, "a document of Intel")


@pytest.mark.parametrize("case", CERTIFIED, ids=lambda case: case.name)
@pytest.mark.parametrize(
    "sampled",
    [True, pytest.param(False, marks=[pytest.mark.slow, pytest.mark.timeout(1800)])],
    ids=["some bits", "every bit"],
)
def test_a_flipped_bit_is_refused_at_the_step_that_reads_it(case: Case, sampled: bool) -> None:
    quote = read_quote(case.quote)
    bits = range(8 * len(quote))
    for bit in random.Random(case.name).sample(bits, BITS_SAMPLED) if sampled else bits:
        failed = case.appraised(flipped(quote, bit)).failed_step
        assert failed in refusing_steps(quote, bit // 8), f"bit {bit} of {case.quote}: {failed}"


@pytest.mark.parametrize("case", CERTIFIED, ids=lambda case: case.name)
def test_a_truncation_and_bytes_that_follow_are_refused_while_parsing(case: Case) -> None:
    quote = read_quote(case.quote)
    quote = quote[: len(quote) - parse_quote(quote).padding]
    changed = [quote[:length] for length in range(len(quote))]
    changed += [quote + bytes([byte]) for byte in range(1, 256)]
    changed += [quote + bytes(PADDING_LIMIT) + bytes([byte]) for byte in (0, 1)]
    assert {case.appraised(each).failed_step for each in changed} == {"parse"}
    assert case.appraised(quote + bytes(PADDING_LIMIT)).accepted


def test_the_other_verifier_says_the_same_of_every_quote_with_every_collateral() -> None:
    """But of the quote of an SGX enclave, which it takes as well."""
    accepted, stricter = [], []
    for path, name, at in pairs():
        quote, collateral = read_quote(path), published(name)
        ours, theirs = appraised(quote, collateral, at), status(quote, collateral, at)
        if ours.accepted:
            accepted.append((ours.claims["tcb_status"], ours.claims["advisories"]))
            assert theirs == accepted[-1], (path, name)
        elif theirs is not None:
            stricter.append((path, name, ours.failed_step))
    assert accepted == [("UpToDate", []), ("UpToDate", [])]
    assert stricter == [(SGX, SGX_COLLATERAL, "kind")]


def test_the_other_verifier_refuses_nothing_that_is_accepted_here_and_accepts_more_only_as_listed() -> None:
    asked = list(both_asked())
    assert len(asked) == 500
    for name, ours, theirs in asked:
        if ours.accepted:
            assert theirs is None, f"{name}: laxer than dcap-qvl, which says {theirs}"
        elif theirs is None:
            assert ours.failed_step in STRICTER, f"{name}: stricter than dcap-qvl at {ours.steps[-1]}"
    assert 0 < sum(ours.accepted for _, ours, _ in asked) < len(asked)
    assert AGREEMENT.read_text("utf-8") == agreement(asked), "run python -m tests.evidence.intel_table"


def test_the_anchor_is_the_root_that_every_quote_carries() -> None:
    (anchor,) = default_anchors().of(AnchorRole.INTEL_SGX)
    for case in CERTIFIED:
        chain = parse_pem_chain(parse_quote(read_quote(case.quote)).signature.pck_chain.removesuffix(b"\0"))
        assert chain[-1] == anchor
