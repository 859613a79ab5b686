"""Both kernels judge certificates: those that are right, and those that are spoilt so that they can still be read."""

import argparse
import csv
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from urllib.parse import unquote

from carnet_check.certificates.file import Certificates, Entry, load_certificates, place_of
from carnet_check.certificates.judging import LayerObligations, key_of
from carnet_check.coq.certificates import ConvertedCertificate, Converter, CoqObligation, coq_obligations
from carnet_check.coq.folder import program_files
from carnet_check.coq.program import program, run_program
from carnet_check.errors import CarnetError
from carnet_check.exports.coq_data import GENERAL, program_text
from carnet_check.exports.obligation_text import Writer
from carnet_check.exports.systems import Layer as CoqLayer
from carnet_check.exports.systems import system
from carnet_check.kernel import checker
from carnet_check.kernel.checker import Refused, check
from carnet_check.kernel.reader import read_obligation
from carnet_check.loading.families import Source, load
from carnet_check.obligations import Layer, Obligation, layers, obligations
from carnet_spec.language import Protocol
from tests.coq.generated import id_of, made_in_coq, made_in_python, names_for_certificates
from tests.fuzz.certified import spoilt_tokens

NUMBERS = ("0", "1", "2", "3", "4", "5")


def spoilt(entry: Entry, others: Sequence[Entry], draw: random.Random) -> Entry:
    """Return a certificate spoilt in one of three ways; ``others`` may stand in for it."""
    match draw.randrange(4):
        case 0:
            return spoilt_tokens(entry, draw)
        case 1 if others:
            return draw.choice(others)
    return _with_other_numbers(entry, draw)


def _with_other_numbers(entry: Entry, draw: random.Random) -> Entry:
    """Change a number or two, of facts, hypotheses, terms or directions."""
    tokens = entry.tokens.split(" ")
    for _ in range(draw.randint(1, 2)):
        place = draw.choice([n for n, token in enumerate(tokens) if token[-1].isdigit()])
        letter = tokens[place].rstrip("0123456789")
        tokens[place] = letter + draw.choice(NUMBERS)
    return replace(entry, tokens=" ".join(tokens))


# -- the kernel in Python beside the one from Coq --------------------------------------------------------


#: A certificate that proves nothing, where there is none.
NOTHING = ConvertedCertificate(((("close", (), (), ()), 0),))
Key = tuple[str, str]  #: A threat model or nothing, and the id of an obligation without it.


@dataclass(frozen=True)
class Both:
    """One protocol in Python and in Coq."""

    protocol: Protocol
    program: Path

    @cached_property
    def converter(self) -> Converter:
        """What makes certificates of Coq's obligations."""
        return Converter(system(self.protocol.canonical_json))

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
            return self.converter.convert(self.there[key], entry)
        except CarnetError:
            return None

    def accepted_here(self, writer: Writer, key: Key, certificate: ConvertedCertificate) -> bool:
        """Whether the Python kernel accepts a certificate of the whole obligation."""
        read = read_obligation(writer.text(self.here[key]))
        formulas = dict(zip(read.names, read.obligation.hypotheses, strict=True))
        declared: checker.Obligation = self.converter.declarations
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


# -- spoilt certificates of a protocol's obligations -----------------------------------------------------


ROUNDS = 4  #: How often each obligation's certificate is spoilt: the whole obligation takes longest to read.
WHAT = ("spoilt", "can be read", "accepted by both", "accepted by one alone")


@dataclass
class Judged:
    """What was counted, and what only one kernel accepts."""

    counts: Counter[str] = field(default_factory=Counter)
    differing: list[str] = field(default_factory=list)


def certified(both: Both, certificates: Certificates) -> dict[Key, Entry]:
    """Return the certificates of a variant's obligations."""
    found: dict[Key, Entry] = {}
    for layer in both.layers:
        asked = LayerObligations.of(layer)
        entries = asked.entries(certificates.layers.get(key_of(layer)))
        for each in asked.proper:
            entry = entries.get(each.id)
            if entry is not None:
                found[layer.threat.id if layer.threat else "", each.id.removeprefix(layer.prefix)] = entry
    return found


def judge(both: Both, sound: dict[Key, Entry], count: int, draw: random.Random, judged: Judged) -> None:
    """Spoil ``count`` certificates of one variant, and have both kernels judge them."""
    every, writer = list(sound.values()), Writer()
    chosen = draw.sample(sorted(sound), min(len(sound), -(-count // ROUNDS)))
    for _ in range(-(-count // len(chosen))):
        given: dict[Key, ConvertedCertificate] = {}
        for key in chosen:
            certificate = both.converted(key, spoilt(sound[key], every, draw))
            judged.counts["spoilt"] += 1
            if certificate is not None:
                given[key] = certificate
        in_coq, well_stated = both.accepted_in_coq(given)
        assert well_stated
        here = {key for key, certificate in given.items() if both.accepted_here(writer, key, certificate)}
        judged.counts["can be read"] += len(given)
        judged.counts["accepted by both"] += len(here & in_coq)
        judged.counts["accepted by one alone"] += len(here ^ in_coq)
        judged.differing += [f"{both.protocol.variant} {key}: {given[key]}" for key in sorted(here ^ in_coq)]


def judged_of(source: Source, executable: Path, count: int, seed: int) -> Iterator[tuple[str, Judged]]:
    """Yield what becomes of each variant; all together have ``count`` certificates spoilt."""
    place = place_of(source)
    assert place is not None, "the protocol lies where no certificates can lie beside it"
    certificates, variants = load_certificates(place), source.family.with_layers(source.family.main)
    for variant in variants:
        both, found = Both(source.protocol(variant), executable), Judged()
        share = -(-count // len(variants))
        judge(both, certified(both, certificates), share, random.Random(f"{seed}/{variant}"), found)
        yield variant, found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("protocol")
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args(arguments)
    executable = program()
    if executable is None:
        sys.stderr.write("expected the program that `make -C model_check/coq program` builds\n")
        return 2
    rows: list[dict[str, str | int]] = []
    differing: list[str] = []
    for variant, found in judged_of(load(options.protocol), executable, options.count, options.seed):
        rows.append({"variant": variant, "seed": options.seed, **{what: found.counts[what] for what in WHAT}})
        differing += found.differing
        sys.stdout.write(f"{rows[-1]}\n")
        sys.stdout.flush()
    with options.out.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, ["variant", "seed", *WHAT], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    sys.stdout.writelines(f"{each}\n" for each in differing)
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
