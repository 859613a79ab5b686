"""``carnet attest FILE``: recognise the format of a file, appraise it, and report missing inputs; also for many files.

The formats of a file are recognised by its content. Options may be those of any of these formats.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from carnet_command.errors import UsageError
from carnet_command.exit_codes import ExitCode
from carnet_command.files import failing_as
from carnet_command.once import require_each_once
from carnet_command.printable import printable
from carnet_command.progress import Pace, progress
from carnet_command.text import plural
from carnet_ref.attestation.dispatch import appraise_document, formats_of_file, reader_groups
from carnet_ref.attestation.formats import FORMATS, AppraisalContext, NeedsOptionError, OptionValues
from carnet_ref.attestation.wrappers import parts_of
from carnet_ref.commands import attest

if TYPE_CHECKING:
    from datetime import datetime

    from carnet_ref.attestation.appraisal import Anchors, Appraisal, Requirement
    from carnet_ref.attestation.kinds import Layer

FLAGS: Final = {"--json", "--help", "-h"}  #: The options without a value.
SHARED: Final = {"--at", "--trust-anchor", "--require", "--json"}  #: The options for every file, of any format.
ONCE: Final = {"--at", "--json"}  #: The options that the command for a repetition leaves out.
ONE_RESULT: Final = {"--ear", "--ear-profile"}  #: The options for a single file with evidence of one format.
ACCEPTED: Final = "ACCEPTED"
REFUSED: Final = "REFUSED"
NOT_APPRAISED: Final = "NOT APPRAISED"
BAR: Final = 24  #: The characters of a progress bar.


@dataclass(frozen=True, slots=True)
class Words:
    """The words of the command line: paths, and options with their values."""

    paths: tuple[Path, ...]
    options: tuple[tuple[str, ...], ...]

    @classmethod
    def split(cls, words: Sequence[str]) -> Words:
        """Separate paths from options. Raises UsageError if the value of the last option is missing."""
        paths: list[Path] = []
        options: list[tuple[str, ...]] = []
        rest = iter(words)
        for word in rest:
            if word == "--":
                paths.extend(map(Path, rest))
            elif not word.startswith("-"):
                paths.append(Path(word))
            elif word in FLAGS or "=" in word:
                options.append((word,))
            else:
                value = next(rest, None)
                if value is None:
                    raise click.UsageError(f"Option '{word}' requires an argument.")
                options.append((word, value))
        return cls(tuple(paths), tuple(options))

    def flags(self) -> frozenset[str]:
        """Return the options without their values."""
        return frozenset(option[0].partition("=")[0] for option in self.options)

    def of(self, command: click.Command) -> list[str]:
        """Return the words of those options that a command has."""
        known = {name for parameter in command.params for name in parameter.opts}
        return [word for option in self.options if option[0].partition("=")[0] in known for word in option]


@dataclass(frozen=True, slots=True)
class SharedOptions:
    """The values of the options for every file."""

    at: datetime
    anchors: Anchors
    require: frozenset[Requirement]
    as_json: bool


def shared_options(ctx: click.Context, words: Words) -> SharedOptions:
    """Return the values of the options for every file. Raises UsageError if a value is not valid."""
    shown = [attest.at_option, attest.anchor_option, attest.require_option, attest.json_option]

    def no_command(**_: object) -> int:
        return 0

    command: Any = no_command
    for decorate in reversed(shown):
        command = decorate(command)
    reader = click.command(name=attest.ANY)(command)
    typed = words.of(reader)
    require_each_once(ctx, reader, typed)
    with reader.make_context(attest.ANY, typed, parent=ctx) as context:
        given = context.params
    at, anchors = attest.instant(given["at"]), attest.anchors_given(given["trust_anchor"])
    return SharedOptions(at, anchors, given["require"], given["as_json"])


class CommandInputs:
    """The values of the options for each format; each is computed once."""

    def __init__(self, ctx: click.Context, words: Words, shared: SharedOptions) -> None:
        self._ctx = ctx
        self._words = words
        self._shared = shared
        self._commands: dict[str, click.Command] = {}
        self._given: dict[str, tuple[OptionValues, AppraisalContext[Any]]] = {}

    def command(self, name: str) -> click.Command:
        """Return the subcommand of a format, which prints the layers of a file in full."""
        if name not in self._commands:
            self._commands[name] = attest.subcommand(name, FORMATS[name].load(), in_full=True)
        return self._commands[name]

    def unknown_options(self, names: Iterable[str]) -> list[str]:
        """Return the given options that none of the named formats has."""
        known = {each for name in names for parameter in self.command(name).params for each in parameter.opts}
        return sorted(self._words.flags() - known - SHARED)

    def of(self, name: str) -> tuple[OptionValues, AppraisalContext[Any]]:
        """Return the inputs for a format. Raises UsageError if they are not valid."""
        if name not in self._given:
            form, command = FORMATS[name].load(), self.command(name)
            words = [*self._words.of(command), "--", attest.ANY]
            require_each_once(self._ctx, command, words)
            with command.make_context(name, words, parent=self._ctx) as context:
                typed = context.params
            values = attest.values({option: typed[attest.parameter(option)] for option in form.options})
            policy = attest.policy_given(form, typed.get("policy_file"))
            against = AppraisalContext(self._shared.at, policy, self._shared.anchors)
            self._given[name] = OptionValues(values), against
        return self._given[name]

    def again(self, path: Path, names: Iterable[str]) -> list[str]:
        """Return the command that appraises one file again, with the options that its formats have."""
        unknown = set(self.unknown_options(names))
        kept = (each for each in self._words.options if each[0].partition("=")[0] not in ONCE | unknown)
        typed = [word for option in kept for word in option]
        file = attest.as_argument(path, {*FORMATS, *attest.FURTHER})
        return ["carnet", "attest", file, *typed, "--at", attest.format_time(self._shared.at)]

    @property
    def used_formats(self) -> tuple[str, ...]:
        """The formats to which options were given."""
        return tuple(self._given)


class Unparsed(click.Command):
    """A click command without parsed options: it gets every word of its command line, ``--`` included."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Treat every word as an argument."""
        return super().parse_args(ctx, ["--", *args])


