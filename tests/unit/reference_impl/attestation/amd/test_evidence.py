"""Documents that AMD's reports come in: each is read into the report and what belongs to it, or is one typed error."""

import base64
import json
from typing import Any

import pytest
from hypothesis import given

from carnet_ref.attestation import appraise
from carnet_ref.attestation.amd.certificates import ASK, KeyKind
from carnet_ref.attestation.amd.certificates import VCEK as VCEK_GUID
from carnet_ref.attestation.amd.evidence import (
    AZURE,
    CONTAINER,
    CONTAINERS,
    HCL,
    JSON,
    KERNEL,
    MESSAGE,
    VTPM,
    SnpEvidence,
    parse_evidence,
    user_data,
)
from carnet_ref.attestation.amd.report import Product
from carnet_ref.attestation.kinds import kind_of
from carnet_ref.attestation.simulated.gpu import SimulatedGpu, gpu_request
from carnet_ref.wire import MalformedError
from tests.fixtures.dstack_envelopes import in_packs, in_scale
from tests.fixtures.simulated_quotes import NOW as SIMULATED
from tests.fixtures.simulated_quotes import PLATFORM, QUOTE
from tests.fixtures.simulated_snp import (
    KINDS,
    NOW,
    REPORT_DATA,
    RUNTIME,
    amd,
    appraised,
    certificate_table,
    chain,
    changed,
    der,
    encode_report,
    endorsement,
    fields,
    hcl,
    message,
    pem,
    signed,
)
from tests.unit.reference_impl.attestation.amd.test_report import reports

REPORT = signed()


def document(platform: str = "snp", beside: dict[str, Any] | None = None, **evidence: Any) -> bytes:
    return json.dumps({"platform": platform, "evidence": evidence, **(beside or {})}).encode()


BESIDE: list[tuple[dict[str, Any], list[str]]] = [
    ({}, []),
    ({"nvidia_gpu": None, "a": "A" * 128}, []),
    ({"nvidia_gpu": {"devices": []}}, ["GPU evidence not appraised"]),
    ({"a": "A" * 129}, ["what lies beside it not read"]),
    ({"nvidia_gpu": {}, "a": {}}, ["GPU evidence not appraised", "what lies beside it not read"]),
]


@pytest.mark.parametrize(("beside", "lacking"), BESIDE)
def test_what_lies_beside_a_report_and_may_be_evidence_is_listed_as_not_read(
    beside: dict[str, Any], lacking: list[str]
) -> None:
    for platform in ("snp", "gcp-snp"):
        found = parse_evidence(document(platform, beside, attestation_report=text(REPORT)))
        assert (found.report, [part.lacking for part in found.unread]) == (REPORT, lacking)


def test_the_manifest_of_services_beside_a_report_of_the_kernel_is_listed_as_not_compared() -> None:
    kernel = {"outblob": text(REPORT), "provider": "sev_guest"}
    for manifest, lacking in ((text(b"services"), ["SVSM services not compared"]), ("", []), (None, [])):
        found = parse_evidence(json.dumps({**kernel, "manifestblob": manifest}).encode())
        assert [part.lacking for part in found.unread] == lacking


def alone(**evidence: Any) -> bytes:
    return json.dumps(evidence).encode()


def text(data: bytes) -> str:
    return base64.b64encode(data).decode()


def url_text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


@pytest.mark.parametrize(
    "data",
    [REPORT, REPORT.hex().encode(), b" 0x" + REPORT.hex().encode() + b"\n", base64.encodebytes(REPORT)],
    ids=["raw", "hexadecimal", "0x", "base64"],
)
def test_a_report_alone_is_read_in_every_form(data: bytes) -> None:
    assert parse_evidence(data) == SnpEvidence(REPORT)


def test_json_has_a_report_and_its_key_and_another_kind_is_named() -> None:
    data = document(attestation_report=text(REPORT), cert_chain={"vcek": text(chain())})
    assert parse_evidence(data) == SnpEvidence(REPORT, chain(), found_in=JSON)
    keyless = SnpEvidence(REPORT, found_in=JSON)
    assert parse_evidence(document(attestation_report=text(REPORT))) == keyless
    assert parse_evidence(document(attestation_report=text(REPORT), cert_chain={})) == keyless
    with pytest.raises(MalformedError, match="a quote of Intel TDX or SGX"):
        parse_evidence(document(attestation_report=text(QUOTE)))


