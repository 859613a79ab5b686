"""SEV-SNP attestation reports of versions 2 to 5, read once into typed values.

A report has 1184 bytes: 672 that are signed, and the signature. Nothing is checked here but the layout, with every
reserved byte being zero: see `carnet_ref.attestation.amd.appraisal` for what a report proves. TCB versions stay as
bytes, because how to read them depends on the processor.

Version 3 added the processor's CPUID, version 5 the vectors of mitigations. AMD did not publish version 4. It is read
like version 3, except that the bytes which became the vectors may have any value: whether it uses them is not known.

Source: AMD SEV-SNP Firmware ABI Specification 56860, revision 1.58, tables 3 and 4 (TCB_VERSION),
9 (policy), 23 (report) and 141 (signature); for Venice: virtee, crate sev at 9cf2adbf, ``lib.rs`` (CPUID), and its
pull request 396 (TCB_VERSION, ETCB_VERSION).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Final

from carnet_ref.wire import MalformedError, Reader

TCB_BYTES: Final = 8


class Product(StrEnum):
    """A line of EPYC processors, as AMD's certificates name it."""

    MILAN = "Milan"
    GENOA = "Genoa"
    TURIN = "Turin"


_Layout = tuple[str | None, ...]
_ZEN_3_AND_4: Final[_Layout] = ("bootloader", "tee", None, None, None, None, "snp", "microcode")
_ZEN_5: Final[_Layout] = ("fmc", "bootloader", "tee", "snp", None, None, None, "microcode")
#: Which byte of a TCB_VERSION is the version of what, from the first; reserved bytes are ``None``.
LAYOUTS: Final[Mapping[Product, _Layout]] = {
    Product.MILAN: _ZEN_3_AND_4,
    Product.GENOA: _ZEN_3_AND_4,
    Product.TURIN: _ZEN_5,
}

#: CPUID family, models and line; AMD certifies models A0h to AFh of family 19h, Bergamo and Siena, as Genoa.
_MODELS: Final = (
    (0x19, range(0x00, 0x10), Product.MILAN),
    (0x19, range(0x10, 0x20), Product.GENOA),
    (0x19, range(0xA0, 0xB0), Product.GENOA),
    (0x1A, range(0x00, 0x20), Product.TURIN),
)


#: A line whose reports are not read: AMD published its TCB_VERSION in 56860, section 2.3, after revision 1.58.
#:
#: It has neither boot loader nor microcode; an ETCB_VERSION of 32 bytes beside it has 14 versions, microcode's among
#: them.
VENICE: Final = "Venice"
_VENICE_MODELS: Final = (range(0x50, 0x58), range(0x90, 0xB0), range(0xC0, 0xC8))
NOT_READ: Final = f"{VENICE}, whose TCB_VERSION is not known here (AMD 56860 after revision 1.58, section 2.3)"


@dataclass(frozen=True, slots=True)
class TcbVersion:
    """The security versions of a processor's firmware parts, from 0 to 255, by part name."""

    product: Product
    parts: Mapping[str, int]

    def below(self, minimum: Mapping[str, int]) -> str | None:
        """Return the parts that are older than in ``minimum``, in words; None if there are none."""
        older = [part for part, least in minimum.items() if self.parts[part] < least]
        return None if not older else ", ".join(f"{part} {self.parts[part]} < {minimum[part]}" for part in older)

    def encode(self) -> bytes:
        """Return the eight bytes in the product's layout; reserved bytes are zero."""
        return bytes(0 if part is None else self.parts[part] for part in LAYOUTS[self.product])

    def __str__(self) -> str:
        return ", ".join(f"{part} {version}" for part, version in self.parts.items())


def tcb_parts(product: Product) -> tuple[str, ...]:
    """Return the names of the versioned parts in this processor line."""
    return tuple(part for part in LAYOUTS[product] if part is not None)


def parse_tcb(data: bytes, product: Product) -> TcbVersion:
    """Read the TCB_VERSION of a processor of this line.

    Raises MalformedError if it is not eight bytes, or a reserved one is not zero.
    """
    if len(data) != TCB_BYTES:
        raise MalformedError("TCB_VERSION", f"{TCB_BYTES} bytes", f"{len(data)}")
    versions = tuple(zip(LAYOUTS[product], data, strict=True))
    if any(version for part, version in versions if part is None):
        raise MalformedError("TCB_VERSION", f"zero in the bytes that {product} reserves", data.hex())
    return TcbVersion(product, {part: version for part, version in versions if part is not None})


def product_of(family: int, model: int) -> Product | None:
    """Return the line of a processor with these CPUID numbers, if it is a known one."""
    return next((line for known, models, line in _MODELS if family == known and model in models), None)


def line_of(family: int, model: int) -> str | None:
    """Return the name of the processor line with these CPUID numbers, also of lines that cannot be read; or None."""
    venice = family == 0x1A and any(model in models for models in _VENICE_MODELS)
    return VENICE if venice else product_of(family, model)


