"""``carnet attack``: attacks are minimal, replayed, told and kept; where there is none, it is known why."""

import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from carnet_check import results
from carnet_check.attacks.describing import as_html, brief
from carnet_check.attacks.hunt import Hunt, attack_target, hunt
from carnet_check.attacks.regression import Steps, as_test, instance_of, of_hunt, stands, structure_of
from carnet_check.attacks.replaying import describe_replay
from carnet_check.errors import UsageError
from carnet_check.loading.families import Source, load
from carnet_check.minimise import minimise
from carnet_check.results import Result, Verdict
from carnet_check.semantics import Interpreter, NotEnabled
from carnet_check.verification.campaign import verify
from carnet_check.verification.planning import Request, plan_campaign
from carnet_check.wording import narrate
from carnet_spec.language import *
from carnet_spec.protocols.gpu_travelling import FAMILY
from carnet_spec.trace import Trace, TraceStep
from tests.fixtures import toy
from tests.fixtures.shown_html import HOSTILE, read
from tests.fixtures.toy import Agent, Key
from tests.fixtures.travelling import hunted
from tests.unit.model_check.command import FIXTURES, TOY, carnet, carnet_once, control


def test_removing_a_defence_opens_the_attack_that_the_variant_has() -> None:
    ran = carnet_once("attack", TOY, "--without", "fresh-key", "--json")
    assert ran.code == 1
    found = ran.json
    assert (found["verdict"], found["claim"], found["threat"]) == ("VIOLATED", "secrecy", "collusion")
    assert (found["removed"], found["variant"], found["replay"]) == (["fresh-key"], "main", None)
    assert [step["action"] for step in found["steps"]] == ["lend", "read", "fake_return", "take_back", "lend"]
    assert found["steps"][0] == {"action": "lend", "by": "lender", "args": {"to": "borrower2", "key": "k1"}}
    by_defence = carnet_once("attack", TOY, "--without", "fresh-key", "--json").json
    by_variant = carnet_once("attack", TOY, "--variant", "forgetful", "--json").json
    assert by_defence["finding"] == by_variant["finding"] == "one-key"
    assert by_defence["steps"] == by_variant["steps"]


def test_the_finding_of_a_variant_comes_before_those_of_any() -> None:
    source = load(TOY)
    of_any = Finding("of-any", "An attack on whatever design", "collusion", "secrecy")
    family = replace(source.family, findings=(of_any, *source.family.findings))
    for variant, finding in (("forgetful", "one-key"), ("main", "of-any")):
        target = attack_target(replace(source, family=family), variant=variant, threat="collusion")
        assert target.finding is not None
        assert target.finding.id == finding


def test_what_is_proved_is_redundant_only_where_a_defence_was_removed() -> None:
    ran = carnet("attack", TOY, "--without", "return-checked", "--jobs", "1", "--json")
    assert (ran.code, ran.json["verdict"], ran.json["steps"]) == (0, "PROVED", [])
    assert "redundant under collusion" in ran.json["detail"]
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


def test_a_false_claim_is_attacked_without_removing_anything_and_nothing_found_is_unknown() -> None:
    ran = carnet("attack", control("wrong_claim"), "--variant", "main", "--claim", "stays-home", "--json")
    assert (ran.code, len(ran.json["steps"])) == (1, 1)
    assert ran.json["reason"][-1] == "  it is false that  party1 = first"
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


#: A lender alone is attacked by nobody, whatever was removed.
ALONE, PAIR = Profile("alone", {"borrowers": 0}), Profile("pair", {"borrowers": 2})


def _instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    if scale["borrowers"]:
        return toy.instance(protocol, threat, scale)
    return Instance({"Agent": ("lender",), "Key": ("k1", "k2")}, functions={"lender": {(): "lender"}})


def _hunted(*profiles: Profile, without: str) -> Hunt:
    source = Source("toy", replace(toy.FAMILY, instance=_instance, hunts=profiles), "toy")
    return hunt(attack_target(source, without=(without,)), progress=lambda _: None)


