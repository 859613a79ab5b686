"""Conformance: whether a trace that roles recorded while they ran is a run of the spec.

Traces have no bound, so the cost of a step does not grow with the length of the trace. Guards and updates are compiled
to closures over tables that are changed in place (``tables``, ``formulas``, ``choices``, ``effects``); symbols that no
guard reads are left out. In ``machine``, the machine takes steps, evaluates deductions again only where a row changed,
and explains why it refuses a step; the follower chooses the arguments that a trace leaves out. ``recorded`` reads and
bounds a trace and checks it against the spec. ``checks`` requires the checks that the steps demand, and compares
instants. The oracle for this package is the interpreter: tests compare the verdicts of the two.
"""

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
