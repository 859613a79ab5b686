"""The appraisal of one SNP report: bytes, a time and a policy in, numbered steps and claims out. Nothing else is read.

* Signatures come before everything that a report says, from the root of the certificates down to the report. Which
  processor it comes from, and so how its TCB versions are laid out, is taken from the certificate; a report that says
  it itself is held to that.
* The root of each line signs a list of the signing keys below it, at the address that their certificates name; without
  one, an acceptance says that nobody looked. Endorsement keys are in none: where firmware is found wanting, keys for
  another TCB take their place.
* A report says nothing about who presents it: see `carnet_ref.attestation.composite`.

A policy is what a relying party asks of a guest, as data. One that asks for no step accepts nothing. Certificates,
their validity and the signature are checked whatever the policy says, and so is that report and certificates fit each
other; a policy names the steps without which it will not accept, what it allows, and the values it accepts.

Source: AMD SEV-SNP Firmware ABI Specification 56860, revision 1.58, table 23 (report), SNP_CONFIG and SNP_COMMIT (TCB);
the CRL distribution points in AMD's certificates; RFC 5280, section 6.3.3.
"""

import hmac
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import rsa

from carnet_ref.attestation.amd import report
from carnet_ref.attestation.amd.certificates import (
    AUTHORITIES,
    EndorsementKey,
    EndorsementPath,
    KeyKind,
    endorsement_key,
    endorsement_path,
    parse_certificates,
    signed_as_amd_signs,
)
from carnet_ref.attestation.amd.evidence import SnpEvidence, user_data
from carnet_ref.attestation.amd.report import (
    CXL_ALLOW,
    DEBUG,
    MIGRATE_MA,
    SMT,
    Product,
    SignedReport,
    SigningKey,
    SnpReport,
    TcbVersion,
    line_of,
    parse_report,
    parse_tcb,
)
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
    of_path,
    others,
)
from carnet_ref.attestation.policies import (
    AppraisalPolicy,
    Flag,
    Named,
    Number,
    Octets,
    Texts,
    Words,
    declared_keys,
    policy_form,
    policy_key,
    require_key,
)
from carnet_ref.attestation.revocation_lists import REMEMBERED, RevocationList, parse_crl_file
from carnet_ref.crypto.certificate_path import TIME, PathError, common_name, name, name_of
from carnet_ref.crypto.primitives import AuthenticationError, sha256, verify_p384
from carnet_ref.wire import MalformedError

STEPS: Final = (
    "parse",
    "chain",
    "validity",
    "revocation",
    "signature",
    "signing-key",
    "product",
    "certificate-tcb",
    "chip-id",
    "tcb-order",
    "minimum-tcb",
    "report-data",
    "runtime-data",
    "debug",
    "migration",
    "guest-policy",
    "vmpl",
    "platform-info",
    "guest-svn",
    "measurement",
    "host-data",
    "id-keys",
    "policy",
)
DEFAULT_STEPS: Final = frozenset(
    {
        "chain",
        "validity",
        "signature",
        "signing-key",
        "product",
        "certificate-tcb",
        "tcb-order",
        "debug",
        "migration",
        "guest-policy",
        "vmpl",
    }
)
HIGHEST_VMPL: Final = 3
NOT_COMPARED: Final = "TCB not compared"
#: The bits of a guest policy that keep the host from something, so that a relying party may ask for them.
PROTECTING: Final = tuple(
    word
    for bit, word in report.POLICY_BITS.items()
    if word not in {report.SMT, report.MIGRATE_MA, report.DEBUG, report.CXL_ALLOW} and bit != 17
)

#: For each line that is accepted, the oldest version of each part that is asked for.
Minimum = Mapping[report.Product, Mapping[str, int]]
MINIMUM: Final = Named({line: Named(dict.fromkeys(report.tcb_parts(line), Number())) for line in report.Product})


