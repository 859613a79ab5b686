"""Remembered unsat cores: which hypotheses to try first for an obligation.

Hints make proofs faster, and what they are said to rest on the same in every run; they change no verdict, because an
attempt with too few hypotheses is followed by one with all.
They lie beside the specification, in ``carnet_spec/protocols/<protocol>/hints/<variant>.json``.
"""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Iterable, Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from carnet_spec.language import Protocol

if TYPE_CHECKING:
    from carnet_check.engines.proving.answers import SolverAnswer

Hints = Mapping[str, tuple[str, ...]]
"""For an obligation's id, the names of the hypotheses that sufficed."""


def hints_from(answers: Iterable[SolverAnswer]) -> Hints:
    """Return the hints that these answers give; the first answer to an obligation counts."""
    found: dict[str, tuple[str, ...]] = {}
    for answer in answers:
        if answer.attempt >= 0 and answer.outcome == "proved":
            found.setdefault(answer.id, answer.core)
    return found


def place_of(protocol: Protocol) -> Traversable:
    """Return where the hints for ``protocol`` lie, whether they exist or not."""
    folder = importlib.resources.files("carnet_spec").joinpath("protocols")
    return folder.joinpath(protocol.id.replace("-", "_"), "hints", f"{protocol.variant}.json")


def load_hints(protocol: Protocol) -> Hints:
    """Return the hints that lie beside the specification of ``protocol``, if any can be read."""
    file = place_of(protocol)
    try:
        return decoded(json.loads(file.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, LookupError):
        return {}


def save_hints(hints: Hints, path: Path) -> None:
    """Write ``hints`` to ``path``, one obligation to a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    names = sorted({name for hint in hints.values() for name in hint})
    place = {name: number for number, name in enumerate(names)}
    cores = [f"{json.dumps(id)}: {json.dumps(sorted(place[name] for name in hints[id]))}" for id in sorted(hints)]
    listed = ",\n".join(json.dumps(name) for name in names)
    body = ",\n".join(cores)
    path.write_text(f'{{"names": [\n{listed}],\n"cores": {{\n{body}}}}}\n', encoding="utf-8")


def decoded(content: Any) -> Hints:
    """Return the hints in the parsed content of a file that :func:`save_hints` wrote."""
    names: list[str] = content["names"]
    return {id: tuple(names[number] for number in core) for id, core in content["cores"].items()}
