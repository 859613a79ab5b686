"""How guards are seen: each time an action is worked out for bits that no state had before.

What decides about an action is among the bits that it reads, so nothing is missed that a state on the way shows, and
nothing is looked at twice. A guard is judged for the arguments that pools and the instance allow; one that draws an
unused element is not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from carnet_check.engines.explicit.folding import Condition, changes, conditions_in
from carnet_check.engines.explicit.model import CompiledStep
from carnet_check.engines.explicit.queries import Domain, Draw, Lines, Names, Queries
from carnet_check.engines.exploration import ActionSeen, GuardSeen
from carnet_spec.language import GuardKind

Test = Callable[[int], bool]


class GuardWatch:
    """How an action and its guards were seen so far."""

    def __init__(self, queries: Queries, step: CompiledStep) -> None:
        self._queries = queries
        self._choices = step.choices
        self.enabled = False
        guards = [guard for guard in step.action.guards if guard.kind is not GuardKind.FRESH]
        self._conditions = {guard.name: (*conditions_in(guard.formula),) for guard in guards}
        self._failing = {guard.name: (*conditions_in(guard.formula, False),) for guard in guards}
        self._decided = {guard.name: not changes(guard.formula) for guard in guards}
        self._held: set[str] = set()
        self._failed: set[str] = set()
        self._alone: set[str] = set()
        self._tests: dict[tuple[str, str], Test] = {}

    def see(self, bits: int, enabled: bool) -> None:
        """Take note of what a state shows, of which these are the bits that the action reads."""
        if enabled:
            self.enabled = True
            self._held.update(self._conditions)
        for name in self._conditions:
            if name not in self._held and self._test("held", name)(bits):
                self._held.add(name)
            if name not in self._alone and self._test("alone", name)(bits):
                self._alone.add(name)
                self._failed.add(name)
            if name not in self._failed and self._test("failed", name)(bits):
                self._failed.add(name)

    def seen(self, taken: int) -> ActionSeen:
        """Return how the action was seen, which was taken so often."""
        return ActionSeen(
            taken,
            self.enabled,
            {
                name: GuardSeen(name in self._held, name in self._failed, name in self._alone, decided)
                for name, decided in self._decided.items()
            },
        )

    def _test(self, what: str, name: str) -> Test:
        """Return the function that looks for arguments, generated when it is needed first."""
        if (what, name) not in self._tests:
            self._tests[what, name] = self._generated(*self._asked(what, name))
        return self._tests[what, name]

    def _asked(self, what: str, name: str) -> tuple[Mapping[str, Domain], Sequence[Condition]]:
        tests = self._conditions[name] if what == "held" else self._failing[name]
        if what != "alone":
            return self._needed(tests), tests
        others = (test for other, known in self._conditions.items() if other != name for test in known)
        return self._choices, (*tests, *others)

    def _needed(self, tests: Sequence[Condition]) -> Mapping[str, Domain]:
        """Return the parameters that some tests name, and those that are drawn before them."""
        needed = {name for test in tests for name in test.needs}
        domains = self._choices.items()
        needed.update(*(domain.after for name, domain in domains if name in needed and isinstance(domain, Draw)))
        return {name: domain for name, domain in domains if name in needed}

    def _generated(self, domains: Mapping[str, Domain], tests: Sequence[Condition]) -> Test:
        def body(names: Names) -> Lines:
            return self._queries.witness(domains, tests, names)

        return self._queries.function((), body)
