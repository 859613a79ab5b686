"""A lasso counts once the interpreter accepts it; what it objects to is an error, and no verdict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.exploration import Exploration, Search
from carnet_check.engines.exploring.searches import decided_together, search_in
from carnet_spec.language import Eventually, Goal, Instance, Invariant, Profile, Protocol, Step
from carnet_spec.trace import Trace, TraceStep
from tests.unit.model_check.small import Party, drafted, first, known, last, learn, second, see, seen

INSTANCE = Instance({"Party": ("p",)})
TASK = Search("small", "main", (), "unrestricted", Profile("tiny", {}), (), liveness=("served", "known"))


def ask(step: Step) -> None:
    step.insert(first)


def serve(step: Step) -> None:
    step.insert(second)


def tell(step: Step, a: Party) -> None:
    step.require("seen", seen(a))
    step.insert(known(a))


def _protocol() -> Protocol:
    draft = drafted(ask, serve, see, tell, rules=(learn,))
    draft.eventually("served", first, second, sentence="It comes.", fair=("serve",))
    draft.eventually("unfair", first, second, sentence="It comes.")
    draft.eventually("known", first, second, sentence="It comes.", fair=("tell",))
    draft.eventually("known-last", first, second, sentence="It comes.", fair=("tell",), given={"tell": {"a": last}})
    return draft.protocol()


@dataclass(frozen=True)
class Liar:
    """Finds what the explicit engine finds, after a change."""

    change: dict[str, Any]

    def explore(
        self,
        protocol: Protocol,
        instance: Instance,
        *,
        invariants: Sequence[Invariant],
        goals: Sequence[Goal] = (),
        **_: Any,
    ) -> Exploration:
        """Find nothing."""
        return Exploration()

    def lassos(
        self, protocol: Protocol, instance: Instance, *, liveness: Sequence[Eventually], **_: Any
    ) -> Exploration:
        """Lie."""
        return replace(EXPLICIT.lassos(protocol, instance, liveness=liveness), **self.change)


def test_properties_are_decided_together_that_want_the_same_steps() -> None:
    protocol = _protocol()
    assert decided_together(protocol, protocol.liveness) == [("served", "unfair"), ("known",), ("known-last",)]


def test_a_lasso_that_the_interpreter_accepts_is_a_violation() -> None:
    found = search_in(EXPLICIT, replace(TASK, liveness=("served", "unfair")), _protocol(), INSTANCE)
    assert (found.problems, list(found.violations)) == ((), ["unfair"])


def _steps(*names: str) -> Trace:
    return Trace("small", "main", (), "", tuple(TraceStep(name, "holder") for name in names), len(names))


LIES = {
    "an unfair run": ({"violations": {"served": _steps("ask")}}, "it is not fair to serve"),
    "a run that is served": ({"violations": {"served": _steps("ask", "serve")}}, "it does not wait in vain"),
    "no run": ({"violations": {"served": _steps("dance")}}, "no action 'dance'"),
    "a way that leads elsewhere": ({"goals": {"$premise 1 served": _steps("serve")}}, "the goal is not reached"),
}


@pytest.mark.parametrize("name", LIES)
def test_what_the_interpreter_objects_to_is_a_problem(name: str) -> None:
    change, why = LIES[name]
    found = search_in(Liar(change), replace(TASK, liveness=("served",)), _protocol(), INSTANCE)
    assert why in " ".join(found.problems)


def test_an_engine_that_decides_no_liveness_is_an_error() -> None:
    class Other:
        def explore(self, protocol: Protocol, instance: Instance, **_: Any) -> Exploration:
            return Exploration()

    found = search_in(Other(), TASK, _protocol(), INSTANCE)
    assert found.problems == ("the engine decides no liveness",)
