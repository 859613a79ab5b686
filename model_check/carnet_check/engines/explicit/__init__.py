"""Explicit-state search: every reachable state of a finite instance, breadth first.

The function :func:`explore` packs states into integers and runs a generated successor function. The interpreter of
:mod:`carnet_check.semantics` replays every trace before it is returned.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from carnet_check.engines.checkpoints import SearchCheckpoint
from carnet_check.engines.explicit.bounds import Report, Watch
from carnet_check.engines.explicit.model import build
from carnet_check.engines.explicit.search import PackedSearch, search
from carnet_check.engines.explicit.walking import PackedWalks, walk
from carnet_check.engines.exploration import NO_CAPS, Caps, Exploration, Walks
from carnet_check.errors import EngineDisagreement
from carnet_check.semantics import Env, Interpreter, NotEnabled, State
from carnet_spec.language import Goal, Instance, Invariant, Protocol
from carnet_spec.trace import Trace, TraceStep

__all__ = ["explore", "sample"]


def explore(
    protocol: Protocol,
    instance: Instance,
    *,
    invariants: Sequence[Invariant],
    goals: Sequence[Goal] = (),
    caps: Caps = NO_CAPS,
    stop_at_first: bool = True,
    stop_when_fallen: bool = False,
    packed: Callable[..., PackedSearch] = PackedSearch,
    reduction: bool = True,
    symmetry: bool = True,
    watch: Report | None = None,
    threat: str = "",
    saved: SearchCheckpoint | None = None,
) -> Exploration:
    """Search breadth first, as :meth:`~carnet_check.engines.interface.Explores.explore` says.

    Raises SpecificationError if the instance does not fit the protocol; EngineDisagreement if the interpreter does not
    confirm a trace; UsageError if the checkpoint is damaged or belongs to another search.

    Args:
        protocol: the protocol to explore.
        instance: the instance; the caller has to check that it satisfies the axioms: see
            :meth:`~carnet_check.semantics.interpreter.Interpreter.violated_axioms`.
        invariants, goals, caps, stop_at_first, stop_when_fallen, reduction, watch, threat: as there. With reductions,
            counts are those of the reduced system; sibling processes share the memory.
        packed: the class of the search.
        symmetry: whether reductions include symmetry, where one state represents those that differ by renaming
            interchangeable elements.
        saved: the checkpoint from which the search continues, and in which it stores its results.

    An interrupt (Ctrl-C) ends the search like any bound: the result says what was covered.
    """
    bounds = Watch(caps, watch)
    interpreter = Interpreter(protocol, instance)
    enough = 1 if stop_at_first else len(invariants) if stop_when_fallen else 0
    model = build(interpreter, invariants, goals, reduce=reduction, symmetric=reduction and symmetry)
    found = search(protocol, packed(model, bounds, enough=enough, dominance=reduction, saved=saved))
    return _confirmed(interpreter, found, invariants, goals, threat)


def sample(
    protocol: Protocol,
    instance: Instance,
    walks: Walks,
    *,
    invariants: Sequence[Invariant],
    goals: Sequence[Goal] = (),
    caps: Caps = NO_CAPS,
    packed: Callable[..., PackedWalks] = PackedWalks,
    watch: Report | None = None,
    threat: str = "",
) -> Exploration:
    """Take random walks, and check in every state on them whether an invariant is violated or a goal is reached.

    There are no reductions, so the walks do not depend on the invariants and goals. All walks are taken, even after a
    result; a trace is the prefix of the first walk with that result, without superfluous steps. The arguments are those
    of :func:`explore`; ``packed`` is the class that takes the walks, and states are not capped.

    Raises SpecificationError if the instance does not fit the protocol; EngineDisagreement if the interpreter does not
    confirm a trace.
    """
    bounds = Watch(replace(caps, states=None), watch)
    interpreter = Interpreter(protocol, instance)
    model = build(interpreter, invariants, goals, reduce=False)
    return _confirmed(interpreter, walk(protocol, packed(model, bounds, walks)), invariants, goals, threat)


def _confirmed(
    interpreter: Interpreter,
    found: Exploration,
    invariants: Sequence[Invariant],
    goals: Sequence[Goal],
    threat: str,
) -> Exploration:
    """Add the deductions to each trace, and check that it ends in the violation or goal that it was found for."""
    expander = _TraceExpander(interpreter)
    bodies = {invariant.name: invariant for invariant in invariants}
    wanted = {goal.name: goal for goal in goals}

    def violated(name: str, state: State) -> Env | None:
        return interpreter.counterexample(bodies[name], state)

    def reached(name: str, state: State) -> Env | None:
        return interpreter.witness(wanted[name].params, wanted[name].body, state)

    def replayed(traces: Mapping[str, Trace], judge: Callable[[str, State], Env | None]) -> dict[str, Trace]:
        written: dict[str, Trace] = {}
        for name, trace in traces.items():
            try:
                steps, final = expander.expanded(trace.steps)
            except NotEnabled as problem:
                raise EngineDisagreement(f"the trace to {name} does not replay: {problem}") from problem
            if judge(name, final) is None:
                raise EngineDisagreement(f"the interpreter does not find {name} at the end of its trace")
            written[name] = replace(trace, threat=threat, steps=steps)
        return written

    return replace(found, violations=replayed(found.violations, violated), goals=replayed(found.goals, reached))


@dataclass(slots=True)
class _Prefix:
    """A common prefix of some traces: its steps with deductions, the state after them, and the continuations."""

    steps: tuple[TraceStep, ...]
    state: State
    further: dict[TraceStep, _Prefix] = field(default_factory=dict)


class _TraceExpander:
    """Adds deductions to traces; a common prefix of several traces is computed once."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter

    @cached_property
    def _start(self) -> _Prefix:
        written, state = self.interpreter.expanded_start()
        return _Prefix(tuple(written), state)

    def expanded(self, steps: tuple[TraceStep, ...]) -> tuple[tuple[TraceStep, ...], State]:
        """Return the steps, which are without deductions, with every deduction between them, and the state after them.

        Raises NotEnabled if a step cannot be taken.
        """
        prefix = self._start
        for step in steps:
            if step not in prefix.further:
                more, after = self.interpreter.step_with_deductions(prefix.state, step)
                prefix.further[step] = _Prefix((*prefix.steps, *more), after)
            prefix = prefix.further[step]
        return prefix.steps, prefix.state
