"""A coded batch: each processor gets a combination of inputs and noise, with powers of its point as factors.

The low powers are factors of the noise, the others of the inputs. A linear layer takes the sums to sums of its results,
with the same factors, and the enclave solves for them.

Source: DarKnight, MICRO 2021 (arXiv 2207.00083), abstract; the powers are Carnet's choice.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from carnet_ref.field import Draw, Field, FieldError, Residues, require_places
from carnet_ref.marks import enforces


@dataclass(frozen=True)
class CodedBatch:
    """A code for ``inputs`` inputs of equal size and ``noise`` noise vectors.

    Raises FieldError if there is no input or no noise, two points are one, or there are fewer points than a batch
    needs.
    """

    field: Field
    inputs: int
    noise: int
    points: tuple[int, ...]  #: one for each processor, distinct.

    @enforces("REQ-POINTS-01", "REQ-NOISE-02", "REQ-RESULTS-01")
    def __post_init__(self) -> None:
        if self.inputs < 1 or self.noise < 1:
            raise FieldError(f"expected inputs and noise, and there are {self.inputs} and {self.noise}")
        points = [point % self.field.prime for point in self.points]
        if len(set(points)) < len(points):
            raise FieldError("expected a point for each processor, and two have one")
        if len(points) < self.results_needed:
            raise FieldError(f"expected {self.results_needed} processors, and there are {len(points)}")

    @cached_property
    def factors(self) -> Residues:
        """The factors (processors, noise and inputs): powers of the processors' points."""
        rows = [[pow(point, power, self.field.prime) for power in range(self.results_needed)] for point in self.points]
        return np.array(rows, dtype=np.int64)

    @property
    def results_needed(self) -> int:
        """The number of results needed to decode."""
        return self.inputs + self.noise

    @enforces("REQ-NOISE-01", "CLAIM-THRESHOLD", "CLAIM-CRITERION", "CLAIM-ONE-NOISE")
    def encode(self, batch: Residues, draw: Draw, largest: float) -> Residues:
        """Return the share of each processor for a batch (inputs, values), with freshly drawn noise.

        ``largest`` bounds the size of what the layer makes of the batch (`Field.largest_product`): a result that wraps
        round is not told from another one when it is decoded.

        Raises FieldError if the batch has another shape or is not made of residues, or a result may not fit the field;
        nothing was drawn.
        """
        self.field.require_room(largest)
        if batch.ndim != 2 or batch.shape[0] != self.inputs:
            raise FieldError(f"expected a batch ({self.inputs}, values), and this is {batch.shape}")
        inputs = self.field.require_residues(batch, batch.shape)
        return self.field.multiply(self.factors, np.concatenate([draw((self.noise, batch.shape[1])), inputs]))

    @enforces("CLAIM-DECODING")
    def decode(self, results: Residues, processors: Sequence[int]) -> Residues:
        """Return the results of the inputs, from the results (processors, values) of ``processors``.

        Raises FieldError if there are too few of them, one is none or is named twice, or the results have another
        shape.
        """
        require_places(processors, len(self.points), self.results_needed, "processors")
        given = self.field.require_residues(results, (len(processors), *np.shape(results)[1:]))
        inverse = self.field.inverse(self.factors[list(processors[: self.results_needed])])
        return self.field.multiply(inverse[self.noise :], given[: self.results_needed])
