"""Pictures as SVG files: equal figures give equal bytes, independent of the user's Matplotlib settings."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Final

from carnet_command.errors import UsageError
from carnet_command.files import write_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes

EXTRA: Final = "the extra 'plot' (pip install 'carnet[plot]')"


def write_picture(path: Path, name: str, inches: tuple[float, float], draw: Callable[[Axes], None]) -> None:
    """Write the figure that ``draw`` puts on a pair of axes to ``path``, as SVG; ``inches`` are width and height.

    ``name`` salts the ids in the file. Raises UsageError if Matplotlib is not installed, or the file cannot be written.
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
        rcParams.update({"svg.hashsalt": f"carnet {name}", "svg.fonttype": "none", "font.size": 9})
        figure = Figure(figsize=inches, layout="constrained")
        draw(figure.add_subplot())
        FigureCanvasSVG(figure)
        drawn = BytesIO()
        figure.savefig(drawn, format="svg", metadata={"Date": None, "Creator": None})
    write_text(path, drawn.getvalue().decode("utf-8"))


@contextlib.contextmanager
def _elsewhere() -> Iterator[None]:
    """Change to an empty folder for the block: on import, matplotlib reads its settings from the current folder.

    Source: matplotlib.matplotlib_fname, "$PWD/matplotlibrc".
    """
    with tempfile.TemporaryDirectory(prefix="carnet-plot-") as empty, contextlib.chdir(empty):
        yield
