"""The rules of deduction give what textbook deduction on terms gives, for every primitive, and misuse is refused."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_check.errors import InvalidSpecificationError
from carnet_check.loading.families import load
from carnet_check.semantics import Interpreter, State
from carnet_spec.language import *
from carnet_spec.language.notation import show
from carnet_spec.theories.dolev_yao import (
    AuthenticatedEncryption,
    DolevYao,
    Hash,
    Known,
    Mac,
    Plaintext,
    Primitive,
    PublicKeyEncryption,
    SharedSecret,
    Signature,
    SymmetricEncryption,
)


class Agent(Individual):
    """An agent."""


class Value(Individual, fresh=True):
    """A nonce or a key."""


class Exponent(Individual, fresh=True):
    """An exponent, and its share."""


class Tag(Individual):
    """What tells messages of one form apart."""

    INSIDE = member()
    OUTSIDE = member()


ADVERSARY = Role("adversary", honest=False)
corrupt = rigid_relation("corrupt", Agent, kind=Kind.TRUTH)
knows = relation("knows", Agent, Value, kind=Kind.KNOWLEDGE)
plain = relation("plain", Value, kind=Kind.MESSAGE)
stream = relation("stream", Value, Value, kind=Kind.MESSAGE)
order = relation("order", Value, Value, Agent, Value, kind=Kind.MESSAGE)
sealed = relation("sealed", Value, Value, kind=Kind.MESSAGE)
addressed = relation("addressed", Agent, Value, Agent, kind=Kind.MESSAGE)
signed = relation("signed", Agent, Value, kind=Kind.MESSAGE)
digest = relation("digest", Value, Value, kind=Kind.MESSAGE)
tag = relation("tag", Value, Value, kind=Kind.MESSAGE)
inner = relation("inner", Agent, Value, Value, kind=Kind.KNOWLEDGE)

outer = relation("outer", Agent, Value, Value, kind=Kind.MESSAGE)
wrapped = relation("wrapped", Value, Value, Value, kind=Kind.MESSAGE)
exponent = relation("exponent", Agent, Exponent, kind=Kind.KNOWLEDGE)
share = relation("share", Exponent, kind=Kind.MESSAGE)
secret = relation("secret", Agent, Exponent, Exponent, kind=Kind.KNOWLEDGE)
bound = relation("bound", Exponent, Exponent, kind=Kind.MESSAGE)
confirmed = relation("confirmed", Exponent, Exponent, Agent, kind=Kind.MESSAGE)

AGENTS, VALUES, EXPONENTS = ("ann", "eve", "mal"), ("k", "n"), ("x", "y", "z")
COLLUDERS = ("eve", "mal")
SORTS = {"Agent": AGENTS, "Value": VALUES, "Exponent": EXPONENTS}
RELATIONS = (
    *(knows, plain, stream, order, sealed, addressed, signed, digest, tag, inner, outer, wrapped),
    *(exponent, share, secret, bound, confirmed),
)


def has(value: Value) -> Known:
    return Known(knows, value)


def every_primitive() -> Draft:
    draft = Draft("deductions", "Deductions")
    with DolevYao(draft, ADVERSARY, Agent, corrupt) as theory:
        describe(theory)
    return draft


def describe(theory: DolevYao) -> None:
    theory.draw(knows, "pv", "{v}")
    theory.draw(exponent, "px", "{x}")
    theory.pool(knows, "pqv", "{v}")
    theory.pool(inner, "pqkv", "a sealed {v}")
    theory.message(plain, "pv", lambda v: Plaintext(has(v)), "{v}")
    theory.message(stream, "pkv", lambda k, v: SymmetricEncryption(has(k), has(v)), "{v} under {k}")
    theory.message(order, "pkuav", lambda k, u, a, v: SymmetricEncryption(has(k), has(u), a, has(v)), "an order of {a}")
    theory.message(sealed, "pkv", lambda k, v: AuthenticatedEncryption(has(k), has(v)), "{v} sealed under {k}")
    theory.message(addressed, "pavb", lambda a, v, b: PublicKeyEncryption(a, has(v), b), "{v} and {b} for {a}")
    theory.message(signed, "pav", lambda a, v: Signature(a, has(v)), "{v} signed by {a}")
    theory.message(digest, "puv", lambda u, v: Hash(has(u), has(v)), "the digest of {u} and {v}")
    theory.message(tag, "pkv", lambda k, v: Mac(has(k), has(v)), "the MAC of {v}")
    theory.message(
        inner, "pkv", lambda k, v: AuthenticatedEncryption(has(k), Tag.INSIDE, has(v)), "{v} inside, under {k}"
    )
    theory.message(outer, "pakv", lambda a, k, v: PublicKeyEncryption(a, Known(inner, k, v)), "a sealed {v} for {a}")
    theory.message(wrapped, "pkuv", lambda k, u, v: AuthenticatedEncryption(has(k), Known(digest, u, v)), "a digest")
    theory.exchange(exponent, share, secret, "pxy")
    theory.message(confirmed, "pxya", lambda x, y, a: Mac(SharedSecret(secret, x, y), a), "the MAC of {a}")
    theory.message(bound, "pxy", lambda x, y: Hash(SharedSecret(secret, x, y), Known(share, x)), "the digest")
    theory.pool(exponent, "pqx", "{x}")
    theory.pool(secret, "pqxy", "the secret of {x} and {y}")


DRAFT = every_primitive()
PROTOCOL = DRAFT.protocol()
INSTANCE = Instance(elements=SORTS, relations={"corrupt": frozenset((name,) for name in COLLUDERS)})
JUDGE = Interpreter(PROTOCOL, INSTANCE)

# -- textbook deduction, on terms: who has which term ------------------------------------------------------------------

Deducible = tuple[str, ...]
Holding = tuple[str, Deducible]  #: An agent, and a term that it has: a relation's name and its arguments.


def private(agent: str, owner: str) -> bool:
    return agent == owner or {agent, owner} <= set(COLLUDERS)


def taken_apart(agent: str, term: Deducible, has: Callable[[Deducible], bool]) -> Iterator[Deducible]:
    """Yield what an agent gets out of a term that it has."""
    match term:
        case ("plain", v) | ("signed", _, v):
            yield ("knows", v)
        case ("stream" | "sealed" | "inner", k, v) if has(("knows", k)):
            yield ("knows", v)
        case ("order", k, u, a, v):
            if has(("knows", k)):
                yield from (("knows", u), ("knows", v))
            if agent in COLLUDERS:
                yield from (("order", k, u, b, v) for b in AGENTS)
                yield from (("order", k, w, a, v) for w in VALUES if has(("knows", w)))
                yield from (("order", k, u, a, w) for w in VALUES if has(("knows", w)))
        case ("addressed", owner, v, _) if private(agent, owner):
            yield ("knows", v)
        case ("outer", owner, k, v) if private(agent, owner):
            yield ("inner", k, v)
        case ("wrapped", k, u, v) if has(("knows", k)) and agent in COLLUDERS:
            yield ("digest", u, v)
        case ("confirmed", x, y, a):
            yield ("confirmed", y, x, a)


def put_together(has: Callable[[Deducible], bool]) -> Iterator[Deducible]:
    """Yield the terms that a corrupt agent makes of those that it has."""
    for v, k in product(VALUES, VALUES):
        if has(("knows", v)):
            yield from (("plain", v), ("stream", k, v))
            yield from (("order", w, k, a, v) for w in VALUES for a in AGENTS if has(("knows", k)))
            yield from (("addressed", a, v, b) for a in AGENTS for b in AGENTS)
            yield from (("signed", a, v) for a in COLLUDERS)
            if has(("knows", k)):
                yield from (("sealed", k, v), ("digest", k, v), ("tag", k, v), ("inner", k, v))
        if has(("inner", k, v)):
            yield from (("outer", a, k, v) for a in AGENTS)
        if has(("digest", k, v)):
            yield from (("wrapped", key, k, v) for key in VALUES if has(("knows", key)))
    for x, y in product(EXPONENTS, EXPONENTS):
        if has(("exponent", x)):
            yield ("share", x)
        if has(("secret", x, y)):
            yield from (("confirmed", x, y, a) for a in AGENTS)
            if has(("share", x)):
                yield ("bound", x, y)


def deduced(start: set[Holding]) -> set[Holding]:
    """Return everything that agents have in the end: what is on a wire, all of them."""
    held = set(start)
    while True:
        more: set[Holding] = set()
        for agent in AGENTS:
            own = {term for other, term in held if other == agent}
            found = {part for term in own for part in taken_apart(agent, term, own.__contains__)}
            if agent in COLLUDERS:
                found |= {*put_together(own.__contains__)}
                shared = {term for term in own | found if term[0] in ("knows", "inner", "exponent", "secret")}
                more |= {(other, term) for other in COLLUDERS for term in shared}
            for x, y in product(EXPONENTS, EXPONENTS):
                if ("exponent", x) in own and ("share", y) in own:
                    found |= {("secret", x, y), ("secret", y, x)}
            more |= {holding for term in found for holding in holdings(agent, term)}
        if more <= held:
            return held
        held |= more


def is_on_a_wire(name: str) -> bool:
    return any(each.symbol.name == name and each.symbol.kind is Kind.MESSAGE for each in RELATIONS)


def holdings(agent: str, term: Deducible) -> list[Holding]:
    return [(other, term) for other in AGENTS if other == agent or is_on_a_wire(term[0])]


def as_rows(held: set[Holding]) -> Mapping[str, frozenset[tuple[str, ...]]]:
    def rows(each: Relation) -> frozenset[tuple[str, ...]]:
        name = each.symbol.name
        terms = [(agent, term[1:]) for agent, term in held if term[0] == name]
        return frozenset(row if is_on_a_wire(name) else (agent, *row) for agent, row in terms)

    return {each.symbol.name: rows(each) for each in RELATIONS}


Fact = tuple[Relation, tuple[str, ...]]


def rows_of(each: Relation) -> st.SearchStrategy[Fact]:
    row = st.tuples(*(st.sampled_from(SORTS[sort.name]) for sort in each.symbol.domain))
    return row.map(lambda drawn: (each, drawn))


facts_of_everything = st.lists(st.sampled_from(RELATIONS).flatmap(rows_of), max_size=8)


def saturated(facts: list[Fact]) -> State:
    rows = {each.symbol.name: frozenset(row for other, row in facts if other is each) for each in RELATIONS}
    return JUDGE.saturate(JUDGE.start().with_values(rows, {}))


@given(facts_of_everything)
def test_rules_deduce_what_is_deduced_on_terms(facts: list[Fact]) -> None:
    start = {
        holding
        for each, row in facts
        for holding in (
            holdings("", (each.symbol.name, *row))
            if each.symbol.kind is Kind.MESSAGE
            else [(row[0], (each.symbol.name, *row[1:]))]
        )
    }
    found = saturated(facts).relations
    expected = as_rows({(agent, term) for agent, term in deduced(start) if agent})
    assert {name: found[name] for name in expected} == expected


LEARNT: dict[str, tuple[list[Fact], str, bool]] = {
    "who has the key opens": ([(knows, ("ann", "k")), (sealed, ("k", "n"))], "ann", True),
    "nobody opens without the key": ([(sealed, ("k", "n"))], "eve", False),
    "the owner opens": ([(addressed, ("ann", "n", "eve"))], "ann", True),
    "a colluder opens what is for a fellow": ([(addressed, ("mal", "n", "ann"))], "eve", True),
    "nobody opens what is for an honest agent": ([(addressed, ("ann", "n", "eve"))], "eve", False),
    "a digest tells nothing": ([(digest, ("n", "n"))], "eve", False),
    "a MAC tells nothing, even with its key": ([(knows, ("eve", "k")), (tag, ("k", "n"))], "eve", False),
    "a signed value can be read": ([(signed, ("ann", "n"))], "eve", True),
    "what is inside is opened twice": ([(knows, ("eve", "k")), (outer, ("eve", "k", "n"))], "mal", True),
    "what is inside stays there without its key": ([(outer, ("eve", "k", "n"))], "eve", False),
    "colluders pool": ([(knows, ("eve", "n"))], "mal", True),
    "honest agents do not": ([(knows, ("ann", "n"))], "eve", False),
}


@pytest.mark.parametrize("why", LEARNT)
def test_an_agent_learns(why: str) -> None:
    facts, agent, learns = LEARNT[why]
    assert ((agent, "n") in saturated(facts).relations["knows"]) == learns


MADE: dict[str, tuple[Relation, tuple[str, ...], list[Fact], bool]] = {
    "a fellow colluder's signature": (signed, ("mal", "n"), [(knows, ("eve", "n"))], True),
    "no signature of an honest agent": (signed, ("ann", "n"), [(knows, ("eve", "n"))], False),
    "nothing without a part": (addressed, ("ann", "n", "eve"), [(knows, ("eve", "k"))], False),
    "no sealed message without the key": (sealed, ("k", "n"), [(knows, ("eve", "n"))], False),
    "a stream cipher's message without the key": (stream, ("k", "n"), [(knows, ("eve", "n"))], True),
    "an order of somebody else, without the key": (
        order,
        ("k", "n", "eve", "n"),
        [(order, ("k", "n", "ann", "n"))],
        True,
    ),
    "an order of a value of one's own, without the key": (
        order,
        ("k", "n", "ann", "k"),
        [(order, ("k", "n", "ann", "n")), (knows, ("eve", "k"))],
        True,
    ),
    "no order of a value of others": (order, ("k", "n", "ann", "k"), [(order, ("k", "n", "ann", "n"))], False),
    "no MAC without the key": (tag, ("k", "n"), [(knows, ("eve", "n"))], False),
    "nothing of what honest agents know": (digest, ("n", "n"), [(knows, ("ann", "n"))], False),
    "a MAC under a secret, from either end": (confirmed, ("y", "x", "ann"), [(confirmed, ("x", "y", "ann"))], True),
    "a MAC under a secret of one's own": (
        confirmed,
        ("y", "x", "ann"),
        [(exponent, ("eve", "x")), (share, ("y",))],
        True,
    ),
    "a digest out of a message": (digest, ("n", "n"), [(knows, ("eve", "k")), (wrapped, ("k", "n", "n"))], True),
    "no digest that an honest agent took out": (
        digest,
        ("n", "n"),
        [(knows, ("ann", "k")), (wrapped, ("k", "n", "n"))],
        False,
    ),
    "no digest that names the other share": (bound, ("y", "x"), [(bound, ("x", "y"))], False),
    "no MAC under a secret of others": (confirmed, ("y", "x", "ann"), [(share, ("x",)), (share, ("y",))], False),
    "a message with what was inside of another": (
        outer,
        ("ann", "k", "n"),
        [(outer, ("eve", "k", "n"))],
        True,
    ),
}


@pytest.mark.parametrize("why", MADE)
def test_colluders_make(why: str) -> None:
    made, row, facts, can = MADE[why]
    assert (row in saturated(facts).relations[made.symbol.name]) == can


lost = relation("lost", Agent, kind=Kind.TRUTH)


def test_who_loses_its_private_key_is_corrupt_from_then_on() -> None:
    draft = Draft("losses", "Losses")
    with DolevYao(draft, ADVERSARY, Agent, lambda agent: corrupt(agent) | lost(agent)) as theory:
        sent(theory)
        theory.exempt(knows)

    @draft.action(ADVERSARY, "tests")
    def lose(step: Step, a: Agent) -> None:
        step.insert(lost(a))

    judge = Interpreter(
        draft.protocol(), replace(INSTANCE, elements={name: SORTS[name] for name in ("Agent", "Value")})
    )
    before = judge.saturate(judge.start().with_values({"addressed": frozenset({("ann", "n", "eve")})}, {}))
    after = judge.step(before, draft.protocol().action("lose"), {"a": "ann"})
    assert [("eve", "n") in state.relations["knows"] for state in (before, after)] == [False, True]


def test_what_is_drawn_is_new_and_costs_a_move() -> None:
    draw = PROTOCOL.action("draw_knows")
    assert (draw.cost, draw.deduction, [var.name for var in draw.fresh]) == (1, False, ["v"])
    assert {env["p"] for env in JUDGE.enabled_by(draw, JUDGE.start())} == set(COLLUDERS)


def test_a_rule_is_where_its_message_is_declared() -> None:
    """Lints and editors point into the author's file, not into the theory."""
    places = {name: place for (kind, name), place in DRAFT.stated_at.items() if kind == "action"}
    assert {place.file for place in places.values() if place} == {__file__}
    assert len(places) == len(PROTOCOL.actions)


