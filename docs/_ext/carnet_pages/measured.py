"""What the authors of a published system measured, beside what Carnet makes of it.

``sources.toml`` beside a protocol's text says both under ``[measured]``: the ``table`` of ``carnet datapath`` with its
figures, if there is one, and each further ``figure``, with what stands for it ``here``.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from carnet_spec import protocols
from carnet_spec.language import Family

from .markdown import Lines, code, prose, table

TABLES = Path(__file__).parents[2] / "results" / "datapath"


def measured(family: Family) -> Lines:
    """Return the section of a protocol's page, or nothing where nobody measured anything."""
    said = _said(family)
    rows = [
        *_rows(said.get("table", "")),
        *([each["what"], each["published"], each["here"]] for each in _figures(said)),
    ]
    if rows:
        yield from ("## Measured by its authors, and here", "")
        yield from table(["figure", "published", "here"], ([*map(prose, row)] for row in rows))
    if "table" in said:
        command = code(f"carnet datapath --table {said['table']}")
        yield from (f"{command} computes the figures; {{doc}}`/datapath` says which were fitted.", "")


def _said(family: Family) -> dict[str, Any]:
    file = Path(protocols.__path__[0]) / family.id.replace("-", "_") / "sources.toml"
    found: dict[str, Any] = tomllib.loads(file.read_text("utf-8")).get("measured", {}) if file.exists() else {}
    return found


def _figures(said: dict[str, Any]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = said.get("figure", [])
    return found


def _rows(name: str) -> Iterator[list[str]]:
    """Yield the rows of a table as it was recorded, with the part that each figure has in it."""
    if name:
        for row in json.loads((TABLES / f"{name}.json").read_text("utf-8"))["rows"]:
            here = "not computed" if row["reproduced"] is None else f"{row['reproduced']:.4g} ({row['role']})"
            unit = "" if row["unit"] == "1" else f", {row['unit']}"
            yield [f"{row['name']}{unit}", f"{row['published']:.4g}", here]
