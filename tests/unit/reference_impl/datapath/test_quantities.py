"""Quantities carry their units, and every number of the data path says what it counts."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import carnet_ref.datapath
from carnet_ref.datapath.figures import FIGURES, with_unit
from carnet_ref.datapath.quantities import Duration, QuantityError, Rate, Size, chunks_of
from carnet_ref.datapath.sweeping import SPACE
from carnet_ref.datapath.tables import ddp, fastrack, pipellm


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


MODULES = sorted(Path(carnet_ref.datapath.__file__).parent.rglob("*.py"))
UNITS = ("seconds", "bytes_per_second", "octets", "bytes", "mebibytes", "megabits")
PURE = {
    "average", "largest", "ratio", "optimised_ratio", "relative_error", "worst_error", "tolerance", "share", "shares",
    "slowdown", "reduction", "lost", "drop", "factor", "above_one", "ordered", "place",
}  # fmt: skip
#: Classes with a field for the unit, or whose values are pure, or named with their unit.
OWN_UNIT = {"Figure", "Cell", "Parameter", "Quartiles", "BoxShare", "Configuration"}
#: Functions of numbers in whatever unit their caller means.
ANY_UNIT = {"solve", "quantity", "within_factor", "_check_number", "share", "_between", "_figure"}
#: Functions of a point of a box, whose names say the unit.
BY_NAME = {"machine", "reproduce", "node", "server", "points", "_costs"}


def numbers(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the name and annotation of every field, parameter and result that is a bare float."""
    for found in ast.walk(tree):
        if isinstance(found, ast.ClassDef) and found.name not in OWN_UNIT:
            fields = [each for each in found.body if isinstance(each, ast.AnnAssign)]
            yield from ((ast.unparse(each.target), ast.unparse(each.annotation)) for each in fields)
        elif isinstance(found, ast.FunctionDef) and found.name not in ANY_UNIT | BY_NAME:
            arguments = [*found.args.args, *found.args.kwonlyargs]
            yield from ((each.arg, ast.unparse(each.annotation)) for each in arguments if each.annotation)
            if found.returns:
                yield found.name, ast.unparse(found.returns)


def unclear(source: str) -> list[str]:
    """Return the names of bare floats that do not say what they count."""
    bare = [name for name, annotation in numbers(ast.parse(source)) if "float" in annotation]
    return [name for name in bare if name not in PURE and not any(unit in name for unit in (*UNITS, "ratio", "share"))]


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.stem)
def test_a_number_says_its_unit(module: Path) -> None:
    assert unclear(module.read_text("utf-8")) == []


def test_a_number_that_does_not_is_found() -> None:
    assert unclear("def wait(time: float) -> None: ...") == ["time"]
    assert unclear("class Link:\n    speed: float") == ["speed"]
    assert unclear("def pause() -> float: ...") == ["pause"]
    assert unclear("def pause(seconds: float) -> Seconds: ...") == []


@pytest.mark.parametrize("box", [SPACE, fastrack.BOX, ddp.BOX, pipellm.BOX])
def test_what_a_box_varies_is_a_pure_number_or_is_named_with_its_unit(box: dict[str, tuple[float, float]]) -> None:
    pure = {"chunks", "buffers", "width", "window", "workers"}
    assert all(name in pure or with_unit(name).split(", ")[-1] in {"s", "B", "B/s"} for name in box)
    assert {figure.unit for figure in FIGURES.values()} <= {"s", "B/s"}
