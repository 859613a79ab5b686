"""What would hide a deduction is refused: each case is the core of a protocol whose attack no rule would find."""

import re
from collections.abc import Callable

import pytest

from carnet_spec.language import *
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
)
from tests.unit.spec.theories.test_dolev_yao import (
    ADVERSARY,
    Agent,
    Exponent,
    Tag,
    Value,
    addressed,
    corrupt,
    described,
    described_in,
    drawn,
    exponent,
    has,
    knows,
    pooled,
    sealed,
    secret,
    sends,
    sent,
    share,
    signed,
)


class Datum(Individual):
    """What is not drawn."""


class Key(Individual):
    """A key of an agent."""


of = rigid_function("of", Agent, to=Key)
holds = relation("holds", Agent, Key, kind=Kind.KNOWLEDGE)
also_knows = relation("also_knows", Agent, Value, kind=Kind.KNOWLEDGE)
reads = relation("reads", Agent, Datum, kind=Kind.KNOWLEDGE)
shown = relation("shown", Agent, Datum, kind=Kind.MESSAGE)
posted = relation("posted", Datum, kind=Kind.MESSAGE)
told = relation("told", Agent, Value, kind=Kind.MESSAGE)
labelled = relation("labelled", Agent, Tag, Value, kind=Kind.MESSAGE)
granted = relation("granted", Agent, Value, Value, Agent, Value, Value, kind=Kind.MESSAGE)
pair = relation("pair", Value, Agent, kind=Kind.MESSAGE)
within_a_pair = relation("within_a_pair", Agent, Value, Agent, kind=Kind.MESSAGE)
other_share = relation("other_share", Exponent, kind=Kind.MESSAGE)
other_secret = relation("other_secret", Agent, Exponent, Exponent, kind=Kind.KNOWLEDGE)
both = relation("both", Agent, Exponent, Exponent, kind=Kind.MESSAGE)


def one_for_another(form: Callable[..., Primitive]) -> Callable[[DolevYao], None]:
    """Describe a message for somebody, with one inside that the reader cannot open."""

    def describe(theory: DolevYao) -> None:
        theory.message(sealed, "pkv", lambda k, v: AuthenticatedEncryption(has(k), has(v)), "sealed")
        theory.message(granted, "pakvcjw", form, "a grant")

    return describe


def grant(a: Agent, k: Value, v: Value, c: Agent, j: Value, w: Value) -> Primitive:
    return PublicKeyEncryption(a, has(k), has(v), c, Known(sealed, j, w))


def two_that_know(theory: DolevYao) -> None:
    theory.draw(also_knows, "pv", "{v}")
    theory.pool(also_knows, "pqv", "{v}")


def shown_and_read(theory: DolevYao) -> None:
    theory.pool(reads, "pqd", "{d}")
    theory.message(shown, "pad", Plaintext, "{d}")


def shown_in_two_ways(theory: DolevYao) -> None:
    theory.message(shown, "pad", Plaintext, "{d}")
    theory.message(posted, "pd", lambda d: Hash(Known(reads, d)), "{d}")
    theory.pool(reads, "pqd", "{d}")


def a_member_and_a_variable(theory: DolevYao) -> None:
    theory.message(labelled, "patv", lambda a, t, v: Signature(a, t, has(v)), "any")
    theory.message(signed, "pav", lambda a, v: Signature(a, Tag.INSIDE, has(v)), "one")


def under_the_key_of(theory: DolevYao) -> None:
    theory.pool(holds, "pqk", "{k}")
    theory.message(told, "pav", lambda a, v: AuthenticatedEncryption(Known(holds, of(a)), has(v)), "{v}")


def sent_a_key_of(theory: DolevYao) -> None:
    theory.pool(holds, "pqk", "{k}")
    theory.message(told, "pav", lambda a, v: PublicKeyEncryption(a, Known(holds, of(a)), has(v)), "a key")


