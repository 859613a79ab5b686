"""What people read: eighty columns, nothing hidden, signs of life, files that are whole or not there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from carnet_check.attacks.describing import mermaid
from carnet_check.commands.matrix import matrices
from carnet_check.errors import UsageError
from carnet_check.loading.families import load
from carnet_check.results import Result, Verdict
from carnet_check.semantics import Interpreter, State
from carnet_check.verification.outcome import CampaignOutcome
from carnet_check.verification.planning import Request, planned
from carnet_check.wording import fill_places, knowers, known, listed
from carnet_command import files as artefacts
from carnet_command.text import wrapped
from carnet_spec.language import Draft, Individual, Instance, Kind, Protocol, Role, Step, constant, relation
from carnet_spec.trace import Trace
from carnet_spec.trace import TraceStep as Taken
from tests.unit.model_check.command import FASTEST, TOY


def test_sentences_keep_what_is_no_parameter() -> None:
    assert (
        fill_places("{a} sends {k} in {braces} to {a}", {"a": "alice", "k": "k1"})
        == "alice sends k1 in {braces} to alice"
    )
    assert listed(["k1"]) == "k1"
    assert listed(["k1", "k2", "k3"]) == "k1, k2 and k3"


def test_wrapped_text_keeps_its_label_and_its_width() -> None:
    lines = wrapped("label", "word " * 40)
    assert lines[0].startswith("label        word")
    assert all(len(line) <= 78 for line in lines)
    assert all(line.startswith(" " * 13) for line in lines[1:])


def test_narrow_matrices_put_the_engines_below_one_another() -> None:
    rows = tuple(
        Result("toy", "main", "secrecy", threat, engine, verdict, verdict)
        for threat in ("none", "collusion")
        for engine, verdict in (("induction", Verdict.PROVED), (FASTEST, Verdict.EXHAUSTED))
    )
    outcome = CampaignOutcome(planned(Request(load(TOY))), results=rows)
    assert "secrecy  PROVED·EXHAUSTED  PROVED·EXHAUSTED" in matrices(outcome, width=80)
    narrow = matrices(outcome, width=30)
    assert "secrecy  PROVED     PROVED" in narrow
    assert "         EXHAUSTED  EXHAUSTED" in narrow


def test_what_is_expected_to_fall_is_marked_and_what_is_not_stands_out() -> None:
    rows = (
        Result("toy", "main", "secrecy", "none", "explicit", Verdict.VIOLATED, Verdict.VIOLATED),
        Result("toy", "main", "secrecy", "collusion", "explicit", Verdict.UNKNOWN, Verdict.EXHAUSTED, detail="why"),
    )
    lines = matrices(CampaignOutcome(planned(Request(load(TOY), engines=("explicit",))), results=rows))
    assert "secrecy  VIOLATED*  UNKNOWN!" in lines
    assert any(line.startswith("* expected") for line in lines)
    assert "  UNKNOWN  secrecy · collusion · explicit (expected EXHAUSTED)" in lines
    assert "    why" in lines


def test_files_are_whole_or_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "verdicts.jsonl"
    artefacts.write_lines(file, [{"a": 1}, {"b": "ü"}])
    assert file.read_text() == '{"a":1}\n{"b":"ü"}\n'

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(UsageError, match="no space left on device"):
        artefacts.write_text(tmp_path / "other", "x")
    assert [each.name for each in tmp_path.iterdir()] == ["verdicts.jsonl"]


class Agent(Individual):
    """A party."""


class Key(Individual):
    """A key with two halves."""


SENDER = Role("sender")
spy = constant("spy", Agent)
knows_in = relation("knows_in", Agent, Key, kind=Kind.KNOWLEDGE)
knows_out = relation("knows_out", Agent, Key, kind=Kind.KNOWLEDGE)
rumour = relation("rumour", Key, kind=Kind.KNOWLEDGE)


def halves() -> Protocol:
    draft = Draft("halves", "Two halves")

    @draft.action(by=SENDER, says="{k}", source="tests", message="{a} -> {b}: half #1; of {k}")
    def give(step: Step, a: Agent, b: Agent, k: Key) -> None:
        step.insert(knows_in(b, k))
        step.insert(knows_out(b, k))
        step.insert(rumour(k))

    @draft.action(by=SENDER, says="{a} keeps quiet; really", source="tests")
    def quiet(step: Step, a: Agent) -> None:
        step.require("is no spy", a != spy)

    return draft.protocol()


def test_knowledge_of_one_thing_in_several_ways_is_told_apart() -> None:
    state = State(
        {
            "knows_in": frozenset({("eve", "k1")}),
            "knows_out": frozenset({("eve", "k1")}),
            "rumour": frozenset({("k1",)}),
        },
        {},
    )
    assert known(halves(), state) == {"eve": ["k1 (in, out)"], "the adversary": ["k1"]}
    before = State(
        {"knows_in": frozenset({("eve", "k1")}), "knows_out": frozenset(), "rumour": frozenset({("k1",)})}, {}
    )
    assert known(halves(), state, before) == {"eve": ["k1 (out)"]}


def test_knowledge_is_told_of_those_only_of_whom_it_is_counted() -> None:
    instance = Instance({"Agent": ("eve", "bob"), "Key": ("k1",)}, functions={"spy": {(): "eve"}})
    assert knowers(halves(), instance, ["bob", "k1", "the adversary", "eve"]) == ["bob", "the adversary", "eve"]


def test_a_diagram_escapes_what_mermaid_would_read_as_syntax() -> None:
    protocol = halves()
    judge = Interpreter(protocol, Instance({"Agent": ("spy", "eve"), "Key": ("k1",)}, functions={"spy": {(): "spy"}}))
    steps = (
        Taken("give", "sender", (("a", "spy"), ("b", "eve"), ("k", "k1"))),
        Taken("quiet", "sender", (("a", "eve"),)),
    )
    trace = Trace("halves", "main", (), "", steps)
    drawn = mermaid(protocol, judge.replay(trace), trace).splitlines()
    assert "    p0->>p1: half #35;1#59; of k1" in drawn
    assert "    Note over p3: eve keeps quiet#59; really" in drawn
