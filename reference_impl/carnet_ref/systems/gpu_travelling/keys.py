"""Key schedules: each derives the next link key in its own way, behind the interface `KeySchedule`.

Both ends of a link hold a schedule over the same session. The orchestrator calls `order`, which says what its rotation
command carries, and both ends `follow` that order and then hold the same `LinkKeys`. The order travels inside the
session; what a schedule seals on top of that is what the schedule is about, because orders pass the platform, which
records them. An end follows an order completely or not at all.

No two epochs share an IV. An IV is a message counter and a channel counter XOR a mask, and a mask belongs to a key: as
long as a key stays on its engine, so does its mask, and each epoch under it has a larger channel counter than the one
before. Pairs of counters with different channels differ, and XOR with one mask keeps them apart. A key that was never
used has a new mask, and nothing to be kept apart from.

Source: NVIDIA open-gpu-kernel-modules 595.45.04, kernel_channel.c (783: a new channel increments the engine's channel
counter and takes it as its own), conf_compute_gh100.c (103-155, 449-473: masks come with the keys, and new ones when
the keys are rotated).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, Final

from carnet_ref.crypto import primitives
from carnet_ref.keys import (
    ENGINES,
    Direction,
    EnginesExhaustedError,
    H100KeySchedule,
    KeySchedule,
    LinkKeys,
    OrderRefusedError,
    ResetNeededError,
    counter_after,
    engine_label,
    ratchet,
)
from carnet_ref.systems.gpu_travelling.enforcement import Checks
from carnet_ref.wire import MalformedError, Reader

HOME_ENGINE: Final = 0  #: The copy engine that the orchestrator keeps to itself.
FIRST_CHANNEL: Final = 1  #: The channel counter of the first epoch under a key.
ALL_CHECKS: Final = Checks()


@dataclass(frozen=True, slots=True)
class _Order:
    """What every order says: the epoch, its engine and channel, the masks, its owner, and the schedule's own part."""

    epoch: int
    engine: int
    channel: int
    h2d_mask: bytes
    d2h_mask: bytes
    owner: str
    payload: bytes

    def head(self) -> bytes:
        owner = self.owner.encode("utf-8")
        numbers = self.epoch.to_bytes(8, "little") + bytes([self.engine]) + self.channel.to_bytes(8, "little")
        return numbers + self.h2d_mask + self.d2h_mask + len(owner).to_bytes(2, "little") + owner

    def encode(self) -> bytes:
        return self.head() + len(self.payload).to_bytes(2, "little") + self.payload

    @classmethod
    def parse(cls, data: bytes) -> _Order:
        reader = Reader(data, "rotation order")
        epoch, engine = reader.number(8, "epoch"), reader.number(1, "engine")
        if engine >= ENGINES:
            raise reader.malformed(f"an engine below {ENGINES}", str(engine))
        channel = reader.number(8, "channel")
        h2d_mask, d2h_mask = (
            reader.take(primitives.NONCE_BYTES, "h2d mask"),
            reader.take(primitives.NONCE_BYTES, "d2h mask"),
        )
        raw = reader.take(reader.number(2, "owner size"), "owner")
        try:
            owner = raw.decode("utf-8")
        except UnicodeDecodeError:
            raise reader.malformed("an owner in UTF-8", raw.hex()) from None
        payload = reader.take(reader.number(2, "payload size"), "payload")
        reader.end()
        return cls(epoch, engine, channel, h2d_mask, d2h_mask, owner, payload)


