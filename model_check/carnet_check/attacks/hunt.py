"""The search for an attack: small instances first, then a proof that there is none, then larger instances.

Every stage is a search for a shortest violation, with an adversary budget where the stage has one. If the first stage
finds nothing, the hunt tries to prove the weakened protocol with the lemmas that still hold. A proof ends the hunt,
because it holds for every size. Otherwise the larger stages follow, and if they find nothing, a proof is tried again,
with more work for each obligation. If that fails as well, the verdict is UNKNOWN.
"""

from collections.abc import Callable
from dataclasses import dataclass

from carnet_check.attacks.describing import DecisiveStep, as_html, intact_outcome
from carnet_check.engines.exploration import Caps, Coverage, Search
from carnet_check.engines.exploring.searches import GIBIBYTE, search_scope, within
from carnet_check.engines.interface import Explores, ProvesWeakened
from carnet_check.engines.registry import able
from carnet_check.errors import EngineError, UsageError
from carnet_check.loading.extent import available_memory, refuse_instance
from carnet_check.loading.families import NO_THREAT, Source, unknown_name
from carnet_check.loading.scope import scope_of
from carnet_check.minimise import minimise
from carnet_check.results import Verdict
from carnet_check.semantics import Interpreter, State
from carnet_check.wording import is_deduction
from carnet_command.text import plural
from carnet_spec.language import Finding, Profile, Protocol, Threat, markup
from carnet_spec.trace import Trace

STAGE_CAPS = Caps(states=2_000_000, memory=6 * GIBIBYTE)

Say = Callable[[str], None]


def caps_within(memory: int | None) -> Caps:
    """Return the caps of one stage of a hunt; if ``memory`` is None, the stage may use most of the free memory."""
    return within(STAGE_CAPS, 1, Caps(memory=memory))


@dataclass(frozen=True)
class AttackTarget:
    """What a hunt attacks: claims of a weakened protocol under one threat model."""

    source: Source
    protocol: Protocol
    removed: tuple[str, ...]
    threat: Threat
    claims: tuple[str, ...]
    finding: Finding | None = None