def test_a_small_search_makes_no_defence_redundant_and_goes_on_where_nothing_is_proved() -> None:
    found = _hunted(ALONE, without="fresh-key")
    assert (found.verdict, found.claim) == (Verdict.UNKNOWN, "secrecy")
    assert "neither attacked nor proved" in found.detail
    found = _hunted(ALONE, PAIR, without="fresh-key")
    assert found.verdict is Verdict.VIOLATED
    assert found.profile == PAIR
    found = _hunted(ALONE, without="return-checked")
    assert found.verdict is Verdict.PROVED
    assert "still proved without return-checked: redundant under collusion" in found.detail


def test_a_proof_that_takes_much_work_is_looked_for_after_larger_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = (ALONE, replace(ALONE, name="once more"))
    quick = _hunted(*sizes, without="return-checked")
    monkeypatch.setattr("carnet_check.engines.induction.engine.QUICK_RLIMIT", 1)
    late = _hunted(*sizes, without="return-checked")
    assert [(each.verdict, len(each.stages)) for each in (quick, late)] == [(Verdict.PROVED, 1), (Verdict.PROVED, 2)]


def test_a_variant_with_sizes_of_its_own_is_hunted_in_those() -> None:
    main = toy.FAMILY.variants["main"]
    variants = {"main": replace(main, hunts=(PAIR,))}
    family = replace(toy.FAMILY, instance=_instance, hunts=(ALONE,), variants=variants, main=("main",), findings=())
    found = hunt(attack_target(Source("toy", family, "toy"), without=("fresh-key",)), progress=lambda _: None)
    assert (found.verdict, found.profile) == (Verdict.VIOLATED, PAIR)


PROTOCOL = FAMILY.protocol()
#: Attacks number the second, the fourth and the fifth of these; the others are deductions of the adversary.
STEPS = [{"action": name} for name in ("pool_data", "send_fence", "pool_h2d", "exec_fence", "fenced")]


def _described(outcome: dict[str, Any]) -> str:
    return " ".join(" ".join(describe_replay(outcome, PROTOCOL, STEPS)).split())


def _stopped(index: int | None) -> dict[str, Any]:
    at = None if index is None else {"index": index, "step": STEPS[index], "why": "refused"}
    return {"reproduced": False, "recovered": "", "stopped": at}


@pytest.mark.parametrize(
    ("attacked", "defended", "said"),
    [
        (4, 4, "with every defence on, it stops at the same step, so that shows nothing of the defence: refused"),
        (4, 3, "with every defence on, stopped at step 2, exec_fence: refused"),
        (4, 2, "with every defence on, stopped after step 1, pool_h2d: refused"),
        (4, 0, "with every defence on, stopped before step 1, pool_data: refused"),
        (None, None, "with every defence on, every step is taken, and the claim holds"),
    ],
    ids=["at the same step", "earlier", "at a deduction", "at a deduction before every step", "nowhere"],
)
def test_a_run_that_stops_where_the_attacked_one_does_is_not_stopped_by_a_defence(
    attacked: int | None, defended: int | None, said: str
) -> None:
    lines = _described({**_stopped(attacked), "defended": _stopped(defended)})
    assert lines.startswith("replay not reproduced: ")
    assert lines.endswith(f"defended {said}")


@pytest.mark.mends("N17")
def test_a_replay_says_what_stopped_it_and_by_how_many_steps() -> None:
    outcome = {"reproduced": True, "recovered": "a key", "stopped": None, "defended": _stopped(4)}
    assert _described(outcome).endswith("defended with every defence on, stopped at step 3, fenced: refused")
    outcome = {"reproduced": True, "recovered": "a key", "stopped": None, "steps": STEPS, "defended": _stopped(4)}
    assert "by another attack of 3 steps: a key" in _described(outcome)


@pytest.fixture(scope="module")
def found() -> Hunt:
    return hunt(attack_target(load(TOY), without=("fresh-key",)))


@pytest.mark.mends("N16")
def test_an_attack_is_told_in_numbered_sentences_with_the_decisive_step_marked(found: Hunt) -> None:
    html = found._repr_html_()
    assert found.decisive is not None
    text = read(html).text
    assert "secrecy is violated under collusion: toy, main without fresh-key" in text
    (marked,) = [line for line in html.splitlines() if "▶" in line]
    assert found.decisive.says in read(marked).text
    assert "<strong>" in marked
    rows = [line for line in html.splitlines() if 'scope="row"' in line]
    assert rows.index(marked) == found.decisive.position
    assert found.trace is not None
    assert len(rows) == len(found.trace.steps)
    assert "secrecy fails for" in text
    assert "learns k1" in text


