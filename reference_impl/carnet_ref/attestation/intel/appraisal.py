"""The appraisal of one TDX quote: bytes, a time and a policy in, numbered steps and claims out. Nothing else is read.

* Signatures come before everything that a quote says, from the root of the certificates down to the TD's report.
* Without collateral nobody has said that the platform is neither revoked nor out of date: those steps are listed as
  not requested, and a policy may ask for them. That Intel's quoting enclave vouches for the attestation key is checked
  in any case, because Intel certifies the keys of other enclaves, too.
* A quote says nothing about who presents it: see `carnet_ref.attestation.composite`.

A policy is what a relying party asks of a TD, as data. One that asks for no step accepts nothing. Certificates, their
validity and the signatures are checked whatever the policy says, and so is every step that collateral was given for; a
policy names the steps without which it will not accept, and the values it accepts.

Source: Intel SGX DCAP Quote Verification Library, `sgxAttestationVerifyQuote`; Intel TDX DCAP Quoting Library API,
appendix A; RFC 5280, section 5.
"""

import hmac
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from typing import Final, NamedTuple

from cryptography import x509

from carnet_ref.attestation.appraisal import (
    NO_REVOCATION,
    NOT_FRESH,
    POLICY,
    X509_PATH,
    AnchorRole,
    Anchors,
    Appraisal,
    Checklist,
    Difference,
    RefusedError,
    default_anchors,
    of_certificate,
    others,
)
from carnet_ref.attestation.event_logs import NO_ACTION
from carnet_ref.attestation.intel.certificates import (
    PCK_AUTHORITIES,
    PCK_CERTIFICATE,
    TCB_SIGNING,
    PckChain,
    p256_key,
    p256_point,
    parse_pck_chain,
)
from carnet_ref.attestation.intel.collateral import (
    DERIVED_STATUSES,
    REMEMBERED,
    TD_QUOTING_ENCLAVE,
    Collateral,
    Level,
    NoMatchError,
    SignedDocument,
    TcbStatus,
    check_enclave,
    combined_level,
    module_level,
    module_shortfall,
    of_two_moments,
    parse_collateral,
    platform_level,
    platform_shortfall,
    qe_level,
    svn_shortfall,
)
from carnet_ref.attestation.intel.event_log import RUNTIME_RTMR, MeasuredEvent, parse_event_log, replay_rtmr
from carnet_ref.attestation.intel.quote import (
    BODY_NAMES,
    EXPOSING_BITS,
    HARMLESS_BITS,
    EnclaveReport,
    TdAttributes,
    TdReport,
    TdReportExtension,
    TdxQuote,
    WrongKindError,
    parse_quote,
)
from carnet_ref.attestation.policies import (
    AppraisalPolicy,
    Day,
    Flag,
    Named,
    Number,
    Octets,
    Text,
    Texts,
    Words,
    declared_keys,
    policy_form,
    policy_key,
    require_key,
)
from carnet_ref.attestation.revocation_lists import RevocationList
from carnet_ref.crypto.certificate_path import TIME, PathError, check_path, common_name, name, name_of, validity
from carnet_ref.crypto.primitives import AuthenticationError, KeyMaterialError, sha256, verify_p256
from carnet_ref.wire import MalformedError

STEPS: Final = (
    "parse",
    "kind",
    "pck-chain",
    "validity",
    "qe-report-signature",
    "qe-report-binding",
    "quote-signature",
    "report-data",
    "debug",
    "attributes",
    "isolation",
    "measurements",
    "event-log",
    "collateral-signature",
    "fmspc",
    "collateral-validity",
    "revocation",
    "qe-identity",
    "tdx-module",
    "tcb-status",
    "policy",
)
DEFAULT_STEPS: Final = frozenset(
    {"pck-chain", "validity", "qe-report-signature", "qe-report-binding", "quote-signature", "debug", "qe-identity"}
)
#: A platform that misses a security update is accepted only where a policy says so.
DEFAULT_STATUSES: Final = frozenset(
    {
        TcbStatus.UP_TO_DATE,
        TcbStatus.SW_HARDENING_NEEDED,
        TcbStatus.CONFIGURATION_NEEDED,
        TcbStatus.CONFIGURATION_AND_SW_HARDENING_NEEDED,
    }
)
RTMRS: Final = ("rtmr0", "rtmr1", "rtmr2", "rtmr3")
REGISTERS: Final = ("mrtd", "mrseam", *RTMRS, "mrservicetd")
REGISTER_BYTES: Final = 48
SIGNER_BYTES: Final = 32
ADVISORY: Final = Text("INTEL-[A-Z]+-[0-9]{5}", "an advisory such as INTEL-SA-00837")


