"""The machine: a protocol in one state that moves on, at a cost that does not grow with how many steps were taken.

It means what :class:`~carnet_check.semantics.interpreter.Interpreter` means, and shares no code with it. After every
step all deductions are taken; only those are looked at again that something which changed takes part in.
"""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from carnet_check.conformance import tables
from carnet_check.conformance.choices import Candidates, Choices, conjuncts
from carnet_check.conformance.effects import (
    Change,
    Effects,
    FollowedRelation,
    compile_update,
    followed_relations,
    relevant_symbols,
)
from carnet_check.conformance.formulas import Compiler, Evaluate, Frame
from carnet_check.loading.families import unknown
from carnet_check.wording import describe_refusal
from carnet_spec.language import Action, Effect, Guard, GuardKind, InLine, Instance, Protocol, Sort, Symbol, terms
from carnet_spec.trace import TraceCheck, TraceEnd, TraceStep


@dataclass(frozen=True, slots=True)
class Move:
    """Everything that one step changes, deductions aside."""

    changes: tuple[Change, ...]
    drawn: tuple[tuple[Candidates, str], ...] = ()
    """Elements that were chosen for arguments left out: known from now on."""


@dataclass(frozen=True, slots=True)
class _Action:
    action: Action
    params: Mapping[str, terms.Var]
    scope: Mapping[terms.Var, int]
    guards: tuple[tuple[Guard, Evaluate], ...]
    effects: tuple[Effects, ...]
    choices: Sequence[Choices]
    """For each number of guards, the choices of parameters for which the first so many hold."""
    drawn: tuple[tuple[int, int], ...]
    """Places of values that are drawn fresh together, and so have to differ."""

    def distinct(self, frame: Frame) -> bool:
        """Whether the values that are drawn fresh together differ."""
        return all(frame[one] != frame[other] for one, other in self.drawn)


