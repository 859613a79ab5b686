"""Fastrack: a user shares a key with the GPU, chunks are verified in parallel, and decryption overlaps the transfer.

Modules, in reading order: the text (requirements.md, read by text), the words (vocabulary), what honest parties do
(setup, sending, receiving), what the adversary does, makes and works out (adversary), what holds (claims, lemmas,
goals), the whole (variants, readings, defences, design, instances), and what others need to know (findings).
"""

from __future__ import annotations

from carnet_spec.language.family import Family
from carnet_spec.protocols.fastrack.design import ID, TITLE, fastrack
from carnet_spec.protocols.fastrack.findings import FINDINGS
from carnet_spec.protocols.fastrack.instances import FRESH_SIZES, HUNTS, PROFILES, instance
from carnet_spec.protocols.fastrack.text import TEXT
from carnet_spec.protocols.fastrack.variants import MAIN, VARIANTS

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
