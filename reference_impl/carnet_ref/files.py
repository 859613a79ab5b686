"""Writing files so that whoever reads them finds all or nothing, and two that write at once do not mix."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from carnet_spec.errors import UsageError


def check_writable(path: Path) -> None:
    """Insist that a file can be written before anything is done that would be lost.

    Raises:
        UsageError: it cannot.
    """
    try:
        if path.exists():
            path.open("a", encoding="utf-8").close()
        else:
            beside = _beside(path)
            beside.touch(exist_ok=False)
            beside.unlink()
    except OSError as error:
        raise UsageError(f"cannot write to '{path}': {error.strerror}") from error


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[str]]:
    """Open a file beside ``path`` and, once all is written, put it there; until then, what was there stays.

    What is no regular file, such as a pipe, is written to as it is.

    Raises:
        OSError: it could not be written.
    """
    if path.exists() and not path.is_file():
        with path.open("w", encoding="utf-8", newline="") as file:
            yield file
        return
    beside = _beside(path)
    try:
        with beside.open("x", encoding="utf-8", newline="") as file:
            yield file
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def same(one: Path, other: Path) -> bool:
    """Return whether two paths lead to one file, whether or not it is there yet."""
    if os.path.realpath(one) == os.path.realpath(other):
        return True
    try:
        return one.samefile(other)
    except OSError:
        return False


def _beside(path: Path) -> Path:
    return path.with_name(f".{secrets.token_hex(8)}.part")
