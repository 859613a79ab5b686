"""Threat models by name, and whether an instance obeys the axioms of one."""

from __future__ import annotations

from carnet_check.semantics import Interpreter
from carnet_spec.language import Protocol, Threat

NO_THREAT = Threat("unrestricted", "nothing is assumed about anyone", ())
"""Stands in where a protocol declares no threat model."""


def threat_of(protocol: Protocol, id: str) -> Threat:
    """Return a threat model of the protocol, or the empty one that stands in where it declares none."""
    return NO_THREAT if id == NO_THREAT.id and not protocol.threats else protocol.threat(id)


def violated_axioms(judge: Interpreter, threat: Threat) -> list[str]:
    """Say which axioms the judge's instance violates."""
    names = [*judge.axioms_hold(), *judge.violated(threat.axioms)]
    return [f"the instance under {threat.id} violates axiom '{name}'" for name in names]
