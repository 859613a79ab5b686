"""Evidence of an AMD SEV-SNP virtual machine: a report alone, or in one of the documents that deliver reports.

* The JSON that verifiers exchange: a report and its VCEK, in base64.
* Azure's HCL document: a report, and the run-time data that it is bound to. Azure's evidence has it in JSON, with a
  VCEK and with a quote of the virtual TPM; that quote is not read here, so the appraisal lists it.
* The JSON of Confidential Containers: the report field by field, and the certificate table as a list. The report's
  bytes are put together again, and the signature is over these; fields that are not the report's do not enter it. So
  it is with the messages of Google's tools, in the JSON form of protocol buffers.
* Envelopes of dstack, and reports of Linux's configfs-tsm as Veraison's ratsd writes them in JSON.

The JSON may lie in an object that names the platform. Nobody signs any of these documents. Other kinds of evidence are
recognised to be named.

Source: Microsoft, Azure confidential VM guest attestation design, attestation report format; microsoft/openvmm, commit
026a1eaf, ``igvm_attest/get.rs`` (header version 2, kinds of hash, ``user-data``); confidential-containers/trustee,
commit 78962cd4, ``deps/verifier/src/az_snp_vtpm/compat.rs`` (Azure's evidence, versions 0 to 2) and ``snp/mod.rs``;
virtee/sev 7.1.0, ``firmware/guest/types/snp.rs`` (a report as fields); google/go-sev-guest, commit af1c107a,
``proto/sevsnp.proto`` (a report as a message); Linux, ``Documentation/ABI/testing/configfs-tsm-report`` (blobs).
"""

import base64
import binascii
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from carnet_ref.attestation.amd.report import (
    REPORT_BYTES,
    SIGNATURE_FIELD,
    SIGNED_BYTES,
    Product,
    TcbVersion,
    tcb_parts,
)
from carnet_ref.attestation.appraisal import NO_GPU_EVIDENCE, NO_VTPM_QUOTE, UnappraisedPart, unread_members
from carnet_ref.attestation.documents import PEM, Document, decode
from carnet_ref.attestation.dstack import Envelope, Platform, is_envelope, parse_envelope
from carnet_ref.attestation.protojson import Message
from carnet_ref.wire import MalformedError, Reader

DOCUMENT: Final = "SNP evidence"
HCL: Final = "Azure HCL document"
CONTAINER: Final = f"an {HCL}"
JSON: Final = "an object with the report of an AMD SEV-SNP virtual machine"
AZURE: Final = "Azure's evidence of an AMD SEV-SNP virtual machine with a vTPM"
CONTAINERS: Final = "the evidence of a Confidential Containers guest"
VTPM: Final = UnappraisedPart("the quote of the vTPM whose key the run-time data has", NO_VTPM_QUOTE)
VTPM_QUOTE: Final = UnappraisedPart("the quote of the vTPM beside it", NO_VTPM_QUOTE)
MANIFEST: Final = UnappraisedPart("the manifest of the SVSM's services (manifestblob)", "SVSM services not compared")
KERNEL: Final = "a report of Linux's configfs-tsm"
MESSAGE: Final = "a report as a message of Google's go-sev-guest"
#: Names under which documents have a report; where a document has two of these, readers may differ in which counts.
REPORTS: Final = (
    ("attestation_report",),
    ("hcl_report",),
    ("report",),
    ("outblob",),
    ("sev_snp_attestation", "sevSnpAttestation"),
    ("attestation",),
)
PLAIN_PLATFORMS: Final = ("snp", "gcp-snp")
AZURE_PLATFORM: Final = "az-snp"
DEVICES: Final = "nvidia_gpu"
GPUS: Final = UnappraisedPart("the evidence of NVIDIA devices beside it", NO_GPU_EVIDENCE)
AZURE_VERSIONS: Final = (1, 2)


@dataclass(frozen=True, slots=True)
class SnpEvidence:
    """A raw report, with certificates and run-time data that came with it, if any.

    ``container`` says what the report itself was wrapped in, ``found_in`` in which document it came, and ``unread``
    which parts of that are not read.
    """

    report: bytes
    certificates: bytes | None = None
    runtime_data: bytes | None = None
    container: str | None = None
    found_in: str | None = None
    unread: tuple[UnappraisedPart, ...] = ()


