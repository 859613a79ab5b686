"""Fields of named tuples stand once on an API page: where their class lists them, or else as members."""

from types import SimpleNamespace
from typing import NamedTuple

import pytest

from docs._ext.carnet_fields import skipped


class Listed(NamedTuple):
    """A pair.

    Attributes:
        first: what comes first.
    """

    first: int
    second: int

    @property
    def total(self) -> int:
        """The sum."""
        return self.first + self.second


@pytest.mark.parametrize(("name", "expected"), [("first", True), ("second", None), ("total", None)])
def test_a_field_is_no_member_where_its_class_lists_it(name: str, expected: bool | None) -> None:
    document = SimpleNamespace(autodoc_module=__name__, autodoc_class="Listed")
    app = SimpleNamespace(env=SimpleNamespace(current_document=document))
    assert skipped(app, "class", name, getattr(Listed, name), False, {}) is expected
