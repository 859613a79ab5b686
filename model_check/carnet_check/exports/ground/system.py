"""The ground form of a protocol on one instance: its places, and every step, deduction and claim without variables.

This is what an export that knows no sorts starts from. What never changes is worked in. A caller may say which
places ever change; that is believed where a step is simplified, and everything that would contradict it is listed
among the ``strays``, so that another tool can check it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from carnet_check.exports.ground.conditions import (
    ChoiceOrder,
    Condition,
    Every,
    Fact,
    Known,
    Place,
    Some,
    Value,
    assuming,
    choice_order,
    conjuncts,
    every,
    facts_in,
    known_from,
    negate,
    some,
)
from carnet_check.semantics import Env, Interpreter, State
from carnet_spec.language import (
    Action,
    Effect,
    GuardKind,
    Instance,
    Protocol,
    Row,
    Sort,
    Symbol,
    Term,
    Update,
    terms,
)
from carnet_spec.language.analysis.freshness import distinguishable_fresh_sorts
from carnet_spec.language.analysis.polarity import signed_parts
from carnet_spec.language.expressions import used_symbol
from carnet_spec.language.protocol import terms_of_action


@dataclass(frozen=True, slots=True)
class Step:
    """An action applied to elements."""

    action: Action
    env: Env
    #: each condition that must hold, after the name of the guard that asks for it.
    guards: tuple[tuple[str, Condition], ...]
    #: what it writes, each after the names of the updates that write it.
    changes: tuple[tuple[tuple[str, ...], Change], ...]

    @property
    def when(self) -> Condition:
        """The condition under which the step is enabled."""
        return every(condition for _, condition in self.guards)

    @property
    def title(self) -> str:
        """The name of the action with its arguments."""
        return f"{self.action.name}({', '.join(self.env.values())})"


@dataclass(frozen=True, slots=True)
class Clause:
    """A deduction applied to elements: when its condition holds, it inserts one fact."""

    rule: str
    when: Condition


@dataclass(frozen=True, slots=True)
class Ground:
    """The ground form of an instance."""

    #: for each place that changes, the values that it may hold; the first one is that of the first state.
    values: Mapping[Place, tuple[Value, ...]]
    steps: tuple[Step, ...]
    clauses: Mapping[Place, tuple[Clause, ...]]  #: for each fact that deductions insert, what it follows from.
    #: steps and deductions that would write what was said never to change, and when they would.
    strays: tuple[tuple[Step, Condition], ...]
    formulas: Mapping[str, Condition]  #: when each formula holds.


def ground(
    protocol: Protocol,
    instance: Instance,
    formulas: Mapping[str, Term],
    changing: Set[Place] | None = None,
    matters: Callable[[Place], bool] = lambda _: True,
    values: Mapping[Place, Sequence[Value]] | None = None,
) -> Ground:
    """Return the ground form of an instance: places with finitely many values, and steps without variables.

    Raises SpecificationError if the instance does not fit the protocol.

    Args:
        protocol: the protocol of the instance.
        instance: the elements, rigid facts, pools and budget.
        formulas: closed formulas about a state, by name.
        changing: the only places whose value may differ between saturated states, in which no deduction is left to
            take; writes to others become ``strays``. None: any place may change.
        matters: whether writes to a place are kept.
        values: the possible values of each place that is no constant, its initial one first. None: they are computed
            by what is reachable.
    """
    start = Interpreter(protocol, instance).initial()
    return _Writer(Reaching(protocol, instance, start, changing, matters, values)).written(formulas)


@dataclass(frozen=True, slots=True)
class _RawStep:
    """A step before it is known which values exclude each other."""

    step: Step
    when: Condition
    stray: Condition


class _Writer:
    def __init__(self, reaching: Reaching) -> None:
        self._reaching = reaching
        self._protocol = reaching.protocol

    def written(self, formulas: Mapping[str, Term]) -> Ground:
        steps = taken = list(self._raw_steps())
        if self._reaching.only_reached:
            moves = [Move(each.when, tuple(change for _, change in each.step.changes)) for each in taken]
            pairs = Pairs(self._reaching.possible, moves)
            self._reaching.possible.update(pairs.possible)
            taken = [each for each in self._raw_steps() if pairs.may_hold(each.when)]
            steps = [each for each in taken if pairs.may_hold(every((each.when, negate(each.stray))))]
            taken = [each for each in taken if pairs.may_hold(every((each.when, each.stray)))]
        values = {place: tuple(held) for place, held in self._reaching.possible.items() if len(held) > 1}
        strays = ((each.step, every((each.when, each.stray))) for each in taken)
        return Ground(
            values=values,
            steps=tuple(each.step for each in steps if not each.step.action.deduction),
            clauses=_clauses(each.step for each in steps if each.step.action.deduction),
            strays=tuple((step, when) for step, when in strays if when is not False),
            formulas={name: self._reaching.reading.condition(each, {}) for name, each in formulas.items()},
        )

    def _raw_steps(self) -> Iterator[_RawStep]:
        for action in self._protocol.actions:
            for env, when in self._reaching.steps(action):
                changes, stray = self._changes(action, env, known_from(when))
                yield _RawStep(Step(action, env, tuple(self._guards(action, env, when)), tuple(changes)), when, stray)

    def _guards(self, action: Action, env: Env, when: Condition) -> Iterator[tuple[str, Condition]]:
        """Yield the parts of the guards, each fact once, and simplified by all facts."""
        known = known_from(when)
        told: set[Condition] = set()
        for guard in action.guards:
            if guard.kind is not GuardKind.FRESH:
                for part in conjuncts(self._reaching.reading.condition(guard.formula, env)):
                    left = part if isinstance(part, Fact) else assuming(part, known)
                    other = known.get(left.place) if isinstance(left, Fact) else None
                    says_less = other is not None and other.wanted and other != left
                    if left is not True and left not in told and not says_less:
                        told.add(left)
                        yield guard.name, left
        fresh = [guard.name for guard in action.guards if guard.kind is GuardKind.FRESH]
        drawn = every(self._reaching.freshness_conditions(action, env))
        yield from ((", ".join(fresh), part) for part in conjuncts(drawn) if part not in told)

    def _changes(
        self, action: Action, env: Env, known: Known
    ) -> tuple[list[tuple[tuple[str, ...], Change]], Condition]:
        """Return what a step changes, and when it would write a constant."""
        names: dict[Place, list[str]] = {}
        found: dict[Place, Change] = {}
        for update in action.updates:
            for place, value, condition in self._reaching.possible_writes(update, env):
                when = assuming(condition, known)
                if when is not False:
                    names.setdefault(place, []).append(update.name)
                    found[place] = _after(found.get(place, Change(place, (), True)), value, when)
        possible = self._reaching.possible
        strays = [when for each in found.values() for value, when in each.cases if value not in possible[each.place]]
        changes = [
            (tuple(dict.fromkeys(names[place])), replace(change, cases=kept))
            for place, change in found.items()
            if (kept := tuple(case for case in change.cases if case[0] in possible[place])) and len(possible[place]) > 1
        ]
        return [each for each in changes if not _idle(each[1], known)], some(strays)


def _after(change: Change, value: Value, when: Condition) -> Change:
    kept = ((held, every((before, negate(when)))) for held, before in change.cases)
    cases = [*((held, before) for held, before in kept if before is not False), (value, when)]
    return replace(change, cases=tuple(cases), keeps=every((change.keeps, negate(when))))


def _idle(change: Change, known: Known) -> bool:
    """Whether a change leaves a place as it is known to be."""
    fact = known.get(change.place)
    if fact is None:
        return False
    held = fact.value if fact.wanted else False if fact.value is True else None
    return all(value == held for value, _ in change.cases)


def _clauses(steps: Iterable[Step]) -> dict[Place, tuple[Clause, ...]]:
    found: dict[Place, list[Clause]] = {}
    for step in steps:
        for _, change in step.changes:
            for _, condition in change.cases:
                when = assuming(every((step.when, condition)), {change.place: Fact(change.place, True, wanted=False)})
                if when is not False:
                    found.setdefault(change.place, []).append(Clause(step.action.name, when))
    return {place: tuple(clauses) for place, clauses in found.items()}


# --------------------------------------------------------------------------------------------------
# Closing: the deductions that one step may make possible, in an order in which most are looked at once.
#
# States are kept saturated. So after a step only those deductions matter that read what it wrote, or whose conclusion
# it took away, and then those that read what these conclude. What the step leaves certain is worked in.


@dataclass(frozen=True, slots=True)
class Group:
    """Facts that deductions conclude together.

    If they depend on each other, the deductions are repeated to a fixpoint.
    """

    facts: Mapping[Place, tuple[Clause, ...]]
    repeated: bool


class Closing:
    """Computes the deductions that a step enables."""

    def __init__(self, ground: Ground) -> None:
        self._clauses = ground.clauses
        self._readers: dict[Place, dict[Place, None]] = {}
        for fact, clauses in ground.clauses.items():
            for clause in clauses:
                for read in facts_in(clause.when):
                    self._readers.setdefault(read.place, {})[fact] = None

    def after(self, step: Step) -> list[Group]:
        """Return the groups of facts to conclude after a step, in order of dependency."""
        changes = [change for _, change in step.changes]
        known = self._known(step, changes)
        written = {change.place: frozenset(value for value, _ in change.cases) for change in changes}
        lost = {place for place, values in written.items() if False in values and known.get(place) != Fact(place, True)}
        woken: dict[Place, dict[Clause, None]] = {}
        for fact in lost & self._clauses.keys():
            self._wake(fact, self._clauses[fact], known, woken)
        waiting = {**written, **{fact: written.get(fact, frozenset()) | {True} for fact in woken}}
        while waiting:
            place, values = waiting.popitem()
            for fact in self._readers.get(place, ()):
                if known.get(fact) != Fact(fact, True):
                    clauses = (each for each in self._clauses[fact] if _woken_by(each, place, values))
                    if self._wake(fact, clauses, known, woken):
                        waiting[fact] = waiting.get(fact, frozenset()) | {True}
        return list(_inchoice_order({fact: tuple(clauses) for fact, clauses in woken.items()}))

    def _known(self, step: Step, changes: Iterable[Change]) -> dict[Place, Fact]:
        """Return what is known once a step was taken, whatever is deduced then."""
        known = known_from(step.when)
        for change in changes:
            known.pop(change.place, None)
            if change.keeps is False and len(change.cases) == 1:
                value = change.cases[0][0]
                known[change.place] = (
                    Fact(change.place, value) if value is not False else Fact(change.place, True, wanted=False)
                )
        return {place: fact for place, fact in known.items() if fact.wanted or place not in self._clauses}

    def _wake(
        self,
        fact: Place,
        clauses: Iterable[Clause],
        known: Mapping[Place, Fact],
        woken: dict[Place, dict[Clause, None]],
    ) -> bool:
        """Note clauses that may hold now; return whether the fact had none before."""
        before = fact in woken
        for clause in clauses:
            when = assuming(clause.when, known)
            if when is not False:
                woken.setdefault(fact, {})[Clause(clause.rule, when)] = None
        return fact in woken and not before


def _woken_by(clause: Clause, place: Place, values: Iterable[Value]) -> bool:
    return any(
        (value == read.value) == read.wanted
        for read in facts_in(clause.when)
        if read.place == place
        for value in values
    )


def _inchoice_order(woken: Mapping[Place, tuple[Clause, ...]]) -> Iterator[Group]:
    import networkx  # it takes a tenth of a short search, which has its code already and writes none out

    graph = networkx.DiGraph()
    graph.add_nodes_from(woken)
    for fact, clauses in woken.items():
        read = dict.fromkeys(each.place for clause in clauses for each in facts_in(clause.when))
        graph.add_edges_from((fact, place) for place in read if place in woken)
    for together in networkx.strongly_connected_components(graph):
        facts = {fact: woken[fact] for fact in woken if fact in together}
        yield Group(facts, repeated=len(facts) > 1)


# --------------------------------------------------------------------------------------------------
# Excluding: pairs of values that no state holds together, by a fixpoint over pairs that only adds.
#
# What :mod:`.reaching` finds looks at each value alone, and so forgets what every counter and every "not yet" is
# about: that two values were written by one step, or that a phase is over. Here a step counts as possible once its
# conditions may hold pair by pair, and what it writes is possible together with what it leaves alone. Every pair that
# some state holds is found. It is the analysis that planners know as h² (Haslum and Geffner, "Admissible heuristics
# for optimal planning", AIPS 2000).

Bits = int  #: A set of values of places, a bit for each.
ALWAYS: Bits = 1  #: What is beside everything, so that a set is empty only where nothing can be.


@dataclass(frozen=True, slots=True)
class Change:
    """The effect of a step on one place: each new value, with its condition; otherwise the place keeps its value."""

    place: Place
    cases: tuple[tuple[Value, Condition], ...]
    keeps: Condition


@dataclass(frozen=True, slots=True)
class Move:
    """A step without variables: its condition and its changes."""

    when: Condition
    changes: tuple[Change, ...]


class Pairs:
    """An over-approximation of the values that two places can have in one reachable state."""

    def __init__(self, possible: Possible, moves: Sequence[Move]) -> None:
        self._possible = {place: values for place, values in possible.items() if len(values) > 1}
        self._rest = {place: list(values) for place, values in possible.items() if len(values) == 1}
        self._bits = {
            key: 1 << number
            for number, key in enumerate(
                ((place, value) for place, values in self._possible.items() for value in values), 1
            )
        }
        self._of_place = {
            place: sum(self._bits[place, value] for value in values) for place, values in self._possible.items()
        }
        self._with: dict[Bits, Bits] = dict.fromkeys([ALWAYS, *self._bits.values()], ALWAYS)
        first = ALWAYS | sum(self._bits[place, values[0]] for place, values in self._possible.items())
        self._reached: Bits = ALWAYS
        for place, values in self._possible.items():
            self._join(self._bits[place, values[0]], first)
        self._grew = True
        while self._grew:
            self._grew = False
            for move in moves:
                self._take(move)

    @property
    def possible(self) -> dict[Place, list[Value]]:
        """The values that each place may have."""
        kept = {
            place: [value for value in values if self._reached & self._bits[place, value]]
            for place, values in self._possible.items()
        }
        return self._rest | kept

    def may_hold(self, condition: Condition) -> bool:
        """Whether a condition may hold in a reachable state, according to the pairs; False is certain."""
        return bool(self._neighbouring(condition, self._reached))

    def _take(self, move: Move) -> None:
        around = self._neighbouring(move.when, self._reached)
        if not around:
            return
        written = kept = 0
        added: list[tuple[Bits, Bits]] = []
        for change in move.changes:
            for value, when in change.cases:
                beside = self._neighbouring(when, around)
                if beside:
                    bit = self._bits[change.place, value]
                    added.append((bit, beside))
                    written |= bit
            if change.keeps is False:
                kept |= self._of_place[change.place]
        for bit, beside in added:
            self._join(bit, beside & ~kept | written)

    def _join(self, bit: Bits, others: Bits) -> None:
        """Note that a value may be held together with others, but not with another of its own place."""
        self._reached |= bit
        new = others & ~self._with[bit]
        if new:
            self._with[bit] |= new
            self._grew = True
            for other in _each(new):
                self._with[other] |= bit

    def _neighbouring(self, condition: Condition, within: Bits) -> Bits:
        match condition:
            case bool():
                return within if condition else 0
            case Fact():
                found = 0
                for bit in _each(self._options(condition) & within):
                    found |= self._with[bit]
                return found & within
            case Some(parts):
                found = 0
                for part in parts:
                    found |= self._neighbouring(part, within)
                return found
            case Every(parts):
                for part in sorted(parts, key=lambda part: not isinstance(part, Fact)):
                    within = self._neighbouring(part, within)
                    if not within:
                        return 0
                met = (self._options(part) & within for part in parts if isinstance(part, Fact))
                return within if all(met) else 0

    def _options(self, fact: Fact) -> Bits:
        found = 0
        for value in self._possible[fact.place]:
            held = value == fact.value
            if held == fact.wanted:
                found |= self._bits[fact.place, value]
        return found


def _each(bits: Bits) -> Iterator[Bits]:
    while bits:
        lowest = bits & -bits
        yield lowest
        bits ^= lowest


# --------------------------------------------------------------------------------------------------
# Reaching: which values a place may ever hold, and which steps may ever be taken, by a fixpoint that only adds.
#
# A step counts as possible once each part of its guards may hold by what places may hold so far; what it may write is
# added to that. Values are never taken away, and what one step needs is not looked at together, so every value that is
# ever held is found, and some that never are. What is never found is a constant.

Written = Iterator[tuple[Place, Value, Condition]]  #: Places that an update writes, the value, and when.


class Reaching:
    """Computes an over-approximation of what is reachable in a protocol on an instance."""

    def __init__(
        self,
        protocol: Protocol,
        instance: Instance,
        start: State,
        changing: Set[Place] | None,
        matters: Callable[[Place], bool] = lambda _: True,
        values: Mapping[Place, Sequence[Value]] | None = None,
    ) -> None:
        """Work out what may be reached, unless ``values`` say what places may hold.

        Where it is said which places are ``changing``, all others are constants.
        """
        self.protocol = protocol
        self.instance = instance
        self._told_apart = distinguishable_fresh_sorts(protocol, instance)
        self.possible = _first(start, protocol, instance)  #: the values that each place may hold, the first one first.
        self._changing = self.possible.keys() if changing is None else changing
        self._matters = matters
        self.only_reached = values is None
        if values is not None:
            self.possible.update({place: list(held) for place, held in values.items()})
        self.reading = Reading(instance, self.possible)
        self._orders = {action.name: choice_order(action.params, _guards_of(action)) for action in protocol.actions}
        if self.only_reached:
            self._reach()

    def steps(self, action: Action) -> Iterator[tuple[Env, Condition]]:
        """Yield the arguments with which an action may be enabled, each with its condition."""
        if self.instance.budget is not None and action.cost > self.instance.budget:
            return
        order = self._orders[action.name]

        def choose(position: int, chosen: Env, when: Condition) -> Iterator[tuple[Env, Condition]]:
            parts = [when]
            for term, sign in order.checks[position]:
                condition = self.reading.condition(term, chosen)
                parts.append(condition if sign else negate(condition))
                if parts[-1] is False:
                    return
            now = every(parts)
            if now is False:
                return
            if position == len(order.variables):
                whole = every([now, *self.freshness_conditions(action, chosen)])
                if whole is not False:
                    yield {var.name: chosen[var.name] for var in action.params}, whole
                return
            var = order.variables[position]
            for element in self.pool(action, var):
                yield from choose(position + 1, {**chosen, var.name: element}, now)

        yield from choose(0, {}, True)

    def pool(self, action: Action, var: terms.Var) -> Row:
        """Return the elements that a search tries for a parameter."""
        return self.instance.pools.get((action.name, var.name), self.instance.of(var.sort))

    def possible_writes(self, update: Update, env: Env) -> Written:
        """Yield what an update may write, including every value that a state-dependent term may have."""
        for inner in self.reading.assignments(update.each, env):
            when = self.reading.condition(update.when, inner)
            if when is False:
                continue
            for row, applies in self.reading.rows(update.args, inner):
                place = Place(update.symbol.name, row)
                if not self._matters(place):
                    continue
                if update.value is None:
                    yield place, update.effect is Effect.INSERT, every((when, applies))
                    continue
                for value, holds in self.reading.cases(update.value, inner):
                    both = every((when, applies, holds))
                    if both is not False:
                        yield place, value, both

    def freshness_conditions(self, action: Action, env: Env) -> Iterator[Condition]:
        """Yield the conditions for drawing fresh parameters: unused, distinct, and the first of their kind."""
        earlier: dict[Sort, list[str]] = {}
        for var in (each for each in action.params if each in action.fresh):
            element, drawn = env[var.name], earlier.setdefault(var.sort, [])
            pool = self.pool(action, var)
            yield element in pool and element not in drawn
            yield self._used(var.sort, element, wanted=False)
            if var.sort not in self._told_apart:
                before = pool[: pool.index(element)] if element in pool else ()
                yield from (self._used(var.sort, other, wanted=True) for other in before if other not in drawn)
            drawn.append(element)

    def _used(self, sort: Sort, element: str, *, wanted: bool) -> Condition:
        place = Place(used_symbol(sort).name, (element,))
        values = self.possible[place]
        return Fact(place, True, wanted) if len(values) > 1 else values[0] is wanted

    def _reach(self) -> None:
        reads = {action.name: _reads(action) for action in self.protocol.actions}
        waiting = {action.name: action for action in self.protocol.actions}
        while waiting:
            action = waiting.pop(next(iter(waiting)))
            grown = self._grow(action)
            for other in self.protocol.actions:
                if not grown.isdisjoint(reads[other.name]):
                    waiting[other.name] = other

    def _grow(self, action: Action) -> set[str]:
        """Add what an action may write; return the symbols that may hold more now."""
        grown: set[str] = set()
        for env, _ in list(self.steps(action)):
            for update in action.updates:
                for place, value, _ in list(self.possible_writes(update, env)):
                    if place in self._changing and value not in self.possible[place]:
                        self.possible[place].append(value)
                        grown.add(place.symbol)
        return grown


def _guards_of(action: Action) -> list[tuple[Term, bool]]:
    guards = (guard for guard in action.guards if guard.kind is not GuardKind.FRESH)
    return [part for guard in guards for part in signed_parts(guard.formula)]


def _reads(action: Action) -> frozenset[str]:
    read = {symbol.name for term in terms_of_action(action) for symbol in terms.symbols_of(term) if symbol.mutable}
    return frozenset(read | {used_symbol(var.sort).name for var in action.fresh})


def _first(start: State, protocol: Protocol, instance: Instance) -> dict[Place, list[Value]]:
    found: dict[Place, list[Value]] = {}
    for symbol in protocol.symbols:
        if symbol.mutable:
            for row in itertools.product(*(instance.of(sort) for sort in symbol.domain)):
                held: Value = (
                    row in start.relations[symbol.name] if symbol.is_relation else start.functions[symbol.name][row]
                )
                found[Place(symbol.name, row)] = [held]
    return found


# -- Reading: a term, with elements for its variables, as a condition on places --------------------
#
# What a place can never hold is worked in, so what a formula comes to depends on what is known of that so far.

Possible = Mapping[Place, Sequence[Value]]  #: The values that each place may hold.
#: The elements that a term may stand for, and when it stands for each; one of them always applies.
Cases = list[tuple[str, Condition]]


class Reading:
    """Translates terms and formulas into conditions on one instance."""

    def __init__(self, instance: Instance, possible: Possible) -> None:
        self.instance = instance
        self.possible = possible
        self._orders: dict[tuple[int, bool], tuple[Term, ChoiceOrder]] = {}

    def condition(self, term: Term, env: Env) -> Condition:
        """Return the condition under which a formula holds."""
        match term:
            case terms.Truth(value):
                return value
            case terms.Apply(symbol, args):
                known = self._row(args, env)
                if known is not None:
                    return self._fact(symbol, known)
                return some(every((when, self._fact(symbol, row))) for row, when in self.rows(args, env))
            case terms.Equal(left, right):
                return self._equal(self.cases(left, env), self.cases(right, env))
            case terms.Not(body):
                return negate(self.condition(body, env))
            case terms.And(parts):
                return self._joined(every, parts, env, False)
            case terms.Or(parts):
                return self._joined(some, parts, env, True)
            case terms.Implies(premise, conclusion):
                before = self.condition(premise, env)
                return True if before is False else some((negate(before), self.condition(conclusion, env)))
            case terms.Forall(bound, body):
                return negate(self._some(bound, body, env, wanted=False))
            case terms.Exists(bound, body):
                return self._some(bound, body, env, wanted=True)
            case terms.IfThenElse(test, then, otherwise):
                when = self.condition(test, env)
                first, second = self.condition(then, env), self.condition(otherwise, env)
                return some((every((when, first)), every((negate(when), second))))
            case _:
                raise TypeError(f"{term} is no formula")

    def cases(self, term: Term, env: Env) -> Cases:
        """Return the elements that a term may denote, each with its condition."""
        match term:
            case terms.Var(name):
                return [(env[name], True)]
            case terms.Member(_, name):
                return [(name, True)]
            case terms.Apply(symbol, args):
                known = self._row(args, env)
                if known is not None:
                    return self._values(symbol, known)
                found = (
                    (value, every((when, holds)))
                    for row, when in self.rows(args, env)
                    for value, holds in self._values(symbol, row)
                )
                return _joined(found)
            case terms.IfThenElse(test, then, otherwise):
                when = self.condition(test, env)
                parts = ((then, when), (otherwise, negate(when)))
                return _joined(
                    (value, every((chosen, holds)))
                    for part, chosen in parts
                    if chosen is not False
                    for value, holds in self.cases(part, env)
                )
            case _:
                raise TypeError(f"{term} is no individual")

    def rows(self, args: Sequence[Term], env: Env) -> Iterator[tuple[Row, Condition]]:
        """Yield the argument rows that terms may denote, each with its condition."""
        for chosen in itertools.product(*(self.cases(arg, env) for arg in args)):
            when = every(holds for _, holds in chosen)
            if when is not False:
                yield tuple(element for element, _ in chosen), when

    def _row(self, args: Sequence[Term], env: Env) -> Row | None:
        """Return the row that arguments amount to in every state, if there is one."""
        row = []
        for arg in args:
            match arg:
                case terms.Var(name) | terms.Member(_, name):
                    row.append(env[name] if isinstance(arg, terms.Var) else name)
                case terms.Apply(symbol, inner) if not symbol.mutable and (known := self._row(inner, env)) is not None:
                    row.append(self.instance.functions[symbol.name][known])
                case _:
                    return None
        return tuple(row)

    def assignments(self, variables: Sequence[terms.Var], env: Env) -> Iterator[Env]:
        """Yield every assignment of elements to ``variables`` that extends ``env``."""
        names = [var.name for var in variables]
        for row in itertools.product(*(self.instance.of(var.sort) for var in variables)):
            yield {**env, **dict(zip(names, row, strict=True))}

    def _joined(
        self, join: Callable[[Iterable[Condition]], Condition], parts: Sequence[Term], env: Env, decisive: bool
    ) -> Condition:
        """Return the conjunction or disjunction of formulas; one that is ``decisive`` is the last to be looked at."""
        found = []
        for term in parts:
            found.append(self.condition(term, env))
            if found[-1] is decisive:
                return decisive
        return join(found)

    def _some(self, bound: Sequence[terms.Var], body: Term, env: Env, *, wanted: bool) -> Condition:
        """Return when a formula holds, or does not, for some elements; those that decide it alone come last."""
        key = id(body), wanted
        if key not in self._orders:  # the body is kept, so that no other has its id
            self._orders[key] = body, choice_order(bound, signed_parts(body, wanted))
        order, found = self._orders[key][1], []

        def choose(position: int, chosen: Env, before: tuple[Condition, ...]) -> Iterator[Condition]:
            for term, sign in order.checks[position]:
                condition = self.condition(term, chosen)
                if condition is not sign:
                    if isinstance(condition, bool):
                        return
                    before = (*before, condition if sign else negate(condition))
            if position == len(order.variables):
                yield every(before)
                return
            var = order.variables[position]
            for element in self.instance.of(var.sort):
                yield from choose(position + 1, {**chosen, var.name: element}, before)

        for condition in choose(0, dict(env), ()):
            if condition is True:
                return True
            found.append(condition)
        return some(found)

    def _fact(self, symbol: Symbol, row: Row) -> Condition:
        if not symbol.mutable:
            return row in self.instance.relations.get(symbol.name, frozenset())
        place = Place(symbol.name, row)
        values = self.possible[place]
        return Fact(place, True) if len(values) > 1 else values[0] is True

    def _values(self, symbol: Symbol, row: Row) -> Cases:
        if not symbol.mutable:
            return [(self.instance.functions[symbol.name][row], True)]
        place = Place(symbol.name, row)
        values = self.possible[place]
        return [(str(value), len(values) == 1 or Fact(place, value)) for value in values]

    def _equal(self, left: Cases, right: Cases) -> Condition:
        if len(left) == len(right) == 1:
            return left[0][0] == right[0][0] and every((left[0][1], right[0][1]))
        others = dict(right)
        return some(every((when, others[value])) for value, when in left if value in others)


def _joined(cases: Iterable[tuple[str, Condition]]) -> Cases:
    found: dict[str, list[Condition]] = {}
    for value, when in cases:
        if when is not False:
            found.setdefault(value, []).append(when)
    return [(value, some(whens)) for value, whens in found.items()]
