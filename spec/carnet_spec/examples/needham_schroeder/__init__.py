"""Needham-Schroeder with public keys, with Lowe's attack, and Lowe's repair, which is proved.

An initiator and a responder want to know that they talk to each other, and to share two nonces that only they know:

1. a -> b: {n, a} under the public key of b
2. b -> a: {n, m, b} under the public key of a
3. a -> b: {m} under the public key of b

Needham and Schroeder's second message has no name in it. Here it always has, and in the variant ``original`` nobody
looks at it, which comes to the same: what the adversary may change there makes no difference to anybody.

The sources are in requirements.md, the normative text.
"""

from functools import partial

from carnet_spec.language import *
from carnet_spec.language.authoring import Claims, Falls, assumptions_from, expect_falls, text_beside
from carnet_spec.theories.dolev_yao import DolevYao, Known, PublicKeyEncryption

# -- words -------------------------------------------------------------------------------------------------------------


class Agent(Individual):
    """Whoever has a key pair: honest agents and those of the adversary."""


class Nonce(Individual, fresh=True):
    """A random number that is used once."""


INITIATOR, RESPONDER = Role("initiator"), Role("responder")
ADVERSARY = Role("adversary", honest=False)

corrupt = rigid_relation("corrupt", Agent, kind=Kind.TRUTH, says="the agent does what the adversary wants")
knows = relation("knows", Agent, Nonce, kind=Kind.KNOWLEDGE, says="the agent knows the nonce")

_message = partial(relation, kind=Kind.MESSAGE)
first = _message("first", Agent, Nonce, Agent, says="a nonce and a name, for the first agent")
second = _message("second", Agent, Nonce, Nonce, Agent, says="two nonces and a name, for the first agent")
third = _message("third", Agent, Nonce, says="a nonce, for the agent")

_initiator = partial(relation, kind=Kind.STATE, of=INITIATOR)
_responder = partial(relation, kind=Kind.STATE, of=RESPONDER)
began = _initiator("began", Agent, Agent, Nonce, says="the first agent began a run with the second, and drew the nonce")
ended = _initiator("ended", Agent, Agent, Nonce, Nonce, says="it takes the other one for its partner in these nonces")
replied = _responder("replied", Agent, Agent, Nonce, Nonce, says="it took the first nonce, and drew the second one")
accepted = _responder("accepted", Agent, Agent, Nonce, Nonce, says="it takes the other one for its partner")

# -- steps -------------------------------------------------------------------------------------------------------------

THREATS = ("network",)
REPAIRED, ORIGINAL = "lowe", "original"
TEXT = text_beside(__file__)


def specify(draft: Draft) -> None:
    """Add what honest agents do, and what is deduced from their messages."""
    draft.defence("responder-named", "The initiator compares the name in the second message with its partner's.")

    def honest(agent: Agent) -> Formula:
        return ~corrupt(agent)

    @draft.action(INITIATOR, "NS78", actor=honest)
    def begin(step: Step, a: Agent, b: Agent, n: Nonce) -> None:
        step.says("{a} begins a run with {b}, and draws {n}.")
        step.message("{a} -> {b}: nonce {n} and name {a}, for {b}")
        step.require("with another", a != b)
        step.fresh(n)
        step.insert(began(a, b, n), knows(a, n), first(b, n, a))

    @draft.action(RESPONDER, "NS78", actor=honest)
    def reply(step: Step, b: Agent, a: Agent, n: Nonce, m: Nonce) -> None:
        step.says("{b} replies to {a}, and draws {m}.")
        step.message("{b} -> {a}: nonces {n} and {m} and name {b}, for {a}")
        step.require("from another", a != b)
        step.require("the first message", first(b, n, a))
        step.fresh(m)
        step.insert(replied(b, a, n, m), knows(b, m), second(a, n, m, b))

    @draft.action(INITIATOR, "NS78", actor=honest)
    def end(step: Step, a: Agent, b: Agent, n: Nonce, m: Nonce, named: Agent) -> None:
        step.says("{a} takes {b} for its partner, and sends {m} back.")
        step.message("{a} -> {b}: nonce {m}, for {b}")
        step.require("began", began(a, b, n))
        step.require("the second message", second(a, n, m, named))
        step.require("names the partner", named == b, defence="responder-named")
        step.insert(ended(a, b, n, m), third(b, m))

    @draft.action(RESPONDER, "NS78", actor=honest)
    def accept(step: Step, b: Agent, a: Agent, n: Nonce, m: Nonce) -> None:
        step.says("{b} takes {a} for its partner.")
        step.require("replied", replied(b, a, n, m))
        step.require("the third message", third(b, m))
        step.insert(accepted(b, a, n, m))

    def nonce(value: Nonce) -> Known:
        return Known(knows, value)

    with DolevYao(draft, ADVERSARY, Agent, corrupt) as theory:
        theory.draw(knows, "pn", "nonce {n}")
        theory.pool(knows, "pqn", "nonce {n}")

        theory.message(
            first, "pbna", lambda b, n, a: PublicKeyEncryption(b, nonce(n), a), "nonce {n} and name {a}, for {b}"
        )
        theory.message(
            second,
            "panmb",
            lambda a, n, m, b: PublicKeyEncryption(a, nonce(n), nonce(m), b),
            "nonces {n} and {m} and name {b}, for {a}",
        )
        theory.message(third, "pbm", lambda b, m: PublicKeyEncryption(b, nonce(m)), "nonce {m}, for {b}")


# -- claims ------------------------------------------------------------------------------------------------------------


#: For each variant the claims that fall, and under which threat models.
FALLS: Falls = {ORIGINAL: dict.fromkeys(("responder-secrecy", "responder-agreement"), THREATS)}
UNTRUE = {ORIGINAL: ("messages_with_a_reply",)}  #: For each variant the lemmas that do not hold in it.


