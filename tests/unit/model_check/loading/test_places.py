"""A complaint names the line that has to be changed, whatever it is about."""

from __future__ import annotations

from pathlib import Path

import pytest

from carnet_check.loading.families import load, place_of
from carnet_spec.language.lints import Complaint

DRAFT = """
from carnet_spec.language import *
class Thing(Individual, fresh=True): pass
P = Role("p")
weak = rigid_relation(
    "weak", Thing, kind=Kind.TRUTH)
seen = relation("seen", Thing, kind=Kind.STATE, of=P)
last = variable("last", Thing, of=P)
first = constant("first", Thing)
draft = Draft("placed", "Placed")
draft.threat("model", "x", strange=forall(lambda t: ~weak(t), Thing))
draft.axiom("odd one", ~weak(first))
draft.initially(last, first)
@draft.action(by=P, says="x", source="y")
def act(step, t: Thing): step.insert(seen(t))
@draft.rule(by=P, says="x", source="y")
def deduce(step, t: Thing): step.given("s", seen(t)); step.insert(seen(t))
@draft.claim(name="claimed", sentence="x", requirement="R", source="y", under=("model",))
def claimed(t: Thing): return seen(t)
@draft.lemma
def helps(t: Thing): return seen(t)
@draft.goal(sentence="x")
def is_reached(t: Thing): return seen(t)
draft.eventually("comes", seen(first), seen(first), sentence="x")
"""
WHERE = {
    "action act": "@draft.action",
    "action act, guard 's'": "@draft.action",
    "rule deduce, update 'insert seen'": "@draft.rule",
    "claim claimed": "@draft.claim",
    "claim or lemma claimed": "@draft.claim",
    "claim or lemma helps": "@draft.lemma",
    "goal is-reached": "@draft.goal",
    "liveness comes": "draft.eventually",
    "axiom odd one": "draft.axiom",
    "axiom model: strange": "draft.threat",
    "threat model 'model'": "draft.threat",
    "initial value of last": "draft.initially",
    "symbol weak": "weak = rigid_relation",
    "sort Thing": "class Thing",
    "placed": "draft = Draft",
    "symbol unheard_of": "draft = Draft",
}


@pytest.mark.parametrize("where", WHERE)
def test_a_complaint_is_about_the_line_that_says_it(tmp_path: Path, where: str) -> None:
    file = tmp_path / "placed.py"
    file.write_text(DRAFT)
    place = place_of(Complaint("rule", where, "is wrong"), load(str(file)).family.drafted("main"))
    assert place
    assert DRAFT.splitlines()[place.line - 1].startswith(WHERE[where])


def test_a_complaint_about_two_things_of_a_name_is_about_the_last(tmp_path: Path) -> None:
    file = tmp_path / "twice.py"
    file.write_text(DRAFT + 'draft.threat("model", "again")\n')
    draft = load(str(file)).family.drafted("main")
    place = place_of(Complaint("names", "placed", "two threat models are called 'model': rename one"), draft)
    assert place
    assert place.line == len(DRAFT.splitlines()) + 1
