"""What ``carnet certify --out DIR`` wrote, for Coq: the program judges it, and files of theorems are made of it."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from carnet_check.certificates.file import NAME, load_certificates
from carnet_check.certificates.folder import specifications
from carnet_check.coq.certificates import Converter
from carnet_check.coq.files import Certificates, CoqFiles, program_files, write_makefile
from carnet_check.coq.program import asked
from carnet_check.errors import CarnetError, UsageError
from carnet_check.exports.coq_data import word
from carnet_check.exports.systems import System, system
from carnet_command.files import reason


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the program says of the certificates of one variant, line by line.

    Attributes:
        digest: of the variant's canonical JSON, if it was read.
        decided: whether anything was established; not if the program came to no end.
    """

    variant: str
    accepted: bool
    said: tuple[str, ...]
    digest: str = ""
    decided: bool = True


def undecided(variant: str, why: str, digest: str = "") -> Verdict:
    """Return that nothing was established about a variant, and why."""
    return Verdict(variant, False, (f"not established: {why}",), digest, decided=False)


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
        CarnetError: the folder cannot be read.
    """
    for whole in variants(folder):
        try:
            given = certificates_of(whole, folder)
        except CarnetError as error:
            yield Verdict(whole.variant, False, (str(error),), whole.digest)
            continue
        yield _judged(whole, given, program)


def _judged(whole: System, given: Certificates, program: Path) -> Verdict:
    """Have the program judge a variant; that it ended well is not enough, it has to say what it accepts."""
    with tempfile.TemporaryDirectory() as scratch:
        files = (Path(scratch) / "system", Path(scratch) / "certificates")
        for file, text in zip(files, program_files(whole, given), strict=True):
            file.write_text(text, "ascii")
        try:
            accepted, lines = asked(program, "check", *files)
        except CarnetError as error:
            return undecided(whole.variant, str(error), whole.digest)
    said = tuple(lines)
    if accepted and said != expected(whole, given):
        named = f"{program.name} says {'; '.join(said[:2])[:200] or 'nothing'}"
        return Verdict(whole.variant, False, (f"{named}, not what it accepts",), whole.digest)
    return Verdict(whole.variant, accepted, said, whole.digest)


def expected(whole: System, given: Certificates) -> tuple[str, ...]:
    """Return what the program has to say if it accepts everything: of each layer that all were accepted."""
    counts = {word(layer.threat): len(given[layer.threat]) for layer in whole.layers}
    return tuple(f"layer {name}: {count} of {count} accepted" for name, count in counts.items())


def write_theorems(folder: Path, out: Path) -> Iterator[tuple[str, int]]:
    """Write the files that Coq compiles into theorems, and nothing else is left there.

    Yields:
        The names of the variants, and how many theorems each has.

    Raises:
        CarnetError: a certificate is missing or cannot be converted, the folder cannot be read, two variants would
            have the same files, or ``out`` has what this does not write.
        SpecificationError: a claim is made that no layer has.
    """
    written: dict[str, str] = {}
    stated: list[str] = []
    for whole in variants(folder):
        given, files = certificates_of(whole, folder), CoqFiles(whole)
        if files.name in written:
            raise UsageError(f"variants '{written[files.name]}' and '{whole.variant}' are both '{files.name}' in Coq")
        try:
            if not written:
                _clear(out)
            theorems = files.written(out, given)
        except OSError as error:
            raise UsageError(f"cannot write into '{out}': {reason(error)}") from None
        written[files.name] = whole.variant
        if theorems:
            stated.append(files.name)
        yield whole.variant, theorems
    write_makefile(out, stated)


WRITTEN = re.compile(
    r"Makefile|\.lia\.cache|(spec|certificates|theorems)_\w+\.(v|vo|vok|vos|glob|assumptions(\.new)?)"
    r"|\.(spec|certificates|theorems)_\w+\.aux",
    re.ASCII,
)
"""What this writes, and what Coq makes of it."""


def _clear(out: Path) -> None:
    """Leave an empty folder: what an earlier run wrote is removed, since nobody knows who wrote what is there.

    Raises:
        UsageError: there is something else, which stays, or the folder is a link.
        OSError: it cannot be made or cleared.
    """
    if out.is_symlink():
        raise UsageError(f"expected a folder to write into, and '{out}' is a link")
    out.mkdir(parents=True, exist_ok=True)
    there = sorted(out.iterdir())
    for each in there:
        if not WRITTEN.fullmatch(each.name) or (each.is_dir() and not each.is_symlink()):
            raise UsageError(f"expected nothing in '{out}' but what an earlier run wrote, and found '{each.name}'")
    for each in there:
        each.unlink()
