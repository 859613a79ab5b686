"""PipeLLM: blocks are encrypted before the application asks for them, under the IV that the GPU will expect then.

In reading order: the text (requirements.md), the words and the designs (vocabulary), the steps (protocol), what holds
(claims, lemmas), the whole (design), and how large it is where states are counted (instances).
"""

from __future__ import annotations

from carnet_spec.language.family import Family
from carnet_spec.protocols.pipellm.claims import TEXT
from carnet_spec.protocols.pipellm.design import FINDINGS, ID, TITLE, pipellm
from carnet_spec.protocols.pipellm.instances import FRESH_SIZES, HUNTS, PROFILES, instance
from carnet_spec.protocols.pipellm.vocabulary import MAIN, VARIANTS

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
