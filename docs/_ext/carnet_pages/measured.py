"""What the authors of a published system measured, beside what Carnet makes of it.

``sources.toml`` beside a protocol's text says both under ``[measured]``: the ``table`` of ``carnet datapath`` with its
figures, if there is one, and each further ``figure``, with what stands for it ``here``, or a function that returns that
(``computed = "module:function"``).
"""

from __future__ import annotations

import json
import pkgutil
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
        *map(_figure, said.get("figure", ())),
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


def _figure(said: dict[str, str]) -> list[str]:
    here = said["here"] if "here" in said else pkgutil.resolve_name(said["computed"])()
    return [said["what"], said["published"], here]


def _rows(name: str) -> Iterator[list[str]]:
    """Yield the rows of a table as it was recorded, with the part that each figure has in it."""
    if name:
        for row in json.loads((TABLES / f"{name}.json").read_text("utf-8"))["rows"]:
            here = "not computed" if row["reproduced"] is None else f"{row['reproduced']:.4g} ({row['role']})"
            unit = "" if row["unit"] == "1" else f", {row['unit']}"
            yield [f"{row['name']}{unit}", f"{row['published']:.4g}", here]
