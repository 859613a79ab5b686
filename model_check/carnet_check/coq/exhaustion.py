"""The certificate of an exhausted instance: a folder, and what the program says of it.

``system`` is the specification, as for every certificate, ``instance`` the instance with its limits and claims, and
``states.xz`` the states that a search visited. The program that ``make -C model_check/coq exhaust`` leaves reads them.
"""

from __future__ import annotations

import lzma
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from carnet_check.coq.program import MALFORMED, REFUSED
from carnet_check.coq.program import program as found
from carnet_check.errors import CarnetError, UsageError
from carnet_check.exports.coq_data import program_text, word
from carnet_check.exports.exhaustion import States, instance_text
from carnet_check.exports.systems import system
from carnet_command.files import reason
from carnet_spec.language import Instance, Protocol

VARIABLE = "CARNET_COQ_EXHAUST"
"""Names the program, where it is not where make leaves it."""
SYSTEM, INSTANCE, STATES = "system", "instance", "states.xz"


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether the program accepts a certificate, and the lines that it says."""

    accepted: bool
    said: tuple[str, ...]

    def accepts(self, states: int, claims: Sequence[str]) -> bool:
        """Whether the program accepts, and says so of so many states and these claims; an exit code is not enough."""
        named = [line.removeprefix("claim ") for line in self.said if line.startswith("claim ")]
        of_all = any(line.endswith(f"  accepted: in each of {states} states") for line in self.said)
        return self.accepted and of_all and named == [word(claim) for claim in claims]


def program() -> Path | None:
    """Return the program, if there is one.

    Raises:
        UsageError: the variable names none.
    """
    return found(VARIABLE, "carnet-exhaust")


def write(
    folder: Path, protocol: Protocol, instance: Instance, threat: str, claims: Sequence[str], states: States
) -> int:
    """Write a certificate that ``claims`` hold in all states of an instance; return how many bytes the states take.

    Raises:
        SpecificationError: the protocol or the instance has what Coq has no word for.
        UsageError: the folder cannot be written to.
    """
    whole = system(protocol.encoded)
    text = instance_text(whole, protocol, instance, threat, claims, states)
    packed = lzma.compress(states.columns, preset=6)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / SYSTEM).write_text(program_text(whole), "utf-8")
        (folder / INSTANCE).write_text(text, "utf-8")
        (folder / STATES).write_bytes(packed)
    except OSError as error:
        raise UsageError(f"cannot write into '{folder}': {reason(error)}") from None
    return len(packed)


def judged(executable: Path, folder: Path) -> Judgement:
    """Have the program check the certificate in ``folder``.

    Raises:
        CarnetError: there is none that the program can read.
    """
    try:
        states = lzma.decompress((folder / STATES).read_bytes())
    except (OSError, lzma.LZMAError) as error:
        raise CarnetError(f"{folder / STATES}: {error}") from error
    ran = subprocess.run(
        [executable, folder / SYSTEM, folder / INSTANCE], input=states, capture_output=True, check=False
    )
    if ran.returncode not in {0, REFUSED}:
        wrong = "cannot read it" if ran.returncode == MALFORMED else f"ended with {ran.returncode}"
        raise CarnetError(f"{folder}: {executable.name} {wrong}: {ran.stderr.decode(errors='replace').strip()}")
    return Judgement(ran.returncode == 0, tuple(ran.stdout.decode().splitlines()))
