"""The claims, goals and lemmas of Teechain, for any number of replicas, chains, quorums, epochs and holders."""

from carnet_spec.language import *
from carnet_spec.language.authoring import *
from carnet_spec.protocols.teechain.vocabulary import *

TEXT = text_beside(__file__)

THREATS = ("platform", "broken")  #: The threat models under which claims are made.


def state_properties(draft: Draft) -> None:
    """Add claims, goals and lemmas to ``draft``, and say which of them fall in its variant."""
    claim = Claims(draft, TEXT, THREATS)

    @claim("epoch-once", "Teechain, abstract; Carnet (double issue)")
    def epoch_once(c: Chain, d: Chain, e: Epoch, h: Holder, i: Holder) -> Formula:
        return implies(issued(c, e, h) & issued(d, e, i), (c == d) & (h == i))

    @claim("one-holder", "Carnet (two holders)")
    def one_holder(c: Chain, d: Chain, e: Epoch, h: Holder, i: Holder) -> Formula:
        return implies(accepted(h, c, e) & accepted(i, d, e), h == i)

    @claim("grant-agreement", "Carnet (who else could grant)")
    def grant_agreement(c: Chain, e: Epoch, h: Holder) -> Formula:
        return implies(accepted(h, c, e), issued(c, e, h))

    @claim("nothing-lost", "Teechain, abstract: replicates the state")
    def nothing_lost(c: Chain, e: Epoch, h: Holder, r: Replica) -> Formula:
        return implies(issued(c, e, h) & belongs(c, r) & sound(r), logged(r, c, e, h))

    @claim("fail-over-after", "Carnet (fail-over)")
    def fail_over_after(c: Chain, e: Epoch, h: Holder, d: Chain) -> Formula:
        there = issued(c, e, h) & earlier(c, d) & opened(head(d), d)
        return implies(there, upto(e, last(head(d), d)))

    @claim("one-successor", "Carnet (fork)")
    def one_successor(b: Chain, c: Chain, d: Chain) -> Formula:
        both = opened(head(c), c) & opened(head(d), d)
        return implies(both & follows(b, c) & follows(b, d), c == d)

    @claim("no-late-grant", "Teechain: force-freeze")
    def no_late_grant(c: Chain, e: Epoch, h: Holder) -> Formula:
        return implies(issued(c, e, h) & over(c), upto(e, bar(c)))

    @claim("frozen-silent", "Teechain: force-freeze")
    def frozen_silent(m: Replica, b: Chain, d: Chain, f: Epoch, e: Epoch, h: Holder) -> Formula:
        return implies(vote(m, b, d, f) & own(b, m) & logged(m, b, e, h), upto(e, f))

    @claim("no-rollback", "Teechan: monotonic counters")
    def no_rollback(r: Replica, c: Chain, e: Epoch, h: Holder) -> Formula:
        return implies(passed(r, c, e, h) & own(c, r), logged(r, c, e, h))

    @claim("iv-unique", "RFC 5116 section 3.1")
    def iv_unique(r: Replica, c: Chain, e: Epoch, h: Holder, i: Holder) -> Formula:
        return implies(passed(r, c, e, h) & passed(r, c, e, i) & own(c, r), h == i)

    @claim("members-genuine", "Teechain, abstract: treasuries, protected by hardware TEEs", under=THREATS[:1])
    def members_genuine(c: Chain, r: Replica) -> Formula:
        return implies(listed(c, r) & opened(head(c), c), own(c, r))

    @claim("log-secret", "Carnet (entries hold keys)", under=THREATS[:1])
    def log_secret(c: Chain) -> Formula:
        return implies(sound(head(c)), ~leaked(c))

    _goals(draft)
    _lemmas(draft)
    if draft.variant == MAIN:
        _progress(draft)
    expect_falls(draft, THREATS, FALLS, UNTRUE)


# -- what falls --------------------------------------------------------------------------------------------------------
# Every claim that is not named for a variant holds in it, and is proved.

#: What falls as soon as the next chain starts too early.
_TWICE = ("epoch-once", "one-holder", "fail-over-after", "no-late-grant")
#: What falls as well if a replica forgets what it passed on.
_ROLLED_BACK = (*_TWICE, "nothing-lost", "no-rollback", "iv-unique")

