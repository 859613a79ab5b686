"""The folder of ``carnet certify --out DIR``, for Coq: the program checks it, and theorem files are written from it."""

import re
import tempfile
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from carnet_check.certificates.file import NAME, load_certificates
from carnet_check.certificates.folder import specifications
from carnet_check.coq.certificates import ConvertedCertificate, Converter, certificate_line, coq_term, largest_number
from carnet_check.coq.program import run_program
from carnet_check.errors import CarnetError, UsageError
from carnet_check.exports.coq_data import CoqText, numbers, program_text, word
from carnet_check.exports.systems import Layer, Liveness, System, system
from carnet_command.files import failing_as
from carnet_spec.language import SpecificationError

#: For each layer, by its threat model, a certificate for each of its obligations, in Coq's order.
Certificates = Mapping[str, Sequence[ConvertedCertificate]]
#: Liveness properties, each with a certificate for each of its conditions, in Coq's order.
Lively = Sequence[tuple[Liveness, Sequence[ConvertedCertificate]]]

WIDTH = 120
IMPORTS = "From Coq Require Import String List PArith.\nImport ListNotations."
MAKEFILE = """# Compiles the theorems; COQ is the folder with Carnet's Coq files, compiled.
COQC = coqc -q -R $(COQ) Carnet -R . Certified
THEOREMS = {theorems}

all: $(THEOREMS:.v=.assumptions)
spec_%.vo: spec_%.v $(COQ)/Liveness.vo
	$(COQC) $<
certificates_%.vo: certificates_%.v spec_%.vo
	$(COQC) $<
theorems_%.assumptions: theorems_%.v certificates_%.vo
	$(COQC) $< >$@.new
	grep -q '^Closed under the global context$$' $@.new
	! grep -v '^Closed under the global context$$' $@.new
	mv $@.new $@
.PHONY: all
.SECONDARY:
"""


def program_files(system: System, certificates: Certificates) -> tuple[str, str]:
    """Return the two files that the program reads: a system, and its certificates."""
    number = numbers(system)
    lines = []
    for layer in system.layers:
        lines += [
            f"layer {word(layer.threat)}",
            *(certificate_line(each, number) for each in certificates[layer.threat]),
        ]
    return program_text(system), "".join(f"{each}\n" for each in lines)


class ProvedClaim(NamedTuple):
    """A claim under a threat model, and where the layer that proves it has its invariant."""

    claim: str
    threat: str
    invariant: str
    layer: Layer
    place: int


