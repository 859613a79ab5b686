"""Reports: what is built is parsed, and no byte goes unread but those that the layout leaves open."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.attestation.amd.report import (
    REPORT_BYTES,
    SIGNED_BYTES,
    VERSIONS,
    Cpuid,
    FirmwareVersion,
    GuestPolicy,
    PlatformInfo,
    SigningKey,
    SnpReport,
    parse_report,
)
from carnet_ref.wire import MalformedError
from tests.fixtures.simulated_snp import encode_report, signed

UNSIGNED_NUMBERS = [*range(0x2A0, 0x2A0 + 48), *range(0x2E8, 0x2E8 + 48)]
RESERVED = {
    2: [*range(0x4C, 0x50), *range(0x188, 0x1A0), 0x1EB, 0x1EF, *range(0x1F8, 0x2A0)],
    3: [*range(0x4C, 0x50), *range(0x18B, 0x1A0), 0x1EB, 0x1EF, *range(0x1F8, 0x2A0)],
    4: [*range(0x4C, 0x50), *range(0x18B, 0x1A0), 0x1EB, 0x1EF, *range(0x208, 0x2A0)],
    5: [*range(0x4C, 0x50), *range(0x18B, 0x1A0), 0x1EB, 0x1EF, *range(0x208, 0x2A0)],
}
TAIL = [*range(0x2A0 + 48, 0x2E8), *range(0x2E8 + 48, REPORT_BYTES)]


def octets(size: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size)


def number(size: int) -> st.SearchStrategy[int]:
    return st.integers(0, (1 << 8 * size) - 1)


FIRMWARE = st.builds(FirmwareVersion, number(1), number(1), number(1))


@st.composite
def reports(draw: st.DrawFn) -> SnpReport:
    version = draw(st.sampled_from(VERSIONS))
    vectors = number(8) if version >= 5 else st.none()
    return draw(
        st.builds(
            SnpReport,
            version=st.just(version),
            guest_svn=number(4),
            policy=st.builds(GuestPolicy, number(8)),
            family_id=octets(16),
            image_id=octets(16),
            vmpl=number(4),
            current_tcb=octets(8),
            platform=st.builds(PlatformInfo, number(8)),
            author_key_enabled=st.booleans(),
            chip_key_masked=st.booleans(),
            signing_key=st.sampled_from(SigningKey),
            report_data=octets(64),
            measurement=octets(48),
            host_data=octets(32),
            id_key_digest=octets(48),
            author_key_digest=octets(48),
            report_id=octets(32),
            migration_agent_report_id=octets(32),
            reported_tcb=octets(8),
            cpuid=st.builds(Cpuid, number(1), number(1), number(1)) if version >= 3 else st.none(),
            chip_id=octets(64),
            committed_tcb=octets(8),
            current_version=FIRMWARE,
            committed_version=FIRMWARE,
            launch_tcb=octets(8),
            launch_mitigations=vectors,
            current_mitigations=vectors,
        )
    )


@given(report=reports(), r=octets(48), s=octets(48))
def test_what_is_built_is_parsed(report: SnpReport, r: bytes, s: bytes) -> None:
    encoded = encode_report(report)
    parsed = parse_report(encoded + r + bytes(24) + s + bytes(24 + 368))
    assert (parsed.signed, parsed.report, parsed.r, parsed.s) == (encoded, report, r, s)


def test_a_field_is_where_the_specification_has_it() -> None:
    """Every byte of the signed part has another value, and reserved ones are zero."""
    data = bytearray(random.Random(0).randbytes(SIGNED_BYTES))
    for place in RESERVED[5]:
        data[place] = 0
    data[:4] = (5).to_bytes(4, "little")
    data[0x34:0x38] = (1).to_bytes(4, "little")
    data[0x48:0x4C] = bytes([0b00111, 0, 0, 0])
    report = parse_report(bytes(data) + bytes(512)).report
    places = {
        "family_id": (0x10, 16),
        "image_id": (0x20, 16),
        "current_tcb": (0x38, 8),
        "report_data": (0x50, 64),
        "measurement": (0x90, 48),
        "host_data": (0xC0, 32),
        "id_key_digest": (0xE0, 48),
        "author_key_digest": (0x110, 48),
        "report_id": (0x140, 32),
        "migration_agent_report_id": (0x160, 32),
        "reported_tcb": (0x180, 8),
        "chip_id": (0x1A0, 64),
        "committed_tcb": (0x1E0, 8),
        "launch_tcb": (0x1F0, 8),
    }
    for field, (place, size) in places.items():
        assert getattr(report, field) == data[place : place + size], field
    numbers = {
        "guest_svn": (report.guest_svn, 4, 4),
        "policy": (report.policy.bits, 8, 8),
        "vmpl": (report.vmpl, 0x30, 4),
        "platform": (report.platform.bits, 0x40, 8),
        "launch_mitigations": (report.launch_mitigations, 0x1F8, 8),
        "current_mitigations": (report.current_mitigations, 0x200, 8),
    }
    for field, (value, place, size) in numbers.items():
        assert value == int.from_bytes(data[place : place + size], "little"), field
    assert report.cpuid == Cpuid(*data[0x188:0x18B])
    assert report.current_version == FirmwareVersion(data[0x1EA], data[0x1E9], data[0x1E8])
    assert report.committed_version == FirmwareVersion(data[0x1EE], data[0x1ED], data[0x1EC])
    flags = (report.author_key_enabled, report.chip_key_masked, report.signing_key)
    assert flags == (True, True, SigningKey.VLEK)


def test_what_a_version_does_not_have_is_not_made_up() -> None:
    found = {version: parse_report(signed(version=version)).report for version in VERSIONS}
    assert [found[version].cpuid is None for version in VERSIONS] == [True, False, False, False]
    assert [found[version].launch_mitigations is None for version in VERSIONS] == [True, True, True, False]
    assert [found[version].current_mitigations is None for version in VERSIONS] == [True, True, True, False]


@pytest.mark.parametrize("version", VERSIONS)
def test_no_reserved_byte_goes_unread(version: int) -> None:
    data = signed(version=version)
    for place in [*RESERVED[version], *TAIL]:
        with pytest.raises(MalformedError, match=f"byte {place}:"):
            parse_report(data[:place] + b"\1" + data[place + 1 :])


def test_the_vectors_of_the_unpublished_version_may_have_any_value_and_none_is_claimed() -> None:
    data = signed(version=4)
    report = parse_report(data[:0x1F8] + b"\xff" * 16 + data[0x208:]).report
    assert (report.launch_mitigations, report.current_mitigations) == (None, None)


@pytest.mark.parametrize("version", [0, 1, 6, 7, 256, 0xFFFFFFFF])
def test_another_version_is_one_clear_error(version: int) -> None:
    with pytest.raises(MalformedError, match=f"expected version 2 to 5, found {version}$"):
        parse_report(version.to_bytes(4, "little") + signed()[4:])


@pytest.mark.parametrize("size", [4, 32, SIGNED_BYTES, REPORT_BYTES - 1, REPORT_BYTES + 1, 2 * REPORT_BYTES])
def test_a_report_has_1184_bytes(size: int) -> None:
    with pytest.raises(MalformedError, match=f"expected 1184 bytes, found {size}"):
        parse_report(signed().ljust(size, b"\0")[:size])


@pytest.mark.parametrize("algorithm", [0, 2, 0x01000000])
def test_another_signature_algorithm_is_refused(algorithm: int) -> None:
    with pytest.raises(MalformedError, match="signature algorithm"):
        parse_report(signed()[:0x34] + algorithm.to_bytes(4, "little") + signed()[0x38:])


@pytest.mark.parametrize("flags", [2 << 2, 6 << 2, 1 << 5, 1 << 31])
def test_reserved_key_flags_are_refused(flags: int) -> None:
    with pytest.raises(MalformedError, match="key"):
        parse_report(signed()[:0x48] + flags.to_bytes(4, "little") + signed()[0x4C:])


def test_a_guest_policy_is_told_in_words() -> None:
    policy = GuestPolicy(0x0B011F)
    assert policy.words == {"SMT", "DEBUG"}
    assert policy.minimum_abi == (1, 31)
    assert policy.unknown == ()
    assert GuestPolicy(0x1FF0000 | 1 << 25).words == {
        "SMT",
        "MIGRATE_MA",
        "DEBUG",
        "SINGLE_SOCKET",
        "CXL_ALLOW",
        "MEM_AES_256_XTS",
        "RAPL_DIS",
        "CIPHERTEXT_HIDING_DRAM",
        "PAGE_SWAP_DISABLE",
    }


@pytest.mark.parametrize(("bits", "unknown"), [(0, (17,)), (1 << 17 | 1 << 26, (26,)), (1 << 63, (17, 63))])
def test_reserved_bits_of_a_guest_policy_are_unknown(bits: int, unknown: tuple[int, ...]) -> None:
    assert GuestPolicy(bits).unknown == unknown


def test_bits_of_the_platform_without_a_name_are_kept() -> None:
    """A genuine Turin says 65h."""
    platform = PlatformInfo(0x65)
    assert platform.words == {"SMT_EN", "ECC_EN", "ALIAS_CHECK_COMPLETE"}
    assert platform.unknown == (6,)
