"""The steps of Teechain for custody: chains, epochs, votes, succession of chains, and the adversary's moves."""

from functools import partial

from carnet_spec.language import *
from carnet_spec.protocols.teechain.vocabulary import *


def specify(draft: Draft) -> None:
    """Add the initial state and all steps to ``draft``."""
    draft.initially(last, lambda r, c: zero)
    draft.initially(counter, lambda r, c: zero)
    draft.initially(bar, lambda c: zero)

    _setup(draft)
    _issuing(draft)
    _taking_over(draft)
    _adversary(draft)


# -- setup -------------------------------------------------------------------------------------------------------------
# The head draws up a chain, members answer with quotes, and the head lists their keys.

_COMMITTEE = "Teechain, abstract: committee chains"


def _setup(draft: Draft) -> None:
    draft.defence("quote-bound", "the head takes a quote only for the key that came with it")
    draft.defence("quote-certificate", "the head checks the certificate chain of a member's quote")
    draft.defence("quote-measurement", "the head checks that a member runs the custody program")
    draft.defence("head-quote", "a member checks the quote of the head before it joins")
    draft.defence("floor-handed", "a member's log starts where the head says that the chain starts")

    by_replica = partial(draft.action, REPLICA, actor=sound)

    @by_replica(_COMMITTEE, "REQ-SETUP-01")
    def found(step: Step, p: Replica, c: Chain) -> None:
        """There is one first chain: holders agreed on it."""
        step.says("{p} opens the first chain, {c}.")
        step.message("{p} -> platform: call for {c}")
        step.require("the first chain", (c == origin) & (p == head(c)))
        step.require("not opened before", ~opened(p, c))
        open_chain(step, p, c, zero)

    @by_replica(_COMMITTEE, "REQ-SETUP-02", "REQ-SETUP-05", "REQ-SETUP-06")
    def join(step: Step, r: Replica, c: Chain, f: Epoch) -> None:
        """A log starts empty, and not before the epoch at which the chain starts."""
        step.says("{r} joins {c}, and answers with its quote.")
        step.message("{r} -> platform: quote for {c}")
        step.require("called", announced(c, f) & belongs(c, r))
        step.require("the head's quote", credible(head(c)), defence="head-quote")
        step.require("not joined before", ~joined(r, c))
        step.given("first answer", ~answered(c, r))
        step.insert(answered(c, r), quote(r, c), joined(r, c))
        step.set(last(r, c), f, defence="floor-handed")
        step.set(counter(r, c), f, defence="floor-handed")
        step.insert(sealed(r, c, f), defence="floor-handed")

    @by_replica(_COMMITTEE, "REQ-SETUP-03", "REQ-SETUP-04")
    def enlist(step: Step, p: Replica, c: Chain, r: Replica, d: Chain) -> None:
        """The list tells all members under which keys the others speak; who is on it is let in."""
        step.says("{p} takes a quote of {r} for {d}, and lists its key in {c}.")
        step.message("{p} -> platform: list of {c}, with {r}")
        step.require("own chain", opened(p, c) & belongs(c, r))
        step.given("a key came", answered(c, r))
        step.require("a quote", quote(r, d))
        step.require("for this key", d == c, defence="quote-bound")
        step.require("certificate", certified(r), defence="quote-certificate")
        step.require("measurement", measured(r), defence="quote-measurement")
        step.insert(listed(c, r))


def open_chain(step: Step, p: Replica, c: Chain, start: Epoch) -> None:
    """Let the head open a chain that starts after an epoch; its own key is the first on the list."""
    step.insert(opened(p, c), joined(p, c), announced(c, start), answered(c, p), listed(c, p), sealed(p, c, start))
    step.set(last(p, c), start)
    step.set(counter(p, c), start)


# -- issuing -----------------------------------------------------------------------------------------------------------
# An epoch goes down the chain, each replica logs it and passes it on, and then the head grants it.

_CHAIN = "Teechain, abstract: a new variant of chain replication"
_COUNTER = "Teechan: monotonic counters; Carnet"


