"""TDX quotes of versions 4 and 5, read once into typed values.

A quote is a header, the report of a trust domain (TD), and signature data that carries its own certificates. Nothing
is checked here but the layout: see `carnet_ref.attestation.intel.appraisal` for what a quote proves.

Source: Intel TDX DCAP Quoting Library API, appendix A.3 (version 4) and A.4 (version 5); for the body of 885 bytes
Intel confidential-computing.tee.dcap, commit f0ed77ed, ``sgx_quote_5.h``, and confidential-computing.tee.dcap.qvl,
commit d12717e3, ``QuoteStructures.h``.
"""

from typing import Final, NamedTuple

from carnet_ref.attestation.kinds import INTEL_QE_VENDOR, is_sgx_quote
from carnet_ref.wire import MalformedError, Reader

#: How many zero bytes may follow a quote: guests hand out whole buffers (3065 zeros have been seen).
PADDING_LIMIT: Final = 4096
LARGEST_QUOTE: Final = 64 * 1024

ECDSA_P256: Final = 2
TEE_TDX: Final = 0x81
#: What Intel has published beside type 2. No number stands for ML-DSA there: those in use are inventions of others.
#:
#: Source: Intel confidential-computing.tee.dcap, commit f0ed77ed, ``sgx_quote_3.h``, ``SGX_QL_ALG_ECDSA_P256`` and
#: those beside it; confidential-computing.tee.dcap.qvl, commit d12717e3, ``QuoteConstants.h``, which allows type 2
#: alone.
OTHER_KEY_TYPES: Final = {0: "EPID", 1: "reserved", 3: "ECDSA P-384, which no quoting enclave of Intel makes"}
BODY_SGX, BODY_TDX_10, BODY_TDX_15, BODY_TDX_15_EX = 1, 2, 3, 4
BODY_BYTES: Final = {BODY_TDX_10: 584, BODY_TDX_15: 648, BODY_TDX_15_EX: 885}
BODY_NAMES: Final = {BODY_TDX_10: "TD report 1.0", BODY_TDX_15: "TD report 1.5", BODY_TDX_15_EX: "TD report 1.5 Ex"}
QE_REPORT_CERTIFICATION: Final = 6
PCK_CHAIN_CERTIFICATION: Final = 5
DEBUG_BIT: Final = 0
SEPT_VE_DISABLE_BIT: Final = 28
EXPOSING_BITS: Final = {4: "HGS_PLUS_PROF", 5: "PERF_PROF", 6: "PMT_PROF", 29: "MIGRATABLE"}
HARMLESS_BITS: Final = {
    16: "ICSSD",
    27: "LASS",
    SEPT_VE_DISABLE_BIT: "SEPT_VE_DISABLE",
    30: "PKS",
    31: "KL",
    62: "TPA",
    63: "PERFMON",
}


class WrongKindError(MalformedError):
    """A quote is well formed, but not from a TD."""


class TdAttributes(NamedTuple):
    """The attributes of a TD from its creation: 64 bits, little-endian.

    Source: Intel TDX Module ABI specification, TD_ATTRIBUTES; Linux 6.16, arch/x86/include/asm/shared/tdx.h (bits).
    """

    bits: int

    @property
    def debug(self) -> bool:
        """Whether the host may read the TD: such a TD keeps nothing secret (bit 0)."""
        return bool(self.bits >> DEBUG_BIT & 1)

    @property
    def sept_ve_disable(self) -> bool:
        """Whether touching an unmapped page ends the TD instead of raising #VE in it (bit 28)."""
        return bool(self.bits >> SEPT_VE_DISABLE_BIT & 1)

    @property
    def exposing(self) -> tuple[str, ...]:
        """The attributes that permit profiling or migration of the TD (bits 4 to 6, and 29)."""
        return tuple(name for bit, name in EXPOSING_BITS.items() if self.bits >> bit & 1)

    @property
    def names(self) -> frozenset[str]:
        """The names of the bits that are set, DEBUG aside."""
        known = EXPOSING_BITS | HARMLESS_BITS
        return frozenset(name for bit, name in known.items() if self.bits >> bit & 1)

    @property
    def unknown_bits(self) -> tuple[int, ...]:
        """The bits that are set and have no meaning here."""
        known = {DEBUG_BIT, *EXPOSING_BITS, *HARMLESS_BITS}
        return tuple(bit for bit in range(64) if self.bits >> bit & 1 and bit not in known)


class TdReportExtension(NamedTuple):
    """The further fields of a TD report 1.5 Ex; hashes are 48 bytes, SVN vectors 16, attributes 8.

    Source: Intel confidential-computing.tee.dcap, commit f0ed77ed, ``sgx_report2_body_v1_5_ex_t``.
    """

    vmid: int  #: which virtual machine inside of the TD asked; 0 for a TD without them, or for what runs them.
    td_id: bytes  #: the TD's own number, 32 bytes, kept when the TD is moved.
    device_info: bytes  #: the hash of what devices the TD has.
    initial_servicetd: bytes  #: the hash of the service TDs, or of the migration policy, when the TD was made.
    initial_servicetd_attributes: bytes  #: the attributes of those.
    initial_cpusvn: bytes  #: the versions of the processor when the TD was made.
    initial_tee_tcb_svn: bytes  #: those of TDX.
    initial_fmspc: bytes  #: the kind of platform on which the TD was made, 12 bytes.
    current_servicetd: bytes  #: the hash of the service TDs, or of the migration policy, now.
    current_servicetd_attributes: bytes  #: the attributes of those.


