"""The steps that need collateral: who published it, about whom, when, and which TCB level is reached."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from carnet_ref.attestation.appraisal import AnchorRole, Anchors, Appraisal
from carnet_ref.attestation.intel import collateral as tcb
from carnet_ref.attestation.intel.appraisal import DEFAULT_POLICY, DEFAULT_STATUSES, appraise_quote
from carnet_ref.attestation.intel.certificates import TCB_SIGNING, PlatformTcb
from carnet_ref.attestation.intel.quote import parse_quote
from carnet_ref.attestation.simulated.authority import Authority, Issued, revocation_list
from carnet_ref.attestation.simulated.td import SimulatedPlatform
from carnet_ref.crypto.certificate_path import fingerprint
from carnet_ref.crypto.primitives import sign_p256
from tests.fixtures.simulated_quotes import (
    CODE_SIGNING,
    NOW,
    PLATFORM,
    QUOTE,
    VERSIONS,
    appraised,
    edited,
    of_tdx_15,
    of_tdx_15_ex,
)

PCK, PCK_AUTHORITY, ROOT = PLATFORM.pck_chain
OTHER = SimulatedPlatform(b"another platform", NOW, fmspc=b"\1" * 6)
IMPOSTOR = SimulatedPlatform(b"an impostor", NOW, fmspc=PLATFORM.fmspc)
DAY = timedelta(days=1)
MONTH = timedelta(days=30)
PARTS = {
    "TCB info": ("tcb_info", "tcb_info_signature"),
    "QE identity": ("qe_identity", "qe_identity_signature"),
    "root list": ("root_ca_crl",),
    "PCK list": ("pck_crl",),
}


def pem(*issued: Issued) -> str:
    return b"".join(each.certificate.public_bytes(Encoding.PEM) for each in issued).decode()


def published(**changes: str) -> bytes:
    return json.dumps(json.loads(PLATFORM.collateral) | changes).encode()


def fields_of(collateral: bytes, names: Sequence[str]) -> dict[str, str]:
    fields = json.loads(collateral)
    return {name: fields[name] for name in names}


def signed_by(signer: Issued, name: str, *chain: Issued) -> dict[str, str]:
    """Return a document of the platform's collateral, signed by somebody else."""
    body = json.loads(PLATFORM.collateral)[name].encode()
    return {f"{name}_signature": sign_p256(signer.key, body).hex(), f"{name}_issuer_chain": pem(signer, *chain)}


def another_signer(lasting: timedelta = 3650 * DAY, extensions: Sequence[x509.UnrecognizedExtension] = ()) -> Issued:
    """Return a second TCB signing certificate under the platform's root."""
    maker = Authority(b"second signer", ec.SECP256R1(), hashes.SHA256(), NOW, NOW + lasting)
    return maker.issue(TCB_SIGNING, ROOT, authority=False, extensions=extensions)


def test_collateral_of_another_platform_is_refused_naming_both() -> None:
    """Published by the same authority, for platforms of another kind."""
    anchors = Anchors(
        {AnchorRole.INTEL_SGX: (*PLATFORM.anchors.of(AnchorRole.INTEL_SGX), *OTHER.anchors.of(AnchorRole.INTEL_SGX))}
    )
    theirs = json.loads(OTHER.collateral)
    lent = {name: theirs[name] for name in ("tcb_info", "tcb_info_signature", "tcb_info_issuer_chain")}
    appraisal = appraise_quote(QUOTE, at=NOW, policy=DEFAULT_POLICY, anchors=anchors, collateral=published(**lent))
    assert appraisal.failed_step == "fmspc"
    assert PLATFORM.fmspc.hex() in appraisal.steps[-1].detail
    assert OTHER.fmspc.hex() in appraisal.steps[-1].detail


@pytest.mark.parametrize("name", ["tcb_info", "qe_identity"])
def test_neither_a_platform_nor_another_root_nor_another_purpose_signs_collateral(name: str) -> None:
    text = json.loads(PLATFORM.collateral)[name]
    assert appraised(collateral=published(**{name: text + " "})).failed_step == "collateral-signature"
    body = json.loads(PLATFORM.collateral)[name].encode()
    own = {f"{name}_signature": sign_p256(PCK.key, body).hex(), f"{name}_issuer_chain": pem(*PLATFORM.pck_chain)}
    appraisal = appraised(collateral=published(**own))
    assert appraisal.failed_step == "collateral-signature"
    assert "Intel SGX TCB Signing" in appraisal.steps[-1].detail
    theirs = fields_of(IMPOSTOR.collateral, (name, f"{name}_signature", f"{name}_issuer_chain"))
    assert appraised(collateral=published(**theirs)).failed_step == "collateral-signature"
    signer = another_signer(extensions=[CODE_SIGNING])
    appraisal = appraised(collateral=published(**signed_by(signer, name, ROOT)))
    assert (appraisal.failed_step, "codeSigning" in appraisal.steps[-1].detail) == ("collateral-signature", True)


