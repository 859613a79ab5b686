"""Names of files: different parts never share one, and every one is fit for any file system."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_check.wording import MOST, as_file_name, attack_name, file_name, is_file_name
from tests.fixtures.odd_texts import ODD


@pytest.mark.mends("M6")
def test_different_parts_never_share_a_name() -> None:
    parts = [(one, other) for one in ODD for other in (*ODD, "a.b", "b")] + [("a", "b"), ("a.b",), ("a", "b", "c")]
    names = [file_name(*each).casefold() for each in parts]
    assert len(set(names)) == len(set(parts))
    assert all(map(is_file_name, map(str, names)))


@pytest.mark.mends("M6")
@given(st.lists(st.text(max_size=40), min_size=1, max_size=4), st.lists(st.text(max_size=40), min_size=1, max_size=4))
def test_names_are_injective_and_stay_as_they_are(one: list[str], other: list[str]) -> None:
    assert (file_name(*one) == file_name(*other)) == (one == other)
    assert as_file_name(file_name(*one)) == file_name(*one)
    assert len(file_name(*one)) <= MOST


@pytest.mark.mends("M6")
def test_usual_names_are_the_names_of_files() -> None:
    assert attack_name("main", "collusion", "secrecy") == "main.collusion.secrecy"
    assert attack_name("main", "collusion", "secrecy", ["fence"]) == "main.without-fence.collusion.secrecy"
    assert attack_name("m", "t", "c", ["a", "b"]) != attack_name("m", "t", "c", ["a-b"])
