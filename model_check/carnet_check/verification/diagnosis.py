"""What is told of claims and lemmas that are not proved: false ones apart from those that lack a lemma.

A lemma for which the induction fails is looked for in the instances in which claims are explored, and in larger ones
in which attacks are looked for. If a reachable state breaks it, it is refuted, by a trace that the interpreter replays.
Otherwise a small state is shown from which one step breaks it; whether that state can be reached, nobody says.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from carnet_check.engines.exploration import Coverage, Search
from carnet_check.engines.exploring.searches import SOUGHT_CAPS, search_scope, within
from carnet_check.engines.interface import Cti, Diagnoses, EngineResult, Explores, InvariantStatus, Plan, Status
from carnet_check.engines.runner import Listener
from carnet_check.loading.scope import scope_of
from carnet_check.results import Result
from carnet_check.verification.planning import Campaign
from carnet_spec.language import Claim, Invariant, Profile, Protocol
from carnet_spec.trace import Trace

SHOWN = 3
"""How many counterexamples to induction a run looks for, unless it is asked for those of one invariant."""
SHOWN_OF_ONE = 5
"""How many are looked for where it is."""
MOST_STATES = 1_000_000
"""Where looking for states that break lemmas stops, all instances of a variant together."""


@dataclass(frozen=True, slots=True)
class Refutation:
    """Where a reachable state breaks an invariant: the search, and the protocol that it was made in.

    The protocol is the one that was verified, in which the lemmas that were looked for are stated as claims.
    """

    protocol: Protocol
    search: Coverage
    trace: Trace


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """How an invariant stands, and what shows it.

    Attributes:
        standing: what the engine says that proves, and REFUTED if exploring refutes it.
        engine: the engine that proves.
        refutation: a trace to a state that breaks it, if there is one.
        searched: what was explored without finding one.
        ctis: states from which a step breaks it.
    """

    standing: InvariantStatus
    engine: str
    refutation: Refutation | None = None
    searched: str = ""
    ctis: tuple[Cti, ...] = ()


def diagnosed(
    campaign: Campaign, answers: Sequence[EngineResult], results: Sequence[Result], listener: Listener
) -> tuple[Diagnosis, ...]:
    """Return how every invariant stands of which an engine speaks that proves.

    Instances larger than the profile's are explored where some row of the variant is not as expected, since only then a
    proof wants repair, or where a counterexample is asked for.
    """
    wrong = {row.variant for row in results if not row.as_expected}
    found: list[Diagnosis] = []
    for answer in answers:
        told = [Diagnosis(each, answer.engine) for each in answer.standings]
        for plan in campaign.plans:
            mine = [each for each in told if each.standing.variant == plan.protocol.variant]
            larger = bool(campaign.request.cti) or plan.protocol.variant in wrong
            sizes = campaign.request.source.family.sizes_to_hunt(plan.protocol.variant) if larger else ()
            found += _searched(campaign, plan, answers, mine, (campaign.profile, *sizes), listener)
    return tuple(_shown(campaign, found, listener))


# -- is it false? ----------------------------------------------------------------------------------


def _searched(
    campaign: Campaign,
    plan: Plan,
    answers: Sequence[EngineResult],
    told: Sequence[Diagnosis],
    sizes: Sequence[Profile],
    listener: Listener,
) -> list[Diagnosis]:
    """Look for reachable states that break what is not proved; a claim was explored before."""
    protocol = _with_lemmas_claimed(plan.protocol)
    sought = [each.standing for each in told if each.standing.lemma and each.standing.status is not Status.PROVED]
    searches: list[Coverage] = []
    if sought:
        listener.status(f"{plan.protocol.variant}: looking for states that break lemmas")
        searches = list(_searches(campaign, plan, protocol, sought, sizes))
    claimed = [each for answer in answers for each in answer.searches if each.search.variant == protocol.variant]
    explored = {True: searches, False: claimed}
    return [_judged(each, protocol, explored[each.standing.lemma]) for each in told]


def _with_lemmas_claimed(protocol: Protocol) -> Protocol:
    """Return the protocol with every lemma as a claim too, so that whatever explores claims can look for it."""
    lemmas = tuple(Claim(lemma.name, lemma, lemma.says, "", "", lemma.under) for lemma in protocol.lemmas)
    return replace(protocol, claims=(*protocol.claims, *lemmas))


def _searches(
    campaign: Campaign, plan: Plan, protocol: Protocol, sought: Sequence[InvariantStatus], sizes: Sequence[Profile]
) -> Iterator[Coverage]:
    """Explore instance after instance, the smallest first, under each threat model, for what still stands."""
    explorer = next((engine for engine in campaign.engines if isinstance(engine, Explores)), None)
    source = campaign.request.source
    caps = within(SOUGHT_CAPS, 1, campaign.request.limits)
    left = {standing.invariant: standing for standing in sought} if explorer else {}
    states = 0
    for profile, threat in itertools.product(sizes, plan.threats):
        if states > MOST_STATES:
            return
        names = tuple(name for name, each in left.items() if each.layer in ("", threat.id))
        if explorer and names:
            scope = scope_of(source, protocol, threat.id, profile, names)
            task = Search(source.reference, protocol.variant, (), threat.id, profile, names, sought=True, caps=caps)
            found = search_scope(explorer, task, protocol, scope)
            states += found.states
            yield found
            left = {name: each for name, each in left.items() if name not in found.violations or found.problems}


def _judged(told: Diagnosis, protocol: Protocol, searches: Sequence[Coverage]) -> Diagnosis:
    """Return what is known once a reachable state was looked for; a search with a defect shows nothing."""
    standing = told.standing
    if standing.status is Status.PROVED:
        return told
    mine = [
        each
        for each in searches
        if standing.invariant in each.search.claims and not each.problems and standing.layer in ("", each.search.threat)
    ]
    for each in mine:
        if standing.invariant in each.violations:
            refutation = Refutation(protocol, each, each.violations[standing.invariant])
            return replace(told, standing=replace(standing, status=Status.REFUTED), refutation=refutation)
    told_of = (f"{each.search.threat}, {each.search.profile.name}: {each.covered}" for each in mine)
    return replace(told, searched="; ".join(told_of))


# -- or does it lack a lemma? ----------------------------------------------------------------------


def _shown(campaign: Campaign, told: Sequence[Diagnosis], listener: Listener) -> Iterator[Diagnosis]:
    """Add counterexamples to induction: those of the invariant that was asked for, or the first few."""
    engines = {engine.name: engine for engine in campaign.engines if isinstance(engine, Diagnoses)}
    asked, left = campaign.request.cti, SHOWN
    for each in told:
        standing = each.standing
        wanted = standing.invariant == asked if asked else standing.status is Status.NOT_INDUCTIVE and left > 0
        if wanted and standing.failing:
            listener.status(f"{standing.variant}: looking for a small state from which {standing.invariant} breaks")
            most = SHOWN_OF_ONE if asked else 1
            engine = engines[each.engine]
            ctis = tuple(engine.counterexamples(campaign.request.source, standing, most))
            left -= 1
            yield replace(each, ctis=ctis)
        else:
            yield each


def invariant_of(protocol: Protocol, name: str) -> Invariant:
    """Return the claim's formula or the lemma of this name."""
    return next(each for each in protocol.invariants if each.name == name)
