"""Jobs of real processes: every rank ends with the sum, or with an alarm, whatever the host makes of the messages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pytest

from tests.unit.reference_impl.systems.ring_all_reduce.job import Outcome, Parcel, all_reduce
from tests.unit.reference_impl.systems.ring_all_reduce.process import Kind
from tests.unit.reference_impl.systems.ring_all_reduce.rings import contributions

Verifies = Callable[[str, object], None]

RANKS = 3
GIVEN = [[contributions(RANKS, 12, iteration)[rank] for iteration in range(2)] for rank in range(RANKS)]
SUMS = [sum(each[iteration] for each in GIVEN) for iteration in range(2)]


def no_wrong_sum(outcome: Outcome) -> None:
    for sums in outcome.sums.values():
        for right, each in zip(SUMS, sums, strict=False):
            assert np.allclose(each, right, atol=1e-5)


def test_processes_have_the_sum(record_property: Verifies) -> None:
    record_property("verifies", "ring-all-reduce-REQ-SETUP-01, ring-all-reduce-REQ-REDUCE-01")
    outcome = all_reduce(GIVEN, buckets=2)
    assert not outcome.alarms
    assert {place: len(sums) for place, sums in outcome.sums.items()} == {0: 2, 1: 2, 2: 2}
    no_wrong_sum(outcome)


def test_messages_longer_than_a_pipe_holds_arrive() -> None:
    outcome = all_reduce([[np.ones(400_000, np.float32)] for _ in range(2)])
    assert not outcome.alarms
    assert all((sums[0] == 2).all() for sums in outcome.sums.values())


def test_a_rank_that_dies_ends_the_job(record_property: Verifies) -> None:
    record_property("verifies", "ring-all-reduce-REQ-ALARM-01")
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


@pytest.mark.parametrize("what", SPOILT)
def test_what_a_host_spoils_ends_in_alarms_and_no_wrong_sum(what: str, record_property: Verifies) -> None:
    record_property("verifies", "ring-all-reduce-REQ-REDUCE-02, ring-all-reduce-REQ-ALARM-01")
    spoil, said = SPOILT[what]
    outcome = all_reduce(GIVEN, carry=Host(spoil))
    assert any(said in alarm for alarm in outcome.alarms.values()), outcome.alarms
    assert all(len(sums) == 1 for sums in outcome.sums.values())
    no_wrong_sum(outcome)


def test_a_rank_that_waits_in_vain_raises_the_alarm(record_property: Verifies) -> None:
    record_property("verifies", "ring-all-reduce-REQ-ALARM-01")
    outcome = all_reduce(GIVEN, patience=1, carry=lambda parcel: () if parcel.kind is Kind.MESSAGE else (parcel,))
    assert any("no message came within 1 s" in alarm for alarm in outcome.alarms.values())
    assert set(outcome.alarms) == {0, 1, 2}
    assert not outcome.sums


@pytest.mark.parametrize("kind", [Kind.OPENING, Kind.ANSWER])
def test_an_exchange_that_a_host_changes_ends_before_anything_is_sent(kind: Kind, record_property: Verifies) -> None:
    record_property("verifies", "ring-all-reduce-REQ-SETUP-02, ring-all-reduce-REQ-SETUP-03")
    outcome = all_reduce(GIVEN, carry=Host(lambda seen: (changed(seen[-1]),), kind, after=0))
    assert any("certificate does not verify" in alarm for alarm in outcome.alarms.values()), outcome.alarms
    assert not outcome.sums
