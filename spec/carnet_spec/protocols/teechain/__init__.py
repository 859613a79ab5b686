"""Teechain for custody: an epoch is granted once, whichever replicas are killed, rolled back or taken over from.

Modules, in reading order: the text (requirements.md, read by text), the words (vocabulary), what honest parties do
(setup, issuing, taking_over), what the adversary does, makes and works out (adversary), what holds (claims, lemmas,
goals), the whole (variants, readings, defences, design, instances), and what others need to know (findings).
"""

from __future__ import annotations

from carnet_spec.language.family import Family
from carnet_spec.protocols.teechain.design import ID, TITLE, teechain
from carnet_spec.protocols.teechain.findings import FINDINGS
from carnet_spec.protocols.teechain.instances import HUNTS, PROFILES, instance
from carnet_spec.protocols.teechain.text import TEXT
from carnet_spec.protocols.teechain.variants import MAIN, VARIANTS

FAMILY = Family(
    id=ID,
    title=TITLE,
    draft=teechain,
    instance=instance,
    variants=VARIANTS,
    main=MAIN,
    profiles=PROFILES,
    hunts=HUNTS,
    findings=FINDINGS,
    default_threat="platform",
    round_goal="custody-taken",
    text=TEXT,
)
