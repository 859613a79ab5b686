"""Honest graphs are accepted, and every tampering is refused with whom it is held against."""

import dataclasses
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from carnet_ref.systems.gpu_travelling.deployment import Deployment, holder_names
from carnet_ref.systems.verifiable_fl import audit
from carnet_ref.systems.verifiable_fl.audit import Auditor, Fault, RefusedGraphError
from carnet_ref.systems.verifiable_fl.claims_file import OrderClaim, ResultClaim
from carnet_ref.systems.verifiable_fl.evidence import KEY, TDX, Level, TdAttester
from carnet_ref.systems.verifiable_fl.exclave import Exclave
from carnet_ref.systems.verifiable_fl.statements import Input, encode_envelope, parse_envelope
from carnet_ref.training.private import UpdateNoise
from tests.fixtures.attested_graphs import (
    MEASUREMENT,
    OTHER,
    PLATFORM,
    Wiring,
    audited,
    dependent,
    every_wiring,
    long_graph,
    recorded,
    recorder_of,
    signed_again,
    tamperings,
    wired,
)

LEAST_TAMPERINGS = 600
SOMETHING_ELSE = {"model": frozenset({"source", "train"}), "data": frozenset({"other"})}


@pytest.mark.parametrize("rounds", [1, 3, 9])
def test_an_honest_run_is_accepted(rounds: int) -> None:
    result = recorded(rounds).audited()
    assert result.accepted, result.refusal
    assert result.level is Level.LINKED
    assert result.exclaves["gpu"] == 2 * rounds + 1
    turns = [("alice", "anna", "anton")[turn % 3] for turn in range(rounds)]
    told = {each.id: each.detail for each in result.claims}
    assert told["order"] == f"sanitise: {', '.join(turns)}"
    assert told["level"] == "level 1, linked, because of gpu; without, level 2"


@pytest.mark.mends("R502")
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
        ("unsigned", Fault.FORGED),
        ("reordered", Fault.REORDERED),
        ("signed input model", Fault.SWAPPED),
        ("signed code", Fault.UNCLAIMED),
        ("signed name of the output", Fault.UNCLAIMED),
        ("signed task", Fault.UNCLAIMED),
        ("signed run", Fault.REPLAYED),
        ("signed predecessor", Fault.SWAPPED),
    ],
)
def test_a_fault_is_called_by_its_name(start: str, fault: Fault) -> None:
    """The name of the run is looked at before the signature."""
    found = [each for each in tamperings(recorded(3), recorded(3, seed="another run")) if each.name.startswith(start)]
    assert found
    for each in found:
        refusal = audited(each.graph).refusal
        assert refusal is not None
        assert refusal.fault is (Fault.REPLAYED if each.name.startswith("unsigned run") else fault), each.name


def test_statements_that_do_not_depend_on_each_other_may_come_in_any_order() -> None:
    graph = recorded(3)
    free = [place for place in range(len(graph.lines) - 1) if not dependent(graph, place, place + 1)]
    assert free
    for place in free:
        lines = list(graph.lines)
        lines[place : place + 2] = reversed(lines[place : place + 2])
        assert audited(graph.with_lines(*lines)).accepted


def test_steps_with_evidence_of_their_own_and_an_exclave_with_a_key_are_not_mixed() -> None:
    graph = recorded(1, quote_steps=True)
    result = graph.audited()
    assert result.accepted
    assert result.claims[-1].detail == "level 1, linked, because of gpu; without, level 3"
    keyed = recorded(1)
    mixed = dataclasses.replace(graph, shown=(*graph.shown[:-1], keyed.shown[-1])).audited().refusal
    assert mixed is not None
    assert mixed.culprits == ("gpu",)
    weaker = dataclasses.replace(keyed, claims=graph.claims).audited().refusal
    assert weaker is not None
    assert (weaker.fault, weaker.culprits) == (Fault.UNATTESTED, ("orchestrator",))
    assert "level 3 is claimed of orchestrator" in str(weaker)


