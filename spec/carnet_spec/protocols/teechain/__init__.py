"""Teechain for custody: an epoch is granted once, whichever replicas are killed, rolled back or taken over from.

In reading order: the text (requirements.md), the words and the designs (vocabulary), the steps (protocol), what holds
(claims, lemmas), the whole (design), and how large it is where states are counted (instances).
"""

from __future__ import annotations

from carnet_spec.language.family import Family
from carnet_spec.protocols.teechain.claims import TEXT
from carnet_spec.protocols.teechain.design import FINDINGS, ID, TITLE, teechain
from carnet_spec.protocols.teechain.instances import HUNTS, PROFILES, instance
from carnet_spec.protocols.teechain.vocabulary import MAIN, VARIANTS

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