@pytest.mark.parametrize("name", ["root_ca_crl", "pck_crl"])
def test_a_revocation_list_of_somebody_else_is_refused(name: str) -> None:
    theirs = json.loads(OTHER.collateral)[name]
    assert appraised(collateral=published(**{name: theirs})).failed_step == "collateral-signature"


def test_an_authority_that_may_not_sign_lists_signs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def usage(authority: bool) -> x509.KeyUsage:
        return x509.KeyUsage(not authority, False, False, False, False, authority, False, False, False)

    monkeypatch.setattr("carnet_ref.attestation.simulated.authority._usage", usage)
    listless = SimulatedPlatform(b"no lists", NOW)
    appraisal = appraise_quote(
        listless.td().quote(bytes(64)),
        at=NOW,
        policy=DEFAULT_POLICY,
        anchors=listless.anchors,
        collateral=listless.collateral,
    )
    assert appraisal.failed_step == "collateral-signature"
    assert "may not sign revocation lists" in appraisal.steps[-1].detail


def test_each_revocation_list_is_of_its_own_issuer() -> None:
    lists = json.loads(PLATFORM.collateral)
    swapped = published(root_ca_crl=lists["pck_crl"], pck_crl=lists["root_ca_crl"])
    assert appraised(collateral=swapped).failed_step == "collateral-signature"
    other = json.loads(PLATFORM.collateral)["tcb_info_issuer_chain"]
    assert appraised(collateral=published(pck_crl_issuer_chain=other)).failed_step == "collateral-signature"
    renamed = replace(ROOT, certificate=PLATFORM.tcb_signer.certificate)
    crl = revocation_list(renamed, NOW, MONTH, []).public_bytes(Encoding.DER).hex()
    assert appraised(collateral=published(root_ca_crl=crl)).failed_step == "collateral-signature"


@pytest.mark.mends("E6")
def test_every_certificate_beside_the_pck_list_counts() -> None:
    """The root there is not needed, but an unchecked one is a place where bytes could be changed unnoticed."""
    chain = {"pck_crl_issuer_chain": pem(PCK_AUTHORITY, IMPOSTOR.pck_chain[2])}
    appraisal = appraised(collateral=published(**chain))
    assert (appraisal.failed_step, "no trust anchor" in appraisal.steps[-1].detail) == ("collateral-signature", True)
    assert appraised(collateral=published(pck_crl_issuer_chain=pem(PCK_AUTHORITY))).accepted


@pytest.mark.parametrize("issued", [PCK, PCK_AUTHORITY], ids=["platform", "authority"])
def test_a_revoked_certificate_is_refused(issued: Issued) -> None:
    collateral = PLATFORM.issue_collateral(NOW, revoked=[issued.certificate])
    assert appraised(collateral=collateral).failed_step == "revocation"


def test_a_revoked_signer_of_collateral_and_collateral_before_its_time_are_refused() -> None:
    signer = PLATFORM.tcb_signer.certificate
    assert appraised(collateral=PLATFORM.issue_collateral(NOW, revoked=[signer])).failed_step == "revocation"
    collateral = PLATFORM.issue_collateral(NOW + 10 * DAY)
    assert appraised(collateral=collateral, at=NOW + DAY).failed_step == "collateral-validity"


@pytest.mark.parametrize(("days", "step"), [(0, None), (30, None), (31, "collateral-validity")])
def test_collateral_is_current_when_it_is_used(days: int, step: str | None) -> None:
    assert appraised(collateral=PLATFORM.collateral, at=NOW + days * DAY).failed_step == step


@pytest.mark.parametrize(("days", "step"), [(1, None), (2, "collateral-validity")])
def test_a_policy_may_want_collateral_that_is_young(days: int, step: str | None) -> None:
    policy = replace(DEFAULT_POLICY, collateral_ttl=86400)
    assert appraised(collateral=PLATFORM.collateral, policy=policy, at=NOW + days * DAY).failed_step == step


