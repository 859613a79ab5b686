"""What a sceptic made Carnet say, said rightly: each test failed before the fault that it names was mended."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from carnet_spec.language import Formula, forall, implies
from carnet_spec.language.analysis.layers import departures
from carnet_spec.language.lints.conflicts import conflicts
from carnet_spec.language.terms import Forall, free_variables
from tests.fixtures.doubted import Box, a_goal_that_one_threat_model_reaches, full, one_each_at_one_place
from tests.unit.model_check.command import FASTEST, FIXTURES, carnet


def verified(name: str, *options: str) -> Any:
    return carnet("verify", f"{FIXTURES / 'doubted.py'}:{name}", "--jobs", "1", "--json", *options)


def verdicts(name: str, kind: str = "claim") -> dict[str, str]:
    rows = [row for row in verified(name).json["results"] if row["kind"] == kind]
    return {row["engine"]: row["verdict"] for row in rows}


@pytest.mark.mends("S1")
def test_an_inner_variable_is_not_the_outer_one_of_its_name() -> None:
    assert verdicts("a_formula_reused_below_its_variable")[FASTEST] == "VIOLATED"


@pytest.mark.mends("S1")
def test_premises_one_inside_the_other_speak_of_two_elements() -> None:
    assert verdicts("a_premise_reused_below_its_variable") == {"induction": "PROVED", FASTEST: "EXHAUSTED"}


@pytest.mark.mends("S1")
def test_a_variable_that_is_renamed_takes_no_others_place() -> None:
    inner = forall(lambda z: forall(lambda y: implies(full(z), full(y)), Box), Box)

    def twice(z: Box) -> Formula:
        outer = z
        return forall(lambda z: implies(full(outer), full(z)) & inner, Box)

    term = forall(twice, Box).term
    assert isinstance(term, Forall)
    assert isinstance(term.body, Forall)
    assert term.bound != term.body.bound
    assert free_variables(term.body) == set(term.bound)
    assert not free_variables(term)


@pytest.mark.mends("S2")
def test_a_step_that_draws_two_values_is_not_possible_with_one() -> None:
    found = verdicts("fairness_of_a_step_that_needs_two", "liveness")
    assert found == {"induction": "UNKNOWN", FASTEST: "EXHAUSTED"}  # the instance has two, and no step takes one


@pytest.mark.mends("S3")
def test_one_meaning_of_many_is_not_every_state() -> None:
    name = f"{FIXTURES / 'doubted.py'}:more_meanings_than_can_be_explored"
    told, ran = carnet("explore", name), carnet("explore", name, "--json")
    assert (told.code, ran.code, ran.json["complete"]) == (3, 3, False)
    assert "UNKNOWN 1" in told.out
    assert "EXHAUSTED" not in told.out
    assert "axioms leave an uncounted number of interpretations" in " ".join(told.out.split())


@pytest.mark.mends("S4")
def test_an_action_that_hands_something_back_is_refused() -> None:
    ran = verified("an_action_that_is_a_generator")
    assert ran.code == 2
    assert "spoil returns a generator" in ran.json["error"]["message"]


@pytest.mark.mends("S6")
def test_an_axiom_about_sizes_alone_is_judged_beside_first_values() -> None:
    verdict = verdicts("sizes_alone_and_an_early_read")
    assert verdict == {"induction": "PROVED", FASTEST: "EXHAUSTED"}


@pytest.mark.mends("S7")
def test_nobody_asks_a_thief_to_be_fair() -> None:
    ran = verified("fairness_of_a_thief")
    assert ran.code == 2
    assert "'bring_back', taken by thief" in ran.json["error"]["message"]


@pytest.mark.mends("S8")
def test_what_another_threat_model_reaches_is_not_out_of_reach() -> None:
    rows = verified("a_goal_that_one_threat_model_reaches", "--threat", "calm").json["results"]
    assert [row["verdict"] for row in rows if row["kind"] == "goal"] == ["UNKNOWN"]
    assert [row["verdict"] for row in rows if row["kind"] == "threat"] == ["VACUOUS"]


@pytest.mark.mends("S9")
def test_a_layer_assumes_of_a_threat_model_what_its_design_does() -> None:
    design = a_goal_that_one_threat_model_reaches().protocol()
    calm, wild = design.threats
    layer = replace(design, threats=(replace(calm, axioms=()), wild))
    assert not list(departures(design, design))
    assert list(departures(layer, design)) == ["axiom 'calm: honest' of calm is gone"]


@pytest.mark.mends("S5")
def test_an_each_at_two_places_is_not_one_element() -> None:
    ran = verified("one_each_at_two_places")
    assert ran.code == 2
    assert "conflicts: action pair, update 'remove paired'" in ran.json["error"]["message"]


@pytest.mark.mends("S5")
def test_conditions_that_exclude_each_other_for_every_element_are_apart() -> None:
    assert not list(conflicts(one_each_at_one_place().protocol()))
