"""Formulas are printed so that they can be read back, and shown as they are written, as text and as markup."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given

from carnet_spec.language import *
from carnet_spec.language import markup
from carnet_spec.language.notation import ASCII, MATH, show, show_lines
from carnet_spec.language.printing import (
    show_action,
    show_axiom,
    show_claim,
    show_goal,
    show_guard,
    show_initial,
    show_invariant,
    show_signature,
    show_symbol,
    show_update,
)
from carnet_spec.language.terms import *
from carnet_spec.trace import Trace, TraceStep
from tests.fixtures import toy
from tests.fixtures.shown_html import HOSTILE, read
from tests.unit.spec.language.vocabulary import *

ROWS: dict[str, tuple[Formula, str, str]] = {
    "an atom": (sent(boss, chosen), "sent(boss, chosen)", "sent(boss, chosen)"),
    "a flag": (ready, "ready", "ready"),
    "an equality": (phase == Phase.START, "phase = START", "phase = START"),
    "an inequality": (phase != Phase.START, "phase ≠ START", "phase != START"),
    "a negated atom": (~enrolled(owner(chosen)), "¬enrolled(owner(chosen))", "~enrolled(owner(chosen))"),
    "and in or": (any_of(ready & ready, ready), "ready ∧ ready ∨ ready", "ready & ready | ready"),
    "or in and": (all_of(any_of(ready, ready), ready), "(ready ∨ ready) ∧ ready", "(ready | ready) & ready"),
    "negated or": (~(ready | ready), "¬(ready ∨ ready)", "~(ready | ready)"),
    "an implication": (implies(ready & ready, ~ready), "ready ∧ ready → ¬ready", "ready & ready -> ~ready"),
    "implications to the right": (
        implies(ready, implies(ready, ready)),
        "ready → ready → ready",
        "ready -> ready -> ready",
    ),
    "implications to the left": (
        implies(implies(ready, ready), ready),
        "(ready → ready) → ready",
        "(ready -> ready) -> ready",
    ),
    "implication in and": (all_of(implies(ready, ready), ready), "(ready → ready) ∧ ready", "(ready -> ready) & ready"),
    "true and false": (implies(true, false), "true → false", "true -> false"),
    "sorts grouped": (
        forall(lambda a, b, k: own(a, k) & (a != b), Agent, Agent, Key),
        "∀a b: Agent, k: Key. own(a, k) ∧ a ≠ b",
        "forall a b: Agent, k: Key. own(a, k) & a != b",
    ),
    "like quantifiers joined": (
        forall(lambda a: forall(lambda k: own(a, k), Key), Agent),
        "∀a: Agent, k: Key. own(a, k)",
        "forall a: Agent, k: Key. own(a, k)",
    ),
    "unlike quantifiers apart": (
        forall(lambda k: exists(lambda a: own(a, k), Agent), Key),
        "∀k: Key. ∃a: Agent. own(a, k)",
        "forall k: Key. exists a: Agent. own(a, k)",
    ),
    "a quantifier inside": (
        all_of(exists(lambda a: enrolled(a), Agent), ready),  # noqa: PLW0108  # the name is shown
        "(∃a: Agent. enrolled(a)) ∧ ready",
        "(exists a: Agent. enrolled(a)) & ready",
    ),
    "one name twice, beside": (
        any_of(*(exists(lambda a: seen(a), Agent) for _ in range(2))),  # noqa: PLW0108  # as above
        "(∃a: Agent. seen(a)) ∨ (∃a: Agent. seen(a))",
        "(exists a: Agent. seen(a)) | (exists a: Agent. seen(a))",
    ),
    "one name twice, inside": (
        exists(lambda a: enrolled(a) & exists(lambda a: seen(a), Agent), Agent),  # noqa: PLW0108  # as above
        "∃a: Agent. enrolled(a) ∧ (∃a2: Agent. seen(a2))",
        "exists a: Agent. enrolled(a) & (exists a2: Agent. seen(a2))",
    ),
    "the name of a constant": (
        forall(lambda boss_: forall(lambda peer: enrolled(peer) & (peer != boss_), Agent) & enrolled(peer), Agent),
        "∀boss_: Agent. (∀peer2: Agent. enrolled(peer2) ∧ peer2 ≠ boss_) ∧ enrolled(peer)",
        "forall boss_: Agent. (forall peer2: Agent. enrolled(peer2) & peer2 != boss_) & enrolled(peer)",
    ),
}


@pytest.mark.parametrize("row", ROWS)
def test_a_formula_reads_as_people_write_it(row: str) -> None:
    formula, mathematics, plain = ROWS[row]
    assert show(formula.term) == mathematics
    assert show(formula.term, ASCII) == plain
    assert show_lines(formula.term) == [mathematics]


def test_rare_terms_can_be_shown() -> None:
    assert show(Not(Not(Equal(boss.term, peer.term)))) == "¬(boss ≠ peer)"
    chosen_by = IfThenElse(ready.term, boss.term, peer.term)
    assert show(Equal(chosen_by, boss.term)) == "(if ready then boss else peer) = boss"
    assert [show(And(())), show(Or(()))] == ["true", "false"]


def test_what_does_not_fit_is_laid_out_in_lines() -> None:
    formula = forall(
        lambda a, k: implies(
            own(a, k) & enrolled(a) & any_of(phase == Phase.START, phase == Phase.MIDDLE), knows(a, k) | ready
        ),
        Agent,
        Key,
    )
    assert show_lines(formula.term, MATH, 40) == [
        "∀a: Agent, k: Key.",
        "    ∧ own(a, k)",
        "    ∧ enrolled(a)",
        "    ∧ (phase = START ∨ phase = MIDDLE)",
        "  → knows(a, k) ∨ ready",
    ]
    assert show_lines(formula.term, ASCII, 40)[-1] == "  -> knows(a, k) | ready"
    assert "".join(show_lines(formula.term, MATH, 10_000)) == show(formula.term)


@given(formulas)
def test_no_line_is_lost(formula: Term) -> None:
    assert re.sub(r"[\s()∧∨]", "", "".join(show_lines(formula, MATH, 20))) == re.sub(r"[\s()∧∨]", "", show(formula))


class _Reader:
    """Reads ASCII formulas over the symbols of ``structures``: what a person would take them to mean."""

    def __init__(self, text: str, free: Mapping[str, Var]) -> None:
        self.tokens: list[str] = re.findall(r"->|!=|[\w']+|[^\s\w]", text)
        self.names = dict(free)

    def formula(self) -> Term:
        if self._peek() in ("forall", "exists"):
            return self._quantified()
        left = self._joined("|", Or, lambda: self._joined("&", And, self._unary))
        if self._peek() == "->":
            self._next()
            return Implies(left, self.formula())
        return left

    def _joined(self, sign: str, join: Any, part: Any) -> Term:
        parts = [part()]
        while self._peek() == sign:
            self._next()
            parts.append(part())
        joined: Term = join(tuple(parts)) if len(parts) > 1 else parts[0]
        return joined

    def _unary(self) -> Term:
        if self._peek() == "~":
            self._next()
            return Not(self._unary())
        if self._peek() == "(":
            self._next()
            inside = self.formula()
            assert self._next() == ")"
            return inside
        left = self._element()
        if self._peek() in ("=", "!="):
            sign, right = self._next(), self._element()
            return Equal(left, right) if sign == "=" else Not(Equal(left, right))
        return left

    def _element(self) -> Term:
        name = self._next()
        if name in ("true", "false"):
            return Truth(name == "true")
        if name in self.names:
            return self.names[name]
        members = [Member(sort, name) for sort in SORTS if name in (sort.members or ())]
        if members:
            return members[0]
        (symbol,) = [symbol for symbol in SYMBOLS if symbol.name == name]
        args: list[Term] = []
        while symbol.domain and self._next() in "(,":
            args.append(self._element())
            if self._peek() == ")":
                self._next()
                break
        return Apply(symbol, tuple(args))

    def _quantified(self) -> Term:
        kind = Forall if self._next() == "forall" else Exists
        outer, bound = dict(self.names), []
        while True:
            names = []
            while self._peek() != ":":
                names.append(self._next())
            self._next()
            (sort,) = [sort for sort in SORTS if sort.name == self._peek()]
            self._next()
            for name in names:
                self.names[name] = Var(name, sort)
                bound.append(self.names[name])
            if self._next() == ".":
                break
        body = self.formula()
        self.names = outer
        return kind(tuple(bound), body)

    def _peek(self) -> str:
        return self.tokens[0] if self.tokens else ""

    def _next(self) -> str:
        return self.tokens.pop(0)


@given(formulas, structures, meanings)
def test_what_is_printed_means_what_was_meant(formula: Term, structure: Structure, numbers: Mapping[Var, int]) -> None:
    names = {var: f"{var.sort.name.lower()}_{var.name}" for var in free_variables(formula)}
    free = {name: Var(name, var.sort) for var, name in names.items()}
    meaning = concrete(numbers, structure)
    renamed = {free[name]: meaning[var] for var, name in names.items()}
    reader = _Reader(show(formula, ASCII, names), free)
    read = reader.formula()
    assert not reader.tokens
    assert value(read, structure, renamed) == value(formula, structure, meaning)


def test_an_action_shows_its_parts() -> None:
    assert show_action(toy.FAMILY.protocol().action("lend")).splitlines() == [
        "action lend(to: Agent, key: Key) by lender",
        "    require 'at home': phase = HOME",
        "    fresh 'fresh key': key is new  [fresh-key]",
        "    update 'use key': insert used_key(key)",
        "    update 'set owner': owner(key) := to",
        "    update 'set current': current := key",
        "    update 'insert lent': insert lent(to, key)",
        "    update 'set phase': phase := AWAY",
    ]
    rule = show_action(toy.FAMILY.protocol().action("read"), ASCII)
    assert rule.splitlines()[:2] == [
        "rule read(user: Agent, key: Key) by adversary",
        "    given 'sent to it': lent(user, key) & corrupt(user)",
    ]


def test_an_update_of_every_element_names_it_after_its_sort() -> None:
    def wipe(step: Step, agent: Agent, key: Key) -> None:
        every: Any = step.each(Agent)
        other: Any = step.each(Key)
        step.remove(own(every, key), when=enrolled(every) & (every != agent))
        step.remove(own(every, other), name="all")
        step.insert(ready, unless="moat")

    draft = drafted(lambda d: d.defence("moat", "a moat"))
    draft.action(by=PARTY, says="x", source="y")(wipe)
    updates = [show_update(update) for update in draft.whole().action("wipe").updates]
    assert updates == [
        "remove own(agent2, key) for every agent2: Agent when enrolled(agent2) ∧ agent2 ≠ agent",
        "remove own(agent, key) for every agent: Agent, key: Key",
        "insert ready",
    ]
    assert show_action(draft.whole().action("wipe")).endswith("insert ready  [only without moat]")
    assert show_signature(draft.whole().action("wipe")) == "wipe(agent: Agent, key: Key)"


def test_claims_goals_axioms_and_the_rest() -> None:
    protocol = toy.FAMILY.protocol()
    assert show_claim(protocol.claim("secrecy")) == (
        "secrecy: ∀x: Agent, k: Key. knows(x, k) ∧ ¬corrupt(owner(k)) → x = owner(k)"
    )
    assert show_claim(protocol.claim("punctual")) == "punctual: declared, not stated yet"
    assert show_invariant(protocol.lemmas[1]) == "known_keys_are_used: ∀a: Agent, k: Key. knows(a, k) → used_key(k)"
    assert show_invariant(Invariant("calm", (), ready.term)) == "calm: ready"
    assert show_goal(protocol.goals[0], ASCII) == ("loan-ends: exists a: Agent, k: Key. returned(a, k) & phase = HOME")
    assert show_goal(Goal("calm", (), ready.term, "Calm.")) == "calm: ready"
    assert show_axiom(protocol.axioms[0]) == "lender honest: ¬corrupt(lender)"
    assert show_axiom(Axiom("calm", true.term)) == "calm: true"
    assert show_initial(protocol.initial[0]) == "phase = HOME"
    assert show_guard(protocol.action("take_back").guards[1]) == "returned(user, key)"


def test_symbols_and_initial_values() -> None:
    a = Var("a", Agent.sort)
    assert [show_symbol(symbol.symbol) for symbol in (own, owner)] == ["own(Agent, Key)", "owner(Key): Agent"]
    assert show_symbol(ready.term.symbol) == "ready"  # type: ignore[union-attr]
    assert show_symbol(phase.term.symbol) == "phase: Phase"  # type: ignore[union-attr]
    assert show_initial(Initial(seen.symbol, (a,), false.term)) == "¬seen(a)"
    assert show_initial(Initial(seen.symbol, (a,), true.term)) == "seen(a)"
    assert show_initial(Initial(seen.symbol, (a,), enrolled(Agent(a)).term)) == "seen(a) if and only if enrolled(a)"


@pytest.mark.parametrize("text", HOSTILE)
def test_every_text_is_shown_wherever_it_stands(text: str) -> None:
    table = markup.table(text, (text, text), [(text, text), (text, markup.lines([text, text]))])
    whole = markup.document(text, table, markup.details(text, markup.text_block([text])), markup.paragraph(text))
    shown = "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)
    assert read(whole).text.count(shown) == 12


def test_markup_is_escaped_once_and_directions_are_written_out() -> None:
    assert markup.escape_text("a\u202eb") == "a\\u202eb"
    assert markup.escape_text(markup.strong("<")) == "<strong>&lt;</strong>"
    assert markup.strong(markup.escape_text("&")) == "<strong>&amp;</strong>"
    empty = markup.table("none", ("a",), [])
    assert not empty
    assert not markup.details("none", empty)
    assert read(markup.document("none", empty)).tags == {"div", "p", "strong"}


def test_a_long_table_says_how_much_more_there_is() -> None:
    rows = [(str(number),) for number in range(markup.MOST_ROWS + 1_000)]
    text = markup.table("long", ("number",), rows)
    assert text.count("<tr>") == markup.MOST_ROWS + 2
    assert "… and 1,000 more" in text
    assert "more" not in markup.table("long", ("number",), rows[: markup.MOST_ROWS])


STEPS = (TraceStep("lend", "owner", (("k", "k1"), ("to", "bob"))), TraceStep("read", "bob"))


def test_a_trace_shows_its_steps_by_number() -> None:
    html = Trace("toy", "main", ("fresh-key", "lock"), "collusion", STEPS)._repr_html_()
    assert "Trace of toy, main without fresh-key, lock under collusion" in html
    assert "2 steps" in html
    rows = [line for line in html.splitlines() if 'scope="row"' in line]
    assert [read(row).text for row in rows] == ["1lendownerk = k1, to = bob", "2readbob"]
    assert "again" not in html


@pytest.mark.parametrize(
    ("loop", "says"), [(1, "from 2 on are taken again and again"), (2, "nothing happens any more")]
)
def test_a_lasso_says_what_is_taken_for_ever(loop: int, says: str) -> None:
    assert says in Trace("toy", "main", (), "", STEPS, loop)._repr_html_()


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_trace_is_shown_as_text(text: str) -> None:
    trace = Trace(text, text, (text,), text, (TraceStep(text, text, ((text, text),)),))
    read(trace._repr_html_())


def test_a_protocol_shows_parties_threat_models_claims_and_actions() -> None:
    protocol = toy.FAMILY.protocol("", ("fresh-key",))
    html = protocol._repr_html_()
    text = read(html).text
    assert "toy, main without fresh-key" in text
    names = [name for action in protocol.actions for name in (action.name, action.by.name)]
    names += [claim.name for claim in protocol.claims]
    names += [threat.id for threat in protocol.threats]
    assert [name for name in names if name not in text] == []
    assert [claim.sentence for claim in protocol.claims if claim.sentence not in text] == []
    adversary = next(line for line in html.splitlines() if ">adversary<" in line)
    assert ">no<" in adversary


def test_a_protocol_says_where_claims_fall_or_are_not_stated() -> None:
    protocol = toy.FAMILY.protocol()
    (claim, *_) = protocol.claims
    fallen = replace(claim, under=(), fails_under=("collusion",))
    declared = replace(claim, name="later", invariant=None, declared=True)
    html = replace(protocol, claims=(fallen, declared))._repr_html_()
    rows = [read(line).text for line in html.splitlines() if 'scope="row"' in line]
    assert f"{claim.name}{claim.sentence}collusion" in rows
    assert f"later{claim.sentence}not yet: it is only declared" in rows
    assert "of everybody" in replace(protocol, threats=())._repr_html_()


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_protocol_is_shown_as_text(text: str) -> None:
    protocol = toy.FAMILY.protocol()
    action = replace(protocol.actions[0], name=text, says=text, by=replace(protocol.actions[0].by, name=text))
    hostile = replace(
        protocol,
        title=text,
        id=text,
        variant=text,
        without=(text,),
        actions=(action,),
        claims=(replace(protocol.claims[0], name=text, sentence=text, under=(text,), fails_under=(text,)),),
        threats=(replace(protocol.threats[0], id=text, title=text),),
    )
    read(hostile._repr_html_())
