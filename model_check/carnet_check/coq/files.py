"""The files of one system: what the program reads, and what Coq compiles into theorems.

Three files hold a variant in Coq. ``spec_…`` is to be read: the specification with its names and the digest of its
JSON. ``certificates_…`` has a certificate for every obligation, and says that all are accepted. ``theorems_…`` has a
theorem for each claim and threat model.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from carnet_check.coq.certificates import Converted, coq_term, largest, line
from carnet_check.exports.coq_data import CoqText, numbers, program_text, word
from carnet_check.exports.systems import Layer, System
from carnet_spec.language import SpecificationError

Certificates = Mapping[str, Sequence[Converted]]
"""For each layer, by its threat model, a certificate for each of its obligations, in Coq's order."""

WIDTH = 120
IMPORTS = "From Coq Require Import String List PArith.\nImport ListNotations."
MAKEFILE = """# Compiles the theorems; COQ is the folder with Carnet's Coq files, compiled.
COQC = coqc -q -R $(COQ) Carnet -R . Certified
THEOREMS = {theorems}

all: $(THEOREMS:.v=.assumptions)
spec_%.vo: spec_%.v $(COQ)/Induction.vo
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
    """Return a system and its certificates as the program reads them."""
    number = numbers(system)
    lines = []
    for layer in system.layers:
        lines += [f"layer {word(layer.threat)}", *(line(each, number) for each in certificates[layer.threat])]
    return program_text(system), "".join(f"{each}\n" for each in lines)


class Proved(NamedTuple):
    """A claim under a threat model, and where the layer that proves it has its invariant."""

    claim: str
    threat: str
    invariant: str
    layer: Layer
    place: int


class CoqFiles:
    """The Coq files of one system."""

    def __init__(self, system: System) -> None:
        self._system = system
        self._text = CoqText(system)
        self._definitions = list(self._text.definitions())

    @property
    def name(self) -> str:
        """What the names of the files end in."""
        return self._text.protocol

    def written(self, folder: Path, certificates: Certificates) -> int:
        """Write the files into ``folder``, which has none of them yet; where nothing is stated, none of theorems.

        Returns:
            How many theorems there are.
        """
        parts = {"spec": self.specification(), "certificates": self.certificates(certificates)}
        if self._proved:
            parts["theorems"] = self.theorems()
        for what, lines in parts.items():
            _write(folder / f"{what}_{self.name}.v", "".join(f"{each}\n" for each in lines))
        return len(self._proved)

    def specification(self) -> Iterator[str]:
        """Yield the lines of the specification."""
        system = self._system
        yield f"(** {_plain(system.protocol)}, variant {_plain(system.variant)}{_without(system)}."
        yield f"    SHA-256 of its canonical JSON: {system.digest} *)"
        yield from self._head("Logic Protocol")
        yield f'Definition {self._of("digest")} : string := "{system.digest}".'
        yield from map(_broken, self._definitions)

    def certificates(self, certificates: Certificates) -> Iterator[str]:
        """Yield the lines that state all certificates, and that they are accepted.

        A certificate that serves several obligations is stated once.
        """
        yield from self._head("Logic Checker Protocol Obligations", "spec")
        every = [each for layer in self._system.layers for each in certificates[layer.threat]]
        yield from (f"Definition n{n} : nat := {n}." for n in range(1 + max(map(largest, every), default=0)))
        distinct = {each: f"c{number}" for number, each in enumerate(dict.fromkeys(every))}
        for certificate, called in distinct.items():
            yield f"Definition {called} : refutation := {coq_term(certificate, self._text.value)}."
        for layer in self._system.layers:
            listed = "; ".join(distinct[each] for each in certificates[layer.threat])
            yield f"Definition {self._text.of_layer('certificates', layer)} : list refutation := [{listed}]."
            yield f"Theorem {self._text.of_layer('accepted', layer)} : certified {self._layer(layer)} = true."
            yield "Proof. vm_cast_no_check (eq_refl true). Qed."

    def theorems(self) -> Iterator[str]:
        """Yield the lines of the theorems, and at the end the question what all of them rest on.

        To ask it of each by itself takes as many times as long as there are theorems.
        """
        yield from self._head("Logic Protocol Obligations Induction", "spec", "certificates")
        names = []
        for claim, threat, invariant, layer, place in self._proved:
            said = f"{claim}_under_{threat}" if threat else claim
            names.append(self._text.ids.whole("always", said, claim, threat))
            yield from self._theorem(names[-1], invariant, threat, layer, place)
        yield f"Definition {self._of('theorems')} := ({', '.join(names)})."
        yield f"Print Assumptions {self._of('theorems')}."

    @cached_property
    def _proved(self) -> tuple[Proved, ...]:
        """What there is a theorem of.

        Raises:
            SpecificationError: a claim is made under a threat model, and no layer has it.
        """
        system = self._system
        everybody = () if system.threats else ("",)
        return tuple(
            Proved(claim, threat, invariant, *self._layer_of(invariant, threat))
            for claim, (invariant, threats) in system.stated.items()
            for threat in threats or everybody
        )

    def _of(self, what: str) -> str:
        return self._text.ids.written((what, "of", self.name), f"{what}_of_{self.name}")

    def _head(self, carnet: str, *own: str) -> Iterator[str]:
        yield IMPORTS
        yield f"From Carnet Require Import {carnet}."
        if own:
            yield f"From Certified Require Import {' '.join(f'{what}_{self.name}' for what in own)}."

    def _layer(self, layer: Layer) -> str:
        text = self._text
        parts = (text.protocol, text.threat(layer.threat), text.known(layer), text.claims(layer))
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
            parts += f" {text.known(layer)} {text.claims(layer)} {more}"
        yield f"Theorem {name} : always {statement}."
        yield f"Proof. exact ({lemma} {first} {parts} {place} {text.invariant(invariant)} eq_refl). Qed."


def write_makefile(folder: Path, names: Iterable[str]) -> None:
    """Write the Makefile that compiles the theorems of systems of these names, and no others, into ``folder``."""
    _write(folder / "Makefile", MAKEFILE.replace("{theorems}", " ".join(f"theorems_{name}.v" for name in names)))


def _write(file: Path, text: str) -> None:
    """Write a file that is not there yet: what is, a link included, might lead elsewhere."""
    with file.open("x", encoding="utf-8") as opened:
        opened.write(text)


def _broken(line: str) -> str:
    """Break a definition into lines that people can read."""
    return textwrap.fill(line, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _without(system: System) -> str:
    return f", without {', '.join(map(_plain, system.without))}" if system.without else ""


def _plain(name: str) -> str:
    """Return a name as it may stand in a comment of Coq, which nothing in it ends."""
    return re.sub(r"[^\w .,:-]", "_", name)
