"""Other recordings of SPDM: packet captures of the same sessions, and the log of a real NVIDIA board."""

import os
import re
import struct
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from carnet_ref.crypto.primitives import sha384
from carnet_ref.spdm.layout import Layout, Version
from carnet_ref.spdm.messages import Error, GetMeasurements, Measurements, parse_message
from carnet_ref.spdm.secured import SecuredRecord
from tests.evidence.spdm_table import TABLE, table
from tests.fixtures.spdm import Walker, events

EVIDENCE = os.environ.get("CARNET_EVIDENCE")
pytestmark = pytest.mark.skipif(EVIDENCE is None, reason="CARNET_EVIDENCE names no folder")


def folder() -> Path:
    assert EVIDENCE is not None
    return Path(EVIDENCE, "13-spdm")


def packets(path: Path) -> Iterator[bytes]:
    """Yield the MCTP messages of a packet capture, without their transport header.

    Source: the classic pcap format, as libpcap writes it; DMTF DSP0236, four bytes of MCTP header.
    """
    data = path.read_bytes()
    assert data[:4] == bytes.fromhex("d4c3b2a1")
    place = 24
    while place < len(data):
        (size,) = struct.unpack_from("<I", data, place + 8)
        yield data[place + 16 + 4 : place + 16 + size]
        place += 16 + size


@pytest.mark.parametrize("version", ["gh100like_v1.1", "keyex_enc_mctp_v1.2", "keyex_mctp_v1.3", "psk_mctp_v1.2"])
def test_a_capture_holds_the_messages_of_the_recording(version: str) -> None:
    transcripts = folder() / "libspdm-transcripts"
    wire = [
        bytes.fromhex(event["hex"])
        for event in events(transcripts / f"{version}.json")
        if "wire" in event and event["hex"][:2] in {"05", "06"}
    ]
    captured = list(packets(transcripts / f"{version}.pcap"))
    assert captured == wire
    for packet in captured:
        if packet[0] == 6:
            assert SecuredRecord.parse(packet).encode() == packet


def board_messages() -> list[bytes]:
    """Return the SPDM messages of the board's log, in order, without their two bytes of transport."""
    text = (folder() / "fuzzer" / "logs" / "hmc.txt").read_text()
    found = re.findall(r"(?:buf|ResponseBuffer) = ((?:[0-9a-f]{2} ?)+)", text)
    return [bytes.fromhex(message)[2:] for message in found]


def test_a_real_board_s_messages_are_read_and_written_back() -> None:
    messages = board_messages()
    assert len(messages) == 12
    signed = False
    for raw in messages:
        message = parse_message(raw, Layout(Version.V1_1, signed=signed))
        assert not isinstance(message, Error)
        assert message.encode() == raw
        if isinstance(message, GetMeasurements):
            signed = bool(message.attributes & 1)


def test_a_real_board_s_measurement_transcript_has_the_digest_that_the_board_computed() -> None:
    text = (folder() / "fuzzer" / "logs" / "hmc.txt").read_text()
    computed = re.search(r"computed l2 hash = ((?:[0-9a-f]{2} ?)+)", text)
    assert computed is not None
    *unsigned, last = board_messages()[-4:]
    response = parse_message(last, Layout(Version.V1_1, signed=True))
    assert isinstance(response, Measurements)
    assert sha384(b"".join(unsigned) + last[: -len(response.signature)]) == bytes.fromhex(computed[1])


# -- sessions recorded between other people's SPDM programs decrypt, re-derive and re-verify -----------


GIVEN = {"dhe_secret", "psk"}
#: What the recording program prints for a key exchange and not for a PSK.
NOT_SHOWN_FOR_PSK = {
    "handshake_secret",
    "request_handshake_secret",
    "response_handshake_secret",
    "master_secret",
    "request_data_secret",
    "response_data_secret",
    "export_master_secret",
}
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
