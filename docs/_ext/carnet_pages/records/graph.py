"""Every record under ``docs/results`` as a target: its files, what it is about, how it is made and what that costs.

A record is about designs, each known by its digest, and keeps these digests. It is stale where a design has another
digest now. A measurement is about no design: it is made again when somebody asks for it by name.
"""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from carnet_spec.language import Family

from .. import counted_proofs, discriminating, junit, registered_families, shown
from . import recorders
from .measurements import MEASUREMENTS

RESULTS = recorders.RESULTS
#: A part of a record: its name, the digest of the design that it is about, and the digest of the design now.
Part = tuple[str, str | None, str | None]
Parts = Iterable[Part]
About = Callable[[Family, Any], Parts]  #: What the record of a protocol is about, given what it says.


@dataclass(frozen=True)
class Target:
    """A record."""

    name: str
    files: tuple[str, ...]  #: Patterns of its files, below ``docs/results``.
    make: Callable[[], object]
    #: About what making all of it costs on two cores after a change that keeps most of what shows its answers.
    seconds: int
    #: What it is about; a measurement is about no design, so it is never stale.
    parts: Callable[[], Parts] | None = None
    after: tuple[str, ...] = ()  #: The targets that it reads.

    @cached_property
    def stale(self) -> list[str]:
        """The parts that are about another design than there is now, are missing, or are of no use now."""
        return [name for name, then, now in self._all if then != now]

    @property
    def cost(self) -> int:
        """About how many seconds it takes to make what is stale."""
        return max(1, self.seconds * len(self.stale) // max(1, len(self._all)))

    @cached_property
    def _all(self) -> list[Part]:
        return [*self.parts()] if self.parts else []


@cache
def targets() -> dict[str, Target]:
    """Return all records by name."""
    families = registered_families()
    every = [*(each for family in families for each in _of(family)), *_together(families), *_measured()]
    return {each.name: each for each in every}


def stale() -> list[Target]:
    """Return the stale records."""
    return [each for each in targets().values() if each.stale]


# -- the records of a protocol ------------------------------------------------------------------------------


def _of(family: Family) -> Iterator[Target]:
    """Yield the records of a protocol."""
    for kind in KINDS:
        if kind.has(family):
            yield kind.of(family)


@dataclass(frozen=True, slots=True)
class _Kind:
    """The same record of each protocol."""

    name: str
    seconds: int  #: What it costs for GPU Travelling.
    others: int  #: What it costs for another protocol.
    parts: About
    has: Callable[[Family], object]
    files: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    def of(self, family: Family) -> Target:
        """Return the record of a protocol."""
        files = tuple(each.format(family.id) for each in self.files or (self.name + "/{}.json",))
        return Target(
            f"{self.name}/{family.id}",
            files,
            lambda: recorders.RECORDERS[self.name](family),
            self.seconds if family.id == "gpu-travelling" else self.others,
            lambda: self.parts(family, _read(RESULTS / files[0])),
            tuple(f"{each}/{family.id}" for each in self.after),
        )


def _variants(names: Callable[[Family], Sequence[str]], of: Callable[[Any], Mapping[str, str]]) -> About:
    """Return the parts of a record that has a digest for each of these variants."""

    def parts(family: Family, kept: Any) -> Parts:
        now, then = {name: family.digest(name) for name in names(family)}, of(kept) if kept else {}
        return [(name, then.get(name), now.get(name)) for name in {**now, **then}]

    return parts


def _designs(wanted: Callable[[Family], Iterable[str]], key: str) -> About:
    """Return the parts of a record in which each row names its design."""

    def parts(family: Family, kept: Any) -> Parts:
        rows = {row[key]: row for row in kept or ()}
        names = [*wanted(family)] or [*rows]
        for name in {**dict.fromkeys(names), **rows}:
            row = rows.get(name, {})
            yield name, row.get("digest", ""), recorders.digest_of(family, row) if row and name in names else None

    return parts


def _by_variant(rows: Iterable[Mapping[str, str]]) -> Mapping[str, str]:
    return {row["variant"]: row["digest"] for row in rows}


def _main(family: Family) -> Sequence[str]:
    return family.with_layers(family.main)


def _first(family: Family) -> Sequence[str]:
    return family.with_layers(family.main[:1])


def _places(family: Family, kept: Any) -> Parts:
    then = sorted((row["id"], row["place"]) for row in kept or ())
    yield "lines that enforce something", str(then), str(recorders.cited(family))


def _defences(family: Family) -> list[str]:
    return [each.id for each in family.protocol().defences]


def _hunted(family: Family) -> object:
    return family.hunts


KINDS = (
    _Kind("verdicts", 90, 5, _variants(_main, lambda run: run["run"]["spec_digests"]), lambda _: True, ("{}.json",)),
    _Kind(
        *("attacks", 400, 30),
        _designs(lambda family: (" ".join(command) for _, command in recorders.commands(family)), "rerun"),
        lambda _: True,
        ("attacks/{}.json", "attacks/{}.steps.xz"),
    ),
    _Kind("replays", 120, 60, _designs(lambda _: (), "id"), recorders.is_carried_out, after=("attacks",)),
    _Kind("falls", 4000, 100, _designs(_defences, "defence"), _hunted, ("falls/{}.json", "falls/{}.steps.xz")),
    _Kind("agreement", 240, 5, _variants(_main, _by_variant), _hunted, ("agreement/{}.csv",)),
    _Kind(
        *("mutants", 3000, 300),
        _variants(_main, lambda run: _by_variant(run["variants"])),
        _hunted,
        ("mutants/{}.json", "mutants/{}.found.xz"),
    ),
    _Kind(
        *("accounts", 240, 20),
        _variants(_first, lambda run: {name: each["digest"] for name, each in run["variants"].items()}),
        lambda family: family.hunts and family.protocol().assumptions,
    ),
    _Kind(
        *("rounds", 15, 5),
        _variants(lambda family: family.main[:1], lambda run: {run["variant"]: run["digest"]}),
        lambda family: family.round_goal,
        ("rounds/{}.json", "rounds/{}.svg", "rounds/{}.toml"),
    ),
    _Kind("proofs", 300, 30, _variants(_main, lambda run: _by_variant(run["variants"])), counted_proofs.certificates),
    _Kind("places", 1, 1, _places, recorders.cited, ("places/{}.csv",)),
)


# -- the records of all protocols together --------------------------------------------------------


def _together(families: Sequence[Family]) -> Iterator[Target]:
    def tests() -> Parts:
        then, now = junit.read(RESULTS / "tests.xml").digests, recorders.tested(families)
        return [(name, then.get(name), now.get(name)) for name in {**now, **then}]

    def designs() -> Parts:
        rows = {row["claim"]: row["digest"] for row in discriminating.recorded()}
        return [(each.claim, rows.get(each.claim), discriminating.digest_of(each)) for each in discriminating.DESIGNS]

    yield Target("tests", ("tests.xml",), lambda: recorders.tests(families), 120, tests)
    yield Target("discriminating", ("discriminating.csv",), discriminating.record, 240, designs)
    files = ("printed/*",)
    yield Target("shown", files, shown.record, 180, shown.parts)
    yield Target("coq-agreement", ("coq-agreement.csv",), _command(COQ_AGREEMENT), 180, _coq)


def _coq() -> Parts:
    family = next(each for each in registered_families() if each.id == "gpu-travelling")
    then = {row["variant"]: row["digest"] for row in _read(RESULTS / "coq-agreement.csv") or ()}
    for name in _main(family):
        digest = then.get(name, "")
        yield name, digest, family.digest(name)[: len(digest)] or None


COQ_AGREEMENT = "python -m tests.coq.agreement --out docs/results/coq-agreement.csv"


# -- measurements ---------------------------------------------------------------------------------


def _measured() -> Iterator[Target]:
    for name, (seconds, files, command) in MEASUREMENTS.items():
        yield Target(name, files, _command(command), seconds)


def _command(command: str) -> Callable[[], object]:
    """Return what runs a line of shell at the root, with this Python first on the path."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return lambda: subprocess.run(command, shell=True, check=True, cwd=recorders.ROOT, env={**os.environ, "PATH": path})


def _read(path: Path) -> Any:
    """Return what a record says, or nothing where there is none."""
    if not path.exists():
        return None
    if path.suffix == ".json":
        return json.loads(path.read_text("utf-8"))
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
