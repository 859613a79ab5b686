"""The exit codes of the commands, each with its meaning. Decided in docs/adr/0004-verdicts-and-exit-codes.md."""

from collections.abc import Iterable
from enum import IntEnum
from typing import Final


class ExitCode(IntEnum):
    """The exit codes of every command."""

    EXPECTED = 0  #: Everything is as expected.
    #: A claim is violated, evidence is refused, a trace does not conform, or something required is missing.
    VIOLATED = 1
    USAGE = 2  #: The caller asked for something that does not exist, cannot be combined, or cannot be read or written.
    UNKNOWN = 3  #: Nothing was established: a budget ran out, or a run could not be finished.
    VACUOUS = 4  #: A claim holds for no reason: a premise never holds, or a goal is never reached.
    INTERNAL = 5  #: Carnet itself failed, or two engines disagree.
    INTERRUPTED = 130  #: A person or the system stopped the command: Ctrl-C, SIGTERM or SIGHUP.
    UNREAD = 141  #: The reader of standard output has gone; shells use this code for SIGPIPE.


#: The exit codes of results; the first of them that occurs decides.
PRECEDENCE: Final = (ExitCode.INTERNAL, ExitCode.VIOLATED, ExitCode.VACUOUS, ExitCode.UNKNOWN)


def deciding(codes: Iterable[ExitCode]) -> ExitCode:
    """Return the code of a run whose parts end with ``codes``: 5 before 1, 1 before 4, 4 before 3."""
    present = set(codes)
    return next((code for code in PRECEDENCE if code in present), ExitCode.EXPECTED)
