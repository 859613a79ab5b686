"""The folder that ``verify --out`` writes: a report needs nothing else, not even the specification.

========================= ==========================================================================================
``verdicts.jsonl``        one verdict to a line; the same bytes for the same commit, profile and solver build
``timings.jsonl``         what each verdict took
``run.json``              the closing block, the goals, the notes
``spec.json``             what was claimed: sentences, threat models, assumptions, defences, lemmas; see ``outline``
``attacks/NAME.json``     each violation, minimised and replayed, step by step; ``NAME.itf.json``: the same as ITF
``graphs/NAME.json``      the states of instances that are small enough to draw
========================= ==========================================================================================
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from carnet_check.errors import UsageError
from carnet_check.report.artefacts import make_folder, write_json, write_lines

FORMAT = "carnet-run/1"
VERDICTS = "verdicts.jsonl"
TIMINGS = "timings.jsonl"
RUN = "run.json"
SPEC = "spec.json"
ATTACKS = "attacks"
GRAPHS = "graphs"
ITF_ENDING = ".itf.json"


@dataclass(frozen=True)
class Run:
    """A run as it is written to a folder and read back: plain JSON values throughout."""

    verdicts: tuple[Mapping[str, Any], ...]
    run: Mapping[str, Any]
    spec: Mapping[str, Any]
    attacks: tuple[Mapping[str, Any], ...] = ()
    graphs: tuple[Mapping[str, Any], ...] = ()
    timings: tuple[Mapping[str, Any], ...] = ()
    itf: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """The ITF trace of each attack, by the attack's name; written, not read back."""

    def write(self, folder: Path) -> None:
        """Write the run; every file is whole before it gets its name, and what an earlier run left goes first.

        Raises:
            UsageError: a file cannot be written.
        """
        make_folder(folder)
        _clear(folder)
        write_lines(folder / VERDICTS, self.verdicts)
        write_lines(folder / TIMINGS, self.timings)
        write_json(folder / SPEC, self.spec)
        for attack in self.attacks:
            write_attack(folder, attack, self.itf[attack["name"]])
        for graph in self.graphs:
            make_folder(folder / GRAPHS)
            write_json(folder / GRAPHS / f"{graph['name']}.json", graph)
        write_json(folder / RUN, {"format": FORMAT, **self.run})


def _clear(folder: Path) -> None:
    """Remove the attacks and graphs of an earlier run, and first of all its name: half a run is no run."""
    ours = any((folder / name).is_file() for name in (RUN, VERDICTS))
    (folder / RUN).unlink(missing_ok=True)
    if ours:
        for part in (ATTACKS, GRAPHS):
            for file in (folder / part).glob("*.json"):
                file.unlink()


def write_attack(folder: Path, attack: Mapping[str, Any], itf: Mapping[str, Any]) -> None:
    """Add one attack to a run folder, and its trace for ITF viewers beside it."""
    make_folder(folder / ATTACKS)
    write_json(folder / ATTACKS / f"{attack['name']}.json", attack)
    write_json(folder / ATTACKS / f"{attack['name']}{ITF_ENDING}", itf)


def read_run(folder: Path) -> Run:
    """Read what :meth:`Run.write` wrote.

    Raises:
        UsageError: ``folder`` was not written by ``verify --out``, or something in it is not what it should be.
    """
    if not (folder / RUN).is_file():
        raise UsageError(f"expected a folder written by 'carnet verify --out', and '{folder}' has no {RUN}")
    run = _object(folder / RUN)
    if run.get("format") != FORMAT:
        raise UsageError(f"expected a run of format {FORMAT}, and '{folder / RUN}' is of format {run.get('format')}")
    return Run(
        verdicts=tuple(_lines(folder / VERDICTS)),
        run=run,
        spec=_object(folder / SPEC),
        attacks=tuple(_objects(folder / ATTACKS)),
        graphs=tuple(_objects(folder / GRAPHS)),
        timings=tuple(_lines(folder / TIMINGS)),
    )


def _objects(folder: Path) -> Iterable[Mapping[str, Any]]:
    files = sorted(folder.glob("*.json")) if folder.is_dir() else []
    return (_object(file) for file in files if not file.name.endswith(ITF_ENDING))


def _object(file: Path) -> Mapping[str, Any]:
    return _parsed(file, _text(file))


def _lines(file: Path) -> Iterable[Mapping[str, Any]]:
    lines = _text(file).removesuffix("\n").split("\n")  # other ends of lines may stand inside a text
    return (_parsed(file, line, number) for number, line in enumerate(lines, 1) if line or number < len(lines))


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read '{file}': {getattr(error, 'strerror', None) or error}".lower()) from None


def _parsed(file: Path, text: str, first: int = 1) -> Mapping[str, Any]:
    """Read an object that stands in ``file`` from line ``first`` on."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise UsageError(f"expected JSON in '{file}', line {first + error.lineno - 1}: {error.msg}") from None
    if not isinstance(value, dict):
        raise UsageError(f"expected a JSON object in '{file}', and found a {type(value).__name__}")
    return value
