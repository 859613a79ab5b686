"""TCB versions: each line has a layout of its own, and reserved bytes mean nothing that may be overlooked."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carnet_ref.attestation.amd.report import LAYOUTS, Product, TcbVersion, parse_tcb, product_of, tcb_parts
from carnet_ref.wire import MalformedError


def test_the_same_bytes_are_other_versions_on_another_line() -> None:
    """The TCB of a genuine Turin: FMC 1, boot loader 1, TEE 1, SNP 4, microcode 81."""
    raw = bytes.fromhex("0101010400000051")
    turin = parse_tcb(raw, Product.TURIN)
    assert turin.parts == {"fmc": 1, "bootloader": 1, "tee": 1, "snp": 4, "microcode": 81}
    with pytest.raises(MalformedError):
        parse_tcb(raw, Product.MILAN)


def test_a_tcb_of_milan_and_genoa_has_no_fmc() -> None:
    for product in (Product.MILAN, Product.GENOA):
        tcb = parse_tcb(bytes.fromhex("03000000000008d2"), product)
        assert tcb.parts == {"bootloader": 3, "tee": 0, "snp": 8, "microcode": 0xD2}
        assert str(tcb) == "bootloader 3, tee 0, snp 8, microcode 210"


@pytest.mark.parametrize("product", Product)
@given(versions=st.binary(min_size=8, max_size=8))
def test_what_is_built_is_parsed(product: Product, versions: bytes) -> None:
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


def test_a_tcb_is_compared_part_by_part() -> None:
    tcb = parse_tcb(bytes.fromhex("04000000000018db"), Product.MILAN)
    assert tcb.below({"bootloader": 4, "snp": 24}) is None
    assert tcb.below({"bootloader": 3, "microcode": 0xDC}) == "microcode 219 < 220"
    assert tcb.below({}) is None


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
