"""Honest graphs are accepted, and every tampering is refused with whom it is held against."""

from __future__ import annotations

import dataclasses
import functools

import networkx
import pytest

from carnet_ref.systems.verifiable_fl.audit import Auditor, AuditResult, Fault, audit_statements
from carnet_ref.systems.verifiable_fl.claims_file import OrderClaim, ResultClaim
from carnet_ref.systems.verifiable_fl.evidence import Level
from carnet_ref.systems.verifiable_fl.statements import parse_envelope
from tests.fixtures.attested_graphs import OTHER, Graph, dependent, long_graph, recorded, tamperings

LEAST_TAMPERINGS = 600
SOMETHING_ELSE = {"model": frozenset({"source", "train"}), "data": frozenset({"other"})}


@pytest.mark.parametrize("rounds", [1, 3, 9])
def test_an_honest_run_is_accepted(rounds: int) -> None:
    result = recorded(rounds).audited()
    assert result.accepted, result.refusal
    assert result.level is Level.ATTESTED
    assert result.exclaves["gpu"] == 2 * rounds + 1
    turns = [("alice", "anna", "anton")[turn % 3] for turn in range(rounds)]
    assert {each.id: each.detail for each in result.claims}["order"] == f"sanitise: {', '.join(turns)}"


@functools.cache
def enlisted(graph_of: int) -> Auditor:
    """Return an auditor that took the evidence of an honest run, which takes longer than all its statements."""
    graph = recorded(graph_of)
    auditor = Auditor(graph.claims)
    for shown in graph.shown:
        auditor.enlist(shown)
    return auditor


def audited(graph: Graph) -> AuditResult:
    """Audit a graph; what only its statements say is audited by an auditor that knows the evidence."""
    honest = recorded(3)
    if graph.shown != honest.shown:
        return graph.audited()
    before = enlisted(3)
    logs = {name: dataclasses.replace(log) for name, log in before._logs.items()}
    auditor = dataclasses.replace(before, steps=[], graph=networkx.DiGraph(), _logs=logs, _places={})
    return audit_statements(auditor, [parse_envelope(line) for line in graph.lines])


@pytest.mark.verifies(
    "verifiable-fl-REQ-AUDIT-04",
    "verifiable-fl-REQ-AUDIT-05",
    "verifiable-fl-REQ-AUDIT-06",
    "verifiable-fl-REQ-AUDIT-07",
    "verifiable-fl-REQ-AUDIT-09",
)
def test_every_tampering_is_refused_and_its_culprit_named() -> None:
    graph, faults = recorded(3), set[Fault]()
    assert audited(graph).accepted
    count = 0
    for each in tamperings(graph, recorded(3, seed="another run")):
        refusal = audited(each.graph).refusal
        assert refusal is not None, each.name
        assert each.culprits <= set(refusal.culprits), (each.name, refusal.culprits, str(refusal))
        assert len(refusal.culprits) <= 2, each.name
        faults.add(refusal.fault)
        count += 1
    assert count >= LEAST_TAMPERINGS
    named = {Fault.MISSING, Fault.SWAPPED, Fault.REPLAYED, Fault.FORGED, Fault.REORDERED, Fault.DOUBLED}
    assert named <= faults


@pytest.mark.verifies("verifiable-fl-REQ-AUDIT-10")
@pytest.mark.parametrize(
    ("start", "fault"),
    [
        ("missing", Fault.MISSING),
        ("doubled", Fault.DOUBLED),
        ("replayed", Fault.REPLAYED),
        ("flipped", Fault.FORGED),
        ("reordered", Fault.REORDERED),
        ("signed input model", Fault.SWAPPED),
        ("signed code", Fault.UNCLAIMED),
    ],
)
def test_a_fault_is_called_by_its_name(start: str, fault: Fault) -> None:
    found = [each for each in tamperings(recorded(1), recorded(1, seed="another run")) if each.name.startswith(start)]
    assert found
    for each in found:
        refusal = each.graph.audited().refusal
        last = each.name.endswith("end of gpu") or "end of" in each.name
        assert refusal is not None
        assert refusal.fault is fault or last, (each.name, refusal.fault)


