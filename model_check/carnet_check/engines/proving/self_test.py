"""Three questions whose answers are known, which a solver has to answer before anything else that it says is believed.

They are a contradiction that one named hypothesis makes, a formula that a model of one element satisfies, and formulas
that only an infinite structure satisfies: a solver that saturates or takes instances never ends there.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

from carnet_check.engines.proving.answers import SolverOutcome
from carnet_check.errors import UsageError

Answer = tuple[SolverOutcome, Collection[str], str]
"""The outcome, the hypotheses that were used, and why the outcome is unknown."""


@dataclass(frozen=True, slots=True)
class Known:
    """A question as SMT-LIB and as TPTP have it, and the one right answer."""

    name: str
    smtlib: str
    tptp: str
    outcome: SolverOutcome
    core: tuple[str, ...] = ()


_HEAD = "(set-option :produce-unsat-cores true)\n(set-logic ALL)\n(declare-sort S 0)\n"
_TAIL = "(check-sat)\n(get-unsat-core)\n"
QUESTIONS = (
    Known(
        "a theorem",
        f"""{_HEAD}(declare-fun p (S) Bool)
(declare-fun c () S)
(assert (! (forall ((x S)) (p x)) :named |all of them|))
(assert (! (not (p c)) :named |goal|))
{_TAIL}""",
        "fof('all of them', hypothesis, ![X]: p(X)).\nfof(goal, hypothesis, ~ p(c)).\n",
        SolverOutcome.PROVED,
        ("all of them",),
    ),
    Known(
        "a formula that is no theorem",
        f"""{_HEAD}(declare-fun p (S) Bool)
(declare-fun q (S) Bool)
(declare-fun c () S)
(assert (! (or (p c) (q c)) :named |one of them|))
(assert (! (not (p c)) :named |goal|))
{_TAIL}""",
        "fof('one of them', hypothesis, p(c) | q(c)).\nfof(goal, hypothesis, ~ p(c)).\n",
        SolverOutcome.REFUTED,
    ),
    Known(
        "a search without an end",
        f"""{_HEAD}(declare-fun r (S S) Bool)
(declare-fun f (S) S)
(assert (! (forall ((x S)) (r x (f x))) :named |next|))
(assert (! (forall ((x S) (y S) (z S)) (=> (and (r x y) (r y z)) (r x z))) :named |transitive|))
(assert (! (forall ((x S)) (not (r x x))) :named |goal|))
{_TAIL}""",
        """fof(next, hypothesis, ![X]: r(X, f(X))).
fof(transitive, hypothesis, ![X, Y, Z]: ((r(X, Y) & r(Y, Z)) => r(X, Z))).
fof(goal, hypothesis, ![X]: ~ r(X, X)).
""",
        SolverOutcome.UNKNOWN,
    ),
)


def require_sound(solver: str, ask: Callable[[Known], Answer]) -> None:
    """Refuse a solver that answers a known question in another way; ``solver`` says which one it is, and where.

    Raises:
        UsageError: it does.
    """
    for question in QUESTIONS:
        outcome, core, reason = ask(question)
        if outcome is question.outcome and {*core} >= {*question.core}:
            continue
        told = f"{outcome}: {' '.join(reason.split())[:LONGEST]}" if reason else str(outcome)
        expected = f"{question.outcome}" + (f" from '{question.core[0]}'" if question.core else "")
        told += f" from {sorted(core)}" if question.core and outcome is question.outcome else ""
        raise UsageError(f"{solver} is not believed: of {question.name} it has to say {expected}, and said {told}")


LONGEST = 80
"""How much of what a solver says is repeated."""
