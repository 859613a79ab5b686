"""What a buffer costs in each system: bytes are those that the implementations send, and times lie in order."""

from fractions import Fraction

import numpy as np
import pytest

from carnet_ref.field import Field, KeyStream
from carnet_ref.systems.coded_private_ml.code import LagrangeCode
from carnet_ref.systems.darknight.batch import CodedBatch
from carnet_ref.systems.sgx_lkl.frames import room, split_content
from docs._ext.carnet_pages.transfer_costs import BUFFER, CHUNK, NETWORK_RATE, RANKS, WAYS, TransferCost, cost_of

PCIE, NETWORK, PEERS = "over PCIe", "over the network", "between GPUs"
MOVING = tuple(id for id, way in WAYS.items() if way.lay_out)


def cost(id: str) -> TransferCost:
    way = WAYS[id].lay_out
    assert way
    return cost_of(way)


def share(id: str, link: str) -> Fraction:
    """Return the bytes on a link as a share of the buffer."""
    return Fraction(cost(id).moved[link].octets, BUFFER.octets)


@pytest.mark.parametrize("id", MOVING)
def test_times_lie_in_order_and_something_moves_on_one_kind_of_link(id: str) -> None:
    found = cost(id)
    assert found.least <= found.nominal <= found.most
    assert sum(size.octets > 0 for size in found.moved.values()) == 1


@pytest.mark.parametrize(
    ("id", "link", "times"),
    [
        ("gpu-travelling", PCIE, 1),
        ("fastrack", PCIE, 1),
        ("pipellm", PCIE, 1),
        ("tensortee", PCIE, 1),
        ("asymml", PCIE, 2),
        ("slalom", PCIE, 2),
        ("ring-all-reduce", PEERS, 2 * (RANKS - 1)),
    ],
)
def test_bytes_on_the_link(id: str, link: str, times: int) -> None:
    assert share(id, link) == times


def test_a_coded_batch_moves_what_its_code_sends() -> None:
    field = Field()
    code = CodedBatch(field, inputs=4, noise=1, points=tuple(range(1, 6)))
    batch = field.residues(np.ones((4, 100)))
    sent = code.encode(batch, KeyStream(bytes(32), field), largest=1)
    assert share("darknight", PCIE) == 2 * Fraction(sent.size, batch.size)


def test_coded_blocks_move_what_their_code_sends_to_as_many_workers_as_are_needed() -> None:
    field = Field()
    code = LagrangeCode(field, blocks=(0, 1, 2, 3), random=(4,), workers=tuple(range(5, 18)))
    data = field.residues(np.ones((4, 100)))
    sent = code.encode(data, KeyStream(bytes(32), field), largest=1)
    assert len(sent) == code.results_needed(3)
    assert share("coded-private-ml", NETWORK) == 2 * Fraction(sent.size, data.size)
    seconds = BUFFER.octets / NETWORK_RATE.bytes_per_second * sent.size / data.size
    assert cost("coded-private-ml").nominal.seconds == pytest.approx(seconds, rel=0.01)


def test_a_fixed_shape_moves_whole_chunks_with_room_for_the_buffer() -> None:
    moved = cost("sgx-lkl").moved[NETWORK].octets
    chunks, rest = divmod(moved, CHUNK.octets)
    assert rest == 0
    assert (chunks - 1) * room(CHUNK.octets) < BUFFER.octets <= chunks * room(CHUNK.octets)
    assert len(split_content(bytes(BUFFER.octets), room(CHUNK.octets))) == chunks


def test_cpus_seal_only_where_no_gpu_and_no_user_does() -> None:
    sealed = {id: cost(id).sealed_on_cpus.octets / BUFFER.octets for id in MOVING}
    assert {id: times for id, times in sealed.items() if times} == {
        "gpu-travelling": 1,
        "pipellm": 1,
        "sgx-lkl": pytest.approx(2 * 257 / 256),
    }
