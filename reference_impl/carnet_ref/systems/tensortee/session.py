"""The key exchange of a job's CPU enclave with an attested NPU."""

from dataclasses import dataclass
from functools import partial
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec

from carnet_ref.crypto import primitives
from carnet_ref.marks import enforces
from carnet_ref.systems import devices
from carnet_ref.systems.checks import EVERY, Checks
from carnet_ref.systems.devices import derived_keys, point, refused_as, verify_under
from carnet_ref.wire import join


class TensorTeeError(Exception):
    """The protocol refuses something."""


class SessionError(TensorTeeError):
    """A session cannot begin."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"no session: {reason}")


class TensorError(TensorTeeError):
    """An enclave refuses a step with a tensor."""

    def __init__(self, tensor: int, reason: str) -> None:
        super().__init__(f"tensor {tensor}: {reason}")


class HaltedError(TensorTeeError):
    """A step is refused because the MAC of some tensor failed before."""

    def __init__(self) -> None:
        super().__init__("a MAC failed, and the NPU has halted")


_REPORT: Final = b"carnet tensortee report"
_DEVICE: Final = b"carnet tensortee device"
_KEYS: Final = b"carnet tensortee keys"
#: Returns the certificate of an NPU, from the vendor's key and the NPU's.
certify: Final = partial(devices.certify, _DEVICE)


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of both enclaves after an exchange, one for each use."""

    lines: bytes
    macs: bytes
    descriptors: bytes


@dataclass(frozen=True, slots=True)
class Answer:
    """An NPU's answer: its key share, a report about the transcript, and the vendor's certificate."""

    share: bytes
    signature: bytes
    device: bytes
    certificate: bytes


class KeyExchange:
    """The CPU enclave's end of a session's only exchange."""

    def __init__(self, random: primitives.Random, checks: Checks = EVERY) -> None:
        self._checks = checks
        self._share = primitives.X25519Share(random(primitives.KEY_BYTES))
        self._nonce = random(primitives.KEY_BYTES)
        self._taken = False

    @property
    def opening(self) -> bytes:
        """The CPU enclave's message."""
        return self._nonce + self._share.public

    @enforces("REQ-KEY-01", "REQ-KEY-02", "REQ-KEY-03", "npu-attested", "job-key")
    def take(self, answer: Answer, root: ec.EllipticCurvePublicKey) -> Keys:
        """Return the keys after the NPU's answer; they belong to this exchange, so to one session of one job.

        Raises SessionError if the report is of another exchange, or of no genuine NPU, or an answer was taken before.
        """
        if self._taken:
            raise SessionError("an answer was taken before, and a session has keys of its own")
        with refused_as(SessionError, primitives.AuthenticationError, primitives.KeyMaterialError, ValueError):
            verify_under(answer.device, answer.signature, join(_REPORT, self.opening, answer.share), "report")
            if self._checks.insist_on("npu-attested"):
                primitives.verify_p384(root, answer.certificate, join(_DEVICE, answer.device), "certificate")
            keys = _keys(self._share.agree(answer.share), self.opening, answer.share)
        self._taken = True
        return keys


class Device:
    """An NPU's end of key exchanges, with its certified identity."""

    def __init__(self, identity: ec.EllipticCurvePrivateKey, certificate: bytes, random: primitives.Random) -> None:
        self._identity, self._certificate, self._random = identity, certificate, random

    @enforces("REQ-KEY-01")
    def answer(self, opening: bytes) -> tuple[Answer, Keys]:
        """Return the answer and the keys; the report names the exchange's transcript.

        Raises KeyMaterialError if the share of the other end is no share.
        """
        share = primitives.X25519Share(self._random(primitives.KEY_BYTES))
        keys = _keys(share.agree(opening[primitives.KEY_BYTES :]), opening, share.public)
        signature = primitives.sign_p384(self._identity, join(_REPORT, opening, share.public))
        return Answer(share.public, signature, point(self._identity), self._certificate), keys


def _keys(secret: bytes, opening: bytes, share: bytes) -> Keys:
    return Keys(*derived_keys(secret, join(opening, share), _KEYS, 3))