def a_pair_inside(theory: DolevYao) -> None:
    theory.message(pair, "pvb", lambda v, b: Plaintext(has(v), b), "a pair")
    theory.message(within_a_pair, "pavb", lambda a, v, b: Signature(a, Known(pair, v, b)), "a pair")


def a_secret_beside_its_share(theory: DolevYao) -> None:
    theory.exchange(exponent, share, secret, "pxy")
    theory.draw(exponent, "px", "{x}")
    theory.pool(exponent, "pqx", "{x}")
    theory.pool(secret, "pqxy", "the secret")
    theory.message(
        both, "paxy", lambda a, x, y: PublicKeyEncryption(a, SharedSecret(secret, x, y), Known(share, x)), "both"
    )


def two_exchanges(theory: DolevYao) -> None:
    theory.exchange(exponent, share, secret, "pxy")
    theory.exchange(exponent, other_share, other_secret, "pxy")


HIDDEN: dict[str, tuple[Callable[[DolevYao], None], str]] = {
    "an argument beside and inside of what is closed": (
        one_for_another(
            lambda a, k, v, c, j, w: PublicKeyEncryption(a, has(j), has(k), has(v), c, Known(sealed, j, w))
        ),
        "granted: j in sealed is no argument of its own",
    ),
    "an argument twice inside": (
        one_for_another(
            lambda a, k, v, c, j, w: PublicKeyEncryption(a, has(k), has(v), has(w), c, Known(sealed, j, j))
        ),
        "granted: j in sealed is no argument of its own",
    ),
    "an argument in two closed parts": (
        one_for_another(lambda a, k, v, c, j, w: Hash(a, c, has(k), has(v), Known(sealed, j, w), Known(sealed, w, k))),
        "granted: w in sealed is no argument of its own",
    ),
    "an argument of the key inside": (
        one_for_another(
            lambda a, k, v, c, j, w: AuthenticatedEncryption(has(j), a, c, has(k), has(v), Known(sealed, j, w))
        ),
        "granted: j in sealed is no argument of its own",
    ),
    "an argument of a key that is a message": (
        one_for_another(lambda a, k, v, c, j, w: Mac(Known(sealed, j, w), a, c, has(k), has(v), has(j))),
        "granted: j in sealed is no argument of its own",
    ),
    "a secret beside its share, for others": (
        a_secret_beside_its_share,
        "both: x in secret is no argument of its own",
    ),
    "two relations of who knows values of a sort": (two_that_know, "knows and also_knows both say who knows a Value"),
    "a sort in the clear that only some know": (
        shown_and_read,
        "shown has a Datum that everybody knows, and reads says who knows one",
    ),
    "a sort in the clear here, and not there": (
        shown_in_two_ways,
        "shown has a Datum that everybody knows, and reads says who knows one",
    ),
    "a member and a variable of its sort": (a_member_and_a_variable, "labelled and signed have one form"),
    "an argument in a function alone": (
        under_the_key_of,
        "told: the Agent 'a' is in the message by a function alone, which may give another the same value",
    ),
    "values that the adversary is not said to have": (
        lambda theory: theory.pool(reads, "pqd", "{d}"),
        "reads: nothing says which values the adversary has from the start",
    ),
    "a key that is said to be somebody's": (
        sent_a_key_of,
        "told: a reader of of(a) sees a Key, and not which one",
    ),
    "two kinds of shares of one exponent": (
        two_exchanges,
        "exponent: its shares are share already, and none is taken for the other",
    ),
    "a pair inside": (a_pair_inside, "pair, in within_a_pair, is Plaintext"),
}


@pytest.mark.parametrize("why", HIDDEN)
def test_what_would_hide_a_deduction_is_refused(why: str) -> None:
    say, said = HIDDEN[why]
    with pytest.raises(MisuseError, match=re.escape(said)):
        described(pooled, drawn, sent, say)


def test_what_is_inside_has_arguments_of_its_own() -> None:
    described(pooled, drawn, sent, one_for_another(grant))


