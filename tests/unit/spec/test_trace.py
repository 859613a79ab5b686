"""A trace is read back as it was written; where it begins to go round is the number of one of its steps, or the end."""

from __future__ import annotations

from typing import Any

import pytest

from carnet_spec.trace import Trace, TraceError, TraceStep

STEPS = (TraceStep("lend", "owner", (("k", "k1"),)), TraceStep("read", "borrower"))


@pytest.mark.parametrize("loop", [None, 0, 1, 2])
def test_a_trace_is_read_back(loop: int | None) -> None:
    trace = Trace("toy", "main", (), "none", STEPS, loop)
    assert Trace.from_json(trace.to_json()) == trace
    assert ("loop" in trace.to_json()) is (loop is not None)


@pytest.mark.parametrize("loop", [3, -1, True, "1", None])
def test_a_lasso_that_begins_nowhere_is_refused(loop: Any) -> None:
    written = Trace("toy", "main", (), "none", STEPS).to_json()
    with pytest.raises(TraceError, match="'loop'"):
        Trace.from_json({**written, "loop": loop})
