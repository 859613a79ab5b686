"""Fastrack: a user shares a key with the GPU, chunks are verified in parallel, and decryption overlaps the transfer.

In reading order: the text (requirements.md), the words and the designs (vocabulary), the steps (protocol), what holds
(claims, lemmas), the whole (design), and how large it is where states are counted (instances).
"""

from __future__ import annotations

from carnet_spec.language.family import Family
from carnet_spec.protocols.fastrack.claims import TEXT
from carnet_spec.protocols.fastrack.design import FINDINGS, ID, TITLE, fastrack
from carnet_spec.protocols.fastrack.instances import FRESH_SIZES, HUNTS, PROFILES, instance
from carnet_spec.protocols.fastrack.vocabulary import MAIN, VARIANTS

FAMILY = Family(
    id=ID,
    title=TITLE,
    draft=fastrack,
    instance=instance,
    variants=VARIANTS,
    main=MAIN,
    profiles=PROFILES,
    hunts=HUNTS,
    findings=FINDINGS,
    default_threat="collusion",
    fresh_sizes=FRESH_SIZES,
    round_goal="answer-taken",
    text=TEXT,
)
