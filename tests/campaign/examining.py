"""Small structures in which an obligation's hypotheses and its negated goal all hold: then nothing may prove it.

Obligations are read as plain formulas of the language, and evaluated by the oracle, which knows no engine.
"""

import itertools
import math
import random
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import z3

from carnet_check.certificates.file import Certificates, Entry, LayerCertificates, LayerKey
from carnet_check.certificates.judging import Judge, LayerObligations, follow, key_of, with_used_hypotheses
from carnet_check.certificates.producing.refutation import NotFound, find_refutation
from carnet_check.engines.bounded.engine import BMC
from carnet_check.engines.explicit.bounds import Watch
from carnet_check.engines.explicit.engine import EXPLICIT
from carnet_check.engines.explicit.model import Model
from carnet_check.engines.kernel.engine import composed_of
from carnet_check.engines.native.engine import Native
from carnet_check.engines.native.search import NativeSearch
from carnet_check.engines.proving.composition import SolverOutcome
from carnet_check.engines.solvers import cvc5, eprover
from carnet_check.exports.obligation_text import Writer, digest
from carnet_check.exports.tptp import tptp
from carnet_check.kernel.checker import Refused
from carnet_check.kernel.reader import read_obligation
from carnet_check.loading.families import NO_THREAT
from carnet_check.obligations import GOAL, Hypothesis, Layer, Obligation, obligations
from carnet_spec.language import Claim, Family, Protocol, SpecificationError, Symbol
from carnet_spec.language.decoding import decode
from carnet_spec.language.terms import symbols_of
from tests.campaign.exhausting import Exhausted, instance_of
from tests.campaign.kernels import Both, Key, spoilt
from tests.oracle.compare import (
    BOTH,
    EXPLORED,
    RLIMIT,
    Disagreement,
    Judgement,
    Truth,
    family,
    judge,
    judge_family,
    truth_about,
)
from tests.oracle.enumerate import ANYTHING
from tests.oracle.evaluate import Structure, TooBigError, size_of, sorts_of
from tests.oracle.machine import Layout, State, Test, symbols_in, test_of
from tests.oracle.recipe import Recipe

SIZES = (1, 2)
ALL, SOME = 512, 96  #: All structures are tried where there are so few, and otherwise some, drawn at random.


class Models:
    def __init__(self, protocol: Protocol, draw: random.Random) -> None:
        self._draw = draw
        self._symbols = symbols_in(protocol)
        self._sizes = [dict.fromkeys((sort.name for sort in sorts_of(protocol)), size) for size in SIZES]
        self._tests: dict[tuple[Hypothesis, int], Test] = {}

    def model(self, obligation: Obligation) -> Structure | None:
        """Return a structure of one or two elements of each sort that satisfies everything, if one is found."""
        return next(self._models(obligation), None)

    def _models(self, obligation: Obligation) -> Iterator[Structure]:
        constants = tuple(constant.symbol for constant in obligation.constants)
        read = {symbol for each in obligation.hypotheses for symbol in symbols_of(each.formula)}
        for place, sizes in enumerate(self._sizes):
            layout = Layout(sizes, self._symbols, constants)
            tests = [self._test(each, place, layout, constants) for each in reversed(obligation.hypotheses)]
            for state in self._states(layout, read.union(constants)):
                if all(test(state) for test in tests):
                    yield layout.structure(state)

    def _test(self, hypothesis: Hypothesis, place: int, layout: Layout, constants: Iterable[Symbol]) -> Test:
        """Return the compiled formula; what names no constant is compiled once for all obligations."""
        if symbols_of(hypothesis.formula) & set(constants):
            return test_of(hypothesis.formula, layout)
        key = (hypothesis, place)
        if key not in self._tests:
            self._tests[key] = test_of(hypothesis.formula, layout)
        return self._tests[key]

    def _states(self, layout: Layout, read: set[Symbol]) -> Iterator[State]:
        """Yield what the symbols that are read can mean; the others mean anything."""
        choices = [range(size_of(s.result, layout.sizes)) if s in read else range(1) for s, _ in layout.cells]
        if math.prod(map(len, choices)) <= ALL:
            yield from itertools.product(*choices)
        else:
            for _ in range(SOME):
                yield tuple([self._draw.choice(each) for each in choices])


# -- what solvers say of the text of an obligation, and the certificate that is made of it ---------------