@dataclass(frozen=True, slots=True)
class Policy(AppraisalPolicy):
    """The policy for a TD and its platform; each key describes itself.

    A TD of Azure is told when its host takes a page away, rather than ended, and its paravisor handles it.
    """

    require: frozenset[str] = require_key(STEPS)
    allow_debug: bool = policy_key(Flag(), False, "whether a TD is accepted that its host may read")
    require_sept_ve_disable: bool = policy_key(
        Flag(), True, "whether a TD has to be ended when its host takes a page away; TDs of Azure are not"
    )
    allowed_attributes: frozenset[str] = policy_key(
        Words(tuple(EXPOSING_BITS.values())),
        frozenset(),
        "the attributes of a TD that let others profile it or take it to another machine and are accepted all the same",
    )
    required_attributes: frozenset[str] = policy_key(
        Words(tuple(HARMLESS_BITS.values())), frozenset(), "the attributes that a TD has to have"
    )
    service_tds: frozenset[bytes] = policy_key(
        Octets((REGISTER_BYTES,)), frozenset(), "the MRSERVICETD of TDs that may serve the TD; it may also have none"
    )
    allow_any_service_td: bool = policy_key(
        Flag(), False, "whether a TD is accepted that is served by one that nothing here names"
    )
    measurements: tuple[tuple[str, frozenset[bytes]], ...] = policy_key(
        Named(dict.fromkeys(REGISTERS, Octets((REGISTER_BYTES,))), lambda values: tuple(values.items())),
        (),
        "for each register that is asked for, the values accepted",
    )
    rtmrs_without_log: frozenset[str] = policy_key(
        Words(RTMRS),
        frozenset(),
        "the registers of which a log may have no event; measurements has to name them",
    )
    tcb_statuses: frozenset[TcbStatus] = policy_key(
        Words(tuple(TcbStatus)), DEFAULT_STATUSES, "the TCB statuses accepted, where there is collateral to tell"
    )
    rejected_advisories: frozenset[str] = policy_key(
        Texts(ADVISORY), frozenset(), "the Intel advisories of which none may apply, by collateral that has to be given"
    )
    minimum_evaluation_number: int | None = policy_key(
        Number(), None, "the lowest TCB evaluation data number accepted, in collateral that has to be given"
    )
    minimum_tcb_date: datetime | None = policy_key(
        Day(),
        None,
        "the oldest date of the TCB level of platform, TDX module and quoting enclave that is accepted, by collateral "
        "that has to be given",
    )
    collateral_ttl: int | None = policy_key(Number(), None, "how many seconds ago the collateral may have been issued")
    quoting_enclave_signers: frozenset[bytes] = policy_key(
        Octets((SIGNER_BYTES,)),
        frozenset(),
        "the MRSIGNER of quoting enclaves accepted beside Intel's; where it names none, any under another root than "
        "Intel's is accepted",
    )


def _check_policy(policy: Policy) -> None:
    """Insist that a register that no log has to cover is compared with values."""
    left = sorted(policy.rtmrs_without_log - dict(policy.measurements).keys())
    if left:
        raise MalformedError("policy: rtmrs_without_log", "registers that measurements has values for", left[0])


