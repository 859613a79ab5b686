"""Channels open each record once, messages survive the wire, and what is kept survives the journal."""

import json

import pytest

from carnet_ref.crypto.primitives import sha384
from carnet_ref.keys import Budget
from carnet_ref.systems.gpu_travelling.roles import channel_messages
from carnet_ref.systems.gpu_travelling.roles.books import NO_BOOKS, Books, Entry, Kept, Progress
from carnet_ref.wire import MalformedError, join

GRANT = channel_messages.Grant(1, "s1", 2, 3, 4, 5, 6, Budget(7, 8), b"key", b"mask")
MODEL = sha384(b"model")


ENVELOPES = (
    channel_messages.Hello(b"share", b"nonce"),
    channel_messages.Answer(b"share", b"to"),
    channel_messages.Record(b"channel", b"sealed"),
    channel_messages.NoChannel(),
    channel_messages.NoChannel(b"channel"),
)
MESSAGES = (
    channel_messages.OrchestratorEvidence(b"quote", "s1"),
    channel_messages.Proof(b"signature"),
    GRANT,
    channel_messages.Return("s1", 2, 3, 4),
    channel_messages.Decline("s1", 2, Budget(3, 4)),
)


@pytest.mark.parametrize("envelope", ENVELOPES, ids=repr)
def test_envelopes_survive_the_wire(envelope: channel_messages.Hello) -> None:
    data = channel_messages.encode_envelope(envelope)
    assert channel_messages.parse_envelope(data) == envelope
    with pytest.raises(MalformedError):
        channel_messages.parse_envelope(data + b"x")


@pytest.mark.parametrize("message", MESSAGES, ids=lambda each: type(each).__name__)
def test_messages_survive_the_wire(message: channel_messages.Proof) -> None:
    data = channel_messages.encode_message(message)
    assert channel_messages.parse_message(data) == message
    with pytest.raises(MalformedError):
        channel_messages.parse_message(data[:-1])


@pytest.mark.parametrize("data", [b"", b"\x09", b"\xff\0\0\0\0"])
def test_what_is_no_message_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedError):
        channel_messages.parse_envelope(data)
    with pytest.raises(MalformedError):
        channel_messages.parse_message(data)


def test_what_is_kept_survives_the_journal_and_a_grant_shows_no_key() -> None:
    assert "key" not in repr(GRANT).replace("keys", "").replace("h2d_key", "")
    kept = Kept(Progress(2, (1.5, 0.5), 100, sha384(b"model")), b"model", 3)
    assert Kept.parse(kept.encode()) == kept
    assert kept.progress.digest == sha384(b"model").hex()
    with pytest.raises(MalformedError):
        Kept.parse(b"\x01\0\0\0x\0\0\0\0")
    with pytest.raises(MalformedError, match="ledger"):
        Entry.parse(b'{"holder": "alice", "epoch": 1, "parent": "aa", "model": null}')


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
    assert Kept.parse(join(json.dumps(numbers).encode(), b"model")).returns == 1
    with pytest.raises(MalformedError, match="what is kept"):
        Kept.parse(join(json.dumps(numbers | {name: value}).encode(), b"model"))


ENTRY = Entry("alice", "s1/1", "aa", "bb")


@pytest.mark.verifies("gpu-travelling-REQ-MODEL-04")
def test_the_books_say_what_was_lost() -> None:
    books = NO_BOOKS.returned("s1/1").entered(ENTRY).secured().returned("s1/3").given_up().returned("s2/1")
    assert (books.ledger, books.lost, books.unsecured, books.returns) == ((ENTRY,), ("s1/3",), ("s2/1",), 3)


@pytest.mark.verifies("gpu-travelling-REQ-MODEL-04")
def test_the_books_are_the_same_after_a_crash() -> None:
    kept = Kept(Progress(1, (1.0,), 9, MODEL), b"model", 1)
    again = Books.of([ENTRY.encode()], [b"s1/1", b"s1/3", b"s2/1"], [b"s1/3"], kept)
    assert again == NO_BOOKS.returned("s1/1").entered(ENTRY).secured().returned("s1/3").given_up().returned("s2/1")
    with pytest.raises(MalformedError, match="ledger"):
        Books.of([b"no entry"], [], [], kept)