@dataclass(frozen=True, slots=True)
class Policy(AppraisalPolicy):
    """The policy for a guest and its platform; each key describes itself."""

    require: frozenset[str] = require_key(STEPS)
    allow_debug: bool = policy_key(Flag(), False, "whether a guest is accepted that its host may read")
    allow_migration_agent: bool = policy_key(
        Flag(), False, "whether a guest is accepted that another guest may take to another machine"
    )
    allow_smt: bool = policy_key(Flag(), True, "whether a guest is accepted that may run where threads share a core")
    allow_cxl: bool = policy_key(
        Flag(), True, "whether a guest is accepted that may run where memory is attached over CXL"
    )
    allow_masked_chip_id: bool = policy_key(Flag(), False, "whether a chip's own report may leave out which chip it is")
    csp_ids: frozenset[str] | None = policy_key(
        Texts(), None, "the clouds (CSP_ID) accepted, by whose VLEK a report has to be signed"
    )
    chip_ids: frozenset[bytes] | None = policy_key(
        Octets((8, 64)), None, "the chips accepted, of which a report has to say that it is of one"
    )
    required_guest_policy: frozenset[str] = policy_key(
        Words(PROTECTING), frozenset(), "the protecting bits that the guest's policy has to have set"
    )
    required_platform_info: frozenset[str] = policy_key(
        Words(tuple(report.PLATFORM_BITS.values())), frozenset(), "the bits of PLATFORM_INFO that have to be set"
    )
    maximum_vmpl: int = policy_key(
        Number(0, HIGHEST_VMPL), 0, "the highest privilege level, 0 the most privileged, that may ask for the report"
    )
    minimum_guest_svn: int | None = policy_key(Number(), None, "the oldest security version of the guest")
    minimum_tcb: Minimum | None = policy_key(
        MINIMUM, None, "for each line of processors that is accepted, the oldest reported version of each part"
    )
    minimum_launch_tcb: Minimum | None = policy_key(MINIMUM, None, "the same for the TCB at the launch of the guest")
    measurements: frozenset[bytes] | None = policy_key(Octets((48,)), None, "the launch measurements accepted")
    host_data: frozenset[bytes] | None = policy_key(
        Octets((32,)), None, "what the host may have given the guest at launch"
    )
    id_key_digests: frozenset[bytes] | None = policy_key(
        Octets((48,)), None, "the digests of the keys that may have signed the guest's identity"
    )
    author_key_digests: frozenset[bytes] | None = policy_key(
        Octets((48,)), None, "the digests of the keys that may have signed the identity key"
    )


KEYS: Final = tuple(declared_keys(Policy))
GENUINE: Final = frozenset({"chain", "validity", "signature", "signing-key", "product", "certificate-tcb"})
POLICY_FORM: Final = policy_form(
    Policy,
    default={"require": DEFAULT_STEPS},
    strict={"require": DEFAULT_STEPS | {"revocation", "report-data", "minimum-tcb", "measurement"}},
    inventory={
        "require": GENUINE,
        "allow_debug": True,
        "allow_migration_agent": True,
        "allow_masked_chip_id": True,
        "maximum_vmpl": HIGHEST_VMPL,
    },
)
DEFAULT_POLICY: Final = POLICY_FORM.default_policy
parse_policy: Final = POLICY_FORM.parse


CRL: Final = "RFC 5280, section 6.3.3"


def check_revocation(steps: Checklist, path: EndorsementPath, lists: Sequence[RevocationList], at: datetime) -> None:
    """Look up the signing key, and the root itself, in every list that was given.

    Raises RefusedError if a list is not by the path's root, does not count at ``at``, or revokes one of them.
    """
    if not lists:
        steps.not_requested("revocation", "crl", CRL, lacking=NO_REVOCATION)
        return
    problem = next(filter(None, (_problem(path, crl, at) for crl in lists)), None)
    if problem is not None:
        steps.refuse("revocation", str(problem), CRL, differences=of_path(problem))
    until = min(crl.end for crl in lists)
    told = f"no key above is revoked by {name(path.anchor)}; to be renewed by {until:{TIME}}"
    steps.passed("revocation", told, CRL, without=("crl",))