KEYS: Final = tuple(declared_keys(Policy))
GENUINE: Final = DEFAULT_STEPS - {"debug"}
POLICY_FORM: Final = policy_form(
    Policy,
    default={"require": DEFAULT_STEPS},
    strict={
        "require": frozenset(STEPS) - {"parse", "kind", "event-log", "policy"},
        "tcb_statuses": frozenset({TcbStatus.UP_TO_DATE}),
    },
    inventory={
        "require": GENUINE,
        "allow_debug": True,
        "require_sept_ve_disable": False,
        "allowed_attributes": frozenset(EXPOSING_BITS.values()),
        "allow_any_service_td": True,
        "tcb_statuses": frozenset(TcbStatus),
    },
    check=_check_policy,
)
DEFAULT_POLICY: Final = POLICY_FORM.default_policy
parse_policy: Final = POLICY_FORM.parse


QE_IDENTITY: Final = "qe-identity"
PCS_API: Final = "Intel SGX and TDX Provisioning Certification Service API, version 4"
CRL: Final = "RFC 5280, section 5"


def check_quoting_enclave(steps: Checklist, report: EnclaveReport, chain: PckChain, policy: Policy) -> bool:
    """Check that a report is from Intel's quoting enclave for TDs or an accepted one; return whether it is Intel's.

    Another signer is accepted where the policy names it. Intel publishes nothing for platforms under another root than
    its own, so there, if the policy names none, any signer is.

    Raises RefusedError if it is of another enclave.
    """
    named = policy.quoting_enclave_signers
    others = report.mrsigner in named or not (named or _is_under_intel_root(chain))
    expected = replace(TD_QUOTING_ENCLAVE, mrsigner=report.mrsigner) if others else TD_QUOTING_ENCLAVE
    try:
        check_enclave(expected, report)
    except NoMatchError as error:
        steps.refuse(QE_IDENTITY, f"not Intel's quoting enclave for TDs: {error}", PCS_API)
    return report.mrsigner == TD_QUOTING_ENCLAVE.mrsigner


def _is_under_intel_root(chain: PckChain) -> bool:
    """Return whether the root of a platform's certificates has the key of Intel's root, in whatever certificate."""
    roots = default_anchors().of(AnchorRole.INTEL_SGX)
    return chain.root in roots or chain.root.public_key() in [root.public_key() for root in roots]


