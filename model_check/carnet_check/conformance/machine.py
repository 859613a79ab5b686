"""The machine: a protocol in one mutable state; the cost of a step does not grow with the number of earlier steps.

It has the semantics of :class:`~carnet_check.semantics.interpreter.Interpreter`, and shares no code with it. After
every step all deductions are taken; only deductions that read a changed row are evaluated again.
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
from carnet_check.loading.families import unknown_name
from carnet_check.wording import describe_refusal
from carnet_spec.language import Action, Effect, Guard, GuardKind, InLine, Instance, Protocol, Sort, Symbol, terms
from carnet_spec.trace import TraceCheck, TraceEnd, TraceStep


@dataclass(frozen=True, slots=True)
class Move:
    """All changes of one step, without those of deductions."""

    changes: tuple[Change, ...]
    #: Elements that were chosen for missing arguments; they count as named from now on.
    drawn: tuple[tuple[Candidates, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Action:
    action: Action
    params: Mapping[str, terms.Var]
    scope: Mapping[terms.Var, int]
    guards: tuple[tuple[Guard, Evaluate], ...]
    effects: tuple[Effects, ...]
    choices: Sequence[Choices]  #: By n: the choices of parameters for which the first n guards hold.
    #: Pairs of places of values that are drawn fresh in one step, and so have to differ.
    drawn: tuple[tuple[int, int], ...]

    def distinct(self, frame: Frame) -> bool:
        """Whether the values that are drawn fresh in one step differ."""
        return all(frame[one] != frame[other] for one, other in self.drawn)


class Machine:
    """A protocol on one instance, in one state.

    ``instance`` has to contain every element that steps are going to name. ``named`` has, for sorts that are drawn
    fresh, the elements that the trace names, if that is known; all other elements are interchangeable. ``complete``
    says that honest roles record every step, so the machine takes no deduction of theirs before they record it.

    Raises AmbiguousTraceError if setting up the instance costs more than ``work``.
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
        """Compile a deduction; return None if no guard depends on it, or if rigid facts make it impossible."""
        heads = [terms.Apply(update.symbol, update.args) for update in action.updates if update.symbol in self._kept]
        if not action.deduction or not heads:
            return None
        parts = [part for guard in action.guards for part in conjuncts(guard.formula)]
        if any(self._never(part) for part in parts):
            return None
        scope = self._compiler.scope(action.params)
        if not any(update.each for update in action.updates):
            parts.append(terms.Not(terms.And(tuple(heads))))  # if all conclusions hold, the deduction adds nothing
        return Rule(action, scope, self._effects(action, scope), Choices(self._compiler, action.params, parts, scope))

    def _never(self, part: terms.Term) -> bool:
        if terms.free_variables(part) or any(symbol.mutable for symbol in terms.symbols_of(part)):
            return False
        holds = self._compiler.term(part, {})
        return not holds(self._frame())

    # -- steps -------------------------------------------------------------------------------------

    def actions_of_corrupt_parties(self) -> frozenset[str]:
        """Return the actions that are impossible as only an honest party takes them, and the party is corrupt here."""
        return frozenset(
            action.name
            for action in self.protocol.actions
            if any(guard.kind is GuardKind.ACTOR and self._never(guard.formula) for guard in action.guards)
        )

    def misfit(self, step: TraceStep) -> str:
        """Return what is wrong with a step, whatever the state is; empty if nothing is."""
        found = self._actions.get(step.action)
        if found is None:
            return unknown_name("action", step.action, self.protocol.id, self._actions)
        action = found.action
        if step.by != action.by.name:
            return f"{action.name} is a step of the {action.by.name}, not of '{step.by}'"
        for name, element in step.args:
            if name not in found.params:
                return unknown_name("parameter", name, action.name, found.params)
            sort = found.params[name].sort.name
            if element not in self._elements[sort]:
                return f"{action.name}: '{element}' is not a {sort} of this trace"
        return ""

    def moves(self, step: TraceStep) -> list[Move]:
        """Return the possible moves of a step, one for each relevant choice of its missing arguments.

        The step has to be well-formed, see :meth:`misfit`. The list is empty if the step is not enabled. It has at
        most ``MOST_WAYS`` + 1 moves.
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
        """Return why a well-formed step is not enabled in this state."""
        found = self._actions[step.action]
        if len(step.args) < len(found.params):
            return self._why_none(found, step)
        frame = self._frame_of(step, found)
        for guard, holds in found.guards:
            if not holds(frame):
                return self._refused(found, guard, frame)
        return _same_draw(found.action)

    def take(self, move: Move) -> None:
        """Apply the changes of a move, and take every deduction that they enable."""
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
        """Apply changes; return those that had an effect."""
        return [change for change in changes if self._keep(change.apply())]

    def _keep(self, undo: tables.Undo | None) -> bool:
        """Store how to undo a change, if it had an effect and a follower keeps a journal; return whether it had one."""
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
        known = choices.mask_of(var for var in found.action.params if var.name in given)
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
        """Name the first guard that cannot hold together with the guards before it, for any missing arguments."""
        action, given = found.action, step.env
        missing = ", ".join(var.name for var in action.params if var.name not in given)
        for choices, guard in zip(found.choices[1:], action.guards, strict=True):
            known = choices.mask_of(var for var in action.params if var.name in given)
            if next(choices.each(self._frame_of(step, found), known), None) is None:
                why = self._refused(found, guard, self._frame_of(step, found))
                return f"{why}, for every choice of {missing}"
        return _same_draw(action)


def _candidates(protocol: Protocol, instance: Instance, named: Mapping[str, Collection[str]]) -> dict[Sort, Candidates]:
    """Return the candidates for missing arguments, for each sort with interchangeable elements.

    The first element of a sort is no such element, as it is the initial value of functions; nor is one that a rigid
    symbol distinguishes.
    """
    rigid = {sort for symbol in protocol.symbols if not symbol.mutable for sort in (*symbol.domain, symbol.result)}
    plain = (sort for sort in protocol.sorts if sort.fresh and sort.name in named and sort not in rigid)
    return {sort: Candidates([*named[sort.name], *instance.of(sort)[:1]], instance.of(sort)) for sort in plain}


def _same_draw(action: Action) -> str:
    return f"{action.name}: values that are drawn fresh together have to differ"


# --------------------------------------------------------------------------------------------------
# Rules: the compiled deductions of a protocol, and which of them to evaluate again when a row changes.


@dataclass(frozen=True, slots=True)
class Rule:
    """A compiled deduction."""

    action: Action
    scope: Mapping[terms.Var, int]
    effects: tuple[Effects, ...]
    choices: Choices


@dataclass(frozen=True, slots=True)
class Trigger:
    """An occurrence of a symbol in a rule: a changed row of the symbol determines some parameters of the rule."""

    rule: Rule
    places: tuple[tuple[int, int], ...]  #: Pairs of a position in the row and the place in the frame that it fills.
    equal: tuple[tuple[int, int], ...]  #: Pairs of positions in the row that hold the same parameter.
    #: Positions in the row, each with the member of an enumeration that it has to hold.
    members: tuple[tuple[int, str], ...]
    known: int

    def fits(self, row: Sequence[str], frame: Frame) -> bool:
        """Whether the rule may read the row; the parameters that the row determines are put into the frame."""
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
        known=rule.choices.mask_of(first),
    )


def triggers(protocol: Protocol, rules: Iterable[Rule]) -> dict[str, list[Trigger]]:
    """Return, for each symbol, where rules read it, and where they deduce it again after it was removed."""
    updates = [update for action in protocol.actions for update in action.updates]
    lost = {update.symbol for update in updates if update.effect is Effect.REMOVE}
    found: dict[str, list[Trigger]] = {}
    for rule in rules:
        for part in dict.fromkeys(_reads_of(rule.action, lost)):
            found.setdefault(part.symbol.name, []).append(_trigger(rule, part.args))
    return found


def _reads_of(rule: Action, lost: set[Symbol]) -> Iterable[terms.Apply]:
    """Yield the occurrences of mutable symbols in a rule, and those of its conclusions that can be removed."""
    formulas = [guard.formula for guard in rule.guards]
    for update in rule.updates:
        head = (terms.Apply(update.symbol, update.args),) if update.symbol in lost else update.args
        formulas += [*head, update.when]
    parts = (part for term in formulas for part in terms.subterms(term))
    return (part for part in parts if isinstance(part, terms.Apply) and part.symbol.mutable)


# --------------------------------------------------------------------------------------------------
# Following a trace: one step after another, with backtracking over the choices of missing arguments.


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first event that no run of the spec explains, and why; ``index`` counts events from 0."""

    index: int
    step: TraceStep | TraceCheck | TraceEnd
    why: str


