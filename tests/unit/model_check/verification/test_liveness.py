"""What happens in the end has a row for each engine that judges it, and no claim about it goes unjudged unnoticed."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from carnet_check.commands.matrix import matrices
from carnet_check.engines.explicit.engine import Explicit
from carnet_check.engines.explicit.liveness import lassos
from carnet_check.engines.exploration import Coverage, Exploration, Search
from carnet_check.engines.exploring.searches import search
from carnet_check.engines.induction.engine import INDUCTION
from carnet_check.engines.induction.liveness import by_fairness
from carnet_check.engines.interface import EngineResult, Task
from carnet_check.engines.registry import select_engines
from carnet_check.engines.runner import Listener
from carnet_check.errors import EngineError
from carnet_check.loading.families import load
from carnet_check.results import Kind, Result, Verdict
from carnet_check.semantics import Interpreter
from carnet_check.semantics.fairness import objection
from carnet_check.verification import checks
from carnet_check.verification.campaign import verify
from carnet_check.verification.checks import disagreements
from carnet_check.verification.planning import Request, plan_campaign
from carnet_check.wording import reasons
from carnet_spec.language import Eventually, Family, Instance, Protocol
from carnet_spec.language.terms import FALSE, Member
from carnet_spec.trace import Trace
from tests.unit.model_check.command import FASTEST, FIXTURES, carnet

MENDED = FIXTURES / "mended.py"
SWINGING = f"{MENDED}:a_light_that_swings"


def rows(name: str, *options: str) -> tuple[int, dict[str, dict[str, Any]]]:
    """Return the exit code, and the rows on liveness by their engines."""
    ran = carnet("verify", f"{MENDED}:{name}", "--jobs", "1", "--json", *options)
    return ran.code, {row["engine"]: row for row in ran.json["results"] if row["kind"] == "liveness"}


SAID = {
    "liveness_that_nobody_brings": {FASTEST: "VIOLATED", "induction": "UNKNOWN"},
    "liveness_by_the_wrong_step": {FASTEST: "VIOLATED", "induction": "UNKNOWN"},
    "a_light_that_swings": {FASTEST: "VIOLATED", "induction": "UNKNOWN"},
}


@pytest.mark.parametrize("name", SAID)
def test_every_engine_that_judges_liveness_has_a_row(name: str) -> None:
    code, found = rows(name)
    assert (code, {engine: row["verdict"] for engine, row in found.items()}) == (1, SAID[name])


def test_what_is_proved_for_any_size_is_explored_for_none_unless_asked() -> None:
    name = f"{MENDED}:liveness_that_fairness_brings"
    ran = carnet("verify", name, "--jobs", "1", "--json")
    found = {row["engine"]: row["verdict"] for row in ran.json["results"] if row["kind"] == "liveness"}
    assert (ran.code, found) == (0, {"induction": "PROVED"})
    note = f"main: proved for any size, and therefore not explored (--engine {FASTEST} does that): lights-up"
    assert note in ran.json["notes"]
    code, alone = rows("liveness_that_fairness_brings", "--engine", "explicit")
    assert (code, {engine: row["verdict"] for engine, row in alone.items()}) == (0, {"explicit": "EXHAUSTED"})


def test_a_lasso_is_steps_and_where_they_begin_again_or_nothing_more() -> None:
    _, found = rows("a_light_that_swings", "--engine", "explicit")
    row = found["explicit"]
    assert [step["action"] for step in row["steps"]] == ["pay", "take_back"]
    assert row["loop"] == 0
    assert "if pay, take_back and light are taken fairly; 0 steps, then 2 steps again and again" in row["detail"]
    _, found = rows("liveness_that_nobody_brings", "--engine", "explicit")
    assert (found["explicit"]["steps"], found["explicit"]["loop"]) == ([], 0)
    ran = carnet("verify", f"{MENDED}:liveness_that_nobody_brings", "--engine", "explicit")
    assert "  and then nothing happens any more" in ran.out.splitlines()
    assert "    this is fair: no fairness assumption demands a step" in ran.out.splitlines()


def test_a_lasso_is_told_and_can_be_found_again() -> None:
    ran = carnet("verify", SWINGING, "--engine", "explicit")
    for line in (
        "  and then, again and again:",
        "  1.  it is paid",
        "    and it never holds that  lit",
        "    the last 2 steps are taken again and again",
        "    this is fair: pay is taken again and again",
        "    this is fair: light cannot change anything, again and again",
    ):
        assert line in ran.out.splitlines()
    (again,) = (line for line in ran.out.splitlines() if line.startswith("  carnet verify"))
    assert carnet(*again.split()[1:]).code == 1


def test_a_lasso_is_kept_with_the_run(tmp_path: Path) -> None:
    out, page = tmp_path / "run", tmp_path / "page"
    sarif, markdown = tmp_path / "run.sarif", tmp_path / "run.md"
    carnet(
        *("verify", SWINGING, "--engine", "explicit", "--out", str(out), "--html", str(page)),
        *("--sarif", str(sarif), "--markdown", str(markdown)),
    )
    (attack,) = (json.loads(f.read_text()) for f in (out / "attacks").glob("*.json") if ".itf" not in f.name)
    assert attack["trace"]["loop"] == 0
    assert Trace.from_json(attack["trace"]).loop == 0
    (trace,) = (json.loads(file.read_text()) for file in (out / "attacks").glob("*.itf.json"))
    assert trace["loop"] == 0
    assert trace["states"][0]["paid"] == trace["states"][-1]["paid"]
    assert carnet("report", str(out), "--html", str(tmp_path / "again")).code in (0, 1)
    assert "taken again and again" in markdown.read_text()
    assert "The response of lights-up eventually follows its trigger." in sarif.read_text()


def test_one_property_can_be_asked_for() -> None:
    ran = carnet("verify", SWINGING, "--claim", "lights-up", "--engine", "explicit", "--json")
    assert [(row["kind"], row["claim"]) for row in ran.json["results"]] == [("liveness", "lights-up")]
    assert [row["kind"] for row in carnet("verify", SWINGING, "--claim", "tight", "--json").json["results"]] == [
        "claim"
    ] * 2


def test_engines_that_do_not_judge_liveness_are_not_asked_and_that_is_noted() -> None:
    ran = carnet("verify", SWINGING, "--claim", "lights-up", "--engine", "bmc", "--json")
    assert ran.code == 2
    assert "none of the engines judges liveness" in ran.json["error"]["message"]
    ran = carnet("verify", SWINGING, "--engine", "bmc", "--json")
    assert any("so these were not checked: lights-up" in note for note in ran.json["notes"])


def test_what_never_begins_to_wait_is_vacuous() -> None:
    name = f"{MENDED}:liveness_that_waits_for_nothing"
    ran = carnet("verify", name, "--claim", "pays-back", "--claim", "tight", "--jobs", "1", "--json")
    found = {row["engine"]: row["verdict"] for row in ran.json["results"] if row["kind"] == "liveness"}
    assert found == {"induction": "VACUOUS"}
    assert ran.code == 4


def test_what_can_never_begin_to_wait_is_vacuous_of_those_that_explore(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{MENDED}:liveness_that_waits_for_nothing"
    monkeypatch.setattr(checks._Check, "_may_happen", lambda *_: False)
    ran = carnet("verify", name, "--claim", "pays-back", "--engine", "explicit", "--jobs", "1", "--json")
    found = {row["engine"]: row["verdict"] for row in ran.json["results"] if row["kind"] == "liveness"}
    assert (found, ran.code) == ({"explicit": "VACUOUS"}, 4)


def test_searches_for_claims_look_whether_anything_waits_for_what_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    def unwanted(*_: object) -> None:
        raise AssertionError("a search reached it")

    monkeypatch.setattr(checks._Check, "_may_happen", unwanted)
    campaign = plan_campaign(Request(load(f"{MENDED}:liveness_that_fairness_brings")))
    found = verify(replace(campaign, engines=(*select_engines(["induction"]), Here())))
    (row,) = (row for row in found.results if row.kind is Kind.LIVENESS)
    assert (row.engine, row.verdict) == ("induction", Verdict.PROVED)


def test_what_an_instance_or_a_budget_cuts_short_is_not_known() -> None:
    code, found = rows("liveness_until_no_key_is_left", "--engine", "explicit")
    assert (code, found["explicit"]["verdict"]) == (3, "UNKNOWN")
    assert "a run ends where renew lacks elements or budget, which a larger instance has" in found["explicit"]["detail"]
    for engine in (Explicit().with_limit(1), INDUCTION.with_limit(1)):
        campaign = replace(plan_campaign(Request(load(f"{MENDED}:liveness_that_fairness_brings"))), engines=(engine,))
        (row,) = (row for row in verify(campaign).results if row.kind is Kind.LIVENESS)
        assert row.verdict is Verdict.UNKNOWN


def test_that_nothing_waits_in_this_profile_is_noted_of_what_is_proved() -> None:
    """No search meets the trigger, and the solver cannot tell that none would in a larger instance."""
    for claims in ((), ("--claim", "comes")):
        ran = carnet("verify", f"{MENDED}:liveness_after_what_two_would_do", *claims, "--jobs", "1", "--json")
        (row,) = (row for row in ran.json["results"] if row["claim"] == "comes")
        assert (row["engine"], row["verdict"]) == ("induction", "PROVED")
        assert any("the trigger of comes holds in no state of this profile" in n for n in ran.json["notes"])


def test_searches_are_remembered_that_look_whether_anything_waits(tmp_path: Path) -> None:
    name = f"{MENDED}:liveness_that_fairness_brings"
    asked = ("verify", name, "--cache", str(tmp_path / "cache"), "--jobs", "1", "--json")
    carnet(*asked)
    notes = carnet(*asked).json["notes"]
    assert any(f"{FASTEST}: 1 of 1 answer came from the cache" in note for note in notes), notes


@dataclass(frozen=True)
class Here(Explicit):
    """Runs its searches in this process."""

    def search_all(self, searches: Sequence[Search], *_: Any) -> Iterator[tuple[Search, Coverage]]:
        return ((asked, search(self, asked)) for asked in searches)


@dataclass(frozen=True)
class Defective(Here):
    """Answers as the explicit engine does, after a change."""

    change: Callable[[tuple[Result, ...]], tuple[Result, ...]] = lambda rows: rows

    def run(self, task: Task, listener: Listener) -> EngineResult:
        found = super().run(task, listener)
        return replace(found, rows=self.change(found.rows))


def _verified(defective: Defective) -> list[Result]:
    campaign = plan_campaign(Request(load(f"{MENDED}:liveness_that_fairness_brings")))
    return [row for row in verify(replace(campaign, engines=(defective,))).results if row.kind is Kind.LIVENESS]


def test_an_answer_that_is_missing_or_about_nothing_stated_is_an_error() -> None:
    (row,) = _verified(Defective(change=lambda rows: tuple(row for row in rows if row.kind is Kind.CLAIM)))
    assert (row.verdict, row.detail) == (Verdict.ERROR, "explicit gives no answer")

    def renamed(rows: Sequence[Result]) -> tuple[Result, ...]:
        return tuple(replace(row, claim="other") if row.kind is Kind.LIVENESS else row for row in rows)

    with pytest.raises(EngineError, match="nobody asked"):
        _verified(Defective(change=renamed))


@dataclass(frozen=True)
class Refuting(Here):
    """Shows a run that waits, whichever action is fair."""

    def lassos(
        self, protocol: Protocol, instance: Instance, *, liveness: Sequence[Eventually], **asked: Any
    ) -> Exploration:
        return super().lassos(protocol, instance, liveness=[replace(live, fair=()) for live in liveness], **asked)


def test_an_unfair_lasso_and_one_of_what_is_proved_are_errors() -> None:
    campaign = plan_campaign(Request(load(f"{MENDED}:liveness_that_fairness_brings")))
    found = verify(replace(campaign, engines=(Refuting(),)))
    (row,) = (row for row in found.results if row.kind is Kind.LIVENESS and row.engine == "explicit")
    assert row.verdict is Verdict.ERROR
    assert "it is not fair to light" in row.detail
    (plan,) = plan_campaign(Request(load(f"{MENDED}:liveness_that_fairness_brings"))).plans
    row = Result("waiting", "main", "lights-up", "any", "induction", Verdict.PROVED, Verdict.PROVED, kind=Kind.LIVENESS)
    lasso = replace(row, engine="explicit", threat="unrestricted", verdict=Verdict.VIOLATED)
    assert {each.verdict for each in disagreements([row, lasso], plan)} == {Verdict.ERROR}
    other = replace(lasso, claim="other")
    assert disagreements([row, other], plan) == [row, other]


DESK = str(FIXTURES / "desk.py")


def _desk(*options: str) -> tuple[int, dict[str, str], str]:
    ran = carnet("verify", DESK, "--jobs", "1", "--json", *options)
    rows = {row["claim"]: row for row in ran.json["results"] if row["kind"] == "liveness"}
    return ran.code, {name: row["verdict"] for name, row in rows.items()}, rows["served"]["detail"]


def test_what_each_waits_for_is_proved_for_any_number_and_explored_for_each() -> None:
    code, verdicts, detail = _desk()
    assert (code, verdicts) == (0, {"returned": "PROVED", "served": "PROVED"})
    assert "by weak fairness of bring_back and strong fairness of lend with p = who; rests on 1 lemma" in detail
    code, verdicts, detail = _desk("--engine", "explicit")
    assert (code, verdicts) == (0, {"returned": "EXHAUSTED", "served": "EXHAUSTED"})
    assert "(if bring_back and lend with p = who (strongly) are taken fairly; tiny: 2 Person" in detail


LESS: dict[str, tuple[dict[str, Any], list[str]]] = {
    "weak fairness alone": ({"strong": ()}, ["ask", "lend", "bring_back"]),
    "nobody has to bring it back": ({"fair": ("lend",)}, []),
    "nobody has to lend it": ({"fair": ("bring_back",), "strong": (), "given": ()}, []),
    "it may be lent to others": ({"given": ()}, ["ask", "lend", "bring_back"]),
}


@pytest.mark.parametrize("name", LESS)
def test_each_fairness_of_the_desk_is_needed_and_the_lasso_says_for_whom(name: str) -> None:
    less, repeated = LESS[name]
    protocol = load(DESK).protocol()
    (served,) = (live for live in protocol.liveness if live.name == "served")
    other = replace(served, name="other", **less)
    instance = Instance({"Person": ("eve", "ada")})
    found = lassos(protocol, instance, [served, other])
    assert [*found.violations] == ["other"]
    trace = found.violations["other"]
    assert sorted(step.action for step in trace.steps[trace.loop :]) == sorted(repeated)
    judge = Interpreter(protocol, instance)
    assert objection(judge, other, trace) == ""
    assert objection(judge, served, trace) != ""
    told = reasons(judge, other, trace, judge.replay(trace))
    assert re.fullmatch("other fails for who = (eve|ada):", told[0])
    assert not by_fairness(protocol, other).is_proved


def test_the_desk_is_the_one_that_the_guide_shows() -> None:
    guide = Path("docs/how-to/say-what-happens-in-the-end.md").read_text("utf-8")
    assert f"% file desk.py\n```python\n{Path(DESK).read_text('utf-8')}```\n" in guide


def test_properties_are_told_in_the_order_in_which_they_are_stated() -> None:
    campaign = plan_campaign(Request(load(DESK)))
    outcome = verify(replace(campaign, engines=(*select_engines(["induction"]), Here())))
    turned = replace(outcome, results=tuple(reversed(outcome.results)))
    told = [[line.split()[0] for line in matrices(each) if "PROVED" in line] for each in (outcome, turned)]
    assert told == [["returned", "served"]] * 2


def test_a_property_may_be_called_as_another_one_of_some_element() -> None:
    """Each is judged by what it says itself: one fails, and what the other waits after never happens."""
    desk = load(DESK)
    protocol = desk.protocol()
    instance = desk.instance(protocol, "none", desk.profile("tiny"))
    (person, *_) = instance.elements["Person"]
    served = replace(protocol.liveness[1], fair=(), strong=(), given=())
    empty = replace(served, trigger=FALSE)
    of_one = replace(served.at([Member(served.params[0].sort, person)]), name=f"{served.name} {person}")
    of_nobody = replace(of_one, trigger=FALSE)
    for asked, fails in ([empty, of_one], of_one), ([of_one, empty], of_one), ([of_nobody, served], served):
        found = lassos(protocol, instance, asked)
        assert (found.complete, [*found.violations]) == (True, [fails.name])


BEACON = str(FIXTURES / "beacon.py")


def _beacon(*options: str) -> tuple[int, dict[tuple[str, str], tuple[str, str]], Any]:
    """Return the exit code, the verdict on each row about light and the one expected, and everything."""
    ran = carnet("verify", BEACON, "--jobs", "1", "--json", *options)
    rows = [row for row in ran.json.get("results", ()) if row["kind"] == "liveness"]
    return ran.code, {(row["engine"], row["threat"]): (row["verdict"], row["expected"]) for row in rows}, ran.json


def test_an_expected_lasso_is_shown_and_under_other_threat_models_none_may_be() -> None:
    """It takes two stones, and the profile has one person, so the next size shows it; nothing is said of any size."""
    code, found, said = _beacon("--variant", "main")
    expected = {(FASTEST, "none"): ("EXHAUSTED", "EXHAUSTED"), (FASTEST, "riot"): ("VIOLATED", "VIOLATED")}
    assert (code, found, said["summary"]["as_expected"]) == (0, expected, True)
    (row,) = (row for row in said["results"] if row["verdict"] == "VIOLATED")
    assert ([step["action"] for step in row["steps"]], row["loop"]) == (["ask", "throw", "throw"], 3)


def test_a_design_without_a_fairness_is_kept_as_a_lasso() -> None:
    code, found, _ = _beacon("--variant", "lazy", "--engine", "explicit")
    assert (code, found) == (0, {("explicit", threat): ("VIOLATED", "VIOLATED") for threat in ("none", "riot")})


def test_an_expected_lasso_that_is_not_there_is_not_as_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fairness brings about what is said to be missing, or nobody is about in any size."""
    monkeypatch.setattr(Family, "sizes_to_hunt", lambda *_: ())
    code, found, said = _beacon("--variant", "main")
    assert (code, found[FASTEST, "riot"]) == (3, ("EXHAUSTED", "VIOLATED"))
    assert not said["summary"]["as_expected"]