def test_rules_have_a_sentence_and_guards_with_names() -> None:
    rule = PROTOCOL.action("open_addressed")
    assert rule.says == "{p} opens {v} and {b} for {a}."
    assert {guard.name: show(guard.formula) for guard in rule.guards} == {
        "has the message": "addressed(a, v, b)",
        "has the key": "p = a ∨ corrupt(p) ∧ corrupt(a)",
    }
    assert [show(guard.formula) for guard in PROTOCOL.action("make_sealed").guards] == [
        "corrupt(p)",
        "knows(p, k)",
        "knows(p, v)",
    ]


def theory() -> DolevYao:
    return DolevYao(Draft("misuse", "Misuse"), ADVERSARY, Agent, corrupt).__enter__()


def described(*say: Callable[[DolevYao], object]) -> None:
    """Describe the messages of a draft whose honest agents send one, and know a value."""
    described_in(sends(), *say)


def sends() -> Draft:
    draft = Draft("sends", "Sends")

    @draft.action(Role("party"), "tests")
    def send(step: Step, a: Agent, v: Value) -> None:
        step.insert(knows(a, v), addressed(a, v, a))

    return draft


def described_in(draft: Draft, *say: Callable[[DolevYao], object]) -> None:
    with DolevYao(draft, ADVERSARY, Agent, corrupt) as theory:
        for each in say:
            each(theory)


