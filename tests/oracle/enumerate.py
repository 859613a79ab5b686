"""Every structure of given sizes and every state it can reach: what is true of a small protocol, by brute force.

The enumerator is written from the documentation of the language alone and shares no code with the engines or the
interpreter of ``carnet_check``, so a mistake that they all make shows here. It takes nothing early and skips one thing
only: of start states that differ in the names of their elements, one is looked at.

* Rigid symbols mean anything that the axioms allow; constants may coincide.
* A relation without an initial value starts empty; a function or variable without one starts anywhere, row by row.
* A step takes any arguments that its guards allow. A fresh parameter is any unused element, and two fresh parameters of
  one sort are different elements.
* All guards and updates read the state before. Two updates of a step that disagree about a cell are a *conflict*,
  unless the second is an exception to a wider sweep.
* A rule is a step like any other, never forced.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from carnet_spec.language import Protocol, Sort
from carnet_spec.language.terms import BOOL, Not, symbols_of
from tests.oracle import evaluate
from tests.oracle.machine import Layout, State, Successors, Test, successors_of, test_of, value_at

BUDGET = 20_000
Taken = tuple[str, evaluate.Row]  #: An action and its arguments.
Asked = tuple[str, str]  #: What was asked, and the id of the threat model under which.
ANYTHING = ""  #: The threat model of a protocol that declares none: it assumes nothing.


@dataclass(frozen=True)
class Witness:
    """How something comes about: the structure at first, the steps taken, the structure afterwards."""

    first: evaluate.Structure
    steps: tuple[Taken, ...]
    last: evaluate.Structure


@dataclass
class Answers:
    """What is true at the sizes looked at, under each threat model of the protocol."""

    models: set[str] = field(default_factory=set)  #: the threat models that some structure satisfies.
    #: for each claim or ``lemma <name>`` that is false somewhere, a way there.
    violated: dict[Asked, Witness] = field(default_factory=dict)
    #: for each ``goal <name>`` and each premise ``<claim>/<n>`` that holds somewhere, a way there.
    reached: dict[Asked, Witness] = field(default_factory=dict)
    #: for each action whose updates disagree in a reachable state, a way there.
    conflicts: dict[Asked, Witness] = field(default_factory=dict)
    fired: set[Asked] = field(default_factory=set)  #: the actions that can be taken.
    states: int = 0  #: how many states were looked at.
    #: the sizes that were not looked at, because they are too big.
    too_big: list[evaluate.Sizes] = field(default_factory=list)

    def add(self, found: Answers) -> None:
        """Take in what was found at other sizes; what was there before is kept."""
        self.models |= found.models
        self.fired |= found.fired
        self.states += found.states
        self.violated = found.violated | self.violated
        self.reached = found.reached | self.reached
        self.conflicts = found.conflicts | self.conflicts


def enumerate_all(protocol: Protocol, most: int = 2, budget: int = BUDGET) -> Answers:
    """Return what is true of ``protocol`` at all sizes up to ``most``; those over the budget are named."""
    answers = Answers()
    for sizes in evaluate.all_sizes(protocol, most):
        try:
            found = enumerate_at(protocol, sizes, budget)
        except evaluate.TooBigError:
            answers.too_big.append(sizes)
        else:
            answers.add(found)
    return answers


def enumerate_at(protocol: Protocol, sizes: evaluate.Sizes, budget: int = BUDGET) -> Answers:
    """Return what is true of ``protocol`` at ``sizes``, under each of its threat models.

    Raises TooBigError if there are more structures, or more states, than ``budget``; NotASpecificationError if an axiom
    or an initial value reads what changes.
    """
    _require_meaning(protocol)
    return _Enumeration(protocol, sizes, budget).answers()


def _require_meaning(protocol: Protocol) -> None:
    rigid_only = [axiom.formula for axiom in protocol.axioms]
    rigid_only += [axiom.formula for threat in protocol.threats for axiom in threat.axioms]
    rigid_only += [initial.value for initial in protocol.initial]
    for term in rigid_only:
        changing = [symbol.name for symbol in symbols_of(term) if symbol.mutable]
        if changing:
            raise evaluate.NotASpecificationError(f"an axiom or an initial value reads {changing[0]}, which changes")
    started = [initial.symbol for initial in protocol.initial]
    if len(set(started)) != len(started):
        raise evaluate.NotASpecificationError("a symbol has two initial values")


class _Enumeration:
    """Everything there is to look at for one protocol and one choice of sizes."""

    def __init__(self, protocol: Protocol, sizes: evaluate.Sizes, budget: int) -> None:
        self.protocol = protocol
        self.budget = budget
        self.layout = layout = Layout.of(protocol, sizes)
        self.steps = [(action.name, successors_of(action, layout)) for action in protocol.actions]
        self.wrong = {name: test_of(Not(formula), layout) for name, formula in evaluate.always_asked(protocol).items()}
        self.somewhere = {
            name: test_of(formula, layout) for name, formula in evaluate.somewhere_asked(protocol).items()
        }
        self.threats: dict[str, list[Test]] = {
            threat.id: [test_of(axiom.formula, layout) for axiom in threat.axioms] for threat in protocol.threats
        }
        self.threats = self.threats or {ANYTHING: []}
        self.found = Answers()

    def answers(self) -> Answers:
        """Explore each world, and say what was found."""
        for meaning, starts in worlds(self.protocol, self.layout, self.budget):
            allowed = [id for id, axioms in self.threats.items() if all(axiom(meaning) for axiom in axioms)]
            self.found.models.update(allowed)
            if allowed:
                _Exploration(self, allowed).run(starts)
        return self.found


class _Exploration:
    """The states that are reachable in one world: with one meaning of the rigid symbols."""

    def __init__(self, around: _Enumeration, threats: list[str]) -> None:
        self.around = around
        self.found = around.found
        self.threats = threats
        self.came_from: dict[State, tuple[State, Taken] | None] = {}
        self.wrong = self._open(around.wrong, self.found.violated)
        self.somewhere = self._open(around.somewhere, self.found.reached)

    def _open(self, tests: dict[str, Test], found: dict[Asked, Witness]) -> dict[str, Test]:
        """Return the ``tests`` whose answer is not known yet under all threat models of this world."""
        return {name: test for name, test in tests.items() if any((name, id) not in found for id in self.threats)}

    def run(self, starts: list[State]) -> None:
        """Visit every reachable state once."""
        waiting = list(starts)
        self.came_from.update(dict.fromkeys(waiting))
        for state in waiting:  # grows while it is walked through
            self._look(state)
            for name, successors in self.around.steps:
                for args, after in successors(state):
                    self.found.fired.update((name, id) for id in self.threats)
                    if after is None:
                        self._tell(self.found.conflicts, name, state)
                    elif after not in self.came_from:
                        self.came_from[after] = (state, (name, args))
                        waiting.append(after)
            if self.found.states + len(waiting) > self.around.budget:
                raise evaluate.TooBigError(f"more than {self.around.budget} states")
        self.found.states += len(waiting)

    def _look(self, state: State) -> None:
        for tests, found in ((self.wrong, self.found.violated), (self.somewhere, self.found.reached)):
            for name in [name for name, test in tests.items() if test(state)]:
                self._tell(found, name, state)
                del tests[name]

    def _tell(self, found: dict[Asked, Witness], name: str, state: State) -> None:
        """Record ``state`` as the witness for ``name``, where there is none yet."""
        missing = [id for id in self.threats if (name, id) not in found]
        if missing:
            witness = self._witness(state)
            found.update({(name, id): witness for id in missing})

    def _witness(self, state: State) -> Witness:
        first, steps = state, []
        while (before := self.came_from[first]) is not None:
            first, taken = before
            steps.append(taken)
        structure = self.around.layout.structure
        return Witness(structure(first), tuple(reversed(steps)), structure(state))


# -- every way a protocol can begin at fixed sizes -------------------------------------------------------


Renaming = dict[Sort, tuple[int, ...]]  #: For each open sort, the new name of each element.


def worlds(protocol: Protocol, layout: Layout, budget: int) -> Iterator[tuple[State, list[State]]]:
    """Yield each meaning of the rigid symbols that the axioms allow, with the first states that it has.

    Of several that differ in the names of their elements only, the first is yielded: no term can name an element, so
    what happens in one happens in the others, by other names.
    """
    rigid = layout.cells[: layout.rigid_cells]
    choices = [range(evaluate.size_of(symbol.result, layout.sizes)) for symbol, _ in rigid]
    _limit(choices, budget)
    axioms = [test_of(axiom.formula, layout) for axiom in protocol.axioms]
    renamings = list(_renamings(protocol, layout))
    first = _FirstStates(protocol, layout)
    for meaning in itertools.product(*choices):
        if all(axiom(meaning) for axiom in axioms):
            _limit(first.choices(meaning), budget)
            starts = [meaning + rest for rest in itertools.product(*first.choices(meaning))]
            kept = [start for start in starts if all(start <= renamed(start) for renamed in renamings)]
            if kept:
                yield meaning, kept


def _limit(choices: list[range], budget: int) -> None:
    if math.prod(map(len, choices)) > budget:
        raise evaluate.TooBigError(f"more than {budget} structures")


class _FirstStates:
    """The values that each mutable cell may have at first."""

    def __init__(self, protocol: Protocol, layout: Layout) -> None:
        self.layout = layout
        self.given = {initial.symbol: value_at(initial.value, initial.params, layout) for initial in protocol.initial}

    def choices(self, meaning: State) -> list[range]:
        """Return the possible first values of each mutable cell, given the ``meaning`` of the rigid symbols."""
        return [
            self._cell(symbol.result, self.given.get(symbol), meaning, row)
            for symbol, row in self.layout.cells[self.layout.rigid_cells :]
        ]

    def _cell(
        self, sort: Sort, given: Callable[[State, evaluate.Row], int] | None, meaning: State, row: evaluate.Row
    ) -> range:
        if given is not None:
            value = given(meaning, row)
            return range(value, value + 1)
        return range(1) if sort == BOOL else range(evaluate.size_of(sort, self.layout.sizes))


def _renamings(protocol: Protocol, layout: Layout) -> Iterator[Callable[[State], State]]:
    """Yield a function from states to states for each renaming of elements."""
    sorts = evaluate.sorts_of(protocol)
    orders = (itertools.permutations(range(evaluate.size_of(sort, layout.sizes))) for sort in sorts)
    for order in itertools.product(*orders):
        yield _renaming(dict(zip(sorts, order, strict=True)), layout)


def _renaming(renaming: Renaming, layout: Layout) -> Callable[[State], State]:
    """Return what renames the elements of a whole state: f(a) = b becomes f(a') = b'."""

    def renamed(sort: Sort, element: int) -> int:
        return renaming[sort][element] if sort in renaming else element

    position = {cell: index for index, cell in enumerate(layout.cells)}
    moves = []
    for index, (symbol, row) in enumerate(layout.cells):
        new_row = tuple(renamed(sort, element) for sort, element in zip(symbol.domain, row, strict=True))
        moves.append((index, position[symbol, new_row], renaming.get(symbol.result)))

    def rename(state: State) -> State:
        new = [0] * len(state)
        for old_place, new_place, names in moves:
            value = state[old_place]
            new[new_place] = value if names is None else names[value]
        return tuple(new)

    return rename


# -- how many steps it takes to break a claim ------------------------------------------------------------


def shortest_at(protocol: Protocol, sizes: evaluate.Sizes, most: int, budget: int) -> dict[Asked, int]:
    """Return the least number of steps, ``most`` or fewer, that break each claim under each threat model.

    A rule is a step like any other. What is not named is broken by no run of so few steps.

    Raises TooBigError if there are more structures, or more states in one, than ``budget``.
    """
    layout = Layout.of(protocol, sizes)
    steps = [successors_of(action, layout) for action in protocol.actions]
    wrong = {name: test_of(Not(formula), layout) for name, formula in evaluate.always_asked(protocol).items()}
    threats = {threat.id: [test_of(axiom.formula, layout) for axiom in threat.axioms] for threat in protocol.threats}
    found: dict[Asked, int] = {}
    for meaning, starts in worlds(protocol, layout, budget):
        allowed = [id for id, axioms in (threats or {ANYTHING: []}).items() if all(axiom(meaning) for axiom in axioms)]
        if allowed:
            for depth, level in enumerate(_levels(starts, steps, most, budget)):
                broken = [name for name, test in wrong.items() if any(map(test, level))]
                for asked in ((name, id) for name in broken for id in allowed):
                    found[asked] = min(depth, found.get(asked, depth))
    return found


def _levels(starts: list[State], steps: Iterable[Successors], most: int, budget: int) -> Iterable[list[State]]:
    """Yield the states that no fewer steps lead to than none, one, and so on."""
    seen = set(starts)
    level = starts
    for depth in range(most + 1):
        yield level
        if depth == most:
            return
        further = (after for state in level for successors in steps for _, after in successors(state))
        level = [state for state in dict.fromkeys(further) if state is not None and state not in seen]
        seen.update(level)
        if len(seen) > budget:
            raise evaluate.TooBigError(f"more than {budget} states")
