"""Inputs that fuzzing found, each of which once ended in an exception that was not typed."""

from __future__ import annotations

import pytest

from carnet_ref.wire import MalformedError
from tests.fuzz.parsers import PARSERS

FINDINGS = {
    "lists in lists in a journal's record": (
        "kept",
        (100_000).to_bytes(4, "little") + b"[" * 100_000 + bytes(4),
    ),
    "lists in lists in a ledger's entry": ("ledger", b"[" * 100_000),
    "half a character, escaped in JSON": ("collateral", rb'{"tcb_info":"\udafb"}'),
}


@pytest.mark.parametrize("finding", sorted(FINDINGS))
def test_what_fuzzing_found_is_malformed_now(finding: str) -> None:
    name, data = FINDINGS[finding]
    with pytest.raises(MalformedError):
        PARSERS[name].parse(data)
