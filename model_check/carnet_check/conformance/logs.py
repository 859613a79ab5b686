"""Logs: whether the events of each party in a checked trace are all there, in order, and as they were recorded."""

from __future__ import annotations

from dataclasses import dataclass, field

from carnet_spec.trace import Header, TraceEnd, TraceEvent


@dataclass(slots=True)
class Logs:
    """Goes along a checked trace and remembers where the log of each party stands; each begins with the design."""

    header: Header
    ends: dict[str, tuple[int, str]] = field(default_factory=dict)

    def take(self, event: TraceEvent) -> str:
        """Take the next event; return why it is not the next one of its log, or nothing."""
        place = event.place
        if place is None:
            return "the event has no place in a log, as every event of a checked trace has"
        number, last = self.ends.get(place.party, (0, self.header.design))
        if place.number != number:
            return f"expected event {number} of the log of '{place.party}', found event {place.number}"
        if place.before != last and not number:
            return f"'{place.party}' began its log in another design than the one that the header names"
        if place.before != last:
            return f"the event before it in the log of '{place.party}' is another than the one that was recorded"
        self.ends[place.party] = number + 1, event.digest
        return ""

    def close(self, end: TraceEnd) -> str:
        """Take the end of the trace; return which log ends elsewhere, or nothing."""
        for party in sorted({*self.ends, *end.logs}):
            found, said = self.ends.get(party, (0, "")), end.logs.get(party, (0, ""))
            if found[0] != said[0]:
                return f"expected {said[0]:,} events in the log of '{party}', found {found[0]:,}"
            if found != said:
                return f"the last event in the log of '{party}' is another than the one that was recorded"
        return "" if end.header == self.header.digest else "the header is another than the one that was recorded"