def _issuing(draft: Draft) -> None:
    draft.defence("issue-grows", "a primary proposes an epoch only after the last one in its log")
    draft.defence("log-grows", "a backup logs an epoch only after the last one in its log")
    draft.defence("chain-order", "a backup logs only what every replica before it passed on")
    draft.defence("every-member", "the primary issues only what every member passed on")
    draft.defence("increment-first", "a replica increments its counter before it passes anything on")

    by_replica = partial(draft.action, REPLICA, actor=sound)

    @by_replica(_CHAIN, "REQ-ISSUE-01", "REQ-TAKE-02")
    def propose(step: Step, p: Replica, c: Chain, e: Epoch, h: Holder) -> None:
        """What the head has logged it grants later, or never."""
        step.says("{p} proposes epoch {e} for {h} in {c}, and logs it.")
        step.message("{p} -> platform: sealed state that ends with {e}")
        step.require("own chain", opened(p, c))
        step.require("an epoch", e != zero)
        step.require("after the last one", before(last(p, c), e), defence="issue-grows")
        step.require("not frozen", ~frozen(p, c), defence="freeze")
        _keep(step, p, c, e, h)

    @by_replica(_CHAIN, "REQ-ISSUE-02", "REQ-ISSUE-03", "REQ-TAKE-02")
    def log(step: Step, r: Replica, c: Chain, e: Epoch, h: Holder) -> None:
        """The platform delivers what was passed on when it likes, and old entries again."""
        step.says("{r} logs epoch {e} for {h} in {c}.")
        step.message("{r} -> platform: sealed state that ends with {e}")
        step.require("a backup of it", joined(r, c) & listed(c, r) & (r != head(c)))
        step.require("the head's", listed(c, head(c)) & passed(head(c), c, e, h))
        down = forall(lambda q: implies(ahead(c, q, r), listed(c, q) & passed(q, c, e, h)), Replica)
        step.require("all before it passed it on", down, defence="chain-order")
        step.require("after the last one", before(last(r, c), e), defence="log-grows")
        step.require("not frozen", ~frozen(r, c), defence="freeze")
        _keep(step, r, c, e, h)

    @by_replica(_COUNTER, "REQ-STORE-01")
    def increment(step: Step, r: Replica, c: Chain) -> None:
        """From now on the sealed state of before is an old one."""
        step.says("{r} increments its counter for {c}.")
        step.require("a member", joined(r, c))
        step.set(counter(r, c), last(r, c))

    @by_replica(_CHAIN, "REQ-STORE-01")
    def pass_on(step: Step, r: Replica, c: Chain, e: Epoch, h: Holder) -> None:
        """The last replica's is the acknowledgement. The IV is made of the epoch."""
        step.says("{r} passes on that it logged epoch {e} for {h} in {c}.")
        step.message("{r} -> platform: {r} logged {e} for {h} in {c}")
        step.require("logged", joined(r, c) & logged(r, c, e, h))
        step.require("counted", upto(e, counter(r, c)), defence="increment-first")
        step.insert(passed(r, c, e, h))
        if draft.variant == MAIN:
            step.insert(acknowledged(r, c, e, h))

    @by_replica(_CHAIN, "REQ-ISSUE-04")
    def issue(step: Step, p: Replica, c: Chain, e: Epoch, h: Holder) -> None:
        """Only now does anything of the epoch leave the chain."""
        step.says("{p} grants epoch {e} to {h}.")
        step.message("{p} -> {h}: custody for epoch {e}, in {c}")
        step.require("own chain", opened(p, c) & logged(p, c, e, h))
        step.require("passed it on itself", passed(p, c, e, h))
        step.require("the tail acknowledged it", listed(c, tail(c)) & passed(tail(c), c, e, h))
        everyone = forall(lambda r: implies(belongs(c, r), listed(c, r) & passed(r, c, e, h)), Replica)
        step.require("every member passed it on", everyone, defence="every-member")
        step.insert(grant(c, e, h), issued(c, e, h))

    @draft.action(HOLDER, "Carnet (who else could grant)", "REQ-HOLDER-01", "REQ-HOLDER-02")
    def accept(step: Step, h: Holder, c: Chain, e: Epoch, i: Holder) -> None:
        """A holder need not know the chain: a head of the custody program is one by right, or opens none."""
        step.says("{h} takes custody for epoch {e}, granted to {i} in {c}.")
        step.actor(h, true)
        step.require("a grant", grant(c, e, i))
        step.require("to this holder", i == h, defence="grant-holder")
        step.require("the head's quote", credible(head(c)), defence="holder-check")
        step.insert(accepted(h, c, e))


def _keep(step: Step, r: Replica, c: Chain, e: Epoch, h: Holder) -> None:
    step.insert(logged(r, c, e, h), sealed(r, c, e))
    step.set(last(r, c), e)


