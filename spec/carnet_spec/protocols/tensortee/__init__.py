"""TensorTEE: CPU and NPU protect memory by the tensor, and the NPU computes before it verifies.

In reading order: the text (requirements.md), the words and the designs (vocabulary), the steps (protocol), what holds
(claims, lemmas), the whole (design), and how large it is where states are counted (instances).
"""

from __future__ import annotations

from carnet_spec.language.family import Family
from carnet_spec.protocols.tensortee.claims import TEXT
from carnet_spec.protocols.tensortee.design import FINDINGS, ID, TITLE, tensortee
from carnet_spec.protocols.tensortee.instances import FRESH_SIZES, HUNTS, PROFILES, instance
from carnet_spec.protocols.tensortee.vocabulary import MAIN, VARIANTS

FAMILY = Family(
    id=ID,
    title=TITLE,
    draft=tensortee,
    instance=instance,
    variants=VARIANTS,
    main=MAIN,
    profiles=PROFILES,
    hunts=HUNTS,
    findings=FINDINGS,
    default_threat="neighbour",
    fresh_sizes=FRESH_SIZES,
    round_goal="there-and-back",
    text=TEXT,
)
