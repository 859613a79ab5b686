"""The bytes that labels, signatures and records are made of, as the specifications lay them out."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from carnet_ref.crypto.primitives import AesGcm, AuthenticationError
from carnet_ref.spdm.layout import Version
from carnet_ref.spdm.secured import DirectionSecret, HandshakeSecrets, RecordKeys, SecuredRecord, bin_concat
from carnet_ref.spdm.session import Purpose, signed_bytes


def test_a_label_is_size_version_text_and_context() -> None:
    assert bin_concat(Version.V1_2, 48, "req hs data", b"TH1") == b"\x30\x00spdm1.2 req hs dataTH1"
    assert bin_concat(Version.V1_1, 12, "iv") == b"\x0c\x00spdm1.1 iv"


def expand(secret: bytes, info: bytes, size: int) -> bytes:
    return hmac.digest(secret, info + b"\x01", hashlib.sha384)[:size]


def test_secrets_follow_the_tree_of_the_specification() -> None:
    shared, th1, th2 = b"s" * 48, b"1" * 48, b"2" * 48
    secrets = HandshakeSecrets.derive(Version.V1_2, shared, th1)
    handshake = hmac.digest(bytes(48), shared, hashlib.sha384)
    assert secrets.handshake == handshake
    assert secrets.response.secret == expand(handshake, b"\x30\x00spdm1.2 rsp hs data" + th1, 48)
    salt = expand(handshake, b"\x30\x00spdm1.2 derived", 48)
    master = hmac.digest(salt, bytes(48), hashlib.sha384)
    session = secrets.session(th2)
    assert session.export == expand(master, b"\x30\x00spdm1.2 exp master" + th2, 48)
    assert session.request.secret == expand(master, b"\x30\x00spdm1.2 req app data" + th2, 48)
    assert session.request.key == expand(session.request.secret, b"\x20\x00spdm1.2 key", 32)
    assert session.request.updated().secret == expand(session.request.secret, b"\x30\x00spdm1.2 traffic upd", 48)


def test_a_psk_of_1_3_is_extracted_under_another_salt_than_an_exchanged_secret() -> None:
    for version, alike in ((Version.V1_1, True), (Version.V1_2, True), (Version.V1_3, False)):
        exchanged, psk = (HandshakeSecrets.derive(version, b"s", b"", psk=psk) for psk in (False, True))
        assert (exchanged.handshake == psk.handshake) is alike


def test_verify_data_is_checked() -> None:
    secret = DirectionSecret(Version.V1_2, bytes(48))
    secret.check_verify_data(b"th", secret.verify_data(b"th"), "verify data")
    for found in (secret.verify_data(b"other"), b"", secret.verify_data(b"th")[:-1]):
        with pytest.raises(AuthenticationError):
            secret.check_verify_data(b"th", found, "verify data")


def test_no_secret_shows_in_a_repr() -> None:
    secrets = HandshakeSecrets.derive(Version.V1_2, b"s", b"")
    assert secrets.handshake.hex() not in repr(secrets)
    assert repr(secrets.handshake) not in repr(secrets)
    assert repr(secrets.session(b"").export) not in repr(secrets.session(b""))


def test_1_1_signs_the_messages_and_later_versions_a_purpose_and_their_hash() -> None:
    assert signed_bytes(Version.V1_1, Purpose.MEASUREMENTS, b"messages") == b"messages"
    signed = signed_bytes(Version.V1_3, Purpose.KEY_EXCHANGE_RSP, b"messages")
    assert signed[:64] == b"dmtf-spdm-v1.3.*" * 4
    assert signed[64:100] == b"\0\0responder-key_exchange_rsp signing"
    assert signed[100:] == hashlib.sha384(b"messages").digest()


def test_a_record_is_header_ciphertext_and_tag_under_the_sequence_number() -> None:
    secret = DirectionSecret(Version.V1_1, bytes(range(48)))
    after, data = RecordKeys(0x04030201, secret, sequence=0x0102).seal(0x05, b"\x11\xe8\0\0", b"padding")
    assert after.sequence == 0x0103
    assert data[:9] == bytes.fromhex("06 01020304 0201") + (2 + 1 + 4 + 7 + 16).to_bytes(2, "little")
    nonce = bytearray(secret.iv)
    nonce[0] ^= 0x02
    nonce[1] ^= 0x01
    assert AesGcm(secret.key).decrypt(bytes(nonce), data[9:], data[1:9]) == b"\x05\0\x05\x11\xe8\0\0padding"
    assert SecuredRecord.parse(data).sequence == 0x0102
