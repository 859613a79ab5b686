"""The matrix of a verification run: claims by threat models, and in each cell the verdicts of all engines.

It fits into eighty columns: verdicts of engines that do not fit side by side are written below each other.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from carnet_check.engines.interface import Explores, Plan
from carnet_check.results import Kind, Result, Verdict
from carnet_check.verification.checks import ANY_THREAT, proving
from carnet_check.verification.outcome import CampaignOutcome, GoalOutcome
from carnet_check.verification.planning import Campaign
from carnet_check.wording import list_assumptions
from carnet_command.text import hanging, plural, report_width, wrap_text

NOT_CLAIMED = "–"
EXPECTED_FALL = "*"
WIDE = 120
GAP = 2


def matrices(outcome: CampaignOutcome, width: int = 80) -> list[str]:
    """Return one table for each variant, with the assumptions, the goals and all unexpected rows."""
    campaign = outcome.campaign
    lines: list[str] = []
    for plan in campaign.plans:
        rows = [row for row in outcome.results if row.variant == plan.protocol.variant]
        lines += [*_title(campaign, plan), *_table(campaign, plan, rows, width), ""]
        lines += [
            *_lemma_claims(plan, rows),
            *_assumptions(campaign, rows),
            *_goals(outcome, plan),
            *_liveness(plan, rows),
        ]
        lines += unexpected_lines(rows)
    if campaign.declared_claims:
        lines += wrap_text(
            "declared", ", ".join(campaign.declared_claims) + " (named, without a formula yet: never counted)"
        )
    for note in outcome.notes:
        lines += wrap_text("note", note)
    return lines


def _title(campaign: Campaign, plan: Plan) -> list[str]:
    label = f" ({plan.label})" if plan.label else ""
    variants = campaign.request.source.family.variants
    title = variants[plan.protocol.variant].title
    name = f"{plan.protocol.id} · {plan.protocol.variant}{label}"
    return ["", *hanging(name), *([] if title == "as written" else hanging(f"  {title}")), ""]


def _table(campaign: Campaign, plan: Plan, rows: Sequence[Result], width: int) -> list[str]:
    claims = list(dict.fromkeys(claim.name for claim, _ in plan.pairs))
    if not claims:
        return []
    threats = [threat.id for threat in plan.threats]
    verdicts = _by_cell(rows)
    cells = {(c, t): _cell(campaign, verdicts.get((c, t), {})) for c in claims for t in threats}
    beside = width >= WIDE or _fits([claims, *([t, *_joined(cells, t)] for t in threats)], width)
    parts = {key: ["·".join(cell)] if beside else cell for key, cell in cells.items()}
    widths = [longest(["claim", *claims])]
    widths += [
        longest([t, *(text for (_, other), cell in parts.items() if other == t for text in cell)]) for t in threats
    ]
    lines = [as_line(["claim", *threats], widths), "─" * min(sum(widths) + GAP * (len(widths) - 1), report_width())]
    for claim in claims:
        for level, row in enumerate(zip_longest(*(parts[claim, threat] for threat in threats), fillvalue="")):
            lines.append(as_line(["" if level else claim, *row], widths))
    if any(EXPECTED_FALL in text for cell in cells.values() for text in cell):
        lines += hanging(f"{EXPECTED_FALL} expected: the claim is not made there, and the run shows the attack")
    return lines


def _by_cell(rows: Iterable[Result]) -> Mapping[tuple[str, str], Mapping[str, Result]]:
    found: dict[tuple[str, str], dict[str, Result]] = {}
    for row in rows:
        if row.kind is Kind.CLAIM:
            found.setdefault((row.claim, row.threat), {})[row.engine] = row
    return found


def _cell(campaign: Campaign, engines: Mapping[str, Result]) -> list[str]:
    """Return the verdict of each engine, in the engines' order; unexpected ones are marked."""
    cell = []
    for engine in campaign.engines:
        if engine.name in engines:
            row = engines[engine.name]
            word = f"{row.verdict} {row.bound}" if row.verdict is Verdict.HOLDS_TO else str(row.verdict)
            fallen = row.verdict is Verdict.VIOLATED and row.as_expected
            cell.append(word + (EXPECTED_FALL if fallen else "" if row.as_expected else "!"))
    return cell or [NOT_CLAIMED]


def _joined(cells: Mapping[tuple[str, str], list[str]], threat: str) -> list[str]:
    return ["·".join(cell) for (_, other), cell in cells.items() if other == threat]


def _fits(columns: Sequence[Sequence[str]], width: int) -> bool:
    return sum(longest(column) for column in columns) + GAP * (len(columns) - 1) <= width


def longest(texts: Iterable[str]) -> int:
    """Return the length of the longest text."""
    return max((len(text) for text in texts), default=0)


