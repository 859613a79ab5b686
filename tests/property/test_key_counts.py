"""No AES key protects more than its limit at any end of a link, and the ends count alike, over ten thousand runs.

A run draws everything: who borrows the GPU in which order, how much each sends, what is uploaded and sent home, who is
evicted, when a session is renewed, and what a key may protect. What counts is what a cipher was asked to do. That
cipher is a stand-in, so that ten thousand runs take seconds: it lets a message through under the key and IV that
sealed it, and under no other. `test_key_limits` does the same with whole parties and real bytes, in fewer runs.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import pytest
from cryptography.exceptions import InvalidTag

from carnet_ref.crypto.primitives import Buffer, CryptoError
from carnet_ref.device import CopyEngines
from carnet_ref.keys import Direction, H100KeySchedule, KeyLedger, KeysError, KeyUsage, LinkKeys, UsageLimits
from carnet_ref.systems.gpu_travelling.device import orders
from carnet_ref.systems.gpu_travelling.device.commands import Logged, Model, Upload, Write, encode
from carnet_ref.systems.gpu_travelling.device.firmware import Firmware
from carnet_ref.systems.gpu_travelling.device.orders import (
    ORDERS_LABEL,
    REPORTS_LABEL,
    Fence,
    Fenced,
    Order,
    Report,
    Rotate,
    Rotated,
)
from carnet_ref.systems.gpu_travelling.enforcement import Checks
from carnet_ref.systems.gpu_travelling.keys.schedules import key_schedule
from carnet_ref.systems.gpu_travelling.names import ORCHESTRATOR
from carnet_ref.systems.gpu_travelling.roles.links import BorrowedLink, Link, SessionKeys
from carnet_ref.transport.frames import ProtocolError
from carnet_ref.wire import number

RUNS = 5_000
"""Runs of each of the two main schedules."""
HEAD = 1 + len(number(0))
Refused = (KeysError, CryptoError, ProtocolError)


@dataclass
class Uses:
    """What ciphers were asked to do, by key and by whether they sealed or opened."""

    messages: Counter[tuple[bytes, str]] = field(default_factory=Counter)
    size: Counter[tuple[bytes, str]] = field(default_factory=Counter)
    sealed: set[tuple[bytes, bytes]] = field(default_factory=set)
    repeated: bool = False

    def note(self, key: bytes, way: str, size: int) -> None:
        self.messages[key, way] += 1
        self.size[key, way] += size

    def seal(self, key: bytes, nonce: bytes, size: int) -> None:
        self.note(key, "sealed", size)
        self.repeated |= (key, nonce) in self.sealed
        self.sealed.add((key, nonce))

    def within(self, key: bytes, limits: UsageLimits) -> bool:
        """Return whether a key was used within its limits, to seal and to open."""
        return all(
            self.messages[key, way] <= limits.messages
            and self.size[key, way] // 16 + self.messages[key, way] <= limits.upper
            for way in ("sealed", "opened")
        )


class StandIn:
    """Counts as AES-GCM would be used; a message opens under the key and nonce that sealed it."""

    uses = Uses()

    def __init__(self, key: bytes) -> None:
        self._key = bytes(key)

    def encrypt(self, nonce: bytes, data: bytes, associated: bytes | None) -> bytes:
        self.uses.seal(self._key, nonce, len(data))
        return bytes(data) + self._key[:4] + nonce

    def decrypt(self, nonce: bytes, data: bytes, associated: bytes | None) -> bytes:
        self.uses.note(self._key, "opened", len(data) - 16)
        if bytes(data[-16:]) != self._key[:4] + nonce:
            raise InvalidTag
        return bytes(data[:-16])

    def encrypt_into(self, nonce: bytes, data: Buffer, associated: None, out: bytearray | memoryview) -> int:
        out[:] = self.encrypt(nonce, bytes(data), associated)
        return len(out)

    def decrypt_into(self, nonce: bytes, data: Buffer, associated: None, out: bytearray | memoryview) -> int:
        out[:] = self.decrypt(nonce, bytes(data), associated)
        return len(out)


@pytest.fixture(autouse=True)
def uses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carnet_ref.crypto.primitives.AESGCM", StandIn)
    monkeypatch.setattr(orders, "LIMITS", UsageLimits.for_messages(60))


class Session:
    """Both ends of a session: the orchestrator's link, and the GPU's copy engines and firmware."""

    def __init__(self, schedule: str, secret: bytes, limits: UsageLimits) -> None:
        ours, theirs = H100KeySchedule(secret), H100KeySchedule(secret)
        self.link = Link("s", key_schedule(schedule, ours), SessionKeys.of(ours), limits)
        self.gpu = CopyEngines(key_schedule(schedule, theirs), limits)
        self.firmware = Firmware(theirs, self.gpu, Checks())
        self.keys = [self.link.keys]
        self.own = [ours.key(label) for label in (ORDERS_LABEL, REPORTS_LABEL)]
        self.lost: set[bytes] = set()

    @property
    def loaded(self) -> list[LinkKeys]:
        """The keys that are on an engine now."""
        return list({keys.engine: keys for keys in self.keys}.values())

    def order(self, order: Order) -> Report:
        """Give an order inside the session, and take the report on it."""
        _, sealed = self.link.order(order)
        place, taken = self.firmware.open(sealed)
        if isinstance(taken, Rotate):
            keys = self.gpu.accept(taken.key)
            said: Report = Rotated(keys.epoch, self.gpu.live)
        else:
            said = Fenced()
        self.firmware.take(place, taken)
        return self.link.report(self.firmware.report(place, said)[1])

    def rotate(self, owner: str, draw: random.Random) -> None:
        """Give the link a key of this owner."""
        self.order(self.link.draw(owner, draw.randbytes))
        self.link.take()
        self.keys.append(self.link.keys)

    def cross(self, slot: int, body: bytes) -> None:
        """Bring a message to the GPU."""
        self.gpu.open(body[0], body[HEAD:], slot)


class Run:
    """One run, which a number determines."""

    def __init__(self, schedule: str, number_of_run: int) -> None:
        self.chance = random.Random(f"{schedule} {number_of_run}")
        self.schedule = schedule
        self.limits = self.drawn_limits()
        self.owners = [f"holder {index}" for index in range(self.chance.randint(1, 7))]
        self.sessions: list[Session] = []

    def drawn_limits(self) -> UsageLimits:
        """Return limits that a few hand-overs come up against."""
        if self.chance.random() < 0.5:
            return UsageLimits.for_messages(self.chance.randint(1, 12))
        upper = self.chance.randint(8, 160)
        return UsageLimits(self.chance.randint(1, upper), upper)

    def go(self) -> None:
        """Hand the GPU over some times, in a new session whenever an end refuses to go on, or just so."""
        session = self.renewed()
        for _ in range(self.chance.randint(1, 4)):
            try:
                self.hand_over(session, self.chance.choice(self.owners))
            except Refused:
                self.check(session)
                session = self.renewed()
            if self.chance.random() < 0.05:
                session = self.renewed()
        self.check(session)

    def renewed(self) -> Session:
        """Return a new session."""
        self.sessions.append(Session(self.schedule, self.chance.randbytes(32), self.limits))
        return self.sessions[-1]

    def hand_over(self, session: Session, owner: str) -> None:
        """Lend the GPU, let the holder send, take it back, and do what is done at home."""
        link, chance = session.link, self.chance
        session.rotate(owner, chance)
        borrowed, sizes = BorrowedLink(link.keys, link.next_slot, link.lend()), list[int]()
        evicted = chance.random() < 0.1
        try:
            for chunk in range(chance.randint(0, 4)):
                size = chance.choice((0, 1, 16, 40, 200))
                session.cross(*borrowed.seal(Write(0, chunk, bytes(size))))
                sizes.append(size)
        finally:
            if evicted or len(sizes) < borrowed.count:
                session.lost.add(link.keys.h2d)
                link.forfeit()
            else:
                link.count_borrowed(borrowed.count, sum(sizes))
        session.rotate(ORCHESTRATOR, chance)
        session.order(Fence())
        session.cross(*link.seal(Upload(b"code", bytes(chance.choice((0, 100))))))
        for reply in (Logged(0.5), Model(bytes(chance.choice((0, 90)))))[: chance.randint(0, 2)]:
            link.open(session.gpu.seal(encode(reply)).ciphertext)
        self.agree(session)

    def agree(self, session: Session) -> None:
        """Insist that the ends counted alike: exactly, or, of what an evicted holder was lent, never too little."""
        for keys in session.loaded:
            for way in Direction:
                ours, theirs = (ledger.usage(keys, way) for ledger in ledgers(session))
                if keys.h2d in session.lost and way is Direction.H2D:
                    assert ours.operations >= theirs.operations
                else:
                    assert (ours.operations, ours.used_bytes) == (theirs.operations, theirs.used_bytes)
        for ours, theirs in zip(session.link.own_usage.values(), firmware_usage(session), strict=True):
            assert (ours.operations, ours.used_bytes) == (theirs.operations, theirs.used_bytes)

    def check(self, session: Session) -> None:
        """Insist that no key of a session was used past its limit, to seal or to open."""
        for key in {keys.half(way) for keys in session.keys for way in Direction}:
            assert StandIn.uses.within(key, self.limits)
        for own in session.own:
            assert StandIn.uses.within(own, orders.LIMITS)
        assert not StandIn.uses.repeated


def ledgers(session: Session) -> tuple[KeyLedger, KeyLedger]:
    return session.link._ledger, session.gpu._ledger


def firmware_usage(session: Session) -> tuple[KeyUsage, KeyUsage]:
    return session.firmware._orders.usage, session.firmware._reports.usage


def outcomes(schedule: str, runs: int) -> Counter[str]:
    """Carry out runs, and return what happened in them."""
    found = Counter[str]()
    for number_of_run in range(runs):
        StandIn.uses = Uses()
        run = Run(schedule, number_of_run)
        run.go()
        found["renewed"] += len(run.sessions) > 1
        found["a key at its limit"] += any(
            messages == run.limits.messages for messages in StandIn.uses.messages.values()
        )
    return found


@pytest.mark.mends("H5")
@pytest.mark.parametrize("schedule", ["engine-per-holder", "sealed-under-master"])
def test_no_key_passes_its_limit_and_the_ends_agree_in_five_thousand_runs(schedule: str) -> None:
    found = outcomes(schedule, RUNS)
    assert found["renewed"] > RUNS / 10
    assert found["a key at its limit"] > RUNS / 20


# -- the check can fail ---------------------------------------------------------------------------


def test_counting_each_epoch_anew_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def anew(ledger: KeyLedger, keys: LinkKeys, way: object) -> KeyUsage:
        return KeyUsage(ledger._limits)

    monkeypatch.setattr(KeyLedger, "usage", anew)
    monkeypatch.setattr(Run, "agree", lambda run, session: None)
    with pytest.raises(AssertionError):
        outcomes("engine-per-holder", 100)


def test_an_end_that_does_not_count_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KeyUsage, "settle", lambda usage, lent, size, operations: None)
    with pytest.raises(AssertionError):
        outcomes("engine-per-holder", 100)


def test_the_session_s_own_keys_have_a_limit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    real = KeyUsage.count
    monkeypatch.setattr(
        KeyUsage, "count", lambda usage, size: real(usage, size) if usage._limits is not orders.LIMITS else None
    )
    monkeypatch.setattr(orders, "LIMITS", UsageLimits.for_messages(8))
    with pytest.raises(AssertionError):
        outcomes("sealed-under-master", 100)
