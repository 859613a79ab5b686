"""What replicas, heads and holders refuse: one clear error, nothing is released, and the chain goes on."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given, settings
from hypothesis import strategies as st

from carnet_ref.systems.checks import Checks
from carnet_ref.systems.devices import point
from carnet_ref.systems.teechain.chain import FIRST, Plan, Update, draw_key
from carnet_ref.systems.teechain.custody import CustodyLog, Holder, grant, sign_grant
from carnet_ref.systems.teechain.primary import Primary
from carnet_ref.systems.teechain.replica import Replica
from carnet_ref.systems.teechain.tee import ChainError, QuoteError, SealedStateError, Tee, TeechainError
from carnet_ref.wire import join, split
from tests.unit.reference_impl.systems.teechain.cluster import OTHER, POLICY, Cluster, platform

Verifies = Callable[[str, object], None]

FAKE = ec.generate_private_key(ec.SECP384R1())
NAMES = ("kind", "chain", "name", "key", "share", "quote")


def foreign(name: str, tee: Tee) -> Replica:
    """A replica on another platform."""
    return Replica(name, tee, POLICY, os.urandom)


def opened(*backups: str) -> Primary:
    primary = Primary(foreign("a", platform()), backups)
    primary.found(primary.plan.name)
    return primary


def two() -> tuple[Cluster, CustodyLog]:
    cluster = Cluster("a", "b")
    return cluster, cluster.first("a", "b")


@pytest.mark.parametrize(
    ("tee", "reason"),
    [(platform(root=FAKE), "certificate does not verify"), (platform(OTHER), "the measurement is")],
    ids=["a platform that no vendor made", "another program"],
)
def test_a_member_is_not_listed(tee: Tee, reason: str, record_property: Verifies) -> None:
    record_property("verifies", "teechain-REQ-SETUP-04, teechain-CLAIM-MEMBERS-GENUINE")
    primary = opened("b")
    answer = foreign("b", tee).join(primary.call())
    with pytest.raises(QuoteError, match=reason):
        primary.enlist(answer)
    assert set(primary.seat.roster) == {"a"}


def test_a_quote_that_came_with_another_key_is_not_taken(record_property: Verifies) -> None:
    record_property("verifies", "teechain-REQ-SETUP-03")
    primary, other = opened("b"), opened("b")
    relayed = split(foreign("b", platform()).join(other.call()), "answer", *NAMES)[-1]
    own = split(foreign("b", platform(root=FAKE)).join(primary.call()), "answer", *NAMES)[:-1]
    with pytest.raises(QuoteError, match="it is for another key"):
        primary.enlist(join(*own, relayed))


@pytest.mark.parametrize("tee", [platform(root=FAKE), platform(OTHER)])
def test_a_head_that_does_not_run_the_program_is_not_joined(tee: Tee, record_property: Verifies) -> None:
    record_property("verifies", "teechain-REQ-SETUP-05")
    primary = Primary(foreign("a", tee), ("b",))
    primary.found(primary.plan.name)
    member = foreign("b", platform())
    with pytest.raises(QuoteError):
        member.join(primary.call())
    with pytest.raises(ChainError, match="b is no member"):
        member.seat(primary.plan.name)


def test_a_chain_is_opened_by_the_launch_that_planned_it(record_property: Verifies) -> None:
    record_property("verifies", "teechain-REQ-SETUP-01")
    cluster = Cluster("a", "b")
    primary = Primary(cluster.replicas["a"], ("b",))
    second = Primary(cluster.replicas["a"], ("b",))
    with pytest.raises(ChainError, match="not the first chain that was agreed on"):
        second.found(primary.plan.name)
    primary.found(primary.plan.name)
    with pytest.raises(ChainError, match="a is a member"):
        primary.found(primary.plan.name)
    with pytest.raises(QuoteError, match="planned by another launch"):
        cluster.replicas["b"].join(_call_of_another(primary))


def _call_of_another(primary: Primary) -> bytes:
    """A call for a chain with a key that its plan does not name."""
    kind, plan, start, _ = split(primary.call(), "call", "kind", "plan", "start", "quote")
    said = join(kind, primary.plan.name, start, point(draw_key(os.urandom)), os.urandom(32))
    return join(kind, plan, start, primary.replica.tee.quote(said).encode())


def test_an_entry_that_was_not_passed_on_by_all_before_is_not_logged(record_property: Verifies) -> None:
    record_property("verifies", "teechain-REQ-ISSUE-02")
    cluster = Cluster("a", "b", "c")
    log = cluster.first("a", "b", "c")
    update = log.primary.propose(b"entry")
    with pytest.raises(ChainError, match="the word of b on entry 1"):
        cluster.carry("c", update)
    with pytest.raises(ChainError, match="the word of b on entry 1"):
        log.primary.issue(update)
    assert log.primary.acknowledged == frozenset()


def test_an_old_entry_is_not_logged_again(record_property: Verifies) -> None:
    record_property("verifies", "teechain-REQ-ISSUE-01, teechain-REQ-ISSUE-03, teechain-CLAIM-EPOCH-ONCE")
    cluster, log = two()
    first = log.primary.propose(b"first")
    second = log.primary.propose(b"second")
    cluster.carry("b", second)
    with pytest.raises(ChainError, match="entry 1 does not come after 2"):
        cluster.carry("b", first)
    with pytest.raises(ChainError, match="entry 2 does not come after 2"):
        log.primary.log(b"another second", 2)


def test_nothing_is_told_before_it_is_counted(record_property: Verifies) -> None:
    record_property("verifies", "teechain-REQ-STORE-01")
    cluster, log = two()
    at = log.primary.log(b"entry")
    with pytest.raises(ChainError, match="the counter was not incremented for entry 1"):
        log.primary.pass_on(at)
    cluster.replicas["a"].count(log.chain)
    cluster.replicas["b"].log(log.primary.pass_on(at))
    with pytest.raises(ChainError, match="the counter was not incremented"):
        cluster.replicas["b"].pass_on(log.primary.pass_on(at))


def test_an_entry_of_another_chain_is_refused() -> None:
    cluster, log = two()
    other = cluster.first("a", "b")
    update = Update.decode(other.primary.propose(b"entry"))
    with pytest.raises(ChainError, match="entry 1 does not open"):
        cluster.carry("b", Update(log.chain, update.at, update.sealed, update.words).encode())
    stranger = opened("c")
    with pytest.raises(ChainError, match="b is no member"):
        cluster.carry("b", stranger.propose(b"entry"))


def test_a_sealed_state_of_another_platform_is_refused(record_property: Verifies) -> None:
    record_property("verifies", "teechain-REQ-STORE-02")
    cluster, log = two()
    state = cluster.replicas["a"].sealed(log.chain)
    with pytest.raises(SealedStateError, match="AES-GCM"):
        foreign("a", platform()).start_again(state)
    with pytest.raises(SealedStateError, match="cut short"):
        cluster.replicas["a"].start_again(state[:5])


def test_a_log_is_handed_to_members_only(record_property: Verifies) -> None:
    record_property("verifies", "teechain-REQ-TAKE-03, teechain-REQ-TAKE-04")
    cluster, log = two()
    stranger = Primary(foreign("m", platform()), (), follows=log.primary.plan)
    with pytest.raises(ChainError, match="m is not on the list"):
        cluster.carry("b", stranger.poll_request())
    with pytest.raises(ChainError, match="m is no member"):
        stranger.poll(b"")
    assert log.append("grant", b"1") == 1


def test_a_vote_counts_for_one_next_chain(record_property: Verifies) -> None:
    record_property("verifies", "teechain-REQ-TAKE-01, teechain-REQ-TAKE-05, teechain-CLAIM-ONE-SUCCESSOR")
    cluster, log = two()
    one = Primary(cluster.replicas["a"], (), follows=log.primary.plan)
    other = Primary(cluster.replicas["b"], (), follows=log.primary.plan)
    vote = cluster.carry("b", one.poll_request())
    with pytest.raises(ChainError, match="the vote of b is for"):
        other.poll(vote)
    with pytest.raises(ChainError, match="b froze the chain for"):
        cluster.carry("b", other.poll_request())
    one.poll(cluster.carry("b", one.poll_request()))


def test_a_changed_vote_is_refused() -> None:
    cluster, log = two()
    log.append("grant", b"1")
    after = Primary(cluster.replicas["b"], (), follows=log.primary.plan)
    vote = cluster.carry("a", after.poll_request())
    for at in range(4, len(vote), 7):
        changed = vote[:at] + bytes([vote[at] ^ 1]) + vote[at + 1 :]
        with pytest.raises(ChainError):
            after.poll(changed)
    after.poll(vote)


def test_a_holder_takes_its_own_grant_of_the_program(record_property: Verifies) -> None:
    record_property("verifies", "teechain-REQ-HOLDER-01, teechain-REQ-HOLDER-02, teechain-CLAIM-ONE-HOLDER")
    _, log = two()
    with pytest.raises(ChainError, match="entry 1 does not count yet"):
        grant(log.primary, 1, "anna")
    granted = grant(log.primary, log.append("grant", b"anna"), "anna")
    with pytest.raises(ChainError, match="entry 1 is not for bert"):
        grant(log.primary, 1, "bert")
    assert Holder("anna", POLICY).take(granted) == 1
    with pytest.raises(ChainError, match="the grant is for anna"):
        Holder("bert", POLICY).take(granted)
    rogue = Primary(Replica("x", platform(root=FAKE), POLICY, os.urandom, Checks()), ())
    rogue.found(rogue.plan.name)
    with pytest.raises(QuoteError, match="certificate"):
        Holder("anna", POLICY).take(sign_grant(rogue, 1, "anna"))


def test_plans_that_name_nobody_or_somebody_twice_are_refused() -> None:
    for members, recovery_quorum in (((), ()), (("a", "a"), ()), (("a",), ("b",))):
        with pytest.raises(ChainError):
            Plan(bytes(32), FIRST, members, recovery_quorum)


@given(st.binary(max_size=200))
@settings(max_examples=200)
def test_whatever_is_no_message_is_refused(message: bytes) -> None:
    with pytest.raises(TeechainError):
        QUIET.carry("b", message)


@given(st.integers(0, 10_000), st.integers(0, 4))
@settings(max_examples=60, deadline=None)
def test_a_message_that_is_cut_short_is_refused_and_changes_nothing(cut: int, which: int) -> None:
    message = MESSAGES[which]
    before = QUIET.replicas["b"].seat(LOG.chain).encode()
    with pytest.raises(TeechainError):
        QUIET.carry("b", message[: cut % len(message)])
    assert QUIET.replicas["b"].seat(LOG.chain).encode() == before


QUIET, LOG = two()
_NEXT = Primary(QUIET.replicas["a"], (), follows=LOG.primary.plan)
MESSAGES = (
    opened("b").call(),
    LOG.primary.roster(),
    LOG.primary.propose(b"entry"),
    _NEXT.poll_request(),
    opened("b").roster(),
)
