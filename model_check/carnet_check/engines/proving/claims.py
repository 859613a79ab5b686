"""What a proof says of one claim, however its obligations were answered."""

from __future__ import annotations

from dataclasses import dataclass

from carnet_check.engines.proving.answers import SolverOutcome


@dataclass(frozen=True, slots=True)
class ClaimProof:
    """What induction says of one claim.

    Attributes:
        outcome: ``proved``, or ``unknown``: a failed induction refutes no claim.
        lemmas: the invariants, other claims among them, that the proof rests on.
        assumptions: ids of the assumptions that it used.
        defences: ids of the defences whose guards or updates it used; where no core tells of updates, all it could use.
        axioms: names of the axioms that it used, those of the threat model included.
        missing: obligations that were not proved.
        reason: why there is no proof, where no obligation says so.
        layer: the threat model whose axioms could be used; without one, the proof is good under all.
        satisfiable: obligations of the claim itself that were refuted, whatever else is assumed to hold before.
    """

    claim: str
    outcome: SolverOutcome
    lemmas: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    defences: tuple[str, ...] = ()
    axioms: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    reason: str = ""
    layer: str = ""
    satisfiable: tuple[str, ...] = ()

    @property
    def proved(self) -> bool:
        """Whether the claim is proved."""
        return self.outcome is SolverOutcome.PROVED
