"""Writes a protocol on an instance as C: the successors of a state, and the monitors that hold in it.

Every ground step is one leaf of a decision tree, which branches on the values of places. Places that the guards of many
steps read come first, and are read once for all of them. Updates are masks. The deductions after a step are made in an
order in which most facts are evaluated once. There are no lookup tables.
"""

from __future__ import annotations

import functools
import itertools
import operator
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property

from carnet_check.engines.explicit.layout import Layout
from carnet_check.engines.explicit.model import Model
from carnet_check.engines.explicit.symmetry import Canonicalizer
from carnet_check.exports.ground.conditions import (
    Condition,
    Every,
    Fact,
    Place,
    Some,
    conjuncts,
    every,
    facts_in,
    negate,
    some,
)
from carnet_check.exports.ground.system import Change, Closing, Ground, Group, Step, ground

WORD = 64
Test = Condition | str  #: A condition, or a C expression of one.
STATE_WORD = re.compile(r"\bs(\d+)\b")  #: The C variables of the words of the state before a step.
SMALL = 2  #: The most leaves that are tried one after the other, without a branch.
DEEPEST = 100  #: The greatest depth of nested ``switch`` statements: compilers allow only some hundreds.


@dataclass(frozen=True, slots=True)
class Bits:
    """The bits of a place in a state: its word, its position there, and the number that encodes each value."""

    word: int
    shift: int
    width: int
    numbers: Mapping[str | bool, int]

    @property
    def mask(self) -> int:
        """The bits of the place in its word."""
        return ((1 << self.width) - 1) << self.shift


@dataclass(frozen=True, slots=True)
class Leaf:
    """C lines with their condition: numbers that places must hold, and further tests (``rest``)."""

    holds: Mapping[Place, int]
    rest: tuple[Test, ...]
    lines: tuple[str, ...]


