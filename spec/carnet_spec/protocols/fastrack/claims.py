"""The claims, goals and lemmas of Fastrack, for any number of users, GPUs, keys, transfers, places and chunks."""

from carnet_spec.language import *
from carnet_spec.language.authoring import *
from carnet_spec.protocols.fastrack.vocabulary import *

TEXT = text_beside(__file__)

THREATS = ("outsider", "collusion")  #: The threat models under which every claim is made.


def state_properties(draft: Draft) -> None:
    """Add claims, goals and lemmas to ``draft``, and say which of them fall in its variant."""
    claim = Claims(draft, TEXT, THREATS)

    @claim("confidentiality", "Fastrack, abstract: direct GPU TEE communication")
    def confidentiality(p: Agent, b: Block) -> Formula:
        return implies(learnt(p, b) & honest(owner(b)), p == owner(b))

    @claim("key-isolation", "Fastrack, abstract: direct GPU TEE communication")
    def key_isolation(a: Agent, k: Key, g: Gpu, p: Agent) -> Formula:
        return implies(attested(a, k, g) & honest(a) & knows(p, k), p == a)

    @claim("gpu-genuine", "Carnet")
    def gpu_genuine(a: Agent, k: Key, g: Gpu, h: Gpu) -> Formula:
        one_end = holds(g, k) & implies(holds(h, k), h == g)
        return implies(attested(a, k, g) & honest(a), genuine(g) & confidential(g) & one_end)

    @claim("verified-release", "Fastrack, abstract: overlapping decryption with PCI-e transmission")
    def verified_release(a: Agent, g: Gpu, k: Key, x: Transfer, i: Position, b: Block) -> Formula:
        return implies(attested(a, k, g) & honest(a) & released(g, k, x, i, b), sent(a, k, b))

    @claim("chunk-agreement", "Fastrack, abstract: parallelized authentication")
    def chunk_agreement(a: Agent, g: Gpu, k: Key, x: Transfer, i: Position, b: Block) -> Formula:
        return implies(attested(a, k, g) & honest(a) & released(g, k, x, i, b), sealed(a, k, x, i, b))

    @claim("whole-transfer", "Carnet (truncation)")
    def whole_transfer(a: Agent, g: Gpu, k: Key, x: Transfer, i: Position) -> Formula:
        whole = (expected(g, k, x) == extent(k, x)) & implies(within(i, extent(k, x)), filled(g, k, x, i))
        return implies(attested(a, k, g) & honest(a) & done(g, k, x), whole)

    @claim("no-replay", "Carnet (a transfer sent again)")
    def no_replay(k: Key, x: Transfer) -> Formula:
        return ~again(k, x)

    @claim("iv-unique", "RFC 5116 section 3.1")
    def iv_unique(k: Key, x: Transfer, i: Position) -> Formula:
        return ~reused(k, x, i)

    @claim("answer-agreement", "Carnet (answers exchanged)")
    def answer_agreement(a: Agent, k: Key, x: Transfer) -> Formula:
        return implies(took(a, k, x) & honest(a), handed(k, x))

    _goals(draft)
    _lemmas(draft)
    expect_falls(draft, THREATS, FALLS, UNTRUE)


# -- what falls --------------------------------------------------------------------------------------------------------
# Every claim that is not named for a variant holds in it, and is proved.

_UNVERIFIED = ("verified-release", "chunk-agreement")

#: For each variant the claims that fall, and under which threat models.
FALLS: Falls = {
    THROUGH_THE_CPU: {
        **dict.fromkeys(("confidentiality", "key-isolation"), THREATS),
        **dict.fromkeys((*_UNVERIFIED, "whole-transfer", "answer-agreement"), THREATS[1:]),
    },
    "independent-tags": dict.fromkeys(("chunk-agreement", "whole-transfer"), THREATS),
    "no-length": {"whole-transfer": THREATS},
    "prefix-start": {"whole-transfer": THREATS},
    "decrypt-in-place": dict.fromkeys(_UNVERIFIED, THREATS),
    "two-fetches": dict.fromkeys(_UNVERIFIED, THREATS),
    "cpu-launches": {"confidentiality": THREATS},
}

