"""The greeting of a connection: platform and party show each other that they know the party's key.

=========  =====================================
from       what
=========  =====================================
party      its name and a nonce
platform   a nonce, and its proof over both
party      its own proof over both
=========  =====================================

A proof is an HMAC under the party's key. The key itself never crosses the wire, so a process that takes the platform's
port learns nothing to greet with. Both nonces are fresh, so a recorded greeting is of no use. The two ends prove
different things, so neither proof can be sent back as the other.

Source: ISO/IEC 9798-4, mutual authentication with check functions in three passes.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Final

from carnet_ref.crypto.primitives import Random, hmac_sha384, verify_hmac_sha384
from carnet_ref.wire.fields import join, split, to_text
from carnet_ref.wire.reader import MalformedError

LARGEST_GREETING: Final = 512
"""Bytes of one of its messages at most."""
NONCE_BYTES: Final = 32
_INTRODUCTION: Final = "greeting of a party"
_SHOWN: Final = 40
_PARTY, _PLATFORM = b"carnet greeting: party", b"carnet greeting: platform"

Send = Callable[[bytes], Awaitable[None]]
Receive = Callable[[], Awaitable[bytes]]
"""Each carries one whole message; nothing that is received is longer than a greeting may be."""


def key_of_party(token: bytes, name: str) -> bytes:
    """Return the key by which the platform of the run with this token knows a party, and no other party does."""
    return hmac_sha384(token, join(b"carnet party", name.encode("utf-8")))


async def introduce(name: str, key: bytes, random: Random, send: Send, receive: Receive) -> None:
    """Greet as a party.

    Raises:
        AuthenticationError: what listens does not know this party's key.
        MalformedError: what it says is no greeting.
    """
    own = random(NONCE_BYTES)
    await send(join(name.encode("utf-8"), own))
    theirs, proof = split(await receive(), "greeting of the platform", "nonce", "proof")
    both = _both(name, own, theirs)
    verify_hmac_sha384(key, join(_PLATFORM, both), proof, "the platform's proof that it knows this run")
    await send(hmac_sha384(key, join(_PARTY, both)))


async def welcome(keys: Mapping[str, bytes], random: Random, send: Send, receive: Receive) -> str:
    """Greet as the platform, and return the name of the party that is there.

    Raises:
        AuthenticationError: it does not know the key of the party that it says it is.
        MalformedError: what it says is no greeting, or no party's of this run.
    """
    name, theirs = parse_introduction(await receive())
    if name not in keys:
        raise MalformedError(_INTRODUCTION, "the name of a party of this run", repr(name[:_SHOWN]))
    own = random(NONCE_BYTES)
    both = _both(name, theirs, own)
    await send(join(own, hmac_sha384(keys[name], join(_PLATFORM, both))))
    verify_hmac_sha384(keys[name], join(_PARTY, both), await receive(), f"the proof of {name!r}")
    return name


def parse_introduction(data: bytes) -> tuple[str, bytes]:
    """Return the name and the nonce that a party begins with.

    Raises:
        MalformedError: there are none.
    """
    name, nonce = split(data, _INTRODUCTION, "name", "nonce")
    return to_text(name, _INTRODUCTION, "name"), nonce


def _both(name: str, party: bytes, platform: bytes) -> bytes:
    return join(name.encode("utf-8"), party, platform)
