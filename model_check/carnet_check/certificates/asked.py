"""Which obligations have certificates of their own, and where in a file these are.

A verdict rests on this: what is not asked for here is not proved. Nothing here looks for a certificate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from carnet_check.certificates.file import Entry, LayerCertificates, LayerKey, Layout
from carnet_check.obligations import Layer, Obligation, obligations


def key_of(layer: Layer) -> LayerKey:
    """Return what a layer is called in a file of certificates."""
    return layer.protocol.variant, layer.threat.id if layer.threat else ""


@dataclass(frozen=True)
class Asked:
    """The obligations of a layer that have certificates of their own.

    They are those with something to prove, and for each invariant the first of its skipped pairs, which have one text.
    """

    layer: Layer
    proper: tuple[Obligation, ...]
    skipped: Mapping[str, Obligation]

    @staticmethod
    def of(layer: Layer) -> Asked:
        """Return the obligations of a layer."""
        every = tuple(obligations(layer))
        skipped: dict[str, Obligation] = {}
        for each in every:
            if each.skipped:
                skipped.setdefault(each.invariant.name, each)
        return Asked(layer, tuple(each for each in every if not each.skipped), skipped)

    def __iter__(self) -> Iterator[Obligation]:
        yield from self.proper
        yield from self.skipped.values()

    def certificates(self, found: Mapping[str, Entry]) -> LayerCertificates:
        """Return the certificates of the layer, which are ``found`` by the ids of obligations."""
        return LayerCertificates(
            layout_of(self.layer),
            tuple(found.get(each.id) for each in self.proper),
            {name: found.get(each.id) for name, each in self.skipped.items()},
        )

    def entries(self, certificates: LayerCertificates | None) -> dict[str, Entry | None]:
        """Return the certificates of a file by the ids of obligations, as far as they have the same pairs."""
        if certificates is None:
            return {}
        known = by_pair(certificates)
        return {each.id: known.get(pair_of(each)) for each in self}


def layout_of(layer: Layer) -> Layout:
    """Return which obligations a layer has."""
    marks: dict[str, str] = {}
    for each in obligations(layer):
        if each.action is not None:
            marks[each.action.name] = marks.get(each.action.name, "") + ("0" if each.skipped else "1")
    return Layout(tuple(claim.name for claim in layer.claims), tuple(marks.items()))


Pair = tuple[str | None, str]
"""An action, none for the first state, and an invariant; a skipped pair has the action ''."""


def pair_of(obligation: Obligation) -> Pair:
    """Return what an obligation is about."""
    if obligation.skipped:
        return "", obligation.invariant.name
    return obligation.action.name if obligation.action else None, obligation.invariant.name


def by_pair(certificates: LayerCertificates) -> dict[Pair, Entry | None]:
    """Return the certificates of a layer by what they are about."""
    layout = certificates.layout
    pairs: list[Pair] = [(None, name) for name in layout.invariants]
    for action, marks in layout.actions:
        pairs += [(action, name) for name, mark in zip(layout.invariants, marks, strict=False) if mark == "1"]
    known: dict[Pair, Entry | None] = dict(zip(pairs, certificates.entries, strict=False))
    return known | {("", name): entry for name, entry in certificates.skipped.items()}