def _problem(path: EndorsementPath, crl: RevocationList, at: datetime) -> PathError | None:
    """Return why a list does not say that the keys above are good, if so."""
    issuer = path.anchor
    if crl.issuer != issuer.subject:
        return PathError(f"the revocation list is by {name_of(crl.issuer)}, not by the root {name(issuer)}")
    if path.authority.issuer != crl.issuer:
        return PathError(f"the revocation list is by {name(issuer)}, which did not issue {name(path.authority)}")
    if not issuer.extensions.get_extension_for_class(x509.KeyUsage).value.crl_sign:
        return PathError(f"{name(issuer)} may not sign revocation lists")
    if crl.partial:
        return PathError(f"the revocation list by {name(issuer)} has a critical extension, so it is partial")
    if not _is_signed(crl, issuer):
        return PathError(f"the revocation list is not signed by {name(issuer)} with RSASSA-PSS and SHA-384")
    if not crl.start <= at <= crl.end:
        return PathError(f"the revocation list counts from {crl.start:{TIME}} to {crl.end:{TIME}}, not at {at:{TIME}}")
    return next(filter(None, (_revoked(crl, each) for each in (path.authority, issuer))), None)


@lru_cache(REMEMBERED)
def _is_signed(crl: RevocationList, issuer: x509.Certificate) -> bool:
    key = issuer.public_key()
    try:
        return isinstance(key, rsa.RSAPublicKey) and signed_as_amd_signs(crl.crl) and crl.crl.is_signature_valid(key)
    except (ValueError, UnsupportedAlgorithm):
        return False


def _revoked(crl: RevocationList, certificate: x509.Certificate) -> PathError | None:
    entry = crl.entry(certificate)
    if entry is None:
        return None
    revoked = f"was revoked {entry.revocation_date_utc:{TIME}}"
    return PathError(f"{name(certificate)} {certificate.serial_number:x} {revoked}", certificate)


REPORT: Final = "AMD 56860, table 23"
GUEST_POLICY: Final = "AMD 56860, table 9"
NO_MEASUREMENT: Final = "measurements not compared"
NO_POLICY: Final = "guest not compared with a policy"
HCL_FORMAT: Final = "Microsoft, Azure confidential VM guest attestation design"
NO_AGENT: Final = bytes([0xFF]) * 32  #: The report id of a migration agent where a guest has none.
OF_THE_HOST: Final = 0xFFFFFFFF  #: The privilege level in a report that the host asked for, and not the guest.


def check_guest(
    steps: Checklist, report: SnpReport, policy: Policy, report_data: bytes | None, runtime_data: bytes | None
) -> None:
    """Take the appraisal steps about the guest in a verified report.

    ``report_data`` are the 64 bytes that the guest should have asked with, if they are known; ``runtime_data`` came
    with the report and should be bound to it, if anything did.

    Raises RefusedError if a step failed.
    """
    _check_binding(steps, report, report_data, runtime_data)
    _check_powers_of_the_host(steps, report, policy)
    level, most = report.vmpl, policy.maximum_vmpl
    who = "the host" if level == OF_THE_HOST else f"VMPL {level}"
    otherwise = f"asked for by {who}; accepted: VMPL 0 to {most}"
    steps.require(level <= most, "vmpl", f"asked for by {who}", otherwise, REPORT)
    _check_platform_info(steps, report, policy)
    _check_launch(steps, report, policy)


def _check_binding(steps: Checklist, report: SnpReport, report_data: bytes | None, runtime_data: bytes | None) -> None:
    hashed = sha256(runtime_data or b"").ljust(len(report.report_data), b"\0")
    bound = runtime_data is not None and hmac.compare_digest(report.report_data, hashed)
    _check_report_data(steps, report, report_data, runtime_data if bound else None)
    if runtime_data is None:
        steps.left_out("runtime-data", "no run-time data came with the report", HCL_FORMAT)
        return
    otherwise = f"the report is over {report.report_data.hex()}, the run-time data has the hash {hashed[:32].hex()}"
    steps.require(bound, "runtime-data", "the report is over the hash of the run-time data", otherwise, HCL_FORMAT)