def parse_evidence(data: bytes) -> SnpEvidence:
    """Read a report, and the certificates and run-time data that come with it.

    It may be raw bytes, hexadecimal, base64, a JSON document, Azure's HCL report or an envelope of dstack.

    Raises MalformedError if it is anything else; the message names the kind if that is known.
    """
    if data.lstrip()[:1] == b"{":
        return _in_json(Document.parse(data, DOCUMENT))
    if data.lstrip().startswith(PEM):
        raise MalformedError(DOCUMENT, "a report of AMD SEV-SNP", "PEM")
    prefixed = data.lstrip().startswith(b"0x")
    raw = decode(data.lstrip()[2:] if prefixed else data, DOCUMENT)
    if raw.startswith(HCL_MAGIC):
        return _in_hcl(raw)
    if is_envelope(raw):
        return _in_envelope(parse_envelope(raw))
    _check_kind(raw)
    return SnpEvidence(raw)


def _in_json(document: Document) -> SnpEvidence:
    """Read evidence that may lie in an object with the name of its platform, which then has to be the right one."""
    if not document.has("platform"):
        return _in_object(document)
    platform = document.text("platform")
    if platform not in (*PLAIN_PLATFORMS, AZURE_PLATFORM):
        raise MalformedError(DOCUMENT, "the platform snp, gcp-snp or az-snp", ascii(platform)[:100])
    found = _in_object(document.document("evidence"))
    if (platform == AZURE_PLATFORM) != (found.found_in == AZURE):
        raise MalformedError(DOCUMENT, f"the evidence of the platform {platform}", f"{found.found_in}")
    gpus = (GPUS,) if document.states(DEVICES) else ()
    further = unread_members(document.fields, ("platform", "evidence", DEVICES))
    return replace(found, unread=(*found.unread, *gpus, *further))


def _in_object(evidence: Document) -> SnpEvidence:
    message = Message(evidence.fields, MESSAGE)
    match [names[0] for names in REPORTS if any(map(evidence.states, names))]:
        case ["hcl_report"]:
            return _azure(evidence)
        case ["report"]:
            return _of_message(message) if evidence.holds_object("report") else _first_azure(evidence)
        case ["outblob"]:
            return _of_the_kernel(evidence)
        case ["sev_snp_attestation"]:
            return replace(_of_message(message.message("sev_snp_attestation")), unread=(VTPM_QUOTE,))
        case ["attestation"]:
            return _in_envelope(parse_envelope(decode(evidence.text("attestation").encode(), "attestation")))
        case ["attestation_report"]:
            return _fields(evidence) if evidence.holds_object("attestation_report") else _in_base64(evidence)
        case []:
            raise MalformedError(DOCUMENT, f"an object with {', '.join(names[0] for names in REPORTS)}", "none of them")
        case several:
            raise MalformedError(DOCUMENT, "one report", f"{' and '.join(several)}: readers may differ in which counts")


def _of_the_kernel(evidence: Document) -> SnpEvidence:
    """Read a report and the certificate table beside it, which may be empty, as Linux's configfs-tsm names them."""
    report = _octets(evidence, "outblob")
    _check_kind(report)
    table = _octets(evidence, "auxblob") if evidence.states("auxblob") else b""
    manifest = (MANIFEST,) if evidence.states("manifestblob") and evidence.text("manifestblob") else ()
    return SnpEvidence(report, table or None, found_in=KERNEL, unread=manifest)


def _in_base64(evidence: Document) -> SnpEvidence:
    """Read a report and its VCEK, both in base64."""
    report = _octets(evidence, "attestation_report")
    _check_kind(report)
    certificates = None
    if evidence.has("cert_chain"):
        chain = evidence.document("cert_chain")
        certificates = _octets(chain, "vcek") if chain.has("vcek") else None
    return SnpEvidence(report, certificates, found_in=JSON)


def _azure(evidence: Document) -> SnpEvidence:
    """Read Azure's evidence of version 1 or 2; the latter adds what the guest asked with to the run-time data."""
    if evidence.has("version") and evidence.number("version") not in AZURE_VERSIONS:
        raise MalformedError(AZURE, "version 1 or 2", f"{evidence.number('version')}"[:40])
    return replace(_in_hcl(_octets(evidence, "hcl_report")), certificates=_octets(evidence, "vcek"), found_in=AZURE)


def _first_azure(evidence: Document) -> SnpEvidence:
    """Read Azure's evidence as it was before it had a version: the report as a list of bytes, the VCEK in PEM."""
    evidence.document("quote")
    certificates = evidence.text("vcek").encode()
    return replace(_in_hcl(evidence.byte_list("report")), certificates=certificates, found_in=AZURE)


