"""The programs extracted from ``model_check/coq``: finding and running them, and reading their output."""

import hashlib
import lzma
import os
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import carnet_check
from carnet_check.errors import CarnetError, UsageError
from carnet_check.exports.coq_data import program_text, word
from carnet_check.exports.exhaustion import States, instance_text
from carnet_check.exports.systems import system
from carnet_command.files import failing_as, reason
from carnet_spec.language import Instance, Protocol

#: The environment variable with the program's path, if it is not where ``make -C model_check/coq program`` puts it.
VARIABLE = "CARNET_CHECKER"
NAME = "carnet-checker"
SECONDS = 600  #: CPU seconds that the program may use; it needs one for a variant of GPU Travelling.
KIBIBYTES = 2 << 20  #: Address space that the program may use.
#: The prefix of a command that runs within these limits; a hostile certificate has no other bound in the program.
LIMITED = ("/bin/sh", "-c", f'ulimit -t {SECONDS}; ulimit -v {KIBIBYTES} 2>/dev/null; exec "$0" "$@"')
SHOWN = 16  #: The digits of a program's digest that are shown.
#: The exit codes of the program if it refuses a certificate, and if it cannot read its input.
REFUSED, MALFORMED = 1, 2


def program(variable: str = VARIABLE, name: str = NAME) -> Path | None:
    """Return the path of a program: the value of ``variable``, or the one that make built in the source tree, or None.

    Raises UsageError if the variable's value is not a program.
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
    """Return the SHA-256 of a program, which has no version number."""
    return f"{executable}, SHA-256 {hashlib.sha256(executable.read_bytes()).hexdigest()[:SHOWN]}"


def run_program(executable: Path, *words: str | Path) -> tuple[bool, Iterable[str]]:
    """Run the program within limits; return whether its exit code is that of acceptance, and the lines that it prints.

    Raises CarnetError if the program cannot read its input, or exceeds a limit of time or memory.
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


# --------------------------------------------------------------------------------------------------
# The certificate of an exhausted instance: a folder, and its check by the program.
#
# ``system`` is the specification, as for every certificate, ``instance`` the instance with its limits and claims, and
# ``states.xz`` the states that a search visited. The program that ``make -C model_check/coq exhaust`` builds reads
# them.


#: The environment variable with the program's path, if it is not where make puts it.
EXHAUST_VARIABLE = "CARNET_COQ_EXHAUST"
SYSTEM, INSTANCE, STATES = "system", "instance", "states.xz"


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether the program accepts a certificate, and the lines that it prints."""

    accepted: bool
    said: tuple[str, ...]

    def accepts(self, states: int, claims: Sequence[str]) -> bool:
        """Whether the program accepts, and its output names this number of states and these claims."""
        named = [line.removeprefix("claim ") for line in self.said if line.startswith("claim ")]
        of_all = any(line.endswith(f"  accepted: in each of {states} states") for line in self.said)
        return self.accepted and of_all and named == [word(claim) for claim in claims]


def exhaust_program() -> Path | None:
    """Return the path of the program, or None if there is none.

    Raises UsageError if the variable's value is not a program.
    """
    return program(EXHAUST_VARIABLE, "carnet-exhaust")


def write(
    folder: Path, protocol: Protocol, instance: Instance, threat: str, claims: Sequence[str], states: States
) -> int:
    """Write a certificate that ``claims`` hold in all states of an instance; return the size of the states in bytes.

    Raises SpecificationError if the protocol or the instance has a construct that the Coq format lacks; UsageError if
    the folder cannot be written to.
    """
    whole = system(protocol.canonical_json)
    text = instance_text(whole, protocol, instance, threat, claims, states)
    packed = lzma.compress(states.columns, preset=6)
    with failing_as(f"cannot write into '{folder}'"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / SYSTEM).write_text(program_text(whole), "utf-8")
        (folder / INSTANCE).write_text(text, "utf-8")
        (folder / STATES).write_bytes(packed)
    return len(packed)


def check_exhaustion(executable: Path, folder: Path) -> Judgement:
    """Have the program check the certificate in ``folder``.

    Raises CarnetError if the program cannot read a certificate there.
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
