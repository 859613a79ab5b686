"""One screen about a verification run: the outcome, then what holds, the expected violations, and the assumptions.

``carnet verify --long`` prints the matrices of :mod:`carnet_check.commands.matrix` instead, with every number.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from carnet_check.commands.matrix import NOT_CLAIMED, as_line, longest, unexpected_lines
from carnet_check.engines.exploring.searches import describe_length
from carnet_check.engines.interface import Plan
from carnet_check.loading.families import Source
from carnet_check.results import MARKS, STRENGTH, Kind, Result, Verdict
from carnet_check.verification.outcome import CampaignOutcome
from carnet_check.wording import fill_places, list_assumptions
from carnet_command.text import LABEL_WIDTH, hanging, join_words, plural, wrap_text
from carnet_spec.language import Service
from carnet_spec.trace import Trace

#: For each verdict, its text in the legend.
LEGEND: Mapping[Verdict, str] = {
    Verdict.PROVED: "any number",
    Verdict.EXHAUSTED: "every state of '{profile}'",
    Verdict.HOLDS_TO: "up to a bound on the adversary's moves",
    Verdict.SAMPLED: "random walks only",
    Verdict.VIOLATED: "attack",
    Verdict.UNKNOWN: "unknown",
    Verdict.VACUOUS: "vacuous",
    Verdict.ERROR: "error",
}
ALARM = "!"  #: The suffix of a mark that is not as expected.
COLUMNS = 80  #: The most columns of the first line.
SOME_SECONDS = 10  #: The number of seconds from which on tenths are not shown.
TOGETHER = 4  #: The number of claims from which on those with equal verdicts share a row.

Cells = tuple[str, ...]


def screen(outcome: CampaignOutcome, verdicts: Mapping[str, int], said: str) -> list[str]:
    """Return the lines of the screen; unexpected rows always have their reasons, even if the screen gets longer.

    Args:
        outcome: the result of the run.
        verdicts: the number of rows with each verdict.
        said: the words for whether all is as expected.
    """
    family = outcome.campaign.request.source.family
    counts = " · ".join(f"{word} {count}" for word, count in verdicts.items()) or "no verdict"
    seconds = f"{outcome.seconds:,.{0 if outcome.seconds >= SOME_SECONDS else 1}f} s"
    return [
        *hanging(family.title, width=COLUMNS),
        *hanging(f"{said} in {seconds}: {counts}"),
        "",
        *_tables(outcome),
        *_falls(outcome),
        *_liveness(outcome),
        *_lemma_claims(outcome),
        *_goals(outcome),
        *_basis(outcome),
        *_needs(outcome),
        *_assumptions(outcome),
        *_notes(outcome),
        *unexpected_lines(outcome.results),
    ]


# -- what holds -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Design:
    """A design with the layers over it: its claims by the verdicts under each threat model."""

    plans: tuple[Plan, ...]
    threats: tuple[str, ...]
    rows: Mapping[str, Cells]


def _designs(outcome: CampaignOutcome) -> Iterator[Design]:
    variants = outcome.campaign.request.source.family.variants
    layered: dict[str, list[Plan]] = {}
    for plan in outcome.campaign.plans:
        layered.setdefault(variants[plan.protocol.variant].over or plan.protocol.variant, []).append(plan)
    for plans in layered.values():
        threats = tuple(dict.fromkeys(threat.id for plan in plans for threat in plan.threats))
        cells: dict[str, dict[str, str]] = {}
        for row in outcome.results:
            if row.kind is Kind.CLAIM and row.variant in {plan.protocol.variant for plan in plans}:
                said = cells.setdefault(row.claim, {})
                said[row.threat] = said.get(row.threat, "") + _mark(row)
        rows = {claim: tuple(said.get(each, NOT_CLAIMED) for each in threats) for claim, said in cells.items()}
        yield Design(tuple(plans), threats, rows)


def _mark(row: Result) -> str:
    bound = str(row.bound) if row.verdict is Verdict.HOLDS_TO else ""
    return MARKS[row.verdict] + bound + ("" if row.as_expected else ALARM)


def _tables(outcome: CampaignOutcome) -> Iterator[str]:
    """Yield a table for the designs whose verdicts are equal, and the legend of all."""
    equal: list[list[Design]] = []
    for design in _designs(outcome):
        same = next((each for each in equal if (each[0].threats, each[0].rows) == (design.threats, design.rows)), None)
        equal.append([design]) if same is None else same.append(design)
    yield from hanging(_legend(outcome), width=COLUMNS)
    for designs in equal:
        yield from _table(outcome, designs)


def _table(outcome: CampaignOutcome, designs: Sequence[Design]) -> Iterator[str]:
    variants = outcome.campaign.request.source.family.variants
    for plan in (design.plans[0] for design in designs):
        title = variants[plan.protocol.variant].title
        about = "" if title == "as written" else f": {title}"
        label = "" if _services(outcome, plan) or not plan.label else f" ({plan.label})"
        yield from hanging(f"{plan.protocol.variant}{label}{about}", width=COLUMNS)
    threats = designs[0].threats
    lines = [("", threats, ""), *_grouped(designs[0].rows)]
    for plan in (plan for design in designs for plan in design.plans):
        states = _states(outcome, plan, threats)
        lines += (
            [(f"{MARKS[Verdict.EXHAUSTED]} {plan.protocol.variant}", states, "")] if {*states} != {NOT_CLAIMED} else []
        )
    widths = [longest(column) for column in zip(*((label, *cells) for label, cells, _ in lines), strict=True)]
    for label, cells, names in lines:
        yield as_line([label, *cells], widths)
        yield from wrap_text("", names, 2) if names else ()


def _grouped(rows: Mapping[str, Cells]) -> Iterator[tuple[str, Cells, str]]:
    """Yield each row: its label, its cells and, where several claims share it, their names."""
    alike: dict[Cells, list[str]] = {}
    for claim, cells in rows.items():
        alike.setdefault(cells, []).append(claim)
    for cells, claims in alike.items():
        if len(claims) < TOGETHER:
            yield from ((claim, cells, "") for claim in claims)
        else:
            yield f"{len(claims)} claims:", cells, ", ".join(claims)


def _states(outcome: CampaignOutcome, plan: Plan, threats: Sequence[str]) -> Cells:
    """Return how many states the largest exploration of each threat model visited."""
    seen: dict[str, int] = {}
    for row in outcome.results:
        if (row.variant, row.kind, row.verdict) == (plan.protocol.variant, Kind.CLAIM, Verdict.EXHAUSTED):
            seen[row.threat] = max(seen.get(row.threat, 0), row.bound or 0)
    return tuple(_short(seen[threat]) if threat in seen else NOT_CLAIMED for threat in threats)


def _short(number: int) -> str:
    """Write a number in at most five characters."""
    for size, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}" if number < 999.5 * size else f"{number / size:.0f}{letter}"
    return str(number)


def _legend(outcome: CampaignOutcome) -> str:
    rows = [row for row in outcome.results if row.kind is Kind.CLAIM]
    used = {row.verdict for row in rows}
    profile = outcome.campaign.profile.name
    parts = [
        f"{MARKS[verdict]} {words.format(profile=profile)}" for verdict, words in LEGEND.items() if verdict in used
    ]
    if Verdict.VIOLATED in used and all(row.as_expected for row in rows):
        parts = [each.replace("attack", "attack, as expected") for each in parts]
    if not all(row.as_expected for row in rows):
        parts.append(f"{ALARM} not as expected")
    return " · ".join([*parts, f"{NOT_CLAIMED} not claimed"])


# -- expected violations, liveness, reachable goals -------------------------------------------------------


def _falls(outcome: CampaignOutcome) -> Iterator[str]:
    """Yield lines about the expected violations: the claim, the threat models, and the last step or the lasso."""
    rows = [row for row in outcome.results if row.verdict is Verdict.VIOLATED and row.as_expected and row.has_trace]
    for claim in dict.fromkeys(row.claim for row in rows):
        mine = [row for row in rows if row.claim == claim]
        threats = join_words(dict.fromkeys(row.threat for row in mine))
        shortest = min(mine, key=lambda row: len(row.steps))
        told = f"violated as expected: {claim} under {threats}{_last_step(outcome, shortest)}"
        yield from hanging(told, width=COLUMNS)


def _last_step(outcome: CampaignOutcome, row: Result) -> str:
    protocol = outcome.campaign.task.plan(row.variant).protocol
    if row.loop is not None:
        lasso = Trace(protocol.id, protocol.variant, protocol.without, row.threat, row.steps, row.loop)
        return f" ({describe_length(protocol, lasso)})"
    last = row.steps[-1]
    action = protocol.action(last.action)
    return f" ({fill_places(action.says, last.env).rstrip('.')})"


def _liveness(outcome: CampaignOutcome) -> Iterator[str]:
    """Yield lines with the number and the names of liveness properties for each verdict but expected violations."""
    said: dict[str, dict[str, None]] = {}
    for row in outcome.results:
        if row.kind is Kind.LIVENESS and not (row.verdict is Verdict.VIOLATED and row.as_expected):
            said.setdefault(_verdict(row), {})[row.claim] = None
    label = "eventually"
    for verdict, names in said.items():
        yield from wrap_text(label, f"{verdict}, given fair steps: {', '.join(names)}")
        label = ""


def _lemma_claims(outcome: CampaignOutcome) -> Iterator[str]:
    said: dict[str, dict[str, None]] = {}
    for row in outcome.results:
        if row.kind is Kind.LEMMA_CLAIM:
            said.setdefault(row.claim, {})[f"{_verdict(row)} by {row.engine}"] = None
    label = "lemmas"
    for claim, verdicts in said.items():
        yield from wrap_text(label, f"{claim}: {', '.join(verdicts)}")
        label = ""


def _verdict(row: Result) -> str:
    return f"{row.verdict}{'' if row.as_expected else ' (not as expected)'}"


def _goals(outcome: CampaignOutcome) -> Iterator[str]:
    reached = sum(goal.reached for goal in outcome.goals)
    if outcome.goals:
        missed = [goal.goal for goal in outcome.goals if not goal.reached]
        rest = f"; NOT REACHED: {', '.join(missed)}" if missed else ", so the claims are about runs that exist"
        yield from wrap_text("goals", f"{reached} of {len(outcome.goals)} reached{rest}")


# -- the basis of the verdicts ------------------------------------------------------------------------


def _basis(outcome: CampaignOutcome) -> Iterator[str]:
    """Yield lines about the strength of each engine's verdicts, and where explorations stopped."""
    campaign = outcome.campaign
    answers = zip(campaign.engines, outcome.answers, strict=True)
    worth = (engine.strength(campaign.task, answer)[:1] for engine, answer in answers)
    yield from hanging(f"strength {' · '.join([*itertools.chain(*worth), *outcome.limits])}")


