"""Completion in a shell: protocols, and the names that the protocol on the line gives to things."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import click
from click.shell_completion import CompletionItem


class ProtocolName(click.ParamType[str]):
    """A registered id, which can be completed, or anything else that names a protocol."""

    name = "protocol"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Offer the registered ids, or files if none begins like this."""
        from carnet_spec.protocols.registry import registered

        return _beginning(registered(), incomplete) or [CompletionItem(incomplete, type="file")]


class NameIn(click.ParamType[str]):
    """The name of something in the protocol on the line: of one of its ``claims``, ``threats``, ``variants`` ….

    Where no word of the line is a protocol, in those that its options name, or else in all that are registered.

    In a list with commas the last name is completed.
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
    """Return the names in the protocols on the line, or none if one of these cannot be read."""
    from carnet_check.commands.catalogue import offered
    from carnet_check.errors import CarnetError
    from carnet_check.loading.families import load

    try:
        return dict.fromkeys(name for protocol in _protocols_on(context) for name in offered(load(protocol), of))
    except CarnetError:
        return []


def _protocols_on(context: click.Context) -> Sequence[str]:
    """Return the protocols on an unfinished line: its words are not assigned yet, as the last option has no value."""
    from carnet_check.loading.families import known_protocols

    argument: Any = next((each for each in context.command.params if each.name == "protocol"), None)
    if argument is None:
        return context.params.get("protocols") or list(known_protocols())
    words = (word for word in context.args if not word.startswith("-"))
    default = argument.default if isinstance(argument.default, str) else None
    protocol = next(words, None) or context.params.get("protocol") or default
    return [str(protocol)] if protocol else list(known_protocols())


def _beginning(names: Iterable[str], begun: str) -> list[CompletionItem]:
    return [CompletionItem(name) for name in names if name.startswith(begun)]


class EngineName(click.ParamType[str]):
    """The name of an engine, which can be completed."""

    name = "choice"

    @property
    def _choice(self) -> click.Choice[str]:
        from carnet_check.engines import registry

        return click.Choice(sorted(registry.ENGINES))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name.

        Raises:
            click.BadParameter: no engine is called so.
        """
        return self._choice.convert(value, param, ctx)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:
        """List the names."""
        return self._choice.get_metavar(param, ctx)

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        """Offer the names that begin like this."""
        return self._choice.shell_complete(ctx, param, incomplete)
