"""Real numbers for AsymML's split: the residual crosses to the GPU sealed, and the TEE adds up what both computed.

Everything is in whole numbers, so that the sum is exactly what one machine would have computed. The noise that AsymML
adds to the residual for privacy is no part of the data path and is left out.

Source: 3LegRace, PETS 2022 (arXiv 2110.01229), slides 6 to 14.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from carnet_ref.crypto.primitives import Random
from carnet_ref.datapath.costs import Costs
from carnet_ref.datapath.delivery import Channel, HonestPlatform, IvLedger, Platform, by_clock
from carnet_ref.datapath.quantities import QuantityError, Size
from carnet_ref.datapath.schedule import Stage, Task
from carnet_ref.datapath.schedules.asymmetric import BACK, OUT, Split, asymmetric
from carnet_ref.keys.link import CHUNK_BYTES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Matrix = NDArray[np.int64]


def low_rank_and_residual(activations: Matrix, rank: int) -> tuple[Matrix, Matrix]:
    """Split activations (channels × values) into whole numbers of rank about ``rank``, and what is left.

    The two add up exactly, whatever the rounding of the decomposition.

    Source: 3LegRace, PETS 2022, slide 6 (SVD over the channel dimension).
    """
    import numpy as np

    left, strengths, right = np.linalg.svd(activations.astype(float), full_matrices=False)
    low = np.rint((left[:, :rank] * strengths[:rank]) @ right[:rank]).astype(np.int64)
    return low, activations - low


def infer(
    activations: Matrix,
    weights: Sequence[Matrix],
    rank: int,
    costs: Costs,
    random: Random,
    platform: Platform | None = None,
) -> Matrix:
    """Return what layers of ``weights`` (channels × channels) with a ReLU between them make of ``activations``.

    Each layer is computed on the low-rank part in the TEE and on the residual on the GPU, in the order of
    `asymmetric`'s schedule.

    Raises:
        DeliveryError: the platform interfered; what was altered is never added.
        QuantityError: weights do not fit the activations, a layer is more than one message, or the rank is absurd.
    """
    channels = len(activations)
    if any(layer.shape != (channels, channels) for layer in weights) or activations.nbytes > CHUNK_BYTES:
        raise QuantityError(f"expected weights of {channels} × {channels} and at most {CHUNK_BYTES} bytes a layer")
    split = Split(len(weights), Size(activations.nbytes), channels, rank)
    state = _Layers(activations, weights, rank, random, platform or HonestPlatform())
    for task in by_clock(asymmetric(split, costs)):
        state.carry_out(task)
    for channel in state.channels.values():
        channel.close()
    return state.total


class _Layers:
    """What the TEE holds, what the GPU holds, and the two channels between them."""

    __slots__ = (
        "_gpu",
        "_inputs",
        "_kept",
        "_layer",
        "_platform",
        "_rank",
        "_residual",
        "_sealed",
        "_weights",
        "channels",
        "total",
    )

    def __init__(
        self, activations: Matrix, weights: Sequence[Matrix], rank: int, random: Random, platform: Platform
    ) -> None:
        ledger = IvLedger()
        self.channels = {name: Channel(name, random, ledger) for name in (OUT, BACK)}
        self.total = activations
        self._inputs = activations
        self._weights = weights
        self._rank = rank
        self._platform = platform
        self._layer = -1
        self._kept = self._residual = self._gpu = activations[:0]
        self._sealed = b""

    def carry_out(self, task: Task) -> None:
        """Carry out one task of the split's schedule."""
        match task.stage:
            case Stage.TEE_COMPUTE:
                self._begin_layer()
            case Stage.RE_ENCRYPT:
                self._sealed = self.channels[OUT].seal(self._residual.tobytes())
            case Stage.PCIE:
                self.channels[task.channel].wire.extend(self._platform.carry(task.channel, self._sealed))
            case Stage.GPU_VERIFY:
                self._gpu = self._opened(OUT)
            case Stage.COMPUTE:
                self._gpu = self._weights[self._layer] @ self._gpu
            case Stage.GPU_ENCRYPT:
                self._sealed = self.channels[BACK].seal(self._gpu.tobytes())
            case Stage.CPU_DECRYPT:
                self.total = self._kept + self._opened(BACK)

    def _begin_layer(self) -> None:
        if self._layer >= 0:
            self._inputs = self.total * (self.total > 0)
        self._layer += 1
        low, self._residual = low_rank_and_residual(self._inputs, self._rank)
        self._kept = self._weights[self._layer] @ low

    def _opened(self, channel: str) -> Matrix:
        import numpy as np

        return np.frombuffer(self.channels[channel].open(), dtype=np.int64).reshape(self._inputs.shape)