def _check_report_data(steps: Checklist, report: SnpReport, expected: bytes | None, bound: bytes | None) -> None:
    """Insist on what the guest asked with: in the report, or in the run-time data whose hash the report has."""
    if expected is None:
        steps.not_requested("report-data", "report-data", REPORT, lacking=NOT_FRESH)
        return
    if hmac.compare_digest(report.report_data, expected):
        steps.passed("report-data", "the 64 bytes expected", REPORT)
        return
    otherwise = f"the guest asked with {report.report_data.hex()}, not {expected.hex()}"
    try:
        asked = None if bound is None else user_data(bound)
    except MalformedError as error:
        steps.refuse("report-data", f"{otherwise}; {error}", HCL_FORMAT)
    if asked is None:
        steps.refuse("report-data", otherwise, REPORT)
    told = "the 64 bytes expected: the user-data of the run-time data, whose hash the report has"
    otherwise = f"the guest asked with the user-data {asked.hex()}, not {expected.hex()}"
    steps.require(hmac.compare_digest(asked, expected), "report-data", told, otherwise, HCL_FORMAT)


def _check_powers_of_the_host(steps: Checklist, report: SnpReport, policy: Policy) -> None:
    """Insist that the guest's policy lets the host do no more than the relying party accepts."""
    words = report.policy.words
    debug = DEBUG in words
    allowed = "a debug guest, which the policy allows" if debug else "the host may not read the guest"
    otherwise = "DEBUG is set: the host may read and change the guest"
    steps.require(policy.allow_debug or not debug, "debug", allowed, otherwise, GUEST_POLICY)
    agent = report.migration_agent_report_id
    movable = is_movable(words, agent)
    allowed = "a migration agent, which the policy allows" if movable else "no migration agent may take the guest away"
    otherwise = f"MIGRATE_MA is set, or the guest has an agent: {agent.hex()}"
    steps.require(policy.allow_migration_agent or not movable, "migration", allowed, otherwise, GUEST_POLICY)
    problem = _policy_problem(report, policy)
    shown = ", ".join(sorted(words)) or "no bit set"
    steps.require(problem is None, "guest-policy", shown, f"{problem}", GUEST_POLICY)


def is_movable(guest_policy: Collection[str], agent: bytes) -> bool:
    """Return whether a migration agent may take a guest away: its policy allows one, or it has one."""
    return MIGRATE_MA in guest_policy or agent not in (NO_AGENT, bytes(len(NO_AGENT)))


def _policy_problem(report: SnpReport, policy: Policy) -> str | None:
    words = report.policy.words
    if report.policy.unknown_bits:
        return f"bits of the guest's policy are not as reserved: {', '.join(map(str, report.policy.unknown_bits))}"
    for word, allowed in ((SMT, policy.allow_smt), (CXL_ALLOW, policy.allow_cxl)):
        if word in words and not allowed:
            return f"{word} is set, which the policy does not allow"
    missing = sorted(policy.required_guest_policy - words)
    return f"not set: {', '.join(missing)}" if missing else None


def _check_platform_info(steps: Checklist, report: SnpReport, policy: Policy) -> None:
    if not policy.required_platform_info:
        steps.not_requested("platform-info", POLICY, REPORT, lacking=NO_POLICY)
        return
    missing = sorted(policy.required_platform_info - report.platform.words)
    shown = ", ".join(sorted(policy.required_platform_info))
    steps.require(not missing, "platform-info", f"set: {shown}", f"not set: {', '.join(missing)}", REPORT)


def _check_launch(steps: Checklist, report: SnpReport, policy: Policy) -> None:
    """Hold the guest to the version, measurement, host data and keys that the policy accepts."""
    oldest = policy.minimum_guest_svn
    if oldest is None:
        steps.not_requested("guest-svn", POLICY, REPORT, lacking=NO_POLICY)
    else:
        otherwise = f"the guest's security version is {report.guest_svn}; accepted: from {oldest}"
        steps.require(report.guest_svn >= oldest, "guest-svn", f"{report.guest_svn}", otherwise, REPORT)
    _check_among(steps, "measurement", report.measurement, policy.measurements, NO_MEASUREMENT)
    _check_among(steps, "host-data", report.host_data, policy.host_data, NO_POLICY)
    _check_keys(steps, report, policy)


def _check_among(steps: Checklist, step: str, value: bytes, accepted: frozenset[bytes] | None, lacking: str) -> None:
    if accepted is None:
        steps.not_requested(step, POLICY, REPORT, lacking=lacking)
        return
    otherwise = f"{value.hex()}; accepted: {others(accepted)}"
    steps.require(value in accepted, step, value.hex(), otherwise, REPORT)


