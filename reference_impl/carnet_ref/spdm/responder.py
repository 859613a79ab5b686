"""The responder: the device's end, which says what it is able to do, shows who it is, and is measured.

Source: DMTF DSP0274 1.3.2, "SPDM messages" in the order of a session by key exchange; DSP0277 1.2.0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Final

from carnet_ref.crypto.primitives import sha384
from carnet_ref.spdm.errors import UnexpectedMessageError
from carnet_ref.spdm.machine import SessionStep, becoming, expect
from carnet_ref.spdm.measuring import NOTHING_MEASURED, Measured
from carnet_ref.spdm.messages import (
    Challenge,
    ChallengeAuth,
    Digests,
    GetCapabilities,
    GetCertificate,
    GetDigests,
    GetMeasurements,
    GetVersion,
    KeyExchange,
    Layout,
    Message,
    NegotiateAlgorithms,
    Summary,
    Version,
)
from carnet_ref.spdm.messages.common import RANDOM_BYTES
from carnet_ref.spdm.portions import portion_of
from carnet_ref.spdm.profile import Capability
from carnet_ref.spdm.responder_config import ResponderConfig
from carnet_ref.spdm.responder_exchange import key_exchange, summary_kind
from carnet_ref.spdm.serving import Plain
from carnet_ref.spdm.signing import Purpose, sign
from carnet_ref.spdm.transfer import Answering
from carnet_ref.wire.reader import MalformedError

SLOTS: Final = 1
"""The one slot that has certificates, slot 0, as a mask."""
_MOST_SHOWN: Final = 1 << 20
"""How many bytes of certificates, with the requests for them, a challenge may be about."""


@dataclass(frozen=True, slots=True)
class _Negotiating(Plain):
    """A state before algorithms are agreed; ``vca`` is what was negotiated so far."""

    vca: bytes


@dataclass(frozen=True, slots=True)
class AwaitGetVersion(_Negotiating):
    """Nothing was said."""

    awaits: ClassVar[str] = "GET_VERSION"

    @classmethod
    def first(cls, config: ResponderConfig) -> AwaitGetVersion:
        """Return the state that a responder begins in."""
        return cls(Layout(), Answering(), config, b"")

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Say which versions there are."""
        expect(GetVersion, message)
        versions = self.config.profile.version_list().encode()
        return becoming(AwaitGetCapabilities, self, vca=raw + versions).say(versions)


@dataclass(frozen=True, slots=True)
class AwaitGetCapabilities(_Negotiating):
    """VERSION was sent; this request's version is the one that the requester chose."""

    awaits: ClassVar[str] = "GET_CAPABILITIES"

    def take(self, raw: bytes) -> SessionStep:
        """Read the request in the version that it chooses, if the profile has it."""
        state = self
        if raw[1:2] == bytes([GetCapabilities.CODE]):
            state = replace(self, layout=Layout(self.config.profile.check_version(raw[0])))
        return Plain.take(state, raw)

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Check the requester's abilities."""
        profile, version, mutual = self.config.profile, self.layout.version, self.config.mutual is not None
        sizes = profile.check_capabilities(expect(GetCapabilities, message), mutual=mutual)
        response = profile.capabilities(version, mutual=mutual).encode()
        transfer = self.transfer.agreed(version, sizes)
        state = becoming(AwaitNegotiateAlgorithms, self, transfer=transfer, vca=self.vca + raw + response)
        return state.say(response)


@dataclass(frozen=True, slots=True)
class AwaitNegotiateAlgorithms(_Negotiating):
    """CAPABILITIES was sent."""

    awaits: ClassVar[str] = "NEGOTIATE_ALGORITHMS"

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Choose the profile's suite."""
        offered, mutual = expect(NegotiateAlgorithms, message), self.config.mutual is not None
        response = self.config.profile.answer(offered, mutual=mutual).encode()
        return becoming(AwaitKeyExchange, self, vca=self.vca + raw + response).say(response)


@dataclass(frozen=True, slots=True)
class AwaitKeyExchange(_Negotiating):
    """Algorithms are agreed; the requester may look at the device before it opens the session.

    ``shown`` is what was said of certificates, which a challenge is about; ``measured`` is what was measured and not
    signed yet. Asking for anything else begins the first anew, and so does the second.
    """

    awaits: ClassVar[str] = "GET_DIGESTS, GET_CERTIFICATE, CHALLENGE, GET_MEASUREMENTS or KEY_EXCHANGE"

    shown: bytes = b""
    measured: Measured = NOTHING_MEASURED

    def message(self, message: Message, raw: bytes) -> SessionStep:
        """Show the chain, prove to have its key, measure, or sign the key exchange."""
        match message:
            case GetDigests():
                return self._show(raw, self._digests().encode(), before=b"")
            case GetCertificate() as request:
                portion = portion_of(self.config.chain, request, self.transfer.sizes)
                return self._show(raw, portion.encode(), before=self.shown)
            case Challenge() as request if self.config.profile.abilities & Capability.CHAL:
                return self._prove(request, raw)
            case GetMeasurements() as request:
                measured, response = self.measured.answer(self.config.reporter, self.vca, request, raw)
                return replace(self, shown=b"", measured=measured).say(response)
            case _:
                return key_exchange(self, self.vca, expect(KeyExchange, message), raw)

    def _digests(self) -> Digests:
        version = self.layout.version
        supported = SLOTS if version >= Version.V1_3 else 0
        return Digests(version, supported, SLOTS, (sha384(self.config.chain),))

    def _show(self, raw: bytes, response: bytes, *, before: bytes) -> SessionStep:
        shown = before + raw + response
        if len(shown) > _MOST_SHOWN:
            raise UnexpectedMessageError("a challenge or a key exchange", f"{len(shown)} bytes of certificates")
        return replace(self, shown=shown, measured=NOTHING_MEASURED).say(response)

    def _prove(self, request: Challenge, raw: bytes) -> SessionStep:
        if request.slot:
            raise MalformedError("CHALLENGE", "slot 0", str(request.slot))
        version, kind = self.layout.version, summary_kind(request.summary)
        unsigned = ChallengeAuth(
            version,
            0,
            SLOTS,
            sha384(self.config.chain),
            self.config.random(RANDOM_BYTES),
            self.config.reporter.summary(kind) if kind is not Summary.NONE else b"",
            b"",
            request.context,
            b"",
        )
        signed = self.vca + self.shown + raw + unsigned.encode()
        signature = sign(self.config.key, version, Purpose.CHALLENGE_AUTH, signed)
        response = replace(unsigned, signature=signature)
        return replace(self, shown=b"", measured=NOTHING_MEASURED).say(response.encode())
