"""``carnet step``: a walk by hand is a run of the interpreter, and says why a step is refused."""

import itertools
import json
import random
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from carnet_check.attacks.hunt import attack_target
from carnet_check.cli import main
from carnet_check.commands.step_shell import COMMANDS
from carnet_check.conformance import conform
from carnet_check.engines.interface import FailingStep, ShowsFailingSteps
from carnet_check.engines.registry import able
from carnet_check.errors import UsageError
from carnet_check.loading.families import known_protocols, load
from carnet_check.semantics import Interpreter
from carnet_check.semantics.interpreter import NotEnabled
from carnet_check.walkthrough import Walkthrough
from carnet_spec.language import Action
from carnet_spec.trace import Trace, TraceStep
from tests.unit.model_check.command import FIXTURES, TOY, Ran

CHOICES = 500


def step(script: str, *arguments: str) -> Ran:
    result = CliRunner().invoke(main, ("step", *arguments), input=script)
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return Ran(result.exit_code, result.stdout, result.stderr)


def begun(reference: str, variant: str = "", threat: str = "") -> Walkthrough:
    source = load(reference)
    target = attack_target(source, variant=variant, threat=threat, every_claim=True)
    instance = source.instance(target.protocol, target.threat.id, source.profile("tiny"))
    return Walkthrough(target.protocol, target.removed, target.threat, instance)


# -- a walk is a run ------------------------------------------------------------------------------


@pytest.mark.parametrize("id", known_protocols())
def test_where_random_choices_lead_is_where_their_replay_leads(id: str) -> None:
    walk, draw = begun(id), random.Random(id)
    for _ in range(CHOICES):
        able = walk.enabled_steps() if draw.random() < 0.8 else []
        if able:
            walk.take(draw.choice(able).step)
        else:
            walk.undo(draw.randint(1, 4))
    judge = Interpreter(walk.protocol, walk.judge.instance)
    assert judge.replay(walk.chosen_trace)[-1] == walk.state
    assert judge.replay(walk.trace)[-1] == walk.state


def nearest(walk: Walkthrough, action: Action) -> int:
    """Return the most guards, in their order, that some choice of the parameters meets."""
    judge, instance = walk.judge, walk.judge.instance
    pools = [instance.pools.get((action.name, var.name), instance.of(var.sort)) for var in action.params]
    names = [var.name for var in action.params]
    most = 0
    for row in itertools.product(*pools):
        env = dict(zip(names, row, strict=True))
        fails = (at for at, guard in enumerate(action.guards) if not judge.holds(guard.formula, walk.state, env))
        most = max(most, next(fails, len(action.guards)))
    return most


@pytest.mark.parametrize("id", known_protocols())
def test_an_action_that_is_not_offered_is_refused_by_a_guard_that_does_not_hold(id: str) -> None:
    walk, draw = begun(id), random.Random(id)
    for _ in range(3):
        for action in walk.protocol.actions:
            if not walk.matching(action, {}) and len(action.params) < 4:
                said = walk.refusal(action, {})
                guards = [guard for guard in action.guards if f"'{guard.name}'" in said]
                assert guards or "the party that acts does not follow the protocol" in said or "no element" in said
                assert not guards or nearest(walk, action) == action.guards.index(guards[0])
        if able := walk.enabled_steps():
            walk.take(draw.choice(able).step)


def test_undo_goes_no_further_than_the_beginning() -> None:
    walk = begun(TOY)
    first = walk.state
    walk.take(walk.enabled_steps()[0].step)
    assert (walk.undo(5), walk.undo(), walk.state) == (1, 0, first)


def test_a_step_that_is_refused_leaves_the_walk_where_it_was() -> None:
    walk = begun(TOY)
    walk.take(walk.enabled_steps()[0].step)
    before = walk.state, walk.steps
    (refused,) = [each for each in walk.protocol.actions if not each.deduction and not walk.matching(each, {})][:1]
    arguments = tuple((var.name, walk.judge.instance.of(var.sort)[0]) for var in refused.params)
    step = TraceStep(refused.name, refused.by.name, arguments)
    with pytest.raises(NotEnabled):
        walk.take(step)
    with pytest.raises(NotEnabled):
        walk.follow(Trace("toy", "main", (), "none", (*walk.steps, step)))
    assert (walk.state, walk.steps) == before


# -- what is typed --------------------------------------------------------------------------------


