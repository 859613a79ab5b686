"""Needham-Schroeder with shared keys (a ticket inside a message), with Denning and Sacco's replay.

1. a -> server: a, b, n
2. server -> a: {n, b, k, {k, a} under b's key} under a's key
3. a -> b: {k, a} under b's key
4. b -> a: {challenge, m} under k
5. a -> b: {response, m} under k

Under one threat model session keys may be lost, and an old ticket can be shown again. The sources are in
requirements.md, the normative text.
"""

from functools import partial

from carnet_spec.language import *
from carnet_spec.language.authoring import Claims, assumptions_from, fact, text_beside, unary
from carnet_spec.theories.dolev_yao import AuthenticatedEncryption, DolevYao, Known, Plaintext


class Agent(Individual):
    """A client of the server."""


class LongTerm(Individual):
    """A key that a client shares with the server."""


class Key(Individual, fresh=True):
    """A session key."""


class Nonce(Individual, fresh=True):
    """A nonce."""


class Turn(Individual):
    """Whose message it is, of two that have one form."""

    CHALLENGE = member()
    RESPONSE = member()


CLIENT, SERVER = Role("client"), Role("server")
THIEF = Role("thief", honest=False)
corrupt = rigid_relation("corrupt", Agent, kind=Kind.TRUTH, says="does what the adversary wants")
careless = rigid_flag("careless", kind=Kind.TRUTH, says="session keys may be lost")
own = rigid_function("own", Agent, to=LongTerm, says="the key that it shares with the server")

_knows = partial(relation, kind=Kind.KNOWLEDGE)
has_long = _knows("has_long", Agent, LongTerm, says="knows the long-term key")
has_key = _knows("has_key", Agent, Key, says="knows the session key")
has_nonce = _knows("has_nonce", Agent, Nonce, says="knows the nonce")
_message = partial(relation, kind=Kind.MESSAGE)
asked = _message("asked", Agent, Agent, Nonce, says="one asks for a key with another")
granted = _message("granted", Agent, Nonce, Agent, Key, Agent, Key, Agent, says="the first is given a key and a ticket")
ticket = _message("ticket", Agent, Key, Agent, says="for the first: the key is that of the second")
challenge = _message("challenge", Key, Nonce, says="under the key: who are you?")
response = _message("response", Key, Nonce, says="under the key: the answer")
_state = partial(relation, kind=Kind.STATE, of=CLIENT)
asks = _state("asks", Agent, Agent, Nonce, says="asked for a key")
uses = _state("uses", Agent, Agent, Key, says="was given the key")
doubts = _state("doubts", Agent, Agent, Key, Nonce, says="was shown a ticket, and sent a challenge")
answers = _state("answers", Agent, Agent, Key, Nonce, says="answered the challenge")
trusts = _state("trusts", Agent, Agent, Key, Nonce, says="takes the other one for its partner")
issued = relation("issued", Agent, Agent, Key, kind=Kind.GHOST, says="the server issued the key")
lost = relation("lost", Key, kind=Kind.GHOST, says="the key was lost")


TEXT = text_beside(__file__)


def draft(variant: str) -> Draft:
    """Draft the one design that there is."""
    tickets = Draft("tickets", "Tickets under shared keys", variant)
    assumptions_from(tickets, TEXT, built_in=("A1", "A2"))
    own_keys = forall(lambda a, b: implies(own(a) == own(b), a == b), Agent, Agent)
    tickets.axiom("everybody has a key of its own", own_keys, assumption="A3")
    tickets.threat("careful", "the adversary has the network, and no session key is lost", careful=~careless)
    tickets.threat("careless", "session keys that are in use may be lost, too")
    tickets.initially(has_long, lambda p, key: key == own(p))
    _steps(tickets)
    _deductions(tickets)
    _properties(tickets)
    return tickets


