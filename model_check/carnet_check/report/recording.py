"""Recording a verification run: the content of its folder, computed from its outcome."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from carnet_check.attacks.regression import Attack
from carnet_check.engines.exploration import Caps
from carnet_check.engines.interface import Explores, Plan
from carnet_check.engines.registry import able
from carnet_check.exports.itf import itf
from carnet_check.loading.families import Source, parts_of, threat_of
from carnet_check.minimise import minimise
from carnet_check.report.claimed import words_of
from carnet_check.report.run_folder import Run
from carnet_check.results import Kind, Result
from carnet_check.semantics import Interpreter, State
from carnet_check.semantics.fairness import with_rules_as_steps
from carnet_check.verification.outcome import CampaignOutcome, invariants_as_json
from carnet_check.verification.planning import Campaign
from carnet_check.wording import file_name
from carnet_spec.language import Claim, Defence, Eventually, Instance, Invariant, Protocol
from carnet_spec.language.notation import show_lines
from carnet_spec.language.printing import show_axiom
from carnet_spec.language.tracing import SourceLocation
from carnet_spec.trace import Trace


def record_run(outcome: CampaignOutcome, closing: Mapping[str, Any], shortcomings: Sequence[str] = ()) -> Run:
    """Return the content of a finished run's folder; every violation is minimised and replayed first.

    ``shortcomings`` are what a strict reader objects to.
    """
    attacks = sorted((attack_of(outcome, row) for row in outcome.results if row.has_trace), key=lambda each: each.name)
    return Run(
        verdicts=tuple(row.as_json() for row in outcome.results),
        timings=tuple(_timing(row) for row in outcome.results),
        run={
            "summary": outcome.summary(),
            "goals": [goal.as_json() for goal in outcome.goals],
            "lemmas": invariants_as_json(outcome),
            "explored": outcome.explored,
            "notes": list(outcome.notes),
            **({"shortcomings": list(shortcomings)} if shortcomings else {}),
            "run": closing,
        },
        spec=outline(outcome.campaign),
        attacks=tuple(attack.as_json() for attack in attacks),
        itf={attack.name: itf(attack.judge.protocol, attack.states, attack.trace) for attack in attacks},
        graphs=tuple(sorted(_graphs(outcome.campaign), key=lambda graph: str(graph["name"]))),
    )


def attack_of(outcome: CampaignOutcome, row: Result) -> Attack:
    """Minimise and replay the violation that ``row`` reports; a lasso is replayed as it is.

    Raises EngineError if the interpreter does not reproduce the violation.
    """
    campaign = outcome.campaign
    protocol, source = campaign.task.plan(row.variant).protocol, campaign.request.source
    violation = outcome.violation_of(row)
    instance = violation.instance_of(row.claim)
    trace = Trace(protocol.id, protocol.variant, protocol.without, row.threat, row.steps, row.loop)
    claim: Claim | Eventually
    if row.kind is Kind.LIVENESS:
        claim = next(live for live in protocol.liveness if live.name == row.claim)
        judge = Interpreter(with_rules_as_steps(protocol, [claim]), instance)
    else:
        claim = protocol.claim(row.claim)
        judge = Interpreter(protocol, instance)
        trace = minimise(judge, claim.checked, trace)
    findings = (
        each
        for each in source.family.findings
        if (each.variant, each.claim, each.threat, each.without) == (row.variant, row.claim, row.threat, ())
    )
    return Attack(
        judge=judge,
        claim=claim,
        threat=threat_of(protocol, row.threat),
        trace=trace,
        states=judge.replay(trace),
        profile=violation.search.profile,
        expected=row.as_expected,
        rerun=outcome.again(row),
        digest=protocol.digest,
        finding=next(findings, None),
    )


def _timing(row: Result) -> dict[str, Any]:
    names = ("variant", "kind", "claim", "threat", "engine")
    return {**dict(zip(names, map(str, row.key), strict=True)), "seconds": row.seconds}


def _graphs(campaign: Campaign) -> Iterator[dict[str, Any]]:
    """Yield the state graph of each variant, if an exploring engine is part of the run."""
    if any(isinstance(engine, Explores) for engine in campaign.engines):
        source, profile = campaign.request.source, campaign.profile
        for plan in campaign.plans:
            instances = {each.id: source.instance(plan.protocol, each.id, profile) for each in plan.threats}
            graph = state_graph(plan.protocol, instances)
            if graph is not None:
                yield graph


# --------------------------------------------------------------------------------------------------
# The subject of a run, as plain JSON values: everything that the report says about the specification.


def outline(campaign: Campaign) -> dict[str, Any]:
    """Return the claims, parties, threat models, assumptions and so on; equal specifications give equal values."""
    source = campaign.request.source
    path = parts_of(source.shown)[0]
    return {
        "protocol": source.family.id,
        "title": source.family.title,
        "reference": source.shown,
        "file": path if path.endswith(".py") else source.family.draft.__module__.replace(".", "/") + ".py",
        "places": _places(source, [plan.protocol.variant for plan in campaign.plans]),
        "variants": [_variant(source, plan) for plan in campaign.plans],
        "claimed": words_of(source.family, [plan.protocol.variant for plan in campaign.plans]),
    }


def _places(source: Source, variants: Sequence[str]) -> list[dict[str, Any]]:
    """Return the source locations of the variants' actions and claims; those of the first variant come first."""
    found: dict[tuple[str, str], SourceLocation] = {}
    for variant in variants:
        stated = source.family.draft_of(variant).stated_at
        found = {key: place for key, place in stated.items() if place is not None} | found
    return [
        {"kind": kind, "name": name, "file": _shown_file(source, place.file), "line": place.line}
        for (kind, name), place in sorted(found.items())
    ]