@click.command(name=attest.ANY, cls=Unparsed, add_help_option=False, context_settings={"ignore_unknown_options": True})
@click.argument("words", nargs=-1, type=click.UNPROCESSED)
@click.pass_context
def any_files(ctx: click.Context, words: tuple[str, ...]) -> int:
    """Appraise files of any kind, given by the words of the command line; return the exit code."""
    assert ctx.parent is not None, "this is a subcommand"
    given = Words.split(words)
    if given.flags() & set(ctx.help_option_names):
        click.echo(ctx.parent.get_help())
        return ExitCode.EXPECTED
    if not given.paths:
        raise click.UsageError("Missing a file, or a command.", ctx.parent)
    _require_files(ctx.parent, given.paths)
    inputs = CommandInputs(ctx, given, shared := shared_options(ctx, given))
    if len(given.paths) == 1 and not given.paths[0].is_dir():
        return _one_file(ctx, given, inputs, shared)
    _refuse_options(given.flags() & ONE_RESULT, "one file")
    return _batch(_files(given.paths), inputs, shared)


def _require_files(ctx: click.Context, paths: Sequence[Path]) -> None:
    """Require that each path exists; if the first does not, it may be a misspelt command."""
    missing = next((path for path in paths if not path.exists()), None)
    if missing is None:
        return
    commands = attest.attest.list_commands(ctx) if missing == paths[0] else []
    near = difflib.get_close_matches(str(missing), commands, n=1)
    meant = f" Did you mean '{near[0]}'?" if near else ""
    raise click.UsageError(f"There is no command and no file '{missing}'.{meant}", ctx)


def _refuse_options(flags: Collection[str], what: str) -> None:
    if flags:
        raise UsageError(f"{', '.join(sorted(flags))} can be given with {what} alone")


def _one_file(ctx: click.Context, words: Words, inputs: CommandInputs, shared: SharedOptions) -> int:
    """Appraise one file by each format that recognises it."""
    (path,) = words.paths
    if not path.is_file():
        raise UsageError(f"'{path}' can be read only once: say what it is, as in carnet attest tdx {path}")
    data = attest.contents(path)
    parts = parts_of(data)
    several = len(parts) > 1 or len(reader_groups(parts[0].found)) > 1
    _refuse_options(words.flags() & ONE_RESULT if several else (), "evidence of one kind")
    names = formats_of_file(data, inputs)
    if names and (unknown := inputs.unknown_options(names)):
        raise click.NoSuchOption(unknown[0], ctx=ctx)
    if len(names) == 1 and not several:
        command = inputs.command(names[0])
        typed = [*(word for option in words.options for word in option), "--", str(path)]
        require_each_once(ctx, command, typed)
        with command.make_context(names[0], typed, parent=ctx) as context:
            code: int = command.invoke(context)
        return code
    try:
        appraisal = appraise_document(data, inputs).requiring(shared.require)
    except NeedsOptionError as error:
        again = inputs.again(path, names)
        return attest.show_what_is_needed(error, attest.layers_of([data]), shared.at, again, shared.as_json)
    return attest.show(appraisal, shared.at, inputs.again(path, names), shared.as_json, in_full=True)


