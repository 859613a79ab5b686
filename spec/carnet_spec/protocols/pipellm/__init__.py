"""PipeLLM: blocks are encrypted before the application asks for them, under the IV that the GPU will expect then.

Modules, in reading order: the text (requirements.md, read by text), the words (vocabulary), what honest parties do
(application, runtime, gpu), what the adversary does, makes and works out (adversary), what holds (claims, lemmas,
goals), the whole (variants, readings, defences, design, instances), and what others need to know (findings).
"""

from __future__ import annotations

from carnet_spec.language.family import Family
from carnet_spec.protocols.pipellm.design import ID, TITLE, pipellm
from carnet_spec.protocols.pipellm.findings import FINDINGS
from carnet_spec.protocols.pipellm.instances import FRESH_SIZES, HUNTS, PROFILES, instance
from carnet_spec.protocols.pipellm.text import TEXT
from carnet_spec.protocols.pipellm.variants import MAIN, VARIANTS

FAMILY = Family(
    id=ID,
    title=TITLE,
    draft=pipellm,
    instance=instance,
    variants=VARIANTS,
    main=MAIN,
    profiles=PROFILES,
    hunts=HUNTS,
    findings=FINDINGS,
    default_threat="collusion",
    fresh_sizes=FRESH_SIZES,
    round_goal="hit-after-a-nop",
    text=TEXT,
)
