"""The toy's obligations and certificates, for tests."""

from __future__ import annotations

import functools
import os
import signal
from collections.abc import Iterator, Sequence
from unittest.mock import patch

from carnet_check.certificates import production
from carnet_check.certificates.file import Certificates, Entry, load_certificates, place_of
from carnet_check.certificates.judging import Asked, key_of
from carnet_check.certificates.production import Answer, Question, answers, certificate
from carnet_check.exports.obligation_text import Writer
from carnet_check.loading.families import load
from carnet_check.obligations import Layer, Obligation, layers
from tests.unit.model_check.command import TOY


def certificates() -> Certificates:
    place = place_of(load(TOY))
    assert place is not None
    return load_certificates(place)


@functools.cache
def general(*without: str) -> Layer:
    """Return the general layer of the toy, from which defences may be taken away."""
    return layers(load(TOY).protocol(without=without))[0]


def pairs(*without: str) -> list[tuple[Obligation, Entry]]:
    """Return the toy's obligations with the certificates that the toy has for them."""
    asked = Asked.of(general(*without))
    entries = asked.entries(certificates().layers[key_of(asked.layer)])
    return [(each, entry) for each in asked if (entry := entries.get(each.id)) is not None]


VICTIM = "step/lend/secrecy"


def killed(question: Question) -> Iterator[Answer]:
    """Answer, but die on one question."""
    if question.id == VICTIM:
        os.kill(os.getpid(), signal.SIGKILL)
    yield from answers(question)


def stuck(question: Question) -> Iterator[Answer]:
    """Answer, but never on one question."""
    while question.id == VICTIM:
        signal.pause()
    yield from answers(question)


def greedy(question: Question) -> Iterator[Answer]:
    """Answer, but take all the memory there is on one question."""
    if question.id == VICTIM:
        yield Answer(question, reason=f"there was memory for {len(bytearray(8 << 30))}")
    yield from answers(question)


def failing(writer: Writer, obligation: Obligation, hint: Sequence[str] | None) -> Entry:
    """Look for a certificate, but fail on one obligation."""
    if obligation.id == VICTIM:
        raise RecursionError("too deep")
    return certificate(writer, obligation, hint)


def failing_inside(question: Question) -> Iterator[Answer]:
    """Answer with a search that fails on one question."""
    with patch.object(production, "certificate", failing):
        yield from answers(question)
