"""Other recordings of SPDM: packet captures of the same sessions, and the log of a real NVIDIA board."""

import os
import re
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from carnet_ref.crypto.primitives import sha384
from carnet_ref.spdm.layout import Layout, Version
from carnet_ref.spdm.messages import Error, GetMeasurements, Measurements, parse_message
from carnet_ref.spdm.secured import SecuredRecord
from tests.fixtures.spdm import events

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