@pytest.mark.parametrize("part", ["TCB info", "QE identity"])
def test_collateral_is_as_old_as_its_oldest_document(part: str) -> None:
    older = published(**fields_of(PLATFORM.issue_collateral(NOW - 5 * DAY), PARTS[part]))
    policy = replace(DEFAULT_POLICY, collateral_ttl=86400)
    assert appraised(collateral=older, policy=policy).failed_step == "collateral-validity"


LATE = {tcb.TcbStatus.OUT_OF_DATE, tcb.TcbStatus.OUT_OF_DATE_CONFIGURATION_NEEDED, tcb.TcbStatus.REVOKED}
ANY_BUT_REVOKED = replace(DEFAULT_POLICY, tcb_statuses=frozenset(tcb.TcbStatus) - {tcb.TcbStatus.REVOKED})


@pytest.mark.mends("E4")
@pytest.mark.parametrize("status", sorted(tcb.PUBLISHED_STATUSES))
def test_a_platform_that_misses_an_update_is_refused_by_default(status: tcb.TcbStatus) -> None:
    appraisal = appraised(collateral=PLATFORM.issue_collateral(NOW, status=status))
    assert appraisal.failed_step == ("tcb-status" if status in LATE else None)
    assert appraisal.claims.get("tcb_status") == (None if status in LATE else status.value)


@pytest.mark.parametrize("status", sorted(tcb.DERIVED_STATUSES))
def test_a_status_that_only_follows_is_no_published_one(status: tcb.TcbStatus) -> None:
    appraisal = appraised(collateral=PLATFORM.issue_collateral(NOW, status=status))
    assert (appraisal.failed_step, "a published status" in appraisal.steps[-1].detail) == ("parse", True)


@pytest.mark.parametrize("status", sorted(tcb.PUBLISHED_STATUSES))
def test_a_policy_names_the_statuses_that_it_accepts(status: tcb.TcbStatus) -> None:
    appraisal = appraised(collateral=PLATFORM.issue_collateral(NOW, status=status), policy=ANY_BUT_REVOKED)
    assert appraisal.claims.get("tcb_status") == (None if status is tcb.TcbStatus.REVOKED else status.value)
    policy = replace(DEFAULT_POLICY, tcb_statuses=frozenset({tcb.TcbStatus.UP_TO_DATE}))
    appraisal = appraised(collateral=PLATFORM.issue_collateral(NOW, status=status), policy=policy)
    assert appraisal.accepted == (status is tcb.TcbStatus.UP_TO_DATE)


@pytest.mark.parametrize(("number", "step"), [(1, None), (2, "tcb-status")])
def test_a_policy_may_want_a_later_evaluation(number: int, step: str | None) -> None:
    policy = replace(DEFAULT_POLICY, minimum_evaluation_number=number)
    assert appraised(collateral=PLATFORM.collateral, policy=policy).failed_step == step


def test_a_policy_may_reject_advisories() -> None:
    collateral = PLATFORM.issue_collateral(NOW, status=tcb.TcbStatus.SW_HARDENING_NEEDED, advisories=["INTEL-SA-1"])
    policy = replace(DEFAULT_POLICY, rejected_advisories=frozenset({"INTEL-SA-1"}))
    assert appraised(collateral=collateral).claims["advisories"] == ["INTEL-SA-1"]
    assert appraised(collateral=collateral, policy=policy).failed_step == "tcb-status"


@pytest.mark.parametrize("name", ["tcb_info", "qe_identity"])
def test_each_document_s_own_signer_may_be_revoked_and_has_to_be_valid(name: str) -> None:
    signer = another_signer()
    collateral = published(**signed_by(signer, name, ROOT))
    assert appraised(collateral=collateral).accepted
    crl = revocation_list(ROOT, NOW, MONTH, [signer.certificate]).public_bytes(Encoding.DER).hex()
    revoked = published(**signed_by(signer, name, ROOT), root_ca_crl=crl)
    assert appraised(collateral=revoked).failed_step == "revocation"
    collateral = published(**signed_by(another_signer(DAY), name, ROOT))
    assert appraised(collateral=collateral, at=NOW + DAY).accepted
    assert appraised(collateral=collateral, at=NOW + 2 * DAY).failed_step == "collateral-validity"


