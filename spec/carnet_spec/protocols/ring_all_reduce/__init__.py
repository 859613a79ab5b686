"""Ring all-reduce among GPU TEEs: every hop is encrypted and authenticated, and sums of gradients go round the ring.

Modules, in reading order: the text (requirements.md, read by text), the words (vocabulary), what ranks do (setup,
reducing), what the adversary does, makes and works out (adversary), what holds (claims, lemmas, goals), the whole
(variants, readings, defences, design, instances), and what others need to know (findings).
"""

from __future__ import annotations

from carnet_spec.language.family import Family
from carnet_spec.protocols.ring_all_reduce.design import ID, TITLE, ring_all_reduce
from carnet_spec.protocols.ring_all_reduce.findings import FINDINGS
from carnet_spec.protocols.ring_all_reduce.instances import FRESH_SIZES, HUNTS, PROFILES, instance
from carnet_spec.protocols.ring_all_reduce.text import TEXT
from carnet_spec.protocols.ring_all_reduce.variants import MAIN, VARIANTS

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
