"""Record what the pages show of runs: ``python -m docs._ext.carnet_pages.record WHAT [PROTOCOL…]``.

* ``attacks``: every defence is taken away by itself and every finding is looked for again, by the commands that a
  reader would type, unless the answer is about the design as it is; about an hour.
* ``falls``: every claim is attacked without each defence, under each threat model; more than an hour.
* ``replays``: the attack of every finding and without every defence is looked for, and carried out with real bytes; a
  minute for each protocol. GPU Travelling keeps a record of its own.
* ``gallery``: the attack of each finding is looked for again, to be shown step by step; some five minutes.
* ``verdicts``: each protocol is verified, about a minute and a half.
* ``rounds``: a run to the first goal that takes a whole round is looked for, and drawn; seconds.
* ``agreement``: every engine is asked about every obligation, some four minutes.
* ``accounts``: what each proof cannot do without, and what falls if an assumption falls; some four minutes.
* ``discriminating``: a design for each claim in which it alone falls, and what is proved there; minutes.
* ``proofs``: certificates are made, judged and compiled into theorems; a minute, with Coq.
* ``mutants``: every small change is made, and judged; the better part of an hour.
* ``tests``: the tests that verify requirements are run, about two minutes.
* ``shown``: every command that a page shows is typed again, about three minutes.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from carnet_ref.citations import citations
from carnet_spec.language import Family, SpecificationError

from . import (
    accounts,
    agreement,
    carried_out,
    counted_mutants,
    counted_proofs,
    discriminating,
    falls,
    gallery,
    round_picture,
    shown,
)
from .junit import VERIFIES, kept
from .without_delay import without_delay

if TYPE_CHECKING:
    from carnet_check.attacks.describing import ShownStep

ROOT = Path(__file__).parents[3]
RESULTS = ROOT / "docs" / "results"
SHOWN = (
    *("protocol", "variant", "claim", "threat", "engine", "verdict", "bound", "expected"),
    *("detail", "assumptions", "defences", "kind"),
)
"""What the pages show of a verdict."""


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


def verified(printed: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of what ``carnet verify --json`` printed: what is shown of each verdict, and no times."""
    run = {name: printed["run"][name] for name in ("outcome", "versions", "spec_digests", "rerun")}
    rows = [{name: row[name] for name in SHOWN if name in row} for row in printed["results"]]
    return {"results": rows, "summary": printed["summary"], "run": run}


def attacks(family: Family) -> None:
    """Run every command of a protocol and keep the answers, each as it comes.

    An answer about the design as it is now stays; remove the file to have all of them anew.
    """
    path = RESULTS / "attacks" / f"{family.id}.json"
    kept = json.loads(path.read_text("utf-8")) if path.exists() else []
    old = {row["rerun"]: row for row in kept}
    current = {row["rerun"]: row for row in kept if _is_current(family, row)}
    asked = list(commands(family))
    for finding, command in asked:
        if " ".join(command) not in current:
            current[" ".join(command)] = recorded(finding, command, _printed(command))
            rows = (current.get(" ".join(each), old.get(" ".join(each))) for _, each in asked)
            _write(path, [row for row in rows if row is not None])


def _is_current(family: Family, row: Mapping[str, Any]) -> bool:
    """Whether a recorded answer is about the specification as it is."""
    try:
        return bool(family.digest(row["variant"], tuple(row["removed"])) == row["digest"])
    except SpecificationError:
        return False


def fallen(family: Family) -> None:
    """Keep which claims fall without each defence; what is about the designs as they are now stays."""
    path = RESULTS / "falls" / f"{family.id}.json"
    kept = json.loads(path.read_text("utf-8")) if path.exists() else []
    for rows in falls.record(family, kept) if family.hunts else ():
        _write(path, rows)


def shown_attacks(family: Family) -> None:
    """Keep the attack of each finding as the gallery shows it."""
    if family.findings:
        _write(RESULTS / "gallery" / f"{family.id}.json", gallery.record(family))


def replays(family: Family) -> None:
    """Keep what becomes of the attacks on a protocol when they are carried out with real bytes.

    One that is not reproduced is kept as such, with where it was stopped.

    Raises:
        SystemExit: an attack is reproduced with every defence on; nothing is kept.
    """
    rows = carried_out.record(family)
    if any(row["replay"]["defended"]["reproduced"] for row in rows):
        raise SystemExit("a replay is not as expected, so nothing is recorded")
    if rows:
        _write(RESULTS / "replays" / f"{family.id}.json", rows)


def verdicts(family: Family) -> None:
    """Verify a protocol and keep the answers.

    Raises:
        SystemExit: a verdict is not as expected; nothing is kept.
    """
    found = verified(_printed(["carnet", "verify", family.id]))
    if any(row["verdict"] != row["expected"] for row in found["results"]):
        raise SystemExit("a verdict is not as expected, so nothing is recorded")
    _write(RESULTS / f"{family.id}.json", found)


