"""A quote with what belongs to it: as files of tpm2-tools, as Azure's evidence, and as the JSON of go-tpm-tools.

Source: tpm2-software/tpm2-tools 5.7, ``tpm2_quote``; microsoft/openvmm, commit 026a1eaf, ``igvm_attest/get.rs`` (the
key ``HCLAkPub`` of the run-time data); confidential-containers/trustee, commit 78962cd4, ``az_snp_vtpm`` and
``az_tdx_vtpm``; google/go-tpm-tools, commit 67670e5c, ``proto/attest.proto`` and ``proto/tpm.proto``.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from carnet_ref.attestation import tpm2
from carnet_ref.attestation.amd.evidence import HCL_OF_TDX, SnpEvidence, hcl_parts, virtual_tpm_key
from carnet_ref.attestation.amd.evidence import parse_evidence as parse_snp_evidence
from carnet_ref.attestation.appraisal import UnappraisedPart
from carnet_ref.attestation.documents import LARGEST, decode
from carnet_ref.attestation.intel.evidence import quote_evidence
from carnet_ref.attestation.kinds import kind_of, kind_of_value
from carnet_ref.crypto.certificate_path import parse_der_chain
from carnet_ref.wire import MalformedError, bounded_json

WHAT: Final = "TPM evidence"
AZURE: Final = "Azure's evidence of a virtual machine with a vTPM"
GOOGLE: Final = "the attestation of go-tpm-tools"
TEE: Final = UnappraisedPart("the report of the virtual machine beside the quote", "report of the machine not checked")


@dataclass(frozen=True, slots=True)
class TpmEvidence:
    """A quote with its signature; what came with it: values of registers, the key, a log, the machine's own report.

    ``runtime_data`` has the key where a report is over its hash: an SNP ``report``, or a TDX quote.
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
        case {"quotes": list()}:
            return _google(document)
        case {"platform": str(), "evidence": Mapping() as inner} | (Mapping() as inner):
            parts = inner.get("tpm_quote", inner.get("quote"))
            if isinstance(parts, Mapping):
                return _azure(data, inner, parts)
    raise MalformedError(WHAT, "a quote of a TPM, Azure's evidence or that of go-tpm-tools", kind_of_value(document))


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
    """Read Azure's evidence: the run-time data has the key, and an SNP report or a TDX quote is over its hash."""
    quote = tpm2.parse_quote(_octets(parts.get("message"), "message"))
    values = parts.get("pcrs")
    if not isinstance(values, list) or len(values) > 24:
        raise MalformedError(AZURE, "pcrs as a list", kind_of_value(values))
    every = dict(enumerate(_octets(value, "pcrs") for value in values))
    selected = {number: value for number, value in every.items() if number in quote.selection.registers}
    signature = tpm2.parse_signature(_octets(parts.get("signature"), "signature"))
    runtime_data, report = _report(data, document)
    key = tpm2.AttestationKey(tpm2.rsa_key(*virtual_tpm_key(runtime_data)))
    return TpmEvidence(quote, signature, selected, key, None, runtime_data, report, AZURE)


def _report(data: bytes, document: Mapping[str, Any]) -> tuple[bytes, SnpEvidence | bytes]:
    if "td_quote" in document:
        _, runtime_data = hcl_parts(_octets(document.get("hcl_report"), "hcl_report", text=decode), HCL_OF_TDX)
        return runtime_data, quote_evidence(data).quote
    snp = parse_snp_evidence(data)
    assert snp.runtime_data is not None, "Azure's evidence of an SNP guest has run-time data"
    return snp.runtime_data, snp


def _octets(value: object, name: str, text: Any = None) -> bytes:
    """Return bytes out of hexadecimal, or of what else ``text`` reads, or out of a list of their values."""
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


def _base64(text: object, name: str) -> bytes:
    if isinstance(text, str):
        try:
            return base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            pass
    raise MalformedError(f"{WHAT}: {name}", "base64", ascii(text)[:80])


# -- go-tpm-tools --------------------------------------------------------------------------------------


def _google(document: object) -> TpmEvidence:
    """Read an attestation in JSON, with names as protobuf's JSON has them or as its definition has them."""
    attestation = _renamed(document)
    quotes = [_renamed(each) for each in attestation["quotes"] if isinstance(each, Mapping)]
    chosen = [each for each in quotes if _renamed(each.get("pcrs")).get("hash") in ("SHA256", 11)]
    if len(chosen) != 1:
        raise MalformedError(GOOGLE, "one quote over registers of SHA-256", f"{len(chosen)}")
    quote = tpm2.parse_quote(_base64(chosen[0].get("quote"), "quote"))
    signature = tpm2.parse_signature(_base64(chosen[0].get("rawsig"), "rawSig"))
    listed = _renamed(chosen[0].get("pcrs")).get("pcrs")
    if not isinstance(listed, Mapping) or not {*map(str, range(24))}.issuperset(listed):
        raise MalformedError(GOOGLE, "values of registers from 0 to 23", kind_of_value(listed))
    values = {int(number): _base64(value, "pcrs") for number, value in listed.items()}
    encoded = [attestation[name] for name in ("akcert",) if attestation.get(name)]
    further = attestation.get("intermediatecerts") or []
    if not isinstance(further, list):
        raise MalformedError(GOOGLE, "intermediateCerts as a list", kind_of_value(further))
    encoded += further if encoded else []
    certificates = parse_der_chain([_base64(each, "akCert") for each in encoded]) if encoded else ()
    public = tpm2.parse_public(_base64(attestation["akpub"], "akPub")) if attestation.get("akpub") else None
    log = attestation.get("eventlog")
    unread = (TEE,) if attestation.get("sevsnpattestation") or attestation.get("tdxattestation") else ()
    key = tpm2.AttestationKey(public, certificates)
    events = None if log is None else _base64(log, "eventLog")
    return TpmEvidence(quote, signature, values, key, events, found_in=GOOGLE, unread=unread)


def _renamed(value: object) -> dict[str, Any]:
    """Return an object with its names in small letters and without ``_``; a name that comes twice is refused."""
    if not isinstance(value, Mapping):
        raise MalformedError(GOOGLE, "an object", kind_of_value(value))
    found = {name.replace("_", "").lower(): each for name, each in value.items()}
    if len(found) != len(value):
        raise MalformedError(GOOGLE, "each name once", "two that stand for the same")
    return found