# -- taking over -------------------------------------------------------------------------------------------------------
# Taking over and starting again: votes that freeze a chain, the chain that follows, and sealed states.

_FREEZE = "Teechain: force-freeze; Carnet (votes)"
_STORE = "Teechan: monotonic counters; Carnet (rollback)"


def _taking_over(draft: Draft) -> None:
    draft.defence("counter-check", "a replica starts only from the sealed state that its counter stands for")
    draft.defence("launch-identity", "a launch without the sealed state has no key of the replica")
    draft.defence("freeze", "a replica that voted logs nothing more")
    draft.defence("one-vote", "a replica votes for one next chain")
    draft.defence("votes-for-members", "a replica votes only for a chain whose head is a listed member")
    draft.defence("from-the-chain", "only a member of a chain collects votes to take it over")
    draft.defence("vote-bound", "a vote counts for the next chain that it names only")
    draft.defence("newest-log", "the next chain starts after the newest log that voters handed over")
    draft.defence("quorum", "a chain is taken over with the votes of a whole quorum")
    draft.defence("grant-holder", "a holder takes only a grant that names it")
    draft.defence("holder-check", "a holder checks the quote of the head before it takes a grant")

    by_replica = partial(draft.action, REPLICA, actor=sound)

    @by_replica(_FREEZE, "REQ-TAKE-01", "REQ-TAKE-03")
    def freeze(step: Step, r: Replica, b: Chain, d: Chain) -> None:
        """A state that is read out is a state that does not go on; the counter takes that in, too."""
        step.says("{r} freezes {b}, votes for {d} and hands its log over.")
        step.message("{r} -> platform: vote for {d}, with the log of {b}")
        step.require("a member", joined(r, b) & listed(b, r) & follows(b, d))
        step.require("for a member", listed(b, head(d)), defence="votes-for-members")
        step.require("not voted", ~frozen(r, b), defence="one-vote")
        step.insert(frozen(r, b))
        step.set(counter(r, b), last(r, b))
        step.insert(vote(r, b, d, last(r, b)))
        if draft.variant == MAIN:
            step.insert(voted(r, b, d, last(r, b)))

    @by_replica(_FREEZE, "REQ-TAKE-04", "REQ-TAKE-05", "REQ-TAKE-06")
    def poll(step: Step, p: Replica, b: Chain, d: Chain, m: Replica, x: Chain, f: Epoch) -> None:
        """The next chain starts after whatever any voter has logged, granted or not."""
        step.says("{p} takes the vote of {m} in {b} for {x} as one for {d}; its log ends with {f}.")
        step.require("to be the head", (p == head(d)) & follows(b, d) & ~opened(p, d))
        step.require("a member of it", joined(p, b) & listed(b, p), defence="from-the-chain")
        step.require("a vote", listed(b, m) & vote(m, b, x, f))
        step.require("for this chain", x == d, defence="vote-bound")
        step.insert(polled(d, m))
        step.set(last(p, d), f, when=before(last(p, d), f), defence="newest-log")

    @by_replica(_FREEZE, "REQ-TAKE-07")
    def take_over(step: Step, p: Replica, b: Chain, d: Chain, q: Quorum) -> None:
        """Two quorums meet, and who is in both voted once."""
        step.says("{p} takes {b} over with the votes of {q}, and opens {d}.")
        step.message("{p} -> platform: call for {d}")
        step.require("to be the head", (p == head(d)) & follows(b, d) & quorum(b, q))
        step.require("not opened before", ~opened(p, d))
        step.require("a member of it", joined(p, b), defence="from-the-chain")
        votes = forall(lambda m: implies(within(q, m), polled(d, m)), Replica)
        step.require("all votes of a quorum", votes, defence="quorum")
        open_chain(step, p, d, last(p, d))
        step.insert(over(b))
        step.set(ousted(b), q)
        step.set(bar(b), last(p, d))

    @by_replica(_STORE, "REQ-STORE-02")
    def restart(step: Step, r: Replica, c: Chain, e: Epoch) -> None:
        """Storage is the platform's, which kept every state; what was not counted is lost."""
        step.says("{r} starts again in {c}, from a sealed state that ends with {e}.")
        step.message("platform -> {r}: a sealed state that ends with {e}")
        step.given("was a member", joined(r, c))
        step.require("a sealed state", sealed(r, c, e))
        step.require("the counter's", e == counter(r, c), defence="counter-check")
        x, h = step.each(Epoch), step.each(Holder)
        step.remove(logged(r, c, x, h), when=before(e, x), name="lose what came later")
        step.set(last(r, c), e)
        step.remove(frozen(r, c), unless="counter-check", name="thaw")

    @by_replica(_STORE, shortcut_of="launch-identity")
    def relaunch(step: Step, r: Replica, c: Chain) -> None:
        """A key that outlives the memory speaks for a log that is gone."""
        step.says("{r} is launched anew with an empty log in {c}, and has its key.")
        step.given("was a member", joined(r, c))
        step.remove(logged(r, c, step.each(Epoch), step.each(Holder)), name="lose the log")
        step.remove(frozen(r, c), name="thaw")
        step.set(last(r, c), zero)


