"""The custody log: what counts is in every log, after kills, rollbacks, take-overs and refusals."""

import os
import random
from collections import defaultdict
from contextlib import suppress

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given, settings
from hypothesis import strategies as st

from carnet_ref.systems.ablation import ChecksWithout
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.devices import point
from carnet_ref.systems.teechain.chain import FIRST, Plan, Update, draw_key
from carnet_ref.systems.teechain.custody import (
    CustodyLog,
    Holder,
    go_on,
    grant,
    let_members_join,
    open_first_chain,
    sign_grant,
    take_over,
)
from carnet_ref.systems.teechain.primary import Primary
from carnet_ref.systems.teechain.replica import Replica
from carnet_ref.systems.teechain.tee import (
    ChainError,
    Policy,
    QuoteError,
    SealedStateError,
    SilentMemberError,
    Tee,
    TeechainError,
    certify,
)
from carnet_ref.wire import join, split

ROOT = ec.generate_private_key(ec.SECP384R1())
CUSTODY = b"the custody program".ljust(48, b".")
OTHER = b"another program".ljust(48, b".")
POLICY = Policy(ROOT.public_key(), CUSTODY)


def platform(measurement: bytes = CUSTODY, root: ec.EllipticCurvePrivateKey = ROOT) -> Tee:
    """Make a platform, certified by the vendor unless another root signs."""
    identity = ec.generate_private_key(ec.SECP384R1())
    return Tee(identity, certify(root, identity), measurement, os.urandom)


class Cluster:
    """Replicas by name; each keeps its sealed states, all of them, as a platform would."""

    def __init__(self, *names: str, checks: Checks = EVERY) -> None:
        self.checks = checks
        self.platforms = {name: platform() for name in names}
        self.states: dict[tuple[str, bytes], list[bytes]] = defaultdict(list)
        self.replicas = {name: self.launch(name) for name in names}
        self.down: set[str] = set()

    def launch(self, name: str) -> Replica:
        """Launch a replica with an empty memory, in place of the one that ran there."""

        def store(chain: bytes, sealed: bytes) -> None:
            self.states[name, chain].append(sealed)

        return Replica(name, self.platforms[name], POLICY, os.urandom, self.checks, store)

    def carry(self, name: str, message: bytes) -> bytes:
        """Bring a message to a replica and its answer back, unless it is down."""
        if name in self.down:
            raise ConnectionResetError(name)
        return self.replicas[name].handle(message)

    def kill(self, name: str) -> None:
        """Kill a replica; what runs there afterwards has lost its memory."""
        self.replicas[name] = self.launch(name)

    def first(self, head: str, *backups: str, recovery_quorum: tuple[str, ...] = ()) -> CustodyLog:
        return open_first_chain(Primary(self.replicas[head], backups, recovery_quorum), self.carry)

    def next(self, before: Plan, head: str, *backups: str, recovery_quorum: tuple[str, ...] = ()) -> CustodyLog:
        return take_over(Primary(self.replicas[head], backups, recovery_quorum, before), before, self.carry)


@pytest.mark.verifies("teechain-LIVE-ENTRY-LOGGED", "teechain-LIVE-ENTRY-PASSED-ON", "teechain-LIVE-EPOCH-GRANTED")
@pytest.mark.verifies("teechain-REQ-ISSUE-02", "teechain-REQ-ISSUE-04", "teechain-REQ-SETUP-01")
def test_an_entry_counts_once_every_member_logged_it() -> None:
    cluster = Cluster("a", "b", "c")
    log = cluster.first("a", "b", "c")
    assert log.append("grant", b"to holder 1") == 1
    assert log.append("grant", b"to holder 2") == 2
    assert log.append("ledger", b"one epoch") == 3
    assert (log.last("grant"), log.last("ledger"), log.last("lost")) == (b"to holder 2", b"one epoch", None)
    assert log.all("grant") == [b"to holder 1", b"to holder 2"]
    for name in "bc":
        assert sorted(cluster.replicas[name].seat(log.chain).log) == [1, 2, 3]


@pytest.mark.verifies("teechain-LIVE-VOTE-POLLED", "teechain-LIVE-CHAIN-OPENED")
@pytest.mark.verifies("teechain-REQ-TAKE-06", "teechain-REQ-SETUP-06")
def test_a_backup_goes_on_with_all_that_counted() -> None:
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


@pytest.mark.verifies("teechain-REQ-TAKE-02")
def test_the_first_primary_grants_nothing_after_a_take_over() -> None:
    cluster = Cluster("a", "b", "c")
    log = cluster.first("a", "b", "c")
    log.append("grant", b"1")
    after = cluster.next(log.primary.plan, "b", "c")
    with pytest.raises(ChainError, match="froze the chain"):
        log.append("grant", b"again 2")
    assert after.append("grant", b"2") == 2
    assert log.all("grant") == [b"1"]


