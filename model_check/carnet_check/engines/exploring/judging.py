"""What a search says of a claim: the verdict with its number, and what it rests on in words."""

from __future__ import annotations

from carnet_check.engines.exploration import Coverage
from carnet_check.engines.exploring.searches import length
from carnet_check.engines.interface import Plan
from carnet_check.results import Verdict
from carnet_check.wording.sentences import listed
from carnet_command.text import counted
from carnet_spec.language import Profile
from carnet_spec.language.printing import fair_steps


def adversary(profile: Profile) -> str:
    """Say what a profile lets the adversary do."""
    budget = profile.budget
    return "unbounded adversary" if budget is None else f"at most {counted(budget, 'active adversary move')}"


def verdict_of(found: Coverage, claim: str) -> tuple[Verdict, int | None]:
    """A search with an adversary budget is HOLDS-TO however small it was; an incomplete one is UNKNOWN.

    Random walks that were all taken are SAMPLED, and nothing more, whatever they saw.
    """
    if found.problems:
        return Verdict.ERROR, None
    if claim in found.violations:
        return Verdict.VIOLATED, None
    if found.walked is not None:
        return Verdict.SAMPLED if found.walked_all else Verdict.UNKNOWN, found.walks(claim)
    states = found.stood_for + found.extra_states(claim)
    if not found.complete or claim in found.left_out or claim in found.undecided:
        return Verdict.UNKNOWN, states
    if found.budget is not None:
        return Verdict.HOLDS_TO, found.budget
    return Verdict.EXHAUSTED, states


def detail_of(plan: Plan, found: Coverage, claim: str) -> str:
    """Say what a verdict rests on."""
    if found.problems:
        return "; ".join(found.problems)
    trace = found.violations.get(claim)
    name = found.search.profile.name
    size = f"{name}: {found.instances}" if found.instances else name
    extra = 0 if found.walked else found.extra_states(claim)
    more = f", and {extra:,} from other first values" if extra else ""
    told = (
        length(plan.protocol, trace) if trace else "",
        size,
        found.covered + more,
        "" if trace else found.left_out.get(claim, ""),
        found.undecided.get(claim, ""),
    )
    detail = "; ".join(filter(None, told))
    return _lively(plan, claim, detail) if found.search.liveness else detail


def _lively(plan: Plan, name: str, detail: str) -> str:
    """Say what should happen in the end, and by whose fairness."""
    live = next(live for live in plan.liveness if live.name == name)
    verb = "is" if len(live.fair) == 1 else "are"
    fair = f"if {listed(fair_steps(live))} {verb} taken fairly" if live.fair else "though nobody has to act"
    return f"{live.sentence} ({fair}; {detail})"