# -- adversary ---------------------------------------------------------------------------------------------------------
# Platform and network, enclaves of its own, and broken replicas.


def _adversary(draft: Draft) -> None:
    by_adversary = partial(draft.action, ADVERSARY)
    rule = partial(draft.rule, ADVERSARY)

    @by_adversary("Carnet (relayed quote)", cost=1)
    def answer_as(step: Step, r: Replica, c: Chain, f: Epoch) -> None:
        """The adversary has the key under which it answers, and quotes only for enclaves of its own."""
        step.says("The platform answers the call to {r} for {c} itself, with a key of its own.")
        step.message("platform -> head: answer of {r} for {c}")
        step.given("called", announced(c, f) & belongs(c, r))
        step.given("first answer", ~answered(c, r))
        step.insert(answered(c, r), imposed(c, r))

    @by_adversary("Carnet (a chain of its own)", cost=1)
    def forge_list(step: Step, c: Chain, r: Replica) -> None:
        step.says("The platform lists {r} in {c}.")
        step.given("its own", ~sound(head(c)) & belongs(c, r))
        step.given("a key", answered(c, r) | (r == head(c)))
        step.insert(listed(c, r))

    @rule("Carnet (an enclave of its own)")
    def forge_quote(step: Step, r: Replica, c: Chain, f: Epoch) -> None:
        step.says("The platform makes a quote of {r} for {c}.")
        step.given("its own", ~sound(r))
        step.given("called", announced(c, f) & belongs(c, r))
        step.insert(quote(r, c))

    @rule("Carnet (a chain of its own)")
    def forge_call(step: Step, c: Chain, f: Epoch) -> None:
        step.says("The platform calls for {c}, and says that it starts after {f}.")
        step.given("its own", ~sound(head(c)))
        step.insert(announced(c, f))

    @rule("Carnet (who has the key speaks)")
    def forge_pass(step: Step, r: Replica, c: Chain, e: Epoch, h: Holder) -> None:
        step.says("The platform says for {r} that epoch {e} for {h} was logged in {c}.")
        step.given("has the key", belongs(c, r) & ~own(c, r))
        step.insert(passed(r, c, e, h))

    @rule("Carnet (who has the key speaks)")
    def forge_vote(step: Step, r: Replica, b: Chain, d: Chain, f: Epoch) -> None:
        step.says("The platform votes for {r} in {b} that {d} may take over, with a log that ends with {f}.")
        step.given("has the key", belongs(b, r) & follows(b, d) & ~own(b, r))
        step.insert(vote(r, b, d, f))

    @rule("Carnet (a chain of its own)")
    def forge_grant(step: Step, c: Chain, e: Epoch, h: Holder) -> None:
        step.says("The platform grants epoch {e} to {h} in {c}.")
        step.given("its own", ~sound(head(c)))
        step.insert(grant(c, e, h))

    @rule("Carnet (who has the key reads)")
    def read_log(step: Step, q: Replica, r: Replica, c: Chain, e: Epoch, h: Holder) -> None:
        step.says("The platform reads what {q} passes on to {r} in {c}.")
        step.given("has a member's key", listed(c, r) & ~own(c, r))
        step.given("passed on", passed(q, c, e, h))
        step.insert(leaked(c))

    @rule("Carnet (who has the key reads)")
    def read_vote(step: Step, m: Replica, b: Chain, d: Chain, f: Epoch) -> None:
        step.says("The platform reads the log that {m} hands over to the head of {d}.")
        step.given("handed to the adversary", ~sound(head(d)))
        step.given("a replica's vote", vote(m, b, d, f) & own(b, m))
        step.insert(leaked(b))
