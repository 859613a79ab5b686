"""The outcome of a verification run."""

import itertools
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from carnet_check.engines.exploration import Coverage, Search
from carnet_check.engines.exploring.searches import MOST_STATES_DRAWN, SOUGHT_CAPS, moves, search_scope, within
from carnet_check.engines.interface import Cti, Diagnoses, EngineResult, Explores, InvariantStatus, Plan, Status
from carnet_check.engines.registry import able
from carnet_check.engines.runner import Listener
from carnet_check.loading.scope import scope_of
from carnet_check.minimise import minimise
from carnet_check.results import Kind, Result, Verdict, as_html, by_verdict, exit_code, steps_as_json
from carnet_check.semantics import Interpreter
from carnet_check.verification.planning import Campaign
from carnet_check.wording import narrate, reasons
from carnet_command.text import plural, wrap_text
from carnet_spec.language import Claim, Instance, Invariant, Profile, Protocol, markup
from carnet_spec.trace import Trace

SHOWN = 3  #: How many counterexamples to induction a run looks for, unless those of one invariant are requested.
SHOWN_OF_ONE = 5  #: How many it looks for if those of one invariant are requested.
#: The most states in the search for violations of lemmas, in all instances of a variant together.
MOST_STATES = 1_000_000


@dataclass(frozen=True, slots=True)
class Refutation:
    """A search that found a reachable state which violates an invariant, and the protocol that it explored.

    The protocol is the verified one, with the lemmas to refute added as claims.
    """

    protocol: Protocol
    search: Coverage
    trace: Trace


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The status of an invariant, and its evidence."""

    standing: InvariantStatus  #: the status from the proving engine, or REFUTED if exploring refutes the invariant.
    engine: str  #: the proving engine.
    refutation: Refutation | None = None  #: a trace to a state that violates it, if there is one.
    searched: str = ""  #: the searches that found no such trace.
    ctis: tuple[Cti, ...] = ()  #: counterexamples to induction.


def diagnose(
    campaign: Campaign, answers: Sequence[EngineResult], results: Sequence[Result], listener: Listener
) -> tuple[Diagnosis, ...]:
    """Return the status of every invariant that a proving engine judged.

    Instances larger than the profile's are explored if a row of the variant is not as expected, since only then a proof
    needs repair, or if counterexamples are requested.
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
    return tuple(_counterexamples(campaign, found, listener))


# -- is an unproved invariant false? ---------------------------------------------------------------


def _searched(
    campaign: Campaign,
    plan: Plan,
    answers: Sequence[EngineResult],
    told: Sequence[Diagnosis],
    sizes: Sequence[Profile],
    listener: Listener,
) -> list[Diagnosis]:
    """Look for reachable states that violate unproved lemmas; claims were explored before."""
    lemmas = tuple(Claim(lemma.name, lemma, lemma.says, "", "", lemma.under) for lemma in plan.protocol.lemmas)
    protocol = replace(plan.protocol, claims=(*plan.protocol.claims, *lemmas))
    sought = [each.standing for each in told if each.standing.lemma and each.standing.status is not Status.PROVED]
    searches: list[Coverage] = []
    if sought:
        listener.status(f"{plan.protocol.variant}: looking for states that break lemmas")
        searches = list(_searches(campaign, plan, protocol, sought, sizes))
    claimed = [each for answer in answers for each in answer.searches if each.search.variant == protocol.variant]
    explored = {True: searches, False: claimed}
    return [_judged(each, protocol, explored[each.standing.lemma]) for each in told]


def _searches(
    campaign: Campaign, plan: Plan, protocol: Protocol, sought: Sequence[InvariantStatus], sizes: Sequence[Profile]
) -> Iterator[Coverage]:
    """Explore the instances, the smallest first, under each threat model, for the invariants not yet refuted."""
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
    """Return the diagnosis after searches for a violation; a search with an internal error shows nothing."""
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
    told_of = (f"{each.search.threat}, {each.search.profile.name}: {each.description}" for each in mine)
    return replace(told, searched="; ".join(told_of))


# -- or does its proof lack a lemma? ---------------------------------------------------------------


def _counterexamples(campaign: Campaign, told: Sequence[Diagnosis], listener: Listener) -> Iterator[Diagnosis]:
    """Yield the diagnoses with counterexamples to induction: those of the requested invariant, or the first few."""
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


