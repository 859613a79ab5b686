"""Conformance: whether a trace that roles recorded while they ran is a run of the spec.

Traces have no bound, so a step costs no more the longer a trace is: guards and updates are compiled to closures over
tables that are changed in place (tables, formulas, choices, effects), symbols that no guard reads are left out
(reduction), deductions are looked at again only where a row changed (rules), a machine takes steps (machine), and a
follower chooses the arguments that a trace leaves out (following), among elements that make a difference (candidates).
A step that cannot be taken is explained (refusals). A recorded trace is read (trace_file), its sizes are bounded
(extent), its work is counted (work), and it is checked against the spec (recorded). Of a checked trace the checks that
steps demand (demands) are looked for (checks), logs have to be whole (logs), and instants are compared again (clocks).
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