#: For each variant the lemmas that do not hold in it.
UNTRUE: dict[str, tuple[str, ...]] = {
    "independent-tags": ("verified_is_sealed", "verified_last_is_last"),
    "no-length": ("verified_last_is_last",),
    "prefix-start": ("done_is_whole",),
    "decrypt-in-place": ("released_stays",),
    "two-fetches": ("verified_is_sealed", "verified_is_under_the_key"),
    "cpu-launches": ("named_code_runs",),
}


# -- goals -------------------------------------------------------------------------------------------------------------
# What must be reachable, or claims would be empty.


def _goals(draft: Draft) -> None:

    @draft.goal(sentence="A chunk is verified while another one is still to come.")
    def overlap(a: Agent, g: Gpu, k: Key, x: Transfer, i: Position, j: Position) -> Formula:
        return attested(a, k, g) & verified(g, k, x, i) & ~arrived(g, k, x, j) & within(j, expected(g, k, x))

    @draft.goal(sentence="The second chunk is verified before the first arrives.")
    def out_of_order(a: Agent, g: Gpu, k: Key, x: Transfer, i: Position) -> Formula:
        return attested(a, k, g) & verified(g, k, x, i) & (i != first) & ~arrived(g, k, x, first)

    @draft.goal(sentence="A kernel reads a transfer of two chunks of an honest user.")
    def two_chunks(a: Agent, g: Gpu, k: Key, x: Transfer, i: Position, b: Block, c: Block) -> Formula:
        both = released(g, k, x, first, b) & released(g, k, x, i, c) & (i != first)
        return attested(a, k, g) & honest(a) & both

    @draft.goal(sentence="An honest user takes the answer to its transfer.")
    def answer_taken(a: Agent, k: Key, x: Transfer) -> Formula:
        return took(a, k, x) & honest(a)

    @draft.goal(sentence="A user seals two chunks of one transfer.")
    def two_sealed(a: Agent, k: Key, x: Transfer, i: Position, b: Block, c: Block) -> Formula:
        return sealed(a, k, x, first, b) & sealed(a, k, x, i, c) & (i != first) & (b != c)

    @draft.goal(
        sentence="A chunk that the host changed arrives under an honest user's key, and the transfer is given up."
    )
    def given_up(a: Agent, g: Gpu, k: Key, x: Transfer, i: Position) -> Formula:
        return attested(a, k, g) & begun(a, k, x) & failed(g, k, x) & arrived(g, k, x, i)

    @draft.goal(sentence="What the host made is decrypted under an honest user's key, and waits for its tag.")
    def unverified(a: Agent, g: Gpu, k: Key, x: Transfer, i: Position, b: Block) -> Formula:
        return attested(a, k, g) & staged(g, k, x, i, b) & corrupt(owner(b))

    @draft.goal(sentence="A corrupt user sends two chunks of its own to a genuine GPU.")
    def another_user(p: Agent, g: Gpu, k: Key, x: Transfer, i: Position, b: Block, c: Block) -> Formula:
        both = released(g, k, x, first, b) & released(g, k, x, i, c) & (i != first)
        return corrupt(p) & opened(p, k) & holds(g, k) & confidential(g) & both

    @draft.goal(sentence="A corrupt agent has the key of another one's exchange with a genuine GPU.")
    def pooled(p: Agent, q: Agent, k: Key, g: Gpu) -> Formula:
        return corrupt(p) & opened(p, k) & knows(q, k) & (p != q) & holds(g, k) & confidential(g)