@pytest.mark.mends("E5")
@pytest.mark.parametrize("name", ["tcb_info", "qe_identity"])
def test_a_signer_of_whose_issuer_there_is_no_list_is_refused(name: str) -> None:
    """The root's list says nothing about what another authority issued, whatever the numbers on it."""
    maker = Authority(b"below", ec.SECP256R1(), hashes.SHA256(), NOW, NOW + 3650 * DAY)
    signer = maker.issue(TCB_SIGNING, PCK_AUTHORITY, authority=False)
    appraisal = appraised(collateral=published(**signed_by(signer, name, PCK_AUTHORITY, ROOT)))
    assert appraisal.failed_step == "revocation"
    assert "no revocation list of" in appraisal.steps[-1].detail


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("issued", [-31, 20], ids=["expired", "not issued yet"])
def test_each_part_has_to_be_current_by_itself(part: str, issued: int) -> None:
    stale = fields_of(PLATFORM.issue_collateral(NOW + issued * DAY), PARTS[part])
    appraisal = appraised(collateral=published(**stale), at=NOW + DAY)
    assert appraisal.failed_step == "collateral-validity"
    assert part.split(maxsplit=1)[0] in appraisal.steps[-1].detail


def test_a_list_that_speaks_of_a_part_of_the_certificates_is_refused() -> None:
    """A critical extension says so, and whoever does not understand it must not use the list."""
    scope = x509.IssuingDistributionPoint(None, None, True, False, None, False, False)
    builder = x509.CertificateRevocationListBuilder().issuer_name(ROOT.certificate.subject)
    builder = builder.last_update(NOW).next_update(NOW + MONTH).add_extension(scope, critical=True)
    crl = builder.sign(ROOT.key, hashes.SHA256()).public_bytes(Encoding.DER).hex()
    assert appraised(collateral=published(root_ca_crl=crl)).failed_step == "collateral-signature"


def with_an_older_level() -> bytes:
    """Return collateral with a second level, out of date, for older components and for an older TDX module."""
    info = json.loads(json.loads(PLATFORM.collateral)["tcb_info"])
    (current,), (module,) = info["tcbLevels"], info["tdxModuleIdentities"]
    of_module = module["tcbLevels"][0] | {"tcb": {"isvsvn": VERSIONS[0] - 1}, "tcbStatus": "OutOfDate"}
    older = json.loads(json.dumps(current)) | {"tcbStatus": "OutOfDate"}
    current["tcb"]["tdxtcbcomponents"][2] = {"svn": VERSIONS[2], "category": "OS/VMM", "type": "a part"}
    older["tcb"]["tdxtcbcomponents"][2]["svn"] = VERSIONS[2] - 1
    info |= {
        "tcbLevels": [current, older],
        "tdxModuleIdentities": [module | {"tcbLevels": [*module["tcbLevels"], of_module]}],
    }
    body = json.dumps(info)
    signature = sign_p256(PLATFORM.tcb_signer.key, body.encode()).hex()
    return published(tcb_info=body, tcb_info_signature=signature)


@pytest.mark.parametrize("moment", ["start", "start of a TD report 1.5 Ex", "now", "both"])
@pytest.mark.parametrize(
    ("place", "older", "step", "status"),
    [
        (0, 0, None, "UpToDate"),
        (0, 1, None, "OutOfDate"),
        (0, 2, "tdx-module", None),
        (2, 1, None, "OutOfDate"),
        (2, 2, "tcb-status", None),
    ],
)
def test_the_worse_of_the_versions_at_the_start_of_a_td_and_of_now_counts_or_it_should_be_started_anew(
    moment: str, place: int, older: int, step: str | None, status: str | None
) -> None:
    versions = edited(VERSIONS, place, bytes([VERSIONS[place] - older]))
    quote = {
        "start": of_tdx_15(start=versions),
        "start of a TD report 1.5 Ex": of_tdx_15_ex(start=versions),
        "now": of_tdx_15(now=versions),
        "both": of_tdx_15(start=versions, now=versions),
    }[moment]
    appraisal = appraised(quote, collateral=with_an_older_level(), policy=ANY_BUT_REVOKED)
    told = "TDRelaunchAdvised" if status == "OutOfDate" and moment.startswith("start") else status
    assert (appraisal.failed_step, appraisal.claims.get("tcb_status")) == (step, told)