#: What each may spend on a text, in its own units of work; UNKNOWN is no disagreement.
Z3_UNITS, CVC5_UNITS, E_CLAUSES = 200_000, 20_000, 500
E_SECONDS, SEARCH_SECONDS = 2, 0.5
PROVED, REFUTED, UNKNOWN = "proved", "refuted", "unknown"
_Z3 = {"unsat": PROVED, "sat": REFUTED}
_WORDS = {SolverOutcome.PROVED: PROVED, SolverOutcome.REFUTED: REFUTED}


def missing_e() -> bool:
    return not eprover.find_program()


def by_z3(text: str, context: z3.Context) -> tuple[str, frozenset[str]]:
    """Return what Z3 says, with the names of hypotheses that contradict each other."""
    solver = z3.Solver(ctx=context)
    solver.set("rlimit", Z3_UNITS)
    solver.from_string(text)
    said = _Z3.get(str(solver.check()), UNKNOWN)
    core = solver.unsat_core() if said == PROVED else ()
    return said, frozenset(str(name).strip("|") for name in core)


def by_cvc5(text: str) -> str:
    outcome, _, _ = cvc5.ask(text, CVC5_UNITS)
    return _WORDS.get(outcome, UNKNOWN)


def by_e(obligation: Obligation) -> str:
    text = tptp(obligation)
    (said,) = eprover.answer(eprover.ProverInput(digest(text), (text,), E_CLAUSES, E_SECONDS, eprover.find_program()))
    return _WORDS.get(said.outcome, UNKNOWN)


def certificate(writer: Writer, obligation: Obligation, core: Collection[str]) -> Entry | None:
    """Return a certificate that the Python kernel accepts, if the search finds one in time."""
    try:
        here, names = read_obligation(writer.text(obligation, set(core) - {GOAL}))
        steps = find_refutation(here, time.process_time() + SEARCH_SECONDS)
        return with_used_hypotheses(writer, obligation, steps, dict(enumerate(names)))
    except (NotFound, Refused):
        return None


# -- one random protocol through everything --------------------------------------------------------------


BOUNDED = BMC.with_depth(3).with_limit(RLIMIT)  #: Looks at runs of so many steps, which the enumerator follows too.


class CompiledAtOnce(NativeSearch):
    """A search of the native engine that compiles the model after the first state: so small protocols reach it."""

    def __init__(self, model: Model, watch: Watch, **asked: Any) -> None:
        super().__init__(model, watch, **{"hand_over_at": 1, **asked})


@dataclass(frozen=True)
class AtOnce(Native):
    """The native engine with that search."""

    packed: ClassVar = CompiledAtOnce


ENGINES = (*BOTH, AtOnce(), BOUNDED)
EXPLORERS = (EXPLICIT, AtOnce())
COQ, PYTHON, KERNELS = "kernel in Coq", "kernel in Python", "kernels"


@dataclass(frozen=True)
class Tools:
    """The programs that Coq's files are extracted to, and where files may be written."""

    checker: Path
    exhaust: Path
    folder: Path


@dataclass
class Examined:
    """What was counted of a protocol, and where anything disagrees."""

    counts: Counter[str] = field(default_factory=Counter)
    disagreements: list[Disagreement] = field(default_factory=list)


def explored(recipe: Recipe) -> Examined:
    return _judged(judge(recipe, EXPLORERS))


def examined(recipe: Recipe, tools: Tools, draw: random.Random, with_e: bool) -> Examined:
    """Put a protocol through everything."""
    asked = family(recipe, {sort.name: EXPLORED for sort in recipe.words.sorts})
    judgement = judge_family(asked, ENGINES)
    found = _judged(judgement)
    if judgement.refused:
        return found
    found.counts["protocols asked of E"] += with_e
    for name in asked.variants:
        protocol = asked.protocol(name)
        truth = judgement.truths.get(name) or _truth(protocol)
        try:
            variant = _Variant(protocol, truth, Both(protocol, tools.checker), draw, with_e)
            variant.compare(found)
            _exhausted(asked, protocol, tools, draw, found)
        except Exception as error:
            crash = f"{type(error).__name__}: {error}"
            found.disagreements.append(Disagreement("crash", f"variant {name}", crash, "an answer"))
    return found


def _judged(judgement: Judgement) -> Examined:
    counts = Counter(judgement.rows)
    counts["refused" if judgement.refused else "protocols"] += 1
    counts["too big to enumerate"] += judgement.too_big
    return Examined(counts, list(judgement.disagreements))


def _truth(protocol: Protocol) -> Truth | None:
    try:
        return truth_about(protocol)
    except TooBigError:
        return None


