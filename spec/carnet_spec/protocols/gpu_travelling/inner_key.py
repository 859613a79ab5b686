"""The inner key: holder and verified code agree on a key for one epoch, on top of any link key schedule.

Code on the GPU draws a share of a key exchange and sends the public half home. The orchestrator, which has verified
the code and fenced everything else, takes it for the code's, and names it beside the next holder's grant, over the
attested channel. The holder draws its own half, and seals each chunk twice: under the inner key, and under the link
key. So a recorded chunk opens only for somebody who has the link key *and* a private half.

Nobody who only records ever has a private half. Who interferes gets one: foreign code on the GPU reads the code's from
memory or answers in its place, and a colluder with the link key reads memory, where the chunk lies open anyway.
"""

from functools import partial

from carnet_spec.language import *
from carnet_spec.protocols.gpu_travelling.adversary import Hardware
from carnet_spec.protocols.gpu_travelling.vocabulary import *


class Share(Individual, fresh=True):
    """One side's part of a key exchange: a private half, and the public half that is sent."""


_message = partial(relation, kind=Kind.MESSAGE)
share_sent = _message("share_sent", Key, Share, says="a public half came home under the key")
share_named = _message("share_named", Agent, Agent, Key, Share, says="the grant from one to another names the share")
share_answered = _message(
    "share_answered", Agent, Key, Share, says="the holder's own public half, in answer to the share"
)
share_taken = relation(
    "share_taken", Session, Share, kind=Kind.STATE, of=ORCHESTRATOR, says="it takes the share for the verified code's"
)
share_used = relation("share_used", Agent, Key, Share, kind=Kind.STATE, of=HOLDER, says="the inner key comes from it")
share_held = relation(
    "share_held", Gpu, Session, Share, kind=Kind.STATE, of=GPU, says="in that session, code memory has the private half"
)
share_known = relation("share_known", Agent, Share, kind=Kind.KNOWLEDGE, says="knows the private half")

_EXCHANGE = "Carnet (an inner key): authenticated key exchange of holder and verified code"


