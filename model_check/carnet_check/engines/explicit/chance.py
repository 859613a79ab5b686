"""What walks draw: numbers that follow from a seed and the number of a walk. Every engine draws the same.

Source: SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
"""

from __future__ import annotations

STRIDE = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB
_WORD = (1 << 64) - 1


class Chance:
    """What is drawn, one number after another; ``state`` is all that decides the next ones."""

    def __init__(self, state: int) -> None:
        self.state = state & _WORD

    def drawn(self) -> int:
        """Return the next 64 bits."""
        self.state = (self.state + STRIDE) & _WORD
        return mixed(self.state)

    def below(self, bound: int) -> int:
        """Return one of ``bound`` numbers, each as likely as any other to one part in ``2**32 / bound``."""
        return (self.drawn() >> 32) * bound >> 32


def chance_of(seed: int, walk: int) -> Chance:
    """Return what one walk draws, whatever other walks there are."""
    return Chance(mixed(seed) ^ mixed(mixed(walk) + STRIDE & _WORD))


def mixed(state: int) -> int:
    """Spread 64 bits."""
    spread = (state ^ state >> 30) * _FIRST & _WORD
    spread = (spread ^ spread >> 27) * _SECOND & _WORD
    return spread ^ spread >> 31