@pytest.mark.parametrize(
    ("change", "fault", "culprits"),
    [
        ({"level": Level.ATTESTED}, Fault.UNATTESTED, ("gpu",)),
        ({"run": OTHER[:64]}, Fault.REPLAYED, ("orchestrator",)),
        ({"order": OrderClaim("sanitise", ("anna", "alice", "anton"))}, Fault.REORDERED, ("alice",)),
        ({"order": OrderClaim("sanitise", ("alice", "anna"))}, Fault.DOUBLED, ("anton",)),
        ({"order": OrderClaim("sanitise", ("alice", "anna", "anton", "alice"))}, Fault.MISSING, ("alice",)),
        ({"result": ResultClaim("save", OTHER)}, Fault.SWAPPED, ("orchestrator",)),
        ({"sources": {}}, Fault.SWAPPED, ("gpu",)),
        ({"tasks": {}}, Fault.UNCLAIMED, ("gpu",)),
    ],
)
def test_a_claim_that_is_not_so_is_refused(change: dict[str, object], fault: Fault, culprits: tuple[str, ...]) -> None:
    graph = recorded(3)
    claims = dataclasses.replace(graph.claims, **change)  # type: ignore[arg-type]  # each row has the type of its field
    refusal = dataclasses.replace(graph, claims=claims).audited().refusal
    assert refusal is not None
    assert (refusal.fault, refusal.culprits) == (fault, culprits)


@pytest.mark.parametrize(
    ("kind", "quote_steps", "level"),
    [(KEY, False, Level.LINKED), (TDX, False, Level.ATTESTED), (TDX, True, Level.EXCLAVE)],
)
def test_the_level_is_what_the_weakest_evidence_shows(kind: str, quote_steps: bool, level: Level) -> None:
    graph = long_graph(3, exclaves=2, kind=kind, quote_steps=quote_steps)
    for claimed in Level:
        claims = dataclasses.replace(graph.claims, level=claimed)
        result = dataclasses.replace(graph, claims=claims).audited()
        assert result.accepted is (claimed <= level)
        assert result.level is (level if result.accepted else Level.NONE)


@pytest.mark.mends("R510")
@pytest.mark.parametrize("register", range(5))
def test_each_register_that_claims_name_is_compared(register: int) -> None:
    graph = long_graph(1, exclaves=1, kind=TDX)
    measured = [MEASUREMENT.hex(), *[bytes(48).hex()] * 4]
    honest = " ".join(measured[: register + 1])
    for other, accepted in ((honest, True), (" ".join([*measured[:register], OTHER]), False)):
        expected = {"p0": dataclasses.replace(graph.claims.exclaves["p0"], measurement=other)}
        claims = dataclasses.replace(graph.claims, exclaves=expected)
        assert dataclasses.replace(graph, claims=claims).audited().accepted is accepted


def test_a_td_whose_host_may_read_it_is_refused() -> None:
    graph = long_graph(1, exclaves=1, kind=TDX)
    watched = Exclave("p0", graph.claims.run, TdAttester(PLATFORM.td(MEASUREMENT, debug=True)), graph.keys["p0"])
    with pytest.raises(RefusedGraphError, match="evidence of p0: debug") as caught:
        Auditor(graph.claims).enlist(watched.introduction)
    assert caught.value.fault is Fault.UNATTESTED


def test_evidence_of_one_step_is_none_of_another() -> None:
    graph = long_graph(4, exclaves=2, kind=TDX, quote_steps=True)
    assert graph.audited().accepted
    signatures = [parse_envelope(line).signature for line in graph.lines]
    for place, borrowed in enumerate(signatures[:4]):
        other = (place + 2) % 4  # of the same exclave
        envelope = parse_envelope(graph.lines[other])
        line = encode_envelope(envelope.payload, envelope.keyid, borrowed)
        refusal = graph.with_lines(*graph.lines[:other], line, *graph.lines[other + 1 :]).audited().refusal
        assert refusal is not None
        assert (refusal.fault, refusal.culprit) == (Fault.FORGED, graph.steps[other].by)


