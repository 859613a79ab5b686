"""Explicit-state search: every reachable state of a finite instance, breadth first.

One function, :func:`explore`, stands before two searches. ``compiled`` lowers the protocol to machine-sized facts and
runs a generated successor function; ``interpreter`` runs the same search over :mod:`carnet_check.semantics` and is
there to check the other one. The interpreter takes every step of whatever a search finds before it is handed out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from carnet_check.engines.checkpoints import SearchCheckpoint
from carnet_check.engines.explicit import reference
from carnet_check.engines.explicit.bounds import Report, Watch
from carnet_check.engines.explicit.model import build
from carnet_check.engines.explicit.search import PackedSearch, search
from carnet_check.engines.explicit.walking import PackedWalks, walk
from carnet_check.engines.exploration import NO_CAPS, Caps, Exploration, Walks
from carnet_check.errors import EngineDisagreement
from carnet_check.semantics import Env, Interpreter, NotEnabled, State
from carnet_spec.language import Goal, Instance, Invariant, Protocol
from carnet_spec.trace import Trace, TraceStep

SEARCHES = ("compiled", "interpreter")

__all__ = ["SEARCHES", "explore", "sample"]


def explore(
    protocol: Protocol,
    instance: Instance,
    *,
    invariants: Sequence[Invariant],
    goals: Sequence[Goal] = (),
    caps: Caps = NO_CAPS,
    stop_at_first: bool = True,
    stop_when_fallen: bool = False,
    engine: str = "compiled",
    packed: Callable[..., PackedSearch] = PackedSearch,
    reduction: bool = True,
    symmetry: bool = True,
    watch: Report | None = None,
    threat: str = "",
    saved: SearchCheckpoint | None = None,
) -> Exploration:
    """Search breadth first, as :meth:`~carnet_check.engines.interface.Explores.explore` says.

    Args:
        protocol: what is explored.
        instance: that it satisfies the axioms is the caller's business: see :meth:`Interpreter.violated`.
        invariants, goals, caps, stop_at_first, stop_when_fallen, reduction, watch, threat: as there. Counts are those
            of the smaller system where something is left out; sibling processes share the memory.
        engine: "compiled" or "interpreter", which never reduces.
        packed: what the compiled search is run by.
        symmetry: if anything is left out, let one state represent those that differ in which interchangeable element
            is which, too.
        saved: where the compiled search keeps what it finds, and goes on from.

    An interrupt (Ctrl-C) ends the search like any bound: the result says what was covered.

    Raises:
        SpecificationError: the instance does not fit the protocol.
        EngineDisagreement: the interpreter does not confirm a trace.
        UsageError: what was saved is not what such a search kept.
    """
    if engine not in SEARCHES:
        raise ValueError(f"no search '{engine}'; known: {', '.join(SEARCHES)}")
    bounds = Watch(caps, watch)
    interpreter = Interpreter(protocol, instance)
    enough = 1 if stop_at_first else len(invariants) if stop_when_fallen else 0
    if engine == "interpreter":
        found = reference.search(interpreter, invariants, goals, bounds, enough=enough)
    else:
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
    """Take random walks, and look in every state on the way for what violates an invariant or reaches a goal.

    Nothing is left out of a state, so which walks are taken does not depend on what is looked for. All walks are taken,
    also where something is found; a trace is the beginning of the first walk on which it was, without its detours.
    The arguments are those of :func:`explore`; ``packed`` is what takes the walks, and states are not capped.

    Raises:
        SpecificationError: the instance does not fit the protocol.
        EngineDisagreement: the interpreter does not confirm a trace.
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
    """Write each trace out with its deductions, and make sure that it leads to what it was found for."""
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
    """How some traces begin: their steps, written out with deductions, where these lead, and how they go on."""

    steps: tuple[TraceStep, ...]
    state: State
    further: dict[TraceStep, _Prefix] = field(default_factory=dict)


class _TraceExpander:
    """Writes traces out with their deductions; how several of them begin is worked out once."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        written, state = interpreter.expanded_start()
        self._start = _Prefix(tuple(written), state)

    def expanded(self, steps: tuple[TraceStep, ...]) -> tuple[tuple[TraceStep, ...], State]:
        """Return the steps, which list no deduction, with every deduction between them, and where they lead.

        Raises:
            NotEnabled: a step cannot be taken.
        """
        prefix = self._start
        for step in steps:
            if step not in prefix.further:
                more, after = self.interpreter.expanded(prefix.state, step)
                prefix.further[step] = _Prefix((*prefix.steps, *more), after)
            prefix = prefix.further[step]
        return prefix.steps, prefix.state
