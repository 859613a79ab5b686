"""No spoilt certificate is accepted, unless it is a proof still, and none of what is not so."""

from __future__ import annotations

import functools
import random

import pytest

from tests.fuzz.certified import (
    Certified,
    accepted,
    certified,
    is_contradictory,
    is_satisfiable,
    spoilt_tokens,
    with_goal_upside_down,
    without_hypothesis,
)

PROTOCOL = "gpu-travelling"


@functools.cache
def listed() -> tuple[Certified, ...]:
    """Return the certified obligations of one timed variant, which are small and many."""
    return tuple(certified(PROTOCOL, ("engine-per-holder-timed",)))


@functools.cache
def every() -> tuple[Certified, ...]:
    """Return all certified obligations."""
    return tuple(certified(PROTOCOL))


def spoil(known: tuple[Certified, ...], count: int, seed: int) -> int:
    """Spoil certificates in three ways; return how many are accepted, which must be proofs still."""
    draw, still = random.Random(seed), 0
    for _ in range(count):
        chosen, other = draw.choice(known), draw.choice(known)
        match draw.randrange(4):
            case 0:
                text, entry = chosen.text, other.entry
            case 1:
                text, entry = without_hypothesis(chosen.text, draw), chosen.entry
            case _:
                text, entry = chosen.text, spoilt_tokens(chosen.entry, draw)
        if accepted(text, entry):
            assert text == chosen.text or is_contradictory(text), f"accepted, and not so:\n{text}\n{entry.tokens}"
            still += 1
    return still


def deny(known: tuple[Certified, ...], count: int, seed: int) -> int:
    """Make obligations satisfiable, and offer certificates of them, whole and spoilt; return how many there were."""
    draw, found = random.Random(seed), 0
    for _ in range(5 * count):
        chosen = draw.choice(known)
        text = with_goal_upside_down(chosen.text) if draw.randrange(2) else without_hypothesis(chosen.text, draw)
        if found < count and is_satisfiable(text):
            found += 1
            assert not accepted(text, chosen.entry)
            assert not any(accepted(text, spoilt_tokens(chosen.entry, draw)) for _ in range(5))
    return found


def test_certificates_are_accepted_as_they_are() -> None:
    assert len(listed()) > 100
    assert all(accepted(each.text, each.entry) for each in listed()[::10])


def test_spoilt_certificates_are_refused() -> None:
    assert spoil(listed(), 300, seed=1) < 60


def test_nothing_satisfiable_is_certified() -> None:
    assert deny(listed(), 20, seed=2) == 20


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_ten_thousand_spoilt_certificates_are_refused() -> None:
    assert spoil(every(), 10_000, seed=3) < 2_000


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_of_a_thousand_satisfiable_obligations_none_is_certified() -> None:
    assert deny(every(), 1_000, seed=4) == 1_000