WHAT: Final = "SNP report"
REPORT_BYTES: Final = 1184
SIGNED_BYTES: Final = 0x2A0
VERSIONS: Final = range(2, 6)
CPUID_SINCE: Final = 3
UNPUBLISHED_VERSION: Final = 4
VECTORS_SINCE: Final = 5
ECDSA_P384_SHA384: Final = 1
NUMBER_BYTES: Final = 48  #: Of r and of s, little-endian; the field of each has room for 72 bytes.
SIGNATURE_FIELD: Final = 72
TAIL_BYTES: Final = REPORT_BYTES - SIGNED_BYTES - 2 * SIGNATURE_FIELD

SMT, RESERVED_ONE, MIGRATE_MA, DEBUG, CXL_ALLOW = "SMT", "RESERVED_ONE", "MIGRATE_MA", "DEBUG", "CXL_ALLOW"
POLICY_BITS: Final = {
    16: SMT,
    17: RESERVED_ONE,
    18: MIGRATE_MA,
    19: DEBUG,
    20: "SINGLE_SOCKET",
    21: CXL_ALLOW,
    22: "MEM_AES_256_XTS",
    23: "RAPL_DIS",
    24: "CIPHERTEXT_HIDING_DRAM",
    25: "PAGE_SWAP_DISABLE",
}
PLATFORM_BITS: Final = {
    0: "SMT_EN",
    1: "TSME_EN",
    2: "ECC_EN",
    3: "RAPL_DIS",
    4: "CIPHERTEXT_HIDING_DRAM_EN",
    5: "ALIAS_CHECK_COMPLETE",
    7: "TIO_EN",
}


class SigningKey(IntEnum):
    """The endorsement key that signed a report: the chip's, a cloud's, or none."""

    VCEK = 0
    VLEK = 1
    NONE = 7


@dataclass(frozen=True, slots=True)
class GuestPolicy:
    """The guest owner's policy for the host: 64 bits, little-endian."""

    bits: int

    @property
    def minimum_abi(self) -> tuple[int, int]:
        """The oldest firmware ABI that may run the guest, as major and minor number."""
        return self.bits >> 8 & 0xFF, self.bits & 0xFF

    @property
    def words(self) -> frozenset[str]:
        """The names of the bits that are set, without that of the bit which is always one."""
        return frozenset(name for bit, name in POLICY_BITS.items() if self.bits >> bit & 1) - {RESERVED_ONE}

    @property
    def unknown_bits(self) -> tuple[int, ...]:
        """The reserved bits that do not have their required value."""
        reserved = [bit for bit in range(16, 64) if self.bits >> bit & 1 and bit not in POLICY_BITS]
        return tuple(reserved) if self.bits >> 17 & 1 else (17, *reserved)


@dataclass(frozen=True, slots=True)
class PlatformInfo:
    """The configuration of the host's platform: 64 bits, little-endian."""

    bits: int

    @property
    def words(self) -> frozenset[str]:
        """The names of the bits that are set."""
        return frozenset(name for bit, name in PLATFORM_BITS.items() if self.bits >> bit & 1)

    @property
    def unknown_bits(self) -> tuple[int, ...]:
        """The bits that are set and have no name here; genuine Turin processors set bit 6."""
        return tuple(bit for bit in range(64) if self.bits >> bit & 1 and bit not in PLATFORM_BITS)


@dataclass(frozen=True, slots=True)
class Cpuid:
    """The family, model and stepping of a processor, with the extended numbers added in."""

    family: int
    model: int
    stepping: int


@dataclass(frozen=True, slots=True)
class FirmwareVersion:
    """The version of the SNP firmware: that of its ABI, and the build."""

    major: int
    minor: int
    build: int

    @property
    def order(self) -> tuple[int, int, int]:
        """The key by which versions are ordered."""
        return self.major, self.minor, self.build

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}.{self.build}"


@dataclass(frozen=True, slots=True)
class SnpReport:
    """A report about a guest and its platform; TCB versions are 8 bytes, digests 48, the chip id 64.

    ``cpuid`` and the vectors of mitigations are ``None`` in versions that do not have them.
    """

    version: int
    guest_svn: int
    policy: GuestPolicy
    family_id: bytes
    image_id: bytes
    vmpl: int
    current_tcb: bytes
    platform: PlatformInfo
    author_key_enabled: bool
    chip_key_masked: bool
    signing_key: SigningKey
    report_data: bytes
    measurement: bytes
    host_data: bytes
    id_key_digest: bytes
    author_key_digest: bytes
    report_id: bytes
    migration_agent_report_id: bytes
    reported_tcb: bytes
    cpuid: Cpuid | None
    chip_id: bytes
    committed_tcb: bytes
    current_version: FirmwareVersion
    committed_version: FirmwareVersion
    launch_tcb: bytes
    launch_mitigations: int | None
    current_mitigations: int | None


@dataclass(frozen=True, slots=True)
class SignedReport:
    """A report, the 672 bytes that are signed, and the signature: r and s, 48 bytes each, little-endian."""

    signed: bytes
    report: SnpReport
    r: bytes
    s: bytes