STARTED_LATE = of_tdx_15(start=edited(VERSIONS, 2, bytes([VERSIONS[2] - 1])))


def differences(appraisal: Appraisal) -> list[tuple[str, str, tuple[str, ...]]]:
    return [(each.what, each.found, each.expected) for each in appraisal.steps[-1].differences]


def test_a_component_that_is_behind_is_named_with_what_it_reached_and_what_is_asked() -> None:
    late = edited(VERSIONS, 2, bytes([VERSIONS[2] - 1]))
    refused = appraised(of_tdx_15(start=late, now=late), collateral=with_an_older_level())
    assert refused.failed_step == "tcb-status"
    (behind,) = refused.steps[-1].differences
    assert (behind.what, behind.found) == ("TDX TCB component 2 (OS/VMM: a part)", f"{VERSIONS[2] - 1}")
    assert behind.expected == (f"from {VERSIONS[2]}",)
    assert behind.details["level_asked"] == {"status": "UpToDate", "date": f"{NOW:%Y-%m-%dT%H:%M:%SZ}"}
    assert behind.details["level_reached"] == {"status": "OutOfDate", "date": f"{NOW:%Y-%m-%dT%H:%M:%SZ}"}
    assert "it reached that of" in behind.origin


def test_a_component_below_every_level_is_named_too() -> None:
    late = edited(VERSIONS, 2, bytes([VERSIONS[2] - 2]))
    refused = appraised(of_tdx_15(start=late, now=late), collateral=with_an_older_level())
    (behind,) = refused.steps[-1].differences
    assert (refused.failed_step, behind.details["level_reached"]) == ("tcb-status", None)
    assert "it reaches no level" in behind.origin


def test_a_policy_that_accepts_the_older_level_asks_for_that_one() -> None:
    late = edited(VERSIONS, 2, bytes([VERSIONS[2] - 2]))
    refused = appraised(of_tdx_15(start=late, now=late), collateral=with_an_older_level(), policy=ANY_BUT_REVOKED)
    (behind,) = refused.steps[-1].differences
    assert behind.expected == (f"from {VERSIONS[2] - 1}",)


def test_a_tdx_module_that_is_behind_is_named() -> None:
    late = edited(VERSIONS, 0, bytes([VERSIONS[0] - 1]))
    refused = appraised(of_tdx_15(start=late, now=late), collateral=with_an_older_level())
    assert refused.failed_step == "tcb-status"
    assert differences(refused) == [
        (f"version of the TDX module TDX_{VERSIONS[1]:02X}", f"{VERSIONS[0] - 1}", (f"from {VERSIONS[0]}",))
    ]


def test_what_is_behind_at_one_moment_says_at_which() -> None:
    refused = appraised(STARTED_LATE, collateral=with_an_older_level())
    ((what, _, _),) = differences(refused)
    assert what.endswith("at the start of the TD")


@pytest.mark.parametrize("status", sorted(LATE))
def test_where_no_published_level_is_accepted_no_update_helps_and_that_is_said(status: tcb.TcbStatus) -> None:
    refused = appraised(collateral=PLATFORM.issue_collateral(NOW, status=status))
    assert refused.steps[-1].detail.endswith("no published level is accepted, so no update mends that")
    assert refused.steps[-1].differences == ()


@pytest.mark.parametrize("issued", [PCK, PCK_AUTHORITY], ids=["platform", "authority"])
def test_a_revoked_certificate_is_named_by_its_subject(issued: Issued) -> None:
    refused = appraised(collateral=PLATFORM.issue_collateral(NOW, revoked=[issued.certificate]))
    (named,) = refused.steps[-1].differences
    assert named.details["subject"] == issued.certificate.subject.rfc4514_string()
    assert named.found.startswith("revoked ")


def test_a_certificate_that_does_not_lead_to_the_root_is_named_by_its_subject() -> None:
    refused = appraise_quote(QUOTE, at=NOW, policy=DEFAULT_POLICY, anchors=OTHER.anchors)
    (named,) = refused.steps[-1].differences
    assert (refused.failed_step, named.details["sha256"]) == ("pck-chain", fingerprint(ROOT.certificate))


