"""``carnet explore``: every state of one instance, and what stopped the search if it is not."""

from __future__ import annotations

import importlib.util

import pytest

from tests.unit.model_check.command import FASTEST, TOY, WIDE, carnet, control


def test_explore_counts_every_state() -> None:
    ran = carnet("explore", TOY, "--no-reduction", "--json")
    assert ran.code == 0
    promised = {"protocol", "states", "transitions", "depth", "complete", "seconds", "states_per_second"}
    assert promised | {"peak_memory_bytes", "violations", "reduction"} <= ran.json.keys()
    assert (ran.json["states"], ran.json["complete"], ran.json["violations"]) == (144, True, [])


def test_explore_stops_where_it_is_told_and_says_so() -> None:
    ran = carnet("explore", WIDE, "--max-states", "100", "--json")
    assert (ran.code, ran.json["complete"], ran.json["stopped_by"]) == (3, False, "states")
    assert "UNKNOWN" in ran.json["run"]["verdicts"]


def test_explore_reports_violations() -> None:
    ran = carnet("explore", TOY, "--variant", "forgetful", "--max-states", "2000", "--json")
    (violation,) = ran.json["violations"]
    assert (ran.code, violation["claim"], len(violation["steps"])) == (1, "secrecy", 5)


def test_sizes_reach_the_instance() -> None:
    ran = carnet("explore", control("sound"), "--set", "Party=5", "--json")
    assert ran.json["instance"] == "5 Party"
    assert ran.json["complete"]


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


def test_a_budget_is_never_called_exhaustive() -> None:
    ran = carnet("explore", TOY, "--moves", "1", "--json")
    assert ran.json["run"]["verdicts"] == {"HOLDS-TO": 1}


def test_one_move_of_the_adversary_is_counted_as_one() -> None:
    ran = carnet("explore", TOY, "--moves", "1")
    assert " ".join(ran.out.split()).count("at most 1 active adversary move ") == 2
    assert "1 active adversary moves" not in ran.out


@pytest.mark.parametrize(("options", "engine"), [((), FASTEST), (("--engine", "explicit"), "explicit")])
def test_the_engine_is_the_fastest_there_is_or_the_one_asked_for(options: tuple[str, ...], engine: str) -> None:
    ran = carnet("explore", TOY, "--no-reduction", *options, "--json")
    assert (ran.code, ran.json["engine"], ran.json["states"]) == (0, engine, 144)
    assert f"{engine}:" in ran.json["run"]["strength"]


def test_without_numba_the_native_engine_is_neither_taken_nor_had(monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "numba" else found(name))
    assert carnet("explore", TOY, "--json").json["engine"] == "explicit"
    ran = carnet("explore", TOY, "--engine", "native")
    assert (ran.code, "needs the extra 'fast'" in ran.err) == (2, True)


@pytest.mark.parametrize(("engine", "named"), [("native", True), ("explicit", False)])
def test_the_versions_are_those_of_what_explored(engine: str, named: bool) -> None:
    pytest.importorskip("numba", reason="needs Numba (the extra 'fast')")
    (line,) = [line for line in carnet("explore", TOY, "--engine", engine).out.splitlines() if "versions " in line]
    assert ("numba " in line) is named


@pytest.mark.parametrize(("name", "why"), [("induction", "visits no states"), ("nativ", "no engine 'nativ' (known: ")])
def test_an_engine_that_visits_no_states_is_refused(name: str, why: str) -> None:
    ran = carnet("explore", TOY, "--engine", name)
    assert (ran.code, why in ran.err, len(ran.err.splitlines())) == (2, True, 1)


def test_time_stops_a_search_and_what_was_covered_is_said() -> None:
    ran = carnet("explore", WIDE, "--max-seconds", "1", "--engine", "explicit")
    assert ran.code == 3
    assert "stopped by time after" in ran.out
    assert "no cap on states, 1 s" in " ".join(ran.out.split())


@pytest.mark.mends("P10")
def test_verify_takes_the_same_limits() -> None:
    ran = carnet("verify", TOY, "--engine", "explicit", "--max-states", "5", "--max-seconds", "60", "--jobs", "1")
    assert ran.code == 3
    said = " ".join(ran.out.split())
    assert "stopped by states after" in said
    assert "asked for: 5 states to an exploration · asked for: 60 s to an exploration" in said
    late = carnet("verify", WIDE, "--engine", "explicit", "--max-seconds", "1", "--jobs", "1", "--json")
    assert late.code == 3
    assert any("stopped by time after" in row["detail"] for row in late.json["results"])


def test_threads_are_asked_of_engines_that_have_them() -> None:
    ran = carnet("explore", TOY, "--engine", "explicit", "--jobs", "2")
    assert ran.code == 2
    assert "the engine 'explicit' works in one thread; expected --jobs 1, not 2" in ran.err
    assert carnet("explore", TOY, "--engine", "explicit", "--jobs", "1").code == 0


@pytest.mark.long
def test_any_number_of_threads_says_the_same() -> None:
    pytest.importorskip("numba", reason="the extra 'fast' is not installed")
    told = [
        carnet("explore", "gpu-travelling", "--threat", "hypervisor", "--engine", "native", "--jobs", jobs, "--json")
        for jobs in ("1", "3")
    ]
    same = ("states", "transitions", "depth", "complete", "violations", "reduction")
    assert [told[0].json[name] for name in same] == [told[1].json[name] for name in same]
    assert told[0].json["states"] > 40_000


def test_it_is_said_that_liveness_is_not_judged() -> None:
    said = " ".join(carnet("explore", "gpu-travelling", "--threat", "outsider", "--max-states", "10").out.split())
    assert "not judged grant-ends" in said
    assert "`carnet verify` judges what happens in the end" in said
    assert "not judged" not in carnet("explore", TOY).out
