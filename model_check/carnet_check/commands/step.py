"""``carnet step``: walk through an instance of a protocol by hand."""

import secrets
import shlex
import sys
from collections.abc import Callable, Iterator

import click

from carnet_check.attacks import hunt
from carnet_check.commands import common
from carnet_check.commands.step_server import StepServer
from carnet_check.commands.step_shell import StepShell
from carnet_check.loading.families import load
from carnet_check.walkthrough import Walkthrough
from carnet_command.errors import CarnetError
from carnet_command.exit_codes import ExitCode

PROMPT = "> "


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
@click.option("--cti", metavar="NAME", default="", help="Begin where a step breaks this claim or lemma.")
@click.option("--web", is_flag=True, help="Walk on a page that this machine alone can open.")
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
    cti: str,
    web: bool,
    as_json: bool,
    **options: int | None,
) -> int:
    """Walk through an instance of PROTOCOL: choose each step, ask why another is not possible, go back.

    Commands are read from standard input, one a line; `help` lists them. Without a terminal the first one that makes no
    sense ends the walk with exit code 2. With --web a page takes them instead, until its walk is ended or Ctrl-C. With
    --json, one object says at the end where the walk is.
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
    for line in session.perform(f"cti {shlex.quote(cti)}") if cti else session.heading():
        say(line)
    if web:
        _serve(session, say)
    else:
        _follow_lines(session, say)
    if as_json:
        common.show_json(session.as_json())
    return ExitCode.EXPECTED


def _serve(session: StepShell, say: Callable[[str], None]) -> None:
    """Serve a page of the walk, until it is over."""
    server = StepServer(session, secrets.token_urlsafe())
    say(f"open {server.url} (Ctrl-C ends it)")
    server.serve()


def _follow_lines(session: StepShell, say: Callable[[str], None]) -> None:
    """Do what each line of standard input says, until one ends the walk."""
    for line in session.enabled():
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


def on_a_terminal() -> bool:
    """Whether standard input is a terminal."""
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
