"""What a strict reader does not let pass: a claim on the word of one engine, and a claim that is only announced."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from carnet_check.results import Kind, Result, Verdict
from carnet_check.verification.outcome import CampaignOutcome

ESTABLISHES = frozenset({Verdict.PROVED, Verdict.EXHAUSTED})
"""What says of a claim that it holds, and not only that nothing was found."""


def shortcomings(outcome: CampaignOutcome) -> list[str]:
    """Return what keeps a run, all as expected, from being more than what one engine says, in the order of its rows."""
    return [*_alone(outcome), *(f"{each}: declared, and not stated yet" for each in outcome.campaign.declared)]


def _alone(outcome: CampaignOutcome) -> Iterator[str]:
    """Yield each claim that is to hold and that fewer than two engines establish."""
    said = (row for row in outcome.results if row.kind in (Kind.CLAIM, Kind.LIVENESS))
    rows = [row for row in said if row.expected is not Verdict.VIOLATED]
    for (variant, claim, threat), group in groupby(sorted(rows, key=_question), key=_question):
        engines = [row.engine for row in group if row.verdict in ESTABLISHES]
        if len(engines) < 2:
            by = f"by {engines[0]} alone" if engines else "by no engine"
            yield f"{claim} under {threat}, {variant}: established {by}"


def _question(row: Result) -> tuple[str, str, str]:
    return row.variant, row.claim, row.threat
