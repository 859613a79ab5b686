"""The in-process link against a bare loop of AES-256-GCM on the same buffers, in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from carnet_ref.crypto.primitives import TAG_BYTES
from carnet_ref.keys import CHUNK_BYTES, IvCounter, KeyUsage, Opener, Sealer
from carnet_ref.keys.schedule import ONE_CHANNEL

KEY = bytes(range(32))
CHUNKS = 24
ROUNDS = 60


def seconds(work: Callable[[], None]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


@pytest.mark.slow
def test_the_link_moves_chunks_at_four_fifths_of_a_bare_loop() -> None:
    data = bytearray(CHUNK_BYTES)
    sealed = bytearray(CHUNK_BYTES + TAG_BYTES)
    back = bytearray(CHUNK_BYTES)
    cipher = AESGCM(KEY)

    def bare() -> None:
        for number in range(CHUNKS):
            nonce = number.to_bytes(12, "little")
            cipher.encrypt_into(nonce, data, None, sealed)
            cipher.decrypt_into(nonce, sealed, None, back)

    def link() -> None:
        sealer, opener = (
            Sealer(KEY, IvCounter(ONE_CHANNEL), KeyUsage()),
            Opener(KEY, IvCounter(ONE_CHANNEL), KeyUsage()),
        )
        for _ in range(CHUNKS):
            sealer.seal_into(data, sealed)
            opener.open_into(sealed, back)

    for warm in (bare, link):
        warm()
    alone, linked = zip(*((seconds(bare), seconds(link)) for _ in range(ROUNDS)), strict=True)
    ratio = min(alone) / min(linked)  # the fastest of many, since other work only ever slows one down
    assert back == data
    assert ratio >= 0.8, f"the link runs at {ratio:.2f} of the bare loop"