@pytest.mark.mends("R500")
def test_a_report_that_a_stranger_asked_a_gpu_for_promises_no_more_than_a_key() -> None:
    """The nonce of a report is its asker's, so a holder that reaches the GPU has a report over a key of its own."""
    graph = recorded(1)
    gpu = Deployment(holder_names(3), 1).attesters["gpu"]
    stolen = Exclave("gpu", graph.claims.run, gpu, ec.derive_private_key(7, ec.SECP256R1()))
    auditor = Auditor(graph.claims)
    auditor.enlist(stolen.introduction)
    assert auditor.level is Level.LINKED


@pytest.mark.parametrize("name", ["orchestrator", "alice", "gpu"])
def test_evidence_is_bound_to_the_name_the_run_and_the_key(name: str) -> None:
    graph, other = recorded(3), recorded(3, seed="another run")
    place = next(place for place, each in enumerate(graph.shown) if each.name == name)
    shown = graph.shown[place]
    assert other.shown[place].run != shown.run
    expected = graph.claims.exclaves
    alike = [each for each in graph.shown if expected[each.name].measurement == expected[name].measurement]
    assert len(alike) == (3 if name == "alice" else 1)
    changed = [
        dataclasses.replace(other.shown[place], run=shown.run),
        dataclasses.replace(shown, key=other.shown[place].key),
        *(dataclasses.replace(each, name=name) for each in alike if each.name != name),
    ]
    Auditor(graph.claims).enlist(shown)
    for each in changed:
        with pytest.raises(RefusedGraphError) as caught:
            Auditor(graph.claims).enlist(each)
        assert (caught.value.fault, caught.value.culprit) == (Fault.UNATTESTED, name)


@pytest.mark.mends("R505")
@pytest.mark.mends("R504")
@pytest.mark.parametrize(
    "versions",
    ["535.0 96.00.9F.00.01", "550.90.06 96.00.9F.00.01", "550.90.08 96.00.9F.00.01", "550.90.07 96.00.9F.00.00"],
)
def test_a_gpu_of_other_versions_than_are_claimed_is_refused_newer_ones_too(versions: str) -> None:
    graph = recorded(1)
    expected = graph.claims.exclaves["gpu"]
    assert expected.measurement == "550.90.07 96.00.9F.00.01"
    claims = dataclasses.replace(graph.claims, exclaves={"gpu": dataclasses.replace(expected, measurement=versions)})
    with pytest.raises(RefusedGraphError, match="driver and VBIOS are") as caught:
        Auditor(claims).enlist(graph.shown[-1])
    assert (caught.value.fault, caught.value.culprit) == (Fault.UNATTESTED, "gpu")


def test_one_key_under_two_names_is_refused_with_both() -> None:
    deployment = Deployment(holder_names(3), 1)
    run, recorder = recorder_of(deployment, "a run")
    alice = recorder.exclaves["alice"]
    anna = Exclave("anna", run, alice.attester, alice.key)
    auditor = Auditor(recorded(1).claims)
    auditor.enlist(alice.introduction)
    with pytest.raises(RefusedGraphError, match="one key") as caught:
        auditor.enlist(anna.introduction)
    assert (caught.value.fault, caught.value.culprits) == (Fault.DOUBLED, ("alice", "anna"))


def test_a_key_has_one_encoding() -> None:
    graph = long_graph(1, exclaves=1)
    key = graph.keys["p0"]
    assert key is not None
    short = key.public_key().public_bytes(Encoding.X962, PublicFormat.CompressedPoint)
    expected = {"p0": dataclasses.replace(graph.claims.exclaves["p0"], measurement=short.hex())}
    with pytest.raises(RefusedGraphError) as caught:
        Auditor(dataclasses.replace(graph.claims, exclaves=expected)).enlist(
            dataclasses.replace(graph.shown[0], key=short)
        )
    assert caught.value.fault is Fault.MALFORMED


