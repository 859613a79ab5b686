"""The process of one rank: agrees on the keys of its hops and takes its turns, over a pipe to a host."""

import contextlib
import os
import queue
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from multiprocessing.connection import Connection

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_der_private_key

from carnet_ref.systems.ring_all_reduce.exchange import (
    AlarmError,
    Device,
    ExchangeMessage,
    HopOpening,
    ReportCheck,
    ReportError,
    RingError,
    answer_hop,
)
from carnet_ref.systems.ring_all_reduce.rank import Rank, Vector, turns

_STARTS = 120.0  #: The seconds that a rank waits for its neighbours to start.


class Kind(Enum):
    """What goes over a pipe: to the next rank, to the one before, to the next one, to the host, and to all ranks."""

    OPENING = 0
    ANSWER = 1
    MESSAGE = 2
    SUM = 3
    ALARM = 4


def framed(kind: Kind, content: bytes) -> bytes:
    """Return what goes over a pipe: bytes, since nobody may unpickle what a host made."""
    return bytes([kind.value]) + content


@dataclass(frozen=True, slots=True)
class Manufactured:
    """What a rank has from the start: its identity and certificate, the vendor's root, what it is, and its place."""

    place: int
    ranks: int
    identity: bytes
    certificate: bytes
    root: bytes
    mode: bytes
    code: bytes


@dataclass(frozen=True, slots=True)
class Work:
    """What a rank is to do: a contribution for each iteration, cut into buckets."""

    contributions: Sequence[Vector]
    buckets: int
    patience: float  #: The seconds it waits for a message.
    dies_after: int | None = None  #: How many messages it sends before its process ends, if it does.


class Link:
    """The pipe to the host; a thread takes what comes, so that neither end waits for the other to read."""

    def __init__(self, place: int, pipe: Connection, patience: float) -> None:
        self._place, self._pipe = place, pipe
        self._patience = {kind: patience if kind is Kind.MESSAGE else _STARTS for kind in Kind}
        self._came: dict[int, queue.Queue[bytes | None]] = {kind.value: queue.Queue() for kind in Kind}
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with contextlib.suppress(EOFError, OSError):  # the host is gone, and nothing more comes
            while True:
                self._sort(self._pipe.recv_bytes())

    def _sort(self, frame: bytes) -> None:
        kind = frame[0] if frame else -1
        if kind == Kind.ALARM.value:
            for each in self._came.values():
                each.put(None)
        elif kind in self._came:
            self._came[kind].put(frame[1:])

    def send(self, kind: Kind, content: bytes) -> None:
        """Send something to the host, if it is there."""
        with contextlib.suppress(OSError):
            self._pipe.send_bytes(framed(kind, content))

    def take(self, kind: Kind) -> bytes:
        """Return the next thing of a kind.

        Raises AlarmError if none came in time, or another rank raised the alarm first.
        """
        try:
            came = self._came[kind.value].get(timeout=self._patience[kind])
        except queue.Empty:
            reason = f"no {kind.name.lower()} came within {self._patience[kind]:g} s"
            raise AlarmError(self._place, reason) from None
        if came is None:
            raise AlarmError(self._place, f"no {kind.name.lower()} came before the alarm of another rank")
        return came


def run_rank(pipe: Connection, made: Manufactured, work: Work) -> None:
    """Run one rank, and say what it has: the sum of each iteration that it finishes, or its alarm."""
    link = Link(made.place, pipe, work.patience)
    try:
        _work(link, made, work)
    except RingError as error:
        link.send(Kind.ALARM, str(error).encode())


def _work(link: Link, made: Manufactured, work: Work) -> None:
    rank = Rank(made.place, made.ranks, *_agree(link, made))
    sent = 0
    for iteration, contribution in enumerate(work.contributions):
        rank.begin(iteration, contribution, work.buckets)
        for turn in turns(made.ranks, work.buckets):
            if sent == work.dies_after:
                os._exit(1)
            link.send(Kind.MESSAGE, rank.send(*turn))
            sent += 1
            rank.receive(*turn, _message(rank, link))
        link.send(Kind.SUM, rank.finish().tobytes())


def _message(rank: Rank, link: Link) -> bytes:
    try:
        return link.take(Kind.MESSAGE)
    except AlarmError as error:
        rank.raise_alarm(error.reason)


def _agree(link: Link, made: Manufactured) -> tuple[bytes, bytes]:
    """Return the keys of the hops to the next rank and from the one before."""
    identity = load_der_private_key(made.identity, None)
    if not isinstance(identity, ec.EllipticCurvePrivateKey):
        raise ReportError("the identity is no key of an elliptic curve")
    device = Device(identity, made.certificate, made.mode, made.code, made.place)
    check = ReportCheck(ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP384R1(), made.root), made.code)
    before, after = (made.place - 1) % made.ranks, (made.place + 1) % made.ranks
    opening = HopOpening(device, os.urandom)
    link.send(Kind.OPENING, opening.half.encode())
    answer, incoming = answer_hop(device, ExchangeMessage.decode(link.take(Kind.OPENING)), check, before, os.urandom)
    link.send(Kind.ANSWER, answer.encode())
    return opening.take(ExchangeMessage.decode(link.take(Kind.ANSWER)), check, after), incoming