def test_no_message_is_described_behind_the_block() -> None:
    """Nothing would compare its form with those of others."""
    with DolevYao(sends(), ADVERSARY, Agent, corrupt) as theory:
        pooled(theory)
        drawn(theory)
        sent(theory)
    with pytest.raises(MisuseError, match="say what messages are in 'with DolevYao"):
        theory.message(signed, "pav", lambda a, v: Signature(a, has(v)), "{v}")


def under_a_key(*axioms: Callable[[], Formula]) -> Draft:
    draft = Draft("keys", "Keys")
    draft.initially(holds, lambda a, k: k == of(a))
    for number, axiom in enumerate(axioms):
        draft.axiom(f"axiom {number}", axiom())
    with DolevYao(draft, ADVERSARY, Agent, corrupt) as theory:
        pooled(theory)
        drawn(theory)
        under_the_key_of(theory)
    return draft


def test_a_function_tells_its_argument_where_an_axiom_says_so() -> None:
    under_a_key(lambda: forall(lambda a, b: implies(of(a) == of(b), a == b), Agent, Agent))


OTHER_AXIOMS: dict[str, Callable[[], Formula]] = {
    "of some alone": lambda: forall(lambda a, b: implies(~corrupt(a) & (of(a) == of(b)), a == b), Agent, Agent),
    "the other way round": lambda: forall(lambda a, b: implies(a == b, of(a) == of(b)), Agent, Agent),
    "of one and one": lambda: forall(lambda a, b: implies(of(a) == of(a), a == b), Agent, Agent),
    "of others": lambda: forall(lambda a, b, c: implies(of(a) == of(b), a == c), Agent, Agent, Agent),
}


@pytest.mark.parametrize("axiom", OTHER_AXIOMS)
def test_another_axiom_does_not_say_so(axiom: str) -> None:
    with pytest.raises(MisuseError, match="in the message by a function alone"):
        under_a_key(OTHER_AXIOMS[axiom])


def test_what_honest_steps_wait_for_is_described() -> None:
    draft = Draft("waits", "Waits")

    @draft.action(Role("party"), "tests")
    def wait(step: Step, a: Agent, v: Value) -> None:
        step.require("either", signed(a, v) | addressed(a, v, a))

    with pytest.raises(MisuseError, match="signed: nothing says what it is made of"):
        described_in(draft, pooled, drawn, sent)


def test_what_is_there_in_the_first_state_is_described() -> None:
    draft = Draft("starts", "Starts")
    draft.initially(signed, lambda a, v: corrupt(a))
    with pytest.raises(MisuseError, match="signed: nothing says what it is made of"):
        described_in(draft, pooled, drawn, sent)


def honest_step(draft: Draft) -> None:
    @draft.action(Role("party"), "tests")
    def late(step: Step, a: Agent, v: Value) -> None:
        step.insert(signed(a, v))


def honest_addition(draft: Draft) -> None:
    @draft.superpose("send")
    def late(step: Step, a: Agent, v: Value) -> None:
        step.insert(signed(a, v))


def first_value(draft: Draft) -> None:
    draft.initially(signed, lambda a, v: corrupt(a))


def second_block(draft: Draft) -> None:
    DolevYao(draft, ADVERSARY, Agent, corrupt).__enter__()


LATE = {
    "late is a step of an honest role": honest_step,
    "send is a step of an honest role": honest_addition,
    "signed gets a first value": first_value,
    "it cannot be closed again": second_block,
}


@pytest.mark.parametrize("said", LATE)
def test_nothing_is_added_to_what_is_covered(said: str) -> None:
    draft = sends()
    described_in(draft, pooled, drawn, sent)

    @draft.action(ADVERSARY, "tests")
    def steal(step: Step, a: Agent, v: Value) -> None:
        step.given("corrupt", corrupt(a))
        step.insert(knows(a, v))

    before = draft.protocol()
    with pytest.raises(MisuseError, match=f"{said}, and the draft is closed: deductions are stated in one block"):
        LATE[said](draft)
    assert draft.protocol() == before
