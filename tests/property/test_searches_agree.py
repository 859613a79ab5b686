"""All that explores says the same of random protocols: the interpreter, both engines, threads, places, and walks.

``CARNET_RANDOM_SEARCHES=1000 pytest -s tests/property/test_searches_agree.py`` compares more of them, and
``CARNET_SEARCHES_RECORD=FILE`` keeps what was counted as a table.
"""

from __future__ import annotations

import csv
import functools
import itertools
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from carnet_check.engines.explicit import explore, sample
from carnet_check.engines.explicit.places import PlacesSearch
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.explicit.walking import PackedWalks
from carnet_check.engines.exploration import Caps, Exploration, Walks
from carnet_check.engines.exploring.searches import moves
from carnet_check.engines.native.compiling import compiler
from carnet_check.engines.native.search import NativeSearch
from carnet_check.engines.native.walking import NativeWalks
from carnet_check.verification.checks import enabling_goal
from carnet_spec.language import Goal, Invariant
from carnet_spec.language.terms import Exists, conjunction, negation
from carnet_spec.trace import Trace
from tests.fixtures.interpreted import actions_taken, interpreted
from tests.fixtures.local_places import Here
from tests.fixtures.thorough import share
from tests.property.random_protocols import Sample, alike_samples, samples
from tests.property.rich_protocols import rich_samples

COUNT = int(os.environ.get("CARNET_RANDOM_SEARCHES", share(60)))
SEED = int(os.environ.get("CARNET_RANDOM_SEED", "1"))
RECORD = os.environ.get("CARNET_SEARCHES_RECORD", "")
TOO_MANY = 5_000
MOST_PAIRS = 24
CHUNK = 10  #: How many are drawn from one seed: after ten, Hypothesis only repeats parts of what it drew before.
#: How many may be drawn: as many as it takes to have compared enough, since some seeds draw much that is shallow.
MOST = 5 * COUNT
WALKS = Walks(number=20, depth=12, seed=SEED)
Search = Callable[..., PackedSearch]


def in_two_places(*asked: Any, **more: Any) -> PlacesSearch:
    return PlacesSearch(*asked, **more, places=Here(2), hand_over_at=1)


at_once = functools.partial(NativeSearch, hand_over_at=1)
SEARCHES: Mapping[str, Search] = {
    "explicit": PackedSearch,
    "native": at_once,
    "native in two threads": functools.partial(at_once, threads=2),
    "explicit in two places": in_two_places,
}
WALKERS: Mapping[str, Callable[..., PackedWalks]] = {
    "explicit": PackedWalks,
    "native": functools.partial(NativeWalks, hand_over_at=0),
}
pytestmark = pytest.mark.skipif(compiler() is None, reason="there is no C compiler")

drawn = settings(
    max_examples=CHUNK,
    derandomize=False,  # the seed says which are drawn
    database=None,
    deadline=None,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


def richer(of: Sample) -> Sample:
    """Look for more: pairs of goals, of steps that can be taken, and of their opposites take longer ways."""
    wanted = [Exists(goal.params, goal.body) if goal.params else goal.body for goal in (*of.goals, *_steps(of))]
    pairs = itertools.combinations((*wanted, *map(negation, wanted)), 2)
    found = [Goal(f"pair {n}", (), conjunction(pair), "") for n, pair in enumerate(itertools.islice(pairs, MOST_PAIRS))]
    broken = [Invariant(f"no {goal.name}", (), negation(goal.body), "") for goal in found]
    return replace(of, goals=(*of.goals, *found), invariants=(*of.invariants, *broken))


def _steps(of: Sample) -> Iterator[Goal]:
    return map(enabling_goal, of.protocol.actions)


def explored(of: Sample, packed: Search = PackedSearch, reduction: bool = True) -> Exploration:
    return explore(
        of.protocol,
        of.instance,
        invariants=of.invariants,
        goals=of.goals,
        stop_at_first=False,
        caps=Caps(states=TOO_MANY),
        packed=packed,
        reduction=reduction,
    )


def lengths(of: Sample, traces: Mapping[str, Trace]) -> dict[str, int]:
    """Return how many steps lead to what was found, deductions apart."""
    return {name: moves(of.protocol, trace) for name, trace in traces.items()}


def found(of: Sample, exploration: Exploration) -> tuple[dict[str, int], dict[str, int]]:
    """Return the shortest ways to what is violated, and to what is reached."""
    return lengths(of, exploration.violations), lengths(of, exploration.goals)


def compared(of: Sample) -> Counter[str]:
    """Hold everything that explores against the interpreter's own search; return what was counted."""
    caps = Caps(states=TOO_MANY)
    truth = interpreted(
        of.protocol, of.instance, invariants=of.invariants, goals=of.goals, caps=caps, stop_at_first=False
    )
    if not truth.complete:
        return Counter({"too large": 1})
    counts = Counter({"protocols": 1, "states": truth.states})
    for shortest in found(of, truth):
        counts["found"] += len(shortest)
        counts["found after a step"] += sum(steps > 0 for steps in shortest.values())
        counts["found after two steps or more"] += sum(steps > 1 for steps in shortest.values())
    unreduced = {name: explored(of, packed=packed, reduction=False) for name, packed in SEARCHES.items()}
    for name, each in unreduced.items():
        assert (each.complete, each.states, each.depth) == (True, truth.states, truth.depth), name
        assert (each.transitions, each.fired) == (truth.transitions, truth.fired), name
        assert found(of, each) == found(of, truth), name
    reduced = {name: explored(of, packed=packed) for name, packed in SEARCHES.items()}
    for name, each in reduced.items():
        assert (each.states, each.represented) == (reduced["explicit"].states, reduced["explicit"].represented), name
        assert max(each.states, each.represented) <= truth.states, name
        assert actions_taken(each) == actions_taken(truth), name
        assert found(of, each) == found(of, truth), name
    counts["states up to reductions"] = reduced["explicit"].states
    for name, packed_walks in WALKERS.items():
        walked = sample(of.protocol, of.instance, WALKS, invariants=of.invariants, goals=of.goals, packed=packed_walks)
        for ways, shortest in zip(found(of, walked), found(of, truth), strict=True):
            assert all(shortest[what] <= steps for what, steps in ways.items()), name
            counts[f"found on {name} walks"] += len(ways)
    return counts


def _are_enough(counts: Counter[str]) -> bool:
    return counts["protocols"] >= COUNT / 2 and counts["found after two steps or more"] > COUNT


@pytest.mark.long
@pytest.mark.timeout(300 + 3 * MOST)
def test_everything_that_explores_says_the_same() -> None:
    counts: Counter[str] = Counter()

    @drawn
    @given(st.one_of(samples(), alike_samples(), rich_samples()))
    def count(of: Sample) -> None:
        counts.update(compared(richer(of)))

    for number in range(-(-MOST // CHUNK)):
        if number * CHUNK >= COUNT and _are_enough(counts):
            break
        seed(f"{SEED}/{number}")(count)()
    assert _are_enough(counts)
    if RECORD:
        with Path(RECORD).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("counted", "number"))
            writer.writerows((("seed", SEED), *counts.items()))