#: For each variant the claims that fall, and under which threat models.
FALLS: Falls = {
    TAIL_ALONE: dict.fromkeys((*_TWICE, "nothing-lost"), THREATS[1:]),
    "any-survivor": dict.fromkeys((*_TWICE, "one-successor"), THREATS),
    "copied-out": dict.fromkeys((*_TWICE, "frozen-silent"), THREATS),
    "sealed-storage": dict.fromkeys((*_ROLLED_BACK, "frozen-silent", "one-successor"), THREATS),
    "kept-key": dict.fromkeys((*_ROLLED_BACK, "frozen-silent", "one-successor"), THREATS),
    "uncounted": dict.fromkeys(_ROLLED_BACK, THREATS),
    "any-log": dict.fromkeys(_TWICE, THREATS),
}

_FORGOTTEN = ("what_is_passed_on", "down_the_chain", "what_is_granted")
_THAWED = (
    *("the_counter_is_behind", "a_freeze_is_counted", "a_vote_freezes", "a_vote_tells_the_end", "one_vote"),
    *("who_is_polled", "polled_for_one_chain", "past_the_polled", "who_ousted", "ousted_for_what_opened"),
    *("ousted_up_to_the_bar", "opened_in_line", "past_the_bar"),
)

#: For each variant the lemmas that do not hold in it.
UNTRUE: dict[str, tuple[str, ...]] = {
    "any-survivor": (
        *("opened_in_line", "past_the_bar", "who_ousted", "ousted_for_what_opened", "ousted_up_to_the_bar"),
    ),
    "copied-out": ("a_vote_tells_the_end", "a_freeze_is_counted", "past_the_polled", "ousted_up_to_the_bar"),
    "sealed-storage": (*_FORGOTTEN, *_THAWED),
    "kept-key": (*_FORGOTTEN, *_THAWED),
    "uncounted": _FORGOTTEN,
    "any-log": ("past_the_polled", "past_the_bar", "ousted_up_to_the_bar"),
}


# -- goals -------------------------------------------------------------------------------------------------------------
# What must be reachable, or claims would be empty.


def _goals(draft: Draft) -> None:

    @draft.goal(sentence="A holder takes custody from a chain that has a backup.")
    def custody_taken(h: Holder, c: Chain, e: Epoch) -> Formula:
        return accepted(h, c, e) & sound(head(c)) & (tail(c) != head(c))

    @draft.goal(sentence="A backup logs an epoch that the head has not granted yet.")
    def in_flight(r: Replica, c: Chain, e: Epoch, h: Holder) -> Formula:
        return (r != head(c)) & passed(r, c, e, h) & own(c, r) & ~issued(c, e, h)

    @draft.goal(sentence="A chain is taken over after it granted an epoch, and the next one starts after that.")
    def taken_over(c: Chain, d: Chain, e: Epoch, h: Holder) -> Formula:
        return issued(c, e, h) & sound(head(c)) & over(c) & opened(head(d), d) & (c != d) & (last(head(d), d) == e)

    @draft.goal(sentence="A chain is taken over while an epoch is under way.")
    def under_way(r: Replica, c: Chain, d: Chain, e: Epoch, h: Holder) -> Formula:
        return (
            frozen(r, c)
            & sound(r)
            & (r != head(c))
            & opened(head(d), d)
            & (c != d)
            & logged(r, c, e, h)
            & ~issued(c, e, h)
        )

    @draft.goal(sentence="A log is ahead of its counter.")
    def not_counted(r: Replica, c: Chain, e: Epoch, h: Holder) -> Formula:
        return logged(r, c, e, h) & (counter(r, c) == zero) & before(zero, e)

    @draft.goal(sentence="The platform answers in place of a replica, and is not listed.")
    def not_listed(c: Chain, r: Replica) -> Formula:
        return imposed(c, r) & opened(head(c), c) & sound(r) & ~listed(c, r)


# -- lemmas ------------------------------------------------------------------------------------------------------------
# What makes the claims inductive, for any number of everything, whichever replicas are broken.
#
# The argument: a key on a head's list is its member's, or its member is broken (keys). A log only grows while it
# counts, so what a replica passed on or handed over is in its log for good (logs). A vote freezes, so of two quorums,
# which meet, one at most takes a chain over; and whatever the chain grants was logged by who voted (votes). So chains
# that were opened stand in one line, each after the bar of those before it (line).


