"""``carnet attest policy``: what a policy asks for with all that it inherits, and the JSON Schema of policies."""

import json
from pathlib import Path
from typing import Any, Final

import click

from carnet_command.errors import UsageError
from carnet_command.text import hanging
from carnet_ref.attestation.formats import FORMATS
from carnet_ref.attestation.policies import PRESET, REQUIRE, EffectivePolicy, PolicyForm, Preset
from carnet_ref.commands import attest

INDENT: Final = 4
MARGIN: Final = " " * INDENT
NOTHING: Final = "It asks for no step, so it accepts nothing."


@click.group(short_help="Show what a policy asks for, and which keys there are.")
def policy() -> None:
    """Show what a policy asks for, and which keys there are.

    A policy is a JSON object. One key is enough; the rest is inherited from a preset. The presets are strict (fresh,
    compared, not revoked, up to date), default, and inventory (what the evidence is and who signed it).
    """


@policy.command()
@click.argument("name", metavar="FORMAT", required=False)
@click.argument("file", metavar="FILE", type=attest.readable, required=False)
@attest.json_option
def show(name: str | None, file: Path | None, as_json: bool) -> int:
    """Print the whole policy in FILE: each key with its value, where that comes from, and what the key means.

    FILE may be a preset. Without it, the default policy is shown; without FORMAT, that of every format.
    """
    forms = _forms() if name is None else {name: _form(name)}
    policies = {
        each: form.preset(Preset.DEFAULT) if file is None else attest.effective_policy(form, file)
        for each, form in forms.items()
    }
    if as_json:
        click.echo(json.dumps({each: _as_json(forms[each], policies[each]) for each in forms}, indent=INDENT))
        return 0
    for each, form in forms.items():
        _print(each, form, policies[each])
    return 0


@policy.command()
@click.argument("name", metavar="FORMAT")
def schema(name: str) -> int:
    """Print the JSON Schema of policies for FORMAT."""
    click.echo(json.dumps(_form(name).schema(name), indent=INDENT))
    return 0


def _forms() -> dict[str, PolicyForm[Any]]:
    loaded = {name: registered.load() for name, registered in FORMATS.items()}
    return {name: form.policy for name, form in loaded.items() if form.policy is not None}


def _form(name: str) -> PolicyForm[Any]:
    form = FORMATS[name].load().policy if name in FORMATS else None
    if form is None:
        raise UsageError(f"'{name}' is no format with a policy: there are {', '.join(_forms())}")
    return form


def _as_json(form: PolicyForm[Any], effective: EffectivePolicy[Any]) -> dict[str, object]:
    return {
        PRESET: str(effective.preset),
        "keys": {
            name: {
                "value": key.as_json(effective.values[name]),
                "from": effective.origins[name],
                "meaning": key.meaning,
            }
            for name, key in form.keys.items()
        },
    }


def _print(name: str, form: PolicyForm[Any], effective: EffectivePolicy[Any]) -> None:
    click.echo(f"policy for {name}, preset {effective.preset}")
    if not effective.values[REQUIRE]:
        click.echo(NOTHING)
    for key in form.keys.values():
        value = json.dumps(key.as_json(effective.values[key.name]))
        click.echo("")
        for text in (f"{key.name}: {value}", f"{MARGIN}from {effective.origins[key.name]}", f"{MARGIN}{key.meaning}"):
            click.echo("\n".join(hanging(text, INDENT)))
    click.echo("")
