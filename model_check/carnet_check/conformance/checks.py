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

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from carnet_check.conformance.machine import Follower, Machine
from carnet_spec.language import Action, Effect, Guard, GuardKind, InLine, Instance, Kind, Protocol, Sort, Symbol
from carnet_spec.language.terms import Apply, Not, Term, free_variables, subterms, symbols_of
from carnet_spec.trace import TraceCheck, TraceEvent, TraceStep


@dataclass(frozen=True, slots=True)
class CheckRules:
    """What is asked of checks: what each action demands, what events may be about, and whether messages are used up."""

    demands: Mapping[str, tuple[Demand, ...]]
    requirements: Mapping[str, frozenset[str]]
    """Those that a check of each defence may be about."""
    roles: frozenset[str]
    """The roles that follow the protocol."""
    once: bool

    @staticmethod
    def of(protocols: Sequence[Protocol], family: Sequence[Protocol] = ()) -> CheckRules:
        """Return what a design and the layers over it ask.

        A role may check more than its design demands: what ``family`` has, any design of it. The defences against
        replay are those of the family's; what a design has for want of one may take a message again, too.
        """
        every = (*protocols, *family)
        found = [requirements(protocol) for protocol in every]
        return CheckRules(
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

    asked: CheckRules
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
        # A check that cannot be made, or cannot be relied on
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
        # The messages that were looked at for this step are used up; an earlier step may have been taken on one of them
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


# -- Demands: which checks each step of a checked trace has to come with, by the spec --------------
#
# A guard that carries a defence is a check that the acting role makes. So a step of a role that follows the protocol
# demands an event for each such guard of its action. A guard that reads what only other roles write is a check of a
# message. A guard that draws a value is no check.
#
# A guard may refuse what its own action records, such as a number that was heard. Then the defence may stand at the
# update that records it, and the event is about that one. An action with such a guard takes a message once.
#
# A step that an honest role has only without some defence may take a message once as well: one that was meant for
# another step, which the role may have taken it for already. A design with such a step takes messages twice, whatever
# its guards.


@dataclass(frozen=True, slots=True)
class Demand:
    """A check that a step demands, and the roles whose message it is of, if it is of one.

    ``once`` says that it keeps the action from taking a message twice.
    """

    guard: str
    defence: str
    senders: frozenset[str]
    once: bool = False


def demands(protocol: Protocol) -> dict[str, tuple[Demand, ...]]:
    """Return what each action of a role that follows the protocol demands."""
    writers = _writers(protocol)
    return {action.name: tuple(_demanded(action, writers)) for action in _honest(protocol)}


def undemanded(protocol: Protocol) -> tuple[tuple[Action, Guard], ...]:
    """Return the guards that look at what only other roles write, and that no check stands for: they have no defence.

    That the others did write it is checked, with every step. That the acting role looked at it is not.
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
    """Return the defences that no step demands an event about, each with the actions whose updates carry it.

    A defence without any is one that takes steps away: without it, somebody may do more.
    """
    designs = tuple(protocols)
    asked = {each.defence for design in designs for found in demands(design).values() for each in found}
    changed: dict[str, dict[str, None]] = {each.id: {} for design in designs for each in design.defences}
    for action in (action for design in designs for action in design.actions):
        for update in action.updates:
            if update.defence is not None:
                changed[update.defence][action.name] = None
    return {defence: tuple(names) for defence, names in changed.items() if defence not in asked}


def against_replay(protocols: Iterable[Protocol]) -> frozenset[str]:
    """Return the defences that keep a role that follows these protocols from taking a message twice."""
    found = (each for protocol in protocols for asked in demands(protocol).values() for each in asked)
    return frozenset(each.defence for each in found if each.once)


def takes_again(protocols: Iterable[Protocol]) -> bool:
    """Say whether a role has a step, for want of a defence, that takes once what was meant for another step."""
    shortcuts = (each for protocol in protocols for each in _honest(protocol) if each.shortcut_of is not None)
    return any(_receives(action) and _recorded(action, guard) for action in shortcuts for guard in action.guards)


def requirements(protocol: Protocol) -> dict[str, frozenset[str]]:
    """Return the requirements that a check of each defence may be about: of a whole protocol, shortcuts included.

    These are what an action enforces that carries the defence, that writes a message which a guard of the defence
    reads, or that reads or writes a message in common with a step that there is without the defence alone.
    """
    found: dict[str, set[str]] = {defence.id: set() for defence in protocol.defences}
    written = [(_sent_by(other), other.enforces) for other in _honest(protocol)]
    for action in protocol.actions:
        for defence, part in _parts(action):
            found[defence].update(action.enforces)
            read = _messages(part)
            for messages, enforced in written:
                if read & messages:
                    found[defence].update(enforced)
        if action.shortcut_of is not None:
            found[action.shortcut_of].update(_in_common(action, protocol))
    return {defence: frozenset(ids) for defence, ids in found.items()}


def _honest(protocol: Protocol) -> Iterator[Action]:
    return (action for action in protocol.actions if action.by.honest)


def _parts(action: Action) -> Iterator[tuple[str, frozenset[Symbol]]]:
    """Yield the defences that an action carries, each with the symbols that it looks at for it."""
    for guard in action.guards:
        yield from ((each, symbols_of(guard.formula)) for each in (guard.defence, guard.unless) if each)
    for update in action.updates:
        yield from ((each, frozenset()) for each in (update.defence, update.unless) if each)


def _in_common(shortcut: Action, protocol: Protocol) -> Iterator[str]:
    reads = _messages(*(symbols_of(guard.formula) for guard in shortcut.guards))
    writes = _sent_by(shortcut)
    for action in _honest(protocol):
        if reads & _sent_by(action) or writes & _messages(*(symbols_of(guard.formula) for guard in action.guards)):
            yield from action.enforces


def _messages(*read: frozenset[Symbol]) -> frozenset[Symbol]:
    return frozenset(symbol for symbols in read for symbol in symbols if symbol.kind is Kind.MESSAGE)


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
    """Say whether an action takes a message."""
    return bool(_messages(*(symbols_of(guard.formula) for guard in action.guards)))


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
    """Return the defences, or none, of the updates that record what a guard of the same action refuses."""
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
# Clocks: whether the instants that a checked trace gives are ones that a layer with a clock allows.
#
# A layer may have sorts that its design lacks, such as instants. What of the layer speaks of such sorts alone is a
# small protocol of its own: which steps read or set instants, and how those have to lie. A trace gives instants as
# numbers, which are ordered as numbers are. So comparisons are made again here, whatever a role says that came of its
# own.
#
# Of these guards, those that carry a defence are followed, and those that say how the clock runs. What is said of other
# sorts as well, such as how long each of several keys is leased, is left to the checks that a role records.


@dataclass(frozen=True, slots=True)
class Clock:
    """What one layer says of instants: a protocol about nothing else."""

    protocol: Protocol

    @staticmethod
    def of(design: Protocol, layers: Iterable[Protocol]) -> tuple[Clock, ...]:
        """Return the clocks of the layers over a design: of those that have a sort in line that it lacks."""
        found = (_instants(design, layer) for layer in layers)
        return tuple(Clock(_projected(layer, sorts)) for layer, sorts in zip(layers, found, strict=True) if sorts)

    def names(self, action: str) -> tuple[str, ...]:
        """Return what an action says of instants, by the names of its parameters."""
        return tuple(var.name for each in self.protocol.actions if each.name == action for var in each.params)

    def following(self, instants: Collection[float]) -> Follower:
        """Return what follows a trace that gives these instants."""
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
    """Return what of a layer is about these sorts alone."""
    symbols = tuple(each for each in layer.symbols if _about(each, sorts))
    actions = tuple(each for action in layer.actions if (each := _part(action, sorts, symbols)) is not None)
    initial = tuple(each for each in layer.initial if each.symbol in symbols)
    kept = tuple(sort for sort in layer.sorts if sort in sorts)
    return replace(layer, actions=actions, initial=initial, axioms=(), sorts=kept, symbols=symbols)


def _about(symbol: Symbol, sorts: frozenset[Sort]) -> bool:
    """Whether a symbol relates, or is, values of these sorts and no others."""
    return set(symbol.domain) <= sorts and (bool(symbol.domain) if symbol.is_relation else symbol.result in sorts)


def _part(action: Action, sorts: frozenset[Sort], symbols: Sequence[Symbol]) -> Action | None:
    """Return what of an action is about these sorts alone, if it is one of a role that says when it takes it."""
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
    """Return the instance in which these instants are all there are; what is said of none is the first of them."""
    rigid = [symbol for symbol in protocol.symbols if not symbol.mutable]
    return Instance(
        {sort.name: line for sort in protocol.sorts},
        {symbol.name: InLine(line) for symbol in rigid if symbol.is_relation},
        {symbol.name: {(): line[0]} for symbol in rigid if not symbol.is_relation},
    )


@dataclass(slots=True)
class ClockJudge:
    """Goes along a checked trace and has its instants followed."""

    clocks: Sequence[Clock]
    instants: Collection[float]
    _followers: Mapping[int, Follower] = field(init=False)

    def __post_init__(self) -> None:
        """Set every clock to its start."""
        self._followers = {number: clock.following(self.instants) for number, clock in enumerate(self.clocks)}

    def take(self, event: TraceEvent) -> str:
        """Take an event; return why its instants do not fit, or nothing; without a clock nothing is asked of them."""
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
