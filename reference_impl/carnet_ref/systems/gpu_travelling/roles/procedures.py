"""What the orchestrator does in each state about each input: one table, which the documentation draws.

Theory of operation. A run goes down the rows: a session is opened and the GPU attested in it (`Setup`); the GPU is
fenced, loaded, checked and scrubbed (`Returning`), lent (`Lending`), and goes through `Returning` again when it is
back. A cell names the step that takes an input and the states that it leads to, or says that the input is ignored, that
it is ignored with a remark, or that it is refused: a protocol error, which ends the session. A step may raise as well.
The state before it stays as it was, and `Setup.restart` starts again from there. Two things lead to `Setup.restart` in
every state and have no column: the GPU reports a fault, and the platform was gone.
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
    Reported,
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
    AwaitsModel,
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
"""A step: a method of the procedures, which takes a state and an input."""


@dataclass(frozen=True, slots=True)
class Taken:
    """An input that a step takes, and the states that it leads to, if it does not fail; none: it stays where it is."""

    by: Handler
    to: tuple[type[OrchestratorState], ...] = ()


Cell = Taken | Unwanted


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What one state does about each kind of input."""

    session: Cell
    reported: Cell
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
        Reported: "reported",
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
WAIT: Final = Taken(Lending.wait_on)

# fmt: off
TABLE: Final[Table] = MappingProxyType({
    AwaitsSession: Row(
        session=Taken(Setup.handshake, (AwaitsSession, AwaitsReport)), reported=IGNORED, link=IGNORED,
        report=IGNORED, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=WAIT, turn=IGNORED),
    AwaitsReport: Row(
        session=Taken(Setup.report_came, (AwaitsFence,)), reported=REFUSED, link=REFUSED,
        report=SAID, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=WAIT, turn=IGNORED),
    AwaitsFence: Row(
        session=REFUSED, reported=Taken(Returning.fenced, (AwaitsReadBack,)), link=REFUSED,
        report=IGNORED, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=WAIT, turn=IGNORED),
    AwaitsReadBack: Row(
        session=REFUSED, reported=Taken(Returning.verified, (AwaitsTraining, AwaitsScrub)), link=REFUSED,
        report=IGNORED, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=WAIT, turn=IGNORED),
    AwaitsTraining: Row(
        session=REFUSED, reported=Taken(Returning.trained, (AwaitsModel, AwaitsScrub)),
        link=Taken(Returning.logged, (AwaitsTraining,)),
        report=IGNORED, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=WAIT, turn=IGNORED),
    AwaitsModel: Row(
        session=REFUSED, reported=Taken(Returning.saved, (AwaitsScrub,)),
        link=Taken(Returning.model_came, (AwaitsModel,)),
        report=IGNORED, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=WAIT, turn=IGNORED),
    AwaitsScrub: Row(
        session=REFUSED, reported=Taken(Returning.scrubbed, (AwaitsHolder, AwaitsRotationOut, AwaitsSession, Finished)),
        link=REFUSED, report=IGNORED, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=WAIT, turn=IGNORED),
    AwaitsHolder: Row(
        session=REFUSED, reported=REFUSED, link=REFUSED,
        report=IGNORED, semaphore=IGNORED, admitted=Taken(Lending.holder_came, (AwaitsHolder, AwaitsRotationOut)),
        returned=SAID, declined=SAID, tick=WAIT, turn=IGNORED),
    AwaitsRotationOut: Row(
        session=REFUSED, reported=Taken(Lending.rotated_out, (AwaitsReturn,)), link=REFUSED,
        report=IGNORED, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=WAIT, turn=IGNORED),
    AwaitsReturn: Row(
        session=REFUSED, reported=REFUSED, link=REFUSED,
        report=IGNORED, semaphore=IGNORED, admitted=Taken(Lending.holder_restarted, (AwaitsReturn, Back, Finished)),
        returned=Taken(Lending.take_back, (AwaitsReturn, Back, Finished)),
        declined=Taken(Lending.lend_again, (AwaitsReturn, AwaitsSession, Finished)),
        tick=Taken(Lending.watch_lease, (AwaitsReturn, Back, Finished)),
        turn=IGNORED),
    Back: Row(
        session=REFUSED, reported=REFUSED, link=REFUSED,
        report=IGNORED, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=WAIT, turn=Taken(Returning.begin_home, (AwaitsRotationIn,))),
    AwaitsRotationIn: Row(
        session=REFUSED, reported=Taken(Returning.rotated_in, (AwaitsFence,)), link=REFUSED,
        report=IGNORED, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=WAIT, turn=IGNORED),
    Finished: Row(
        session=IGNORED, reported=IGNORED, link=IGNORED,
        report=IGNORED, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=IGNORED, turn=IGNORED),
    Stopped: Row(
        session=IGNORED, reported=IGNORED, link=IGNORED,
        report=IGNORED, semaphore=IGNORED, admitted=IGNORED,
        returned=SAID, declined=SAID, tick=IGNORED, turn=IGNORED),
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
        match cell(self.table, type(state), type(event)):
            case Taken(by):
                taken: Transition = getattr(self, by.__name__)(state, event)
                return taken
            case Unwanted.IGNORED:
                return state, []
            case Unwanted.REMARKED:
                return state, [Remark(event.left_aside)]
        raise ProtocolError(f"{event.noun}, while the orchestrator {state}")


def cell(table: Table, state: type[OrchestratorState], event: type[Input]) -> Cell:
    """Return what a table says about a kind of input in a state."""
    found: Cell = getattr(table[state], COLUMNS[event])
    return found
