"""The appraisal of one TDX quote: bytes, a time and a policy in, numbered steps and claims out. Nothing else is read.

* Signatures come before everything that a quote says, from the root of the certificates down to the TD's report.
* Without collateral nobody has said that the platform is neither revoked nor out of date: those steps are listed as
  not requested, and a policy may ask for them. That Intel's quoting enclave vouches for the attestation key is checked
  in any case, because Intel certifies the keys of other enclaves, too.
* A quote says nothing about who presents it: see `carnet_ref.attestation.composite`.

Source: Intel SGX DCAP Quote Verification Library, `sgxAttestationVerifyQuote`; Intel TDX DCAP Quoting Library API,
appendix A.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from cryptography import x509

from carnet_ref.attestation.anchors import AnchorRole, Anchors
from carnet_ref.attestation.appraisal import NO_REVOCATION, NOT_FRESH, POLICY, Appraisal, Checklist, RefusedError
from carnet_ref.attestation.intel.certificates import (
    PCK_AUTHORITIES,
    PCK_CERTIFICATE,
    PckChain,
    p256_key,
    parse_pck_chain,
)
from carnet_ref.attestation.intel.collateral import Collateral, parse_collateral
from carnet_ref.attestation.intel.event_log import (
    NO_ACTION,
    RUNTIME_RTMR,
    MeasuredEvent,
    parse_event_log,
    replay_rtmr,
)
from carnet_ref.attestation.intel.platform import PCS_API, QE_IDENTITY, PlatformAppraisal, check_quoting_enclave
from carnet_ref.attestation.intel.policy import Policy
from carnet_ref.attestation.intel.quote import TdReport, TdxQuote, WrongKindError, parse_quote
from carnet_ref.attestation.intel.signatures import p256_point, verify_p256
from carnet_ref.attestation.intel.tcb import Level
from carnet_ref.crypto.certificate_path import PathError, check_path, common_name, name, validity
from carnet_ref.crypto.primitives import AuthenticationError, KeyMaterialError, sha256
from carnet_ref.wire.reader import MalformedError

X509_PATH: Final = "RFC 5280, section 6.1"
X509_TIME: Final = "RFC 5280, section 4.1.2.5"
TDX_QUOTE: Final = "Intel TDX DCAP Quoting Library API, appendix A.3"
TD_ATTRIBUTES: Final = "Intel TDX Module ABI specification, TD_ATTRIBUTES"
EVENT_LOG: Final = "TCG PC Client Platform Firmware Profile 1.06, section 10"
PLATFORM_STEPS: Final = (
    "collateral-signature",
    "fmspc",
    "collateral-validity",
    "revocation",
    QE_IDENTITY,
    "tdx-module",
    "tcb-status",
)
TIME: Final = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True, slots=True)
class _Evidence:
    """Everything given, parsed."""

    quote: TdxQuote
    collateral: Collateral | None
    logs: tuple[tuple[MeasuredEvent, ...], ...]
    log_given: bool


def appraise_quote(
    quote: bytes,
    *,
    at: datetime,
    policy: Policy,
    anchors: Anchors,
    collateral: bytes | None = None,
    report_data: bytes | None = None,
    event_log: bytes | None = None,
    log_beside: bytes | None = None,
) -> Appraisal:
    """Appraise the quote of a TD.

    Args:
        quote: the quote, with at most zeros behind it.
        at: when the evidence is appraised; it has a time zone.
        policy: what is asked beyond the quote being genuine.
        anchors: whom to trust.
        collateral: what Intel publishes about the platform, as JSON.
        report_data: the 64 bytes that the verifier expects the TD to have asked with, if it knows.
        event_log: the TD's log of what was measured into its run-time registers.
        log_beside: such a log that lay beside the quote; it is replayed whether or not another is given.
    """
    steps = Checklist()
    try:
        evidence = _parse(steps, quote, collateral, event_log, log_beside)
        chain = _check_chain(steps, evidence.quote, at, anchors)
        _check_signatures(steps, evidence.quote, chain)
        _check_report(steps, evidence.quote.report, policy, report_data)
        _check_isolation(steps, evidence.quote.report, policy)
        _check_measurements(steps, evidence.quote.report, policy)
        _check_events(steps, evidence)
        level = _check_platform(steps, evidence, chain, at, policy, anchors)
        steps.require_taken(policy.require)
    except RefusedError:
        return steps.concluded({})
    return steps.concluded(_claims(evidence, chain, level))


def _parse(
    steps: Checklist, quote: bytes, collateral: bytes | None, event_log: bytes | None, log_beside: bytes | None
) -> _Evidence:
    try:
        evidence = _Evidence(
            parse_quote(quote),
            None if collateral is None else parse_collateral(collateral),
            tuple(parse_event_log(log) for log in (event_log, log_beside) if log is not None),
            event_log is not None,
        )
    except WrongKindError as error:
        steps.passed("parse", f"{len(quote)} bytes with the header of a quote", TDX_QUOTE)
        steps.refuse("kind", str(error), TDX_QUOTE)
    except MalformedError as error:
        steps.refuse("parse", str(error))
    parsed = evidence.quote
    steps.passed("parse", f"{len(quote)} bytes, of which {parsed.padding} zero padding", TDX_QUOTE)
    steps.passed("kind", f"TDX quote of version {parsed.version}", TDX_QUOTE)
    return evidence


def _check_chain(steps: Checklist, quote: TdxQuote, at: datetime, anchors: Anchors) -> PckChain:
    """Take the steps about the certificates that the quote carries."""
    try:
        chain = parse_pck_chain(quote.signature.pck_chain)
        anchor = check_path(chain.certificates, anchors.of(AnchorRole.INTEL_SGX))
    except (MalformedError, PathError) as error:
        steps.refuse("pck-chain", str(error), X509_PATH)
    names = (common_name(chain.leaf.certificate), common_name(chain.issuer))
    if names[0] != PCK_CERTIFICATE or names[1] not in PCK_AUTHORITIES:
        steps.refuse("pck-chain", f"no PCK certificate of a PCK authority: {names[0]!r} of {names[1]!r}", X509_PATH)
    steps.passed("pck-chain", f"{name(chain.leaf.certificate)} up to {name(anchor)}", X509_PATH)
    start, end = validity(chain.certificates)
    period = f"certificates valid from {start:{TIME}} to {end:{TIME}}"
    steps.require(start <= at <= end, "validity", period, f"{period}, not at {at:{TIME}}", X509_TIME)
    return chain


def _check_signatures(steps: Checklist, quote: TdxQuote, chain: PckChain) -> None:
    """Follow the keys down: the platform signs the QE's report, which names the key that signs the TD's report."""
    signature = quote.signature
    report = signature.qe_report

    def by_platform() -> None:
        key = p256_key(chain.leaf.certificate)
        verify_p256(key, signature.qe_report_signature, report.signed, "the QE report's signature")

    def by_attestation_key() -> None:
        verify_p256(p256_point(signature.attestation_key), signature.signature, quote.signed, "the quote's signature")

    _verified(steps, "qe-report-signature", by_platform, "ECDSA P-256 by the platform's PCK")
    named = sha256(signature.attestation_key + signature.qe_authentication_data) + bytes(32)
    steps.require(
        hmac.compare_digest(report.report_data, named),
        "qe-report-binding",
        "the quoting enclave vouches for the attestation key",
        "the quoting enclave vouches for another attestation key",
        TDX_QUOTE,
    )
    _verified(steps, "quote-signature", by_attestation_key, f"ECDSA P-256 over {len(quote.signed)} bytes")


def _verified(steps: Checklist, step: str, check: Callable[[], None], detail: str) -> None:
    try:
        check()
    except (AuthenticationError, KeyMaterialError, MalformedError) as error:
        steps.refuse(step, str(error), TDX_QUOTE)
    steps.passed(step, detail, TDX_QUOTE)


def _check_report(steps: Checklist, report: TdReport, policy: Policy, report_data: bytes | None) -> None:
    """Take the steps about what the TD is, which the quote now proves."""
    if report_data is None:
        steps.not_requested("report-data", "report-data", lacking=NOT_FRESH)
    else:
        otherwise = f"the TD asked with {report.report_data.hex()}, not {report_data.hex()}"
        same = hmac.compare_digest(report.report_data, report_data)
        steps.require(same, "report-data", "the 64 bytes expected", otherwise, TDX_QUOTE)
    debug = report.attributes.debug
    allowed = "a debug TD, which the policy allows" if debug else "the host may not read the TD"
    otherwise = "DEBUG is set: the host may read and change the TD"
    steps.require(policy.allow_debug or not debug, "debug", allowed, otherwise, TD_ATTRIBUTES)
    wrong = [*report.attributes.exposing, *(f"the unknown bit {bit}" for bit in report.attributes.unknown)]
    none = "neither profiling nor migration, nothing unknown"
    steps.require(not wrong, "attributes", none, f"set: {', '.join(wrong)}", TD_ATTRIBUTES)


def _check_isolation(steps: Checklist, report: TdReport, policy: Policy) -> None:
    """Insist that a page taken away stops the TD, and that no other TD serves it but those the policy names."""
    ends = report.attributes.sept_ve_disable
    if policy.require_sept_ve_disable and not ends:
        steps.refuse("isolation", "SEPT_VE_DISABLE is not set: the host may take pages away unnoticed", TD_ATTRIBUTES)
    serving, named = report.mrservicetd or bytes(48), dict(policy.measurements).get("mrservicetd", frozenset())
    detail = f"served by the TD that the policy names, {serving.hex()}" if any(serving) else "no service TD"
    detail += "" if ends else "; SEPT_VE_DISABLE is not set, which the policy allows"
    otherwise = f"a service TD that the policy does not name may reach into the TD: {serving.hex()}"
    steps.require(not any(serving) or serving in named, "isolation", detail, otherwise, TD_ATTRIBUTES)


def _check_measurements(steps: Checklist, report: TdReport, policy: Policy) -> None:
    """Hold the TD's registers to the values that the policy accepts."""
    if not policy.measurements:
        steps.not_requested("measurements", POLICY, lacking="measurements not compared")
        return
    for register, accepted in policy.measurements:
        value = registers(report).get(register)
        if value is None:
            steps.refuse("measurements", f"the quote does not say what {register} is")
        if value not in accepted:
            steps.refuse("measurements", f"{register} is {value.hex()}, which is none of the {len(accepted)} accepted")
    steps.passed("measurements", f"accepted: {', '.join(register for register, _ in policy.measurements)}")


