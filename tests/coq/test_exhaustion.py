"""Certificates of exhausted instances: what is true is accepted, and what is wrong with states or claims is refused."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from carnet_check.coq.program import INSTANCE, check_exhaustion, write
from carnet_check.engines.explicit.engine import visit
from carnet_check.errors import CarnetError
from carnet_check.exports.exhaustion import States
from carnet_check.semantics import Interpreter, NotEnabled, State
from carnet_spec import language
from carnet_spec.language.terms import BOOL, TRUE, And, Apply, Equal, Implies, Not, Term, Var
from tests.coq.certifiable import without_choices
from tests.coq.coq_files import exhaust
from tests.fixtures.protocols import protocol_of
from tests.property.random_protocols import samples

# -- a lamp that is passed on, seen by everybody to whom it was shown -----------------------------------------------

PARTY = language.Sort("Party")
ANYONE = language.Role("anyone")
X, Y = Var("x", PARTY), Var("y", PARTY)
HOLDER = language.Symbol("holder", (), PARTY, language.Kind.STATE, mutable=True)
LIT = language.Symbol("lit", (), BOOL, language.Kind.STATE, mutable=True)
SHOWN = language.Symbol("shown", (PARTY,), BOOL, language.Kind.STATE, mutable=True)
SEEN = language.Symbol("seen", (PARTY,), BOOL, language.Kind.KNOWLEDGE, mutable=True)


def holds(symbol: language.Symbol, *args: Term) -> Apply:
    return Apply(symbol, args)


def action(
    name: str, params: tuple[Var, ...], guard: Term, *updates: language.Update, rule: bool = False
) -> language.Action:
    return language.Action(name, ANYONE, params, (language.Guard("may", guard),), updates, name, "", deduction=rule)


LAMP = protocol_of(
    "lamp",
    variant="lamp",
    actions=(
        action("light", (), Not(holds(LIT)), language.Update("lit", LIT, language.Effect.INSERT, ())),
        action(
            "pass_on",
            (X, Y),
            And((holds(LIT), Equal(holds(HOLDER), X), Not(Equal(X, Y)))),
            language.Update("holder", HOLDER, language.Effect.ASSIGN, (), Y),
            language.Update("shown", SHOWN, language.Effect.INSERT, (Y,)),
        ),
        action("see", (X,), holds(SHOWN, X), language.Update("seen", SEEN, language.Effect.INSERT, (X,)), rule=True),
    ),
    sorts=(PARTY,),
    symbols=(HOLDER, LIT, SHOWN, SEEN),
)
PAIR = language.Instance({"Party": ("a", "b")})
ONLY_SHOWN = language.Invariant("only shown", (X,), Implies(holds(SEEN, X), And((holds(LIT), holds(SHOWN, X)))))
ALWAYS_SEEN = language.Invariant("always seen", (X,), Implies(holds(SHOWN, X), holds(SEEN, X)))


def claiming(protocol: language.Protocol, *invariants: language.Invariant) -> language.Protocol:
    claims = tuple(language.Claim(each.name, each, each.name, "", "", ()) for each in invariants)
    return replace(protocol, claims=claims, lemmas=(), threats=(), axioms=())


def accepted(
    folder: Path, protocol: language.Protocol, instance: language.Instance, states: States | None = None
) -> bool:
    """Have the program judge that all claims hold in the states, by default those that the engine visits."""
    invariants = [claim.checked for claim in protocol.claims]
    found = states or visit(protocol, instance, invariants, ()).states
    write(folder, protocol, instance, "", [claim.name for claim in protocol.claims], found)
    return check_exhaustion(exhaust(), folder).accepted


def test_what_holds_in_every_state_is_accepted(tmp_path: Path) -> None:
    assert accepted(tmp_path, claiming(LAMP, ONLY_SHOWN), PAIR)


def test_a_protocol_may_have_no_sort(tmp_path: Path) -> None:
    light, *_ = LAMP.actions
    lamp = replace(LAMP, actions=(light,), sorts=(), symbols=(LIT,))
    lit, never = language.Invariant("lit or not", (), TRUE), language.Invariant("never lit", (), Not(holds(LIT)))
    assert accepted(tmp_path, claiming(lamp, lit), language.Instance({}))
    assert not accepted(tmp_path, claiming(lamp, never), language.Instance({}))


def test_a_claim_that_wants_a_rule_to_be_taken_is_refused(tmp_path: Path) -> None:
    """In saturated states it holds; between a step and the rule that follows it does not."""
    lamp = claiming(LAMP, ALWAYS_SEEN)
    assert not visit(lamp, PAIR, [ALWAYS_SEEN], ()).fallen
    assert not accepted(tmp_path, lamp, PAIR)


def test_a_claim_that_fails_is_refused(tmp_path: Path) -> None:
    nobody = language.Invariant("nobody", (X,), Not(holds(SEEN, X)))
    assert visit(LAMP, PAIR, [nobody], ()).fallen == {"nobody"}
    assert not accepted(tmp_path, claiming(LAMP, nobody), PAIR)


def test_a_rule_that_is_read_negatively_is_refused(tmp_path: Path) -> None:
    hide = action("hide", (X,), Not(holds(SEEN, X)), language.Update("lit", LIT, language.Effect.REMOVE, ()))
    hiding = claiming(replace(LAMP, actions=(*LAMP.actions, hide)), ONLY_SHOWN)
    assert not accepted(tmp_path, hiding, PAIR)


def with_rows(states: States, rows: list[bytes], start: int) -> States:
    columns = b"".join(bytes(row[column] for row in rows) for column in range(states.bytes_each))
    return replace(states, rows=len(rows), columns=columns, start=start)


def test_every_state_is_needed(tmp_path: Path) -> None:
    lamp = claiming(LAMP, ONLY_SHOWN)
    states = visit(lamp, PAIR, [ONLY_SHOWN], ()).states
    rows = [states.columns[row :: states.rows] for row in range(states.rows)]
    first = rows[states.start]
    assert accepted(tmp_path, lamp, PAIR, with_rows(states, rows[::-1], rows[::-1].index(first)))
    for missing in rows:
        others = [row for row in rows if row != missing]
        start = others.index(first) if missing != first else 0
        assert not accepted(tmp_path, lamp, PAIR, with_rows(states, others, start))


def test_what_is_known_of_facts_is_checked(tmp_path: Path) -> None:
    """A bit that says exactly what a rule may still insert, and a fact that is said never to hold or always to."""
    lamp = claiming(LAMP, ONLY_SHOWN)
    states = visit(lamp, PAIR, [ONLY_SHOWN], ()).states
    at_most = [fact for fact, status in states.known.items() if status[0] == "AtMost"]
    bits = {fact: status[1] for fact, status in states.known.items() if not isinstance(status, str)}
    assert {fact[0] for fact in at_most} == {"seen"}
    for fact in at_most:
        assert not accepted(
            tmp_path, lamp, PAIR, replace(states, known={**states.known, fact: ("Exactly", bits[fact])})
        )
    for fact, status in itertools.product(bits, ("Never", "Always")):
        assert not accepted(tmp_path, lamp, PAIR, replace(states, known={**states.known, fact: status}))


def test_what_a_claim_reads_has_to_be_known(tmp_path: Path) -> None:
    lamp = claiming(LAMP, ONLY_SHOWN)
    states = visit(lamp, PAIR, [ONLY_SHOWN], ()).states
    known = {fact: "Open" if fact[0] == "shown" else status for fact, status in states.known.items()}
    assert not accepted(tmp_path, lamp, PAIR, replace(states, known=known))


def test_the_instance_is_a_model_of_what_is_assumed(tmp_path: Path) -> None:
    assert accepted(tmp_path, claiming(LAMP, ONLY_SHOWN), PAIR)
    text = (tmp_path / INSTANCE).read_text("utf-8")
    assert text.count("(Threat ())") == 1
    (tmp_path / INSTANCE).write_text(text.replace("(Threat ())", "(Threat ((Const false)))"), "utf-8")
    assert not check_exhaustion(exhaust(), tmp_path).accepted


@pytest.mark.parametrize(("first", "begun"), [("(() 1)", True), ("(() 1) (() 2)", False), ("(() 3)", False)])
def test_limits_that_no_first_state_has_are_refused(tmp_path: Path, first: str, begun: bool) -> None:
    assert accepted(tmp_path, claiming(LAMP, replace(ONLY_SHOWN, body=TRUE)), PAIR)
    text = (tmp_path / INSTANCE).read_text("utf-8")
    assert text.count("(Limits () ((1 ((() 1)))))") == 1
    (tmp_path / INSTANCE).write_text(text.replace("((() 1))", f"({first})"), "utf-8")
    assert check_exhaustion(exhaust(), tmp_path).accepted is begun


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("(Rules", "(Rule", "expected an instance"),
        ("(Exactly 0 0)", "(Exactly 0 60)", "expected a bit below 60"),
        ("(Exactly 0 0)", "(Perhaps 0 0)", "expected what is known of a fact"),
        ("(States ", "(States 9", "expected 9"),
    ],
)
def test_what_cannot_be_read_is_told(tmp_path: Path, old: str, new: str, said: str) -> None:
    accepted(tmp_path, claiming(LAMP, ONLY_SHOWN), PAIR)
    text = (tmp_path / INSTANCE).read_text("utf-8")
    assert old in text
    (tmp_path / INSTANCE).write_text(text.replace(old, new, 1), "utf-8")
    with pytest.raises(CarnetError, match=said):
        check_exhaustion(exhaust(), tmp_path)


def test_a_budget_is_refused(tmp_path: Path) -> None:
    with pytest.raises(language.SpecificationError, match="bounds the adversary's moves"):
        accepted(tmp_path, claiming(LAMP, ONLY_SHOWN), replace(PAIR, budget=1))


# -- random protocols -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, repr=False)
class Random:
    protocol: language.Protocol
    instance: language.Instance


@st.composite
def random_instances(draw: st.DrawFn) -> Random:
    sample = draw(samples())
    actions = tuple(map(without_choices, sample.protocol.actions))
    protocol = claiming(replace(sample.protocol, actions=actions), *sample.invariants)
    return Random(protocol, replace(sample.instance, budget=None))


def next_states(judge: Interpreter, state: State) -> Iterator[State]:
    """Yield where one step leads: an action or a rule, alone, with any values that are unused where they are drawn."""
    for each in judge.protocol.actions:
        pools = [judge.instance.pools.get((each.name, var.name), judge.instance.of(var.sort)) for var in each.params]
        for row in itertools.product(*pools):
            env = {var.name: element for var, element in zip(each.params, row, strict=True)}
            try:
                yield judge.fire(state, each, env)
            except NotEnabled:
                continue


def all_states(judge: Interpreter, most: int) -> set[State] | None:
    found = {judge.start()}
    waiting = list(found)
    while waiting:
        fresh = set(next_states(judge, waiting.pop())) - found
        found |= fresh
        waiting += fresh
        if len(found) > most:
            return None
    return found


@pytest.mark.parametrize("examples", [40, pytest.param(500, marks=[pytest.mark.slow, pytest.mark.timeout(900)])])
def test_what_is_accepted_of_random_protocols_is_true(tmp_path: Path, examples: int) -> None:
    """The judge takes every step alone, rules too, with every unused value, and finds no claim broken."""
    exhaust()
    seen = {"accepted": 0, "refused": 0, "compared": 0}

    @settings(max_examples=examples, deadline=None, suppress_health_check=list(HealthCheck))
    @given(random_instances())
    def compared(random: Random) -> None:
        protocol, judge = random.protocol, Interpreter(random.protocol, random.instance)
        for claim in protocol.claims:
            one = replace(protocol, claims=(claim,))
            if not accepted(tmp_path, one, random.instance):
                seen["refused"] += 1
                continue
            seen["accepted"] += 1
            states = all_states(judge, 2_000)
            if states is not None:
                seen["compared"] += 1
                assert all(judge.holds(claim.checked.formula, state) for state in states)

    compared()
    assert seen["compared"] > examples / 8, seen
    assert seen["refused"] > examples / 8, seen
