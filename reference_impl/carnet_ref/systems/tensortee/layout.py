"""The layout of a job: how many lines each tensor has, and which side writes it. Both enclaves have the same one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from carnet_ref.systems.tensortee.errors import TensorError
from carnet_ref.systems.tensortee.lines import MOST


class Side(Enum):
    """The two enclaves of a job."""

    CPU = "cpu"
    NPU = "npu"

    @property
    def other(self) -> Side:
        """The side that reads what this one writes."""
        return Side.NPU if self is Side.CPU else Side.CPU


@dataclass(frozen=True, slots=True)
class Shape:
    """A tensor: its number of lines, and who writes it."""

    lines: int
    writer: Side

    def __post_init__(self) -> None:
        if not 0 < self.lines <= MOST:
            raise ValueError(f"a tensor of {self.lines} lines")


@dataclass(frozen=True, slots=True)
class Layout:
    """The tensors of a job, by number."""

    shapes: Mapping[int, Shape]

    def shape(self, tensor: int) -> Shape:
        """Return the shape of a tensor.

        Raises:
            TensorError: the job has no such tensor.
        """
        try:
            return self.shapes[tensor]
        except KeyError:
            raise TensorError(tensor, "the job has no such tensor") from None

    def require_line(self, tensor: int, line: int) -> None:
        """Raise an error unless the tensor has the line.

        Raises:
            TensorError: it has not.
        """
        lines = self.shape(tensor).lines
        if not 0 <= line < lines:
            raise TensorError(tensor, f"no line {line} of {lines}")
