"""Tables: what is changed is found by every index, and can be taken back."""

from __future__ import annotations

import pytest

from carnet_check.conformance.tables import Column, Function, Relation


def test_a_row_is_inserted_once_and_taken_back_whole() -> None:
    pairs = Relation("pairs", [("a", "b")])
    by_first = pairs.index((0,))
    undo = pairs.insert(("a", "c"))
    assert pairs.insert(("a", "c")) is None
    assert list(by_first["a",]) == [("a", "b"), ("a", "c")]
    assert undo is not None
    undo()
    assert list(pairs.rows) == list(by_first["a",]) == [("a", "b")]


def test_a_row_is_removed_once_and_put_back_whole() -> None:
    pairs = Relation("pairs", [("a", "b")])
    by_second = pairs.index((1,))
    undo = pairs.remove(("a", "b"))
    assert pairs.remove(("a", "b")) is None
    assert (list(pairs.rows), by_second) == ([], {})
    assert undo is not None
    undo()
    assert (list(pairs.rows), list(by_second["b",])) == ([("a", "b")], [("a", "b")])


def test_an_index_that_is_made_late_knows_what_came_before() -> None:
    pairs = Relation("pairs")
    for row in (("a", "b"), ("c", "b"), ("c", "d")):
        pairs.insert(row)
    assert {key: list(rows) for key, rows in pairs.index((1,)).items()} == {
        ("b",): [("a", "b"), ("c", "b")],
        ("d",): [("c", "d")],
    }
    assert list(pairs.index(())[()]) == list(pairs.rows)


def _following() -> tuple[Relation, Relation]:
    """Return a relation of epochs, and one that says for a party up to which epoch it read."""
    epochs, read = Relation("epochs", [("e1",), ("e2",)]), Relation("read")
    read.following, read.at = epochs, 1
    return epochs, read


def test_a_prefix_of_another_relation_is_kept_as_a_number() -> None:
    epochs, read = _following()
    undo = read.extend(("p",), 2)
    epochs.insert(("e3",))
    assert [read.holds(("p", epoch)) for epoch in ("e1", "e2", "e3", "e4")] == [True, True, False, False]
    assert not read.holds(("q", "e1"))
    assert read.extend(("p",), 1) is None, "a shorter prefix adds nothing"
    assert undo is not None
    undo()
    assert not read.holds(("p", "e1"))


def test_forgetting_a_prefix_leaves_single_rows_and_can_be_taken_back() -> None:
    _, read = _following()
    read.extend(("p",), 1)
    read.insert(("p", "e2"))
    undo = read.forget(("p",))
    assert [read.holds(("p", epoch)) for epoch in ("e1", "e2")] == [False, True]
    assert undo is not None
    undo()
    assert read.holds(("p", "e1"))
    assert read.forget(("q",)) is None


@pytest.mark.parametrize(
    ("before", "value", "changes"), [({}, "d", False), ({}, "v", True), ({("a",): "v"}, "d", True)]
)
def test_a_function_is_its_default_where_it_was_given_nothing(
    before: dict[tuple[str, ...], str], value: str, changes: bool
) -> None:
    table = Function("f", before, "d")
    undo = table.assign(("a",), value)
    assert (undo is not None) is changes
    assert table.values.get(("a",), table.default) == value
    if undo is not None:
        undo()
    assert table.values == before


def test_a_column_has_the_elements_at_one_position_as_often_as_they_come() -> None:
    column = Column([("a", "b"), ("c", "b")], 1)
    assert (list(column), len(column), "b" in column, "a" in column) == (["b", "b"], 2, True, False)
