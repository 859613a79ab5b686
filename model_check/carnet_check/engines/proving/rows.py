"""From the proof of a claim to the row that tells of it, the same for every engine that proves."""

from __future__ import annotations

from carnet_check.engines.interface import Engine, Plan, Task
from carnet_check.engines.proving.claims import ClaimProof
from carnet_check.results import Result, Verdict
from carnet_spec.language import Threat


def row_of(
    engine: Engine, task: Task, plan: Plan, proof: ClaimProof, threat: Threat, seconds: float, detail: str
) -> Result:
    """Return what ``engine`` says of a claim: PROVED or UNKNOWN, and everything that a proof rests on."""
    return Result(
        protocol=task.source.family.id,
        variant=plan.protocol.variant,
        claim=proof.claim,
        threat=threat.id,
        engine=engine.name,
        verdict=Verdict.PROVED if proof.proved else Verdict.UNKNOWN,
        expected=engine.expected(task.profile),
        detail=detail,
        seconds=seconds,
        assumptions=plan.protocol.resting_on(proof.assumptions),
        defences=proof.defences,
        lemmas=proof.lemmas,
    )
