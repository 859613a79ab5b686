"""Device certificates: the firmware id of both generations, and extensions that are not what they say."""

from __future__ import annotations

import pytest
from cryptography import x509
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.attestation.nvidia.certificates import BLACKWELL_DICE, HOPPER_DICE, firmware_id, product, unit
from carnet_ref.wire import MalformedError
from tests.fixtures.nvidia_pki import FIRMWARE_ID, issue, world

SHA_384 = bytes.fromhex("0609608648016503040202")
SHA_256 = bytes.fromhex("0609608648016503040201")


def _der(tag: int, body: bytes) -> bytes:
    length = bytes([len(body)]) if len(body) < 128 else b"\x81" + bytes([len(body)])
    return bytes([tag]) + length + body


def _fwid(digest: bytes, algorithm: bytes = SHA_384) -> bytes:
    return _der(0x30, algorithm + _der(0x04, digest))


def _tcb_info(*fwids: bytes) -> bytes:
    return _der(0x30, _der(0x80, b"NVIDIA") + _der(0x83, b"\x01") + _der(0xA6, b"".join(fwids)))


def _leaf(oid: x509.ObjectIdentifier, value: bytes) -> x509.Certificate:
    extension = x509.UnrecognizedExtension(oid, value)
    return issue("GB100 A01 GSP FMC LF", None, ca=False, extensions=[(extension, False)]).certificate


def test_a_hopper_leaf_names_its_firmware() -> None:
    assert firmware_id(world().device.leaf.certificate) == FIRMWARE_ID


def test_a_blackwell_leaf_names_its_firmware_first() -> None:
    assert firmware_id(_leaf(BLACKWELL_DICE, _tcb_info(_fwid(FIRMWARE_ID), _fwid(bytes(48))))) == FIRMWARE_ID


def test_a_certificate_without_the_extension_names_none() -> None:
    assert firmware_id(world().root.certificate) is None


@pytest.mark.parametrize(
    ("oid", "value"),
    [
        (HOPPER_DICE, b""),
        (HOPPER_DICE, b"\x30\0"),
        (HOPPER_DICE, _tcb_info(_fwid(FIRMWARE_ID))),
        (BLACKWELL_DICE, _tcb_info()),
        (BLACKWELL_DICE, _tcb_info(_fwid(FIRMWARE_ID[:32], SHA_256))),
        (BLACKWELL_DICE, _tcb_info(_fwid(FIRMWARE_ID)) + b"\0"),
    ],
)
def test_an_extension_of_another_kind_is_a_typed_error(oid: x509.ObjectIdentifier, value: bytes) -> None:
    with pytest.raises(MalformedError, match="DICE extension"):
        firmware_id(_leaf(oid, value))


@given(st.sampled_from([HOPPER_DICE, BLACKWELL_DICE]), st.binary(max_size=60))
def test_any_extension_is_a_firmware_id_or_a_typed_error(oid: x509.ObjectIdentifier, value: bytes) -> None:
    with pytest.raises(MalformedError):
        firmware_id(_leaf(oid, value))


@pytest.mark.parametrize(
    ("name", "chip"), [("GH100 A01 GSP FMC LF", "GH100"), ("LS_10 A01 FSP FMC LF", "LS10"), (" ", "")]
)
def test_the_chip_is_the_first_word_of_the_name(name: str, chip: str) -> None:
    leaf = issue(name, None, ca=False, serial=4711).certificate
    assert (product(leaf), unit(leaf)) == (chip, "4711")
