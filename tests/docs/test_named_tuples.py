"""Fields of named tuples are listed once: in the docstring of their class, or else by themselves."""

from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from docs._ext.carnet_fields import skip_listed_fields


class Listed(NamedTuple):
    """A pair.

    Attributes:
        first: the one.
    """

    first: int
    second: int


def skipped(owner: str, name: str, field: Any) -> bool | None:
    document = SimpleNamespace(autodoc_module=__name__, autodoc_class=owner)
    app: Any = SimpleNamespace(env=SimpleNamespace(current_document=document))
    return skip_listed_fields(app, "class", name, field, skip=False, options=None)


@pytest.mark.parametrize(("name", "answer"), [("first", True), ("second", None)])
def test_a_field_is_left_out_where_its_class_lists_it(name: str, answer: bool | None) -> None:
    assert skipped("Listed", name, getattr(Listed, name)) is answer


def test_what_is_no_field_is_for_others_to_leave_out() -> None:
    assert skipped("Listed", "first", Listed.__doc__) is None
    assert skipped("", "first", Listed.first) is None
