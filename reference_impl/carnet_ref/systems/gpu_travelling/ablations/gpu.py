"""Ablations of the GPU and of the ends of the link, one class for each defence that is off."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from carnet_ref.crypto.primitives import NONCE_BYTES, Random
from carnet_ref.device import CopyEngines, OpenedMessage, Region
from carnet_ref.keys import Direction, EngineChannel, IvCounter, KeyUsage, LinkKeys, Opener, Sealer
from carnet_ref.systems.ablation import leaving_out
from carnet_ref.systems.gpu_travelling.device import Device, Firmware
from carnet_ref.systems.gpu_travelling.keys import FIRST_CHANNEL, EnginePerHolder
from carnet_ref.systems.gpu_travelling.names import ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.orders import (
    Command,
    Place,
    Report,
    Rotate,
    Rotated,
    encode,
    split_place,
    with_place,
)
from carnet_ref.systems.gpu_travelling.roles.links import BorrowedLink, Incoming, Link
from carnet_ref.transport.frames import FrameKind


class OneChannel(EnginePerHolder):
    """Ablation: every epoch on an engine uses the first channel, so key bytes and IVs repeat."""

    def _place(self, owner: str) -> tuple[int, int]:
        engine, _ = super()._place(owner)
        return engine, FIRST_CHANNEL


class KeepsCode(Device):
    """Ablation: an upload does not overwrite code that is already there."""

    def replace_code(self, code: bytes) -> None:
        """Write the code only where there is none."""
        if not self.memory.content(Region.CODE):
            super().replace_code(code)


#: What a device does without each defence.
DEVICES: Final[Mapping[str, type[Device]]] = {
    "code-reupload": KeepsCode,
    "scrub-buffer": leaving_out(Device, "clear_buffer"),
    "scrub-workspace": leaving_out(Device, "clear_workspace"),
}


class EngineKeepsReceiving(CopyEngines):
    """Ablation: a rotation at return does not replace the host-to-device key."""

    def receive_under(self, keys: LinkKeys) -> None:
        """Take new keys only when the GPU travels, and at first."""
        if keys.owner != ORCHESTRATOR or not self.live:
            super().receive_under(keys)


class EngineKeepsSending(CopyEngines):
    """Ablation: a rotation at return does not replace the device-to-host key."""

    def send_under(self, keys: LinkKeys) -> None:
        """Take new keys only when the GPU travels, and at first."""
        if keys.owner != ORCHESTRATOR or keys.epoch == 0:
            super().send_under(keys)


class BelievesCounters(CopyEngines):
    """Ablation: decrypts at the counter value the sender claims, not at its own."""

    def open(self, engine: int, ciphertext: bytes, claimed: int) -> OpenedMessage:
        """Decrypt at the claimed counter value."""
        receiving = self._live(engine)
        receiving.opener = self._opener(receiving.keys, claimed)
        return super().open(engine, ciphertext, claimed)


class RestartsCounters(CopyEngines):
    """Ablation: counters can be restarted without new keys."""

    def restart_counters(self) -> None:
        """Restart every counter under the same keys."""
        for receiving in list(self._receiving.values()):
            self._load(receiving.keys)
        self._sealer = self._sealer_of(self._sending)


class Reloads(CopyEngines):
    """Ablation: an engine can be loaded with an earlier key."""

    def reload(self, keys: LinkKeys) -> None:
        """Accept traffic under ``keys`` again, and under no other keys."""
        self._receiving.clear()
        self._load(keys)
        self._sending, self._sealer = keys, self._sealer_of(keys)


#: What copy engines do without each defence.
ENGINES: Final[Mapping[str, type[CopyEngines]]] = {
    "engine-retirement": leaving_out(CopyEngines, "retire"),
    "rotation-in-h2d": EngineKeepsReceiving,
    "rotation-in-d2h": EngineKeepsSending,
    "gpu-implicit-iv": BelievesCounters,
    "atomic-rotation": RestartsCounters,
    "no-engine-reload": Reloads,
}


ON_LINK: Final = b"report"  #: What a report on the link begins with, to tell it from what else goes home.
_CHANNEL: Final = 1 << 63  #: What the channel counter of reports is ahead of that of the epoch.


def seal_on_link(keys: LinkKeys, place: Place, report: Report) -> bytes:
    """Return the frame body of a report, sealed with the link's keys."""
    return _sealed(keys, place, encode(report))


def to_send(place: Place, report: Report) -> bytes:
    """Return the bytes that code on the GPU has the engine send, to imitate a firmware report."""
    return ON_LINK + with_place(place, encode(report))


def split_report(body: bytes) -> tuple[Place | None, bytes]:
    """Return the place and the sealed part of a report on the link; other messages have no place.

    Raises MalformedError if the report is too short to have a place.
    """
    return split_place(body.removeprefix(ON_LINK)) if body.startswith(ON_LINK) else (None, body)


