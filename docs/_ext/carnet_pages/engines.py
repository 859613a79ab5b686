"""The engines that ``carnet verify`` asks, listed from their registration."""

from __future__ import annotations

from carnet_check.engines.interface import Engine
from carnet_check.engines.registry import by_default, registered

from .markdown import Lines, code, page, prose, table

ENGINES_PAGE = "engines"


def engines() -> str:
    """Return the page that lists the engines, each with the verdicts it can give and what it needs."""
    head = "`carnet verify --engine NAME` asks these engines; {doc}`../how-to/add-an-engine` says how to add one."
    return page("# Engines", head, _listed()).rstrip() + "\n"


def _listed() -> Lines:
    titles = ["Engine", "What it establishes", "Of a claim that holds", "Shows violations", "Runs by default", "Needs"]
    return table(titles, map(_row, registered()))


def _row(engine: Engine) -> tuple[str, ...]:
    return (
        code(engine.name),
        prose(engine.purpose),
        ", ".join(engine.verdicts),
        _yes(engine.refutes),
        _yes(engine in by_default()),
        prose(", ".join(tool.get for tool in engine.needs) or "nothing else"),
    )


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"
