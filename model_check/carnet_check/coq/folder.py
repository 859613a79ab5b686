"""What ``carnet certify --out DIR`` wrote, for Coq: the program judges it, and files of theorems are made of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from carnet_check.certificates.folder import specifications
from carnet_check.certificates.place import NAME, load_certificates
from carnet_check.coq.certificates import Converter
from carnet_check.coq.files import Certificates, CoqFiles, program_files
from carnet_check.coq.program import asked
from carnet_check.errors import CarnetError, UsageError
from carnet_check.exports.systems import System, system


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
    for _, text in specifications(folder):
        yield system(text)


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


def write_theorems(folder: Path, out: Path) -> Iterator[tuple[str, int]]:
    """Write the files that Coq compiles into theorems; yield the names of the variants, and how many each has.

    Raises:
        CarnetError: a certificate is missing or cannot be converted, the folder cannot be read, or two variants would
            have the same files.
        SpecificationError: a claim is made that no layer has.
    """
    written: dict[str, str] = {}
    for whole in variants(folder):
        given, files = certificates_of(whole, folder), CoqFiles(whole)
        if files.name in written:
            raise UsageError(f"variants '{written[files.name]}' and '{whole.variant}' are both '{files.name}' in Coq")
        out.mkdir(parents=True, exist_ok=True)
        written[files.name] = whole.variant
        yield whole.variant, files.written(out, given)
