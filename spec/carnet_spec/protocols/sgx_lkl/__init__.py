"""SGX-LKL: what the host sees of an enclave, or of a hand-over, does not depend on the data.

Modules, in reading order: the text (requirements.md, read by text), the words (vocabulary), what one run does
(handing_over, calling, ending), what the host does (host), what holds of two runs (claims, lemmas, goals), the whole
(variants, readings, defences, design, instances), and what others need to know (findings).
"""

from __future__ import annotations

from carnet_spec.language.family import Family
from carnet_spec.protocols.sgx_lkl.design import ID, TITLE, oblivious
from carnet_spec.protocols.sgx_lkl.findings import FINDINGS
from carnet_spec.protocols.sgx_lkl.instances import HUNTS, PROFILES, instance
from carnet_spec.protocols.sgx_lkl.text import TEXT
from carnet_spec.protocols.sgx_lkl.variants import MAIN, VARIANTS

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