def _check_keys(steps: Checklist, report: SnpReport, policy: Policy) -> None:
    """Insist on who signed the guest's identity block, and on who signed that key."""
    asked = {
        "identity key": (report.id_key_digest, policy.id_key_digests),
        "author key": (report.author_key_digest if report.author_key_enabled else None, policy.author_key_digests),
    }
    wanted = {key: (digest, accepted) for key, (digest, accepted) in asked.items() if accepted is not None}
    if not wanted:
        steps.not_requested("id-keys", POLICY, REPORT, lacking=NO_POLICY)
        return
    for key, (digest, accepted) in wanted.items():
        if digest is None or not any(digest):
            steps.refuse("id-keys", f"the guest was launched without an {key}", REPORT)
        if digest not in accepted:
            steps.refuse("id-keys", f"the {key} is {digest.hex()}, none of the {len(accepted)} accepted", REPORT)
    steps.passed("id-keys", f"accepted: {', '.join(wanted)}", REPORT)


ABI_REPORT: Final = "AMD 56860, table 23"
ABI_TCB: Final = "AMD 56860, SNP_CONFIG and SNP_COMMIT"
KEY_PROFILE: Final = "AMD 57230, chapter 3"
KINDS: Final[Mapping[SigningKey, KeyKind]] = {SigningKey.VCEK: KeyKind.VCEK, SigningKey.VLEK: KeyKind.VLEK}


@dataclass(frozen=True, slots=True)
class _Evidence:
    """Everything given, parsed."""

    signed: SignedReport
    certificates: tuple[x509.Certificate, ...]
    leaf: EndorsementKey
    lists: tuple[RevocationList, ...]


@dataclass(frozen=True, slots=True)
class PlatformTcbs:
    """The four TCB versions of a report: reported, committed, current, and at launch."""

    reported: TcbVersion
    committed: TcbVersion
    current: TcbVersion
    launch: TcbVersion


def appraise_report(
    evidence: SnpEvidence,
    *,
    at: datetime,
    policy: Policy,
    anchors: Anchors,
    report_data: bytes | None = None,
    crls: Sequence[bytes] = (),
) -> Appraisal:
    """Appraise the report of an SNP guest.

    Of certificates, the endorsement key's suffices. ``at`` is when it is appraised, with a time zone. ``report_data``
    are the 64 bytes that the verifier expects the guest to have asked with, if it knows; ``crls`` are revocation lists
    of the root, which say whether a key above was revoked.
    """
    steps = Checklist()
    try:
        parsed = _parse(steps, evidence, crls)
        report = parsed.signed.report
        path = _check_chain(steps, parsed, at, anchors)
        _check_signature(steps, parsed.signed, path.leaf)
        _check_signing_key(steps, report, path, policy)
        _check_product(steps, report, path)
        tcbs = _check_tcb(steps, report, path.leaf, policy)
        check_guest(steps, report, policy, report_data, evidence.runtime_data)
        steps.require_taken(policy)
    except RefusedError:
        return steps.conclude({})
    return steps.conclude(_claims(evidence, report, path.leaf, tcbs))


def _parse(steps: Checklist, evidence: SnpEvidence, crls: Sequence[bytes]) -> _Evidence:
    with steps.refusing("parse", MalformedError):
        signed = parse_report(evidence.report)
        certificates = parse_certificates(evidence.certificates or b"")
        leaf = endorsement_key(certificates, KINDS.get(signed.report.signing_key))
        lists = tuple(map(parse_crl_file, crls))
    container = "" if evidence.container is None else f" in an {evidence.container}"
    detail = f"report of version {signed.report.version}{container}; certificates given: {len(certificates)}"
    steps.passed("parse", detail, ABI_REPORT)
    return _Evidence(signed, certificates, leaf, lists)


def _check_chain(steps: Checklist, evidence: _Evidence, at: datetime, anchors: Anchors) -> EndorsementPath:
    with steps.refusing("chain", PathError, X509_PATH):
        path = endorsement_path(evidence.leaf, evidence.certificates, anchors.of(AnchorRole.AMD_SEV))
    shown = " up to ".join(name(certificate) for certificate in path.certificates)
    steps.passed("chain", f"{shown}, each signed with RSASSA-PSS and SHA-384", X509_PATH)
    steps.require_valid(path.certificates, at)
    check_revocation(steps, path, evidence.lists, at)
    return path


