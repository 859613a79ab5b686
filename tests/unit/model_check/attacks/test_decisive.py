"""The decisive step is the one at which the whole design stops following an attack, and the brief telling keeps it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from carnet_check.attacks.describing import brief
from carnet_check.attacks.hunt import Hunt, attack_target, hunt
from carnet_check.loading.families import Source, load
from carnet_check.semantics import Interpreter, NotEnabled
from carnet_check.wording import narrate
from carnet_spec.language import Draft, Formula, Protocol, Step, Variant, implies, used
from tests.fixtures import toy
from tests.fixtures.toy import Agent, Key
from tests.fixtures.travelling import hunted
from tests.unit.model_check.command import TOY, carnet_once


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


def test_a_step_is_no_step_of_the_whole_design() -> None:
    found = _with(_guessing)
    assert found.decisive is not None
    assert found.trace is not None
    assert found.trace.steps[found.decisive.position].action == "guess"
    assert found.decisive.says == "in main, there is no such step"
    parts(found, found.target.source.protocol("main"))


def test_another_design_is_compared_with_the_one_that_is_most_like_it() -> None:
    """Another main variant goes along for longer, by chance."""
    found = hunted("retired-engine-leaks", threat="past-keys", claim="forward-isolation")
    assert found.decisive is not None
    assert found.decisive.says == "in engine-per-holder, there is no such step"
    parts(found, found.target.source.protocol("engine-per-holder"))


def test_nothing_decides_where_the_whole_design_goes_along_to_the_end() -> None:
    found = _with(_claiming)
    assert (found.claim, found.decisive) == ("unlent", None)


@pytest.mark.mends("N1")
def test_the_brief_telling_keeps_what_decides_under_its_number() -> None:
    found = hunted("engine-per-holder", ("scrub-workspace",))
    assert found.decisive is not None
    assert found.trace is not None
    protocol, remark = found.target.protocol, found.decisive.remark
    told = narrate(protocol, found.states, found.trace, remarks=remark)
    short = brief(protocol, found.states, found.trace, remark)
    assert len(short) <= 10 < len(told)
    (place,) = (line for line, said in enumerate(told) if "<<< decisive: " in said)
    (brief_place,) = (line for line, said in enumerate(short) if "<<< decisive: " in said)
    assert told[place - 1].split() == short[brief_place - 1].split()
    covered = [number for line in short for number in _numbers(line)]
    assert covered == list(range(1, 1 + sum(bool(re.match(r" *\d+\.", line)) for line in told)))


def _numbers(line: str) -> range:
    label = re.match(r" *(\d+)(?:-(\d+))?\.", line)
    return range(int(label[1]), int(label[2] or label[1]) + 1) if label else range(0)


def test_the_command_is_brief_if_asked() -> None:
    brief_run = carnet_once("attack", TOY, "--without", "fresh-key", "--brief")
    told = [line for line in brief_run.out.splitlines() if "<<< decisive: with fresh-key" in line]
    assert len(told) == 1
    assert "known at the end" not in brief_run.out
    value = carnet_once("attack", TOY, "--without", "fresh-key", "--json").json
    assert value["decisive"]["guard"] == "fresh key"
    assert any("<<< decisive: with fresh-key" in line for line in value["brief"])


def test_brief_and_full_are_refused_together() -> None:
    ran = carnet_once("attack", TOY, "--without", "fresh-key", "--brief", "--full")
    assert (ran.code, "--brief and --full ask for opposites" in ran.err) == (2, True)


def test_an_attack_without_a_step_is_told_in_no_line() -> None:
    found = hunt(attack_target(load(TOY), without=("fresh-key",)), progress=lambda _: None)
    assert found.trace is not None
    nothing = replace(found.trace, steps=())
    assert brief(found.target.protocol, found.states[:1], nothing, {}) == []
