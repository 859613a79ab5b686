"""What every protocol says in the same way, said once."""

import pytest

from carnet_spec.language import (
    Draft,
    Finding,
    Formula,
    Individual,
    Kind,
    Profile,
    SpecificationError,
    Variant,
    relation,
)
from carnet_spec.language.authoring import (
    HONEST,
    Claims,
    Findings,
    amounts_in_words,
    assumptions_from,
    by_name,
    declare_defences,
    expect_falls,
    fact,
    first_names,
    numbered_names,
    sizes_for,
    sizes_in_words,
    unary,
)
from carnet_spec.language.requirements import NormativeText

TEXT = NormativeText(
    "**CLAIM-NO-REPLAY** Nothing is done twice. (Source: Carnet)\n\n"
    "**A1** Tags cannot be forged. (Source: convention)\n\n**A2** Counters do not wrap. (Source: convention)\n"
)
THREATS = ("watching", "meddling")


class Thing(Individual):
    """A thing."""


again = relation("again", Thing, kind=Kind.GHOST, says="it was done twice")


def _draft(variant: str = "main") -> Draft:
    draft = Draft("replay", "Replay", variant)
    for threat in THREATS:
        draft.threat(threat, "an adversary")
    claim = Claims(draft, TEXT, THREATS)

    @claim("no-replay", "a book")
    def no_replay(x: Thing) -> Formula:
        return ~again(x)

    @draft.lemma
    def never_again(x: Thing) -> Formula:
        """Nothing is done twice."""
        return ~again(x)

    return draft


def test_a_claim_says_what_its_requirement_says() -> None:
    (claim,) = _draft().protocol().claims
    assert (claim.name, claim.requirement, claim.sentence) == (
        "no-replay",
        "CLAIM-NO-REPLAY",
        "Nothing is done twice.",
    )
    assert (claim.source, claim.under, claim.fails_under) == ("a book", THREATS, ())


def test_a_claim_may_be_made_under_fewer_threat_models() -> None:
    draft = Draft("replay", "Replay")

    @Claims(draft, TEXT, THREATS)("no-replay", "a book", under=(), fails_under=("watching",))
    def no_replay(x: Thing) -> Formula:
        return ~again(x)

    assert (no_replay.under, no_replay.fails_under) == ((), ("watching",))


def test_a_claim_without_a_requirement_is_refused() -> None:
    with pytest.raises(SpecificationError, match="CLAIM-REPLAY"):
        Claims(Draft("replay", "Replay"), TEXT, THREATS)("replay", "a book")


def test_what_falls_in_a_variant_is_expected_there_alone() -> None:
    falls, untrue = {"loose": {"no-replay": THREATS[1:]}}, {"loose": ("never_again",)}
    main, loose = _draft(), _draft("loose")
    for draft in (main, loose):
        expect_falls(draft, THREATS, falls, untrue)
    assert [(claim.under, claim.fails_under) for claim in main.protocol().claims] == [(THREATS, ())]
    assert [(claim.under, claim.fails_under) for claim in loose.protocol().claims] == [(THREATS[:1], THREATS[1:])]
    assert [lemma.name for lemma in main.protocol().lemmas] == ["never_again"]
    assert loose.protocol().lemmas == ()


def test_assumptions_and_defences_are_declared_in_order() -> None:
    draft = Draft("replay", "Replay")
    assumptions_from(draft, TEXT, built_in=("A2",))
    declare_defences(draft, (("counter", "steps are counted"), ("clock", "steps are timed", "timed")))
    protocol = draft.protocol()
    assert [(each.id, each.built_in) for each in protocol.assumptions] == [("A1", False), ("A2", True)]
    assert [(each.id, each.base) for each in protocol.defences] == [("counter", ""), ("clock", "timed")]


def test_names_of_instances() -> None:
    assert numbered_names("k", 2) == ("k1", "k2")
    assert numbered_names("v", 2, start=0) == ("v0", "v1")
    assert numbered_names("k", 0) == ()
    assert first_names(HONEST, "user", 2) == HONEST[:2]
    assert first_names(HONEST, "user", 6) == (*HONEST, "user5", "user6")
    assert unary(("a", "b")) == {("a",), ("b",)}
    assert list(fact(True)) == [()]
    assert not fact(False)


@pytest.mark.parametrize(
    ("number", "what", "words"),
    [
        (1, "GPU", "1 GPU"),
        (2, "honest user", "2 honest users"),
        (2, "key of the adversary's", "2 keys of the adversary's"),
        (2, "copy to a channel", "2 copies to a channel"),
        (2, "pass", "2 passes"),
        (0, "fake", ""),
    ],
)
def test_amounts_in_words(number: int, what: str, words: str) -> None:
    assert amounts_in_words((number, what)) == words


def test_amounts_are_joined_without_those_that_are_zero() -> None:
    assert amounts_in_words((1, "key"), (0, "fake"), (3, "chunk")) == "1 key, 3 chunks"


def test_variants_and_profiles_go_by_their_names() -> None:
    assert list(by_name(Variant("main", "as written"), Variant("loose", "without"))) == ["main", "loose"]
    assert by_name(Profile("tiny", {}))["tiny"].scale == {}


def test_a_finding_has_what_its_table_has_unless_it_says_another_thing() -> None:
    finding = Findings("collusion", "the paper")
    assert finding(1, "loose", "secrecy")("it leaks") == Finding(
        "finding-1", "it leaks", "collusion", "secrecy", "loose", about="the paper"
    )
    other = finding(2, "", "secrecy", threat="outsider", about="the code", without=("lock",))("it leaks")
    assert other == Finding("finding-2", "it leaks", "outsider", "secrecy", "", ("lock",), "the code")


def test_sizes_have_defaults_and_words() -> None:
    sizes = {"users": (1, "user"), "fakes": (0, "fake")}
    size = sizes_for({"fakes": 2}, sizes, "a protocol")
    assert size == {"users": 1, "fakes": 2}
    assert sizes_in_words(size, sizes) == "1 user, 2 fakes"
    with pytest.raises(SpecificationError, match="no size 'user' in a protocol"):
        sizes_for({"user": 2}, sizes, "a protocol")