@pytest.mark.verifies("teechain-REQ-TAKE-01", "teechain-REQ-TAKE-07")
def test_one_next_chain_is_opened() -> None:
    cluster = Cluster("a", "b", "c")
    log = cluster.first("a", "b", "c")
    cluster.next(log.primary.plan, "b", "c")
    with pytest.raises(ChainError, match="no quorum"):
        cluster.next(log.primary.plan, "c", "a")


@pytest.mark.verifies("teechain-REQ-TAKE-07")
def test_less_than_a_quorum_takes_nothing_over() -> None:
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


@pytest.mark.verifies("teechain-REQ-TAKE-06")
def test_what_was_under_way_is_spent() -> None:
    cluster = Cluster("a", "b", "c")
    log = cluster.first("a", "b", "c")
    cluster.down.add("c")
    with pytest.raises(SilentMemberError):
        log.append("grant", b"1")
    cluster.down = {"a"}
    after = cluster.next(log.primary.plan, "b", "c")
    assert after.append("grant", b"2") == 2
    assert after.all("grant") == [b"1", b"2"]


@pytest.mark.verifies("teechain-REQ-STORE-02", "teechain-REQ-SETUP-02")
def test_a_launch_with_no_memory_is_no_member() -> None:
    cluster = Cluster("a", "b", "c")
    log = cluster.first("a", "b", "c")
    log.append("grant", b"1")
    cluster.kill("b")
    with pytest.raises(ChainError, match="b is no member"):
        log.append("grant", b"2")
    answer = cluster.carry("b", log.primary.call())
    with pytest.raises(ChainError, match="b is listed already"):
        log.primary.enlist(answer)


@pytest.mark.verifies("teechain-REQ-STORE-01", "teechain-REQ-STORE-02")
def test_a_replica_starts_again_from_its_newest_state() -> None:
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


@pytest.mark.verifies("teechain-REQ-STORE-01", "teechain-REQ-SETUP-02")
def test_a_primary_that_starts_again_lists_nobody_a_second_time() -> None:
    cluster = Cluster("a", "b")
    primary = Primary(cluster.replicas["a"], ("b",), recovery_quorum=("b",))
    primary.open_first(primary.plan.name)
    update = primary.propose(b"entry")
    early = cluster.states["a", primary.plan.name][-1]
    log = let_members_join(primary, cluster.carry)
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
    uncounted = replica.sealed_state(chain)
    cluster.kill("b")
    with pytest.raises(SealedStateError):
        cluster.replicas["b"].start_again(uncounted)
    cluster.replicas["b"].start_again(cluster.states["b", chain][-1])
    cluster.kill("b")
    with pytest.raises(SealedStateError):
        cluster.replicas["b"].start_again(uncounted)


FAKE = ec.generate_private_key(ec.SECP384R1())
NAMES = ("kind", "chain", "name", "key", "share", "quote")


def foreign(name: str, tee: Tee) -> Replica:
    """A replica on another platform."""
    return Replica(name, tee, POLICY, os.urandom)


def opened(*backups: str) -> Primary:
    primary = Primary(foreign("a", platform()), backups)
    primary.open_first(primary.plan.name)
    return primary


def two() -> tuple[Cluster, CustodyLog]:
    cluster = Cluster("a", "b")
    return cluster, cluster.first("a", "b")


@pytest.mark.verifies("teechain-REQ-SETUP-04", "teechain-CLAIM-MEMBERS-GENUINE")
@pytest.mark.parametrize(
    ("tee", "reason"),
    [(platform(root=FAKE), "certificate does not verify"), (platform(OTHER), "the measurement is")],
    ids=["a platform that no vendor made", "another program"],
)
def test_a_member_is_not_listed(tee: Tee, reason: str) -> None:
    primary = opened("b")
    answer = foreign("b", tee).join(primary.call())
    with pytest.raises(QuoteError, match=reason):
        primary.enlist(answer)
    assert set(primary.seat.roster) == {"a"}


@pytest.mark.verifies("teechain-REQ-SETUP-03")
def test_a_quote_that_came_with_another_key_is_not_taken() -> None:
    primary, other = opened("b"), opened("b")
    relayed = split(foreign("b", platform()).join(other.call()), "answer", *NAMES)[-1]
    own = split(foreign("b", platform(root=FAKE)).join(primary.call()), "answer", *NAMES)[:-1]
    with pytest.raises(QuoteError, match="it is for another key"):
        primary.enlist(join(*own, relayed))


