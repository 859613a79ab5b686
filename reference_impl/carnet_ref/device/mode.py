"""Whether a device was booted with confidential computing on."""

from __future__ import annotations

from enum import Enum


class Mode(Enum):
    """Whether the device was booted with confidential computing on."""

    CONFIDENTIAL = "CONFIDENTIAL"
    OPEN = "OPEN"
