"""GPU Travelling: the GPU moves to the data, holding the model, and sharing the link key is sharing the GPU.

Modules, in reading order: the text (requirements.md, read by text), the words (vocabulary, history, counters, orders),
what honest parties do (setup, rotation, handover, returning, training; schedules, engines, ratchets), what the
adversary reaches, does and deduces (hardware, adversary, imposture, deductions, link_messages), what holds (claims,
agreements, scopes, goals, lemmas), designs of their own (confined and switched hardware: hardware, switch; hiding,
inner_key, backup, retirement, late, rolled_back, survivors, endorsed), the whole (variants, defences, design,
instances), and what others need to know (findings, firmware).
"""

from __future__ import annotations

from carnet_spec.language.family import Family
from carnet_spec.protocols.gpu_travelling.design import ID, TITLE, gpu_travelling
from carnet_spec.protocols.gpu_travelling.findings import FINDINGS
from carnet_spec.protocols.gpu_travelling.firmware import SERVICES
from carnet_spec.protocols.gpu_travelling.instances import (
    FRESH_SIZES,
    HUNTS,
    PROFILES,
    instance,
    judged_under,
)
from carnet_spec.protocols.gpu_travelling.text import TEXT
from carnet_spec.protocols.gpu_travelling.variants import MAIN, VARIANTS

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
    default_threat="collusion",
    rounds="rounds",
    options={"holders": ("N", "Data holders."), "rounds": ("R", "Hand-overs and returns.")},
    fresh_sizes=FRESH_SIZES,
    judged_under=judged_under,
    round_goal="trained",
    text=TEXT,
)
