"""The H100's derivation and ratchet, against vectors that were computed independently from the driver's source."""

from __future__ import annotations

import hashlib
import hmac

import pytest

from carnet_ref.crypto.primitives import KeyMaterialError
from carnet_ref.keys import Direction, H100KeySchedule, OneTimeSecret, SecretTakenError, engine_label, ratchet

EMK = bytes(range(32))
VECTORS = [
    ("Lce00_h2d_user", 0, "c6b68a948507a9697f4a2626f0b123b19146963db5481c78e735c0801b3a1444"),
    ("Lce00_h2d_user", 1, "4323720151a93eec2c0eafc30cb652cf4bb0e4c2934c6a624804c46c574831e6"),
    ("Lce00_h2d_user", 2, "dbd136dcab49008f90b017070ab017e64d2e6921ef5326565318199650d5f03a"),
    ("Lce00_d2h_user", 0, "5e2c73cde6ffeac51601bd85e0e6be9fb8a9dffcfca1409eb9f2726c5d1b4694"),
    ("Lce00_d2h_user", 1, "39b4eab545ecdfed91aaab5e35a0f65bd0e95eab68a4a639329036d4f5e82b95"),
    ("Lce00_d2h_user", 2, "16227fd7c0af78d8a4013fd26f883afbae1f166a099a2461d8e181b7365c4fab"),
    ("Lce01_h2d_user", 0, "b9ffd80f803fa97272d2d5b6911e5c109d9af3f08359c414074baebcc279c985"),
    ("Lce01_h2d_user", 1, "0ecde377142f5107bb11841093ef43ca5e59b7bac692481907ede2c0508508b8"),
    ("cpu_gsp_locked_rpc", 0, "fbbf9718624cfb5ee544c231078eb10527b4c102cd3533c158164e6aff060334"),
]


@pytest.mark.parametrize(("label", "epoch", "key"), VECTORS)
def test_keys_are_those_of_the_vectors(label: str, epoch: int, key: str) -> None:
    assert H100KeySchedule(EMK).key(label, epoch).hex() == key


def test_expansion_is_one_hmac_as_rfc_5869_says() -> None:
    label = engine_label(7, Direction.D2H)
    expected = hmac.digest(EMK, label.encode() + b"\x01", hashlib.sha256)
    assert H100KeySchedule(EMK).key(label) == expected


def test_whoever_holds_a_key_computes_every_later_one() -> None:
    schedule = H100KeySchedule(EMK)
    held = schedule.key("Lce03_h2d_user", 4)
    for epoch in range(5, 9):
        held = ratchet(held, "Lce03_h2d_user")
        assert held == schedule.key("Lce03_h2d_user", epoch)


def test_the_emk_is_the_first_32_bytes_of_the_exported_secret() -> None:
    assert H100KeySchedule.of_session(EMK + bytes(16)).key("x") == H100KeySchedule(EMK).key("x")


@pytest.mark.parametrize("emk", [b"", bytes(31), bytes(33)])
def test_an_emk_of_another_size_is_refused(emk: bytes) -> None:
    with pytest.raises(KeyMaterialError):
        H100KeySchedule(emk)


@pytest.mark.parametrize("key", [bytes(32), bytes(31), b"\x01" * 33])
def test_a_zero_key_or_one_of_another_size_does_not_ratchet(key: bytes) -> None:
    with pytest.raises(KeyMaterialError):
        ratchet(key, "Lce00_h2d_user")


@pytest.mark.parametrize("engine", [-1, 8])
def test_there_are_eight_engines(engine: int) -> None:
    with pytest.raises(KeyMaterialError):
        engine_label(engine, Direction.H2D)


def test_a_wiped_schedule_derives_nothing_and_shows_nothing() -> None:
    schedule = H100KeySchedule(EMK)
    assert EMK.hex() not in repr(schedule)
    schedule.wipe()
    with pytest.raises(SecretTakenError):
        schedule.key("Lce00_h2d_user")


def test_a_secret_is_taken_once() -> None:
    secret = OneTimeSecret(EMK)
    assert secret.take() == EMK
    with pytest.raises(SecretTakenError):
        secret.take()
    wiped = OneTimeSecret(EMK)
    wiped.wipe()
    with pytest.raises(SecretTakenError):
        wiped.take()