# -- what is said of the whole graph -------------------------------------------------------------------------------


@pytest.mark.mends("R501")
@pytest.mark.parametrize(("by_grants", "left_out"), [(False, "anna"), (True, "alice")])
def test_a_result_that_has_not_seen_what_a_holder_gave_is_refused(by_grants: bool, left_out: str) -> None:
    """That a grant names a model, and data names a grant, brings nothing of one holder into what the next one gave."""

    def pick(task: str, name: str, there: Sequence[Input]) -> Input:
        """Train from the first model each time, and save what came out for the last holder, or for the first one."""
        models = {"train": there[0], "grant": there[-1 if by_grants else 0], "save": there[-1 if by_grants else 0]}
        return models.get(task, there[-1]) if name == "model" else there[-1]

    refusal = audited(wired(3, pick).graph, 3, job=True).refusal
    assert refusal is not None
    assert (refusal.fault, refusal.culprits) == (Fault.SWAPPED, ("orchestrator",))
    assert f"does not come from statement 0 of {left_out}, sanitise" in str(refusal)


def holders_of(wiring: Wiring, place: int) -> set[str]:
    """Return whose data the model or the data that a step gave is made of."""
    said, reads = wiring.graph.steps[place], wiring.reads[place]
    own = {said.by} if said.task == "sanitise" else set[str]()
    return own.union(*(holders_of(wiring, reads[name]) for name in ("model", "data") if name in reads))


def earlier(wiring: Wiring, place: int) -> set[int]:
    """Return the steps that were certainly taken before one: those that it read from, and those of the same party."""
    own = {at for at in range(place) if wiring.graph.steps[at].by == wiring.graph.steps[place].by}
    direct = own | set(wiring.reads[place].values())
    return direct.union(*(earlier(wiring, at) for at in direct))


def test_of_every_way_in_which_data_could_flow_those_are_accepted_that_are_as_claimed() -> None:
    """Exclaves do what their code says with inputs that the host chose; all its choices in two rounds are tried."""
    accepted = count = 0
    for wiring in every_wiring(2):
        steps = wiring.graph.steps[: len(wiring.reads)]
        first, second = (at for at, said in enumerate(steps) if said.task == "sanitise")
        as_claimed = holders_of(wiring, len(steps) - 1) == {"alice", "anna"} and first in earlier(wiring, second)
        assert audited(wiring.graph, 2, job=True).accepted is as_claimed, wiring.reads
        accepted, count = accepted + as_claimed, count + 1
    assert count == 2 * 2 * 2 * 2 * 2 * 2 * 3 * 2
    assert 0 < accepted < count / 4


def test_without_names_of_inputs_any_input_leads_to_the_result() -> None:
    graph = recorded(3)
    claims = dataclasses.replace(graph.claims, result=ResultClaim("save"))
    assert dataclasses.replace(graph, claims=claims).audited().accepted
    of_grants = dataclasses.replace(graph.claims, result=ResultClaim("save", over=frozenset({"grant"})))
    refusal = dataclasses.replace(graph, claims=of_grants).audited().refusal
    assert refusal is not None
    assert "does not come from statement 0 of alice" in str(refusal)


def test_the_result_is_what_was_given_last_and_not_what_was_given_first() -> None:
    graph = long_graph(5)
    for place in range(5):
        claims = dataclasses.replace(graph.claims, result=ResultClaim("turn", graph.steps[place].gives[0].digest))
        refusal = dataclasses.replace(graph, claims=claims).audited().refusal
        assert (refusal is None) is (place == 4)
        assert refusal is None or (refusal.fault, refusal.culprits) == (Fault.SWAPPED, ("p0",))


