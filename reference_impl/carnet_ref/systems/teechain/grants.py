"""Grants: a head tells a holder which epoch is its own, and a holder takes only what is meant for it."""

from __future__ import annotations

from dataclasses import dataclass

from carnet_ref.crypto.primitives import sign_p384
from carnet_ref.marks import enforces
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.teechain.errors import ChainError, QuoteError
from carnet_ref.systems.teechain.primary import Primary
from carnet_ref.systems.teechain.replica import read_said
from carnet_ref.systems.teechain.tee import Policy, Quote
from carnet_ref.systems.teechain.words import check_signature
from carnet_ref.wire import MalformedError, join, number, split, to_number

_GRANT = b"carnet teechain grant"


def entry_for(holder: str) -> bytes:
    """Return the entry that says whom an epoch is for, as the custody log keeps it under the kind ``grant``."""
    return join(b"grant", holder.encode())


@enforces("REQ-ISSUE-04")
def grant(primary: Primary, at: int, holder: str) -> bytes:
    """Return the grant of an entry that counts, to the holder whom the entry names.

    Raises:
        ChainError: it does not count yet, or is for another holder.
    """
    if at not in primary.acknowledged:
        raise ChainError(f"entry {at} does not count yet")
    if primary.seat.log[at].entry != entry_for(holder):
        raise ChainError(f"entry {at} is not for {holder}")
    return sign_grant(primary, at, holder)


def sign_grant(primary: Primary, at: int, holder: str) -> bytes:
    """Return a grant under the head's key, whether or not the entry counts."""
    body = join(_GRANT, primary.plan.name, number(at), holder.encode())
    return join(body, primary.call(), sign_p384(primary.seat.key, body))


@dataclass(frozen=True, slots=True)
class Holder:
    """A holder of custody, and whose quotes it takes."""

    name: str
    policy: Policy
    checks: Checks = EVERY

    @enforces("REQ-HOLDER-01", "REQ-HOLDER-02", "grant-holder", "holder-check")
    def take(self, granted: bytes) -> int:
        """Return the epoch that a grant is for.

        Raises:
            QuoteError: the head's quote is not taken.
            ChainError: the head did not sign the grant, or it names another holder.
        """
        try:
            body, call, signature = split(granted, "grant", "body", "call", "signature")
            label, chain, at, named = split(body, "grant", "label", "chain", "number", "holder")
            epoch = to_number(at, "grant", "number")
            said_chain, _, key, _ = read_said(call)
            quote = Quote.decode(split(call, "call", "kind", "plan", "start", "quote")[3])
        except MalformedError as error:
            raise ChainError(str(error)) from None
        if self.checks.insist_on("holder-check"):
            self.policy.check(quote)
        if chain != said_chain or label != _GRANT:
            raise QuoteError("it is of another chain")
        check_signature(key, signature, body, "the grant")
        if named != self.name.encode() and self.checks.insist_on("grant-holder"):
            raise ChainError(f"the grant is for {named.decode(errors='replace')}")
        return epoch
