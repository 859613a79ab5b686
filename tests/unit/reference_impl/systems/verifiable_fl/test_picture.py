"""A graph is drawn with a box for each statement and an arrow for each input; what is refused is red."""

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from carnet_command.errors import UsageError
from carnet_ref.systems.verifiable_fl import picture
from carnet_ref.systems.verifiable_fl.audit import AuditResult, Fault, RefusedGraphError
from carnet_ref.systems.verifiable_fl.evidence import Level
from carnet_ref.systems.verifiable_fl.picture import RED, BoxState, boxes_of, plot
from carnet_ref.systems.verifiable_fl.statements import Envelope, parse_envelope
from tests.benchmarks.audit_pages import FOLDER, pictured
from tests.fixtures.attested_graphs import Graph, audited, long_graph, recorded, tamperings
from tests.repo.tracked import ROOT

SVG = "{http://www.w3.org/2000/svg}"


def envelopes(graph: Graph) -> list[Envelope]:
    return [parse_envelope(line) for line in graph.lines]


def drawn(graph: Graph, path: Path) -> ElementTree.Element:
    plot(envelopes(graph), graph.audited(), path)
    return ElementTree.parse(path).getroot()


def groups(svg: ElementTree.Element) -> dict[str, ElementTree.Element]:
    return {group.get("id", ""): group for group in svg.iter(f"{SVG}g")}


def texts(svg: ElementTree.Element) -> list[str]:
    return ["".join(text.itertext()) for text in svg.iter(f"{SVG}text")]


def test_an_accepted_graph_has_a_box_for_each_statement_and_an_arrow_for_each_input(tmp_path: Path) -> None:
    graph = recorded(3)
    svg = drawn(graph, tmp_path / "graph.svg")
    found = groups(svg)
    assert {name for name in found if name.startswith("accepted-")} == {
        f"accepted-{said.by}-{said.number}" for said in graph.steps
    }
    reads = [read for said in graph.steps for read in said.reads]
    kinds = Counter(name.partition("-")[0] for name in found)
    assert kinds["read"] == sum(bool(read.proof) for read in reads)
    assert kinds["source"] == sum(not read.proof for read in reads)
    assert {"accepted, level 1", "orchestrator", "alice", "anna", "anton", "gpu"} <= set(texts(svg))
    assert Counter(texts(svg)) >= Counter(said.task for said in graph.steps)
    assert RED not in (tmp_path / "graph.svg").read_text("utf-8")


def test_a_statement_that_is_refused_is_red_and_those_after_it_are_not_accepted(tmp_path: Path) -> None:
    graph = recorded(3)
    ways = tamperings(graph, recorded(3, seed="another run"))
    way = next(each for each in ways if each.name == "signed input data 3, train of gpu")
    svg = drawn(way.graph, tmp_path / "graph.svg")
    found = groups(svg)
    assert RED in ElementTree.tostring(found["refused-gpu-1"], "unicode")
    assert sum(name.startswith("accepted-") for name in found) == 3
    assert sum(name.startswith("not-looked-at-") for name in found) == len(graph.lines) - 4
    assert "refused, swapped: gpu" in texts(svg)
    assert any(name.startswith("unshown-") for name in found)  # what others read of it has another digest


def test_a_statement_that_is_not_there_has_a_place_where_it_would_be(tmp_path: Path) -> None:
    graph = recorded(3)
    for place in (3, len(graph.lines) - 1):
        said = graph.steps[place]
        lacking = graph.with_lines(*graph.lines[:place], *graph.lines[place + 1 :])
        boxes = boxes_of(envelopes(lacking), lacking.audited())
        absent = [(box.by, box.number) for box in boxes if box.state is BoxState.ABSENT]
        assert absent == [(said.by, said.number)]
        of_gpu = [box.number for box in boxes if box.by == "gpu"]
        assert of_gpu == sorted(of_gpu)
        assert f"not-there-{said.by}-{said.number}" in groups(drawn(lacking, tmp_path / "graph.svg"))


def test_every_refusal_that_names_a_statement_shows_it() -> None:
    for each in tamperings(recorded(3), recorded(3, seed="another run")):
        result = audited(each.graph)
        refusal = result.refusal
        assert refusal is not None
        boxes = boxes_of(envelopes(each.graph), result)
        red = {(box.by, box.number) for box in boxes if box.state in {BoxState.REFUSED, BoxState.ABSENT}}
        assert red == (set() if refusal.step is None else {(refusal.culprits[0], refusal.step)}), each.name


def test_two_statements_of_one_number_are_both_red() -> None:
    graph = recorded(1)
    doubled = graph.with_lines(*graph.lines, graph.lines[2])
    boxes = boxes_of(envelopes(doubled), doubled.audited())
    assert [at for at, box in enumerate(boxes) if box.state is BoxState.REFUSED] == [2, len(graph.lines)]


def test_names_are_shown_as_they_are(tmp_path: Path) -> None:
    """A name may have dollars, which Matplotlib would take for mathematics, and signs of XML."""
    graph = recorded(1)
    name = "$\\frac<&_^$"
    said = replace(graph.steps[0], by=name, task=name, reads=(replace(graph.steps[0].reads[0], name=name),))
    envelope = replace(envelopes(graph)[0], statement=said)
    refusal = RefusedGraphError(Fault.UNATTESTED, name, f"a statement of {name}", 0)
    plot([envelope], AuditResult(Level.NONE, 0, 0, {}, (), refusal), tmp_path / "graph.svg")
    shown = texts(ElementTree.parse(tmp_path / "graph.svg").getroot())
    assert {f"refused, unattested: {name}", name, f"reads {name}", f"a statement of {name}"} <= set(shown)


def test_what_no_file_of_xml_can_have_is_named(tmp_path: Path) -> None:
    refusal = RefusedGraphError(Fault.UNATTESTED, "a\0b", "a\0b: nobody claims it")
    plot([], AuditResult(Level.NONE, 0, 0, {}, (), refusal), tmp_path / "graph.svg")
    assert "refused, unattested: a\\x00b" in texts(ElementTree.parse(tmp_path / "graph.svg").getroot())


def test_the_picture_of_a_graph_is_the_same_bytes_every_time(tmp_path: Path) -> None:
    drawn(recorded(1), tmp_path / "one.svg")
    drawn(recorded(1), tmp_path / "two.svg")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_what_cannot_be_drawn_is_one_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(picture, "MOST_STATEMENTS", 5)
    with pytest.raises(UsageError, match="at most 5 statements, and this graph has 6"):
        drawn(long_graph(2), tmp_path / "graph.svg")
    with pytest.raises(UsageError, match="cannot write"):
        drawn(long_graph(1), tmp_path / "no" / "graph.svg")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(UsageError, match="needs the extra 'plot'"):
        drawn(long_graph(1), tmp_path / "graph.svg")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", pictured())
def test_the_page_shows_what_is_drawn(name: str, tmp_path: Path) -> None:
    shown = ElementTree.parse(FOLDER / f"{name}.svg").getroot()
    again = drawn(pictured()[name], tmp_path / "graph.svg")
    assert (texts(shown), list(groups(shown))) == (texts(again), list(groups(again)))
    assert f"(../results/audit/{name}.svg)" in (ROOT / "docs" / "how-to" / "audit-a-run.md").read_text("utf-8")
