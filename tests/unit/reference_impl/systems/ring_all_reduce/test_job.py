"""Jobs of real processes: every rank ends with the sum, or with an alarm, whatever the host makes of the messages.

The host starts the ranks and gives them certified identities, which stands for manufacture. What a rank ends with comes
back over its pipe, and would stay in the GPU.
"""

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

import numpy as np
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from carnet_ref.crypto.primitives import sha384
from carnet_ref.systems.ring_all_reduce.exchange import CONFIDENTIAL, certify
from carnet_ref.systems.ring_all_reduce.rank import Vector
from tests.unit.reference_impl.systems.ring_all_reduce.process import Kind, Link, Manufactured, Work, framed, run_rank
from tests.unit.reference_impl.systems.ring_all_reduce.rings import contributions

_TRAINER = b"carnet ring all-reduce trainer"


@dataclass(frozen=True, slots=True)
class Parcel:
    """Something that one rank sends to its neighbour: its kind, and a half of a key exchange or a message."""

    sender: int
    receiver: int
    kind: Kind
    content: bytes


#: What the host makes of a parcel: nothing, the same one, another one, or several.
Carry = Callable[[Parcel], Iterable[Parcel]]


@dataclass(slots=True)
class Outcome:
    """What the ranks of a job ended with, by their places: sums, one for each iteration, or an alarm."""

    sums: dict[int, list[Vector]] = field(default_factory=dict)
    alarms: dict[int, str] = field(default_factory=dict)


def all_reduce(
    gradients: Sequence[Sequence[Vector]],
    *,
    buckets: int = 1,
    patience: float = 30.0,
    carry: Carry = (lambda parcel: (parcel,)),
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


RANKS = 3
GIVEN = [[contributions(RANKS, 12, iteration)[rank] for iteration in range(2)] for rank in range(RANKS)]
SUMS = [sum(each[iteration] for each in GIVEN) for iteration in range(2)]


def no_wrong_sum(outcome: Outcome) -> None:
    for sums in outcome.sums.values():
        for right, each in zip(SUMS, sums, strict=False):
            assert np.allclose(each, right, atol=1e-5)


@pytest.mark.verifies("ring-all-reduce-REQ-SETUP-01", "ring-all-reduce-REQ-REDUCE-01")
def test_processes_have_the_sum() -> None:
    outcome = all_reduce(GIVEN, buckets=2)
    assert not outcome.alarms
    assert {place: len(sums) for place, sums in outcome.sums.items()} == {0: 2, 1: 2, 2: 2}
    no_wrong_sum(outcome)


def test_messages_longer_than_a_pipe_holds_arrive() -> None:
    outcome = all_reduce([[np.ones(400_000, np.float32)] for _ in range(2)])
    assert not outcome.alarms
    assert all((sums[0] == 2).all() for sums in outcome.sums.values())


@pytest.mark.verifies("ring-all-reduce-REQ-ALARM-01")
def test_a_rank_that_dies_ends_the_job() -> None:
    outcome = all_reduce(GIVEN, dies_after={1: 5})
    assert set(outcome.alarms) == {0, 2}
    assert all("no message came before the alarm" in alarm for alarm in outcome.alarms.values())
    assert all(len(sums) == 1 for sums in outcome.sums.values())
    no_wrong_sum(outcome)


class Host:
    """Carries faithfully but for one thing: one message of rank 0."""

    def __init__(
        self, spoil: Callable[[list[Parcel]], Iterable[Parcel]], kind: Kind = Kind.MESSAGE, after: int = 4
    ) -> None:
        self._spoil, self._kind, self._after = spoil, kind, after
        self._seen: list[Parcel] = []

    def __call__(self, parcel: Parcel) -> Iterable[Parcel]:
        if (parcel.kind, parcel.sender) != (self._kind, 0):
            return (parcel,)
        self._seen.append(parcel)
        return self._spoil(self._seen) if len(self._seen) == self._after + 1 else (parcel,)


def changed(parcel: Parcel) -> Parcel:
    return replace(parcel, content=parcel.content[:-1] + bytes([parcel.content[-1] ^ 1]))


Spoil = Callable[[list[Parcel]], Iterable[Parcel]]

SPOILT: dict[str, tuple[Spoil, str]] = {
    "lost": (lambda seen: (), "tag does not verify"),
    "changed": (lambda seen: (changed(seen[-1]),), "tag does not verify"),
    "cut short": (lambda seen: (replace(seen[-1], content=seen[-1].content[:7]),), "a message of 7 bytes"),
    "empty": (lambda seen: (replace(seen[-1], content=b""),), "a message of 0 bytes"),
    "of an earlier iteration": (lambda seen: (seen[0],), "tag does not verify"),
    "of an earlier sub-step": (lambda seen: (seen[-2],), "tag does not verify"),
    "twice": (lambda seen: (seen[-1], seen[-1]), "tag does not verify"),
    "sent to the wrong rank": (lambda seen: (replace(seen[-1], receiver=2),), "tag does not verify"),
}


@pytest.mark.verifies("ring-all-reduce-REQ-REDUCE-02", "ring-all-reduce-REQ-ALARM-01")
@pytest.mark.parametrize("what", SPOILT)
def test_what_a_host_spoils_ends_in_alarms_and_no_wrong_sum(what: str) -> None:
    spoil, said = SPOILT[what]
    outcome = all_reduce(GIVEN, carry=Host(spoil))
    assert any(said in alarm for alarm in outcome.alarms.values()), outcome.alarms
    assert all(len(sums) == 1 for sums in outcome.sums.values())
    no_wrong_sum(outcome)


@pytest.mark.verifies("ring-all-reduce-LIVE-RANK-ENDS")
@pytest.mark.verifies("ring-all-reduce-REQ-ALARM-01")
def test_a_rank_that_waits_in_vain_raises_the_alarm() -> None:
    outcome = all_reduce(GIVEN, patience=1, carry=lambda parcel: () if parcel.kind is Kind.MESSAGE else (parcel,))
    assert any("no message came within 1 s" in alarm for alarm in outcome.alarms.values())
    assert set(outcome.alarms) == {0, 1, 2}
    assert not outcome.sums


@pytest.mark.verifies("ring-all-reduce-REQ-SETUP-02", "ring-all-reduce-REQ-SETUP-03")
@pytest.mark.parametrize("kind", [Kind.OPENING, Kind.ANSWER])
def test_an_exchange_that_a_host_changes_ends_before_anything_is_sent(kind: Kind) -> None:
    outcome = all_reduce(GIVEN, carry=Host(lambda seen: (changed(seen[-1]),), kind, after=0))
    assert any("certificate does not verify" in alarm for alarm in outcome.alarms.values()), outcome.alarms
    assert not outcome.sums


NOTHING = {"no bytes": b"", "a kind that there is not": bytes([99]) + b"x", "a kind alone": bytes([98])}


@pytest.mark.parametrize("what", NOTHING)
def test_what_is_nothing_is_left_aside(what: str) -> None:
    host, rank = Pipe()
    link = Link(0, rank, patience=5.0)
    host.send_bytes(NOTHING[what])
    host.send_bytes(framed(Kind.MESSAGE, b"a message"))
    assert link.take(Kind.MESSAGE) == b"a message"
    host.close()
