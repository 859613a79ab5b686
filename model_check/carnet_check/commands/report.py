"""``carnet report``: show a run that ``verify --out`` recorded."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click

from carnet_check.commands.common import Closing, finish, json_option, rerun_command
from carnet_check.errors import UsageError
from carnet_check.report import html as pages
from carnet_check.report.bundle import check_bundle, require_same_verdicts, sign_run
from carnet_check.report.run_folder import Run, read_run, run_of, snapshot
from carnet_check.report.shapes import ShapeError, maybe, number, parse_json, record, rows, text
from carnet_command.exit_codes import ExitCode
from carnet_command.files import lock_folders, require_apart, require_writable_file, write_text
from carnet_command.interrupts import track_progress
from carnet_command.printable import printable
from carnet_command.text import plural

KEY = "PEM: private for --bundle, public for --check-bundle."
MOST_BYTES = 1 << 26  #: The most bytes of a key, a bundle or a table.
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
    over the name, size and digest of every file in RUN. A file that differs from what was signed is refused (exit code
    1), and so is a link. If the bundle is accepted, the exit code is that of the run: 0 if all was as expected.
    """
    asked = ReportRequest(run_folder, html, bundle, check_bundle, key_file)
    asked.check()
    if html is not None:
        context.with_resource(lock_folders(html))
    value: dict[str, Any] = {"run_folder": str(run_folder)}
    lines: list[str] = []
    with track_progress() as covered:
        covered.status(f"reading '{run_folder}'")
        run = _read(asked, value, lines)
        tables = [_table(file) for file in table_files]
        if html is not None:
            covered.status(f"writing pages into '{html}'")
            _pages(run, html, tables, value, lines)
    written = ", ".join(str(path) for path in (html, bundle) if path is not None)
    finish(as_json, value, [*map(printable, lines), ""], _closing(context, run, written))
    return ExitCode.EXPECTED if check_bundle is None else run.exit_code


class ReportRequest(NamedTuple):
    """The files that the options name."""

    folder: Path
    html: Path | None
    bundle: Path | None
    check_bundle: Path | None
    key_file: Path | None

    def check(self) -> None:
        """Check that the options are compatible, and that the bundle can be written.

        Raises UsageError if an option needs another one, or the bundle cannot be written.
        """
        if self.html is None and self.bundle is None and self.check_bundle is None:
            raise UsageError("nothing to do: give --html DIR, --bundle FILE or --check-bundle FILE")
        if (self.bundle is not None or self.check_bundle is not None) != (self.key_file is not None):
            raise UsageError("--bundle and --check-bundle need --key FILE, and --key FILE needs one of them")
        if self.bundle is not None and self.check_bundle is not None:
            raise UsageError("--bundle takes a private key and --check-bundle a public one: give only one of them")
        if self.bundle is not None:
            require_apart({"--bundle": self.bundle}, [self.key_file] if self.key_file else [])
            require_writable_file(self.bundle)


def _read(asked: ReportRequest, value: dict[str, Any], lines: list[str]) -> Run:
    """Read the run; with a bundle, from exactly the bytes that were signed or are to be signed."""
    if asked.key_file is not None and asked.check_bundle is not None:
        return _check(asked.folder, asked.check_bundle, asked.key_file, value, lines)
    if asked.key_file is not None and asked.bundle is not None:
        return _seal(asked.folder, asked.bundle, asked.key_file, value, lines)
    return read_run(asked.folder)


def _pages(run: Run, html: Path, tables: Sequence[Mapping[str, Any]], value: dict[str, Any], lines: list[str]) -> None:
    pages.write_html(run, html, tables)
    counts = {"verdict": len(run.verdicts), "attack": len(run.attacks), "graph": len(run.graphs)}
    value |= {"index": str(html / pages.INDEX), **{f"{what}s": number for what, number in counts.items()}}
    lines += [", ".join(plural(number, what) for what, number in counts.items()), f"open {html / pages.INDEX}"]


def _seal(folder: Path, bundle: Path, key_file: Path, value: dict[str, Any], lines: list[str]) -> Run:
    if bundle.resolve().is_relative_to(folder.resolve()):
        raise UsageError(f"the bundle covers every file in '{folder}', so it cannot be one of them")
    files = snapshot(folder)
    run = run_of(files, folder)
    write_text(bundle, sign_run(files, run, _bytes(key_file)).decode())
    value["bundle"] = str(bundle)
    lines.append(f"signed evidence in {bundle}")
    return run


def _check(folder: Path, bundle: Path, key_file: Path, value: dict[str, Any], lines: list[str]) -> Run:
    from dataclasses import asdict

    found = check_bundle(_bytes(bundle), folder, _bytes(key_file))
    run = run_of(found.files, folder)
    require_same_verdicts(found, run)
    evidence = found.evidence
    value["evidence"] = asdict(evidence)
    lines.append(
        f"{evidence.result}: {evidence.passed} passed, {evidence.warned} warned, {evidence.failed} failed; "
        f"{plural(evidence.files, 'file')} as they were signed"
    )
    return run


def _bytes(file: Path) -> bytes:
    try:
        with file.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read '{file}': {(error.strerror or str(error)).lower()}") from None
    if len(content) > MOST_BYTES:
        raise UsageError(f"cannot read '{file}': it is larger than {MOST_BYTES >> 20} MiB")
    return content


def _table(file: Path) -> Mapping[str, Any]:
    """Read a table of figures."""
    row = record(
        {"unit": text, "role": text, "remark": text},
        name=text,
        published=maybe(number),
        reproduced=maybe(number),
        relative_error=maybe(number),
    )
    shape = record({"table": text, "title": text, "source": text, "remarks": rows(text)}, rows=rows(row))
    try:
        value = parse_json(_bytes(file).decode())
        shape(value, "$")
    except (ShapeError, UnicodeDecodeError) as error:
        raise UsageError(
            f"expected JSON in '{file}', with 'table' and 'rows' of {', '.join(FIGURES)}: {printable(str(error))}"
        ) from None
    return {"table": file.stem, **value}


def _closing(context: click.Context, run: Run, written: str) -> Closing:
    kept = run.run["run"]
    return Closing(
        verdicts=kept["verdicts"],
        outcome=kept["outcome"],
        strength=kept["strength"],
        budget=kept["budget"],
        profile=kept["profile"],
        digests=kept["spec_digests"],
        artefacts=written,
        rerun=rerun_command(context),
        seconds=kept["seconds"],
        versions=kept["versions"],
    )