def unmask_iv(keys: LinkKeys, place: Place | None) -> bytes:
    """Return the IV of a report (or, without a place, of other messages home) before masking."""
    keys = replace(keys, d2h_mask=bytes(NONCE_BYTES))
    return (keys.ivs(Direction.D2H) if place is None else _ivs(keys, place)).advance()


def _sealed(keys: LinkKeys, place: Place, report: bytes) -> bytes:
    return ON_LINK + with_place(place, Sealer(keys.d2h, _ivs(keys, place), KeyUsage()).seal(report))


def _ivs(keys: LinkKeys, place: Place) -> IvCounter:
    channel = EngineChannel(keys.channel | _CHANNEL, keys.engine, Direction.D2H, keys.epoch)
    return IvCounter(channel, place.number, keys.d2h_mask)


class ReportsOnLink(Firmware):
    """Ablation: the firmware's reports go over the link, under its device-to-host key."""

    def report(self, place: Place, report: Report) -> tuple[FrameKind, bytes]:
        """Return a report sealed by a copy engine; the report of a rotation uses the new key."""
        keys = self.engines.latest_keys if isinstance(report, Rotated) else self.engines.sending
        return FrameKind.D2H, seal_on_link(keys, place, report)

    def seal_for_home(self, data: bytes) -> bytes:
        """Return bytes that code on the GPU sends home, sealed by the live engine, or as a report if they say so."""
        if not data.startswith(ON_LINK):
            return super().seal_for_home(data)
        place, report = split_place(data.removeprefix(ON_LINK))
        return _sealed(self.engines.sending, place, report)


#: What firmware does without each defence.
FIRMWARE: Final[Mapping[str, type[Firmware]]] = {"session-acknowledgements": ReportsOnLink}


class HearsTheLink(Link):
    """Ablation: the orchestrator receives reports over the link, in a separate channel."""

    def open_report(self, sealed: bytes) -> tuple[Place, bytes]:
        """Open a report under the live key, or under the pending key of a rotation.

        Raises AuthenticationError if it was made without that key.
        """
        place, rest = split_place(sealed.removeprefix(ON_LINK))
        begun = self.pending if self.awaited is not None and self.awaited.number == 0 else None
        keys = begun or self.incoming
        return place, Opener(keys.d2h, _ivs(keys, place), KeyUsage()).open(rest)


class LendsOneKey(Link):
    """Ablation: every holder is lent the same key."""

    _lent: tuple[Rotate, LinkKeys] | None = None

    def draw(self, owner: str, random: Random) -> Rotate:
        """Return the first holder's order again, for every later holder."""
        if owner == ORCHESTRATOR:
            return super().draw(owner, random)
        if self._lent is None:
            order = super().draw(owner, random)
            self._lent = None if self.pending is None else (order, self.pending)
            return order
        order, keys = self._lent
        self.expect(replace(keys, owner=owner))
        return order


class LinkKeepsSending(Link):
    """Ablation: a rotation at return does not replace the host-to-device key."""

    def send_under(self, keys: LinkKeys) -> None:
        """Take a new key only when the GPU travels."""
        if keys.owner != ORCHESTRATOR:
            super().send_under(keys)


class LinkKeepsReceiving(Link):
    """Ablation: a rotation at return does not replace the device-to-host key."""

    def receive_under(self, pending: Incoming) -> None:
        """Take a new key only when the GPU travels."""
        if pending.keys.owner != ORCHESTRATOR:
            super().receive_under(pending)


class SetsCounterBack(Link):
    """Ablation: every order uses the first counter value, as after a restored snapshot."""

    def seal(self, command: Command) -> tuple[int, bytes]:
        """Seal with the counter's first value."""
        self._outgoing = self._sending(self.keys)
        return super().seal(command)


class BorrowerSetsCounterBack(BorrowedLink):
    """Ablation: every chunk uses the first counter value of the grant, as after a restored snapshot."""

    def seal(self, command: Command) -> tuple[int, bytes]:
        """Seal with the counter's first value."""
        self.count_from_start()
        return super().seal(command)


#: What the orchestrator's end does without each defence.
LINKS: Final[Mapping[str, type[Link]]] = {
    "fresh-key": LendsOneKey,
    "rotation-in-h2d": LinkKeepsSending,
    "rotation-in-d2h": LinkKeepsReceiving,
    "sender-iv-monotonic": SetsCounterBack,
    "session-acknowledgements": HearsTheLink,
}

#: What a holder's end does without each defence.
BORROWED_LINKS: Final[Mapping[str, type[BorrowedLink]]] = {"sender-iv-monotonic": BorrowerSetsCounterBack}
