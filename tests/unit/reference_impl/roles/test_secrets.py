"""What the platform recorded and what journals hold on disk is searched for every plaintext and every key of a run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from carnet_ref import crypto
from carnet_ref.crypto import AesGcm, AesGcmSiv
from carnet_ref.journal import Journal
from carnet_ref.parties.cast import Cast, holder_names
from carnet_ref.roles.messages import ORCHESTRATOR
from carnet_ref.transport.supervisor import Supervisor
from tests.fixtures.worlds import draws, world_of

CAST = Cast(holder_names(2), 2)
KEY = bytes(range(100, 132))


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Return the list of every key that a cipher is made of, and every secret that keys are derived from."""
    seen: list[bytes] = []

    def watch(kind: type[AesGcm | AesGcmSiv]) -> None:
        original = kind.__init__

        def init(self: Any, key: bytes) -> None:
            seen.append(bytes(key))
            original(self, key)

        monkeypatch.setattr(kind, "__init__", init)

    watch(AesGcm)
    watch(AesGcmSiv)
    original = crypto.hkdf_expand_sha256

    def expand(key: bytes, info: bytes, length: int = 32) -> bytes:
        seen.append(bytes(key))
        return original(key, info, length)

    for module in ("crypto", "keys.h100", "keys.schedules"):
        monkeypatch.setattr(f"carnet_ref.{module}.hkdf_expand_sha256", expand)
    return seen


def windows(secret: bytes, size: int = 16) -> Iterator[bytes]:
    """Yield parts of a secret that would betray it."""
    yield from (secret[start : start + size] for start in range(0, max(1, len(secret) - size + 1), size))


def betrayed(haystack: bytes, secrets: list[bytes]) -> list[bytes]:
    return [part for secret in secrets for part in windows(secret) if part in haystack]


def plaintexts(cast: Cast) -> list[bytes]:
    return [chunk for holder in cast.holders for chunk in cast.dataset(holder)]


def test_the_search_finds_what_is_there() -> None:
    (first, *_) = plaintexts(CAST)
    assert betrayed(b"before" + first + b"after", [first])
    assert not betrayed(bytes(1000), [first])


@pytest.mark.parametrize("schedule", ["engine-per-holder", "sealed-under-master", "wrapped-under-old"])
def test_neither_platform_nor_journals_hold_a_secret(schedule: str, keys: list[bytes], tmp_path: Path) -> None:
    cast = Cast(holder_names(2), 2, schedule)
    world, _ = world_of(cast)
    for name in (ORCHESTRATOR, *cast.holders):
        world.nodes[name].store = Journal(tmp_path / name, KEY, cast.owner(name), draws(f"journal of {name}"))
    world.run()
    raw = (Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    enrolment = [cast.enrolment_key(name).private_bytes(*raw)[-80:] for name in cast.holders]
    seen = b"".join(frame.body for frame in world.platform.seen) + b"".join(world.platform.host_memory)
    on_disk = b"".join(each.read_bytes() for each in tmp_path.iterdir())
    model = world.orchestrator.job.progress.model[8:2048]
    assert len(keys) > 20
    assert len(seen) > 500_000
    assert len(on_disk) > 100_000
    for haystack in (seen, on_disk):
        assert not betrayed(haystack, [*plaintexts(cast), *keys, *enrolment, model])


def test_processes_leave_no_plaintext_either(tmp_path: Path) -> None:
    Supervisor(CAST, tmp_path, lambda name: tmp_path / f"{name}.journal", KEY).run()
    left = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert len(left["seen"]) > 500_000
    assert "orchestrator.journal" in left
    assert not betrayed(b"".join(left.values()), [*plaintexts(CAST), KEY])