class Machine:
    """A protocol on one instance, in one state.

    ``instance`` has to name every element that steps are going to name. ``named`` says which elements of sorts that are
    drawn fresh these are, if that is known; the others are all alike then. ``complete`` says that the roles that follow
    the protocol record every step of theirs, so that none of their deductions is taken before they say so.

    Raises:
        AmbiguousTraceError: the instance takes more than ``work`` to set up.
    """

    def __init__(
        self,
        protocol: Protocol,
        instance: Instance,
        named: Mapping[str, Collection[str]] | None = None,
        work: tables.Work | None = None,
        *,
        complete: bool = False,
    ) -> None:
        self.protocol = protocol
        self.work = work or tables.Work()
        self._kept = relevant_symbols(protocol)
        self._follows: Mapping[Symbol, FollowedRelation] = followed_relations(protocol, self._kept)
        self.tables = self._make_tables(instance)
        self._compiler = Compiler(instance, self.tables, self.work)
        self._candidates = _candidates(protocol, instance, named or {})
        self._start()
        self._elements = {sort.name: frozenset(instance.of(sort)) for sort in protocol.sorts}
        self._actions = {action.name: self._compile(action) for action in protocol.actions}
        deduced = (action for action in protocol.actions if not (complete and action.by.honest))
        self._rules = [rule for action in deduced if (rule := self._compile_rule(action)) is not None]
        self._triggers = triggers(protocol, self._rules)
        self.journal: deque[tables.Undo] | None = None
        """What takes back the changes since a follower began to keep it, in order."""
        for rule in self._rules:
            self._make(self._derived(rule, self._frame(), 0))

    # -- the first state ---------------------------------------------------------------------------

    def _make_tables(self, instance: Instance) -> dict[str, tables.Table]:
        made: dict[str, tables.Table] = {}
        for symbol in self.protocol.symbols:
            if symbol.mutable and symbol in self._kept:
                made[symbol.name] = (
                    tables.Relation(symbol.name)
                    if symbol.is_relation
                    else tables.Function(symbol.name, {}, instance.of(symbol.result)[0])
                )
            elif not symbol.mutable and symbol.is_relation:
                rows = instance.relations.get(symbol.name, frozenset())
                if isinstance(rows, InLine):
                    made[symbol.name] = tables.Line(symbol.name, rows)
                else:
                    made[symbol.name] = tables.Relation(symbol.name, sorted(rows))
            elif not symbol.mutable:
                made[symbol.name] = tables.Function(symbol.name, instance.functions[symbol.name], "")
        for symbol, how in self._follows.items():
            table, base = made[symbol.name], made[how.base.name]
            assert isinstance(table, tables.Relation)
            assert isinstance(base, tables.Relation)
            table.following, table.at = base, how.at
        return made

    def _start(self) -> None:
        for initial in self.protocol.initial:
            if initial.symbol not in self._kept:
                continue
            value = self._compiler.term(initial.value, self._compiler.scope(initial.params))
            table = self.tables[initial.symbol.name]
            for row in itertools.product(*(self._compiler.elements(var.sort) for var in initial.params)):
                self.work.spend(tables.ROW)
                found = value([*row, *self._frame()])
                if isinstance(table, tables.Function):
                    table.assign(row, found)
                elif found:
                    table.insert(row)

    def _frame(self) -> Frame:
        return [""] * self._compiler.room

    # -- compiling ---------------------------------------------------------------------------------

    def _compile(self, action: Action) -> _Action:
        scope = self._compiler.scope(action.params)
        pairs = itertools.combinations(action.fresh, 2)
        return _Action(
            action=action,
            params={var.name: var for var in action.params},
            scope=scope,
            guards=tuple((guard, self._compiler.term(guard.formula, scope)) for guard in action.guards),
            effects=self._effects(action, scope),
            choices=[self._choices(action, scope, count) for count in range(len(action.guards) + 1)],
            drawn=tuple((scope[one], scope[other]) for one, other in pairs if one.sort == other.sort),
        )

    def _choices(self, action: Action, scope: Mapping[terms.Var, int], guards: int) -> Choices:
        conditions = [guard.formula for guard in action.guards[:guards]]
        return Choices(self._compiler, action.params, conditions, scope, self._candidates)

    def _effects(self, action: Action, scope: Mapping[terms.Var, int]) -> tuple[Effects, ...]:
        updates = [update for update in action.updates if update.symbol in self._kept]
        inserting: set[Symbol] = set()
        effects = []
        for update in updates:
            inserted = update.symbol in inserting
            effects.append(compile_update(update, self._compiler, scope, self._follows, inserted=inserted))
            if update.effect is Effect.INSERT:
                inserting.add(update.symbol)
        return tuple(effects)

    def _compile_rule(self, action: Action) -> Rule | None:
        """Compile a deduction, unless no guard depends on it or rigid facts rule it out."""
        heads = [terms.Apply(update.symbol, update.args) for update in action.updates if update.symbol in self._kept]
        if not action.deduction or not heads:
            return None
        parts = [part for guard in action.guards for part in conjuncts(guard.formula)]
        if any(self._never(part) for part in parts):
            return None
        scope = self._compiler.scope(action.params)
        if not any(update.each for update in action.updates):
            parts.append(terms.Not(terms.And(tuple(heads))))  # where all is known already, the deduction adds nothing
        return Rule(action, scope, self._effects(action, scope), Choices(self._compiler, action.params, parts, scope))

    def _never(self, part: terms.Term) -> bool:
        if terms.free_variables(part) or any(symbol.mutable for symbol in terms.symbols_of(part)):
            return False
        holds = self._compiler.term(part, {})
        return not holds(self._frame())

    # -- steps -------------------------------------------------------------------------------------

    def actions_of_corrupt_parties(self) -> frozenset[str]:
        """Return the actions that only an honest party takes, where the instance says that the party is corrupt."""
        return frozenset(
            action.name
            for action in self.protocol.actions
            if any(guard.kind is GuardKind.ACTOR and self._never(guard.formula) for guard in action.guards)
        )

    def misfit(self, step: TraceStep) -> str:
        """Say what is wrong with a step in any state, or nothing."""
        found = self._actions.get(step.action)
        if found is None:
            return unknown("action", step.action, self.protocol.id, self._actions)
        action = found.action
        if step.by != action.by.name:
            return f"{action.name} is a step of the {action.by.name}, not of '{step.by}'"
        for name, element in step.args:
            if name not in found.params:
                return unknown("parameter", name, action.name, found.params)
            sort = found.params[name].sort.name
            if element not in self._elements[sort]:
                return f"{action.name}: '{element}' is not a {sort} of this trace"
        return ""

    def moves(self, step: TraceStep) -> list[Move]:
        """Return what a step that fits may change, for each choice of its missing arguments that makes a difference.

        Nothing is returned if the step cannot be taken; of more than ``MOST_WAYS`` + 1 choices, the first so many are.
        """
        found = self._actions[step.action]
        frame = self._frame_of(step, found)
        self.work.spend(tables.MOVE)
        if len(step.args) < len(found.params):
            return self._ways(found, frame, step)
        if not all(holds(frame) for _, holds in found.guards) or not found.distinct(frame):
            return []
        return [Move(self._changes(found.effects, frame))]

    def why_not(self, step: TraceStep) -> str:
        """Say why a step that fits cannot be taken in this state."""
        found = self._actions[step.action]
        if len(step.args) < len(found.params):
            return self._why_none(found, step)
        frame = self._frame_of(step, found)
        for guard, holds in found.guards:
            if not holds(frame):
                return self._refused(found, guard, frame)
        return _same_draw(found.action)

    def take(self, move: Move) -> None:
        """Make the changes of a move, and take every deduction that they make possible."""
        for candidates, element in move.drawn:
            self._keep(candidates.draw(element))
        self._make(move.changes)

    def _make(self, changes: Iterable[Change]) -> None:
        waiting = deque(self._applied_changes(changes))
        while waiting:
            change = waiting.popleft()
            for trigger in self._triggers.get(change.table.name, ()):
                self.work.spend(tables.RULE)
                frame = self._frame()
                if trigger.fits(change.row, frame):
                    waiting.extend(self._applied_changes(self._derived(trigger.rule, frame, trigger.known)))

    def _applied_changes(self, changes: Iterable[Change]) -> list[Change]:
        """Make changes; return those that changed something."""
        return [change for change in changes if self._keep(change.apply())]

    def _keep(self, undo: tables.Undo | None) -> bool:
        """Remember how to take a change back, if anything changed and a follower keeps a journal."""
        if undo is not None and self.journal is not None:
            self.journal.append(undo)
        return undo is not None

    def _derived(self, rule: Rule, frame: Frame, known: int) -> list[Change]:
        return [
            change
            for choice in rule.choices.each(frame, known)
            for change in self._changes(rule.effects, [*choice, *self._frame()])
        ]

    def _changes(self, effects: Iterable[Effects], frame: Frame) -> tuple[Change, ...]:
        changes = []
        for effect in effects:
            for change in effect(frame):
                self.work.spend(tables.CHANGE)
                changes.append(change)
        return tuple(changes)

    def _frame_of(self, step: TraceStep, found: _Action) -> Frame:
        frame = self._frame()
        for name, element in step.args:
            frame[found.scope[found.params[name]]] = element
        return frame

    # -- missing arguments -------------------------------------------------------------------------

    def _ways(self, found: _Action, frame: Frame, step: TraceStep) -> list[Move]:
        choices, given = found.choices[-1], step.env
        known = choices.known(var for var in found.action.params if var.name in given)
        ways: dict[tuple[Change, ...], Move] = {}
        for choice in choices.each(frame, known):
            chosen = [*choice, *self._frame()]
            if found.distinct(chosen):
                changes = self._changes(found.effects, chosen)
                ways.setdefault(changes, Move(changes, tuple(self._drawn(found, choice))))
                if len(ways) > tables.MOST_WAYS:
                    break
        return list(ways.values())

    def _drawn(self, found: _Action, choice: Sequence[str]) -> Iterator[tuple[Candidates, str]]:
        for var, element in zip(found.action.params, choice, strict=True):
            candidates = self._candidates.get(var.sort)
            if candidates is not None and element not in candidates.known:
                yield candidates, element

    def _refused(self, found: _Action, guard: Guard, frame: Frame) -> str:
        names = {var: frame[at] for var, at in found.scope.items() if frame[at]}
        return describe_refusal(
            found.action, guard, names, lambda term: str(self._compiler.term(term, found.scope)(frame))
        )

    def _why_none(self, found: _Action, step: TraceStep) -> str:
        """Name the first guard that no choice of the missing arguments meets together with those before it."""
        action, given = found.action, step.env
        missing = ", ".join(var.name for var in action.params if var.name not in given)
        for choices, guard in zip(found.choices[1:], action.guards, strict=True):
            known = choices.known(var for var in action.params if var.name in given)
            if next(choices.each(self._frame_of(step, found), known), None) is None:
                why = self._refused(found, guard, self._frame_of(step, found))
                return f"{why}, for every choice of {missing}"
        return _same_draw(action)


