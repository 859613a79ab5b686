"""Heat maps: how many claims fall in which design under which threat model, as plain values for one template.

A cell says it as text; the colour says nothing that the text does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from carnet_command.text import counted

Values = Mapping[str, Any]

NOT_MADE = "–"
OPEN = "?"
STEPS = (1, 3, 6, 10)
"""From how many fallen claims on a cell is in a class of its own."""


def cell(fallen: int, made: int, *, decided: bool = True, expected: bool = True) -> dict[str, str]:
    """Return one cell.

    Args:
        fallen: how many claims are known to fall.
        made: how many claims are made there; without one, the cell says that there is none.
        decided: whether it is established that no others fall; where none is known to fall, it is no zero without that.
        expected: whether what fell was expected to.
    """
    if not made:
        return {"text": NOT_MADE, "class": "none", "words": "no claim is made there"}
    if fallen:
        one = fallen == 1
        verb = ("falls" if one else "fall") if decided else ("is known to fall" if one else "are known to fall")
        mark, told = ("", "") if expected else ("!", ", not as expected")
        words = f"of {counted(made, 'claim')} {verb}{told}"
        return {"text": f"{fallen}{mark}", "class": _level(fallen), "words": words}
    if not decided:
        words = f"of {counted(made, 'claim')} none is known to fall, and not all are decided"
        return {"text": OPEN, "class": "open", "words": words}
    return {"text": "0", "class": "stands", "words": f"of {counted(made, 'claim')} fall"}


def attacked(fallen: int) -> dict[str, str]:
    """Return a cell of which only attacks are known: without one, nothing is said."""
    if not fallen:
        return {"text": NOT_MADE, "class": "none", "words": "no attack was looked for, or none was found"}
    return {
        "text": f"{fallen}",
        "class": _level(fallen),
        "words": f"attacked {'claim' if fallen == 1 else 'claims'} fell",
    }


def row(name: str, href: str, cells: Iterable[Values], note: str = "") -> dict[str, Any]:
    """Return a row: a design, where more is said of it, and its cells from left to right."""
    return {"name": name, "href": href, "note": note, "cells": list(cells)}


def heat_map(caption: str, corner: str, columns: Sequence[str], rows: Iterable[Values]) -> dict[str, Any]:
    """Return a map; ``corner`` says what a row is, and each row has as many cells as there are columns."""
    listed = list(rows)
    if strange := [each["name"] for each in listed if len(each["cells"]) != len(columns)]:
        raise ValueError(f"{strange[0]} has another number of cells than there are columns")
    return {"caption": caption, "corner": corner, "columns": list(columns), "rows": listed}


def _level(fallen: int) -> str:
    return f"fallen-{sum(fallen >= least for least in STEPS)}"
