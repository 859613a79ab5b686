"""``carnet report``: show a run that ``verify --out`` kept."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from carnet_check.commands.common import finish, json_option
from carnet_check.errors import UsageError

if TYPE_CHECKING:
    from carnet_check.report.closing import Closing
    from carnet_check.report.run_folder import Run

KEY = "PEM: private for --bundle, public for --check-bundle."
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
@click.option("--bundle", type=click.Path(path_type=Path), metavar="FILE", help="Write signed evidence of the run.")
@click.option("--check-bundle", type=click.Path(path_type=Path), metavar="FILE", help="Check signed evidence of RUN.")
@click.option("--key", "key_file", type=click.Path(path_type=Path), metavar="FILE", help=KEY)
@json_option
@click.pass_context
def report(
    context: click.Context,
    run_folder: Path,
    html: Path | None,
    table_files: tuple[Path, ...],
    bundle: Path | None,
    check_bundle: Path | None,
    key_file: Path | None,
    as_json: bool,
) -> int:
    """Show RUN, a folder that `carnet verify --out` wrote, as pages that need no network.

    The verdicts are those of the run: nothing is checked again. A bundle is an in-toto test-result in a DSSE envelope,
    over the digest of every file in RUN; what has changed since it was signed is refused (exit code 1).
    """
    from carnet_check.report.artefacts import require_writable_file, require_writable_folder
    from carnet_check.report.run_folder import read_run

    if html is None and bundle is None and check_bundle is None:
        raise UsageError("what is to be done? Give --html DIR, --bundle FILE or --check-bundle FILE")
    if (bundle is not None or check_bundle is not None) != (key_file is not None):
        raise UsageError("--key FILE goes with --bundle or --check-bundle, and they with it")
    if bundle is not None and check_bundle is not None:
        raise UsageError("--bundle takes a private key and --check-bundle a public one: give one of the two")
    if html is not None:
        require_writable_folder(html)
    if bundle is not None:
        require_writable_file(bundle)
    value: dict[str, Any] = {"run_folder": str(run_folder)}
    lines: list[str] = []
    if check_bundle is not None and key_file is not None:
        _check(run_folder, check_bundle, key_file, value, lines)
    run = read_run(run_folder)
    tables = [_table(file) for file in table_files]
    if html is not None:
        _pages(run, html, tables, value, lines)
    if bundle is not None and key_file is not None:
        _seal(run, run_folder, bundle, key_file, value, lines)
    written = ", ".join(str(path) for path in (html, bundle) if path is not None)
    finish(as_json, value, [*lines, ""], _closing(context, run, written))
    return 0


def _pages(run: Run, html: Path, tables: Sequence[Mapping[str, Any]], value: dict[str, Any], lines: list[str]) -> None:
    from carnet_check.report.html import INDEX, write_html
    from carnet_spec.prose import counted

    write_html(run, html, tables)
    counts = {"verdict": len(run.verdicts), "attack": len(run.attacks), "graph": len(run.graphs)}
    value |= {"index": str(html / INDEX), **{f"{what}s": number for what, number in counts.items()}}
    lines += [", ".join(counted(number, what) for what, number in counts.items()), f"open {html / INDEX}"]


def _seal(run: Run, folder: Path, bundle: Path, key_file: Path, value: dict[str, Any], lines: list[str]) -> None:
    from carnet_check.report.artefacts import write_text
    from carnet_check.report.bundle import sealed

    if bundle.absolute().is_relative_to(folder.absolute()):
        raise UsageError(f"the bundle covers every file in '{folder}', so it cannot be one of them")
    write_text(bundle, sealed(run, folder, _bytes(key_file)).decode())
    value["bundle"] = str(bundle)
    lines.append(f"signed evidence in {bundle}")


def _check(folder: Path, bundle: Path, key_file: Path, value: dict[str, Any], lines: list[str]) -> None:
    from dataclasses import asdict

    from carnet_check.report.bundle import checked
    from carnet_spec.prose import counted

    evidence = checked(_bytes(bundle), folder, _bytes(key_file))
    value["evidence"] = asdict(evidence)
    lines.append(
        f"{evidence.result}: {evidence.passed} passed, {evidence.warned} warned, {evidence.failed} failed; "
        f"{counted(evidence.files, 'file')} as they were signed"
    )


def _bytes(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read '{file}': {(error.strerror or str(error)).lower()}") from None


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
    return {"table": file.stem, **value}


def _closing(context: click.Context, run: Run, written: str) -> Closing:
    from carnet_check.report.closing import Closing, rerun_command

    told = run.run["run"]
    return Closing(
        verdicts=told["verdicts"],
        outcome=told["outcome"],
        strength=told["strength"],
        budget=told["budget"],
        profile=told["profile"],
        digests=told["spec_digests"],
        artefacts=written,
        rerun=rerun_command(context),
        seconds=told["seconds"],
        versions=told["versions"],
    )
