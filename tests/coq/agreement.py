"""Formulas that the program prints, compiled to Python: what they say of a finite structure.

The interpreter of Carnet has no part in it.
"""

import csv
import itertools
import random
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import click

from carnet_check.exports.coq_data import encode_value, numbers
from carnet_check.exports.systems import Name, Node, system
from carnet_check.loading.families import load
from carnet_check.semantics import Interpreter, State
from carnet_check.semantics.evaluation import Evaluation
from carnet_check.semantics.interpreter import Firing
from carnet_spec.language import Action, Instance, Protocol, Row, Sort, Symbol
from tests.coq.coq_files import said


class World(NamedTuple):
    """A state with its structure: tables of symbols and elements of sorts, by number, and the members."""

    relations: Mapping[int, Collection[Row]]
    functions: Mapping[int, Mapping[Row, str]]
    elements: Mapping[int, Row]
    members: Mapping[int, str]


#: Whether a formula holds in a world, where the row lists the elements for its free variables, ``Bound 0`` first.
Truth = Callable[[World, Row], bool]
_TOKEN = re.compile(r"[()]|[^\s()]+")
_JOINED = {"And": " and ", "Or": " or "}


def parsed(text: str) -> Any:
    """Return the lists that a text in brackets holds."""
    outer: list[list[Any]] = [[]]
    for token in _TOKEN.findall(text):
        if token == "(":
            outer.append([])
        elif token == ")":
            outer[-2].append(outer.pop())
        else:
            outer[-1].append(token)
    (found,) = outer[0]
    return found


def within(formula: Any, binders: int) -> Any:
    """Return what stands below so many universal quantifiers."""
    for _ in range(binders):
        assert formula[0] == "Forall"
        formula = formula[2]
    return formula


def compiled(formula: Any) -> Truth:
    found: Truth = eval(f"lambda w, x: {_formula(formula, 0)}", {"__builtins__": {"all": all, "any": any}})
    return found


def _formula(formula: Any, depth: int) -> str:
    match formula:
        case ["Const", value]:
            return str(value == "true")
        case ["Holds", symbol, args]:
            return f"({_row(args, depth)} in w.relations[{symbol}])"
        case ["Equal", left, right]:
            return f"({_term(left, depth)} == {_term(right, depth)})"
        case ["Not", body]:
            return f"(not {_formula(body, depth)})"
        case ["And" | "Or" as word, *_]:
            return f"({_JOINED[word].join(_formula(part, depth) for part in _parts(word, formula))})"
        case ["Implies", premise, conclusion]:
            return f"(not {_formula(premise, depth)} or {_formula(conclusion, depth)})"
        case ["Choose", test, yes, no]:
            return f"({_formula(yes, depth)} if {_formula(test, depth)} else {_formula(no, depth)})"
        case ["Forall" | "Exists" as word, sort, body]:
            every = "all" if word == "Forall" else "any"
            return f"{every}({_formula(body, depth + 1)} for v{depth} in w.elements[{sort}])"
    raise AssertionError(f"no formula: {formula}")


def _parts(word: str, formula: Any) -> Iterator[Any]:
    if formula[0] == word:
        yield from _parts(word, formula[1])
        yield from _parts(word, formula[2])
    else:
        yield formula


def _term(term: Any, depth: int) -> str:
    match term:
        case ["Bound", index]:
            return f"v{depth - 1 - int(index)}" if int(index) < depth else f"x[{int(index) - depth}]"
        case ["Member", number]:
            return f"w.members[{number}]"
        case ["Apply", symbol, args]:
            return f"w.functions[{symbol}][{_row(args, depth)}]"
    raise AssertionError(f"no term: {term}")


def _row(args: Any, depth: int) -> str:
    return f"({''.join(_term(arg, depth) + ',' for arg in args)})"


# -- the meaning of specifications in Coq against Carnet's interpreter -----------------------------------


