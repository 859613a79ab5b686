"""How frames of a session between orchestrator and GPU are tagged, and the label of a key that both derive from it."""

from __future__ import annotations

from typing import Final

from carnet_ref.transport.frames import Send
from carnet_ref.wire import MalformedError

ATTEMPTS: Final = 128
"""Attempts at a session are counted modulo this."""
LAUNCH_LABEL: Final = "cpu_sec2_hmac_user"
"""The label of the launch key. Source: open-gpu-kernel-modules 595.45.04, cc_keystore.h."""


def tagged(orders: bool, attempt: int, message: bytes) -> bytes:
    """Return the body of a session frame: whether it is an order or a report, its attempt, and the message.

    Attempts tell what is late from what is new; nothing but availability rests on them.
    """
    return bytes([attempt << 1 | orders]) + message


HANDSHAKE: Final = tagged(False, 0, b"")
"""The tag of a session's own messages from somebody who counts no attempts."""


def inside(frame: Send) -> bytes:
    """Return the message that a session frame carries, as both ends see it."""
    return untagged(frame.body)[2]


def untagged(body: bytes) -> tuple[bool, int, bytes]:
    """Return what `tagged` put together.

    Raises:
        MalformedError: there is nothing.
    """
    if not body:
        raise MalformedError("session frame", "a tag", "nothing")
    return bool(body[0] & 1), body[0] >> 1, body[1:]