def test_a_hunt_is_shown_as_it_is_kept_and_marks_what_decides(found: Hunt) -> None:
    assert of_hunt(found, "again")._repr_html_() == found._repr_html_()
    assert "▶" not in replace(found, decisive=None)._repr_html_()
    html = hunt(attack_target(load(TOY)))._repr_html_()
    assert read(html).text.startswith("\nPROVED: toy, main\nevery claim attacked is proved")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_attack_is_shown_as_text(found: Hunt, name: str) -> None:
    assert found.judge is not None
    assert found.trace is not None
    assert found.decisive is not None
    failing = replace(found.target.protocol.claim("secrecy").checked, name=name)
    decisive = replace(found.decisive, says=name)
    trace = replace(found.trace, threat=name, without=(name,))
    read(as_html(found.judge, failing, trace, found.states, decisive))


ROW = Result("toy", "main", "secrecy", "collusion", "explicit", Verdict.EXHAUSTED, Verdict.EXHAUSTED, 1234, "all seen")


@pytest.mark.mends("N16")
def test_verdicts_are_a_table_of_claims_by_threat_models() -> None:
    outcome = verify(plan_campaign(Request(load(TOY))))
    html = outcome._repr_html_()
    assert "every verdict as expected" in html
    heads = next(line for line in html.splitlines() if line.startswith("<thead>"))
    threats = dict.fromkeys(row.threat for row in outcome.results if row.kind is results.Kind.CLAIM)
    assert read(heads).text == "".join(["claim", *threats])
    rows = [line for line in html.splitlines() if 'scope="row"' in line]
    claims = dict.fromkeys(row.claim for row in outcome.results if row.kind is results.Kind.CLAIM)
    assert [line.split(">")[2].split("<")[0] for line in rows] == list(claims)
    assert html.count("PROVED: induction") == sum(row.verdict is Verdict.PROVED for row in outcome.results)


def test_what_is_not_as_expected_stands_out_in_a_verdict_that_says_how_it_was_established() -> None:
    wrong = replace(ROW, verdict=Verdict.VIOLATED, bound=None)
    assert "<strong>VIOLATED, expected EXHAUSTED: explicit</strong>" in results.as_html([ROW, wrong])
    fallen = replace(wrong, expected=Verdict.VIOLATED)
    assert "VIOLATED, as expected: explicit" in fallen._repr_html_()
    assert "<strong>VIOLATED" not in results.as_html([fallen])
    assert read(ROW._repr_html_()).text.split("\n")[1:4] == [
        "secrecy under collusion: toy, main",
        "EXHAUSTED(1,234): explicit",
        "all seen",
    ]


def test_a_pair_that_was_not_judged_has_a_dash_and_what_is_no_claim_a_table_of_its_own() -> None:
    other = replace(ROW, claim="other", threat="outsider")
    goal = replace(ROW, kind=results.Kind.GOAL, claim="lent", detail="not reached")
    html = results.as_html([ROW, other, goal])
    rows = [read(line).text for line in html.splitlines() if 'scope="row"' in line]
    assert rows == [
        "secrecyEXHAUSTED(1,234): explicit–",
        "other–EXHAUSTED(1,234): explicit",
        "goal lentcollusionEXHAUSTED(1,234): explicitnot reached",
    ]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_verdicts_are_shown_as_text(name: str) -> None:
    row = replace(ROW, protocol=name, variant=name, claim=name, threat=name, engine=name, detail=name)
    read(row._repr_html_())
    read(results.as_html([row, replace(row, kind=results.Kind.GOAL)]))


def _with(more: Callable[[Draft], None]) -> Hunt:
    """Hunt on the toy with something more, which the main design has not."""

    def draft(variant: str) -> Draft:
        drafted = toy.draft(variant)
        if variant == "open":
            more(drafted)
        return drafted

    variants = {"main": toy.FAMILY.variants["main"], "open": Variant("open", "something more")}
    family = replace(toy.FAMILY, draft=draft, variants=variants, findings=())
    return hunt(attack_target(Source("toy", family, "toy"), variant="open"), progress=lambda _: None)


