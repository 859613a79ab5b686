"""Record what the attacks page shows: ``python -m docs._ext.carnet_pages.record gpu-travelling``, about half an hour.

Every defence is taken away by itself and every finding is looked for again, by the commands that a reader would type.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from carnet_spec.language import Family

FOLDER = Path(__file__).parents[2] / "results" / "attacks"


def commands(family: Family) -> Iterator[tuple[str, list[str]]]:
    """Yield the command for each defence and for each finding, with the finding's id or nothing."""
    for defence in family.protocol().defences:
        yield "", ["carnet", "attack", family.id, "--without", defence.id]
    for finding in family.findings:
        chosen = ["--variant", finding.variant] if finding.variant else []
        chosen += ["--without", ",".join(finding.without)] if finding.without else []
        yield finding.id, ["carnet", "attack", family.id, *chosen, "--threat", finding.threat, "--claim", finding.claim]


def recorded(finding: str, command: list[str], printed: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of what ``carnet attack --json`` printed."""
    kept = {name: printed[name] for name in ("protocol", "variant", "removed", "threat", "claim", "verdict", "detail")}
    (digest,) = printed["run"]["spec_digests"].values()
    return {**kept, "finding": finding or None, "rerun": " ".join(command), "digest": digest}


def main(id: str) -> None:
    """Run every command of the family registered as ``id`` and keep the answers."""
    from . import registered

    (family,) = [family for family in registered() if family.id == id]
    runs = []
    for finding, command in commands(family):
        ran = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
        runs.append(recorded(finding, command, json.loads(ran.stdout)))
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / f"{id}.json").write_text(json.dumps(runs, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
