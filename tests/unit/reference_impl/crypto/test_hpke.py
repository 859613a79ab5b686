"""HPKE agrees with RFC 9180's example and with the library's one-message interface, and counts its messages."""

from __future__ import annotations

import pytest
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.hpke import AEAD, KDF, KEM, Suite

from carnet_ref.crypto import hpke
from carnet_ref.crypto.primitives import AuthenticationError, KeyMaterialError, X25519Share
from carnet_ref.systems.gpu_travelling.roles.messages import Initiator, respond
from tests.fixtures.worlds import draws

RECIPIENT = bytes.fromhex("4612c550263fc8ad58375df3f557aac531d26850903e55a9f23f21d8534e8ac8")
EPHEMERAL = bytes.fromhex("52c4a758a802cd8b936eceea314432798d5baf2d7e9235dc084ab1b9cfa2f736")
SHARED = bytes.fromhex("fe0e18c9f024ce43799ae393c7e8fe8fce9d218875e8227b0187c04e7d2ea1fc")
"""RFC 9180, appendix A.1.1: skRm, skEm and shared_secret of DHKEM(X25519, HKDF-SHA256)."""
LIBRARY = Suite(KEM.X25519, KDF.HKDF_SHA256, AEAD.AES_256_GCM)
INFO = b"carnet test"


def test_the_kem_gives_the_secret_of_the_rfc() -> None:
    own, ephemeral = X25519Share(RECIPIENT), X25519Share(EPHEMERAL)
    assert hpke._shared(own.agree(ephemeral.public), ephemeral.public, own.public) == SHARED


def test_the_library_opens_the_first_message() -> None:
    key = X25519PrivateKey.from_private_bytes(RECIPIENT)
    encapsulated, context = hpke.sender(key.public_key().public_bytes_raw(), EPHEMERAL, INFO)
    sealed = encapsulated + context.messages.seal(b"message")
    assert LIBRARY.decrypt(sealed, key, INFO) == b"message"
    with pytest.raises(InvalidTag):
        LIBRARY.decrypt(sealed, key, b"another use")


def test_what_the_library_seals_is_opened() -> None:
    own = X25519Share(RECIPIENT)
    sealed = LIBRARY.encrypt(b"message", X25519PublicKey.from_public_bytes(own.public), INFO)
    assert hpke.recipient(own, sealed[:32], INFO).messages.open(sealed[32:]) == b"message"


def test_both_ends_export_the_same_and_no_two_purposes_do() -> None:
    own = X25519Share(RECIPIENT)
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
        with pytest.raises(AuthenticationError):
            other.open(first)
        assert other.open(one.seal(b"third")) == b"third"
        assert second not in (first, b"")


def test_what_is_no_share_is_refused() -> None:
    for share in (b"", bytes(32)):
        with pytest.raises(KeyMaterialError):
            respond(share, draws("orchestrator"))
