"""The options that formats of evidence declare, as options of a command: what they stand for, and their policies."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from carnet_command.errors import UsageError
from carnet_ref.attestation.formats import Format, Option, OptionKind, Value
from carnet_ref.commands.appraisals import contents, contents_of_all, octets_given, readable

AnyFormat = Format[Any, Any]


def parameter(option: Option) -> str:
    """Return the name of the parameter that click passes an option's value by; it is no other option's."""
    return f"given_{option.name.replace('-', '_')}"


def click_option(option: Option) -> Any:
    """Return the option as click knows it."""
    several = option.kind is OptionKind.FILES
    kinds = {OptionKind.HEX: str, OptionKind.NUMBER: click.IntRange(min=0)}
    metavar = {OptionKind.HEX: "HEX", OptionKind.NUMBER: "N"}.get(option.kind, "FILE")
    value = kinds.get(option.kind, readable)
    return click.option(option.flag, parameter(option), type=value, metavar=metavar, multiple=several, help=option.help)


def values(words: Mapping[Option, Any]) -> dict[str, Value]:
    """Return what the words of options stand for, by the options' names.

    Raises UsageError if a file cannot be read, or digits stand for something else.
    """
    return {option.name: _value(option, word) for option, word in words.items()}


def _value(option: Option, word: Any) -> Value:
    match option.kind:
        case OptionKind.FILE:
            return None if word is None else contents(word)
        case OptionKind.FILES:
            return tuple(data for path in word for data in contents_of_all(path))
        case OptionKind.HEX:
            return octets_given(option.flag, word, option.length)
    return word if word is None else int(word)


def policy_given(form: AnyFormat, path: Path | None) -> object:
    """Return the policy in the file, or the format's default. Raises UsageError if the file has none."""
    from carnet_ref.wire import MalformedError

    if path is None or form.parse_policy is None:
        return form.default_policy
    try:
        return form.parse_policy(contents(path))
    except MalformedError as error:
        raise UsageError(f"'{path}' is no policy: {error}") from None


def said(words: Mapping[Option, Any]) -> tuple[list[tuple[str, object]], list[tuple[str, object]]]:
    """Return each option that was given, with its word: those that are given once, then those of several files."""
    single = [(option.flag, word) for option, word in words.items() if option.kind is not OptionKind.FILES]
    several = [
        (option.flag, each) for option, word in words.items() if option.kind is OptionKind.FILES for each in word
    ]
    return [(flag, word) for flag, word in single if word is not None], several
