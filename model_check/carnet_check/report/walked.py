"""What random walks covered: all of it as JSON values, and in lines only how much it is and what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from carnet_check.engines.exploration import Coverage, GuardCoverage, WalkCoverage, Walks, premises_of
from carnet_check.engines.exploring.searches import moves
from carnet_command.text import wrapped
from carnet_spec.language import Protocol


def walked_as_json(protocol: Protocol, walks: Walks, found: Coverage) -> dict[str, Any]:
    """Return the walks that were asked for, and all that they covered."""
    walked = found.walked or WalkCoverage()
    return {
        "asked": walks.number,
        "depth": walks.depth,
        "seed": walks.seed,
        "walks": walked.walks,
        "steps": walked.steps,
        "stuck": walked.stuck,
        "goals": [{"goal": name, "steps": _steps(protocol, found, name)} for name in found.search.goals],
        "premises": [
            {"claim": claim, "premise": number, "met": met} for claim, number, met in _premises(protocol, found)
        ],
        "actions": [
            {"action": name, "taken": seen.taken, "enabled": seen.enabled} for name, seen in walked.actions.items()
        ],
        "rules": [{"rule": name, "used": bool(found.fired.get(name))} for name in _rules(protocol)],
        "guards": [
            {"action": action, "guard": guard, **{name: getattr(seen, name) for name in GuardCoverage.__slots__}}
            for action, guard, seen in walked.guards
        ],
        "not_judged": _lively(protocol),
    }


def walked_lines(protocol: Protocol, found: Coverage) -> Iterator[str]:
    """Yield how much was covered of goals, premises, steps and guards, and what was not."""
    walked = found.walked or WalkCoverage()
    missed = [name for name in found.search.goals if name not in found.goals]
    yield from _told("goals", len(found.search.goals), "reached", missed)
    premises = list(_premises(protocol, found))
    unmet = [claim if number == 1 else f"{claim} ({number})" for claim, number, met in premises if not met]
    yield from _told("premises", len(premises), "met", unmet)
    yield from _told("actions", len(walked.actions), "taken", list(walked.idle))
    rules = _rules(protocol)
    yield from _told("rules", len(rules), "used", [name for name in rules if not found.fired.get(name)])
    guards = [(f"{action}: {guard}", seen) for action, guard, seen in walked.guards if not seen.decided]
    yield from _told("guards", len(guards), "seen to hold", [name for name, seen in guards if not seen.held])
    yield from _told("guards", len(guards), "seen to fail", [name for name, seen in guards if not seen.failed])
    failed = [(name, seen) for name, seen in guards if seen.failed]
    among = "that failed did so while all others held"
    yield from _told("guards", len(failed), among, [name for name, seen in failed if not seen.alone])
    if lively := _lively(protocol):
        yield from wrapped("not judged", f"{', '.join(lively)}: random walks end, and liveness is of runs that do not")


def _told(what: str, many: int, how: str, missed: list[str]) -> Iterator[str]:
    """Say how many of something were seen in some way, and which were not."""
    if many:
        rest = f"; not {', '.join(missed)}" if missed else ""
        yield from wrapped(what, f"{many - len(missed)} of {many} {how}{rest}")


def _steps(protocol: Protocol, found: Coverage, goal: str) -> int | None:
    return moves(protocol, found.goals[goal]) if goal in found.goals else None


def _premises(protocol: Protocol, found: Coverage) -> Iterator[tuple[str, int, bool]]:
    """Yield each premise of a claim by its number, and whether some state met it."""
    for claim in found.search.claims:
        for number, premise in enumerate(premises_of(protocol.claim(claim).checked), 1):
            yield claim, number, premise.name in found.goals


def _rules(protocol: Protocol) -> list[str]:
    return [action.name for action in protocol.actions if action.deduction]


def _lively(protocol: Protocol) -> list[str]:
    return [live.name for live in protocol.liveness]