def pooled(theory: DolevYao) -> None:
    theory.pool(knows, "pqv", "{v}")


def drawn(theory: DolevYao) -> None:
    theory.draw(knows, "pv", "{v}")


def sent(theory: DolevYao) -> None:
    theory.message(addressed, "pavb", lambda a, v, b: PublicKeyEncryption(a, has(v), b), "{v} for {a}")


def sent_inside(theory: DolevYao) -> None:
    theory.message(outer, "pakv", lambda a, k, v: PublicKeyEncryption(a, Known(inner, k, v)), "a sealed {v}")


def sent_with_a_digest(theory: DolevYao) -> None:
    theory.message(wrapped, "pkuv", lambda k, u, v: AuthenticatedEncryption(has(k), Known(digest, u, v)), "a digest")


INCOMPLETE: dict[str, tuple[tuple[Callable[[DolevYao], object], ...], str]] = {
    "a message that is sent": ((pooled, drawn), "addressed: nothing says what it is made of"),
    "values of the adversary": ((pooled, sent), "knows: nothing says that the adversary has values too"),
    "what honest agents know": ((sent,), "knows: nothing says that colluders tell each other"),
    "a message inside of another": ((pooled, drawn, sent, sent_inside), "inner: nothing says what it is made of"),
    "what is inside, pooled and not described": (
        (pooled, drawn, sent, sent_inside, lambda theory: theory.pool(inner, "pqkv", "a sealed {v}")),
        "inner: nothing says what it is made of",
    ),
    "what is inside, described and not pooled": (
        (
            pooled,
            drawn,
            sent,
            sent_inside,
            lambda theory: theory.message(inner, "pkv", lambda k, v: Hash(has(k), has(v)), ""),
        ),
        "inner: nothing says that colluders tell each other",
    ),
    "a message in a message": ((pooled, drawn, sent, sent_with_a_digest), "digest: nothing says what it is made of"),
}