def test_a_script_walks_without_a_terminal_and_says_where_it_ends() -> None:
    ran = step("take 1\nundo\nrandom 3 7\nclaims\nknow\nstory\nfacts\nhelp\nquit\n", TOY, "--json")
    assert ran.code == 0
    value = ran.json
    assert len(value["trace"]["steps"]) == 3
    assert set(value["claims"]) == {claim.name for claim in begun(TOY).protocol.claims if claim.invariant}
    for word in COMMANDS:
        assert word in ran.err


def test_each_step_has_its_number_in_the_story() -> None:
    ran = step("1\n1\nrandom 2 1\nundo 2\n1\n", TOY)
    numbers = [int(number) for number in re.findall(r"^ *(\d+)\.  ", ran.out, re.MULTILINE)]
    assert numbers == [1, 2, 3, 4, 3], ran.out


def test_an_attack_is_jumped_to_and_taken_back_step_by_step() -> None:
    ran = step("attack secrecy\nundo\n", TOY, "--variant", "forgetful", "--json")
    assert "secrecy fails" in ran.err
    assert ran.json["claims"]["secrecy"] is True
    whole = step("attack secrecy\n", TOY, "--variant", "forgetful", "--json").json
    assert whole["claims"]["secrecy"] is False
    assert whole["trace"]["steps"][:-1] == ran.json["trace"]["steps"]


def test_where_there_is_no_attack_nothing_is_jumped_to() -> None:
    ran = step("attack secrecy\n", TOY)
    assert (ran.code, "there is no attack to jump to: PROVED" in ran.err) == (2, True)


def test_what_was_saved_conforms_is_loaded_again_and_is_itf(tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("walk.jsonl", "walk.json", "walk.itf.json")]
    saved = step("random 6 5\n" + "".join(f"save {file}\n" for file in files), "fastrack", "--json")
    assert saved.code == 0
    result = conform(files[0])
    assert (result.conforms, result.events) == (True, 6)
    again = step(f"load {files[1]}\n", "fastrack", "--json")
    assert again.json == saved.json
    assert len(json.loads(files[2].read_text("utf-8"))["states"]) >= 7


def test_a_step_is_named_by_its_action_and_by_as_many_parameters_as_it_needs() -> None:
    walk = begun(TOY)
    one = walk.enabled_steps()[0]
    words = " ".join([one.action.name, *(f"{name}={element}" for name, element in one.env.items())])
    ran = step(f"take {words}\n", TOY, "--json")
    assert ran.json["trace"]["steps"] == [one.step.to_json()]


MISTAKES: dict[str, str] = {
    "fly": "no command 'fly'",
    "take": "expected: take N | ACTION [NAME=ELEMENT …]",
    "take 99": "expected a number from 1 to ",
    "0": "expected a number from 1 to ",
    "take fly": "no action 'fly'",
    "why fly": "no action 'fly'",
    "why lend x=": "no parameter 'x'",
    "why lend x": "expected NAME=ELEMENT",
    "undo -1": "expected a whole number",
    "undo 1234567890123456": "expected a whole number",
    "random x": "expected a whole number",
    "9" * 5000: "expected a whole number",
    "random 10001": "expected at most 10,000 steps at a time",
    "facts fly": "no symbol 'fly'",
    "attack fly": "fly",
    "load /nowhere/x": "cannot read '/nowhere/x'",
    "save /nowhere/x": "/nowhere",
    "'": "cannot be read",
    "quit 1": "expected: quit",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_a_line_that_makes_no_sense_ends_a_script_with_one_error(line: str) -> None:
    ran = step(f"{line}\nrandom 2\n", TOY)
    assert ran.code == 2
    assert MISTAKES[line] in ran.err
    assert "taken, drawn" not in ran.out


@pytest.mark.parametrize("text", ["", "[]", "{", '{"protocol": "toy"}', "[" * 100_000, "\x00"])
def test_a_file_that_is_no_trace_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "trace.json"
    file.write_text(text, "utf-8")
    ran = step(f"load {file}\n", TOY)
    assert (ran.code, "is no trace in JSON" in ran.err) == (2, True)


def test_a_trace_of_another_design_is_refused(tmp_path: Path) -> None:
    step(f"save {tmp_path / 'walk.json'}\n", "fastrack")
    ran = step(f"load {tmp_path / 'walk.json'}\n", TOY)
    assert (ran.code, "is of fastrack, variant direct-channel, and this is" in ran.err) == (2, True)


def test_an_instance_that_no_sizes_make_is_not_saved_as_a_recorded_trace(tmp_path: Path) -> None:
    file = tmp_path / "walk.jsonl"
    ran = step(f"random 1\nsave {file}\n", str(FIXTURES / "broker.py:draft"))
    assert (ran.code, file.exists()) == (2, False)
    assert "save it as JSON" in ran.err


def test_in_a_terminal_a_mistake_is_told_and_the_walk_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    typed = iter(["fly", "1", "undo"])

    def typing(_: str) -> str:
        try:
            return next(typed)
        except StopIteration:
            raise EOFError from None

    monkeypatch.setattr("carnet_check.commands.step.on_a_terminal", lambda: True)
    monkeypatch.setattr("builtins.input", typing)
    ran = step("", TOY)
    assert ran.code == 0
    assert "carnet: no command 'fly'" in ran.out
    assert "1 step taken back, 0 steps left" in ran.out


# -- from a counterexample to induction ---------------------------------------------------------------


def failing(reference: str, name: str, assumed: tuple[str, ...] = ()) -> tuple[Walkthrough, FailingStep]:
    walk = begun(reference)
    threat = walk.threat if walk.protocol.threats else None
    return walk, able(ShowsFailingSteps).failing_step(walk.protocol, threat, name, assumed)


FAILING: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "a claim": ("fastrack", "key-isolation", ()),
    "a claim beside a lemma": ("fastrack", "key-isolation", ("gpu-genuine",)),
    "a claim that a deduction breaks": ("fastrack", "confidentiality", ()),
    "a lemma that a deduction breaks": ("fastrack", "changed_is_made", ()),
    "a claim that no lemma helps": (str(FIXTURES / "broker.py:draft"), "one-holder", ()),
}


