"""What certificates came to, as recorded, and what remains to be trusted, counted in the source.

The record makes every certificate of a protocol anew from those beside it, has both checkers judge them, and compiles
the theorems, by the commands that a reader would type. How long it takes to make all of them from nothing is measured
where no record says it. Some minutes, with Coq.
"""

import csv
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from carnet_spec.language import Family

from .markdown import Lines, code, page, prose, table
from .verdicts import freshness

ROOT = Path(__file__).parents[3]
COQ = ROOT / "model_check" / "coq"
CLOSED = "Closed under the global context"
_THEOREM = re.compile(r"^Theorem ", re.MULTILINE)
Recorded = Mapping[str, Any]

#: What has to be believed: files or folders, each with what it holds. The files of a heading come on top of others.
TRUSTED: Mapping[str, Mapping[str, str]] = {
    "To believe a theorem": {
        "model_check/coq/Logic.v": "formulas, and when a structure satisfies one",
        "model_check/coq/Protocol.v": "protocols, steps, reachable states, and what a theorem says",
        "model_check/coq/Fairness.v": "fair runs, and what a theorem about them says; the rest is proved right",
        "spec/carnet_spec/language": "how Python text becomes a protocol and its canonical JSON; or read `spec_….v`",
        "model_check/carnet_check/exports/systems.py": "the same protocol with numbers for names",
        "model_check/carnet_check/exports/coq_data.py": "its text in Coq",
        "model_check/carnet_check/coq/folder.py": "the files of theorems; or read their statements",
    },
    "To believe the verified checker, without compiling theorems": {
        "model_check/coq/Extract.v": "which functions are extracted, and to which types of OCaml",
        "model_check/coq/program/reading.ml": "the reader",
        "model_check/coq/program/main.ml": "the program around the extracted functions",
        "model_check/carnet_check/coq/folder.py": "which variants the program is asked about",
        "model_check/carnet_check/coq/program.py": "that it accepted them",
    },
    "To believe an explored instance": {
        "model_check/coq/Instances.v": "the structure that an instance describes; the rest of the file is proved",
        "model_check/coq/Moves.v": "runs within limits; the rest of the file is proved",
        "model_check/carnet_check/exports/exhaustion.py": "the elements, facts, limits and claims of an instance",
        "model_check/coq/ExtractExhaustion.v": "which functions are extracted",
        "model_check/coq/program/exhaustion/main.ml": "the program around them",
    },
    "To believe `--engine kernel`, without Coq": {
        "model_check/carnet_check/kernel": "the checker, and the reader of obligations and certificates",
        "model_check/carnet_check/obligations": "the generator; a test compares it with the proved one",
        "model_check/carnet_check/exports/obligation_text.py": "what an obligation's text says",
        "model_check/carnet_check/exports/smtlib.py": "how a formula is written",
        "model_check/carnet_check/reserved_symbols.py": "the names of what stands for parameters",
        "model_check/carnet_check/certificates/judging.py": "what needs a certificate, which the kernel follows",
        "spec/carnet_command/worker.py": "what one worker process is asked, and what it says",
        "spec/carnet_command/workers.py": "that the answers of worker processes are theirs",
        "spec/carnet_command/processes.py": "which code these processes run",
        "model_check/carnet_check/engines/kernel": "which certificates a verdict rests on",
        "model_check/carnet_check/engines/proving/composition.py": "when answers prove a claim, and its verdict",
    },
    "To believe `carnet recheck`, without Coq": {
        "model_check/carnet_check/certificates/folder.py": "what belongs together, and which claims are proved",
        "model_check/carnet_check/exports/obligation_index.py": "what a row of the index has",
        "model_check/carnet_check/commands/recheck.py": "what is said of this, and the exit code",
    },
}


# -- the page ---------------------------------------------------------------------------------------------------------


def proofs(families: Sequence[Family], recorded: Mapping[str, Recorded]) -> str:
    """Return the page: what is certified of each protocol, and the source that has to be believed."""
    return page(
        "# Proofs, counted",
        "{doc}`../../assurance/proofs` says what these words mean.",
        *(_of(family, recorded[family.id]) for family in families if family.id in recorded),
        "## What remains to be trusted",
        "Lines are all lines: blank ones, comments and documentation included.",
        *(_trusted(heading, parts) for heading, parts in TRUSTED.items()),
    )


def _of(family: Family, run: Recorded) -> Lines:
    yield from (f"## {prose(family.title)}", "")
    for each in run["variants"]:
        now = family.digest(each["variant"]) if each["variant"] in family.variants else None
        if each["digest"] != now:
            yield from (freshness(each["digest"], now), "")
    head = ["variant", "digest", "obligations", "of liveness", "distinct texts", "theorems", "Coq says of them"]
    yield from table(head, map(_variant, run["variants"]))
    size = f"One file of {run['bytes']:,} bytes has all certificates, of {run['texts']:,} distinct texts."
    seconds = f"The kernel in Python checks them in {run['python_seconds']:.1f} s, and the verified one, with all that \
feeds it, in {run['verified_seconds']:.1f} s. Coq compiles the theorems in {run['theorem_seconds']:.0f} s"
    made = f"To make all of them from nothing took {run['production_seconds']:.0f} s, and \
{run['production_cpu_seconds']:.0f} s of a processor, when that was last measured"
    yield from (size, "", f"{seconds}. {made} ({run['cores']} cores, Python {run['python']}, {prose(run['coq'])}).", "")


