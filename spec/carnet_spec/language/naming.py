"""Checks of names and fields, and suggestions for unknown names.

The empty text is no name of a part: elsewhere it means that there is none.
"""

import difflib
import reprlib
from collections.abc import Callable, Iterable, Mapping, Set
from types import UnionType
from typing import Any

from carnet_spec.language.errors import MisuseError, SpecificationError


def require_name(what: str, name: str) -> None:
    """Refuse a blank name.

    The empty text has other meanings: every threat model, no assumption, or no defence.

    Raises MisuseError if the name is no string, and SpecificationError if it has no visible character.
    """
    if not isinstance(name, str):
        raise MisuseError(f"the name of {what} is a string, not {name!r}")
    if not name.strip():
        raise SpecificationError(f"{what} has a blank name, {name!r}: give it one that can be said")


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known name that is most similar to ``name``, ignoring case; empty if none is similar."""
    folded = {each.lower(): each for each in known}
    near = difflib.get_close_matches(name.lower(), folded, n=1)
    return folded[near[0]] if near else ""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return the question whether the most similar known name was meant; empty if none is similar."""
    near = nearest(name, known)
    return f"did you mean '{near}'?" if near else ""


def and_known(name: str, known: Iterable[str]) -> str:
    """Return the end of an error about an unknown name: the most similar known name, and all known names."""
    names = tuple(known)
    return "; " + " ".join(filter(None, (did_you_mean(name, names), f"known: {', '.join(names) or 'none'}")))


# -- fields ------------------------------------------------------------------------------------------------------------
# Checks of the types of fields that an author writes: a string instead of a tuple, for example, is refused.

#: The names of types in errors, singular and plural.
_NAMED: dict[object, tuple[str, str]] = {
    str: ("a string", "strings"),
    int: ("a number", "numbers"),
    int | None: ("a number or None", "numbers"),
    tuple: ("a tuple", "tuples"),
    Callable: ("a function", "functions"),
    Callable | None: ("a function or None", "functions"),
    Mapping: ("a mapping", "mappings"),
    Set: ("a set", "sets"),
}


def require_fields(value: object, what: str, **shapes: Any) -> None:
    """Refuse a value with a field that does not have its shape.

    A shape is a type, ``(T,)`` for a tuple of any number of ``T``, or ``{K: V}`` for a mapping.

    Raises MisuseError if a field has another shape; the message names the field, the expected and the actual value.
    """
    for name, shape in shapes.items():
        given = getattr(value, name)
        if not _fits(given, shape):
            write = f": write ({given!r},)" if isinstance(given, str) and shape == (str,) else ""
            raise MisuseError(f"{what}: '{name}' takes {_called(shape)}, not {reprlib.repr(given)}{write}")


def _fits(value: object, shape: Any) -> bool:
    match shape:
        case (each,):
            return isinstance(value, tuple) and all(_fits(part, each) for part in value)
        case dict():
            ((key, each),) = shape.items()
            return isinstance(value, Mapping) and all(_fits(k, key) and _fits(v, each) for k, v in value.items())
        case _:
            return isinstance(value, shape)


def _called(shape: Any, several: bool = False) -> str:
    match shape:
        case (each,):
            return f"{'tuples' if several else 'a tuple'} of {_called(each, several=True)}"
        case dict():
            ((key, each),) = shape.items()
            return f"a mapping from {_called(key, several=True)} to {_called(each, several=True)}"
        case type() | UnionType() if shape not in _NAMED:
            name = str(getattr(shape, "__name__", shape))
            return f"{name}s" if several else f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
        case _:
            return _NAMED[shape][several]
