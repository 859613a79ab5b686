"""A graph is read as it was written; files that hold no graph are refused, and nothing is written over."""

from pathlib import Path

import pytest

from carnet_command.errors import UsageError
from carnet_ref.systems.verifiable_fl.audit import Fault, RefusedGraphError
from carnet_ref.systems.verifiable_fl.exclave import Exclave, ExclaveError
from carnet_ref.systems.verifiable_fl.recording import (
    EXCLAVES,
    STEPS,
    audit_folder,
    parse_introductions,
    read_graph,
    require_graph_folder,
    write_graph,
)
from tests.fixtures.attested_graphs import OTHER, recorded


def test_a_graph_is_read_as_it_was_written(tmp_path: Path) -> None:
    graph = recorded(1)
    write_graph(tmp_path / "graph", graph.shown, graph.lines)
    shown, envelopes = read_graph(tmp_path / "graph")
    assert tuple(shown) == graph.shown
    assert tuple(each.statement for each in envelopes) == graph.steps
    assert audit_folder(tmp_path / "graph", graph.claims)[0].accepted


def test_a_truncated_file_is_refused_with_the_line_and_nothing_is_written(tmp_path: Path) -> None:
    graph = recorded(1)
    write_graph(tmp_path, graph.shown, graph.lines)
    whole = (tmp_path / STEPS).read_bytes()
    for cut in (len(whole) // 2, len(whole) - 3):
        (tmp_path / STEPS).write_bytes(whole[:cut])
        refusal = audit_folder(tmp_path, graph.claims)[0].refusal
        assert refusal is not None
        assert refusal.fault is Fault.MALFORMED
        number = len(whole[:cut].splitlines())
        assert refusal.culprit == f"line {number} of {STEPS}"
    assert {each.name for each in tmp_path.iterdir()} == {STEPS, EXCLAVES}


@pytest.mark.parametrize("data", [b"", b"{", b"{}", b"[1]", b'[{"name": "a"}]', b"[" * 10_000])
def test_introductions_that_are_none_are_refused(data: bytes) -> None:
    with pytest.raises(RefusedGraphError):
        parse_introductions(data)


def test_a_folder_without_a_graph_is_a_mistake_of_the_caller(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected"):
        read_graph(tmp_path)


def test_a_graph_is_written_where_nothing_is(tmp_path: Path) -> None:
    require_graph_folder(tmp_path / "new")
    require_graph_folder(tmp_path)
    (tmp_path / "file").write_text("x")
    for path in (tmp_path, tmp_path / "file", tmp_path / "no" / "where"):
        with pytest.raises(UsageError, match="expected a folder"):
            require_graph_folder(path)


@pytest.mark.verifies("verifiable-fl-REQ-STEP-05")
def test_a_log_that_has_ended_has_no_further_statement() -> None:
    from cryptography.hazmat.primitives.asymmetric import ec

    exclave = Exclave("a", OTHER[:64], None, ec.derive_private_key(7, ec.SECP256R1()))
    exclave.end()
    with pytest.raises(ExclaveError, match="has ended"):
        exclave.attest("train", "e", OTHER, (), ())
