"""Whether a checked trace records every check that its steps demand, and whether the messages it saw were sent.

A demand is met by a check event of the same party, for this step, about the demanded defence, that holds. The event
names a requirement that the spec connects with the defence. If the check is of a message, the event names the sender,
and the sender's log has the digest of that message before the event. A defence that was removed from the trace's design
is in none of its guards, so no step demands it. The layers over a design, such as one with a clock, add demands to the
same steps, even if the trace is not followed in them.

A receiver takes at most one step on a message, unless the design lacks a defence against replay. This also holds for
acknowledgements, although no guard says so: the spec acknowledges an epoch, a trace acknowledges a message, and the
session numbers its messages.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from carnet_check.conformance.machine import Follower, Machine
from carnet_spec.language import Action, Effect, Guard, GuardKind, InLine, Instance, Kind, Protocol, Sort, Symbol
from carnet_spec.language.terms import Apply, Not, Term, free_variables, subterms, symbols_of
from carnet_spec.trace import TraceCheck, TraceEvent, TraceStep


@dataclass(frozen=True, slots=True)
class CheckRules:
    """The rules for checks: the demands of each action, the requirements that events may name, and ``once``.

    If ``once`` holds, a party takes at most one step on a message.
    """

    demands: Mapping[str, tuple[Demand, ...]]
    requirements: Mapping[str, frozenset[str]]  #: By defence: the requirements that a check of it may name.
    roles: frozenset[str]  #: The roles that follow the protocol.
    once: bool

    @staticmethod
    def of(protocols: Sequence[Protocol], family: Sequence[Protocol] = ()) -> CheckRules:
        """Return the rules of a design and the layers over it.

        A role may make more checks than its design demands: those of any design in ``family``. A message may be used
        again if the design lacks one of the family's defences against replay, or has a step because it lacks one.
        """
        every = (*protocols, *family)
        found = [requirements(protocol) for protocol in every]
        return CheckRules(
            {name: each for protocol in protocols for name, each in demands(protocol).items()},
            {id: frozenset().union(*(each.get(id, ()) for each in found)) for each in found for id in each},
            frozenset(action.by.name for protocol in every for action in protocol.actions if action.by.honest),
            replay_defences(every) <= replay_defences(protocols) and not takes_again(protocols),
        )


@dataclass(slots=True)
class CheckJudge:
    """Judges the checks of a trace, event by event: every demanded check is made, and each message it saw was sent.

    ``parties`` maps each party with a log in the trace to its role. ``required`` counts demands, ``seen`` checks.
    """

    asked: CheckRules
    parties: Mapping[str, str]
    required: int = 0
    seen: int = 0
    _pending: dict[str, list[TraceCheck]] = field(default_factory=dict)
    _sent: dict[str, set[str]] = field(default_factory=dict)
    _used: dict[str, set[tuple[str, str]]] = field(default_factory=dict)

    def take(self, event: TraceEvent) -> str:
        """Check the next event, which has a place in a log; return what is wrong with its checks, or an empty text."""
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
        # A check that the protocol does not have, or that contradicts the trace
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
        # The messages that were checked for this step are used up; an earlier step may have used one of them already
        used = self._used.setdefault(party, set())
        new = {(check.sender, check.saw) for check in made if check.sender}
        again = next(iter(sorted(new & used)), None) if self.asked.once else None
        used |= new
        told = f"{step.action}: '{party}' took an earlier step on the message of"
        missing = f"{told} '{again[0]}' with the digest {again[1]}" if again else ""
        for demand in self.asked.demands.get(step.action, ()):
            self.required += 1
            missing = missing or self._missing(step, demand, made)
        return missing

    def _missing(self, step: TraceStep, demand: Demand, made: list[TraceCheck]) -> str:
        """Remove the check that meets a demand from ``made``; return what is missing if none does."""
        found = next((check for check in made if check.defence == demand.defence), None)
        if found is None:
            return f"{step.action}: the check '{demand.guard}' ({demand.defence}) was not made"
        made.remove(found)
        if demand.senders and self.parties.get(found.sender) not in demand.senders:
            roles = " or ".join(sorted(demand.senders))
            return f"{step.action}: the check '{demand.guard}' saw no message of the {roles}"
        return ""

    def left(self) -> str:
        """Return which checks at the end of the trace belong to a step that never came; empty if none do."""
        waiting = (made[-1].action for made in self._pending.values() if made)
        return next((f"checks were made for {action}, which is not there" for action in waiting), "")


# -- Demands: the checks that the spec requires for each step of a checked trace -------------------
#
# A guard that carries a defence is a check that the acting role makes. So a step of a role that follows the protocol
# demands an event for each such guard of its action. A guard that reads what only other roles write is a check of a
# message. A guard that draws a value is no check.
#
# A guard may refuse what its own action records, such as a number that was received before. Then the defence may be
# declared at the update that records it, and the event is about that defence. Such an action takes a message once.
#
# A step that an honest role has only if a defence is removed may take messages that are meant for another step, and the
# role may have taken that step already. So a design with such a step allows messages to be used twice, even if the
# guard of the step takes each message once.


@dataclass(frozen=True, slots=True)
class Demand:
    """A check that a step demands; ``senders`` are the roles that can have sent the message that it is about, if any.

    ``once`` says that the check keeps the action from taking a message twice.
    """

    guard: str
    defence: str
    senders: frozenset[str]
    once: bool = False


def demands(protocol: Protocol) -> dict[str, tuple[Demand, ...]]:
    """Return the demands of each action of an honest role."""
    writers = _writers(protocol)
    return {action.name: tuple(_demanded(action, writers)) for action in _honest(protocol)}


def guards_without_check(protocol: Protocol) -> tuple[tuple[Action, Guard], ...]:
    """Return the guards that read what only other roles write, and demand no check because they have no defence.

    Every step proves that the others did write it. Nothing proves that the acting role looked at it.
    """
    writers = _writers(protocol)
    return tuple(
        (action, guard)
        for action in _honest(protocol)
        for guard in action.guards
        if guard.defence is None and guard.kind is GuardKind.REQUIRE
        if _senders(guard, action.by.name, writers)
    )


def silent_defences(protocols: Iterable[Protocol]) -> dict[str, tuple[str, ...]]:
    """Return the defences about which no step demands a check, each with the actions whose updates carry it.

    A defence without such actions only takes steps away: a party has more steps without it.
    """
    designs = tuple(protocols)
    asked = {each.defence for design in designs for found in demands(design).values() for each in found}
    changed: dict[str, dict[str, None]] = {each.id: {} for design in designs for each in design.defences}
    for action in (action for design in designs for action in design.actions):
        for update in action.updates:
            if update.defence is not None:
                changed[update.defence][action.name] = None
    return {defence: tuple(names) for defence, names in changed.items() if defence not in asked}


def replay_defences(protocols: Iterable[Protocol]) -> frozenset[str]:
    """Return the defences that keep the honest roles of these protocols from taking a message twice."""
    found = (each for protocol in protocols for asked in demands(protocol).values() for each in asked)
    return frozenset(each.defence for each in found if each.once)


def takes_again(protocols: Iterable[Protocol]) -> bool:
    """Whether an honest role has a step, as a defence is missing, that takes once a message meant for another step."""
    shortcuts = (each for protocol in protocols for each in _honest(protocol) if each.shortcut_of is not None)
    return any(_receives(action) and _recorded(action, guard) for action in shortcuts for guard in action.guards)


def requirements(protocol: Protocol) -> dict[str, frozenset[str]]:
    """Return the requirements that a check of each defence may name, for a protocol with all its shortcuts.

    These are the requirements that an action enforces, if the action carries the defence, sends a message that a guard
    of the defence reads, or shares a message with a step that exists only without the defence.
    """
    found: dict[str, set[str]] = {defence.id: set() for defence in protocol.defences}
    honest = [(_read_by(other), _sent_by(other), other.enforces) for other in _honest(protocol)]
    for action in protocol.actions:
        for defence, part in _parts(action):
            found[defence].update(action.enforces)
            read = _messages(part)
            for _, sent, enforced in honest:
                if read & sent:
                    found[defence].update(enforced)
        if action.shortcut_of is not None:
            reads, writes = _read_by(action), _sent_by(action)
            for read, sent, enforced in honest:
                if reads & sent or writes & read:
                    found[action.shortcut_of].update(enforced)
    return {defence: frozenset(ids) for defence, ids in found.items()}


def _honest(protocol: Protocol) -> Iterator[Action]:
    return (action for action in protocol.actions if action.by.honest)


def _parts(action: Action) -> Iterator[tuple[str, frozenset[Symbol]]]:
    """Yield the defences that an action carries, each with the symbols that the action reads for it."""
    for guard in action.guards:
        yield from ((each, symbols_of(guard.formula)) for each in (guard.defence, guard.unless) if each)
    for update in action.updates:
        yield from ((each, frozenset()) for each in (update.defence, update.unless) if each)


def _messages(*read: frozenset[Symbol]) -> frozenset[Symbol]:
    return frozenset(symbol for symbols in read for symbol in symbols if symbol.kind is Kind.MESSAGE)


def _read_by(action: Action) -> frozenset[Symbol]:
    """Return the messages that an action reads."""
    return _messages(*(symbols_of(guard.formula) for guard in action.guards))


def _sent_by(action: Action) -> frozenset[Symbol]:
    """Return the messages that an action sends."""
    return _messages(frozenset(update.symbol for update in action.updates))


def _writers(protocol: Protocol) -> dict[Symbol, set[str]]:
    """Return the roles that follow the protocol and write each symbol."""
    found: dict[Symbol, set[str]] = {}
    for action in _honest(protocol):
        for update in action.updates:
            found.setdefault(update.symbol, set()).add(action.by.name)
    return found


def _receives(action: Action) -> bool:
    """Whether an action receives a message."""
    return bool(_read_by(action))


def _demanded(action: Action, writers: Mapping[Symbol, set[str]]) -> Iterator[Demand]:
    receives = _receives(action)
    for guard in action.guards:
        if guard.kind is GuardKind.FRESH:
            continue
        records = _recorded(action, guard)
        once = receives and bool(records)
        if guard.defence is not None:
            yield Demand(guard.name, guard.defence, _senders(guard, action.by.name, writers), once)
        elif once:
            yield from (Demand(guard.name, each, frozenset(), once) for each in records if each is not None)


def _recorded(action: Action, guard: Guard) -> Sequence[str | None]:
    """Return, for each update that records what a guard of the same action refuses, its defence or None."""
    refused = {
        part.body.symbol for part in subterms(guard.formula) if isinstance(part, Not) and isinstance(part.body, Apply)
    }
    own = (each for each in action.updates if each.effect is Effect.INSERT and each.symbol.kind is Kind.STATE)
    return [each.defence for each in own if each.symbol in refused]


def _senders(guard: Guard, reader: str, writers: Mapping[Symbol, set[str]]) -> frozenset[str]:
    """Return the roles that alone write some symbol that the guard reads."""
    others = [writers[symbol] for symbol in symbols_of(guard.formula) if symbol in writers]
    return frozenset(role for roles in others if reader not in roles for role in roles)


# --------------------------------------------------------------------------------------------------
# Clocks: whether a layer with a clock allows the instants that a checked trace gives.
#
# A layer may have sorts that its design lacks, such as instants. The part of the layer that is about such sorts alone
# is a small protocol: which steps read or set instants, and how these have to be ordered. A trace gives instants as
# numbers. So this part repeats the comparisons of instants, and does not rely on what a role recorded of its own.
#
# It uses the guards that carry a defence, and those that say how the clock runs. Guards that are about other sorts as
# well, such as how long each of several keys is leased, are left to the checks that a role records.


@dataclass(frozen=True, slots=True)
class Clock:
    """The part of one layer that is about instants alone, as a protocol."""

    protocol: Protocol

    @staticmethod
    def of(design: Protocol, layers: Iterable[Protocol]) -> tuple[Clock, ...]:
        """Return the clocks of the layers over a design: of each layer with an ordered sort that the design lacks."""
        found = (_instants(design, layer) for layer in layers)
        return tuple(Clock(_projected(layer, sorts)) for layer, sorts in zip(layers, found, strict=True) if sorts)

    def names(self, action: str) -> tuple[str, ...]:
        """Return the names of an action's parameters that are instants."""
        return tuple(var.name for each in self.protocol.actions if each.name == action for var in each.params)

    def following(self, instants: Collection[float]) -> Follower:
        """Return a follower for a trace with these instants."""
        line = tuple(dict.fromkeys(_element(each) for each in sorted(instants))) or (_element(0),)
        return Follower(Machine(self.protocol, _instance(self.protocol, line)))


