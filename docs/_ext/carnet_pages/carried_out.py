"""Attacks that are carried out with real bytes: what is recorded of each, and the table that shows it."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Any

from carnet_check.attacks.hunt import attack_target, hunt
from carnet_check.loading.families import load
from carnet_check.results import steps_as_json
from carnet_check.wording import step_place
from carnet_ref.systems.replaying import Replay
from carnet_spec.language import Action, Family, Finding

from .markdown import Lines, code, prose, table
from .traces import Attacked, Traces

Values = Mapping[str, Any]
STALE = "Stale: the specification has changed since these attacks were recorded."


def record(family: Family, rows: Sequence[Values], traces: Traces, replay: Replay[Any]) -> list[dict[str, Any]]:
    """Carry out the attack of every finding and without every defence, where there is one.

    An attack of the last time, which ``rows`` name, is looked for again only if it is none any more.
    """
    known = {row["id"]: row for row in rows}
    asked = [
        *((finding.id, finding) for finding in family.findings),
        *((f"without {each.id}", Finding("", "", "", "", without=(each.id,))) for each in family.protocol().defences),
    ]
    found = ((name, (name in known and traces.recorded(known[name])) or attack(traces, each)) for name, each in asked)
    return [_recorded(name, each, replay) for name, each in found if each is not None]


def attack(traces: Traces, finding: Finding) -> Attacked | None:
    """Look for an attack under the finding's threat model, or under each in turn if it names none."""
    target = partial(
        attack_target, traces.source, variant=finding.variant, without=finding.without, claim=finding.claim
    )
    first = target(threat=finding.threat)
    others = [] if finding.threat else [each.id for each in first.protocol.threats if each != first.threat]
    targets = chain([first], (target(threat=each) for each in others))
    for found in (hunt(each, jobs=1, progress=lambda _: None) for each in targets):
        if found.trace is not None and found.profile is not None:
            attacked = Attacked(found.target.protocol, found.target.removed, found.claim, found.profile, found.trace)
            traces.keep(attacked)
            return attacked
    return None


def _recorded(name: str, found: Attacked, replay: Replay[Any]) -> dict[str, Any]:
    protocol, removed, claim, profile, trace = found
    design = {"variant": trace.variant, "removed": list(removed)}
    instance = load(trace.protocol).instance(protocol, trace.threat, profile).words
    outcome = replay({**design, "claim": claim, "steps": steps_as_json(trace.steps), "instance": instance})
    return {
        **{"id": name, **design, "threat": trace.threat, "claim": claim},
        "digest": protocol.digest,
        "actions": [step.action for step in trace.steps],
        "replay": _as_json(outcome),
    }


def replayed(replay: Replay[Any], attacks: Sequence[Values]) -> list[dict[str, Any]]:
    """Return attacks that were chosen by hand, each with the result of its replay.

    What is drawn anew in every run is left out, so that a record changes only when an outcome does.
    """
    outcomes = [(attack, replay(attack)) for attack in attacks]
    shown = ("reproduced", "recovered")
    return [
        {**attack, "replay": {**{name: found[name] for name in shown}, **_as_json(found)}} for attack, found in outcomes
    ]


def _as_json(outcome: Values) -> dict[str, Any]:
    defended = outcome["defended"]
    return {
        "reproduced": outcome["reproduced"],
        "stopped": _place(outcome["stopped"]),
        "defended": {"reproduced": defended["reproduced"], "stopped": _place(defended["stopped"])},
    }


def _place(stopped: Values | None) -> dict[str, Any] | None:
    return None if stopped is None else {"index": stopped["index"], "action": stopped["step"]["action"]}


def is_stale(family: Family, rows: Sequence[Values]) -> bool:
    """Whether some attack is on another design than the specification has now."""
    return any(family.protocol(row["variant"], tuple(row["removed"])).digest != row["digest"] for row in rows)


def shown(family: Family, rows: Sequence[Values]) -> Lines:
    """Yield the section of a protocol: its attacks, and what became of each."""
    done = sum(row["replay"]["reproduced"] for row in rows)
    yield from (f"### {prose(family.title)}", "", f"Of {len(rows)} attacks, {done} are reproduced.", "")
    if is_stale(family, rows):
        yield from (":::{warning}", STALE, ":::", "")
    heads = ("attack", "design", "threat model", "claim", "reproduced", "with every defence on")
    yield from table(heads, _rows(family, rows))


def _rows(family: Family, rows: Sequence[Values]) -> Iterator[Sequence[str]]:
    for row in rows:
        drafted, built = family.draft_of(row["variant"]), family.protocol(row["variant"], tuple(row["removed"]))
        known = {action.name: action for action in (*built.actions, *drafted.actions)}
        actions = [known[name] for name in row["actions"]]
        outcome = row["replay"]
        removed = f" without {', '.join(row['removed'])}" if row["removed"] else ""
        yield (
            code(row["id"]),
            prose(f"{row['variant']}{removed}"),
            code(row["threat"]),
            code(row["claim"]),
            "yes" if outcome["reproduced"] else f"no: {stopped(outcome['stopped'], actions)}",
            stopped(outcome["defended"]["stopped"], actions),
        )


def stopped(place: Values | None, actions: Sequence[Action]) -> str:
    """Say where an attack stopped, if it did."""
    if place is None:
        return "every step is taken, and the claim holds"
    return f"stops {step_place(actions, place['index'])}, {code(place['action'])}"