def _lemmas(draft: Draft) -> None:
    """Add the lemmas to ``draft``.

    Where the tail's word is enough, what was granted is in every log only while TEEs hold.
    """
    # Keys.

    @draft.lemma
    def who_opened(p: Replica, c: Chain, f: Epoch) -> Formula:
        """A chain is opened by its head, and a sound head calls for a chain that it opened."""
        there = sound(p) & (p == head(c)) & joined(p, c) & answered(c, p) & ~imposed(c, p) & listed(c, p)
        return implies(opened(p, c), there) & implies(announced(c, f) & sound(head(c)), opened(head(c), c))

    @draft.lemma
    def who_is_called(c: Chain, r: Replica, f: Epoch) -> Formula:
        """Nobody answers a sound head, or seals a state, before the chain is opened."""
        return implies(answered(c, r) & sound(head(c)), opened(head(c), c)) & implies(sealed(r, c, f), joined(r, c))

    @draft.lemma
    def who_joined(r: Replica, c: Chain) -> Formula:
        """A replica joins a chain whose head opened it, and answers once."""
        there = sound(r) & answered(c, r) & ~imposed(c, r) & opened(head(c), c)
        return implies(joined(r, c), there) & implies(imposed(c, r), answered(c, r))

    @draft.lemma
    def quotes_are_true(r: Replica, c: Chain) -> Formula:
        """A sound replica quotes its own key."""
        return implies(quote(r, c) & sound(r), joined(r, c))

    @draft.lemma
    def who_is_listed(c: Chain, r: Replica) -> Formula:
        """On the list of a sound head are the head and what quotes credibly, under its own key if it is sound."""
        there = opened(head(c), c) & ((r == head(c)) | credible(r)) & implies(sound(r), joined(r, c))
        return implies(listed(c, r) & sound(head(c)), there)

    # Logs.

    @draft.lemma
    def what_is_logged(r: Replica, c: Chain, e: Epoch, h: Holder, i: Holder) -> Formula:
        """A log has one entry for an epoch, and ends with the last one."""
        there = joined(r, c) & upto(e, last(r, c))
        return implies(logged(r, c, e, h), there & implies(logged(r, c, e, i), h == i))

    @draft.lemma
    def the_counter_is_behind(r: Replica, c: Chain) -> Formula:
        """The counter is never ahead of the log."""
        return implies(joined(r, c), upto(counter(r, c), last(r, c)))

    @draft.lemma
    def a_freeze_is_counted(r: Replica, c: Chain) -> Formula:
        """A frozen log is counted."""
        return implies(frozen(r, c), joined(r, c) & (counter(r, c) == last(r, c)))

    @draft.lemma
    def what_is_passed_on(r: Replica, c: Chain, e: Epoch, h: Holder) -> Formula:
        """What a replica passed on is counted, and so never lost."""
        return implies(passed(r, c, e, h) & own(c, r), logged(r, c, e, h) & upto(e, counter(r, c)))

    @draft.lemma
    def down_the_chain(r: Replica, c: Chain, e: Epoch, h: Holder, q: Replica) -> Formula:
        """What a backup logged, every replica before it passed on, and the head."""
        there = listed(c, q) & implies(own(c, q), logged(q, c, e, h) & upto(e, counter(q, c)))
        return implies(logged(r, c, e, h) & (r != head(c)) & ahead(c, q, r), there)

    # Votes.

    @draft.lemma
    def a_vote_freezes(m: Replica, b: Chain, d: Chain, f: Epoch) -> Formula:
        """A replica that voted is frozen."""
        return implies(vote(m, b, d, f) & own(b, m), frozen(m, b))

    @draft.lemma
    def a_vote_tells_the_end(m: Replica, b: Chain, d: Chain, f: Epoch) -> Formula:
        """The log of a replica that voted ends where the vote says."""
        return implies(vote(m, b, d, f) & own(b, m), f == last(m, b))

    @draft.lemma
    def one_vote(m: Replica, b: Chain, d: Chain, x: Chain, f: Epoch, g: Epoch) -> Formula:
        """A replica votes for one chain."""
        return implies(vote(m, b, d, f) & own(b, m) & vote(m, b, x, g), x == d)

    @draft.lemma
    def votes_are_for_members(m: Replica, b: Chain, d: Chain, f: Epoch) -> Formula:
        """A replica hands its log over to a member of its chain."""
        return implies(vote(m, b, d, f) & own(b, m), listed(b, head(d)))

    @draft.lemma
    def who_is_polled(m: Replica, b: Chain, d: Chain) -> Formula:
        """The head that collects votes is a member, and each voter is listed, and frozen if it is sound."""
        there = joined(head(d), b) & listed(b, m) & implies(sound(m), frozen(m, b) & joined(m, b))
        return implies(polled(d, m) & follows(b, d), there)

    @draft.lemma
    def polled_for_one_chain(m: Replica, b: Chain, d: Chain, x: Chain, f: Epoch) -> Formula:
        """Who was polled for a chain voted for that one, and is polled for no other."""
        other = vote(m, b, x, f) | (polled(x, m) & follows(b, x))
        return implies(polled(d, m) & follows(b, d) & sound(m) & other, x == d)

    @draft.lemma
    def past_the_polled(m: Replica, b: Chain, d: Chain) -> Formula:
        """The head of the next chain is past the log of each sound voter."""
        past = upto(last(m, b), last(head(d), d)) & implies(opened(head(d), d), upto(last(m, b), counter(head(d), d)))
        return implies(polled(d, m) & follows(b, d) & sound(m), past)

    @draft.lemma
    def who_ousted(b: Chain, m: Replica) -> Formula:
        """A chain is taken over by a quorum of listed members, and the sound ones are frozen."""
        member = listed(b, m) & implies(sound(m), frozen(m, b) & joined(m, b))
        return implies(over(b), opened(head(b), b) & implies(within(ousted(b), m), member))

    @draft.lemma
    def ousted_by_a_quorum(b: Chain) -> Formula:
        """A quorum took the chain over."""
        return implies(over(b), quorum(b, ousted(b)))

    @draft.lemma
    def ousted_for_what_opened(b: Chain, m: Replica, x: Chain, f: Epoch) -> Formula:
        """Who took the chain over voted for a chain that was opened."""
        voted = vote(m, b, x, f) | (polled(x, m) & follows(b, x))
        return implies(over(b) & within(ousted(b), m) & sound(m) & voted, opened(head(x), x))

    @draft.lemma
    def ousted_up_to_the_bar(b: Chain, m: Replica) -> Formula:
        """The logs of those who took the chain over end no later than the bar."""
        return implies(over(b) & within(ousted(b), m) & sound(m), upto(last(m, b), bar(b)))

    # Line.

    @draft.lemma
    def opened_in_line(c: Chain, d: Chain) -> Formula:
        """Of two chains that were opened one is earlier, and that one was taken over."""
        both = opened(head(c), c) & opened(head(d), d)
        line = (c == d) | earlier(c, d) | earlier(d, c)
        return implies(both, line) & implies(opened(head(d), d) & earlier(c, d), over(c))

    @draft.lemma
    def the_first_is_opened(c: Chain) -> Formula:
        """A chain is opened only when the first one was."""
        return implies(opened(head(c), c), opened(head(origin), origin) & ((c == origin) | earlier(origin, c)))

    @draft.lemma
    def past_the_bar(c: Chain, d: Chain, r: Replica, f: Epoch, e: Epoch, h: Holder) -> Formula:
        """A chain starts after the bar of each earlier one, and so does every log of it."""
        starts = implies(announced(d, f) & sound(head(d)), upto(bar(c), f))
        logs = implies(joined(r, d), upto(bar(c), counter(r, d)))
        states = implies(sealed(r, d, f) & sound(head(d)), upto(bar(c), f))
        return implies(earlier(c, d), starts & logs & states & implies(logged(r, d, e, h), before(bar(c), e)))

    everyone = draft.lemma_under("platform") if draft.variant == TAIL_ALONE else draft.lemma

    @everyone
    def what_is_granted(c: Chain, e: Epoch, h: Holder, r: Replica) -> Formula:
        """What was granted, every sound member logged and counted."""
        there = implies(sound(r) & belongs(c, r), logged(r, c, e, h) & upto(e, counter(r, c)))
        return implies(issued(c, e, h), there)

    @draft.lemma
    def who_granted(c: Chain, e: Epoch, h: Holder) -> Formula:
        """A sound head makes the grants of its chain, once it is open."""
        return implies(issued(c, e, h), opened(head(c), c)) & implies(grant(c, e, h) & sound(head(c)), issued(c, e, h))