def _instants(design: Protocol, layer: Protocol) -> frozenset[Sort]:
    """Return the sorts that a layer adds and orders."""
    added = {sort for sort in layer.sorts if sort not in design.sorts and not sort.is_enumeration}
    return frozenset(
        symbol.domain[0]
        for symbol in layer.symbols
        if not symbol.mutable and symbol.is_relation and len(symbol.domain) == 2 and set(symbol.domain) <= added
    )


def _projected(layer: Protocol, sorts: frozenset[Sort]) -> Protocol:
    """Return the part of a layer that is about these sorts alone."""
    symbols = tuple(each for each in layer.symbols if _about(each, sorts))
    actions = tuple(each for action in layer.actions if (each := _part(action, sorts, symbols)) is not None)
    initial = tuple(each for each in layer.initial if each.symbol in symbols)
    kept = tuple(sort for sort in layer.sorts if sort in sorts)
    return replace(layer, actions=actions, initial=initial, axioms=(), sorts=kept, symbols=symbols)


def _about(symbol: Symbol, sorts: frozenset[Sort]) -> bool:
    """Whether all sorts of a symbol, arguments and value, are among these."""
    return set(symbol.domain) <= sorts and (bool(symbol.domain) if symbol.is_relation else symbol.result in sorts)


def _part(action: Action, sorts: frozenset[Sort], symbols: Sequence[Symbol]) -> Action | None:
    """Return the part of an action that is about these sorts alone; None unless its role records when it takes it."""
    params = tuple(var for var in action.params if var.sort in sorts)
    if not params or not action.by.honest:
        return None

    def is_relevant(term: Term) -> bool:
        return free_variables(term) <= set(params) and symbols_of(term) <= set(symbols)

    updates = (each for each in action.updates if each.symbol in symbols and not each.each)
    return replace(
        action,
        params=params,
        guards=tuple(guard for guard in action.guards if _followed(guard) and is_relevant(guard.formula)),
        updates=tuple(
            each for each in updates if each.value is not None and is_relevant(each.value) and is_relevant(each.when)
        ),
        deduction=False,
    )


