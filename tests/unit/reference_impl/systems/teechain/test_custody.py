"""The custody log: what counts is in every log, and goes on after kills, rollbacks and take-overs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from carnet_ref.systems.teechain.custody import gather, go_on
from carnet_ref.systems.teechain.primary import Primary
from carnet_ref.systems.teechain.tee import ChainError, SealedStateError, SilentMemberError
from tests.unit.reference_impl.systems.teechain.cluster import Cluster

Verifies = Callable[[str, object], None]


def test_an_entry_counts_once_every_member_logged_it(record_property: Verifies) -> None:
    record_property("verifies", "teechain-REQ-ISSUE-02, teechain-REQ-ISSUE-04, teechain-REQ-SETUP-01")
    cluster = Cluster("a", "b", "c")
    log = cluster.first("a", "b", "c")
    assert log.append("grant", b"to holder 1") == 1
    assert log.append("grant", b"to holder 2") == 2
    assert log.append("ledger", b"one epoch") == 3
    assert (log.last("grant"), log.last("ledger"), log.last("lost")) == (b"to holder 2", b"one epoch", None)
    assert log.all("grant") == [b"to holder 1", b"to holder 2"]
    for name in "bc":
        assert sorted(cluster.replicas[name].seat(log.chain).log) == [1, 2, 3]


def test_a_backup_goes_on_with_all_that_counted(record_property: Verifies) -> None:
    record_property("verifies", "teechain-REQ-TAKE-06, teechain-REQ-SETUP-06")
    cluster = Cluster("a", "b", "c", "d")
    log = cluster.first("a", "b", "c")
    log.append("grant", b"1")
    cluster.kill("a")
    after = cluster.next(log.primary.plan, "b", "c", "d")
    assert after.all("grant") == [b"1"]
    assert after.append("grant", b"2") == 2
    cluster.kill("b")
    third = cluster.next(after.primary.plan, "c", "d", "a")
    assert third.all("grant") == [b"1", b"2"]
    assert third.append("grant", b"3") == 3


def test_the_first_primary_grants_nothing_after_a_take_over(record_property: Verifies) -> None:
    record_property("verifies", "teechain-REQ-TAKE-02")
    cluster = Cluster("a", "b", "c")
    log = cluster.first("a", "b", "c")
    log.append("grant", b"1")
    after = cluster.next(log.primary.plan, "b", "c")
    with pytest.raises(ChainError, match="froze the chain"):
        log.append("grant", b"again 2")
    assert after.append("grant", b"2") == 2
    assert log.all("grant") == [b"1"]


def test_one_next_chain_is_opened(record_property: Verifies) -> None:
    record_property("verifies", "teechain-REQ-TAKE-01, teechain-REQ-TAKE-07")
    cluster = Cluster("a", "b", "c")
    log = cluster.first("a", "b", "c")
    cluster.next(log.primary.plan, "b", "c")
    with pytest.raises(ChainError, match="no quorum"):
        cluster.next(log.primary.plan, "c", "a")


def test_less_than_a_quorum_takes_nothing_over(record_property: Verifies) -> None:
    record_property("verifies", "teechain-REQ-TAKE-07")
    cluster = Cluster("a", "b", "c", "d")
    log = cluster.first("a", "b", "c", "d")
    cluster.down |= {"a", "d"}
    with pytest.raises(ChainError, match="2 votes are no quorum of 4 members"):
        cluster.next(log.primary.plan, "b", "c")


def test_an_heir_alone_goes_on() -> None:
    cluster = Cluster("a", "b")
    log = cluster.first("a", "b", recovery_quorum=("b",))
    log.append("grant", b"1")
    cluster.down.add("a")
    assert cluster.next(log.primary.plan, "b").all("grant") == [b"1"]


def test_a_silent_member_stops_the_chain_and_loses_nothing() -> None:
    cluster = Cluster("a", "b", "c")
    log = cluster.first("a", "b", "c")
    cluster.down.add("c")
    with pytest.raises(SilentMemberError, match="c does not answer"):
        log.append("grant", b"1")
    assert log.all("grant") == []
    cluster.down.clear()
    assert log.append("grant", b"2") == 2
    assert log.all("grant") == [b"1", b"2"]


def test_what_was_under_way_is_spent(record_property: Verifies) -> None:
    record_property("verifies", "teechain-REQ-TAKE-06")
    cluster = Cluster("a", "b", "c")
    log = cluster.first("a", "b", "c")
    cluster.down.add("c")
    with pytest.raises(SilentMemberError):
        log.append("grant", b"1")
    cluster.down = {"a"}
    after = cluster.next(log.primary.plan, "b", "c")
    assert after.append("grant", b"2") == 2
    assert after.all("grant") == [b"1", b"2"]


def test_a_launch_with_no_memory_is_no_member(record_property: Verifies) -> None:
    record_property("verifies", "teechain-REQ-STORE-02, teechain-REQ-SETUP-02")
    cluster = Cluster("a", "b", "c")
    log = cluster.first("a", "b", "c")
    log.append("grant", b"1")
    cluster.kill("b")
    with pytest.raises(ChainError, match="b is no member"):
        log.append("grant", b"2")
    answer = cluster.carry("b", log.primary.call())
    with pytest.raises(ChainError, match="b is listed already"):
        log.primary.enlist(answer)


def test_a_replica_starts_again_from_its_newest_state(record_property: Verifies) -> None:
    record_property("verifies", "teechain-REQ-STORE-01, teechain-REQ-STORE-02")
    cluster = Cluster("a", "b", "c")
    log = cluster.first("a", "b", "c")
    log.append("grant", b"1")
    log.append("grant", b"2")
    cluster.kill("b")
    *older, newest = cluster.states["b", log.chain]
    for state in older:
        with pytest.raises(SealedStateError, match="the counter stands at"):
            cluster.replicas["b"].start_again(state)
    cluster.replicas["b"].start_again(newest)
    assert log.append("grant", b"3") == 3


def test_a_primary_starts_again_and_has_everything_acknowledged_anew() -> None:
    cluster = Cluster("a", "b", "c")
    log = cluster.first("a", "b", "c")
    log.append("grant", b"1")
    cluster.kill("a")
    cluster.replicas["a"].start_again(cluster.states["a", log.chain][-1])
    again = go_on(Primary.again(cluster.replicas["a"], log.chain), cluster.carry)
    assert again.all("grant") == [b"1"]
    assert again.append("grant", b"2") == 2
    with pytest.raises(ChainError, match="b is not the head"):
        Primary.again(cluster.replicas["b"], log.chain)


def test_a_primary_that_starts_again_lists_nobody_a_second_time(record_property: Verifies) -> None:
    record_property("verifies", "teechain-REQ-STORE-01, teechain-REQ-SETUP-02")
    cluster = Cluster("a", "b")
    primary = Primary(cluster.replicas["a"], ("b",), recovery_quorum=("b",))
    primary.found(primary.plan.name)
    update = primary.propose(b"entry")
    early = cluster.states["a", primary.plan.name][-1]
    log = gather(primary, cluster.carry)
    primary.issue(cluster.carry("b", update))
    cluster.kill("a")
    cluster.kill("b")
    with pytest.raises(SealedStateError, match="the counter stands at 2"):
        cluster.replicas["a"].start_again(early)
    cluster.replicas["a"].start_again(cluster.states["a", log.chain][-1])
    again = Primary.again(cluster.replicas["a"], log.chain)
    with pytest.raises(ChainError, match="b is listed already"):
        again.enlist(cluster.carry("b", again.call()))


def test_of_two_launches_from_one_state_one_goes_on() -> None:
    """The head that starts again voids the launch before it, and a second start from the same state is refused."""
    cluster = Cluster("a", "b")
    log = cluster.first("a", "b", recovery_quorum=("b",))
    log.append("grant", b"first")
    newest = cluster.states["a", log.chain][-1]
    again, twin = cluster.launch("a"), cluster.launch("a")
    again.start_again(newest)
    with pytest.raises(SealedStateError, match="it is state 2, and the counter stands at 4"):
        twin.start_again(newest)
    with pytest.raises(ChainError, match="another launch of a counts in"):
        log.append("grant", b"by the launch before")
    assert len(log) == 1


def test_a_backup_beside_its_own_launch_hands_nothing_over() -> None:
    """Otherwise the one would acknowledge an entry, and the other take over without it."""
    cluster = Cluster("a", "b")
    log = cluster.first("a", "b", recovery_quorum=("b",))
    log.append("grant", b"first")
    beside = cluster.launch("b")
    beside.start_again(cluster.states["b", log.chain][-1])
    with pytest.raises(ChainError, match="another launch of b counts in"):
        log.append("grant", b"second")
    cluster.down.add("a")
    cluster.replicas["b"] = beside
    assert cluster.next(log.primary.plan, "b").all("grant") == [b"first"]
    assert log.all("grant") == [b"first"]


def test_a_state_that_was_stored_and_not_counted_is_never_the_newest() -> None:
    """The launch after it counts one further, so that no later launch takes it for the state that is counted."""
    cluster = Cluster("a", "b")
    log = cluster.first("a", "b", recovery_quorum=("b",))
    log.append("grant", b"first")
    replica, chain = cluster.replicas["b"], log.chain
    replica.seat(chain).version += 1
    uncounted = replica.sealed(chain)
    cluster.kill("b")
    with pytest.raises(SealedStateError):
        cluster.replicas["b"].start_again(uncounted)
    cluster.replicas["b"].start_again(cluster.states["b", chain][-1])
    cluster.kill("b")
    with pytest.raises(SealedStateError):
        cluster.replicas["b"].start_again(uncounted)
