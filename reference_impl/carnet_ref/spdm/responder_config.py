"""What a responder is given."""

from __future__ import annotations

from dataclasses import dataclass, field

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.crypto.primitives import Random
from carnet_ref.spdm.chain import Chain, Trust, encode_chain
from carnet_ref.spdm.measuring import Reporter
from carnet_ref.spdm.messages import MutualRequest
from carnet_ref.spdm.profile import H100_DEVICE, Profile


@dataclass(frozen=True, slots=True)
class MutualAuthentication:
    """That a responder insists on knowing its requester, how it asks, and whom it trusts.

    ``provisioned``: the requester's chain in SPDM's form, where it is known beforehand.
    """

    trust: Trust
    asked: MutualRequest = MutualRequest.ENCAPSULATED
    provisioned: bytes = b""

    def __post_init__(self) -> None:
        if bool(self.provisioned) is not (self.asked is MutualRequest.PROVISIONED):
            raise ValueError("a chain is provisioned if, and only if, it is not asked for")

    def check(self, chain: bytes) -> Chain:
        """Return the requester's chain.

        Raises:
            UntrustedChainError: it is not trusted, or its key is none for signatures of a requester.
            MalformedError: it cannot be read.
        """
        found = Chain.parse(chain)
        self.trust(found.certificates)
        found.requester_key()
        return found


@dataclass(frozen=True, slots=True)
class ResponderConfig:
    """What a responder is given: its certificates, root first, the key of the last, and what measures the device.

    ``mutual`` says that its requesters have to prove who they are.
    """

    certificates: tuple[x509.Certificate, ...]
    key: ec.EllipticCurvePrivateKey = field(repr=False)
    reporter: Reporter
    random: Random
    profile: Profile = H100_DEVICE
    mutual: MutualAuthentication | None = None

    @property
    def chain(self) -> bytes:
        """The chain as SPDM carries it."""
        return encode_chain(self.certificates)
