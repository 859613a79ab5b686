"""Every lint complains about what it is for, lets the like pass, and says what to do."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from carnet_spec.language import *
from carnet_spec.language.lints import NOTES, RULES, Complaint, Level, check, lint, lint_draft, lint_family
from carnet_spec.protocols.registry import OWN
from tests.fixtures import toy
from tests.unit.spec.language.lints.rows import *
from tests.unit.spec.language.vocabulary import ADVERSARY, Agent, Key, boss, corrupt, drafted, enrolled, own, seen, sent

COMPLAINTS = ABOUT_MEANING | ABOUT_WORDS | ABOUT_VERDICTS
PASSES = MEANING_PASSES | WORDS_PASS | VERDICTS_PASS


@pytest.mark.mends("V5")
@pytest.mark.parametrize("row", [row for row in COMPLAINTS if COMPLAINTS[row][0] == "conflicts"])
def test_updates_that_disagree_are_refused(row: str) -> None:
    test_the_lint_complains(row)


@pytest.mark.parametrize("row", COMPLAINTS)
def test_the_lint_complains(row: str) -> None:
    name, parts, says = COMPLAINTS[row]
    found = [complaint for complaint in lint_draft(drafted(*parts)) if complaint.rule == name]
    assert found, "no complaint"
    assert any(says in str(complaint) for complaint in found), [str(complaint) for complaint in found]


@pytest.mark.parametrize("row", PASSES)
def test_the_lint_lets_pass(row: str) -> None:
    name, parts = PASSES[row]
    assert not [str(complaint) for complaint in lint_draft(drafted(*parts)) if complaint.rule == name]


def test_every_rule_has_a_row_either_way() -> None:
    enforced_when_traced = {"labels"}
    both = {name for name, *_ in COMPLAINTS.values()} & {name for name, *_ in PASSES.values()}
    lacking = set(RULES) - both - enforced_when_traced
    assert not lacking, "rows.py needs a row that breaks each of these rules and a row that passes"


def _protocol(*parts: Part) -> Protocol:
    return drafted(*parts).protocol()


def _rules_broken(protocol: Protocol) -> set[str]:
    return {complaint.rule for complaint in lint(protocol)}


def test_what_no_tracing_looked_at_is_checked() -> None:
    protocol = _protocol(act(pass_on))
    (action,) = protocol.actions
    for broken in (
        replace(action, guards=action.guards * 2),
        replace(action, updates=action.updates * 2),
        replace(action, guards=tuple(replace(guard, name="") for guard in action.guards)),
    ):
        assert _rules_broken(replace(protocol, actions=(broken,))) == {"labels"}
    assert not _rules_broken(protocol)
    protocol = _protocol(rule(learn))
    (action,) = protocol.actions
    removing = tuple(replace(update, effect=Effect.REMOVE) for update in action.updates)
    assert "insert-only" in _rules_broken(replace(protocol, actions=(replace(action, updates=removing),)))
    protocol = _protocol(act(pass_on))
    for initial in (
        Initial(seen.symbol, (), true.term),
        Initial(seen.symbol, protocol.actions[0].params[1:], true.term),
        Initial(seen.symbol, protocol.actions[0].params[:1], boss.term),
    ):
        assert _rules_broken(replace(protocol, initial=(*protocol.initial, initial))) == {"initial"}


def test_axioms_are_closed_and_keys_without_names_interchangeable() -> None:
    protocol = drafted(act(pass_on)).protocol()
    named = drafted(lambda draft: draft.axiom("kept", used(constant("master", Key)))).protocol()
    assert "interchangeable" in _rules_broken(named)
    assert "interchangeable" not in _rules_broken(protocol)
    protocol = _protocol(act(pass_on))
    a, k = protocol.actions[0].params
    open_axiom = Axiom("open", enrolled(Agent(a)).term)
    assert _rules_broken(replace(protocol, axioms=(open_axiom,))) == {"axioms"}
    assert k.sort == Key.sort


def test_notes_refuse_nothing() -> None:
    draft = drafted(act(writes_theirs), act(given(lambda a, k: seen(a)), by=ADVERSARY))
    found = lint_draft(draft)
    assert {complaint.rule for complaint in found} == set(NOTES)
    assert all(complaint.level is Level.NOTE for complaint in found)
    check(draft)
    check(draft.protocol())


def test_check_lists_every_complaint_and_the_toy_has_none() -> None:
    with pytest.raises(SpecificationError) as refused:
        check(drafted(act(pass_on, says="", source="")))
    assert str(refused.value).splitlines() == [
        "2 complaints about test:",
        "sentence: action pass_on: has no sentence: say in 'says' what happens, with {parameter} places",
        "source: action pass_on: has no source: name the slide, section, clause or file it follows",
    ]
    check(toy.FAMILY)
    assert not lint_family(toy.FAMILY)


def test_a_part_that_a_defence_hides_is_linted_too() -> None:
    def hidden(step: Step, a: Agent, k: Key) -> None:
        step.require("own", own(a, k))
        step.require("cheating", corrupt(a), unless="moat")
        step.insert(sent(a, k))

    draft = drafted(DECLARED, act(hidden), act(pass_on, shortcut_of="moat", source=""))
    assert not lint(draft.protocol())
    assert [complaint.rule for complaint in lint_draft(draft)] == ["source", "visibility"]


def registered(id: str) -> Family:
    module, _, attribute = OWN[id].partition(":")
    family = getattr(importlib.import_module(module), attribute)
    assert isinstance(family, Family)
    return family


#: A statement names statements, so functions run in a circle: a proof that is found is one, and all are.
NOTED = {("verifiable-fl", "stratified")}


def errors(id: str, found: Iterable[Complaint]) -> list[Complaint]:
    """Return the complaints that are no mere notes, and are not known."""
    return [each for each in found if each.level is Level.ERROR and (id, each.rule) not in NOTED]


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("id", OWN)
def test_every_registered_protocol_is_in_order(id: str) -> None:
    """All variants, with and without each defence."""
    assert not errors(id, lint_family(registered(id)))


@pytest.mark.parametrize("id", OWN)
def test_the_main_variants_of_every_registered_protocol_are_in_order(id: str) -> None:
    family = registered(id)
    for name in family.with_layers(family.main):
        assert not errors(id, lint(family.protocol(name)))


_VIEW = PartyView(PartyKind.HOST, "host", Visibility.HIDDEN, "what passes", limited_by=("secrecy",))

FAMILIES: dict[str, tuple[Callable[[], Family], str]] = {
    "an unknown main variant": (lambda: replace(toy.FAMILY, main=("main", "best")), "main variant 'best'"),
    "a variant of two names": (
        lambda: replace(toy.FAMILY, variants={**toy.FAMILY.variants, "other": Variant("main", "x")}),
        "calls itself 'main'",
    ),
    "a variant over itself": (lambda: _with_layers("upper"), "is over 'upper', which is a layer itself"),
    "a layer over a layer": (lambda: _with_layers("lower"), "is over 'lower', which is a layer itself"),
    "a variant without an unknown defence": (
        lambda: replace(toy.FAMILY, variants={"main": Variant("main", "x", without=("wall",))}, findings=()),
        "no removable defence 'wall': write one of fresh-key, return-checked",
    ),
    "a finding of an unknown claim": (lambda: _with_finding(claim="peace"), "no claim 'peace'"),
    "a finding under an unknown threat": (lambda: _with_finding(threat="war"), "no threat model 'war'"),
    "two findings of one id": (lambda: replace(toy.FAMILY, findings=toy.FAMILY.findings * 2), "give each an id of its"),
    "a finding in an unknown variant": (lambda: _with_finding(variant="best"), "no variant 'best'"),
    "a finding without an unknown defence": (lambda: _with_finding(without=("wall",)), "defence 'wall'"),
    "a view limited by an unknown claim": (lambda: _with_views(limited_by=("peace",)), "no claim 'peace'"),
    "a view that rests on an unknown assumption": (
        lambda: _with_views(trusted_for="calm", assumed_in=("A9",)),
        "no assumption or hypothesis 'A9'",
    ),
    "two views of one kind of party": (
        lambda: replace(toy.FAMILY, views=(_VIEW, replace(_VIEW, party="another host"))),
        "two views of 'host and network'",
    ),
    "a defence of an unknown base": (lambda: replace(toy.FAMILY, draft=_based), "no base variant 'castle'"),
}


def _with_layers(over: str) -> Family:
    layers = (Variant("lower", "x", over="main"), Variant("upper", "x", over=over))
    return replace(toy.FAMILY, variants={**toy.FAMILY.variants, **{layer.name: layer for layer in layers}})


def _with_views(**changes: Any) -> Family:
    return replace(toy.FAMILY, views=(replace(_VIEW, **changes),))


def _with_finding(**changes: Any) -> Family:
    return replace(toy.FAMILY, findings=(replace(toy.FAMILY.findings[0], **changes),))


def _based(variant: str) -> Draft:
    draft = toy.draft(variant)
    draft.defence("wall", "a wall", base="castle")
    return draft


@pytest.mark.parametrize("row", FAMILIES)
def test_a_family_names_only_what_it_has(row: str) -> None:
    build, says = FAMILIES[row]
    assert any(says in str(complaint) for complaint in lint_family(build()))


def test_a_defence_may_be_idle_in_some_variants() -> None:
    def draft(variant: str) -> Draft:
        drafted_ = toy.draft(variant)
        drafted_.defence("moat", "a moat")
        if variant == "forgetful":
            act(tagged("moat"))(drafted_)
        return drafted_

    family = replace(toy.FAMILY, draft=draft)
    assert not [complaint for complaint in lint_family(family) if complaint.rule == "idle-defences"]
    alone = replace(family, variants={"main": family.variants["main"]}, findings=())
    assert [complaint.where for complaint in lint_family(alone) if complaint.rule == "idle-defences"] == [
        "variant main: defence moat"
    ]
