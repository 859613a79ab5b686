"""What was visited, by ``explore``, ``--simulate`` and ``exhaust``, and never a stronger verdict than that."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from carnet_check.coq import program as coq_program
from carnet_check.coq.program import EXHAUST_VARIABLE, INSTANCE, STATES, SYSTEM
from carnet_check.engines import registry
from carnet_check.engines.explicit.engine import EXPLICIT, Explicit
from carnet_check.engines.exploration import Walks
from carnet_check.engines.native.engine import NATIVE
from carnet_check.errors import EngineError
from carnet_check.loading.families import load
from carnet_check.results import Verdict
from carnet_check.semantics import Interpreter
from carnet_check.verification.campaign import verify
from carnet_check.verification.planning import Request, plan_campaign
from carnet_spec.trace import Trace, TraceStep
from tests.coq.coq_files import exhaust
from tests.unit.model_check.command import FASTEST, FIXTURES, TOY, WIDE, carnet, control
from tests.unit.model_check.engines.toy import REGISTRATION


def test_explore_counts_every_state_and_reports_violations() -> None:
    ran = carnet("explore", TOY, "--no-reduction", "--json")
    assert ran.code == 0
    promised = {"protocol", "states", "transitions", "depth", "complete", "seconds", "states_per_second"}
    assert promised | {"peak_memory_bytes", "violations", "reduction"} <= ran.json.keys()
    assert (ran.json["states"], ran.json["complete"], ran.json["violations"]) == (144, True, [])
    ran = carnet("explore", TOY, "--variant", "forgetful", "--max-states", "2000", "--json")
    (violation,) = ran.json["violations"]
    assert (ran.code, violation["claim"], len(violation["steps"])) == (1, "secrecy", 5)


def test_explore_stops_where_it_is_told_and_says_so() -> None:
    ran = carnet("explore", WIDE, "--max-states", "100", "--json")
    assert (ran.code, ran.json["complete"], ran.json["stopped_by"]) == (3, False, "states")
    assert "UNKNOWN" in ran.json["run"]["verdicts"]
    ran = carnet("explore", WIDE, "--max-seconds", "1", "--engine", "explicit")
    assert ran.code == 3
    assert "stopped by time after" in ran.out
    assert "no cap on states, 1 s" in " ".join(ran.out.split())


def test_sizes_reach_the_instance_and_engines_in_one_thread_are_told() -> None:
    ran = carnet("explore", control("sound"), "--set", "Party=5", "--json")
    assert ran.json["instance"] == "5 Party"
    assert ran.json["complete"]
    ran = carnet("explore", TOY, "--engine", "explicit", "--jobs", "2")
    assert ran.code == 2
    assert "the engine 'explicit' works in one thread; expected --jobs 1, not 2" in ran.err
    assert carnet("explore", TOY, "--engine", "explicit", "--jobs", "1").code == 0


def test_states_that_stand_for_others_are_counted_with_those() -> None:
    """JSON says what was visited and for how many that stands, and the text begins with the latter."""
    found = carnet("explore", control("sound"), "--set", "Party=5", "--json").json
    every = found["reduction"]["states_stood_for"]
    assert found["reduction"]["permutations"] == 24
    assert found["states"] < every
    told = " ".join(carnet("explore", control("sound"), "--set", "Party=5").out.split())
    assert f"{every} states ({found['states']} up to symmetry), depth {found['depth']}" in told
    without = carnet("explore", control("sound"), "--set", "Party=5", "--no-reduction", "--json").json
    assert "permutations" not in without["reduction"]


def test_a_budget_is_never_called_exhaustive_and_counted_as_people_do() -> None:
    ran = carnet("explore", TOY, "--moves", "1", "--json")
    assert ran.json["run"]["verdicts"] == {"HOLDS-TO": 1}
    ran = carnet("explore", TOY, "--moves", "1")
    assert " ".join(ran.out.split()).count("at most 1 active adversary move ") == 2
    assert "1 active adversary moves" not in ran.out


@pytest.mark.parametrize(("options", "engine"), [((), FASTEST), (("--engine", "explicit"), "explicit")])
def test_the_engine_is_the_fastest_there_is_or_the_one_asked_for(options: tuple[str, ...], engine: str) -> None:
    ran = carnet("explore", TOY, "--no-reduction", *options, "--json")
    assert (ran.code, ran.json["engine"], ran.json["states"]) == (0, engine, 144)
    assert f"{engine}:" in ran.json["run"]["strength"]


def test_without_a_compiler_the_native_engine_is_neither_taken_nor_had(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler")
    assert carnet("explore", TOY, "--json").json["engine"] == "explicit"
    ran = carnet("explore", TOY, "--engine", "native")
    assert (ran.code, "pip install 'carnet[fast]'" in ran.err) == (2, True)


@pytest.mark.parametrize(("engine", "named"), [("native", True), ("explicit", False)])
def test_the_versions_are_those_of_what_explored(engine: str, named: bool) -> None:
    if NATIVE.lacks:
        pytest.skip(NATIVE.lacks)
    (line,) = [line for line in carnet("explore", TOY, "--engine", engine).out.splitlines() if "versions " in line]
    assert any(f"{name} {version}" in line for name, version in NATIVE.versions().items()) is named


@pytest.mark.parametrize(("name", "why"), [("induction", "visits no states"), ("nativ", "no engine 'nativ' (known: ")])
def test_an_engine_that_visits_no_states_is_refused(name: str, why: str) -> None:
    ran = carnet("explore", TOY, "--engine", name)
    assert (ran.code, why in ran.err, len(ran.err.splitlines())) == (2, True, 1)


@pytest.mark.mends("P10")
def test_verify_takes_the_same_limits() -> None:
    ran = carnet("verify", TOY, "--engine", "explicit", "--max-states", "5", "--max-seconds", "60", "--jobs", "1")
    assert ran.code == 3
    said = " ".join(ran.out.split())
    assert "stopped by states after" in said
    assert "asked for: 5 states per exploration · asked for: 60 s per exploration" in said
    late = carnet("verify", WIDE, "--engine", "explicit", "--max-seconds", "1", "--jobs", "1", "--json")
    assert late.code == 3
    assert any("stopped by time after" in row["detail"] for row in late.json["results"])


@pytest.mark.long
def test_any_number_of_threads_says_the_same() -> None:
    if NATIVE.lacks:
        pytest.skip(NATIVE.lacks)
    told = [
        carnet("explore", "gpu-travelling", "--threat", "hypervisor", "--engine", "native", "--jobs", jobs, "--json")
        for jobs in ("1", "3")
    ]
    same = ("states", "transitions", "depth", "complete", "violations", "reduction")
    assert [told[0].json[name] for name in same] == [told[1].json[name] for name in same]
    assert told[0].json["states"] > 40_000


def test_liveness_is_not_judged_by_exploring_or_walking_and_that_is_said() -> None:
    said = " ".join(carnet("explore", "gpu-travelling", "--threat", "outsider", "--max-states", "10").out.split())
    assert "not judged grant-ends" in said
    assert "`carnet verify` checks what eventually happens" in said
    assert "not judged" not in carnet("explore", TOY).out
    assert carnet("explore", LIT, "--simulate", "5", "--json").json["simulation"]["not_judged"] == ["lights-up"]
    told = " ".join(carnet("explore", LIT, "--simulate", "5").out.split())
    assert "not judged lights-up: random walks end, and liveness is of runs that do not" in told


WALKS = ("--simulate", "200", "--depth", "30")
SOON = ("--max-states", "2000")  #: Many more than lead to the violation.
TIMES = {"seconds", "states_per_second", "peak_memory_bytes", "run", "engine"}
LAPS = f"{FIXTURES / 'laps.py'}:FAMILY"
LIT = f"{FIXTURES / 'mended.py'}:liveness_that_fairness_brings"


def timeless(found: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in found.items() if name not in TIMES}


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
    ran = carnet("explore", control("sound"), "--simulate", "5000", "--json")
    assert (set(ran.json["run"]["verdicts"]), ran.json["complete"]) == ({"SAMPLED"}, False)
    ran = carnet("explore", WIDE, "--simulate", "50", "--json")
    assert (ran.code, set(ran.json["run"]["verdicts"])) == (0, {"SAMPLED"})


def test_a_violation_on_a_walk_is_shortened_replayed_and_told() -> None:
    ran = carnet("explore", TOY, "--variant", "forgetful", "--threat", "none", *WALKS, "--json")
    (violation,) = ran.json["violations"]
    assert (ran.code, violation["claim"], ran.json["run"]["verdicts"]) == (1, "secrecy", {"VIOLATED": 1})
    source = load(TOY)
    protocol = source.protocol("forgetful")
    judge = Interpreter(protocol, source.instance(protocol, "none", source.profile("tiny")))
    trace = Trace("toy", "forgetful", (), "none", tuple(map(TraceStep.from_json, violation["steps"])))
    assert not judge.holds(protocol.claim("secrecy").checked.formula, judge.replay(trace)[-1])
    (shortest,) = carnet("explore", TOY, "--variant", "forgetful", *SOON, "--json").json["violations"]
    assert len(trace.steps) == len(shortest["steps"])
    told = carnet("explore", TOY, "--variant", "forgetful", "--threat", "none", *WALKS).out
    assert "secrecy is violated:" in told
    assert "it is false that" in told


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
    if NATIVE.lacks:
        pytest.skip(NATIVE.lacks)
    arguments = ("explore", TOY, "--variant", "forgetful", "--simulate", "3000", *more, "--json")
    first, again, other = (
        timeless(carnet(*arguments, "--engine", engine).json) for engine in ("native", "native", "explicit")
    )
    assert first == again == other


def test_another_seed_takes_other_walks_and_an_expected_violation_is_no_failure() -> None:
    zero, one = (carnet("explore", TOY, *WALKS, "--seed", seed, "--json").json for seed in ("0", "1"))
    assert zero["simulation"]["actions"] != one["simulation"]["actions"]
    assert zero["simulation"] == carnet("explore", TOY, *WALKS, "--json").json["simulation"]
    ran = carnet("explore", TOY, "--variant", "forgetful", "--threat", "collusion", *WALKS, "--json")
    expected = carnet("explore", TOY, "--variant", "forgetful", "--threat", "collusion", *SOON, "--json")
    (walked,), (explored,) = ran.json["violations"], expected.json["violations"]
    assert (walked["expected"], ran.code) == (explored["expected"], expected.code)


def test_the_fastest_engine_that_is_installed_walks(monkeypatch: pytest.MonkeyPatch) -> None:
    def walks_by(installed: bool) -> object:
        monkeypatch.setattr("carnet_check.engines.native.engine.compiler", lambda: ("cc",) if installed else None)
        return carnet("explore", TOY, "--simulate", "3", "--json").json["engine"]

    assert [walks_by(True), walks_by(False)] == ["native", "explicit"]


def test_walks_that_take_too_long_are_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carnet_check.engines.explicit.bounds.Watch.seconds", 1.5)
    ran = carnet("explore", TOY, *WALKS, "--max-seconds", "1", "--json")
    assert (ran.code, ran.json["stopped_by"], ran.json["run"]["verdicts"]) == (3, "time", {"UNKNOWN": 1})


def test_what_visits_every_state_knows_no_walks_and_memory_ends_those() -> None:
    ran = carnet("exhaust", TOY, "--simulate", "5")
    assert (ran.code, ran.out) == (2, "")
    assert "--simulate" in ran.err
    ran = carnet("explore", TOY, *WALKS, "--max-memory", "10M", "--json")
    assert (ran.code, ran.json["stopped_by"], ran.json["run"]["verdicts"]) == (3, "memory", {"UNKNOWN": 1})


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


def test_what_was_covered_is_told_when_it_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr("carnet_check.engines.explicit.bounds.Watch.report", interrupted)
    ran = carnet("explore", TOY, *WALKS, "--json")
    assert (ran.code, ran.json["stopped_by"], ran.json["run"]["verdicts"]) == (130, "interrupt", {"UNKNOWN": 1})
    assert ran.json["simulation"]["walks"] == 0


def test_verify_walks_for_each_claim_beside_proofs() -> None:
    ran = carnet("verify", TOY, "--engine", "explicit", *WALKS, "--jobs", "1", "--json")
    rows = [
        (row["threat"], row["engine"], row["verdict"], row["bound"], row["expected"]) for row in ran.json["results"]
    ]
    assert rows == [(threat, "explicit", "SAMPLED", 200, "SAMPLED") for threat in ("none", "collusion")]
    assert (ran.code, ran.json["run"]["profile"]) == (0, "tiny; seed 0")
    assert any("goals not reached" in note for note in ran.json["notes"])
    ran = carnet("verify", TOY, *WALKS, "--jobs", "1", "--json")
    found = {(row["engine"], row["verdict"]) for row in ran.json["results"]}
    assert (ran.code, found) == (0, {("induction", "PROVED"), (FASTEST, "SAMPLED")})
    ran = carnet("verify", TOY, "--engine", "explicit", *WALKS, "--max-memory", "10M", "--jobs", "1", "--json")
    assert ({row["verdict"] for row in ran.json["results"]}, ran.code) == ({"UNKNOWN"}, 3)


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
        verify(plan_campaign(Request(load(TOY), engines=("explicit",), walks=3)))


def test_a_walker_is_the_engine_for_walks_and_for_nothing_else() -> None:
    walker = EXPLICIT.random_walker(Walks(7, 9, 2))
    assert (walker.name, walker.verdicts) == ("explicit", (Verdict.SAMPLED,))
    assert walker.with_limit(3).walks == Walks(3, 9, 2)
    assert walker.with_limit(100).walks == Walks(7, 9, 2)


def test_walks_say_nothing_of_what_is_vacuous_or_did_not_fall() -> None:
    ran = carnet("verify", TOY, "--engine", "explicit", "--simulate", "1", "--depth", "1", "--jobs", "1", "--json")
    assert {row["verdict"] for row in ran.json["results"]} == {"SAMPLED"}
    assert ran.json["goals"] == []
    arguments = ("verify", TOY, "--variant", "forgetful", "--threat", "collusion", "--engine", "explicit")
    ran = carnet(*arguments, "--simulate", "1", "--depth", "1", "--jobs", "1", "--json")
    (row,) = ran.json["results"]
    assert (row["verdict"], row["expected"], ran.code) == ("SAMPLED", "VIOLATED", 3)
    ran = carnet("verify", LAPS, "--profile", "ci", "--engine", "explicit", *WALKS, "--jobs", "1", "--json")
    assert {row["verdict"] for row in ran.json["results"]} == {"SAMPLED"}
    outcome = verify(plan_campaign(Request(load(TOY), engines=("explicit",), walks=3)))
    assert not any(found.complete or found.exhaustive for found in outcome.searches)
    assert outcome.goals == ()


def test_verify_shows_a_violation_and_how_to_find_it_again() -> None:
    arguments = ("verify", TOY, "--variant", "forgetful", "--engine", "explicit", "--jobs", "1")
    ran = carnet(*arguments, "--threat", "none", *WALKS, "--seed", "4")
    again = f"{TOY} --variant forgetful --threat none --claim secrecy"
    assert ran.code == 1
    assert f"carnet verify {again} --engine explicit --simulate 200 --seed 4 --profile tiny --depth 30" in ran.out
    falls = carnet(*arguments, "--threat", "collusion", *WALKS, "--json")
    ((verdict, expected),) = {(row["verdict"], row["expected"]) for row in falls.json["results"]}
    assert (verdict, expected, falls.code) == ("VIOLATED", "VIOLATED", 0)


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


def without_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coq_program, "exhaust_program", lambda: None)


def test_certificates_are_written_without_the_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_program(monkeypatch)
    ran = carnet("exhaust", control("sound"), "--out", str(tmp_path), "--json")
    assert ran.code == 3
    assert [each["accepted"] for each in ran.json] == [None] * len(ran.json)
    for each in ran.json:
        assert {file.name for file in Path(each["folder"]).iterdir()} == {SYSTEM, INSTANCE, STATES}
        assert (Path(each["folder"]) / STATES).stat().st_size == each["bytes"]


def test_what_was_not_checked_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_program(monkeypatch)
    assert "not checked" in carnet("exhaust", TOY, "--out", str(tmp_path)).out


def test_a_program_that_is_none_is_2(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EXHAUST_VARIABLE, str(tmp_path / "nowhere"))
    ran = carnet("exhaust", TOY, "--out", str(tmp_path / "out"))
    assert (ran.code, EXHAUST_VARIABLE in ran.err) == (2, True)


def test_a_folder_that_cannot_be_written_to_is_2(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert carnet("exhaust", TOY, "--out", str(tmp_path / "file" / "out")).code == 2
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "main").write_text("")
    assert carnet("exhaust", TOY, "--out", str(tmp_path / "out")).code == 2


def test_a_budget_is_refused_before_anything_is_explored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unwanted(*_: object) -> None:
        raise AssertionError("something was explored")

    monkeypatch.setattr(Explicit, "visit_states", unwanted)
    ran = carnet("exhaust", "gpu-travelling", "--profile", "ci", "--out", str(tmp_path))
    assert (ran.code, "bounds the adversary's moves" in ran.err) == (2, True)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("program", "code"), [("", 1), ("true", 5), ("false", 5)])
def test_a_claim_that_falls_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, code: int) -> None:
    monkeypatch.setenv(EXHAUST_VARIABLE, program or str(exhaust()))
    ran = carnet("exhaust", control("wrong_claim"), "--out", str(tmp_path), "--json")
    (only,) = ran.json
    assert (ran.code, only["claims"], only["fallen"], only["unexpected"]) == (code, 1, ["stays-home"], ["stays-home"])
    assert "VIOLATED: stays-home" in carnet("exhaust", control("wrong_claim"), "--out", str(tmp_path)).out


def test_certificates_are_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(EXHAUST_VARIABLE, str(exhaust()))
    ran = carnet("exhaust", TOY, "--out", str(tmp_path))
    assert ran.code == 0
    assert "accepted in" in ran.out
    assert "REFUSED" not in ran.out


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_instances_of_gpu_travelling_are_certified(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of one threat model; decision record 24 has all of them."""
    monkeypatch.setenv(EXHAUST_VARIABLE, str(exhaust()))
    ran = carnet("exhaust", "gpu-travelling", "--threat", "outsider", "--out", str(tmp_path), "--json")
    assert ran.code == 0
    assert {each["accepted"] for each in ran.json} == {True}
    assert len({each["variant"] for each in ran.json}) == 4
    assert min(each["states"] for each in ran.json) > 5_000


