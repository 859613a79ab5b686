"""Both ends of a session give it one name, and it keeps that name."""

from __future__ import annotations

from datetime import UTC, datetime

from carnet_ref.attestation.simulated.gpu import SimulatedGpu
from carnet_ref.crypto.primitives import Random
from carnet_ref.spdm.messages import KeyExchange
from carnet_ref.systems.gpu_travelling.evidence import gpu_responder
from tests.fixtures.worlds import draws, verifier_of

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def like_a_key_exchange(seed: str) -> Random:
    """Return a source of session ids whose bytes are the code of a key exchange."""
    others = draws(seed)
    return lambda size: bytes([KeyExchange.CODE] * 2) if size == 2 else others(size)


def test_a_record_that_looks_like_a_key_exchange_renames_nothing() -> None:
    silicon = SimulatedGpu(b"a GPU", NOW)
    responder = gpu_responder(silicon, like_a_key_exchange("gpu"))
    requester = verifier_of(silicon.vendor, at=NOW).requester(like_a_key_exchange("orchestrator"))
    names = []
    messages = requester.begin()
    while messages:
        answers = [answer for message in messages for answer in responder.receive(message)]
        messages = [message for answer in answers for message in requester.receive(answer)]
        if requester.label:
            names.append((requester.label, responder.label))
    assert requester.established
    (asked,) = responder.receive(requester.ask_report(bytes(32)))
    assert asked[2] == KeyExchange.CODE
    requester.take_evidence(asked)
    names.append((requester.label, responder.label))
    first = requester.label
    assert len(names) > 2
    assert set(names[1:]) == {(first, first)}
