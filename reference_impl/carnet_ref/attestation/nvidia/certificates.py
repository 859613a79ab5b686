"""The certificates of an NVIDIA device: which chip it is, its unit number, and the firmware its key was derived for.

A chain has five certificates: attestation key (leaf), boot ROM, provisioner, model, root. The leaf binds the key to the
firmware by the DICE extension of its generation.

Source: TCG, "DICE Attestation Architecture" (TcbInfo, 2.23.133.5.4.1.1) and, before it, "DICE Layering Architecture"
(CompositeDeviceID, 2.23.133.5.4.1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from cryptography import x509
from cryptography.hazmat import asn1

from carnet_ref.wire import MalformedError

HOPPER_DICE = x509.ObjectIdentifier("2.23.133.5.4.1")
BLACKWELL_DICE = x509.ObjectIdentifier("2.23.133.5.4.1.1")
SHA_384 = x509.ObjectIdentifier("2.16.840.1.101.3.4.2.2")


@asn1.sequence
@dataclass(frozen=True)
class _Fwid:
    hash_algorithm: x509.ObjectIdentifier
    digest: bytes


@asn1.sequence
@dataclass(frozen=True)
class _CompositeDeviceId:
    version: int
    device_key: asn1.TLV
    fwid: _Fwid


@asn1.sequence
@dataclass(frozen=True)
class _TcbInfo:
    vendor: Annotated[str | None, asn1.Implicit(0)]
    model: Annotated[str | None, asn1.Implicit(1)]
    version: Annotated[str | None, asn1.Implicit(2)]
    svn: Annotated[int | None, asn1.Implicit(3)]
    layer: Annotated[int | None, asn1.Implicit(4)]
    index: Annotated[int | None, asn1.Implicit(5)]
    fwids: Annotated[list[_Fwid] | None, asn1.Implicit(6)]
    flags: Annotated[asn1.BitString | None, asn1.Implicit(7)]
    vendor_info: Annotated[bytes | None, asn1.Implicit(8)]
    type: Annotated[bytes | None, asn1.Implicit(9)]


def firmware_id(leaf: x509.Certificate) -> bytes | None:
    """Return the SHA-384 of the firmware that the leaf's key was derived for; ``None`` without a DICE extension.

    Where the extension lists several, the first is the firmware's; the others are zero on the devices seen.

    Raises MalformedError if the extension is not what its number says.
    """
    found = _extension(leaf, BLACKWELL_DICE), _extension(leaf, HOPPER_DICE)
    try:
        if found[0] is not None:
            fwids = asn1.decode_der(_TcbInfo, found[0]).fwids or []
        elif found[1] is not None:
            fwids = [asn1.decode_der(_CompositeDeviceId, found[1]).fwid]
        else:
            return None
    except ValueError as error:
        raise MalformedError("DICE extension", "TcbInfo or CompositeDeviceID", str(error)) from None
    if not fwids or fwids[0].hash_algorithm != SHA_384:
        raise MalformedError("DICE extension", "a SHA-384 firmware id", "none")
    return fwids[0].digest


def _extension(certificate: x509.Certificate, oid: x509.ObjectIdentifier) -> bytes | None:
    try:
        value = certificate.extensions.get_extension_for_oid(oid).value
    except x509.ExtensionNotFound:
        return None
    assert isinstance(value, x509.UnrecognizedExtension), f"{oid.dotted_string} is known only here"
    return value.value


def product(leaf: x509.Certificate) -> str:
    """Return the chip that the leaf was issued for, such as ``GH100`` or ``LS10``: the first word of its name."""
    names = leaf.subject.get_attributes_for_oid(x509.NameOID.COMMON_NAME)
    words = str(names[0].value).split() if names else []
    return words[0].replace("_", "") if words else ""


def ueid(leaf: x509.Certificate) -> str:
    """Return the number of the unit in decimal, as NVIDIA's attestation service writes ``ueid``: the serial number."""
    return str(leaf.serial_number)