def test_azures_documents_have_a_report_and_what_it_is_bound_to() -> None:
    found = SnpEvidence(REPORT, None, RUNTIME, HCL, CONTAINER, (VTPM,))
    assert parse_evidence(hcl()) == found
    assert parse_evidence(hcl(behind=b"")) == found
    assert parse_evidence(base64.b64encode(hcl())) == found
    data = document("az-snp", version=1, tpm_quote={}, hcl_report=url_text(hcl()), vcek=url_text(chain()))
    assert parse_evidence(data) == SnpEvidence(REPORT, chain(), RUNTIME, HCL, AZURE, (VTPM,))
    report = changed(report_data=(b"\xffTCG\x80\x18" * 11)[:64])
    assert parse_evidence(report) == SnpEvidence(report)


GPU = SimulatedGpu(b"a gpu", NOW).report(gpu_request(bytes(32)))
NAMED = {
    "Intel TDX or SGX": QUOTE,
    "an NVIDIA device": GPU,
    "a quote of a TPM": b"\xffTCG\x80\x18" + bytes(100),
    "a certificate": chain(),
    "PEM": pem(endorsement()),
    "Intel TDX": hcl(kind=4),
    "a report of kind 3": hcl(kind=3),
    "'tdx'": document("tdx", quote=text(QUOTE)),
    "'az-tdx'": document("az-tdx", hcl_report=text(hcl(kind=4))),
    "other text": b"no report at all",
}


@pytest.mark.parametrize("name", NAMED)
def test_evidence_of_another_kind_is_called_by_its_name(name: str) -> None:
    with pytest.raises(MalformedError, match=f"found .*{name}"):
        parse_evidence(NAMED[name])


def _changed(place: int, value: bytes) -> bytes:
    whole = hcl()
    return whole[:place] + value + whole[place + len(value) :]


MALFORMED = {
    "a later version": _changed(4, b"\3"),
    "no version": _changed(4, b"\0"),
    "another size": _changed(8, b"\0"),
    "another request": _changed(12, b"\3"),
    "a status": _changed(16, b"\1"),
    "a reserved byte": _changed(31, b"\1"),
    "another size of the run-time data": _changed(32 + 1184, b"\0"),
    "another version of the run-time data": _changed(32 + 1184 + 4, b"\2"),
    "another hash": hcl(algorithm=2),
    "no hash": hcl(algorithm=0),
    "a hash of no name": hcl(algorithm=9),
    "a longer length": _changed(32 + 1184 + 16, b"\xff\xff\xff\xff"),
    "something behind": hcl(behind=b"\1"),
    "cut short": hcl(behind=b"")[:-1],
    "a header alone": hcl()[:40],
    "JSON of nothing": b"{}",
    "JSON without evidence": b'{"platform": "snp"}',
    "JSON without a report": document(),
    "JSON with a number for a report": document(attestation_report=5),
    "JSON with a part of the fields of a report": document(attestation_report={"version": 2}),
    "JSON with a report that is no base64": document(attestation_report="!"),
    "JSON with characters": document(attestation_report="é"),
    "JSON with a list of certificates": document(attestation_report=text(REPORT), cert_chain=[]),
    "JSON of Azure of a later version": document("az-snp", version=3, hcl_report=text(hcl()), vcek=text(chain())),
    "JSON of Azure under another platform": document(hcl_report=text(hcl()), vcek=text(chain())),
    "JSON of another platform under Azure's": document("az-snp", attestation_report=text(REPORT)),
    "JSON with two reports": alone(attestation_report=text(REPORT), hcl_report=text(hcl()), vcek=text(chain())),
    "JSON of Azure's first version with a key in DER": alone(quote={}, report=[*hcl()], vcek=5),
    "JSON of Azure's first version without a quote": alone(report=[*hcl()], vcek=pem(endorsement()).decode()),
    "JSON of Azure's first version with numbers that are no bytes": alone(quote={}, report=[256], vcek=""),
    "JSON of Azure without a key": document("az-snp", hcl_report=text(hcl())),
    "JSON of Azure with a report alone": document("az-snp", hcl_report=text(REPORT), vcek=text(chain())),
    "JSON of the kernel with a report twice": alone(outblob=text(REPORT), attestation_report=text(REPORT)),
    "JSON of the kernel with another report": alone(outblob=text(QUOTE), provider="sev_guest"),
    "JSON with a name twice": b'{"platform": "snp", "platform": "snp"}',
    "JSON that is cut short": document(attestation_report=text(REPORT))[:-1],
}


