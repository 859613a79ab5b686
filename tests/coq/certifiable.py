"""Random protocols in the certified language: with claims, lemmas, axioms and threat models that have their own."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from carnet_spec.language import Action, Axiom, Claim, Invariant, Protocol, Term, Threat, Update
from carnet_spec.language.terms import Apply, Exists, Forall, IfThenElse, Not, Var
from tests.property.random_protocols import BAD, PARTY, samples

SOMEBODY = Var("somebody", PARTY)
THREATS = (
    Threat("nobody", "Nobody is bad", (Axiom("all good", Forall((SOMEBODY,), Not(Apply(BAD, (SOMEBODY,))))),)),
    Threat("some/body", "Somebody is bad", (Axiom("one bad", Exists((SOMEBODY,), Apply(BAD, (SOMEBODY,)))),)),
)
LIMITS = ((), (), ("nobody",), ("some/body",), ("nobody", "some/body"))
"""What an invariant may be limited to; nothing stands for every threat model."""


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
