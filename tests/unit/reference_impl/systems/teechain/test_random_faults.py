"""Whatever is killed, rolled back or taken over: no number counts twice, and nothing that counted is lost."""

from __future__ import annotations

import random
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carnet_ref.systems.ablation import ChecksWithout
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.teechain.custody import CustodyLog, go_on
from carnet_ref.systems.teechain.primary import Primary
from carnet_ref.systems.teechain.tee import ChainError, TeechainError
from tests.unit.reference_impl.systems.teechain.cluster import Cluster

NAMES = ("a", "b", "c", "d")
Move = tuple[str, str, int]

KINDS = ("append", "append", "kill", "restart", "silence", "wake", "take over")
MOVES = st.lists(
    st.tuples(
        st.sampled_from(KINDS),
        st.sampled_from(NAMES),
        st.integers(0, 5),
    ),
    max_size=14,
)


class Run:
    """A run under random faults, and what was acknowledged in it by whichever primary."""

    def __init__(self, checks: Checks = EVERY) -> None:
        self.cluster = Cluster(*NAMES, checks=checks)
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
        others = tuple(each for each in NAMES if each != name and each not in self.cluster.down)
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
    """Make moves at random, in runs of twelve."""
    for _ in range(60):
        run = Run(checks)
        for _ in range(12):
            run.make((draw.choice(KINDS), draw.choice(NAMES), draw.randrange(6)))
            run.check()