def _exhausted(asked: Family, protocol: Protocol, tools: Tools, draw: random.Random, found: Examined) -> None:
    threat = draw.choice([threat.id for threat in protocol.threats] or [ANYTHING])
    instance = instance_of(protocol, threat, draw)
    if instance is not None:
        differing, counts = Exhausted(protocol, instance, threat).compared(tools.exhaust, tools.folder)
        found.disagreements += differing
        found.counts += counts


@dataclass
class _Variant:
    """One variant: its obligations, what everybody says of each, and what is made of that."""

    protocol: Protocol
    truth: Truth | None
    both: Both
    draw: random.Random
    with_e: bool
    said: dict[str, dict[str, str]] = field(default_factory=dict)  #: What everybody says of each text.
    #: The certificates of texts: equal texts have equal names, so one serves them all.
    certificates: dict[str, Entry] = field(default_factory=dict)

    @cached_property
    def writer(self) -> Writer:
        return Writer()

    @cached_property
    def context(self) -> z3.Context:
        return z3.Context()

    def compare(self, found: Examined) -> None:
        refusals = self._refusals()
        if any(refusals.values()):
            found.counts["variants outside the certified language"] += 1
            if not all(refusals.values()):
                found.disagreements.append(self._differs("certified language", "who refuses it", str(refusals)))
            return
        found.counts["variants"] += 1
        found.disagreements += self._read_back()
        models = Models(self.protocol, self.draw)
        for layer in self.both.layers:
            for obligation in obligations(layer):
                found.disagreements += self._obligation(obligation, models, found.counts)
        found.disagreements += self._kernels(found.counts)
        found.disagreements += self._claims(found.counts)

    def _differs(self, kind: str, what: str, said: str, truth: str = "") -> Disagreement:
        return Disagreement(kind, f"{what} in {self.protocol.variant}", said, truth)

    def _refusals(self) -> dict[str, str]:
        """Return why each of the two readers of the certified language refuses the protocol, if it does."""
        readers: dict[str, Callable[[], object]] = {
            "obligations": lambda: self.both.layers,
            "systems": lambda: self.both.converter,
        }
        found = {}
        for name, read in readers.items():
            try:
                found[name] = "" if read() else "nothing"
            except SpecificationError as error:
                found[name] = str(error)
        return found

    def _read_back(self) -> Iterator[Disagreement]:
        """Read the canonical JSON back, and let Coq make the obligations of it."""
        if decode(self.protocol.canonical_json).canonical_json != self.protocol.canonical_json:
            yield self._differs("export", "canonical JSON", "it reads back as another protocol")
        if set(self.both.here) != set(self.both.there):
            yield self._differs("generators", "obligations", str(set(self.both.here) ^ set(self.both.there)))
        elif differing := self.both.generators_differ():
            yield self._differs("generators", "obligations", differing)

    # -- obligations --------------------------------------------------------------------------------

    def _obligation(self, obligation: Obligation, models: Models, counts: Counter[str]) -> Iterator[Disagreement]:
        text = self.writer.text(obligation)
        counts["obligations"] += 1
        if text not in self.said:
            self.said[text] = said = self._asked(obligation, text, models)
            counts["texts"] += 1
            counts["certificates"] += text in self.certificates
            counts.update(f"{who}: {what}" for who, what in said.items())
            if {PROVED, REFUTED} <= set(said.values()):
                yield self._differs("obligation", obligation.id, str(said), "one answer")

    def _asked(self, obligation: Obligation, text: str, models: Models) -> dict[str, str]:
        """Ask everybody, and make a certificate of what Z3 proves."""
        proved, core = by_z3(text, self.context)
        said = {"Z3": proved, "cvc5": by_cvc5(text)}
        if self.with_e:
            said["E"] = by_e(obligation)
        if models.model(obligation) is not None:
            said["small structures"] = REFUTED
        entry = certificate(self.writer, obligation, core) if proved == PROVED else None
        if entry is not None:
            self.certificates[text] = entry
        return said

    def _certificate(self, obligation: Obligation) -> Entry | None:
        return self.certificates.get(self.writer.text(obligation))

    # -- kernels ------------------------------------------------------------------------------------

    def _kernels(self, counts: Counter[str]) -> Iterator[Disagreement]:
        """Have both kernels judge the certificates as they are, and spoilt ones."""
        whole = {key: self._certificate(obligation) for key, obligation in self.both.here.items()}
        sound = {key: entry for key, entry in whole.items() if entry is not None}
        yield from self._judged(sound, counts, "certificates")
        every = list(sound.values())
        spoiled = {key: spoilt(entry, every, self.draw) for key, entry in sound.items()}
        open_ = [key for key, entry in whole.items() if entry is None]
        spoiled |= {key: spoilt(self.draw.choice(every), every, self.draw) for key in open_ if every}
        yield from self._judged(spoiled, counts, "spoilt certificates")

    def _judged(self, given: Mapping[Key, Entry], counts: Counter[str], what: str) -> Iterator[Disagreement]:
        converted = {key: self.both.converted(key, entry) for key, entry in given.items()}
        read = {key: certificate for key, certificate in converted.items() if certificate is not None}
        in_coq, well_stated = self.both.accepted_in_coq(read)
        if not well_stated:
            yield self._differs(COQ, "the system", "it is not well stated", "so it is")
        counts[f"{what} judged"] += len(given)
        counts[f"{what} that can be read"] += len(read)
        counts[f"{what} accepted"] += len(in_coq)
        for key, entry in given.items():
            said = {COQ: key in in_coq, PYTHON: False, "of the text": self._followed(self.both.here[key], entry)}
            if key in read:
                said[PYTHON] = self.both.accepted_here(self.writer, key, read[key])
            text = self.writer.text(self.both.here[key])
            if (
                said[COQ] != said[PYTHON]
                or said["of the text"] > said[COQ]
                or (what == "certificates" and not said[COQ])
            ):
                yield self._differs(KERNELS, f"{key} by {entry}", str(said), "one answer")
            if said[COQ] and REFUTED in self.said[text].values():
                yield self._differs(KERNELS, f"{key} by {entry}", "accepted", str(self.said[text]))
            counts["certificates offered for what is not so"] += REFUTED in self.said[text].values()

    def _followed(self, obligation: Obligation, entry: Entry) -> bool:
        """Whether the Python kernel accepts a certificate as the product does: of the text cut to its hypotheses."""
        if not {each.name for each in obligation.hypotheses}.issuperset(entry.hypotheses):
            return False
        try:
            follow(self.writer.text(obligation, entry.hypotheses), entry.names, entry.tokens)
        except Refused:
            return False
        return True

    # -- claims -------------------------------------------------------------------------------------

    def _claims(self, counts: Counter[str]) -> Iterator[Disagreement]:
        """Compare what follows for claims and lemmas with the states of the enumerator."""
        for who in ("Z3", "cvc5", "E"):
            for layer in self.both.layers:
                if self._proves(who, layer) and (not layer.threat or self._proves(who, self.both.layers[0])):
                    counts[f"layers proved by {who}"] += 1
                    yield from (self._false(who, each.name, threat) for each, threat in self._untrue(layer))
        composed = composed_of(self.both.layers, Certificates(dict(map(self._layer, self.both.layers))), Judge())
        for claim in self.protocol.claims:
            for threat in claim.under or (ANYTHING,):
                if composed.claim(claim, self.protocol.threat(threat) if claim.under else NO_THREAT).is_proved:
                    counts["claims proved by certificates"] += 1
                    if self.truth and (claim.name, threat) in self.truth.anywhere.violated:
                        yield self._false(PYTHON, claim.name, threat)

    def _layer(self, layer: Layer) -> tuple[LayerKey, LayerCertificates]:
        asked = LayerObligations.of(layer)
        found = {each.id: entry for each in asked if (entry := self._certificate(each)) is not None}
        return key_of(layer), asked.certificates(found)

    def _proves(self, who: str, layer: Layer) -> bool:
        return all(self.said[self.writer.text(each)].get(who) == PROVED for each in obligations(layer))

    def _untrue(self, layer: Layer) -> Iterator[tuple[Claim, str]]:
        """Yield the claims of a layer that are false in a state that is reached under its threat models."""
        names = {invariant.name for invariant in layer.claims}
        threats = [layer.threat.id] if layer.threat else [each.id for each in self.protocol.threats] or [ANYTHING]
        for claim in self.protocol.claims:
            if claim.invariant is not None and claim.checked.name in names and self.truth:
                for threat in threats:
                    if (claim.name, threat) in self.truth.anywhere.violated:
                        yield claim, threat

    def _false(self, who: str, name: str, threat: str) -> Disagreement:
        return self._differs(
            "claim", f"{name} under {threat or 'any'}", f"{who} proves it", "false in a reachable state"
        )