@dataclass(frozen=True, slots=True)
class PlatformAppraisal:
    """The appraisal of one platform: its certificates, collateral, policy and time."""

    steps: Checklist
    collateral: Collateral
    chain: PckChain
    at: datetime
    policy: Policy
    anchors: Sequence[x509.Certificate]

    def level(self, quote: TdxQuote) -> Level:
        """Take the steps in order and return the TCB level of platform, TDX module and quoting enclave together.

        Raises RefusedError if a step failed.
        """
        self._check_signatures()
        # Insist that the TCB info is about platforms of this kind
        leaf, info = self.chain.leaf, self.collateral.tcb_info
        detail = f"FMSPC {leaf.fmspc.hex()}, PCEID {leaf.pceid.hex()}"
        otherwise = f"the quote's platform has {detail}; the collateral is for FMSPC {info.fmspc.hex()}, "
        otherwise += f"PCEID {info.pceid.hex()}"
        same = (leaf.fmspc, leaf.pceid) == (info.fmspc, info.pceid)
        self.steps.require(same, "fmspc", detail, otherwise, PCS_API)
        self._check_validity()
        self._check_revocation()
        return self._matched(quote)

    def _check_signatures(self) -> None:
        """Insist that Intel published everything here, each document signed by the authority for it."""
        given = self.collateral
        with self.steps.refusing("collateral-signature", (PathError, AuthenticationError, MalformedError), PCS_API):
            self._check_document(given.signed_tcb_info, given.tcb_info_chain, "TCB info")
            self._check_document(given.signed_qe_identity, given.qe_identity_chain, "QE identity")
            self._check_crl(given.root_crl, self.chain.root)
            self._check_crl(given.pck_crl, self.chain.issuer)
            self._check_crl_chain(given.pck_crl_chain)
        detail = "TCB info, QE identity and 2 revocation lists, each by its authority"
        self.steps.passed("collateral-signature", detail, PCS_API)

    def _check_document(self, document: SignedDocument, chain: Sequence[x509.Certificate], what: str) -> None:
        check_path(chain, self.anchors)
        if common_name(chain[0]) != TCB_SIGNING:
            raise PathError(f"the {what} is signed by {name(chain[0])}, not by {TCB_SIGNING!r}", chain[0])
        _check_signed(document, chain[0], what)

    def _check_crl(self, crl: RevocationList, issuer: x509.Certificate) -> None:
        """Insist that ``issuer`` signed the whole of its revocation list, and may (RFC 5280, section 6.3.3 (f))."""
        if crl.issuer != issuer.subject:
            raise PathError(f"the revocation list is by {name_of(crl.issuer)}, not by {name(issuer)}")
        if not issuer.extensions.get_extension_for_class(x509.KeyUsage).value.crl_sign:
            raise PathError(f"{name(issuer)} may not sign revocation lists", issuer)
        if crl.partial:
            raise PathError(f"the revocation list by {name(issuer)} has a critical extension, so it is partial")
        if not _has_signed(issuer, crl):
            raise AuthenticationError(f"the revocation list by {name(issuer)}")

    def _check_crl_chain(self, chain: Sequence[x509.Certificate]) -> None:
        """Insist that certificates beside the PCK revocation list, if any, are of its issuer and of the root."""
        if not chain:
            return
        if chain[0] != self.chain.issuer:
            raise PathError(f"the PCK revocation list comes with the certificate of {name(chain[0])}", chain[0])
        other = next((each for each in chain[1:] if each not in self.anchors), None)
        if other is not None:
            raise PathError(f"the PCK revocation list comes with {name(other)}, which is no trust anchor", other)

    def _check_validity(self) -> None:
        """Insist that every piece of collateral is current, and as young as the policy wants."""
        given = self.collateral
        periods = {
            "TCB info": (given.tcb_info.issued, given.tcb_info.next_update),
            "QE identity": (given.qe_identity.issued, given.qe_identity.next_update),
            "TCB signing certificates": validity(given.tcb_info_chain),
            "QE identity signing certificates": validity(given.qe_identity_chain),
            "root revocation list": (given.root_crl.start, given.root_crl.end),
            "PCK revocation list": (given.pck_crl.start, given.pck_crl.end),
        }
        for what, (start, end) in periods.items():
            if not start <= self.at <= end:
                found = f"{what}: valid from {start:{TIME}} to {end:{TIME}}, not at {self.at:{TIME}}"
                self.steps.refuse("collateral-validity", found, PCS_API)
        issued = min(given.tcb_info.issued, given.qe_identity.issued)
        age = int((self.at - issued).total_seconds())
        if self.policy.collateral_ttl is not None and age > self.policy.collateral_ttl:
            found = f"issued {age} s ago; accepted: {self.policy.collateral_ttl} s"
            self.steps.refuse("collateral-validity", found)
        until = min(end for _, end in periods.values())
        self.steps.passed("collateral-validity", f"issued {issued:{TIME}}, to be renewed by {until:{TIME}}", PCS_API)

    def _check_revocation(self) -> None:
        """Look up every signer of the quote and of the collateral in the list of its issuer."""
        given = self.collateral
        published = dict.fromkeys((*given.tcb_info_chain, *given.qe_identity_chain))
        signers = [self.chain.issuer, *(each for each in published if each not in self.anchors)]
        lists = [(self.chain.leaf.certificate, given.pck_crl), *((signer, given.root_crl) for signer in signers)]
        for certificate, crl in lists:
            if certificate.issuer != crl.issuer:
                unlisted = f"no revocation list of {name_of(certificate.issuer)}, which issued {name(certificate)}"
                self.steps.refuse("revocation", unlisted, CRL)
            entry = crl.entry(certificate)
            if entry is not None:
                when = f"{entry.revocation_date_utc:{TIME}}"
                found = f"{name(certificate)} {certificate.serial_number:x} was revoked {when}"
                revoked = of_certificate(certificate, f"revoked {when}")
                self.steps.refuse("revocation", found, CRL, differences=(revoked,))
        self.steps.passed("revocation", f"none of {len(lists)} certificates is revoked", CRL)

    def _matched(self, quote: TdxQuote) -> Level:
        """Find the levels of the platform's parts, and judge them together by the policy.

        A report of TDX 1.5 has the versions at the start of the TD and those of now: the worse of both count, or the
        TD should be started anew.
        """
        given, report = self.collateral, quote.report
        check_quoting_enclave(self.steps, quote.signature.qe_report, self.chain, self.policy)
        with self.steps.refusing(QE_IDENTITY, NoMatchError, PCS_API):
            enclave = qe_level(given.qe_identity, quote.signature.qe_report)
        self.steps.passed(QE_IDENTITY, f"the published quoting enclave, {enclave.status}", PCS_API)
        now = report.tee_tcb_svn_2
        moments = [report] if now is None else [report, report._replace(tee_tcb_svn=now)]
        with self.steps.refusing("tdx-module", NoMatchError, PCS_API):
            modules = [module_level(given.tcb_info, moment) for moment in moments]
        known = ", ".join(f"{module.status}" if module else "of TDX 1.0, which has no level" for module in modules)
        self.steps.passed("tdx-module", f"a published TDX module, {known}", PCS_API)
        tcb = self.chain.leaf.tcb
        try:
            levels = [platform_level(given.tcb_info, tcb, moment) for moment in moments]
        except NoMatchError as error:
            self.steps.refuse("tcb-status", str(error), PCS_API, differences=self._shortfall(quote, moments))
        both = [combined_level(level, module, enclave) for level, module in zip(levels, modules, strict=True)]
        level = of_two_moments(both[0], both[-1])
        problem = self._problem(level, both[0].status)
        if problem is not None:
            mendable = any(self._accepts(entry.level) for entry in given.tcb_info.levels)
            problem += "" if mendable else "; no published level is accepted, so no update mends that"
            self.steps.refuse("tcb-status", problem, PCS_API, differences=self._shortfall(quote, moments))
        advisories = f" ({', '.join(level.advisories)})" if level.advisories else ""
        self.steps.passed("tcb-status", f"{level.status}{advisories}", PCS_API)
        return level

    def _shortfall(self, quote: TdxQuote, moments: Sequence[TdReport]) -> tuple[Difference, ...]:
        """Return what is behind the lowest published level that the policy accepts, each component once."""
        given, accepts = self.collateral, self._accepts
        enclave, isvsvn = given.qe_identity.levels, quote.signature.qe_report.isvsvn
        tcb, info = self.chain.leaf.tcb, given.tcb_info
        parts = [
            (*module_shortfall(info, moment, accepts), *platform_shortfall(info, tcb, moment, accepts))
            for moment in moments
        ]
        if len(set(map(str, parts))) > 1:
            times = zip(("at the start of the TD", "now"), parts, strict=True)
            parts = [tuple(replace(each, what=f"{each.what} {when}") for each in part) for when, part in times]
        else:
            parts = parts[:1]
        return (*svn_shortfall(enclave, isvsvn, "quoting enclave", accepts), *(each for part in parts for each in part))

    def _accepts(self, level: Level) -> bool:
        """Return whether the policy accepts a part that reaches a level."""
        policy = self.policy
        young = policy.minimum_tcb_date is None or level.date >= policy.minimum_tcb_date
        return young and level.status in policy.tcb_statuses and not policy.rejected_advisories & set(level.advisories)

    def _problem(self, level: Level, launch: TcbStatus) -> str | None:
        """Return what the policy has against a level, if anything; it may have accepted the status at the launch."""
        policy, given = self.policy, self.collateral
        statuses = {level.status, launch} if level.status in DERIVED_STATUSES else {level.status}
        if not statuses & policy.tcb_statuses:
            accepted = ", ".join(sorted(policy.tcb_statuses)) or "none"
            return f"the TCB status is {level.status} since {level.date:{TIME}}; accepted: {accepted}"
        rejected = sorted(policy.rejected_advisories.intersection(level.advisories))
        if rejected:
            return f"{', '.join(rejected)} applies, which the policy rejects"
        if policy.minimum_tcb_date is not None and level.date < policy.minimum_tcb_date:
            return f"the TCB level is of {level.date:{TIME}}; accepted: from {policy.minimum_tcb_date:{TIME}}"
        number = min(given.tcb_info.evaluation_number, given.qe_identity.evaluation_number)
        if policy.minimum_evaluation_number is not None and number < policy.minimum_evaluation_number:
            return f"the TCB evaluation data number is {number}; accepted: from {policy.minimum_evaluation_number}"
        return None