def _check_events(steps: Checklist, evidence: _Evidence) -> None:
    """Insist that each log, replayed, ends in the registers that the quote proves."""
    if not evidence.logs:
        steps.not_requested("event-log", "event-log", EVENT_LOG, lacking="event log not replayed")
        return
    for events in evidence.logs:
        for index, (found, proved) in enumerate(zip(replay_rtmr(events), evidence.quote.report.rtmrs, strict=True)):
            if found != proved:
                otherwise = f"the log ends with {found.hex()} in RTMR{index}, the quote has {proved.hex()}"
                steps.refuse("event-log", otherwise, EVENT_LOG)
    told = f"{len(evidence.logs[0])} events end in the quote's RTMR0 to RTMR3"
    steps.passed("event-log", told, EVENT_LOG, without=() if evidence.log_given else ("event-log",))


def registers(report: TdReport) -> dict[str, bytes]:
    """Return the measurement registers of a TD by the names that policies use; MRSERVICETD where the quote has it."""
    found = {"mrtd": report.mrtd, "mrseam": report.mrseam}
    found |= {f"rtmr{index}": value for index, value in enumerate(report.rtmrs)}
    return found if report.mrservicetd is None else {**found, "mrservicetd": report.mrservicetd}


def _check_platform(
    steps: Checklist, evidence: _Evidence, chain: PckChain, at: datetime, policy: Policy, anchors: Anchors
) -> Level | None:
    """Take the steps about the platform, and return the TCB level found: only collateral tells it.

    Which enclave vouches for the attestation key is in the quote, so that is checked without collateral, too.
    """
    if evidence.collateral is None:
        for step in PLATFORM_STEPS:
            if step == QE_IDENTITY:
                check_quoting_enclave(steps, evidence.quote.signature.qe_report, policy)
                steps.passed(
                    step, "Intel's quoting enclave for TDs, of whatever version", PCS_API, without=("collateral",)
                )
            else:
                lacking = NO_REVOCATION if step == "revocation" else "TCB status not checked"
                steps.not_requested(step, "collateral", lacking=lacking)
        return None
    appraisal = PlatformAppraisal(steps, evidence.collateral, chain, at, policy, anchors.of(AnchorRole.INTEL_SGX))
    return appraisal.level(evidence.quote)