def _files(paths: Sequence[Path]) -> list[Path]:
    """Return the files, and those in the folders, except files whose names begin with a dot.

    Raises UsageError if a folder cannot be read or has no files.
    """
    found: list[Path] = []
    for path in paths:
        with failing_as(f"cannot read '{path}'"):
            inside = [path] if not path.is_dir() else sorted(each for each in path.iterdir() if each.name[0] != ".")
        files = [each for each in inside if each.is_file() or not each.exists()] if path.is_dir() else inside
        if not files:
            raise UsageError(f"'{path}' holds no file")
        found.extend(files)
    return found


def _batch(paths: Sequence[Path], inputs: CommandInputs, shared: SharedOptions) -> int:
    """Appraise each file on its own, print a line for each, and return the exit code: 0 if all are accepted."""
    unknown = inputs.unknown_options(FORMATS) if inputs.unknown_options(()) else []
    if unknown:
        raise click.NoSuchOption(unknown[0])
    counts: Counter[str] = Counter()
    with progress() as shown:
        pace = Pace()
        for number, path in enumerate(paths, 1):
            left = pace.left(number, len(paths))
            shown.status(f"{_bar(number, len(paths))} {number:,} of {len(paths):,} files{left}")
            line = _appraised(path, inputs, shared)
            counts[line.verdict] += 1
            shown.status("")
            line.print(shared)
    if not shared.as_json:
        parts = ", ".join(f"{number:,} {verdict.lower()}" for verdict, number in sorted(counts.items()))
        click.echo(f"{plural(len(paths), 'file')}: {parts}")
    _refuse_options(inputs.unknown_options(inputs.used_formats), "other files")
    return attest.ACCEPTED if counts[ACCEPTED] == len(paths) else attest.REFUSED


def _bar(done: int, total: int) -> str:
    filled = BAR * done // total
    return f"[{'#' * filled}{'.' * (BAR - filled)}]"


@dataclass(frozen=True, slots=True)
class BatchLine:
    """The result for one file: its verdict, its formats, and its appraisal, or why there is none.

    ``layers`` are those of a file without an appraisal; ``again`` is the command that appraises it again.
    """

    path: Path
    verdict: str
    formats: tuple[str, ...]
    outcome: Appraisal | UsageError
    layers: Sequence[Layer] = ()
    again: Sequence[str] = ()

    def print(self, shared: SharedOptions) -> None:
        """Print one line."""
        if shared.as_json:
            attest.print_json(self._object(shared.at))
        else:
            name = "+".join(self.formats) or "-"
            click.echo(printable(f"{self.verdict:<14}{name:<8}{self.path}: {self._detail()}"))

    def _object(self, at: datetime) -> dict[str, object]:
        about: dict[str, object] = {"file": str(self.path), "formats": list(self.formats)}
        if isinstance(self.outcome, UsageError):
            return {**about, **attest.unappraised_json(self.outcome, self.layers, at, self.again)}
        return {**about, **attest.as_object(self.outcome, at, self.again)}

    def _detail(self) -> str:
        if isinstance(self.outcome, UsageError):
            return str(self.outcome)
        refused = next((step for step in self.outcome.steps if step.ok is False), None)
        if refused is not None:
            return f"{refused.id}: {refused.detail}"
        whose = self.outcome.appraised_by
        told = [] if whose is None else [f"the result of {whose}"]
        return ", ".join((*told, *self.outcome.not_compared)) or "nothing was left open"


def _appraised(path: Path, inputs: CommandInputs, shared: SharedOptions) -> BatchLine:
    try:
        data = attest.contents(path)
    except UsageError as error:
        return BatchLine(path, NOT_APPRAISED, (), error, again=inputs.again(path, ()))
    names = formats_of_file(data, inputs)
    again = inputs.again(path, names)
    try:
        appraisal = appraise_document(data, inputs).requiring(shared.require)
    except NeedsOptionError as error:
        return BatchLine(path, NOT_APPRAISED, names, error, attest.layers_of([data]), again)
    return BatchLine(path, ACCEPTED if appraisal.accepted else REFUSED, names, appraisal, (), again)
