"""Bounded model checking of protocols of a few lines, in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from carnet_check.engines.bounded.engine import DEFAULT_RLIMIT
from carnet_check.engines.bounded.questions import ClaimStatus, Questions
from carnet_check.engines.interface import Plan
from carnet_check.loading.families import NO_THREAT
from carnet_command.workers import Pool
from carnet_spec.language import Protocol

MOST = 4


class Here(Pool):
    """Answers in this process."""

    def __exit__(self, *_: object) -> None:
        pass

    def results(
        self, function: Callable[[Any], Iterable[Any]], parts: Iterable[Any], last: object = None
    ) -> Iterator[tuple[Any, Any]]:
        yield from ((part, said) for part in parts for said in function(part))


def plan_of(protocol: Protocol) -> Plan:
    """Return the plan to judge every claim under every threat model."""
    threats = protocol.threats or (NO_THREAT,)
    pairs = tuple((claim, threat) for claim in protocol.claims for threat in threats)
    return Plan(protocol, "", threats, pairs, frozenset(), every_threat=True)


def standings(
    protocol: Protocol, depth: int = MOST, rlimit: int = DEFAULT_RLIMIT, pool: Pool | None = None
) -> dict[tuple[str, str], ClaimStatus]:
    """Return how each pair of claim and threat model stands."""
    plan = plan_of(protocol)
    found = Questions(plan, depth, rlimit).answered(pool or Here(), lambda *_: None)
    return {(claim.name, threat.id): each for (claim, threat), each in zip(plan.pairs, found, strict=True)}


def broken_after(protocol: Protocol, depth: int = MOST) -> dict[str, int | None]:
    """Return the number of steps that break each claim under no particular threat model, or nothing."""
    return {claim: _steps(standing) for (claim, _), standing in standings(protocol, depth).items()}


def _steps(standing: ClaimStatus) -> int | None:
    if standing.last is None:
        return None
    assert standing.last.found is not None
    assert len(standing.last.found.steps) == standing.last.steps == standing.least
    return standing.least
