"""The kernel in Python beside the one from Coq: the same obligations, and the same certificates accepted.

Both are asked about the whole obligation, as Coq makes it: its hypotheses, and all that its protocol declares.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote

from carnet_check.certificates.file import Entry
from carnet_check.coq.certificates import ConvertedCertificate, Converter, CoqObligation, coq_obligations
from carnet_check.coq.folder import program_files
from carnet_check.coq.program import run_program
from carnet_check.errors import CarnetError
from carnet_check.exports.coq_data import GENERAL, program_text
from carnet_check.exports.obligation_text import Writer
from carnet_check.exports.systems import Layer as CoqLayer
from carnet_check.exports.systems import system
from carnet_check.kernel import checker
from carnet_check.kernel.checker import Refused, check
from carnet_check.kernel.reader import read_obligation
from carnet_check.obligations import Layer, Obligation, layers, obligations
from carnet_spec.language import Protocol
from tests.coq.generated import id_of, made_in_coq, made_in_python, names_for_certificates

NOTHING = ConvertedCertificate(((("close", (), (), ()), 0),))
"""A certificate that proves nothing, where there is none."""
Key = tuple[str, str]
"""A threat model or nothing, and the id of an obligation without it."""


@dataclass(frozen=True)
class Both:
    """One protocol in Python and in Coq."""

    protocol: Protocol
    program: Path

    @cached_property
    def converter(self) -> Converter:
        """What makes certificates of Coq's obligations."""
        return Converter(system(self.protocol.encoded))

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """The layers as Python makes them."""
        return layers(self.protocol)

    @cached_property
    def here(self) -> dict[Key, Obligation]:
        """The obligations that Python makes, skipped pairs left out."""
        return {
            (layer.threat.id if layer.threat else "", each.id.removeprefix(layer.prefix)): each
            for layer in self.layers
            for each in obligations(layer)
            if not each.skipped
        }

    @cached_property
    def there(self) -> dict[Key, CoqObligation]:
        """The obligations that Coq makes, as Python counts on them."""
        return {(layer.threat, each.id): each for layer in self._coq_layers for each in self._required[layer.threat]}

    @property
    def _coq_layers(self) -> Sequence[CoqLayer]:
        return self.converter.system.layers

    @cached_property
    def _required(self) -> Mapping[str, list[CoqObligation]]:
        return {layer.threat: list(coq_obligations(self.converter.system, layer)) for layer in self._coq_layers}

    def generators_differ(self) -> str:
        """Return what the generators in Python and in Coq make differently, if they do."""
        with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
            file.write(program_text(self.converter.system))
            file.flush()
            _, lines = run_program(self.program, "obligations", file.name)
            in_coq, untouched_in_coq = made_in_coq(lines)
        in_python, untouched, names = made_in_python(self.protocol)
        differing = [one for one, other in zip(in_coq, in_python, strict=False) if one != other]
        if differing or len(in_coq) != len(in_python):
            return f"{len(in_coq)} obligations in Coq, {len(in_python)} in Python; first {differing[:1]}"
        if untouched_in_coq != untouched:
            return "the pairs that need no proof"
        return "" if list(names_for_certificates(self.protocol)) == names else "the names of hypotheses"

    def converted(self, key: Key, entry: Entry) -> ConvertedCertificate | None:
        """Return a certificate of the whole obligation; none, if it cannot be read."""
        try:
            return self.converter.converted(self.there[key], entry)
        except CarnetError:
            return None

    def accepted_here(self, writer: Writer, key: Key, certificate: ConvertedCertificate) -> bool:
        """Whether the Python kernel accepts a certificate of the whole obligation."""
        read = read_obligation(writer.text(self.here[key]))
        formulas = dict(zip(read.names, read.obligation.hypotheses, strict=True))
        declared: checker.Obligation = self.converter.declared
        whole = declared._replace(
            constants=read.obligation.constants,
            hypotheses=tuple(formulas[name] for name in self.there[key].hypotheses),
        )
        try:
            check(whole, [step for step, _ in certificate.steps])
        except (Refused, RecursionError):
            return False
        return True

    def accepted_in_coq(self, given: Mapping[Key, ConvertedCertificate]) -> tuple[set[Key], bool]:
        """Return the obligations whose certificates the program accepts, and whether all is well stated."""
        listed = {
            layer.threat: [given.get((layer.threat, each.id), NOTHING) for each in self._required[layer.threat]]
            for layer in self._coq_layers
        }
        refused, well_stated, threat = set[Key](), True, ""
        for line in self._said(listed):
            word, _, rest = line.partition(" ")
            if word == "layer":
                threat = unquote(rest.partition(":")[0].replace(GENERAL, ""))
                well_stated = well_stated and not line.endswith("NOT WELL STATED")
            elif word == "refused":
                refused.add((threat, id_of(rest)))
        return set(given) - refused, well_stated

    def _said(self, listed: Mapping[str, Sequence[ConvertedCertificate]]) -> Iterator[str]:
        with tempfile.TemporaryDirectory() as folder:
            files = (Path(folder) / "system", Path(folder) / "certificates")
            for file, text in zip(files, program_files(self.converter.system, listed), strict=True):
                file.write_text(text, "utf-8")
            _, lines = run_program(self.program, "check", *files)
            yield from lines