@pytest.mark.parametrize("what", MALFORMED)
def test_what_is_no_evidence_is_one_typed_error(what: str) -> None:
    with pytest.raises(MalformedError):
        parse_evidence(MALFORMED[what])


def test_azures_header_of_version_2_is_read_as_that_of_version_1() -> None:
    assert parse_evidence(hcl(version=2)) == parse_evidence(hcl(version=1))


AZURES: dict[str, dict[str, Any]] = {
    "version 1": {"version": 1, "tpm_quote": {}, "hcl_report": url_text(hcl()), "vcek": url_text(chain())},
    "version 2": {"version": 2, "tpm_quote": {}, "hcl_report": text(hcl(version=2)), "vcek": text(chain())},
    "no version": {"tpm_quote": {}, "hcl_report": url_text(hcl()), "vcek": url_text(chain())},
    "version 0": {"quote": {"message": [1]}, "report": [*hcl()], "vcek": pem(endorsement()).decode()},
    "version 0, later header": {"quote": {}, "report": [*hcl(version=2)], "vcek": pem(endorsement()).decode()},
}


@pytest.mark.parametrize("wrapped", [True, False])
@pytest.mark.parametrize("name", AZURES)
def test_azures_evidence_is_read_in_each_version_with_and_without_its_platform(name: str, wrapped: bool) -> None:
    evidence = AZURES[name]
    found = parse_evidence(document("az-snp", **evidence) if wrapped else alone(**evidence))
    key = pem(endorsement()) if "0" in name else chain()
    assert found == SnpEvidence(REPORT, key, RUNTIME, HCL, AZURE, (VTPM,))


def kernel(provider: str = "sev_guest\n", **changes: Any) -> bytes:
    """Return a report of Linux's configfs-tsm, as Veraison's ratsd writes it."""
    pairs = [(VCEK_GUID.bytes, pem(endorsement())), (ASK.bytes, pem(amd().authority(KeyKind.VCEK)))]
    named = {"provider": provider, "outblob": url_text(REPORT), "auxblob": url_text(certificate_table(pairs))}
    return alone(**named | changes)


def test_a_report_of_the_kernel_is_read_with_the_certificates_beside_it() -> None:
    found = parse_evidence(kernel())
    assert (found.report, found.found_in) == (REPORT, KERNEL)
    assert appraise(kernel(), at=NOW, anchors=amd().anchors).accepted
    assert parse_evidence(kernel(auxblob="")).certificates is None
    quote = kernel("tdx_guest\n", outblob=url_text(QUOTE), auxblob="")
    assert appraise(quote, at=SIMULATED, anchors=PLATFORM.anchors).accepted
    assert kind_of(kernel("arm_cca_guest")).startswith("an object with")
    assert appraise(kernel("tdx_guest"), at=NOW).failed_step == "parse"


def table(product: Product = Product.MILAN, kind: KeyKind = KeyKind.VCEK) -> list[dict[str, Any]]:
    return [
        {"cert_type": "ARK", "data": [*der(amd(product).root)]},
        {"cert_type": "CRL", "data": [48, 130]},
        {"cert_type": {"OTHER": "63da758d-e664-4564-adc5-f4b93be8accd"}, "data": []},
        {"cert_type": kind.value, "data": [*der(endorsement(product, kind))]},
        {"cert_type": "ASK", "data": [*der(amd(product).authority(kind))]},
    ]


