"""Whether deducing early is exact: what rules add may only help guards and only hurt claims.

Rules are deductions, and engines apply them as early as they can. That loses no behaviour if a state
with more deduced facts allows every step that one with fewer allows, and violates every claim that one violates:

* guards, and the conditions under which deduced facts are inserted, read them positively only;
* the conditions under which deduced facts are removed read them negatively only;
* no other update depends on them;
* claims read them negatively only, goals positively only, liveness not at all.

Lemmas are exempt: they change no behaviour and no verdict on a claim. The explorer evaluates them in
saturated states, induction over single deductions, and both must find them true.
"""

from __future__ import annotations

from collections.abc import Iterator

from carnet_spec.language.actions import Action, Effect
from carnet_spec.language.analysis.polarity import deduced_symbols, signed_symbols
from carnet_spec.language.lints.common import Findings, at
from carnet_spec.language.protocol import Protocol
from carnet_spec.language.terms import Symbol, Term


def hasty_reads(protocol: Protocol) -> Findings:
    """Yield where a deduced fact is read in a way that makes eager deduction inexact, and why."""
    deduced = deduced_symbols(protocol)

    def misread(term: Term, allowed: bool | None) -> list[str]:
        found = {symbol.name for symbol, sign in signed_symbols(term) if symbol in deduced and sign is not allowed}
        return sorted(found)

    for action in protocol.actions:
        for where, term, allowed, why in _readings(action, deduced):
            for name in misread(term, allowed):
                yield where, f"reads {name}, which rules add to, {why}"
    for claim in protocol.claims:
        for name in misread(claim.invariant.body, False) if claim.invariant else ():
            yield (
                f"claim {claim.name}",
                f"asks for {name}, which rules add to: a claim may only say what follows from it",
            )
    for goal in protocol.goals:
        for name in misread(goal.body, True):
            yield f"goal {goal.name}", f"asks that {name}, which rules add to, does not hold"
    for live in protocol.liveness:
        for name in sorted({name for term in live.terms for name in misread(term, None)}):
            yield f"liveness {live.name}", f"reads {name}, which rules add to"


def _readings(action: Action, deduced: frozenset[Symbol]) -> Iterator[tuple[str, Term, bool | None, str]]:
    """Yield each place where ``action`` reads, the sign that is fine there, and why others are not."""
    late = "negatively: a step may not depend on a deduction that has not been made yet"
    for guard in action.guards:
        yield at(action, guard), guard.formula, True, late
    for update in action.updates:
        where = at(action, update)
        if update.symbol not in deduced:
            why = f"to change {update.symbol.name}: split the step so that a guard reads it"
            yield where, update.when, None, why
        elif update.effect is Effect.INSERT:
            yield where, update.when, True, late
        else:
            why = f"to remove facts: remove {update.symbol.name} on a condition that no rule changes"
            yield where, update.when, False, why
