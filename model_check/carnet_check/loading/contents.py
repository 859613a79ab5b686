"""What a module defines that is a protocol."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import ModuleType

from carnet_check.errors import UsageError
from carnet_spec.language import Draft, Family


def only_protocol(module: ModuleType, reference: str) -> object:
    """Return the one family, or draft, or draft function, that a module defines."""
    values = {n: v for n, v in vars(module).items() if not n.startswith("_")}
    kinds: tuple[Callable[[object], bool], ...] = (
        lambda value: isinstance(value, Family),
        lambda value: isinstance(value, Draft),
        lambda value: _returns_a_draft(value, module),
    )
    for kind in kinds:
        found = [n for n, value in values.items() if kind(value)]
        if len(found) > 1:
            raise UsageError(
                f"'{reference}' has several protocols: say which one, {reference}:NAME with NAME one of "
                + ", ".join(found)
            )
        if found:
            return values[found[0]]
    raise UsageError(
        f"expected a protocol in '{reference}' (a Family, a Draft, or a function that returns a Draft), and found none"
    )


def _returns_a_draft(value: object, module: ModuleType) -> bool:
    if not inspect.isfunction(value) or value.__module__ != module.__name__:
        return False
    return value.__name__ == "draft" or value.__annotations__.get("return") in (Draft, "Draft")
