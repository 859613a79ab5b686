"""``carnet step``: walk through an instance of a protocol by hand."""

from __future__ import annotations

import json
import random
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import click

from carnet_check.attacks import hunt
from carnet_check.attacks.describing import folded
from carnet_check.commands import common
from carnet_check.errors import UsageError
from carnet_check.exports.itf import itf
from carnet_check.loading.families import Source, load, unknown
from carnet_check.semantics.interpreter import NotEnabled
from carnet_check.walkthrough import EnabledStep, Walkthrough
from carnet_check.wording import reason
from carnet_command.errors import CarnetError
from carnet_command.exit_codes import ExitCode
from carnet_command.files import write_json, write_text
from carnet_command.progress import progress
from carnet_command.text import counted, hanging, wrapped
from carnet_spec.language import Claim, Profile, SpecificationError
from carnet_spec.trace import Header, Trace, TraceEvent

PROMPT = "> "
MOST_BYTES = 16 << 20
"""The largest trace that is read."""
RECORDED, ITF = ".jsonl", ".itf.json"
"""The endings of files that hold a recorded trace, which ``carnet conform`` reads, and an ITF trace."""


@dataclass
class StepShell:
    """A walk, the design and the sizes that it is in, and what was offered last."""

    source: Source
    walk: Walkthrough
    profile: Profile | None
    """The sizes whose own instance this is; nothing, after a jump to an instance that a search chose."""
    offered: list[EnabledStep] = field(default_factory=list)
    """The steps by their numbers, from 1."""
    over: bool = False

    def perform(self, line: str) -> Iterator[str]:
        """Do what a line says, and yield what is to be printed.

        Raises:
            CarnetError: the line makes no sense here; nothing has changed.
        """
        try:
            word, *rest = shlex.split(line, comments=True) or ["list"]
        except ValueError as error:
            raise UsageError(f"'{line}' cannot be read: {str(error).lower()}") from None
        if word.isdecimal():
            word, rest = "take", [word, *rest]
        if word not in COMMANDS:
            raise UsageError(unknown("command", word, "carnet step", COMMANDS))
        wanted = COMMANDS[word]
        if not wanted.least <= len(rest) <= wanted.most:
            raise UsageError(f"expected: {word} {wanted.arguments}".rstrip())
        yield from wanted.perform(self, rest)

    # -- where it is ------------------------------------------------------------------------------

    def enabled(self, _: Iterable[str] = ()) -> Iterator[str]:
        """List what can be done here, by role, each with the number to type."""
        self.offered = sorted(self.walk.enabled(), key=lambda each: _role_order(self.walk, each))
        if not self.offered:
            yield "nothing can be done here (undo goes back)"
        numbered = enumerate(self.offered, 1)
        for role, steps in groupby(numbered, key=lambda each: each[1].action.by.name):
            yield f"{role}:"
            for number, step in steps:
                yield from wrapped(f"{number:>4}  ", step.sentence, 6)

    def know(self, given: Iterable[str]) -> Iterator[str]:
        """Say who knows what, or what one party knows."""
        facts = self.walk.knowledge()
        for party in given or facts:
            yield from wrapped(party, ", ".join(facts.get(party, ["nothing"])), max(map(len, [*facts, party])) + 2)

    def facts(self, given: list[str]) -> Iterator[str]:
        """Print what is true of a symbol here, or of every symbol of which something is."""
        symbols = {symbol.name: symbol for symbol in self.walk.protocol.symbols if symbol.mutable}
        for name in given:
            if name not in symbols:
                raise UsageError(unknown("symbol that changes", name, self.walk.protocol.id, symbols))
        for name in given or symbols:
            if symbols[name].is_relation:
                rows = sorted(self.walk.state.relations[name])
                text = (
                    ", ".join(f"({', '.join(row)})" for row in rows) if symbols[name].domain else "yes" if rows else ""
                )
            else:
                table = sorted(self.walk.state.functions[name].items())
                text = ", ".join(f"{', '.join(row)} → {value}" if row else value for row, value in table)
            if text or given:
                yield from hanging(f"{name}: {text or 'nothing'}")

    def claims(self, _: Iterable[str]) -> Iterator[str]:
        """Say of each claim whether it holds here."""
        for claim, fails in self.walk.claims():
            if fails is None:
                yield f"  holds  {claim.name}"
            else:
                yield from self._reason(claim)

    def story(self, _: Iterable[str]) -> Iterator[str]:
        """Tell the steps so far, with what each party learned."""
        for line in self.walk.story() or ["nothing has happened yet"]:
            yield from folded(line)

    # -- going on, and back -----------------------------------------------------------------------

    def take(self, given: list[str]) -> Iterator[str]:
        """Take a step by its number, or by its action and, as far as needed, its parameters."""
        before = self._fallen()
        self.walk.take(self._chosen(given).step)
        yield from self._after(before)

    def _chosen(self, given: list[str]) -> EnabledStep:
        word, *rest = given
        if word.isdecimal() and not rest:
            if not self.offered:
                [*self.enabled()]
            if not 1 <= int(word) <= len(self.offered):
                raise UsageError(f"expected a number from 1 to {len(self.offered)}, found {word}")
            return self.offered[int(word) - 1]
        action, parameters = self.walk.action(word), _parameters(rest)
        if action.deduction:
            raise UsageError(f"{word} is a deduction: it is taken as soon as it can be")
        fitting = self.walk.matching(action, parameters)
        if not fitting:
            raise UsageError(self.walk.refusal(action, parameters))
        if len(fitting) > 1:
            shown = "; ".join(str(each.step) for each in fitting[:4])
            raise UsageError(f"{len(fitting)} steps fit, such as {shown}: give more parameters")
        return fitting[0]

    def _fallen(self) -> set[str]:
        return {claim.name for claim, fails in self.walk.claims() if fails is not None}

    def _after(self, before: set[str], last: int = 1) -> Iterator[str]:
        """Tell the last steps, and what falls by them."""
        self.offered = []
        for line in self.walk.story(last):
            yield from folded(line)
        for claim, fails in self.walk.claims():
            if fails is not None and claim.name not in before:
                yield from self._reason(claim)

    def _reason(self, claim: Claim) -> Iterator[str]:
        for line in reason(self.walk.judge, claim.checked, self.walk.state):
            yield from folded(line)

    def random(self, given: list[str]) -> Iterator[str]:
        """Take a number of steps at random, drawn with a seed."""
        number, seed = _number(given[0]), _number(given[1]) if given[1:] else 0
        draw, before, taken = random.Random(seed), self._fallen(), 0
        while taken < number and (able := self.walk.enabled()):
            self.walk.take(draw.choice(able).step)
            taken += 1
        yield f"{counted(taken, 'step')} taken, drawn with seed {seed}"
        yield from self._after(before, taken) if taken else ()

    def undo(self, given: list[str]) -> Iterator[str]:
        """Take back the last step, or as many as are asked for."""
        back = self.walk.undo(_number(given[0]) if given else 1)
        self.offered = []
        yield f"{counted(back, 'step')} taken back, {counted(len(self.walk.steps), 'step')} left"

    def why(self, given: list[str]) -> Iterator[str]:
        """Say why an action, or a deduction, cannot be taken: the guard that fails, and what it reads."""
        action, parameters = self.walk.action(given[0]), _parameters(given[1:])
        fitting = self.walk.matching(action, parameters)
        if fitting:
            done = "is taken" if action.deduction else "can be taken"
            yield from hanging(f"{action.name} {done}: {fitting[0].sentence}")
        else:
            yield from hanging(self.walk.refusal(action, parameters))

    # -- other places -----------------------------------------------------------------------------

    def attack(self, given: list[str]) -> Iterator[str]:
        """Jump to the end of an attack: that of a finding, or on a claim of this design."""
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
        self.walk, self.profile = there, None
        yield from self.heading()
        yield from self._after(set(), len(there.steps))

    def load(self, given: list[str]) -> Iterator[str]:
        """Begin again, and take the steps of a trace that was saved as JSON."""
        trace = _read(Path(given[0]))
        here = self.walk.chosen
        if (trace.protocol, trace.variant, trace.without) != (here.protocol, here.variant, here.without):
            raise UsageError(f"'{given[0]}' is of {_design(trace)}, and this is {_design(here)}")
        try:
            self.walk.follow(trace)
        except (NotEnabled, SpecificationError) as error:
            raise UsageError(f"'{given[0]}' is no run of this instance: {error}") from None
        yield from self._after(set(), len(self.walk.steps))

    def save(self, given: list[str]) -> Iterator[str]:
        """Write the walk: FILE.jsonl for `carnet conform`, FILE.itf.json as ITF, any other FILE as a trace in JSON."""
        path = Path(given[0])
        if path.name.endswith(RECORDED):
            write_text(path, "".join(f"{json.dumps(line)}\n" for line in self._recorded()))
        elif path.name.endswith(ITF):
            trace = self.walk.trace
            write_json(path, itf(self.walk.protocol, self.walk.judge.replay(trace), trace))
        else:
            write_json(path, self.walk.chosen.to_json())
        yield f"wrote {path}"

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
        for word, command in COMMANDS.items():
            yield from wrapped(f"{word} {command.arguments}".rstrip(), command.does, HELP_WIDTH)

    def quit(self, _: Iterable[str]) -> Iterator[str]:
        """Leave."""
        self.over = True
        yield from ()

    def heading(self) -> Iterator[str]:
        """Say which design and which instance this is."""
        walk = self.walk
        yield from hanging(f"{_design(walk.chosen)}, under {walk.threat.id}: {walk.threat.title}")
        yield from hanging(f"instance: {walk.judge.instance.words}")

    def as_json(self) -> dict[str, Any]:
        """Return where the walk is, as JSON values."""
        return {
            "trace": self.walk.chosen.to_json(),
            "instance": self.walk.judge.instance.words,
            "enabled": [{**each.step.to_json(), "sentence": each.sentence} for each in self.walk.enabled()],
            "known": self.walk.knowledge(),
            "claims": {claim.name: fails is None for claim, fails in self.walk.claims()},
        }


