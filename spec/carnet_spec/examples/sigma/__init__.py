"""SIGMA, a Diffie-Hellman exchange with signatures and MACs, proved; its variants without one of them are attacked.

Whoever ends the exchange wants a secret that only the partner has, too, and to be named by the partner in turn. A
share is the generator to the power of an exponent that its owner drew; K is the secret of both exponents:

1. a -> b: share of x
2. b -> a: share of y, signature of b on both shares, MAC under K of the name b
3. a -> b: name a, signature of a on both shares, MAC under K of the name a

Everybody signs the other one's share first. The signature says whose share it is; the MAC says that this agent knows
the secret. Without signatures a man in the middle has a secret with each side. Without MACs, the identities are bound
to the wrong one: two honest agents have one secret, and one of them takes the other for somebody else.

The sources are in requirements.md, the normative text.
"""

from functools import partial

from carnet_spec.language import *
from carnet_spec.language.authoring import Claims, Falls, assumptions_from, expect_falls, text_beside
from carnet_spec.theories.dolev_yao import DolevYao, Known, Mac, SharedSecret, Signature

# -- words -------------------------------------------------------------------------------------------------------------


class Agent(Individual):
    """Whoever has a key pair for signatures: honest agents and those of the adversary."""


class Exponent(Individual, fresh=True):
    """A private exponent, and in messages the share that belongs to it."""


INITIATOR, RESPONDER = Role("initiator"), Role("responder")
ADVERSARY = Role("adversary", honest=False)

corrupt = rigid_relation("corrupt", Agent, kind=Kind.TRUTH, says="the agent does what the adversary wants")
knows = relation("knows", Agent, Exponent, kind=Kind.KNOWLEDGE, says="the agent knows the exponent")
secret = relation("secret", Agent, Exponent, Exponent, kind=Kind.KNOWLEDGE, says="the agent knows the secret of both")

_message = partial(relation, kind=Kind.MESSAGE)
share = _message("share", Exponent, says="the share of the exponent was sent")
signature = _message("signature", Agent, Exponent, Exponent, says="the agent's signature on the two shares")
mac = _message("mac", Exponent, Exponent, Agent, says="the MAC of the agent's name under the secret of both")

_initiator = partial(relation, kind=Kind.STATE, of=INITIATOR)
_responder = partial(relation, kind=Kind.STATE, of=RESPONDER)
began = _initiator("began", Agent, Exponent, says="the agent drew the exponent and began an exchange")
ended = _initiator("ended", Agent, Agent, Exponent, Exponent, says="it takes the other one for its partner")
replied = _responder("replied", Agent, Exponent, Exponent, says="it took the first share, and drew the second exponent")
accepted = _responder("accepted", Agent, Agent, Exponent, Exponent, says="it takes the other one for its partner")

# -- steps -------------------------------------------------------------------------------------------------------------


THREATS = ("network",)
SIGMA, UNSIGNED, WITHOUT_MACS = "sigma", "unsigned", "without-macs"
TEXT = text_beside(__file__)


def specify(draft: Draft) -> None:
    """Add what honest agents do, and what is deduced from their messages."""
    draft.defence("signature", "Everybody verifies the partner's signature on both shares.")
    draft.defence("mac", "Everybody verifies the MAC of the partner's name.")

    def honest(agent: Agent) -> Formula:
        return ~corrupt(agent)

    @draft.action(INITIATOR, "K03 section 5.1", actor=honest)
    def begin(step: Step, a: Agent, x: Exponent) -> None:
        step.says("{a} begins an exchange, and draws {x}.")
        step.message("{a} -> network: share of {x}")
        step.fresh(x)
        step.insert(began(a, x), knows(a, x), share(x))

    @draft.action(RESPONDER, "K03 section 5.1", actor=honest)
    def reply(step: Step, b: Agent, x: Exponent, y: Exponent) -> None:
        step.says("{b} replies to the share of {x}, and draws {y}.")
        step.message("{b} -> network: share of {y}, signature, MAC of {b}")
        step.require("a share", share(x))
        step.fresh(y)
        step.insert(replied(b, x, y), knows(b, y), share(y), signature(b, x, y), mac(x, y, b))

    @draft.action(INITIATOR, "K03 section 5.1", actor=honest)
    def end(step: Step, a: Agent, b: Agent, x: Exponent, y: Exponent) -> None:
        step.says("{a} takes {b} for its partner, and has the secret of {x} and {y}.")
        step.message("{a} -> {b}: name {a}, signature, MAC of {a}")
        step.require("began", began(a, x) & (a != b))
        step.require("a share", share(y))
        step.require("signature", signature(b, x, y), defence="signature")
        step.require("MAC", mac(x, y, b), defence="mac")
        step.insert(ended(a, b, x, y), signature(a, y, x), mac(x, y, a))

    @draft.action(RESPONDER, "K03 section 5.1", actor=honest)
    def accept(step: Step, b: Agent, a: Agent, x: Exponent, y: Exponent) -> None:
        step.says("{b} takes {a} for its partner, and has the secret of {x} and {y}.")
        step.require("replied", replied(b, x, y) & (a != b))
        step.require("signature", signature(a, y, x), defence="signature")
        step.require("MAC", mac(x, y, a), defence="mac")
        step.insert(accepted(b, a, x, y))

    with DolevYao(draft, ADVERSARY, Agent, corrupt) as theory:
        theory.draw(knows, "px", "exponent {x}")
        theory.pool(knows, "pqx", "exponent {x}")
        theory.exchange(knows, share, secret, "pxy")
        theory.pool(secret, "pqxy", "the secret of {x} and {y}")
        theory.message(
            signature,
            "paxy",
            lambda a, x, y: Signature(a, Known(share, x), Known(share, y)),
            "the signature of {a} on the shares of {x} and {y}",
        )
        theory.message(
            mac,
            "pxya",
            lambda x, y, a: Mac(SharedSecret(secret, x, y), a),
            "the MAC of {a} under the secret of {x} and {y}",
        )


