"""Explicit-state search: every reachable state of a finite instance, breadth first.

One function, :func:`explore`, stands before two searches. ``compiled`` lowers the protocol to machine-sized facts and
runs a generated successor function; ``interpreter`` runs the same search over :mod:`carnet_check.semantics` and is
there to check the other one. Whatever a search finds is replayed in the interpreter before it is handed out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from carnet_check.engines.checkpoints import Shelf
from carnet_check.engines.explicit import reference
from carnet_check.engines.explicit.bounds import Report, Watch
from carnet_check.engines.explicit.model import build
from carnet_check.engines.explicit.search import PackedSearch, search
from carnet_check.engines.explicit.walking import PackedWalks, walk
from carnet_check.engines.exploration import Exploration, Walks
from carnet_check.errors import EngineDisagreement
from carnet_check.semantics import Env, Interpreter, NotEnabled, Replays, State
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
    max_states: int | None = None,
    max_memory: int | None = None,
    max_seconds: float | None = None,
    workers: int = 1,
    stop_at_first: bool = True,
    stop_when_fallen: bool = False,
    engine: str = "compiled",
    packed: Callable[..., PackedSearch] = PackedSearch,
    reduction: bool = True,
    symmetry: bool = True,
    progress: Report | None = None,
    threat: str = "",
    shelf: Shelf | None = None,
) -> Exploration:
    """Search breadth first for states that violate an invariant or reach a goal.

    Args:
        protocol: what is explored.
        instance: the elements, rigid facts, pools and adversary budget it is explored on. That it satisfies the
            axioms is the caller's business: see :meth:`Interpreter.violated`.
        invariants: formulas that must hold in every state reached.
        goals: formulas that some state reached should satisfy.
        max_states: end the search soon after this many states.
        max_memory: end the search before the process holds more bytes than this.
        max_seconds: end the search soon after so many seconds.
        workers: how many sibling processes, this one among them, share ``max_memory``.
        stop_at_first: end the search at the first violation of any invariant; otherwise go on, also beyond the
            states that violate one, and find a shortest trace for each.
        stop_when_fallen: end it when every invariant is violated.
        engine: "compiled" or "interpreter".
        packed: what the compiled search is run by.
        reduction: leave out what provably cannot matter; counts of states and transitions are then those of the
            smaller system. The interpreter never reduces.
        symmetry: if anything is left out, let one state stand for those that differ in which interchangeable element
            is which, too; counts are then of states that stand for others.
        progress: called about once a second with the states found and the depth reached.
        threat: the threat model to name in traces.
        shelf: where the compiled search keeps what it finds, and goes on from.

    An interrupt (Ctrl-C) ends the search like any bound: the result says what was covered.

    Raises:
        SpecificationError: the instance does not fit the protocol.
        EngineDisagreement: the interpreter does not confirm a trace.
        UsageError: what lies on the shelf is not what such a search kept.
    """
    if engine not in SEARCHES:
        raise ValueError(f"no search '{engine}'; known: {', '.join(SEARCHES)}")
    watch = Watch(
        max_states=max_states, max_memory=max_memory, max_seconds=max_seconds, progress=progress, workers=workers
    )
    interpreter = Interpreter(protocol, instance)
    enough = 1 if stop_at_first else len(invariants) if stop_when_fallen else 0
    if engine == "interpreter":
        found = reference.search(interpreter, invariants, goals, watch, enough=enough)
    else:
        model = build(interpreter, invariants, goals, reduce=reduction, symmetric=reduction and symmetry)
        found = search(protocol, packed(model, watch, enough=enough, dominance=reduction, shelf=shelf))
    return _confirmed(interpreter, found, invariants, goals, threat)


def sample(
    protocol: Protocol,
    instance: Instance,
    walks: Walks,
    *,
    invariants: Sequence[Invariant],
    goals: Sequence[Goal] = (),
    max_memory: int | None = None,
    max_seconds: float | None = None,
    workers: int = 1,
    packed: Callable[..., PackedWalks] = PackedWalks,
    progress: Report | None = None,
    threat: str = "",
) -> Exploration:
    """Take random walks, and look in every state on the way for what violates an invariant or reaches a goal.

    Nothing is left out of a state, so which walks are taken does not depend on what is looked for. All walks are taken,
    also where something is found; a trace is the beginning of the first walk on which it was, without its detours.
    The arguments are those of :func:`explore`; ``packed`` is what takes the walks.

    Raises:
        SpecificationError: the instance does not fit the protocol.
        EngineDisagreement: the interpreter does not confirm a trace.
    """
    watch = Watch(max_states=None, max_memory=max_memory, max_seconds=max_seconds, progress=progress, workers=workers)
    interpreter = Interpreter(protocol, instance)
    model = build(interpreter, invariants, goals, reduce=False)
    return _confirmed(interpreter, walk(protocol, packed(model, watch, walks)), invariants, goals, threat)


def _confirmed(
    interpreter: Interpreter,
    found: Exploration,
    invariants: Sequence[Invariant],
    goals: Sequence[Goal],
    threat: str,
) -> Exploration:
    """Write each trace out with its deductions and replay it."""
    scribe, replays = _Scribe(interpreter), Replays(interpreter)
    bodies = {invariant.name: invariant for invariant in invariants}
    wanted = {goal.name: goal for goal in goals}

    def violated(name: str, state: State) -> Env | None:
        return interpreter.counterexample(bodies[name], state)

    def reached(name: str, state: State) -> Env | None:
        return interpreter.witness(wanted[name].params, wanted[name].body, state)

    def written(traces: Mapping[str, Trace], judge: Callable[[str, State], Env | None]) -> dict[str, Trace]:
        return {name: _replayed(scribe, replays, name, replace(t, threat=threat), judge) for name, t in traces.items()}

    return replace(found, violations=written(found.violations, violated), goals=written(found.goals, reached))


@dataclass(slots=True)
class _Way:
    """How some traces begin: their steps, written out with deductions, where these lead, and how they go on."""

    steps: tuple[TraceStep, ...]
    state: State
    further: dict[TraceStep, _Way] = field(default_factory=dict)


class _Scribe:
    """Writes traces out with their deductions; how several of them begin is worked out once."""

    def __init__(self, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        written, state = interpreter.expanded_start()
        self._start = _Way(tuple(written), state)

    def out(self, steps: tuple[TraceStep, ...]) -> tuple[TraceStep, ...]:
        """Return the steps, which list no deduction, with every deduction between them."""
        way = self._start
        for step in steps:
            if step not in way.further:
                more, after = self.interpreter.expanded(way.state, step)
                way.further[step] = _Way((*way.steps, *more), after)
            way = way.further[step]
        return way.steps


def _replayed(
    scribe: _Scribe, replays: Replays, name: str, trace: Trace, judge: Callable[[str, State], Env | None]
) -> Trace:
    """Return ``trace`` with its deductions, after making sure that it leads to what it was found for."""
    written = replace(trace, steps=scribe.out(trace.steps))
    try:
        final = replays.end(written.steps)
    except NotEnabled as problem:
        raise EngineDisagreement(f"the trace to {name} does not replay: {problem}") from problem
    if judge(name, final) is None:
        raise EngineDisagreement(f"the interpreter does not find {name} at the end of its trace")
    return written
