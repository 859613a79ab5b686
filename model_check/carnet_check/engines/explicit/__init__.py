"""Explicit-state search: every reachable state of a finite instance, breadth first.

One function, :func:`explore`, stands before all engines. ``compiled`` lowers the protocol to machine-sized facts and
runs a generated successor function; ``interpreter`` runs the same search over :mod:`carnet_check.semantics` and is
there to check the other one. Whatever an engine finds is replayed in the interpreter before it is handed out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from carnet_check.engines.explicit import reference
from carnet_check.engines.explicit.exploration import Exploration, Paths, Progress, Watch, peak_bytes
from carnet_check.engines.explicit.model import build
from carnet_check.engines.explicit.search import search
from carnet_check.errors import EngineDisagreement
from carnet_check.semantics import Env, Interpreter, NotEnabled, State
from carnet_spec.language import Goal, Instance, Invariant, Protocol
from carnet_spec.trace import Step, Trace

ENGINES = ("compiled", "interpreter")

__all__ = ["ENGINES", "Exploration", "Progress", "explore"]


def explore(
    protocol: Protocol,
    instance: Instance,
    *,
    invariants: Sequence[Invariant],
    goals: Sequence[Goal] = (),
    max_states: int | None = None,
    max_memory: int | None = None,
    workers: int = 1,
    stop_at_first: bool = True,
    engine: str = "compiled",
    reduction: bool = True,
    progress: Callable[[Progress], None] | None = None,
    want_trace: bool = True,
    threat: str = "",
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
        workers: how many sibling processes, this one among them, share ``max_memory``.
        stop_at_first: end the search at the first violation of any invariant; otherwise go on, also beyond the
            states that violate one, and find a shortest trace for each.
        engine: "compiled" or "interpreter".
        reduction: leave out what provably cannot matter; counts of states and transitions are then those of the
            smaller system. The interpreter never reduces.
        progress: called about once a second.
        want_trace: find traces, and confirm them in the interpreter.
        threat: the threat model to name in traces.

    An interrupt (Ctrl-C) ends the search like any bound: the result says what was covered.

    Raises:
        SpecificationError: the instance does not fit the protocol.
        EngineDisagreement: the interpreter does not confirm a trace.
    """
    if engine not in ENGINES:
        raise ValueError(f"no engine '{engine}'; known: {', '.join(ENGINES)}")
    watch = Watch(max_states=max_states, max_memory=max_memory, progress=progress, workers=workers)
    interpreter = Interpreter(protocol, instance)
    if engine == "interpreter":
        covered = reference.search(interpreter, invariants, goals, watch, stop_at_first=stop_at_first)
    else:
        model = build(interpreter, invariants, goals, reduce=reduction)
        covered = search(model, watch, stop_at_first=stop_at_first, dominance=reduction, want_trace=want_trace)
    bodies = {invariant.name: invariant for invariant in invariants}
    wanted = {goal.name: goal for goal in goals}

    def violated(name: str, state: State) -> Env | None:
        return interpreter.counterexample(bodies[name], state)

    def reached(name: str, state: State) -> Env | None:
        return interpreter.witness(wanted[name].params, wanted[name].body, state)

    return Exploration(
        states=covered.states,
        transitions=covered.transitions,
        depth=covered.depth,
        complete=covered.stopped_by is None,
        stopped_by=covered.stopped_by,
        seconds=watch.seconds,
        peak_memory_bytes=peak_bytes(),
        violations=_confirmed(interpreter, covered.violations, violated, threat, want_trace),
        goals=_confirmed(interpreter, covered.goals, reached, threat, want_trace),
        fired={action.name: covered.fired.get(action.name, 0) for action in protocol.actions},
        reduction=covered.reduction,
    )


def _confirmed(
    interpreter: Interpreter,
    found: Paths,
    judge: Callable[[str, State], Env | None],
    threat: str,
    want_trace: bool,
) -> dict[str, Trace]:
    """Write each path out with its deductions and replay it."""
    traces = {}
    for name, steps in found.items():
        written = tuple(interpreter.expand(steps)) if want_trace else ()
        traces[name] = _trace(interpreter.protocol, threat, written)
        if want_trace:
            _confirm(interpreter, name, traces[name], judge)
    return traces


def _trace(protocol: Protocol, threat: str, steps: tuple[Step, ...]) -> Trace:
    return Trace(protocol.id, protocol.variant, protocol.without, threat, steps)


def _confirm(interpreter: Interpreter, name: str, trace: Trace, judge: Callable[[str, State], Env | None]) -> None:
    try:
        final = interpreter.replay(trace)[-1]
    except NotEnabled as problem:
        raise EngineDisagreement(f"the trace to {name} does not replay: {problem}") from problem
    if judge(name, final) is None:
        raise EngineDisagreement(f"the interpreter does not find {name} at the end of its trace")