def test_instances_are_told_apart_and_times_are_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_program(monkeypatch)
    ran = carnet("exhaust", TOY, "--out", str(tmp_path))
    lines = [line for line in ran.out.splitlines() if " · " in line]
    assert len({line.partition(":")[0] for line in lines}) == len(lines) > 0
    assert all(", instance " in line and "visited in " in line for line in lines)


def test_an_interrupt_says_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_program(monkeypatch)
    written: Callable[..., int] = coq_program.write

    def interrupted(*asked: object) -> int:
        if written(*asked) and len(list(tmp_path.rglob(STATES))) == 2:
            raise KeyboardInterrupt
        return 1

    monkeypatch.setattr(coq_program, "write", interrupted)
    ran = carnet("exhaust", TOY, "--out", str(tmp_path))
    assert ran.code == 130
    assert f"interrupted: 1 certificate written into '{tmp_path}'" in ran.err


SAID = ("   0.0 s  accepted: in each of 12 states", "claim one", "claim a%20b")


@pytest.mark.parametrize(
    ("said", "accepts"),
    [
        (SAID, True),
        ((), False),
        (SAID[1:], False),
        (SAID[:2], False),
        ((*SAID, "claim more"), False),
        (("   0.0 s  accepted: in each of 2 states", *SAID[1:]), False),
    ],
)
def test_the_program_has_to_say_of_how_many_states_and_claims_it_accepts(said: tuple[str, ...], accepts: bool) -> None:
    assert coq_program.Judgement(True, said).accepts(12, ["one", "a b"]) is accepts
    assert not coq_program.Judgement(False, said).accepts(12, ["one", "a b"])
