"""Channels open each record once, messages survive the wire, and what is kept survives the journal."""

import json

import pytest

from carnet_ref.crypto.primitives import sha384
from carnet_ref.keys import Budget
from carnet_ref.systems.gpu_travelling.roles import messages
from carnet_ref.systems.gpu_travelling.roles.job import EMPTY_BOOKS, Books, Checkpoint, Entry, Progress
from carnet_ref.wire import MalformedError, join

GRANT = messages.Grant("s1", 1, 2, 3, 4, 5, 6, Budget(7, 8), b"key", b"mask")
MODEL = sha384(b"model")


ENVELOPES = (
    messages.Hello(b"share", b"nonce"),
    messages.Answer(b"share", b"to"),
    messages.Record(b"channel", b"sealed"),
    messages.NoChannel(),
    messages.NoChannel(b"channel"),
)
MESSAGES = (
    messages.OrchestratorEvidence(b"quote", "s1"),
    messages.Proof(b"signature"),
    GRANT,
    messages.Return("s1", 2, 3, 4),
    messages.Decline("s1", 2, Budget(3, 4)),
)


@pytest.mark.parametrize("envelope", ENVELOPES, ids=repr)
def test_envelopes_survive_the_wire(envelope: messages.Hello) -> None:
    data = messages.encode_envelope(envelope)
    assert messages.parse_envelope(data) == envelope
    with pytest.raises(MalformedError):
        messages.parse_envelope(data + b"x")


@pytest.mark.parametrize("message", MESSAGES, ids=lambda each: type(each).__name__)
def test_messages_survive_the_wire(message: messages.Proof) -> None:
    data = messages.encode_message(message)
    assert messages.parse_message(data) == message
    with pytest.raises(MalformedError):
        messages.parse_message(data[:-1])


@pytest.mark.parametrize("data", [b"", b"\x09", b"\xff\0\0\0\0"])
def test_what_is_no_message_is_malformed(data: bytes) -> None:
    with pytest.raises(MalformedError):
        messages.parse_envelope(data)
    with pytest.raises(MalformedError):
        messages.parse_message(data)


def test_what_is_kept_survives_the_journal_and_a_grant_shows_no_key() -> None:
    assert "key" not in repr(GRANT).replace("keys", "").replace("h2d_key", "")
    kept = Checkpoint(Progress(2, (1.5, 0.5), 100, sha384(b"model")), b"model", 3)
    assert Checkpoint.parse(kept.encode()) == kept
    assert kept.progress.digest == sha384(b"model").hex()
    with pytest.raises(MalformedError):
        Checkpoint.parse(b"\x01\0\0\0x\0\0\0\0")
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
    assert Checkpoint.parse(join(json.dumps(numbers).encode(), b"model")).returns == 1
    with pytest.raises(MalformedError, match="what is kept"):
        Checkpoint.parse(join(json.dumps(numbers | {name: value}).encode(), b"model"))


ENTRY = Entry("alice", "s1/1", "aa", "bb")


@pytest.mark.verifies("gpu-travelling-REQ-MODEL-04")
def test_the_books_say_what_was_lost() -> None:
    books = (
        EMPTY_BOOKS.with_return("s1/1")
        .with_entry(ENTRY)
        .after_checkpoint()
        .with_return("s1/3")
        .given_up()
        .with_return("s2/1")
    )
    assert (books.ledger, books.lost, books.unsecured, books.returns) == ((ENTRY,), ("s1/3",), ("s2/1",), 3)


@pytest.mark.verifies("gpu-travelling-REQ-MODEL-04")
def test_the_books_are_the_same_after_a_crash() -> None:
    kept = Checkpoint(Progress(1, (1.0,), 9, MODEL), b"model", 1)
    again = Books.of([ENTRY.encode()], [b"s1/1", b"s1/3", b"s2/1"], [b"s1/3"], kept)
    assert again == EMPTY_BOOKS.with_return("s1/1").with_entry(ENTRY).after_checkpoint().with_return(
        "s1/3"
    ).given_up().with_return("s2/1")
    with pytest.raises(MalformedError, match="ledger"):
        Books.of([b"no entry"], [], [], kept)
