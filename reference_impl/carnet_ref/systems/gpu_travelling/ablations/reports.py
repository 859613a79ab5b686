"""Reports on the link: how firmware makes them, or anybody who has the key or can use the engine, where none has a say.

They go under the half that the device sends with, in a channel of their own, so that they share no IV with what else
goes home.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from carnet_ref.crypto.primitives import NONCE_BYTES
from carnet_ref.keys import Direction, EngineChannel, IvCounter, LinkKeys, Opener, Sealer
from carnet_ref.keys.usage import KeyUsage
from carnet_ref.systems.gpu_travelling.device.firmware import Firmware
from carnet_ref.systems.gpu_travelling.device.orders import Place, Report, Rotated, encode, placed, with_place
from carnet_ref.transport.frames import FrameKind

ON_LINK: Final = b"report"
"""What a report on the link begins with, to tell it from what else goes home."""
_CHANNEL: Final = 1 << 63
"""What the channel counter of reports is ahead of that of the epoch."""


def seal_on_link(keys: LinkKeys, place: Place, report: Report) -> bytes:
    """Return the body of a frame with a report, under these keys."""
    return _sealed(keys, place, encode(report))


def to_send(place: Place, report: Report) -> bytes:
    """Return what code on the GPU has the engine send, to pass for the firmware's report."""
    return ON_LINK + with_place(place, encode(report))


def open_on_link(keys: LinkKeys, place: Place, sealed: bytes) -> bytes:
    """Return a report that was made under these keys.

    Raises:
        AuthenticationError: it was not.
    """
    return Opener(keys.d2h, _ivs(keys, place), KeyUsage()).open(sealed)


def split_report(body: bytes) -> tuple[Place | None, bytes]:
    """Return the place of a report on the link and what was sealed; of anything else that goes home, only that.

    Raises:
        MalformedError: the report is too short to have a place.
    """
    return placed(body.removeprefix(ON_LINK)) if body.startswith(ON_LINK) else (None, body)


def unmasked(keys: LinkKeys, place: Place | None) -> bytes:
    """Return what the IV of a report, or of the first message home beside reports, is before it is masked."""
    keys = replace(keys, d2h_mask=bytes(NONCE_BYTES))
    return (keys.ivs(Direction.D2H) if place is None else _ivs(keys, place)).advance()


def _sealed(keys: LinkKeys, place: Place, report: bytes) -> bytes:
    return ON_LINK + with_place(place, Sealer(keys.d2h, _ivs(keys, place), KeyUsage()).seal(report))


def _ivs(keys: LinkKeys, place: Place) -> IvCounter:
    channel = EngineChannel(keys.channel | _CHANNEL, keys.engine, Direction.D2H, keys.epoch)
    return IvCounter(channel, place.number, keys.d2h_mask)


class ReportsOnLink(Firmware):
    """Reports go under the live half of the link that the device sends with."""

    __slots__ = ()

    def report(self, place: Place, report: Report) -> tuple[FrameKind, bytes]:
        """Return a report, as a copy engine makes it; that of a rotation goes under the key that was taken."""
        keys = self.engines.taken if isinstance(report, Rotated) else self.engines.sending
        return FrameKind.D2H, seal_on_link(keys, place, report)

    def copied_home(self, data: bytes) -> bytes:
        """Return what the engine makes of any bytes: in the channel of reports too, which is one like any other."""
        if not data.startswith(ON_LINK):
            return super().copied_home(data)
        place, report = placed(data.removeprefix(ON_LINK))
        return _sealed(self.engines.sending, place, report)


ALTERNATIVES: Final[Mapping[str, type[Firmware]]] = {"session-acknowledgements": ReportsOnLink}
"""What firmware does without each defence."""
