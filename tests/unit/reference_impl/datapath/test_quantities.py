"""Quantities carry their units, and text that does not say which unit it means is refused."""

import pytest

from carnet_ref.datapath.quantities import Duration, QuantityError, Rate, Size, chunks_of


@pytest.mark.parametrize(
    ("text", "octets"),
    [
        ("0 B", 0),
        ("256 MiB", 256 * 2**20),
        ("256MB", 256 * 10**6),
        ("4 Mbit", 500_000),
        ("4 Mibit", 524_288),
        ("44 TiB", 44 * 2**40),
        ("1.5 KiB", 1536),
        ("1e3 kB", 10**6),
    ],
)
def test_a_size_is_read_in_its_unit(text: str, octets: int) -> None:
    assert Size.parse(text) == Size(octets)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("256", "with a unit"),
        ("", "with a unit"),
        ("-1 MiB", "zero or more"),
        ("nan MiB", "zero or more"),
        ("1e999999999 B", "zero or more"),
        ("9" * 5000 + " B", "zero or more"),
        ("１ MiB", "zero or more"),
        ("256 M", "does not say how many bytes"),
        ("256 Mb", "does not say how many bytes"),
        ("256 mb", "does not say how many bytes"),
        ("256 MIB", "does not say how many bytes"),
        ("256 MBit", "does not say how many bytes"),
        ("4 Mbit/s", "is a rate"),
        ("1 bit", "no whole number of bytes"),
        ("0.3 B", "no whole number of bytes"),
        ("9000000 PiB", "lies between"),
        ("1 s", "does not say how many bytes"),
    ],
)
def test_a_size_in_no_unit_or_an_ambiguous_one_is_refused(text: str, why: str) -> None:
    with pytest.raises(QuantityError, match=why):
        Size.parse(text)


def test_a_megabyte_a_mebibyte_and_a_megabit_are_three_different_rates() -> None:
    rates = {Rate.parse(f"4 {unit}/s").bytes_per_second for unit in ("MB", "MiB", "Mbit")}
    assert rates == {4e6, 4 * 2.0**20, 5e5}


@pytest.mark.parametrize("text", ["4 MB", "4", "0 MB/s", "4 M/s", "4 Mb/s", "4 MBps", "1e30 GB/s", "4 s"])
def test_a_rate_without_a_clear_unit_per_second_is_refused(text: str) -> None:
    with pytest.raises(QuantityError):
        Rate.parse(text)


@pytest.mark.parametrize("text", ["4", "4 S", "4 M", "-4 s", "1e12 s", "inf s"])
def test_a_duration_without_a_unit_of_time_is_refused(text: str) -> None:
    with pytest.raises(QuantityError):
        Duration.parse(text)


@pytest.mark.parametrize("seconds", [-1.0, float("nan"), float("inf"), 1e11, True, "1"])
def test_an_absurd_duration_is_refused(seconds: float) -> None:
    with pytest.raises(QuantityError):
        Duration(seconds)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf"), 1e16, True])
def test_an_absurd_rate_is_refused(rate: float) -> None:
    with pytest.raises(QuantityError):
        Rate(rate)


@pytest.mark.parametrize("octets", [-1, 2**63, 1.0, True])
def test_an_absurd_size_is_refused(octets: int) -> None:
    with pytest.raises(QuantityError):
        Size(octets)


def test_chunks_add_up_and_only_the_last_is_smaller() -> None:
    assert chunks_of(Size(10), Size(4)) == (Size(4), Size(4), Size(2))
    assert chunks_of(Size(8), Size(4)) == (Size(4), Size(4))
    assert chunks_of(Size(3), Size(4)) == (Size(3),)


@pytest.mark.parametrize(("total", "chunk"), [(0, 1), (1, 0), (0, 0)])
def test_no_chunk_and_empty_chunks_are_refused(total: int, chunk: int) -> None:
    with pytest.raises(QuantityError, match="at least one chunk"):
        chunks_of(Size(total), Size(chunk))


@pytest.mark.parametrize(
    ("quantity", "text"),
    [(Size(512), "512 B"), (Size(2**28), "256 MiB"), (Duration(0.25), "250 ms"), (Duration(1261568.0), "14.60 d")],
)
def test_a_quantity_prints_with_its_unit(quantity: object, text: str) -> None:
    assert str(quantity) == text