@lru_cache(REMEMBERED)
def _check_signed(document: SignedDocument, signer: x509.Certificate, what: str) -> None:
    """Insist that ``signer`` signed a document, which depends on nothing but their bytes."""
    verify_p256(p256_key(signer), document.signature, document.body, f"the signature of the {what}")


@lru_cache(REMEMBERED)
def _has_signed(issuer: x509.Certificate, crl: RevocationList) -> bool:
    return crl.crl.is_signature_valid(p256_key(issuer))


TDX_QUOTE: Final = "Intel TDX DCAP Quoting Library API, appendix A.3"
TD_ATTRIBUTES: Final = "Intel TDX Module ABI specification, TD_ATTRIBUTES"
EVENT_LOG: Final = "TCG PC Client Platform Firmware Profile 1.06, section 10"
NO_REPLAY: Final = "event log not replayed"
PLATFORM_STEPS: Final = (
    "collateral-signature",
    "fmspc",
    "collateral-validity",
    "revocation",
    QE_IDENTITY,
    "tdx-module",
    "tcb-status",
)


class _Evidence(NamedTuple):
    """Everything given, parsed."""

    quote: TdxQuote
    collateral: Collateral | None
    logs: tuple[tuple[MeasuredEvent, ...], ...]
    log_given: bool
    log_is_cut: bool


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
    log_is_cut: bool = False,
) -> Appraisal:
    """Appraise the quote of a TD.

    At most zeros follow the quote. ``at`` is when it is appraised, with a time zone; ``collateral`` is what Intel
    publishes about the platform, as JSON. ``report_data`` are the 64 bytes that the verifier expects the TD to have
    asked with, if it knows. ``event_log`` is the TD's log of what was measured into its run-time registers; one that
    lay beside the quote, ``log_beside``, is replayed whether or not another is given. Where that ``log_is_cut`` to what
    was measured into RTMR3, it alone does not make the step ``event-log`` hold.
    """
    steps = Checklist()
    try:
        evidence = _parse(steps, quote, collateral, event_log, log_beside, log_is_cut)
        chain = _check_chain(steps, evidence.quote, at, anchors)
        _check_signatures(steps, evidence.quote, chain)
        _check_report(steps, evidence.quote.report, policy, report_data)
        _check_isolation(steps, evidence.quote.report, policy)
        _check_measurements(steps, evidence.quote.report, policy)
        _check_events(steps, evidence, policy)
        level = _check_platform(steps, evidence, chain, at, policy, anchors)
        steps.require_taken(policy, _asked_of_collateral(policy))
    except RefusedError:
        return steps.conclude({})
    return steps.conclude(_claims(evidence, chain, level))