# -- progress ----------------------------------------------------------------------------------------------------------
# What happens in the end, if replicas go on as they can and the platform delivers what it holds. It may keep everything
# back for ever, and nobody has to freeze a chain: so no chain is said to end by itself.
#
# The argument: what was passed on to a replica it logs, what it logged it passes on, and so on down the chain. What all
# have passed on is granted. Who starts again loses what was not counted, and is passed it on again. A replica that
# froze logs nothing more: then a quorum of votes that all name one next chain opens it.


def _progress(draft: Draft) -> None:
    """Add what happens in the end to ``draft``, and that what replicas said is there for others to take."""
    _what_was_said(draft)
    promise = Promises(draft, TEXT)
    entry = {"c": lambda r, c, e, h: c, "e": lambda r, c, e, h: e, "h": lambda r, c, e, h: h}
    promise(
        "entry-logged",
        _passed_to,
        lambda r, c, e, h: logged(r, c, e, h) | frozen(r, c) | upto(e, last(r, c)),
        each=(Replica, Chain, Epoch, Holder),
        given={"log": {"r": lambda r, c, e, h: r, **entry}},
    )
    promise(
        "entry-passed-on",
        lambda r, c, e, h: joined(r, c) & logged(r, c, e, h),
        lambda r, c, e, h: acknowledged(r, c, e, h) | ~logged(r, c, e, h),
        each=(Replica, Chain, Epoch, Holder),
        given={
            "increment": {"r": lambda r, c, e, h: r, "c": lambda r, c, e, h: c},
            "pass_on": {"r": lambda r, c, e, h: r, **entry},
        },
    )
    promise(
        "epoch-granted",
        lambda c, e, h: opened(head(c), c) & _passed_by_all(c, e, h),
        issued,
        each=(Chain, Epoch, Holder),
        given={
            "issue": {
                "p": lambda c, e, h: head(c),
                "c": lambda c, e, h: c,
                "e": lambda c, e, h: e,
                "h": lambda c, e, h: h,
            }
        },
    )
    promise(
        "grant-taken",
        lambda h, c, e: issued(c, e, h) & credible(head(c)),
        accepted,
        each=(Holder, Chain, Epoch),
        given={"accept": {"h": lambda h, c, e: h, "c": lambda h, c, e: c, "e": lambda h, c, e: e}},
    )
    _take_over_progress(promise)


