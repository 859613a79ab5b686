"""How a device was booted: in confidential mode, or in one in which it keeps no secrets."""

from __future__ import annotations

from enum import Enum


class Mode(Enum):
    """How the device was booted: as it should be, out of confidential mode, with debugging on, or with old firmware."""

    CONFIDENTIAL = "CONFIDENTIAL"
    OPEN = "OPEN"
    DEBUG = "DEBUG"
    OUTDATED = "OUTDATED"


def mode_asked(body: bytes) -> Mode:
    """Return the mode that a request to reset asks for; confidential mode unless it names another one."""
    return next((mode for mode in Mode if body == mode.value.encode("ascii")), Mode.CONFIDENTIAL)
