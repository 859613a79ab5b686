"""What Carnet once said wrongly, said rightly: each test failed before the fault that it names was mended."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from carnet_check.engines.explicit.queries import Queries
from carnet_check.engines.induction import prove
from carnet_check.engines.induction.obligations import after_updates
from carnet_check.errors import InvalidSpecificationError
from carnet_check.exports.smtlib import text
from carnet_check.loading import families, importing
from carnet_spec.language import (
    Draft,
    Effect,
    Family,
    Instance,
    Kind,
    SpecificationError,
    Step,
    Symbol,
    Update,
    Variant,
)
from carnet_spec.language.analysis.initialisation import early_reads
from carnet_spec.language.terms import BOOL, Apply, Exists, Forall, Sort, Var, free_variables
from tests.fixtures import mended
from tests.unit.model_check.command import FIXTURES, carnet


def verified(name: str, *options: str) -> Any:
    return carnet("verify", f"{FIXTURES / 'mended.py'}:{name}", "--jobs", "1", "--json", *options)


def verdict(name: str, engine: str) -> str:
    (row,) = [row for row in verified(name, "--engine", engine).json["results"] if row["kind"] == "claim"]
    return str(row["verdict"])


@pytest.mark.mends("R1")
def test_any_key_that_was_given_back_may_be_drawn() -> None:
    assert verdict("keys_given_back", "explicit") == "VIOLATED"


@pytest.mark.mends("R2")
def test_generated_names_are_one_to_a_thing() -> None:
    layout: Any = SimpleNamespace(instance=Instance({}))
    queries = Queries(layout, None)  # type: ignore[arg-type] # names alone are asked for
    names = [queries.fresh_name("x"), queries.named("mask", "key1", None)]  # the second name that is made
    names += [queries.fresh_name("x") for _ in range(9)]
    names.append(queries.named("mask", "key", None))  # the twelfth: "key" and 12, as "key1" and 2
    assert len(set(names)) == len(names)


@pytest.mark.mends("R4")
def test_two_functions_cannot_vouch_for_each_other() -> None:
    read = {read.symbol.name for read in early_reads(mended.two_who_read_each_other().protocol())}
    assert read == {"first_of", "second_of"}
    assert "written-before-read" in verified("two_who_read_each_other").json["error"]["message"]


@pytest.mark.mends("R5", "R11")
def test_a_flag_like_a_switch_switches_nothing() -> None:
    protocol = mended.a_flag_like_a_switch().protocol()
    assert not prove(protocol, jobs=1).claim("tight").proved
    assert "symbol '$on.insert paid'" in verified("a_flag_like_a_switch").json["error"]["message"]


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
def test_a_layer_that_makes_true_what_the_design_waits_for_is_none() -> None:
    source = families.Source("lamp", Layered.family, "lamp")
    assert source.sound("dark").variant == "dark"
    with pytest.raises(InvalidSpecificationError, match="layer: light is new and changes lit"):
        source.sound("lighted")


@pytest.mark.mends("R6")
def test_an_addition_cannot_change_what_is_only_read_below() -> None:
    draft = Layered.draft("dark")
    with pytest.raises(SpecificationError, match="a layer cannot change lit"):
        draft.superpose("pay")(lambda step: step.insert(mended.lit))


@pytest.mark.mends("R7")
def test_two_constants_may_be_one_element() -> None:
    assert verdict("two_names_of_one", "explicit") == "VIOLATED"


@pytest.mark.mends("R8")
def test_what_takes_a_larger_instance_is_not_vacuous() -> None:
    rows = verified("a_premise_of_three", "--engine", "explicit").json["results"]
    assert {(row["kind"], row["claim"], row["verdict"]) for row in rows} == {
        ("claim", "tight", "EXHAUSTED"),
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
    after = after_updates([update])(Apply(pair, (at, at)))
    assert free_variables(after) == {at}


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


@pytest.mark.mends("V2")
def test_fairness_of_what_does_not_exist_is_refused() -> None:
    assert "'no_such_action', which is no action" in verified("fairness_of_nothing").json["error"]["message"]


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


@pytest.mark.mends("V6")
def test_a_claim_that_nobody_judges_is_refused() -> None:
    assert "nobody judges it" in verified("a_claim_under_nothing").json["error"]["message"]


@pytest.mark.mends("P8")
def test_every_complaint_is_shown() -> None:
    said = "\n".join(verified("many_empty_claims").json["notes"])
    assert [number for number in range(mended.MANY) if f"empty-{number}" not in said] == []
    assert "more complaint" not in said


@pytest.mark.mends("V7")
def test_a_specification_without_a_goal_says_so() -> None:
    assert any("no goal is stated" in note for note in verified("two_names_of_one").json["notes"])


@pytest.mark.mends("V7")
def test_an_import_that_never_ends_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "MOST_SECONDS", 0.2)
    endless = tmp_path / "endless.py"
    endless.write_text("while True:\n    pass\n", "utf-8")
    ran = carnet("verify", str(endless), "--json")
    assert ran.code == 2
    assert "took more than 0.2 s" in ran.json["error"]["message"]


@pytest.mark.mends("V7")
def test_an_import_that_goes_on_whatever_fails_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "MOST_SECONDS", 0.2)
    endless = tmp_path / "endless.py"
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