def _octets(document: Document, name: str) -> bytes:
    """Return what base64 text of either alphabet stands for, with or without padding."""
    text = document.text(name).translate(URL_ALPHABET)
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise MalformedError(f"{DOCUMENT}: {name}", "base64", ascii(text)[:60]) from None


URL_ALPHABET: Final = str.maketrans("-_", "+/")
HCL_MAGIC: Final = b"HCLA"
#: Of the header. What follows is laid out in the same way, as long as the run-time data is of version 1.
HCL_VERSIONS: Final = {1: bytes([1, 0, 0, 0]), 2: bytes([2, 0, 0, 0])}
RUNTIME_VERSION: Final = 1
HCL_REQUEST: Final = 2
HCL_OF_SNP: Final = 2
HCL_OF_TDX: Final = 4
HCL_REPORTS: Final = {HCL_OF_SNP: "a report of AMD SEV-SNP", HCL_OF_TDX: "a report of Intel TDX"}
HASHES: Final = {1: "SHA-256", 2: "SHA-384", 3: "SHA-512"}
SHA_256: Final = 1


def _in_hcl(data: bytes) -> SnpEvidence:
    report, runtime_data = hcl_parts(data, HCL_OF_SNP)
    return SnpEvidence(report, None, runtime_data, HCL, CONTAINER, (VTPM,))


def hcl_parts(data: bytes, expected: int) -> tuple[bytes, bytes]:
    """Return the report and the run-time data of an HCL document about a report of a kind; zeros may follow.

    Raises MalformedError if it is something else, or about a report of another kind.
    """
    reader = Reader(data, HCL)
    reader.constant(HCL_MAGIC, "magic")
    version = reader.number(4, "version")
    if version not in HCL_VERSIONS:
        raise reader.malformed("version 1 or 2", f"{version}")
    size = reader.number(4, "size")
    _hcl_number(reader, HCL_REQUEST, "kind of request")
    reader.constant(bytes(16), "status and reserved bytes")
    report = reader.take(REPORT_BYTES, "report")
    start = reader.position
    runtime_size = reader.number(4, "size of the run-time data")
    _hcl_number(reader, RUNTIME_VERSION, "version of the run-time data")
    kind = reader.number(4, "kind of report")
    if kind != expected:
        raise MalformedError(HCL, HCL_REPORTS[expected], HCL_REPORTS.get(kind, f"a report of kind {kind}"))
    algorithm = reader.number(4, "hash of the run-time data")
    if algorithm != SHA_256:
        raise reader.malformed(
            "run-time data hashed by SHA-256", f"hash {algorithm} ({HASHES.get(algorithm, 'unknown')})"
        )
    runtime_data = reader.take(reader.number(4, "length of the run-time data"), "run-time data")
    sizes = reader.position, reader.position - start
    if sizes != (size, runtime_size):
        raise MalformedError(HCL, f"sizes {sizes[0]} and {sizes[1]}", f"{size} and {runtime_size}")
    if any(reader.rest()):
        raise MalformedError(HCL, "nothing but zeros after the run-time data", "other bytes")
    return report, runtime_data


def _hcl_number(reader: Reader, expected: int, field: str) -> None:
    reader.constant(expected.to_bytes(4, "little"), field)


USER_DATA: Final = "user-data"


def user_data(runtime_data: bytes) -> bytes | None:
    """Return the report data that an Azure guest chose, from its run-time data; None if it is not there.

    The run-time data is the guest's own word only if a report is over its hash.

    Raises MalformedError if the run-time data is no JSON object, or has something else than hexadecimal digits there.
    """
    document = Document.parse(runtime_data, "run-time data")
    return document.octets(USER_DATA) if document.has(USER_DATA) else None


VIRTUAL_TPM_KEY: Final = "HCLAkPub"


def virtual_tpm_key(runtime_data: bytes) -> tuple[int, int]:
    """Return exponent and modulus of the key of Azure's virtual TPM, from run-time data.

    Raises MalformedError if there is not just one.
    """
    keys = Document.parse(runtime_data, "run-time data").documents("keys")
    found = [key for key in keys if key.has("kid") and key.text("kid") == VIRTUAL_TPM_KEY]
    if len(found) != 1 or found[0].text("kty") != "RSA":
        raise MalformedError("run-time data", f"one RSA key {VIRTUAL_TPM_KEY}", f"{len(found)} of that name")
    exponent, modulus = (int.from_bytes(_octets(found[0], name), "big") for name in ("e", "n"))
    return exponent, modulus


