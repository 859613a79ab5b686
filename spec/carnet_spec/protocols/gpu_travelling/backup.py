"""A backup orchestrator, as a pattern: a second instance of the same manifest takes over when the first has stopped.

Here *the orchestrator* is the line of instances that the holders agreed on, of which one at a time is in charge. A
take-over is a fail-stop whose next session another instance opens. It needs the record: the model last kept with its
digest, the ledger, and which epochs were returned, secured or lost. Sessions, keys and counters are not handed over;
they die with the first instance, and GPU and holders are attested anew.

Two things have to be right. The record must be the newest one, although storage is the platform's and rolls back
(*whole-hand-over*); how instances agree on it, by a counter or by acknowledgements of holders, is left to replication.
And the first instance must have stopped: without that agreement (*one-instance*) both run, which is a fork.
"""

from __future__ import annotations

from carnet_spec.language import Draft, Kind, Step, relation
from carnet_spec.protocols.gpu_travelling.schedules import Schedule
from carnet_spec.protocols.gpu_travelling.setup import ask_for_session, start_again
from carnet_spec.protocols.gpu_travelling.vocabulary import (
    ORCHESTRATOR,
    Key,
    Phase,
    Session,
    Slot,
    Version,
    kept,
    phase,
)

deposited = relation("deposited", Version, kind=Kind.MESSAGE, says="a record that keeps the version is in storage")
_PATTERN = "deck, Outlook: backup orchestrator; Carnet (pattern only, without replication)"


def specify_backup(draft: Draft, schedule: Schedule) -> None:
    """Add the deposit of the record, and the take-over."""

    @draft.rule(
        by=ORCHESTRATOR,
        says="The orchestrator deposits its record, which keeps {n}.",
        message="orchestrator -> platform: the record with {n}, sealed for its instances",
        source=_PATTERN,
    )
    def deposit(step: Step, n: Version) -> None:
        """Every record is deposited as soon as there is one, and storage keeps old ones too."""
        step.require("in force", kept == n)
        step.insert(deposited(n))

    @draft.action(
        by=ORCHESTRATOR,
        says="The second instance takes over with the record that keeps {n}, and asks for a session, {s}.",
        message="orchestrator -> gpu: KEY_EXCHANGE ({s})",
        source=_PATTERN,
    )
    def take_over(step: Step, s: Session, k: Key, c: Slot, n: Version) -> None:
        """What the first instance had under way is lost with its session, as after any fail-stop."""
        step.require("there was a first", phase != Phase.SETUP)
        step.require("a record", deposited(n))
        step.require("the newest record", n == kept, defence="whole-hand-over")
        ask_for_session(step, s, k, c, schedule)
        start_again(step, k, n)
        step.set(kept, n)
