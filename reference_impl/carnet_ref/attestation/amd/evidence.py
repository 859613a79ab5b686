"""The forms in which SNP evidence is passed around: the report alone, and documents that have it in them.

Two documents are read: the JSON that verifiers exchange, with a report and its VCEK, and Azure's HCL document, with a
report and the run-time data that it is bound to. Azure's evidence has a quote of its virtual TPM as well, which is not
read, so the appraisal lists it. Other kinds of evidence are recognised to be named.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from carnet_ref.attestation.amd.report import REPORT_BYTES
from carnet_ref.attestation.appraisal import NO_VTPM_QUOTE, UnappraisedPart
from carnet_ref.attestation.documents import PEM, Document, decode
from carnet_ref.wire import MalformedError, Reader

WHAT: Final = "SNP evidence"
HCL: Final = "Azure HCL document"
CONTAINER: Final = f"an {HCL}"
JSON: Final = "an object with the report of an AMD SEV-SNP virtual machine"
AZURE: Final = "Azure's evidence of an AMD SEV-SNP virtual machine with a vTPM"
VTPM: Final = UnappraisedPart("the quote of the vTPM whose key the run-time data has", NO_VTPM_QUOTE)
HCL_MAGIC: Final = b"HCLA"
HCL_VERSION: Final = 1
HCL_REQUEST: Final = 2
HCL_OF_SNP: Final = 2
HCL_OF_TDX: Final = 4
SHA_256: Final = 1
URL_ALPHABET: Final = str.maketrans("-_", "+/")


@dataclass(frozen=True, slots=True)
class SnpEvidence:
    """A report, raw; the certificates that came with it, if any; and the run-time data it should be bound to, if any.

    ``container`` says what the report itself was wrapped in, ``found_in`` in which document it came, and ``unread``
    what belongs to it that is not read.
    """

    report: bytes
    certificates: bytes | None = None
    runtime_data: bytes | None = None
    container: str | None = None
    found_in: str | None = None
    unread: UnappraisedPart | None = None


def parse_evidence(data: bytes) -> SnpEvidence:
    """Find the report in raw bytes, hexadecimal, base64, JSON or an HCL document.

    Raises MalformedError if the evidence is of another kind, which is named if it is known, or has no known form.
    """
    if data.lstrip()[:1] == b"{":
        return _in_json(Document.parse(data, WHAT))
    if data.lstrip().startswith(PEM):
        raise MalformedError(WHAT, "a report of AMD SEV-SNP", "PEM")
    prefixed = data.lstrip().startswith(b"0x")
    raw = decode(data.lstrip()[2:] if prefixed else data, WHAT)
    if raw.startswith(HCL_MAGIC):
        return _in_hcl(raw)
    _check_kind(raw)
    return SnpEvidence(raw)


def _in_json(document: Document) -> SnpEvidence:
    platform = document.text("platform")
    if platform not in ("snp", "az-snp"):
        raise MalformedError(WHAT, "the platform snp or az-snp", ascii(platform)[:100])
    evidence = document.document("evidence")
    if platform == "az-snp":
        azure = _in_hcl(_octets(evidence, "hcl_report"))
        return replace(azure, certificates=_octets(evidence, "vcek"), found_in=AZURE)
    report = _octets(evidence, "attestation_report")
    _check_kind(report)
    certificates = None
    if evidence.has("cert_chain"):
        chain = evidence.document("cert_chain")
        certificates = _octets(chain, "vcek") if chain.has("vcek") else None
    return SnpEvidence(report, certificates, found_in=JSON)


def _octets(document: Document, name: str) -> bytes:
    """Return what base64 text of either alphabet stands for, with or without padding."""
    text = document.text(name).translate(URL_ALPHABET)
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise MalformedError(f"{WHAT}: {name}", "base64", ascii(text)[:60]) from None


def _in_hcl(data: bytes) -> SnpEvidence:
    """Read the report and the run-time data of an HCL document; zeros may follow.

    Source: Microsoft, Azure confidential VM guest attestation design, attestation report format.
    """
    reader = Reader(data, HCL)
    _hcl_number(reader, int.from_bytes(HCL_MAGIC, "little"), "magic")
    _hcl_number(reader, HCL_VERSION, "version")
    size = reader.number(4, "size")
    _hcl_number(reader, HCL_REQUEST, "kind of request")
    reader.constant(bytes(16), "status and reserved bytes")
    report = reader.take(REPORT_BYTES, "report")
    start = reader.position
    runtime_size = reader.number(4, "size of the run-time data")
    _hcl_number(reader, HCL_VERSION, "version of the run-time data")
    kind = reader.number(4, "kind of report")
    if kind != HCL_OF_SNP:
        found = "a report of Intel TDX" if kind == HCL_OF_TDX else f"a report of kind {kind}"
        raise MalformedError(HCL, "a report of AMD SEV-SNP", found)
    _hcl_number(reader, SHA_256, "hash of the run-time data")
    runtime_data = reader.take(reader.number(4, "length of the run-time data"), "run-time data")
    sizes = reader.position, reader.position - start
    if sizes != (size, runtime_size):
        raise MalformedError(HCL, f"sizes {sizes[0]} and {sizes[1]}", f"{size} and {runtime_size}")
    if any(reader.rest()):
        raise MalformedError(HCL, "nothing but zeros after the run-time data", "other bytes")
    return SnpEvidence(report, None, runtime_data, HCL, CONTAINER, VTPM)


def _hcl_number(reader: Reader, expected: int, field: str) -> None:
    reader.constant(expected.to_bytes(4, "little"), field)


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
        raise MalformedError(WHAT, "a report of AMD SEV-SNP", other)