def _candidates(protocol: Protocol, instance: Instance, named: Mapping[str, Collection[str]]) -> dict[Sort, Candidates]:
    """Return the candidates for arguments that are left out, by the sorts in which some elements are alike.

    The first element of a sort is what functions begin with, and rigid symbols tell elements apart.
    """
    rigid = {sort for symbol in protocol.symbols if not symbol.mutable for sort in (*symbol.domain, symbol.result)}
    plain = (sort for sort in protocol.sorts if sort.fresh and sort.name in named and sort not in rigid)
    return {sort: Candidates([*named[sort.name], *instance.of(sort)[:1]], instance.of(sort)) for sort in plain}


def _same_draw(action: Action) -> str:
    return f"{action.name}: values that are drawn fresh together have to differ"


# --------------------------------------------------------------------------------------------------
# Rules: the deductions of a protocol, compiled, and which of them to look at again when a row changes.


@dataclass(frozen=True, slots=True)
class Rule:
    """A deduction, compiled."""

    action: Action
    scope: Mapping[terms.Var, int]
    effects: tuple[Effects, ...]
    choices: Choices


@dataclass(frozen=True, slots=True)
class Trigger:
    """A place in a rule that reads a symbol: a changed row of the symbol says which parameters are concerned."""

    rule: Rule
    places: tuple[tuple[int, int], ...]
    """Positions in the row, and the places in the frame that they fill."""
    equal: tuple[tuple[int, int], ...]
    """Positions in the row that name the same parameter."""
    members: tuple[tuple[int, str], ...]
    """Positions in the row that have to hold a certain member of an enumeration."""
    known: int

    def fits(self, row: Sequence[str], frame: Frame) -> bool:
        """Whether the rule may be concerned; the parameters that the row gives are put into the frame."""
        for at, place in self.places:
            frame[place] = row[at]
        return all(row[one] == row[other] for one, other in self.equal) and all(
            row[at] == name for at, name in self.members
        )