def _check_signature(steps: Checklist, signed: SignedReport, leaf: EndorsementKey) -> None:
    """Insist that the key signed the report; r and s are little-endian in it."""
    if signed.report.signing_key is SigningKey.NONE:
        steps.refuse("signature", "the report says that no key signed it", ABI_REPORT)
    try:
        verify_p384(leaf.key, signed.r[::-1] + signed.s[::-1], signed.signed, "the report's signature")
    except AuthenticationError as error:
        steps.refuse("signature", f"{error} with the {leaf.kind} given", ABI_REPORT)
    steps.passed("signature", f"ECDSA P-384 over {len(signed.signed)} bytes", ABI_REPORT)


def _check_signing_key(steps: Checklist, report: SnpReport, path: EndorsementPath, policy: Policy) -> None:
    """Insist that the kind of key that the report names is the kind that AMD certified, and of an accepted cloud."""
    certified = path.leaf.kind
    if KINDS.get(report.signing_key) is not certified:
        found = f"the report says that a {report.signing_key.name} signed it, the certificate is of a {certified}"
        steps.refuse("signing-key", found, ABI_REPORT)
    subject, issuer = common_name(path.leaf.certificate), common_name(path.authority)
    issuers = [AUTHORITIES[certified].format(line) for line in Product]
    if subject != f"SEV-{certified}" or issuer not in issuers:
        found = f"the certificate of a {certified} is of SEV-{certified} by {' or '.join(issuers)}"
        steps.refuse("signing-key", f"{found}; this one is of {subject} by {issuer}", KEY_PROFILE)
    if policy.csp_ids is not None and path.leaf.cloud not in policy.csp_ids:
        cloud = f"a VLEK of the cloud {path.leaf.cloud}" if path.leaf.cloud else "a chip's own key, and no cloud's"
        accepted = ", ".join(sorted(policy.csp_ids)) or "none"
        steps.refuse("signing-key", f"{cloud}; accepted: the clouds {accepted}", KEY_PROFILE)
    contradiction = report.chip_key_masked and certified is KeyKind.VCEK
    otherwise = "signed by the chip's own key, of which the report says that it is not used (MASK_CHIP_KEY)"
    steps.require(not contradiction, "signing-key", f"{subject} by {issuer}", otherwise, ABI_REPORT)


def _check_product(steps: Checklist, report: SnpReport, path: EndorsementPath) -> None:
    """Insist that key, authorities and the processor's own numbers are of one line."""
    leaf, cpuid = path.leaf, report.cpuid
    authorities = [AUTHORITIES[leaf.kind].format(leaf.product), f"ARK-{leaf.product}"][: len(path.certificates) - 1]
    found = [common_name(certificate) for certificate in path.certificates[1:]]
    if found != authorities:
        steps.refuse("product", f"the key is for {leaf.product_name}, its authorities are {found}", KEY_PROFILE)
    if cpuid is None:
        steps.passed("product", f"{leaf.product_name}; version {report.version} has no CPUID", KEY_PROFILE)
        return
    numbers = f"family {cpuid.family:x}h, model {cpuid.model:x}h, stepping {cpuid.stepping:x}h"
    line = line_of(cpuid.family, cpuid.model)
    otherwise = f"the key is for {leaf.product_name}, the report is of {line or 'an unknown processor'}: {numbers}"
    steps.require(line == leaf.product, "product", f"{leaf.product_name}, {numbers}", otherwise, ABI_REPORT)


def _check_tcb(steps: Checklist, report: SnpReport, leaf: EndorsementKey, policy: Policy) -> PlatformTcbs:
    """Take the steps about the platform: that the key is of this TCB and chip, and that no version contradicts one."""
    reported = _tcb(steps, "certificate-tcb", report.reported_tcb, leaf)
    if reported != leaf.tcb:
        otherwise = f"the report is signed for {reported}; the certificate is for {leaf.tcb}"
        steps.refuse("certificate-tcb", otherwise, KEY_PROFILE, differences=_other_parts(reported, leaf.tcb))
    steps.passed("certificate-tcb", f"{reported}", KEY_PROFILE)
    _check_chip_id(steps, report, leaf, policy)
    committed, current, launch = (
        _tcb(steps, "tcb-order", each, leaf) for each in (report.committed_tcb, report.current_tcb, report.launch_tcb)
    )
    tcbs = PlatformTcbs(reported, committed, current, launch)
    problem = _disorder(tcbs, report)
    order = "reported ≤ committed ≤ current, launch ≤ current"
    steps.require(problem is None, "tcb-order", order, f"{problem}", ABI_TCB)
    _check_minimum(steps, tcbs, policy)
    return tcbs


