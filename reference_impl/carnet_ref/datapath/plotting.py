"""A table as a picture: published beside reproduced, as SVG that is the same bytes for the same table."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Final

from carnet_command.errors import UsageError
from carnet_ref.datapath.tables.model import FigureRole, Table

EXTRA: Final = "the extra 'plot' (pip install 'carnet[plot]')"
COLOURS = {
    FigureRole.FITTED: "#9aa5b1",
    FigureRole.PREDICTED: "#1f6feb",
    FigureRole.HELD_OUT: "#d9822b",
    FigureRole.RECOMPUTED: "#e3e8ee",
}
BAR = 0.38


def plot(table: Table, path: Path) -> None:
    """Write ``table`` to ``path`` as SVG, one pair of bars for each cell, on a logarithmic scale.

    Raises UsageError if Matplotlib is not installed.
    """
    try:
        with _elsewhere():
            from matplotlib import rc_context, rcdefaults, rcParams
            from matplotlib.backends.backend_svg import FigureCanvasSVG
            from matplotlib.figure import Figure
    except ImportError:
        raise UsageError(f"a picture needs {EXTRA}") from None

    with rc_context():
        rcdefaults()
        rcParams.update({"svg.hashsalt": f"carnet {table.id}", "svg.fonttype": "none", "font.size": 9})
        figure = Figure(figsize=(8, 0.9 + 0.42 * len(table.cells)), layout="constrained")
        axes = figure.add_subplot()
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
        FigureCanvasSVG(figure)
        drawn = BytesIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    path.write_bytes(drawn.getvalue())


@contextlib.contextmanager
def _elsewhere() -> Iterator[None]:
    """Work in an empty folder meanwhile: matplotlib reads its settings from the current one as it is imported.

    Source: matplotlib.matplotlib_fname, "$PWD/matplotlibrc".
    """
    with tempfile.TemporaryDirectory(prefix="carnet-plot-") as empty, contextlib.chdir(empty):
        yield
