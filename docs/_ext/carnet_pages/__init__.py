"""Sphinx extension: writes the specification's pages from the specification itself.

Before a build, the folder ``specification/`` beside ``conf.py`` is filled with pages (MyST Markdown) made from every
registered protocol and its normative text, from the code that enforces it, and from recorded runs: each
``results/*.json`` is what a ``carnet verify --json`` printed, ``results/tests.xml`` what pytest reported, and what they
say about a specification that has changed since is marked as stale. Only pages that differ are written, so that Sphinx
rebuilds no more than it must. A requirement that lacks an obligation, a test that passed or an enforcing place ends the
build.
"""

from __future__ import annotations

import importlib.util
import json
import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from carnet_check.loading.families import known_protocols, load
from carnet_spec.compositions import compositions
from carnet_spec.language import Family

from . import agreement, api, gallery
from .accounts import accounts_page
from .assurance import VERIFIES, assurance, cases, places, refuse_gaps
from .bond_status import judge
from .bonds import PAGE, compositions_page
from .claim_pages import claim_pages
from .claimed import PAGE as CLAIMED
from .claimed import claimed
from .comparison import PAGE as COMPARISON
from .comparison import comparison
from .counted_mutants import mutants
from .counted_proofs import proofs
from .defences import defences
from .junit import JUNIT, read
from .knowledge import TEXT, knowledge
from .listings import (
    COMMANDS_PAGE,
    ENGINES_PAGE,
    FORMATS_PAGE,
    POLICIES_PAGE,
    command_line,
    engines,
    evidence_formats,
    policy_keys,
)
from .markdown import contents, page
from .mended import FAULTS, RECORDS, marks, mended, read_faults
from .protocols import ProtocolPages
from .verdicts import verdicts

FOLDER = "specification"


class _Sphinx(Protocol):
    """What is used of Sphinx, so that the pages can be made, and tested, where it is not installed."""

    srcdir: Path
    outdir: Path

    def connect(self, event: str, callback: Callable[[_Sphinx], None]) -> object: ...


def setup(app: _Sphinx) -> dict[str, Any]:
    """Register the extension with Sphinx."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(app: _Sphinx) -> None:
    root = Path(app.srcdir)
    families = registered_families()
    results = _recorded(root / "results")
    rounds = _recorded(root / "results" / "rounds")
    attacks = [
        run for path in sorted(root.glob("results/attacks/*.json")) for run in json.loads(path.read_text("utf-8"))
    ]
    ran = read(root / JUNIT)
    code = {each.id: places([each], results.values()) for each in families if is_implemented(each)}
    found = cases(families, ran, code, slow=marks(root.parent / "tests", VERIFIES), complete=True)
    refuse_gaps(found)
    listed = {
        COMMANDS_PAGE: command_line(),
        FORMATS_PAGE: evidence_formats(),
        POLICIES_PAGE: policy_keys(),
        ENGINES_PAGE: engines(),
    }
    write(root / api.FOLDER, api.api(root.parent, listed))
    answered = (root.parent / "SECURITY.md").read_text("utf-8")
    listed_faults = read_faults(root / FAULTS), marks(root.parent / "tests")
    faults = {"assurance/mended.md": mended(*listed_faults, answered, root / RECORDS)}
    counted = {
        "assurance/proofs.md": proofs(families, _recorded(root / "results" / "proofs")).rstrip() + "\n",
        "assurance/agreement.md": agreement.agreement(families, _agreed(root)).rstrip() + "\n",
        "assurance/mutants.md": mutants(families, _recorded(root / "results" / "mutants")).rstrip() + "\n",
    }
    faults["assurance/accounts.md"] = accounts_page(families, attacks)
    faults[COMPARISON] = comparison(families, results).rstrip() + "\n"
    faults[PAGE] = compositions_page(compositions(), judge).rstrip() + "\n"
    faults["assurance/gallery.md"] = gallery.gallery(families, attacks).rstrip() + "\n"
    gallery.write_diagrams(families, attacks, Path(app.outdir))
    stale = _stale()
    specified = specification(families, results, rounds, attacks, _recorded(root / "results" / "falls"), stale)
    write(root / FOLDER, specified | assurance(families, found, attacks, ran) | faults | counted)


def _stale() -> str:
    """Say which records are stale, if any, also in the log; a warning would end a strict build."""
    from .records.__main__ import summary
    from .records.graph import stale

    found = stale()
    if not found:
        return ""
    said = f"{summary(found)}: {', '.join(each.name for each in found)}"
    logging.getLogger("sphinx.carnet_pages").info(said)
    return said


def _agreed(root: Path) -> dict[str, agreement.Recorded]:
    return {path.stem: agreement.read(path) for path in sorted(root.glob("results/agreement/*.csv"))}


def _recorded(folder: Path) -> dict[str, Any]:
    return {path.stem: json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))}


def registered_families() -> list[Family]:
    """Import every registered protocol."""
    return [load(id).family for id in known_protocols()]


def is_implemented(family: Family) -> bool:
    """Whether the reference implementation has a system for the protocol, so that its requirements have places."""
    return importlib.util.find_spec(f"carnet_ref.systems.{family.id.replace('-', '_')}") is not None


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
    results: Mapping[str, Any],
    rounds: Mapping[str, Any] = MappingProxyType({}),
    attacks: Sequence[Mapping[str, Any]] = (),
    fallen: Mapping[str, Any] = MappingProxyType({}),
    stale: str = "",
) -> dict[str, str]:
    """Return every page by its path below the folder of the specification.

    ``rounds`` are drawn, by protocol; ``attacks`` are on the pages of the claims that they break; and ``fallen`` says
    for each protocol which claims fall without which defence. ``stale`` says which records are about an earlier one.
    """
    found = {"index.md": _index(families, stale), "verdicts.md": verdicts(families, results)}
    for family in families:
        subject = ProtocolPages(family, rounds.get(family.id))
        if family.text.text:
            found[f"{family.id}/requirements.md"] = subject.requirements()
        found[f"{family.id}/index.md"] = subject.overview()
        found[f"{family.id}/{CLAIMED}"] = claimed(family, results.get(family.id))
        found[f"{family.id}/diagrams.md"] = subject.diagrams()
        found[f"{family.id}/state.md"] = subject.state()
        found[f"{family.id}/actions.md"] = subject.actions()
        found[f"{family.id}/claims.md"] = subject.claims()
        if family.id in rounds:
            found[f"{family.id}/{TEXT}"] = "\n".join(knowledge(rounds[family.id]))
        if family.protocol().defences:
            found[f"{family.id}/defences.md"] = defences(family, fallen.get(family.id, ()))
        found |= claim_pages(family, results.get(family.id), attacks)
    return {path: text.rstrip() + "\n" for path, text in found.items()}


def _index(families: Sequence[Family], stale: str) -> str:
    return page(
        "# Specification",
        "These pages are made from the specification that is checked: what they show is what the verdicts are about.",
        [":::{warning}", stale, ":::", ""] if stale else "",
        contents([*(f"{family.id}/index" for family in families), "verdicts"]),
    )
