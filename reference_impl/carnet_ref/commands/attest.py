"""``carnet attest``: appraise evidence of real hardware; each format is a subcommand, made from what it registered."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from carnet_command.files import require_apart
from carnet_command.once import require_each_once
from carnet_ref.attestation.formats import FORMATS, AppraisalContext, Option, OptionValues, Value, appraise_files
from carnet_ref.commands.appraisals import (
    anchor_option,
    anchors_given,
    at_option,
    contents,
    instant,
    json_option,
    readable,
    show,
    written,
)
from carnet_ref.commands.format_options import AnyFormat, click_option, parameter, policy_given, said, values
from carnet_ref.commands.issuing import issuer_given, policy_id, with_ear_options

if TYPE_CHECKING:
    from carnet_ref.attestation.appraisal import Appraisal
    from carnet_ref.attestation.results import AppraisalRecord, Profiles

FURTHER: Final = {
    "live": ("carnet_ref.commands.live:live", "Collect the evidence of this machine and appraise it (also --live)."),
}
"""Subcommands that appraise no file: where each is, as ``module:name``, and what it does, in one line."""
LIVE: Final = "--live"
"""Another name of the subcommand ``live``."""


class Formats(click.Group):
    """A group whose subcommands are the registered formats and few others, imported when they are called."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take ``--live`` before everything else for the subcommand of that name."""
        return super().parse_args(ctx, ["live", *args[1:]] if args[:1] == [LIVE] else args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand that is called, and refuse an option of it that comes twice."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            require_each_once(ctx, command, rest)
        return name, command, rest

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the formats, then the others."""
        return [*FORMATS, *FURTHER]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Make the subcommand of the format called ``cmd_name``, or import another."""
        if cmd_name in FURTHER:
            command: click.Command = pkgutil.resolve_name(FURTHER[cmd_name][0])
            return command
        registered = FORMATS.get(cmd_name)
        return None if registered is None else subcommand(cmd_name, registered.load())

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the subcommands without importing them."""
        rows = [(name, registered.summary) for name, registered in FORMATS.items()]
        with formatter.section("Commands"):
            formatter.write_dl([*rows, *((name, summary) for name, (_, summary) in FURTHER.items())])


@click.command(cls=Formats, short_help="Appraise evidence of real hardware.")
def attest() -> None:
    """Appraise a GPU's report, all devices of a node, reference values, or a virtual machine's quote or report.

    Exit codes: 0 accepted, 1 refused (what cannot be parsed is refused), 2 usage, 3 no evidence on this machine.
    """


def subcommand(name: str, form: AnyFormat) -> click.Command:
    """Return the subcommand that appraises evidence of a format."""

    def appraise(
        evidence: Path | tuple[Path, ...],
        at: str | None,
        as_json: bool,
        trust_anchor: Path | None = None,
        policy_file: Path | None = None,
        ear: Path | None = None,
        key: Path | None = None,
        **given: Any,
    ) -> int:
        time, words = instant(at), {option: given[parameter(option)] for option in form.options}
        paths = evidence if isinstance(evidence, tuple) else (evidence,)
        files, stands_for = tuple(map(contents, paths)), values(words)
        require_apart({"--ear": ear}, [*paths, *_files(words.values()), *_files((policy_file, trust_anchor))])
        issuer = issuer_given(ear, key)
        against = AppraisalContext(time, policy_given(form, policy_file), anchors_given(trust_anchor))
        appraisal = appraise_files(form, files, OptionValues(stands_for), against)
        if issuer is not None:
            issuer.issue(*_result(name, form, appraisal, against, stands_for, policy_file))
        rerun = [str(word) for word in _rerun(words, policy_file, trust_anchor)]
        again = ["carnet", "attest", name, *map(str, paths), *rerun, "--at", written(time)]
        return show(appraisal, time, again, as_json)

    policy = click.option(
        "--policy", "policy_file", type=readable, metavar="FILE", help="A JSON policy that replaces the default."
    )
    policies = [policy] if form.parse_policy is not None else []
    anchors = [anchor_option] if form.anchored else []
    results = [with_ear_options] if form.results is not None else []
    shown = (*map(click_option, form.options), at_option, *policies, *anchors, *results, json_option)
    several, word = form.combine is not None, form.argument.upper()
    metavar = f"{word}..." if several else word
    argument = click.argument("evidence", type=readable, metavar=metavar, nargs=-1 if several else 1, required=True)
    command: Any = appraise
    for decorate in reversed((argument, *shown)):
        command = decorate(command)
    return click.command(name=name, help=form.help)(command)


def _files(values: Iterable[object]) -> Iterator[Path]:
    """Yield the files among what was given."""
    for value in values:
        yield from _files(value) if isinstance(value, tuple) else (value,) if isinstance(value, Path) else ()


def _result(
    name: str,
    form: AnyFormat,
    appraisal: Appraisal,
    against: AppraisalContext[Any],
    given: Mapping[str, Value],
    policy_file: Path | None,
) -> tuple[AppraisalRecord, Profiles]:
    """Return what becomes the result of an appraisal."""
    from carnet_ref.attestation.results import AppraisalRecord

    profile = form.results
    assert profile is not None, "a format without results has no --ear"
    asked = given[profile.asked_with]
    assert asked is None or isinstance(asked, bytes), f"--{profile.asked_with} is bytes"
    appraised = AppraisalRecord(
        appraisal, name, against.at, profile.lasting(against.policy), asked, {name: policy_id(name, policy_file)}
    )
    return appraised, lambda attester: profile if bool(attester) is profile.grouped else None


def _rerun(words: Mapping[Option, Any], policy_file: Path | None, trust_anchor: Path | None) -> list[object]:
    """Return the words that say the same again, but for the time."""
    single, several = said(words)
    files = [("--policy", policy_file), *several, ("--trust-anchor", trust_anchor)]
    return [word for flag, value in [*single, *files] if value is not None for word in (flag, value)]
