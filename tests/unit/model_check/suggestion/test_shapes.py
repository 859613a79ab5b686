"""What is read off steps, and the candidates that are made of it."""

from collections.abc import Callable

import pytest

from carnet_check.suggestion.facts import rules_in, rules_of, writes_of
from carnet_check.suggestion.shapes import Reader, Shape
from carnet_spec.language import *
from carnet_spec.language.notation import ASCII, show
from carnet_spec.language.terms import Term, free_variables


class Agent(Individual):
    """Somebody."""


class Key(Individual, fresh=True):
    """A key."""


class Time(Individual):
    """A time; times stand in line."""


BOX = Role("box")
before = rigid_relation("before", Time, Time, kind=Kind.PUBLIC)
start = constant("start", Time)
trusted = rigid_relation("trusted", Agent, kind=Kind.PUBLIC)
opened = relation("opened", Agent, Key, kind=Kind.STATE, of=BOX)
closed = relation("closed", Agent, Key, kind=Kind.STATE, of=BOX)
sent = relation("sent", Key, Time, kind=Kind.STATE, of=BOX)
clock = function("clock", Key, to=Time, kind=Kind.STATE, of=BOX)
holder = function("holder", Key, to=Agent, kind=Kind.STATE, of=BOX)
claim = {"requirement": "R", "source": "example", "under": ("anyone",)}


def _draft() -> Draft:
    draft = Draft("box", "A box")
    draft.threat("anyone", "nothing is assumed")
    later = forall(lambda a, b, c: implies(before(a, b) & before(b, c), before(a, c)), Time, Time, Time)
    draft.axiom("line", later)
    draft.initially(clock, lambda k: start)

    @draft.claim(name="owned", sentence="A key is of the trusted.", **claim)  # type: ignore[arg-type] # a table of words
    def owned(a: Agent, k: Key) -> Formula:
        return implies(closed(a, k), trusted(a))

    return draft


def _with(action: Callable[..., None], draft: Draft | None = None) -> Protocol:
    draft = draft or _draft()
    draft.action(by=BOX, says="a step", source="example")(action)
    return draft.protocol()


def _facts(protocol: Protocol, action: str, symbol: str) -> set[str]:
    (write,) = (
        each
        for each in writes_of(protocol, rules_in(protocol))
        if (each.action, each.subject.symbol.name) == (action, symbol)
    )
    return {show(fact, ASCII) for fact in write.facts}


def _guessed(protocol: Protocol, symbol: str) -> dict[str, Shape]:
    reader = Reader(protocol, (), {})
    (subject,) = (each for each in protocol.symbols if each.name == symbol)
    return {show(each.invariant.body, ASCII): each.shape for each in reader.about(subject)}


# -- facts -----------------------------------------------------------------------------------------


def test_guards_that_the_step_leaves_alone_hold_after_it_and_others_do_not() -> None:
    def shut(step: Step, a: Agent, k: Key) -> None:
        step.require("trusted", trusted(a))
        step.require("opened", opened(a, k))
        step.require("not closed", ~closed(a, k))
        step.insert(closed(a, k))
        step.remove(opened(a, k))

    facts = _facts(_with(shut), "shut", "closed")
    assert {"trusted(a)", "~opened(a, k)"} <= facts
    assert not {"opened(a, k)", "~closed(a, k)"} & facts


def test_a_value_that_the_step_replaces_is_named_by_what_keeps_it() -> None:
    other = function("other", Key, to=Time, kind=Kind.STATE, of=BOX)

    def tick(step: Step, k: Key, t: Time) -> None:
        step.require("later", before(clock(k), t))
        step.insert(sent(k, clock(k)))
        step.set(other(k), clock(k))
        step.set(clock(k), t)

    facts = _facts(_with(tick), "tick", "sent")
    assert {"at 1 = other(k)", "before(at 1, clock(k))"} <= facts
    assert "at 1 = clock(k)" not in facts


def test_a_value_that_the_step_replaces_and_nothing_keeps_is_not_spoken_of() -> None:
    def tick(step: Step, k: Key, t: Time) -> None:
        step.require("was late", before(clock(k), start))
        step.insert(sent(k, t))
        step.set(clock(k), t)

    facts = _facts(_with(tick), "tick", "sent")
    assert "before(clock(k), start)" not in facts
    assert "clock(k) = t" in facts


def test_what_claims_and_axioms_make_of_the_guards_is_a_fact_too() -> None:
    def send(step: Step, a: Agent, k: Key, t: Time) -> None:
        step.require("closed", closed(a, k))
        step.insert(sent(k, t))

    assert "trusted(a)" in _facts(_with(send), "send", "sent")


def test_what_is_required_of_all_is_a_rule_for_each() -> None:
    def shut(step: Step, a: Agent, k: Key) -> None:
        step.require("all", forall(lambda t: implies(sent(k, t), before(t, clock(k))), Time))
        step.insert(closed(a, k))

    assert "closed(a, k) & sent(k, t) -> before(t, clock(k))" in _guessed(_with(shut), "closed")


