"""Explorations in a cache: what was found of one instance is believed of no other, and of no other question."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from carnet_check.cache import AnswerCache
from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.engines.exploring.explorer import Remembering
from carnet_check.loading.families import load
from carnet_spec.language import Instance
from carnet_spec.language.instance import InLine
from tests.unit.model_check.command import TOY

SOURCE = load(TOY)
PROTOCOL = SOURCE.protocol()
SECRECY = PROTOCOL.claim("secrecy").checked
INSTANCE = SOURCE.instance(PROTOCOL, "collusion", SOURCE.profile("tiny"))
ASKED: dict[str, Any] = {"invariants": (SECRECY,), "goals": PROTOCOL.goals, "caps": Caps(), "threat": "collusion"}


def found(folder: Path, instance: Instance = INSTANCE, **changed: Any) -> tuple[Exploration, int]:
    """Return what is found with a cache, and how many answers it has then."""
    before = AnswerCache(folder, ("explicit",))
    return Remembering(EXPLICIT, before).explore(PROTOCOL, instance, **{**ASKED, **changed}), len(
        list(folder.glob("*/*"))
    )


def test_what_is_known_is_what_was_found(tmp_path: Path) -> None:
    first, count = found(tmp_path)
    again, still = found(tmp_path)
    assert (count, still) == (1, 1)
    assert again == replace(first, seconds=0.0, peak_memory_bytes=0)
    assert [*again.fired] == [*first.fired]
    assert [*again.goals] == [*first.goals]


CHANGED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "elements": ({"elements": {**INSTANCE.elements, "Key": ("k1", "k2")}}, {}),
    "relations": ({"relations": {}}, {}),
    "budget": ({"budget": 1}, {}),
    "pools": ({"pools": {("lend", "key"): ("k1",)}}, {}),
    "cap": ({}, {"caps": Caps(states=1_000_000)}),
    "threat": ({}, {"threat": "none"}),
    "goals": ({}, {"goals": ()}),
    "end": ({}, {"stop_at_first": True}),
    "reduction": ({}, {"reduction": False}),
}


@pytest.mark.parametrize("what", CHANGED)
def test_another_question_has_another_answer(what: str, tmp_path: Path) -> None:
    found(tmp_path)
    instance, asked = CHANGED[what]
    other, count = found(tmp_path, replace(INSTANCE, **instance), **asked)
    assert (count, other.complete) == (2, True)


def test_who_counts_what_and_how_much_memory_there_is_make_no_difference(tmp_path: Path) -> None:
    found(tmp_path)
    _, count = found(tmp_path, watch=lambda *_: None, caps=Caps(memory=1 << 40, workers=7))
    assert count == 1


def test_an_order_is_not_taken_for_its_elements(tmp_path: Path) -> None:
    for number, rows in enumerate((InLine(("a", "b")), frozenset({("b", "a")}), InLine(("b", "a"))), 1):
        assert found(tmp_path, replace(INSTANCE, relations={**INSTANCE.relations, "passed over": rows}))[1] == number


def test_what_the_protocol_does_not_name_is_not_kept(tmp_path: Path) -> None:
    renamed = replace(SECRECY, params=(), body=SECRECY.formula)
    assert found(tmp_path, invariants=(renamed,))[1] == 0
