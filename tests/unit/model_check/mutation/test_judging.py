"""What becomes of a mutant: each fate, and what shows it."""

from __future__ import annotations

import functools
from collections.abc import Iterator

import pytest

from carnet_check.engines.induction.engine import INDUCTION
from carnet_check.engines.interface import ObligationAnswer
from carnet_check.errors import EngineError
from carnet_check.loading.families import Source
from carnet_check.mutation import judging
from carnet_check.mutation.campaign import (
    judgement_as_json,
    judgement_from_json,
    scenario_as_json,
    scenario_from_json,
)
from carnet_check.mutation.judging import Judge, Judgement, KilledBy, MutantStatus, OriginalFacts
from carnet_check.mutation.operators import Mutant, mutants, refusal
from carnet_check.mutation.scenarios import Scenario, lost_scenarios, places, scenario, telling_scenarios
from carnet_check.mutation.weaknesses import Designs, Weakness, defeated_attacks, weakened_designs, weaknesses
from tests.fixtures import cellar, door, hall

SOURCE = Source("tests/fixtures/door.py", door.FAMILY, "door")
DOOR = door.FAMILY.protocol()
MUTANTS = {mutant.name: mutant for mutant in mutants(DOOR)}


@functools.cache
def scenarios() -> tuple[Scenario, ...]:
    found = (scenario(SOURCE, place) for place in places(SOURCE, "main"))
    return telling_scenarios(each for each in found if each is not None)


@functools.cache
def attacks() -> tuple[Weakness, ...]:
    return tuple(found for where in weakened_designs(SOURCE, "main") for found in weaknesses(SOURCE, where))


def judged(name: str, *, hunting: bool = False) -> Judgement:
    """Return what becomes of a mutant of the door, stage by stage."""
    return further(Judge(SOURCE, "main", hunting=hunting), MUTANTS[name])


def further(judge: Judge, mutant: Mutant) -> Judgement:
    found = judge.judged(mutant)
    for known in (OriginalFacts(scenarios=scenarios()), OriginalFacts(weaknesses=attacks())):
        if found.fate in (MutantStatus.SURVIVED, MutantStatus.UNKNOWN):
            found = judge.judged_further(mutant, found, known)
    return found


@pytest.mark.parametrize(
    ("name", "fate", "by", "told"),
    [
        ("give_key/guard inside/drop", MutantStatus.KILLED, KilledBy.PROOF, "step/give_key/keys-inside is refuted"),
        (
            "write_down/guard invited/drop",
            MutantStatus.KILLED,
            KilledBy.PROOF,
            "step/write_down/listed_are_invited is refuted",
        ),
        ("axiom the host is invited/drop", MutantStatus.KILLED, KilledBy.PROOF, "init/guests-only is refuted"),
        ("show/update insert badge/drop", MutantStatus.KILLED, KilledBy.GOAL, "goal guest"),
        ("greet/guard inside/negate", MutantStatus.KILLED, KilledBy.GOAL, "goal welcome"),
        (
            "forge/update insert badge/drop",
            MutantStatus.KILLED,
            KilledBy.LOST_ATTACK,
            "the attack on guests-only of main without",
        ),
        ("admit/guard invited/drop", MutantStatus.EQUIVALENT, "", "the same steps"),
        ("greet/update insert greeted/drop when", MutantStatus.EQUIVALENT, "", "the same steps"),
        ("show/guard outside/drop", MutantStatus.STRONGER, "", "the action can be taken more often"),
        ("forge/guard outside/drop", MutantStatus.STRONGER, "", "the action can be taken more often"),
        (
            "forge/guard outside/negate",
            MutantStatus.KILLED,
            KilledBy.LOST_ATTACK,
            "the attack on guests-only of main without",
        ),
        ("admit/guard listed/drop", MutantStatus.SURVIVED, "", "the action can be taken more often"),
        ("give_key/update insert keyed/drop", MutantStatus.SURVIVED, "", "the action leads elsewhere"),
        (
            "greet/update forget the others/swap with insert greeted",
            MutantStatus.REFUSED,
            "",
            "conflicts: action greet",
        ),
    ],
)
def test_each_fate(name: str, fate: MutantStatus, by: str, told: str) -> None:
    found = judged(name)
    assert (found.fate, found.by) == (fate, by)
    assert told in found.evidence


@pytest.mark.parametrize("name", ["copy/update insert badge/drop", "copy/guard bribed/negate"])
def test_a_mutant_changes_nothing_only_if_it_does_so_under_each_threat_model(name: str) -> None:
    source = Source("tests/fixtures/hall.py", hall.FAMILY, "hall")
    (mutant,) = (each for each in mutants(hall.FAMILY.protocol()) if each.name == name)
    orders = [("outsiders", "insiders"), ("insiders", "outsiders")]
    assert [Judge(source, "main", order).judged(mutant).fate for order in orders] == [MutantStatus.SURVIVED] * 2
    assert Judge(source, "main", ("outsiders",)).judged(mutant).fate is not MutantStatus.SURVIVED