@pytest.mark.mends("R503")
def test_of_two_steps_of_which_none_follows_the_other_none_was_the_last() -> None:
    graph = long_graph(4, branching=True)
    for order in ((0, 1, 2, 3), (0, 1, 3, 2)):
        given = graph.steps[order[-1]].gives[0].digest
        claims = dataclasses.replace(graph.claims, result=ResultClaim("turn", given))
        lines = (*(graph.lines[place] for place in order), *graph.lines[4:])
        refusal = dataclasses.replace(graph, claims=claims).with_lines(*lines).audited().refusal
        assert refusal is not None
        assert refusal.fault is Fault.REORDERED
        assert graph.steps[order[-1]].by in refusal.culprits


@pytest.mark.mends("R507")
@pytest.mark.parametrize(
    ("task", "count", "fault"),
    [
        ("train", 2, Fault.DOUBLED),
        ("train", 4, Fault.MISSING),
        ("train", 0, Fault.DOUBLED),
        ("train", 3, None),
        ("train", None, None),
        ("never done", 0, None),
        ("never done", None, Fault.MISSING),
    ],
)
def test_each_task_was_done_as_often_as_is_claimed_and_once_at_least(
    task: str, count: int | None, fault: Fault | None
) -> None:
    graph = recorded(3)
    claim = dataclasses.replace(graph.claims.tasks["train"], count=count)
    claims = dataclasses.replace(graph.claims, tasks={**graph.claims.tasks, task: claim})
    refusal = audited(dataclasses.replace(graph, claims=claims)).refusal
    assert (None if refusal is None else (refusal.fault, refusal.culprit)) == (fault and (fault, "gpu"))


def test_nothing_rests_on_the_epoch_of_a_step() -> None:
    """An exclave may call it what it likes, and what an audit finds is the same; so no claim is about it."""
    graph = recorded(3)
    found = audited(graph)
    last = max(place for place, said in enumerate(graph.steps) if said.task == "scrub")
    changed = dataclasses.replace(graph.steps[last], epoch="another epoch")
    assert audited(signed_again(graph, last, changed)) == found


@pytest.mark.mends("R509")
def test_claims_of_noised_updates_are_not_met_by_others() -> None:
    """What is added to updates is no code in the GPU's memory, and counts as a part of it."""
    noises = (None, UpdateNoise(1.0, 2.0), UpdateNoise(1.0, 3.0))
    graphs = [recorded(1, noise=noise) for noise in noises]
    for at, graph in enumerate(graphs):
        for claimed, other in enumerate(graphs):
            refusal = dataclasses.replace(graph, claims=other.claims).audited().refusal
            found = None if refusal is None else (refusal.fault, refusal.culprit, refusal.step)
            assert found == (None if at == claimed else (Fault.UNCLAIMED, "gpu", 1))


@pytest.mark.mends("R506")
def test_a_graph_of_another_run_of_the_same_job_is_refused() -> None:
    refusal = dataclasses.replace(recorded(3, seed="another run"), claims=recorded(3).claims).audited().refusal
    assert refusal is not None
    assert refusal.fault is Fault.REPLAYED


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


def lines_run(steps: int) -> int:
    """Return how many lines of the auditor's module run for a graph of so many steps, in order and with a result."""
    graph, counted = long_graph(steps), 0
    by = tuple(f"p{number % 4}" for number in range(steps))
    claims = dataclasses.replace(graph.claims, order=OrderClaim("turn", by), result=ResultClaim("turn"))

    def count(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal counted
        counted += event == "line"
        return count if frame.f_code.co_filename == audit.__file__ else None

    before = sys.gettrace()
    sys.settrace(count)
    try:
        result = dataclasses.replace(graph, claims=claims).audited()
    finally:
        sys.settrace(before)
    assert result.accepted, result.refusal
    assert result.steps == steps + 4
    return counted


def test_a_long_graph_is_audited_in_proportion_to_its_length() -> None:
    short, middle, long = (lines_run(steps) for steps in (20, 40, 80))
    assert long - middle == 2 * (middle - short) > 0
