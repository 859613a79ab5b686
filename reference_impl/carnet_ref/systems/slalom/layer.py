"""A linear layer that is computed outside the enclave, on blinded values, and checked.

The enclave holds masks and, for each, the factor that takes it away again: what the layer makes of the mask. It makes
both ahead of time. A mask is used once.

Source: Slalom, ICLR 2019 (arXiv 1806.03287), sections 4.1 and 4.2.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy.typing as npt

from carnet_ref.field import Draw, Field, FieldError, Freivalds, Residues
from carnet_ref.marks import enforces

#: Multiplies weights with what it is sent, and returns what it likes.
Processor: TypeAlias = Callable[[Residues, Residues], Any]


class MasksUsedUpError(Exception):
    """There is no unused mask; nothing was sent."""


@dataclass(frozen=True, slots=True)
class Blinding:
    """A mask, and the layer's result for the mask; both stay in the enclave."""

    mask: Residues
    factor: Residues


class BlindedLayer:
    """A layer with public weights (outputs, inputs), for values (inputs, batch), computed in residues of a field."""

    def __init__(self, field: Field, weights: npt.ArrayLike, draw: Draw, check: Freivalds) -> None:
        """Take the weights.

        Raises FieldError if they are no matrix of whole numbers that the field holds, or an empty one; or the check is
        for another field.
        """
        self.field, self.weights = field, field.residues(weights)
        if self.weights.ndim != 2 or not self.weights.size:
            raise FieldError(f"expected a matrix of weights, and this is {self.weights.shape}")
        if check.field != field:
            raise FieldError(f"expected a check in the field of {field.prime:,}, and it is in {check.field.prime:,}")
        self._draw, self._check = draw, check
        self._prepared: deque[Blinding] = deque()

    @enforces("REQ-MASK-01", "REQ-FACTOR-01", "CLAIM-ONE-MASK", "CLAIM-SOME-MASK", "CLAIM-UNBLINDED")
    def prepare(self, batch: int, times: int = 1) -> None:
        """Draw masks for ``times`` batches, and compute the layer's results for them in the enclave."""
        for _ in range(times):
            mask = self._draw((self.weights.shape[1], batch))
            self._prepared.append(Blinding(mask, self.field.multiply(self.weights, mask)))

    @enforces("REQ-MASK-02", "CLAIM-BLINDING-HIDES", "CLAIM-REUSE-LEAKS", "CLAIM-SAME-DIFFERENCE", "REQ-FIELD-03")
    def blind(self, residues: Residues) -> tuple[Residues, Blinding]:
        """Return values under an unused mask, and the data for removing it.

        Raises MasksUsedUpError if there is no mask left. Raises FieldError if the next mask is for another shape; it
        stays.
        """
        if not self._prepared:
            raise MasksUsedUpError("every mask was used: prepare more")
        if self._prepared[0].mask.shape != residues.shape:
            raise FieldError(
                f"the next mask is for {self._prepared[0].mask.shape}, and these values are {residues.shape}"
            )
        blinding = self._prepared.popleft()
        return (residues + blinding.mask) % self.field.prime, blinding

    @enforces("CLAIM-UNBLINDING-EXACT")
    def unblind(self, result: Residues, blinding: Blinding) -> Residues:
        """Return the layer's integer results."""
        return self.field.to_signed((result - blinding.factor) % self.field.prime)

    @enforces("REQ-CHECK-01", "CLAIM-FREIVALDS-BOUND", "CLAIM-ONE-PASSING-ENTRY", "REQ-FIELD-02")
    def apply(self, values: npt.ArrayLike, processor: Processor) -> Residues:
        """Return the layer's results for integers (inputs, batch), computed by an untrusted processor.

        Raises FieldError if a result may not fit the field, or the processor returns no residues of the right shape;
        MasksUsedUpError if there is no mask left; WrongProductError if the processor's result is wrong.
        """
        residues = self.field.residues(values)
        self.require_room(residues)
        blinded, blinding = self.blind(residues)
        result = self._check.check(self.weights, blinded, processor(self.weights.copy(), blinded.copy()))
        return self.unblind(result, blinding)

    @enforces("REQ-FIELD-01")
    def require_room(self, residues: Residues) -> None:
        """Refuse values whose results may exceed half of the prime; nothing was sent.

        Raises FieldError if some may, or these are no values for the layer.
        """
        if residues.ndim != 2 or residues.shape[0] != self.weights.shape[1]:
            raise FieldError(f"expected values ({self.weights.shape[1]}, batch), and these are {residues.shape}")
        self.field.require_room(self.field.largest_product(self.weights, residues))


def honest(field: Field) -> Processor:
    """Return a processor that computes correctly."""
    return field.multiply
