"""The binary event log of a firmware: what it measured, one event after the other, with a digest of each algorithm.

Source: TCG PC Client Platform Firmware Profile 1.06, section 10 (crypto agile log); ACPI 6.5, CCEL.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from carnet_ref.wire import MalformedError, Reader

WHAT: Final = "event log"
LARGEST_LOG: Final = 4 << 20
NO_ACTION: Final = 3  #: The type of events that are only remarks: they are measured nowhere.
SPECIFICATION: Final = b"Spec ID Event03\0"
MOST_ALGORITHMS: Final = 16
UNWRITTEN: Final = (b"\0", b"\xff")  #: What firmware leaves where it wrote nothing.


class LoggedEvent(NamedTuple):
    """A measured event: its register, type, digests by algorithm, and data."""

    register: int
    type: int
    digests: Mapping[int, bytes]
    data: bytes


class EventLog(NamedTuple):
    """A parsed log: the digest sizes by algorithm, and the events after the first one."""

    algorithms: Mapping[int, int]
    events: tuple[LoggedEvent, ...]


def parse_agile_log(data: bytes, registers: int) -> EventLog:
    """Parse a log for ``registers`` registers, up to the unwritten end of its buffer (all zeros or all ones).

    Raises MalformedError if it is something else.
    """
    if len(data) > LARGEST_LOG:
        raise MalformedError(WHAT, f"at most {LARGEST_LOG} bytes", f"{len(data)}")
    end = min(len(data.rstrip(each)) for each in UNWRITTEN)
    reader = Reader(data, WHAT)
    algorithms = _specification(reader)
    events: list[LoggedEvent] = []
    while reader.position < end:
        events.append(_event(reader, algorithms, registers))
    return EventLog(algorithms, tuple(events))


def _specification(reader: Reader) -> dict[int, int]:
    """Read the first event, which says which digests the others carry; return their sizes by algorithm."""
    reader.take(4, "register of the first event")
    if (kind := reader.number(4, "type of the first event")) != NO_ACTION:
        raise reader.malformed(f"a first event of type {NO_ACTION}", f"{kind}")
    reader.take(20, "SHA-1 digest of the first event")
    header = Reader(reader.take(reader.number(4, "size of the first event"), "first event"), "event log header")
    header.constant(SPECIFICATION, "signature")
    header.take(8, "platform class, version and integer size")
    count = header.number(4, "number of algorithms")
    if count > MOST_ALGORITHMS:
        raise header.malformed(f"at most {MOST_ALGORITHMS} algorithms", f"{count}")
    sizes = {header.number(2, "algorithm"): header.number(2, "digest size") for _ in range(count)}
    header.take(header.number(1, "size of vendor data"), "vendor data")
    header.end()
    return sizes


def _event(reader: Reader, algorithms: dict[int, int], registers: int) -> LoggedEvent:
    register = reader.number(4, "measurement register")
    if register >= registers:
        raise reader.malformed(f"a measurement register from 0 to {registers - 1}", f"{register}")
    kind = reader.number(4, "event type")
    count = reader.number(4, "number of digests")
    if count > len(algorithms):
        raise reader.malformed(f"at most {len(algorithms)} digests", f"{count}")
    digests: dict[int, bytes] = {}
    for _ in range(count):
        algorithm = reader.number(2, "digest algorithm")
        if algorithm not in algorithms or algorithm in digests:
            raise reader.malformed("each declared digest once", f"algorithm {algorithm:#x}")
        digests[algorithm] = reader.take(algorithms[algorithm], "digest")
    data = reader.take(reader.number(4, "size of the event"), "event")
    return LoggedEvent(register, kind, digests, data)
