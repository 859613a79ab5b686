"""Every number of the data path says what it counts: by its type, by its name, or by a unit that stands beside it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import carnet_ref.datapath
from carnet_ref.datapath.figures import FIGURES, with_unit
from carnet_ref.datapath.sweeping import SPACE
from carnet_ref.datapath.tables import ddp, fastrack, pipellm

MODULES = sorted(Path(carnet_ref.datapath.__file__).parent.rglob("*.py"))
UNITS = ("seconds", "bytes_per_second", "octets", "bytes", "mebibytes", "megabits")
PURE = {
    "average", "largest", "ratio", "optimised_ratio", "relative_error", "worst_error", "tolerance", "share", "shares",
    "slowdown", "reduction", "lost", "drop", "factor", "above_one", "ordered", "place",
}  # fmt: skip
OWN_UNIT = {"Figure", "Cell", "Parameter", "Quartiles", "BoxShare", "Configuration"}
"""Classes with a field for the unit, or whose values are pure, or named with their unit."""
ANY_UNIT = {"solve", "quantity", "within_factor", "_check_number", "share", "_between", "_figure"}
"""Functions of numbers in whatever unit their caller means."""
BY_NAME = {"machine", "reproduce", "node", "server", "points", "_costs"}
"""Functions of a point of a box, whose names say the unit."""


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