class CoqFiles:
    """The Coq files of one system."""

    def __init__(self, system: System, lively: Lively = ()) -> None:
        self._system, self._lively = system, lively
        self._text = CoqText(system)
        self._definitions = list(self._text.definitions())
        self._definitions += [line for live, _ in lively for line in self._text.liveness(live)]

    @property
    def name(self) -> str:
        """The suffix of the names of the files."""
        return self._text.protocol

    def write(self, folder: Path, certificates: Certificates) -> int:
        """Write the files into ``folder``, where none of them exists; without a stated claim there is no theorem file.

        Returns:
            The number of theorems.
        """
        parts = {"spec": self.specification(), "certificates": self.certificates(certificates)}
        if self._proved or self._lively:
            parts["theorems"] = self.theorems()
        for what, lines in parts.items():
            _write(folder / f"{what}_{self.name}.v", "".join(f"{each}\n" for each in lines))
        return len(self._proved) + len(self._lively)

    def specification(self) -> Iterator[str]:
        """Yield the lines of the specification."""
        system = self._system
        yield f"(** {_plain(system.protocol)}, variant {_plain(system.variant)}{_without(system)}."
        yield f"    SHA-256 of its canonical JSON: {system.digest} *)"
        yield from self._head("Logic Protocol Fairness" if self._lively else "Logic Protocol")
        yield f'Definition {self._of("digest")} : string := "{system.digest}".'
        yield from map(_broken, self._definitions)

    def certificates(self, certificates: Certificates) -> Iterator[str]:
        """Yield the lines that define all certificates, and state that the checker accepts them.

        A certificate of several obligations is defined once.
        """
        yield from self._head("Logic Checker Protocol Obligations Fairness", "spec")
        every = [each for layer in self._system.layers for each in certificates[layer.threat]]
        every += [each for _, conditions in self._lively for each in conditions]
        yield from (f"Definition n{n} : nat := {n}." for n in range(1 + max(map(largest_number, every), default=0)))
        distinct = {each: f"c{number}" for number, each in enumerate(dict.fromkeys(every))}
        for certificate, called in distinct.items():
            yield f"Definition {called} : refutation := {coq_term(certificate, self._text.value)}."
        for layer in self._system.layers:
            listed = "; ".join(distinct[each] for each in certificates[layer.threat])
            yield f"Definition {self._text.of_layer('certificates', layer)} : list refutation := [{listed}]."
            yield f"Theorem {self._text.of_layer('accepted', layer)} : certified {self._layer(layer)} = true."
            yield "Proof. vm_cast_no_check (eq_refl true). Qed."
        for live, conditions in self._lively:
            name, accepted = (self._text.ids.of(what, live.name) for what in ("conditions", "accepted_of_liveness"))
            yield f"Definition {name} : list refutation := [{'; '.join(map(distinct.__getitem__, conditions))}]."
            if live.constants:
                yield f"Theorem {self._claimed_of(live)} : certified {self._layer_of_liveness(live)} = true."
                yield "Proof. vm_cast_no_check (eq_refl true). Qed."
            yield f"Theorem {accepted} : certified_of_liveness {self._liveness(live)} {name} = true."
            yield "Proof. vm_cast_no_check (eq_refl true). Qed."

    def theorems(self) -> Iterator[str]:
        """Yield the lines of the theorems, and one ``Print Assumptions`` for all of them at the end.

        A query for each theorem would multiply the time by their number.
        """
        yield from self._head("Logic Protocol Obligations Induction Fairness Liveness", "spec", "certificates")
        names = []
        for claim, threat, invariant, layer, place in self._proved:
            said = f"{claim}_under_{threat}" if threat else claim
            names.append(self._text.ids.whole("always", said, claim, threat))
            yield from self._theorem(names[-1], invariant, threat, layer, place)
        for live, _ in self._lively:
            names.append(self._text.ids.of("in_the_end", live.name))
            yield from self._lively_theorem(names[-1], live)
        yield f"Definition {self._of('theorems')} := ({', '.join(names)})."
        yield f"Print Assumptions {self._of('theorems')}."

    @cached_property
    def _proved(self) -> tuple[ProvedClaim, ...]:
        """The claims that have a theorem."""
        system = self._system
        everybody = () if system.threats else ("",)
        return tuple(
            ProvedClaim(claim, threat, invariant, *self._layer_of(invariant, threat))
            for claim, (invariant, threats) in system.stated.items()
            for threat in threats or everybody
        )

    def _of(self, what: str) -> str:
        return self._text.ids.identifier((what, "of", self.name), f"{what}_of_{self.name}")

    def _head(self, carnet: str, *own: str) -> Iterator[str]:
        yield IMPORTS
        yield f"From Carnet Require Import {carnet}."
        if own:
            yield f"From Certified Require Import {' '.join(f'{what}_{self.name}' for what in own)}."

    def _layer(self, layer: Layer) -> str:
        text = self._text
        parts = (text.protocol, text.threat(layer.threat), text.invariants_known_to(layer), text.claims(layer))
        return " ".join((*parts, text.of_layer("certificates", layer)))

    def _layer_of(self, invariant: str, threat: str) -> tuple[Layer, int]:
        """Return the layer that proves an invariant under a threat model, and its place there."""
        for layer in self._system.layers:
            names = [claim.name for claim in layer.claims]
            if layer.threat in {"", threat} and invariant in names:
                return layer, names.index(invariant)
        raise SpecificationError(f"no layer proves '{invariant}' under '{threat}'")

    def _theorem(self, name: str, invariant: str, threat: str, layer: Layer, place: int) -> Iterator[str]:
        text, general = self._text, self._system.layers[0]
        statement = f"{text.protocol} {text.threat(threat)} {text.invariant(invariant)}"
        parts_of = [text.of_layer(what, general) for what in ("claimed", "certificates", "accepted")]
        first = " ".join((text.protocol, *parts_of))
        lemma, parts = "certified_in_general", text.threat(threat)
        if layer.threat:
            more = f"{text.of_layer('certificates', layer)} {text.of_layer('accepted', layer)} (fun k known => known)"
            lemma = "certified_under_threat"
            parts += f" {text.invariants_known_to(layer)} {text.claims(layer)} {more}"
        yield f"Theorem {name} : always {statement}."
        yield f"Proof. exact ({lemma} {first} {parts} {place} {text.invariant(invariant)} eq_refl). Qed."

    def _liveness(self, live: Liveness) -> str:
        text = self._text
        return (
            f"{text.protocol_of(live)} {text.claims(self._system.assumable_layer)} {text.ids.of('liveness', live.name)}"
        )

    def _layer_of_liveness(self, live: Liveness) -> str:
        """Return the Coq layer of the claims that a liveness property assumes, in the property's own protocol."""
        text, layer = self._text, self._system.assumable_layer
        parts = (text.protocol_of(live), text.threat(layer.threat), "[]", text.claims(layer))
        return " ".join((*parts, text.of_layer("certificates", layer)))

    def _claimed_of(self, live: Liveness) -> str:
        """Return the identifier of the theorem about the claims that a liveness property assumes."""
        if live.constants:
            return self._text.ids.of("accepted_of_claims", live.name)
        return self._text.of_layer("accepted", self._system.assumable_layer)

    def _lively_theorem(self, name: str, live: Liveness) -> Iterator[str]:
        """Yield the theorem that a property holds: under every threat model, or under the only one."""
        text, layer = self._text, self._system.assumable_layer
        threat, called = text.threat(layer.threat), text.ids.of("liveness", live.name)
        known = [text.claims(layer), text.of_layer("certificates", layer), self._claimed_of(live)]
        conditions = [text.ids.of(what, live.name) for what in ("conditions", "accepted_of_liveness")]
        yield f"Theorem {name} : in_the_end {text.protocol_of(live)} {threat} {called}."
        given = " ".join((text.protocol_of(live), threat, *known, called, *conditions))
        yield f"Proof. exact (certified_with_its_claims {given}). Qed."