def _claims(evidence: _Evidence, chain: PckChain, level: Level | None) -> dict[str, object]:
    report = evidence.quote.report
    found: dict[str, object] = {
        "tee": "TDX",
        "quote_version": evidence.quote.version,
        "fmspc": chain.leaf.fmspc.hex(),
        "platform": _serial(chain.leaf.certificate),
        "debug": report.attributes.debug,
        "sept_ve_disable": report.attributes.sept_ve_disable,
        "tee_tcb_svn": report.tee_tcb_svn.hex(),
        "tee_tcb_svn_2": None if report.tee_tcb_svn_2 is None else report.tee_tcb_svn_2.hex(),
        **{register: value.hex() for register, value in registers(report).items()},
        "mrconfigid": report.mrconfigid.hex(),
        "mrowner": report.mrowner.hex(),
        "mrownerconfig": report.mrownerconfig.hex(),
        "report_data": report.report_data.hex(),
        "runtime_events": _runtime_events(evidence.logs[0] if evidence.logs else ()),
        "tcb_status": None if level is None else level.status.value,
        "tcb_date": None if level is None else f"{level.date:{TIME}}",
        "advisories": None if level is None else list(level.advisories),
    }
    return found


def _runtime_events(events: Sequence[MeasuredEvent]) -> list[dict[str, str]]:
    """Return every event of RTMR3 in a log that was replayed: its name and payload where the quote proves them.

    Of another event only the digest is proved. It is listed, so that none can be hidden by giving it another type.
    """
    return [
        {"digest": event.digest.hex()} if event.name is None else {"event": event.name, "payload": event.data.hex()}
        for event in events
        if event.rtmr == RUNTIME_RTMR and event.type != NO_ACTION
    ]


def _serial(certificate: x509.Certificate) -> str:
    return f"{certificate.serial_number:x}"
