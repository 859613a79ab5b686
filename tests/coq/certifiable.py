"""Random protocols in the certified language: with claims, lemmas, axioms and threat models that have their own."""

from dataclasses import replace

from hypothesis import strategies as st

from carnet_spec.language import (
    Action,
    Axiom,
    Claim,
    Effect,
    Guard,
    GuardKind,
    Initial,
    Invariant,
    Protocol,
    Term,
    Threat,
    Update,
)
from carnet_spec.language.terms import (
    TRUE,
    And,
    Apply,
    Equal,
    Exists,
    Forall,
    IfThenElse,
    Implies,
    Member,
    Not,
    Or,
    Symbol,
    Var,
)
from tests.coq import flagging
from tests.property.random_protocols import (
    ANYONE,
    BAD,
    CURRENT,
    FLAG,
    HELD,
    HOME,
    KEY,
    KNOWN,
    OWNER,
    PARTY,
    PHASE,
    PHASE_NOW,
    READY,
    SEEN,
    SYMBOLS,
    TURN,
    USED,
    samples,
)

SOMEBODY = Var("somebody", PARTY)
THREATS = (
    Threat("nobody", "Nobody is bad", (Axiom("all good", Forall((SOMEBODY,), Not(Apply(BAD, (SOMEBODY,))))),)),
    Threat("some/body", "Somebody is bad", (Axiom("one bad", Exists((SOMEBODY,), Apply(BAD, (SOMEBODY,)))),)),
)
#: What an invariant may be limited to; nothing stands for every threat model.
LIMITS = ((), (), ("nobody",), ("some/body",), ("nobody", "some/body"))


@st.composite
def certifiable(draw: st.DrawFn) -> Protocol:
    """Draw a protocol whose updates choose between no terms, and which states some invariants."""
    sample = draw(samples())
    stated = [(each, draw(st.sampled_from(LIMITS)), draw(st.booleans())) for each in sample.invariants]
    return replace(
        sample.protocol,
        actions=tuple(map(without_choices, sample.protocol.actions)),
        axioms=(Axiom("bad or not", Exists((SOMEBODY,), Apply(BAD, (SOMEBODY,)))),) if draw(st.booleans()) else (),
        claims=tuple(_claim(each, limits) for each, limits, is_claim in stated if is_claim),
        lemmas=tuple(replace(each, under=limits) for each, limits, is_claim in stated if not is_claim),
        threats=THREATS if draw(st.booleans()) else (),
    )


def _claim(invariant: Invariant, limits: tuple[str, ...]) -> Claim:
    under = limits or tuple(threat.id for threat in THREATS)
    return Claim(invariant.name, invariant, "random", "", "", under)


def without_choices(action: Action) -> Action:
    """Take one of the values that an update chooses between."""
    return replace(action, updates=tuple(map(_sure, action.updates)))


def _sure(update: Update) -> Update:
    value: Term | None = update.value
    return replace(update, value=value.then) if isinstance(value, IfThenElse) else update


# -- A protocol whose steps change one symbol several times ----------------------------------------------


A, B = Var("a", PARTY), Var("b", PARTY)
K, L = Var("k", KEY), Var("l", KEY)
EACH_PARTY, EACH_KEY = Var("each_party", PARTY), Var("each_key", KEY)
TURN_NOW = Apply(TURN, ())


def _insert(name: str, symbol: Symbol, *args: Term, when: Term = TRUE, each: tuple[Var, ...] = ()) -> Update:
    return Update(name, symbol, Effect.INSERT, args, None, when, each)


def _remove(name: str, symbol: Symbol, *args: Term, when: Term = TRUE, each: tuple[Var, ...] = ()) -> Update:
    return Update(name, symbol, Effect.REMOVE, args, None, when, each)


def _set(name: str, symbol: Symbol, *args: Term, to: Term, when: Term = TRUE, each: tuple[Var, ...] = ()) -> Update:
    return Update(name, symbol, Effect.ASSIGN, args, to, when, each)


