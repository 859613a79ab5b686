"""Promela: an instance as a model for Spin, whose states are those that ``carnet explore --no-reduction`` counts.

One process repeats one choice among all steps. A step, with all that can be deduced after it, is one ``d_step`` and so
one transition of Spin. The first state is the initial value of the variables, saturated. A claim is a choice of its
own, which can be made only where the claim is broken, and ends in a failed assertion: it adds no state.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import networkx

from carnet_check.exports.ground.conditions import Condition, Every, Fact, Place, Some, Value, facts_in, negate, some
from carnet_check.exports.ground.system import Change, Closing, Ground, Group, Step
from carnet_check.exports.identifiers import Identifiers
from carnet_spec.language import Action, Instance, Protocol

WRITTEN = "Written by carnet export."
SPENT = "spent"
VECTOR = 1024  #: How many bytes a state of Spin may have, unless it is compiled for more.
OVERHEAD = 64  #: Bytes of a state, beside the variables, at most.


@dataclass(frozen=True, slots=True)
class ModelHeader:
    """The parts of the header comment that do not come from the protocol."""

    file: str  #: what the model is called.
    threat: str  #: the threat model.
    expected: frozenset[str] = frozenset()  #: the claims that are expected to be broken under it.
    remarks: Sequence[str] = ()  #: what Carnet found.


def promela(protocol: Protocol, instance: Instance, ground: Ground, told: ModelHeader) -> str:
    """Return the Promela model of an instance as one file."""
    return "".join(f"{line}\n" for line in _Model(protocol, instance, ground, told).lines())


class _Model:
    def __init__(self, protocol: Protocol, instance: Instance, ground: Ground, told: ModelHeader) -> None:
        self._protocol = protocol
        self._ground = ground
        self._told = told
        self._budget = instance.budget
        self._words = instance.words
        self._names = Names(protocol, instance, ground)
        self._closing = Closing(ground)

    def lines(self) -> Iterator[str]:
        process = list(self._process())
        yield from self._header()
        yield from self._names.definitions()
        yield from self._variables()
        yield from self._claims()
        yield from process

    # -- what stands before the process ------------------------------------------------------------

    def _header(self) -> Iterator[str]:
        protocol, file = self._protocol, self._told.file
        without = f", without {', '.join(protocol.without)}" if protocol.without else ""
        bytes_each = (self._bits + 7) // 8 + OVERHEAD
        vector = f" -DVECTORSZ={(bytes_each + 1023) // 1024 * 1024}" if bytes_each > VECTOR else ""
        yield from comment(
            f"{protocol.title}: {protocol.variant}{without}, under threat model {self._told.threat}.",
            f"Instance: {self._words}." if self._words else "",
            f"Specification: SHA-256 {protocol.digest}.",
            WRITTEN,
            "",
            "Visit every state:",
            f"  spin -a -o2 {file}",
            f"  gcc -O2 -DSAFETY -DNOREDUCE{vector} -o pan pan.c",
            "  ./pan -m1000000 -w24 -c0",
            "-o2 keeps variables that no step reads; -c0 counts broken claims instead of stopping at one.",
            "pan ends with 0 where an assertion fails and where memory runs out (Spin 6.5.2): read what it prints.",
            "It has to say 'errors: 0', and neither 'Search not completed' nor 'max search depth too small'.",
            "The states that are stored are those that carnet explore --no-reduction counts, with the same options.",
            *self._told.remarks,
            "",
            "Find a shortest run to a broken claim, and go through it:",
            f"  gcc -O2 -DSAFETY -DNOREDUCE -DBFS{vector} -o pan pan.c && ./pan -w24 && spin -t {file}",
        )
        yield ""

    @property
    def _bits(self) -> int:
        counted = 0 if not self._budget else self._budget.bit_length()
        return counted + sum(self._names.width(place) for place in self._ground.values)

    def _variables(self) -> Iterator[str]:
        yield "/* What changes. */"
        yield from self._names.declarations()
        if self._budget:
            yield f"unsigned {SPENT} : {self._budget.bit_length()};  /* moves of the adversary, of {self._budget} */"
        yield ""

    def _claims(self) -> Iterator[str]:
        yield "/* What is claimed of every state. */"
        for name, condition in self._ground.formulas.items():
            claim = next((each for each in self._protocol.claims if each.name == name), None)
            said = claim.sentence if claim else ""
            if condition is True:
                said += " It reads nothing here that changes, and holds."
            if name in self._told.expected:
                said += f" Expected to be broken under {self._told.threat}."
            yield from comment(f"{name}: {said}")
            yield f"#define {self._names.claim(name)} ({self._names.expression(condition)})"
        yield ""

    # -- the process -------------------------------------------------------------------------------

    def _process(self) -> Iterator[str]:
        steps = [(step, list(self._step(step))) for step in self._ground.steps if self._affordable(step)]
        yield from self._names.temporaries()
        yield "active proctype protocol()"
        yield "{"
        yield "end:"
        yield "\tdo"
        told = ""
        for step, lines in steps:
            if step.action.name != told:
                told = step.action.name
                yield ""
                yield from (f"\t{line}" for line in comment(f"{told}: {step.action.says} ({step.action.source})"))
            yield from lines
        stated = {name: condition for name, condition in self._ground.formulas.items() if condition is not True}
        if stated:
            yield ""
            yield from (f"\t{line}" for line in comment("Claims: a choice that can be made only where one is broken."))
        for name in stated:
            yield f'\t:: d_step {{ !{self._names.claim(name)} -> printf("broken: {_plain(name)}\\n"); assert(false) }}'
        if self._ground.strays:
            yield ""
            yield from (
                f"\t{line}"
                for line in comment(
                    "Steps that would change what has no variable here, because Carnet never saw it change. If one can "
                    "be taken, Carnet missed a state."
                )
            )
            yield "\t:: d_step {"
            yield from _conditions(self._stray_lines(), "||")
            yield '\t\tprintf("stray: this was never to change\\n"); assert(false)'
            yield "\t   }"
        if not steps:
            yield "\t:: false  /* no step can ever be taken */"
        yield "\tod"
        yield "}"

    def _affordable(self, step: Step) -> bool:
        return self._budget is None or step.action.cost <= self._budget

    def _step(self, step: Step) -> Iterator[str]:
        yield f"\t:: d_step {{  /* {_plain(step.title)} */"
        yield from _conditions(self._guards(step), "&&")
        yield f'\t\tprintf("{_plain(step.title)}\\n");'
        done = list(assignments(step, self._names))
        done += [(f"{SPENT} = {SPENT} + {cost}", "a move of the adversary") for cost in self._costs(step.action)]
        yield from (f"\t\t{statement};{_trailing_comment(name)}" for statement, name in done)
        groups = self._closing.after(step)
        for group in groups:
            yield from conclusions(group, self._names)
        if groups and groups[-1].repeated:
            yield "\t\tskip  /* Spin loses the end of a loop that ends a step */"
        yield "\t   }"

    def _guards(self, step: Step) -> Iterator[tuple[str, str]]:
        yield from ((self._affords(cost), "adversary budget") for cost in self._costs(step.action))
        for name, condition in step.guards:
            yield self._names.expression(condition), name

    def _costs(self, action: Action) -> Iterator[int]:
        if self._budget and action.cost:
            yield action.cost

    def _affords(self, cost: int) -> str:
        return f"{SPENT} <= {(self._budget or 0) - cost}"

    def _stray_lines(self) -> Iterator[tuple[str, str]]:
        titles: dict[str, list[str]] = {}
        for step, condition in self._ground.strays:
            parts = [self._affords(cost) for cost in self._costs(step.action)]
            written = " && ".join([*parts, self._names.expression(condition, inside=True)])
            titles.setdefault(f"({written})" if parts else written, []).append(step.title)
        for written, listed in titles.items():
            more = f" and {len(listed) - 1} more" if len(listed) > 1 else ""
            yield written, listed[0] + more


def _conditions(parts: Iterable[tuple[str, str]], sign: str) -> Iterator[str]:
    """Write conditions under each other, each with what it is called; a line that ends in a sign goes on."""
    listed = list(parts) or [("true", "")]
    for place, (expression, name) in enumerate(listed, 1):
        yield f"\t\t{expression} {sign if place < len(listed) else '->'}{_trailing_comment(name)}"


def _trailing_comment(name: str) -> str:
    return f"  /* {_plain(name)} */" if name else ""


def _plain(text: str) -> str:
    """Return a text as it may stand in a comment or a string of Promela."""
    return "".join(letter if letter.isprintable() and letter not in '*"\\%' else " " for letter in text)


# --------------------------------------------------------------------------------------------------
# What a step changes, as assignments of Promela that mean the same one after another as all at once.


def assignments(step: Step, names: Names) -> Iterator[tuple[str, str]]:
    """Yield the assignments of a step, each with the names of its updates.

    Every update reads the state before the step. So a place is written after all that read it; where places read each
    other, what they held is saved first.
    """
    changes = {change.place: (", ".join(named), change) for named, change in step.changes}
    for together in _in_order({place: change for place, (_, change) in changes.items()}):
        written = [(place, *changes[place]) for place in changes if place in together]
        before = {place: names.place(place) for place in changes if place in together and len(together) > 1}
        kept = {names.save(place): variable for place, variable in before.items()}
        expressions = [(place, _expression(change, names), named) for place, named, change in written]
        names.forget()
        yield from ((f"{name} = {variable}", "") for name, variable in kept.items())
        yield from ((f"{names.place(place)} = {expression}", named) for place, expression, named in expressions)
        yield from ((f"{name} = 0", "") for name in kept)


def conclusions(group: Group, names: Names) -> Iterator[str]:
    """Yield the lines that make the deductions of a group."""
    written = {
        names.place(fact): (
            names.expression(some(clause.when for clause in clauses), inside=True),
            ", ".join(dict.fromkeys(clause.rule for clause in clauses)),
        )
        for fact, clauses in group.facts.items()
    }
    if not group.repeated:
        for name, (condition, rules) in written.items():
            value = "1" if condition == "true" else f"{name} || {condition}"
            yield f"\t\t{name} = {value};  /* {rules} */"
        return
    yield "\t\tdo"
    for name, (condition, rules) in written.items():
        yield f"\t\t:: !{name} && {condition} -> {name} = 1  /* {rules} */"
    yield "\t\t:: else -> break"
    yield "\t\tod;"


def _expression(change: Change, names: Names) -> str:
    """Return what a place holds after a step, as an expression over what was held before."""
    copied = _copied(change, names)
    if copied is not None:
        return names.place(copied)
    if isinstance(change.cases[0][0], bool):
        return _flag(change, names)
    *first, (last, when) = change.cases
    written = names.value(change.place, last)
    if change.keeps is not False:
        written = f"({names.expression(when)} -> {written} : {names.place(change.place)})"
    for value, condition in reversed(first):
        written = f"({names.expression(condition)} -> {names.value(change.place, value)} : {written})"
    return written


def _flag(change: Change, names: Names) -> str:
    """Return whether a relation holds after a step: where it was inserted, or held and was not removed."""
    inserted = some(when for value, when in change.cases if value is True)
    removed = some(when for value, when in change.cases if value is False)
    if change.keeps is False:
        return "1" if inserted is True else "0" if inserted is False else names.expression(inserted)
    held = names.place(change.place)
    kept = held if removed is False else f"({held} && {names.expression(negate(removed), inside=True)})"
    return kept if inserted is False else f"{kept} || {names.expression(inserted, inside=True)}"


def _copied(change: Change, names: Names) -> Place | None:
    sources = {
        when.place if isinstance(when, Fact) and when == Fact(when.place, value) else None
        for value, when in change.cases
    }
    source = sources.pop() if len(sources) == 1 else None
    whole = source is not None and change.keeps is False and len(change.cases) > 1
    return source if whole and source is not None and names.same_sort(source, change.place) else None


def _in_order(changes: Mapping[Place, Change]) -> Iterator[set[Place]]:
    """Yield the places of a step in an order in which each is written after those that read it."""
    graph = networkx.DiGraph()
    graph.add_nodes_from(changes)
    for place, change in changes.items():
        read = {fact.place for _, when in change.cases for fact in facts_in(when)} - {place}
        graph.add_edges_from((other, place) for other in read if other in changes)
    yield from networkx.strongly_connected_components(graph)


# --------------------------------------------------------------------------------------------------
# Names and expressions of Promela: a variable for each place that changes, a number for each element held there.

PROMELA = """
active assert atomic bit bool break byte c_code c_decl c_expr c_state c_track chan d_proctype d_step do else empty
enabled eval false fi for full get_priority goto hidden if in init inline int len local ltl mtype nempty never nfull
notrace np_ od of pc_value pid printf printm priority proctype provided return run select set_priority short show skip
timeout trace true typedef unless unsigned until weak always eventually xr xs W X U V now
"""
C = """
auto case char const continue default double enum extern float long register signed sizeof static struct switch union
void volatile while asm typeof inline restrict linux unix i386
"""
VERIFIER = """
uchar uint ushort ulong sv_save sv_restor trpt boq vsize nstates truncs mreached depth main State Trans P0 SAFETY
NOREDUCE VECTORSZ BFS BITSTATE COLLAPSE MA HC protocol spent end
"""
#: Words of Promela; of C, where a variable is the field of a structure; of the verifier that Spin makes.
RESERVED = frozenset((PROMELA + C + VERIFIER).split())
WIDTH = 110


class Names:
    """The identifiers of one instance."""

    def __init__(self, protocol: Protocol, instance: Instance, ground: Ground) -> None:
        self._ids = Identifiers(RESERVED)
        self._values = ground.values
        self._sorts = {symbol.name: symbol.result.name for symbol in protocol.symbols if not symbol.is_relation}
        self._numbers = self._counted(protocol, instance)
        self._instead: dict[Place, str] = {}
        self._saved: list[int] = []  # how many bits each variable has that keeps something within a step
        for place in ground.values:
            self.place(place)

    def _counted(self, protocol: Protocol, instance: Instance) -> dict[str, dict[str, int]]:
        held: dict[str, set[Value]] = {}
        for place, values in self._values.items():
            if place.symbol in self._sorts:
                held.setdefault(self._sorts[place.symbol], set()).update(values)
        return {
            sort.name: {name: n for n, name in enumerate(each for each in instance.of(sort) if each in held[sort.name])}
            for sort in protocol.sorts
            if sort.name in held
        }

    # -- names -------------------------------------------------------------------------------------

    def place(self, place: Place) -> str:
        """Return the variable of a place."""
        return self._instead.get(place) or self._ids.of(place, place.symbol, *place.row)

    def value(self, place: Place, value: Value) -> str:
        """Return the expression for a value of a place."""
        if isinstance(value, bool):
            return str(int(value))
        return self._ids.of(("value", self._sorts[place.symbol], value), value)

    def claim(self, name: str) -> str:
        """Return the identifier of a claim's formula."""
        return self._ids.of(("claim", name), name)

    def same_sort(self, place: Place, other: Place) -> bool:
        """Whether two places hold elements of the same sort, or are both relations."""
        return self._sorts.get(place.symbol) == self._sorts.get(other.symbol)

    def width(self, place: Place) -> int:
        """Return the number of bits of a place."""
        if place.symbol not in self._sorts:
            return 1
        numbers = self._numbers[self._sorts[place.symbol]]
        return max(1, max(numbers[str(value)] for value in self._values[place]).bit_length())

    def save(self, place: Place) -> str:
        """Return the variable that holds a place's value from before the step."""
        number = len(self._instead)
        self._saved += [1] if number == len(self._saved) else []
        self._saved[number] = max(self._saved[number], self.width(place))
        name = self._ids.of(("before", number), f"before_{number}")
        self._instead[place] = name
        return name

    def forget(self) -> None:
        """Forget the saved values, so that every place is read directly again."""
        self._instead.clear()

    # -- declarations ------------------------------------------------------------------------------

    def definitions(self) -> Iterator[str]:
        """Yield a ``#define`` for each element that a variable may hold."""
        for sort, numbers in self._numbers.items():
            yield f"/* {sort} */"
            for element, number in numbers.items():
                yield f"#define {self._ids.of(('value', sort, element), element)} {number}"
            yield ""

    def declarations(self) -> Iterator[str]:
        """Yield the declaration of each place, with its initial value."""
        for place, values in self._values.items():
            first = "" if values[0] is False else f" = {self.value(place, values[0])}"
            if place.symbol in self._sorts:
                yield f"unsigned {self.place(place)} : {self.width(place)}{first};"
            else:
                yield f"bit {self.place(place)}{first};"

    def temporaries(self) -> Iterator[str]:
        """Yield declarations of the variables for saved values; outside a step they are 0."""
        for number, width in enumerate(self._saved):
            yield f"unsigned {self._ids.of(('before', number), f'before_{number}')} : {width};"

    # -- expressions -------------------------------------------------------------------------------

    def expression(self, condition: Condition, *, inside: bool = False) -> str:
        """Return a condition as an expression; ``inside`` adds parentheses where an enclosing one needs them."""
        match condition:
            case bool():
                return "true" if condition else "false"
            case Fact(place, True, wanted):
                return self.place(place) if wanted else f"!{self.place(place)}"
            case Fact(place, value, wanted):
                written = f"{self.place(place)} {'==' if wanted else '!='} {self.value(place, value)}"
                return f"({written})" if inside else written
            case Every(parts):
                written = " && ".join(self.expression(part, inside=True) for part in parts)
                return f"({written})" if inside else written
            case Some(parts):
                return f"({' || '.join(self.expression(part, inside=True) for part in parts)})"


def comment(*paragraphs: str) -> list[str]:
    """Return paragraphs as one comment; paragraphs that begin with a space are not wrapped."""
    lines: list[str] = []
    for paragraph in paragraphs:
        plain = "".join(letter if letter.isprintable() else " " for letter in paragraph).replace("*/", "* /")
        kept = plain.startswith("  ") or not plain
        lines += [plain] if kept else textwrap.wrap(plain, WIDTH) if plain else []
    while lines and not lines[-1]:
        lines.pop()
    if len(lines) == 1:
        return [f"/* {lines[0]} */"]
    return ["/*", *(f" * {line}".rstrip() for line in lines), " */"]