def _steps(tickets: Draft) -> None:
    def honest(agent: Agent) -> Formula:
        return ~corrupt(agent)

    @tickets.action(CLIENT, "NS78", says="{a} asks for a key with {b}: {n}.", actor=honest)
    def ask(step: Step, a: Agent, b: Agent, n: Nonce) -> None:
        step.message("{a} -> server: {a}, {b}, {n}")
        step.require("another", a != b)
        step.fresh(n)
        step.insert(asks(a, b, n), asked(a, b, n), has_nonce(a, n))

    @tickets.action(SERVER, "NS78", says="The server gives {a} the key {k}, with a ticket for {b}.")
    def grant(step: Step, a: Agent, b: Agent, n: Nonce, k: Key) -> None:
        step.message("server -> {a}: {n}, {b}, {k} and a ticket, under the key of {a}")
        step.require("asked", asked(a, b, n))
        step.fresh(k)
        step.insert(issued(a, b, k), granted(a, n, b, k, b, k, a))

    @tickets.action(CLIENT, "NS78", says="{a} shows {b} the ticket for {k}.", actor=honest)
    def show(step: Step, a: Agent, b: Agent, n: Nonce, k: Key, c: Agent, j: Key, d: Agent) -> None:
        """It cannot read the ticket, which may be any."""
        step.message("{a} -> {b}: ticket for {k}")
        step.require("asked", asks(a, b, n))
        step.require("granted", granted(a, n, b, k, c, j, d))
        step.insert(uses(a, b, k), ticket(c, j, d))

    @tickets.action(
        CLIENT, "NS78", says="{b} is shown the ticket for {k}, and sends {a} the challenge {m}.", actor=honest
    )
    def doubt(step: Step, b: Agent, a: Agent, k: Key, m: Nonce) -> None:
        step.message("{b} -> {a}: challenge {m}, under {k}")
        step.require("a ticket of another", ticket(b, k, a) & (a != b))
        step.fresh(m)
        step.insert(doubts(b, a, k, m), challenge(k, m), has_nonce(b, m))

    @tickets.action(CLIENT, "NS78", says="{a} answers the challenge {m} of {b}.", actor=honest)
    def answer(step: Step, a: Agent, b: Agent, k: Key, m: Nonce) -> None:
        step.message("{a} -> {b}: response {m}, under {k}")
        step.require("uses the key", uses(a, b, k))
        step.require("a challenge", challenge(k, m))
        step.insert(answers(a, b, k, m), response(k, m))

    @tickets.action(CLIENT, "NS78", says="{b} takes {a} for its partner.", actor=honest)
    def trust(step: Step, b: Agent, a: Agent, k: Key, m: Nonce) -> None:
        step.require("doubts", doubts(b, a, k, m))
        step.require("a response", response(k, m))
        step.insert(trusts(b, a, k, m))

    @tickets.action(THIEF, "DS81", says="{p} finds {k}, which {a} used.", cost=1)
    def lose(step: Step, p: Agent, a: Agent, b: Agent, k: Key) -> None:
        step.given("careless", careless & corrupt(p))
        step.given("in use", uses(a, b, k))
        step.insert(has_key(p, k), lost(k))


def _deductions(tickets: Draft) -> None:
    sealed = AuthenticatedEncryption
    with DolevYao(tickets, THIEF, Agent, corrupt) as theory:
        for knowledge, letters, what in (
            (has_long, "pql", "the long-term key {l}"),
            (has_key, "pqk", "the key {k}"),
            (has_nonce, "pqn", "the nonce {n}"),
        ):
            theory.pool(knowledge, letters, what)
        theory.draw(has_key, "pk", "the key {k}")
        theory.draw(has_nonce, "pn", "the nonce {n}")
        theory.message(asked, "pabn", lambda a, b, n: Plaintext(a, b, Known(has_nonce, n)), "a request of {a}")
        theory.message(
            granted,
            "panbkcjd",
            lambda a, n, b, k, c, j, d: sealed(
                Known(has_long, own(a)), Known(has_nonce, n), b, Known(has_key, k), Known(ticket, c, j, d)
            ),
            "a grant of {k} to {a}",
        )
        theory.message(
            ticket, "pbka", lambda b, k, a: sealed(Known(has_long, own(b)), Known(has_key, k), a), "a ticket for {b}"
        )
        theory.message(
            challenge, "pkm", lambda k, m: sealed(Known(has_key, k), Turn.CHALLENGE, Known(has_nonce, m)), "a challenge"
        )
        theory.message(
            response, "pkm", lambda k, m: sealed(Known(has_key, k), Turn.RESPONSE, Known(has_nonce, m)), "a response"
        )


# -- claims ------------------------------------------------------------------------------------------------------------


