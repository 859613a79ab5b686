"""A job: one process for each rank, and between them a host that carries every message and may do as it likes.

The host starts the ranks and gives them certified identities, which stands for manufacture. What a rank ends with comes
back over its pipe, and would stay in the GPU.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

import numpy as np
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from carnet_ref.crypto.primitives import sha384
from carnet_ref.systems.ring_all_reduce.exchange import CONFIDENTIAL, certify
from carnet_ref.systems.ring_all_reduce.rank import Vector
from tests.unit.reference_impl.systems.ring_all_reduce.process import Kind, Manufactured, Work, framed, run_rank

_TRAINER = b"carnet ring all-reduce trainer"


@dataclass(frozen=True, slots=True)
class Parcel:
    """Something that one rank sends to its neighbour: its kind, and a half of a key exchange or a message."""

    sender: int
    receiver: int
    kind: Kind
    content: bytes


Carry = Callable[[Parcel], Iterable[Parcel]]
"""What the host makes of a parcel: nothing, the same one, another one, or several."""


@dataclass(slots=True)
class Outcome:
    """What the ranks of a job ended with, by their places: sums, one for each iteration, or an alarm."""

    sums: dict[int, list[Vector]] = field(default_factory=dict)
    alarms: dict[int, str] = field(default_factory=dict)


def faithfully(parcel: Parcel) -> Iterable[Parcel]:
    """Deliver a parcel as it is."""
    return (parcel,)


def all_reduce(
    gradients: Sequence[Sequence[Vector]],
    *,
    buckets: int = 1,
    patience: float = 30.0,
    carry: Carry = faithfully,
    dies_after: Mapping[int, int] | None = None,
) -> Outcome:
    """Run a job and return what its ranks ended with.

    Args:
        gradients: for each rank its contributions, one for each iteration.
        buckets: into how many buckets each contribution is cut.
        patience: the seconds that a rank waits for a message before it raises the alarm.
        carry: what the host does with what it carries.
        dies_after: the ranks whose process ends, and after how many messages.
    """
    dying = dies_after or {}
    root = ec.generate_private_key(ec.SECP384R1())
    work = [Work(each, buckets, patience, dying.get(place)) for place, each in enumerate(gradients)]
    pipes: dict[Connection, int] = {}
    processes: list[BaseProcess] = []
    try:
        for place, each in enumerate(work):
            pipe, process = _start(_manufacture(root, place, len(work)), each)
            pipes[pipe] = place
            processes.append(process)
        return _host(pipes, carry, len(work[0].contributions))
    finally:
        for pipe in pipes:
            pipe.close()
        for process in processes:
            process.join()


def _start(made: Manufactured, work: Work) -> tuple[Connection, BaseProcess]:
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=run_rank, args=(theirs, made, work), daemon=True)
    process.start()
    theirs.close()
    return ours, process


def _manufacture(root: ec.EllipticCurvePrivateKey, place: int, ranks: int) -> Manufactured:
    identity = ec.generate_private_key(ec.SECP384R1())
    private = identity.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    public = root.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
    return Manufactured(place, ranks, private, certify(root, identity), public, CONFIDENTIAL, sha384(_TRAINER))


def _host(pipes: Mapping[Connection, int], carry: Carry, iterations: int) -> Outcome:
    """Carry what ranks send until each of them has ended, and tell all of them of one that ends too early."""
    outcome, waiting = Outcome(), dict(pipes)
    at = {place: pipe for pipe, place in pipes.items()}
    while waiting:
        for pipe in wait(list(waiting)):
            assert isinstance(pipe, Connection)
            try:
                frame = pipe.recv_bytes()
            except (EOFError, OSError):
                if len(outcome.sums.get(waiting.pop(pipe), ())) < iterations:
                    for other in waiting:
                        _deliver(other, framed(Kind.ALARM, b""))
                continue
            for parcel in _said(waiting[pipe], len(pipes), Kind(frame[0]), frame[1:], outcome):
                for each in carry(parcel):
                    _deliver(at[each.receiver], framed(each.kind, each.content))
    return outcome


def _said(place: int, ranks: int, kind: Kind, content: bytes, outcome: Outcome) -> Iterable[Parcel]:
    if kind is Kind.SUM:
        outcome.sums.setdefault(place, []).append(np.frombuffer(content, np.float32))
    elif kind is Kind.ALARM:
        outcome.alarms[place] = content.decode()
    else:
        yield Parcel(place, (place + (-1 if kind is Kind.ANSWER else 1)) % ranks, kind, content)


def _deliver(pipe: Connection, frame: bytes) -> None:
    with contextlib.suppress(OSError):  # a rank that has ended takes nothing more
        pipe.send_bytes(frame)
