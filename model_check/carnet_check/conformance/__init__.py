"""Conformance: whether what roles recorded while they ran is a run of the spec.

Traces have no bound, so nothing here costs more the longer a trace is: guards and updates are compiled to closures over
tables that are changed in place (tables, formulas, choices, effects), what no guard reads is left out (reduction), a
machine takes steps (machine), a follower chooses what a trace leaves out (following), and a reader finds the machine
that a recorded trace asks for (recorded). What a trace may cost is counted (work), and what it leaves out is chosen
among elements that make a difference (cast). The judge of all of it is the interpreter: tests hold the two to the same
verdicts.
"""

from __future__ import annotations

from carnet_check.conformance.following import Divergence, Follower
from carnet_check.conformance.machine import Machine
from carnet_check.conformance.recorded import Conformance, conform, verdict
from carnet_check.conformance.work import AmbiguousTraceError, Work

__all__ = ["AmbiguousTraceError", "Conformance", "Divergence", "Follower", "Machine", "Work", "conform", "verdict"]