EXCHANGE = (
    _insert("take", HELD, A, K),
    _remove("all give up", HELD, EACH_PARTY, K, when=Not(Equal(EACH_PARTY, B)), each=(EACH_PARTY,)),
    _insert("take again", HELD, A, L, when=Apply(HELD, (A, K))),
    _remove("drop", HELD, Apply(OWNER, (K,)), Apply(CURRENT, (B,))),
    _insert(
        "share", KNOWN, EACH_PARTY, EACH_KEY, when=Apply(HELD, (EACH_PARTY, EACH_KEY)), each=(EACH_KEY, EACH_PARTY)
    ),
    _remove("forget", KNOWN, A, EACH_KEY, when=Equal(Apply(OWNER, (EACH_KEY,)), TURN_NOW), each=(EACH_KEY,)),
)
HANDING_OVER = (
    _set("own", OWNER, K, to=A),
    _set("own the other", OWNER, L, to=TURN_NOW, when=Apply(READY, (A,))),
    _set("own the rest", OWNER, EACH_KEY, to=B, when=Apply(SEEN, (EACH_KEY,)), each=(EACH_KEY,)),
    _set("turn", TURN, to=Apply(OWNER, (Apply(CURRENT, (A,)),))),
    _set(
        "further",
        CURRENT,
        EACH_PARTY,
        to=Apply(CURRENT, (TURN_NOW,)),
        when=Apply(READY, (EACH_PARTY,)),
        each=(EACH_PARTY,),
    ),
    _set("back", CURRENT, Apply(OWNER, (K,)), to=Apply(CURRENT, (TURN_NOW,))),
    _set("busy", PHASE_NOW, to=Member(PHASE, "BUSY"), when=Not(Apply(FLAG, ()))),
    _set("done", PHASE_NOW, to=Member(PHASE, "DONE"), when=Exists((A,), Apply(HELD, (A, K)))),
)


def thorny() -> Protocol:
    drawn = tuple(Guard(f"fresh {var.name}", Not(Apply(USED, (var,))), GuardKind.FRESH) for var in (L, K))
    asked = (
        Guard("idle or bad", Or((Equal(Apply(PHASE_NOW, ()), Member(PHASE, "IDLE")), Apply(BAD, (B,))))),
        Guard("both", And((Apply(READY, (A,)), Not(Apply(READY, (B,))), Apply(HELD, (A, L))))),
        Guard("all or one", Exists((A,), Forall((L, B), Or((Apply(HELD, (A, K)), Equal(Apply(OWNER, (L,)), B)))))),
    )
    uses = tuple(_insert(f"use {var.name}", USED, var) for var in (L, K))
    home = Apply(OWNER, (K,))
    return replace(
        flagging.protocol(),
        actions=(
            Action("exchange", ANYONE, (A, B, K, L), (*asked, *drawn), (*EXCHANGE, *uses), "", ""),
            Action("hand over", ANYONE, (B, K, A, L), asked, HANDING_OVER, "", ""),
        ),
        initial=(
            Initial(OWNER, (K,), Apply(HOME, (K,))),
            Initial(READY, (A,), Apply(BAD, (A,))),
            Initial(HELD, (A, K), And((Equal(Apply(HOME, (K,)), A), Not(Apply(BAD, (A,)))))),
            Initial(PHASE_NOW, (), Member(PHASE, "DONE")),
        ),
        claims=(),
        lemmas=(
            Invariant("held by owners", (A, K), Implies(Apply(HELD, (A, K)), Equal(home, A))),
            Invariant("owned currently", (A,), Equal(Apply(OWNER, (Apply(CURRENT, (A,)),)), TURN_NOW)),
            Invariant("known or held", (), Exists((A,), Forall((K,), Or((Apply(KNOWN, (A, K)), Apply(HELD, (A, K))))))),
        ),
        threats=(),
        sorts=(PARTY, KEY, PHASE),
        symbols=SYMBOLS,
    )
