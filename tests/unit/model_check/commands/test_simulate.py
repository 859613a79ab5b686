"""``--simulate N``: random walks in the place of exploration, never more than SAMPLED."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from carnet_check.engines import registry
from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.exploration import Walks
from carnet_check.errors import EngineError
from carnet_check.loading.families import load
from carnet_check.results import Verdict
from carnet_check.semantics import Interpreter
from carnet_check.verification.campaign import verify
from carnet_check.verification.planning import Request, planned
from carnet_spec.trace import Trace, TraceStep
from tests.unit.model_check.command import FASTEST, FIXTURES, TOY, WIDE, carnet, control
from tests.unit.model_check.engines.toy import REGISTRATION

WALKS = ("--simulate", "200", "--depth", "30")
TIMES = {"seconds", "states_per_second", "peak_memory_bytes", "run", "engine"}
LAPS = f"{FIXTURES / 'laps.py'}:FAMILY"
LIT = f"{FIXTURES / 'mended.py'}:liveness_that_fairness_brings"


def timeless(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name not in TIMES}


# -- explore --------------------------------------------------------------------------------------


def test_walks_in_several_instances_are_announced_and_counted() -> None:
    """A claim that reads what nobody wrote yet is judged from other first values, too, with as many walks."""
    ran = carnet("explore", "gpu-travelling", "--simulate", "3", "--depth", "5")
    told = " ".join(ran.out.split())
    assert "3 random walks of at most 5 steps, seed 0; as many in each of 2 other instances" in told
    assert "covered 9 random walks" in told
    assert "as many in each" not in carnet("explore", TOY, *WALKS).out


def test_what_no_walk_violates_is_sampled_and_nothing_more() -> None:
    ran = carnet("explore", TOY, *WALKS, "--json")
    found = ran.json
    assert (ran.code, found["run"]["verdicts"], found["complete"]) == (0, {"SAMPLED": 1}, False)
    assert found["run"]["profile"] == "tiny; seed 0"
    assert found["run"]["rerun"].endswith("--simulate 200 --depth 30 --json")
    walks = found["simulation"]
    assert (walks["asked"], walks["walks"], walks["depth"], walks["seed"]) == (200, 200, 30, 0)
    assert found["transitions"] == walks["steps"] == sum(each["taken"] for each in walks["actions"])


def test_even_if_every_state_was_met() -> None:
    ran = carnet("explore", control("sound"), "--simulate", "5000", "--json")
    assert (set(ran.json["run"]["verdicts"]), ran.json["complete"]) == ({"SAMPLED"}, False)


def test_a_violation_on_a_walk_is_shortened_replayed_and_told() -> None:
    ran = carnet("explore", TOY, "--variant", "forgetful", "--threat", "none", *WALKS, "--json")
    (violation,) = ran.json["violations"]
    assert (ran.code, violation["claim"], ran.json["run"]["verdicts"]) == (1, "secrecy", {"VIOLATED": 1})
    source = load(TOY)
    protocol = source.protocol("forgetful")
    judge = Interpreter(protocol, source.instance(protocol, "none", source.profile("tiny")))
    trace = Trace("toy", "forgetful", (), "none", tuple(map(TraceStep.from_json, violation["steps"])))
    assert not judge.holds(protocol.claim("secrecy").checked.formula, judge.replay(trace)[-1])
    assert len(trace.steps) == len(
        carnet("explore", TOY, "--variant", "forgetful", "--json").json["violations"][0]["steps"]
    )
    told = carnet("explore", TOY, "--variant", "forgetful", "--threat", "none", *WALKS).out
    assert "secrecy is violated:" in told
    assert "it is false that" in told


def test_a_violation_that_is_expected_is_no_failure() -> None:
    ran = carnet("explore", TOY, "--variant", "forgetful", "--threat", "collusion", *WALKS, "--json")
    expected = carnet("explore", TOY, "--variant", "forgetful", "--threat", "collusion", "--json")
    (walked,), (explored,) = ran.json["violations"], expected.json["violations"]
    assert (walked["expected"], ran.code) == (explored["expected"], expected.code)


def test_goals_steps_and_guards_that_were_not_covered_are_told() -> None:
    ran = carnet("explore", TOY, "--threat", "none", "--simulate", "1", "--depth", "1")
    told = " ".join(ran.out.split())
    assert "goals 0 of 1 reached; not " in told
    assert "actions 1 of 5 taken; not take_back, borrow, give_back, fake_return" in told
    assert "guards 2 of 7 seen to hold; not take_back: away, " in told
    everything = carnet("explore", TOY, "--simulate", "1", "--depth", "1", "--json").json["simulation"]
    assert {"goals", "premises", "actions", "rules", "guards"} <= set(everything)
    assert {"action", "guard", "held", "failed", "alone", "decided"} == set(everything["guards"][0])


@pytest.mark.parametrize("more", [(), ("--seed", "7"), ("--moves", "1")])
def test_equal_runs_are_equal_whatever_engine_walks(more: tuple[str, ...]) -> None:
    pytest.importorskip("numba", reason="the extra 'fast' is not installed")
    arguments = ("explore", TOY, "--variant", "forgetful", "--simulate", "3000", *more, "--json")
    first, again, other = (
        timeless(carnet(*arguments, "--engine", engine).json) for engine in ("native", "native", "explicit")
    )
    assert first == again == other


def test_another_seed_takes_other_walks() -> None:
    zero, one = (carnet("explore", TOY, *WALKS, "--seed", seed, "--json").json for seed in ("0", "1"))
    assert zero["simulation"]["actions"] != one["simulation"]["actions"]
    assert zero["simulation"] == carnet("explore", TOY, *WALKS, "--json").json["simulation"]


def test_instances_beyond_exhaustion_are_walked() -> None:
    ran = carnet("explore", WIDE, "--simulate", "50", "--json")
    assert (ran.code, set(ran.json["run"]["verdicts"])) == (0, {"SAMPLED"})


def test_the_fastest_engine_that_is_installed_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    def walks_by(installed: bool) -> object:
        monkeypatch.setattr("importlib.util.find_spec", lambda _: object() if installed else None)
        return carnet("explore", TOY, "--simulate", "3", "--json").json["engine"]

    assert [walks_by(True), walks_by(False)] == ["native", "explicit"]


def test_what_should_happen_in_the_end_is_not_judged_and_that_is_said() -> None:
    assert carnet("explore", LIT, "--simulate", "5", "--json").json["simulation"]["not_judged"] == ["lights-up"]
    told = " ".join(carnet("explore", LIT, "--simulate", "5").out.split())
    assert "not judged lights-up: random walks end, and liveness is of runs that do not" in told


def test_walks_that_take_too_long_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carnet_check.engines.explicit.bounds.Watch.seconds", 1.5)
    ran = carnet("explore", TOY, *WALKS, "--max-seconds", "1", "--json")
    assert (ran.code, ran.json["stopped_by"], ran.json["run"]["verdicts"]) == (3, "time", {"UNKNOWN": 1})


def test_what_visits_every_state_knows_no_walks() -> None:
    ran = carnet("exhaust", TOY, "--simulate", "5")
    assert (ran.code, ran.out) == (2, "")
    assert "--simulate" in ran.err


BAD = {
    "no walk": (("--simulate", "0"), "at least 1"),
    "fewer than none": (("--simulate", "-3"), "at least 1"),
    "no number": (("--simulate", "many"), "whole number"),
    "no step": (("--simulate", "5", "--depth", "0"), "at least 1"),
    "a seed without walks": (("--seed", "1"), "--seed expects --simulate N"),
    "a depth without walks": (("--depth", "9"), "--depth expects --simulate N"),
    "a seed below 0": (("--simulate", "5", "--seed", "-1"), "--seed"),
    "a seed of 65 bits": (("--simulate", "5", "--seed", str(1 << 64)), "--seed"),
    "states to stop at": (("--simulate", "5", "--max-states", "9"), "--simulate"),
    "no reduction": (("--simulate", "5", "--no-reduction"), "--simulate"),
    "a checkpoint": (("--simulate", "5", "--checkpoint", "kept"), "are about visiting every state"),
    "an engine that proves": (
        ("--simulate", "5", "--engine", "induction"),
        "takes no random walks (those that do: explicit, native)",
    ),
    "an engine that nobody knows": (("--simulate", "5", "--engine", "dice"), "no engine 'dice' (known: "),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_refused_in_one_line(name: str) -> None:
    arguments, said = BAD[name]
    ran = carnet("explore", TOY, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    assert "Traceback" not in ran.err


def test_what_was_covered_is_told_when_memory_ends_it() -> None:
    ran = carnet("explore", TOY, *WALKS, "--max-memory", "10M", "--json")
    assert (ran.code, ran.json["stopped_by"], ran.json["run"]["verdicts"]) == (3, "memory", {"UNKNOWN": 1})


def test_what_was_covered_is_told_when_it_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("carnet_check.engines.explicit.bounds.Watch.report", interrupted)
    ran = carnet("explore", TOY, *WALKS, "--json")
    assert (ran.code, ran.json["stopped_by"], ran.json["run"]["verdicts"]) == (130, "interrupt", {"UNKNOWN": 1})
    assert ran.json["simulation"]["walks"] == 0


# -- verify ---------------------------------------------------------------------------------------


def test_verify_has_a_row_for_each_claim_with_the_number_of_walks() -> None:
    ran = carnet("verify", TOY, "--engine", "explicit", *WALKS, "--jobs", "1", "--json")
    rows = [
        (row["threat"], row["engine"], row["verdict"], row["bound"], row["expected"]) for row in ran.json["results"]
    ]
    assert rows == [(threat, "explicit", "SAMPLED", 200, "SAMPLED") for threat in ("none", "collusion")]
    assert (ran.code, ran.json["run"]["profile"]) == (0, "tiny; seed 0")
    assert any("goals not reached" in note for note in ran.json["notes"])


def test_walks_take_the_place_of_exploration_and_of_no_proof() -> None:
    ran = carnet("verify", TOY, *WALKS, "--jobs", "1", "--json")
    found = {(row["engine"], row["verdict"]) for row in ran.json["results"]}
    assert (ran.code, found) == (0, {("induction", "PROVED"), (FASTEST, "SAMPLED")})


def test_verify_says_what_walks_covered_under_each_threat_model() -> None:
    ran = carnet("verify", TOY, "--engine", "explicit", *WALKS, "--jobs", "1", "--json")
    found = ran.json["simulations"]
    assert [(each["engine"], each["variant"], each["threat"]) for each in found] == [
        ("explicit", "main", "none"),
        ("explicit", "main", "collusion"),
    ]
    assert all(each["actions"] and each["guards"] and each["walks"] == each["asked"] == 200 for each in found)
    assert any(
        "never taken: fake_return; of 7 guards 6 seen to hold and 6 to fail" in note for note in ran.json["notes"]
    )
    assert "simulations" not in carnet("verify", TOY, "--engine", "explicit", "--jobs", "1", "--json").json


def test_verify_says_what_walks_do_not_judge() -> None:
    arguments = ("verify", LIT, *WALKS, "--jobs", "1", "--json")
    alone, beside = carnet(*arguments, "--engine", "explicit").json, carnet(*arguments).json
    assert {row["kind"] for row in alone["results"]} <= {"claim"}
    note = "main: random walks judge no liveness, so they say nothing of lights-up"
    assert f"explicit: {note}" in alone["notes"]
    assert f"{FASTEST}: {note}" in beside["notes"]
    assert [row["engine"] for row in beside["results"] if row["kind"] == "liveness"] == ["induction"]


@pytest.mark.parametrize("word", [Verdict.EXHAUSTED, Verdict.HOLDS_TO, Verdict.PROVED])
def test_a_walker_that_says_more_is_not_believed(word: Verdict, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carnet_check.engines.exploring.explorer.verdict_of", lambda *_: (word, None))
    with pytest.raises(EngineError, match="a word that is not among its verdicts"):
        verify(planned(Request(load(TOY), engines=("explicit",), walks=3)))


def test_a_walker_is_the_engine_for_walks_and_for_nothing_else() -> None:
    walker = EXPLICIT.sampling(Walks(7, 9, 2))
    assert (walker.name, walker.verdicts) == ("explicit", (Verdict.SAMPLED,))
    assert walker.limited(3).walks == Walks(3, 9, 2)
    assert walker.limited(100).walks == Walks(7, 9, 2)


def test_walks_never_say_that_something_is_vacuous() -> None:
    ran = carnet("verify", TOY, "--engine", "explicit", "--simulate", "1", "--depth", "1", "--jobs", "1", "--json")
    assert {row["verdict"] for row in ran.json["results"]} == {"SAMPLED"}
    assert ran.json["goals"] == []


def test_verify_shows_a_violation_and_how_to_find_it_again() -> None:
    arguments = ("verify", TOY, "--variant", "forgetful", "--engine", "explicit", "--jobs", "1")
    ran = carnet(*arguments, "--threat", "none", *WALKS, "--seed", "4")
    again = f"{TOY} --variant forgetful --threat none --claim secrecy"
    assert ran.code == 1
    assert f"carnet verify {again} --engine explicit --simulate 200 --seed 4 --profile tiny --depth 30" in ran.out
    falls = carnet(*arguments, "--threat", "collusion", *WALKS, "--json")
    ((verdict, expected),) = {(row["verdict"], row["expected"]) for row in falls.json["results"]}
    assert (verdict, expected, falls.code) == ("VIOLATED", "VIOLATED", 0)


def test_what_should_fall_and_did_not_is_not_as_expected() -> None:
    arguments = ("verify", TOY, "--variant", "forgetful", "--threat", "collusion", "--engine", "explicit")
    ran = carnet(*arguments, "--simulate", "1", "--depth", "1", "--jobs", "1", "--json")
    (row,) = ran.json["results"]
    assert (row["verdict"], row["expected"], ran.code) == ("SAMPLED", "VIOLATED", 3)


def test_walks_that_end_early_establish_nothing() -> None:
    ran = carnet("verify", TOY, "--engine", "explicit", *WALKS, "--max-memory", "10M", "--jobs", "1", "--json")
    assert ({row["verdict"] for row in ran.json["results"]}, ran.code) == ({"UNKNOWN"}, 3)


def test_a_budget_of_the_adversary_is_told_with_the_sample() -> None:
    ran = carnet("verify", LAPS, "--profile", "ci", "--engine", "explicit", *WALKS, "--jobs", "1", "--json")
    assert {row["verdict"] for row in ran.json["results"]} == {"SAMPLED"}


REFUSED = {
    "a seed without walks": (("--seed", "1"), "--seed expects --simulate N"),
    "an engine that takes none": (("--simulate", "5", "--engine", "induction"), "add explicit or native"),
    "a shard": (("--simulate", "5", "--shard", "1/2", "--cache", "somewhere"), "leave out --shard"),
    "no walk": (("--simulate", "0"), "at least 1"),
    "fewer than none": (("--simulate", "-3"), "at least 1"),
    "states to stop at": (("--simulate", "5", "--max-states", "9"), "--max-states is about visiting every state"),
    "another engine that visits states": (
        ("--simulate", "5", "--engine", "toy", "--engine", "explicit"),
        "leave it out",
    ),
    "nothing but liveness": (("--simulate", "5", "--engine", "explicit", "--claim", "lights-up"), "judges liveness"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_verify_refuses_what_makes_no_sense(name: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(registry.ENGINES, *REGISTRATION)
    arguments, said = REFUSED[name]
    ran = carnet("verify", LIT if "--claim" in arguments else TOY, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err


def test_walks_are_neither_kept_nor_believed(tmp_path: Any) -> None:
    """A cache answers for explorations that are complete, and walks are not."""
    arguments = ("verify", TOY, "--engine", "explicit", "--cache", str(tmp_path), "--jobs", "1", "--json")
    assert {row["verdict"] for row in carnet(*arguments, *WALKS).json["results"]} == {"SAMPLED"}
    assert {row["verdict"] for row in carnet(*arguments).json["results"]} == {"EXHAUSTED"}
    assert {row["verdict"] for row in carnet(*arguments, *WALKS).json["results"]} == {"SAMPLED"}


def test_a_random_walk_is_never_evidence_of_what_does_not_happen() -> None:
    outcome = verify(planned(Request(load(TOY), engines=("explicit",), walks=3)))
    assert not any(found.complete or found.exhaustive for found in outcome.searches)
    assert outcome.goals == ()