def _trigger(rule: Rule, args: Sequence[terms.Term]) -> Trigger:
    first: dict[terms.Var, int] = {}
    equal = []
    for at, arg in enumerate(args):
        if isinstance(arg, terms.Var) and arg in rule.scope and first.setdefault(arg, at) != at:
            equal.append((first[arg], at))
    return Trigger(
        rule,
        places=tuple((at, rule.scope[var]) for var, at in first.items()),
        equal=tuple(equal),
        members=tuple((at, arg.name) for at, arg in enumerate(args) if isinstance(arg, terms.Member)),
        known=rule.choices.known(first),
    )


def triggers(protocol: Protocol, rules: Iterable[Rule]) -> dict[str, list[Trigger]]:
    """List, for each symbol, where rules read it, and where they deduce it again after it was removed."""
    updates = [update for action in protocol.actions for update in action.updates]
    lost = {update.symbol for update in updates if update.effect is Effect.REMOVE}
    found: dict[str, list[Trigger]] = {}
    for rule in rules:
        for part in dict.fromkeys(_reads_of(rule.action, lost)):
            found.setdefault(part.symbol.name, []).append(_trigger(rule, part.args))
    return found


def _reads_of(rule: Action, lost: set[Symbol]) -> Iterable[terms.Apply]:
    """Yield the places where a rule reads a symbol that changes, its own heads among them if they can be removed."""
    formulas = [guard.formula for guard in rule.guards]
    for update in rule.updates:
        head = (terms.Apply(update.symbol, update.args),) if update.symbol in lost else update.args
        formulas += [*head, update.when]
    parts = (part for term in formulas for part in terms.subterms(term))
    return (part for part in parts if isinstance(part, terms.Apply) and part.symbol.mutable)


