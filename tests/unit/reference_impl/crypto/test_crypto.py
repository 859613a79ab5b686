"""What the wrappers refuse; HPKE agrees with RFC 9180's example and the library's one-message interface."""

from collections.abc import Callable

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from carnet_ref.crypto import hpke, primitives
from carnet_ref.crypto import primitives as crypto
from carnet_ref.systems.gpu_travelling.roles.messages import Initiator, respond
from tests.fixtures.worlds import draws


def counting(size: int) -> bytes:
    return bytes(index % 256 for index in range(size))


@pytest.mark.parametrize("size", [0, 15, 17, 31, 33])
def test_keys_of_no_aes_are_refused(size: int) -> None:
    for cipher in (primitives.AesGcm, primitives.AesGcmSiv):
        with pytest.raises(primitives.KeyMaterialError):
            cipher(bytes(size))


def test_a_flipped_bit_anywhere_in_a_sealed_message_is_refused() -> None:
    cipher = primitives.AesGcm(counting(32))
    sealed = cipher.encrypt(bytes(12), b"chunk", b"header")
    for bit in range(len(sealed) * 8):
        forged = bytearray(sealed)
        forged[bit // 8] ^= 1 << bit % 8
        with pytest.raises(primitives.AuthenticationError):
            cipher.decrypt(bytes(12), bytes(forged), b"header")
    with pytest.raises(primitives.AuthenticationError):
        cipher.decrypt(bytes(12), sealed, b"other header")


def test_a_raw_signature_is_96_bytes_under_a_p384_key() -> None:
    key = ec.derive_private_key(7, ec.SECP384R1())
    signature = crypto.sign_p384(key, b"message")
    crypto.verify_p384(key.public_key(), signature, b"message")
    for forged, message in ((signature[:-1], b"message"), (signature, b"massage"), (bytes(96), b"message")):
        with pytest.raises(primitives.AuthenticationError):
            crypto.verify_p384(key.public_key(), forged, message)
    other = ec.derive_private_key(7, ec.SECP256R1())
    with pytest.raises(primitives.KeyMaterialError):
        crypto.verify_p384(other.public_key(), signature, b"message")
    with pytest.raises(primitives.KeyMaterialError):
        crypto.sign_p384(other, b"message")


def test_two_shares_agree_and_what_is_no_share_is_refused() -> None:
    one, two = primitives.P384Share(counting), primitives.P384Share(lambda size: bytes([9]) * size)
    assert one.agree(two.public) == two.agree(one.public)
    off_curve = bytearray(two.public)
    off_curve[-1] ^= 1
    for share in (bytes(off_curve), bytes(96), two.public[:-1], b""):
        with pytest.raises(primitives.KeyMaterialError):
            one.agree(share)
    with pytest.raises(primitives.KeyMaterialError):
        primitives.X25519Share(bytes(31))
    with pytest.raises(primitives.KeyMaterialError):
        primitives.X25519Share(counting(32)).agree(bytes(31))
    for share in (b"", bytes(32)):
        with pytest.raises(primitives.KeyMaterialError):
            respond(share, draws("orchestrator"))


@pytest.mark.parametrize("size", [0, 8, 11, 13, 16])
@pytest.mark.parametrize(
    "cipher", [primitives.AesGcm(bytes(32)), primitives.AesGcmSiv(bytes(32))], ids=["GCM", "GCM-SIV"]
)
def test_a_nonce_of_another_size_is_refused(cipher: primitives.AesGcm | primitives.AesGcmSiv, size: int) -> None:
    """The library beneath takes other sizes of GCM nonces, too."""
    with pytest.raises(primitives.KeyMaterialError, match="AEAD nonce"):
        cipher.encrypt(bytes(size), b"chunk")
    with pytest.raises(primitives.KeyMaterialError, match="AEAD nonce"):
        cipher.decrypt(bytes(size), bytes(32))


@pytest.mark.parametrize("length", [0, 256 * 48])
def test_a_key_is_derived_in_a_length_that_the_standard_allows(length: int) -> None:
    derivations: tuple[Callable[[], bytes], ...] = (
        lambda: crypto.hkdf_sha384(b"secret", b"salt", b"info", length),
        lambda: crypto.hkdf_expand_sha256(bytes(32), b"info", length),
        lambda: crypto.hkdf_expand_sha384(bytes(48), b"info", length),
    )
    for derive in derivations:
        with pytest.raises(primitives.KeyMaterialError, match="HKDF output"):
            derive()


def test_a_tag_by_another_key_or_over_other_data_is_refused() -> None:
    tag = crypto.hmac_sha384(b"key", b"data")
    crypto.verify_hmac_sha384(b"key", b"data", tag)
    for key, data in ((b"kex", b"data"), (b"key", b"date")):
        with pytest.raises(primitives.AuthenticationError):
            crypto.verify_hmac_sha384(key, data, tag)


RECIPIENT = bytes.fromhex("4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8")
EPHEMERAL = bytes.fromhex("52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736")
#: RFC 9180, appendix A.1.1: skRm, skEm and shared_secret of DHKEM(X25519, HKDF-SHA256).
SHARED = bytes.fromhex("fe0e18c9f024ce43799ae393c7e8fe8fce9d218875e8227b0187c04e7d2ea1fc")
LIBRARY = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
INFO = b"carnet test"


def test_hpke_gives_the_secret_of_the_rfc_and_the_library_opens_and_seals_alike() -> None:
    own, ephemeral = primitives.X25519Share(RECIPIENT), primitives.X25519Share(EPHEMERAL)
    assert hpke._shared(own.agree(ephemeral.public), ephemeral.public, own.public) == SHARED
    key = X25519PrivateKey.from_private_bytes(RECIPIENT)
    encapsulated, context = hpke.sender(key.public_key().public_bytes_raw(), EPHEMERAL, INFO)
    sealed = encapsulated + context.messages.seal(b"message")
    assert LIBRARY.decrypt(sealed, key, INFO) == b"message"
    with pytest.raises(InvalidTag):
        LIBRARY.decrypt(sealed, key, b"another use")
    own = primitives.X25519Share(RECIPIENT)
    sealed = LIBRARY.encrypt(b"message", X25519PublicKey.from_public_bytes(own.public), INFO)
    assert hpke.recipient(own, sealed[:32], INFO).messages.open(sealed[32:]) == b"message"


def test_both_ends_export_the_same_and_no_two_purposes_do() -> None:
    own = primitives.X25519Share(RECIPIENT)
    encapsulated, ours = hpke.sender(own.public, EPHEMERAL, INFO)
    theirs = hpke.recipient(own, encapsulated, INFO)
    assert ours.export(b"one", 48) == theirs.export(b"one", 48)
    assert len({ours.export(purpose, 32) for purpose in (b"one", b"two")}) == 2


def test_a_message_is_opened_once_and_in_its_turn() -> None:
    hello = Initiator(draws("holder"))
    answer, far = respond(hello.hello, draws("orchestrator"))
    near = hello.finish(answer)
    assert near.exporter == far.exporter
    for one, other in ((near, far), (far, near)):
        first, second = one.seal(b"first"), one.seal(b"second")
        assert other.open(first) == b"first"
        with pytest.raises(primitives.AuthenticationError):
            other.open(first)
        assert other.open(one.seal(b"third")) == b"third"
        assert second not in (first, b"")
    answer, _ = respond(hello.hello, draws("somebody else"))
    assert hello.finish(answer).exporter != near.exporter
