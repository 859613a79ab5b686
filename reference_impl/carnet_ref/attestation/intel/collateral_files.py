"""Collateral as Intel's service delivers it: each reply in a file of its own, told by what is in it.

The files are put together to the one JSON object that `parse_collateral` reads. Nothing is checked here: a file that is
put in the wrong place, or that belongs to another platform, is refused by the appraisal.

Source: Intel SGX and TDX Provisioning Certification Service API, version 4: "Get TDX TCB Info", "Get TDX Enclave
Identity", "Get PCK Cert CRL", "Get Root CA CRL"; the issuer chains are headers of the replies, percent-encoded.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final
from urllib.parse import unquote_to_bytes

from carnet_ref.attestation.documents import Document
from carnet_ref.attestation.encodings import PEM, decode
from carnet_ref.attestation.intel.certificates import PCK_AUTHORITIES, TCB_SIGNING, parse_issuer_chain
from carnet_ref.attestation.intel.collateral import PCK_CHAIN
from carnet_ref.attestation.kinds import kind_of
from carnet_ref.attestation.revocation_lists import PEM_LIST, crl_in_pem, parse_crl
from carnet_ref.crypto.certificate_path import common_name, only_common_name
from carnet_ref.wire.reader import MalformedError

WHAT: Final = "collateral"
EXPECTED: Final = "a reply of Intel's service: TCB info, QE identity, a revocation list or an issuer chain in PEM"
PERCENT_PEM: Final = b"-----BEGIN%20"
PARTS: Final = {
    "tcb_info": "the TCB info",
    "qe_identity": "the identity of the quoting enclave",
    "tcb_info_issuer_chain": "the issuer chain of the TCB info and the identity",
    "root_ca_crl": "the revocation list of the root",
    "pck_crl": "the revocation list of the PCK authority",
}
"""What has to be there, by its name in the JSON object; the chain of the PCK authority may be, since quotes have it."""


def collateral_of(files: Sequence[bytes]) -> bytes:
    """Return collateral as one JSON object, out of one file that is such an object, or of one file for each part.

    A part may come twice if it is the same, byte for byte.

    Raises:
        MalformedError: a file is something else, a part is missing, or two files differ about the same part.
    """
    if len(files) == 1 and _is_bundle(files[0]):
        return files[0]
    found: dict[str, str] = {}
    for data in files:
        name, text = _part(data)
        if found.setdefault(name, text) != text:
            raise MalformedError(WHAT, f"one file for {PARTS.get(name, 'the issuer chain of PCK lists')}", "two")
    missing = [what for name, what in PARTS.items() if name not in found]
    if missing:
        raise MalformedError(WHAT, ", ".join(PARTS.values()), f"{len(files)} files without {', '.join(missing)}")
    chains = {"qe_identity_issuer_chain": found["tcb_info_issuer_chain"], PCK_CHAIN: found.get(PCK_CHAIN, "")}
    return json.dumps({**found, **chains}).encode()


def _is_bundle(data: bytes) -> bool:
    return data.lstrip()[:1] == b"{" and not _reply_kind(data)


def _reply_kind(data: bytes) -> str | None:
    """Return which of Intel's two signed replies a JSON text is, if any."""
    document = Document.parse(data, WHAT)
    kinds = {"tcbInfo": "tcb_info", "enclaveIdentity": "qe_identity"}
    return next((name for key, name in kinds.items() if document.has(key)), None)


def _part(data: bytes) -> tuple[str, str]:
    """Return which part a file is, and what stands for it in the JSON object."""
    if data.lstrip()[:1] in (b"{", b"["):
        name = _reply_kind(data) if data.lstrip()[:1] == b"{" else None
        if name is None:
            raise MalformedError(WHAT, EXPECTED, kind_of(data))
        return name, data.decode()
    text = unquote_to_bytes(data.strip()) if data.lstrip().startswith(PERCENT_PEM) else data
    if text.lstrip().startswith(PEM_LIST):
        return _list(crl_in_pem(text))
    if text.lstrip().startswith(PEM):
        return _chain(text)
    der = decode(text, WHAT)
    if der[:1] != b"\x30":
        raise MalformedError(WHAT, EXPECTED, kind_of(data))
    return _list(der)


def _list(der: bytes) -> tuple[str, str]:
    issuer = only_common_name(parse_crl(der).issuer)
    return "pck_crl" if issuer in PCK_AUTHORITIES else "root_ca_crl", der.hex()


def _chain(pem: bytes) -> tuple[str, str]:
    subject = common_name(parse_issuer_chain(pem)[0])
    if subject != TCB_SIGNING and subject not in PCK_AUTHORITIES:
        raise MalformedError(WHAT, EXPECTED, f"certificates that begin with {subject!r}")
    return "tcb_info_issuer_chain" if subject == TCB_SIGNING else PCK_CHAIN, pem.decode("ascii", "replace")