@pytest.mark.parametrize("why", INCOMPLETE)
def test_what_is_left_open_is_refused(why: str) -> None:
    say, said = INCOMPLETE[why]
    with pytest.raises(MisuseError, match=re.escape(said)):
        described(*say)


def macs(first: tuple[Tag, ...], second: tuple[Tag, ...]) -> Callable[[DolevYao], None]:
    """Describe two messages that are both the MAC of a value, each beside its tags."""

    def describe(theory: DolevYao) -> None:
        theory.message(stream, "pkv", lambda k, v: Mac(has(k), *first, has(v)), "one MAC")
        theory.message(sealed, "pkv", lambda k, v: Mac(has(k), *second, has(v)), "the other MAC")

    return describe


@pytest.mark.parametrize("tags", [(), (Tag.INSIDE,)])
def test_two_messages_of_one_form_are_refused(tags: tuple[Tag, ...]) -> None:
    """Somebody takes one for the other, and no rule says so."""
    with pytest.raises(MisuseError, match="stream and sealed have one form, so each is taken for the other"):
        described(pooled, drawn, sent, macs(tags, tags))


def ciphers(one: Callable[..., Primitive], other: Callable[..., Primitive]) -> Callable[[DolevYao], None]:
    """Describe two messages under a key, each with a value."""

    def describe(theory: DolevYao) -> None:
        theory.message(stream, "pkv", one, "one message")
        theory.message(sealed, "pkv", other, "the other message")

    return describe


