"""TensorTEE: CPU and NPU protect memory by the tensor, and the NPU computes before it verifies.

Modules, in reading order: the text (requirements.md, read by text), the words (vocabulary), what the enclaves do
(setup, cpu, npu, exporting), what the adversary does, makes and works out (adversary), what holds (claims, lemmas,
goals), the whole (variants, readings, defences, design, instances), and what others need to know (findings).
"""

from __future__ import annotations

from carnet_spec.language.family import Family
from carnet_spec.protocols.tensortee.design import ID, TITLE, tensortee
from carnet_spec.protocols.tensortee.findings import FINDINGS
from carnet_spec.protocols.tensortee.instances import FRESH_SIZES, HUNTS, PROFILES, instance
from carnet_spec.protocols.tensortee.text import TEXT
from carnet_spec.protocols.tensortee.variants import MAIN, VARIANTS

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