@dataclass(slots=True)
class _Branch:
    """A choice point: a step of the trace that has further possible moves."""

    taken: int  #: How many steps were taken before it.
    changes: int  #: The length of the journal before it, counting entries that were dropped since.
    others: list[Move]  #: The moves still to try; the last one is next.


class Follower:
    """Takes the steps of one trace, as they arrive, in its own machine.

    If missing arguments allow several moves, one is taken and the others are stored for backtracking. If too many are
    stored, the oldest are dropped: a trace that could only continue from them is undecided.
    """

    def __init__(self, machine: Machine, ignored: Collection[str] = ()) -> None:
        """Follow a trace in ``machine``; steps of ``ignored`` actions are skipped."""
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
        """The work that the trace may still cost."""
        return self._machine.work

    @property
    def choice_points(self) -> int:
        """The number of choice points."""
        return len(self._branches)

    @property
    def stored_changes(self) -> int:
        """The number of stored changes: those to undo, and those of moves still to try."""
        return len(self._machine.journal or ()) + self._waiting

    def take(self, step: TraceStep) -> Divergence | None:
        """Take the next step; return the divergence if no run of the spec explains the trace up to here.

        Raises AmbiguousTraceError if too much is missing from the trace to decide it.
        """
        self.work.add_event_allowance()
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
        """Take the next move of the last choice point, and return the steps to be taken again after it."""
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
        ahead = deque[TraceStep]()  # collected from the end, as the steps before the choice point may be a long trace
        ahead.extendleft(itertools.islice(reversed(self._steps), len(self._steps) - (self._taken - self._since)))
        return ahead

    def _forget(self) -> None:
        """Drop the oldest choice points until the stored changes are within the limit."""
        journal = self._machine.journal
        while journal is not None and self.stored_changes > tables.MOST_KEPT:
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
