"""Pages that are listed from registrations: the commands with their options, the engines, the formats of evidence."""

import inspect
import json
from collections.abc import Iterator
from typing import Any

import click

from carnet_check.cli import main
from carnet_check.engines.interface import Engine
from carnet_check.engines.registry import default_engines, registered_engines
from carnet_ref.attestation.formats import FORMATS, Option
from carnet_ref.attestation.policies import PRESET, PRESET_MEANING, PolicyForm, Preset

from .markdown import Lines, code, page, prose, table

COMMANDS_PAGE = "commands"
HEAD = (
    "Every command with its options, from the commands themselves; `carnet COMMAND --help` prints the same. Every "
    "command takes `--json` and prints one object then; a failure is one line, and the exit code says of which kind it "
    "is ({doc}`/adr/0004-verdicts-and-exit-codes`)."
)


def command_line() -> str:
    """Return the page that lists the commands, subcommands below their group."""
    context = click.Context(main, info_name="carnet")
    return page("# Command line", HEAD, _below(main, context, 2)).rstrip() + "\n"


def _below(group: click.Group, context: click.Context, depth: int) -> Lines:
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        within = click.Context(command, info_name=name, parent=context)
        yield from (f"{'#' * depth} {within.command_path}", "")
        usage = " ".join((within.command_path, *command.collect_usage_pieces(within)))
        yield from ("```text", usage, "```", "")
        for paragraph in inspect.cleandoc(command.help or "").split("\n\n"):
            yield from (prose(paragraph), "")
        yield from table(["Option", "What it does"], _options(command, within))
        if isinstance(command, click.Group):
            yield from _below(command, within, depth + 1)


def _options(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    for parameter in command.get_params(context):
        shown = parameter.get_help_record(context)
        if shown is not None and shown[1] and "--help" not in parameter.opts:
            yield code(shown[0]), prose(shown[1])


# --------------------------------------------------------------------------------------------------
# The engines that ``carnet verify`` asks, listed from their registration.


ENGINES_PAGE = "engines"


def engines() -> str:
    """Return the page that lists the engines, each with the verdicts it can give and what it needs."""
    head = "`carnet verify --engine NAME` asks these engines; {doc}`../how-to/add-an-engine` says how to add one."
    titles = ["Engine", "What it establishes", "Of a claim that holds", "Shows violations", "Runs by default", "Needs"]
    return page("# Engines", head, table(titles, map(_engine_row, registered_engines()))).rstrip() + "\n"


def _engine_row(engine: Engine) -> tuple[str, ...]:
    return (
        code(engine.name),
        prose(engine.purpose),
        ", ".join(engine.verdicts),
        _yes(engine.refutes),
        _yes(engine in default_engines()),
        prose(", ".join(tool.get for tool in engine.needs) or "nothing else"),
    )


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


# --------------------------------------------------------------------------------------------------
# The formats of evidence that ``carnet attest`` appraises, listed from their registration.


FORMATS_PAGE = "evidence-formats"


def evidence_formats() -> str:
    """Return the page that lists the formats, each with what can be given to its appraisal."""
    summaries = [(code(f"carnet attest {name}"), prose(each.summary)) for name, each in FORMATS.items()]
    head = "`carnet attest` appraises these formats; {doc}`../how-to/appraise-evidence` shows how."
    sections = (line for name in FORMATS for line in _format_section(name))
    return page("# Formats of evidence", head, table(["Command", "What it does"], summaries), sections).rstrip() + "\n"


def _format_section(name: str) -> Lines:
    loaded = FORMATS[name].load()
    yield from (f"## {name}", "", " ".join(loaded.help.split()), "")
    yield from (f"It reads {'; '.join(map(prose, FORMATS[name].kinds))}.", "")
    yield from table(["Option", "Followed by", "What it is"], map(_format_row, loaded.options))


def _format_row(option: Option) -> tuple[str, str, str]:
    length = f" ({option.length})" if option.length else ""
    return code(option.flag), prose(option.kind.value + length), prose(option.help)


# --------------------------------------------------------------------------------------------------
# The keys of policies, from the declaration that they are read by.


POLICIES_PAGE = "policy-keys"
POLICIES_HEAD = (
    "`carnet attest FORMAT --policy FILE` takes a JSON object with some of these keys. What it leaves out is inherited "
    "from a preset; {doc}`../how-to/appraise-evidence` says how. `carnet attest policy show FORMAT FILE` prints a "
    "whole policy, and `carnet attest policy schema FORMAT` the schema that stands here."
)


def policy_keys() -> str:
    """Return the page that lists the keys of each format's policies, with their schema."""
    loaded = {name: registered.load().policy for name, registered in FORMATS.items()}
    sections = (line for name, form in loaded.items() if form is not None for line in _policy_section(name, form))
    return page("# Keys of policies", POLICIES_HEAD, sections).rstrip() + "\n"


def _policy_section(name: str, form: PolicyForm[Any]) -> Lines:
    yield from (f"## {name}", "")
    rows: list[tuple[str, ...]] = [(code(PRESET), PRESET_MEANING, code(f'"{Preset.DEFAULT}"'), "", "")]
    presets = {preset: form.preset(preset).values for preset in Preset}
    for key in form.keys.values():
        default, strict, inventory = (
            json.dumps(key.as_json(presets[preset][key.name]))
            for preset in (Preset.DEFAULT, Preset.STRICT, Preset.INVENTORY)
        )
        others = [code(other) if other != default else "" for other in (strict, inventory)]
        rows.append((code(key.name), prose(key.meaning), code(default), *others))
    yield from table(["Key", "What it means", "Default", "Otherwise in `strict`", "Otherwise in `inventory`"], rows)
    yield from ("```json", *json.dumps(form.schema(name), indent=2).splitlines(), "```", "")