@pytest.mark.parametrize(
    ("statuses", "accepted"),
    [
        ({tcb.TcbStatus.TD_RELAUNCH_ADVISED}, True),
        ({tcb.TcbStatus.OUT_OF_DATE}, True),
        ({tcb.TcbStatus.UP_TO_DATE}, False),
        ({tcb.TcbStatus.TD_RELAUNCH_ADVISED_CONFIGURATION_NEEDED}, False),
        (DEFAULT_STATUSES, False),
    ],
)
def test_a_td_to_be_started_anew_is_accepted_where_a_policy_says_so(
    statuses: frozenset[tcb.TcbStatus], accepted: bool
) -> None:
    """A policy that accepts a platform that is out of date accepts one that no longer is, too."""
    policy = replace(DEFAULT_POLICY, tcb_statuses=frozenset(statuses))
    appraisal = appraised(STARTED_LATE, collateral=with_an_older_level(), policy=policy)
    assert (appraisal.accepted, appraisal.failed_step) == (accepted, None if accepted else "tcb-status")


RELAUNCH = [
    ("OutOfDate", "UpToDate", "TDRelaunchAdvised"),
    ("OutOfDate", "SWHardeningNeeded", "TDRelaunchAdvised"),
    ("OutOfDate", "ConfigurationNeeded", "TDRelaunchAdvisedConfigurationNeeded"),
    ("OutOfDate", "ConfigurationAndSWHardeningNeeded", "TDRelaunchAdvisedConfigurationNeeded"),
    ("OutOfDateConfigurationNeeded", "UpToDate", "TDRelaunchAdvisedConfigurationNeeded"),
    ("OutOfDateConfigurationNeeded", "SWHardeningNeeded", "TDRelaunchAdvisedConfigurationNeeded"),
    ("OutOfDate", "OutOfDate", "OutOfDate"),
    ("OutOfDate", "OutOfDateConfigurationNeeded", "OutOfDateConfigurationNeeded"),
    ("OutOfDate", "Revoked", "Revoked"),
    ("UpToDate", "OutOfDate", "OutOfDate"),
    ("UpToDate", "UpToDate", "UpToDate"),
    ("SWHardeningNeeded", "UpToDate", "SWHardeningNeeded"),
    ("ConfigurationNeeded", "OutOfDate", "OutOfDateConfigurationNeeded"),
    ("Revoked", "UpToDate", "Revoked"),
]


@pytest.mark.parametrize(("launch", "current", "told"), RELAUNCH)
def test_the_status_of_two_moments_is_that_of_intels_library_or_a_worse_one(
    launch: str, current: str, told: str
) -> None:
    found = tcb.of_two_moments(level(S(launch), "A"), level(S(current), "B"))
    assert (found.status, found.advisories) == (told, ("A", "B"))


S = tcb.TcbStatus
REPORT = parse_quote(QUOTE).report._replace(tee_tcb_svn=bytes((5, 1, 3)) + bytes(13))
REPORT_1_0 = REPORT._replace(tee_tcb_svn=bytes((5, 0, 3)) + bytes(13))
ENCLAVE = parse_quote(QUOTE).signature.qe_report
TCB = PlatformTcb((4,) * 16, 10)


def level(status: tcb.TcbStatus = S.UP_TO_DATE, *advisories: str, date: datetime = NOW) -> tcb.Level:
    return tcb.Level(status, date, advisories)


def platform_at(sgx: int, tdx: tuple[int, int, int], pcesvn: int, status: tcb.TcbStatus) -> tcb.PlatformLevel:
    return tcb.PlatformLevel((sgx,) * 16, (*tdx, *bytes(13)), pcesvn, level(status))


MODULE = tcb.ModuleIdentity("", bytes(48), bytes(8), b"\xff" * 8, ())
IDENTITY = MODULE._replace(
    id="TDX_01", levels=(tcb.SvnLevel(5, level(S.UP_TO_DATE)), tcb.SvnLevel(2, level(S.OUT_OF_DATE, "SA-1")))
)
INFO = tcb.TcbInfo(bytes(6), bytes(2), NOW, NOW, 1, MODULE, (IDENTITY,), ())


