"""Reports, their TCB versions and the files they come in: whole or not at all, each line and kind by its own layout."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.attestation.amd import report as amd_report
from carnet_ref.attestation.amd.report import LAYOUTS, Product, TcbVersion, parse_tcb, product_of, tcb_parts
from carnet_ref.wire import MalformedError
from tests.fixtures.simulated_snp import encode_report, signed

RESERVED = {
    2: [*range(0x4C, 0x50), *range(0x188, 0x1A0), 0x1EB, 0x1EF, *range(0x1F8, 0x2A0)],
    3: [*range(0x4C, 0x50), *range(0x18B, 0x1A0), 0x1EB, 0x1EF, *range(0x1F8, 0x2A0)],
    4: [*range(0x4C, 0x50), *range(0x18B, 0x1A0), 0x1EB, 0x1EF, *range(0x208, 0x2A0)],
    5: [*range(0x4C, 0x50), *range(0x18B, 0x1A0), 0x1EB, 0x1EF, *range(0x208, 0x2A0)],
}
TAIL = [*range(0x2A0 + 48, 0x2E8), *range(0x2E8 + 48, amd_report.REPORT_BYTES)]


def octets(size: int) -> st.SearchStrategy[bytes]:
    return st.binary(min_size=size, max_size=size)


def number(size: int) -> st.SearchStrategy[int]:
    return st.integers(0, (1 << 8 * size) - 1)


FIRMWARE = st.builds(amd_report.FirmwareVersion, number(1), number(1), number(1))


@st.composite
def reports(draw: st.DrawFn) -> amd_report.SnpReport:
    version = draw(st.sampled_from(amd_report.VERSIONS))
    vectors = number(8) if version >= 5 else st.none()
    return draw(
        st.builds(
            amd_report.SnpReport,
            version=st.just(version),
            guest_svn=number(4),
            policy=st.builds(amd_report.GuestPolicy, number(8)),
            family_id=octets(16),
            image_id=octets(16),
            vmpl=number(4),
            current_tcb=octets(8),
            platform=st.builds(amd_report.PlatformInfo, number(8)),
            author_key_enabled=st.booleans(),
            chip_key_masked=st.booleans(),
            signing_key=st.sampled_from(amd_report.SigningKey),
            report_data=octets(64),
            measurement=octets(48),
            host_data=octets(32),
            id_key_digest=octets(48),
            author_key_digest=octets(48),
            report_id=octets(32),
            migration_agent_report_id=octets(32),
            reported_tcb=octets(8),
            cpuid=st.builds(amd_report.Cpuid, number(1), number(1), number(1)) if version >= 3 else st.none(),
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
def test_a_report_that_is_built_is_parsed(report: amd_report.SnpReport, r: bytes, s: bytes) -> None:
    encoded = encode_report(report)
    parsed = amd_report.parse_report(encoded + r + bytes(24) + s + bytes(24 + 368))
    assert (parsed.signed, parsed.report, parsed.r, parsed.s) == (encoded, report, r, s)


def test_a_field_is_where_the_specification_has_it() -> None:
    """Every byte of the signed part has another value, and reserved ones are zero."""
    data = bytearray(random.Random(0).randbytes(amd_report.SIGNED_BYTES))
    for place in RESERVED[5]:
        data[place] = 0
    data[:4] = (5).to_bytes(4, "little")
    data[0x34:0x38] = (1).to_bytes(4, "little")
    data[0x48:0x4C] = bytes([0b00111, 0, 0, 0])
    report = amd_report.parse_report(bytes(data) + bytes(512)).report
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
    assert report.cpuid == amd_report.Cpuid(*data[0x188:0x18B])
    assert report.current_version == amd_report.FirmwareVersion(data[0x1EA], data[0x1E9], data[0x1E8])
    assert report.committed_version == amd_report.FirmwareVersion(data[0x1EE], data[0x1ED], data[0x1EC])
    flags = (report.author_key_enabled, report.chip_key_masked, report.signing_key)
    assert flags == (True, True, amd_report.SigningKey.VLEK)


def test_what_a_version_does_not_have_is_not_made_up() -> None:
    found = {version: amd_report.parse_report(signed(version=version)).report for version in amd_report.VERSIONS}
    assert [found[version].cpuid is None for version in amd_report.VERSIONS] == [True, False, False, False]
    assert [found[version].launch_mitigations is None for version in amd_report.VERSIONS] == [True, True, True, False]
    assert [found[version].current_mitigations is None for version in amd_report.VERSIONS] == [True, True, True, False]
    data = signed(version=4)
    report = amd_report.parse_report(data[:0x1F8] + b"\xff" * 16 + data[0x208:]).report
    assert (report.launch_mitigations, report.current_mitigations) == (None, None)


@pytest.mark.parametrize("version", amd_report.VERSIONS)
def test_no_reserved_byte_goes_unread(version: int) -> None:
    data = signed(version=version)
    for place in [*RESERVED[version], *TAIL]:
        with pytest.raises(MalformedError, match=f"byte {place}:"):
            amd_report.parse_report(data[:place] + b"\1" + data[place + 1 :])


@pytest.mark.parametrize(
    "size",
    [
        4,
        32,
        amd_report.SIGNED_BYTES,
        amd_report.REPORT_BYTES - 1,
        amd_report.REPORT_BYTES + 1,
        2 * amd_report.REPORT_BYTES,
    ],
)
def test_a_report_has_1184_bytes(size: int) -> None:
    with pytest.raises(MalformedError, match=f"expected 1184 bytes, found {size}"):
        amd_report.parse_report(signed().ljust(size, b"\0")[:size])


@pytest.mark.parametrize(
    ("place", "value", "why"),
    [
        *((0, each, f"expected version 2 to 5, found {each}$") for each in (0, 1, 6, 7, 256, 0xFFFFFFFF)),
        *((0x34, each, "signature algorithm") for each in (0, 2, 0x01000000)),
        *((0x48, each, "key") for each in (2 << 2, 6 << 2, 1 << 5, 1 << 31)),
    ],
)
def test_another_version_algorithm_or_kind_of_key_is_one_clear_error(place: int, value: int, why: str) -> None:
    with pytest.raises(MalformedError, match=why):
        amd_report.parse_report(signed()[:place] + value.to_bytes(4, "little") + signed()[place + 4 :])


def test_a_guest_policy_is_told_in_words() -> None:
    policy = amd_report.GuestPolicy(0x0B011F)
    assert policy.words == {"SMT", "DEBUG"}
    assert policy.minimum_abi == (1, 31)
    assert policy.unknown_bits == ()
    assert amd_report.GuestPolicy(0x1FF0000 | 1 << 25).words == {
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
    assert amd_report.GuestPolicy(bits).unknown_bits == unknown


def test_bits_of_the_platform_without_a_name_are_kept() -> None:
    """A genuine Turin says 65h."""
    platform = amd_report.PlatformInfo(0x65)
    assert platform.words == {"SMT_EN", "ECC_EN", "ALIAS_CHECK_COMPLETE"}
    assert platform.unknown_bits == (6,)


@pytest.mark.parametrize(
    ("family", "model", "line"),
    [
        (0x19, 0x01, "Milan"),
        (0x19, 0x11, "Genoa"),
        (0x19, 0xA0, "Genoa"),
        (0x1A, 0x02, "Turin"),
        (0x1A, 0x1F, "Turin"),
        (0x1A, 0x20, None),
        (0x1A, 0x4F, None),
        (0x1A, 0x50, "Venice"),
        (0x1A, 0x57, "Venice"),
        (0x1A, 0x58, None),
        (0x1A, 0x90, "Venice"),
        (0x1A, 0xAF, "Venice"),
        (0x1A, 0xB0, None),
        (0x1A, 0xC7, "Venice"),
        (0x1A, 0xC8, None),
        (0x19, 0x50, None),
    ],
)
def test_a_line_is_told_by_its_processors_numbers_and_of_venice_no_report_is_read(
    family: int, model: int, line: str | None
) -> None:
    assert amd_report.line_of(family, model) == line
    assert amd_report.product_of(family, model) == (None if line == "Venice" else line)


def test_a_tcb_is_laid_out_by_its_line_and_compared_part_by_part() -> None:
    """The TCB of a genuine Turin: FMC 1, boot loader 1, TEE 1, SNP 4, microcode 81."""
    raw = bytes.fromhex("0101010400000051")
    turin = parse_tcb(raw, Product.TURIN)
    assert turin.parts == {"fmc": 1, "bootloader": 1, "tee": 1, "snp": 4, "microcode": 81}
    with pytest.raises(MalformedError):
        parse_tcb(raw, Product.MILAN)
    for product in (Product.MILAN, Product.GENOA):
        tcb = parse_tcb(bytes.fromhex("03000000000008d2"), product)
        assert tcb.parts == {"bootloader": 3, "tee": 0, "snp": 8, "microcode": 0xD2}
        assert str(tcb) == "bootloader 3, tee 0, snp 8, microcode 210"
    tcb = parse_tcb(bytes.fromhex("04000000000018db"), Product.MILAN)
    assert tcb.below({"bootloader": 4, "snp": 24}) is None
    assert tcb.below({"bootloader": 3, "microcode": 0xDC}) == "microcode 219 < 220"
    assert tcb.below({}) is None


@pytest.mark.parametrize("product", Product)
@given(versions=st.binary(min_size=8, max_size=8))
def test_a_tcb_that_is_built_is_parsed(product: Product, versions: bytes) -> None:
    parts = dict(zip(tcb_parts(product), versions, strict=False))
    tcb = TcbVersion(product, parts)
    assert parse_tcb(tcb.encode(), product) == tcb


@pytest.mark.parametrize(
    ("product", "place"),
    [(product, place) for product in Product for place, part in enumerate(LAYOUTS[product]) if part is None],
)
def test_a_reserved_byte_is_zero(product: Product, place: int) -> None:
    with pytest.raises(MalformedError):
        parse_tcb(bytes(place) + b"\1" + bytes(7 - place), product)


@pytest.mark.parametrize("size", [0, 7, 9])
def test_a_tcb_has_eight_bytes(size: int) -> None:
    with pytest.raises(MalformedError):
        parse_tcb(bytes(size), Product.MILAN)


@pytest.mark.parametrize(
    ("family", "model", "product"),
    [
        (0x19, 0x01, Product.MILAN),
        (0x19, 0x0F, Product.MILAN),
        (0x19, 0x10, Product.GENOA),
        (0x19, 0x11, Product.GENOA),
        (0x19, 0xA0, Product.GENOA),
        (0x19, 0xAF, Product.GENOA),
        (0x1A, 0x02, Product.TURIN),
        (0x1A, 0x11, Product.TURIN),
        (0x19, 0x20, None),
        (0x19, 0xB0, None),
        (0x1A, 0x20, None),
        (0x17, 0x01, None),
        (0, 0, None),
    ],
)
def test_a_line_is_told_by_family_and_model(family: int, model: int, product: Product | None) -> None:
    assert product_of(family, model) is product