def _guessing(draft: Draft) -> None:
    @draft.rule(by=toy.ADVERSARY, says="{user} guesses {key}", source="folklore, 11")
    def guess(step: Step, user: Agent, key: Key) -> None:
        step.given("there is one", toy.corrupt(user) & used(key))
        step.insert(toy.knows(user, key))


def _claiming(draft: Draft) -> None:
    @draft.claim(
        name="unlent", sentence="Nobody has a key.", requirement="REQ-TOY-4", source="folklore", under=("collusion",)
    )
    def _(x: Agent, k: Key) -> Formula:
        return implies(toy.holds(x, k), toy.corrupt(x))


def parts(found: Hunt, whole: Protocol) -> None:
    """Follow an attack in the whole design by hand: it goes along to the decisive step, and does not take it so."""
    assert found.trace is not None
    assert found.judge is not None
    assert found.decisive is not None
    steps, position = found.trace.steps, found.decisive.position
    judge = Interpreter(whole, found.judge.instance)
    literal = any(found.judge.protocol.action(step.action).deduction for step in steps)
    at, take = (judge.start(), judge.fire) if literal else (judge.initial(), judge.step)
    for step in steps[:position]:
        at = take(at, whole.action(step.action), step.env)
    step = steps[position]
    action = next((each for each in whole.actions if each.name == step.action), None)
    if action is None:
        assert "there is no such step" in found.decisive.says
    elif found.decisive.guard:
        with pytest.raises(NotEnabled) as refused:
            take(at, action, step.env)
        assert refused.value.guard == found.decisive.guard
    else:
        assert take(at, action, step.env) != found.states[position + 1]


def test_a_guard_refuses() -> None:
    source = load(TOY)
    found = hunt(attack_target(source, without=("fresh-key",)), progress=lambda _: None)
    assert found.decisive is not None
    assert found.trace is not None
    lends = [place for place, step in enumerate(found.trace.steps) if step.action == "lend"]
    assert found.decisive.position == lends[-1]
    assert (found.decisive.guard, found.decisive.defence) == ("fresh key", "fresh-key")
    assert found.decisive.says == "with fresh-key, the guard 'fresh key' refuses this"
    parts(found, source.protocol("main"))


def test_a_step_has_another_outcome() -> None:
    found = hunted("engine-per-holder", ("scrub-workspace",))
    assert found.decisive is not None
    assert found.trace is not None
    assert found.trace.steps[found.decisive.position].action == "exec_scrub"
    assert found.decisive.guard == ""
    assert found.decisive.says == "with scrub-workspace, also − workspace(gpu1, mallory's chunk 1)"
    parts(found, found.target.source.protocol("engine-per-holder"))


def test_no_step_of_the_design_that_is_most_like_it_is_decisive() -> None:
    """Another main variant goes along for longer, by chance."""
    found = _with(_guessing)
    assert found.decisive is not None
    assert found.trace is not None
    assert found.trace.steps[found.decisive.position].action == "guess"
    assert found.decisive.says == "in main, there is no such step"
    parts(found, found.target.source.protocol("main"))
    found = hunted("retired-engine-leaks", threat="past-keys", claim="forward-isolation")
    assert found.decisive is not None
    assert found.decisive.says == "in engine-per-holder, there is no such step"
    parts(found, found.target.source.protocol("engine-per-holder"))
    found = _with(_claiming)
    assert (found.claim, found.decisive) == ("unlent", None)


@pytest.mark.parametrize(
    ("defence", "claim", "threat", "why"),
    [
        ("log", "private", "indoors", "with log, the same steps violate the claim, too"),
        ("lock", "private", "indoors", "with lock, the same steps violate the claim, too"),
        ("lock", "sealed", "outdoors", "with lock, the claim is violated under outdoors, too, as expected"),
    ],
)
def test_nothing_is_decisive_where_the_claim_is_violated_with_the_defence_too(
    defence: str, claim: str, threat: str, why: str
) -> None:
    drawer = f"{FIXTURES / 'drawer.py'}:draft"
    ran = carnet("attack", drawer, "--without", defence, "--claim", claim, "--threat", threat, "--jobs", "1", "--json")
    assert (ran.code, ran.json["verdict"], ran.json["decisive"]) == (1, "VIOLATED", None)
    assert ran.json["detail"].endswith(f"; {why}")


