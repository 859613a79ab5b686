"""``carnet attest``: appraise evidence of real hardware; each kind is a subcommand, imported when it is used."""

from __future__ import annotations

import importlib

import click

KINDS = {
    "gpu": ("carnet_ref.commands.attest_gpu:gpu", "Appraise the report of an NVIDIA GPU or NVSwitch."),
    "tdx": ("carnet_ref.commands.attest_tdx:tdx", "Appraise the quote of an Intel TDX virtual machine."),
}


class Kinds(click.Group):
    """A group whose subcommands are imported when they are called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the kinds of evidence."""
        return list(KINDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the subcommand called ``cmd_name``."""
        if cmd_name not in KINDS:
            return None
        module, _, attribute = KINDS[cmd_name][0].partition(":")
        command = getattr(importlib.import_module(module), attribute)
        assert isinstance(command, click.Command), f"'{cmd_name}' is no click command"
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the kinds without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in KINDS.items()])


@click.command(cls=Kinds, short_help="Appraise evidence of real hardware.")
def attest() -> None:
    """Appraise a GPU's report or a virtual machine's quote.

    Exit codes: 0 accepted, 1 refused (what cannot be parsed is refused), 2 usage.
    """