def test_two_messages_that_a_cipher_does_not_keep_apart_are_refused() -> None:
    """A tag in them is a field like others: somebody puts the other tag in its place, and no rule says so."""

    def tagged(k: Value, v: Value) -> Primitive:
        return SymmetricEncryption(has(k), Tag.INSIDE, has(v))

    for other in (
        lambda k, v: SymmetricEncryption(has(k), Tag.OUTSIDE, has(v)),
        lambda k, v: SymmetricEncryption(has(k), Known(knows, k), has(v)),
    ):
        with pytest.raises(MisuseError, match="stream and sealed are made by a cipher that lets fields be replaced"):
            described(pooled, drawn, sent, ciphers(tagged, other))
    for apart in (
        lambda k, v: AuthenticatedEncryption(has(k), Tag.OUTSIDE, has(v)),
        lambda k, v: SymmetricEncryption(has(k), has(v), Tag.OUTSIDE),
        lambda k, v: SymmetricEncryption(has(k), Tag.OUTSIDE, Tag.OUTSIDE, has(v)),
    ):
        described(pooled, drawn, sent, ciphers(tagged, apart))


within = relation("within", Value, Exponent, Exponent, Agent, kind=Kind.MESSAGE)
IN_TWO_ORDERS: dict[str, tuple[Callable[..., Primitive], str]] = {
    "a secret whose order counts": (
        lambda x, y, a: Mac(Known(secret, x, y), a),
        "secret, in confirmed, is the same with its exponents in the other order",
    ),
    "a message without an order, inside": (
        lambda x, y, a: Mac(SharedSecret(secret, x, y), a),
        "confirmed, in within, is the same with its exponents in the other order",
    ),
}


