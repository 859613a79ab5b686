"""What a host sends that is nothing is left aside, and what comes afterwards is taken."""

from __future__ import annotations

from multiprocessing import Pipe

import pytest

from tests.unit.reference_impl.systems.ring_all_reduce.process import Kind, Link, framed

NOTHING = {"no bytes": b"", "a kind that there is not": bytes([99]) + b"x", "a kind alone": bytes([98])}


@pytest.mark.parametrize("what", NOTHING)
def test_what_is_nothing_is_left_aside(what: str) -> None:
    host, rank = Pipe()
    link = Link(0, rank, patience=5.0)
    host.send_bytes(NOTHING[what])
    host.send_bytes(framed(Kind.MESSAGE, b"a message"))
    assert link.take(Kind.MESSAGE) == b"a message"
    host.close()