def specify_inner_key(draft: Draft, hardware: Hardware) -> None:
    """Add the key exchange, the deductions about it, and its use by honest parties."""
    by_adversary = partial(draft.action, ADVERSARY)
    rule = partial(draft.rule, ADVERSARY)

    @draft.action(GPU, _EXCHANGE, actor=genuine)
    def make_share(step: Step, g: Gpu, s: Session, k: Key, h: Share) -> None:
        """The private half stays in code memory, where no scrub looks."""
        step.says("Code on {g} draws the share {h} and sends its public half home under {k}.")
        step.message("{g} -> orchestrator: public half of {h}, under {k}")
        step.require("own session", in_session(g, s))
        step.require("live key home", live_d2h(g, k))
        step.require("there is code", holds_model(g))
        step.require("one for each key", forall(lambda other: ~share_sent(k, other), Share))
        step.fresh(h)
        step.insert(share_held(g, s, h), share_sent(k, h))

    @by_adversary(_EXCHANGE, cost=1)
    def forge_share(step: Step, x: Agent, k: Key, h: Share) -> None:
        """The public half is as authentic as the device-to-host half of the link."""
        step.says("{x} sends a share of its own, {h}, home under {k}.")
        step.message("{x} -> orchestrator: public half of {h}, under {k}")
        step.given("makes messages", interferes & corrupt(x) & (knows_d2h(x, k) | forges_d2h(x, k)))
        step.fresh(h)
        step.insert(share_sent(k, h), share_known(x, h))

    @by_adversary(_EXCHANGE, cost=1)
    def code_sends_share(step: Step, g: Gpu, k: Key, h: Share) -> None:
        """Foreign code uses the copy engine in the verified code's place."""
        step.says("Somebody else's code on {g} sends a share of the platform's, {h}, home under {k}.")
        step.message("{g} -> orchestrator: public half of {h}, under {k}")
        step.given("runs", interferes & corrupt(platform) & foreign(g) & live_d2h(g, k))
        step.fresh(h)
        step.insert(share_sent(k, h), share_known(platform, h))

    @rule(_EXCHANGE)
    def name_share(step: Step, p: Agent, a: Agent, k: Key, h: Share) -> None:
        """At the end of a channel that a holder attested, anything can be named."""
        step.says("{p} names the share {h} in an offer of {k} to {a}.")
        step.given("at the far end", interferes & corrupt(p) & ~corrupt(a) & channel(a, p) & knows_h2d(p, k))
        step.given("has it", share_known(p, h))
        step.insert(share_named(p, a, k, h))

    @rule(_EXCHANGE)
    def code_reads_share(step: Step, g: Gpu, s: Session, h: Share) -> None:
        """Code memory is open to all code, and so it is outside confidential mode."""
        step.says("Somebody else's code on {g} reads the private half of {h}.")
        step.given("there", share_held(g, s, h) & in_session(g, s))
        step.given("open", corrupt(platform) & (foreign(g) | ~confidential(g)))
        step.insert(share_known(platform, h))

    @rule(_EXCHANGE)
    def read_share(step: Step, x: Agent, g: Gpu, s: Session, k: Key, h: Share) -> None:
        """Who reaches memory through the link reads it there."""
        step.says("{x} reads the private half of {h} from {g}, under {k}.")
        step.given("access", hardware.reaches(x, g, k))
        step.given("there", share_held(g, s, h) & in_session(g, s))
        step.insert(share_known(x, h))

    @rule("deck, Collusion")
    def pool_share(step: Step, x: Agent, y: Agent, h: Share) -> None:
        """Corrupt agents share what they know."""
        step.says("{x} tells {y} the private half of {h}.")
        step.given("collude", corrupt(x) & corrupt(y) & share_known(x, h))
        step.insert(share_known(y, h))

    @rule("open-gpu-kernel-modules uvm: ciphertext lies in unprotected memory")
    def decrypt_both(step: Step, a: Agent, k: Key, v: Slot, m: Data, h: Share) -> None:
        """Both layers have to open."""
        step.says("The platform decrypts {m}, which {a} sent under {k} and an inner key of {h}.")
        step.message("platform -> platform: decrypts {m} with {k} and {h}")
        step.given("recorded", corrupt(platform) & sealed(a, k, v, m) & share_used(a, k, h))
        step.given("has both", knows_h2d(platform, k) & share_known(platform, h))
        step.insert(learned(platform, m))

    @draft.action(ORCHESTRATOR, _EXCHANGE)
    def take_share(step: Step, h: Share) -> None:
        """Take it before the journey, when code was verified and everything else fenced."""
        step.says("The orchestrator takes {h} for the share of the verified code.")
        step.require("phase", phase == Phase.CLEAN)
        step.require("came home", share_sent(link_d2h, h))
        step.insert(share_taken(session, h))

    @draft.rule(ORCHESTRATOR, _EXCHANGE)
    def grant_share(step: Step, a: Agent, p: Agent, h: Share) -> None:
        """It goes the way of the grant, over the holder's attested channel."""
        step.says("The orchestrator names {h} to {p}, beside the grant.")
        step.message("orchestrator -> {p}: public half of {h}, for {a}")
        step.require("phase", phase == Phase.AWAY)
        step.require("its channel", (a == next_holder) & admitted(a, p))
        step.require("taken", share_taken(session, h))
        step.insert(share_named(orchestrator, p, lent_key, h))

    @draft.action(HOLDER, _EXCHANGE, actor=honest)
    def agree_inner_key(step: Step, a: Agent, p: Agent, k: Key, v: Slot, h: Share) -> None:
        """Agree once for each epoch, with whom the attested channel names; the answer goes to the GPU."""
        step.says("Holder {a} agrees on an inner key for {k}, from {h} and its own half.")
        step.message("{a} -> platform: its public half, for {k}")
        step.require("accepted grant", accepted(a, p, k, v))
        step.require("share named", share_named(p, a, k, h))
        step.require("once", forall(lambda other: ~share_used(a, k, other), Share))
        step.insert(share_used(a, k, h), share_answered(a, k, h))

    @draft.superpose("provision", says="It seals under the inner key of {h} first.", source=_EXCHANGE)
    def _(step: Step, a: Agent, k: Key, h: Share) -> None:
        step.require("inner key", share_used(a, k, h))

    @draft.superpose("gpu_receive", says="Code opens the inner layer with {h}.", source=_EXCHANGE)
    def _(step: Step, g: Gpu, s: Session, a: Agent, k: Key, h: Share) -> None:
        step.require("inner key", share_answered(a, k, h) & share_held(g, s, h) & in_session(g, s))


def state_inner_key(draft: Draft) -> None:
    """Withdraw the claims that an active adversary violates, and add lemmas about private halves."""
    draft.expect("single-custody", under=("recording",), fails_under=("collusion",))

    @draft.lemma
    def shares_need_interference(x: Agent, g: Gpu, s: Session, h: Share) -> Formula:
        """Those who only record have no private half; code's own is in confidential memory."""
        held = share_held(g, s, h)
        return (
            implies(share_known(x, h), interferes)
            & implies(held, answered(s))
            & implies(held & in_session(g, s), confidential(g))
        )
