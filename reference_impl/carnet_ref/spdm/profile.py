"""The versions, capabilities and algorithms that an end requires; a peer that offers less is refused.

Source: NVIDIA open-gpu-kernel-modules 595.45.04, spdm.c and spdm_gh100.c (82-86): SPDM 1.1 or 1.2, ECDSA P-384,
SHA-384, ECDHE secp384r1, AES-256-GCM, one ECDHE session, no PSK session, no measurement summary in the key exchange.
The driver asks for mutual authentication too, under a requester key whose private part is published with it
(rmspdmrsakeys.h). It authenticates nobody, so the profile leaves it out. An end that has an identity, or asks for one,
adds what mutual authentication needs.
"""

from dataclasses import dataclass, replace
from enum import IntFlag
from typing import Final

from carnet_ref.spdm import messages
from carnet_ref.spdm.errors import DowngradeError, PskRefusedError
from carnet_ref.spdm.layout import Version
from carnet_ref.spdm.transfer import LEAST_TRANSFER, Sizes


class Capability(IntFlag):
    """Capability flags, as far as Carnet asks for them or refuses them.

    Source: DMTF DSP0274 1.3.2, tables "Flag fields definitions".
    """

    CERT = 1 << 1
    CHAL = 1 << 2
    MEAS_SIGNED = 2 << 3
    MEAS_FRESH = 1 << 5
    ENCRYPT = 1 << 6
    MAC = 1 << 7
    MUT_AUTH = 1 << 8
    KEY_EX = 1 << 9
    PSK = 3 << 10
    ENCAP = 1 << 12
    HBEAT = 1 << 13
    KEY_UPD = 1 << 14
    HANDSHAKE_IN_THE_CLEAR = 1 << 15
    CHUNK = 1 << 17


_NONE: Final = Capability(0)
_SESSION: Final = Capability.ENCRYPT | Capability.MAC | Capability.KEY_EX | Capability.HBEAT | Capability.KEY_UPD
_MEASURING: Final = Capability.CERT | Capability.MEAS_SIGNED | Capability.MEAS_FRESH
_P384: Final = 0x80
_SHA384: Final = 0x02
_MEASURED_BY_SHA384: Final = 0x04
_DMTF: Final = 0x01
_GENERAL_OPAQUE: Final = 0x02
_SECP384R1: Final = 0x10
_AES_256_GCM: Final = 0x02
_RSAPSS_3072: Final = 0x08
_SPDM_SCHEDULE: Final = 0x01
_MUTUAL: Final = Capability.MUT_AUTH | Capability.ENCAP
_TRANSFER: Final = 0x1200
_LONGEST: Final = 0x12000  #: A chain of the longest kind, and what stands around it.
_OFFERED: Final = (
    messages.AlgorithmTable(messages.DHE, _SECP384R1),
    messages.AlgorithmTable(messages.AEAD, _AES_256_GCM),
    messages.AlgorithmTable(messages.REQUESTER_ASYMMETRIC, _RSAPSS_3072),
    messages.AlgorithmTable(messages.KEY_SCHEDULE, _SPDM_SCHEDULE),
)


