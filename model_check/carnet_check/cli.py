"""The ``carnet`` command: it finds subcommands, and turns every failure into one line and an exit code.

A subcommand is imported when it is called, so ``carnet --help`` is fast. Other packages add subcommands through the
entry-point group ``carnet.commands``: each entry point names a click command. ``attest`` is listed here, because
looking for entry points takes longer than an appraisal. A failure ends with one line (with ``--json``: one object on
standard output) and the exit code for its kind; see docs/adr/0004-verdicts-and-exit-codes.md.
"""

import errno
import importlib
import io
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from carnet_command.exit_codes import ExitCode
from carnet_command.once import require_each_once

GROUP = "carnet.commands"
TRACEBACK = "CARNET_TRACEBACK"
MOST_SAID = 4_000  #: The most characters of an error: it may quote text from a file.

#: The error numbers of a failed write to an open file, for example on a full disk.
UNWRITABLE = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF}

BUILT_IN = {
    "list": ("carnet_check.commands.listing:list_protocols", "List protocols, claims, threat models and findings."),
    "verify": ("carnet_check.commands.verify:verify", "Establish or refute every claim of a protocol."),
    "attack": ("carnet_check.commands.attack:attack", "Remove a defence and look for the attack it stops."),
    "explore": ("carnet_check.commands.explore:explore", "Visit every state of one instance."),
    "lint": ("carnet_check.commands.lint:lint", "Report errors in a specification, with their places."),
    "lsp": ("carnet_check.commands.lsp:lsp", "Serve an editor: complaints, meanings, places of ids."),
    "step": ("carnet_check.commands.step:step", "Walk through an instance by hand."),
    "mutate": ("carnet_check.commands.mutate:mutate", "Mutate a spec: is every small change noticed?"),
    "conform": ("carnet_check.commands.conform:conform", "Check a recorded trace against the spec."),
    "export": ("carnet_check.commands.export:export", "Export models and proof obligations to other tools."),
    "certify": ("carnet_check.commands.certify:certify", "Make certificates of the proofs."),
    "recheck": ("carnet_check.commands.recheck:recheck", "Check certificates again, without a solver."),
    "exhaust": ("carnet_check.commands.exhaust:exhaust", "Certify that every state of small instances was visited."),
    "explain": ("carnet_check.commands.explain:explain", "Explain an identifier."),
    "doctor": ("carnet_check.commands.doctor:doctor", "Show which engines and tools are installed."),
    "report": ("carnet_check.commands.report:report", "Show a recorded run as pages."),
    "init": ("carnet_check.commands.init:init", "Begin a protocol of your own."),
    "watch": ("carnet_check.commands.watch:watch", "Verify again at each change."),
    "diff": ("carnet_check.commands.diff:diff", "Compare two recorded runs."),
    "attest": ("carnet_ref.commands.attest:attest", "Appraise evidence of real hardware."),
}


class UnreadError(Exception):
    """The reader of standard output has gone."""


