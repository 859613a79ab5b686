"""The request of a verification run: its options are checked and expanded before anything runs."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from carnet_check.engines import interface, registry
from carnet_check.engines.exploration import DEFAULT_DEPTH, DEFAULT_SEED, NO_CAPS, Caps, Walks
from carnet_check.engines.runner import ONE_PROCESS, Runner
from carnet_check.errors import UsageError
from carnet_check.loading.families import NO_THREAT, Source, unknown_name
from carnet_spec.language import Profile, Protocol, TwoRuns


@dataclass(frozen=True, slots=True)
class Request:
    """The options of a run; an empty selection means everything."""

    source: Source
    variants: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    threats: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    profile: str = "tiny"
    runner: Runner = ONE_PROCESS
    limits: Caps = NO_CAPS  #: The requested caps of explorations; all explorations share the memory.
    cti: str = ""  #: The lemma or claim whose counterexamples to induction are requested.
    depth: int | None = None  #: The most steps of a run, for engines that bound runs; ``None``: their own default.
    walks: int | None = None  #: How many random walks exploring engines take instead of visiting every state.
    seed: int | None = None  #: The seed of the random walks.


@dataclass(frozen=True, slots=True)
class Campaign:
    """A checked and expanded request; running it results in a `CampaignOutcome`."""

    request: Request
    profile: Profile
    engines: tuple[interface.Engine, ...]
    plans: tuple[interface.Plan, ...]
    notes: tuple[str, ...] = ()  #: Lint errors of the variants, and the leaks that the variants accept.

    @property
    def task(self) -> interface.Task:
        """The task for every engine."""
        request = self.request
        return interface.Task(
            source=request.source,
            profile=self.profile,
            plans=self.plans,
            every_claim=not request.claims,
            runner=request.runner,
            limits=request.limits,
        )

    @property
    def walks(self) -> Walks | None:
        """The random walks to take, or None."""
        return random_walks(self.request.walks, self.request.depth, self.request.seed)

    @property
    def declared_claims(self) -> list[str]:
        """The claims that are declared without a formula."""
        found = (claim.name for plan in self.plans for claim in plan.protocol.claims if claim.declared)
        return list(dict.fromkeys(found))

    @property
    def digests(self) -> dict[str, str]:
        """The digest of each variant's specification."""
        return {plan.protocol.variant: plan.protocol.digest for plan in self.plans}


# -- checking the request -------------------------------------------------------------------------


def plan_campaign(request: Request) -> Campaign:
    """Check a request and expand it, without running anything.

    Raises UsageError if a name does not exist, or nothing is left to check; InvalidSpecificationError if the
    specification is not well formed.
    """
    source = request.source
    for variant in request.variants:
        source.require_variant(variant)
    profile = source.profile(request.profile)
    variants = source.family.with_layers(request.variants or source.family.main)
    plans = tuple(_plan(request, variant) for variant in variants)
    _refuse_unknown("claim", request.claims, plans, _named)
    _refuse_unknown("threat model", request.threats, plans, lambda p: [threat.id for threat in p.threats])
    declared = {claim.name for plan in plans for claim in plan.protocol.claims if claim.declared}
    for name in request.claims:
        if name in declared:
            raise UsageError(f"claim '{name}' is declared but not stated yet, so there is nothing to check")
    plans = tuple(plan for plan in plans if plan.pairs or plan.liveness or plan.lemma_claims) or plans
    notes = tuple(note for plan in plans for note in (*_complaints(source, plan), *_accepted(source, plan.protocol)))
    campaign = Campaign(request, profile, _with_something_to_judge(request, plans), plans, notes)
    _refuse_empty(campaign)
    _refuse_no_induction(campaign)
    for engine in campaign.engines:
        engine.require_runnable(campaign.task)
    return campaign


