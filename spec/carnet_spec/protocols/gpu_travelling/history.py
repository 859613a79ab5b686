"""What a claim needs to know beyond what parties keep: what was sent in which session, and which epoch came last."""

from __future__ import annotations

from carnet_spec.language import Kind, relation
from carnet_spec.protocols.gpu_travelling.vocabulary import Data, Key, Session, Slot

sent_in = relation("sent_in", Session, Data, kind=Kind.GHOST, says="the chunk was sealed under a key of the session")
lent_last = relation("lent_last", Session, Key, kind=Kind.GHOST, says="the epoch was granted last in the session")
sealed_again = relation(
    "sealed_again", Key, Slot, kind=Kind.TRUTH, says="the orchestrator protected two uploads with that IV"
)
reported_again = relation(
    "reported_again", Key, Slot, kind=Kind.TRUTH, says="the firmware protected two reports with that number"
)
