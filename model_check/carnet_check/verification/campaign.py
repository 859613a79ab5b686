"""A verification run: which claims are asked of which engines, in which processes, and what the answers amount to.

For every variant, each claim is judged under each threat model that it names. One induction without the axioms of any
threat model serves as many as it can; one exploration for each threat model checks all its claims at once. What is
claimed to fail must fall. What could make a pass worthless (a goal nobody reaches, a step nobody takes, a premise that
cannot hold) becomes a row of its own, or takes the claim's place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from carnet_check.engines.explicit.pools import run_all
from carnet_check.engines.explicit.searches import NO_THREAT, Caps, Found, Search, failed, moves
from carnet_check.loading.extent import available_memory
from carnet_check.results import Kind, Result, Verdict
from carnet_check.verification.checks import Evidence, disagreements, vacuities
from carnet_check.verification.planning import (
    ENGINES,
    EXPLICIT,
    INDUCTION,
    Campaign,
    GoalOutcome,
    Plan,
    Request,
    planned,
)
from carnet_command.progress import Pace
from carnet_command.text import counted
from carnet_spec.language import Claim, Goal, Profile, Protocol, Threat

if TYPE_CHECKING:
    from carnet_check.engines.induction import ClaimProof

GIBIBYTE = 1 << 30
CAPS = {
    "tiny": Caps(states=3_000_000, memory=4 * GIBIBYTE),
    "ci": Caps(states=60_000_000, memory=7 * GIBIBYTE),
}
"""Where the explorations of a profile stop, complete or not; memory is shared among the workers."""
DIRECTED_CAPS = Caps(states=2_000_000, memory=4 * GIBIBYTE)

DIRECTED = "directed"
"""The profile, where a family has it, for goals that need more rounds than the profile of the run has."""

Event = Callable[[str, str], None]
"""Called with ``status`` (what goes on now) or ``line`` (what was just established), and the text."""


def verify(campaign: Campaign, on_event: Event) -> Campaign:
    """Run what was planned; rows are announced as they come and listed in a fixed order at the end."""
    began = time.monotonic()
    rows: list[Result] = []
    if INDUCTION in campaign.engines:
        for plan in campaign.plans:
            rows += _proved(campaign, plan, on_event)
    evidence: dict[str, Evidence] = {}
    if EXPLICIT in campaign.engines:
        for found in _explored(campaign, on_event):
            evidence.setdefault(found.search.variant, Evidence()).add(found)
            rows += _judged(campaign, found)
            campaign.searches.append(found)
    campaign.searches.sort(key=lambda found: _search_order(campaign, found))
    on_event("status", "looking for vacuous premises, unreached goals and steps nobody takes")
    for plan in campaign.plans:
        seen = evidence.get(plan.protocol.variant)
        rows = disagreements(rows, plan)
        rows = vacuities(rows, plan, seen, campaign)
    campaign.results = sorted(rows, key=lambda row: _order(campaign, row))
    campaign.seconds = time.monotonic() - began
    return campaign


def _proved(campaign: Campaign, plan: Plan, on_event: Event) -> Iterator[Result]:
    """Yield a row for each pair that is claimed to hold: a failed induction refutes nothing."""
    wanted = [(c, t) for c, t in plan.pairs if not plan.falls(c.name, t.id)]
    if not wanted:
        return
    began = time.monotonic()
    variant = plan.protocol.variant
    on_event("status", f"{variant}: writing down proof obligations")

    pace = Pace()

    def progress(done: int, total: int, _: object) -> None:
        on_event("status", f"{variant}: induction, {done} of {total} obligations{pace.left(done, total)}")

    proofs = _proofs(plan, wanted, campaign.request.jobs, progress)
    seconds = time.monotonic() - began
    held = sum(proof.proved for proof in proofs.values())
    on_event("line", f"{variant}: induction proves {held} of {len(wanted)} in {seconds:.1f} s")
    for claim, threat in wanted:
        yield _proof_row(campaign, plan, proofs[claim.name, threat.id], threat, seconds)


def _proofs(
    plan: Plan, wanted: Sequence[tuple[Claim, Threat]], jobs: int, progress: Callable[[int, int, object], None]
) -> dict[tuple[str, str], ClaimProof]:
    """Prove what is wanted; if something is not inductive, try again without whatever is not."""
    from carnet_check.engines.induction import houdini, prove, prove_claims

    protocol = plan.protocol
    found: dict[tuple[str, str], ClaimProof] = {}
    if protocol.threats:
        threats = [threat for threat in plan.threats if any(t == threat for _, t in wanted)]
        found.update(prove_claims(protocol, threats, jobs=jobs, progress=progress))
    else:
        general = prove(protocol, None, jobs=jobs, progress=progress)
        found.update({(claim.name, threat.id): general.claim(claim.name) for claim, threat in wanted})
    found = {(claim.name, threat.id): found[claim.name, threat.id] for claim, threat in wanted}
    for model in (None, *(threat for threat in plan.threats if threat != NO_THREAT)):
        again = [key for key, proof in found.items() if not proof.proved and _covers(protocol, model, key)]
        if again:
            names = {name for name, _ in again}
            survivors = houdini(protocol, model, claims=names, jobs=jobs, progress=progress)
            proofs = {name: survivors.claim(name) for name in names}
            found.update({(name, id): proofs[name] for name, id in again if proofs[name].proved})
    return found


def _covers(protocol: Protocol, model: Threat | None, key: tuple[str, str]) -> bool:
    """Whether a proof under ``model`` speaks of a claim under a threat model and was not covered by a wider one."""
    claim = protocol.claim(key[0])
    everywhere = {threat.id for threat in protocol.threats} <= set(claim.under)
    return everywhere if model is None else model.id == key[1] and not everywhere


def _proof_row(campaign: Campaign, plan: Plan, proof: ClaimProof, threat: Threat, seconds: float) -> Result:
    if proof.proved:
        detail = f"any number of everything; rests on {counted(len(proof.lemmas), 'lemma')}"
    else:
        missing = proof.missing
        detail = proof.reason or f"{counted(len(missing), 'obligation')} open: " + ", ".join(missing[:3])
        detail += ", …" if len(missing) > 3 else ""
    return Result(
        protocol=campaign.request.source.family.id,
        variant=plan.protocol.variant,
        claim=proof.claim,
        threat=threat.id,
        engine=INDUCTION,
        verdict=Verdict.PROVED if proof.proved else Verdict.UNKNOWN,
        expected=Verdict.PROVED,
        detail=detail,
        seconds=seconds,
        assumptions=plan.protocol.resting_on(proof.assumptions),
        defences=proof.defences,
        lemmas=proof.lemmas,
    )


def _explored(campaign: Campaign, on_event: Event) -> Iterator[Found]:
    tasks = [task for plan in campaign.plans for task in _searches(campaign, plan)]
    tasks.sort(key=lambda task: not task.directed)  # the longest first, so that no worker waits at the end

    def progress(running: Sequence[tuple[Search, int, int]]) -> None:
        parts = [f"{t.variant} · {t.threat}: {states:,} states, depth {depth}" for t, states, depth in running]
        if parts:
            on_event("status", "; ".join(parts))

    on_event("status", counted(len(tasks), "exploration"))
    for task, outcome in run_all(tasks, campaign.request.jobs, progress):
        found = outcome if isinstance(outcome, Found) else failed(task, [f"{type(outcome).__name__}: {outcome}"])
        where = "directed run" if task.directed else task.threat
        fallen = f"; falls: {', '.join(found.violations)}" if found.violations else ""
        on_event("line", f"{task.variant} · {where}: {found.covered} in {found.seconds:.1f} s{fallen}")
        yield found


def caps_of(profile: str, jobs: int, memory: int | None = None) -> Caps:
    """Return where the explorations of a profile stop: the workers share the memory, at most what is free of it."""
    return _within_memory(CAPS.get(profile, Caps()), jobs, memory)


def _within_memory(caps: Caps, jobs: int, memory: int | None) -> Caps:
    free = available_memory()
    return replace(caps, memory=memory or min(caps.memory or free, free), workers=jobs)


def _searches(campaign: Campaign, plan: Plan) -> Iterator[Search]:
    profile = campaign.profile
    request = campaign.request
    caps = caps_of(profile.name, request.jobs, request.memory)
    common: dict[str, Any] = {
        "reference": campaign.request.source.reference,
        "variant": plan.protocol.variant,
        "without": (),
        "digest": plan.protocol.digest,
    }
    near = tuple(goal.name for goal in plan.protocol.goals if _within(goal, profile))
    for threat in plan.threats:
        yield Search(**common, threat=threat.id, profile=profile, claims=plan.claims(threat), goals=near, caps=caps)
    far = [goal for goal in plan.protocol.goals if goal.name not in near]
    if far and plan.threats and not campaign.request.claims:
        longer = replace(profile, scale={**profile.scale, "rounds": max(goal.rounds for goal in far)})
        longer = campaign.request.source.family.profiles.get(DIRECTED, longer)
        yield Search(
            **common,
            threat=plan.threats[0].id,
            profile=longer,
            claims=(),
            goals=tuple(goal.name for goal in far),
            directed=True,
            caps=_within_memory(DIRECTED_CAPS, request.jobs, request.memory),
        )


def _within(goal: Goal, profile: Profile) -> bool:
    return goal.rounds <= profile.scale.get("rounds", goal.rounds)


def _judged(campaign: Campaign, found: Found) -> Iterator[Result]:
    task = found.search
    if task.directed and not found.problems:
        return
    plan = next(plan for plan in campaign.plans if plan.protocol.variant == task.variant)
    assumptions = plan.protocol.resting_on(axiom.states for axiom in plan.protocol.axioms)
    for claim in task.claims or task.goals:
        verdict, bound = _verdict(found, claim)
        trace = found.violations.get(claim)
        steps = (
            f"{counted(moves(plan.protocol, trace), 'step')} to the violation; " if trace and not found.problems else ""
        )
        holds = Verdict.EXHAUSTED if campaign.profile.budget is None else Verdict.HOLDS_TO
        yield Result(
            protocol=campaign.request.source.family.id,
            variant=task.variant,
            claim=claim,
            threat=task.threat,
            engine=EXPLICIT,
            verdict=verdict,
            expected=Verdict.VIOLATED if plan.falls(claim, task.threat) else holds,
            bound=bound,
            detail="; ".join(found.problems) or steps + _extent(campaign, found, claim),
            seconds=found.seconds,
            assumptions=assumptions,
            kind=Kind.GOAL if task.directed else Kind.CLAIM,
            steps=trace.steps if trace else (),
        )


def _extent(campaign: Campaign, found: Found, claim: str) -> str:
    size = f"{campaign.profile.name}: {found.describes}" if found.describes else campaign.profile.name
    extra = found.extra_states.get(claim, 0)
    more = f", and {extra:,} from other first values" if extra else ""
    return "; ".join(filter(None, (size, found.covered + more, found.left_out.get(claim, ""))))


def _verdict(found: Found, claim: str) -> tuple[Verdict, int | None]:
    """A search with an adversary budget is HOLDS-TO however small it was; an incomplete one is UNKNOWN."""
    if found.problems:
        return Verdict.ERROR, None
    if claim in found.violations:
        return Verdict.VIOLATED, None
    states = found.states + found.extra_states.get(claim, 0)
    if not found.complete or claim in found.left_out:
        return Verdict.UNKNOWN, states
    if found.budget is not None:
        return Verdict.HOLDS_TO, found.budget
    return Verdict.EXHAUSTED, states


# -- in which order it is told --------------------------------------------------------------------


def _order(campaign: Campaign, row: Result) -> tuple[int, ...]:
    variants = [plan.protocol.variant for plan in campaign.plans]
    plan = campaign.plans[variants.index(row.variant)]
    claims = [claim.name for claim in plan.protocol.claims]
    threats = [threat.id for threat in plan.threats]
    engines = [INDUCTION, EXPLICIT]
    return (
        variants.index(row.variant),
        list(Kind).index(row.kind),
        _place(claims, row.claim),
        _place(threats, row.threat),
        _place(engines, row.engine),
    )


def _search_order(campaign: Campaign, found: Found) -> tuple[int, ...]:
    variants = [plan.protocol.variant for plan in campaign.plans]
    threats = [threat.id for plan in campaign.plans for threat in plan.threats]
    task = found.search
    return (variants.index(task.variant), int(task.directed), threats.index(task.threat))


def _place(names: Sequence[str], name: str) -> int:
    return names.index(name) if name in names else len(names)


__all__ = [
    "CAPS",
    "ENGINES",
    "EXPLICIT",
    "INDUCTION",
    "Campaign",
    "Event",
    "GoalOutcome",
    "Plan",
    "Request",
    "planned",
    "verify",
]