@dataclass(frozen=True, slots=True)
class Profile:
    """The versions that an end accepts, its capabilities, and its only suite of algorithms.

    ``abilities`` is what it is able to do besides: to answer a challenge, and to take messages in pieces. It takes
    ``transfer`` bytes at once, and ``message`` in pieces.
    """

    name: str
    versions: tuple[Version, ...]
    abilities: Capability = _NONE
    transfer: int = _TRANSFER
    message: int = _TRANSFER

    def choose(self, offered: messages.VersionList) -> Version:
        """Return the newest version that both ends speak. Raises DowngradeError if there is none."""
        common = [version for version in self.versions if offered.offers(version)]
        if not common:
            entries = ", ".join(f"{entry >> 12}.{entry >> 8 & 15}" for entry in offered.entries) or "none"
            raise DowngradeError(f"{self.name} accepts SPDM {self._accepted()}, and the peer offers {entries}")
        return max(common)

    def check_version(self, version: int) -> Version:
        """Return the version that the peer chose. Raises DowngradeError if the profile does not accept it."""
        if version not in self.versions:
            raise DowngradeError(f"{self.name} accepts SPDM {self._accepted()}, not {version >> 4}.{version & 15}")
        return Version(version)

    def version_list(self) -> messages.VersionList:
        """Return what a responder offers."""
        return messages.VersionList(Version.V1_0, tuple(version << 8 for version in sorted(self.versions)))

    def get_capabilities(self, version: Version, *, mutual: bool = False) -> messages.GetCapabilities:
        """Return what a requester says of itself; ``mutual``: it is able to prove who it is."""
        flags = _SESSION | Capability.CERT | self._pieces(version) | (_MUTUAL if mutual else 0)
        return messages.GetCapabilities(version, 0, flags, *self._sizes(version))

    def capabilities(self, version: Version, *, mutual: bool = False) -> messages.Capabilities:
        """Return the capabilities of a responder; with ``mutual`` it requires mutual authentication."""
        flags = _SESSION | _MEASURING | self._pieces(version) | self.abilities & Capability.CHAL
        return messages.Capabilities(version, 0, flags | (_MUTUAL if mutual else 0), *self._sizes(version))

    def check_capabilities(
        self, found: messages.GetCapabilities | messages.Capabilities, *, mutual: bool = False, challenge: bool = False
    ) -> Sizes:
        """Check the peer's capabilities, and return its size limits for messages.

        Raises DowngradeError if something needed is missing; ``mutual`` and ``challenge`` say what is needed besides.
        Raises PskRefusedError if it could open a session by pre-shared key.
        """
        needed = _SESSION | (_MUTUAL if mutual else 0) | (Capability.CHAL if challenge else 0)
        if isinstance(found, messages.Capabilities):
            if found.flags & Capability.PSK:
                raise PskRefusedError("the responder is able to open sessions by pre-shared key")
            needed |= Capability.CERT | Capability.MEAS_SIGNED
        if missing := needed & ~Capability(found.flags & needed):
            raise DowngradeError(f"{self.name} needs {missing.name}, which the peer does not have")
        if found.version < Version.V1_2:
            return Sizes()
        if not LEAST_TRANSFER <= found.transfer_size <= found.message_size:
            raise DowngradeError(f"transfers of {found.transfer_size} for messages of {found.message_size} bytes")
        pieces = bool(found.flags & self._pieces(found.version))
        return Sizes(pieces, found.transfer_size, found.message_size, self.message)

    def negotiate(self, version: Version) -> messages.NegotiateAlgorithms:
        """Return the requester's offer of algorithms: one suite."""
        return messages.NegotiateAlgorithms(version, _OFFERED, _DMTF, self._opaque_format(version), _P384, _SHA384)

    def answer(self, offered: messages.NegotiateAlgorithms, *, mutual: bool = False) -> messages.Algorithms:
        """Return the responder's choice of algorithms; with ``mutual`` it includes one for the requester's key.

        Raises DowngradeError if the requester does not offer it.
        """
        wanted = self.negotiate(offered.version)
        tables = {table.kind: table.algorithms for table in offered.tables}
        ours = {table.kind: table.algorithms for table in _needed(wanted.tables, mutual=mutual)}
        lacking = [str(kind) for kind, choice in ours.items() if not tables.get(kind, 0) & choice]
        bases = (
            offered.base_asymmetric & _P384,
            offered.base_hash & _SHA384,
            offered.measurement_specification & _DMTF,
            offered.version < Version.V1_2 or offered.other_parameters & _GENERAL_OPAQUE,
        )
        if lacking or not all(bases):
            raise DowngradeError(f"the requester does not offer the algorithms of {self.name}")
        return self._chosen(offered.version)

    def check_algorithms(self, chosen: messages.Algorithms, *, mutual: bool = False) -> None:
        """Check that the responder chose the suite that was offered; ``mutual``: with an algorithm of the requester's.

        Raises DowngradeError if it chose something else.
        """
        wanted = self._chosen(chosen.version)
        tables, ours = (_needed(each.tables, mutual=mutual) for each in (chosen, wanted))
        if replace(chosen, tables=tables) != replace(wanted, tables=ours):
            raise DowngradeError(f"the responder chose other algorithms than those of {self.name}")

    def _chosen(self, version: Version) -> messages.Algorithms:
        other = self._opaque_format(version)
        return messages.Algorithms(version, _OFFERED, _DMTF, other, _MEASURED_BY_SHA384, _P384, _SHA384)

    def _accepted(self) -> str:
        return " or ".join(version.label for version in sorted(self.versions))

    @staticmethod
    def _opaque_format(version: Version) -> int:
        return _GENERAL_OPAQUE if version >= Version.V1_2 else 0

    def _sizes(self, version: Version) -> tuple[int, int]:
        return (self.transfer, self.message) if version >= Version.V1_2 else (0, 0)

    def _pieces(self, version: Version) -> Capability:
        return self.abilities & Capability.CHUNK if version >= Version.V1_2 else _NONE


def _needed(tables: tuple[messages.AlgorithmTable, ...], *, mutual: bool) -> tuple[messages.AlgorithmTable, ...]:
    """Return the algorithms that matter; those of a requester that signs nothing do not."""
    return tuple(table for table in tables if mutual or table.kind != messages.REQUESTER_ASYMMETRIC)


H100: Final = Profile("h100", (Version.V1_1, Version.V1_2))  #: What the H100's driver accepts.
#: What H100 boards were seen to offer: their reports, and the recorded board, speak 1.1 alone.
H100_DEVICE: Final = Profile("h100-device", (Version.V1_1,))
#: The versions whose signatures name their purpose, with challenges, and with large messages in pieces.
CURRENT: Final = Profile(
    "current", (Version.V1_2, Version.V1_3, Version.V1_4), Capability.CHAL | Capability.CHUNK, message=_LONGEST
)
