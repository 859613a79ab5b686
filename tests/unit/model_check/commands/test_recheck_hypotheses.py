"""`carnet recheck`: what a certificate says that it uses is what the text has, for both checkers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from carnet_check.certificates.file import (
    NAME,
    Certificates,
    Entry,
    LayerCertificates,
    load_certificates,
    save_certificates,
)
from carnet_check.coq.program import program
from carnet_check.obligations import GOAL
from tests.unit.model_check.command import carnet

SPOILT: dict[str, Callable[[Entry], Entry]] = {
    "in another order": lambda entry: replace(entry, hypotheses=entry.hypotheses[::-1]),
    "twice": lambda entry: replace(entry, hypotheses=(*entry.hypotheses, entry.hypotheses[0])),
    "one that is not there": lambda entry: replace(entry, hypotheses=(*entry.hypotheses, "inv:peace")),
    "the goal": lambda entry: replace(entry, hypotheses=(*entry.hypotheses, GOAL)),
}


def spoil(folder: Path, change: Callable[[LayerCertificates, int], LayerCertificates]) -> None:
    """Change the certificate that uses the most hypotheses."""
    certificates = load_certificates(folder / NAME)
    uses = {
        (key, place): len(entry.hypotheses)
        for key, layer in certificates.layers.items()
        for place, entry in enumerate(layer.entries)
        if entry is not None
    }
    key, place = max(uses, key=lambda each: uses[each])
    spoilt = change(certificates.layers[key], place)
    save_certificates(folder / NAME, Certificates({**certificates.layers, key: spoilt}))


def changed(layer: LayerCertificates, place: int, entry: Entry) -> LayerCertificates:
    return replace(layer, entries=(*layer.entries[:place], entry, *layer.entries[place + 1 :]))


@pytest.mark.parametrize("how", SPOILT)
def test_hypotheses_are_named_once_and_in_order(folder: Path, how: str) -> None:
    """Steps count them, so both checkers would understand something else by another order."""
    spoil(folder, lambda layer, place: changed(layer, place, SPOILT[how](some(layer, place))))
    ran = carnet("recheck", str(folder), "--json")
    assert (ran.code, ran.json["verified"]) == (1, False if program() else None)
    assert "does not name the hypotheses" in ran.json["unproved"][0]["why"]


def test_a_good_certificate_elsewhere_excuses_no_bad_one(folder: Path) -> None:
    def with_another(layer: LayerCertificates, place: int) -> LayerCertificates:
        good = some(layer, place)
        bad = replace(good, tokens="close")
        return replace(changed(layer, place, bad), skipped={**layer.skipped, "another": good})

    spoil(folder, with_another)
    ran = carnet("recheck", str(folder), "--json")
    assert (ran.code, ran.json["verified"]) == (1, False if program() else None)


def some(layer: LayerCertificates, place: int) -> Entry:
    entry = layer.entries[place]
    assert entry is not None
    assert len(entry.hypotheses) > 1
    return entry
