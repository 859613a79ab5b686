"""Certificates that are spoilt so that they can still be read: other places, other terms, steps that are missing."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from carnet_check.certificates.file import Entry
from tests.fuzz.certified import spoilt_tokens

NUMBERS = ("0", "1", "2", "3", "4", "5")


def spoilt(entry: Entry, others: Sequence[Entry], draw: random.Random) -> Entry:
    """Return a certificate spoilt in one of three ways; ``others`` may stand in for it."""
    match draw.randrange(4):
        case 0:
            return spoilt_tokens(entry, draw)
        case 1 if others:
            return draw.choice(others)
    return _with_other_numbers(entry, draw)


def _with_other_numbers(entry: Entry, draw: random.Random) -> Entry:
    """Change a number or two, of facts, hypotheses, terms or directions."""
    tokens = entry.tokens.split(" ")
    for _ in range(draw.randint(1, 2)):
        place = draw.choice([n for n, token in enumerate(tokens) if token[-1].isdigit()])
        letter = tokens[place].rstrip("0123456789")
        tokens[place] = letter + draw.choice(NUMBERS)
    return replace(entry, tokens=" ".join(tokens))
