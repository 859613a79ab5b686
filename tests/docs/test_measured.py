"""A protocol's page has what its authors measured beside what Carnet computes of it."""

from __future__ import annotations

import json

import pytest

from carnet_check.loading.families import load
from carnet_spec.protocols.registry import registered
from docs._ext.carnet_pages.protocols import TABLES, measured


@pytest.mark.parametrize("protocol", list(registered()))
def test_every_protocol_says_what_was_measured_and_what_is_computed(protocol: str) -> None:
    lines = list(measured(load(protocol).family))
    assert lines[0] == "## Measured by its authors, and here"
    assert "| figure | published | here |" in lines


def test_the_rows_are_those_of_the_recorded_table() -> None:
    text = "\n".join(measured(load("ring-all-reduce").family))
    for row in json.loads((TABLES / "ddp.json").read_text())["rows"]:
        assert f"{row['published']:.4g}" in text
        assert f"{row['reproduced']:.4g} ({row['role']})" in text
