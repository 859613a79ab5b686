"""What walks draw: known answers, and every choice as likely as any other."""

from __future__ import annotations

from collections import Counter

import pytest

from carnet_check.engines.explicit.walking import RandomStream, chance_of

KNOWN = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431, 16408922859458223821]
"""What SplitMix64 draws from 1234567: the example that implementations of it are compared with."""


def test_it_is_splitmix64() -> None:
    chance = RandomStream(1234567)
    assert [chance.drawn() for _ in KNOWN] == KNOWN


def test_a_seed_and_a_walk_decide_everything() -> None:
    first, again = chance_of(5, 7), chance_of(5, 7)
    assert [first.below(1000) for _ in range(20)] == [again.below(1000) for _ in range(20)]


def test_walks_and_seeds_draw_differently() -> None:
    begins = {chance_of(seed, walk).state for seed in range(100) for walk in range(100)}
    assert len(begins) == 10_000


@pytest.mark.parametrize("bound", [1, 2, 3, 7, 10])
def test_every_choice_is_as_likely_as_any_other(bound: int) -> None:
    """Over the first draws of many walks and over many draws of one, by Pearson's statistic."""
    many = 20_000
    one = chance_of(1, 0)
    firsts, others = (
        [chance_of(0, walk).below(bound) for walk in range(many)],
        [one.below(bound) for _ in range(many)],
    )
    for drawn in (firsts, others):
        counts, expected = Counter(drawn), many / bound
        assert set(counts) == set(range(bound))
        assert sum((counts[each] - expected) ** 2 / expected for each in range(bound)) < 3 * bound + 15