# -- claims ------------------------------------------------------------------------------------------------------------

#: For each variant the claims that fall, and under which threat models.
FALLS: Falls = {
    UNSIGNED: dict.fromkeys(
        ("initiator-secrecy", "responder-secrecy", "initiator-agreement", "responder-agreement"), THREATS
    ),
    WITHOUT_MACS: dict.fromkeys(("initiator-agreement", "responder-agreement", "one-view"), THREATS),
}
#: For each variant the lemmas that do not hold in it.
UNTRUE = {
    UNSIGNED: ("signatures_are_verified",),
    WITHOUT_MACS: ("macs_are_verified", "macs_of_an_exchange", "macs_of_two_initiators"),
}


def state_properties(draft: Draft) -> None:
    """State what holds for any number of agents, exchanges and exponents, and the lemmas that make it inductive."""
    claim = Claims(draft, TEXT, THREATS)

    @claim("initiator-secrecy", "K03 section 2")
    def initiator_secrecy(a: Agent, b: Agent, x: Exponent, y: Exponent, p: Agent) -> Formula:
        return implies(ended(a, b, x, y) & ~corrupt(b) & secret(p, x, y), (p == a) | (p == b))

    @claim("responder-secrecy", "K03 section 2")
    def responder_secrecy(a: Agent, b: Agent, x: Exponent, y: Exponent, p: Agent) -> Formula:
        return implies(accepted(b, a, x, y) & ~corrupt(a) & secret(p, x, y), (p == a) | (p == b))

    @claim("initiator-agreement", "K03 section 2")
    def initiator_agreement(a: Agent, b: Agent, x: Exponent, y: Exponent) -> Formula:
        return implies(ended(a, b, x, y) & ~corrupt(b), replied(b, x, y))

    @claim("responder-agreement", "K03 section 2")
    def responder_agreement(a: Agent, b: Agent, x: Exponent, y: Exponent) -> Formula:
        return implies(accepted(b, a, x, y) & ~corrupt(a), ended(a, b, x, y))

    @claim("one-view", "K03 section 3.1; DvOW92")
    def one_view(a: Agent, b: Agent, c: Agent, x: Exponent, y: Exponent) -> Formula:
        return implies(ended(a, b, x, y) & accepted(b, c, x, y), a == c)

    @draft.goal(sentence="Two honest agents take each other for partners.")
    def both(a: Agent, b: Agent, x: Exponent, y: Exponent) -> Formula:
        return ended(a, b, x, y) & accepted(b, a, x, y)

    _lemmas(draft)
    expect_falls(draft, THREATS, FALLS, UNTRUE)


