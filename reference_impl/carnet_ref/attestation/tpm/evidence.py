"""A quote with its signature and register values: as files of tpm2-tools, or in a document of a cloud or a tool.

Source: tpm2-software/tpm2-tools 5.7, ``tpm2_quote``; microsoft/openvmm, commit 026a1eaf, ``igvm_attest/get.rs`` (the
key ``HCLAkPub`` of the run-time data); confidential-containers/trustee, commit 78962cd4, ``az_snp_vtpm``,
``az_tdx_vtpm`` and ``tpm``; google/go-tpm-tools, commit 67670e5c, ``proto/attest.proto`` and ``proto/tpm.proto``.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from carnet_ref.attestation import tpm2
from carnet_ref.attestation.amd.evidence import HCL_OF_TDX, SnpEvidence, hcl_parts, virtual_tpm_key
from carnet_ref.attestation.amd.evidence import parse_evidence as parse_snp_evidence
from carnet_ref.attestation.appraisal import NO_VTPM_QUOTE, UnappraisedPart
from carnet_ref.attestation.documents import LARGEST, decode
from carnet_ref.attestation.intel.evidence import quote_evidence
from carnet_ref.attestation.kinds import kind_of, kind_of_value
from carnet_ref.attestation.protojson import Message
from carnet_ref.crypto.certificate_path import parse_der_chain
from carnet_ref.wire import MalformedError, bounded_json

WHAT: Final = "TPM evidence"
AZURE: Final = "Azure's evidence of a virtual machine with a vTPM"
REPORTS: Final = ("sev_snp_attestation", "tdx_attestation")
CONTAINERS: Final = "the evidence of a Confidential Containers guest with a TPM"
GOOGLE: Final = "the attestation of go-tpm-tools"
#: Names that Azure's evidence has, in an object with its platform or without.
AZURES: Final = frozenset({"tpm_quote", "hcl_report", "evidence"})
TEE: Final = UnappraisedPart("the report of the virtual machine beside the quote", "report of the machine not checked")


@dataclass(frozen=True, slots=True)
class TpmEvidence:
    """A quote with its signature and with register values, the key, a log or the machine's own report, if they came.

    ``runtime_data`` has the key if the SNP ``report`` or TDX quote has its hash.
    """

    quote: tpm2.Quote
    signature: tpm2.Signature
    values: Mapping[int, bytes] | None = None
    key: tpm2.AttestationKey = field(default_factory=tpm2.AttestationKey)
    event_log: bytes | None = None
    runtime_data: bytes | None = None
    report: SnpEvidence | bytes | None = None
    found_in: str | None = None
    unread: tuple[UnappraisedPart, ...] = ()


def parse_evidence(data: bytes, signature: bytes | None, values: bytes | None) -> TpmEvidence:
    """Read a quote with the files beside it, or a document with everything. Raises MalformedError if it is neither."""
    if data.lstrip()[:1] not in (b"{", b"["):
        return _files(data, signature, values)
    if signature is not None or values is not None:
        raise MalformedError(WHAT, "a quote alone beside --signature or --pcrs", "a document that has its own")
    document = bounded_json(data, WHAT, LARGEST, "a quote or JSON")
    match document:
        case Mapping() if "quotes" in document and AZURES.intersection(document):
            raise MalformedError(WHAT, "one quote", f"{AZURE} and {GOOGLE}: readers may differ in which counts")
        case Mapping() if "quotes" in document:
            return _google(document)
        case {"ak_public": public, "tpm_quote": Mapping() as parts, **beside} if not AZURES.intersection(beside):
            return _containers(public, parts)
        case {"platform": str(), "evidence": Mapping() as inner} | (Mapping() as inner):
            parts = inner.get("tpm_quote", inner.get("quote"))
            if isinstance(parts, Mapping):
                return _azure(data, inner, parts)
    raise MalformedError(
        WHAT,
        "a quote of a TPM, or evidence of Azure, of Confidential Containers or of go-tpm-tools",
        kind_of_value(document),
    )


def _files(data: bytes, signature: bytes | None, values: bytes | None) -> TpmEvidence:
    raw = decode(data, WHAT)
    if not raw.startswith(tpm2.GENERATED):
        raise MalformedError(WHAT, "a quote of a TPM", kind_of(data))
    quote = tpm2.parse_quote(raw)
    if signature is None:
        raise MalformedError(WHAT, "the quote's signature by --signature", "none")
    listed = None if values is None else _by_register(quote, tpm2.listed_values(values, quote.selection))
    return TpmEvidence(quote, tpm2.parse_signature(decode(signature, "TPM signature")), listed)


def _by_register(quote: tpm2.Quote, values: tuple[bytes, ...]) -> Mapping[int, bytes]:
    registers = quote.selection.registers
    if len(values) != len(registers):
        raise MalformedError("PCR values", f"values of {len(registers)} registers", f"{len(values)}")
    return dict(zip(registers, values, strict=True))


# -- Azure ---------------------------------------------------------------------------------------------


def _azure(data: bytes, document: Mapping[str, Any], parts: Mapping[str, Any]) -> TpmEvidence:
    """Read Azure's evidence: the run-time data has the key, and an SNP report or TDX quote has its hash."""
    quote = tpm2.parse_quote(_octets(parts.get("message"), "message"))
    selected = _selected(quote, parts)
    signature = tpm2.parse_signature(_octets(parts.get("signature"), "signature"))
    runtime_data, report, unread = _report(data, document)
    key = tpm2.AttestationKey(tpm2.rsa_key(*virtual_tpm_key(runtime_data)))
    further = tuple(part for part in unread if part.lacking != NO_VTPM_QUOTE)
    return TpmEvidence(quote, signature, selected, key, None, runtime_data, report, AZURE, further)


