"""What Carnet once said wrongly, said rightly: each test failed before the fault that it names was mended."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_check.engines.explicit.queries import Queries
from carnet_check.engines.induction import prove
from carnet_check.engines.induction.obligations import after_updates
from carnet_check.errors import InvalidSpecificationError
from carnet_check.exports.smtlib import symbol_name, text
from carnet_check.loading import families, importing
from carnet_check.minimise import Slicer
from carnet_check.reserved_symbols import Purpose, ReservedSymbol, stand_in, switch
from carnet_spec.language import *
from carnet_spec.language.analysis.initialisation import early_reads
from carnet_spec.language.analysis.layers import departures
from carnet_spec.language.lints.conflicts import conflicts
from carnet_spec.language.terms import BOOL, Apply, Exists, Forall, Sort, Var, free_variables
from tests.fixtures import mended
from tests.fixtures.doubted import Box, a_goal_that_one_threat_model_reaches, full, one_each_at_one_place
from tests.oracle import found
from tests.unit.model_check.command import FASTEST, FIXTURES, carnet
from tests.unit.model_check.small import Key, Party, drafted, first, second


def verified(name: str, *options: str, of: ModuleType = mended) -> Any:
    return carnet("verify", f"{of.__file__}:{name}", "--jobs", "1", "--json", *options)


def verdict(name: str, engine: str) -> str:
    (row,) = [row for row in verified(name, "--engine", engine).json["results"] if row["kind"] == "claim"]
    return str(row["verdict"])


@pytest.mark.mends("R1", "R7")
def test_steps_may_draw_what_was_given_back_and_constants_be_one() -> None:
    assert verdict("keys_given_back", "explicit") == "VIOLATED"
    assert verdict("two_names_of_one", "explicit") == "VIOLATED"


@pytest.mark.mends("R2")
def test_generated_names_are_one_to_a_thing() -> None:
    layout: Any = SimpleNamespace(instance=Instance({}))
    queries = Queries(layout, None)  # type: ignore[arg-type] # names alone are asked for
    names = [queries.fresh_name("x"), queries.name_for("mask", "key1", None)]  # the second name that is made
    names += [queries.fresh_name("x") for _ in range(9)]
    names.append(queries.name_for("mask", "key", None))  # the twelfth: "key" and 12, as "key1" and 2
    assert len(set(names)) == len(names)


@pytest.mark.mends("R4")
def test_two_functions_cannot_vouch_for_each_other() -> None:
    read = {read.symbol.name for read in early_reads(found.circle_of_early_reads().protocol())}
    assert read == {"there", "back"}
    assert "written-before-read" in verified("circle_of_early_reads", of=found).json["error"]["message"]


@pytest.mark.mends("R5", "R11")
def test_a_flag_like_a_switch_switches_nothing() -> None:
    assert not prove(found.flag_named_like_a_switch().protocol(), jobs=1).claim("paid").is_proved
    assert "symbol '$on.insert done'" in verified("flag_named_like_a_switch", of=found).json["error"]["message"]


class Layered:
    """A design that waits for a light which nobody switches on, and a layer that does."""

    @staticmethod
    def draft(variant: str) -> Draft:
        draft = Draft("lamp", "A lamp", variant)

        @draft.action(by=mended.PARTY, says="it is paid", source="tests")
        def pay(step: Step) -> None:
            step.require("lit", mended.lit)
            step.insert(mended.paid)

        if variant == "lighted":

            @draft.action(by=mended.PARTY, says="it is lit", source="tests")
            def light(step: Step) -> None:
                step.insert(mended.lit)

        return draft

    family = Family(
        "lamp",
        "A lamp",
        draft,
        lambda protocol, threat, scale: Instance({}),
        {"dark": Variant("dark", "without"), "lighted": Variant("lighted", "with", over="dark")},
        ("dark",),
    )


@pytest.mark.mends("R6")
def test_a_layer_cannot_make_true_or_change_what_the_design_waits_for() -> None:
    source = families.Source("lamp", Layered.family, "lamp")
    assert source.sound_variant("dark").variant == "dark"
    with pytest.raises(InvalidSpecificationError, match="layer: light is new and changes lit"):
        source.sound_variant("lighted")
    draft = Layered.draft("dark")
    with pytest.raises(SpecificationError, match="a layer cannot change lit"):
        draft.superpose("pay")(lambda step: step.insert(mended.lit))


@pytest.mark.mends("R8")
def test_what_takes_a_larger_instance_is_not_vacuous() -> None:
    rows = verified("larger_premise", "--engine", "explicit", of=found).json["results"]
    assert {(row["kind"], row["claim"], row["verdict"]) for row in rows} == {
        ("claim", "calm", "EXHAUSTED"),
        ("action", "meet", "UNKNOWN"),
    }


@pytest.mark.mends("R9")
def test_two_variables_of_a_name_stay_two() -> None:
    a, b = Sort("A"), Sort("B")
    near = Symbol("near", (a, b), BOOL, Kind.PUBLIC, mutable=False)
    outer, inner = Var("x", a), Var("x", b)
    said = text(Forall((outer,), Exists((inner,), Apply(near, (outer, inner)))))
    assert said == "(forall ((v.x.A sort.A)) (exists ((v.x.B sort.B)) (rigid.near v.x.A v.x.B)))"


@pytest.mark.mends("R12")
def test_an_each_inside_an_argument_leaves_no_variable_free() -> None:
    party, at = mended.Party.sort, Var("at", mended.Party.sort)
    pair = Symbol("pair", (party, party), BOOL, Kind.GHOST, mutable=True)
    friend = Symbol("friend", (party,), party, Kind.GHOST, mutable=True)
    every = Var("every", party)
    update = Update("pairs", pair, Effect.INSERT, (every, Apply(friend, (every,))), each=(every,))
    assert free_variables(after_updates([update])(Apply(pair, (at, at)))) == {at}


@pytest.mark.mends("V1")
def test_an_axiom_that_names_no_assumption_is_listed_by_its_own_name() -> None:
    rows = [row for row in verified("an_axiom_without_an_assumption").json["results"] if row["kind"] == "claim"]
    assert [row["assumptions"] for row in rows] == [["axiom: nobody is corrupt"]] * 2


LIVELY = {
    "liveness_that_fairness_brings": ("PROVED", 0),
    "liveness_that_nobody_brings": ("UNKNOWN", 3),
    "liveness_by_the_wrong_step": ("UNKNOWN", 3),
}


@pytest.mark.mends("V2")
@pytest.mark.parametrize("name", LIVELY)
def test_liveness_is_a_row_of_its_own(name: str) -> None:
    ran = verified(name, "--engine", "induction")
    (row,) = [row for row in ran.json["results"] if row["kind"] == "liveness"]
    assert (row["verdict"], ran.code) == LIVELY[name]


@pytest.mark.mends("V2", "V6")
def test_liveness_that_fairness_brings_is_proved_and_of_nothing_refused() -> None:
    assert "'no_such_action', which is no action" in verified("fairness_of_nothing").json["error"]["message"]
    assert "no engine checks it" in verified("a_claim_under_nothing").json["error"]["message"]


@pytest.mark.mends("V3")
def test_an_honest_party_that_looks_at_the_truth_gets_no_verdict() -> None:
    ran = verified("a_party_that_knows_the_truth")
    assert ran.code == 2
    assert "visibility: action see, guard 'honest'" in ran.json["error"]["message"]


BESIDE = {
    "an_action_that_prints": "prints",
    "an_action_that_calls_the_system": "calls the system (os.system)",
    "an_action_that_reads_a_file": "calls the system (open)",
    "an_action_that_notes": "changes NOTED",
    "an_action_that_draws_lots": "draws at random",
    "an_action_that_alternates": "says two different things",
}


@pytest.mark.mends("V4")
@pytest.mark.parametrize("name", BESIDE)
def test_an_action_that_does_more_than_say_is_refused(name: str) -> None:
    ran = verified(name)
    assert ran.code == 2
    assert BESIDE[name] in ran.json["error"]["message"]


@pytest.mark.mends("P8", "V7")
def test_complaints_and_missing_goals_are_shown() -> None:
    said = "\n".join(verified("many_empty_claims").json["notes"])
    assert [number for number in range(mended.MANY) if f"empty-{number}" not in said] == []
    assert "more complaint" not in said
    assert any("no goal is stated" in note for note in verified("two_names_of_one").json["notes"])


@pytest.mark.mends("V7")
def test_an_import_that_never_ends_is_ended_whatever_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "MOST_SECONDS", 0.2)
    endless = tmp_path / "endless.py"
    endless.write_text("while True:\n    pass\n", "utf-8")
    ran = carnet("verify", str(endless), "--json")
    assert ran.code == 2
    assert "took more than 0.2 s" in ran.json["error"]["message"]
    endless.write_text(
        "import time\nwhile True:\n    try:\n        time.sleep(9)\n    except Exception:\n        pass\n", "utf-8"
    )
    ran = carnet("verify", str(endless), "--json")
    assert ran.code == 2
    assert "took more than 0.2 s" in ran.json["error"]["message"]


@pytest.mark.mends("V7")
@pytest.mark.parametrize("part", ["draft", "instance"])
def test_a_specification_that_exits_is_no_success(part: str, tmp_path: Path) -> None:
    """Its own exit code, 0, would stand for verdicts that nobody reached."""
    leaving = tmp_path / "leaving.py"
    leaving.write_text(
        "import dataclasses\nfrom carnet_spec.protocols.gpu_travelling import FAMILY as WHOLE\n"
        "def leave(*_):\n    raise SystemExit(0)\n"
        f"FAMILY = dataclasses.replace(WHOLE, {part}=leave)\n",
        "utf-8",
    )
    ran = carnet("explore", f"{leaving}:FAMILY", "--json")
    assert ran.code == 2
    assert "exits when it is built (code 0)" in ran.json["error"]["message"]


def doubted(name: str, *options: str) -> Any:
    return carnet("verify", f"{FIXTURES / 'doubted.py'}:{name}", "--jobs", "1", "--json", *options)


def verdicts(name: str, kind: str = "claim") -> dict[str, str]:
    rows = [row for row in doubted(name).json["results"] if row["kind"] == kind]
    return {row["engine"]: row["verdict"] for row in rows}


@pytest.mark.mends("S1")
def test_variables_of_one_name_stay_two() -> None:
    assert verdicts("a_formula_reused_below_its_variable")[FASTEST] == "VIOLATED"
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


@pytest.mark.mends("S2", "S6")
def test_an_early_read_or_a_step_that_draws_two_is_judged_by_each_engine() -> None:
    found = verdicts("fairness_of_a_step_that_needs_two", "liveness")
    assert found == {"induction": "UNKNOWN", FASTEST: "EXHAUSTED"}  # the instance has two, and no step takes one
    assert verdicts("sizes_alone_and_an_early_read") == {"induction": "PROVED", FASTEST: "EXHAUSTED"}


@pytest.mark.mends("S3")
def test_one_meaning_of_many_is_not_every_state() -> None:
    name = f"{FIXTURES / 'doubted.py'}:more_meanings_than_can_be_explored"
    told, ran = carnet("explore", name), carnet("explore", name, "--json")
    assert (told.code, ran.code, ran.json["complete"]) == (3, 3, False)
    assert "UNKNOWN 1" in told.out
    assert "EXHAUSTED" not in told.out
    assert "axioms leave an uncounted number of interpretations" in " ".join(told.out.split())


@pytest.mark.mends("S4", "S7")
def test_an_action_that_hands_something_back_and_a_fair_thief_are_refused() -> None:
    ran = doubted("an_action_that_is_a_generator")
    assert ran.code == 2
    assert "spoil returns a generator" in ran.json["error"]["message"]
    ran = doubted("fairness_of_a_thief")
    assert ran.code == 2
    assert "'bring_back', taken by thief" in ran.json["error"]["message"]


@pytest.mark.mends("S8")
def test_what_another_threat_model_reaches_is_not_out_of_reach() -> None:
    rows = doubted("a_goal_that_one_threat_model_reaches", "--threat", "calm").json["results"]
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
    ran = doubted("one_each_at_two_places")
    assert ran.code == 2
    assert "conflicts: action pair, update 'remove paired'" in ran.json["error"]["message"]
    assert not list(conflicts(one_each_at_one_place().protocol()))


A = Var("a", Party.sort)


def test_a_made_symbol_equals_no_symbol_of_its_name_and_is_shown_as_none() -> None:
    made = stand_in(Purpose.PARAMETER, A).symbol
    assert isinstance(made, ReservedSymbol)
    shared = {each.name: getattr(made, each.name) for each in fields(Symbol)}
    twin = Symbol(**shared)
    assert twin.name == made.name
    assert twin != made
    assert made != twin
    assert len({twin, made}) == 2
    assert symbol_name(twin) != symbol_name(made)
    assert stand_in(Purpose.PARAMETER, A).symbol.name.startswith("$")


def test_made_symbols_are_the_same_for_one_purpose_and_variable_alone() -> None:
    def light(step: Step) -> None:
        step.insert(first, defence="d")
        step.insert(second, name="other", defence="d")

    assert stand_in(Purpose.PARAMETER, A) == stand_in(Purpose.PARAMETER, Var("a", Party.sort))
    symbol = stand_in(Purpose.SKOLEM, A).symbol
    assert (symbol.domain, symbol.result, symbol.mutable) == ((), Party.sort, False)
    variables = [A, Var("b", Party.sort), Var("a", Key.sort)]
    purposes = (Purpose.PARAMETER, Purpose.SKOLEM)
    made = [stand_in(purpose, var).symbol for purpose in purposes for var in variables]
    assert len({symbol_name(symbol) for symbol in made}) == len(set(made)) == 6
    one, other = drafted(light).protocol().action("light").updates
    assert switch(one) != switch(other)
    assert switch(one).symbol.is_relation
    assert switch(one) == switch(one)


def take(state: int, step: int) -> int | None:
    """Add a number, as long as the sum stays below 100 and does not fall below 0."""
    return state + step if 0 <= state + step < 100 else None


@given(st.lists(st.integers(-9, 9), max_size=40), st.integers(0, 30), st.integers(1, 3))
def test_what_is_left_serves_and_needs_every_step(steps: list[int], least: int, longest_run: int) -> None:
    slicer = Slicer(0, take, lambda state: state >= least)
    if not slicer.serves(steps):
        return
    left = slicer.without_superfluous(steps, longest_run)
    assert slicer.serves(left)
    assert len(left) <= len(steps)
    assert not any(slicer.serves(left[:place] + left[place + 1 :]) for place in range(len(left)))


def test_some_steps_of_a_run_serve_and_some_go_together() -> None:
    assert not Slicer(0, take, lambda _: True).serves([1, -2])
    assert not Slicer(0, take, lambda state: state == 1).serves([1, 1])
    assert Slicer(0, take, lambda state: state == 0).serves([])
    slicer = Slicer(0, take, lambda state: state == 5)
    steps = [5, 3, -3]
    assert slicer.without_superfluous(steps, 1) == steps
    assert slicer.without_superfluous(steps, 2) == [5]