def _services(outcome: CampaignOutcome, *plans: Plan) -> list[Service]:
    """Return the services that designs need from components of others."""
    asked = {plan.protocol.variant for plan in plans}
    return [each for each in outcome.campaign.request.source.family.services if each.needed_by & asked]


def _needs(outcome: CampaignOutcome) -> Iterator[str]:
    """Yield lines about the number of needed services by their public availability, with the names of missing ones."""
    plans = outcome.campaign.plans
    kinds: dict[str, list[str]] = {}
    for service in _services(outcome, *plans):
        kinds.setdefault(service.available, []).append(service.id)
    if kinds:
        labels = " and ".join(dict.fromkeys(plan.label for plan in plans if plan.label)) or "needs others"
        counts = ", ".join(f"{len(names)} {kind}" for kind, names in kinds.items())
        *_, last = kinds.values()
        yield from hanging(f"{labels}: services, publicly {counts} ({', '.join(last)}); runs simulate them")


def _assumptions(outcome: CampaignOutcome) -> Iterator[str]:
    """Yield lines about the assumptions besides the threat models, first those of every proof."""
    proofs = [set(row.assumptions) for row in outcome.results if row.verdict is Verdict.PROVED]
    seen = {id for row in outcome.results if row.verdict in STRENGTH for id in row.assumptions}
    every = set.intersection(*proofs) if proofs else set()
    some = set().union(*proofs)
    groups = {"by every proof": every, "by some": some - every, "by exploration alone": seen - some}
    for who, ids in groups.items():
        if ids:
            yield from hanging(f"assumed {who}: {_in_words(outcome, ids)}", width=COLUMNS)


