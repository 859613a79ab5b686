"""The device mode that a report may state: which operational mode a device is in, and whether it was debugged.

It is a measurement block of its own, at an index that no firmware uses. SPDM defines it from version 1.2 on; none of
NVIDIA's reports at hand has one, and there a debug fuse or debug firmware shows as a measurement that matches no
reference value. Simulated devices state it, so that a debug flag can be told from other firmware.

Source: DMTF DSP0274 1.2.1, "Device mode field of a measurement block" and index 0xFE of the measurement blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntFlag
from typing import Final

from carnet_ref.wire.reader import MalformedError, Reader

INDEX: Final = b"\xfe"
VALUE_TYPE: Final = b"\x85"
"""A raw bit stream (bit 7), of the type "structured representation of debug and device mode" (5)."""
LENGTH: Final = 16
_WHAT: Final = "device mode"
_WORD: Final = 4


class DebugState(IntFlag):
    """Which debug modes a device is in, or was in since its last reset."""

    NONE = 0
    NON_INVASIVE = 1
    INVASIVE = 2
    NON_INVASIVE_SINCE_RESET = 4
    INVASIVE_SINCE_RESET = 8
    INVASIVE_SINCE_MANUFACTURING = 16


SINCE_RESET: Final = (
    DebugState.NON_INVASIVE
    | DebugState.INVASIVE
    | DebugState.NON_INVASIVE_SINCE_RESET
    | DebugState.INVASIVE_SINCE_RESET
)
"""States in which whoever debugs may have read what is in the device now; a reset wipes what came before."""


@dataclass(frozen=True, slots=True)
class DeviceMode:
    """What a device says of its modes; capabilities say which states it can be in.

    Attributes:
        operational_capabilities: the operational modes that the device has.
        operational: the operational mode that it is in.
        debug_capabilities: the debug modes that the device has.
        debug: the debug modes that it is or was in.
    """

    operational_capabilities: int
    operational: int
    debug_capabilities: int
    debug: DebugState

    @property
    def debugged(self) -> bool:
        """Whether a debug mode is active, or was since the last reset."""
        return bool(self.debug & SINCE_RESET)

    def encode(self) -> bytes:
        """Return the value of the measurement block."""
        words = (self.operational_capabilities, self.operational, self.debug_capabilities, self.debug.value)
        return b"".join(word.to_bytes(_WORD, "little") for word in words)


def parse_device_mode(value: bytes) -> DeviceMode:
    """Read the value of the measurement block.

    Raises:
        MalformedError: it is something else; a bit that stands for nothing could hide a state, so it is refused.
    """
    reader = Reader(value, _WHAT)
    names = ("operational capabilities", "operational state", "debug capabilities", "debug state")
    capabilities, operational, can_debug, debug = (reader.number(_WORD, name) for name in names)
    reader.end()
    known = sum(state.value for state in DebugState)
    if debug & ~known:
        raise MalformedError(_WHAT, "debug states that are defined", f"{debug:#010x}")
    return DeviceMode(capabilities, operational, can_debug, DebugState(debug))
