"""The commands of ``carnet step``, and the lines that each of them prints."""

from __future__ import annotations

import json
import random
import shlex
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

from carnet_check.attacks import hunt
from carnet_check.attacks.describing import wrap_line
from carnet_check.commands import common
from carnet_check.engines.interface import Diagnoses, FailingStep, ShowsFailingSteps
from carnet_check.engines.registry import able
from carnet_check.errors import UsageError
from carnet_check.exports.itf import itf
from carnet_check.loading.families import Source, unknown_name
from carnet_check.semantics.interpreter import NotEnabled
from carnet_check.verification.outcome import UNREACHED, invariant_of
from carnet_check.walkthrough import EnabledStep, Walkthrough
from carnet_check.wording import reason
from carnet_command.files import json_text, write_text
from carnet_command.progress import progress
from carnet_command.text import hanging, join_words, plural, wrap_text
from carnet_spec.language import Invariant, Profile, SpecificationError, Symbol
from carnet_spec.trace import Header, Trace, TraceEvent, TraceStep

MOST_BYTES = 16 << 20  #: The largest trace that is read.
#: The endings of files that hold a recorded trace, which ``carnet conform`` reads, and an ITF trace.
RECORDED, ITF = ".jsonl", ".itf.json"


@dataclass
class StepShell:
    """A walk with its design and sizes, and the steps that were listed last."""

    source: Source
    walk: Walkthrough
    #: The sizes whose own instance this is; nothing, after a jump to an instance that a search chose.
    profile: Profile | None
    offered: list[EnabledStep] = field(default_factory=list)  #: The steps by their numbers, from 1.
    watched: Invariant | None = None  #: What a counterexample to induction that was jumped to is about.
    commands: Mapping[str, StepCommand] = field(default_factory=lambda: COMMANDS)  #: The words that it knows.
    over: bool = False

    def __post_init__(self) -> None:
        self.first = self.walk, self.profile

    def perform(self, line: str) -> Iterator[str]:
        """Run one command line, and yield the lines to print.

        Raises CarnetError if the command is not valid here; nothing has changed.
        """
        try:
            word, *rest = shlex.split(line, comments=True) or ["list"]
        except ValueError as error:
            raise UsageError(f"'{line}' cannot be read: {str(error).lower()}") from None
        if word.isdecimal():
            word, rest = "take", [word, *rest]
        if word not in self.commands:
            raise UsageError(unknown_name("command", word, "carnet step", self.commands))
        wanted = self.commands[word]
        if not wanted.least <= len(rest) <= wanted.most:
            raise UsageError(f"expected: {word} {wanted.arguments}".rstrip())
        yield from wanted.perform(self, rest)

    @property
    def design(self) -> str:
        """The design in words: protocol, variant and removed defences."""
        return _design(self.walk.chosen_trace)

    # -- where it is ------------------------------------------------------------------------------

    def enabled(self, _: Iterable[str] = ()) -> Iterator[str]:
        """List the enabled steps by role, each with the number to type."""
        self.offered = sorted(self.walk.enabled_steps(), key=lambda each: _role_order(self.walk, each))
        if not self.offered:
            yield "no step is enabled here (undo goes back)"
        for role, steps in self.by_role():
            yield f"{role}:"
            for number, step in steps:
                yield from wrap_text(f"{number:>4}  ", step.sentence, 6)

    def by_role(self) -> Iterator[tuple[str, Iterator[tuple[int, EnabledStep]]]]:
        """Yield each role with its steps that were listed last, and their numbers."""
        numbered = enumerate(self.offered, 1)
        return groupby(numbered, key=lambda each: each[1].action.by.name)

    def know(self, given: Iterable[str]) -> Iterator[str]:
        """Print who knows what, or what one party knows."""
        facts = self.walk.knowledge()
        for party in given or facts:
            yield from wrap_text(party, ", ".join(facts.get(party, ["nothing"])), max(map(len, [*facts, party])) + 2)

    def facts(self, given: list[str]) -> Iterator[str]:
        """Print the facts of one symbol in the current state, or of every mutable symbol that has any."""
        symbols = {symbol.name: symbol for symbol in self.walk.protocol.symbols}
        for name in given:
            if name not in symbols:
                raise UsageError(unknown_name("symbol", name, self.walk.protocol.id, symbols))
        changing = [name for name, symbol in symbols.items() if symbol.mutable]
        for name in given or changing:
            if (text := self._true_of(symbols[name])) or given:
                yield from hanging(f"{name}: {text or 'nothing'}")

    def _true_of(self, symbol: Symbol) -> str:
        """Write what is true of a symbol here; nothing, of a relation that holds nowhere."""
        of = self.walk.state if symbol.mutable else self.walk.judge.instance
        if symbol.is_relation:
            rows = sorted(of.relations.get(symbol.name, ()))
            return ", ".join(f"({', '.join(row)})" for row in rows) if symbol.domain else "yes" if rows else ""
        table = sorted(of.functions[symbol.name].items())
        return ", ".join(f"{', '.join(row)} → {value}" if row else value for row, value in table)

    def claims(self, _: Iterable[str]) -> Iterator[str]:
        """Print for each claim whether it holds in the current state."""
        for claim, fails in self.walk.claims():
            if fails is None:
                yield f"  holds  {claim.name}"
            else:
                yield from self._reason(claim.checked)

    def story(self, _: Iterable[str]) -> Iterator[str]:
        """Print the steps so far, with what each party learned."""
        for line in self.walk.story() or ["nothing has happened yet"]:
            yield from wrap_line(line)

    # -- going on, and back -----------------------------------------------------------------------

    def take(self, given: list[str]) -> Iterator[str]:
        """Take a step, given by its number, or by its action and as many parameters as are needed."""
        before = self._fallen()
        self.walk.take(self._chosen(given).step)
        yield from self._after(before)

    def _chosen(self, given: list[str]) -> EnabledStep:
        word, *rest = given
        if word.isdecimal() and not rest:
            if not self.offered:
                [*self.enabled()]
            if not 1 <= (number := _number(word)) <= len(self.offered):
                raise UsageError(f"expected a number from 1 to {len(self.offered)}, found {word}")
            return self.offered[number - 1]
        action, parameters = self.walk.action(word), _parameters(rest)
        if action.deduction and self.walk.is_run:
            raise UsageError(f"{word} is a deduction: it is taken as soon as it can be")
        fitting = self.walk.matching(action, parameters)
        if not fitting:
            raise UsageError(self.walk.refusal(action, parameters))
        if len(fitting) > 1:
            shown = "; ".join(str(each.step) for each in fitting[:4])
            raise UsageError(f"{len(fitting)} steps fit, such as {shown}: give more parameters")
        return fitting[0]

    def _fallen(self) -> dict[str, Invariant]:
        """Return what fails here, by name: of all claims, and of what a counterexample to induction is about."""
        fallen = {claim.name: claim.checked for claim, fails in self.walk.claims() if fails is not None}
        if self.watched is not None and self.walk.judge.counterexample(self.watched, self.walk.state) is not None:
            fallen[self.watched.name] = self.watched
        return fallen

    def _after(self, before: Container[str], last: int = 1) -> Iterator[str]:
        """Tell the last steps, and what falls by them."""
        self.offered = []
        for line in self.walk.story(last):
            yield from wrap_line(line)
        for name, invariant in self._fallen().items():
            if name not in before:
                yield from self._reason(invariant)

    def _reason(self, invariant: Invariant) -> Iterator[str]:
        for line in reason(self.walk.judge, invariant, self.walk.state):
            yield from wrap_line(line)

    def random(self, given: list[str]) -> Iterator[str]:
        """Take a number of random steps, drawn with a seed."""
        number, seed = _number(given[0]), _number(given[1]) if given[1:] else 0
        if number > MOST_RANDOM:
            raise UsageError(f"expected at most {MOST_RANDOM:,} steps at a time, found {number:,}")
        draw, before, taken = random.Random(seed), self._fallen(), 0
        while taken < number and (able := self.walk.enabled_steps()):
            self.walk.take(draw.choice(able).step)
            taken += 1
        yield f"{plural(taken, 'step')} taken, drawn with seed {seed}"
        yield from self._after(before, taken) if taken else ()

    def undo(self, given: list[str]) -> Iterator[str]:
        """Undo the last step, or the given number of steps."""
        back = self.walk.undo(_number(given[0]) if given else 1)
        self.offered = []
        yield f"{plural(back, 'step')} taken back, {plural(len(self.walk.steps), 'step')} left"

    def why(self, given: list[str]) -> Iterator[str]:
        """Print why an action or deduction is not enabled: the guard that fails, and the values that it reads."""
        action, parameters = self.walk.action(given[0]), _parameters(given[1:])
        fitting = self.walk.matching(action, parameters)
        if fitting:
            done = "is taken" if action.deduction and self.walk.is_run else "can be taken"
            yield from hanging(f"{action.name} {done}: {fitting[0].sentence}")
        else:
            yield from hanging(self.walk.refusal(action, parameters))

    # -- other places -----------------------------------------------------------------------------

    def attack(self, given: list[str]) -> Iterator[str]:
        """Jump to the end of an attack: that of a finding, or the shortest on a claim of this design."""
        source, walk, name = self.source, self.walk, given[0]
        finding = next((each for each in source.family.findings if each.id == name), None)
        if finding is None:
            target = hunt.attack_target(
                source, variant=walk.protocol.variant, without=walk.without, threat=walk.threat.id, claim=name
            )
        else:
            target = hunt.attack_target(
                source, variant=finding.variant, without=finding.without, threat=finding.threat, claim=finding.claim
            )
        with progress() as shown:
            found = hunt.hunt(target, progress=shown.status)
        if found.trace is None or found.judge is None:
            raise UsageError(f"there is no attack to jump to: {found.verdict}, {found.detail}")
        there = Walkthrough(target.protocol, target.removed, target.threat, found.judge.instance)
        there.follow(found.trace)
        self.walk, self.profile, self.watched = there, None, None
        yield from self.heading()
        yield from self._after(set(), len(there.steps))

    def cti(self, given: list[str]) -> Iterator[str]:
        """Jump to a state from which a step breaks a claim or lemma, while those named after it hold."""
        name, *assumed = given
        walk = self.walk
        threat = walk.threat if walk.protocol.threats else None
        found = able(ShowsFailingSteps).failing_step(walk.protocol, threat, name, assumed)
        self.walk = Walkthrough(walk.protocol, walk.without, walk.threat, found.instance, found.state)
        self.profile, self.offered, self.watched = None, [], invariant_of(walk.protocol, name)
        yield from self.heading()
        yield from self.facts([])
        for symbol in walk.protocol.symbols:
            if not symbol.mutable and (text := self._true_of(symbol)):
                yield from hanging(f"{symbol.name}, which never changes: {text}")
        if found.step is None:
            yield from self._reason(self.watched)
            return
        yield from hanging(f"{UNREACHED} All axioms hold there, and so does {join_words([name, *assumed])}.")
        yield from hanging(f"This step breaks {name}: {self._worded(found.step)}")
        yield from hanging(_excluding(found, given))

    def _worded(self, step: TraceStep) -> str:
        """Return the sentence of a step, and what to type to take it."""
        typed = " ".join(["take", step.action, *(shlex.quote(f"{name}={element}") for name, element in step.args)])
        return f"{EnabledStep(self.walk.protocol.action(step.action), step.env).sentence} ({typed})"

    def begin(self, _: Iterable[str]) -> Iterator[str]:
        """Begin again in the initial state of the instance."""
        self.walk, self.profile, self.offered, self.watched = *self.first, [], None
        self.walk.undo(len(self.walk.steps))
        yield from self.heading()

    def load(self, given: list[str]) -> Iterator[str]:
        """Begin again, and take the steps of a trace that was saved as JSON."""
        self._require_run()
        trace = _read(Path(given[0]))
        here = self.walk.chosen_trace
        if (trace.protocol, trace.variant, trace.without) != (here.protocol, here.variant, here.without):
            raise UsageError(f"'{given[0]}' is of {_design(trace)}, and this is {_design(here)}")
        try:
            self.walk.follow(trace)
        except (NotEnabled, SpecificationError) as error:
            raise UsageError(f"'{given[0]}' is no run of this instance: {error}") from None
        yield from self._after(set(), len(self.walk.steps))

    def save(self, given: list[str]) -> Iterator[str]:
        """Write the walk: FILE.jsonl for `carnet conform`, FILE.itf.json as ITF, any other FILE as a trace in JSON."""
        write_text(Path(given[0]), self.file_text(given[0]))
        yield f"wrote {given[0]}"

    def file_text(self, name: str) -> str:
        """Return the walk as the text of a file with this name.

        Raises UsageError if the walk is no run, or cannot be written in this format.
        """
        self._require_run()
        if name.endswith(RECORDED):
            return "".join(f"{json.dumps(line)}\n" for line in self._recorded())
        if name.endswith(ITF):
            trace = self.walk.trace
            return json_text(itf(self.walk.protocol, self.walk.judge.replay(trace), trace))
        return json_text(self.walk.chosen_trace.to_json())

    def _require_run(self) -> None:
        if not self.walk.is_run:
            raise UsageError("this walk begins in a state that need not be reachable: it is no trace (see begin)")

    def _recorded(self) -> Iterator[dict[str, Any]]:
        if self.profile is None or self.source.instances_are_made:
            raise UsageError("a recorded trace names sizes, and this instance is not the one of any: save it as JSON")
        walk = self.walk
        sizes = tuple(self.profile.scale.items())
        header = Header(walk.protocol.id, walk.protocol.variant, walk.without, walk.threat.id, sizes)
        yield header.to_json()
        yield from (TraceEvent(clock, step).to_json() for clock, step in enumerate(walk.steps))

    # -- the walk as a whole ----------------------------------------------------------------------

    def help(self, _: Iterable[str]) -> Iterator[str]:
        """List the commands."""
        for word, command in self.commands.items():
            yield from wrap_text(f"{word} {command.arguments}".rstrip(), command.does, HELP_WIDTH)

    def quit(self, _: Iterable[str]) -> Iterator[str]:
        """End the walk."""
        self.over = True
        yield from ()

    def heading(self) -> Iterator[str]:
        """Print the design and the instance of the walk."""
        walk = self.walk
        yield from hanging(f"{self.design}, under {walk.threat.id}: {walk.threat.title}")
        yield from hanging(f"instance: {walk.judge.instance.words}")
        if not walk.is_run:
            yield from hanging(f"begins in a {able(Diagnoses).shows}: each deduction is a step here")

    def as_json(self) -> dict[str, Any]:
        """Return the state of the walk as JSON values."""
        return {
            "trace": self.walk.chosen_trace.to_json(),
            "is_run": self.walk.is_run,
            "instance": self.walk.judge.instance.words,
            "enabled": [{**each.step.to_json(), "sentence": each.sentence} for each in self.walk.enabled_steps()],
            "known": self.walk.knowledge(),
            "claims": {claim.name: fails is None for claim, fails in self.walk.claims()},
        }


