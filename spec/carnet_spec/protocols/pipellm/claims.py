"""The claims, goals and lemmas of PipeLLM, for any number of tenants, channels, pages, copies, messages and guesses."""

from carnet_spec.language import *
from carnet_spec.language.authoring import *
from carnet_spec.protocols.pipellm.vocabulary import *

TEXT = text_beside(__file__)

THREATS = ("lone-host", "collusion")  #: The threat models under which every claim is made.


def state_properties(draft: Draft) -> None:
    """Add claims, goals and lemmas to ``draft``, and say which of them fall in its variant."""
    claim = Claims(draft, TEXT, THREATS)

    @claim("confidentiality", "PipeLLM, abstract")
    def confidentiality(p: Agent, b: Block) -> Formula:
        return implies(learnt(p, b) & honest(owner(b)), p == owner(b))

    @claim("key-isolation", "NVIDIA H100, confidential mode")
    def key_isolation(a: Agent, p: Agent, k: Key) -> Formula:
        return implies(own(a, k) & knows(p, k), p == a)

    @claim("iv-unique", "RFC 5116 section 3.1")
    def iv_unique(a: Agent, k: Key, i: Iv, b: Block, c: Block) -> Formula:
        return implies(own(a, k) & exposed(k, i, b) & exposed(k, i, c), b == c)

    @claim("no-passed-iv", "PipeLLM, abstract: pipeline relinquishing")
    def no_passed_iv(k: Key, i: Iv) -> Formula:
        return ~late(k, i)

    @claim("in-step", "PipeLLM, abstract: pipeline relinquishing")
    def in_step(k: Key, n: Iv, i: Iv) -> Formula:
        return implies(placed(k, n, i), n == i)

    @claim("counters-agree", "Carnet")
    def counters_agree(a: Agent, k: Key) -> Formula:
        return implies(own(a, k) & ~dead(k), ~before(due(k), counter(k)))

    @claim("copy-agreement", "PipeLLM, review: validation")
    def copy_agreement(a: Agent, k: Key, n: Iv, r: Copy, b: Block) -> Formula:
        return implies(own(a, k) & landed(k, n, r, b), asked(k, r, b))

    @claim("order-kept", "Carnet")
    def order_kept(a: Agent, k: Key, n: Iv, m: Iv, r: Copy, s: Copy, b: Block, c: Block) -> Formula:
        both = landed(k, n, r, b) & landed(k, m, s, c) & before(n, m)
        return implies(own(a, k) & both, earlier(r, s))

    @claim("no-gap", "Carnet")
    def no_gap(a: Agent, k: Key, m: Iv, r: Copy, s: Copy, b: Block, c: Block) -> Formula:
        both = asked(k, r, b) & landed(k, m, s, c) & earlier(r, s)
        return implies(own(a, k) & both, filled(k, r))

    _goals(draft)
    _lemmas(draft)
    expect_falls(draft, THREATS, FALLS, UNTRUE)


# -- what falls --------------------------------------------------------------------------------------------------------
# Every claim that is not named for a variant holds in it, and is proved.

_TWO_UNDER_ONE_IV = ("confidentiality", "iv-unique", "copy-agreement")
_OUT_OF_STEP = (*_TWO_UNDER_ONE_IV, "no-passed-iv", "counters-agree", "no-gap")

#: For each variant the claims that fall, and under which threat models.
FALLS: Falls = {
    FLUSHED: {},
    AHEAD: {},
    SHARED: dict.fromkeys(_TWO_UNDER_ONE_IV, THREATS),
    "no-invalidation": dict.fromkeys(("copy-agreement",), THREATS),
    "asynchronous-writes": dict.fromkeys(("copy-agreement",), THREATS),
    "hits-first": dict.fromkeys(("order-kept", "no-gap"), THREATS),
    "iv-of-a-miss": dict.fromkeys(_OUT_OF_STEP, THREATS),
    "free-nops": dict.fromkeys(_OUT_OF_STEP, THREATS),
    "no-padding": dict.fromkeys((*_TWO_UNDER_ONE_IV, "no-passed-iv", "in-step"), THREATS),
    "iv-from-the-host": dict.fromkeys(("copy-agreement",), THREATS),
    "old-key": dict.fromkeys((*_OUT_OF_STEP, "order-kept"), THREATS),
}

