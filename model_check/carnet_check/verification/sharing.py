"""One part of a verification run: the obligations and searches that fall to it are answered, and no claim is judged.

A claim rests on obligations of several parts, so a part has no verdict to give. It leaves its answers in the cache; the
run that finds them all there gives the verdicts, and asks for itself whatever it does not find.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from carnet_check.engines.interface import Engine, Shares
from carnet_check.engines.runner import Listener, Shard, ShardReport
from carnet_check.errors import UsageError
from carnet_check.verification.planning import Campaign
from carnet_command.exit_codes import ExitCode, deciding


@dataclass(frozen=True, slots=True)
class Shared:
    """What one part of a run did."""

    shard: Shard
    shares: tuple[ShardReport, ...]
    seconds: float

    @property
    def exit_code(self) -> ExitCode:
        """What the command exits with: 0 only if everything that falls to the part has a definite answer."""
        return deciding(map(_code, self.shares))

    def as_json(self) -> dict[str, Any]:
        """Return the part as JSON values; a part has no rows, and nothing is as expected before they are joined."""
        return {
            "results": [],
            "summary": {"as_expected": False, "by_verdict": {}, "declared": []},
            "shard": {"number": self.shard.number, "of": self.shard.of, "shares": list(map(_as_json, self.shares))},
        }


def require_shared(campaign: Campaign) -> tuple[Shares, ...]:
    """Return the engines of a campaign, all of which can do a part of their work.

    Raises:
        UsageError: one cannot.
    """
    return tuple(_able(engine) for engine in campaign.engines)


def share(campaign: Campaign, shard: Shard, listener: Listener) -> Shared:
    """Do the part of the work that ``shard`` names."""
    began = time.monotonic()
    shares = tuple(engine.share(campaign.task, shard, listener) for engine in require_shared(campaign))
    return Shared(shard, shares, time.monotonic() - began)


def _able(engine: Engine) -> Shares:
    if not isinstance(engine, Shares):
        raise UsageError(f"the work of the {engine.name} engine is not shared out: run it without --shard")
    return engine


def _code(share: ShardReport) -> ExitCode:
    if share.problems:
        return ExitCode.INTERNAL
    return ExitCode.UNKNOWN if share.open else ExitCode.EXPECTED


def _as_json(share: ShardReport) -> dict[str, Any]:
    return {
        "engine": share.engine,
        "work": share.work,
        "done": share.done,
        "of": share.of,
        "open": dict(share.open),
        "problems": list(share.problems),
        "notes": list(share.notes),
    }


def lines(shared: Shared) -> Iterator[tuple[str, str]]:
    """Yield what a person reads of a part, as labels and texts."""
    for each in shared.shares:
        yield each.engine, f"{each.done:,} of {each.of:,} {each.work}s, {len(each.open):,} without an answer"
        for name, why in sorted(each.open.items())[:SHOWN]:
            yield "open", f"{name}: {why}"
        for problem in each.problems:
            yield "problem", problem
        for note in each.notes:
            yield "note", f"{each.engine}: {note}"


SHOWN = 10
"""How many pieces of work without an answer are named."""