def _tcb(steps: Checklist, step: str, data: bytes, leaf: EndorsementKey) -> TcbVersion:
    with steps.refusing(step, MalformedError, ABI_TCB):
        return parse_tcb(data, leaf.product)


def _check_chip_id(steps: Checklist, report: SnpReport, leaf: EndorsementKey, policy: Policy) -> None:
    """Insist that the report is of the chip that the key was derived for, and of one that the policy accepts.

    Turin's ids are 8 bytes, then zeros.
    """
    _check_among_chips(steps, report, policy)
    if leaf.hardware_id is None:
        steps.left_out("chip-id", f"a VLEK belongs to a cloud and to no chip: {leaf.cloud}", KEY_PROFILE)
        return
    if not any(report.chip_id):
        if not policy.allow_masked_chip_id:
            steps.refuse("chip-id", "the report does not say which chip it is of, and the policy wants to know")
        steps.left_out("chip-id", "the report masks it, which the policy allows", ABI_REPORT)
        return
    expected = leaf.hardware_id.ljust(len(report.chip_id), b"\0")
    otherwise = f"the report is of chip {report.chip_id.hex()}, the certificate is for {leaf.hardware_id.hex()}"
    same = hmac.compare_digest(report.chip_id, expected)
    steps.require(same, "chip-id", f"the chip that the key is of, {leaf.hardware_id.hex()}", otherwise, KEY_PROFILE)


def _check_among_chips(steps: Checklist, report: SnpReport, policy: Policy) -> None:
    if policy.chip_ids is None:
        return
    accepted = {chip.ljust(len(report.chip_id), b"\0") for chip in policy.chip_ids if any(chip)}
    found = report.chip_id.hex() if any(report.chip_id) else "no chip, for the report masks it"
    if report.chip_id not in accepted:
        steps.refuse("chip-id", f"the report is of {found}; accepted: {others(accepted)}", ABI_REPORT)


def _disorder(tcbs: PlatformTcbs, report: SnpReport) -> str | None:
    """Return which versions contradict each other, if any do.

    The firmware reports no TCB above the committed one, and runs none below it. One that is older than at the launch
    of the guest was put back since, which firmware that is not committed yet can be.
    """
    ordered = (
        ("committed", tcbs.committed, "reported", tcbs.reported),
        ("current", tcbs.current, "committed", tcbs.committed),
        ("current", tcbs.current, "launch", tcbs.launch),
    )
    for which, tcb, other, least in ordered:
        older = tcb.below(least.parts)
        if older is not None:
            return f"the {which} TCB is older than the {other} one: {older}"
    current, committed = report.current_version, report.committed_version
    if current.order < committed.order:
        return f"firmware {current} runs, and is older than the committed {committed}"
    if current.order[:2] < report.policy.minimum_abi:
        major, minor = report.policy.minimum_abi
        return f"firmware {current} runs a guest that asks for ABI {major}.{minor}"
    return None


