"""``carnet attest``: appraise evidence of real hardware; each format is a subcommand, made from what it registered."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from carnet_command.errors import UsageError
from carnet_ref.attestation.formats import FORMATS, Against, Format, Given, Option, OptionKind, Value
from carnet_ref.commands.appraisals import (
    anchor_option,
    anchors_given,
    at_option,
    contents,
    contents_of_all,
    instant,
    json_option,
    octets_given,
    readable,
    show,
    unparsable,
    written,
)

if TYPE_CHECKING:
    from carnet_ref.attestation.appraisal import Appraisal

AnyFormat = Format[Any, Any]


class Formats(click.Group):
    """A group whose subcommands are the registered formats, imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the formats."""
        return list(FORMATS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Make the subcommand of the format called ``cmd_name``."""
        registered = FORMATS.get(cmd_name)
        return None if registered is None else subcommand(cmd_name, registered.load())

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the formats without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, registered.summary) for name, registered in FORMATS.items()])


@click.command(cls=Formats, short_help="Appraise evidence of real hardware.")
def attest() -> None:
    """Appraise a GPU's report, all devices of a node, reference values, or a virtual machine's quote or report.

    Exit codes: 0 accepted, 1 refused (what cannot be parsed is refused), 2 usage.
    """


def subcommand(name: str, form: AnyFormat) -> click.Command:
    """Return the subcommand that appraises evidence of a format."""

    def appraise(
        evidence: Path | tuple[Path, ...],
        at: str | None,
        trust_anchor: Path | None,
        as_json: bool,
        policy_file: Path | None = None,
        **said: Any,
    ) -> int:
        time, words = instant(at), {option: said[_parameter(option)] for option in form.options}
        paths = evidence if isinstance(evidence, tuple) else (evidence,)
        appraisal = _appraised(form, tuple(map(contents, paths)), words, time, policy_file, trust_anchor)
        rerun = [str(word) for word in _rerun(words, policy_file, trust_anchor)]
        again = ["carnet", "attest", name, *map(str, paths), *rerun, "--at", written(time)]
        return show(appraisal, time, again, as_json)

    policy = click.option(
        "--policy", "policy_file", type=readable, metavar="FILE", help="A JSON policy that replaces the default."
    )
    policies = [policy] if form.parse_policy is not None else []
    shown = (*map(_click_option, form.options), at_option, *policies, anchor_option, json_option)
    several, word = form.combine is not None, form.argument.upper()
    metavar = f"{word}..." if several else word
    argument = click.argument("evidence", type=readable, metavar=metavar, nargs=-1 if several else 1, required=True)
    command: Any = appraise
    for decorate in reversed((argument, *shown)):
        command = decorate(command)
    return click.command(name=name, help=form.help)(command)


def _parameter(option: Option) -> str:
    """Return the name of the parameter that click passes an option's value by; it is no other option's."""
    return f"given_{option.name.replace('-', '_')}"


def _click_option(option: Option) -> Any:
    several = option.kind is OptionKind.FILES
    kinds = {OptionKind.HEX: str, OptionKind.NUMBER: click.IntRange(min=0)}
    metavar = {OptionKind.HEX: "HEX", OptionKind.NUMBER: "N"}.get(option.kind, "FILE")
    value = kinds.get(option.kind, readable)
    return click.option(
        option.flag, _parameter(option), type=value, metavar=metavar, multiple=several, help=option.help
    )


def _appraised(
    form: AnyFormat,
    files: tuple[bytes, ...],
    words: Mapping[Option, Any],
    at: datetime,
    policy_file: Path | None,
    trust_anchor: Path | None,
) -> Appraisal:
    from carnet_ref.wire.reader import MalformedError

    given = Given({option.name: _value(option, word) for option, word in words.items()})
    against = Against(at, _policy(form, policy_file), anchors_given(trust_anchor))
    try:
        recognised = [form.recognise(data, given) for data in files]
        evidence = recognised[0] if form.combine is None else form.combine(recognised)
    except MalformedError as error:
        return unparsable(str(error))
    appraisal: Appraisal = form.appraise(evidence, given, against)
    return appraisal


def _value(option: Option, word: Any) -> Value:
    """Return what an option's word stands for."""
    match option.kind:
        case OptionKind.FILE:
            return None if word is None else contents(word)
        case OptionKind.FILES:
            return tuple(data for path in word for data in contents_of_all(path))
        case OptionKind.HEX:
            return octets_given(option.flag, word, option.length)
    return word if word is None else int(word)


def _policy(form: AnyFormat, path: Path | None) -> object:
    from carnet_ref.wire.reader import MalformedError

    if path is None or form.parse_policy is None:
        return form.default_policy
    try:
        return form.parse_policy(contents(path))
    except MalformedError as error:
        raise UsageError(f"'{path}' is no policy: {error}") from None


def _rerun(words: Mapping[Option, Any], policy_file: Path | None, trust_anchor: Path | None) -> list[object]:
    """Return the words that say the same again, but for the time."""
    single = [(option.flag, word) for option, word in words.items() if option.kind is not OptionKind.FILES]
    several = [
        (option.flag, each) for option, word in words.items() if option.kind is OptionKind.FILES for each in word
    ]
    said = [*single, ("--policy", policy_file), *several, ("--trust-anchor", trust_anchor)]
    return [word for flag, value in said if value is not None for word in (flag, value)]
