"""A heat map says in text how many claims fall; colours say nothing more, and nothing is said that was not found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from carnet_check.report.html import as_html
from carnet_check.report.html.views import STEPS, attacked, cell, heat_map, overview, row
from carnet_check.report.run_folder import Run, read_run


def table(heat: Any) -> ElementTree.Element:
    return ElementTree.fromstring(as_html(heat).replace("<br>", "<br/>"))


@pytest.mark.parametrize(
    ("made", "text", "words"),
    [
        (cell(0, 0), "–", "no claim is made there"),
        (cell(0, 17), "0", "of 17 claims fall"),
        (cell(0, 17, decided=False), "?", "of 17 claims none is known to fall, and not all are decided"),
        (cell(3, 17), "3", "of 17 claims fall"),
        (cell(3, 17, decided=False), "3", "of 17 claims are known to fall"),
        (cell(1, 17, decided=False), "1", "of 17 claims is known to fall"),
        (cell(1, 1, expected=False), "1!", "of 1 claim falls, not as expected"),
        (attacked(0), "–", "no attack was looked for, or none was found"),
        (attacked(2), "2", "attacked claims fell"),
    ],
)
def test_a_cell_says_everything_as_text(made: dict[str, str], text: str, words: str) -> None:
    assert (made["text"], made["words"]) == (text, words)


def test_more_falls_are_never_in_a_lower_class() -> None:
    classes = [cell(number, 30)["class"] for number in range(1, 20)]
    assert classes == sorted(classes)
    assert len(set(classes)) == len(STEPS)
    assert not {cell(0, 1)["class"], cell(0, 1, decided=False)["class"], cell(0, 0)["class"]} & set(classes)


def test_a_map_is_a_table_with_a_caption_and_scopes() -> None:
    heat = heat_map("How many", "without", ["near", "far"], [row("lock", "#lock", [cell(1, 2), cell(0, 2)], "in old")])
    found = table(heat)
    assert found.findtext("caption") == "How many"
    assert [(each.get("scope"), "".join(each.itertext())) for each in found.iter("th")] == [
        *(("col", "without"), ("col", "near"), ("col", "far")),
        ("row", "lockin old"),
    ]
    assert [each.get("href") for each in found.iter("a")] == ["#lock"]
    assert ["".join(each.itertext()) for each in found.iter("td")] == ["1 of 2 claims falls", "0 of 2 claims fall"]
    assert "style" not in {name for each in found.iter() for name in each.attrib}


def test_a_row_has_a_cell_in_every_column() -> None:
    with pytest.raises(ValueError, match="lock has another number of cells"):
        heat_map("How many", "without", ["near", "far"], [row("lock", "", [cell(1, 2)])])


def test_whatever_a_design_is_called_it_is_text() -> None:
    name = "<script>\"'&</script>"
    found = table(heat_map(name, name, [name], [row(name, f"#{name}", [{**cell(1, 2), "words": name}], name)]))
    assert not list(found.iter("script"))
    assert "".join(found.itertext()).count(name) == 6


# -- of a run ------------------------------------------------------------------------------------------


@pytest.fixture
def run(folder: Path) -> Run:
    """Return a run of one variant, in which a claim falls that is not expected to."""
    return read_run(folder)


def weakened(run: Run, removed: list[str]) -> Run:
    (attack, *_) = run.attacks
    return replace(run, attacks=(*run.attacks, {**attack, "removed": removed, "name": "weakened"}))


def doubled(run: Run) -> Run:
    """Return a run of two variants: of the second, nothing was asked."""
    (variant,) = run.spec["variants"]
    return replace(run, spec={**run.spec, "variants": [variant, {**variant, "name": "other"}]})


def test_a_run_of_one_design_has_no_map(run: Run) -> None:
    assert overview(run) is None


def test_a_row_for_each_variant_counts_the_claims_that_fall_there(run: Run) -> None:
    heat = overview(doubled(run))
    assert heat is not None
    fallen = {(row["claim"], row["threat"]) for row in run.verdicts if row["verdict"] == "VIOLATED"}
    first, second = heat["rows"]
    assert first["href"] == f"#matrix-{first['name']}"
    assert fallen
    for threat, found in zip(heat["columns"], first["cells"], strict=True):
        count = sum(other == threat for _, other in fallen)
        assert found["text"].rstrip("!") in ({str(count)} if count else {"0", "?", "–"})
    assert {each["text"] for each in second["cells"]} == {"–"}


def test_a_fall_that_was_not_expected_is_marked(run: Run) -> None:
    assert [row["as_expected"] for row in run.verdicts if row["verdict"] == "VIOLATED"] == [False]
    heat = overview(doubled(run))
    assert heat is not None
    assert "1!" in [each["text"] for each in heat["rows"][0]["cells"]]
    rows = [{**row, "as_expected": True} for row in run.verdicts]
    expected = overview(replace(doubled(run), verdicts=tuple(rows)))
    assert expected is not None
    assert "1" in [each["text"] for each in expected["rows"][0]["cells"]]


@pytest.mark.parametrize(
    ("verdict", "text"),
    [("PROVED", "0"), ("EXHAUSTED", "0"), ("HOLDS-TO", "?"), ("SAMPLED", "?"), ("UNKNOWN", "?"), ("ERROR", "?")],
)
def test_a_zero_needs_a_verdict_on_every_claim(run: Run, verdict: str, text: str) -> None:
    (first, *_) = run.verdicts
    judged = {**first, "verdict": verdict, "as_expected": True}
    heat = overview(replace(doubled(run), verdicts=(judged,), attacks=()))
    assert heat is not None
    assert {each["text"] for each in heat["rows"][0]["cells"]} - {"–"} == {text}


def test_what_was_attacked_without_a_defence_has_a_row(run: Run) -> None:
    heat = overview(weakened(run, ["lock", "bolt"]))
    assert heat is not None
    first, second = heat["rows"]
    assert second["name"] == f"{first['name']} without lock, bolt"
    assert [each["text"] for each in second["cells"] if each["text"] != "–"] == ["1"]
