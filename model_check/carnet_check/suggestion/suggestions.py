"""Suggestions of lemmas for claims of a run that lack a proof, as text that an author can paste."""

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from carnet_check.engines import registry
from carnet_check.engines.exploration import Walks
from carnet_check.engines.interface import Plan, Strengthening, Strengthens
from carnet_check.engines.runner import Listener
from carnet_check.errors import UsageError
from carnet_check.loading.families import NO_THREAT, Source
from carnet_check.results import Result, Verdict
from carnet_check.suggestion.guesses import ReadGuesses, Visit
from carnet_check.suggestion.source_text import (
    AuthorNames,
    lemma_name,
    lemma_source,
    reads_back,
    with_free_parameters,
)
from carnet_check.verification.outcome import CampaignOutcome
from carnet_command.text import join_words, plural, wrap_text
from carnet_spec.language import Invariant, Protocol, Threat
from carnet_spec.language.notation import ASCII, show

WALKS = Walks(200, 60)  #: Random walks through each instance that is visited to find out what is false.
SAYS = "Every step keeps it; `carnet verify --suggest` found it."
NOTHING = "nothing of these shapes proves"
STOPPED = "stopped after"
UNWRITTEN = "the names beside the claims cannot say"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The suggested lemmas for the claims of one variant that have no proof under a threat model."""

    variant: str  #: the design.
    threat: str  #: the id of the threat model whose axioms the proofs use, or nothing: they use none.
    lemmas: tuple[Invariant, ...]  #: what to add; each is proved, and none can be left out.
    proved: dict[str, tuple[str, ...]]  #: the claims that are proved with them, and the lemmas that each of them needs.
    supported: dict[str, tuple[str, ...]]  #: the lemmas of the protocol that have no proof without them, likewise.
    open: tuple[str, ...]  #: the claims that no candidate proves, or none that can be written.
    tried: int  #: how many candidates the engine was asked about, for earlier suggestions included.
    seconds: float  #: how long it took to look.
    names: AuthorNames  #: what the author calls things.
    #: lemmas of a proof that is not offered, as their text beside the claims would say something else.
    unwritten: tuple[Invariant, ...] = ()
    designs: tuple[str, ...] = ()  #: all variants of the family.
    limit: str = ""  #: the work after which the search was stopped, in words, or nothing: it came to its end.
    #: how many candidates, which no visited state falsifies, got no definite answer, counted likewise.
    undecided: int = 0

    @property
    def place(self) -> str:
        """The design, and the threat model if the proofs use its axioms."""
        return f"variant {self.variant}" + (f" under {self.threat}" if self.threat else "")

    def needing(self, lemma: Invariant) -> list[str]:
        """Return the claims whose proofs need a lemma."""
        return [claim for claim, names in self.proved.items() if lemma.name in names]

    def supporting(self, lemma: Invariant) -> list[str]:
        """Return the lemmas of the protocol whose proofs need a lemma."""
        return [name for name, names in self.supported.items() if lemma.name in names]


@dataclass(frozen=True, slots=True)
class Suggestions:
    """All suggestions of a run; a lemma that several variants lack has one name, and is printed once."""

    each: Sequence[Suggestion]

    def as_json(self) -> list[dict[str, Any]]:
        """Return each suggestion as JSON values, its lemmas with the source text and the claims that need them."""
        return [self._value(suggestion) for suggestion in self.each]

    def _value(self, of: Suggestion) -> dict[str, Any]:
        return {
            "variant": of.variant,
            "threat": of.threat,
            "imports": of.names.import_line(lemma_source(each, of.names) for each in of.lemmas),
            "lemmas": [self._lemma(of, each) for each in of.lemmas],
            "proved": list(of.proved),
            "open": list(of.open),
            "unwritten": [show(each.body, ASCII) for each in of.unwritten],
            "tried": of.tried,
            "stopped": of.limit,
            "undecided": of.undecided,
            "seconds": round(of.seconds, 3),
        }

    def _lemma(self, of: Suggestion, lemma: Invariant) -> dict[str, Any]:
        return {
            "name": lemma.name,
            "formula": show(lemma.body, ASCII),
            "source": lemma_source(lemma, of.names),
            "proves": of.needing(lemma),
            "supports": of.supporting(lemma),
            "variants": self._variants(lemma),
        }

    def _variants(self, lemma: Invariant) -> list[str]:
        """Return the variants in which a lemma is proved."""
        return list(dict.fromkeys(other.variant for other in self.each if lemma in other.lemmas))

    def lines(self) -> Iterator[str]:
        """Yield the printed lines: the source text of each lemma, with the claims and variants that need it."""
        printed: set[Invariant] = set()
        for suggestion in self.each:
            yield from self._heading(suggestion, printed)
            new = [lemma for lemma in suggestion.lemmas if lemma not in printed]
            yield from self._new(suggestion, new)
            printed.update(new)
            yield from _without_lemmas(suggestion)
        if not self.each:
            yield from wrap_text("suggested", "nothing: no claim that should be proved lacks a proof")

    def _heading(self, of: Suggestion, printed: Collection[Invariant]) -> Iterator[str]:
        again = [lemma.name for lemma in of.lemmas if lemma in printed]
        new = len(of.lemmas) - len(again)
        parts = [plural(new, "lemma")] if new else []
        parts += [f"{plural(len(again), 'lemma')} from above ({', '.join(again)})"] if again else []
        if parts:
            yield from wrap_text(
                "suggested", f"{of.place}: add {join_words(parts)} beside the claims, and verify again"
            )

    def _new(self, of: Suggestion, lemmas: Sequence[Invariant]) -> Iterator[str]:
        sources = [lemma_source(lemma, of.names) for lemma in lemmas]
        imports = of.names.import_line(sources)
        yield from ["", imports] if imports else []
        for lemma, source in zip(lemmas, sources, strict=True):
            yield ""
            yield from self._comment(of, lemma)
            yield from source.splitlines()
        if lemmas:
            yield ""

    def _comment(self, of: Suggestion, lemma: Invariant) -> Iterator[str]:
        """Yield which claims or lemmas a lemma is for, and in which designs it is proved if there are several."""
        claims = (claim for each in self.each for claim in each.needing(lemma))
        others = (name for each in self.each for name in each.supporting(lemma))
        yield f"# for {', '.join(dict.fromkeys(claims)) or ', '.join(dict.fromkeys(others))}"
        inside = self._variants(lemma)
        if len(of.designs) > 1:
            proved = f"# proved in {'variant' if len(inside) == 1 else 'variants'} {join_words(inside)}"
            only = " only: withdraw it in the others if it is false there"
            yield proved + (only if set(of.designs) - set(inside) else "")


def _without_lemmas(of: Suggestion) -> Iterator[str]:
    """Yield what is not proved by lemmas that are offered, and whether some of these may not be needed."""
    if of.unwritten:
        formulas = "; ".join(show(lemma.body, ASCII) for lemma in of.unwritten)
        said = f"there is a proof, but {UNWRITTEN} {formulas}: give each symbol and sort a name of its own there"
        yield from wrap_text("suggested", f"{of.place}: {said}; open are {', '.join(of.open)}")
    elif of.open:
        tried = f"{plural(of.tried, 'candidate')} tried, {of.undecided:,} not decided"
        said = f"{STOPPED} {of.limit}, and nothing so far proves" if of.limit else NOTHING
        yield from wrap_text("suggested", f"{of.place}: {said} {', '.join(of.open)}; {tried}")
    elif of.limit and of.lemmas:
        yield from wrap_text("suggested", f"{of.place}: {STOPPED} {of.limit}; a lemma may be left that no claim needs")


def require_strengthening(engines: Iterable[object]) -> None:
    """Refuse a run without an engine that can try lemmas. Raises UsageError if no engine can."""
    if not any(isinstance(each, Strengthens) for each in engines):
        able = ", ".join(each.name for each in registry.all_able(Strengthens))
        raise UsageError(
            f"--suggest looks for lemmas where a proof fails, and no engine of this run proves: add {able}"
        )


def suggestions_for(outcome: CampaignOutcome, listener: Listener) -> Suggestions:
    """Look for lemmas for the claims of a run that should be proved, and are neither proved nor refuted."""
    engine = next(each for each in outcome.campaign.engines if isinstance(each, Strengthens))
    found: list[Suggestion] = []
    for plan in outcome.campaign.plans:
        rows = [row for row in outcome.results if row.variant == plan.protocol.variant]
        if open_ := _without_proof(rows, engine.name):
            found += suggest(engine, outcome.campaign.request.source, plan, open_, listener, found)
    return Suggestions(found)


def _without_proof(rows: Sequence[Result], engine: str) -> set[tuple[str, str]]:
    """Return the claims and threat models of rows that an engine left open, if no engine refutes the claim."""
    refuted = {(row.claim, row.threat) for row in rows if row.verdict is Verdict.VIOLATED}
    open_ = (row for row in rows if row.engine == engine and row.verdict is Verdict.UNKNOWN)
    return {(row.claim, row.threat) for row in open_ if row.expected is Verdict.PROVED} - refuted


def suggest(
    engine: Strengthens,
    source: Source,
    plan: Plan,
    open_: Collection[tuple[str, str]],
    listener: Listener,
    earlier: Sequence[Suggestion] = (),
) -> Iterator[Suggestion]:
    """Yield the suggestions for one variant: first for claims under every threat model, then for each threat model.

    What was suggested ``earlier``, for other variants, keeps its name, and no other lemma gets it.
    """
    author = AuthorNames.beside_claims(source, plan.protocol)
    protocol, left = plan.protocol, set(open_)
    known = [lemma for each in earlier for lemma in each.lemmas]
    work, tried, undecided = engine.work, 0, 0
    layers = [None, *(threat for threat in plan.threats if threat != NO_THREAT)]
    for threat in layers:
        wanted = _claimed(protocol, threat, left)
        if not wanted:
            continue
        began = time.monotonic()
        listener.status(f"{protocol.variant}: reading candidates for lemmas")
        under = [threat] if threat else plan.threats
        guesses = ReadGuesses(protocol, list(_visits(source, protocol, under)))
        found = engine.strengthen(protocol, threat, wanted, guesses, listener, work)
        work, tried, undecided = found.left, tried + found.tried, undecided + found.undecided
        found = _named(found, protocol, threat, author, known)
        unwritten = tuple(each for each in found.lemmas if not reads_back(each, author))
        offered = replace(found, lemmas=(), proved={}, supported={}) if unwritten else found
        protocol = replace(protocol, lemmas=(*protocol.lemmas, *offered.lemmas))
        left -= {(claim, each.id) for claim in found.proved for each in under}
        last = threat is not None or layers == [None]
        if last or found.proved:
            yield Suggestion(
                protocol.variant,
                threat.id if threat else "",
                offered.lemmas,
                dict(offered.proved),
                dict(offered.supported),
                (*(found.proved if unwritten else ()), *(found.open if last else ())),
                tried,
                time.monotonic() - began,
                author,
                unwritten,
                tuple(source.family.variants),
                found.limit,
                undecided,
            )


def _claimed(protocol: Protocol, threat: Threat | None, open_: Collection[tuple[str, str]]) -> list[str]:
    """Return the claims to prove with the axioms of a threat model, or those that are made under every one."""
    every = {each.id for each in protocol.threats}
    stated = [claim for claim in protocol.claims if any(name == claim.name for name, _ in open_)]
    if threat is None:
        return [claim.name for claim in stated if every <= set(claim.under) - set(claim.fails_under)]
    return [claim.name for claim in stated if (claim.name, threat.id) in open_]


def _visits(source: Source, protocol: Protocol, threats: Iterable[Threat]) -> Iterator[Visit]:
    """Yield what is visited: the states of the smallest instances, and random walks through larger ones."""
    small, *larger = source.family.profiles.values()
    for threat in threats:
        yield Visit(registry.explorer(), source.instance(protocol, threat.id, small))
    for threat in threats:
        for profile in larger[:1]:
            yield Visit(registry.walker(WALKS), source.instance(protocol, threat.id, profile))


def _named(
    found: Strengthening,
    protocol: Protocol,
    threat: Threat | None,
    author: AuthorNames,
    earlier: Sequence[Invariant],
) -> Strengthening:
    """Give each lemma names that an author can live with, and the threat model that it is limited to, if any."""
    names: dict[str, str] = {}
    lemmas: list[Invariant] = []
    own = {each.name for each in protocol.invariants}
    under = (threat.id,) if threat else ()
    for lemma in found.lemmas:
        free = replace(with_free_parameters(lemma, author), says=SAYS, under=under)
        same = (each.name for each in earlier if replace(free, name=each.name) == each and each.name not in own)
        taken = {*author.names_in_use, *(each.name for each in earlier), *names.values()}
        names[lemma.name] = next(same, None) or lemma_name(free, protocol, taken)
        lemmas.append(replace(free, name=names[lemma.name]))

    def renamed(uses: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
        return {name: tuple(names[each] for each in used) for name, used in uses.items()}

    return replace(found, lemmas=tuple(lemmas), proved=renamed(found.proved), supported=renamed(found.supported))
