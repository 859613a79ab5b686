"""A search keeps one state of those that differ in names, and its traces are of steps that can be taken."""

from __future__ import annotations

import functools
import importlib.util
import math
from collections.abc import Callable
from dataclasses import replace
from unittest.mock import patch

import pytest

from carnet_check.engines.explicit import explore
from carnet_check.engines.explicit.search import PackedSearch
from carnet_check.engines.explicit.symmetry import Canonicalizer
from carnet_check.engines.exploration import Exploration
from carnet_check.engines.native.search import NativeSearch
from carnet_spec.language import Formula, Instance, Kind, Protocol, Step, relation
from tests.fixtures.unseen import sites, vote
from tests.unit.model_check.small import Party, claimed, drafted, known, reordered, see, seen

MISSING = importlib.util.find_spec("numba") is None
NEEDED = pytest.mark.skipif(MISSING, reason="the extra 'fast' is not installed")
SEARCHES = pytest.mark.parametrize(
    "packed",
    [
        pytest.param(PackedSearch, id="explicit"),
        pytest.param(functools.partial(NativeSearch, hand_over_at=1), id="native", marks=NEEDED),
    ],
)
PARTIES = Instance({"Party": ("a", "b", "c", "d")})
THREE = Instance({"Party": ("a", "b", "c")})
Packed = Callable[..., PackedSearch]


def explored(protocol: Protocol, instance: Instance, packed: Packed, *, symmetry: bool) -> Exploration:
    invariants = [claim.checked for claim in protocol.claims]
    return explore(
        protocol, instance, invariants=invariants, stop_at_first=False, packed=packed, symmetry=symmetry, threat="any"
    )


@SEARCHES
def test_a_vote_is_visited_up_to_the_names_of_sites(packed: Packed) -> None:
    every, found = (explored(vote(), sites(3), packed, symmetry=symmetry) for symmetry in (False, True))
    assert (every.states, every.represented) == (6083, 6083)
    assert (found.states, found.represented, found.depth) == (1182, 6083, every.depth)
    assert found.reduction["permutations"] == 6


told = relation("told", Party, Party, kind=Kind.MESSAGE, says="the first told the second")


def tell(step: Step, a: Party, b: Party) -> None:
    step.insert(told(a, b))


def one_way(a: Party, b: Party) -> Formula:
    return told(a, b) | ~told(b, a)


@SEARCHES
def test_whom_parties_told_is_looked_at_where_they_are_alike_otherwise(packed: Packed) -> None:
    every, found = (
        explored(claimed(drafted(tell), one_way=one_way), THREE, packed, symmetry=symmetry)
        for symmetry in (False, True)
    )
    assert (every.states, found.represented) == (1 << 9, 1 << 9)
    assert found.states == 104, "relations on three elements up to isomorphism"


def follow(step: Step, a: Party, b: Party) -> None:
    step.require("alone", seen(a) & ~seen(b))
    step.insert(known(b))


def meet(step: Step, a: Party) -> None:
    step.require("known", known(a))
    step.insert(seen(a))


def never(a: Party) -> Formula:
    return ~(known(a) & seen(a))


@SEARCHES
def test_a_way_is_gone_with_the_names_that_it_began_with(packed: Packed) -> None:
    """Whoever follows comes first in the state that stands for others, and is still the one that is met."""
    found = explored(claimed(drafted(see, follow, meet), never=never), PARTIES, packed, symmetry=True)
    first, second, third = (dict(step.args) for step in found.violations["never"].steps)
    assert second["a"] == first["a"]
    assert third["a"] == second["b"] != first["a"]


def all_seen(a: Party, b: Party) -> Formula:
    return seen(a) | ~seen(b) | (a != b)


def push(step: Step, a: Party) -> None:
    step.insert(seen(a))


@SEARCHES
def test_what_is_left_out_at_its_cost_is_not_counted(packed: Packed) -> None:
    protocol = reordered(claimed(drafted(see, costly=(push,)), never=all_seen), ("push", "see"))
    instance = replace(PARTIES, budget=2)
    every, found = (explored(protocol, instance, packed, symmetry=symmetry) for symmetry in (False, True))
    assert (every.states, found.states, found.represented) == (16, 5, 16)
    assert explored(protocol, instance, PackedSearch, symmetry=True).reduction["states_dominated"]


heard = relation("heard", Party, kind=Kind.MESSAGE)


def hear(step: Step, a: Party) -> None:
    step.insert(heard(a))


def each_alone(a: Party, b: Party) -> Formula:
    return all_seen(a, b) & (heard(a) | ~heard(b) | (a != b))


@SEARCHES
def test_a_state_may_stand_for_more_than_half_a_word_counts(packed: Packed) -> None:
    """Twenty parties that are seen and heard or not: one state stands for 20! / 5!⁴ of them."""
    twenty = replace(PARTIES, elements={**PARTIES.elements, "Party": tuple(f"p{number}" for number in range(20))})
    found = explored(claimed(drafted(push, hear), each_alone=each_alone), twenty, packed, symmetry=True)
    assert (found.states, found.represented) == (math.comb(23, 3), 4**20)
    assert math.factorial(20) // math.factorial(5) ** 4 > 1 << 32


@SEARCHES
def test_nothing_is_left_to_be_counted_when_a_search_ends(packed: Packed) -> None:
    """Whatever ends it: counting at the end what millions of states stand for would keep an interrupt waiting."""
    left: list[int] = []
    count = PackedSearch._count

    def counted(run: PackedSearch, canonical: Canonicalizer, end: int) -> None:
        left.append(end - run.counted)
        count(run, canonical, end)

    with patch.object(PackedSearch, "_count", counted):
        explored(claimed(drafted(see, push), never=all_seen), PARTIES, packed, symmetry=True)
    assert sum(left) > 1
    assert left[-1] == 0