def _followed(guard: Guard) -> bool:
    return guard.defence is not None or guard.kind is GuardKind.GIVEN


def _element(instant: float) -> str:
    return repr(float(instant))


def _instance(protocol: Protocol, line: tuple[str, ...]) -> Instance:
    """Return the instance with exactly these instants, in order; functions begin with the first instant."""
    rigid = [symbol for symbol in protocol.symbols if not symbol.mutable]
    return Instance(
        {sort.name: line for sort in protocol.sorts},
        {symbol.name: InLine(line) for symbol in rigid if symbol.is_relation},
        {symbol.name: {(): line[0]} for symbol in rigid if not symbol.is_relation},
    )


@dataclass(slots=True)
class ClockJudge:
    """Judges the instants of a checked trace, event by event."""

    clocks: Sequence[Clock]
    instants: Collection[float]
    _followers: Mapping[int, Follower] = field(init=False)

    def __post_init__(self) -> None:
        """Start a follower for every clock."""
        self._followers = {number: clock.following(self.instants) for number, clock in enumerate(self.clocks)}

    def take(self, event: TraceEvent) -> str:
        """Judge the next event; return why its instants do not fit, or an empty text; without a clock all fit."""
        if not self.clocks:
            return ""
        step, due = event.step, dict.fromkeys(self._required_instants(event))
        if tuple(sorted(name for name, _ in event.at)) != tuple(sorted(due)):
            told = ", ".join(due) or "none"
            return f"expected the instants of the event to be {told}, found {', '.join(dict(event.at)) or 'none'}"
        if not isinstance(step, TraceStep):
            return ""
        return next((why for number in self._followers if (why := self._went_on(number, step, event.at))), "")

    def _required_instants(self, event: TraceEvent) -> Iterable[str]:
        """Yield the names of the instants that an event has to give."""
        if isinstance(event.step, TraceStep):
            for clock in self.clocks:
                yield from clock.names(event.step.action)

    def _went_on(self, number: int, step: TraceStep, at: Sequence[tuple[str, float]]) -> str:
        names = self.clocks[number].names(step.action)
        if not names:
            return ""
        args = tuple((name, _element(instant)) for name, instant in at if name in names)
        found = self._followers[number].take(TraceStep(step.action, step.by, args))
        return found.why if found is not None else ""