@pytest.mark.verifies("teechain-REQ-SETUP-05")
@pytest.mark.parametrize("tee", [platform(root=FAKE), platform(OTHER)])
def test_a_head_that_does_not_run_the_program_is_not_joined(tee: Tee) -> None:
    primary = Primary(foreign("a", tee), ("b",))
    primary.open_first(primary.plan.name)
    member = foreign("b", platform())
    with pytest.raises(QuoteError):
        member.join(primary.call())
    with pytest.raises(ChainError, match="b is no member"):
        member.seat(primary.plan.name)


@pytest.mark.verifies("teechain-REQ-SETUP-01")
def test_a_chain_is_opened_by_the_launch_that_planned_it() -> None:
    cluster = Cluster("a", "b")
    primary = Primary(cluster.replicas["a"], ("b",))
    second = Primary(cluster.replicas["a"], ("b",))
    with pytest.raises(ChainError, match="not the first chain that was agreed on"):
        second.open_first(primary.plan.name)
    primary.open_first(primary.plan.name)
    with pytest.raises(ChainError, match="a is a member"):
        primary.open_first(primary.plan.name)
    with pytest.raises(QuoteError, match="planned by another launch"):
        cluster.replicas["b"].join(_call_of_another(primary))


def _call_of_another(primary: Primary) -> bytes:
    """A call for a chain with a key that its plan does not name."""
    kind, plan, start, _ = split(primary.call(), "call", "kind", "plan", "start", "quote")
    said = join(kind, primary.plan.name, start, point(draw_key(os.urandom)), os.urandom(32))
    return join(kind, plan, start, primary.replica.tee.quote(said).encode())


@pytest.mark.verifies("teechain-REQ-ISSUE-02")
def test_an_entry_that_was_not_passed_on_by_all_before_is_not_logged() -> None:
    cluster = Cluster("a", "b", "c")
    log = cluster.first("a", "b", "c")
    update = log.primary.propose(b"entry")
    with pytest.raises(ChainError, match="the word of b on entry 1"):
        cluster.carry("c", update)
    with pytest.raises(ChainError, match="the word of b on entry 1"):
        log.primary.issue(update)
    assert log.primary.acknowledged_entries == frozenset()


@pytest.mark.verifies("teechain-REQ-ISSUE-01", "teechain-REQ-ISSUE-03", "teechain-CLAIM-EPOCH-ONCE")
def test_an_old_entry_is_not_logged_again() -> None:
    cluster, log = two()
    first = log.primary.propose(b"first")
    second = log.primary.propose(b"second")
    cluster.carry("b", second)
    with pytest.raises(ChainError, match="entry 1 does not come after 2"):
        cluster.carry("b", first)
    with pytest.raises(ChainError, match="entry 2 does not come after 2"):
        log.primary.log(b"another second", 2)


@pytest.mark.verifies("teechain-REQ-STORE-01")
def test_nothing_is_told_before_it_is_counted() -> None:
    cluster, log = two()
    at = log.primary.log(b"entry")
    with pytest.raises(ChainError, match="the counter was not incremented for entry 1"):
        log.primary.pass_on(at)
    cluster.replicas["a"].count(log.chain)
    cluster.replicas["b"].log(log.primary.pass_on(at))
    with pytest.raises(ChainError, match="the counter was not incremented"):
        cluster.replicas["b"].pass_on(log.primary.pass_on(at))


def test_an_entry_of_another_chain_and_a_plan_that_names_somebody_twice_are_refused() -> None:
    cluster, log = two()
    other = cluster.first("a", "b")
    update = Update.decode(other.primary.propose(b"entry"))
    with pytest.raises(ChainError, match="entry 1 does not open"):
        cluster.carry("b", Update(log.chain, update.at, update.sealed, update.words).encode())
    stranger = opened("c")
    with pytest.raises(ChainError, match="b is no member"):
        cluster.carry("b", stranger.propose(b"entry"))
    for members, recovery_quorum in (((), ()), (("a", "a"), ()), (("a",), ("b",))):
        with pytest.raises(ChainError):
            Plan(bytes(32), FIRST, members, recovery_quorum)


@pytest.mark.verifies("teechain-REQ-STORE-02")
def test_a_sealed_state_of_another_platform_is_refused() -> None:
    cluster, log = two()
    state = cluster.replicas["a"].sealed_state(log.chain)
    with pytest.raises(SealedStateError, match="AES-GCM"):
        foreign("a", platform()).start_again(state)
    with pytest.raises(SealedStateError, match="cut short"):
        cluster.replicas["a"].start_again(state[:5])


