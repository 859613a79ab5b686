"""The proof obligations of a protocol, exactly as ``model_check/coq/Obligations.v`` defines them, unsimplified.

The kernels read these obligations, and solvers receive them as text. The engine ``induction`` generates its own,
simplified obligations; tests compare the two.
"""

from carnet_check.obligations.liveness import LivenessAttempt, LivenessObligation, assumed_of, attempts
from carnet_check.obligations.reading import GOAL, Hypothesis, Layer, Obligation, layers, obligations

__all__ = [
    "GOAL",
    "Hypothesis",
    "Layer",
    "LivenessAttempt",
    "LivenessObligation",
    "Obligation",
    "assumed_of",
    "attempts",
    "layers",
    "obligations",
]