@dataclass(frozen=True, slots=True)
class GoalOutcome:
    """Whether a goal was reached in a variant, and in how many steps under which threat model."""

    variant: str
    goal: str
    sentence: str
    rounds: int
    reached: bool
    threat: str = ""
    steps: int | None = None
    where: str = ""
    directed: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True)
class CampaignOutcome:
    """The verdicts of a run in a fixed order, and their evidence.

    ``answers`` are the engines' answers; ``results`` are their rows after the checks: vacuous ones are marked, and
    there is a row for each goal, action and threat model that is vacuous.
    """

    campaign: Campaign
    answers: tuple[EngineResult, ...] = ()
    results: tuple[Result, ...] = ()
    goals: tuple[GoalOutcome, ...] = ()
    notes: tuple[str, ...] = ()
    asides: frozenset[str] = frozenset()  #: The notes that cast no doubt on a verdict.
    seconds: float = 0.0
    diagnoses: tuple[Diagnosis, ...] = ()  #: The status of each claim and lemma, if an engine proves by induction.

    @property
    def searches(self) -> tuple[Coverage, ...]:
        """The searches of all engines."""
        return tuple(found for answer in self.answers for found in answer.searches)

    @property
    def explored(self) -> list[dict[str, Any]]:
        """The scopes of the searches of all engines, as JSON values."""
        return [
            {
                "engine": answer.engine,
                "variant": found.search.variant,
                "threat": found.search.threat,
                "profile": found.search.profile.name,
                "directed": found.search.directed,
                "beyond_profile": found.search.sought,
                "covered": found.description,
                **found.scope.explored.as_json(),
            }
            for answer in self.answers
            for found in answer.searches
            if found.scope
        ]

    @property
    def limits(self) -> Iterator[str]:
        """Yield why explorations are incomplete: requested limits, or interpretations that were drawn at random."""
        limits = self.campaign.request.limits
        if limits.states is not None:
            yield f"asked for: {limits.states:,} states per exploration"
        elif any(found.scope and found.scope.explored.shortfall for found in self.searches):
            yield f"{MOST_STATES_DRAWN:,} states where interpretations are drawn"
        if limits.seconds is not None:
            yield f"asked for: {limits.seconds:,.0f} s per exploration"

    def instance_of(self, row: Result) -> Instance:
        """Return the instance in which the violation of a row was found."""
        return self.violation_of(row).instance_of(row.claim)

    def violation_of(self, row: Result) -> Coverage:
        """Return the search that found the violation of a row."""
        return next(
            found
            for answer in self.answers
            for found in answer.searches
            if (answer.engine, found.search.variant, found.search.threat) == (row.engine, row.variant, row.threat)
            and row.claim in found.violations
        )

    def again(self, row: Result) -> str:
        """Return the command that finds the violation of a row again."""
        request = self.campaign.request
        names = (request.source.shown, row.variant, row.threat, row.claim, request.profile)
        shown, variant, threat, claim, profile = map(shlex.quote, names)
        pair = f"--variant {variant} --threat {threat} --claim {claim}"
        if row.kind is Kind.LIVENESS:
            under = f" --threat {threat}" if self.campaign.task.plan(row.variant).protocol.threats else ""
            asked = f"--variant {variant}{under} --claim {claim} --engine {row.engine}"
            return f"carnet verify {shown} {asked} --profile {profile}"
        found = self.violation_of(row)
        if found.walk_coverage is None and not found.search.alone:
            return f"carnet attack {shown} {pair}"
        options = [f"--engine {row.engine}"]
        if found.walk_coverage is not None and (walks := self.campaign.walks):
            options += [f"--simulate {walks.number} --seed {walks.seed} --profile {profile}"]
        options += [] if request.depth is None else [f"--depth {request.depth}"]
        return f"carnet verify {shown} {pair} {' '.join(options)}"

    def _repr_html_(self) -> str:
        """Return the HTML for a notebook: the number of verdicts of each kind, and a table of all."""
        summary = self.summary()
        counts = " · ".join(f"{word} {count}" for word, count in summary["by_verdict"].items())
        whether = "every verdict as expected" if summary["as_expected"] else "not every verdict as expected"
        title = f"{self.campaign.request.source.family.title}: {whether}"
        return markup.document(title, markup.paragraph(counts), as_html(self.results))

    @property
    def exit_code(self) -> int:
        """The exit code of the command."""
        return exit_code(self.results)

    def summary(self) -> dict[str, Any]:
        """Return the summary object of the command's contract."""
        return {
            "as_expected": all(result.as_expected for result in self.results),
            "by_verdict": by_verdict(self.results),
            "declared": self.campaign.declared_claims,
        }


