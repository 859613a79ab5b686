"""What is not the encoding of a protocol is refused in one line."""

from __future__ import annotations

import contextlib
import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carnet_spec.language import SpecificationError
from carnet_spec.language.decoding import decoded
from tests.fixtures import toy

TEXT = toy.FAMILY.protocol().encoded
CONTENT = json.loads(TEXT)


def _written(content: Any) -> str:
    return json.dumps(content, sort_keys=True, separators=(",", ":"))


def _changed(path: tuple[str | int, ...], value: Any) -> str:
    """Return the text with another value at a place."""
    content = copy.deepcopy(CONTENT)
    holder = content
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return _written(content)


GUARD = ("actions", 0, "guards", 0)
UPDATE = ("actions", 0, "updates", 0)
HOSTILE: dict[str, tuple[str, str]] = {
    "nothing": ("", "it cannot be read"),
    "no JSON": ("protocol", "it cannot be read"),
    "cut off": (TEXT[:-1], "it cannot be read"),
    "nested too deeply": ("[" * 100_000, "it cannot be read"),
    "a number without end": ('{"format":' + "9" * 10_000 + "}", "it cannot be read"),
    "a list": ("[]", "expected an object, and found []"),
    "another format": (
        _changed(("format",), "carnet-protocol/2"),
        'in the format carnet-protocol/1, and found "carnet',
    ),
    "no format": ("{}", "expected an object with 'format'"),
    "a part missing": (_written({k: v for k, v in CONTENT.items() if k != "axioms"}), "an object with 'axioms'"),
    "a part too many": (_written({**CONTENT, "remark": "hello"}), "written in another way"),
    "spaces": (json.dumps(CONTENT, sort_keys=True), "written in another way"),
    "keys in another order": (json.dumps(dict(reversed(CONTENT.items())), separators=(",", ":")), "another way"),
    "a key twice": (TEXT.replace('{"actions"', '{"actions":[],"actions"', 1), "written in another way"),
    "a text for a list": (_changed(("actions",), "none"), 'expected a list, and found "none"'),
    "a number for a text": (_changed(("title",), 7), "expected a text, and found 7"),
    "a number for a truth": (_changed(("actions", 0, "deduction"), 1), "expected true or false, and found 1"),
    "a truth for a number": (_changed(("actions", 0, "cost"), True), "expected a whole number, and found true"),
    "a fraction for a number": (_changed(("actions", 0, "cost"), 0.5), "expected a whole number, and found 0.5"),
    "a kind of guard that is none": (_changed((*GUARD, "kind"), "wish"), "one of require, given, actor, fresh"),
    "an effect that is none": (_changed((*UPDATE, "effect"), "explode"), "one of insert, remove, assign"),
    "a symbol that is not defined": (_changed((*UPDATE, "symbol"), "moon"), "a symbol that is defined"),
    "a symbol that is no name": (_changed((*UPDATE, "symbol"), ["lent"]), "a symbol that is defined"),
    "a sort that is not defined": (_changed((*GUARD, "formula"), ["variable", "x", "Moon"]), "a sort that is defined"),
    "a term that is none": (_changed((*GUARD, "formula"), ["nand", ["true"], ["true"]]), 'a term, and found ["nand"'),
    "a term with a part missing": (_changed((*GUARD, "formula"), ["not"]), 'expected a term, and found ["not"]'),
    "a text for a term": (_changed((*GUARD, "formula"), "true"), 'expected a term, and found "true"'),
    "a parameter that is no variable": (_changed(("actions", 0, "parameters", 0), ["true"]), "expected a variable"),
    "a deep term": (
        TEXT.replace('["true"]', '["not",' * 5_000 + '["true"]' + "]" * 5_000, 1),
        "it cannot be read",
    ),
    "a symbol with another name": (_changed(("symbols", "lent", "name"), "loan"), "written in another way"),
    "two symbols of one name": (_changed(("symbols", "lent", "name"), "knows"), "knows"),
}


def test_the_text_that_hostile_ones_are_made_of_is_read() -> None:
    assert decoded(TEXT) == toy.FAMILY.protocol()


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_text_gives_one_clear_error(name: str) -> None:
    text, said = HOSTILE[name]
    with pytest.raises(SpecificationError) as refused:
        decoded(text)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 300


def _places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _places(inner, (*path, key))
    if isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _places(inner, (*path, number))


PLACES = list(_places(CONTENT))
VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [None, True, 0, 0.5, "", "Key", "lent", [], ["true"], ["variable", "x", "Key"], {}, "\ud800"]
)


@given(st.sampled_from(PLACES), VALUES)
@settings(max_examples=150)
def test_whatever_is_read_has_the_encoding_that_was_given(path: tuple[str | int, ...], value: Any) -> None:
    text = _changed(path, value)
    with contextlib.suppress(SpecificationError):
        assert decoded(text).encoded == text