def test_clauses_have_one_conclusion_each() -> None:
    def both(a: Agent, k: Key) -> Formula:
        return implies(opened(a, k) | closed(a, k), trusted(a) & used(k))

    draft = _draft()
    lemma = draft.lemma(both)
    said = {
        (*(show(each, ASCII) for each in rule.premises), show(rule.conclusion, ASCII)) for rule in rules_of(lemma.body)
    }
    facts, conclusions = ("opened(a, k)", "closed(a, k)"), ("trusted(a)", "used_key(k)")
    assert said == {(fact, conclusion) for fact in facts for conclusion in conclusions}


# -- candidates ------------------------------------------------------------------------------------


def _steps() -> Protocol:
    draft = _draft()

    @draft.action(by=BOX, says="{a} opens {k}", source="example")
    def open_box(step: Step, a: Agent, k: Key) -> None:
        step.fresh(k)
        step.require("trusted", trusted(a))
        step.insert(opened(a, k))

    @draft.action(by=BOX, says="{a} closes {k}", source="example")
    def close_box(step: Step, a: Agent, k: Key) -> None:
        step.require("opened", opened(a, k))
        step.insert(closed(a, k))
        step.set(holder(k), a)

    @draft.action(by=BOX, says="{k} sends", source="example")
    def send(step: Step, a: Agent, k: Key, t: Time) -> None:
        step.require("closed", closed(a, k))
        step.require("later", before(clock(k), t))
        step.insert(sent(k, clock(k)))
        step.set(clock(k), t)

    @draft.lemma
    def drawn(a: Agent, k: Key) -> Formula:
        """A key that is opened was drawn."""
        return implies(opened(a, k), used(k))

    return draft.protocol()


@pytest.mark.parametrize(
    ("symbol", "formula", "shape"),
    [
        ("opened", "opened(a, k) -> trusted(a)", Shape.WRITTEN),
        ("closed", "closed(a, k) -> opened(a, k)", Shape.WRITTEN),
        ("closed", "closed(a, k) -> holder(k) = a", Shape.WRITTEN),
        ("closed", "closed(a, k) -> used_key(k)", Shape.WRITTEN),
        ("sent", "sent(k, t) -> before(t, clock(k))", Shape.WRITTEN),
        ("sent", "closed(a, k) & sent(k, t) -> trusted(a)", Shape.WRITTEN),
        ("opened", "opened(a, k) & opened(a2, k) -> a = a2", Shape.ONE),
        ("opened", "closed(a, k) & opened(a2, k) -> a2 = a", Shape.ONE),
        ("sent", "sent(k, t) -> t = clock(k) | before(t, clock(k))", Shape.ORDER),
        ("sent", "sent(k, t) & sent(k, t2) -> ~before(t2, t)", Shape.ORDER),
        ("sent", "sent(k, t) -> used_key(k)", Shape.DRAWN),
        ("clock", "~used_key(k) -> clock(k) = start", Shape.DRAWN),
    ],
)
def test_each_shape_is_read_off(symbol: str, formula: str, shape: Shape) -> None:
    assert _guessed(_steps(), symbol)[formula] is shape


def test_what_is_stated_is_no_candidate() -> None:
    assert "opened(a, k) -> used_key(k)" not in _guessed(_steps(), "opened")
    assert "closed(a, k) -> trusted(a)" not in _guessed(_steps(), "closed")


def test_equal_formulas_have_equal_names_whoever_reads_them() -> None:
    numbers: dict[Term, int] = {}
    protocol = _steps()
    (subject,) = (each for each in protocol.symbols if each.name == "opened")
    first = {each.invariant.name: each.invariant for each in Reader(protocol, (), numbers).about(subject)}
    again = {each.invariant.name: each.invariant for each in Reader(protocol, (), numbers).about(subject)}
    assert first == again
    assert len({each.body for each in first.values()}) == len(first)


def test_candidates_speak_of_their_parameters_alone() -> None:
    protocol = _steps()
    for symbol in protocol.symbols:
        for each in Reader(protocol, (), {}).about(symbol):
            assert free_variables(each.invariant.body) == set(each.invariant.params)


def test_renaming_everything_renames_the_candidates_and_nothing_else() -> None:
    """Nothing is read off names: with other names for steps and guards, the candidates are the same."""
    draft = _draft()

    def one(step: Step, a: Agent, k: Key) -> None:
        step.require("trusted", trusted(a))
        step.insert(opened(a, k))

    def other(step: Step, a: Agent, k: Key) -> None:
        step.require("nonsense", trusted(a))
        step.insert(opened(a, k), name="something")

    assert _guessed(_with(one, draft), "opened") == _guessed(_with(other), "opened")