_PASSED = ("exposed_has_passed", "exposed_of_the_honest", "commands_fit")
_FOLLOWED = ("gone_has_passed", "commands_are_sent", "nothing_is_left_out", "nothing_was_left_out")

#: For each variant the lemmas that do not hold in it.
UNTRUE: dict[str, tuple[str, ...]] = {
    FLUSHED: (),
    AHEAD: (),
    SHARED: _PASSED,
    "no-invalidation": ("staged_is_current", "commands_fit"),
    "asynchronous-writes": ("pending_is_current", "commands_fit"),
    "hits-first": ("commands_in_order", "pending_comes_after_sent"),
    "iv-of-a-miss": (*_PASSED, *_FOLLOWED, "one_command"),
    "free-nops": (*_PASSED, *_FOLLOWED),
    "no-padding": _PASSED,
    "iv-from-the-host": (),
    "old-key": (*_PASSED, *_FOLLOWED, "commands_are_not_ahead", "one_command", "commands_in_order"),
}


# -- goals -------------------------------------------------------------------------------------------------------------
# What must be reachable, or claims would be empty.


def _goals(draft: Draft) -> None:

    @draft.goal(sentence="A block that was encrypted ahead reaches the GPU, after a NOP.")
    def hit_after_a_nop(a: Agent, k: Key, n: Iv, r: Copy, b: Block) -> Formula:
        nop = scratch(k, start) & placed(k, start, start)
        hit = guessed(k, r) & landed(k, n, r, b) & placed(k, n, n) & gone(k, n)
        return own(a, k) & nop & hit & (b != zeros)

    @draft.goal(sentence="A block that was encrypted anew reaches the GPU.")
    def miss(a: Agent, k: Key, n: Iv, r: Copy, b: Block) -> Formula:
        sent = landed(k, n, r, b) & placed(k, n, n) & gone(k, n)
        return own(a, k) & sent & ~guessed(k, r) & (b != zeros)

    @draft.goal(sentence="Two copies reach the GPU, of two blocks.")
    def two_copies(a: Agent, k: Key, n: Iv, m: Iv, r: Copy, s: Copy, b: Block, c: Block) -> Formula:
        both = landed(k, n, r, b) & landed(k, m, s, c) & before(n, m)
        return own(a, k) & both & (b != c)

    @draft.goal(sentence="Two messages are on their way.")
    def in_flight(a: Agent, k: Key, n: Iv, r: Copy) -> Formula:
        return own(a, k) & command(k, n, r) & before(counter(k), n)

    @draft.goal(sentence="A page that reached the GPU is written, and encrypted ahead again.")
    def written_again(a: Agent, k: Key, i: Iv, j: Iv, r: Copy, b: Block, c: Block) -> Formula:
        return own(a, k) & landed(k, i, r, b) & staged(k, j, source(k, r), c) & (b != c) & (j != i)

    _wrong_guesses(draft)
    if draft.variant == AHEAD:

        @draft.goal(sentence="A NOP goes to where a copy goes, and the copy comes after it.")
        def nop_overwritten(a: Agent, k: Key, i: Iv, n: Iv, r: Copy, b: Block) -> Formula:
            return own(a, k) & ahead(k, i, r) & before(i, n) & landed(k, n, r, b) & (b != zeros)

    @draft.goal(sentence="The host changes bytes on an honest tenant's channel, which ends.")
    def ended(a: Agent, k: Key, i: Iv, b: Block) -> Formula:
        return own(a, k) & dead(k) & exposed(k, i, b)

    @draft.goal(sentence="A corrupt tenant sends what it likes on a channel of its own.")
    def another_tenant(p: Agent, k: Key, n: Iv, r: Copy, b: Block) -> Formula:
        return corrupt(p) & opened(p, k) & landed(k, n, r, b) & learnt(p, b)

    @draft.goal(sentence="A corrupt agent has the key of another one's channel.")
    def pooled(p: Agent, q: Agent, k: Key) -> Formula:
        return corrupt(p) & opened(p, k) & knows(q, k) & (p != q)


