"""Calls: what an application asks the host for, in pieces that fit a frame."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.sgx_lkl.padding import cut
from carnet_ref.systems.sgx_lkl.shape import Operation, Shape


@dataclass(frozen=True, slots=True)
class Call:
    """One call, or a piece of one: what it asks for, about which block, and how much work it is to make."""

    name: str
    operation: Operation
    block: int
    content: bytes = field(repr=False)
    work: int = 0
    piece: int = 0


@enforces("REQ-SIZE-02", "cut-to-frames")
def pieces(call: Call, shape: Shape, checks: Checks = EVERY) -> tuple[Call, ...]:
    """Return the call as pieces that fit a frame each."""
    if not checks.insist_on("cut-to-frames"):
        return (call,)
    parts = cut(call.content, shape.room)
    return tuple(replace(call, content=part, piece=number) for number, part in enumerate(parts))