def test_what_a_defence_prevents_is_decisive_though_the_claim_may_be_violated_in_another_way() -> None:
    drawer = load(f"{FIXTURES / 'drawer.py'}:draft")
    found = hunt(attack_target(drawer, without=("lock",), claim="sealed", threat="indoors"))
    assert found.decisive is not None
    assert found.decisive.says == "with lock, the guard 'found or open' refuses this"


@pytest.mark.mends("N1")
def test_the_brief_telling_keeps_what_decides_under_its_number() -> None:
    found = hunted("engine-per-holder", ("scrub-workspace",))
    assert found.decisive is not None
    assert found.trace is not None
    protocol, remark = found.target.protocol, found.decisive.remark
    told = narrate(protocol, found.states, found.trace, remarks=remark)
    assert found.judge is not None
    short = brief(found.judge, found.states, found.trace, remark)
    assert len(short) <= 10 < len(told)
    (place,) = (line for line, said in enumerate(told) if "<<< decisive: " in said)
    (brief_place,) = (line for line, said in enumerate(short) if "<<< decisive: " in said)
    assert told[place - 1].split() == short[brief_place - 1].split()
    covered = [number for line in short for number in _numbers(line)]
    assert covered == list(range(1, 1 + sum(bool(re.match(r" *\d+\.", line)) for line in told)))


def _numbers(line: str) -> range:
    label = re.match(r" *(\d+)(?:-(\d+))?\.", line)
    return range(int(label[1]), int(label[2] or label[1]) + 1) if label else range(0)


def test_the_command_is_brief_or_full_if_asked_and_not_both() -> None:
    brief_run = carnet_once("attack", TOY, "--without", "fresh-key", "--brief")
    told = [line for line in brief_run.out.splitlines() if "<<< decisive: with fresh-key" in line]
    assert len(told) == 1
    assert "known at the end" not in brief_run.out
    value = carnet_once("attack", TOY, "--without", "fresh-key", "--json").json
    assert value["decisive"]["guard"] == "fresh key"
    assert any("<<< decisive: with fresh-key" in line for line in value["brief"])
    ran = carnet_once("attack", TOY, "--without", "fresh-key", "--brief", "--full")
    assert (ran.code, "--brief and --full ask for opposites" in ran.err) == (2, True)
    ran = carnet_once("attack", TOY, "--without", "fresh-key", "--full")
    lines = [line.strip() for line in ran.out.splitlines()]
    assert "phase: HOME → AWAY  [lender]" in lines
    assert "+ lent(borrower2, k1)  [on the wire]" in lines
    assert "+ knows(borrower2, k1)  [borrower2]" in lines


def test_an_attack_without_a_step_is_told_in_no_line() -> None:
    found = hunt(attack_target(load(TOY), without=("fresh-key",)), progress=lambda _: None)
    assert found.trace is not None
    assert found.judge is not None
    nothing = replace(found.trace, steps=())
    assert brief(found.judge, found.states[:1], nothing, {}) == []


ROOT = Path(__file__).parents[4]


def written(folder: Path) -> Path:
    file = folder / "test_attack.py"
    carnet("attack", TOY, "--without", "fresh-key", "--as-test", str(file))
    return file