@pytest.mark.parametrize("version", [2, 3, 4, 5])
@pytest.mark.parametrize(("product", "kind"), KINDS)
def test_a_report_as_fields_is_put_together_again(product: Product, kind: KeyKind, version: int) -> None:
    report = signed(product, kind, version)
    found = parse_evidence(alone(attestation_report=fields(report, product), cert_chain=table(product, kind)))
    assert (found.report, found.found_in) == (report, CONTAINERS)
    assert appraised(found.report, product=product, kind=kind, certificates=found.certificates).accepted


@given(report=reports())
def test_every_report_as_fields_has_the_bytes_that_were_signed(report: Any) -> None:
    whole = encode_report(report) + bytes(512)
    assert parse_evidence(alone(attestation_report=fields(whole, Product.MILAN))).report[:0x38] == whole[:0x38]
    assert (
        parse_evidence(alone(attestation_report=fields(whole, Product.TURIN))).report[0x50:0x180] == whole[0x50:0x180]
    )


ALTERED: dict[str, Any] = {
    "version": 4,
    "guest_svn": 9,
    "policy": 0x30001,
    "family_id": [1] * 16,
    "image_id": [1] * 16,
    "vmpl": 1,
    "plat_info": 3,
    "report_data": [1] * 64,
    "measurement": [1] * 48,
    "host_data": [1] * 32,
    "id_key_digest": [1] * 48,
    "author_key_digest": [1] * 48,
    "report_id": [1] * 32,
    "chip_id": [1] * 64,
    "cpuid_step": 7,
    "current": {"major": 1, "minor": 99, "build": 9},
}


@pytest.mark.parametrize("name", ALTERED)
def test_a_field_that_is_altered_breaks_the_signature(name: str) -> None:
    given_fields = fields(signed(version=3), Product.MILAN) | {name: ALTERED[name]}
    found = parse_evidence(alone(attestation_report=given_fields, cert_chain=table()))
    assert appraised(found.report, certificates=found.certificates).failed_step == "signature"


@pytest.mark.parametrize("name", ["current_tcb", "reported_tcb", "committed_tcb", "launch_tcb"])
def test_a_tcb_that_is_altered_breaks_the_signature(name: str) -> None:
    given_fields = fields(signed(version=3), Product.MILAN)
    tcb = given_fields[name]
    assert isinstance(tcb, dict)
    given_fields[name] = tcb | {"microcode": 255}
    found = parse_evidence(alone(attestation_report=given_fields, cert_chain=table()))
    assert appraised(found.report, certificates=found.certificates).failed_step == "signature"


def test_a_report_as_fields_may_come_without_certificates() -> None:
    whole = fields(signed(), Product.MILAN)
    without: list[dict[str, Any]] = [{}, {"cert_chain": None}, {"cert_chain": []}, {"cert_chain": table()[1:3]}]
    for given_chain in without:
        assert parse_evidence(alone(attestation_report=whole, **given_chain)) == SnpEvidence(
            REPORT, found_in=CONTAINERS
        )


WRONG_FIELDS: dict[str, Any] = {
    "measurement": [1] * 47,
    "report_data": "00",
    "chip_id": [256] * 64,
    "host_data": [True] * 32,
    "version": 1 << 32,
    "policy": -1,
    "plat_info": 1 << 64,
    "vmpl": None,
    "cpuid_fam_id": 256,
    "launch_mit_vector": 1 << 64,
    "current_tcb": {"fmc": None, "bootloader": 256, "tee": 0, "snp": 0, "microcode": 0},
    "reported_tcb": {"bootloader": 1},
    "committed": {"major": 1, "minor": 256, "build": 0},
    "signature": {"r": [0] * 48, "s": [0] * 48},
}


@pytest.mark.parametrize("name", WRONG_FIELDS)
def test_a_field_of_another_form_is_one_typed_error(name: str) -> None:
    with pytest.raises(MalformedError):
        parse_evidence(alone(attestation_report=fields(REPORT, Product.MILAN) | {name: WRONG_FIELDS[name]}))