def rows_of(answers: Sequence[EngineResult]) -> list[Result]:
    """Return the rows of all engines."""
    return [row for answer in answers for row in answer.rows]


# --------------------------------------------------------------------------------------------------
# The status of claims and lemmas, as plain JSON values, and as text for those that are not proved.
#
# Terminal output, summaries and pages about a failed induction are all made from these values.


Values = Mapping[str, Any]

INDENT = 15
SHOWN_UNPROVED = 12  #: The most claims and lemmas of a variant that a terminal lists as not proved.
SHOWN_NAMES = 5
STORIES = 3  #: The most refuted lemmas whose traces are described step by step.
UNREACHED = "The interpreter took this step and judged both states. Whether the first can be reached is not known."


def invariants_as_json(outcome: CampaignOutcome) -> list[dict[str, Any]]:
    """Return the status of every claim and lemma, in the order of the variants and of the specification.

    Raises EngineError if the interpreter does not reproduce a refuting trace.
    """
    return list(_invariants(outcome))


def _invariants(outcome: CampaignOutcome) -> Iterator[dict[str, Any]]:
    """Yield the status of each; the first refuted lemmas have a described trace. For claims, attacks have it."""
    left = STORIES
    for told in outcome.diagnoses:
        standing, trace = told.standing, None
        if told.refutation and standing.lemma and left:
            left -= 1
            trace = _trace(standing.invariant, told.refutation)
        yield {
            "variant": standing.variant,
            "name": standing.invariant,
            "kind": "lemma" if standing.lemma else "claim",
            "threat": standing.layer,
            "engine": told.engine,
            "status": str(standing.status),
            "detail": _detail(told, trace),
            "failing": list(standing.failing),
            "open": list(standing.open),
            "rests_on": list(standing.rests_on),
            "expected": _expected(outcome, told),
            "counterexamples": [cti.as_json() for cti in told.ctis],
            "trace": trace,
        }


def _trace(name: str, found: Refutation) -> dict[str, Any]:
    """Return the minimised and replayed trace that violates an invariant."""
    protocol, instance = found.protocol, found.search.instance_of(name)
    judge, invariant = Interpreter(protocol, instance), invariant_of(protocol, name)
    trace = minimise(judge, invariant, found.trace)
    states = judge.replay(trace)
    return {
        "threat": found.search.search.threat,
        "profile": found.search.search.profile.name,
        "instance": instance.words,
        "moves": moves(protocol, trace),
        "steps": steps_as_json(trace.steps),
        "story": narrate(protocol, states, trace),
        "reason": reasons(judge, invariant, trace, states),
    }


def _detail(told: Diagnosis, trace: Values | None) -> str:
    standing = told.standing
    if standing.status is Status.PROVED:
        return ""
    if told.refutation:
        steps = trace["moves"] if trace else moves(told.refutation.protocol, told.refutation.trace)
        return f"false after {plural(steps, 'step')} in a reachable state, replayed by the interpreter"
    parts = []
    if standing.failing:
        parts.append(f"{plural(len(standing.failing), 'obligation')} with a {able(Diagnoses).shows}")
    if standing.open:
        parts.append(f"{plural(len(standing.open), 'obligation')} without an answer: {'; '.join(standing.open[:3])}")
    if standing.rests_on:
        parts.append(f"its proof rests on {_few(standing.rests_on)}, not proved")
    parts.append(f"no explored state breaks it ({told.searched})" if told.searched else "not explored")
    return "; ".join(parts)


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - SHOWN_NAMES} more" if len(names) > SHOWN_NAMES else ""
    return ", ".join(names[:SHOWN_NAMES]) + more