class TdReport(NamedTuple):
    """The measurements and identity of a TD; register values are 48 bytes, SVN vectors 16.

    ``body`` is which of ``BODY_NAMES`` it is.

    Source: Intel TDX DCAP Quoting Library API, appendix A.3.2 (TD quote body).
    """

    body: int

    tee_tcb_svn: bytes
    mrseam: bytes
    mrsignerseam: bytes
    seam_attributes: bytes
    attributes: TdAttributes
    xfam: bytes
    mrtd: bytes
    mrconfigid: bytes
    mrowner: bytes
    mrownerconfig: bytes
    rtmrs: tuple[bytes, bytes, bytes, bytes]
    report_data: bytes
    tee_tcb_svn_2: bytes | None
    mrservicetd: bytes | None
    extension: TdReportExtension | None

    @property
    def service_tds(self) -> dict[str, bytes]:
        """The hashes of the service TDs, now and at creation, by their role; zero if there are none."""
        found = {} if self.mrservicetd is None else {"service TD": self.mrservicetd}
        if self.extension is not None:
            found |= {"service TD at its creation": self.extension.initial_servicetd}
            found |= {"current service TD": self.extension.current_servicetd}
        return {what: value for what, value in found.items() if any(value)}


class EnclaveReport(NamedTuple):
    """The report of the quoting enclave (QE): 384 bytes that the platform's certification key signs.

    Source: Intel SGX ECDSA Quote Library API, appendix A.4 (enclave report body).
    """

    signed: bytes
    cpusvn: bytes
    miscselect: int
    attributes: bytes
    mrenclave: bytes
    mrsigner: bytes
    isvprodid: int
    isvsvn: int
    report_data: bytes


class QuoteSignature(NamedTuple):
    """The signature of a quote: attestation key, QE report that certifies it, and PCK certificates.

    Signatures are r and s, the key x and y, each 32 bytes big-endian; ``pck_chain`` is PEM.
    """

    signature: bytes
    attestation_key: bytes
    qe_report: EnclaveReport
    qe_report_signature: bytes
    qe_authentication_data: bytes
    pck_chain: bytes


class TdxQuote(NamedTuple):
    """A TDX quote: ``signed`` are the bytes that the attestation key signs, ``padding`` counts the zeros at the end."""

    version: int
    signed: bytes
    report: TdReport
    signature: QuoteSignature
    padding: int


def parse_quote(data: bytes) -> TdxQuote:
    """Read a quote.

    Raises WrongKindError if it is an SGX quote; MalformedError if it is no quote, or bytes follow that are not at most
    ``PADDING_LIMIT`` zeros.
    """
    if len(data) > LARGEST_QUOTE:
        raise MalformedError("TDX quote", f"at most {LARGEST_QUOTE} bytes", f"{len(data)}")
    if is_sgx_quote(data):
        version = int.from_bytes(data[:2], "little")
        raise WrongKindError("TDX quote", "the report of a TD", f"a quote of an SGX enclave, version {version}")
    reader = Reader(data, "TDX quote")
    version = _header(reader)
    kind = _body_kind(reader, version)
    body = reader.take(BODY_BYTES[kind], "TD report")
    signed = data[: reader.position]
    signature = _signature_data(reader.take(reader.number(4, "signature data length"), "signature data"))
    return TdxQuote(version, signed, _td_report(body, kind), signature, _padding(reader))


def _header(reader: Reader) -> int:
    """Read the 48 bytes of the header and return the version."""
    version = reader.number(2, "version")
    if version not in {4, 5}:
        raise reader.malformed("version 4 or 5", f"{version}")
    key_type = reader.number(2, "attestation key type")
    if key_type != ECDSA_P256:
        other = OTHER_KEY_TYPES.get(key_type, "which Intel has not published: its sources define no type for ML-DSA")
        raise reader.malformed(f"attestation key type {ECDSA_P256} (ECDSA P-256)", f"{key_type}, {other}")
    tee = reader.number(4, "TEE type")
    if tee != TEE_TDX:
        raise reader.malformed(f"TEE type {TEE_TDX:#x}", f"{tee:#x}")
    reader.take(4, "reserved")
    reader.constant(INTEL_QE_VENDOR, "QE vendor id")
    reader.take(20, "user data")
    return version


def _body_kind(reader: Reader, version: int) -> int:
    """Return the type of the body, which version 5 states together with its size."""
    if version == 4:
        return BODY_TDX_10
    kind = reader.number(2, "body type")
    if kind == BODY_SGX:
        raise WrongKindError("TDX quote", "the report of a TD", "a quote of an SGX enclave, version 5")
    if kind not in BODY_BYTES:
        raise reader.malformed(f"body type {BODY_TDX_10}, {BODY_TDX_15} or {BODY_TDX_15_EX}", f"{kind}")
    size = reader.number(4, "body size")
    if size != BODY_BYTES[kind]:
        raise reader.malformed(f"{BODY_BYTES[kind]} bytes of body", f"{size}")
    return kind