def _selected(quote: tpm2.Quote, parts: Mapping[str, Any]) -> Mapping[int, bytes]:
    """Return the values of the quoted registers from a list of all values."""
    values = parts.get("pcrs")
    if not isinstance(values, list) or len(values) > 24:
        raise MalformedError(WHAT, "pcrs as a list", kind_of_value(values))
    every = dict(enumerate(_octets(value, "pcrs") for value in values))
    return {number: value for number, value in every.items() if number in quote.selection.registers}


def _report(data: bytes, document: Mapping[str, Any]) -> tuple[bytes, SnpEvidence | bytes, tuple[UnappraisedPart, ...]]:
    """Return the run-time data, the report or quote over its hash, and what else lies there unread."""
    if "td_quote" in document:
        _, runtime_data = hcl_parts(_octets(document.get("hcl_report"), "hcl_report", text=decode), HCL_OF_TDX)
        td = quote_evidence(data)
        return runtime_data, td.quote, td.unread
    snp = parse_snp_evidence(data)
    assert snp.runtime_data is not None, "Azure's evidence of an SNP guest has run-time data"
    return snp.runtime_data, snp, snp.unread


def _octets(value: object, name: str, text: Any = None) -> bytes:
    """Return bytes from a list of numbers, or from a text in hexadecimal or another form that ``text`` parses."""
    match value:
        case str() if text is not None:
            found: bytes = text(value.encode("ascii", "replace"), f"{WHAT}: {name}", padded=False)
            return found
        case str():
            try:
                return bytes.fromhex(value)
            except ValueError:
                raise MalformedError(f"{WHAT}: {name}", "hexadecimal digits", ascii(value)[:80]) from None
        case list() if all(type(byte) is int and 0 <= byte < 256 for byte in value):
            return bytes(value)
    raise MalformedError(f"{WHAT}: {name}", "hexadecimal digits or a list of bytes", kind_of_value(value))


# -- Confidential Containers -----------------------------------------------------------------------------


def _containers(public: object, parts: Mapping[str, Any]) -> TpmEvidence:
    """Read the evidence of a Confidential Containers guest with a TPM: all register values, and the bare key."""
    quote = tpm2.parse_quote(_octets(parts.get("message"), "message", text=decode))
    signature = tpm2.parse_signature(_octets(parts.get("signature"), "signature", text=decode))
    key = tpm2.parse_key(_octets(public, "ak_public", text=decode))
    return TpmEvidence(quote, signature, _selected(quote, parts), key, found_in=CONTAINERS)


# -- go-tpm-tools --------------------------------------------------------------------------------------


def _google(document: Mapping[str, object]) -> TpmEvidence:
    attestation = Message(document, GOOGLE)
    chosen = [each for each in attestation.messages("quotes") if each.message("pcrs").word("hash") in ("SHA256", 11)]
    if len(chosen) != 1:
        raise MalformedError(GOOGLE, "one quote over registers of SHA-256", f"{len(chosen)}")
    quote, listed = tpm2.parse_quote(chosen[0].octets("quote")), chosen[0].message("pcrs").message("pcrs")
    values = {number: listed.octets(f"{number}") for number in range(24) if listed.has(f"{number}")}
    chain = (attestation.octets("ak_cert"), *attestation.octet_lists("intermediate_certs"))
    certificates = parse_der_chain(chain) if chain[0] else ()
    public = tpm2.parse_public(attestation.octets("ak_pub")) if attestation.octets("ak_pub") else None
    return TpmEvidence(
        quote,
        tpm2.parse_signature(chosen[0].octets("raw_sig")),
        values,
        tpm2.AttestationKey(public, certificates),
        attestation.octets("event_log") or None,
        found_in=GOOGLE,
        unread=(TEE,) if any(map(attestation.has, REPORTS)) else (),
    )
