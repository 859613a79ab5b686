"""What ``carnet certify --out DIR`` wrote, for Coq: the program judges it, and files of theorems are made of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from carnet_check.certificates.folder import SYSTEMS, Judged
from carnet_check.certificates.place import NAME, load_certificates
from carnet_check.coq.certificates import Converter, part, required
from carnet_check.coq.files import Certificates, CoqFiles, program_files
from carnet_check.coq.program import asked
from carnet_check.errors import CarnetError, UsageError
from carnet_check.exports.systems import System, system
from carnet_command.files import reason
from carnet_spec.language import SpecificationError
from carnet_spec.language.decoding import decoded


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the program says of the certificates of one variant, line by line."""

    variant: str
    accepted: bool
    said: tuple[str, ...]


def variants(folder: Path) -> Iterator[System]:
    """Yield the variants of a folder; their canonical JSON is all that is read of them.

    Raises:
        UsageError: there is none, or one cannot be read.
        SpecificationError: one is no protocol in canonical JSON, or says what Coq's language does not have.
    """
    files = sorted((folder / SYSTEMS).glob("*.json"))
    if not files:
        raise UsageError(f"expected variants in '{folder / SYSTEMS}', as `carnet certify --out` writes them")
    for file in files:
        try:
            text = file.read_text("ascii")
        except (OSError, UnicodeError) as error:
            raise UsageError(
                f"cannot read '{file}': {reason(error) if isinstance(error, OSError) else error}"
            ) from None
        yield _system(file, text)


def _system(file: Path, text: str) -> System:
    """Return what a file says; it is read as a protocol first, so that nothing malformed reaches what is trusted."""
    try:
        decoded(text)
        return system(text)
    except SpecificationError as error:
        raise SpecificationError(f"'{file}': {error}") from None


def compared(systems: Sequence[System], listed: Sequence[Judged]) -> Iterator[Judged]:
    """Yield the rows of an index as the variants bear them out, and after them what they require and it lacks."""
    variants = {each.variant for each in systems}
    for row in listed:
        unknown = f"'{SYSTEMS}' has no such variant, so nothing says what the text is about"
        yield row if row.why or row.variant in variants else replace(row, why=unknown, missing=True)
    there = {(row.variant, row.obligation) for row in listed}
    for whole in systems:
        for layer in whole.layers:
            for each in required(whole, layer):
                id = f"{part(layer.threat)}:{each.id}" if layer.threat else each.id
                if (whole.variant, id) not in there:
                    yield Judged(whole.variant, id, "", "the index does not list it", missing=True)


def certificates_of(whole: System, folder: Path) -> Certificates:
    """Return the certificates of a variant in terms of Coq's obligations.

    Raises:
        CarnetError: one is missing or cannot be converted, or the file of certificates cannot be read.
    """
    given, convert = load_certificates(folder / NAME), Converter(whole)
    return {layer.threat: convert.layer(layer, given) for layer in whole.layers}


def judged(folder: Path, program: Path) -> Iterator[Verdict]:
    """Have the program judge every variant of a folder.

    Raises:
        CarnetError: the folder cannot be read, or the program cannot read what it is given.
    """
    for whole in variants(folder):
        try:
            given = certificates_of(whole, folder)
        except CarnetError as error:
            yield Verdict(whole.variant, False, (str(error),))
            continue
        with tempfile.TemporaryDirectory() as scratch:
            files = (Path(scratch) / "system", Path(scratch) / "certificates")
            for file, text in zip(files, program_files(whole, given), strict=True):
                file.write_text(text, "ascii")
            accepted, lines = asked(program, "check", *files)
            yield Verdict(whole.variant, accepted, tuple(lines))


def write_theorems(folder: Path, out: Path) -> Iterator[str]:
    """Write the files that Coq compiles into theorems; yield the names of the variants.

    Raises:
        CarnetError: a certificate is missing or cannot be converted, or the folder cannot be read.
    """
    for whole in variants(folder):
        given = certificates_of(whole, folder)
        out.mkdir(parents=True, exist_ok=True)
        CoqFiles(whole).written(out, given)
        yield whole.variant