def rounds(family: Family) -> None:
    """Look for a run of honest parties to the goal of a whole round, and keep who says what to whom."""
    if not family.round_goal:
        return
    from carnet_check.attacks.describing import sequence_chart
    from carnet_check.engines.exploration import Search
    from carnet_check.engines.exploring.searches import search
    from carnet_check.engines.interface import Explores
    from carnet_check.engines.registry import able
    from carnet_check.loading.families import load
    from carnet_check.semantics import Interpreter
    from carnet_check.wording import knowers, known

    source, variant, threat, goal = load(family.id), family.main[0], family.protocol().threats[0].id, family.round_goal
    sizes = source.profile("tiny")
    asked = Search(source.reference, variant, (), threat, sizes, claims=(), goals=(goal,))
    trace = search(able(Explores), asked).goals[goal]
    protocol = source.protocol(variant)
    judge = Interpreter(protocol, source.instance(protocol, threat, sizes))
    trace = without_delay(judge, trace)
    chart = sequence_chart(protocol, judge.replay(trace), trace)
    (sentence,) = (each.sentence for each in protocol.goals if each.name == goal)
    told: dict[str, object] = {"variant": variant, "threat": threat, "goal": sentence, "digest": protocol.digest}
    counted = knowers(protocol, judge.instance, chart.parties)
    first = known(protocol, judge.replay(trace)[0])
    told |= {
        "parties": chart.parties,
        "knowers": counted,
        "known": {party: first[party] for party in counted if party in first},
    }
    _write(RESULTS / "rounds" / f"{family.id}.json", {**told, "events": [_event(shown) for shown in chart.steps]})
    round_picture.draw(RESULTS / "rounds", family.id)


def _event(shown: ShownStep) -> dict[str, Any]:
    arrow = shown.arrow and {"from": shown.arrow.sender, "to": shown.arrow.receiver, "text": shown.arrow.text}
    learned = {party: list(facts) for party, facts in shown.learned.items() if facts}
    return {
        "number": shown.number,
        "action": shown.step.action,
        "actor": shown.actor,
        "arrow": arrow,
        "sentence": shown.sentence,
        "learned": learned,
    }


def accounted(family: Family) -> None:
    """Look for a minimal set of assumptions and defences for each claim, and for attacks without an assumption."""
    if family.hunts and family.protocol().assumptions:
        _write(accounts.RECORDS / f"{family.id}.json", accounts.record(family))


def tests(families: Sequence[Family]) -> None:
    """Run the tests that verify requirements and keep the report.

    Raises:
        SystemExit: a test failed; nothing is kept.
    """
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    said = re.compile(rf'record_property\("{VERIFIES}"|mark\.{VERIFIES}\(')
    named = [path.relative_to(ROOT).as_posix() for path in files if said.search(path.read_text("utf-8"))]
    command = ["pytest", "-q", "-n", "2", *named]
    digests = {
        f"{family.id}/{name}": family.digest(name) for family in families for name in family.with_layers(family.main)
    }
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "tests.xml"
        if subprocess.run([*command, f"--junitxml={report}"], check=False, cwd=ROOT).returncode:
            raise SystemExit("a test failed, so nothing is recorded")
        tree = kept(ElementTree.parse(report).getroot(), digests, " ".join(command))
    ElementTree.indent(tree, " ")
    (RESULTS / "tests.xml").write_text(ElementTree.tostring(tree, "unicode", xml_declaration=True) + "\n", "utf-8")


def places(family: Family) -> None:
    """Keep which lines of the implementation enforce what, so that none is lost unnoticed."""
    found = citations(family.id)
    if not found:
        return
    with (RESULTS / "places" / f"{family.id}.csv").open("w", newline="") as kept:
        written = csv.writer(kept, lineterminator="\n")
        written.writerow(("id", "place"))
        written.writerows(sorted((each.id, each.place) for each in found))


def agreed(family: Family) -> None:
    """Keep what every engine says of the obligations of a protocol that says where attacks on it are looked for."""
    if family.hunts:
        agreement.record(family, RESULTS / "agreement" / f"{family.id}.csv")


def certified(family: Family) -> None:
    """Keep what the certificates of a protocol come to, if it has any."""
    found = counted_proofs.measured(family)
    if found:
        _write(RESULTS / "proofs" / f"{family.id}.json", found)


def mutated(family: Family) -> None:
    """Keep what became of the mutants of a protocol that says where attacks on it are looked for."""
    if family.hunts:
        _write(RESULTS / "mutants" / f"{family.id}.json", counted_mutants.judged(family))


RECORDERS: Mapping[str, Callable[[Family], None]] = {
    "accounts": accounted,
    "agreement": agreed,
    "attacks": attacks,
    "falls": fallen,
    "gallery": shown_attacks,
    "mutants": mutated,
    "replays": replays,
    "verdicts": verdicts,
    "rounds": rounds,
    "places": places,
    "proofs": certified,
}
"""What is recorded of each protocol by itself."""


def _printed(command: list[str]) -> Any:
    ran = subprocess.run([*command, "--json"], capture_output=True, text=True, check=False)
    return json.loads(ran.stdout)


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")


def main(arguments: Sequence[str]) -> None:
    """Record one kind of run of every registered protocol, or of those that are named."""
    from . import registered_families

    families = registered_families()
    together: dict[str, Callable[[], None]] = {
        "shown": shown.record,
        "discriminating": discriminating.record,
        "tests": lambda: tests(families),
    }
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=sorted({*RECORDERS, *together}))
    parser.add_argument("only", nargs="*", metavar="PROTOCOL", help="of which protocols; of all, if none is named")
    asked = parser.parse_args(arguments)
    if strange := set(asked.only) - {family.id for family in families}:
        parser.error(f"no protocol is called {min(strange)}")
    if asked.what in together:
        together[asked.what]()
        return
    for family in families:
        if not asked.only or family.id in asked.only:
            RECORDERS[asked.what](family)


if __name__ == "__main__":
    main(sys.argv[1:])
