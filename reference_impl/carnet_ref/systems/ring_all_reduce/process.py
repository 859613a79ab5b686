"""The process of one rank: agrees on the keys of its hops and takes its turns, over a pipe to a host."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_der_private_key

from carnet_ref.systems.ring_all_reduce.errors import AlarmError, ReportError, RingError
from carnet_ref.systems.ring_all_reduce.exchange import Device, Half, HopOpening, ReportCheck, answer_hop
from carnet_ref.systems.ring_all_reduce.rank import Rank, Vector
from carnet_ref.systems.ring_all_reduce.schedule import turns

OPENING, ANSWER, MESSAGE, SUMS, ALARM = "opening", "answer", "message", "sums", "alarm"
"""What goes over a pipe: to the next rank, to the one before, to the next one; and to the host."""


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
    patience: float
    """The seconds it waits for a message."""
    dies_after: int | None = None
    """How many messages it sends before its process ends, if it does."""


class _Link:
    """The pipe to the host, on which things of different kinds come in any order."""

    def __init__(self, place: int, pipe: Connection, patience: float) -> None:
        self._place, self._pipe, self._patience = place, pipe, patience
        self._waiting: dict[str, deque[object]] = {}

    def send(self, kind: str, content: object) -> None:
        self._pipe.send((kind, content))

    def take(self, kind: str) -> object:
        """Return the next thing of a kind.

        Raises:
            AlarmError: none came in time.
        """
        while not self._waiting.get(kind):
            if not self._pipe.poll(self._patience):
                raise AlarmError(self._place, f"no {kind} came within {self._patience:g} s")
            came, content = self._pipe.recv()
            self._waiting.setdefault(came, deque()).append(content)
        return self._waiting[kind].popleft()


def run_rank(pipe: Connection, made: Manufactured, work: Work) -> None:
    """Run one rank, and say at the end what it came to: its sums, or its alarm."""
    link = _Link(made.place, pipe, work.patience)
    try:
        link.send(SUMS, _sums(link, made, work))
    except RingError as error:
        link.send(ALARM, str(error))


def _sums(link: _Link, made: Manufactured, work: Work) -> list[Vector]:
    rank = Rank(made.place, made.ranks, *_agree(link, made))
    sums: list[Vector] = []
    sent = 0
    for iteration, contribution in enumerate(work.contributions):
        rank.begin(iteration, contribution, work.buckets)
        for turn in turns(made.ranks, work.buckets):
            if sent == work.dies_after:
                os._exit(1)
            link.send(MESSAGE, rank.send(*turn))
            sent += 1
            rank.receive(*turn, _bytes(rank, link))
        sums.append(rank.finish())
    return sums


def _bytes(rank: Rank, link: _Link) -> bytes:
    try:
        came = link.take(MESSAGE)
    except AlarmError as error:
        rank.raise_alarm(error.reason)
    return came if isinstance(came, bytes) else rank.raise_alarm("what came is no message")


def _agree(link: _Link, made: Manufactured) -> tuple[bytes, bytes]:
    """Return the keys of the hops to the next rank and from the one before."""
    identity = load_der_private_key(made.identity, None)
    if not isinstance(identity, ec.EllipticCurvePrivateKey):
        raise ReportError("the identity is no key of an elliptic curve")
    device = Device(identity, made.certificate, made.mode, made.code, made.place)
    check = ReportCheck(ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP384R1(), made.root), made.code)
    before, after = (made.place - 1) % made.ranks, (made.place + 1) % made.ranks
    opening = HopOpening(device, os.urandom)
    link.send(OPENING, opening.half)
    answer, incoming = answer_hop(device, _half(link, OPENING), check, before, os.urandom)
    link.send(ANSWER, answer)
    return opening.take(_half(link, ANSWER), check, after), incoming


def _half(link: _Link, kind: str) -> Half:
    came = link.take(kind)
    if not isinstance(came, Half):
        raise ReportError(f"what came is no {kind}")
    return came
