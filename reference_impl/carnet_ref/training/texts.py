"""Texts to train on: every writer uses the same language, about matters of its own.

A writer's text is drawn from a seed made of its name, so a run repeats itself, and from the writer's own register of
persons and numbers spelt out, so that no two writers share a sentence.
"""

from __future__ import annotations

import random

_SUBJECTS = ("the patient", "the nurse", "the doctor", "the ward", "the family", "the surgeon", "the clinic")
_VERBS = ("reported", "noticed", "recorded", "described", "expected", "measured", "confirmed")
_OBJECTS = ("a mild fever", "a strong pulse", "steady breathing", "some pain", "good sleep", "a slow recovery")
_WHEN = ("in the morning", "at noon", "before the visit", "after the meal", "during the night", "on arrival")
_SYLLABLES = ("ba", "de", "ki", "lo", "mu", "na", "ra", "se", "ti", "vo", "za", "fe")


def text_of(writer: str, size: int) -> bytes:
    """Return ``size`` bytes of text that ``writer`` alone has."""
    source = random.Random(f"text of {writer}")  # text for training, no secret of cryptography
    people = ["".join(source.choices(_SYLLABLES, k=4)) for _ in range(40)]
    parts: list[str] = []
    length = 0
    while length < size:
        sentence = " ".join(source.choice(words) for words in (_SUBJECTS, people, _VERBS, _OBJECTS, _WHEN)) + ".\n"
        parts.append(sentence)
        length += len(sentence)
    return "".join(parts).encode("ascii")[:size]