# --------------------------------------------------------------------------------------------------
# Following a trace: one step after another, going back where an argument that was left out was chosen wrongly.


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first event that no run of the spec explains, and why; ``index`` counts events from 0."""

    index: int
    step: TraceStep | TraceCheck | TraceEnd
    why: str


@dataclass(slots=True)
class _Branch:
    """A point from which a trace could go on in other ways."""

    taken: int
    """Steps taken before it."""
    changes: int
    """Changes kept in the journal before it, those included that were forgotten since."""
    others: list[Move]
    """The last one is tried next."""


class Follower:
    """Takes the steps of one trace, each once it is known, in a machine of its own.

    Where missing arguments allow for several moves, one is followed; the others wait until it does not work out. Of
    too many that wait, those that wait longest are forgotten: a trace that could only go on from them is undecided.
    """

    def __init__(self, machine: Machine, ignored: Collection[str] = ()) -> None:
        """Follow a trace in ``machine``; steps of ``ignored`` actions are no evidence and change nothing."""
        self._machine = machine
        self._ignored = ignored
        self._branches: deque[_Branch] = deque()
        self._steps: deque[TraceStep] = deque()
        """The steps since the first branch that is open."""
        self._since = 0
        self._forgotten = 0
        """Changes that the journal had and has no more."""
        self._waiting = 0
        """Changes of the moves that wait."""
        self._left_out = False
        self._taken = 0
        self._furthest: Divergence | None = None

    @property
    def work(self) -> tables.Work:
        """What may still be spent."""
        return self._machine.work

    @property
    def open(self) -> int:
        """In how many places the trace could have gone on in another way."""
        return len(self._branches)

    @property
    def remembered(self) -> int:
        """How many changes are kept, to be taken back or to be made instead."""
        return len(self._machine.journal or ()) + self._waiting

    def take(self, step: TraceStep) -> Divergence | None:
        """Take the next step; return the divergence if no run of the spec explains the trace up to here.

        Raises:
            AmbiguousTraceError: too much is missing from the trace to decide it.
        """
        self.work.allow_event()
        misfit = self._machine.misfit(step)
        if misfit:
            return Divergence(self._taken, step, misfit)
        if self._branches:
            self._steps.append(step)
        ahead = deque((step,))
        while ahead:
            current = ahead.popleft()
            moves = [Move(())] if current.action in self._ignored else self._machine.moves(current)
            if moves:
                self._go(moves, current, ahead)
                continue
            if self._furthest is None or self._taken > self._furthest.index:
                self._furthest = Divergence(self._taken, current, self._machine.why_not(current))
            if not self._branches:
                return self._diverged(self._furthest)
            ahead = self._backtrack()
        return None

    def _diverged(self, found: Divergence) -> Divergence:
        if self._left_out:
            raise tables.AmbiguousTraceError(
                f"undecided at event {found.index}: the trace leaves out so many arguments that not every way to "
                "choose them was tried"
            )
        return found

    def _go(self, moves: list[Move], step: TraceStep, ahead: deque[TraceStep]) -> None:
        if len(moves) > tables.MOST_WAYS:
            self._left_out = True
            moves.pop()
        first, *others = moves
        if others and not self._branches:
            self._steps = deque((step, *ahead))
            self._since = self._taken
            self._machine.journal = deque()
            self._forgotten = 0
        if others:
            others.reverse()
            self._branches.append(_Branch(self._taken, self._change_count(), others))
            self._waiting += sum(len(move.changes) for move in others)
        self._machine.take(first)
        self._taken += 1
        self._forget()

    def _change_count(self) -> int:
        return self._forgotten + len(self._machine.journal or ())

    def _backtrack(self) -> deque[TraceStep]:
        """Take the last branch's next way, and return the steps to be taken again after it."""
        branch = self._branches[-1]
        journal = self._machine.journal
        assert journal is not None
        while self._change_count() > branch.changes:
            self.work.spend(tables.CHANGE)
            journal.pop()()
        move = branch.others.pop()
        self._waiting -= len(move.changes)
        if not branch.others:
            self._branches.pop()
        if not self._branches:
            self._machine.journal = None
        self._machine.take(move)
        self._taken = branch.taken + 1
        ahead = deque[TraceStep]()  # from the end, which is near: what comes before may be all of a long trace
        ahead.extendleft(itertools.islice(reversed(self._steps), len(self._steps) - (self._taken - self._since)))
        return ahead

    def _forget(self) -> None:
        """Forget the branches that wait longest, until no more is remembered than may be."""
        journal = self._machine.journal
        while journal is not None and self.remembered > tables.MOST_KEPT:
            self._left_out = True
            self._waiting -= sum(len(move.changes) for move in self._branches.popleft().others)
            if not self._branches:
                self._machine.journal = None
                return
            first = self._branches[0]
            for _ in range(first.changes - self._forgotten):
                journal.popleft()
            self._forgotten = first.changes
            for _ in range(first.taken - self._since):
                self._steps.popleft()
            self._since = first.taken