#: What a certificate table may have under these names; other entries, such as revocation lists, are passed over.
TABLE_CERTIFICATES: Final = frozenset({"ARK", "ASK", "VCEK", "VLEK"})


def _fields(evidence: Document) -> SnpEvidence:
    """Read a report as fields, and a certificate table as a list."""
    report = _encoded(evidence.document("attestation_report"))
    if not evidence.states("cert_chain"):
        return SnpEvidence(report, found_in=CONTAINERS)
    entries = evidence.documents("cert_chain")
    known = [each for each in entries if not each.holds_object("cert_type")]
    found = [each.byte_list("data") for each in known if each.text("cert_type") in TABLE_CERTIFICATES]
    return SnpEvidence(report, b"".join(found) or None, found_in=CONTAINERS)


#: The fields of a report in their order, with their sizes; reserved bytes have no name.
LAYOUT: Final = (
    *(("version", 4), ("guest_svn", 4), ("policy", 8), ("family_id", 16), ("image_id", 16), ("vmpl", 4)),
    *(("signature_algorithm", 4), ("current_tcb", 8), ("platform_info", 8), ("key_flags", 4), (None, 4)),
    *(("report_data", 64), ("measurement", 48), ("host_data", 32), ("id_key_digest", 48), ("author_key_digest", 48)),
    *(("report_id", 32), ("report_id_ma", 32), ("reported_tcb", 8), ("cpuid", 3), (None, 21), ("chip_id", 64)),
    *(("committed_tcb", 8), ("current", 3), (None, 1), ("committed", 3), (None, 1), ("launch_tcb", 8)),
    *(("launch_mit_vector", 8), ("current_mit_vector", 8)),
)
#: Those that are bytes in every form.
BYTE_FIELDS: Final = (
    *("family_id", "image_id", "report_data", "measurement", "host_data", "id_key_digest", "author_key_digest"),
    *("report_id", "report_id_ma", "chip_id"),
)
TCBS: Final = ("current_tcb", "reported_tcb", "committed_tcb", "launch_tcb")
VECTORS: Final = ("launch_mit_vector", "current_mit_vector")


def _assembled(fields: Mapping[str, bytes], signature: bytes) -> bytes:
    """Return the 1184 bytes of a report that is given as fields, with zeros where its layout reserves bytes.

    Fields beyond those of the layout are left out: a report that had anything there does not verify.
    """
    signed = b"".join(bytes(size) if name is None else fields[name] for name, size in LAYOUT)
    return (signed.ljust(SIGNED_BYTES, b"\0") + signature).ljust(REPORT_BYTES, b"\0")


def _encoded(report: Document) -> bytes:
    """Return a report out of the fields that Confidential Containers writes."""
    sizes = {name: size for name, size in LAYOUT if name is not None}
    numbers = {"version": "version", "guest_svn": "guest_svn", "policy": "policy", "vmpl": "vmpl"}
    numbers |= {"signature_algorithm": "sig_algo", "platform_info": "plat_info", "key_flags": "key_info"}
    cpuid = [report.number_or_none(name) or 0 for name in ("cpuid_fam_id", "cpuid_mod_id", "cpuid_step")]
    vectors = {name: report.number_or_none(name) or 0 for name in VECTORS}
    fields = {name: _number(report, called, sizes[name]) for name, called in numbers.items()}
    fields |= {name: report.byte_list(name, sizes[name]) for name in BYTE_FIELDS}
    fields |= {name: _tcb(report, name) for name in TCBS}
    fields |= {name: _little_endian(vector, 8, name) for name, vector in vectors.items()}
    fields |= {name: _firmware(report, name) for name in ("current", "committed")}
    fields["cpuid"] = b"".join(_little_endian(value, 1, "cpuid") for value in cpuid)
    signature = report.document("signature")
    return _assembled(fields, b"".join(signature.byte_list(name, SIGNATURE_FIELD) for name in ("r", "s")))


