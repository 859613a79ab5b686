"""Compiles C into a shared object, and keeps it in the user's folder for such things.

What is kept lies under the digest of the text and of who compiles it, and ends in the digest of what is before. So what
was cut off or altered is compiled anew. What lies in a folder into which others may write is not loaded.
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
DIGEST: Final = 32
"""How many bytes the digest takes that a file ends in."""
FOLDER: Final = "CARNET_COMPILED"
"""The variable that may name the folder for what is compiled."""
KEPT: Final = 200
"""How many files are kept there."""
OWN: Final = re.compile(r"[0-9a-f]{64}\.so|[0-9a-f]{2}/[0-9a-f]{62}\.json")
"""What is called as code is, or as the text that it was made of."""
_spent: list[float] = []


class CompilationError(EngineError):
    """Nothing came of compiling."""


def compiler() -> tuple[str, ...] | None:
    """Return the command of the C compiler that is there, if any is.

    It is the one that ``CC`` names, or else a usual one, or else the one of the extra ``fast``.
    """
    names = (os.environ["CC"],) if os.environ.get("CC") else COMPILERS
    found = next((found for name in names if (found := shutil.which(name))), None)
    if found is not None:
        return (found,)
    there = not os.environ.get("CC") and importlib.util.find_spec("ziglang") is not None
    return (sys.executable, "-P", "-m", "ziglang", "cc") if there else None


@functools.cache
def compiler_version(command: Sequence[str]) -> str:
    """Return the version that a compiler says it has, or that it says none."""
    said = subprocess.run([*command, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"\d+(\.\d+)+", said)
    return found[0] if found else "of unknown version"


def seconds_compiling() -> float:
    """Return how long this process compiled since it was asked last."""
    seconds = sum(_spent)
    _spent.clear()
    return seconds


def compiled(text: str, quick: bool) -> ctypes.CDLL:
    """Return a text of C, compiled, in less time if it shall be quick.

    Raises:
        CompilationError: there is no compiler, or it fails, or its output cannot be kept anywhere or loaded.
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
    """Return where code is kept: where the variable says, or else in the user's folder for such things."""
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
    """Remove what was not used for longest of what was kept here, where there is much; other files are left alone."""
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
