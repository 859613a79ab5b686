"""Descriptors: what tells the other side that a tensor is there to be read, and in which version."""

from __future__ import annotations

from dataclasses import dataclass

from carnet_ref.crypto.primitives import AesGcm, AuthenticationError
from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.tensortee.errors import TensorError
from carnet_ref.systems.tensortee.layout import Side
from carnet_ref.systems.tensortee.session import Keys
from carnet_ref.wire import join, number

_LABEL = b"carnet tensortee descriptor"
_SIDES = {Side.CPU: b"cpu ", Side.NPU: b"npu "}


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A tensor in a version, and the tag of the side that hands it over."""

    tensor: int
    version: int
    tag: bytes = b""


@enforces("REQ-HAND-02")
def seal(keys: Keys, side: Side, tensor: int, version: int) -> Descriptor:
    """Return the descriptor of a tensor that a side hands over."""
    nonce, bound = _bound(side, tensor, version)
    return Descriptor(tensor, version, AesGcm(keys.descriptors).encrypt(nonce, b"", bound))


@enforces("REQ-HAND-02", "descriptor-sealed")
def check(keys: Keys, side: Side, descriptor: Descriptor, checks: Checks = EVERY) -> None:
    """Check that the side handed the tensor over in that version.

    Raises:
        TensorError: it did not.
    """
    if not checks.insist_on("descriptor-sealed"):
        return
    try:
        nonce, bound = _bound(side, descriptor.tensor, descriptor.version)
        AesGcm(keys.descriptors).decrypt(nonce, descriptor.tag, bound)
    except (AuthenticationError, OverflowError) as error:
        raise TensorError(descriptor.tensor, f"the descriptor is not of the {side.value}: {error}") from None


def _bound(side: Side, tensor: int, version: int) -> tuple[bytes, bytes]:
    """Return IV and associated data: no side hands a tensor over in one version with two meanings."""
    nonce = _SIDES[side] + tensor.to_bytes(4, "big") + version.to_bytes(4, "big")
    return nonce, join(_LABEL, _SIDES[side], number(tensor), number(version))
