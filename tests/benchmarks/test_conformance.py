"""How many events a second conformance checks, in processor time, and that an event costs the same in long traces.

Both are slow tests: a figure of seconds says as much of the machine as of the code.
"""

from __future__ import annotations

import time

import pytest

from carnet_check.conformance import Follower, Machine
from carnet_spec.language import Profile
from tests.fixtures.rounds import honest, sizes_of
from tests.fixtures.travelling import COLLUSION, FAMILY, SOURCE

LEAST = 5_000
"""Events a second."""
PART = 1_000
"""Events that are timed together."""
TRIES = 3


def rates(variant: str, rounds: int) -> list[float]:
    """Return the events a second of each part of a run among three holders."""
    protocol = SOURCE.protocol(variant)
    sizes = sizes_of(rounds, holders=3)
    instance = SOURCE.instance(protocol, COLLUSION, Profile("long", sizes))
    follower = Follower(Machine(protocol, instance))
    found = []
    steps = honest(rounds, holders=3, routed=False, variant=variant)
    for at in range(0, len(steps), PART):
        part = steps[at : at + PART]
        began = time.process_time()
        assert not [step for step in part if follower.take(step) is not None]
        if len(part) == PART:
            found.append(PART / (time.process_time() - began))
    return found


def middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


@pytest.mark.slow
@pytest.mark.parametrize("variant", FAMILY.main)
def test_conformance_checks_five_thousand_events_a_second(variant: str) -> None:
    assert max(middle(rates(variant, 150)) for _ in range(TRIES)) >= LEAST


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("variant", FAMILY.main)
def test_a_hundred_thousand_events_cost_the_same_each(variant: str) -> None:
    """The last tenth is no slower than two thirds of the first; other work on the machine slows either."""
    for _ in range(TRIES):
        found = rates(variant, 3_600)
        assert len(found) >= 100
        tenth = len(found) // 10
        if middle(found[-tenth:]) >= max(LEAST, middle(found[:tenth]) * 2 / 3):
            return
    pytest.fail("late events cost more than early ones")