def _td_report(body: bytes, kind: int) -> TdReport:
    reader = Reader(body, "TD report")
    return TdReport(
        body=kind,
        tee_tcb_svn=reader.take(16, "TEE_TCB_SVN"),
        mrseam=reader.take(48, "MRSEAM"),
        mrsignerseam=reader.take(48, "MRSIGNERSEAM"),
        seam_attributes=reader.take(8, "SEAMATTRIBUTES"),
        attributes=TdAttributes(reader.number(8, "TDATTRIBUTES")),
        xfam=reader.take(8, "XFAM"),
        mrtd=reader.take(48, "MRTD"),
        mrconfigid=reader.take(48, "MRCONFIGID"),
        mrowner=reader.take(48, "MROWNER"),
        mrownerconfig=reader.take(48, "MROWNERCONFIG"),
        rtmrs=(
            reader.take(48, "RTMR0"),
            reader.take(48, "RTMR1"),
            reader.take(48, "RTMR2"),
            reader.take(48, "RTMR3"),
        ),
        report_data=reader.take(64, "REPORTDATA"),
        tee_tcb_svn_2=reader.take(16, "TEE_TCB_SVN_2") if reader.remaining else None,
        mrservicetd=reader.take(48, "MRSERVICETD") if reader.remaining else None,
        extension=_extension(reader) if reader.remaining else None,
    )


def _extension(reader: Reader) -> TdReportExtension:
    return TdReportExtension(
        vmid=reader.number(1, "VMID"),
        td_id=reader.take(32, "TD_ID"),
        device_info=reader.take(48, "DEVINFO"),
        initial_servicetd=reader.take(48, "INIT_SERVTD_HASH"),
        initial_servicetd_attributes=reader.take(8, "INIT_SERVTD_ATTR"),
        initial_cpusvn=reader.take(16, "INIT_CPUSVN"),
        initial_tee_tcb_svn=reader.take(16, "INIT_TEE_TCB_SVN"),
        initial_fmspc=reader.take(12, "INIT_TEE_FMSPC"),
        current_servicetd=reader.take(48, "CUR_SERVTD_HASH"),
        current_servicetd_attributes=reader.take(8, "CUR_SERVTD_ATTR"),
    )


def _signature_data(data: bytes) -> QuoteSignature:
    reader = Reader(data, "signature data")
    signature = reader.take(64, "quote signature")
    attestation_key = reader.take(64, "attestation key")
    certification = _certification_data(reader, QE_REPORT_CERTIFICATION, "QE report certification data")
    reader.end()
    inner = Reader(certification, "QE report certification data")
    qe_report = _enclave_report(inner.take(384, "QE report"))
    qe_report_signature = inner.take(64, "QE report signature")
    authentication = inner.take(inner.number(2, "QE authentication data length"), "QE authentication data")
    chain = _certification_data(inner, PCK_CHAIN_CERTIFICATION, "PCK certificate chain")
    inner.end()
    return QuoteSignature(signature, attestation_key, qe_report, qe_report_signature, authentication, chain)


def _certification_data(reader: Reader, expected: int, field: str) -> bytes:
    kind = reader.number(2, "certification data type")
    if kind != expected:
        raise reader.malformed(f"certification data type {expected} ({field})", f"{kind}")
    return reader.take(reader.number(4, f"{field} size"), field)


def _enclave_report(data: bytes) -> EnclaveReport:
    reader = Reader(data, "QE report")
    cpusvn = reader.take(16, "CPUSVN")
    miscselect = reader.number(4, "MISCSELECT")
    reader.take(28, "reserved")
    attributes = reader.take(16, "ATTRIBUTES")
    mrenclave = reader.take(32, "MRENCLAVE")
    reader.take(32, "reserved")
    mrsigner = reader.take(32, "MRSIGNER")
    reader.take(96, "reserved")
    isvprodid = reader.number(2, "ISVPRODID")
    isvsvn = reader.number(2, "ISVSVN")
    reader.take(60, "reserved")
    report_data = reader.take(64, "REPORTDATA")
    return EnclaveReport(data, cpusvn, miscselect, attributes, mrenclave, mrsigner, isvprodid, isvsvn, report_data)


def _padding(reader: Reader) -> int:
    """Count the zeros at the end; anything else there was put in by somebody the signature does not speak for."""
    offset = reader.position
    rest = reader.rest()
    foreign = sum(byte != 0 for byte in rest)
    if foreign:
        raise MalformedError("TDX quote", "zero padding after the signature data", f"{foreign} non-zero bytes", offset)
    if len(rest) > PADDING_LIMIT:
        raise MalformedError("TDX quote", f"at most {PADDING_LIMIT} bytes of padding", f"{len(rest)}", offset)
    return len(rest)