def _excluding(found: FailingStep, given: Sequence[str]) -> str:
    """Say which claims and lemmas of the specification exclude a state; ``given`` is what was asked for."""
    if not found.excluded_by:
        either = "a further lemma may have to (carnet verify --suggest looks for one)"
        return f"No claim or lemma of the specification excludes this state: {either}, or {given[0]} is false."
    next_one = " ".join(["cti", *given, found.excluded_by[0]])
    return f"False there, so each excludes this state if it is true: {', '.join(found.excluded_by)} ({next_one})"


def _role_order(walk: Walkthrough, step: EnabledStep) -> int:
    """Return a number that sorts steps by role, in the order in which the roles first act in the protocol."""
    return [action.by.name for action in walk.protocol.actions].index(step.action.by.name)


@dataclass(frozen=True, slots=True)
class StepCommand:
    """A command of the walk: its function, its arguments, and how many there may be."""

    perform: Callable[[StepShell, list[str]], Iterator[str]]
    arguments: str = ""
    least: int = 0
    most: int = 0

    @property
    def does(self) -> str:
        """What the command does, in one sentence."""
        return (self.perform.__doc__ or "").splitlines()[0]


MANY = 32
#: What can be typed; a number alone takes the step of that number, and an empty line lists what can be done.
COMMANDS: Mapping[str, StepCommand] = {
    "list": StepCommand(StepShell.enabled),
    "take": StepCommand(StepShell.take, "N | ACTION [NAME=ELEMENT …]", 1, MANY),
    "why": StepCommand(StepShell.why, "ACTION [NAME=ELEMENT …]", 1, MANY),
    "undo": StepCommand(StepShell.undo, "[N]", 0, 1),
    "know": StepCommand(StepShell.know, "[PARTY]", 0, 1),
    "facts": StepCommand(StepShell.facts, "[SYMBOL]", 0, 1),
    "claims": StepCommand(StepShell.claims),
    "story": StepCommand(StepShell.story),
    "random": StepCommand(StepShell.random, "N [SEED]", 1, 2),
    "attack": StepCommand(StepShell.attack, "FINDING | CLAIM", 1, 1),
    "cti": StepCommand(StepShell.cti, "CLAIM | LEMMA [LEMMA …]", 1, MANY),
    "begin": StepCommand(StepShell.begin),
    "load": StepCommand(StepShell.load, "FILE", 1, 1),
    "save": StepCommand(StepShell.save, "FILE", 1, 1),
    "help": StepCommand(StepShell.help),
    "quit": StepCommand(StepShell.quit),
}
HELP_WIDTH = 34
MOST_RANDOM = 10_000  #: The most steps that are taken at random at a time: until they are taken, nothing else is heard.


def _number(word: str) -> int:
    if not word.isdecimal() or len(word) > common.MOST_DIGITS:
        raise UsageError(f"expected a whole number, found '{word[:60]}'")
    return int(word)


def _parameters(words: Iterable[str]) -> dict[str, str]:
    given = {}
    for word in words:
        name, equals, element = word.partition("=")
        if not equals or name in given:
            raise UsageError(f"expected NAME=ELEMENT once for each name, found '{word[:60]}'")
        given[name] = element
    return given


def _read(path: Path) -> Trace:
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise UsageError(f"'{path}' holds more than {MOST_BYTES} bytes, which no trace does")
        return Trace.from_json(json.loads(data))
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from None
    except (ValueError, RecursionError, SpecificationError) as error:
        raise UsageError(f"'{path}' is no trace in JSON: {error}") from None


def _design(trace: Trace) -> str:
    removed = f" without {', '.join(trace.without)}" if trace.without else ""
    return f"{trace.protocol}, variant {trace.variant}{removed}"
