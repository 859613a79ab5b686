"""Ring all-reduce among GPU TEEs: every hop is encrypted and authenticated, and sums of gradients go round the ring.

In reading order: the text (requirements.md), the words and the designs (vocabulary), the steps (protocol), what holds
(claims, lemmas), the whole (design), and how large it is where states are counted (instances).
"""

from __future__ import annotations

from carnet_spec.language.family import Family
from carnet_spec.protocols.ring_all_reduce.claims import TEXT
from carnet_spec.protocols.ring_all_reduce.design import FINDINGS, ID, TITLE, ring_all_reduce
from carnet_spec.protocols.ring_all_reduce.instances import FRESH_SIZES, HUNTS, PROFILES, instance
from carnet_spec.protocols.ring_all_reduce.vocabulary import MAIN, VARIANTS

FAMILY = Family(
    id=ID,
    title=TITLE,
    draft=ring_all_reduce,
    instance=instance,
    variants=VARIANTS,
    main=MAIN,
    profiles=PROFILES,
    hunts=HUNTS,
    findings=FINDINGS,
    default_threat="tenants",
    fresh_sizes=FRESH_SIZES,
    round_goal="iteration-finished",
    text=TEXT,
)