class _Rotating:
    """What the rotating schedules share: epochs, masks, and following whole orders."""

    name: ClassVar[str]

    def __init__(self, session: H100KeySchedule, owner: str, checks: Checks = ALL_CHECKS) -> None:
        self._session = session
        self.checks = checks
        self._accepted: set[bytes] = set()
        self._keys = LinkKeys(
            epoch=0,
            owner=owner,
            engine=HOME_ENGINE,
            channel=FIRST_CHANNEL,
            h2d=session.key(engine_label(HOME_ENGINE, Direction.H2D)),
            d2h=session.key(engine_label(HOME_ENGINE, Direction.D2H)),
        )
        self._last = {HOME_ENGINE: self._keys}

    @property
    def keys(self) -> LinkKeys:
        """The keys of the current epoch."""
        return self._keys

    def used_again(self, owner: str) -> LinkKeys | None:
        """Return nothing: a rotation makes new keys."""
        del owner
        return None

    def order(self, owner: str, random: primitives.Random) -> bytes:
        """Return the order to rotate to a key that ``owner`` owns."""
        engine, channel = self._place(owner)
        masks = self._masks(engine, random)
        order = _Order(self._keys.epoch + 1, engine, channel, *masks, owner, b"")
        payload = self._payload(order, random)
        return _Order(order.epoch, engine, channel, *masks, owner, payload).encode()

    def follow(self, order: bytes) -> LinkKeys:
        """Rotate as ordered and return the new keys."""
        parsed = _Order.parse(order)
        self._require_next(order, parsed.epoch)
        h2d, d2h = self._next(parsed)
        keys = LinkKeys(
            parsed.epoch, parsed.owner, parsed.engine, parsed.channel, h2d, d2h, parsed.h2d_mask, parsed.d2h_mask
        )
        self._keep_ivs_apart(keys)
        self._keys = self._last[keys.engine] = keys
        self._accepted.add(order)
        self._followed(parsed)
        return self._keys

    def _require_next(self, order: bytes, epoch: int) -> None:
        last, new = self._keys.epoch, order not in self._accepted
        stale, repeated = f"epoch {epoch} does not follow {last}", f"the order for epoch {epoch} was followed before"
        self.checks.require("epochs-increase", "REQ-KEY-04", epoch > last, saw=(epoch, last), otherwise=stale)
        self.checks.require("wrapped-key-once", "REQ-KEY-04", new, saw=order, otherwise=repeated)

    def _keep_ivs_apart(self, keys: LinkKeys) -> None:
        """Refuse keys whose IVs may be those of another epoch under the same key."""
        before = self._last.get(keys.engine)
        if before is None or before.epoch == keys.epoch or all(before.half(way) != keys.half(way) for way in Direction):
            return
        if any(before.mask(way) != keys.mask(way) for way in Direction):
            raise OrderRefusedError("iv-mask", f"the key of engine {keys.engine} has another mask")
        used = f"channel {keys.channel} of engine {keys.engine} was used"
        larger = keys.channel > before.channel
        self.checks.require("channel-counter", "REQ-IV-04", larger, saw=(keys.channel, before.channel), otherwise=used)

    def _place(self, owner: str) -> tuple[int, int]:
        """Return engine and channel of the next epoch; after a rotation the channel counter is kept."""
        del owner
        return self._keys.engine, self._keys.channel

    def _masks(self, engine: int, random: primitives.Random) -> tuple[bytes, bytes]:
        """Return the masks of the keys that come onto an engine: new keys have new ones."""
        del engine
        return random(primitives.NONCE_BYTES), random(primitives.NONCE_BYTES)

    def _payload(self, order: _Order, random: primitives.Random) -> bytes:
        del order, random
        return b""

    def _next(self, order: _Order) -> tuple[bytes, bytes]:
        raise NotImplementedError

    def _followed(self, order: _Order) -> None:
        """Record, at this end, what followed from the order."""


class Unchanged:
    """The schedule without rotation: link key and counters stay the same."""

    name: ClassVar[str] = "none"

    def __init__(self, session: H100KeySchedule, owner: str, checks: Checks = ALL_CHECKS) -> None:
        self._keys = Ratchet(session, owner, checks).keys

    @property
    def keys(self) -> LinkKeys:
        """The keys of the only epoch."""
        return self._keys

    def used_again(self, owner: str) -> LinkKeys | None:
        """Return the keys of the only epoch."""
        del owner
        return self._keys

    def order(self, owner: str, random: primitives.Random) -> bytes:
        """Return an order without content."""
        del owner, random
        return b""

    def follow(self, order: bytes) -> LinkKeys:
        """Keep the keys; the counters go on with them. Raises MalformedError if the order asks for something."""
        if order:
            raise MalformedError("rotation order", "nothing", f"{len(order)} bytes")
        return self._keys


class Ratchet(_Rotating):
    """The public driver's rotation: each half is derived from the last one with its own label."""

    name: ClassVar[str] = "ratchet"

    def _next(self, order: _Order) -> tuple[bytes, bytes]:
        labels = (engine_label(order.engine, direction) for direction in Direction)
        h2d, d2h = (ratchet(self._keys.half(way), label) for way, label in zip(Direction, labels, strict=True))
        return h2d, d2h


class Reset(Ratchet):
    """The schedule with a session per holder: the GPU is reset in between."""

    name: ClassVar[str] = "reset"

    def __init__(self, session: H100KeySchedule, owner: str, checks: Checks = ALL_CHECKS) -> None:
        super().__init__(session, owner, checks)
        self._home = owner
        self._lent = False

    def _place(self, owner: str) -> tuple[int, int]:
        if self._lent and owner != self._home:
            raise ResetNeededError(f"the session was lent before; open a new one to lend it to {owner}")
        return super()._place(owner)

    def _followed(self, order: _Order) -> None:
        self._lent |= order.owner != self._home


class InnerKeyOverRatchet(Ratchet):
    """The driver's ratchet; an inner key, which is no link key, seals the data in addition."""

    name: ClassVar[str] = "inner-key"