def _with_something_to_judge(request: Request, plans: Sequence[interface.Plan]) -> tuple[interface.Engine, ...]:
    """Return the engines to run, without those that have nothing to judge.

    Raises UsageError if no engine has anything to judge.
    """
    engines = _engines(request)
    lemmas = any(plan.lemma_claims for plan in plans)
    steps = any(plan.pairs or plan.liveness for plan in plans) or not lemmas
    able = tuple(
        each
        for each in engines
        if (any(map(each.decided_claims, plans)) if isinstance(each, interface.JudgesLemmaClaims) else steps)
    )
    if engines and not able:
        names = " or ".join(each.name for each in engines)
        raise UsageError(f"there is nothing of what is asked for that {names} judges")
    return able


def _engines(request: Request) -> tuple[interface.Engine, ...]:
    """Return the engines to run, with the requested random walks and depth."""
    engines = registry.select_engines(request.engines)
    walks = random_walks(request.walks, request.depth, request.seed)
    if walks is not None:
        _refuse_unable(engines, interface.Samples, "takes random walks, which --simulate asks for")
        for each in engines:
            if isinstance(each, interface.Explores) and not isinstance(each, interface.Samples):
                raise UsageError(
                    f"the engine '{each.name}' takes no random walks, which --simulate asks for: leave it out"
                )
        if request.limits.states is not None:
            raise UsageError("--max-states is about visiting every state, which --simulate does not do")
        engines = tuple(each.random_walker(walks) if isinstance(each, interface.Samples) else each for each in engines)
    if request.depth is None:
        return engines
    if walks is None:
        _refuse_unable(engines, interface.Bounded, "bounds the steps of runs, which --depth asks for")
    return tuple(each.with_depth(request.depth) if isinstance(each, interface.Bounded) else each for each in engines)


def random_walks(number: int | None, depth: int | None, seed: int | None) -> Walks | None:
    """Return the requested random walks, or None. Raises UsageError if a seed is given without a number of walks."""
    if number is None:
        if seed is not None:
            raise UsageError("--seed expects --simulate N: nothing else is random")
        return None
    return Walks(number, DEFAULT_DEPTH if depth is None else depth, DEFAULT_SEED if seed is None else seed)


def _refuse_unable(engines: Sequence[interface.Engine], kind: type[interface.Engine], what: str) -> None:
    """Refuse an option that no engine of the run supports."""
    if not any(isinstance(engine, kind) for engine in engines):
        able = " or ".join(engine.name for engine in registry.registered_engines() if isinstance(engine, kind))
        raise UsageError(f"none of the engines {what}: add {able}")


def _refuse_no_induction(campaign: Campaign) -> None:
    """Refuse ``--cti`` for an unknown invariant, or if no engine of the run finds counterexamples to induction."""
    name = campaign.request.cti
    if not name:
        return
    known = dict.fromkeys(each.name for plan in campaign.plans for each in plan.protocol.invariants)
    if name not in known:
        raise UsageError(unknown_name("lemma or claim", name, campaign.request.source.family.id, known))
    shown = registry.able(interface.Diagnoses).shows
    _refuse_unable(campaign.engines, interface.Diagnoses, f"finds a {shown}, which --cti asks for")


def _plan(request: Request, variant: str) -> interface.Plan:
    family = request.source.family
    protocol = request.source.sound_variant(variant)
    declared = protocol.threats or (NO_THREAT,)
    threats = tuple(t for t in declared if not request.threats or t.id in request.threats)
    pairs = []
    lemma_claims = tuple(
        (claim, threat)
        for claim in protocol.lemma_claims
        if not request.claims or claim.name in request.claims
        for threat in threats
        if threat.id in (claim.under if protocol.threats else (NO_THREAT.id,))
    )
    asked = {*request.claims, *(name for claim, _ in lemma_claims for name in claim.theorems)}
    falling = {(f.claim, f.threat) for f in family.findings if f.variant == variant and not f.without}
    for claim in protocol.claims:
        if claim.declared or (request.claims and claim.name not in asked):
            continue
        named = (*claim.under, *claim.fails_under) if protocol.threats else (NO_THREAT.id,)
        pairs += [(claim, threat) for threat in threats if threat.id in named]
        falling |= {(claim.name, threat) for threat in claim.fails_under}
    liveness = tuple(live for live in protocol.liveness if not request.claims or live.name in request.claims)
    falling |= {(live.name, threat) for live in liveness for threat in live.fails_under}
    used = {threat.id for threat in threats} if liveness else {threat.id for _, threat in (*pairs, *lemma_claims)}
    return interface.Plan(
        protocol=protocol,
        label=family.variants[variant].label,
        threats=tuple(threat for threat in threats if threat.id in used),
        pairs=tuple(pairs),
        expected_to_fall=frozenset(falling),
        every_threat=len(threats) == len(declared) and not request.claims,
        liveness=liveness,
        lemma_claims=lemma_claims,
    )