def as_line(texts: Sequence[str], widths: Sequence[int]) -> str:
    """Return a row of a table, in columns of these widths."""
    return (" " * GAP).join(f"{text:<{width}}" for text, width in zip(texts, widths, strict=True)).rstrip()


def _assumptions(campaign: Campaign, rows: Sequence[Result]) -> list[str]:
    """Return lines with the assumptions that the proofs of each claim used; equal sets share a line."""
    used: dict[str, set[str]] = {}
    for row in rows:
        if row.verdict is Verdict.PROVED:
            used.setdefault(row.claim, set()).update(row.assumptions)
    lines = []
    if used:
        indent = max(len(claim) for claim in used) + 4
        lines += hanging("assumptions used by the proofs, besides those of the threat model")
        for claim, ids in used.items():
            lines += wrap_text(f"  {claim}", list_assumptions(ids), indent)
    exploring = {engine.name for engine in campaign.engines if isinstance(engine, Explores)}
    explored = {id for row in rows if row.engine in exploring for id in row.assumptions}
    if explored:
        lines += wrap_text("assumed in the explored instances: ", list_assumptions(explored), 35)
    return [*lines, ""] if lines else []


def _lemma_claims(plan: Plan, rows: Sequence[Result]) -> list[str]:
    """Return lines with each means's verdict on each lemma claim, and the smallest case without each hypothesis."""
    lines: list[str] = []
    for claim in plan.protocol.lemma_claims:
        mine = [row for row in rows if (row.kind, row.claim) == (Kind.LEMMA_CLAIM, claim.name)]
        found = [f"{row.verdict_text} by {row.engine} under {row.threat}: {row.detail}" for row in mine]
        found += [f"PROVED by {engine}: {', '.join(claim.theorems)}" for engine in proving(plan, rows, claim) if mine]
        cases = dict.fromkeys(each for row in mine for each in row.counterexamples)
        found += [f"without {name} it fails for {case}" for name, case in cases]
        lines += hanging(f"  {claim.name}") if found else []
        lines += [line for text in found for line in wrap_text("    ", text, 6)]
    return ["lemma claims (not about steps), each checked in two ways", *lines, ""] if lines else []


def _liveness(plan: Plan, rows: Sequence[Result]) -> list[str]:
    """Return lines about liveness and the fairness that it needs; one engine's equal verdicts share a line."""
    engines, names = [row.engine for row in rows], [live.name for live in plan.protocol.liveness]
    lively = [row for row in rows if row.kind is Kind.LIVENESS]
    lively.sort(key=lambda row: (engines.index(row.engine), names.index(row.claim)))  # searches end in any order
    indent = max((len(row.claim) for row in lively), default=0) + 4
    lines = []
    for row in (each for each in lively if each.threat == ANY_THREAT):
        lines += wrap_text(f"  {row.claim}", f"{row.verdict}: {row.detail}", indent)
    together: dict[tuple[str, str, str], list[Result]] = {}
    for row in (each for each in lively if each.threat != ANY_THREAT):
        expected = " as expected" if row.verdict is Verdict.VIOLATED and row.as_expected else ""
        together.setdefault((row.claim, row.engine, f"{row.verdict}{expected}"), []).append(row)
    for (name, engine, verdict), alike in together.items():
        lines += wrap_text(f"  {name}", f"{verdict} under {', '.join(row.threat for row in alike)} ({engine})", indent)
    return ["liveness (what eventually happens)", *lines, ""] if lines else []


def _goals(outcome: CampaignOutcome, plan: Plan) -> list[str]:
    goals = [goal for goal in outcome.goals if goal.variant == plan.protocol.variant]
    if not goals:
        return []
    indent = max(len(goal.goal) for goal in goals) + 4
    lines = hanging("goals (must be reachable; otherwise claims could hold vacuously)")
    for goal in goals:
        lines += wrap_text(f"  {goal.goal}", _goal_words(goal), indent)
    return [*lines, ""]


def _goal_words(goal: GoalOutcome) -> str:
    if not goal.reached:
        return f"NOT REACHED: {goal.sentence}"
    directed = ", in a directed run of more rounds" if goal.directed else ""
    return f"reached in {plural(goal.steps or 0, 'step')} under {goal.threat}{directed}"


def unexpected_lines(rows: Sequence[Result]) -> list[str]:
    """Return lines about the unexpected rows, each with its reason."""
    wrong = [row for row in rows if not row.as_expected]
    if not wrong:
        return []
    lines = ["not as expected"]
    for row in wrong:
        what = row.claim if row.kind is Kind.CLAIM else f"{row.kind} {row.claim}"
        lines += hanging(f"  {row.verdict}  {what} · {row.threat} · {row.engine} (expected {row.expected})")
        lines += wrap_text("", row.detail, 4)
    return [*lines, ""]
