"""The files of a folder as they are at one moment: read once, and never looked at again.

Whoever checks what a folder holds and then reads it has to read what was checked. So every file is opened once, by a
folder that is open already, and everything that follows works on its bytes. Links, devices, pipes and sockets are
refused, whatever they point to, and so are names that two systems could take for different files.
"""

from __future__ import annotations

import os
import stat
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from carnet_check.errors import UsageError
from carnet_command.printable import printable

Files = Mapping[str, bytes]
"""What files hold, by their names below the folder, with '/' between parts."""

MOST_FILES = 20_000
MOST_BYTES = 1 << 28
"""Of all files together."""
DEEPEST = 8

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def snapshot(folder: Path, wanted: Callable[[str], bool] = lambda _: True) -> dict[str, bytes]:
    """Read every file below ``folder`` whose name is ``wanted``, in the order of their names.

    ``wanted`` is asked for folders too, whose names end with '/'. The folder itself may be reached by a link.

    Raises:
        UsageError: something is no plain file or folder, has no plain name, or is too large.
    """
    found: dict[str, bytes] = {}
    left = MOST_BYTES
    with _reading(str(folder)), _opened(os.fspath(folder), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC) as top:
        for name, content in _below(top, "", wanted, folder):
            left -= len(content)
            if left < 0 or len(found) >= MOST_FILES:
                raise UsageError(f"'{folder}' holds more than {MOST_FILES:,} files or {MOST_BYTES >> 20} MiB")
            found[name] = content
    _refuse_twins(found, folder)
    return dict(sorted(found.items()))


def plain_name(name: str) -> bool:
    """Whether a name is a relative path that means one file, and the same one, everywhere."""
    parts = name.split("/")
    return (
        len(parts) <= DEEPEST
        and name.isprintable()
        and not {"\\", ":"} & set(name)
        and not any(part in ("", ".", "..") or part != part.strip() for part in parts)
    )


def twins(names: list[str]) -> tuple[str, str] | None:
    """Return two names that some file systems take for one, if there are such."""
    seen: dict[str, str] = {}
    for name in names:
        folded = unicodedata.normalize("NFKC", name).casefold()
        if folded in seen:
            return seen[folded], name
        seen[folded] = name
    return None


def _below(folder: int, prefix: str, wanted: Callable[[str], bool], shown: Path) -> Iterator[tuple[str, bytes]]:
    with os.scandir(folder) as entries:
        inside = sorted((entry.name, entry.stat(follow_symlinks=False).st_mode) for entry in entries)
    for entry, mode in inside:
        name = prefix + entry
        if not wanted(f"{name}/" if stat.S_ISDIR(mode) else name):
            continue
        if not plain_name(name):
            raise UsageError(f"'{shown}' holds something without a plain name: '{printable(name)}'")
        if stat.S_ISDIR(mode):
            with _reading(f"{shown}/{name}"), _opened(entry, _FOLDER, folder) as inner:
                yield from _below(inner, f"{name}/", wanted, shown)
        elif stat.S_ISREG(mode):
            with _reading(f"{shown}/{name}"):
                yield name, _content(entry, folder, f"{shown}/{name}")
        else:
            raise UsageError(f"'{shown}/{name}' is neither a plain file nor a folder: links and devices are refused")


def _content(name: str, folder: int, shown: str) -> bytes:
    with _opened(name, _FILE, folder) as descriptor:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UsageError(f"'{shown}' is no plain file")
        with os.fdopen(os.dup(descriptor), "rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise UsageError(f"'{shown}' is larger than {MOST_BYTES >> 20} MiB")
    return content


def _refuse_twins(found: Files, folder: Path) -> None:
    same = twins(list(found))
    if same is not None:
        raise UsageError(f"'{folder}' holds '{same[0]}' and '{same[1]}', which some systems take for one file")


@contextmanager
def _opened(name: str, flags: int, folder: int | None = None) -> Iterator[int]:
    descriptor = os.open(name, flags, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _reading(shown: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise UsageError(f"cannot read '{printable(shown)}': {(error.strerror or str(error)).lower()}") from None