@pytest.mark.parametrize(
    ("first", "reached"),
    [
        (platform_at(4, (5, 0, 3), 10, S.UP_TO_DATE), True),
        (platform_at(3, (0, 0, 0), 9, S.UP_TO_DATE), True),
        (platform_at(5, (5, 0, 3), 10, S.UP_TO_DATE), False),
        (platform_at(4, (5, 0, 3), 11, S.UP_TO_DATE), False),
        (platform_at(4, (5, 0, 4), 10, S.UP_TO_DATE), False),
        (platform_at(4, (9, 0, 3), 10, S.UP_TO_DATE), True),
        (platform_at(4, (5, 9, 3), 10, S.UP_TO_DATE), True),
    ],
    ids=["equal", "above", "SGX version", "PCESVN", "TDX version", "module's SVN is its own", "module's version too"],
)
def test_a_platform_reaches_a_level_when_every_version_does(first: tcb.PlatformLevel, reached: bool) -> None:
    info = INFO._replace(levels=(first, platform_at(0, (0, 0, 0), 0, S.OUT_OF_DATE)))
    assert tcb.platform_level(info, TCB, REPORT).status == (S.UP_TO_DATE if reached else S.OUT_OF_DATE)


@pytest.mark.parametrize(("needed", "reached"), [((5, 0, 3), True), ((6, 0, 3), False), ((5, 1, 3), False)])
def test_with_tdx_1_0_all_tdx_versions_count(needed: tuple[int, int, int], reached: bool) -> None:
    info = INFO._replace(levels=(platform_at(4, needed, 10, S.UP_TO_DATE), platform_at(0, (0, 0, 0), 0, S.OUT_OF_DATE)))
    assert (tcb.platform_level(info, TCB, REPORT_1_0).status is S.UP_TO_DATE) == reached


def test_a_platform_below_every_level_matches_none_and_bits_outside_the_mask_do_not_count() -> None:
    with pytest.raises(tcb.NoMatchError):
        tcb.platform_level(INFO._replace(levels=(platform_at(9, (0, 0, 0), 0, S.OUT_OF_DATE),)), TCB, REPORT)
    assert tcb.module_level(INFO, REPORT_1_0) is None
    masked = replace(QE, attributes=bytes(16), attributes_mask=bytes(16), miscselect_mask=0)
    assert tcb.qe_level(masked, ENCLAVE._replace(miscselect=7)).status is S.UP_TO_DATE


@pytest.mark.parametrize(("svn", "status"), [(9, S.UP_TO_DATE), (5, S.UP_TO_DATE), (4, S.OUT_OF_DATE)])
def test_a_module_has_the_highest_level_that_it_reaches(svn: int, status: tcb.TcbStatus) -> None:
    report = REPORT._replace(tee_tcb_svn=bytes((svn, 1)) + bytes(14))
    found = tcb.module_level(INFO, report)
    assert found is not None
    assert found.status is status


@pytest.mark.parametrize(
    "report",
    [
        REPORT._replace(tee_tcb_svn=bytes((5, 2)) + bytes(14)),
        REPORT._replace(tee_tcb_svn=bytes((1, 1)) + bytes(14)),
        REPORT._replace(mrsignerseam=b"x" * 48),
        REPORT._replace(seam_attributes=b"\1" + bytes(7)),
        REPORT_1_0._replace(mrsignerseam=b"x" * 48),
        REPORT_1_0._replace(seam_attributes=b"\1" + bytes(7)),
    ],
    ids=["other version", "old", "other signer", "attributes", "TDX 1.0, other signer", "TDX 1.0, attributes"],
)
def test_a_module_that_is_not_published_matches_nothing(report: object) -> None:
    with pytest.raises(tcb.NoMatchError):
        tcb.module_level(INFO, report)  # type: ignore[arg-type]  # the rows are reports


QE = tcb.QeIdentity(
    issued=NOW,
    next_update=NOW,
    evaluation_number=1,
    miscselect=0,
    miscselect_mask=0xFFFFFFFF,
    attributes=ENCLAVE.attributes,
    attributes_mask=b"\xff" * 16,
    mrsigner=ENCLAVE.mrsigner,
    isvprodid=ENCLAVE.isvprodid,
    levels=(tcb.SvnLevel(4, level(S.UP_TO_DATE)), tcb.SvnLevel(1, level(S.REVOKED))),
)


@pytest.mark.parametrize(("svn", "status"), [(5, S.UP_TO_DATE), (4, S.UP_TO_DATE), (3, S.REVOKED)])
def test_an_enclave_has_the_highest_level_that_it_reaches(svn: int, status: tcb.TcbStatus) -> None:
    assert tcb.qe_level(QE, ENCLAVE._replace(isvsvn=svn)).status is status


