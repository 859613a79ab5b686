"""What has to be proved of a protocol, exactly as ``model_check/coq/Obligations.v`` says it, and nothing simplified.

Checkers of proofs read these obligations: the kernels, and solvers that are given them as text. The engine
``induction`` makes its own, simplified ones; tests compare the two.
"""

from __future__ import annotations

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
