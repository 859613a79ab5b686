"""Tables of figures as lines of text, as JSON, and as a picture, all with the same content.

A picture shows published beside reproduced, as SVG that is the same bytes for the same table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carnet_command.text import RULE_WIDTH, hanging, plural, wrap_text
from carnet_ref.datapath.figures import with_unit
from carnet_ref.datapath.quantities import Duration, Rate, Size
from carnet_ref.datapath.tables.model import FigureRole, Table
from carnet_ref.pictures import write_picture

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GAP = 2  #: Columns between two columns of a table.
NOTE = 6  #: Columns that a note stands to the right of the row it belongs to.


def quantity(value: float, unit: str) -> str:
    """Return a value with its unit as text, in a readable scale."""
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
        "rows": [
            {
                "name": cell.name,
                "published": cell.published,
                "reproduced": cell.reproduced,
                "relative_error": cell.relative_error,
                "unit": cell.unit,
                "role": str(cell.role),
                "remark": cell.remark,
            }
            for cell in table.cells
        ],
        "parameters": [
            {
                "name": parameter.name,
                "value": parameter.value,
                "unit": parameter.unit,
                "standing": str(parameter.standing),
                "interval": [parameter.figure.low, parameter.figure.high] if parameter.figure else None,
                "fitted_to": parameter.fitted_to or None,
                "source": parameter.source,
            }
            for parameter in table.parameters
        ],
        "box": {
            "samples": table.box.samples,
            "meets_all": table.box.meets,
            "share": table.box.share,
            "tolerance": table.box.tolerance,
            "meets_each": dict(table.box.each),
            "intervals": {with_unit(name): [low, high] for name, low, high in table.box.box},
        }
        if table.box
        else None,
        "remarks": list(table.remarks),
    }


def lines(shown: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table, from the object that ``--json`` prints."""
    yield from hanging(f"{shown['title']} ({shown['source']})")
    yield ""
    yield from _cell_lines(shown["rows"])
    parameters = shown["parameters"]
    yield ""
    yield f"{plural(sum(1 for one in parameters if one['fitted_to']), 'fitted parameter')}, and the others:"
    width = max(len(one["name"]) for one in parameters)
    for one in parameters:
        standing = f"fitted to {one['fitted_to']}" if one["fitted_to"] else one["standing"]
        yield f"  {one['name']:{width}}{'':{GAP}}{quantity(one['value'], one['unit']):>10}"
        yield from wrap_text("", f"{standing}: {one['source']}", NOTE)
    if shown["box"]:
        box = shown["box"]
        yield ""
        yield from hanging(
            f"{box['share']:.2%} of the parameter box ({box['meets_all']} of {box['samples']} points) meet all ratios "
            f"within {box['tolerance']:.0%}"
        )
        for name, count in box["meets_each"].items():
            yield f"  {name}: {count / box['samples']:.1%}"
    yield ""
    for remark in shown["remarks"]:
        yield from hanging(f"* {remark}")


def _cell_lines(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the figures of each row in columns; what its name takes beside them, and its remark, goes under them."""
    figures = [_figures(row) for row in rows]
    heads = ("published", "reproduced", "error")
    widths = [max(len(text) for text in column) for column in zip(heads, *figures, strict=True)]
    role = max(len(row["role"]) for row in rows)
    room = RULE_WIDTH - sum(width + GAP for width in (*widths, role))
    name_width = min(room, max(len(row["name"]) for row in rows))
    yield f"{'':{name_width}}{_columns(heads, widths)}{'':{GAP}}role"
    for row, texts in zip(rows, figures, strict=True):
        name, *more = hanging(row["name"], width=name_width)
        yield f"{name:{name_width}}{_columns(texts, widths)}{'':{GAP}}{row['role']}"
        yield from more
        if row["remark"]:
            yield from wrap_text("", f"({row['remark']})", NOTE)


def _figures(row: Mapping[str, Any]) -> tuple[str, ...]:
    published, reproduced = (quantity(row[key], row["unit"]) for key in ("published", "reproduced"))
    return published, reproduced, f"{round(row['relative_error'], 4) + 0.0:+.1%}"


def _columns(texts: Iterable[str], widths: Iterable[int]) -> str:
    return "".join(f"{'':{GAP}}{text:>{width}}" for text, width in zip(texts, widths, strict=True))


COLOURS = {
    FigureRole.FITTED: "#9aa5b1",
    FigureRole.PREDICTED: "#1f6feb",
    FigureRole.HELD_OUT: "#d9822b",
    FigureRole.RECOMPUTED: "#e3e8ee",
}
BAR = 0.38


def plot(table: Table, path: Path) -> None:
    """Write ``table`` to ``path`` as SVG, one pair of bars for each cell, on a logarithmic scale.

    Raises UsageError if Matplotlib is not installed, or the file cannot be written.
    """
    write_picture(path, table.id, (8, 0.9 + 0.42 * len(table.cells)), lambda axes: _draw(axes, table))


def _draw(axes: Axes, table: Table) -> None:
    places = range(len(table.cells))
    axes.barh(
        [place - BAR / 2 for place in places],
        [cell.published for cell in table.cells],
        BAR,
        color="white",
        edgecolor="#3b4754",
        label="published",
    )
    for role, colour in COLOURS.items():
        chosen = [(place, cell) for place, cell in enumerate(table.cells) if cell.role is role]
        if not chosen:
            continue
        axes.barh(
            [place + BAR / 2 for place, _ in chosen],
            [cell.reproduced for _, cell in chosen],
            BAR,
            color=colour,
            label=str(role) if role is FigureRole.RECOMPUTED else f"model, {role}",
        )
    axes.set_yticks(list(places), [cell.name for cell in table.cells])
    axes.invert_yaxis()
    axes.set_xscale("log")
    axes.set_xlabel("seconds or ratio")
    axes.set_title(table.title)
    axes.legend(loc="best", fontsize=8)
