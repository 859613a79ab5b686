"""Conformance: whether a trace that roles recorded while they ran is a run of the spec.

Traces have no bound, so a step costs no more the longer a trace is. Guards and updates are compiled to closures over
tables that are changed in place (``tables``, ``formulas``, ``choices``, ``effects``); symbols that no guard reads are
left out. In ``machine``, a machine takes steps, looks at deductions again only where a row changed, and says why it
refuses a step; a follower chooses the arguments that a trace leaves out. A trace is read, bounded and checked against
the spec in ``recorded``; ``checks`` looks for the checks that its steps demand, and compares its instants.
The judge of all of it is the interpreter: tests compare the verdicts of the two.
"""

from __future__ import annotations

from carnet_check.conformance.machine import Divergence, Follower, Machine
from carnet_check.conformance.recorded import Conformance, UncheckedTraceError, conform, verdict
from carnet_check.conformance.tables import AmbiguousTraceError, Work

__all__ = [
    "AmbiguousTraceError",
    "Conformance",
    "Divergence",
    "Follower",
    "Machine",
    "UncheckedTraceError",
    "Work",
    "conform",
    "verdict",
]
