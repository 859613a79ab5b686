"""Checks by which the implementation enforces the specification; each names its requirement and defence.

A check is one line that names both, and takes one of four forms: `Checks.require` for a condition that ends the session
or the channel, `Checks.expect` for the kind of a reply, `Checks.verify` for what has to be authentic, and
`Checks.passes` for a message that is left aside without ending anything. A step that is itself what a requirement asks
for carries the mark `enforces`. Ids and names stand there as literal strings: the documentation's table of places is
read from these lines, without running them.

A check says what it looked at, and is logged with the digest of that and with its result: a role collects what it
checks while it handles an event (`checking`), and hands it on with the step that it was checked for (`log_step`).
"""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import TypeVar

from carnet_ref.crypto.primitives import CryptoError
from carnet_ref.transport.frames import Note, ProtocolError, RecordChecks, RoleEffect
from carnet_spec.trace import TraceCheck, TraceStep

_Found = TypeVar("_Found")
_Result = TypeVar("_Result")
Plain = bytes | str | int | float | None


@dataclass(frozen=True, slots=True)
class ReceivedMessage:
    """A message that a check looked at, as it came, and the party that it is said to be from."""

    sender: str
    message: bytes


Seen = ReceivedMessage | Plain | tuple[Plain, ...]  #: What a check looks at: a message, or values that the role holds.


def digest_of(seen: Seen) -> str:
    """Return the SHA-256 of what was seen, in hexadecimal: of a message its bytes, of values one text that names all.

    The party that sends a message makes the same digest of its bytes.
    """
    match seen:
        case ReceivedMessage(message=message) | bytes(message):
            return hashlib.sha256(message).hexdigest()
        case _:
            return hashlib.sha256(repr(seen).encode()).hexdigest()


@dataclass(slots=True)
class CheckLog:
    """The checks that one role made since its last step."""

    by: str
    made: list[TraceCheck] = field(default_factory=list)

    def add(self, defence: str, requirement: str, seen: Seen, holds: bool) -> None:
        """Log a check."""
        sender = seen.sender if isinstance(seen, ReceivedMessage) else ""
        self.made.append(TraceCheck(self.by, defence, requirement, digest_of(seen), holds, sender))

    def take(self, action: str = "") -> tuple[TraceCheck, ...]:
        """Return the checks for the step ``action``, and clear the log; no step follows a failed check."""
        made, self.made = self.made, []
        failed = [each for each in made if not each.holds]
        return (*failed, *(replace(each, action=action) for each in made if each.holds))


_LOG: ContextVar[CheckLog | None] = ContextVar("checks of the role that handles an event", default=None)


@contextmanager
def checking(by: str) -> Iterator[CheckLog]:
    """Collect the checks that role ``by`` makes while it handles an event."""
    log = CheckLog(by)
    token = _LOG.set(log)
    try:
        yield log
    finally:
        _LOG.reset(token)


def log_step(step: TraceStep, *sent: bytes, **at: float) -> Note:
    """Return the record of a step: its checks, the digests of sent messages, and its instants."""
    log = _LOG.get()
    return Note(step, log.take(step.action) if log else (), tuple(map(digest_of, sent)), tuple(at.items()))


def unattributed_checks(log: CheckLog) -> list[RoleEffect]:
    """Return effects that record the checks that belong to no step."""
    made = log.take()
    return [RecordChecks(made)] if made else []


def _logged(defence: str, requirement: str, seen: Seen, holds: bool) -> None:
    log = _LOG.get()
    if log is not None:
        log.add(defence, requirement, seen, holds)


@dataclass(frozen=True, slots=True)
class Checks:
    """The checks of a role, which are passed to it as an argument."""

    def require(self, defence: str, requirement: str, holds: bool, *, saw: Seen = (), otherwise: str) -> None:
        """Raise ProtocolError unless ``holds``; ``otherwise`` says what was found instead.

        Raises ProtocolError if it does not hold.
        """
        if not self.passes(defence, requirement, holds, saw=saw):
            raise ProtocolError(f"{otherwise} ({requirement})")

    def expect(self, defence: str, requirement: str, found: object, kind: type[_Found], *, saw: Seen = ()) -> _Found:
        """Return ``found`` if it is of class ``kind``, as ``requirement`` demands.

        Raises ProtocolError if it is of another kind.
        """
        _logged(defence, requirement, saw, isinstance(found, kind))
        if not isinstance(found, kind):
            raise ProtocolError(f"expected {kind.__name__}, found {type(found).__name__} ({requirement})")
        return found

    def verify(
        self,
        defence: str,
        requirement: str,
        opened: Callable[[], _Result],
        *,
        saw: bytes,
        sender: Callable[[_Result], str] = lambda _: "",
    ) -> _Result:
        """Return the result of ``opened``, which verifies the authenticity that ``requirement`` demands.

        ``sender`` says who sent it, once it is open. Raises CryptoError if it does not verify.
        """
        try:
            result = opened()
        except CryptoError:
            _logged(defence, requirement, saw, False)
            raise
        _logged(defence, requirement, ReceivedMessage(sender(result), saw), True)
        return result

    def passes(self, defence: str, requirement: str, holds: bool, *, saw: Seen = ()) -> bool:
        """Return whether the condition of ``requirement`` holds, and log it; a failure ends nothing."""
        _logged(defence, requirement, saw, holds)
        return holds
