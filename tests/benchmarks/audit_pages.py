"""Draws the pictures of attested graphs on the page about audits: ``python -m tests.benchmarks.audit_pages``."""

from pathlib import Path
from typing import Final

from carnet_ref.systems.verifiable_fl.picture import plot
from carnet_ref.systems.verifiable_fl.statements import parse_envelope
from tests.fixtures.attested_graphs import Graph, recorded
from tests.repo.tracked import ROOT

FOLDER: Final = ROOT / "docs" / "results" / "audit"
REMOVED: Final = 3  #: The place of the line that the page removes.


def pictured() -> dict[str, Graph]:
    """Return the graphs of the page, by the names of their pictures."""
    graph = recorded(3)
    lines = graph.lines
    return {"accepted": graph, "refused": graph.with_lines(*lines[:REMOVED], *lines[REMOVED + 1 :])}


def draw(folder: Path = FOLDER) -> None:
    """Draw each graph into a folder, with what an audit says of it."""
    folder.mkdir(exist_ok=True)
    for name, graph in pictured().items():
        plot([parse_envelope(line) for line in graph.lines], graph.audited(), folder / f"{name}.svg")


if __name__ == "__main__":
    draw()