def _asked_of_collateral(policy: Policy) -> frozenset[str]:
    """Return the step that a policy asks for by setting what only collateral tells."""
    limits = (policy.minimum_evaluation_number, policy.minimum_tcb_date)
    asked = bool(policy.rejected_advisories) or any(limit is not None for limit in limits)
    return frozenset({"tcb-status"} if asked else ())


def _parse(
    steps: Checklist,
    quote: bytes,
    collateral: bytes | None,
    event_log: bytes | None,
    log_beside: bytes | None,
    log_is_cut: bool,
) -> _Evidence:
    try:
        evidence = _Evidence(
            parse_quote(quote),
            None if collateral is None else parse_collateral(collateral),
            tuple(parse_event_log(log) for log in (event_log, log_beside) if log is not None),
            event_log is not None,
            log_is_cut,
        )
    except WrongKindError as error:
        steps.passed("parse", f"{len(quote)} bytes with the header of a quote", TDX_QUOTE)
        steps.refuse("kind", str(error), TDX_QUOTE)
    except MalformedError as error:
        steps.refuse("parse", str(error))
    parsed = evidence.quote
    steps.passed("parse", f"{len(quote)} bytes, of which {parsed.padding} zero padding", TDX_QUOTE)
    steps.passed("kind", f"TDX quote of version {parsed.version}, {BODY_NAMES[parsed.report.body]}", TDX_QUOTE)
    return evidence


