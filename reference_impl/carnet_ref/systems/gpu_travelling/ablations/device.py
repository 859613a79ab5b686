"""A device that leaves something behind: data after a scrub, or planted code after an upload."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from carnet_ref.device import Region
from carnet_ref.systems.gpu_travelling.device.device import Device


class KeepsCode(Device):
    """An upload leaves code that is there."""

    __slots__ = ()

    def replace_code(self, code: bytes) -> None:
        """Write the code only where there is none."""
        if not self.memory.content(Region.CODE):
            super().replace_code(code)


class KeepsBuffer(Device):
    """A scrub leaves the dataset buffer."""

    __slots__ = ()

    def clear_buffer(self) -> None:
        """Leave the buffer as it is."""


class KeepsWorkspace(Device):
    """A scrub leaves what training derived from the dataset."""

    __slots__ = ()

    def clear_workspace(self) -> None:
        """Leave the workspace as it is."""


ALTERNATIVES: Final[Mapping[str, type[Device]]] = {
    "code-reupload": KeepsCode,
    "scrub-buffer": KeepsBuffer,
    "scrub-workspace": KeepsWorkspace,
}
"""What a device does without each defence."""
