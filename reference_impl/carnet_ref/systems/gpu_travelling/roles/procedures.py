"""What the orchestrator does in each state about each input: one table, which the documentation draws.

Theory of operation. A run goes down the rows: a session is opened and the GPU attested in it (`Setup`); the GPU is
fenced, loaded, checked and scrubbed (`Returning`), lent (`Lending`), and goes through `Returning` again when it is
back. A cell names the step that an input leads to, or says that the input is ignored, that it is ignored with a remark,
or that it is refused: a protocol error, which ends the session. A step may raise as well. The state before it stays as
it was, and `Setup.restart` starts again from there. Two things lead to `Setup.restart` in every state and have no
column: the GPU reports a fault, and the platform was gone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import Any, Final

from carnet_ref.systems.gpu_travelling.enforcement import Checks
from carnet_ref.systems.gpu_travelling.roles.custody import ALL_CHECKS, Lending
from carnet_ref.systems.gpu_travelling.roles.inputs import (
    Admitted,
    Declined,
    Input,
    LinkMessage,
    OwnTurn,
    ReportOutside,
    Returned,
    Semaphore,
    SessionMessage,
    TimePassed,
)
from carnet_ref.systems.gpu_travelling.roles.returning import Returning
from carnet_ref.systems.gpu_travelling.roles.setup import Setup
from carnet_ref.systems.gpu_travelling.roles.states import (
    AwaitsFence,
    AwaitsHolder,
    AwaitsReadBack,
    AwaitsReport,
    AwaitsReturn,
    AwaitsRotationIn,
    AwaitsRotationOut,
    AwaitsScrub,
    AwaitsSession,
    AwaitsTraining,
    Back,
    Finished,
    OrchestratorState,
    Stopped,
    Transition,
)
from carnet_ref.transport.frames import ProtocolError, Remark


class Unwanted(Enum):
    """What is done about an input that a state has no step for."""

    IGNORED = "ignored"
    REMARKED = "ignored, with a remark"
    REFUSED = "a protocol error"


Handler = Callable[[Any, Any, Any], Transition]
"""A step: a method of the procedures, which takes a state and an input. A weakened design may override it."""
Cell = Handler | Unwanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one state does about each kind of input."""

    session: Cell
    link: Cell
    report: Cell
    semaphore: Cell
    admitted: Cell
    returned: Cell
    declined: Cell
    tick: Cell
    turn: Cell


COLUMNS: Final[Mapping[type[Input], str]] = MappingProxyType(
    {
        SessionMessage: "session",
        LinkMessage: "link",
        ReportOutside: "report",
        Semaphore: "semaphore",
        Admitted: "admitted",
        Returned: "returned",
        Declined: "declined",
        TimePassed: "tick",
        OwnTurn: "turn",
    }
)
"""The column of each kind of input."""

Table = Mapping[type[OrchestratorState], Row]
IGNORED, SAID, REFUSED = Unwanted.IGNORED, Unwanted.REMARKED, Unwanted.REFUSED

# fmt: off
TABLE: Final[Table] = MappingProxyType({
    AwaitsSession: Row(
        session=Setup.handshake, link=IGNORED, report=IGNORED, semaphore=IGNORED,
        admitted=IGNORED, returned=SAID, declined=SAID, tick=Lending.wait_on, turn=IGNORED),
    AwaitsReport: Row(
        session=Setup.report_came, link=REFUSED, report=SAID, semaphore=IGNORED,
        admitted=IGNORED, returned=SAID, declined=SAID, tick=Lending.wait_on, turn=IGNORED),
    AwaitsFence: Row(
        session=REFUSED, link=Returning.fenced, report=IGNORED, semaphore=IGNORED,
        admitted=IGNORED, returned=SAID, declined=SAID, tick=Lending.wait_on, turn=IGNORED),
    AwaitsReadBack: Row(
        session=REFUSED, link=Returning.verified, report=IGNORED, semaphore=IGNORED,
        admitted=IGNORED, returned=SAID, declined=SAID, tick=Lending.wait_on, turn=IGNORED),
    AwaitsTraining: Row(
        session=REFUSED, link=Returning.trained, report=IGNORED, semaphore=IGNORED,
        admitted=IGNORED, returned=SAID, declined=SAID, tick=Lending.wait_on, turn=IGNORED),
    AwaitsScrub: Row(
        session=REFUSED, link=Returning.scrubbed, report=IGNORED, semaphore=IGNORED,
        admitted=IGNORED, returned=SAID, declined=SAID, tick=Lending.wait_on, turn=IGNORED),
    AwaitsHolder: Row(
        session=REFUSED, link=REFUSED, report=IGNORED, semaphore=IGNORED,
        admitted=Lending.holder_came, returned=SAID, declined=SAID, tick=Lending.wait_on, turn=IGNORED),
    AwaitsRotationOut: Row(
        session=REFUSED, link=Lending.rotated_out, report=IGNORED, semaphore=IGNORED,
        admitted=IGNORED, returned=SAID, declined=SAID, tick=Lending.wait_on, turn=IGNORED),
    AwaitsReturn: Row(
        session=REFUSED, link=REFUSED, report=IGNORED, semaphore=IGNORED,
        admitted=Lending.holder_restarted, returned=Lending.take_back, declined=Lending.lend_again,
        tick=Lending.watch_lease, turn=IGNORED),
    Back: Row(
        session=REFUSED, link=REFUSED, report=IGNORED, semaphore=IGNORED,
        admitted=IGNORED, returned=SAID, declined=SAID, tick=Lending.wait_on, turn=Returning.begin_home),
    AwaitsRotationIn: Row(
        session=REFUSED, link=Returning.rotated_in, report=IGNORED, semaphore=IGNORED,
        admitted=IGNORED, returned=SAID, declined=SAID, tick=Lending.wait_on, turn=IGNORED),
    Finished: Row(
        session=IGNORED, link=IGNORED, report=IGNORED, semaphore=IGNORED,
        admitted=IGNORED, returned=SAID, declined=SAID, tick=IGNORED, turn=IGNORED),
    Stopped: Row(
        session=IGNORED, link=IGNORED, report=IGNORED, semaphore=IGNORED,
        admitted=IGNORED, returned=SAID, declined=SAID, tick=IGNORED, turn=IGNORED),
})
# fmt: on
"""Every state, and what it does about every input."""


class Procedures(Setup):
    """The orchestrator's steps, and the table that leads to them."""

    def __init__(self, checks: Checks = ALL_CHECKS, table: Table = TABLE) -> None:
        super().__init__(checks)
        self.table = table

    def take(self, state: OrchestratorState, event: Input) -> Transition:
        """Take an input as the table says.

        Raises:
            ProtocolError: the state refuses it, or the step that it leads to does.
        """
        match self.cell(type(state), type(event)):
            case Unwanted.IGNORED:
                return state, []
            case Unwanted.REMARKED:
                return state, [Remark(event.left_aside)]
            case Unwanted.REFUSED:
                raise ProtocolError(f"{event.noun}, while the orchestrator {state}")
            case handler:
                taken: Transition = getattr(self, handler.__name__)(state, event)
                return taken

    def cell(self, state: type[OrchestratorState], event: type[Input]) -> Cell:
        """Return what the table says about a kind of input in a state."""
        found: Cell = getattr(self.table[state], COLUMNS[event])
        return found
