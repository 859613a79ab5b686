"""How each record is made; what still holds of the last one is kept."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

from carnet_check.attacks.hunt import Hunt, attack_target, hunt, replayed_in
from carnet_check.loading.families import load
from carnet_check.semantics import Interpreter, NotEnabled
from carnet_ref.systems import replay_of
from carnet_ref.systems.replaying import Replay
from carnet_spec.language import Family, SpecificationError
from carnet_spec.trace import Trace, TraceStep

from .. import accounts, agreement, carried_out, counted_mutants, counted_proofs, falls, round_picture
from ..citations import citations
from ..junit import VERIFIES, kept
from ..traces import Attacked, Traces

if TYPE_CHECKING:
    from carnet_check.attacks.describing import ShownStep


ROOT = Path(__file__).parents[4]
RESULTS = ROOT / "docs" / "results"
#: What the pages show of a verdict.
SHOWN = (
    *("protocol", "variant", "claim", "threat", "engine", "verdict", "bound", "expected"),
    *("detail", "assumptions", "defences", "kind"),
)


def commands(family: Family) -> Iterator[tuple[str, list[str]]]:
    """Yield the command for each defence and for each finding, with the finding's id or nothing."""
    for defence in family.protocol().defences:
        yield "", ["carnet", "attack", family.id, "--without", defence.id]
    for finding in family.findings:
        chosen = ["--variant", finding.variant] if finding.variant else []
        chosen += ["--without", ",".join(finding.without)] if finding.without else []
        yield finding.id, ["carnet", "attack", family.id, *chosen, "--threat", finding.threat, "--claim", finding.claim]


def recorded(finding: str, command: list[str], found: Hunt) -> dict[str, Any]:
    """Return what is kept of an attack beside its steps, or of a proof that there is none."""
    target = found.target
    return {
        "protocol": target.protocol.id,
        "variant": target.protocol.variant,
        "removed": list(target.removed),
        "threat": target.threat.id,
        "claim": found.claim,
        "verdict": str(found.verdict),
        "detail": found.detail,
        "finding": finding or None,
        "rerun": " ".join(command),
        "digest": target.protocol.digest,
    }


def verified(printed: Mapping[str, Any]) -> dict[str, Any]:
    """Return what is kept of what ``carnet verify --json`` printed: what is shown of each verdict, and no times."""
    run = {name: printed["run"][name] for name in ("outcome", "versions", "spec_digests", "rerun")}
    rows = [{name: row[name] for name in SHOWN if name in row} for row in printed["results"]]
    return {"results": rows, "summary": printed["summary"], "run": run}


def attacks(family: Family) -> None:
    """Look for every attack and keep each answer as it comes.

    An answer about the design as it is now stays, and so does an attack that still is one on the changed design.
    """
    path = RESULTS / "attacks" / f"{family.id}.json"
    rows = {row["rerun"]: row for row in (json.loads(path.read_text("utf-8")) if path.exists() else ())}
    asked = [(finding, command, " ".join(command)) for finding, command in commands(family)]
    traces = Traces(load(family.id), "attacks")
    stale = [each for each in asked if each[2] not in rows or not _is_current(family, rows[each[2]])]
    rows |= {rerun: kept for _, _, rerun in stale if (kept := _still_holds(traces, rows.get(rerun)))}
    for finding, command, rerun in stale:
        if rerun not in rows or not _is_current(family, rows[rerun]):
            rows[rerun] = _looked_for(finding, command, traces)
            traces.write()
        _write(path, [rows[each] for _, _, each in asked if each in rows])


def _is_current(family: Family, row: Mapping[str, Any]) -> bool:
    return bool(digest_of(family, row) == row["digest"])


def digest_of(family: Family, row: Mapping[str, Any]) -> str | None:
    """Return the digest that the design of a row has now, if there still is such a design."""
    removed = row["removed"] if "removed" in row else [row["defence"]]
    try:
        return family.digest(row["variant"], tuple(removed))
    except SpecificationError:
        return None


