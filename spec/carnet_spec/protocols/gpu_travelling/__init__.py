"""GPU Travelling: one GPU goes to the data of several holders, with the model; who has the link key has the GPU.

In reading order: the text (requirements.md), the words (vocabulary), what the honest do (setup, rotation, handover;
schedules and engines say where keys come from), what the adversary reaches, does and deduces (adversary, deductions),
what holds (claims, lemmas), designs of their own (inner_key, timed, other_adversaries), the whole (design), and how
large it is where states are counted (instances).
"""

from carnet_spec.language.family import Family
from carnet_spec.protocols.gpu_travelling.design import (
    FINDINGS,
    ID,
    MAIN,
    SERVICES,
    TITLE,
    VARIANTS,
    VIEWS,
    gpu_travelling,
)
from carnet_spec.protocols.gpu_travelling.instances import FRESH_SIZES, HUNTS, PROFILES, instance, judged_under
from carnet_spec.protocols.gpu_travelling.vocabulary import TEXT

FAMILY = Family(
    id=ID,
    title=TITLE,
    draft=gpu_travelling,
    instance=instance,
    variants=VARIANTS,
    main=MAIN,
    profiles=PROFILES,
    hunts=HUNTS,
    findings=FINDINGS,
    services=SERVICES,
    views=VIEWS,
    default_threat="collusion",
    rounds="rounds",
    options={"holders": ("N", "Data holders."), "rounds": ("R", "Hand-overs and returns.")},
    fresh_sizes=FRESH_SIZES,
    judged_under=judged_under,
    round_goal="trained",
    text=TEXT,
)