@pytest.mark.parametrize(
    "entries", [[{}], [{"cert_type": "VCEK"}], [{"cert_type": "VCEK", "data": "AA"}], [5], {"vcek": 1}]
)
def test_a_certificate_list_of_another_form_is_one_typed_error(entries: Any) -> None:
    with pytest.raises(MalformedError):
        parse_evidence(alone(attestation_report=fields(REPORT, Product.MILAN), cert_chain=entries))


@pytest.mark.parametrize("version", [2, 3, 4, 5])
@pytest.mark.parametrize(("product", "kind"), KINDS)
def test_a_report_as_a_message_is_put_together_again(product: Product, kind: KeyKind, version: int) -> None:
    report = signed(product, kind, version)
    chain_messages = (
        (f"{kind.value.lower()}Cert", der(endorsement(product, kind))),
        ("askCert", der(amd(product).authority(kind))),
        ("arkCert", der(amd(product).root)),
        ("firmwareCert", b"\0"),
    )
    whole = message(report, *chain_messages)
    found = parse_evidence(alone(**whole))
    assert (found.report, found.found_in, found.unread) == (report, MESSAGE, ())
    assert appraised(found.report, product=product, kind=kind, certificates=found.certificates).accepted
    nested = parse_evidence(alone(akPub="AA==", quotes=[], sevSnpAttestation=whole))
    assert (nested.report, nested.unread[0].lacking) == (report, "vTPM quote not checked")
    assert parse_evidence(alone(report=whole["report"])) == SnpEvidence(report, found_in=MESSAGE)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("guestSvn", 77),
        ("policy", "196609"),
        ("vmpl", 2),
        ("reportData", text(bytes(64))),
        ("measurement", text(bytes(48))),
        ("chipId", text(bytes([9]) * 64)),
        ("reportedTcb", "15781156163420913664"),
        ("cpuid1eaxFms", 0xA00F12),
        ("currentMajor", 200),
    ],
)
def test_a_field_of_a_message_that_is_altered_breaks_the_signature(name: str, value: Any) -> None:
    whole: Any = message(signed(version=3), ("vcekCert", chain()))
    whole["report"][name] = value
    found = parse_evidence(alone(**whole))
    assert appraised(found.report, certificates=found.certificates).failed_step == "signature"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("version", "two"),
        ("policy", str(1 << 64)),
        ("reportData", "AA=="),
        ("cpuid1eaxFms", 0x0FFF0FFF),
        ("signature", 1),
    ],
)
def test_a_field_of_a_message_of_another_form_is_one_typed_error(name: str, value: Any) -> None:
    whole: Any = message(REPORT)
    whole["report"][name] = value
    with pytest.raises(MalformedError):
        parse_evidence(alone(**whole))


@pytest.mark.parametrize("write", [in_scale, in_packs])
@pytest.mark.parametrize("encoded", [True, False])
def test_an_envelope_of_dstack_has_a_report_and_its_certificates(write: Any, encoded: bool) -> None:
    authority = amd(Product.MILAN).authority(KeyKind.VCEK)
    certificates = [pem(each) if encoded else der(each) for each in (endorsement(), authority)]
    data = write(REPORT, (), 3, certificates)
    for found in (parse_evidence(data), parse_evidence(alone(attestation=data.hex()))):
        assert (found.report, "dstack" in (found.found_in or "")) == (REPORT, True)
        assert appraised(found.report, certificates=found.certificates).accepted
    assert parse_evidence(write(REPORT, (), 3)).certificates is None
    with pytest.raises(MalformedError, match="the evidence of the platform tdx"):
        parse_evidence(write(QUOTE))


def test_user_data_is_read_in_either_case() -> None:
    for digits in (REPORT_DATA.hex(), REPORT_DATA.hex().upper()):
        assert user_data(alone(**{"keys": [], "user-data": digits})) == REPORT_DATA
    assert user_data(RUNTIME) is None
    for broken in (b"[]", b"{", b'{"user-data": 5}', b'{"user-data": "0"}', b'{"user-data": "", "user-data": "00"}'):
        with pytest.raises(MalformedError):
            user_data(broken)
