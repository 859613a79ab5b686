"""The programs that are extracted from ``model_check/coq``: where they are, and what the checker says."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

import carnet_check
from carnet_check.errors import CarnetError, UsageError
from carnet_command.files import reason

VARIABLE = "CARNET_CHECKER"
"""Names the program, where it is not where ``make -C model_check/coq program`` leaves it."""
NAME = "carnet-checker"
SECONDS = 600
"""How long the program may compute; a variant of GPU Travelling takes it a second."""
KIBIBYTES = 2 << 20
"""How much address space it may take."""
LIMITED = ("/bin/sh", "-c", f'ulimit -t {SECONDS}; ulimit -v {KIBIBYTES} 2>/dev/null; exec "$0" "$@"')
"""Runs what follows within these limits: what a hostile certificate makes of a term has no other bound there."""
SHOWN = 16
"""How much of a program's digest is shown."""
REFUSED, MALFORMED = 1, 2
"""How the program ends if it refuses something, and if it cannot read its input."""


def program(variable: str = VARIABLE, name: str = NAME) -> Path | None:
    """Return a program, if there is one: what ``variable`` names, or what make left in the source tree.

    Raises:
        UsageError: the variable names none.
    """
    chosen = os.environ.get(variable)
    if chosen:
        named = shutil.which(chosen)
        if named is None:
            raise UsageError(f"{variable} names '{chosen}', which is no program")
        return Path(named)
    built = Path(carnet_check.__file__).parents[1] / "coq" / "program" / name
    return built if built.is_file() else None


def identity(executable: Path) -> str:
    """Say which program answers: it has no version of its own, so its digest tells."""
    return f"{executable}, SHA-256 {hashlib.sha256(executable.read_bytes()).hexdigest()[:SHOWN]}"


def asked(executable: Path, *words: str | Path) -> tuple[bool, Iterable[str]]:
    """Run the program within limits; return whether it ends as if it accepts everything, and the lines that it prints.

    Raises:
        CarnetError: it cannot read what it is given, or needs more time or memory than it may have.
    """
    try:
        ran = subprocess.run(
            [*LIMITED, executable, *words], capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as error:
        raise CarnetError(f"{executable.name} cannot be run: {reason(error)}") from None
    if ran.returncode < 0:
        raise CarnetError(
            f"{executable.name} was ended by signal {-ran.returncode}: it may take {SECONDS} s of a processor"
        )
    if ran.returncode not in {0, REFUSED}:
        raise CarnetError(f"{executable.name} ended with {ran.returncode}: {ran.stderr.strip()}")
    return ran.returncode == 0, ran.stdout.splitlines()