class Commands(click.Group):
    """A group whose commands are imported when they are called, and whose failures end in one line."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the built-in commands, then those of other packages."""
        return [*BUILT_IN, *(name for name in sorted(_added()) if name not in BUILT_IN)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command called ``cmd_name``."""
        if cmd_name in BUILT_IN:
            module, _, attribute = BUILT_IN[cmd_name][0].partition(":")
            command = getattr(importlib.import_module(module), attribute)
        elif cmd_name in (added := _added()):
            command = added[cmd_name].load()
        else:
            return None
        assert isinstance(command, click.Command), f"'{cmd_name}' is no click command"
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that is called, and refuse an option that is repeated, of which click takes the last."""
        try:
            name, command, rest = super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(f"{error.message}{self._suggestion(ctx, args[0])}", ctx) from None
        if command is not None:
            require_each_once(ctx, command, rest)
        return name, command, rest

    def _suggestion(self, ctx: click.Context, given: str) -> str:
        """Return the words that suggest the command with the most similar spelling."""
        import difflib

        near = difflib.get_close_matches(given, self.list_commands(ctx), n=1)
        return f" Did you mean '{near[0]}'?" if near else ""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing the built-in ones."""
        rows = [(name, text) for name, (_, text) in BUILT_IN.items()]
        for name in self.list_commands(ctx)[len(rows) :]:
            command = self.get_command(ctx, name)
            rows.append((name, command.get_short_help_str() if command else ""))
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and recognise a closed standard output, which click would report as a failure."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise UnreadError from error

    def main(  # type: ignore[override]  # never returns: every way out is an exit code
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> NoReturn:
        """Run a command and exit with the code that it returns, or with that of its failure."""
        given = list(sys.argv[1:] if args is None else args)
        if sys.stderr is None:
            sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 # stays open until the process ends
        _require_every_character(sys.stdout, sys.stderr)
        extra["standalone_mode"] = False
        try:
            if sys.stdout is None:
                raise click.UsageError("standard output is closed: send it to a file, or to /dev/null")
            from carnet_command.garbage import look_rarely
            from carnet_command.interrupts import stoppable

            look_rarely()
            with stoppable(to_the_end=args is None):
                code = super().main(given, prog_name or "carnet", **extra)
                sys.stdout.flush()
        except BaseException as error:
            if isinstance(error, BrokenPipeError | UnreadError):
                _let_go_of_output()
                sys.exit(ExitCode.UNREAD)
            if isinstance(error, SystemExit):
                raise
            code = _failed(error, "--json" in given)
            if sys.stdout is not None and not _say([], err=False):
                _let_go_of_output()
        if args is None:
            from carnet_command.garbage import look_no_more

            look_no_more()
        sys.exit(code if isinstance(code, int) else ExitCode.EXPECTED)


def _require_every_character(*streams: Any) -> None:
    """Let streams escape characters that their encoding lacks, such as arrows in Latin-1.

    In the C locale, Python writes lone surrogates that represent bytes, and fails on all others.
    """
    for stream in streams:
        if isinstance(stream, io.TextIOWrapper) and stream.errors in {"strict", "surrogateescape"}:
            stream.reconfigure(errors="backslashreplace")


def _added() -> dict[str, Any]:
    from importlib.metadata import entry_points

    return {entry.name: entry for entry in entry_points(group=GROUP)}


def _failed(error: BaseException, as_json: bool) -> int:
    """Print what went wrong, one line for each complaint, and return the exit code."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return ExitCode.USAGE
    kind, complaints, code = _described(error)
    if os.environ.get(TRACEBACK):
        import traceback

        traceback.print_exception(error)
    every = {"complaints": complaints} if len(complaints) > 1 else {}
    value = {"error": {"kind": kind, "message": "; ".join(complaints), **every}}
    said = [json.dumps(value, ensure_ascii=False)] if as_json else []
    heard = _say(said, err=False) & _say([f"carnet: {complaint}" for complaint in complaints], err=True)
    return code if heard or code != ExitCode.VIOLATED else ExitCode.USAGE


def _let_go_of_output() -> None:
    """Discard output that could not be written: Python would try again at exit, complain, and exit with 120."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _say(lines: Sequence[str], err: bool) -> bool:
    """Write lines and flush the stream; return whether that succeeded, for earlier output, too."""
    try:
        for line in lines:
            click.echo(line, err=err)
        if stream := sys.stderr if err else sys.stdout:
            stream.flush()
    except OSError:
        return False
    return True


def _described(error: BaseException) -> tuple[str, tuple[str, ...], int]:
    from carnet_command.errors import CarnetError
    from carnet_spec.language.errors import SpecificationError

    if isinstance(error, KeyboardInterrupt | click.Abort):
        return "interrupted", ("interrupted: the work is not finished",), ExitCode.INTERRUPTED
    if isinstance(error, click.ClickException):
        return "usage", (_one_line(error.format_message()),), ExitCode.USAGE
    if isinstance(error, CarnetError):
        return error.kind, tuple(map(_one_line, error.complaints)), error.exit_code
    if isinstance(error, SpecificationError):
        return "specification", (_one_line(str(error)),), ExitCode.USAGE
    if isinstance(error, OSError) and error.errno in UNWRITABLE and error.filename is None:
        return "usage", (f"cannot write the output: {error.strerror}",), ExitCode.USAGE
    if isinstance(error, MemoryError):
        return "unknown", ("out of memory: choose smaller sizes or a lower --max-memory",), ExitCode.UNKNOWN
    hint = "" if os.environ.get(TRACEBACK) else f" (set {TRACEBACK}=1 to see where)"
    told = f"internal error: {type(error).__name__}: {_one_line(str(error))}{hint}"
    return "internal", (told,), ExitCode.INTERNAL


def _one_line(text: str) -> str:
    from carnet_command.printable import printable

    line = printable(" ".join(text.split()))
    return line if len(line) <= MOST_SAID else f"{line[:MOST_SAID]} …"


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="carnet", prog_name="carnet")
def main() -> None:
    """Carnet: an executable, machine-checked specification of GPU Travelling.

    PROTOCOL is a registered id (see `carnet list`), path.py[:name] or module:name. Every command but lsp takes
    --json; a group, such as attest, leaves that to its commands.

    Exit codes: 0 all as expected, 1 violated, 2 usage, 3 unknown, 4 vacuous, 5 internal error, 130 interrupted
    (by Ctrl-C, SIGTERM or SIGHUP).
    """
