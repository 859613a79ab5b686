"""Lemmas: what makes the claims inductive, for any number of parties, GPUs, sessions, keys, messages and rounds.

They are stated without any axiom about who is corrupt, so that one proof serves every threat model. The argument, in
the order of their sections: an attested session ends at a genuine GPU in confidential mode (sessions); its keys are the
orchestrator's or an enrolled holder's (keys); each phase says which key the link has (phases); of the orders to rotate
the GPU takes at most the newest (epochs); so a key is known to its owner and the orchestrator only (keys). Grants reach
that owner and nobody else (handover), counters have no gaps (counters), hence an acknowledgement under a secret key
means that the GPU did what it was ordered (acknowledgements), and memory is as the last check left it (memory). Returns
and counters agree with what was sent (handover), and honest data is learned by nobody else (knowledge).
Second lines show which single defences could be left out. The rest says that the honest do no less than they should, so
that a step that forgets something breaks a proof: orders are carried out one at a time (orders), the GPU keeps what its
session needs and a reset leaves nothing (on_the_gpu), holders and ghosts record what happened (records), and routes,
grants and reports go where they belong (bookkeeping).
"""

from __future__ import annotations

from carnet_spec.language import Draft
from carnet_spec.protocols.gpu_travelling.adversary import PLAIN, Hardware
from carnet_spec.protocols.gpu_travelling.lemmas.epochs import (
    acknowledgement_lemmas,
    counter_lemmas,
    epoch_lemmas,
    order_lemmas,
)
from carnet_spec.protocols.gpu_travelling.lemmas.handover import (
    agreement_lemmas,
    bookkeeping_lemmas,
    grant_lemmas,
    record_lemmas,
    second_lines,
)
from carnet_spec.protocols.gpu_travelling.lemmas.memory import gpu_lemmas, hardware_lemmas, memory_lemmas, model_lemmas
from carnet_spec.protocols.gpu_travelling.lemmas.sessions import (
    key_lemmas,
    knowledge_lemmas,
    phase_lemmas,
    secrecy_lemmas,
    session_lemmas,
)
from carnet_spec.protocols.gpu_travelling.schedules import Schedule


def state_lemmas(draft: Draft, schedule: Schedule, hardware: Hardware = PLAIN) -> None:
    """Add the lemmas to ``draft``."""
    session_lemmas(draft, schedule)
    key_lemmas(draft, schedule)
    phase_lemmas(draft)
    epoch_lemmas(draft, schedule)
    secrecy_lemmas(draft, schedule)
    grant_lemmas(draft, schedule)
    counter_lemmas(draft, schedule)
    acknowledgement_lemmas(draft, schedule)
    memory_lemmas(draft, schedule)
    agreement_lemmas(draft, schedule)
    model_lemmas(draft, schedule)
    knowledge_lemmas(draft, schedule)
    second_lines(draft, schedule)
    hardware_lemmas(draft, hardware)
    order_lemmas(draft, schedule)
    gpu_lemmas(draft, schedule)
    record_lemmas(draft, schedule)
    bookkeeping_lemmas(draft, schedule)
