"""Real bytes for schedules that do more than carry chunks: speculation and ring all-reduce."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from carnet_ref.crypto.primitives import Random
from carnet_ref.datapath.costs import Costs
from carnet_ref.datapath.delivery import Channel, HonestPlatform, IvLedger, Platform, by_clock
from carnet_ref.datapath.quantities import QuantityError
from carnet_ref.datapath.schedule import Stage, Task
from carnet_ref.datapath.schedules.confidential_io import CPU_TO_GPU
from carnet_ref.datapath.schedules.ring import Ring, piece_sent, piece_sizes, ring_all_reduce
from carnet_ref.datapath.schedules.speculation import Action, Speculation, plan

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Bytes = NDArray[np.uint8]

NOP_BYTE = b"\0"


def serve_speculatively(
    requests: Sequence[int],
    predictions: Sequence[int],
    blocks: Mapping[int, bytes],
    random: Random,
    speculation: Speculation,
    writes: Sequence[Mapping[int, bytes]] = (),
    platform: Platform | None = None,
    ledger: IvLedger | None = None,
) -> tuple[bytes, ...]:
    """Return the plaintext that arrives for each request, everything sealed under the IVs of `speculation.plan`.

    ``writes`` lists the blocks that change before each request, with their new contents.

    Raises:
        DeliveryError: the platform interfered, or an IV would seal twice.
    """
    memory = dict(blocks)
    link = Channel(CPU_TO_GPU, random, IvLedger() if ledger is None else ledger)
    carrier = platform or HonestPlatform()
    ahead: dict[int, bytes] = {}
    served: list[bytes] = []
    at = -1
    for move in plan(requests, predictions, speculation, [frozenset(changed) for changed in writes]):
        if move.request != at:
            at = move.request
            memory.update(writes[at] if at < len(writes) else {})
        content = NOP_BYTE if move.block is None else memory[move.block]
        if move.action is Action.SPECULATE:
            ahead[move.counter] = link.seal_at(move.counter, content)
            continue
        message = ahead.pop(move.counter) if move.counter in ahead else link.seal_at(move.counter, content)
        link.wire.extend(carrier.carry(link.name, message))
        opened = link.open()
        if move.action in {Action.SEND, Action.SEAL_AND_SEND}:
            served.append(opened)
    link.close()
    return tuple(served)


def all_reduce(
    ring: Ring, costs: Costs, gradients: Sequence[bytes], random: Random, platform: Platform | None = None
) -> tuple[bytes, ...]:
    """Return what each rank holds after the ring: everywhere the sum of all gradients, byte by byte modulo 256.

    Raises:
        DeliveryError: the platform interfered; what was altered is never added.
        QuantityError: there is not one gradient of the ring's size for each rank.
    """
    if len(gradients) != ring.ranks or any(len(gradient) != ring.gradient.octets for gradient in gradients):
        raise QuantityError(f"expected {ring.ranks} gradients of {ring.gradient}")
    if not ring.sealed:
        raise QuantityError("only a sealed ring carries real bytes")
    state = _Reduction(ring, gradients, random, platform or HonestPlatform())
    for task in by_clock(ring_all_reduce(ring, costs)):
        state.carry_out(task)
    for channel in state.channels.values():
        channel.close()
    return tuple(buffer.tobytes() for buffer in state.buffers)


class _Reduction:
    """Every rank's buffer, the channels between neighbours, and what is in quarantine."""

    __slots__ = ("_ledger", "_pieces", "_platform", "_quarantine", "_random", "_ring", "_sealed", "buffers", "channels")

    def __init__(self, ring: Ring, gradients: Sequence[bytes], random: Random, platform: Platform) -> None:
        import numpy as np

        self.buffers: list[Bytes] = [np.frombuffer(gradient, dtype=np.uint8).copy() for gradient in gradients]
        self.channels: dict[str, Channel] = {}
        self._ring = ring
        self._random = random
        self._ledger = IvLedger()
        self._platform = platform
        self._sealed: dict[int, bytes] = {}
        self._quarantine: dict[int, bytes] = {}
        self._pieces = _piece_slices(ring)

    def carry_out(self, task: Task) -> None:
        """Carry out one task of the ring's schedule."""
        if task.chunk is None:
            return
        if task.channel not in self.channels:
            self.channels[task.channel] = Channel(task.channel, self._random, self._ledger)
        channel = self.channels[task.channel]
        rank, sub_step, piece = self._where(task.chunk)
        if task.stage is Stage.GPU_ENCRYPT:
            self._sealed[task.chunk] = channel.seal(self.buffers[rank][piece].tobytes())
        elif task.stage is Stage.PEER_LINK:
            channel.wire.extend(self._platform.carry(task.channel, self._sealed.pop(task.chunk)))
        elif task.stage is Stage.GPU_VERIFY:
            self._quarantine[task.chunk] = channel.open()
        elif task.stage is Stage.GPU_DECRYPT:
            self._take((rank + 1) % self._ring.ranks, sub_step, piece, self._quarantine.pop(task.chunk))

    def _where(self, chunk: int) -> tuple[int, int, slice]:
        """Return sender, sub-step and the place of the piece that ``chunk`` numbers."""
        rest, rank = divmod(chunk, self._ring.ranks)
        bucket, sub_step = divmod(rest, self._ring.sub_steps)
        return rank, sub_step, self._pieces[bucket][piece_sent(rank, sub_step, self._ring.ranks)]

    def _take(self, receiver: int, sub_step: int, piece: slice, plaintext: bytes) -> None:
        """Add while scattering, replace while gathering."""
        import numpy as np

        values: Bytes = np.frombuffer(plaintext, dtype=np.uint8)
        if sub_step < self._ring.ranks - 1:
            self.buffers[receiver][piece] += values
        else:
            self.buffers[receiver][piece] = values


def _piece_slices(ring: Ring) -> list[list[slice]]:
    """Return where each piece of each bucket lies in the gradient."""
    slices: list[list[slice]] = []
    begin = 0
    for bucket in ring.buckets:
        slices.append([])
        for size in piece_sizes(bucket, ring.ranks):
            slices[-1].append(slice(begin, begin + size.octets))
            begin += size.octets
    return slices
