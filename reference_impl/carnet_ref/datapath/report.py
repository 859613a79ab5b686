"""Tables as lines of text and as JSON; both say the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from carnet_ref.datapath.figures import with_unit
from carnet_ref.datapath.quantities import Duration, Rate, Size
from carnet_ref.datapath.tables.model import BoxShare, Cell, Parameter, Table


def quantity(value: float, unit: str) -> str:
    """Return a value with its unit, as a reader wants it."""
    match unit:
        case "B":
            return str(Size(round(value)))
        case "B/s":
            return str(Rate(value))
        case "s" if value < 1:
            return str(Duration(value))
        case "s":
            return f"{value:,.2f} s"
        case _:
            return f"{value:.4g}"


def as_json(table: Table) -> dict[str, Any]:
    """Return the table as the object that ``--json`` prints."""
    return {
        "table": table.id,
        "title": table.title,
        "source": table.source,
        "rows": [cell_json(cell) for cell in table.cells],
        "parameters": [_parameter_json(parameter) for parameter in table.parameters],
        "box": _box_json(table.box) if table.box else None,
        "remarks": list(table.remarks),
    }


def cell_json(cell: Cell) -> dict[str, Any]:
    """Return one cell as a row."""
    return {
        "name": cell.name,
        "published": cell.published,
        "reproduced": cell.reproduced,
        "relative_error": cell.relative_error,
        "unit": cell.unit,
        "role": str(cell.role),
        "remark": cell.remark,
    }


def _parameter_json(parameter: Parameter) -> dict[str, Any]:
    figure = parameter.figure
    return {
        "name": parameter.name,
        "value": parameter.value,
        "unit": parameter.unit,
        "standing": str(parameter.standing),
        "interval": [figure.low, figure.high] if figure else None,
        "fitted_to": parameter.fitted_to or None,
        "source": parameter.source,
    }


def _box_json(box: BoxShare) -> dict[str, Any]:
    return {
        "samples": box.samples,
        "meets_all": box.meets,
        "share": box.share,
        "tolerance": box.tolerance,
        "meets_each": dict(box.each),
        "intervals": {with_unit(name): [low, high] for name, low, high in box.box},
    }


def lines(shown: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table, from the object that ``--json`` prints."""
    yield f"{shown['title']} ({shown['source']})"
    yield ""
    width = max(len(row["name"]) for row in shown["rows"])
    yield f"{'':{width}}  {'published':>14}  {'reproduced':>14}  {'error':>8}  role"
    for row in shown["rows"]:
        published, reproduced = (quantity(row[key], row["unit"]) for key in ("published", "reproduced"))
        error = f"{round(row['relative_error'], 4) + 0.0:+.1%}"
        yield f"{row['name']:{width}}  {published:>14}  {reproduced:>14}  {error:>8}  {row['role']}"
        if row["remark"]:
            yield f"{'':{width}}  ({row['remark']})"
    yield from _parameter_lines(shown)
    if shown["box"]:
        yield from _box_lines(shown["box"])
    yield ""
    yield from (f"* {remark}" for remark in shown["remarks"])


def _parameter_lines(shown: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield f"{sum(1 for one in shown['parameters'] if one['fitted_to'])} fitted parameters, and the others:"
    width = max(len(one["name"]) for one in shown["parameters"])
    for one in shown["parameters"]:
        standing = f"fitted to {one['fitted_to']}" if one["fitted_to"] else one["standing"]
        value = quantity(one["value"], one["unit"])
        yield f"  {one['name']:{width}}  {value:>14}  {standing}: {one['source']}"


def _box_lines(box: Mapping[str, Any]) -> Iterator[str]:
    yield ""
    yield (
        f"{box['share']:.2%} of the parameter box ({box['meets_all']} of {box['samples']} points) meet all ratios "
        f"within {box['tolerance']:.0%}"
    )
    for name, count in box["meets_each"].items():
        yield f"  {name}: {count / box['samples']:.1%}"
