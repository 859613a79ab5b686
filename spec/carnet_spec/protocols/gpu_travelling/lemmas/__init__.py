"""The lemmas that make the claims inductive, for any number of parties, GPUs, sessions, keys, messages and rounds.

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

from carnet_spec.language import Draft
from carnet_spec.protocols.gpu_travelling.adversary import PLAIN, Hardware
from carnet_spec.protocols.gpu_travelling.lemmas import memory, sessions
from carnet_spec.protocols.gpu_travelling.schedules import Schedule


def state_lemmas(draft: Draft, schedule: Schedule, hardware: Hardware = PLAIN) -> None:
    """Add the lemmas to ``draft``."""
    sessions.session_lemmas(draft, schedule)
    sessions.key_lemmas(draft, schedule)
    sessions.phase_lemmas(draft)
    sessions.epoch_lemmas(draft, schedule)
    sessions.secrecy_lemmas(draft, schedule)
    memory.grant_lemmas(draft, schedule)
    sessions.counter_lemmas(draft, schedule)
    sessions.acknowledgement_lemmas(draft, schedule)
    memory.memory_lemmas(draft, schedule)
    memory.agreement_lemmas(draft, schedule)
    memory.model_lemmas(draft, schedule)
    sessions.knowledge_lemmas(draft, schedule)
    memory.second_lines(draft, schedule)
    memory.hardware_lemmas(draft, hardware)
    sessions.order_lemmas(draft, schedule)
    memory.gpu_lemmas(draft, schedule)
    memory.record_lemmas(draft, schedule)
    memory.bookkeeping_lemmas(draft, schedule)