def _wrong_guesses(draft: Draft) -> None:
    if draft.variant == FLUSHED:

        @draft.goal(sentence="A guess is flushed, and a copy follows it.")
        def flushed(a: Agent, k: Key, i: Iv, r: Copy, b: Block, n: Iv) -> Formula:
            return own(a, k) & spent(k, i) & scratch(k, i) & landed(k, n, r, b) & before(i, n)

        return

    @draft.goal(sentence="Two pages are encrypted ahead under one IV, and a copy is pending.")
    def two_guesses(a: Agent, k: Key, i: Iv, p: Page, q: Page, r: Copy, b: Block, c: Block) -> Formula:
        return own(a, k) & staged(k, i, p, b) & staged(k, i, q, c) & (b != c) & pending(k, r)

    @draft.goal(sentence="A guess is behind: another block was sent under its IV.")
    def behind(a: Agent, k: Key, i: Iv, p: Page, b: Block, c: Block) -> Formula:
        return own(a, k) & staged(k, i, p, b) & exposed(k, i, c) & (b != c) & before(i, due(k))


# -- lemmas ------------------------------------------------------------------------------------------------------------
# What makes the claims inductive, for any number of everything, whoever is corrupt.
#
# The argument: a channel has one tenant, and if that is honest nobody else has its key; so what is exposed and
# commanded under it, the tenant's runtime sent (keys). Everything exposed is under an IV that has passed, and
# everything staged is what its page holds (ciphertexts). Copies are asked for, sent and received in one order
# (requests, receiving).