def _shown_file(source: Source, file: str) -> str:
    """Return a path as the user wrote it; for a file in a package, the path from the outermost package on."""
    asked, path = Path(parts_of(source.shown)[0]), Path(file)
    if asked.suffix == ".py" and path.is_relative_to(asked.absolute().parent):
        return str(asked.parent / path.relative_to(asked.absolute().parent))
    root = path.parent
    while (root / "__init__.py").is_file():
        root = root.parent
    return path.relative_to(root).as_posix()


def _variant(source: Source, plan: Plan) -> dict[str, Any]:
    protocol = plan.protocol
    variant = source.family.variants[protocol.variant]
    return {
        "name": protocol.variant,
        "title": variant.title,
        "label": plan.label,
        "digest": protocol.digest,
        "threats": [
            {"id": threat.id, "title": threat.title, "axioms": [show_axiom(axiom) for axiom in threat.axioms]}
            for threat in plan.threats
        ],
        "claims": [
            _claim(source, protocol, claim) for claim in {claim.name: claim for claim, _ in plan.pairs}.values()
        ],
        "assumptions": [
            *({"id": a.id, "sentence": a.sentence, "built_in": a.built_in} for a in protocol.assumptions),
            *(
                {"id": axiom.states, "sentence": axiom.says or show_axiom(axiom), "built_in": False}
                for axiom in protocol.axioms
                if not axiom.assumption
            ),
        ],
        "defences": [_defence(source, protocol, defence) for defence in protocol.defences],
        "lemmas": [_lemma(lemma) for lemma in protocol.lemmas],
        "goals": [{"name": goal.name, "sentence": goal.sentence} for goal in protocol.goals],
    }


def _claim(source: Source, protocol: Protocol, claim: Claim) -> dict[str, Any]:
    required = source.family.text.requirements().get(claim.requirement)
    return {
        "name": claim.name,
        "sentence": claim.sentence,
        "requirement": claim.requirement,
        "requirement_sentence": required.sentence if required else "",
        "source": claim.source,
        "under": list(claim.under),
        "fails_under": list(claim.fails_under),
        "formula": show_lines(claim.checked.formula),
        "rerun": f"carnet verify {source.shown} --variant {protocol.variant} --claim {claim.name}",
    }


def _defence(source: Source, protocol: Protocol, defence: Defence) -> dict[str, Any]:
    removable = defence.id not in protocol.without
    return {
        "id": defence.id,
        "title": defence.title,
        "enforced_by": list(_enforced_by(protocol, defence)),
        "shuts_out": list(_excluded_steps(source, protocol, defence)),
        "removed": f"carnet attack {source.shown} --without {defence.id}" if removable else "",
    }


