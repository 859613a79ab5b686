"""The shape of a hand-over in GPU Travelling's own runs: what the platform sees of two datasets.

Both runs draw the same randomness, for frames of an SPDM session have padding of random length (DSP0277). It is drawn
without looking at any data; what it makes different between two runs is looked at by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carnet_ref.systems.gpu_travelling.deployment import Deployment
from carnet_ref.systems.sgx_lkl.frames import ShapeError
from carnet_ref.systems.sgx_lkl.run import padded_dataset
from carnet_ref.transport.frames import Frame, FrameKind
from tests.fixtures.worlds import world_of

BOUND, CHUNK_BYTES = 3, 256
Shown = tuple[str, str, FrameKind, int]


@dataclass(frozen=True)
class Given(Deployment):
    """A run in which each holder has the dataset that it is given."""

    data: tuple[tuple[bytes, ...], ...] = field(default=(), repr=False)

    def dataset(self, holder: str) -> tuple[bytes, ...]:
        return self.data[self.holders.index(holder)]


def traffic(*data: tuple[bytes, ...], seed: str = "a run", schedule: str = "engine-per-holder") -> list[Shown]:
    """Return sender, receiver, path and size of every frame that the platform sees, in order."""
    deployment = Given(("alice", "anna"), 1, schedule, chunks=BOUND, chunk_bytes=CHUNK_BYTES, data=data)
    platform, seen = deployment.platform(), list[Frame]()
    platform.keep = seen.append
    world, _ = world_of(deployment, platform, seed)
    world.run()
    assert not world.failure
    return [(frame.source, frame.target, frame.kind, len(frame.body)) for frame in seen]


def _filled(byte: int, chunks: int = BOUND, size: int = CHUNK_BYTES) -> tuple[bytes, ...]:
    return tuple(bytes([byte]) * size for _ in range(chunks))


ZEROS = traffic(_filled(0), _filled(0))

chunk = st.binary(min_size=CHUNK_BYTES, max_size=CHUNK_BYTES)
dataset = st.tuples(*(chunk for _ in range(BOUND)))


@settings(max_examples=6, deadline=None)
@given(one=dataset, other=dataset)
def test_datasets_of_one_shape_give_one_traffic(one: tuple[bytes, ...], other: tuple[bytes, ...]) -> None:
    assert traffic(one, other) == ZEROS


@pytest.mark.parametrize("schedule", ["ratchet", "sealed-under-master"])
def test_they_do_in_other_schedules(schedule: str) -> None:
    texts = _filled(ord("a")), _filled(ord("\n"))
    assert traffic(*texts, schedule=schedule) == traffic(_filled(0), _filled(255), schedule=schedule)


def test_other_randomness_changes_the_padding_of_sessions_alone() -> None:
    other = traffic(_filled(1), _filled(2), seed="another run")
    assert [each[:3] for each in other] == [each[:3] for each in ZEROS]
    changed = {each[2] for each, before in zip(other, ZEROS, strict=True) if each != before}
    assert changed == {FrameKind.SESSION}


@pytest.mark.parametrize("chunks", [1, 2])
def test_without_padding_the_number_of_chunks_is_seen(
    chunks: int, record_property: Callable[[str, object], None]
) -> None:
    record_property("verifies", "sgx-lkl-REQ-HAND-OVER-01")
    assert len(traffic(_filled(0, chunks), _filled(0))) < len(ZEROS)


def test_without_padding_the_size_of_the_last_chunk_is_seen(
    record_property: Callable[[str, object], None],
) -> None:
    record_property("verifies", "sgx-lkl-REQ-HAND-OVER-02")
    short = (*_filled(0, BOUND - 1), b"short")
    found = traffic(short, _filled(0))
    assert len(found) == len(ZEROS)
    assert found != ZEROS


@settings(max_examples=6, deadline=None)
@given(st.binary(max_size=BOUND * (CHUNK_BYTES - 4)), st.binary(max_size=BOUND * (CHUNK_BYTES - 4)))
def test_with_padding_to_the_manifests_bound_datasets_of_any_size_give_one_traffic(one: bytes, other: bytes) -> None:
    padded = (padded_dataset(data, BOUND, CHUNK_BYTES) for data in (one, other))
    assert traffic(*padded) == ZEROS


def test_a_dataset_beyond_the_bound_is_refused() -> None:
    with pytest.raises(ShapeError, match="do not fit 3 chunks"):
        padded_dataset(bytes(BOUND * CHUNK_BYTES), BOUND, CHUNK_BYTES)
