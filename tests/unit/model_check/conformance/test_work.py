"""Work: what was spent is gone, each event brings its allowance, and what runs out is undecided."""

from __future__ import annotations

import pytest

from carnet_check.conformance import AmbiguousTraceError, Work
from carnet_check.conformance.tables import PER_EVENT, TO_BEGIN_WITH


def test_a_trace_begins_with_an_allowance_and_may_spend_all_of_it() -> None:
    work = Work()
    work.spend(TO_BEGIN_WITH)
    assert work.left == 0
    with pytest.raises(AmbiguousTraceError, match=f"undecided after {TO_BEGIN_WITH:,} steps"):
        work.spend(1)


def test_each_event_brings_an_allowance_of_its_own() -> None:
    work = Work()
    work.spend(TO_BEGIN_WITH)
    work.allow_event()
    work.spend(PER_EVENT)
    with pytest.raises(AmbiguousTraceError):
        work.spend(1)


def test_undecided_is_unknown_and_no_verdict() -> None:
    error = AmbiguousTraceError("undecided")
    assert (error.kind, int(error.exit_code)) == ("unknown", 3)
