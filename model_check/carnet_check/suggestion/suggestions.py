"""Lemmas to suggest for the claims of a run that lack a proof, as text that an author can paste."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from carnet_check.engines import registry
from carnet_check.engines.exploration import Walks
from carnet_check.engines.interface import Plan, Strengthening, Strengthens
from carnet_check.engines.runner import Listener
from carnet_check.errors import UsageError
from carnet_check.loading.families import NO_THREAT, Source, files_about
from carnet_check.results import Result, Verdict
from carnet_check.suggestion.guesses import ReadGuesses, Visit
from carnet_check.suggestion.source_text import AuthorNames, lemma_name, lemma_source
from carnet_check.verification.outcome import CampaignOutcome
from carnet_command.text import counted, wrapped
from carnet_spec.language import Invariant, Protocol, Threat
from carnet_spec.language.notation import ASCII, show

WALKS = Walks(200, 60)
"""Random walks through each instance that is visited to find out what is false."""
SAYS = "Every step keeps it; `carnet verify --suggest` found it."
NOTHING = "nothing of these shapes proves"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What is suggested for the claims of one variant that have no proof under a threat model.

    Attributes:
        variant: the design.
        threat: the id of the threat model whose axioms the proofs use, or nothing: they use none.
        lemmas: what to add; each is proved, and none can be left out.
        proved: the claims that are proved with them, and the lemmas that each of them needs.
        open: the claims that no candidate proves.
        tried: how many candidates the engine was asked about.
        seconds: how long it took to look.
        names: what the author calls things.
    """

    variant: str
    threat: str
    lemmas: tuple[Invariant, ...]
    proved: dict[str, tuple[str, ...]]
    open: tuple[str, ...]
    tried: int
    seconds: float
    names: AuthorNames

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON values, each lemma with its source text and the claims that need it."""
        return {
            "variant": self.variant,
            "threat": self.threat,
            "imports": self.names.import_line(lemma_source(each, self.names) for each in self.lemmas),
            "lemmas": [self._lemma(each) for each in self.lemmas],
            "proved": list(self.proved),
            "open": list(self.open),
            "tried": self.tried,
            "seconds": round(self.seconds, 3),
        }

    def _lemma(self, lemma: Invariant) -> dict[str, Any]:
        needing = [claim for claim, names in self.proved.items() if lemma.name in names]
        return {
            "name": lemma.name,
            "formula": show(lemma.body, ASCII),
            "source": lemma_source(lemma, self.names),
            "proves": needing,
        }

    def lines(self) -> Iterator[str]:
        """Yield the suggestion as it is printed: source text, with the claims that each lemma is needed for."""
        place = f"variant {self.variant}" + (f" under {self.threat}" if self.threat else "")
        if self.lemmas:
            number = counted(len(self.lemmas), "lemma")
            yield from wrapped("suggested", f"{place}: add {number} beside the claims, and verify again")
        value = self.as_json()
        yield from ["", value["imports"]] if value["imports"] else []
        for lemma in value["lemmas"]:
            yield ""
            yield f"# for {', '.join(lemma['proves'])}"
            yield from lemma["source"].splitlines()
        if self.lemmas:
            yield ""
        if self.open:
            tried = counted(self.tried, "candidate")
            yield from wrapped("suggested", f"{place}: {NOTHING} {', '.join(self.open)}; {tried} tried")


def suggested_lines(suggestions: Sequence[Suggestion]) -> Iterator[str]:
    """Yield what is printed of all suggestions of a run."""
    for each in suggestions:
        yield from each.lines()
    if not suggestions:
        yield from wrapped("suggested", "nothing: no claim that should be proved lacks a proof")


def require_strengthening(engines: Iterable[object]) -> None:
    """Refuse a run that no engine takes part in which can try lemmas.

    Raises:
        UsageError: none does.
    """
    if not any(isinstance(each, Strengthens) for each in engines):
        able = ", ".join(each.name for each in registry.all_able(Strengthens))
        raise UsageError(
            f"--suggest looks for lemmas where a proof fails, and no engine of this run proves: add {able}"
        )


def suggestions_for(outcome: CampaignOutcome, listener: Listener) -> list[Suggestion]:
    """Look for lemmas that prove each claim of a run which was expected to be proved, was not, and was not refuted."""
    engine = next(each for each in outcome.campaign.engines if isinstance(each, Strengthens))
    found: list[Suggestion] = []
    for plan in outcome.campaign.plans:
        rows = [row for row in outcome.results if row.variant == plan.protocol.variant]
        if open_ := _without_proof(rows, engine.name):
            found += suggest(engine, outcome.campaign.request.source, plan, open_, listener)
    return found


def _without_proof(rows: Sequence[Result], engine: str) -> set[tuple[str, str]]:
    """Return the claims and threat models of rows that an engine left open, if no engine refutes the claim."""
    refuted = {(row.claim, row.threat) for row in rows if row.verdict is Verdict.VIOLATED}
    open_ = (row for row in rows if row.engine == engine and row.verdict is Verdict.UNKNOWN)
    return {(row.claim, row.threat) for row in open_ if row.expected is Verdict.PROVED} - refuted


def suggest(
    engine: Strengthens, source: Source, plan: Plan, open_: Collection[tuple[str, str]], listener: Listener
) -> Iterator[Suggestion]:
    """Yield what to add to one variant: for what is claimed under every threat model, then for each threat model."""
    author = AuthorNames.read(files_about(source.family, source.reference))
    protocol, left = plan.protocol, set(open_)
    layers = [None, *(threat for threat in plan.threats if threat != NO_THREAT)]
    for threat in layers:
        wanted = _claimed(protocol, threat, left)
        if not wanted:
            continue
        began = time.monotonic()
        listener.status(f"{protocol.variant}: reading candidates for lemmas")
        under = [threat] if threat else plan.threats
        guesses = ReadGuesses(protocol, list(_visits(source, protocol, under)))
        found = _named(engine.strengthened(protocol, threat, wanted, guesses, listener), protocol, threat)
        protocol = replace(protocol, lemmas=(*protocol.lemmas, *found.lemmas))
        left -= {(claim, each.id) for claim in found.proved for each in under}
        last = threat is not None or layers == [None]
        if last or found.proved:
            open_claims = found.open if last else ()
            layer, seconds = threat.id if threat else "", time.monotonic() - began
            yield Suggestion(
                protocol.variant,
                layer,
                found.lemmas,
                dict(found.proved),
                open_claims,
                found.tried,
                seconds,
                author,
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


def _named(found: Strengthening, protocol: Protocol, threat: Threat | None) -> Strengthening:
    """Give each lemma a name that an author can live with, and the threat model that it is limited to, if any."""
    names: dict[str, str] = {}
    for lemma in found.lemmas:
        names[lemma.name] = lemma_name(lemma, protocol, names.values())
    under = (threat.id,) if threat else ()
    lemmas = tuple(replace(each, name=names[each.name], says=SAYS, under=under) for each in found.lemmas)
    proved = {claim: tuple(names[each] for each in rested) for claim, rested in found.proved.items()}
    return replace(found, lemmas=lemmas, proved=proved)
