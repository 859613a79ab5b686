"""``carnet watch``: verify a protocol whenever one of its files changes."""

import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from carnet_check.commands import diff
from carnet_check.commands.common import PROTOCOL, json_option, log, say
from carnet_check.errors import UsageError
from carnet_check.loading.families import known_protocols, parts_of
from carnet_check.report.run_folder import RUN, Run, read_run
from carnet_command.exit_codes import ExitCode
from carnet_command.interrupts import track_progress
from carnet_command.text import plural
from carnet_spec.protocols.registry import DEFAULT

#: The command line of ``carnet`` in a subprocess, which imports nothing from the current folder.
COMMAND: Final = (sys.executable, "-P", "-c", "from carnet_check.cli import main; main()")
PAUSE: Final = 0.3  #: Seconds between two checks of the files.
PATIENCE: Final = 1.5  #: Seconds that a run may take to end after it was signalled.
MOST_FILES: Final = 2_000
PARTS = ("*.py", "*.md", "*.toml")  #: The files of a protocol: modules, normative text, argued mutants.


@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("protocol", type=PROTOCOL, default=DEFAULT)
@click.argument("options", nargs=-1, type=click.UNPROCESSED, metavar="[VERIFY OPTIONS]...")
@click.option("--runs", type=click.IntRange(min=1), metavar="N", help="End after so many runs. [default: at Ctrl-C]")
@json_option
def watch(protocol: str, options: tuple[str, ...], runs: int | None, as_json: bool) -> int:
    """Verify PROTOCOL now, and again each time that a file of it changes; say which verdicts that changed.

    All other options are those of `carnet verify`. A run that a change makes useless is stopped. With --json, each run
    is one object on a line of its own. The exit code is that of the last run.
    """
    watched = WatchedFolder(_folder_of(protocol))
    (log if as_json else say)(f"watching {plural(len(watched.marks()), 'file')} in {watched.folder}; Ctrl-C ends it")
    code, done = int(ExitCode.EXPECTED), 0
    before: Run | None = None
    with track_progress() as covered, tempfile.TemporaryDirectory() as place:
        while runs is None or done < runs:
            covered.status(f"run {done + 1}")
            marks, kept = watched.marks(), Path(place) / f"run{done}"
            with _verifying(protocol, options, kept, as_json) as running:
                ended = _wait(running, watched, marks)
            if ended is None:
                continue
            code, done = ended, done + 1
            after = read_run(kept) if (kept / RUN).is_file() else None
            _tell(code, before, after, as_json)
            before = after or before
            covered.line(f"run {done}")
            covered.status("waiting for a change")
            while (runs is None or done < runs) and watched.marks() == marks:
                time.sleep(PAUSE)
    return code


@dataclass(frozen=True, slots=True)
class WatchedFolder:
    """The folder with the files of a protocol."""

    folder: Path

    def marks(self) -> Mapping[Path, tuple[int, int]]:
        """Return for each file its modification time and size, which change when the file does.

        Raises UsageError if there are too many files.
        """
        found: dict[Path, tuple[int, int]] = {}
        for file in self._files():
            with contextlib.suppress(FileNotFoundError):  # the file was removed meanwhile
                known = file.stat()
                found[file] = (known.st_mtime_ns, known.st_size)
            if len(found) > MOST_FILES:
                raise UsageError(f"expected at most {MOST_FILES:,} files to watch, and '{self.folder}' has more")
        return found

    def _files(self) -> Iterator[Path]:
        for folder, inside, _ in os.walk(self.folder):
            inside[:] = [
                name
                for name in inside
                if not name.startswith((".", "__")) and not Path(folder, name, "pyvenv.cfg").exists()
            ]
            for part in PARTS:
                yield from Path(folder).glob(part)


def _folder_of(reference: str) -> Path:
    """Return the folder of a protocol's files, without importing it, as it may not be well formed yet."""
    path, _ = parts_of(known_protocols().get(reference, reference))
    if path.endswith(".py"):
        if not Path(path).is_file():
            raise UsageError(f"cannot read '{path}': no such file")
        return Path(path).absolute().parent
    try:
        found = importlib.util.find_spec(path)
    except (ImportError, ValueError):
        found = None
    if found is None or found.origin is None:
        raise UsageError(f"expected a registered id, path.py[:name] or module:name, and '{reference}' is none")
    return Path(found.origin).parent


@contextlib.contextmanager
def _verifying(protocol: str, options: Sequence[str], kept: Path, as_json: bool) -> Iterator[subprocess.Popen[bytes]]:
    """Start a run, and end it with the block."""
    command = [*COMMAND, "verify", protocol, *options, "--out", str(kept), "--out-is-deleted"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL if as_json else None) as running:
        try:
            yield running
        finally:
            if running.poll() is None:
                running.terminate()
                try:
                    running.wait(PATIENCE)
                except subprocess.TimeoutExpired:
                    running.kill()


def _wait(
    running: subprocess.Popen[bytes], watched: WatchedFolder, marks: Mapping[Path, tuple[int, int]]
) -> int | None:
    """Wait for the end of a run, and return its exit code; None if a file changed meanwhile."""
    while running.poll() is None:
        if watched.marks() != marks:
            return None
        with contextlib.suppress(subprocess.TimeoutExpired):
            running.wait(PAUSE)
    return running.returncode


def _tell(code: int, before: Run | None, after: Run | None, as_json: bool) -> None:
    """Print how a run ended, and how its verdicts differ from those of the run before it."""
    found = diff.differences(before, after) if before is not None and after is not None else None
    if as_json:
        value = {"exit_code": code, "differences": found and diff.differences_as_json(found)}
        click.echo(json.dumps(value, ensure_ascii=False))
        return
    for line in diff.difference_lines(found) if found else ():
        say(line)
    say(f"{time.strftime('%H:%M:%S')}: exit code {code}; waiting for a change")