def _still_holds(traces: Traces, row: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the answer with the digest of the changed design, if its attack is one there, too."""
    if row is None or row["verdict"] != "VIOLATED":
        return None
    kept = traces.recorded(row)
    if kept is None:
        return None
    detail = replayed_in(kept.protocol, kept.trace, kept.profile)
    return {**row, "detail": detail, "digest": kept.protocol.digest}


def _looked_for(finding: str, command: list[str], traces: Traces) -> dict[str, Any]:
    """Do what the command does, and keep the steps."""
    from carnet_check.commands.common import cores

    given = dict(zip(command[3::2], command[4::2], strict=True))
    target = attack_target(
        traces.source,
        variant=given.get("--variant", ""),
        without=tuple(given["--without"].split(",")) if "--without" in given else (),
        threat=given.get("--threat", ""),
        claim=given.get("--claim", ""),
    )
    found = hunt(target, jobs=cores())
    if found.trace is not None and found.profile is not None:
        traces.keep(Attacked(target.protocol, target.removed, found.claim, found.profile, found.trace))
    return recorded(finding, command, found)


def fallen(family: Family) -> None:
    """Keep which claims fall without each defence; what is about the designs as they are now stays."""
    path = RESULTS / "falls" / f"{family.id}.json"
    kept = json.loads(path.read_text("utf-8")) if path.exists() else []
    traces = Traces(load(family.id), "falls")
    for rows in falls.record(family, kept, traces):
        traces.write()
        _write(path, rows)


def is_carried_out(family: Family) -> bool:
    """Whether attacks on a protocol are carried out with real bytes."""
    return replay_of(family.id) is not None


BY_HAND = frozenset({"gpu-travelling"})  #: The protocols whose attacks are chosen by hand.


def replays(family: Family) -> None:
    """Keep what becomes of the attacks on a protocol when they are carried out with real bytes.

    One that is not reproduced is kept as such, with where it was stopped. Attacks on GPU Travelling are chosen by hand.

    Raises SystemExit if an attack is reproduced with every defence on; nothing is kept.
    """
    path = RESULTS / "replays" / f"{family.id}.json"
    rows = json.loads(path.read_text("utf-8")) if path.exists() else []
    replay, traces = replay_of(family.id), Traces(load(family.id), "attacks")
    assert isinstance(replay, Replay)
    if family.id in BY_HAND:
        about = [{**row, "digest": family.digest(row["variant"], tuple(row["removed"]))} for row in rows]
        rows = carried_out.replayed(replay, about)
    else:
        rows = carried_out.record(family, rows, traces, replay)
        traces.write()
    if any(row["replay"]["defended"]["reproduced"] for row in rows):
        raise SystemExit("a replay is not as expected, so nothing is recorded")
    _write(path, rows)


def verdicts(family: Family) -> None:
    """Verify a protocol and keep the answers. Raises SystemExit if a verdict is not as expected; nothing is kept."""
    ran = subprocess.run(["carnet", "verify", family.id, "--json"], capture_output=True, text=True, check=False)
    found = verified(json.loads(ran.stdout))
    if any(row["verdict"] != row["expected"] for row in found["results"]):
        raise SystemExit("a verdict is not as expected, so nothing is recorded")
    _write(RESULTS / f"{family.id}.json", found)


def rounds(family: Family) -> None:
    """Look for a run of honest parties to the goal of a whole round, and keep who says what to whom."""
    from carnet_check.attacks.describing import sequence_chart
    from carnet_check.engines.exploration import Search
    from carnet_check.engines.exploring.searches import search
    from carnet_check.engines.interface import Explores
    from carnet_check.engines.registry import able
    from carnet_check.semantics import Interpreter
    from carnet_check.wording import knowers, knowledge_of

    source, variant, threat, goal = load(family.id), family.main[0], family.protocol().threats[0].id, family.round_goal
    sizes = source.profile("tiny")
    asked = Search(source.reference, variant, (), threat, sizes, claims=(), goals=(goal,))
    trace = search(able(Explores), asked).goals[goal]
    protocol = source.protocol(variant)
    judge = Interpreter(protocol, source.instance(protocol, threat, sizes))
    trace = without_delay(judge, trace)
    chart = sequence_chart(judge, judge.replay(trace), trace)
    (sentence,) = (each.sentence for each in protocol.goals if each.name == goal)
    told: dict[str, object] = {"variant": variant, "threat": threat, "goal": sentence, "digest": protocol.digest}
    counted = knowers(protocol, judge.instance, chart.parties)
    first = knowledge_of(protocol, judge.replay(trace)[0])
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
    _write(accounts.RECORDS / f"{family.id}.json", accounts.record(family))


def tested(families: Sequence[Family]) -> dict[str, str]:
    """Return the digests of what the tests are about."""
    return {
        f"{family.id}/{name}": family.digest(name) for family in families for name in family.with_layers(family.main)
    }


def tests(families: Sequence[Family]) -> None:
    """Run the tests that verify requirements and keep the report.

    Raises SystemExit if a test failed; nothing is kept.
    """
    files = sorted((ROOT / "tests").rglob("test_*.py"))
    said = re.compile(rf'record_property\("{VERIFIES}"|mark\.{VERIFIES}\(')
    named = [path.relative_to(ROOT).as_posix() for path in files if said.search(path.read_text("utf-8"))]
    command = ["pytest", "-q", "-n", "2", *named]
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "tests.xml"
        if subprocess.run([*command, f"--junitxml={report}"], check=False, cwd=ROOT).returncode:
            raise SystemExit("a test failed, so nothing is recorded")
        tree = kept(ElementTree.parse(report).getroot(), tested(families), " ".join(command))
    ElementTree.indent(tree, " ")
    (RESULTS / "tests.xml").write_text(ElementTree.tostring(tree, "unicode", xml_declaration=True) + "\n", "utf-8")


def cited(family: Family) -> list[tuple[str, str]]:
    """Return the lines of the implementation that enforce something, by what they enforce."""
    return sorted((each.id, each.place) for each in citations(family.id))


def places(family: Family) -> None:
    """Keep which lines of the implementation enforce what, so that none is lost unnoticed."""
    with (RESULTS / "places" / f"{family.id}.csv").open("w", newline="") as kept:
        written = csv.writer(kept, lineterminator="\n")
        written.writerow(("id", "place"))
        written.writerows(cited(family))


def agreed(family: Family) -> None:
    """Keep what every engine says of the obligations of a protocol."""
    agreement.record(family, RESULTS / "agreement" / f"{family.id}.csv")


def certified(family: Family) -> None:
    """Keep what the certificates of a protocol come to."""
    path = RESULTS / "proofs" / f"{family.id}.json"
    _write(path, counted_proofs.measured(family, json.loads(path.read_text("utf-8")) if path.exists() else {}))


def mutated(family: Family) -> None:
    """Keep what became of the mutants of a protocol."""
    file = RESULTS / "mutants" / f"{family.id}.json"
    _write(file, counted_mutants.judged(family, file.with_suffix(".found.xz")))


#: What is recorded of each protocol by itself.
RECORDERS: Mapping[str, Callable[[Family], None]] = {
    "accounts": accounted,
    "agreement": agreed,
    "attacks": attacks,
    "falls": fallen,
    "mutants": mutated,
    "replays": replays,
    "verdicts": verdicts,
    "rounds": rounds,
    "places": places,
    "proofs": certified,
}


def _write(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")


# --------------------------------------------------------------------------------------------------
# A run with each step taken as soon as it can be, so that a diagram of it reads in order.


def without_delay(judge: Interpreter, trace: Trace) -> Trace:
    """Return a run to the same state with each step taken as soon as it can be; each role keeps the order of its steps.

    A search may let a message wait while others are sent. Then a diagram would show it received long after.
    """
    steps: list[TraceStep] = []
    for place, step in enumerate(trace.steps):
        own = max((at for at, each in enumerate(steps, 1) if each.by == step.by), default=0)
        rest = trace.steps[place + 1 :]
        early = ([*steps[:at], step, *steps[at:]] for at in range(own, place + 1))
        steps = next(each for each in early if _leads_there(judge, trace, (*each, *rest)))
    return replace(trace, steps=tuple(steps))


def _leads_there(judge: Interpreter, trace: Trace, steps: tuple[TraceStep, ...]) -> bool:
    try:
        return judge.replay(replace(trace, steps=steps))[-1] == judge.replay(trace)[-1]
    except NotEnabled:
        return False