def _expected(outcome: CampaignOutcome, told: Diagnosis) -> bool:
    """Whether the invariant is that of a claim whose violation is expected and found."""
    standing = told.standing
    rows = [
        row
        for row in outcome.results
        if (row.variant, row.claim) == (standing.variant, standing.invariant)
        and row.verdict is Verdict.VIOLATED
        and standing.layer in ("", row.threat)
    ]
    return not standing.lemma and bool(rows) and all(row.as_expected for row in rows)


# -- as text ---------------------------------------------------------------------------------------


def unproved_invariants(found: Sequence[Values]) -> list[Values]:
    """Return the unproved claims and lemmas, first those with a failing obligation of their own.

    Refuted claims are left out: their attacks are described elsewhere.
    """
    open_ = [each for each in found if each["status"] != Status.PROVED and not _is_attacked(each)]
    return sorted(open_, key=lambda each: not (each["failing"] or each["open"]))


def _is_attacked(each: Values) -> bool:
    return bool(each["expected"]) or (each["kind"] == "claim" and each["status"] == Status.REFUTED)


def unproved_lines(found: Sequence[Values], cti: str = "") -> Iterator[str]:
    """Yield the lines about unproved claims and lemmas; the one named ``cti`` is included even if it is proved."""
    for variant in dict.fromkeys(each["variant"] for each in found):
        mine = [each for each in found if each["variant"] == variant]
        open_ = unproved_invariants(mine)
        if open_:
            yield f"claims and lemmas without a proof in {variant}"
            for each in open_[:SHOWN_UNPROVED]:
                yield from _unproved_lines(each)
            if len(open_) > SHOWN_UNPROVED:
                yield f"  and {len(open_) - SHOWN_UNPROVED} more (--json lists them)"
            yield ""
        for each in (each for each in mine if cti and each["name"] == cti):
            if not each["counterexamples"]:
                where = f" under {each['threat']}" if each["threat"] else ""
                why = "proved" if each["status"] == Status.PROVED else "none of its own obligations has one"
                yield f"no {able(Diagnoses).shows} of {each['name']} in {each['variant']}{where}: {why}"
                yield ""


def _unproved_lines(each: Values) -> Iterator[str]:
    where = f" under {each['threat']}" if each["threat"] else ""
    yield f"  {each['name']} ({each['kind']}{where}): {each['status']}"
    yield from wrap_text("", each["detail"], 4)
    if each["trace"] is not None:
        yield from (f"    {line}" for line in [*each["trace"]["story"], *each["trace"]["reason"]])
    for cti in each["counterexamples"]:
        yield from cti_lines(cti)


def cti_lines(cti: Values) -> Iterator[str]:
    """Yield the lines about a counterexample to induction: the state, the step, its changes, and what is false then."""
    yield f"    {able(Diagnoses).shows}: {cti['obligation']}"
    if cti["unconfirmed"]:
        yield from wrap_text("", f"unconfirmed, so no state is shown: {cti['unconfirmed']}", 6)
        return
    for label, text in cti_parts(cti):
        yield from wrap_text(f"      {label}", text, INDENT + 6)
    yield from wrap_text("", UNREACHED if cti["action"] else "The interpreter judged this first state.", 6)


def cti_parts(cti: Values) -> Iterator[tuple[str, str]]:
    """Yield the parts of a counterexample to induction in order, each with its label."""
    yield "invariant", cti["formula"]
    if cti["about"]:
        yield "for", ", ".join(f"{name} = {element}" for name, element in cti["about"].items())
    yield "elements", "; ".join(f"{sort}: {', '.join(names)}" for sort, names in cti["elements"].items())
    if cti["holding"]:
        yield "holds before", ", ".join(cti["holding"])
    yield "before" if cti["action"] else "first state", ", ".join(cti["before"]) or "nothing"
    if cti["fixed"]:
        yield "never changes", ", ".join(cti["fixed"])
    if cti["beside"]:
        yield "not read", ", ".join(cti["beside"])
    if cti["action"]:
        args = ", ".join(f"{name} = {element}" for name, element in cti["args"].items())
        yield "step", f"{cti['action']}({args}): {cti['sentence']}"
        yield "changes", ", ".join(cti["changes"]) or "nothing"
    yield "false after" if cti["action"] else "false", ", ".join(cti["false"]) or cti["formula"]
