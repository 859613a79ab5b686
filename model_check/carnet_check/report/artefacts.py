"""Files and folders that a run leaves behind: each file whole or not at all, each folder written by one command."""

from __future__ import annotations

import fcntl
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from carnet_check.errors import UsageError
from carnet_command.files import reason, replacing


def require_writable_folder(folder: Path) -> None:
    """Make sure that files can be written into ``folder``, or that it can be created; nothing is created yet.

    Raises:
        UsageError: it cannot be created or written to, or is a file.
    """
    nearest = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    try:
        with tempfile.TemporaryFile(dir=nearest):
            pass
    except OSError as error:
        raise UsageError(f"expected a folder that can be written to, and '{folder}' is none: {reason(error)}") from None


@contextmanager
def claimed(*folders: Path) -> Iterator[None]:
    """Make sure that nobody else writes into these folders meanwhile; they are created where they are missing.

    What was created and holds nothing in the end is removed again. The claim is the kernel's: however this process
    ends, nothing has to be cleaned up.

    Raises:
        UsageError: another command is writing into one of them, or it cannot be created.
    """
    with ExitStack() as stack:
        for folder in dict.fromkeys(folder.resolve() for folder in folders):
            stack.enter_context(_claimed(folder))
        yield


@contextmanager
def _claimed(folder: Path) -> Iterator[None]:
    require_writable_folder(folder)
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    make_folder(folder)
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        raise UsageError(f"cannot write into '{folder}': {reason(error)}") from None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise UsageError(f"another command is writing into '{folder}': wait for it, or give another folder") from None
    finally:
        with suppress(OSError):  # somebody put something there
            for place in missing:
                place.rmdir()
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make sure that ``folder`` is one.

    Raises:
        UsageError: it cannot be created, or is a file.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot create the folder '{folder}': {reason(error)}") from None


def write_text(file: Path, text: str) -> None:
    """Write ``file`` whole or not at all.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        with replacing(file) as stream:
            stream.write(text)
    except OSError as error:
        raise UsageError(f"cannot write '{file}': {reason(error)}") from None


def write_json(file: Path, value: Mapping[str, Any]) -> None:
    """Write one JSON object, whole or not at all."""
    write_text(file, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_lines(file: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write one JSON object to a line, whole or not at all."""
    write_text(file, "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows))