@pytest.mark.verifies("teechain-REQ-TAKE-03", "teechain-REQ-TAKE-04")
def test_a_log_is_handed_to_members_only() -> None:
    cluster, log = two()
    stranger = Primary(foreign("m", platform()), (), follows=log.primary.plan)
    with pytest.raises(ChainError, match="m is not on the list"):
        cluster.carry("b", stranger.poll_request())
    with pytest.raises(ChainError, match="m is no member"):
        stranger.poll(b"")
    assert log.append("grant", b"1") == 1


@pytest.mark.verifies("teechain-REQ-TAKE-01", "teechain-REQ-TAKE-05", "teechain-CLAIM-ONE-SUCCESSOR")
def test_a_vote_counts_for_one_next_chain() -> None:
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


@pytest.mark.verifies("teechain-LIVE-GRANT-TAKEN")
@pytest.mark.verifies("teechain-REQ-HOLDER-01", "teechain-REQ-HOLDER-02", "teechain-CLAIM-ONE-HOLDER")
def test_a_holder_takes_its_own_grant_of_the_program() -> None:
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
    rogue.open_first(rogue.plan.name)
    with pytest.raises(QuoteError, match="certificate"):
        Holder("anna", POLICY).take(sign_grant(rogue, 1, "anna"))


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


REPLICAS = ("a", "b", "c", "d")
Move = tuple[str, str, int]

KINDS = ("append", "append", "kill", "restart", "silence", "wake", "take over")
MOVES = st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from(REPLICAS), st.integers(0, 5)), max_size=14)


class Run:
    """A run under random faults, and what was acknowledged in it by whichever primary."""

    def __init__(self, checks: Checks = EVERY) -> None:
        self.cluster = Cluster(*REPLICAS, checks=checks)
        self.logs: list[CustodyLog] = [self.cluster.first("a", "b", "c")]
        self.said: dict[int, str] = {}

    def make(self, move: Move) -> None:
        """Make a move; a party may refuse it."""
        what, name, pick = move
        with suppress(TeechainError):
            if what == "append":
                self.append(self.logs[pick % len(self.logs)])
            elif what == "kill":
                self.cluster.kill(name)
            elif what == "restart":
                self.restart(name, pick)
            elif what == "silence":
                self.cluster.down.add(name)
            elif what == "wake":
                self.cluster.down.discard(name)
            else:
                self.take_over(name, pick)

    def append(self, log: CustodyLog) -> None:
        """Let any primary that ever was append an entry, unless its launch is over."""
        if log.primary.replica is not self.cluster.replicas[log.primary.replica.name]:
            return
        entry = f"entry {len(self.said)} of {log.chain.hex()}"
        at = log.append("grant", entry.encode())
        assert at not in self.said
        self.said[at] = entry

    def restart(self, name: str, pick: int) -> None:
        """Start a replica again in one chain, from any state that the platform kept."""
        chain = self.logs[pick % len(self.logs)].chain
        states = self.cluster.states[name, chain]
        self.cluster.kill(name)
        if states:
            self.cluster.replicas[name].start_again(states[-1 - pick % len(states) // 2])
            with suppress(ChainError):
                self.logs.append(go_on(Primary.again(self.cluster.replicas[name], chain), self.cluster.carry))

    def take_over(self, name: str, pick: int) -> None:
        """Let any replica try to take any chain over, with whoever else there is."""
        before = self.logs[pick % len(self.logs)].primary.plan
        others = tuple(each for each in REPLICAS if each != name and each not in self.cluster.down)
        self.logs.append(self.cluster.next(before, name, *others[:2]))

    def check(self) -> None:
        """Check that the newest log has all that was acknowledged, wherever that was."""
        for log in self.logs:
            if log.primary.replica is self.cluster.replicas[log.primary.replica.name]:
                numbers = {**log.primary.seat.history, **log.primary.seat.log}
                start = log.primary.seat.start
                for at, entry in self.said.items():
                    if at <= start:
                        assert at in numbers
                        assert numbers[at].entry.endswith(entry.encode())


@given(MOVES)
@settings(max_examples=40, deadline=None)
def test_no_number_counts_twice_and_nothing_is_lost(moves: list[Move]) -> None:
    run = Run()
    for move in moves:
        run.make(move)
        run.check()


@pytest.mark.parametrize("without", ["freeze", "newest-log"])
def test_such_runs_notice_what_is_left_out(without: str) -> None:
    """The same moves, at random, break a design that lacks one of its checks."""
    draw = random.Random(1)
    with pytest.raises(AssertionError):
        run_at_random(draw, ChecksWithout(frozenset({without})))


def run_at_random(draw: random.Random, checks: Checks) -> None:
    for _ in range(60):
        run = Run(checks)
        for _ in range(12):
            run.make((draw.choice(KINDS), draw.choice(REPLICAS), draw.randrange(6)))
            run.check()