@dataclass(frozen=True)
class Hunt:
    """The outcome of a hunt.

    ``verdict`` is VIOLATED with a minimal trace that the interpreter replayed, PROVED if the claims are still inductive
    (what was removed is redundant under this threat model), and UNKNOWN with what was covered otherwise.
    """

    target: AttackTarget
    verdict: Verdict
    claim: str
    detail: str
    trace: Trace | None = None
    states: tuple[State, ...] = ()
    judge: Interpreter | None = None
    profile: Profile | None = None
    stages: tuple[Coverage, ...] = ()
    assumptions: tuple[str, ...] = ()
    #: The first step that the intact design does not take with the same outcome, unless the claim falls there, too.
    decisive: DecisiveStep | None = None

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the attack, or that there is none and how that is known."""
        if self.trace is None or self.judge is None:
            design = self.target.protocol
            title = f"{self.verdict}: {markup.design(design.id, design.variant, self.target.removed)}"
            return markup.document(title, markup.paragraph(self.detail))
        failing = self.target.protocol.claim(self.claim).checked
        return as_html(self.judge, failing, self.trace, self.states, self.decisive)


def attack_target(
    source: Source,
    *,
    variant: str = "",
    without: tuple[str, ...] = (),
    threat: str = "",
    claim: str = "",
    every_claim: bool = False,
) -> AttackTarget:
    """Return the target of a hunt, after a check that everything that is named exists.

    Without ``claim``, the target is the claim that a known finding names, or any claim made under the threat model.
    With ``every_claim``, claims that are expected to be violated under the threat model belong to the target, too.

    Raises UsageError if something that is named does not exist, or the combination makes no sense.
    """
    base = variant or _base(source, without)
    source.sound_variant(base)
    protocol = source.protocol(base, without)
    model = _threat(source, protocol, threat)
    if every_claim:
        return AttackTarget(source, protocol, without, model, _claims_named(protocol, model))
    finding = _finding(source, protocol, model, claim)
    sought = claim or (finding.claim if finding else "")
    return AttackTarget(source, protocol, without, model, _claims(protocol, model, sought), finding)


def ignore_progress(said: str) -> None:
    """Discard a progress message."""


def hunt(target: AttackTarget, *, jobs: int = 1, caps: Caps = STAGE_CAPS, progress: Say = ignore_progress) -> Hunt:
    """Look for an attack on ``target``; ``progress`` is called with a line about each stage.

    Raises EngineError if an engine reports an attack that the interpreter does not reproduce.
    """
    stages: list[Coverage] = []
    first, *larger = target.source.family.sizes_to_hunt(target.protocol.variant)
    last = larger[-1] if larger else first
    for profile in (first, *larger):
        found = _search(target, profile, caps, progress)
        stages.append(found)
        if found.problems:
            raise EngineError("; ".join(found.problems))
        if found.violations:
            return _end_with_attack(target, profile, stages)
        if found.stopped_by == "interrupt":
            raise KeyboardInterrupt
        if profile in (first, last):
            why = _redundant(target, jobs, progress, quickly=profile is not last)
            if why:
                return Hunt(target, Verdict.PROVED, _only(target), why, stages=tuple(stages))
    covered = "; ".join(f"{found.search.profile.name}: {found.description}" for found in stages)
    detail = f"neither attacked nor proved; searched {covered}"
    return Hunt(target, Verdict.UNKNOWN, _only(target), detail, stages=tuple(stages))


def not_attacked(target: AttackTarget) -> tuple[str, ...]:
    """Return the stated claims that a hunt for any claim leaves out, as they are not made under the threat model."""
    if target.claims != _claims(target.protocol, target.threat, ""):
        return ()  # the target is one claim
    return tuple(c.name for c in target.protocol.claims if not c.declared and c.name not in target.claims)


def _only(target: AttackTarget) -> str:
    """Return the one claim of the target, or an empty text if there are several."""
    return target.claims[0] if len(target.claims) == 1 else ""


# -- what is hunted -------------------------------------------------------------------------------


def _base(source: Source, without: tuple[str, ...]) -> str:
    """Return the variant that the defences are removed from."""
    default = source.family.main[0]
    known = {defence.id: defence for defence in source.protocol(default).defences}
    bases = {known[name].base or default for name in without if name in known}
    if len(bases) > 1:
        raise UsageError(
            f"{', '.join(without)} belong to different variants ({', '.join(sorted(bases))}): "
            "say which one with --variant"
        )
    return bases.pop() if bases else default


def _threat(source: Source, protocol: Protocol, name: str) -> Threat:
    if not protocol.threats:
        if name:
            raise UsageError(f"'{protocol.id}' declares no threat model, so there is no '{name}'")
        return NO_THREAT
    known = {threat.id: threat for threat in protocol.threats}
    if name and name not in known:
        raise UsageError(unknown_name("threat model", name, protocol.id, known))
    weakest = min(reversed(protocol.threats), key=lambda threat: len(threat.axioms))
    return known[name] if name else known.get(source.family.default_threat, weakest)


def _finding(source: Source, protocol: Protocol, threat: Threat, claim: str) -> Finding | None:
    """Return the finding whose example is this design, whether the caller named the design by variant or defences.

    A finding of this variant comes before those of any variant.
    """
    for finding in sorted(source.family.findings, key=lambda each: each.variant != protocol.variant):
        if finding.threat == threat.id and claim in ("", finding.claim):
            design = _design(source, finding, protocol.variant)
            if design is not None and design.actions == protocol.actions:
                return finding
    return None


def _design(source: Source, finding: Finding, variant: str) -> Protocol | None:
    """Return the design that a finding attacks, of ``variant`` if the finding names none; None if there is none."""
    try:
        return source.protocol(finding.variant or variant, finding.without)
    except UsageError:
        return None


def _claims(protocol: Protocol, threat: Threat, name: str) -> tuple[str, ...]:
    stated = {claim.name: claim for claim in protocol.claims}
    if name:
        if name not in stated:
            raise UsageError(unknown_name("claim", name, protocol.id, stated))
        claim = stated[name]
        if claim.declared:
            raise UsageError(f"claim '{name}' is declared but not stated yet, so it cannot be attacked")
        named = (*claim.under, *claim.fails_under)
        if threat != NO_THREAT and threat.id not in named:
            raise UsageError(
                f"claim '{name}' is not made under threat model '{threat.id}' (made under: {', '.join(named)})"
            )
        return (name,)
    found = tuple(
        claim.name
        for claim in protocol.claims
        if not claim.declared and (threat == NO_THREAT or threat.id in claim.under)
    )
    if not found:
        raise UsageError(f"no claim of '{protocol.id}' is made under threat model '{threat.id}'")
    return found


def _claims_named(protocol: Protocol, threat: Threat) -> tuple[str, ...]:
    """Return every stated claim that mentions the threat model, even as one under which the claim is violated."""
    stated = (claim for claim in protocol.claims if not claim.declared)
    return tuple(c.name for c in stated if threat == NO_THREAT or threat.id in (*c.under, *c.fails_under))


# -- how it is hunted -----------------------------------------------------------------------------


def _search(target: AttackTarget, profile: Profile, caps: Caps, progress: Say) -> Coverage:
    scope = scope_of(target.source, target.protocol, target.threat.id, profile, target.claims).shared_part
    memory = available_memory() if caps.memory is None else caps.memory
    for instance, _ in scope.instances:
        refuse_instance(target.protocol, instance, memory)
    task = Search(
        reference=target.source.reference,
        variant=target.protocol.variant,
        without=target.removed,
        threat=target.threat.id,
        profile=profile,
        claims=target.claims,
        stop_at_first=True,
        caps=caps,
    )
    moves = "" if profile.budget is None else f", at most {plural(profile.budget, 'active adversary move')}"
    progress(f"searching {profile.name}: {scope.explored.words}{moves}")

    def watch(states: int, depth: int) -> None:
        progress(f"searching {profile.name}: {states:,} states, depth {depth}")

    return search_scope(able(Explores), task, target.protocol, scope, watch)


def _end_with_attack(target: AttackTarget, profile: Profile, stages: list[Coverage]) -> Hunt:
    """Return the hunt that ends with an attack: minimise the shortest violation, and have the interpreter replay it."""
    violations = stages[-1].violations
    order = {name: place for place, name in enumerate(target.claims)}
    claim = min(violations, key=lambda name: (len(violations[name].steps), order[name]))
    invariant = target.protocol.claim(claim).checked
    judge = Interpreter(target.protocol, stages[-1].instance_of(claim))
    trace = minimise(judge, invariant, violations[claim])
    states = judge.replay(trace)
    if judge.holds(invariant.formula, states[-1]):
        raise EngineError(f"the minimised attack on {claim} does not replay")
    intact = intact_outcome(target.source, target.protocol, target.removed, claim, judge, trace, states)
    replayed = replayed_in(target.protocol, trace, profile)
    return Hunt(
        target,
        Verdict.VIOLATED,
        claim,
        f"{replayed}; {intact.violated}" if intact.violated else replayed,
        trace,
        tuple(states),
        judge,
        profile,
        tuple(stages),
        decisive=intact.decisive,
    )


def replayed_in(protocol: Protocol, trace: Trace, profile: Profile) -> str:
    """Return the words for the length of an attack and the size of the instance in which it was replayed."""
    taken = sum(not is_deduction(protocol.action(step.action)) for step in trace.steps)
    return f"{plural(taken, 'step')} and {plural(len(trace.steps) - taken, 'deduction')}; replayed in {profile.name}"


def _redundant(target: AttackTarget, jobs: int, progress: Say, *, quickly: bool) -> str:
    """Return the words for how every claim was proved in the weakened protocol; empty if no proof was found."""
    progress("no attack so far; trying to prove that there is none")
    threat = None if target.threat == NO_THREAT else target.threat

    def watch(done: int, total: int) -> None:
        progress(f"trying to prove that there is no attack: {done} of {total} obligations")

    proves_weakened = able(ProvesWeakened).proves_weakened
    if not proves_weakened(target.source, target.protocol, threat, target.claims, jobs, watch, quickly=quickly):
        progress("not every claim is proved" + ("; searching on" if quickly else ""))
        return ""
    under = target.threat.id
    if not target.removed:
        return f"every claim attacked is proved for variant {target.protocol.variant} under {under}"
    return f"every claim attacked is still proved without {', '.join(target.removed)}: redundant under {under}"