COLUMNS = ["variant", "digest", "comparisons", "differing", "true", "changed", "actions", "of", "symbols", "of"]
DIGITS = 16  #: How much of the digest of a variant the table has.
PROTOCOL = "gpu-travelling"
ROWS = 30  #: The most rows of a symbol that are compared after one step.


@dataclass
class Counts:
    """What was compared."""

    comparisons: int = 0
    true: int = 0
    changed: int = 0
    actions: set[str] = field(default_factory=set)
    symbols: set[str] = field(default_factory=set)  #: Those of which some row changed in a step.
    differing: list[str] = field(default_factory=list)

    def note(self, expected: bool, found: bool, what: str) -> None:
        """Note what the interpreter and the formula say of one thing."""
        self.comparisons += 1
        self.true += expected
        if expected is not found:
            self.differing.append(what)


class Comparison:
    """One protocol, with what the program in Coq makes of its formulas."""

    def __init__(self, protocol: Protocol, seed: int) -> None:
        self.protocol = protocol
        self.counts = Counts()
        self._random = random.Random(seed)
        self._system = system(protocol.canonical_json)
        self._number = numbers(self._system)
        self._mutable = [symbol for symbol in protocol.symbols if symbol.mutable]
        self._formulas: dict[tuple[str, ...], list[Truth]] = {}

    # -- what the program says -------------------------------------------------------------------------------------

    @cached_property
    def _said(self) -> dict[tuple[str, ...], str]:
        """What each formula is at the start and after each action, and what actions ask."""
        claims = {claim.name: claim.value for layer in self._system.layers for claim in layer.claims}
        formulas = [*map(_atom, self._mutable), *(claims[each.name] for each in self.protocol.invariants)]
        lines = said("after", self._system, "\n".join(encode_value(each, self._number) for each in formulas))
        return {tuple(head.split()): f"({rest}" for head, _, rest in (line.partition(" (") for line in lines)}

    def _formula(self, *key: str, binders: int = 0) -> Truth:
        """Return a formula that the program printed, compiled when it is first asked for."""
        if key not in self._formulas:
            self._formulas[key] = [compiled(within(parsed(self._said[key]), binders))]
        return self._formulas[key][0]

    def _asked(self, action: str) -> list[Truth]:
        """Return the guards of an action, and that the values that it draws differ."""
        key = ("asks", action)
        if key not in self._formulas:
            self._formulas[key] = [compiled(each) for each in parsed(self._said[key])]
        return self._formulas[key]

    # -- structures and states -------------------------------------------------------------------------------------

    def _instance(self) -> Instance:
        """Draw a structure of one to three elements of each sort."""
        elements = {
            sort.name: tuple(f"{sort.name}{n}" for n in range(self._random.choice((1, 2, 2, 3))))
            for sort in self.protocol.sorts
            if sort.members is None
        }
        rigid = [symbol for symbol in self.protocol.symbols if not symbol.mutable]
        return Instance(elements, *self._tables(rigid, Instance(elements)))

    def _state(self, instance: Instance) -> State:
        return State(*self._tables(self._mutable, instance))

    def _tables(
        self, symbols: Sequence[Symbol], instance: Instance
    ) -> tuple[dict[str, frozenset[Row]], dict[str, dict[Row, str]]]:
        choice, relations, functions = self._random, {}, {}
        for symbol in symbols:
            rows = list(_rows(instance, symbol.domain))
            if symbol.is_relation:
                often = choice.choice((0.2, 0.5, 0.8))
                relations[symbol.name] = frozenset(row for row in rows if choice.random() < often)
            else:
                functions[symbol.name] = {row: choice.choice(instance.of(symbol.result)) for row in rows}
        return relations, functions

    def _world(self, instance: Instance, state: State) -> World:
        number = self._number
        relations = {**instance.relations, **state.relations}
        functions = {**instance.functions, **state.functions}
        return World(
            {number[Name("symbol", name)]: rows for name, rows in relations.items()},
            {number[Name("symbol", name)]: table for name, table in functions.items()},
            {number[Name("sort", sort.name)]: instance.of(sort) for sort in self.protocol.sorts},
            self._members,
        )

    @cached_property
    def _members(self) -> dict[int, str]:
        named = ((sort.name, member) for sort in self.protocol.sorts for member in sort.members or ())
        return {self._number[Name("member", f"{sort}.{member}")]: member for sort, member in named}

    def row(self) -> list[int]:
        """Return the numbers of the table; of symbols, those count that some action changes."""
        found = self.counts
        changing = {update.symbol.name for action in self.protocol.actions for update in action.updates}
        sizes = [len(found.actions), len(self.protocol.actions), len(found.symbols), len(changing)]
        return [found.comparisons, len(found.differing), found.true, found.changed, *sizes]

    # -- comparisons -----------------------------------------------------------------------------------------------

    def compare(self, comparisons: int) -> Counts:
        """Compare so many times at least, and then until every symbol that actions change was seen to change.

        In each state every action happens; after that many comparisons only those that change what was not seen to
        change. What is not seen to change in three times as many comparisons is given up.
        """
        while self.counts.comparisons < comparisons:
            instance = self._instance()
            self._compare_start(instance)
            self._compare_state(instance, range(len(self.protocol.actions)))
        while (places := self._changing_what_is_missing()) and self.counts.comparisons < 3 * comparisons:
            self._compare_state(self._instance(), places)
        return self.counts

    def _changing_what_is_missing(self) -> list[int]:
        """Return the places of the actions that change a symbol that was not seen to change."""
        seen = self.counts.symbols
        return [
            place
            for place, action in enumerate(self.protocol.actions)
            if any(update.symbol.name not in seen for update in action.updates)
        ]

    def _compare_state(self, instance: Instance, places: Sequence[int]) -> None:
        """Compare what happens in one random state after the actions of these places."""
        state = self._state(instance)
        for place in places:
            self._compare_step(instance, state, place, self.protocol.actions[place])

    def _compare_start(self, instance: Instance) -> None:
        """Compare the first state, and a few invariants there; what starts anywhere is as the state has it."""
        judge = Interpreter(self.protocol, instance)
        start = judge.start()
        world = self._world(instance, start)
        for place, symbol in enumerate(self._mutable):
            self._compare_atoms(instance, symbol, start, world, ("start", str(place)), ())
        count = len(self.protocol.invariants)
        for place in self._random.sample(range(count), min(5, count)):
            invariant = self.protocol.invariants[place]
            expected = judge.holds(invariant.formula, start)
            found = self._formula("start", str(len(self._mutable) + place))(world, ())
            self.counts.note(expected, found, f"{invariant.name} at the start")

    def _compare_step(self, instance: Instance, before: State, place: int, action: Action) -> None:
        evaluation = Evaluation(instance)
        env = self._arguments(evaluation, before, action)
        args = tuple(env.values())
        world = self._world(instance, before)
        self._compare_guards(evaluation, before, world, str(place), action, env)
        after = Firing(self.protocol, evaluation).successor(before, action, env)
        changed = {update.symbol for update in action.updates}
        for number, symbol in enumerate(self._mutable):
            if symbol in changed or self._random.random() < 0.1:
                key = ("after", str(place), str(number))
                self._compare_atoms(instance, symbol, after, world, key, args, before)
        self._compare_invariant(evaluation, after, world, str(place), action, args)
        self.counts.actions.add(action.name)

    def _arguments(self, evaluation: Evaluation, before: State, action: Action) -> dict[str, str]:
        """Draw arguments; every other time, of several the ones with which most updates take place."""

        def taking_place(env: dict[str, str]) -> int:
            conditions = (update.when for update in action.updates if not update.each)
            return sum(bool(evaluation.value(condition, before, env)) for condition in conditions)

        choices = evaluation.instance.of
        drawn = (
            {var.name: self._random.choice(choices(var.sort)) for var in action.params}
            for _ in range(self._random.choice((1, 8)))
        )
        return max(drawn, key=taking_place)

    def _compare_atoms(
        self,
        instance: Instance,
        symbol: Symbol,
        after: State,
        world: World,
        key: tuple[str, ...],
        args: Row,
        before: State | None = None,
    ) -> None:
        """Compare a relation at some rows, or a function at some rows with some values; first of all what changed."""
        domain = symbol.domain if symbol.is_relation else (*symbol.domain, symbol.result)
        formula = self._formula(*key, binders=len(domain))
        rows = list(_rows(instance, domain))
        changed = (
            [] if before is None else [row for row in rows if _is(symbol, row, after) is not _is(symbol, row, before)]
        )
        for row in dict.fromkeys((*changed[:ROWS], *self._random.sample(rows, min(ROWS, len(rows))))):
            expected = _is(symbol, row, after)
            self.counts.note(expected, formula(world, (*reversed(row), *args)), f"{symbol.name}{row} {' '.join(key)}")
            if row in changed:
                self.counts.changed += 1
                self.counts.symbols.add(symbol.name)

    def _compare_guards(
        self, evaluation: Evaluation, state: State, world: World, place: str, action: Action, env: dict[str, str]
    ) -> None:
        asked, args = self._asked(place), tuple(env.values())
        for guard, formula in zip(action.guards, asked, strict=False):
            expected = bool(evaluation.value(guard.formula, state, env))
            self.counts.note(expected, formula(world, args), f"guard '{guard.name}' of {action.name}")
        drawn = [(var.sort, env[var.name]) for var in action.fresh]
        apart = all(formula(world, args) for formula in asked[len(action.guards) :])
        self.counts.note(len(set(drawn)) == len(drawn), apart, f"what {action.name} draws differs")

    def _compare_invariant(
        self, evaluation: Evaluation, after: State, world: World, place: str, action: Action, args: Row
    ) -> None:
        number = self._random.randrange(len(self.protocol.invariants))
        invariant = self.protocol.invariants[number]
        expected = bool(evaluation.value(invariant.formula, after, {}))
        found = self._formula("after", place, str(len(self._mutable) + number))(world, args)
        self.counts.note(expected, found, f"{invariant.name} after {action.name}")


