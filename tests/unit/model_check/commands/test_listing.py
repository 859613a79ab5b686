"""``carnet list``: the names that other commands take."""

from __future__ import annotations

import pytest

from carnet_check.commands.explain import entries
from carnet_check.loading.families import load
from tests.unit.model_check.command import CONTROLS, TOY, carnet


def test_list_names_everything_that_other_commands_take() -> None:
    (listed,) = carnet("list", TOY, "--json").json["protocols"]
    assert listed["claims"] == ["secrecy", "punctual"]
    assert listed["threats"] == ["none", "collusion"]
    assert listed["defences"] == ["fresh-key", "return-checked"]
    assert listed["variants"] == ["main", "forgetful"]
    assert listed["profiles"] == ["tiny"]
    (finding,) = listed["findings"]
    assert (finding["id"], finding["variant"]) == ("one-key", "forgetful")


@pytest.mark.parametrize("protocol", [TOY, "gpu-travelling"])
def test_whatever_is_listed_is_explained(protocol: str) -> None:
    (listed,) = carnet("list", protocol, "--json").json["protocols"]
    names = {
        name for kind in ("claims", "threats", "defences", "variants", "profiles", "goals") for name in listed[kind]
    }
    names |= {finding["id"] for finding in listed["findings"]}
    assert names - {entry.id for entry in entries(load(protocol))} == set()


def test_where_there_are_other_designs_the_list_points_to_their_claims() -> None:
    assert "`carnet explain VARIANT` names them" in carnet("list", TOY).out
    assert "`carnet explain VARIANT`" not in carnet("list", f"{CONTROLS}:sound").out
