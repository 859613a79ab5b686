"""Lassos from an engine, judged: each is replayed, and its fairness looked at, before it is reported."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from carnet_check.engines.exploration import Exploration
from carnet_check.semantics import Interpreter
from carnet_check.semantics.fairness import agree, rules_as_steps
from carnet_check.semantics.lassos import objection
from carnet_spec.language import Eventually, Protocol


def alike(protocol: Protocol, liveness: Iterable[Eventually]) -> list[tuple[str, ...]]:
    """Return the names of liveness properties in groups that one search decides.

    The same rules are steps for them, and they want the same steps of an action taken fairly that more than one names.
    """
    groups: list[list[Eventually]] = []
    for live in liveness:
        rules = rules_as_steps(protocol, live)
        for group in groups:
            if rules_as_steps(protocol, group[0]) == rules and all(agree(protocol, live, each) for each in group):
                group.append(live)
                break
        else:
            groups.append([live])
    return [tuple(live.name for live in group) for group in groups]


def with_lassos_judged(judge: Interpreter, found: Exploration, liveness: Sequence[Eventually]) -> Exploration:
    """Add to the problems that the engine has itself what the interpreter objects to its lassos."""
    return replace(found, problems=(*found.problems, *_objections(judge, found, liveness)))


def _objections(judge: Interpreter, found: Exploration, liveness: Sequence[Eventually]) -> Iterator[str]:
    for live in liveness:
        if live.name in found.violations:
            try:
                why = objection(judge, live, found.violations[live.name])
            except Exception as error:  # whatever the judge says against it, the trace is not shown
                why = str(error)
            if why:
                yield f"the interpreter does not accept the lasso of {live.name}: {why}"
