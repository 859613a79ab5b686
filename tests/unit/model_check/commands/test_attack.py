"""``carnet attack``: an attack is minimal, replayed and told; where there is none, it is known why."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from carnet_check.attacks.hunt import Hunt
from carnet_check.loading.families import load
from carnet_check.minimise import minimise
from carnet_check.results import Verdict
from carnet_check.semantics import Interpreter
from carnet_spec.trace import Trace, TraceStep
from tests.unit.model_check.command import TOY, carnet, carnet_once, control


def test_removing_a_defence_opens_an_attack() -> None:
    ran = carnet_once("attack", TOY, "--without", "fresh-key", "--json")
    assert ran.code == 1
    found = ran.json
    assert (found["verdict"], found["claim"], found["threat"]) == ("VIOLATED", "secrecy", "collusion")
    assert (found["removed"], found["variant"], found["replay"]) == (["fresh-key"], "main", None)
    assert [step["action"] for step in found["steps"]] == ["lend", "read", "fake_return", "take_back", "lend"]
    assert found["steps"][0] == {"action": "lend", "by": "lender", "args": {"to": "borrower2", "key": "k1"}}


def test_a_defence_that_equals_a_variant_is_the_same_finding() -> None:
    by_defence = carnet_once("attack", TOY, "--without", "fresh-key", "--json").json
    by_variant = carnet_once("attack", TOY, "--variant", "forgetful", "--json").json
    assert by_defence["finding"] == by_variant["finding"] == "one-key"
    assert by_defence["steps"] == by_variant["steps"]


def test_a_redundant_defence_is_proved_to_be_one() -> None:
    ran = carnet("attack", TOY, "--without", "return-checked", "--jobs", "1", "--json")
    assert (ran.code, ran.json["verdict"], ran.json["steps"]) == (0, "PROVED", [])
    assert "redundant under collusion" in ran.json["detail"]


def test_a_variant_that_is_proved_is_not_called_redundant() -> None:
    ran = carnet("attack", TOY, "--variant", "main", "--jobs", "1")
    assert ran.code == 0
    assert "PROVED       every claim attacked is proved for variant main under collusion" in ran.out.splitlines()
    assert "REDUNDANT" not in ran.out
    assert "not attacked" not in ran.out


def test_a_proof_says_which_claims_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["carnet_check.attacks.hunt"]  # its package names the function of the same name
    monkeypatch.setattr(module, "hunt", lambda target, **_: Hunt(target, Verdict.PROVED, "", "all proved"))
    asked = ("attack", "gpu-travelling", "--variant", "engine-per-holder")
    left_out = "not attacked forward-isolation, model-confidentiality: not claimed under"
    assert left_out in carnet(*asked).out.splitlines()
    assert "not attacked" not in carnet(*asked, "--claim", "key-isolation").out


def test_an_attack_is_told_step_by_step() -> None:
    out = carnet_once("attack", TOY, "--without", "fresh-key").out
    told = [
        "  1.  the lender makes k1 and lends it to borrower2",
        "      >>> borrower2 learns k1",
        "  4.  the lender makes k1 and lends it to lender",
        "  secrecy fails for x = borrower2, k = k1:",
        "    it is false that  borrower2 = owner(k1)",
        "    borrower2    k1",
        "This is finding one-key: A key lent twice has two owners",
    ]
    assert [line for line in told if line not in out.splitlines()] == []


def test_the_long_title_of_a_finding_is_wrapped(monkeypatch: pytest.MonkeyPatch) -> None:
    module = sys.modules["carnet_check.attacks.hunt"]
    finding = replace(load(TOY).family.findings[0], title="the lender lends " + "and lends " * 8)
    monkeypatch.setattr(module, "_finding", lambda *_: finding)
    lines = carnet("attack", TOY, "--variant", "forgetful").out.splitlines()
    (position,) = [number for number, line in enumerate(lines) if line.startswith("This is finding one-key: the")]
    assert lines[position + 1].startswith("  ")
    assert len(lines[position]) <= 80


def test_a_false_claim_is_attacked_without_removing_anything() -> None:
    ran = carnet("attack", control("wrong_claim"), "--variant", "main", "--claim", "stays-home", "--json")
    assert (ran.code, len(ran.json["steps"])) == (1, 1)
    assert ran.json["reason"][-1] == "  it is false that  party1 = first"


def test_nothing_found_and_nothing_proved_is_unknown() -> None:
    ran = carnet("attack", control("idle_action"), "--variant", "main", "--jobs", "1", "--json")
    assert (ran.code, ran.json["verdict"]) == (3, "UNKNOWN")
    assert "3 states" in ran.json["detail"]


def test_a_diagram_has_an_arrow_for_each_message() -> None:
    drawn = carnet("attack", TOY, "--without", "fresh-key", "--mermaid", "--json").json["mermaid"].splitlines()
    assert drawn[0] == "sequenceDiagram"
    assert "    participant p0 as lender" in drawn
    assert drawn.count("    p0->>p1: k1") == 1
    assert "    Note over p1: learns k1" in drawn


def test_an_itf_trace_names_the_action_in_a_variable(tmp_path: Path) -> None:
    file = tmp_path / "attack.itf.json"
    carnet("attack", TOY, "--without", "fresh-key", "--itf", str(file))
    trace = json.loads(file.read_text())
    assert trace["#meta"]["format"] == "ITF"
    assert "loop" not in trace
    taken = [state["mbt::actionTaken"] for state in trace["states"]]
    assert taken == ["init", "lend", "read", "fake_return", "take_back", "lend"]
    assert all(set(trace["vars"]) == state.keys() - {"#meta"} for state in trace["states"])
    assert trace["states"][1]["lent"] == {"#set": [{"#tup": ["borrower2", "k1"]}]}


def test_minimising_drops_what_the_violation_does_not_need() -> None:
    source = load(TOY)
    protocol = source.protocol("main", ("fresh-key",))
    judge = Interpreter(protocol, source.instance(protocol, "collusion", source.profile("tiny")))
    shortest = carnet_once("attack", TOY, "--without", "fresh-key", "--json").json["steps"]
    steps = [TraceStep(step["action"], step["by"], tuple(step["args"].items())) for step in shortest]
    padded = [
        TraceStep("lend", "lender", (("to", "borrower1"), ("key", "k2"))),
        TraceStep("borrow", "borrower", (("user", "borrower1"), ("key", "k2"))),
        TraceStep("give_back", "borrower", (("user", "borrower1"), ("key", "k2"))),
        TraceStep("take_back", "lender", (("user", "borrower1"), ("key", "k2"))),
        *steps,
    ]
    trace = Trace("toy", "main", ("fresh-key",), "collusion", tuple(padded))
    assert minimise(judge, protocol.claim("secrecy").checked, trace).steps == tuple(steps)
