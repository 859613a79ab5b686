"""Which hypotheses certificates use, as far as they are certificates of the obligations as these are now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from carnet_check.certificates.asked import Asked, key_of
from carnet_check.certificates.file import Certificates, Entry
from carnet_check.exports.obligation_text import Writer, digest
from carnet_check.obligations import Layer, Obligation, obligations


def cores(certificates: Certificates, layers: Iterable[Layer]) -> Mapping[tuple[str, str], tuple[str, ...]]:
    """Return the hypotheses by variant and id; obligations whose certificate is stale, or missing, are left out."""
    writer = Writer()
    found: dict[tuple[str, str], tuple[str, ...]] = {}
    for layer in layers:
        asked = Asked.of(layer)
        entries = asked.entries(certificates.layers.get(key_of(layer)))
        fitting = {
            each.id: entry.hypotheses
            for each in asked
            if (entry := entries.get(each.id)) is not None and _fits(entry, each, writer)
        }
        for each in obligations(layer):
            own = asked.skipped[each.invariant.name] if each.skipped else each
            if own.id in fitting:
                found[layer.protocol.variant, each.id] = fitting[own.id]
    return found


def _fits(entry: Entry, obligation: Obligation, writer: Writer) -> bool:
    known = {each.name for each in obligation.hypotheses}
    return known.issuperset(entry.hypotheses) and entry.is_of(digest(writer.text(obligation, entry.hypotheses)))