def _in_words(outcome: CampaignOutcome, ids: set[str]) -> str:
    written = outcome.campaign.request.source.family.text.requirements()
    known, others = ids & written.keys(), ids - written.keys()
    short = [f"{id} {written[id].short}" for id in list_assumptions(known).split()] if known else []
    return " · ".join([*short, *([list_assumptions(others)] if others else [])])


def _notes(outcome: CampaignOutcome) -> Iterator[str]:
    """Yield every note that may cast doubt on a verdict."""
    for note in (note for note in outcome.notes if note not in outcome.asides):
        yield from wrap_text("note", note)
    if outcome.campaign.declared_claims:
        yield from wrap_text(
            "declared", f"{', '.join(outcome.campaign.declared_claims)} (named, without a formula yet: never counted)"
        )


def next_commands(outcome: CampaignOutcome, rerun: str) -> Iterator[str]:
    """Yield lines with commands to type next, each with its purpose."""
    source = outcome.campaign.request.source
    shown, removed = source.shown, a_removal(source)
    written = source.family.text.requirements()
    assumed = (id for row in outcome.results for id in row.assumptions if id in written)
    name = next(assumed, outcome.results[0].claim)
    notes = f", with {plural(len(outcome.notes), 'note')}" if outcome.notes else ""
    ways = {
        f"carnet explain {name}": "what an id means",
        **({f"carnet attack {shown} --without {removed}": "the attack"} if removed else {}),
        f"{rerun} --long": f"in full{notes}",
    }
    width = min(longest(ways), COLUMNS // 2)
    for label, (command, purpose) in zip(("next", "", ""), ways.items(), strict=False):
        yield f"{label:<{LABEL_WIDTH}}{command:<{width}}  {purpose}"


def a_removal(source: Source) -> str:
    """Return a defence whose removal leads to an attack: that of a finding, or else the first declared one."""
    declared = [defence.id for defence in source.protocol().defences]
    found = {finding.without for finding in source.family.findings}
    return next((defence for defence in declared if (defence,) in found), next(iter(declared), ""))