def module_of(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_written_test_fails_while_the_defect_is_there(tmp_path: Path) -> None:
    test = module_of(written(tmp_path)).test_toy_stands_against_an_attack_on_secrecy
    with pytest.raises(AssertionError, match="the attack on secrecy still works") as failed:
        test()
    assert "the lender takes k1 back from borrower2" in str(failed.value)
    assert "it is false that  borrower2 = owner(k1)" in str(failed.value)


@pytest.mark.mends("P5")
@pytest.mark.parametrize(
    ("protocol", "defence"),
    [
        (TOY, "fresh-key"),
        ("starter", "fresh-ticket"),  # no guest need be corrupt, and an attack has to find one who is not
        ("starter", "void-after-entry"),  # works only where both guests are corrupt
        ("gpu-travelling", "session-orders"),  # a step of it exists only without the defence
        ("gpu-travelling", "rotation-out"),
    ],
)
def test_the_written_test_fails_until_the_defence_is_back_wherever_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, protocol: str, defence: str
) -> None:
    if protocol == "starter":
        carnet("init", str(tmp_path / "tickets"))
        monkeypatch.chdir(tmp_path / "tickets")
        protocol = "protocol.py:draft"
    file = tmp_path / "tests" / "test_attack.py"
    file.parent.mkdir()
    ran = carnet("attack", protocol, "--without", defence, "--jobs", "1", "--as-test", str(file), "--json")
    assert ran.json["verdict"] == "VIOLATED"
    assert ran.json["instance"]
    monkeypatch.chdir(tmp_path.parent)
    module = module_of(file)
    (test,) = (value for name, value in vars(module).items() if name.startswith("test_"))
    with pytest.raises(AssertionError, match="still works"):
        test()
    module.WITHOUT.clear()
    test()


def test_a_test_that_would_pass_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("carnet_check.attacks.regression.stands", lambda *_, **__: None)
    file = tmp_path / "test_attack.py"
    ran = carnet("attack", TOY, "--without", "fresh-key", "--jobs", "1", "--as-test", str(file))
    assert (ran.code, "does not work as a test would replay it" in ran.err) == (5, True)
    assert not file.exists()


