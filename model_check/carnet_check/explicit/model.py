"""A protocol on an instance, made ready for the search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from carnet_check.explicit.formulas import Formula, places_of
from carnet_check.explicit.generate import Moves, Predicate, moves_function, predicate, read_mask
from carnet_check.explicit.grounding import Grounder
from carnet_check.explicit.layout import Layout
from carnet_check.explicit.lowering import GroundStep, lower
from carnet_check.explicit.relevance import relevant_places, without_writes_elsewhere
from carnet_check.explicit.saturation import Saturation
from carnet_check.semantics import Interpreter
from carnet_spec.language import Action, Goal, Invariant, Term
from carnet_spec.language.terms import Var


@dataclass(frozen=True, slots=True)
class CompiledAction:
    """One action: its generated function and the bits that decide what that returns."""

    action: Action
    steps: tuple[GroundStep, ...]
    moves: Moves
    reads: int


@dataclass(frozen=True, slots=True)
class Monitor:
    """What is looked for in every state: the violation of an invariant, or a goal."""

    name: str
    is_goal: bool
    holds: Predicate
    reads: int


@dataclass(frozen=True)
class Model:
    """Everything the search needs; ``start`` is the first state, saturated."""

    layout: Layout
    actions: tuple[CompiledAction, ...]
    monitors: tuple[Monitor, ...]
    saturation: Saturation
    start: int
    budget: int | None
    reduction: dict[str, int]


def build(interpreter: Interpreter, invariants: Sequence[Invariant], goals: Sequence[Goal], *, reduce: bool) -> Model:
    """Lower, cut down to what matters, lay out and generate."""
    start = interpreter.start()
    lowered = lower(interpreter.protocol, interpreter.instance, start)
    grounder = lowered.grounder
    bad = [cases(grounder, invariant.params, invariant.body, wanted=False) for invariant in invariants]
    good = [cases(grounder, goal.params, goal.body, wanted=True) for goal in goals]
    changing = set(lowered.places.changing)
    watched = [part for found in (*bad, *good) for case in found for part in case]
    kept = changing & relevant_places(lowered, watched) if reduce else changing
    layout = Layout(lowered.places, kept)
    steps = without_writes_elsewhere(lowered.steps, kept)
    saturation = Saturation(layout, without_writes_elsewhere(lowered.deductions, kept))
    names = [(invariant.name, False) for invariant in invariants] + [(goal.name, True) for goal in goals]
    return Model(
        layout=layout,
        actions=tuple(_compiled(layout, group) for group in steps.values() if group),
        monitors=tuple(
            _monitor(layout, name, is_goal, found)
            for (name, is_goal), found in zip(names, [*bad, *good], strict=True)
            if found
        ),
        saturation=saturation,
        start=saturation.close(layout.encode(start)),
        budget=interpreter.instance.budget,
        reduction={
            "places": len(lowered.places.names),
            "changing": len(changing),
            "kept": len(kept),
            "bits": layout.bits,
        },
    )


def cases(grounder: Grounder, params: Sequence[Var], body: Term, *, wanted: bool) -> list[tuple[Formula, ...]]:
    """Return conjunctions of which one holds if and only if the body does (or does not) for some elements."""
    domains = {var.name: grounder.instance.of(var.sort) for var in params}
    return [case for _, case in grounder.solutions(domains, grounder.checks(body, wanted), {})]


def _compiled(layout: Layout, group: tuple[GroundStep, ...]) -> CompiledAction:
    return CompiledAction(group[0].action, group, moves_function(layout, group), read_mask(layout, group))


def _monitor(layout: Layout, name: str, is_goal: bool, found: Sequence[tuple[Formula, ...]]) -> Monitor:
    reads = layout.mask(place for case in found for part in case for place in places_of(part))
    return Monitor(name, is_goal, predicate(layout, found), reads)