@dataclass
class Lowering:
    """One model as C."""

    layout: Layout  #: the bits of each place.
    ground: Ground  #: the ground steps and formulas of the model, over the places that have bits.
    budget: int | None  #: the most that the adversary may spend; None if that is unbounded.
    sought: Sequence[Condition]  #: the conditions of the monitors, followed by the premises of the rules of deduction.
    #: computes the representative of states that differ in the names of elements, if any do.
    canonical: Canonicalizer | None
    #: some states that were found; the tree first reads places whose values exclude most leaves in them.
    sample: Sequence[int]
    _known: dict[Place, Bits] = field(default_factory=dict)
    _shares: dict[Place, Counter[int]] = field(default_factory=dict)
    _effects: dict[tuple[str, ...], int] = field(default_factory=dict)
    _closures: dict[tuple[str, ...], int] = field(default_factory=dict)

    @staticmethod
    def of(model: Model, sample: Sequence[int]) -> Lowering:
        """Return the lowering of a model, with ground steps over the places that have bits."""
        looked_for = [*(each.formula for each in model.monitors), *(rule.premises for rule in model.saturation.rules)]
        values = {Place(name, row): model.layout.tables[name].places[row].values for name, row in model.layout.fields}
        written = ground(
            model.protocol,
            model.layout.instance,
            {str(number): formula for number, formula in enumerate(looked_for)},
            values.keys(),
            lambda place: model.relevance.of_place(place.symbol, place.row),
            values,
        )
        sought, budget = [*written.formulas.values()], model.layout.instance.budget
        return Lowering(model.layout, written, budget, sought, model.canonical, sample)

    def lines(self) -> Iterator[str]:
        """Yield the lines of the model's C functions, which ``runtime.c`` calls."""
        known = [0] * self.words
        for table in self.layout.tables.values():
            for place in table.places.values():
                if place.mask:
                    known[place.shift // WORD] |= place.mask >> place.shift // WORD * WORD
        known[0] |= self.layout.spent
        others = " | ".join(f"(s[{word}] & {_hex(~mask & (1 << WORD) - 1)})" for word, mask in enumerate(known))
        yield f"static int foreign(const u64 *s) {{ return ({others}) != 0; }}"
        leaves = [leaf for number, step in enumerate(self.ground.steps) for leaf in self._step(number, step)]
        for step, when in self.ground.strays:
            if not step.action.deduction:
                leaves += self._leaves(self._affordable(step, when), ["return 1;"])
        for conclusions, number in self._closures.items():
            yield f"static void __attribute__((noinline)) conclude{number}(work_t *k) {{"
            yield from (f"    u64 {', '.join(f't{word} = k->t[{word}]' for word in range(self.words))};",)
            yield from (f"    {line}" for line in conclusions)
            yield "}"
        for effect, number in self._effects.items():
            yield f"static void __attribute__((noinline)) effect{number}(work_t *k, u64 step) {{"
            yield from ("    const u64 *s = k->s;", *_loading(f"    {line}" for line in effect))
            yield "}"
        yield "static int follow(work_t *k) {"
        yield from ("    const u64 *s = k->s;", *_loading(self._tree(leaves)))
        yield from ("    return 0;", "}", "")
        for number, when in enumerate(self.sought):
            yield f"static int sees{number}(const u64 *s) {{"
            yield from _loading(self._tree([*self._each_way(when, ["return 1;"])]))
            yield from ("    return 0;", "}")
        sees = ", ".join([*(f"sees{number}" for number in range(len(self.sought))), "0"])
        yield f"static int (*const sees[MONITORS + 1])(const u64 *) = {{{sees}}};"
        yield "static const u64 affects[STEPS + 1][GROUPS] = {"
        yield from (f"    {_words(each, 1 + len(self.sought) // WORD)}," for each in self._affects())
        yield "};"

    def _affects(self) -> Iterator[int]:
        """Yield for each step, as bits, the conditions in ``sought`` that it may make true; at last, all of them."""
        reading: dict[Place, int] = {}
        for number, when in enumerate(self.sought):
            for fact in facts_in(when):
                reading[fact.place] = reading.get(fact.place, 0) | 1 << number
        for step, groups in zip(self.ground.steps, self._deductions, strict=True):
            concluded = (fact for group in groups for fact in group.facts)
            written = {*(change.place for _, change in step.changes), *concluded}
            yield functools.reduce(operator.or_, (reading.get(place, 0) for place in written), 0)
        yield (1 << len(self.sought)) - 1

    @property
    def words(self) -> int:
        """The number of 64-bit words of a state."""
        return 1 + self.layout.bits // WORD

    # -- steps -------------------------------------------------------------------------------------

    def _step(self, number: int, step: Step) -> Iterator[Leaf]:
        when = [condition for _, condition in step.guards]
        effect = self._effects.setdefault(tuple(self._effect(step, self._deductions[number])), len(self._effects))
        yield from self._leaves(self._affordable(step, *when), [f"effect{effect}(k, {number});"])

    def _affordable(self, step: Step, *when: Condition) -> list[Test]:
        conditions: list[Test] = [*when]
        if self.budget is not None and step.action.cost and self.layout.spent:
            conditions.append(f"(s0 & {self.layout.spent}u) <= {self.budget - step.action.cost}u")
        return conditions

    def _effect(self, step: Step, groups: Sequence[Group]) -> list[str]:
        """Return the lines that compute the successor of a step and pass it to ``emit``."""
        changes = [change for _, change in step.changes]
        facts = [fact for group in groups for fact in group.facts]
        cost = step.action.cost if self.layout.spent else 0
        changed = {change.place for change in changes}
        written = {self._bits(place).word for place in changed} | ({0} if cost else set())
        lines = [f"u64 t{word} = s{word};" for word in sorted(written)]
        lines += [self._changed(change) for change in changes]
        if cost:
            lines.append(f"t0 += {cost}u;")
        lines += [f"k->t[{word}] = {'t' if word in written else 's'}{word};" for word in range(self.words)]
        for conclusions in (self._conclusions(groups), self._lacking(changed.union(facts))):
            if conclusions:
                lines.append(f"conclude{self._closures.setdefault(conclusions, len(self._closures))}(k);")
        written |= {self._bits(fact).word for fact in facts}
        named = sum({1 << word % WORD for word in written})
        return [*lines, f"emit(k, {named:#x}ul, step);"]

    def _conclusions(self, groups: Sequence[Group]) -> tuple[str, ...]:
        """Return the lines that make the deductions after a step."""
        lines = tuple(line for group in groups for line in self._concluded(group))
        written = sorted({self._bits(fact).word for group in groups for fact in group.facts})
        return (*lines, *(f"k->t[{word}] = t{word};" for word in written))

    def _lacking(self, changed: Set[Place]) -> tuple[str, ...]:
        """Return the lines that leave a step to Python if a deduction after it writes a place without bits."""
        return tuple(
            f"if ({self._expression(when, after=True)}) k->stopped = STRAY;"
            for stray, when in self.ground.strays
            if stray.action.deduction and any(fact.place in changed for fact in facts_in(when))
        )

    def _changed(self, change: Change) -> str:
        bits = self._bits(change.place)
        target = f"t{bits.word}"
        source = self._copied(change)
        if source is not None:
            value = f"(s{source.word} >> {source.shift} & {source.mask >> source.shift:#x}u) << {bits.shift}"
            return f"{target} = ({target} & ~{_hex(bits.mask)}) | {value};"
        cases = [(self._set(bits, bits.numbers[written]), when) for written, when in change.cases]
        last = cases.pop()[0] if change.keeps is False else ""  # one of the cases holds, or the place keeps its value
        written = [f"if ({self._expression(when)}) {line}" for line, when in cases]
        return " else ".join([*written, *([last] if last else [])])

    def _copied(self, change: Change) -> Bits | None:
        """Return the place whose value a change copies; None if there is none or it encodes values differently."""
        sources = {
            when.place if isinstance(when, Fact) and when == Fact(when.place, value) else None
            for value, when in change.cases
        }
        source = sources.pop() if len(sources) == 1 else None
        if source is None or change.keeps is not False or len(change.cases) < 2:
            return None
        mine, its = self._bits(change.place), self._bits(source)
        same = mine.width == its.width and all(mine.numbers[value] == its.numbers[value] for value, _ in change.cases)
        return its if same else None

    def _set(self, bits: Bits, number: int) -> str:
        if number == 0:
            return f"t{bits.word} &= ~{_hex(bits.mask)};"
        if number << bits.shift == bits.mask:
            return f"t{bits.word} |= {_hex(bits.mask)};"
        return f"t{bits.word} = (t{bits.word} & ~{_hex(bits.mask)}) | {_hex(number << bits.shift)};"

    def _concluded(self, group: Group) -> Iterator[str]:
        lines = []
        for fact, clauses in group.facts.items():
            bits = self._bits(fact)
            when = every((negate(Fact(fact, True)), some(clause.when for clause in clauses)))
            lines.append(f"if ({self._expression(when, after=True)}) {self._set(bits, bits.numbers[True])}")
        if not group.repeated:
            yield from lines
            return
        words = sorted({self._bits(fact).word for fact in group.facts})
        before = ", ".join(f"b{word} = ~t{word}" for word in words)
        yield f"for (u64 {before}; {' || '.join(f'b{word} != t{word}' for word in words)};) {{"
        yield f"    {' '.join(f'b{word} = t{word};' for word in words)}"
        yield from (f"    {line}" for line in lines)
        yield "}"

    def _share(self, place: Place, number: int) -> float:
        """Return the share of the sampled states, from 0 to 1, in which a place holds a number."""
        if place not in self._shares:
            bits = self._bits(place)
            shift, mask = WORD * bits.word + bits.shift, bits.mask >> bits.shift
            self._shares[place] = Counter(state >> shift & mask for state in self.sample)
        return self._shares[place][number] / max(1, len(self.sample))

    @cached_property
    def _deductions(self) -> Sequence[Sequence[Group]]:
        """The deductions after each step."""
        closing = Closing(self.ground)
        return [closing.after(step) for step in self.ground.steps]

    # -- trees -------------------------------------------------------------------------------------

    def _leaves(self, when: Sequence[Test], lines: Sequence[str]) -> Iterator[Leaf]:
        """Yield the leaf of these lines, or nothing if the tests exclude each other."""
        parts: list[Test] = []
        for each in when:
            parts += (each,) if isinstance(each, str) else conjuncts(each)
        holds, rest = self._split(parts)
        if holds is not None and False not in rest:
            yield Leaf(holds, tuple(rest), tuple(lines))

    def _each_way(self, when: Condition, lines: Sequence[str]) -> Iterator[Leaf]:
        """Yield a leaf of these lines for each disjunct of a condition; they may run more than once."""
        parts = conjuncts(when)
        choices = [part for part in parts if isinstance(part, Some)]
        if choices and not any(isinstance(part, Fact) for part in parts):
            fewest = min(choices, key=lambda choice: len(choice.parts))
            for part in fewest.parts:
                yield from self._each_way(every((part, *(other for other in parts if other is not fewest))), lines)
        else:
            yield from self._leaves([when], lines)

    def _split(self, parts: Iterable[Test]) -> tuple[dict[Place, int] | None, list[Test]]:
        """Return the numbers that places must hold, None if tests exclude each other, and the remaining tests."""
        holds: dict[Place, int] = {}
        rest: list[Test] = []
        for part in parts:
            number = self._number(part) if isinstance(part, Fact) else None
            if number is None or not isinstance(part, Fact):
                rest.append(part)
            elif holds.setdefault(part.place, number) != number:
                return None, rest
        return holds, rest

    def _number(self, fact: Fact) -> int | None:
        """Return the one number that makes a fact true, or None if several do."""
        bits = self._bits(fact.place)
        if fact.wanted:
            return bits.numbers[fact.value]
        others = [number for value, number in bits.numbers.items() if value != fact.value]
        return others[0] if len(others) == 1 else None

    def _tree(self, leaves: Sequence[Leaf], depth: int = 1) -> Iterator[str]:
        indent = "    " * depth
        while (place := self._asked_first(leaves)) is not None and depth <= DEEPEST:
            bits = self._bits(place)
            cases: dict[int, list[Leaf]] = {}
            for leaf in leaves:
                if place in leaf.holds:
                    left = {each: number for each, number in leaf.holds.items() if each != place}
                    cases.setdefault(leaf.holds[place], []).append(Leaf(left, leaf.rest, leaf.lines))
            yield f"{indent}switch (s{bits.word} >> {bits.shift} & {bits.mask >> bits.shift:#x}) {{"
            for number, own in sorted(cases.items()):
                yield f"{indent}case {number}:"
                yield from self._tree(own, depth + 1)
                yield f"{indent}    break;"
            yield f"{indent}}}"
            leaves = [leaf for leaf in leaves if place not in leaf.holds]
        for leaf in leaves:
            tests = [*self._compared(leaf.holds), *map(self._expression, leaf.rest)]
            opened = f"if ({' && '.join(tests)}) " if tests else ""
            yield f"{indent}{opened}{{"
            yield from (f"{indent}    {line}" for line in leaf.lines)
            yield f"{indent}}}"

    def _asked_first(self, leaves: Sequence[Leaf]) -> Place | None:
        """Return the place whose value excludes most leaves on average, or None if no branch is worth it."""
        if len(leaves) <= SMALL:
            return None
        held = Counter(itertools.chain.from_iterable(leaf.holds.items() for leaf in leaves))
        spared: dict[Place, float] = {}
        for (each, number), often in held.items():
            spared[each] = spared.get(each, 0.0) + often * (1.0 - self._share(each, number))
        place = max(spared, key=lambda each: spared[each], default=None)
        return None if place is None or spared[place] < 1.0 else place

    # -- expressions -------------------------------------------------------------------------------

    def _compared(self, holds: Mapping[Place, int], after: bool = False) -> Iterator[str]:
        """Yield one masked comparison for each word with a place in ``holds``."""
        words: dict[int, tuple[int, int]] = {}
        for place, number in holds.items():
            bits = self._bits(place)
            mask, value = words.get(bits.word, (0, 0))
            words[bits.word] = mask | bits.mask, value | number << bits.shift
        for word, (mask, value) in words.items():
            name = f"{'t' if after else 's'}{word}"
            yield f"({name} & {_hex(mask)}) == {_hex(value)}"

    def _expression(self, condition: Test, after: bool = False) -> str:
        """Return a condition as a C expression over the state before the step, or after it."""
        match condition:
            case str():
                return condition
            case bool():
                return str(int(condition))
            case Fact(place, value, wanted):
                bits = self._bits(place)
                name = f"{'t' if after else 's'}{bits.word}"
                number = bits.numbers[value]
                return f"({name} & {_hex(bits.mask)}) {'==' if wanted else '!='} {_hex(number << bits.shift)}"
            case Every(parts):
                holds, rest = self._split(parts)
                if holds is None:
                    return "0"
                tests = [*self._compared(holds, after), *(self._expression(part, after) for part in rest)]
                return f"({' && '.join(tests)})"
            case Some(parts):
                opposite = negate(condition)
                assert isinstance(opposite, Every)
                return f"!{self._expression(opposite, after)}"

    def _bits(self, place: Place) -> Bits:
        if place not in self._known:
            there = self.layout.tables[place.symbol].places[place.row]
            width = there.mask.bit_length() - there.shift
            numbers = {value: number for number, value in enumerate(there.values)}
            self._known[place] = Bits(there.shift // WORD, there.shift % WORD, width, numbers)
        return self._known[place]


def _loading(lines: Iterable[str]) -> Iterator[str]:
    """Yield lines of C, and before them one that loads the words of the state that they use."""
    body = list(lines)
    named = sorted({int(word) for line in body for word in STATE_WORD.findall(line)})
    yield f"    {' '.join(['(void)s;', *(f'const u64 s{word} = s[{word}];' for word in named)])}"
    yield from body


def _words(bits: int, count: int) -> str:
    """Return bits as a C initializer of ``count`` words."""
    return f"{{{', '.join(_hex(bits >> WORD * word & (1 << WORD) - 1) for word in range(count))}}}"


def _hex(number: int) -> str:
    return f"{number:#x}ul"
