"""Channels open each record once, messages survive the wire, and what is kept survives the journal."""

from __future__ import annotations

import json

import pytest

from carnet_ref.crypto.primitives import AuthenticationError, sha384
from carnet_ref.keys import Budget
from carnet_ref.systems.gpu_travelling.roles.job import EMPTY_BOOKS, Books, Checkpoint, Entry, Progress
from carnet_ref.systems.gpu_travelling.roles.messages import (
    Answer,
    Decline,
    Grant,
    Hello,
    Initiator,
    NoChannel,
    OrchestratorEvidence,
    Proof,
    Record,
    Return,
    encode_envelope,
    encode_message,
    parse_envelope,
    parse_message,
    respond,
)
from carnet_ref.wire import MalformedError, join
from tests.fixtures.worlds import draws

GRANT = Grant("s1", 1, 2, 3, 4, 5, 6, Budget(7, 8), b"key", b"mask")
MODEL = sha384(b"model")


def test_a_channel_opens_each_record_once_and_in_order() -> None:
    asking = Initiator(draws("holder"))
    share, theirs = respond(asking.hello, draws("orchestrator"))
    ours = asking.finish(share)
    assert ours.exporter == theirs.exporter
    first, second = ours.seal(b"one"), ours.seal(b"two")
    assert theirs.open(first) == b"one"
    with pytest.raises(AuthenticationError):
        theirs.open(first)
    other, _ = respond(asking.hello, draws("somebody else"))
    assert asking.finish(other).exporter != theirs.exporter
    assert second


ENVELOPES = (
    Hello(b"share", b"nonce"),
    Answer(b"share", b"to"),
    Record(b"channel", b"sealed"),
    NoChannel(),
    NoChannel(b"channel"),
)
MESSAGES = (
    OrchestratorEvidence(b"quote", "s1"),
    Proof(b"signature"),
    GRANT,
    Return("s1", 2, 3, 4),
    Decline("s1", 2, Budget(3, 4)),
)


@pytest.mark.parametrize("envelope", ENVELOPES, ids=repr)
def test_envelopes_survive_the_wire(envelope: Hello) -> None:
    data = encode_envelope(envelope)
    assert parse_envelope(data) == envelope
    with pytest.raises(MalformedError):
        parse_envelope(data + b"x")


@pytest.mark.parametrize("message", MESSAGES, ids=lambda each: type(each).__name__)
def test_messages_survive_the_wire(message: Proof) -> None:
    data = encode_message(message)
    assert parse_message(data) == message
    with pytest.raises(MalformedError):
        parse_message(data[:-1])


@pytest.mark.parametrize("data", [b"", b"\x09", b"\xff\0\0\0\0"])
def test_what_is_no_message_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedError):
        parse_envelope(data)
    with pytest.raises(MalformedError):
        parse_message(data)


def test_a_grant_shows_no_key_when_it_is_printed() -> None:
    assert "key" not in repr(GRANT).replace("keys", "").replace("h2d_key", "")


def test_what_is_kept_survives_the_journal() -> None:
    kept = Checkpoint(Progress(2, (1.5, 0.5), 100, sha384(b"model")), b"model", 3)
    assert Checkpoint.parse(kept.encode()) == kept
    assert kept.progress.digest == sha384(b"model").hex()
    with pytest.raises(MalformedError):
        Checkpoint.parse(b"\x01\0\0\0x\0\0\0\0")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rounds", "1"),
        ("rounds", -1),
        ("rounds", True),
        ("rounds", 2),
        ("losses", "1"),
        ("losses", [None]),
        ("losses", [10**400]),
        ("provisioned", 0.5),
        ("latest", "00"),
        ("returns", "a"),
        ("returns", -1),
    ],
)
def test_what_is_kept_has_counts_and_a_digest(name: str, value: object) -> None:
    numbers = {"rounds": 1, "losses": [1.0], "provisioned": 9, "latest": MODEL.hex(), "returns": 1}
    assert Checkpoint.parse(join(json.dumps(numbers).encode(), b"model")).returns == 1
    with pytest.raises(MalformedError, match="what is kept"):
        Checkpoint.parse(join(json.dumps(numbers | {name: value}).encode(), b"model"))


def test_an_entry_of_the_ledger_is_text() -> None:
    with pytest.raises(MalformedError, match="ledger"):
        Entry.parse(b'{"holder": "alice", "epoch": 1, "parent": "aa", "model": null}')


ENTRY = Entry("alice", "s1/1", "aa", "bb")


@pytest.mark.verifies("gpu-travelling-REQ-MODEL-04")
def test_the_books_say_what_was_lost() -> None:
    books = EMPTY_BOOKS.returned("s1/1").entered(ENTRY).secured().returned("s1/3").given_up().returned("s2/1")
    assert (books.ledger, books.lost, books.unsecured, books.returns) == ((ENTRY,), ("s1/3",), ("s2/1",), 3)


@pytest.mark.verifies("gpu-travelling-REQ-MODEL-04")
def test_the_books_are_the_same_after_a_crash() -> None:
    kept = Checkpoint(Progress(1, (1.0,), 9, MODEL), b"model", 1)
    again = Books.of([ENTRY.encode()], [b"s1/1", b"s1/3", b"s2/1"], [b"s1/3"], kept)
    assert again == EMPTY_BOOKS.returned("s1/1").entered(ENTRY).secured().returned("s1/3").given_up().returned("s2/1")
    with pytest.raises(MalformedError, match="ledger"):
        Books.of([b"no entry"], [], [], kept)