def _enforced_by(protocol: Protocol, defence: Defence) -> Iterator[str]:
    for action in protocol.actions:
        yield from (f"{action.name}: {guard.name}" for guard in action.guards if guard.defence == defence.id)
        yield from (f"{action.name}: {update.name}" for update in action.updates if update.defence == defence.id)


def _excluded_steps(source: Source, protocol: Protocol, defence: Defence) -> Iterator[str]:
    """Yield the steps that this defence takes away from the design; it has no guard there, so no proof names it."""
    if defence.id not in protocol.without:
        actions = source.family.draft_of(protocol.variant).actions
        yield from (action.name for action in actions if action.shortcut_of == defence.id)


def _lemma(lemma: Invariant) -> dict[str, Any]:
    return {"name": lemma.name, "says": lemma.says, "formula": show_lines(lemma.formula)}


# -- The states of an instance that is small enough to draw, as plain JSON values ------------------

DRAWN = 200  #: The most states that make a readable drawing.


def state_graph(protocol: Protocol, instances: Mapping[str, Instance]) -> dict[str, Any] | None:
    """Return every state and step of the first of ``instances``, by threat model, that is small enough to draw.

    If all are too large, only the steps of honest parties are drawn.

    Returns:
        ``None`` if these are too many, too.
    """
    honest = replace(protocol, actions=tuple(action for action in protocol.actions if action.by.honest))
    for part, steps in ((protocol, "every step"), (honest, "honest steps alone")):
        for threat, instance in instances.items():
            if _is_small(part, instance, threat):
                nodes, edges = _explored(Interpreter(part, instance))
                return {
                    "name": file_name(protocol.variant, threat),
                    "variant": protocol.variant,
                    "threat": threat,
                    "instance": instance.words,
                    "steps": steps,
                    "nodes": nodes,
                    "edges": edges,
                }
    return None


def _is_small(protocol: Protocol, instance: Instance, threat: str) -> bool:
    """Whether an instance has few enough states to draw; the fast explorer counts them."""
    caps = Caps(states=DRAWN + 1)
    seen = able(Explores).explore(protocol, instance, invariants=(), caps=caps, reduction=False, threat=threat)
    return seen.complete and seen.states <= DRAWN


def _explored(judge: Interpreter) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    first = judge.initial()
    depths: dict[State, int] = {first: 0}
    numbers: dict[State, int] = {first: 0}
    edges: dict[tuple[int, int], list[str]] = {}
    waiting = deque([first])
    while waiting:
        state = waiting.popleft()
        for action, env in judge.enabled_steps(state):
            after = judge.step(state, action, env)
            if after not in numbers:
                numbers[after], depths[after] = len(numbers), depths[state] + 1
                waiting.append(after)
            if after != state:
                args = tuple((var.name, env[var.name]) for var in action.params)
                step = f"{action.name}({', '.join(value for _, value in args)})"
                edges.setdefault((numbers[state], numbers[after]), []).append(step)
    phases = [s.name for s in judge.protocol.symbols if s.mutable and not s.domain and s.result.is_enumeration]
    nodes = [
        {
            "depth": depths[state],
            "label": ", ".join(state.functions[name][()] for name in phases),
            "facts": [*_facts(state), *_spent(judge, state)],
        }
        for state in numbers
    ]
    return nodes, [{"from": a, "to": b, "steps": steps} for (a, b), steps in edges.items()]


def _facts(state: State) -> list[str]:
    """Return the facts of a state without empty relations and default values, in the order of the specification."""
    values = (
        f"{name}{_row(row)} = {value}"
        for name, table in state.functions.items()
        for row, value in sorted(table.items())
    )
    held = (f"{name}{_row(row)}" for name, rows in state.relations.items() for row in sorted(rows))
    return [*values, *held]


def _spent(judge: Interpreter, state: State) -> list[str]:
    """Return what the adversary has spent, where states that are equal otherwise differ in it."""
    return [] if judge.instance.budget is None else [f"moves spent = {state.spent}"]


def _row(row: tuple[str, ...]) -> str:
    return f"({', '.join(row)})" if row else ""