def exchanged(form: Callable[..., Primitive]) -> Callable[[DolevYao], None]:
    """Describe an exchange, a message of the secret, and one that has it inside."""

    def describe(theory: DolevYao) -> None:
        theory.draw(exponent, "px", "{x}")
        theory.pool(exponent, "pqx", "{x}")
        theory.pool(secret, "pqxy", "the secret")
        theory.message(within, "pkxya", lambda k, x, y, a: Hash(has(k), Known(confirmed, x, y, a)), "a digest")
        theory.message(confirmed, "pxya", form, "a MAC")
        theory.exchange(exponent, share, secret, "pxy")

    return describe


@pytest.mark.parametrize("why", IN_TWO_ORDERS)
def test_a_message_with_two_names_is_refused(why: str) -> None:
    """No rule says of the message around it that it is the same."""
    form, said = IN_TWO_ORDERS[why]
    with pytest.raises(MisuseError, match=said):
        described(pooled, drawn, sent, exchanged(form))


def test_a_share_gives_a_message_one_name() -> None:
    described(pooled, drawn, sent, exchanged(lambda x, y, a: Mac(SharedSecret(secret, x, y), Known(share, x), a)))


def test_a_tag_tells_messages_apart() -> None:
    described(pooled, drawn, sent, macs((Tag.INSIDE,), (Tag.OUTSIDE,)))


TWO_OF_ONE_FORM = """
from carnet_spec.language import *
from carnet_spec.theories.dolev_yao import DolevYao, Hash
class Agent(Individual): "An agent."
corrupt = rigid_relation("corrupt", Agent, kind=Kind.TRUTH)
one, two = (relation(name, Agent, kind=Kind.MESSAGE) for name in ("one", "two"))
draft = Draft("twins", "Twins")
with DolevYao(draft, Role("thief", honest=False), Agent, corrupt) as theory:
    theory.message(one, "pa", Hash, "the digest of {a}")
    theory.message(two, "pa", Hash, "another digest of {a}")
"""


