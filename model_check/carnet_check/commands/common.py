"""Common parts of subcommands: options and their completion, the closing block, and printing text or JSON."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from platform import python_version
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource
from click.shell_completion import CompletionItem

from carnet_check.errors import CarnetError, UsageError
from carnet_command.printable import printable, printable_lines
from carnet_command.text import LABEL_WIDTH, report_width, wrap_text
from carnet_spec.protocols.registry import registered_protocols

if TYPE_CHECKING:  # commands that answer from the cache import neither the language nor an engine
    from carnet_check.engines.exploration import Walks
    from carnet_check.engines.interface import Engine
    from carnet_check.loading.families import Source
    from carnet_spec.language import Profile


class EngineName(click.ParamType[str]):
    """The name of a registered engine, with completion; the registry is imported when it is needed."""

    name = "choice"

    @property
    def _choice(self) -> click.Choice[str]:
        from carnet_check.engines import registry

        return click.Choice(sorted(registry.ENGINES))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name; refuse a name that no engine has."""
        return self._choice.convert(value, param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        """List the names."""
        return self._choice.get_metavar(param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Offer the names that begin like this."""
        return self._choice.shell_complete(ctx, param, incomplete)


class ProtocolName(click.ParamType[str]):
    """A reference to a protocol; registered ids can be completed."""

    name = "protocol"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Offer the registered ids, or files if none begins like this."""
        return _beginning(registered_protocols(), incomplete) or [CompletionItem(incomplete, type="file")]


class NameIn(click.ParamType[str]):
    """The name of a part of the protocol on the command line: of one of its ``claims``, ``threats``, ``variants`` ….

    If no word of the line is a protocol, names are those of the protocols in options, or else of all registered ones.

    In a comma-separated list the last name is completed.
    """

    name = "text"

    def __init__(self, of: str) -> None:
        self._of = of

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Offer the names that begin like this."""
        before, comma, _ = incomplete.rpartition(",")
        return _beginning((before + comma + name for name in _names(ctx, self._of)), incomplete)


PROTOCOL = ProtocolName()
CLAIM, THREAT, VARIANT, DEFENCE, PROFILE, STATED, ID = (
    NameIn(of) for of in ("claims", "threats", "variants", "defences", "profiles", "stated", "ids")
)


def _names(context: click.Context, of: str) -> Iterable[str]:
    """Return the names in the protocols on the line; none if a protocol cannot be loaded."""
    from carnet_check.commands.descriptions import completions
    from carnet_check.loading.families import load

    try:
        return dict.fromkeys(name for protocol in _protocols_on(context) for name in completions(load(protocol), of))
    except CarnetError:
        return []


def _protocols_on(context: click.Context) -> Sequence[str]:
    """Return the protocols on an unfinished line, whose words are not yet assigned to parameters."""
    argument: Any = next((each for each in context.command.params if each.name == "protocol"), None)
    if argument is None:
        return context.params.get("protocols") or list(registered_protocols())
    words = (word for word in context.args if not word.startswith("-"))
    default = argument.default if isinstance(argument.default, str) else None
    protocol = next(words, None) or context.params.get("protocol") or default
    return [str(protocol)] if protocol else list(registered_protocols())


def _beginning(names: Iterable[str], begun: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(begun)]


# -- the closing block: results, bounds, versions, and the command to repeat the run ---------------

DIGEST_SHOWN = 16
#: The key in a context's ``meta`` for options set by another command, which the rerun line leaves out.
HIDDEN_OPTIONS = "carnet.unsaid"


def tool_versions(*engines: Engine, solver: bool = True) -> dict[str, str]:
    """Return the versions that verdicts depend on: those of the engines' tools, and of Z3 if a solver was used."""
    from carnet_check.engines.interface import installed_version

    z3 = {"z3": installed_version("z3-solver")} if solver else {}
    found = {name: version for engine in engines for name, version in engine.versions().items() if name != "z3-solver"}
    return {"carnet": installed_version("carnet"), **z3, **found, "python": python_version()}


@dataclass(frozen=True)
class Closing:
    """The facts of the closing block of a command, in the order in which they are printed."""

    verdicts: Mapping[str, int]
    outcome: str
    strength: str
    budget: str
    profile: str
    digests: Mapping[str, str]
    artefacts: str
    rerun: str
    seconds: float = 0.0
    kept_by: str = ""  #: The option that would have written the results to files, if there is one.
    versions: Mapping[str, str] = field(default_factory=tool_versions)

    def as_json(self) -> dict[str, Any]:
        """Return the facts as JSON values."""
        return {
            "verdicts": dict(self.verdicts),
            "outcome": self.outcome,
            "strength": self.strength,
            "budget": self.budget,
            "profile": self.profile,
            "versions": dict(self.versions),
            "spec_digests": dict(self.digests),
            "artefacts": self.artefacts,
            "rerun": self.rerun,
            "seconds": round(self.seconds, 3),
        }

    def lines(self) -> list[str]:
        """Return the lines of the block."""
        digests = " · ".join(f"{name} {digest[:DIGEST_SHOWN]}" for name, digest in self.digests.items())
        counts = " · ".join(f"{word} {count}" for word, count in self.verdicts.items()) or "none"
        facts = {
            "verdicts": f"{counts}: {self.outcome}",
            "strength": self.strength,
            "budget": self.budget,
            "profile": self.profile,
            "versions": " · ".join(f"{name} {version}" for name, version in self.versions.items()),
            "spec digest": digests,
            "artefacts": self.artefacts or (f"none written ({self.kept_by} writes them)" if self.kept_by else "none"),
            "time": f"{self.seconds:.1f} s",
        }
        block = ["─" * report_width()]
        for label, text in facts.items():
            block += wrap_text(label, text)
        return [*block, rerun(self.rerun)]

    def last_lines(self) -> list[str]:
        """Return the end of the block: the files that were written, and the command to repeat the run."""
        kept = wrap_text("artefacts", self.artefacts) if self.artefacts else []
        return [*kept, rerun(self.rerun)]


def profile_line(name: str, walks: Walks | None) -> str:
    """Return the words for the profile of a run, and for the seed of its random walks, if it took any."""
    return f"{name}; nothing is random, so there is no seed" if walks is None else f"{name}; seed {walks.seed}"


def rerun_line(context: click.Context) -> str:
    """Return the last line of every command: the command to type for the same result."""
    return rerun(rerun_command(context))


def rerun(command: str) -> str:
    """Return the line that shows the command to type."""
    return f"{'rerun':<{LABEL_WIDTH}}{command}"


def rerun_command(context: click.Context) -> str:
    """Return the running command with exactly the given arguments and options."""
    words = ["carnet", context.info_name or ""]
    for parameter in context.command.get_params(context):
        name = parameter.name or ""
        if name in context.meta.get(HIDDEN_OPTIONS, ()):
            continue
        if context.get_parameter_source(name) not in (ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT):
            continue
        words += _option_words(parameter, context.params.get(name))
    return shlex.join(words)


def _option_words(parameter: click.Parameter, value: Any) -> list[str]:
    values = value if isinstance(value, tuple | list) else (value,)
    if isinstance(parameter, click.Argument):
        return [str(item) for item in values]
    option = max(parameter.opts, key=len)
    if isinstance(parameter, click.Option) and parameter.is_flag:
        return [option] if value else []
    return [word for item in values for word in (option, str(item))]


SIZES = "sizes"  #: The parameter for the values of ``--set``.
MOST_DIGITS = 15  #: The most digits of a size; larger sizes are refused anyway.

protocol_argument = click.argument("protocol", type=PROTOCOL)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object on standard output.")


class PositiveInteger(click.ParamType[int]):
    """A whole number of one or more."""

    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the parsed number. Raises click.BadParameter if the value is not a whole number, or is below one."""
        try:
            number = int(value)
        except (TypeError, ValueError):
            self.fail(f"expected a whole number of at least 1, not '{value}'", param, ctx)
        if number < 1:
            self.fail(f"expected a whole number of at least 1, not {number}", param, ctx)
        return number


class MemoryParameter(click.ParamType[int]):
    """An amount of memory: a number of bytes, or of KiB, MiB or GiB."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the bytes. Raises click.BadParameter if the value is no amount of memory."""
        if isinstance(value, int):
            return value
        written = re.fullmatch(r"(\d{1,15})\s*(?:([kmg])(?:i?b)?|b)?", str(value).strip(), re.IGNORECASE | re.ASCII)
        if written is None or not int(written[1]):
            self.fail(f"expected an amount of memory such as 500M or 2GiB, not '{value}'", param, ctx)
        return int(written[1]) << 10 * " kmg".index((written[2] or " ").lower())


jobs_option = click.option(
    "--jobs", type=PositiveInteger(), metavar="N", help="Worker processes. [default: one to a core]"
)
simulate_option = click.option(
    "--simulate", type=PositiveInteger(), metavar="N", help="Take N random walks instead of visiting every state."
)
memory_option = click.option(
    "--max-memory",
    type=MemoryParameter(),
    metavar="SIZE",
    help="Stop before using more than this, e.g. 2GiB. [default: most of the free memory]",
)
time_option = click.option(
    "--max-seconds", type=PositiveInteger(), metavar="S", help="Stop an exploration after S seconds."
)
states_option = click.option(
    "--max-states", type=PositiveInteger(), metavar="M", help="Stop an exploration after M states."
)
variants_option = click.option(
    "--variant", "variants", type=VARIANT, multiple=True, metavar="NAME", help="Only this variant. Repeatable."
)
threat_option = click.option(
    "--threat", type=THREAT, metavar="ID", default="", help="Threat model. [default: the protocol's]"
)
without_option = click.option("--without", type=DEFENCE, metavar="A[,B]", default="", help="Defences to remove.")
#: The option ``--set``; a :class:`SizedCommand` puts the sizes that have their own options before it.
size_option = click.option("--set", SIZES, multiple=True, metavar="NAME=VALUE", help="Any other size, by its name.")
start_option = click.option(
    "--profile",
    "profile_name",
    type=PROFILE,
    default="tiny",
    show_default=True,
    metavar="NAME",
    help="Sizes to start from.",
)
moves_option = click.option(
    "--moves", type=click.IntRange(min=0), metavar="K", help="At most K active adversary moves."
)


def threats_option(text: str) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Return the option for threat models; ``text`` is its help."""
    return click.option("--threat", "threats", type=THREAT, multiple=True, metavar="ID", help=f"{text} Repeatable.")


class SizedCommand(click.Command):
    """A command about instances of some size: the registered protocols declare which sizes have their own option.

    These options are created when the command is used, because that imports the protocols.
    """

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters, the options of sizes before ``--set``."""
        from carnet_check.loading.families import registered_families

        params = super().get_params(ctx)
        place = next(number for number, param in enumerate(params) if param.name == SIZES)
        named = {name: told for family in registered_families() for name, told in family.options.items()}
        options = [
            click.Option([f"--{name}", name], type=PositiveInteger(), metavar=letter, help=counted)
            for name, (letter, counted) in named.items()
        ]
        return [*params[:place], *options, *params[place:]]


def sizes_given(options: Mapping[str, int | None], sizes: Iterable[str]) -> dict[str, int]:
    """Return the sizes that were given, by name.

    Raises UsageError if one is not NAME=VALUE with a whole number of at least 1, or is given twice with different
    values.
    """
    given = {name: value for name, value in options.items() if value is not None}
    for text in sizes:
        name, equals, value = text.partition("=")
        known = value.strip().isdecimal() and len(value.strip()) <= MOST_DIGITS
        if not equals or not name.strip() or not known or int(value) < 1:
            raise UsageError(f"--set expects NAME=VALUE with a whole number of at least 1, not '{text[:60]}'")
        number = int(value)
        if given.setdefault(name.strip(), number) != number:
            raise UsageError(f"'{name.strip()}' is given twice, as {given[name.strip()]} and as {number}")
    return given


def sized_profile(source: Source, name: str, sizes: Mapping[str, int], moves: int | None) -> Profile:
    """Return a profile with other sizes, and with another budget if one is given."""
    from carnet_check.loading.extent import refuse_sizes

    profile = source.profile(name)
    scale = {**profile.scale, **sizes}
    refuse_sizes(scale)
    return replace(profile, scale=scale, budget=profile.budget if moves is None else moves)


def defences(text: str) -> tuple[str, ...]:
    """Return the defences in the value of ``--without``. Raises UsageError if the text is no list of names."""
    names = tuple(dict.fromkeys(name.strip() for name in text.split(","))) if text else ()
    if not all(names):
        raise UsageError(f"--without expects defences separated by commas, not '{text}'")
    return names


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


def say(text: str = "") -> None:
    """Print lines of the report, with unprintable characters escaped."""
    click.echo(printable_lines(text))


def log(text: str) -> None:
    """Print lines on standard error, with unprintable characters escaped."""
    click.echo(printable_lines(text), err=True)


def finish(
    as_json: bool, value: Mapping[str, Any], lines: Iterable[str], closing: Closing, *, brief: bool = False
) -> None:
    """Print the outcome of a command: one JSON object, or lines and the closing block (if ``brief``, its end)."""
    if as_json:
        show_json({**value, "run": closing.as_json()})
        return
    for line in [*lines, *map(printable, closing.last_lines() if brief else closing.lines())]:
        say(line)


def show(context: click.Context, as_json: bool, value: Mapping[str, Any], lines: Iterable[str]) -> None:
    """Print the outcome of a command without verdicts: one JSON object, or lines and the command to repeat it."""
    if as_json:
        show_json(value)
        return
    for line in (*lines, rerun_line(context)):
        say(line)


def show_json(value: Mapping[str, Any]) -> None:
    """Print one object, in ASCII only if it has an unprintable character that JSON does not escape."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    click.echo(text if text.replace("\n", "").isprintable() else json.dumps(value, indent=2))
