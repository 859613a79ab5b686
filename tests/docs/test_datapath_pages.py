"""The data path's tables in the documentation are what the command prints."""

import json

import pytest

from tests.benchmarks.datapath_pages import COMMANDS, MEASURED, RESULTS, page, run


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_shows_the_recorded_run(name: str) -> None:
    shown = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    assert (RESULTS / f"{name}.inc").read_text("utf-8") == page(shown)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in MEASURED])
def test_the_command_still_prints_what_was_recorded(name: str) -> None:
    recorded = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    printed = run(name, "--samples", "1")  # the shares of the box are the slow test's
    assert [row["name"] for row in printed["rows"]] == [row["name"] for row in recorded["rows"]]
    for got, row in zip(printed["rows"], recorded["rows"], strict=True):
        assert got["reproduced"] == pytest.approx(row["reproduced"], rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fastrack", "ddp", "pipellm"])
def test_the_share_of_the_box_is_still_what_was_recorded(name: str) -> None:
    recorded = json.loads((RESULTS / f"{name}.json").read_text("utf-8"))
    printed = run(name)
    assert printed["box"] == recorded["box"]
    assert printed["rerun"] == recorded["rerun"]


def test_a_recorded_link_reaches_85_percent_of_the_bare_loop_at_1_mib() -> None:
    rows = json.loads((RESULTS / "throughput.json").read_text("utf-8"))["rows"]
    assert [row["share_of_bare_loop"] >= 0.85 for row in rows if row["chunk_bytes"] == 2**20] == [True, True]