def _check_minimum(steps: Checklist, tcbs: PlatformTcbs, policy: Policy) -> None:
    """Hold the platform to the oldest versions that the policy accepts."""
    asked: list[tuple[str, TcbVersion, Minimum | None]] = [
        ("reported", tcbs.reported, policy.minimum_tcb),
        ("launch", tcbs.launch, policy.minimum_launch_tcb),
    ]
    if policy.minimum_tcb is None and policy.minimum_launch_tcb is None:
        steps.not_requested("minimum-tcb", POLICY, ABI_TCB, lacking=NOT_COMPARED)
        return
    for which, tcb, minimum in asked:
        if minimum is None:
            continue
        if tcb.product not in minimum:
            steps.refuse("minimum-tcb", f"the policy accepts no {tcb.product}: it names no minimum for it", ABI_TCB)
        older = tcb.below(minimum[tcb.product])
        if older is not None:
            told = f"the {which} TCB is older than the policy accepts: {older}"
            behind = _parts_behind(which, tcb, minimum[tcb.product])
            steps.refuse("minimum-tcb", told, ABI_TCB, differences=behind)
    if any(minimum and minimum[tcb.product] for _, tcb, minimum in asked):
        steps.passed("minimum-tcb", "no part is older than the policy accepts", ABI_TCB)
    else:
        why = f"the policy accepts any {tcbs.reported.product}: it names no part of its TCB"
        steps.left_out("minimum-tcb", why, ABI_TCB, lacking=NOT_COMPARED)


def _parts_behind(which: str, tcb: TcbVersion, minimum: Mapping[str, int]) -> tuple[Difference, ...]:
    """Return each part of a TCB that is older than a minimum."""
    return tuple(
        Difference(
            f"{part} of the {which} TCB",
            f"{tcb.parts[part]}",
            (f"from {least}",),
            f"the policy's minimum for {tcb.product}",
            {"tcb": which, "component": part, "value": tcb.parts[part], "minimum": least},
        )
        for part, least in minimum.items()
        if tcb.parts[part] < least
    )


def _other_parts(reported: TcbVersion, certified: TcbVersion) -> tuple[Difference, ...]:
    """Return each part for which a report was signed by another version than its certificate is for."""
    return tuple(
        Difference(
            f"{part} of the reported TCB",
            f"{version}",
            (f"{certified.parts[part]}",),
            "the certificate of the key",
            {"tcb": "reported", "component": part, "value": version, "certified": certified.parts[part]},
        )
        for part, version in reported.parts.items()
        if version != certified.parts[part]
    )


def _claims(evidence: SnpEvidence, report: SnpReport, leaf: EndorsementKey, tcbs: PlatformTcbs) -> dict[str, object]:
    major, minor = report.policy.minimum_abi
    return {
        "tee": "SEV-SNP",
        "report_version": report.version,
        "container": evidence.container,
        "product": leaf.product.value,
        "product_name": leaf.product_name,
        "signing_key": leaf.kind.value,
        "chip_id": report.chip_id.hex() if any(report.chip_id) else None,
        "cloud": leaf.cloud,
        "measurement": report.measurement.hex(),
        "report_data": report.report_data.hex(),
        "host_data": report.host_data.hex(),
        "guest_policy": sorted(report.policy.words),
        "minimum_abi": f"{major}.{minor}",
        "guest_svn": report.guest_svn,
        "vmpl": report.vmpl,
        "family_id": report.family_id.hex(),
        "image_id": report.image_id.hex(),
        "id_key_digest": report.id_key_digest.hex() if any(report.id_key_digest) else None,
        "author_key_digest": report.author_key_digest.hex() if report.author_key_enabled else None,
        "report_id": report.report_id.hex(),
        "report_id_ma": report.migration_agent_report_id.hex(),
        "platform_info": sorted(report.platform.words),
        "unknown_platform_info": list(report.platform.unknown_bits),
        "reported_tcb": dict(tcbs.reported.parts),
        "committed_tcb": dict(tcbs.committed.parts),
        "current_tcb": dict(tcbs.current.parts),
        "launch_tcb": dict(tcbs.launch.parts),
        "current_version": f"{report.current_version}",
        "committed_version": f"{report.committed_version}",
        "launch_mitigations": _bits(report.launch_mitigations),
        "current_mitigations": _bits(report.current_mitigations),
        "user_data": _user_data(evidence.runtime_data),
        "runtime_data_sha256": None if evidence.runtime_data is None else sha256(evidence.runtime_data).hex(),
    }


def _user_data(runtime_data: bytes | None) -> str | None:
    """Return what a guest of Azure asked with, in hexadecimal, where its run-time data says it."""
    try:
        found = None if runtime_data is None else user_data(runtime_data)
    except MalformedError:
        return None
    return None if found is None else found.hex()


def _bits(vector: int | None) -> str | None:
    return None if vector is None else f"{vector:#x}"