def _tcb(report: Document, name: str) -> bytes:
    """Return a TCB version; only lines from Turin on have a version of the FMC."""
    tcb = report.document(name)
    product = Product.TURIN if tcb.states("fmc") else Product.GENOA
    parts = {part: tcb.number(part) for part in tcb_parts(product)}
    largest = max(parts.values())
    if largest > 0xFF:
        raise MalformedError(f"{DOCUMENT}: {name}", "security versions up to 255", f"{largest}"[:40])
    return TcbVersion(product, parts).encode()


def _firmware(report: Document, name: str) -> bytes:
    version = report.document(name)
    return b"".join(_number(version, part, 1) for part in ("build", "minor", "major"))


def _number(document: Document, name: str, width: int) -> bytes:
    return _little_endian(document.number(name), width, name)


def _little_endian(value: int, width: int, name: str) -> bytes:
    if value.bit_length() > 8 * width:
        raise MalformedError(f"{DOCUMENT}: {name}", f"a number of {width} bytes", f"{value.bit_length()} bits")
    return value.to_bytes(width, "little")


#: The signature with what is reserved behind it, which messages have in one field.
UNSIGNED_BYTES: Final = REPORT_BYTES - SIGNED_BYTES


def _of_message(attestation: Message) -> SnpEvidence:
    """Read a report and its certificates as messages of go-sev-guest."""
    report = attestation.message("report")
    sizes = {name: size for name, size in LAYOUT if name is not None}
    numbers = {name: name for name in ("version", "guest_svn", "policy", "vmpl", "platform_info", *TCBS, *VECTORS)}
    numbers |= {"signature_algorithm": "signature_algo", "key_flags": "signer_info"}
    fields = {name: report.number(called, sizes[name]) for name, called in numbers.items()}
    fields |= {name: report.octets(name, sizes[name]) for name in BYTE_FIELDS}
    for version in ("current", "committed"):
        fields[version] = b"".join(report.number(f"{version}_{part}", 1) for part in ("build", "minor", "major"))
    fields["cpuid"] = _cpuid(int.from_bytes(report.number("cpuid1eax_fms", 4), "little"))
    whole = _assembled(fields, report.octets("signature", UNSIGNED_BYTES))
    if not attestation.has("certificate_chain"):
        return SnpEvidence(whole, found_in=MESSAGE)
    chain = attestation.message("certificate_chain")
    certificates = b"".join(chain.octets(name) for name in ("vcek_cert", "vlek_cert", "ask_cert", "ark_cert"))
    return SnpEvidence(whole, certificates or None, found_in=MESSAGE)


def _cpuid(eax: int) -> bytes:
    """Return family, model and stepping, one byte each, out of what CPUID function 1 has in EAX.

    Source: AMD64 Architecture Programmer's Manual, volume 3, CPUID Fn0000_0001_EAX: the extended numbers count from
    base family Fh on.
    """
    base_family, extended = eax >> 8 & 0xF, eax >> 20 & 0xFF
    family = base_family + extended if base_family == 0xF else base_family
    if family > 0xFF:
        raise MalformedError(MESSAGE, "a family up to ffh", f"{family:x}h")
    return bytes((family, (eax >> 16 & 0xF) << 4 | eax >> 4 & 0xF, eax & 0xF))


def _in_envelope(envelope: Envelope) -> SnpEvidence:
    """Read the report in an envelope of dstack."""
    report = envelope.evidence_of((Platform.SEV_SNP,), "a report of AMD SEV-SNP")
    between = b"\n" if any(PEM in each for each in envelope.certificates) else b""
    return SnpEvidence(report, between.join(envelope.certificates) or None, found_in=envelope.name)


_OTHER_KINDS: Final[tuple[tuple[Callable[[bytes], bool], str], ...]] = (
    (lambda data: data[12:28].hex() == "939a7233f79c4ca9940a0db3957f0607", "a quote of Intel TDX or SGX"),
    (lambda data: data[:2] == b"\x11\xe0", "a report of an NVIDIA device"),
    (lambda data: b"\xffTCG\x80\x18" in data[:1024], "a quote of a TPM"),
    (lambda data: data[:2] == b"\x30\x82", "a certificate"),
)


def _check_kind(data: bytes) -> None:
    """Refuse evidence of another kind by its name, so that nobody looks for an error in a report that is none.

    What has a report's size is read as one: a guest can put anything into its report data.
    """
    if len(data) == REPORT_BYTES:
        return
    other = next((kind for is_it, kind in _OTHER_KINDS if is_it(data)), None)
    if other is not None:
        raise MalformedError(DOCUMENT, "a report of AMD SEV-SNP", other)
