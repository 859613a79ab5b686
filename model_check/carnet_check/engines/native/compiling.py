"""Compiles C into shared objects, and caches them in a folder of the user.

A file is named by the digest of the C text, the compiler's version and its options, and ends in the digest of the bytes
before. A file that was cut off or altered is compiled anew. Nothing is loaded from a folder that others may write to.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from carnet_check.cache import open_folder
from carnet_check.errors import EngineError, UsageError
from carnet_command.files import write_durably

COMPILERS: Final = ("cc", "gcc", "clang")
OPTIONS: Final = ("-O1", "-fPIC", "-shared", "-pthread", "-w")
DIGEST: Final = 32  #: The length in bytes of the digest at the end of a cached file.
FOLDER: Final = "CARNET_COMPILED"  #: The environment variable that may name the folder of cached files.
KEPT: Final = 600  #: The most files in the cache.
#: The names of cached files: shared objects, and the models that they were compiled from.
OWN: Final = re.compile(r"[0-9a-f]{64}\.so|[0-9a-f]{2}/[0-9a-f]{62}\.json")
_spent: list[float] = []


class CompilationError(EngineError):
    """The model could not be compiled, or the result could not be loaded."""


def compiler() -> tuple[str, ...] | None:
    """Return the command of an installed C compiler, or None.

    It is the one that the environment variable ``CC`` names, else ``cc``, ``gcc`` or ``clang``, else Zig's, which the
    extra ``fast`` installs.
    """
    names = (os.environ["CC"],) if os.environ.get("CC") else COMPILERS
    found = next((found for name in names if (found := shutil.which(name))), None)
    if found is not None:
        return (found,)
    there = not os.environ.get("CC") and importlib.util.find_spec("ziglang") is not None
    return (sys.executable, "-P", "-m", "ziglang", "cc") if there else None


@functools.cache
def compiler_version(command: Sequence[str]) -> str:
    """Return the version that a compiler prints, or 'of unknown version' if it prints none."""
    said = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"\d+(\.\d+)+", said)
    return found[0] if found else "of unknown version"


def seconds_compiling() -> float:
    """Return the seconds that this process spent compiling since the last call."""
    seconds = sum(_spent)
    _spent.clear()
    return seconds


def compile_c(text: str, quick: bool) -> ctypes.CDLL:
    """Return the shared object that a C text compiles to, from the cache if it is there.

    With ``quick`` it is optimized less, so that compiling takes less time.

    Raises CompilationError if there is no compiler, or it fails, or its output cannot be stored or loaded.
    """
    program = compiler()
    if program is None:
        raise CompilationError("there is no C compiler any more")
    command = (*program, *OPTIONS, f"-DQUICK={int(quick)}")
    said = "\0".join((text, compiler_version(program), *command))
    name = f"{hashlib.sha256(said.encode()).hexdigest()}.so"
    began = time.monotonic()
    try:
        try:
            folder = open_folder(folder_for_code(), "folder for compiled code")
            code = _loaded(folder / name) or _compile_into(command, text, folder / name)
            _make_room(folder)
            return code
        except (OSError, UsageError):  # there is no folder that this user alone may write to
            with tempfile.TemporaryDirectory() as scratch:
                return _compile_into(command, text, Path(scratch) / name)
    except (OSError, subprocess.SubprocessError) as error:
        raise CompilationError(f"the model cannot be compiled: {error}") from error
    finally:
        _spent.append(time.monotonic() - began)


def folder_for_code() -> Path:
    """Return the folder of cached files: the one that ``CARNET_COMPILED`` names, or else one in the user's cache."""
    named = os.environ.get(FOLDER)
    cache = os.environ.get("XDG_CACHE_HOME")
    return Path(named) if named else (Path(cache) if cache else Path.home() / ".cache") / "carnet" / "compiled"


def _loaded(file: Path) -> ctypes.CDLL | None:
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        return None
    if hashlib.sha256(content[:-DIGEST]).digest() != content[-DIGEST:]:
        return None
    file.touch()
    return ctypes.CDLL(str(file))


def _make_room(folder: Path) -> None:
    """Remove the least recently used cached files beyond :data:`KEPT`; files with other names stay."""
    used: list[tuple[float, Path]] = []
    for file in (*folder.glob("*.so"), *folder.glob("??/*.json")):
        if OWN.fullmatch(file.relative_to(folder).as_posix()):
            with contextlib.suppress(FileNotFoundError):  # another process makes room, too
                used.append((file.stat().st_mtime, file))
    for _, file in sorted(used)[:-KEPT]:
        file.unlink(missing_ok=True)


def _compile_into(command: Sequence[str], text: str, file: Path) -> ctypes.CDLL:
    with tempfile.TemporaryDirectory() as scratch:
        source, made = Path(scratch) / "model.c", Path(scratch) / "model.so"
        source.write_text(text)
        ran = subprocess.run([*command, "-o", made, source], capture_output=True, text=True, check=False)
        if ran.returncode:
            said = next(
                (line for line in ran.stderr.splitlines() if "error" in line), f"it ended with {ran.returncode}"
            )
            raise CompilationError(f"'{shlex.join(command)}' does not compile the model: {said}")
        content = made.read_bytes()
    write_durably(file, content + hashlib.sha256(content).digest())
    return ctypes.CDLL(str(file))
