"""Random protocols on instances in which many elements are alike, explored with symmetry and without."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

from hypothesis import strategies as st

from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.model import build
from carnet_check.engines.explicit.search import PackedSearch, search
from carnet_check.engines.exploration import Caps, Exploration
from carnet_check.semantics import Interpreter
from carnet_spec.language import Guard, GuardKind, Instance, Row
from carnet_spec.trace import Trace
from tests.property.random_protocols import BAD, BOSS, HOME, KEY, PARTY, PHASE, SPARE, Sample, samples


@st.composite
def alike_instances(draw: st.DrawFn, instance: Instance) -> Instance:
    """Draw an instance that seldom tells elements apart: all are good or all are bad, and keys are at home alike."""
    parties = tuple(f"p{n}" for n in range(draw(st.sampled_from((3, 4, 2)))))
    keys = tuple(f"k{n}" for n in range(draw(st.sampled_from((1, 2, 3)))))
    bad = draw(st.sampled_from(((), parties, parties[:1], parties[:2])))
    boss = draw(st.sampled_from((parties[0], parties[-1])))
    homes = draw(st.sampled_from((itertools.repeat(boss), itertools.cycle(parties), itertools.cycle(parties[1:]))))
    home: dict[Row, str] = dict(zip(((key,) for key in keys), homes, strict=False))
    return replace(
        instance,
        elements={PARTY.name: parties, KEY.name: keys},
        relations={BAD.name: frozenset((party,) for party in bad)},
        functions={BOSS.name: {(): boss}, SPARE.name: {(): keys[0]}, HOME.name: home},
        pools={},
    )


def merged(value: Any) -> Any:
    """Return a part of a protocol with parties in the place of keys, so that symbols relate parties to parties."""
    if value == KEY:
        return PARTY
    if isinstance(value, tuple):
        return tuple(merged(each) for each in value)
    if isinstance(value, Guard) and value.kind is GuardKind.FRESH:
        value = replace(value, kind=GuardKind.REQUIRE)
    if is_dataclass(value) and not isinstance(value, type):
        return type(value)(**{each.name: merged(getattr(value, each.name)) for each in fields(value)})
    return value


@st.composite
def paired_instances(draw: st.DrawFn, instance: Instance) -> Instance:
    """Draw an instance for a protocol with merged sorts."""
    alike = draw(alike_instances(instance))
    parties = alike.elements[PARTY.name]
    homes = draw(st.sampled_from((parties, itertools.repeat(parties[0]))))
    functions: dict[str, Mapping[Row, str]] = {
        BOSS.name: alike.functions[BOSS.name],
        SPARE.name: {(): draw(st.sampled_from(parties))},
        HOME.name: dict(zip(((party,) for party in parties), homes, strict=False)),
    }
    return replace(alike, elements={PARTY.name: parties}, functions=functions)


@st.composite
def alike_samples(draw: st.DrawFn) -> Sample:
    """Draw a protocol on such an instance; some have no keys, and symbols that relate parties to parties."""
    sample = draw(samples())
    if draw(st.booleans()):
        return replace(sample, instance=draw(alike_instances(sample.instance)))
    return Sample(
        replace(merged(sample.protocol), sorts=(PARTY, PHASE)),
        draw(paired_instances(sample.instance)),
        merged(sample.invariants),
        merged(sample.goals),
    )


class Explored(NamedTuple):
    """What a search found, and for how many states those that it found stand, if any do for others."""

    found: Exploration
    represented: int | None


def explored(
    sample: Sample,
    *,
    symmetric: bool,
    reduce: bool,
    most: int | None = None,
    packed: Callable[..., PackedSearch] = PackedSearch,
) -> Explored:
    """Explore a sample with or without each of the reductions; traces leave deductions out."""
    judge = Interpreter(sample.protocol, sample.instance)
    model = build(judge, sample.invariants, sample.goals, reduce=reduce, symmetric=symmetric)
    watch = Watch(Caps(states=most))
    found = search(sample.protocol, packed(model, watch, enough=0, dominance=reduce))
    for traces, bodies in ((found.violations, sample.invariants), (found.goals, sample.goals)):
        for body in bodies:
            if body.name in traces:
                require_true(judge, sample, body.name, traces[body.name])
    return Explored(found, found.reduction.get("states_stood_for"))


def require_true(judge: Interpreter, sample: Sample, name: str, trace: Trace) -> None:
    """Require that the interpreter can take the steps of a trace, and finds what it leads to."""
    final = judge.replay(trace)[-1]
    broken = [each for each in sample.invariants if each.name == name]
    reached = [each for each in sample.goals if each.name == name]
    assert all(judge.counterexample(each, final) is not None for each in broken)
    assert all(judge.witness(each.params, each.body, final) is not None for each in reached)


def lengths(traces: Mapping[str, Trace], rules: Collection[str] = ()) -> dict[str, int]:
    """Return how many steps each trace has, those of rules aside."""
    return {name: sum(step.action not in rules for step in trace.steps) for name, trace in traces.items()}


def said(found: Exploration) -> tuple[object, ...]:
    """Return what has to be the same with and without symmetry."""
    taken = {name for name, count in found.fired.items() if count}
    return found.depth, found.stopped_by, lengths(found.violations), lengths(found.goals), taken
