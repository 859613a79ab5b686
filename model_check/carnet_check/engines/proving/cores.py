"""Which hypotheses a proof is likely to need: those of a certificate, or, where there is none, those of a hint."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from carnet_check.certificates.asked import Asked, key_of
from carnet_check.certificates.file import BadCertificateFile, Certificates
from carnet_check.certificates.place import load_certificates, place_of
from carnet_check.engines.proving.hints import load_hints
from carnet_check.loading.families import Source
from carnet_check.obligations import Layer, Obligation

FRESH = "fresh:values differ"
"""Hints name what is drawn fresh together; obligations name each pair."""
Cores = Mapping[str, tuple[str, ...]]
"""For an obligation's id, the names of hypotheses. They change times and no verdict."""


def likely_cores(source: Source, layers: Sequence[Layer], obligations: Iterable[Obligation]) -> Cores:
    """Return what is known of obligations of a protocol's layers: texts that are certified come first then."""
    certificates = _certificates(source)
    found: dict[str, tuple[str, ...]] = {}
    for layer in layers:
        entries = Asked.of(layer).entries(certificates.layers.get(key_of(layer)))
        found |= {id: entry.hypotheses for id, entry in entries.items() if entry is not None}
    hints = load_hints(layers[0].protocol)
    for each in obligations:
        hint = hints.get(each.id.removeprefix(each.layer.prefix))
        if hint is not None and each.id not in found:
            drawn = tuple(h.name for h in each.hypotheses if h.name.startswith("fresh:")) if FRESH in hint else ()
            found[each.id] = (*hint, *drawn)
    return found


def _certificates(source: Source) -> Certificates:
    place = place_of(source)
    try:
        return load_certificates(place) if place else Certificates({})
    except BadCertificateFile:
        return Certificates({})
