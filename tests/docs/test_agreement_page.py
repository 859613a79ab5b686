"""The page of what engines say of obligations shows what was recorded, and the record leaves nothing open."""

from __future__ import annotations

import pytest

from carnet_check.engines.interface import AnswersObligations
from carnet_check.engines.registry import all_able
from carnet_check.loading.families import load
from carnet_check.obligations import layers, obligations
from docs._ext.carnet_pages.agreement import Recorded, agreement, read
from docs._ext.carnet_pages.records.recorders import RESULTS

FAMILY = load("gpu-travelling").family
RECORD = RESULTS / "agreement" / "gpu-travelling.csv"


@pytest.fixture
def recorded() -> Recorded:
    return read(RECORD)


def test_what_was_recorded_is_about_every_obligation_of_the_specification_it_names(recorded: Recorded) -> None:
    assert {row["variant"] for row in recorded} == {*FAMILY.with_layers(FAMILY.main)}
    current = [row for row in recorded if row["digest"] == FAMILY.digest(row["variant"])]
    counted = {
        (name, layer.threat.id if layer.threat else "general"): str(len(list(obligations(layer))))
        for name in {row["variant"] for row in current}
        for layer in layers(FAMILY.protocol(name))
    }
    assert {(row["variant"], row["layer"]): row["obligations"] for row in current} == counted


def test_every_engine_was_asked_and_nothing_was_left_open(recorded: Recorded) -> None:
    assert {row["engine"] for row in recorded} == {engine.name for engine in all_able(AnswersObligations)}
    for row in recorded:
        assert int(row["proved"]) + int(row["frame"]) == int(row["obligations"]), row


def test_the_page_shows_what_was_recorded(recorded: Recorded) -> None:
    text = agreement([FAMILY], {FAMILY.id: recorded})
    for engine in {row["engine"] for row in recorded}:
        mine = [row for row in recorded if (row["variant"], row["engine"]) == (FAMILY.main[0], engine)]
        count, proved = (sum(int(row[name]) for row in mine) for name in ("obligations", "proved"))
        assert f"| `{engine}` | {mine[0]['version']} | {count:,} | {proved:,} |" in text


def test_another_specification_makes_the_record_stale(recorded: Recorded) -> None:
    rows = [{**row, "digest": FAMILY.digest(row["variant"])} for row in recorded]
    assert "Stale" not in agreement([FAMILY], {FAMILY.id: rows})
    rows = [{**row, "digest": "0" * 64} for row in recorded]
    assert "Stale: the run was about digest `000000000000`" in agreement([FAMILY], {FAMILY.id: rows})
