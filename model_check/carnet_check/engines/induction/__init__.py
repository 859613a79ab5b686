"""Proof by induction: weakest preconditions, SMT-LIB, Z3 in killable workers, unsat cores, counterexamples."""

from carnet_check.engines.induction.counterexample import explain_cti
from carnet_check.engines.induction.induction import Houdini, ProofResult, houdini, prove, try_claims
from carnet_check.engines.induction.obligations import Obligation, obligations
from carnet_check.engines.induction.solving import DEFAULT_RLIMIT, Workers
from carnet_check.engines.proving.composition import ClaimProof, SolverAnswer, SolverOutcome

__all__ = [
    "DEFAULT_RLIMIT",
    "ClaimProof",
    "Houdini",
    "Obligation",
    "ProofResult",
    "SolverAnswer",
    "SolverOutcome",
    "Workers",
    "explain_cti",
    "houdini",
    "obligations",
    "prove",
    "try_claims",
]