def test_what_is_wrong_is_said_with_the_line_of_the_author(tmp_path: Path) -> None:
    file = tmp_path / "twins.py"
    file.write_text(TWO_OF_ONE_FORM, "utf-8")
    with pytest.raises(InvalidSpecificationError, match=r"^twins.py:8: one and two have one form"):
        load(str(file))
    other = tmp_path / "letters.py"
    other.write_text(TWO_OF_ONE_FORM.replace('one, "pa"', 'one, "p"'), "utf-8")
    with pytest.raises(InvalidSpecificationError, match=r"^letters.py:9: one: 'p' must be 2 different letters"):
        load(str(other))


def test_what_is_described_or_exempt_is_complete() -> None:
    described(pooled, drawn, sent)
    described(pooled, drawn, lambda theory: theory.exempt(addressed))
    described(sent, lambda theory: theory.exempt(knows))


@pytest.mark.parametrize("say", [sent, lambda theory: theory.exchange(exponent, share, secret, "pxy")])
def test_messages_are_described_where_the_end_is_looked_at(say: Callable[[DolevYao], object]) -> None:
    with pytest.raises(MisuseError, match="say what messages are in 'with DolevYao"):
        say(DolevYao(Draft("open", "Open"), ADVERSARY, Agent, corrupt))


def test_another_error_is_not_hidden_by_what_is_left_open() -> None:
    with pytest.raises(ZeroDivisionError):
        described(lambda theory: 1 // 0)


def anything(value: object) -> Any:
    """Return what a type checker would refuse."""
    return value


own = relation("own", Agent, Value, kind=Kind.STATE, of=Role("party"))
backwards = relation("backwards", Value, Agent, kind=Kind.KNOWLEDGE)
REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "a fresh value as if it were public": (
        lambda: theory().message(plain, "pv", Plaintext, ""),
        "not everybody knows the Value 'v': write Known(relation, value)",
    ),
    "a message inside of another": (
        lambda: theory().message(plain, "pv", lambda v: Plaintext(anything(Hash(has(v)))), ""),
        "a Hash inside of a message can be taken out: give it a relation",
    ),
    "something else inside": (lambda: Plaintext(anything("v")), "an element or Known, not 'v'"),
    "no primitive": (lambda: theory().message(plain, "pv", anything(has), ""), "made by a primitive, not a Known"),
    "an argument that is not inside": (
        lambda: theory().message(addressed, "pavb", lambda a, v, b: PublicKeyEncryption(a, has(v)), ""),
        "addressed: the message is not made of the Agent 'b': make it a field",
    ),
    "too few names": (lambda: theory().message(sealed, "pk", Plaintext, ""), "'pk' must be 3 different letters"),
    "one name twice": (lambda: theory().message(sealed, "pkk", Plaintext, ""), "'pkk' must be 3 different letters"),
    "a party's state": (lambda: Known(own), "own is of the kind STATE: a message is MESSAGE or KNOWLEDGE"),
    "known by nobody": (lambda: theory().pool(backwards, "pqa", ""), "its first argument must be the Agent that knows"),
    "pooled from a wire": (lambda: theory().pool(plain, "pqv", ""), "plain is on a wire"),
    "drawn in pairs": (lambda: theory().draw(inner, "pkv", ""), "an agent draws one value of a sort with fresh=True"),
    "drawn onto a wire": (lambda: theory().draw(plain, "pv", ""), "an agent draws one value"),
    "shares that agents know": (
        lambda: theory().exchange(exponent, exponent, secret, "pxy"),
        "agents know exponents, and secrets of two of them, and shares are on a wire",
    ),
    "secrets of one exponent": (lambda: theory().exchange(exponent, share, exponent, "px"), "secrets of two of them"),
    "two secrets": (
        lambda: theory().message(
            confirmed, "pxya", lambda x, y, a: Hash(SharedSecret(secret, x, y), SharedSecret(secret, y, x), a), ""
        ),
        "confirmed: a message has one SharedSecret, of two of its arguments",
    ),
}


@pytest.mark.parametrize("why", REFUSED)
def test_misuse_is_refused(why: str) -> None:
    misuse, said = REFUSED[why]
    with pytest.raises(MisuseError, match=re.escape(said)):
        misuse()