def state_properties(draft: Draft) -> None:
    """State what holds for any number of agents, runs and nonces, and the lemmas that make it inductive."""
    claim = Claims(draft, TEXT, THREATS)

    @claim("initiator-secrecy", "NS78")
    def initiator_secrecy(a: Agent, b: Agent, n: Nonce, p: Agent) -> Formula:
        return implies(began(a, b, n) & ~corrupt(b) & knows(p, n), (p == a) | (p == b))

    @claim("responder-secrecy", "NS78")
    def responder_secrecy(a: Agent, b: Agent, n: Nonce, m: Nonce, p: Agent) -> Formula:
        return implies(replied(b, a, n, m) & ~corrupt(a) & knows(p, m), (p == a) | (p == b))

    @claim("initiator-agreement", "Lowe96")
    def initiator_agreement(a: Agent, b: Agent, n: Nonce, m: Nonce) -> Formula:
        return implies(ended(a, b, n, m) & ~corrupt(b), replied(b, a, n, m))

    @claim("responder-agreement", "Lowe96")
    def responder_agreement(a: Agent, b: Agent, n: Nonce, m: Nonce) -> Formula:
        return implies(accepted(b, a, n, m) & ~corrupt(a), ended(a, b, n, m))

    @draft.goal(sentence="Two honest agents take each other for partners.")
    def both(a: Agent, b: Agent, n: Nonce, m: Nonce) -> Formula:
        return accepted(b, a, n, m) & ended(a, b, n, m)

    _lemmas(draft)
    expect_falls(draft, THREATS, FALLS, UNTRUE)


def _lemmas(draft: Draft) -> None:
    @draft.lemma
    def nonces_are_drawn_once(a: Agent, b: Agent, c: Agent, d: Agent, n: Nonce, m: Nonce, o: Nonce) -> Formula:
        """A nonce belongs to one run of one honest agent."""
        begun = implies(began(a, b, n), used(n) & ~corrupt(a))
        one = implies(began(a, b, n) & began(c, d, n), (a == c) & (b == d))
        answer = implies(replied(b, a, n, m), used(m) & ~corrupt(b) & ~began(c, d, m))
        return begun & one & answer & implies(replied(b, a, n, m) & replied(d, c, o, m), (b == d) & (a == c) & (n == o))

    @draft.lemma
    def what_is_used(p: Agent, a: Agent, b: Agent, n: Nonce, m: Nonce) -> Formula:
        """Nobody knows a nonce that was not drawn, and no message has it."""
        there = knows(p, n) | first(b, n, a) | second(a, n, m, b) | second(a, m, n, b) | third(b, n)
        return implies(there, used(n))

    @draft.lemma
    def first_messages_of_honest_runs(a: Agent, b: Agent, n: Nonce, c: Agent, d: Agent) -> Formula:
        """A first message has the nonce of an honest run only if it is that run's."""
        return implies(began(a, b, n) & ~corrupt(b) & first(d, n, c), (c == a) & (d == b))

    @draft.lemma
    def second_messages_of_honest_runs(a: Agent, b: Agent, n: Nonce, m: Nonce, c: Agent, d: Agent) -> Formula:
        """A second message has the initiator's nonce of an honest run only as the reply in it."""
        reply = (c == a) & (d == b) & replied(b, a, n, m)
        return implies(
            began(a, b, n) & ~corrupt(b), implies(second(c, n, m, d), reply) & ~second(c, m, n, d) & ~third(d, n)
        )

    @draft.lemma
    def messages_with_a_reply(a: Agent, b: Agent, n: Nonce, m: Nonce, c: Agent, d: Agent, o: Nonce) -> Formula:
        """The nonce of a reply to an honest agent is in that reply, and returned by that agent."""
        reply = implies(second(c, o, m, d), (c == a) & (d == b) & (o == n)) & ~first(d, m, c) & ~second(c, m, o, d)
        return implies(replied(b, a, n, m) & ~corrupt(a), reply & implies(third(d, m), (d == b) & ended(a, b, n, m)))


# -- design ------------------------------------------------------------------------------------------------------------


def needham_schroeder(variant: str) -> Draft:
    """Draft the named variant."""
    draft = Draft("needham-schroeder", "Needham-Schroeder with public keys", variant)
    assumptions_from(draft, TEXT, built_in=("A1", "A2", "A3"))
    draft.threat("network", "the adversary has the network, and any number of agents of its own")
    specify(draft)
    state_properties(draft)
    return draft


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Put two honest agents beside one of the adversary's, who draw as many nonces as the scale says."""
    nonces = tuple(f"n{number}" for number in range(1, scale["nonces"] + 1))
    return Instance(
        elements={"Agent": ("alice", "bob", "mallory"), "Nonce": nonces},
        relations={"corrupt": frozenset({("mallory",)})},
        describes=f"2 honest agents, 1 of the adversary's, {len(nonces)} nonces",
    )


FAMILY = Family(
    id="needham-schroeder",
    title="Needham-Schroeder with public keys",
    draft=needham_schroeder,
    instance=instance,
    main=(REPAIRED, ORIGINAL),
    variants={
        REPAIRED: Variant(REPAIRED, "Lowe's repair: the second message names the responder"),
        ORIGINAL: Variant(ORIGINAL, "as published in 1978: nobody is named", without=("responder-named",)),
    },
    profiles={"tiny": Profile("tiny", {"nonces": 3})},
    findings=(
        Finding("lowe", "Lowe's man in the middle", "network", "responder-agreement", ORIGINAL),
        Finding("lowe-nonce", "Lowe's man in the middle knows the nonce", "network", "responder-secrecy", ORIGINAL),
    ),
)