def _atom(symbol: Symbol) -> Node:
    """Return the closed formula that a relation holds everywhere, or that a function is everything everywhere."""
    arguments = len(symbol.domain)
    sorts = symbol.domain if symbol.is_relation else (*symbol.domain, symbol.result)
    bound = tuple(Node("Bound", (len(sorts) - 1 - place,)) for place in range(arguments))
    name = Name("symbol", symbol.name)
    if symbol.is_relation:
        formula = Node("Holds", (name, bound))
    else:
        formula = Node("Equal", (Node("Apply", (name, bound)), Node("Bound", (0,))))
    for sort in reversed(sorts):
        formula = Node("Forall", (Name("sort", sort.name), formula))
    return formula


def _is(symbol: Symbol, row: Row, state: State) -> bool:
    if symbol.is_relation:
        return row in state.relations[symbol.name]
    return state.functions[symbol.name][row[:-1]] == row[-1]


def _rows(instance: Instance, sorts: Sequence[Sort]) -> Iterator[Row]:
    return itertools.product(*(instance.of(sort) for sort in sorts))


@click.command()
@click.option("--out", type=click.Path(path_type=Path), required=True, help="The table to write.")
@click.option("--comparisons", default=600_000, help="How many to make, at least, for each variant.")
@click.option("--seed", default=1, help="Begins the random choices.")
def main(out: Path, comparisons: int, seed: int) -> None:
    """Compare all main variants with their layers, and write down what was compared."""
    family = load(PROTOCOL).family
    with out.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for variant in family.with_layers(family.main):
            comparison = Comparison(family.protocol(variant), seed)
            counts = comparison.compare(comparisons)
            if counts.differing:
                raise click.ClickException(f"{variant}: {len(counts.differing)} differ, first {counts.differing[0]}")
            writer.writerow([variant, comparison.protocol.digest[:DIGITS], *comparison.row()])


if __name__ == "__main__":
    main()