def _what_was_said(draft: Draft) -> None:

    @draft.goal(sentence="A backup itself passes an epoch on.")
    def acknowledged_by_a_backup(r: Replica, c: Chain, e: Epoch, h: Holder) -> Formula:
        return acknowledged(r, c, e, h) & (r != head(c))

    @draft.goal(sentence="A replica itself votes for another one's chain.")
    def vote_cast(m: Replica, b: Chain, d: Chain, f: Epoch) -> Formula:
        return voted(m, b, d, f) & (m != head(d))

    @draft.lemma
    def acknowledgements_are_there(r: Replica, c: Chain, e: Epoch, h: Holder) -> Formula:
        """What a replica itself passed on was passed on."""
        return implies(acknowledged(r, c, e, h), passed(r, c, e, h))

    @draft.lemma
    def votes_are_there(m: Replica, b: Chain, d: Chain, f: Epoch) -> Formula:
        """A vote that a replica itself cast is there to be counted."""
        return implies(voted(m, b, d, f), vote(m, b, d, f))

    @draft.lemma
    def grants_are_there(c: Chain, e: Epoch, h: Holder) -> Formula:
        """A grant that a head made is there to be taken."""
        return implies(issued(c, e, h), grant(c, e, h))


def _passed_to(r: Replica, c: Chain, e: Epoch, h: Holder) -> Formula:
    """Whether every replica before a backup has passed an entry on, the head among them."""
    member = joined(r, c) & listed(c, r) & (r != head(c))
    there = listed(c, head(c)) & acknowledged(head(c), c, e, h)
    return member & there & forall(lambda q: implies(ahead(c, q, r), listed(c, q) & acknowledged(q, c, e, h)), Replica)


def _passed_by_all(c: Chain, e: Epoch, h: Holder) -> Formula:
    """Whether every member of a chain has passed an entry on."""
    ends = acknowledged(head(c), c, e, h) & listed(c, tail(c)) & acknowledged(tail(c), c, e, h)
    return ends & forall(lambda r: implies(belongs(c, r), listed(c, r) & acknowledged(r, c, e, h)), Replica)


def _take_over_progress(promise: Promises) -> None:
    def may_lead(b: Chain, d: Chain) -> Formula:
        return follows(b, d) & joined(head(d), b) & listed(b, head(d))

    promise(
        "vote-polled",
        lambda b, d, m, f: may_lead(b, d) & listed(b, m) & voted(m, b, d, f),
        lambda b, d, m, f: polled(d, m) | opened(head(d), d),
        each=(Chain, Chain, Replica, Epoch),
        given={
            "poll": {
                "p": lambda b, d, m, f: head(d),
                "b": lambda b, d, m, f: b,
                "d": lambda b, d, m, f: d,
                "m": lambda b, d, m, f: m,
            }
        },
    )
    promise(
        "chain-opened",
        lambda b, d, q: may_lead(b, d) & quorum(b, q) & forall(lambda m: implies(within(q, m), polled(d, m)), Replica),
        lambda b, d, q: opened(head(d), d),
        each=(Chain, Chain, Quorum),
        given={"take_over": {"b": lambda b, d, q: b, "d": lambda b, d, q: d}},
    )
