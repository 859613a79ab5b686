"""Sessions recorded between other people's SPDM programs decrypt, re-derive and re-verify."""

import os
from collections import Counter
from pathlib import Path

import pytest

from tests.evidence.spdm_table import TABLE, table
from tests.fixtures.spdm import Walker

EVIDENCE = os.environ.get("CARNET_EVIDENCE")
pytestmark = pytest.mark.skipif(EVIDENCE is None, reason="CARNET_EVIDENCE names no folder")

GIVEN = {"dhe_secret", "psk"}
NOT_SHOWN_FOR_PSK = {
    "handshake_secret",
    "request_handshake_secret",
    "response_handshake_secret",
    "master_secret",
    "request_data_secret",
    "response_data_secret",
    "export_master_secret",
}
"""What the recording program prints for a key exchange and not for a PSK."""
RECORDED = {
    "gh100like_v1.1": {
        "messages": 48,
        "records": 28,
        "KEY_EXCHANGE_RSP": 2,
        "MEASUREMENTS": 3,
        "verify data": 4,
        "summaries": 2,
    },
    **{
        f"keyex_enc_{name}": {"messages": 50, "records": 28, "CHALLENGE_AUTH": 1, "verify data": 4, "summaries": 3}
        for name in ("mctp_v1.1", "mctp_v1.2", "mctp_v1.3", "rep1")
    },
    **{f"keyex_mctp_v1.{minor}": {"messages": 50, "records": 24, "verify data": 4} for minor in (1, 2, 3)},
    **{f"psk_mctp_v1.{minor}": {"messages": 36, "records": 14, "verify data": 2} for minor in (1, 2, 3)},
}


def test_every_recording_is_listed_in_the_table_of_the_documentation_too() -> None:
    assert EVIDENCE is not None
    folder = Path(EVIDENCE, "13-spdm", "libspdm-transcripts")
    assert {path.stem for path in folder.glob("*.json")} == set(RECORDED)
    assert TABLE.read_text("utf-8") == table(), "write it again: python -m tests.evidence.spdm_table"


@pytest.mark.parametrize("name", sorted(RECORDED))
def test_a_recorded_session_is_byte_equal(name: str) -> None:
    assert EVIDENCE is not None
    walk = Walker(Path(EVIDENCE, "13-spdm", "libspdm-transcripts", f"{name}.json")).run()
    for what, count in RECORDED[name].items():
        assert walk.checked[what] == count, what
    recorded = Counter(pair for pair in walk.recorded if pair[0] not in GIVEN)
    computed = Counter(walk.computed)
    assert not recorded - computed
    assert {what for what, _ in computed - recorded} <= (NOT_SHOWN_FOR_PSK if name.startswith("psk") else set())
