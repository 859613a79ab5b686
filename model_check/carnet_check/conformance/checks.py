"""Checks: which of them each step of a checked trace has to come with, by the spec, and whether they are there.

A guard that carries a defence is a check that whoever acts makes. So a step of a role that follows the protocol demands
an event for each such guard of its action: made by the same party, for this step, about this defence, and holding. A
guard that reads what only other roles write is a check of a message: its event names the sender, and the sender's log
has the digest of that message among what it sent before. A guard that draws a value is no check. What the trace's
design lacks, defences that were removed, is in none of its guards, and so is demanded by none. The layers over a
design, such as one with a clock, add demands to the same steps, whether or not the trace is followed in them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from carnet_spec.language import Action, Guard, GuardKind, Protocol, Symbol
from carnet_spec.language.terms import symbols_of
from carnet_spec.trace import TraceCheck, TraceEvent, TraceStep


@dataclass(frozen=True, slots=True)
class Demand:
    """A check that a step demands, and the roles whose message it is of, if it is of one."""

    guard: str
    defence: str
    senders: frozenset[str]


def demands(protocol: Protocol) -> dict[str, tuple[Demand, ...]]:
    """Return what each action of a role that follows the protocol demands."""
    writers = _writers(protocol)
    return {action.name: _demanded(action, writers) for action in protocol.actions if action.by.honest}


def undemanded(protocol: Protocol) -> tuple[tuple[Action, Guard], ...]:
    """Return the guards that look at what only other roles write, and that no check stands for: they have no defence.

    That the others did write it is checked, with every step. That whoever acts looked at it is not.
    """
    writers = _writers(protocol)
    return tuple(
        (action, guard)
        for action in protocol.actions
        for guard in action.guards
        if action.by.honest and guard.defence is None and guard.kind is GuardKind.REQUIRE
        if _senders(guard, action.by.name, writers)
    )


def _writers(protocol: Protocol) -> dict[Symbol, set[str]]:
    """Return the roles that follow the protocol and write each symbol."""
    found: dict[Symbol, set[str]] = {}
    for action in protocol.actions:
        if action.by.honest:
            for update in action.updates:
                found.setdefault(update.symbol, set()).add(action.by.name)
    return found


def _demanded(action: Action, writers: Mapping[Symbol, set[str]]) -> tuple[Demand, ...]:
    return tuple(
        Demand(guard.name, guard.defence, _senders(guard, action.by.name, writers))
        for guard in action.guards
        if guard.defence is not None and guard.kind is not GuardKind.FRESH
    )


def _senders(guard: Guard, reader: str, writers: Mapping[Symbol, set[str]]) -> frozenset[str]:
    """Return the roles that alone write some symbol that the guard reads."""
    others = [writers[symbol] for symbol in symbols_of(guard.formula) if symbol in writers]
    return frozenset(role for roles in others if reader not in roles for role in roles)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of checks: what each action demands, and which words events may use."""

    demands: Mapping[str, tuple[Demand, ...]]
    defences: frozenset[str]
    requirements: frozenset[str]
    roles: frozenset[str]
    """The roles that follow the protocol."""

    @staticmethod
    def of(protocols: Sequence[Protocol], family: Sequence[Protocol] = ()) -> Asked:
        """Return what a design and the layers over it ask.

        A role may check more than its design demands: what ``family`` has, any design of it.
        """
        every = (*protocols, *family)
        actions = [action for protocol in every for action in protocol.actions]
        return Asked(
            {name: found for protocol in protocols for name, found in demands(protocol).items()},
            frozenset(defence.id for protocol in every for defence in protocol.defences),
            frozenset(id for action in actions for id in action.enforces),
            frozenset(action.by.name for action in actions if action.by.honest),
        )


@dataclass(slots=True)
class CheckJudge:
    """Goes along a checked trace: every demanded check is there, and what it saw was sent; counts what it finds.

    ``parties`` are those that have logs in the trace, with the role that each has.
    """

    asked: Asked
    parties: Mapping[str, str]
    required: int = 0
    seen: int = 0
    _pending: dict[str, list[TraceCheck]] = field(default_factory=dict)
    _sent: dict[str, set[str]] = field(default_factory=dict)

    def take(self, event: TraceEvent) -> str:
        """Take an event that has its place in a log; return why the checks do not fit, or nothing."""
        assert event.place is not None
        if isinstance(event.step, TraceCheck):
            return self._check(event.step, event.place.party)
        return self._step(event.step, event.place.party, event.sent)

    def _check(self, made: TraceCheck, party: str) -> str:
        self.seen += 1
        if made.by != self.parties[party]:
            return f"'{party}' is the {self.parties[party]}, and makes no check of the {made.by}"
        waiting = self._pending.setdefault(party, [])
        if waiting and waiting[-1].action != made.action:
            return f"the checks for {waiting[-1].action} come before its step, and this one is for {made.action}"
        if made.action:
            waiting.append(made)
        return self._unfit(made)

    def _unfit(self, made: TraceCheck) -> str:
        """Say why no such check can be made, or be relied on."""
        if made.defence not in self.asked.defences:
            return f"'{made.defence}' is no defence of the protocol"
        if made.requirement not in self.asked.requirements:
            return f"no step of the protocol enforces '{made.requirement}'"
        if made.action and not made.holds:
            return f"{made.action} was taken although the check '{made.defence}' fails"
        if made.holds and made.sender and made.saw not in self._sent.get(made.sender, ()):
            return f"'{made.sender}' sent nothing before with the digest {made.saw}"
        return ""

    def _step(self, step: TraceStep, party: str, sent: Collection[str]) -> str:
        made = self._pending.pop(party, [])
        role = self.parties[party]
        if step.by != role and step.by in self.asked.roles:
            return f"'{party}' is the {role}, and takes no step of the {step.by}"
        self._sent.setdefault(party, set()).update(sent)
        if made and made[-1].action != step.action:
            return f"checks were made for {made[-1].action}, and '{party}' went on without it"
        missing = ""
        for demand in self.asked.demands.get(step.action, ()):
            self.required += 1
            missing = missing or self._missing(step, demand, made)
        return missing

    def _missing(self, step: TraceStep, demand: Demand, made: list[TraceCheck]) -> str:
        """Take the check that a demand is met by off those that were made; say what is missing if none is."""
        found = next((check for check in made if check.defence == demand.defence), None)
        if found is None:
            return f"{step.action}: the check '{demand.guard}' ({demand.defence}) was not made"
        made.remove(found)
        if demand.senders and self.parties.get(found.sender) not in demand.senders:
            roles = " or ".join(sorted(demand.senders))
            return f"{step.action}: the check '{demand.guard}' saw no message of the {roles}"
        return ""

    def left(self) -> str:
        """Say which checks were made at the end for a step that is not there, or nothing."""
        waiting = (made[-1].action for made in self._pending.values() if made)
        return next((f"checks were made for {action}, which is not there" for action in waiting), "")