def test_statements_that_do_not_depend_on_each_other_may_come_in_any_order() -> None:
    graph = recorded(3)
    free = [place for place in range(len(graph.lines) - 1) if not dependent(graph, place, place + 1)]
    assert free
    for place in free:
        lines = list(graph.lines)
        lines[place : place + 2] = reversed(lines[place : place + 2])
        assert audited(graph.with_lines(*lines)).accepted


def test_steps_with_evidence_of_their_own_reach_the_highest_level_and_no_other_statement_passes() -> None:
    graph = recorded(1, quote_steps=True)
    result = graph.audited()
    assert result.accepted
    assert result.level is Level.EXCLAVE
    lines = list(graph.lines)
    lines[1], lines[2] = lines[2], lines[1]
    assert not graph.with_lines(*lines).audited().accepted
    keyed = recorded(1)
    mixed = dataclasses.replace(graph, shown=(*graph.shown[:-1], keyed.shown[-1])).audited().refusal
    assert mixed is not None
    assert mixed.culprits == ("gpu",)


@pytest.mark.parametrize(
    ("change", "fault", "culprits"),
    [
        ({"level": Level.EXCLAVE}, Fault.UNATTESTED, ("orchestrator",)),
        ({"run": OTHER[:64]}, Fault.REPLAYED, ("orchestrator",)),
        ({"order": OrderClaim("sanitise", ("anna", "alice", "anton"))}, Fault.REORDERED, ("alice",)),
        ({"order": OrderClaim("sanitise", ("alice", "anna"))}, Fault.DOUBLED, ("anton",)),
        ({"order": OrderClaim("sanitise", ("alice", "anna", "anton", "alice"))}, Fault.MISSING, ("alice",)),
        ({"result": ResultClaim("save", OTHER)}, Fault.SWAPPED, ("orchestrator",)),
        ({"sources": {}}, Fault.SWAPPED, ("orchestrator",)),
        ({"tasks": {}}, Fault.UNCLAIMED, ("gpu",)),
    ],
)
def test_a_claim_that_is_not_so_is_refused(change: dict[str, object], fault: Fault, culprits: tuple[str, ...]) -> None:
    graph = recorded(3)
    claims = dataclasses.replace(graph.claims, **change)  # type: ignore[arg-type]  # each row has the type of its field
    refusal = dataclasses.replace(graph, claims=claims).audited().refusal
    assert refusal is not None
    if change.keys() == {"sources"}:
        assert refusal.fault is fault
        return
    assert (refusal.fault, refusal.culprits) == (fault, culprits)


@pytest.mark.verifies("verifiable-fl-REQ-AUDIT-08")
def test_data_that_no_sanitiser_gave_is_refused() -> None:
    graph = recorded(3)
    train = dataclasses.replace(graph.claims.tasks["train"], reads=SOMETHING_ELSE)
    claims = dataclasses.replace(graph.claims, tasks={**graph.claims.tasks, "train": train})
    refusal = dataclasses.replace(graph, claims=claims).audited().refusal
    assert refusal is not None
    assert (refusal.fault, refusal.culprits) == (Fault.SWAPPED, ("gpu",))
    assert "data comes from sanitise" in str(refusal)


def test_two_steps_of_which_none_follows_the_other_are_in_no_order() -> None:
    """Two holders that read one grant may have had the GPU at once, whatever the order of lines says."""
    graph = long_graph(6, exclaves=3)
    claims = dataclasses.replace(graph.claims, order=OrderClaim("turn", ("p0", "p1", "p2") * 2))
    assert dataclasses.replace(graph, claims=claims).audited().accepted
    side = long_graph(6, exclaves=3, branching=True)
    claims = dataclasses.replace(side.claims, order=OrderClaim("turn", ("p0", "p1", "p2") * 2))
    refusal = dataclasses.replace(side, claims=claims).audited().refusal
    assert refusal is not None
    assert refusal.fault is Fault.REORDERED


def test_a_long_graph_is_audited_in_proportion_to_its_length() -> None:
    for steps in (100, 2000):
        result = long_graph(steps).audited()
        assert result.accepted, result.refusal
        assert result.steps == steps + 4
        assert result.level is Level.LINKED