def _properties(tickets: Draft) -> None:
    claim = Claims(tickets, TEXT, ("careful", "careless"))

    @claim("secrecy", "NS78")
    def secrecy(a: Agent, b: Agent, k: Key, p: Agent) -> Formula:
        return implies(uses(a, b, k) & ~corrupt(b) & has_key(p, k) & ~lost(k), (p == a) | (p == b))

    @claim("present", "DS81", under=("careful",), fails_under=("careless",))
    def present(a: Agent, b: Agent, k: Key, m: Nonce) -> Formula:
        return implies(trusts(b, a, k, m) & ~corrupt(a), answers(a, b, k, m))

    @tickets.goal(sentence="Two honest agents take each other for partners.")
    def both(a: Agent, b: Agent, k: Key, m: Nonce) -> Formula:
        return trusts(b, a, k, m) & answers(a, b, k, m)

    @tickets.lemma
    def long_term_keys(p: Agent, a: Agent) -> Formula:
        """Nobody else knows an honest client's long-term key."""
        return implies(has_long(p, own(a)) & ~corrupt(a), p == a)

    @tickets.lemma
    def what_is_used(a: Agent, b: Agent, k: Key, m: Nonce, p: Agent) -> Formula:
        """Nothing is said of a key before it is drawn."""
        there = has_key(p, k) | issued(a, b, k) | ticket(b, k, a) | challenge(k, m) | response(k, m)
        return implies(there | lost(k), used(k))

    @tickets.lemma
    def what_is_granted(a: Agent, b: Agent, k: Key, n: Nonce, c: Agent, j: Key, d: Agent) -> Formula:
        """Nothing is granted before it is drawn."""
        return implies(granted(a, n, b, k, c, j, d), used(k) & used(j))

    @tickets.lemma
    def issued_once(a: Agent, b: Agent, c: Agent, d: Agent, k: Key) -> Formula:
        """A key is issued to two clients."""
        return implies(issued(a, b, k) & issued(c, d, k), (a == c) & (b == d))

    @tickets.lemma
    def messages_of_the_server(a: Agent, b: Agent, k: Key, n: Nonce, c: Agent, j: Key, d: Agent) -> Formula:
        """What is under an honest client's long-term key is the server's, in a grant or by itself."""
        grants = implies(granted(a, n, b, k, c, j, d) & ~corrupt(a), issued(a, b, k) & (c == b) & (j == k) & (d == a))
        inside = implies(granted(a, n, b, k, c, j, d) & ~corrupt(c), issued(d, c, j))
        return grants & inside & implies(ticket(b, k, a) & ~corrupt(b), issued(a, b, k))

    @tickets.lemma
    def issued_keys(
        a: Agent, b: Agent, k: Key, n: Nonce, c: Agent, d: Agent, e: Agent, f: Agent, j: Key, p: Agent
    ) -> Formula:
        """An honest pair's key is in their messages alone, and known to them alone unless it was lost."""
        granted_to = implies(granted(c, n, d, k, e, j, f), (c == a) & (d == b))
        inside = implies(granted(c, n, d, j, e, k, f), (f == a) & (e == b))
        shown = implies(ticket(d, k, c), (c == a) & (d == b))
        known = implies(has_key(p, k) & ~lost(k), (p == a) | (p == b))
        honest = issued(a, b, k) & ~corrupt(a) & ~corrupt(b)
        return implies(honest & ~lost(k), granted_to & inside & shown) & implies(honest, known)

    @tickets.lemma
    def what_clients_have(a: Agent, b: Agent, k: Key, m: Nonce) -> Formula:
        """Clients act on what the server issued, and a key that nobody can lose is not lost."""
        held = implies(uses(a, b, k) | doubts(b, a, k, m) & ~corrupt(b), issued(a, b, k))
        sound = implies(doubts(b, a, k, m), ~corrupt(b)) & implies(uses(a, b, k), ~corrupt(a))
        return held & sound & implies(lost(k), careless)

    @tickets.lemma
    def responses(a: Agent, b: Agent, k: Key, m: Nonce) -> Formula:
        """Under an honest pair's key that was not lost, the client that asked for it responds."""
        honest = issued(a, b, k) & ~corrupt(a) & ~corrupt(b) & ~lost(k)
        return implies(honest & response(k, m), answers(a, b, k, m))


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Put two honest clients beside one of the adversary's."""
    agents = ("ann", "ben", "eve")
    return Instance(
        elements={
            "Agent": agents,
            "LongTerm": tuple(f"key of {name}" for name in agents),
            "Key": ("k1", "k2"),
            "Nonce": tuple(f"n{number}" for number in range(1, scale["nonces"] + 1)),
        },
        relations={"corrupt": unary(("eve",)), "careless": fact(threat == "careless")},
        functions={"own": {(name,): f"key of {name}" for name in agents}},
        describes="2 honest clients, 1 of the adversary's",
    )


FAMILY = Family(
    id="tickets",
    title="Tickets under shared keys",
    draft=draft,
    instance=instance,
    profiles={"tiny": Profile("tiny", {"nonces": 2})},
    findings=(Finding("replay", "Denning and Sacco's replay", "careless", "present"),),
)