@pytest.mark.parametrize("name", FAILING)
def test_a_step_from_a_counterexample_to_induction_breaks_what_holds_there(name: str) -> None:
    reference, about, assumed = FAILING[name]
    walk, found = failing(reference, about, assumed)
    judge, protocol = Interpreter(walk.protocol, found.instance), walk.protocol
    invariants = {each.name: each for each in protocol.invariants}
    assert judge.violated_axioms((*protocol.axioms, *walk.threat.axioms)) == []
    assert all(judge.holds(invariants[each].formula, found.state) for each in (about, *assumed))
    assert found.step is not None
    after = judge.fire(found.state, protocol.action(found.step.action), found.step.env)
    assert not judge.holds(invariants[about].formula, after)
    assert protocol.action(found.step.action).deduction == ("deduction" in name)
    assert bool(found.excluded_by) == (name != "a claim that no lemma helps")
    for each, invariant in invariants.items():
        assert (each in found.excluded_by) == (not judge.holds(invariant.formula, found.state)), each


def test_lemmas_that_exclude_the_state_lead_to_others_until_none_is_left() -> None:
    assumed: list[str] = []
    refused = ""
    while not refused and len(assumed) < 40:
        try:
            _, found = failing("fastrack", "no-replay", tuple(assumed))
        except UsageError as error:
            refused = str(error)
        else:
            assert not {*found.excluded_by} & {*assumed}
            assumed.append(found.excluded_by[0])
    assert assumed
    assert refused == f"no-replay is inductive with {', '.join(assumed)}: no step breaks it"


def typed_step(said: str) -> str:
    """Return what the terminal says to type for the step that breaks the claim."""
    whole = " ".join(line.strip() for line in said.splitlines())
    found = re.search(r"This step breaks .*? \((take [^)]*)\)", whole)
    assert found
    return found[1]


@pytest.mark.parametrize("about", ["key-isolation", "confidentiality", "changed_is_made"])
def test_the_step_that_is_named_breaks_the_claim_and_undo_mends_it(about: str) -> None:
    told = step(f"cti {about}\n", "fastrack")
    assert told.code == 0
    assert "Whether the first can be reached is not known" in " ".join(told.out.split())
    line = typed_step(told.out)
    ran = step(f"cti {about}\n{line}\n", "fastrack", "--json")
    assert f"{about} fails" in ran.err
    assert ran.json["is_run"] is False
    again = step(f"cti {about}\n{line}\nundo\nundo\nrandom 3\nbegin\nrandom 2\n", "fastrack", "--json")
    assert (again.code, again.json["is_run"], len(again.json["trace"]["steps"])) == (0, True, 2)