class EnginePerHolder(_Rotating):
    """Each holder has a copy engine, whose key is a separate branch of the session secret.

    The key bytes of an engine and its masks never change; a new epoch is a new channel counter on it. Retiring the
    engine that was given back is the GPU's part.
    """

    name: ClassVar[str] = "engine-per-holder"

    def __init__(self, session: H100KeySchedule, owner: str, checks: Checks = ALL_CHECKS) -> None:
        super().__init__(session, owner, checks)
        self._engines = {owner: HOME_ENGINE}

    def used_again(self, owner: str) -> LinkKeys | None:
        """Return the last keys on the owner's engine, if it has one."""
        return self._last.get(self._engines.get(owner, ENGINES))

    def _place(self, owner: str) -> tuple[int, int]:
        engine = self._engines.get(owner, len(self._engines))
        if engine >= ENGINES:
            raise EnginesExhaustedError(f"{ENGINES - 1} holders have engines, and there is none for {owner}")
        before = self._last.get(engine)
        return engine, FIRST_CHANNEL if before is None else counter_after(before.channel, engine)

    def _masks(self, engine: int, random: primitives.Random) -> tuple[bytes, bytes]:
        """Return the masks that the keys of an engine have, or new ones where it has none."""
        before = self._last.get(engine)
        return super()._masks(engine, random) if before is None else (before.h2d_mask, before.d2h_mask)

    def _next(self, order: _Order) -> tuple[bytes, bytes]:
        if self._engines.get(order.owner, order.engine) != order.engine:
            raise OrderRefusedError("engine-per-holder", f"{order.owner} has another engine than {order.engine}")
        if order.owner not in self._engines and order.engine in self._engines.values():
            raise OrderRefusedError("engine-per-holder", f"engine {order.engine} is another holder's")
        h2d, d2h = (self._session.key(engine_label(order.engine, way)) for way in Direction)
        return h2d, d2h

    def _followed(self, order: _Order) -> None:
        self._engines[order.owner] = order.engine


class RetiredEngineLeaks(EnginePerHolder):
    """The same schedule, in which the key of a retired engine counts as past and may leak."""

    name: ClassVar[str] = "retired-engine-leaks"


class _FreshKey(_Rotating):
    """A fresh key for each epoch, sealed under some key; the schedules differ in which."""

    def _payload(self, order: _Order, random: primitives.Random) -> bytes:
        nonce, fresh = random(primitives.NONCE_BYTES), random(2 * primitives.KEY_BYTES)
        return nonce + self._wrapping(order.epoch).encrypt(nonce, fresh, order.head())

    def _next(self, order: _Order) -> tuple[bytes, bytes]:
        reader = Reader(order.payload, "wrapped key")
        nonce, sealed = (
            reader.take(primitives.NONCE_BYTES, "nonce"),
            reader.take(2 * primitives.KEY_BYTES + primitives.TAG_BYTES, "sealed keys"),
        )
        reader.end()
        try:
            fresh = self._wrapping(order.epoch).decrypt(nonce, sealed, order.head())
        except primitives.AuthenticationError:
            raise OrderRefusedError(self.name, f"the key of epoch {order.epoch} does not unwrap") from None
        return fresh[: primitives.KEY_BYTES], fresh[primitives.KEY_BYTES :]

    def _wrapping(self, epoch: int) -> primitives.AesGcm:
        raise NotImplementedError


class SealedUnderMaster(_FreshKey):
    """A fresh key for each epoch, sealed under a branch of the session secret that only both ends have."""

    name: ClassVar[str] = "sealed-under-master"
    LABEL: Final = "carnet_rotation_epoch_"

    def _wrapping(self, epoch: int) -> primitives.AesGcm:
        return primitives.AesGcm(self._session.key(f"{self.LABEL}{epoch}"))


class WrappedUnderOld(_FreshKey):
    """A fresh key for each epoch, sealed under the previous one; who has that key can unwrap it."""

    name: ClassVar[str] = "wrapped-under-old"

    def _wrapping(self, epoch: int) -> primitives.AesGcm:
        del epoch
        return primitives.AesGcm(wrapping_key(self._keys.h2d))


def wrapping_key(outgoing: bytes) -> bytes:
    """Return the key under which ``wrapped-under-old`` seals the next one; it is computed from the outgoing key."""
    return primitives.hkdf_expand_sha256(outgoing, b"carnet_wrapping")


ScheduleClass = type[Unchanged] | type[_Rotating]

#: Schedules by the names that the specification gives them.
SCHEDULES: Final[Mapping[str, ScheduleClass]] = MappingProxyType(
    {
        kind.name: kind
        for kind in (
            EnginePerHolder,
            InnerKeyOverRatchet,
            Ratchet,
            Reset,
            RetiredEngineLeaks,
            SealedUnderMaster,
            Unchanged,
            WrappedUnderOld,
        )
    }
)


def key_schedule(
    name: str, session: H100KeySchedule, owner: str = "orchestrator", checks: Checks = ALL_CHECKS
) -> KeySchedule:
    """Return one end's key schedule for a session whose first keys belong to ``owner``."""
    return SCHEDULES[name](session, owner, checks)