def _check_chain(steps: Checklist, quote: TdxQuote, at: datetime, anchors: Anchors) -> PckChain:
    """Take the steps about the certificates that the quote carries."""
    with steps.refusing("pck-chain", (MalformedError, PathError), X509_PATH):
        chain = parse_pck_chain(quote.signature.pck_chain)
        anchor = check_path(chain.certificates, anchors.of(AnchorRole.INTEL_SGX))
    names = (common_name(chain.leaf.certificate), common_name(chain.issuer))
    if names[0] != PCK_CERTIFICATE or names[1] not in PCK_AUTHORITIES:
        steps.refuse("pck-chain", f"no PCK certificate of a PCK authority: {names[0]!r} of {names[1]!r}", X509_PATH)
    steps.passed("pck-chain", f"{name(chain.leaf.certificate)} up to {name(anchor)}", X509_PATH)
    steps.require_valid(chain.certificates, at)
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
    with steps.refusing(step, (AuthenticationError, KeyMaterialError, MalformedError), TDX_QUOTE):
        check()
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
    _check_attributes(steps, report.attributes, policy)


def _check_attributes(steps: Checklist, attributes: TdAttributes, policy: Policy) -> None:
    """Insist that nothing exposes the TD but what the policy allows, and that it has what the policy requires."""
    wrong = [name for name in attributes.exposing if name not in policy.allowed_attributes]
    wrong += [f"the unknown bit {bit}" for bit in attributes.unknown_bits]
    missing = sorted(policy.required_attributes - attributes.names)
    if missing:
        steps.refuse("attributes", f"not set: {', '.join(missing)}", TD_ATTRIBUTES)
    detail = "neither profiling nor migration, nothing unknown"
    if attributes.exposing:
        detail = f"set, which the policy allows: {', '.join(attributes.exposing)}; nothing unknown"
    steps.require(not wrong, "attributes", detail, f"set: {', '.join(wrong)}", TD_ATTRIBUTES)


def _check_isolation(steps: Checklist, report: TdReport, policy: Policy) -> None:
    """Insist that a page taken away stops the TD, and that no other TD serves it but those the policy names."""
    ends = report.attributes.sept_ve_disable
    if policy.require_sept_ve_disable and not ends:
        steps.refuse("isolation", "SEPT_VE_DISABLE is not set: the host may take pages away unnoticed", TD_ATTRIBUTES)
    serving, named = report.service_tds, policy.service_tds | dict(policy.measurements).get("mrservicetd", frozenset())
    other = next(((what, value) for what, value in serving.items() if value not in named), None)
    if other is not None:
        what, value = other
        if policy.allow_any_service_td:
            steps.left_out("isolation", f"a {what}: {value.hex()}", TD_ATTRIBUTES, lacking="service TD not compared")
            return
        steps.refuse(
            "isolation", f"a {what} that the policy does not name may reach into the TD: {value.hex()}", TD_ATTRIBUTES
        )
    shown = ", ".join(dict.fromkeys(value.hex() for value in serving.values()))
    detail = f"served by the TD that the policy names, {shown}" if serving else "no service TD"
    detail += "" if ends else "; SEPT_VE_DISABLE is not set, which the policy allows"
    steps.passed("isolation", detail, TD_ATTRIBUTES)


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
            steps.refuse("measurements", f"{register} is {value.hex()}; accepted: {others(accepted)}")
    steps.passed("measurements", f"accepted: {', '.join(register for register, _ in policy.measurements)}")