def write_makefile(folder: Path, names: Iterable[str]) -> None:
    """Write into ``folder`` the Makefile that compiles the theorems of exactly these systems."""
    _write(folder / "Makefile", MAKEFILE.replace("{theorems}", " ".join(f"theorems_{name}.v" for name in names)))


def _write(file: Path, text: str) -> None:
    """Write a file that must not exist yet: an existing one could be a link to another place."""
    with file.open("x", encoding="utf-8") as opened:
        opened.write(text)


def _broken(line: str) -> str:
    """Break a definition into lines of readable length."""
    return textwrap.fill(line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _without(system: System) -> str:
    return f", without {', '.join(map(_plain, system.without))}" if system.without else ""


def _plain(name: str) -> str:
    """Escape a name for a Coq comment, so that no part of the name ends the comment."""
    return re.sub(r"[^\w .,:-]", "_", name)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer of the program about the certificates of one variant, line by line."""

    variant: str
    accepted: bool
    said: tuple[str, ...]
    digest: str = ""  #: the digest of the variant's canonical JSON, if it was read.
    decided: bool = True  #: whether anything was established; false if the program exceeded a limit.


def unknown_verdict(variant: str, why: str, digest: str = "") -> Verdict:
    """Return the verdict that nothing was established about a variant, and why."""
    return Verdict(variant, False, (f"not established: {why}",), digest, decided=False)


def variants(folder: Path) -> Iterator[System]:
    """Yield the variants of a folder, read from their canonical JSON.

    Raises UsageError if there is no variant, or one cannot be read; SpecificationError if a file is no protocol in
    canonical JSON, or has a construct that Coq's language lacks.
    """
    for _, text in specifications(folder):
        yield system(text)


def certificates_of(whole: System, folder: Path) -> Certificates:
    """Return the certificates of a variant, converted to Coq's obligations.

    Raises CarnetError if one is missing or cannot be converted, or the file of certificates cannot be read.
    """
    given, convert = load_certificates(folder / NAME), Converter(whole)
    return {layer.threat: convert.layer(layer, given) for layer in whole.layers}


def lively_of(whole: System, folder: Path) -> Lively:
    """Return each liveness property of a variant with an attempt that is certified in full, and these certificates.

    Raises CarnetError if a certificate cannot be converted, or the file of certificates cannot be read.
    """
    return [*Converter(whole).liveness(load_certificates(folder / NAME))]


def check_certificates(folder: Path, program: Path) -> Iterator[Verdict]:
    """Have the program check every variant of a folder. Raises CarnetError if the folder cannot be read."""
    for whole in variants(folder):
        try:
            given = certificates_of(whole, folder)
        except CarnetError as error:
            yield Verdict(whole.variant, False, (str(error),), whole.digest)
            continue
        yield _judged(whole, given, program)


def _judged(whole: System, given: Certificates, program: Path) -> Verdict:
    """Have the program check a variant; an exit code 0 is not enough, its output has to name what it accepts."""
    with tempfile.TemporaryDirectory() as scratch:
        files = (Path(scratch) / "system", Path(scratch) / "certificates")
        for file, text in zip(files, program_files(whole, given), strict=True):
            file.write_text(text, "ascii")
        try:
            accepted, lines = run_program(program, "check", *files)
        except CarnetError as error:
            return unknown_verdict(whole.variant, str(error), whole.digest)
    said = tuple(lines)
    if accepted and said != expected_output(whole, given):
        named = f"{program.name} says {'; '.join(said[:2])[:200] or 'nothing'}"
        return Verdict(whole.variant, False, (f"{named}, not what it accepts",), whole.digest)
    return Verdict(whole.variant, accepted, said, whole.digest)


def expected_output(whole: System, given: Certificates) -> tuple[str, ...]:
    """Return the lines that the program prints if it accepts every certificate of a system, one line for each layer."""
    counts = {word(layer.threat): len(given[layer.threat]) for layer in whole.layers}
    return tuple(f"layer {name}: {count} of {count} accepted" for name, count in counts.items())


def write_theorems(folder: Path, out: Path) -> Iterator[tuple[str, int]]:
    """Write the files that Coq compiles into theorems; afterwards ``out`` contains nothing else.

    Raises CarnetError if a certificate is missing or cannot be converted, the folder cannot be read, two variants would
    have the same files, or ``out`` has files that this function does not write; SpecificationError if a claim belongs
    to no layer.

    Yields:
        The names of the variants, and how many theorems each has.
    """
    written: dict[str, str] = {}
    stated: list[str] = []
    for whole in variants(folder):
        given, files = certificates_of(whole, folder), CoqFiles(whole, lively_of(whole, folder))
        if files.name in written:
            raise UsageError(f"variants '{written[files.name]}' and '{whole.variant}' are both '{files.name}' in Coq")
        with failing_as(f"cannot write into '{out}'"):
            if not written:
                _clear(out)
            theorems = files.write(out, given)
        written[files.name] = whole.variant
        if theorems:
            stated.append(files.name)
        yield whole.variant, theorems
    write_makefile(out, stated)


#: The names of generated files: those written here, and those that Coq compiles from them.
WRITTEN = re.compile(
    r"Makefile|\.lia\.cache|(spec|certificates|theorems)_\w+\.(v|vo|vok|vos|glob|assumptions(\.new)?)"
    r"|\.(spec|certificates|theorems)_\w+\.aux",
    re.ASCII,
)


def _clear(out: Path) -> None:
    """Empty the folder: earlier generated files are removed, since their content is unknown."""
    if out.is_symlink():
        raise UsageError(f"expected a folder to write into, and '{out}' is a link")
    out.mkdir(parents=True, exist_ok=True)
    there = sorted(out.iterdir())
    for each in there:
        if not WRITTEN.fullmatch(each.name) or (each.is_dir() and not each.is_symlink()):
            raise UsageError(f"expected nothing in '{out}' but what an earlier run wrote, and found '{each.name}'")
    for each in there:
        each.unlink()
