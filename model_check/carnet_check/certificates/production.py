"""Making the certificates of a family: what still fits is kept, and only the rest is searched for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from carnet_check.certificates.file import Certificates, Entry, LayerCertificates, LayerKey
from carnet_check.certificates.judging import Asked, Judge, Pair, adapted, by_pair, key_of, pair_of
from carnet_check.certificates.producing.work import Question, Workers
from carnet_check.exports.obligation_text import Writer, digest
from carnet_check.obligations import Layer, Obligation, obligations

Hints = Mapping[str, tuple[str, ...]]
"""For an obligation's id without its threat model, hypotheses that may suffice."""
Progress = Callable[[str, int, int], None]
"""Told the variant, how many obligations are certified, and how many there are."""


@dataclass(frozen=True, slots=True)
class Made:
    """What became of the obligations of one variant: how many there are, and where their certificates come from."""

    variant: str
    kept: int
    adapted: int
    found: int
    missing: Mapping[str, str]
    """Why there is none, for each obligation that has none."""
    seconds: float

    @property
    def obligations(self) -> int:
        """How many obligations there are; a skipped pair counts once for its invariant."""
        return self.kept + self.adapted + self.found + len(self.missing)


@dataclass
class _Tally:
    """Counts while a variant is worked on."""

    kept: int = 0
    adapted: int = 0
    found: int = 0
    missing: dict[str, str] = field(default_factory=dict)


class Production:
    """Makes the certificates of variants, one after the other; what serves in one is tried in the next."""

    def __init__(self, reference: str, before: Certificates, workers: Workers, progress: Progress) -> None:
        self._reference = reference
        self._workers = workers
        self._progress = progress
        self.layers: dict[LayerKey, LayerCertificates] = dict(before.layers)
        self._like: dict[Pair, list[Entry]] = {}
        for layer in before.layers.values():
            self._remember(by_pair(layer).items())

    @property
    def certificates(self) -> Certificates:
        """What there is now."""
        return Certificates(self.layers)

    def make(self, layers: Sequence[Layer], hints: Hints) -> Made:
        """Make what is missing or stale of one variant's layers."""
        began, tally, variant = time.monotonic(), _Tally(), layers[0].protocol.variant
        there = set(map(key_of, layers))
        self.layers = {key: each for key, each in self.layers.items() if key[0] != variant or key in there}
        judge = Judge()
        asked = [Asked.of(layer) for layer in layers]
        total = sum(len(each.proper) + len(each.skipped) for each in asked)
        for each in asked:
            found: dict[str, Entry] = {}
            open = self._reused(each, judge, tally, found)
            self._progress(variant, tally.kept + tally.adapted + tally.found, total)
            for id, entry in self._searched(each, open, hints, tally):
                found[id] = entry
                self._progress(variant, tally.kept + tally.adapted + tally.found, total)
            self.layers[key_of(each.layer)] = each.certificates(found)
            self._remember((pair_of(obligation), found.get(obligation.id)) for obligation in each)
        missing = dict(tally.missing)
        return Made(variant, tally.kept, tally.adapted, tally.found, missing, time.monotonic() - began)

    def _reused(self, asked: Asked, judge: Judge, tally: _Tally, found: dict[str, Entry]) -> list[Obligation]:
        """Keep the certificates that serve still, or serve elsewhere; return the obligations that have none."""
        earlier = asked.entries(self.layers.get(key_of(asked.layer)))
        open = []
        for obligation in asked:
            before = earlier.get(obligation.id)
            if before is not None and not judge.why_refused(obligation, before):
                found[obligation.id] = before
                tally.kept += 1
            elif (other := self._adapted(judge, obligation, before)) is not None:
                found[obligation.id] = other
                tally.adapted += 1
            else:
                open.append(obligation)
        return open

    def _adapted(self, judge: Judge, obligation: Obligation, before: Entry | None) -> Entry | None:
        """Return a certificate of the same action and invariant elsewhere that proves this obligation, too."""
        like = self._like.get(pair_of(obligation), ())
        tried = dict.fromkeys((before, *reversed(like)) if before else reversed(like))
        made = (adapted(judge.writer, obligation, entry) for entry in tried)
        return next((entry for entry in made if entry is not None), None)

    def _searched(
        self, asked: Asked, open: Sequence[Obligation], hints: Hints, tally: _Tally
    ) -> Iterator[tuple[str, Entry]]:
        """Yield the certificates that workers find."""
        layer = asked.layer
        prefix = len(layer.prefix)
        questions = [
            Question(self._reference, layer.protocol.variant, each.id, hints.get(each.id[prefix:])) for each in open
        ]
        for answer in self._workers.answers(questions):
            if answer.entry is None:
                tally.missing[answer.question.id] = answer.reason
            else:
                tally.found += 1
                yield answer.question.id, answer.entry

    def _remember(self, found: Iterable[tuple[Pair, Entry | None]]) -> None:
        for pair, entry in found:
            if entry is not None and entry not in (known := self._like.setdefault(pair, [])):
                known.append(entry)


# --------------------------------------------------------------------------------------------------
# Which hypotheses certificates use, as far as they are certificates of the obligations as these are now.


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