def _check_events(steps: Checklist, evidence: _Evidence, policy: Policy) -> None:
    """Insist that each log, replayed, ends in the registers that the quote proves.

    A register of which a log has no event is passed over where the policy says so and compares it with values. Of a log
    that is cut, RTMR3 has to be right. That is not enough for the step, which is about all registers.
    """
    if not evidence.logs:
        steps.not_requested("event-log", "event-log", EVENT_LOG, lacking=NO_REPLAY)
        return
    proved, left = evidence.quote.report.rtmrs, set[str]()
    without = () if evidence.log_given else ("event-log",)
    for place, events in enumerate(evidence.logs):
        ends = replay_rtmr(events)
        uncovered = policy.rtmrs_without_log - {f"rtmr{event.rtmr}" for event in events if event.type != NO_ACTION}
        left |= uncovered
        wrong = [index for index, end in enumerate(ends) if end != proved[index] and f"rtmr{index}" not in uncovered]
        cut = evidence.log_is_cut and place == len(evidence.logs) - 1
        if wrong and (RUNTIME_RTMR in wrong or not cut):
            index = RUNTIME_RTMR if cut else wrong[0]
            otherwise = f"the log ends with {ends[index].hex()} in RTMR{index}, the quote has {proved[index].hex()}"
            steps.refuse("event-log", otherwise, EVENT_LOG)
        if wrong and not evidence.log_given:
            told = (
                f"{len(events)} events end in the quote's RTMR{RUNTIME_RTMR}; the log is cut, and has not all of RTMR"
            )
            steps.left_out("event-log", f"{told}{wrong[0]}", EVENT_LOG, lacking=NO_REPLAY, without=without)
            return
    steps.passed("event-log", _replayed(len(evidence.logs[0]), left), EVENT_LOG, without=without)


def _replayed(events: int, left: Set[str]) -> str:
    """Say in which registers a log ends, and which are left to measurements."""
    if not left:
        return f"{events} events end in the quote's RTMR0 to RTMR3"
    ends = ", ".join(register.upper() for register in RTMRS if register not in left) or "registers"
    return f"{events} events end in the quote's {ends}; left to measurements: {', '.join(sorted(left)).upper()}"


def registers(report: TdReport) -> dict[str, bytes]:
    """Return the measurement registers of a TD by their names in policies."""
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
                report = evidence.quote.signature.qe_report
                whose = "Intel's" if check_quoting_enclave(steps, report, chain, policy) else "a"
                signed = "" if whose == "Intel's" else f" signed by {report.mrsigner.hex()}"
                found = f"{whose} quoting enclave for TDs{signed}, of whatever version"
                steps.passed(step, found, PCS_API, without=("collateral",))
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
        "td_report": BODY_NAMES[report.body],
        "fmspc": chain.leaf.fmspc.hex(),
        "platform": f"{chain.leaf.certificate.serial_number:x}",
        "debug": report.attributes.debug,
        "sept_ve_disable": report.attributes.sept_ve_disable,
        "attributes": sorted(report.attributes.names),
        "tee_tcb_svn": report.tee_tcb_svn.hex(),
        "tee_tcb_svn_2": None if report.tee_tcb_svn_2 is None else report.tee_tcb_svn_2.hex(),
        **{register: value.hex() for register, value in registers(report).items()},
        "mrconfigid": report.mrconfigid.hex(),
        "mrowner": report.mrowner.hex(),
        "mrownerconfig": report.mrownerconfig.hex(),
        "report_data": report.report_data.hex(),
        "extension": None if report.extension is None else _extension(report.extension),
        "runtime_events": _runtime_events(evidence.logs[0] if evidence.logs else ()),
        "tcb_status": None if level is None else level.status.value,
        "tcb_date": None if level is None else f"{level.date:{TIME}}",
        "advisories": None if level is None else list(level.advisories),
    }
    return found


def _extension(extension: TdReportExtension) -> dict[str, object]:
    """Return what a TD report 1.5 Ex says more, bytes in hexadecimal."""
    stated = extension._asdict()
    return {name: value.hex() if isinstance(value, bytes) else value for name, value in stated.items()}


def _runtime_events(events: Sequence[MeasuredEvent]) -> list[dict[str, str]]:
    """Return every event of RTMR3 in a log that was replayed: its name and payload where the quote proves them.

    Of another event only the digest is proved. It is listed, so that none can be hidden by giving it another type.
    """
    return [
        {"digest": event.digest.hex()} if event.name is None else {"event": event.name, "payload": event.data.hex()}
        for event in events
        if event.rtmr == RUNTIME_RTMR and event.type != NO_ACTION
    ]
