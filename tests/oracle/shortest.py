"""How many steps it takes to break a claim: every state that a few steps lead to, at fixed sizes, level by level."""

from __future__ import annotations

from collections.abc import Iterable

from carnet_spec.language import Protocol
from carnet_spec.language.terms import Not
from tests.oracle.enumerate import ANYTHING, Asked
from tests.oracle.errors import TooBigError
from tests.oracle.evaluate import Sizes
from tests.oracle.machine import Layout, State, Successors, successors_of, test_of
from tests.oracle.questions import always_asked
from tests.oracle.worlds import worlds


def shortest_at(protocol: Protocol, sizes: Sizes, most: int, budget: int) -> dict[Asked, int]:
    """Return the least number of steps, ``most`` or fewer, that break each claim under each threat model.

    A rule is a step like any other. What is not named is broken by no run of so few steps.

    Raises:
        TooBigError: there are more structures, or more states in one, than ``budget``.
    """
    layout = Layout.of(protocol, sizes)
    steps = [successors_of(action, layout) for action in protocol.actions]
    wrong = {name: test_of(Not(formula), layout) for name, formula in always_asked(protocol).items()}
    threats = {threat.id: [test_of(axiom.formula, layout) for axiom in threat.axioms] for threat in protocol.threats}
    found: dict[Asked, int] = {}
    for meaning, starts in worlds(protocol, layout, budget):
        allowed = [id for id, axioms in (threats or {ANYTHING: []}).items() if all(axiom(meaning) for axiom in axioms)]
        if allowed:
            for depth, level in enumerate(_levels(starts, steps, most, budget)):
                broken = [name for name, test in wrong.items() if any(map(test, level))]
                for asked in ((name, id) for name in broken for id in allowed):
                    found[asked] = min(depth, found.get(asked, depth))
    return found


def _levels(starts: list[State], steps: Iterable[Successors], most: int, budget: int) -> Iterable[list[State]]:
    """Yield the states that no fewer steps lead to than none, one, and so on."""
    seen = set(starts)
    level = starts
    for depth in range(most + 1):
        yield level
        if depth == most:
            return
        further = (after for state in level for successors in steps for _, after in successors(state))
        level = [state for state in dict.fromkeys(further) if state is not None and state not in seen]
        seen.update(level)
        if len(seen) > budget:
            raise TooBigError(f"more than {budget} states")
