"""Promela: an instance as a model for Spin, whose states are those that ``carnet explore --no-reduction`` counts.

One process repeats one choice among all steps. A step, with all that can be deduced after it, is one ``d_step`` and so
one transition of Spin. The first state is the initial value of the variables, saturated. A claim is a choice of its
own, which can be made only where the claim is broken, and ends in a failed assertion: it adds no state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from carnet_check.exports.ground.closing import Closing
from carnet_check.exports.ground.system import Ground, Step
from carnet_check.exports.promela_changes import assignments, conclusions
from carnet_check.exports.promela_names import Names, comment
from carnet_spec.language import Action, Instance, Protocol

WRITTEN = "Written by carnet export."
SPENT = "spent"
VECTOR = 1024
"""How many bytes a state of Spin may have, unless it is compiled for more."""
OVERHEAD = 64
"""Bytes of a state, beside the variables, at most."""


@dataclass(frozen=True, slots=True)
class Told:
    """What the header says, beside the protocol's own words.

    Attributes:
        file: what the model is called.
        threat: the threat model.
        expected: the claims that are expected to be broken under it.
        remarks: what Carnet found.
    """

    file: str
    threat: str
    expected: frozenset[str] = frozenset()
    remarks: Sequence[str] = ()


def promela(protocol: Protocol, instance: Instance, ground: Ground, told: Told) -> str:
    """Return the model, as one file."""
    return "".join(f"{line}\n" for line in _Model(protocol, instance, ground, told).lines())


class _Model:
    def __init__(self, protocol: Protocol, instance: Instance, ground: Ground, told: Told) -> None:
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
        for name, condition in self._ground.claims.items():
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
        yield from self._monitors()
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
        yield from _statements(done)
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
        """Yield what an action costs, where moves are counted."""
        if self._budget and action.cost:
            yield action.cost

    def _affords(self, cost: int) -> str:
        return f"{SPENT} <= {(self._budget or 0) - cost}"

    def _monitors(self) -> Iterator[str]:
        stated = {name: condition for name, condition in self._ground.claims.items() if condition is not True}
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
        yield f"\t\t{expression} {sign if place < len(listed) else '->'}{_aside(name)}"


def _statements(done: Sequence[tuple[str, str]]) -> Iterator[str]:
    for statement, name in done:
        yield f"\t\t{statement};{_aside(name)}"


def _aside(name: str) -> str:
    return f"  /* {_plain(name)} */" if name else ""


def _plain(text: str) -> str:
    """Return a text as it may stand in a comment or a string of Promela."""
    return "".join(letter if letter.isprintable() and letter not in '*"\\%' else " " for letter in text)
