"""An attack as plain JSON values: all that a run keeps of it and that the report shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from carnet_check.attacks.describing import Decisive, ShownStep, as_html, sequence_chart
from carnet_check.attacks.hunt import Hunt
from carnet_check.attacks.regression import structure_of
from carnet_check.semantics import Interpreter, State
from carnet_check.wording import attack_name, knowers, reasons
from carnet_spec.language import Claim, Eventually, Finding, Invariant, Profile, Threat
from carnet_spec.trace import Trace

FORMAT = "carnet-attack/1"


@dataclass(frozen=True, slots=True)
class Attack:
    """A minimised and replayed violation, and where it was found."""

    judge: Interpreter
    claim: Claim | Eventually
    threat: Threat
    trace: Trace
    states: Sequence[State]
    profile: Profile
    expected: bool
    """The specification says that the claim falls here."""
    rerun: str
    digest: str
    """Of the specification; the judge of a lasso has rules of it as steps."""
    removed: tuple[str, ...] = ()
    finding: Finding | None = None
    decisive: Decisive | None = None

    @property
    def name(self) -> str:
        """What tells the attack from others on the same protocol; fit for a file name."""
        return attack_name(self.trace.variant, self.threat.id, self.claim.name, self.removed)

    @property
    def failing(self) -> Invariant | Eventually:
        """What the trace violates."""
        return self.claim.checked if isinstance(self.claim, Claim) else self.claim

    def _repr_html_(self) -> str:
        return as_html(self.judge, self.failing, self.trace, self.states, self.decisive)

    def as_json(self) -> dict[str, Any]:
        """Return everything about the attack as JSON values; equal attacks give equal values."""
        protocol = self.judge.protocol
        chart = sequence_chart(protocol, self.states, self.trace)
        decides = self.decisive.remark if self.decisive else {}
        return {
            "format": FORMAT,
            "name": self.name,
            "trace": self.trace.to_json(),
            "removed": list(self.removed),
            "claim": self.claim.name,
            "sentence": self.claim.sentence,
            "requirement": self.claim.requirement if isinstance(self.claim, Claim) else "",
            "threat": {"id": self.threat.id, "title": self.threat.title},
            "expected": self.expected,
            "finding": {"id": self.finding.id, "title": self.finding.title} if self.finding else None,
            "profile": {"name": self.profile.name, "scale": dict(self.profile.scale), "budget": self.profile.budget},
            "instance": self.judge.instance.words,
            "structure": structure_of(self.judge.instance, protocol),
            "digest": self.digest,
            "parties": list(chart.parties),
            "knowers": knowers(protocol, self.judge.instance, chart.parties),
            "events": [{**_shown(step), "decisive": decides.get(place, "")} for place, step in enumerate(chart.steps)],
            "reason": reasons(self.judge, self.failing, self.trace, self.states),
            "rerun": self.rerun,
        }


def _shown(shown: ShownStep) -> dict[str, Any]:
    arrow = shown.arrow
    return {
        "number": shown.number,
        "action": shown.step.action,
        "args": dict(shown.step.args),
        "by": shown.step.by,
        "actor": shown.actor,
        "honest": shown.action.by.honest,
        "sentence": shown.sentence,
        "why": shown.action.why,
        "source": shown.action.source,
        "enforces": list(shown.action.enforces),
        "arrow": {"from": arrow.sender, "to": arrow.receiver, "text": arrow.text} if arrow else None,
        "changes": [
            {"where": change.where, "symbol": change.symbol, "text": change.text, "says": change.says}
            for change in shown.changes
        ],
        "learned": {party: list(facts) for party, facts in shown.learned.items()},
        "known": {party: list(facts) for party, facts in shown.known.items()},
    }


def of_hunt(result: Hunt, rerun: str) -> Attack:
    """Return the attack that a hunt found; ``rerun`` is the command that finds it again."""
    assert result.trace is not None
    assert result.judge is not None
    assert result.profile is not None
    target = result.target
    named = target.finding is not None and target.finding.claim == result.claim
    return Attack(
        judge=result.judge,
        claim=target.protocol.claim(result.claim),
        threat=target.threat,
        trace=result.trace,
        states=result.states,
        profile=result.profile,
        expected=named or target.threat.id in target.protocol.claim(result.claim).fails_under,
        rerun=rerun,
        digest=target.protocol.digest,
        removed=target.removed,
        finding=target.finding if named else None,
        decisive=result.decisive,
    )