def _variant(each: Recorded) -> tuple[str, ...]:
    counts = (f"{each.get(name, 0):,}" for name in ("obligations", "conditions", "texts", "theorems"))
    return (code(each["variant"]), code(each["digest"][:12]), *counts, prose(each["assumptions"]))


def _trusted(heading: str, parts: Mapping[str, str]) -> Lines:
    yield from (f"### {heading}", "")
    yield from table(
        ["source", "lines", "what it holds"], ((code(p), str(lines(p)), what) for p, what in parts.items())
    )


def lines(path: str) -> int:
    """Return how many lines a file has, or all Python files of a folder together."""
    found = ROOT / path
    files = sorted(found.rglob("*.py")) if found.is_dir() else [found]
    return sum(len(file.read_text("utf-8").splitlines()) for file in files)


# -- the record -------------------------------------------------------------------------------------------------------


def certificates(family: Family) -> Path | None:
    """Return the file of certificates beside a protocol, if there is one."""
    from carnet_check.certificates.file import place_of
    from carnet_check.loading.families import load

    place = place_of(load(family.id))
    return place if place and place.exists() else None


def measured(family: Family, before: Recorded) -> dict[str, Any]:
    """Return what the certificates beside a protocol come to.

    Raises SystemExit if something is not certified, not accepted or not compiled; nothing is kept.

    Args:
        family: the protocol.
        before: the record of the last time, if there is one: how long certificates take from nothing is not measured
            again.
    """
    place = certificates(family)
    if place is None:
        raise SystemExit(f"{family.id} has no certificates, so nothing is recorded")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "proofs"
        _made("all", "program")
        known = {name: before[name] for name in ("production_seconds", "production_cpu_seconds") if name in before}
        production = known or _from_nothing(family, place)
        certified = _printed("certify", family.id, "--out", str(folder))
        rechecked = _printed("recheck", str(folder))
        if rechecked["unproved"] or not rechecked["verified"]:
            raise SystemExit("a checker does not accept everything, so nothing is recorded")
        began = time.monotonic()
        _made("theorems", f"DIR={folder}", f"PYTHON={sys.executable}")
        seconds = time.monotonic() - began
        return {
            "variants": list(_variants(family, certified, folder)),
            "texts": len(list((folder / "obligations").iterdir())),
            "bytes": certified["bytes"],
            "python_seconds": rechecked["seconds"],
            "verified_seconds": rechecked["verified_seconds"],
            "theorem_seconds": seconds,
            **production,
            "cores": os.cpu_count(),
            "python": sys.version.split()[0],
            "coq": _said("coqc", "--version").splitlines()[0],
        }


def _from_nothing(family: Family, place: Path) -> dict[str, float]:
    """Make all certificates while those beside the specification are away, and return how long that takes."""
    kept = place.read_bytes()
    place.unlink()
    try:
        began, used = time.monotonic(), _used()
        _printed("certify", family.id)
        return {"production_seconds": time.monotonic() - began, "production_cpu_seconds": _used() - used}
    finally:
        place.write_bytes(kept)


def _used() -> float:
    """Return how long processors have worked for processes that this one began and that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _variants(family: Family, certified: Recorded, folder: Path) -> Iterator[dict[str, Any]]:
    with (folder / "index.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for each in certified["variants"]:
        name = each["variant"]
        every = [row for row in rows if row["variant"] == name]
        mine = [row for row in every if not row["obligation"].startswith("live/")]
        stem = re.sub(r"\W", "_", name)
        names = (stem, f"variant_{stem}")  # the second where the definitions have another use for the first
        theorems = next(path for each in names if (path := folder / "coq" / f"theorems_{each}.v").exists())
        said = theorems.with_suffix(".assumptions").read_text("utf-8").strip()
        if said != CLOSED:
            raise SystemExit(f"{name}: Coq says '{said}', so nothing is recorded")
        yield {
            "variant": name,
            "digest": family.digest(name),
            "obligations": len(mine),
            "conditions": len(every) - len(mine),
            "texts": len({row["digest"] for row in every}),
            "theorems": len(_THEOREM.findall(theorems.read_text("utf-8"))),
            "assumptions": said,
        }


def _made(*words: str) -> None:
    subprocess.run(["make", "-s", "-C", str(COQ), *words], check=True, stdout=subprocess.DEVNULL)


def _printed(*words: str) -> Any:
    return json.loads(_said("carnet", *words, "--json"))


def _said(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