def parse_report(data: bytes) -> SignedReport:
    """Read a report. Raises MalformedError if it has another length or version, or a reserved byte that is not zero."""
    reader = Reader(data, WHAT)
    version = reader.number(4, "version")
    if version not in VERSIONS:
        raise MalformedError(WHAT, f"version {VERSIONS[0]} to {VERSIONS[-1]}", f"{version}", 0)
    if len(data) != REPORT_BYTES:
        raise MalformedError(WHAT, f"{REPORT_BYTES} bytes", f"{len(data)}")
    report = _report(reader, version)
    _reserved(reader, SIGNED_BYTES - reader.position)
    r, s = _signature_number(reader, "r"), _signature_number(reader, "s")
    _reserved(reader, TAIL_BYTES)
    reader.end()
    return SignedReport(data[:SIGNED_BYTES], report, r, s)


def _report(reader: Reader, version: int) -> SnpReport:
    guest_svn = reader.number(4, "GUEST_SVN")
    policy = GuestPolicy(reader.number(8, "POLICY"))
    family_id, image_id = reader.take(16, "FAMILY_ID"), reader.take(16, "IMAGE_ID")
    vmpl = reader.number(4, "VMPL")
    algorithm = reader.number(4, "SIGNATURE_ALGO")
    if algorithm != ECDSA_P384_SHA384:
        raise MalformedError(WHAT, f"signature algorithm {ECDSA_P384_SHA384} (ECDSA P-384)", f"{algorithm}", 0x34)
    current_tcb = reader.take(8, "CURRENT_TCB")
    platform = PlatformInfo(reader.number(8, "PLATFORM_INFO"))
    flags = reader.number(4, "key flags")
    signing_key = _signing_key(flags)
    _reserved(reader, 4)
    return SnpReport(
        version=version,
        guest_svn=guest_svn,
        policy=policy,
        family_id=family_id,
        image_id=image_id,
        vmpl=vmpl,
        current_tcb=current_tcb,
        platform=platform,
        author_key_enabled=bool(flags & 1),
        chip_key_masked=bool(flags >> 1 & 1),
        signing_key=signing_key,
        report_data=reader.take(64, "REPORT_DATA"),
        measurement=reader.take(48, "MEASUREMENT"),
        host_data=reader.take(32, "HOST_DATA"),
        id_key_digest=reader.take(48, "ID_KEY_DIGEST"),
        author_key_digest=reader.take(48, "AUTHOR_KEY_DIGEST"),
        report_id=reader.take(32, "REPORT_ID"),
        migration_agent_report_id=reader.take(32, "REPORT_ID_MA"),
        reported_tcb=reader.take(8, "REPORTED_TCB"),
        cpuid=_cpuid(reader, version),
        chip_id=reader.take(64, "CHIP_ID"),
        committed_tcb=reader.take(8, "COMMITTED_TCB"),
        current_version=_firmware_version(reader),
        committed_version=_firmware_version(reader),
        launch_tcb=reader.take(8, "LAUNCH_TCB"),
        launch_mitigations=_vector(reader, version),
        current_mitigations=_vector(reader, version),
    )


def _signing_key(flags: int) -> SigningKey:
    if flags >> 5:
        raise MalformedError(WHAT, "zero in the reserved key flags", f"{flags:#x}", 0x48)
    try:
        return SigningKey(flags >> 2 & 7)
    except ValueError:
        raise MalformedError(WHAT, "signing key 0 (VCEK), 1 (VLEK) or 7 (none)", f"{flags >> 2 & 7}", 0x48) from None


def _cpuid(reader: Reader, version: int) -> Cpuid | None:
    if version < CPUID_SINCE:
        _reserved(reader, 24)
        return None
    family, model, stepping = reader.take(3, "CPUID")
    _reserved(reader, 21)
    return Cpuid(family, model, stepping)


def _firmware_version(reader: Reader) -> FirmwareVersion:
    build, minor, major = reader.take(3, "firmware version")
    _reserved(reader, 1)
    return FirmwareVersion(major, minor, build)


def _vector(reader: Reader, version: int) -> int | None:
    if version < UNPUBLISHED_VERSION:
        _reserved(reader, 8)
        return None
    vector = reader.number(8, "mitigation vector")
    return vector if version >= VECTORS_SINCE else None


def _signature_number(reader: Reader, name: str) -> bytes:
    number = reader.take(NUMBER_BYTES, name)
    _reserved(reader, SIGNATURE_FIELD - NUMBER_BYTES)
    return number


def _reserved(reader: Reader, size: int) -> None:
    """Insist on zeros: a byte that means something to somebody else must not go unread here."""
    offset = reader.position
    found = reader.take(size, "reserved bytes")
    place = next((place for place, byte in enumerate(found) if byte), None)
    if place is not None:
        raise MalformedError(WHAT, "zero in a reserved byte", f"{found[place]:#04x}", offset + place)