def _lemmas(draft: Draft) -> None:
    # Keys.

    @draft.lemma
    def what_is_used(k: Key, p: Agent, i: Iv, r: Copy, b: Block) -> Formula:
        """Nothing is under a key before it is drawn, and its counter is at the start."""
        keys = opened(p, k) | knows(p, k) | asked(k, r, b) | session(k) | dead(k) | landed(k, i, r, b)
        messages = exposed(k, i, b) | changed(k, b) | command(k, i, r) | scratch(k, i)
        return ((keys | messages) >> used(k)) & (used(k) | (counter(k) == start))

    @draft.lemma
    def one_tenant(a: Agent, p: Agent, k: Key) -> Formula:
        """A channel is one tenant's, and an honest tenant knows the keys of its own channels only."""
        one = implies(opened(a, k) & opened(p, k), a == p)
        return one & implies(knows(p, k) & honest(p), opened(p, k))

    # Ciphertexts.

    @draft.lemma
    def pages_hold_their_owners_data(p: Page) -> Formula:
        """A page holds data of whose page it is, or nothing."""
        return (owner(content(p)) == home(p)) | (content(p) == zeros)

    @draft.lemma
    def staged_is_own(k: Key, i: Iv, p: Page, b: Block) -> Formula:
        """What is staged is data of whose page it is, or nothing, under a key of the same tenant."""
        return implies(staged(k, i, p, b), ((owner(b) == home(p)) | (b == zeros)) & opened(home(p), k))

    @draft.lemma
    def staged_is_current(k: Key, i: Iv, p: Page, b: Block) -> Formula:
        """What is staged is what its page holds."""
        return implies(staged(k, i, p, b), b == content(p))

    @draft.lemma
    def gone_has_passed(k: Key, i: Iv) -> Formula:
        """What a message took has passed."""
        return implies(gone(k, i), before(i, due(k)))

    @draft.lemma
    def exposed_of_the_honest(k: Key, i: Iv, b: Block) -> Formula:
        """An honest tenant's data are exposed on its own channels only."""
        return implies(exposed(k, i, b) & honest(owner(b)), opened(owner(b), k))

    _exposed(draft)

    # Requests.

    @draft.lemma
    def pending_is_own(k: Key, r: Copy) -> Formula:
        """A pending copy is of a page of whose channel it is, and was not sent."""
        known = ~earlier(latest(k), r) & ~served(k, r)
        return implies(pending(k, r), known & opened(home(source(k, r)), k))

    @draft.lemma
    def pending_is_current(k: Key, r: Copy) -> Formula:
        """The page of a pending copy still holds what it held when the copy was asked for."""
        return implies(pending(k, r), asked(k, r, content(source(k, r))))

    @draft.lemma
    def asked_once(k: Key, r: Copy, b: Block, c: Block) -> Formula:
        """A copy is asked for once, and is then pending or sent."""
        known = ~earlier(latest(k), r) & (pending(k, r) | served(k, r))
        return implies(asked(k, r, b), known & implies(asked(k, r, c), b == c))

    @draft.lemma
    def sent_was_asked(k: Key, r: Copy) -> Formula:
        """What was sent has a number that was asked for."""
        return implies(served(k, r), ~earlier(latest(k), r))

    @draft.lemma
    def pending_comes_after_sent(k: Key, r: Copy, s: Copy) -> Formula:
        """What was sent was asked for before everything that is pending."""
        return implies(served(k, r) & pending(k, s), earlier(r, s))

    # Commands.

    @draft.lemma
    def commands_are_sent(a: Agent, k: Key, n: Iv, r: Copy) -> Formula:
        """On an honest tenant's channel, commands tell what was sent, and where."""
        there = before(n, due(k)) & served(k, r) & (place(k, r) == n)
        nop = implies(scratch(k, n), before(n, due(k)) & ~command(k, n, r))
        return implies(own(a, k), implies(command(k, n, r), there) & nop)

    @draft.lemma
    def commands_are_not_ahead(a: Agent, k: Key, n: Iv, r: Copy) -> Formula:
        """On an honest tenant's channel, a command is for what was sent, and for no message to come."""
        return implies(own(a, k) & command(k, n, r), served(k, r) & ~before(due(k), n))

    @draft.lemma
    def sent_is_commanded(k: Key, r: Copy) -> Formula:
        """What was sent has a command."""
        return implies(served(k, r), command(k, place(k, r), r))

    @draft.lemma
    def one_command(a: Agent, k: Key, n: Iv, r: Copy, s: Copy) -> Formula:
        """A message is one copy."""
        return implies(own(a, k) & command(k, n, r) & command(k, n, s), r == s)

    @draft.lemma
    def commands_in_order(a: Agent, k: Key, n: Iv, m: Iv, r: Copy, s: Copy) -> Formula:
        """Copies are sent in the order in which they were asked for."""
        return implies(own(a, k) & command(k, n, r) & command(k, m, s) & before(n, m), earlier(r, s))

    @draft.lemma
    def commands_fit(a: Agent, k: Key, n: Iv, r: Copy, b: Block) -> Formula:
        """What is exposed under the IV of a command is what was asked for."""
        return implies(own(a, k) & command(k, n, r) & exposed(k, n, b), asked(k, r, b))

    # Receiving.

    @draft.lemma
    def landed_as_commanded(a: Agent, k: Key, n: Iv, r: Copy, b: Block) -> Formula:
        """What was decrypted had a command, and the counter has passed it."""
        return implies(own(a, k) & landed(k, n, r, b), command(k, n, r) & before(n, counter(k)))

    @draft.lemma
    def nothing_is_left_out(a: Agent, k: Key, n: Iv, r: Copy) -> Formula:
        """While a channel has not ended, every command that the counter has passed was followed."""
        return implies(own(a, k) & command(k, n, r) & before(n, counter(k)) & ~dead(k), filled(k, r))

    @draft.lemma
    def nothing_was_left_out(a: Agent, k: Key, n: Iv, m: Iv, r: Copy, s: Copy, b: Block) -> Formula:
        """Every command before one that was followed was followed."""
        both = command(k, n, r) & landed(k, m, s, b) & before(n, m)
        return implies(own(a, k) & both, filled(k, r))


def _exposed(draft: Draft) -> None:
    def mine(a: Agent, b: Block) -> Formula:
        return (owner(b) == a) | (b == zeros)

    if draft.variant != FLUSHED:

        @draft.lemma
        def exposed_has_passed(a: Agent, k: Key, i: Iv, b: Block) -> Formula:
            """On an honest tenant's channel, what is exposed is its own, under an IV that has passed."""
            return implies(own(a, k) & exposed(k, i, b), before(i, due(k)) & mine(a, b))

        return

    @draft.lemma
    def exposed_is_spent(a: Agent, k: Key, i: Iv, b: Block) -> Formula:
        """What is exposed is the tenant's own, under an IV that has passed or encrypts nothing else."""
        return implies(own(a, k) & exposed(k, i, b), (before(i, due(k)) | spent(k, i)) & mine(a, b))

    @draft.lemma
    def staged_is_exposed(k: Key, i: Iv, p: Page, b: Block) -> Formula:
        """What is staged lies in shared memory."""
        return implies(staged(k, i, p, b), exposed(k, i, b))
