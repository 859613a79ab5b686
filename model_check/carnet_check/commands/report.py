"""``carnet report``: show a run that ``verify --out`` kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from carnet_check.commands.common import finish, json_option
from carnet_check.errors import UsageError

if TYPE_CHECKING:
    from carnet_check.report.closing import Closing
    from carnet_check.report.run_folder import Run

FIGURES = ("name", "published", "reproduced", "relative_error")


@click.command()
@click.argument("run_folder", metavar="RUN", type=click.Path(path_type=Path))
@click.option("--html", type=click.Path(path_type=Path), metavar="DIR", help="Write the report to DIR/index.html.")
@click.option(
    "--table",
    "table_files",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Show published figures beside reproduced ones, from `carnet datapath --json`. Repeatable.",
)
@json_option
@click.pass_context
def report(
    context: click.Context, run_folder: Path, html: Path | None, table_files: tuple[Path, ...], as_json: bool
) -> int:
    """Show RUN, a folder that `carnet verify --out` wrote, as pages that need no network.

    The verdicts are those of the run: nothing is checked again.
    """
    from carnet_check.report.artefacts import require_writable_folder
    from carnet_check.report.html import INDEX, write_html
    from carnet_check.report.run_folder import read_run

    if html is None:
        raise UsageError("what is to be written? Give --html DIR")
    require_writable_folder(html)
    run = read_run(run_folder)
    tables = [_table(file) for file in table_files]
    write_html(run, html, tables)
    counts = {"verdicts": len(run.verdicts), "attacks": len(run.attacks), "graphs": len(run.graphs)}
    value = {"run_folder": str(run_folder), "index": str(html / INDEX), **counts}
    shown = ", ".join(f"{number} {what}" for what, number in counts.items())
    lines = [f"{run.spec['protocol']}: {shown}", f"open {html / INDEX}", ""]
    finish(as_json, value, lines, _closing(context, run, html))
    return 0


def _table(file: Path) -> Mapping[str, Any]:
    """Read a table of figures.

    Raises:
        UsageError: it is not what ``carnet datapath --json`` prints.
    """
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read '{file}': {(error.strerror or str(error)).lower()}") from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"expected JSON in '{file}': {error}") from None
    rows = value.get("rows") if isinstance(value, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and row.keys() >= set(FIGURES) for row in rows):
        raise UsageError(f"expected 'table' and 'rows' of {', '.join(FIGURES)} in '{file}'")
    return {"table": str(value.get("table", file.stem)), "rows": rows}


def _closing(context: click.Context, run: Run, html: Path) -> Closing:
    from carnet_check.report.closing import Closing, rerun_command

    told = run.run["run"]
    return Closing(
        verdicts=told["verdicts"],
        outcome=told["outcome"],
        strength=told["strength"],
        budget=told["budget"],
        profile=told["profile"],
        digests=told["spec_digests"],
        artefacts=str(html),
        rerun=rerun_command(context),
        seconds=told["seconds"],
        versions=told["versions"],
    )
