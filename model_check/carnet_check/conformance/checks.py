"""Checks: whether those that the steps of a checked trace demand are there, made for them, and about what was sent.

An event is made by the same party, for this step, about the demanded defence, and holds. It names a requirement that
the spec knows a check of this defence to be about. If it is of a message, its event names the sender, and the sender's
log has the digest of that message among what it sent before. What the trace's design lacks, defences that were removed,
is in none of its guards, and so is demanded by none. The layers over a design, such as one with a clock, add demands to
the same steps, whether or not the trace is followed in them.

A message that a step was taken on is used up for its receiver, unless the design lacks a defence against replay. That
holds for acknowledgements as well, though no guard says so: in the spec an epoch is acknowledged, in a trace a message
is, and the session numbers them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from carnet_check.conformance.demands import Demand, against_replay, demands, requirements, takes_again
from carnet_spec.language import Protocol
from carnet_spec.trace import TraceCheck, TraceEvent, TraceStep


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of checks: what each action demands, what events may be about, and whether messages are used up."""

    demands: Mapping[str, tuple[Demand, ...]]
    requirements: Mapping[str, frozenset[str]]
    """Those that a check of each defence may be about."""
    roles: frozenset[str]
    """The roles that follow the protocol."""
    once: bool

    @staticmethod
    def of(protocols: Sequence[Protocol], family: Sequence[Protocol] = ()) -> Asked:
        """Return what a design and the layers over it ask.

        A role may check more than its design demands: what ``family`` has, any design of it. The defences against
        replay are those of the family's; what a design has for want of one may take a message again, too.
        """
        every = (*protocols, *family)
        found = [requirements(protocol) for protocol in every]
        return Asked(
            {name: each for protocol in protocols for name, each in demands(protocol).items()},
            {id: frozenset().union(*(each.get(id, ()) for each in found)) for each in found for id in each},
            frozenset(action.by.name for protocol in every for action in protocol.actions if action.by.honest),
            against_replay(every) <= against_replay(protocols) and not takes_again(protocols),
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
    _used: dict[str, set[tuple[str, str]]] = field(default_factory=dict)

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
        known = self.asked.requirements.get(made.defence)
        if known is None:
            return f"'{made.defence}' is no defence of the protocol"
        if made.requirement not in known:
            return f"no check of '{made.defence}' is about {made.requirement}; known: {', '.join(sorted(known))}"
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
        missing = self._again(step, party, made)
        for demand in self.asked.demands.get(step.action, ()):
            self.required += 1
            missing = missing or self._missing(step, demand, made)
        return missing

    def _again(self, step: TraceStep, party: str, made: Sequence[TraceCheck]) -> str:
        """Use up the messages that were looked at for a step; say which of them an earlier step was taken on."""
        used = self._used.setdefault(party, set())
        new = {(check.sender, check.saw) for check in made if check.sender}
        again = next(iter(sorted(new & used)), None) if self.asked.once else None
        used |= new
        told = f"{step.action}: '{party}' took an earlier step on the message of"
        return f"{told} '{again[0]}' with the digest {again[1]}" if again else ""

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
