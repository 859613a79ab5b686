"""SGX-LKL: what the host sees of an enclave, or of a hand-over, does not depend on the data.

In reading order: the text (requirements.md), the words and the designs (vocabulary), the steps (protocol), what holds
(claims, lemmas), the whole (design), and how large it is where states are counted (instances).
"""

from __future__ import annotations

from carnet_spec.language.family import Family
from carnet_spec.protocols.sgx_lkl.claims import TEXT
from carnet_spec.protocols.sgx_lkl.design import FINDINGS, ID, TITLE, oblivious
from carnet_spec.protocols.sgx_lkl.instances import HUNTS, PROFILES, instance
from carnet_spec.protocols.sgx_lkl.vocabulary import MAIN, VARIANTS

FAMILY = Family(
    id=ID,
    title=TITLE,
    draft=oblivious,
    instance=instance,
    variants=VARIANTS,
    main=MAIN,
    profiles=PROFILES,
    hunts=HUNTS,
    findings=FINDINGS,
    default_threat="meddling",
    round_goal="whole-run",
    text=TEXT,
)