# -- lemmas ------------------------------------------------------------------------------------------------------------
# What makes the claims inductive, for any number of everything, whoever is corrupt.
#
# The argument: a key exchange has one user and one other end; if an honest user took its report, that end is a genuine
# GPU in confidential mode and nobody else has the key; so whatever is under the key, the user made (keys). Tags say
# where a chunk belongs (tags). What a verified place holds is what was sealed for it, and it stays until it is released
# (memory).


def _lemmas(draft: Draft) -> None:
    """Add the lemmas to ``draft``.

    Where the CPU TEE is an end of the key, what rests on the key is true only while the CPU TEE is honest.
    """
    direct = draft.variant != THROUGH_THE_CPU
    secret = draft.lemma if direct else draft.lemma_under("outsider")

    # Keys.

    @draft.lemma
    def what_is_used(k: Key, p: Agent, g: Gpu, m: Mode, c: Code) -> Formula:
        """Nothing is said of a key before it is drawn, and nobody answers before somebody asks."""
        keys = (opened(p, k) | knows(p, k) | exposed(k) | asked(k) | named(k, c)) >> used(k)
        return keys & (answered(k) >> asked(k)) & ((holds(g, k) | report(g, k, m)) >> answered(k))

    @draft.lemma
    def what_is_under_a_used_key(k: Key, x: Transfer, i: Position, n: Position, m: Mark, b: Block) -> Formula:
        """Nothing is under a key before it is drawn, and no tag without a chunk."""
        chunk = implies(tag(k, x, i, n, m, b), ciphertext(k, b))
        there = ciphertext(k, b) | tag(k, x, i, n, m, b) | answer(k, x) | ivs(k, x, i) | masked(k, x, i, b)
        return chunk & (there >> used(k))

    @draft.lemma
    def changed_is_made(k: Key, b: Block, g: Gpu) -> Formula:
        """What the host changes becomes what the adversary wants; and the mode of a GPU stays."""
        return implies(changed(k, b), corrupt(owner(b)) & used(k)) & implies(confidential(g), closed(g))

    @draft.lemma
    def one_user(a: Agent, b: Agent, k: Key) -> Formula:
        """One user opened a key exchange, and knows its key."""
        return implies(opened(a, k), knows(a, k) & implies(opened(b, k), a == b))

    @draft.lemma
    def one_end(g: Gpu, h: Gpu, k: Key) -> Formula:
        """One genuine GPU is the other end."""
        return implies(holds(g, k), genuine(g)) & implies(holds(g, k) & holds(h, k), g == h)

    @draft.lemma
    def reports_are_true(g: Gpu, k: Key, m: Mode) -> Formula:
        """A genuine GPU reports on its own key exchanges, and the mode that it is in."""
        true = holds(g, k) & ((m == Mode.CONFIDENTIAL) >> confidential(g)) & ((m == Mode.OPEN) >> ~confidential(g))
        return implies(report(g, k, m) & genuine(g), true)

    @draft.lemma
    def who_is_exposed(a: Agent, g: Gpu, k: Key) -> Formula:
        """The adversary has the key of an honest user's exchange with a GPU only if that GPU is open."""
        return implies(opened(a, k) & honest(a) & exposed(k), answered(k) & implies(holds(g, k), ~confidential(g)))

    _who_knows(draft, direct=direct)

    # Secure.

    @draft.lemma
    def attested_ends(a: Agent, k: Key, g: Gpu) -> Formula:
        """The user took the report of the GPU that is the other end."""
        there = genuine(g) & confidential(g) & holds(g, k)
        return implies(attested(a, k, g), _own(a, k) & there)

    @draft.lemma
    def begun_on_attested(a: Agent, k: Key, x: Transfer, g: Gpu) -> Formula:
        """Transfers begin under keys that end well."""
        return implies(begun(a, k, x), _own(a, k) & answered(k) & implies(holds(g, k), confidential(g)))

    @secret
    def honest_data_is_under_own_keys(k: Key, b: Block, g: Gpu) -> Formula:
        """Honest data is under its owner's keys only, and those end well."""
        ends_well = answered(k) & implies(holds(g, k), confidential(g))
        return implies(ciphertext(k, b) & honest(owner(b)), _own(owner(b), k) & ends_well)

    @secret
    def named_code_keeps_data(a: Agent, k: Key, c: Code) -> Formula:
        """Code that an honest user named keeps the data."""
        return implies(_own(a, k) & named(k, c), ~leaks(c))

    @draft.lemma
    def named_code_runs(g: Gpu, k: Key, c: Code) -> Formula:
        """What runs was named."""
        return implies(runs(g, k, c), named(k, c) & holds(g, k))

    # Tags.

    @secret
    def tags_tell(a: Agent, k: Key, x: Transfer, i: Position, n: Position, m: Mark, b: Block) -> Formula:
        """A tag under an honest user's key says what that user sealed, and where it belongs."""
        told = begun(a, k, x) & sealed(a, k, x, i, b) & (n == extent(k, x))
        mark = ((m == Mark.LAST) >> (i == n)) & ((m == Mark.MORE) >> (i != n))
        return implies(_own(a, k) & tag(k, x, i, n, m, b), told & mark & ciphertext(k, b))

    @secret
    def chunks_were_sent(a: Agent, k: Key, b: Block) -> Formula:
        """What is under an honest user's key, that user sent."""
        return implies(_own(a, k) & ciphertext(k, b), sent(a, k, b) & (owner(b) == a))

    @draft.lemma
    def sealed_is_sent(a: Agent, k: Key, x: Transfer, i: Position, b: Block) -> Formula:
        """What was sealed for a place was sent, in a transfer that has the place."""
        told = begun(a, k, x) & sent(a, k, b) & spent(a, k, x, i) & within(i, extent(k, x)) & (owner(b) == a)
        return implies(sealed(a, k, x, i, b), told & ciphertext(k, b) & masked(k, x, i, b))

    @draft.lemma
    def sealed_once(a: Agent, k: Key, x: Transfer, i: Position, b: Block, c: Block) -> Formula:
        """For a place one block was sealed, and nothing else has its IV."""
        only = implies(opened(a, k) & masked(k, x, i, b), sealed(a, k, x, i, b))
        two = implies(masked(k, x, i, b) & masked(k, x, i, c), b == c)
        return only & two & implies(sealed(a, k, x, i, b) & sealed(a, k, x, i, c), b == c)

    # Memory.

    @draft.lemma
    def staged_is_arrived(g: Gpu, k: Key, x: Transfer, i: Position, b: Block, c: Block) -> Formula:
        """A place has at most one content, which arrived."""
        there = staged(g, k, x, i, b)
        return implies(there, arrived(g, k, x, i) & ~failed(g, k, x)) & implies(there & staged(g, k, x, i, c), b == c)

    @draft.lemma
    def staged_is_sealed_or_made(g: Gpu, k: Key, x: Transfer, i: Position, b: Block) -> Formula:
        """What arrived was under the key, or the adversary made it."""
        return implies(staged(g, k, x, i, b), ciphertext(k, b) | corrupt(owner(b)))

    @draft.lemma
    def arrived_in_a_transfer(g: Gpu, k: Key, x: Transfer, i: Position) -> Formula:
        """Chunks arrive in transfers that began, at places that they have."""
        begun_there = started(g, k, x) & within(i, expected(g, k, x))
        there = implies(arrived(g, k, x, i), begun_there) & implies(verified(g, k, x, i), arrived(g, k, x, i))
        return (
            there & implies(started(g, k, x), holds(g, k)) & implies(done(g, k, x) | failed(g, k, x), started(g, k, x))
        )

    @secret
    def verified_is_sealed(a: Agent, g: Gpu, k: Key, x: Transfer, i: Position, b: Block) -> Formula:
        """What a verified place holds was sealed for it."""
        return implies(_own(a, k) & verified(g, k, x, i) & staged(g, k, x, i, b), sealed(a, k, x, i, b))

    @draft.lemma
    def verified_is_under_the_key(g: Gpu, k: Key, x: Transfer, i: Position, b: Block) -> Formula:
        """What a verified place holds was sealed under the key."""
        return implies(verified(g, k, x, i) & staged(g, k, x, i, b), ciphertext(k, b))

    @secret
    def verified_last_is_last(a: Agent, g: Gpu, k: Key, x: Transfer, i: Position) -> Formula:
        """The last place is verified only if it is the user's last, too."""
        last = implies(i == expected(g, k, x), i == extent(k, x))
        return implies(_own(a, k) & verified(g, k, x, i), begun(a, k, x) & last)

    @draft.lemma
    def released_stays(g: Gpu, k: Key, x: Transfer, i: Position, b: Block) -> Formula:
        """What was released is what was staged and verified."""
        return implies(released(g, k, x, i, b), staged(g, k, x, i, b) & verified(g, k, x, i) & done(g, k, x))

    @draft.lemma
    def released_is_sealed_or_made(g: Gpu, k: Key, x: Transfer, i: Position, b: Block) -> Formula:
        """What a kernel reads was under the key, or the adversary made it."""
        return implies(released(g, k, x, i, b), ciphertext(k, b) | corrupt(owner(b)))

    @draft.lemma
    def done_is_whole(g: Gpu, k: Key, x: Transfer, i: Position) -> Formula:
        """A transfer that is done is whole, and verified."""
        return implies(done(g, k, x) & within(i, expected(g, k, x)), verified(g, k, x, i) & filled(g, k, x, i))

    # Records.

    @draft.lemma
    def done_is_handed(g: Gpu, k: Key, x: Transfer, i: Position) -> Formula:
        """A transfer that is done was handed to kernels, and not given up; what was filled had arrived."""
        there = implies(filled(g, k, x, i), arrived(g, k, x, i))
        return there & implies(done(g, k, x), handed(k, x) & ~failed(g, k, x))

    @draft.lemma
    def handed_is_done(g: Gpu, k: Key, x: Transfer) -> Formula:
        """What was handed to kernels, the one GPU remembers."""
        return implies(handed(k, x), answered(k) & implies(holds(g, k), done(g, k, x)))

    @secret
    def answers_are_about_done(a: Agent, k: Key, x: Transfer) -> Formula:
        """An answer under an honest user's key is about a transfer that was handed to kernels."""
        return implies(_own(a, k) & answer(k, x), handed(k, x))

    @draft.lemma
    def ivs_are_spent(a: Agent, k: Key, x: Transfer, i: Position) -> Formula:
        """The user knows which IVs its workers used."""
        return implies(ivs(k, x, i) & opened(a, k), spent(a, k, x, i)) & implies(
            spent(a, k, x, i), ivs(k, x, i) & opened(a, k) & begun(a, k, x)
        )


def _own(a: Agent, k: Key) -> Formula:
    """Whether an honest user opened the exchange, and the adversary is at no end of it."""
    return opened(a, k) & honest(a) & ~exposed(k)


def _who_knows(draft: Draft, *, direct: bool) -> None:
    if direct:

        @draft.lemma
        def who_knows_a_key(a: Agent, p: Agent, k: Key) -> Formula:
            """If the adversary is at no end, the user alone knows the key."""
            return implies(_own(a, k) & knows(p, k), p == a)

        return

    @draft.lemma_under("outsider")
    def two_know_a_key(a: Agent, p: Agent, k: Key) -> Formula:
        """If the adversary is at no end, the user and the CPU TEE know the key."""
        return implies(_own(a, k) & knows(p, k), (p == a) | (p == cpu))

    @draft.lemma_under("outsider")
    def two_learn_data(p: Agent, b: Block) -> Formula:
        """The user and the CPU TEE learn the data, and nobody else."""
        return implies(learnt(p, b) & honest(owner(b)), (p == owner(b)) | (p == cpu))