def test_what_is_expected_to_be_violated_is_not_proved_and_who_cannot_show_it_says_so() -> None:
    code, found, said = _beacon("--variant", "main", "--engine", "induction")
    assert (code, found) == (0, {})
    assert "main: a lasso is shown by explicit or native alone, so these were not checked: lights" in said["notes"]
    for engine in ("induction", "kernel"):
        code, _, said = _beacon("--claim", "lights", "--variant", "lazy", "--engine", engine)
        assert (code, "which explicit or native" in said["error"]["message"]) == (2, False)
        assert f"expected to be violated, which {engine} cannot show" in said["error"]["message"]


def test_expected_lassos_are_told_on_every_screen_and_page(tmp_path: Path) -> None:
    out, markdown = tmp_path / "run", tmp_path / "run.md"
    ran = carnet("verify", BEACON, "--jobs", "1", "--out", str(out), "--markdown", str(markdown))
    told = " ".join(ran.out.split())
    assert "violated as expected: lights under riot and none (" in told
    assert "eventually EXHAUSTED, given fair steps: lights" in told
    told = carnet("verify", BEACON, "--jobs", "1", "--long").out
    assert f"VIOLATED as expected under riot ({FASTEST})" in told
    assert "expected to be violated under riot" in carnet("explain", "lights", "--protocol", BEACON).out
    attacks = [json.loads(file.read_text()) for file in (out / "attacks").glob("*.json")]
    assert {each["expected"] for each in attacks if "expected" in each} <= {True}
    assert carnet("report", str(out), "--html", str(tmp_path / "page")).code == 0
    assert "lights (liveness)" in markdown.read_text()


def test_no_certificates_are_made_for_what_is_expected_to_be_violated(tmp_path: Path) -> None:
    copy = tmp_path / "beacon.py"
    copy.write_text(Path(BEACON).read_text())
    made = carnet("certify", str(copy), "--json")
    assert made.code == 0, made.err
    assert carnet("recheck", str(tmp_path), "--json").code in (0, 2)
