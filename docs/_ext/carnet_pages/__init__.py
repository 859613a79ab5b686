"""Sphinx extension: writes the specification's pages from the specification itself.

Before a build, the folder ``specification/`` beside ``conf.py`` is filled with pages (MyST Markdown) made from every
registered protocol, from the normative text, from the code that enforces it, and from recorded runs: each
``results/*.json`` is what a ``carnet verify --json`` printed, ``results/tests.xml`` what pytest reported, and what they
say about a specification that has changed since is marked as stale. Only pages that differ are written, so that Sphinx
rebuilds no more than it must. A requirement that lacks an obligation, a test that passed or an enforcing place ends the
build.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from carnet_spec.language import Family
from carnet_spec.protocols.registry import REGISTRY
from carnet_spec.requirements import OPENING, Page, pages, requirements

from . import api
from .assurance import assurance, cases, places, refuse_gaps
from .evidence_formats import NAME, evidence_formats
from .junit import JUNIT, read
from .markdown import contents, label, page
from .mended import FAULTS, marks, mended, read_faults
from .protocols import ProtocolPages
from .verdicts import verdicts

FOLDER = "specification"


class _Sphinx(Protocol):
    """What is used of Sphinx, so that the pages can be made, and tested, where it is not installed."""

    srcdir: Path

    def connect(self, event: str, callback: Callable[[_Sphinx], None]) -> object: ...


def setup(app: _Sphinx) -> dict[str, Any]:
    """Register the extension with Sphinx."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(app: _Sphinx) -> None:
    root = Path(app.srcdir)
    families = registered()
    results = _recorded(root / "results")
    rounds = _recorded(root / "results" / "rounds")
    attacks = [
        run for path in sorted(root.glob("results/attacks/*.json")) for run in json.loads(path.read_text("utf-8"))
    ]
    ran = read(root / JUNIT)
    found = cases(families, pages(), ran, places(families, results.values()), complete=True)
    refuse_gaps(found)
    write(root / api.FOLDER, api.api(root.parent, {NAME: evidence_formats()}))
    answered = (root.parent / "SECURITY.md").read_text("utf-8")
    faults = {"assurance/mended.md": mended(read_faults(root / FAULTS), marks(root.parent / "tests"), answered)}
    specified = specification(families, pages(), results, rounds)
    write(root / FOLDER, specified | assurance(families, found, attacks, ran) | faults)


def _recorded(folder: Path) -> dict[str, Any]:
    return {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))}


def registered() -> list[Family]:
    """Import every registered protocol."""
    addresses = (address.partition(":") for address in REGISTRY.values())
    return [getattr(importlib.import_module(module), attribute) for module, _, attribute in addresses]


def write(folder: Path, texts: Mapping[str, str]) -> None:
    """Make ``folder`` hold exactly ``texts``, by path; leave files alone that are right already."""
    for path in folder.rglob("*.md"):
        if path.relative_to(folder).as_posix() not in texts:
            path.unlink()
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.is_file() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def specification(
    families: Sequence[Family],
    text: Sequence[Page],
    results: Mapping[str, Any],
    rounds: Mapping[str, Any] = MappingProxyType({}),
) -> dict[str, str]:
    """Return every page by its path below the folder of the specification; ``rounds`` are drawn, by protocol."""
    known = frozenset(requirements(text))
    found = {"index.md": _index(families, text), "verdicts.md": verdicts(families, results)}
    for part in text:
        found[f"text/{part.name}.md"] = _normative(part)
    for family in families:
        subject = ProtocolPages(family, known, rounds.get(family.id))
        found[f"{family.id}/index.md"] = subject.overview()
        found[f"{family.id}/diagrams.md"] = subject.diagrams()
        found[f"{family.id}/state.md"] = subject.state()
        found[f"{family.id}/actions.md"] = subject.actions()
        found[f"{family.id}/claims.md"] = subject.claims()
    return {path: text.rstrip() + "\n" for path, text in found.items()}


def _index(families: Sequence[Family], text: Sequence[Page]) -> str:
    return page(
        "# Specification",
        "These pages are made from the specification that is checked: what they show is what the verdicts are about.",
        contents([f"{family.id}/index" for family in families]),
        contents([f"text/{part.name}" for part in text] + ["verdicts"]),
    )


def _normative(text: Page) -> str:
    """Give every normative sentence a name that references find."""

    def named(found: re.Match[str]) -> str:
        return f"\n({label(found['id'])})=\n**{found['id']}**{found['rest']}"

    return re.sub(r"\n{3,}", "\n\n", OPENING.sub(named, text.text))