def test_that_an_honest_party_draws_what_is_new_is_no_fact_of_the_world() -> None:
    source = Source("tests/fixtures/cellar.py", cellar.FAMILY, "cellar")
    (mutant,) = (each for each in mutants(cellar.FAMILY.protocol()) if each.name == "issue/guard fresh ticket/drop")
    assert Judge(source, "main").judged(mutant).fate is MutantStatus.SURVIVED


def test_an_instance_that_breaks_an_axiom_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source("tests/fixtures/hall.py", hall.FAMILY, "hall")
    made = source.instance
    monkeypatch.setattr(Source, "instance", lambda _, protocol, threat, size: made(protocol, "insiders", size))
    (place,) = (each for each in places(source, "main") if each.threat == "outsiders")
    with pytest.raises(EngineError, match="the instance under outsiders violates axiom"):
        scenario(source, place)


def test_an_attack_is_looked_for_where_a_proof_fails() -> None:
    found = judged("give_key/guard inside/drop", hunting=True)
    assert (found.fate, found.by) == (MutantStatus.KILLED, KilledBy.ATTACK)
    assert found.evidence.startswith("keys-inside falls in 1 step,")


def test_where_none_is_found_the_failed_proof_stands() -> None:
    """Without the list nobody is let in uninvited still: the porter asks for an invitation, too."""
    found = judged("write_down/guard invited/drop", hunting=True)
    assert (found.fate, found.by) == (MutantStatus.KILLED, KilledBy.PROOF)


def test_what_makes_a_part_redundant_is_named() -> None:
    assert {"guard:listed", "inv:listed_are_invited"} <= set(judged("admit/guard invited/drop").core)


# -- what is not known is no success ---------------------------------------------------------------


class Undecided:
    """Answers that leave one invariant open, however much is spent on it."""

    def __init__(self, protocol: object, threat: object) -> None:
        """Open nothing."""

    def kept(self, action: object, invariants: object, first: str = "") -> Iterator[ObligationAnswer]:
        yield ObligationAnswer("", "step/x/guests-only", "unknown", reason="budget")

    def follows(self, given: object, goal: object) -> ObligationAnswer:
        return ObligationAnswer("", "goal", "unknown", reason="budget")


def test_an_undecided_obligation_makes_a_mutant_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "admit/guard listed/drop"
    judge = Judge(SOURCE, "main")
    monkeypatch.setattr(type(INDUCTION), "step_proofs", staticmethod(Undecided))
    monkeypatch.setattr(judge, "_proofs", [Undecided(None, None)])
    found = further(judge, MUTANTS[name])
    assert found.fate is MutantStatus.UNKNOWN
    assert "step/x/guests-only is not decided (budget)" in found.evidence


def test_what_a_small_budget_leaves_open_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "FIRST_BUDGET", 1)
    found = judged("give_key/guard inside/drop")
    assert (found.fate, found.by) == (MutantStatus.KILLED, KilledBy.PROOF)


def test_a_goal_is_not_lost_where_the_search_was_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carnet_check.mutation.scenarios.ROOM", 0)
    monkeypatch.setattr("carnet_check.mutation.scenarios.LEAST_ROOM", 1)
    found = judged("show/update insert badge/drop")
    assert found.fate is MutantStatus.UNKNOWN
    assert "perhaps lost: goal guest" in found.evidence


def test_an_exploration_that_the_interpreter_does_not_confirm_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carnet_check.mutation.scenarios.reaches", lambda *_: False)
    with pytest.raises(EngineError, match="does not confirm"):
        scenario(SOURCE, places(SOURCE, "main")[0])


def test_a_sound_protocol_is_not_refused() -> None:
    assert refusal(DOOR) == ""


# -- scenarios and weaknesses ----------------------------------------------------------------------


def test_a_scenario_is_kept_if_it_shows_something() -> None:
    assert [each.place.honest for each in scenarios()] == [True, False]
    honest, all_parties = scenarios()
    assert honest.states < all_parties.states
    assert all_parties.shows - honest.shows == {"step forge"}


def test_nothing_is_lost_of_the_original() -> None:
    for action in DOOR.actions:
        assert list(lost_scenarios(SOURCE, DOOR, scenarios(), action.name)) == []


def test_the_original_defeats_no_attack() -> None:
    (found,) = attacks()
    assert (found.claim, found.weakened.without) == ("guests-only", ("guest-list",))
    same = Mutant("main", "nothing", MUTANTS["show/guard invited/drop"].operator, (), DOOR.action("forge"))
    assert list(defeated_attacks(Designs(SOURCE), same, DOOR, attacks())) == []


def test_everything_can_be_written_down_and_read_back() -> None:
    for each in scenarios():
        assert scenario_from_json(scenario_as_json(each)) == each
    judgement = judged("admit/guard invited/drop")
    assert judgement_from_json(judgement_as_json(judgement)) == judgement