def _role_order(walk: Walkthrough, step: EnabledStep) -> int:
    """Return a number that sorts steps by role, in the order in which the roles first act in the protocol."""
    return [action.by.name for action in walk.protocol.actions].index(step.action.by.name)


@dataclass(frozen=True, slots=True)
class StepCommand:
    """A word of the walk: what does it, what follows it, and how many words that is."""

    perform: Callable[[StepShell, list[str]], Iterator[str]]
    arguments: str = ""
    least: int = 0
    most: int = 0

    @property
    def does(self) -> str:
        """What it does, in one sentence."""
        return (self.perform.__doc__ or "").splitlines()[0]


MANY = 32
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
    "load": StepCommand(StepShell.load, "FILE", 1, 1),
    "save": StepCommand(StepShell.save, "FILE", 1, 1),
    "help": StepCommand(StepShell.help),
    "quit": StepCommand(StepShell.quit),
}
"""What can be typed; a number alone takes the step of that number, and an empty line lists what can be done."""
HELP_WIDTH = 34


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


@click.command(cls=common.SizedCommand)
@common.protocol_argument
@common.size_option
@common.threat_option
@common.without_option
@click.option(
    "--variant", type=common.VARIANT, metavar="NAME", default="", help="Design. [default: the first main one]"
)
@common.start_option
@common.moves_option
@common.json_option
@click.pass_context
def step(
    context: click.Context,
    /,
    protocol: str,
    sizes: tuple[str, ...],
    threat: str,
    without: str,
    variant: str,
    profile_name: str,
    moves: int | None,
    as_json: bool,
    **options: int | None,
) -> int:
    """Walk through an instance of PROTOCOL: choose each step, ask why another is not possible, go back.

    Commands are read from standard input, one a line; `help` lists them. Without a terminal the first one that makes no
    sense ends the walk with exit code 2. With --json, one object says at the end where the walk is.
    """
    source = load(protocol)
    profile = common.sized_profile(source, profile_name, common.sizes_given(options, sizes), moves)
    target = hunt.attack_target(
        source, variant=variant, without=common.defences(without), threat=threat, every_claim=True
    )
    instance = source.instance(target.protocol, target.threat.id, profile)
    walk = Walkthrough(target.protocol, target.removed, target.threat, instance)
    session = StepShell(source, walk, profile)
    say = common.log if as_json else common.say
    for line in (*session.heading(), *session.enabled()):
        say(line)
    for typed in _typed(say):
        try:
            for line in session.perform(typed):
                say(line)
        except CarnetError as error:
            if not on_a_terminal():
                raise
            say(f"carnet: {error}")
        if session.over:
            break
    if as_json:
        common.show_json(session.as_json())
    return ExitCode.EXPECTED


def on_a_terminal() -> bool:
    """Whether somebody types the commands."""
    return sys.stdin.isatty()


def _typed(say: Callable[[str], None]) -> Iterator[str]:
    """Yield each line that is typed, or read from a pipe, where it is printed behind a prompt."""
    if on_a_terminal():
        import readline  # noqa: F401 - lines can be edited, and called back

        while True:
            try:
                yield input(PROMPT)
            except EOFError:
                say("")
                return
    for line in sys.stdin:
        say(f"{PROMPT}{line.rstrip()}")
        yield line
