"""What a requester is given."""

from __future__ import annotations

from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import rsa

from carnet_ref.crypto.primitives import Random, sha384
from carnet_ref.spdm.chain import Trust, encode_chain
from carnet_ref.spdm.messages import Summary
from carnet_ref.spdm.profile import H100, Profile


@dataclass(frozen=True, slots=True)
class RequesterIdentity:
    """Who the requester is: its certificates, root first, and the key of the last. It has one, in slot 0."""

    certificates: tuple[x509.Certificate, ...]
    key: rsa.RSAPrivateKey = field(repr=False)

    @property
    def chain(self) -> bytes:
        """The chain as SPDM carries it."""
        return encode_chain(self.certificates)

    @property
    def digest(self) -> bytes:
        """The digest of the chain."""
        return sha384(self.chain)


@dataclass(frozen=True, slots=True)
class RequesterConfig:
    """What a requester is given: whom it trusts, where randomness comes from, its profile and the device's slot.

    ``challenge``: the device has to prove that it has its key before anything else. ``session``: a session is opened
    at once; without it, the requester waits to be told. ``summary``: which measurements the device has to sum up.
    ``identity``: who the requester is. With one it insists on being asked, and without one on not being asked.
    """

    trust: Trust
    random: Random
    profile: Profile = H100
    slot: int = 0
    challenge: bool = False
    session: bool = True
    summary: Summary = Summary.NONE
    identity: RequesterIdentity | None = None