def _named(protocol: Protocol) -> list[str]:
    """Return the names of the claims and lemmas that can be requested."""
    return [*protocol.claim_names, *(live.name for live in protocol.liveness)]


def _refuse_unknown(
    what: str, names: Iterable[str], plans: Sequence[interface.Plan], listed: Callable[[Protocol], Iterable[str]]
) -> None:
    known = dict.fromkeys(name for plan in plans for name in listed(plan.protocol))
    for name in names:
        if name not in known:
            raise UsageError(unknown_name(what, name, plans[0].protocol.id, known))


def _refuse_empty(campaign: Campaign) -> None:
    if not campaign.engines:
        raise UsageError("no engine runs, so nothing would be established: name one with --engine")
    pairs = [(claim.name, threat.id, plan) for plan in campaign.plans for claim, threat in plan.pairs]
    request = campaign.request
    lively = [live.name for plan in campaign.plans for live in plan.liveness]
    if any(plan.lemma_claims for plan in campaign.plans) and not pairs:
        return
    if lively and not pairs:
        if not any(
            isinstance(engine, interface.ProvesLiveness | interface.DecidesLiveness) for engine in campaign.engines
        ):
            raise UsageError(
                f"none of the engines judges liveness, and nothing but {', '.join(lively)} is to be judged"
            )
        if not any(plan.liveness_to_prove for plan in campaign.plans):
            _refuse_unrefuting(campaign, interface.DecidesLiveness)
        return
    if not pairs and (request.claims or request.threats):
        chosen = " and ".join(
            part
            for part in (
                f"claim {', '.join(request.claims)}" if request.claims else "",
                f"threat model {', '.join(request.threats)}" if request.threats else "",
            )
            if part
        )
        raise UsageError(f"nothing to check: no claim is made for {chosen} together")
    if not pairs:
        raise UsageError(f"'{request.source.family.id}' states no claim, so there is nothing to check")
    if all(plan.expects_violation(claim, threat) for claim, threat, plan in pairs):
        _refuse_unrefuting(campaign, interface.Engine)


def _refuse_unrefuting(campaign: Campaign, kind: type[interface.Engine]) -> None:
    """Refuse a run in which no engine of a kind can show violations, as it would judge nothing."""

    def able(engines: Iterable[interface.Engine]) -> list[str]:
        return [each.name for each in engines if each.refutes and isinstance(each, kind)]

    if not able(campaign.engines):
        asked = " and ".join(engine.name for engine in campaign.engines)
        judges = (each for each in registry.registered_engines() if not isinstance(each, interface.JudgesLemmaClaims))
        told = f"which {asked} cannot show: use the {' or '.join(able(judges))} engine"
        raise UsageError(f"what is asked for is expected to be violated, {told}")


def _complaints(source: Source, plan: interface.Plan) -> list[str]:
    variant = plan.protocol.variant
    return [f"{variant}: lint {each}" for each in source.lint_errors(variant)]


def _accepted(source: Source, protocol: Protocol) -> list[str]:
    """Return notes about the accepted leaks of a two-run protocol."""
    draft = source.family.draft_of(protocol.variant)
    accepted = draft.accepted_leaks if isinstance(draft, TwoRuns) else ()
    return [f"{protocol.variant}: accepted leak {leak}" for leak in accepted]