def _lemmas(draft: Draft) -> None:
    @draft.lemma
    def exponents_are_drawn_once(a: Agent, b: Agent, x: Exponent, y: Exponent, z: Exponent) -> Formula:
        """An exponent belongs to one exchange of one honest agent."""
        begun = implies(began(a, x), used(x) & ~corrupt(a) & implies(began(b, x), a == b))
        reply = implies(replied(a, x, y), used(x) & used(y) & ~corrupt(a) & ~began(b, y) & ~replied(b, y, x))
        return begun & reply & implies(replied(a, x, y) & replied(b, z, y), (a == b) & (x == z))

    @draft.lemma
    def what_is_used(p: Agent, x: Exponent, y: Exponent) -> Formula:
        """Nobody knows an exponent that was not drawn, and no message has its share."""
        one = implies(knows(p, x) | share(x), used(x))
        return one & implies(secret(p, x, y) | signature(p, x, y) | mac(x, y, p), used(x) & used(y))

    @draft.lemma
    def exponents_are_private(p: Agent, a: Agent, x: Exponent, z: Exponent) -> Formula:
        """Nobody else knows an exponent that an honest agent drew."""
        return implies((began(a, x) | replied(a, z, x)) & knows(p, x), p == a)

    @draft.lemma
    def secrets_are_private(
        p: Agent, a: Agent, b: Agent, x: Exponent, y: Exponent, u: Exponent, v: Exponent
    ) -> Formula:
        """Nobody else has the secret of two exponents that honest agents drew."""
        drawn = (began(a, x) | replied(a, u, x)) & (began(b, y) | replied(b, v, y))
        return implies(drawn & secret(p, x, y), (p == a) | (p == b))

    @draft.lemma
    def what_agents_have(a: Agent, b: Agent, x: Exponent, y: Exponent) -> Formula:
        """Who ended an exchange began it, who accepted a partner replied, and nobody is its own partner."""
        return implies(ended(a, b, x, y), began(a, x) & (a != b)) & implies(
            accepted(a, b, x, y), replied(a, x, y) & (a != b)
        )

    @draft.lemma
    def signatures_are_verified(a: Agent, b: Agent, x: Exponent, y: Exponent) -> Formula:
        """A partner signed both shares."""
        return implies(ended(a, b, x, y), signature(b, x, y)) & implies(accepted(b, a, x, y), signature(a, y, x))

    @draft.lemma
    def macs_are_verified(a: Agent, b: Agent, x: Exponent, y: Exponent) -> Formula:
        """There is a MAC of a responder's partner."""
        return implies(accepted(b, a, x, y), mac(x, y, a))

    @draft.lemma
    def what_is_signed(a: Agent, x: Exponent, y: Exponent) -> Formula:
        """Honest agents sign their own share behind another one."""
        return implies(signature(a, x, y) & ~corrupt(a), replied(a, x, y) | began(a, y))

    @draft.lemma
    def macs_of_an_exchange(a: Agent, b: Agent, c: Agent, x: Exponent, y: Exponent, z: Exponent) -> Formula:
        """With the secret of an initiator and a responder, these two alone make MACs, the initiator when it ends."""
        either = ((c == b) & (x == z)) | ((c == a) & ended(a, b, x, y))
        return implies(began(a, x) & replied(b, z, y) & (mac(x, y, c) | mac(y, x, c)), either)

    @draft.lemma
    def macs_of_two_initiators(a: Agent, b: Agent, c: Agent, x: Exponent, y: Exponent) -> Formula:
        """With the secret of two initiators nobody makes MACs."""
        return implies(began(a, x) & began(b, y), ~mac(x, y, c))


# -- design ------------------------------------------------------------------------------------------------------------


def sigma(variant: str) -> Draft:
    """Draft the named variant."""
    draft = Draft("sigma", "SIGMA, a signed Diffie-Hellman exchange", variant)
    assumptions_from(draft, TEXT, built_in=("A1", "A2", "A3", "A4"))
    draft.threat("network", "the adversary has the network, and any number of agents of its own")
    specify(draft)
    state_properties(draft)
    return draft


def instance(protocol: Protocol, threat: str, scale: Scale) -> Instance:
    """Put two honest agents beside one of the adversary's, who draw as many exponents as the scale says."""
    exponents = tuple(f"x{number}" for number in range(1, scale["exponents"] + 1))
    return Instance(
        elements={"Agent": ("alice", "bob", "mallory"), "Exponent": exponents},
        relations={"corrupt": frozenset({("mallory",)})},
        describes=f"2 honest agents, 1 of the adversary's, {len(exponents)} exponents",
    )


FAMILY = Family(
    id="sigma",
    title="SIGMA, a signed Diffie-Hellman exchange",
    draft=sigma,
    instance=instance,
    main=(SIGMA, UNSIGNED, WITHOUT_MACS),
    variants={
        SIGMA: Variant(SIGMA, "signatures on shares, and MACs of names"),
        UNSIGNED: Variant(UNSIGNED, "nobody looks at signatures", without=("signature",)),
        WITHOUT_MACS: Variant(WITHOUT_MACS, "nobody looks at MACs", without=("mac",)),
    },
    profiles={"tiny": Profile("tiny", {"exponents": 3})},
    findings=(
        Finding(
            "middle", "A man in the middle has a secret with the initiator", "network", "initiator-secrecy", UNSIGNED
        ),
        Finding("misbinding", "Identities are bound to the wrong one", "network", "one-view", WITHOUT_MACS),
    ),
)