def test_the_written_test_is_as_this_repository_wants_its_own(tmp_path: Path) -> None:
    pytest.importorskip("ruff", reason="needs the dev extra")
    record = json.loads(kept(tmp_path, "gpu-travelling", "--without", "mode-check").read_text())
    record["structure"]["elements"]["Colour"] = [f"an_element_with_a_long_name_{number}" for number in range(8)]
    record["events"][-1]["args"] = {f"a_parameter_with_a_long_name_{number}": "x" for number in range(4)}
    text = as_test(record, "gpu-travelling", tmp_path)
    for arguments in (["check"], ["format", "--diff"]):
        command = [sys.executable, "-m", "ruff", *arguments, "--stdin-filename", "tests/test_attack.py", "-"]
        ran = subprocess.run(command, input=text, cwd=ROOT, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout
    file = tmp_path / "test_attack.py"
    file.write_text(text, "utf-8")
    assert len(module_of(file).STEPS) == len(record["events"])


def kept(folder: Path, *arguments: str) -> Path:
    carnet("attack", *arguments, "--out", str(folder))
    (record,) = [file for file in (folder / "attacks").iterdir() if not file.name.endswith(".itf.json")]
    return record


LEND = [("lend", {"to": "borrower2", "key": "k1"})]


def replayed(steps: Steps, without: tuple[str, ...] = (), corrupt: str = "borrower2") -> None:
    source = load(TOY)
    design = source.protocol()
    there = structure_of(source.instance(design, "collusion", Profile("two", {"borrowers": 2})), design)
    changed = {**there, "relations": {**there["relations"], "corrupt": [[corrupt]]}}
    stands(TOY, "secrecy", steps, threat="collusion", variant="main", without=without, instance=changed)


def test_an_attack_that_is_replayed_has_to_be_one_of_what_exists() -> None:
    replayed(LEND)
    with pytest.raises(SpecificationError, match="no action 'borrow_forever'"):
        replayed([("borrow_forever", {})])
    with pytest.raises(UsageError, match="no defence 'fresh-keys'"):
        replayed(LEND, ("fresh-keys",))
    with pytest.raises(SpecificationError, match="the instance under collusion violates axiom"):
        replayed(LEND, corrupt="lender")


@pytest.mark.parametrize(
    ("part", "name", "change", "said"),
    [
        ("relations", "corrupt", "rename", "says nothing of 'corrupt'"),
        ("relations", "vip", "add", "speaks of what the protocol does not know: 'vip'"),
        ("relations", "corrupt", "drop", "says nothing of 'corrupt'"),
    ],
)
def test_an_instance_of_another_protocol_is_an_error_and_no_pass(part: str, name: str, change: str, said: str) -> None:
    design = load(TOY).protocol()
    there = structure_of(load(TOY).instance(design, "collusion", Profile("two", {"borrowers": 2})), design)
    rows = dict(there[part])
    taken = rows.pop(name, []) if change != "add" else []
    rows |= {} if change == "drop" else {f"z_{name}" if change == "rename" else name: taken}
    with pytest.raises(SpecificationError, match=re.escape(said)):
        stands(TOY, "secrecy", LEND, threat="collusion", variant="main", instance={**there, part: rows})


def test_what_holds_of_nothing_is_written_too() -> None:
    design = load(TOY).protocol()
    there = structure_of(load(TOY).instance(design, "none", Profile("two", {"borrowers": 2})), design)
    assert there["relations"]["corrupt"] == []


def test_an_instance_is_read_as_it_is_written() -> None:
    design = load("gpu-travelling").protocol()
    instance = load("gpu-travelling").instance(design, "collusion", Profile("tiny", {}))
    again = instance_of(json.loads(json.dumps(structure_of(instance, design))), None)
    assert Interpreter(design, again).initial() == Interpreter(design, instance).initial()
    for symbol in design.symbols:
        if not symbol.mutable and symbol.is_relation:
            assert again.relations.get(symbol.name, frozenset()) == frozenset(instance.relations.get(symbol.name, ()))
        elif not symbol.mutable:
            assert again.functions[symbol.name] == instance.functions[symbol.name]
    with pytest.raises(SpecificationError, match="'first' is missing"):
        instance_of({"elements": {}, "relations": {}, "functions": {}}, None)


def test_an_attack_is_kept_beside_its_run_and_nothing_is_where_there_is_none(tmp_path: Path) -> None:
    ran = carnet("attack", TOY, "--without", "fresh-key", "--out", str(tmp_path), "--json")
    kept = json.loads((tmp_path / "attacks" / "main.without-fresh-key.collusion.secrecy.json").read_text())
    assert kept["removed"] == ["fresh-key"]
    assert [event["action"] for event in kept["events"]] == [step["action"] for step in ran.json["steps"]]
    assert kept["finding"]["id"] == "one-key"
    file = tmp_path / "test_attack.py"
    ran = carnet("attack", TOY, "--without", "return-checked", "--jobs", "1", "--as-test", str(file), "--json")
    assert ran.json["verdict"] != "VIOLATED"
    assert not file.exists()
    assert ran.json["run"]["artefacts"] == ""


def test_a_module_of_the_current_folder_is_found_everywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert carnet("init", str(tmp_path / "tickets")).code == 0
    (tmp_path / "tickets" / "protocol.py").rename(tmp_path / "tickets" / "lent_tickets.py")
    monkeypatch.chdir(tmp_path / "tickets")
    written = tmp_path / "tests" / "test_attack.py"
    written.parent.mkdir()
    ran = carnet("attack", "lent_tickets:draft", "--without", "fresh-ticket", "--as-test", str(written))
    assert ran.code == 1
    monkeypatch.chdir(tmp_path)
    with pytest.raises(AssertionError, match="still works"):
        next(test for name, test in vars(module_of(written)).items() if name.startswith("test_"))()


def test_the_attack_is_written_as_pages_that_load_nothing(tmp_path: Path) -> None:
    ran = carnet("attack", TOY, "--without", "fresh-key", "--jobs", "1", "--html", str(tmp_path / "pages"))
    assert ran.code == 1
    assert "pages" in ran.out.partition("\nartefacts")[2].partition("\ntime")[0]
    (page,) = [each for each in (tmp_path / "pages").glob("*.html") if each.name != "index.html"]
    text = page.read_text("utf-8")
    for step in ran.out.splitlines():
        if found := re.match(r" +\d+\.  (.+)", step):
            assert found[1] in text
    assert page.name in (tmp_path / "pages" / "index.html").read_text("utf-8")
    assert not re.search(r'(src|href)="(https?:)?//', text)


def test_without_an_attack_no_page_is_written(tmp_path: Path) -> None:
    ran = carnet("attack", TOY, "--without", "return-checked", "--jobs", "1", "--html", str(tmp_path / "pages"))
    assert ran.code == 0
    assert not (tmp_path / "pages" / "index.html").exists()
