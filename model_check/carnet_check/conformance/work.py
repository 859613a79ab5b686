"""The work that a trace may cost: counted in steps, so that the answer is the same on every machine.

Every event of a trace brings an allowance of its own, and the trace one to begin with. Once they are spent, the answer
is "undecided".
"""

from __future__ import annotations

from typing import Final

from carnet_check.errors import CarnetError
from carnet_command.exit_codes import ExitCode

TO_BEGIN_WITH: Final = 9_000_000
"""Steps: building the largest instance that is allowed, and some ways to choose what a trace leaves out."""
PER_EVENT: Final = 2_400
"""Steps: what an event of a recorded run takes, several times over."""
MOST_WAYS: Final = 4_000
"""In how many ways one event may be completed; those beyond are not tried."""
MOST_KEPT: Final = 100_000
"""How many changes are remembered, to be taken back or to be made instead."""

CANDIDATE, CHOICE, ROW, RULE, CHANGE, MOVE = 3, 10, 10, 10, 20, 200
"""Steps for an element looked at, one chosen, a first row, a rule looked at again, a change made, an event judged.

A step is some tenths of a microsecond.
"""


class AmbiguousTraceError(CarnetError):
    """A trace leaves out so much, or asks for so much, that it was not decided whether it is a run of the spec."""

    kind = "unknown"
    exit_code = ExitCode.UNKNOWN


class Work:
    """The steps that may still be spent on one trace."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = TO_BEGIN_WITH

    def allow_event(self) -> None:
        """Add what one more event of the trace allows."""
        self.left += PER_EVENT

    def spend(self, steps: int) -> None:
        """Count steps of work.

        Raises:
            AmbiguousTraceError: there were not so many left.
        """
        self.left -= steps
        if self.left < 0:
            raise AmbiguousTraceError(
                f"undecided after {TO_BEGIN_WITH:,} steps of work and {PER_EVENT:,} for each event: "
                "the trace leaves out too many arguments, or its sizes are too large"
            )