@pytest.mark.parametrize(
    "report",
    [
        ENCLAVE._replace(isvsvn=0),
        ENCLAVE._replace(miscselect=1),
        ENCLAVE._replace(attributes=b"\2" + ENCLAVE.attributes[1:]),
        ENCLAVE._replace(mrsigner=bytes(32)),
        ENCLAVE._replace(isvprodid=1),
    ],
    ids=["old", "MISCSELECT", "ATTRIBUTES", "MRSIGNER", "ISVPRODID"],
)
def test_an_enclave_that_is_not_published_matches_nothing(report: object) -> None:
    with pytest.raises(tcb.NoMatchError):
        tcb.qe_level(QE, report)  # type: ignore[arg-type]  # the rows are reports


@pytest.mark.parametrize(
    ("platform_status", "other", "together"),
    [
        (S.UP_TO_DATE, S.UP_TO_DATE, S.UP_TO_DATE),
        (S.UP_TO_DATE, S.OUT_OF_DATE, S.OUT_OF_DATE),
        (S.SW_HARDENING_NEEDED, S.OUT_OF_DATE, S.OUT_OF_DATE),
        (S.CONFIGURATION_NEEDED, S.OUT_OF_DATE, S.OUT_OF_DATE_CONFIGURATION_NEEDED),
        (S.CONFIGURATION_AND_SW_HARDENING_NEEDED, S.OUT_OF_DATE, S.OUT_OF_DATE_CONFIGURATION_NEEDED),
        (S.OUT_OF_DATE, S.UP_TO_DATE, S.OUT_OF_DATE),
        (S.OUT_OF_DATE_CONFIGURATION_NEEDED, S.OUT_OF_DATE, S.OUT_OF_DATE_CONFIGURATION_NEEDED),
        (S.SW_HARDENING_NEEDED, S.UP_TO_DATE, S.SW_HARDENING_NEEDED),
        (S.UP_TO_DATE, S.REVOKED, S.REVOKED),
        (S.REVOKED, S.UP_TO_DATE, S.REVOKED),
        (S.OUT_OF_DATE, S.REVOKED, S.REVOKED),
    ],
)
def test_platform_and_parts_have_the_status_of_the_worst(
    platform_status: tcb.TcbStatus, other: tcb.TcbStatus, together: tcb.TcbStatus
) -> None:
    assert tcb.combined_level(level(platform_status), None, level(other)).status is together


def test_advisories_of_all_parts_are_kept_once_and_the_oldest_date_counts() -> None:
    older = datetime(2020, 1, 1, tzinfo=UTC)
    found = tcb.combined_level(level(S.UP_TO_DATE, "A", "B"), level(S.UP_TO_DATE, "B", "C", date=older), None)
    assert (found.advisories, found.date) == (("A", "B", "C"), older)


LEVELS = (platform_at(4, (0, 0, 0), 10, S.UP_TO_DATE), platform_at(1, (0, 0, 0), 1, S.OUT_OF_DATE))


@pytest.mark.parametrize(
    ("versions", "expected"),
    [
        (PlatformTcb((3, *(4,) * 15), 10), ["SGX TCB component 0"]),
        (PlatformTcb((*(4,) * 15, 3), 10), ["SGX TCB component 15"]),
        (PlatformTcb((4,) * 16, 9), ["PCESVN"]),
        (PlatformTcb((3, *(4,) * 15), 9), ["SGX TCB component 0", "PCESVN"]),
        (PlatformTcb((4,) * 16, 10), []),
    ],
)
def test_every_component_of_a_platform_that_is_behind_is_named(versions: PlatformTcb, expected: list[str]) -> None:
    info = INFO._replace(levels=LEVELS)
    behind = tcb.platform_shortfall(info, versions, REPORT, lambda each: each.status is S.UP_TO_DATE)
    assert [each.what for each in behind] == expected
    assert tcb.platform_shortfall(info, versions, REPORT, lambda each: each.status is S.REVOKED) == ()


@pytest.mark.parametrize(("svn", "expected"), [(5, []), (4, ["from 5"]), (0, ["from 5"])])
def test_a_quoting_enclave_that_is_behind_is_named(svn: int, expected: list[str]) -> None:
    behind = tcb.svn_shortfall(IDENTITY.levels, svn, "quoting enclave", lambda each: each.status is S.UP_TO_DATE)
    assert [least for each in behind for least in each.expected] == expected
    assert tcb.svn_shortfall(IDENTITY.levels, svn, "x", lambda each: each.status is S.REVOKED) == ()
