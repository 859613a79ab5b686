"""Runs that the solver found, judged: the interpreter takes every step in the structure that was read."""

from __future__ import annotations

from collections.abc import Mapping

from carnet_check.engines.bounded.structures import Found
from carnet_check.engines.exploration import Coverage, Exploration, Part, Search
from carnet_check.engines.exploring.searches import judged
from carnet_check.engines.interface import Plan
from carnet_check.loading.families import violated_axioms
from carnet_check.semantics import Interpreter
from carnet_spec.language import Profile, Protocol, SpecificationError, Threat
from carnet_spec.trace import Trace

AS_FOUND = "as found"
"""The name of the size of an instance that the solver chose."""


def violation(reference: str, plan: Plan, threat: Threat, claim: str, found: Found) -> Coverage:
    """Return a run that breaks a claim, alone, with whatever the interpreter has against it."""
    protocol = plan.protocol
    task = Search(
        reference=reference,
        variant=protocol.variant,
        without=protocol.without,
        threat=threat.id,
        profile=Profile(AS_FOUND, _scale(found)),
        claims=(claim,),
        alone=True,
        digest=protocol.digest,
    )
    return Coverage(task, parts=(Part(found.instance, _replayed(protocol, threat, claim, found)),))


def _replayed(protocol: Protocol, threat: Threat, claim: str, found: Found) -> Exploration:
    trace = Trace(protocol.id, protocol.variant, protocol.without, threat.id, found.steps)
    run = Exploration(
        states=len(found.steps) + 1, depth=len(found.steps), stopped_by="violation", violations={claim: trace}
    )
    try:
        judge = Interpreter(protocol, found.instance)
    except SpecificationError as error:
        return _refused(f"the interpreter refuses the structure of the counterexample to {claim}: {error}")
    if wrong := violated_axioms(judge, threat):
        return _refused(*wrong)
    return judged(judge, run, [protocol.claim(claim).checked], ())


def _refused(*problems: str) -> Exploration:
    return Exploration(stopped_by="an error", problems=problems)


def _scale(found: Found) -> Mapping[str, int]:
    return {sort: len(elements) for sort, elements in found.instance.elements.items()}
