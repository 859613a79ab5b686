"""The page that counts proofs, and what has to be believed, shows what was recorded and what lies in the source."""

from __future__ import annotations

import json
from typing import Any

import pytest

from carnet_check.loading.families import load
from docs._ext.carnet_pages.counted_proofs import ROOT, TRUSTED, lines, proofs
from tests.coq.coq_files import to_be_proved

FAMILY = load("gpu-travelling").family
RECORD = ROOT / "docs" / "results" / "proofs" / "gpu-travelling.json"


@pytest.fixture
def recorded() -> dict[str, Any]:
    found = json.loads(RECORD.read_text("utf-8"))
    assert isinstance(found, dict)
    return found


def test_what_was_recorded_has_every_theorem_of_the_specification_it_names(recorded: dict[str, Any]) -> None:
    assert [each["variant"] for each in recorded["variants"]] == [*FAMILY.with_layers(FAMILY.main)]
    for each in recorded["variants"]:
        protocol = FAMILY.protocol(each["variant"])
        if each["digest"] == protocol.digest:
            assert each["theorems"] == len(set(to_be_proved(protocol)))


def test_the_page_shows_what_was_recorded(recorded: dict[str, Any]) -> None:
    text = proofs([FAMILY], {FAMILY.id: recorded})
    for each in recorded["variants"]:
        assert f"| `{each['variant']}` | `{each['digest'][:12]}` | {each['obligations']:,} |" in text
    assert f"One file of {recorded['bytes']:,} bytes" in text


def test_another_specification_makes_the_record_stale(recorded: dict[str, Any]) -> None:
    for each in recorded["variants"]:
        each["digest"] = FAMILY.digest(each["variant"])
    assert "Stale" not in proofs([FAMILY], {FAMILY.id: recorded})
    recorded["variants"][0]["digest"] = "0" * 64
    assert "Stale: the run was about digest `000000000000`" in proofs([FAMILY], {FAMILY.id: recorded})


def test_all_that_has_to_be_believed_is_counted() -> None:
    text = proofs([], {})
    for parts in TRUSTED.values():
        for path, what in parts.items():
            assert f"| `{path}` | {lines(path)} | {what} |" in text
    assert lines("model_check/coq/Logic.v") == len((ROOT / "model_check/coq/Logic.v").read_text("utf-8").splitlines())