def test_from_a_counterexample_to_induction_each_deduction_is_a_step_that_is_chosen() -> None:
    begin, found = failing("fastrack", "confidentiality")
    walk = Walkthrough(begin.protocol, begin.without, begin.threat, found.instance, found.state)
    deductions = [each for each in walk.enabled_steps() if each.action.deduction]
    assert found.step in [each.step for each in deductions]
    assert all(walk.judge.fire(walk.state, each.action, each.env) != walk.state for each in deductions)
    first = next(each for each in walk.enabled_steps() if not each.action.deduction)
    walk.take(first.step)
    assert walk.state == walk.judge.fire(found.state, first.action, first.env) != walk.judge.saturate(walk.state)
    assert walk.trace.steps == (first.step,)
    walk.undo()
    walk.take(deductions[0].step)
    assert walk.steps == (deductions[0].step,)


def test_the_option_begins_where_a_step_breaks_the_claim() -> None:
    by_option = step("", "fastrack", "--cti", "key-isolation", "--json").json
    assert by_option == step("cti key-isolation\n", "fastrack", "--json").json


def test_a_state_that_nothing_excludes_is_said_to_lack_a_lemma() -> None:
    ran = step("cti one-holder\n", str(FIXTURES / "broker.py:draft"))
    said = " ".join(ran.out.split())
    assert "No claim or lemma of the specification excludes this state: a further lemma may have to" in said
    assert "which never changes: " in ran.out


WRONG = """

@draft.lemma
def nobody_has_one(p: Person, b: Badge) -> Formula:
    return implies(carried(p, b), staff(p)) & ~ordered(p, b, lowest)
"""


def test_of_a_false_lemma_it_is_not_said_that_another_lemma_has_to_help(tmp_path: Path) -> None:
    file = tmp_path / "badges.py"
    file.write_text((FIXTURES / "badges.py").read_text("utf-8") + WRONG, "utf-8")
    said = " ".join(step("cti nobody_has_one\n", str(file)).out.split())
    assert "a further lemma may have to (carnet verify --suggest looks for one), or nobody_has_one is false." in said


def test_a_false_lemma_is_said_to_exclude_a_state_only_if_it_is_true(tmp_path: Path) -> None:
    file = tmp_path / "badges.py"
    file.write_text((FIXTURES / "badges.py").read_text("utf-8") + WRONG, "utf-8")
    said = " ".join(step("cti staff-only\n", str(file)).out.split())
    assert "False there, so each excludes this state if it is true: nobody_has_one" in said


def test_a_claim_that_the_first_state_breaks_is_shown_there(tmp_path: Path) -> None:
    file = tmp_path / "lamp.py"
    file.write_text(LAMP, "utf-8")
    ran = step("cti always-lit\n", str(file))
    assert (ran.code, "always-lit fails" in ran.out, "This step" in ran.out) == (0, True, False)


LAMP = """
from carnet_spec.language import Draft, Individual, Kind, Role, Step, relation

class Lamp(Individual):
    "A lamp."

lit = relation("lit", Lamp, kind=Kind.TRUTH)
draft = Draft("lamp", "A lamp")

@draft.action(by=Role("hand"), says="Somebody lights {lamp}.", source="tests")
def light(step: Step, lamp: Lamp):
    step.insert(lit(lamp))

@draft.claim(name="always-lit", sentence="Each lamp is lit.", requirement="R1", source="tests", under=())
def always_lit(lamp: Lamp):
    return lit(lamp)
"""


NO_STATE: dict[str, tuple[str, str]] = {
    "cti fly": ("fastrack", "no claim or lemma that has to hold 'fly'"),
    "cti key-isolation fly": ("fastrack", "no claim or lemma that has to hold 'fly'"),
    "cti": ("fastrack", "expected: cti CLAIM | LEMMA [LEMMA …]"),
    "cti key-isolation\nsave walk.json": ("fastrack", "it is no trace"),
    "cti key-isolation\nload walk.json": ("fastrack", "it is no trace"),
    "cti what_is_used": ("fastrack", "is inductive by itself: no step breaks it"),
}


@pytest.mark.parametrize("line", NO_STATE)
def test_where_there_is_no_state_to_jump_to_one_error_says_why(line: str) -> None:
    reference, why = NO_STATE[line]
    ran = step(f"{line}\nrandom 2\n", reference)
    assert (ran.code, why in ran.err, "taken, drawn" in ran.out) == (2, True, False)
