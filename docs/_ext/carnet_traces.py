"""Sphinx extension: the pages on traces, replays and states, made from the tables and the record they are about."""

from __future__ import annotations

import csv
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from carnet_pages import carried_out, registered_families
from carnet_pages.carried_out import stopped
from carnet_pages.citations import citations, places
from carnet_pages.correspondence import ELEMENTS, STEPS
from carnet_pages.known_attacks import CATALOGUE, UNREPLAYED
from carnet_pages.markdown import code, page, prose, table
from carnet_pages.orchestrator import states

from carnet_check.conformance.checks import Clock, guards_without_check, silent_defences
from carnet_spec.language import Action, Family
from carnet_spec.language import Protocol as Design
from carnet_spec.language.terms import symbols_of
from carnet_spec.protocols.gpu_travelling import FAMILY

FOLDER = "conformance"
RECORDS = "results/replays"
RECORD = f"{RECORDS}/gpu-travelling.json"
REMOVED = Path(__file__).parents[1] / "results" / "removed-checks.csv"

_TRACES = """
Roles record the steps that they take in the vocabulary of the specification, one JSON value on each line. The first
line is a header:

```json
{"carnet_trace": 3, "protocol": "gpu-travelling", "variant": "engine-per-holder", "without": [],
 "threat": "hypervisor", "sizes": {"holders": 3, "corrupt": 0, "chunks": 3}, "checked": true}
```

Each other line is an event: the logical clock of the role that recorded it, and a step or a check. Arguments that the
role cannot see are missing.

```json
{"clock": 12, "action": "rotate_out", "by": "orchestrator", "args": {"a": "alice", "k": "s5b2b4935/1", "c": "0"},
 "party": "orchestrator", "number": 9, "before": "0648406d69eef21d52541996157545e4", "sent": ["b526aef1..."]}
{"clock": 15, "check": "rotation-ack", "requirement": "REQ-KEY-05", "by": "orchestrator", "for": "rotated_out",
 "saw": "84768dde...", "sender": "gpu", "holds": true, "party": "orchestrator", "number": 10, "before": "c99370b3..."}
```

`party`, `number` and `before` say where in its party's log an event is, and chain it to the one before. The first event
of each log names the digest of the design: protocol, variant, removed defences, and that checks are recorded. The last
line of the trace says where each log ends, and has the digest of the header. So no event can be dropped, repeated,
moved or changed in a log that its party kept, and the header cannot be edited by itself. Nothing is signed: somebody
who makes all digests anew has made another trace. A step lists the digests of the messages that it sends. A check says
which defence and requirement it is about, for which step it was made, the digest of what was seen, and whether it
holds.

What the checks have to be follows from the specification. A step demands an event for each guard of its action that
carries a defence, in the design of the trace and in the layers over it: made by the same party, for this step, and
holding. The requirement that the event names is one that the specification links to the defence. A guard that reads
what only other roles write saw a message: its event names the sender, and the sender's log has the same digest among
what it sent before. A message that a step was taken on is used up for the party that took it: a check of an old message
is refused, unless the design lacks one of the defences against replay. These, too, are read off the specification: a
guard that refuses what its own action records, and a defence without which a role has a step that takes what was meant
for another one. Steps that the specification deduces for honest roles, such as the report, the attestation of the
orchestrator and the admission of a holder, have to be recorded too. `carnet conform` says how many checks were required
and how many were recorded. What a role compares with values of its own is as good as its word: no other log can
contradict its digest. An event says that a check was made and what came of it; whether its condition was the right one,
only tests tell. A trace whose header does not say `checked` has steps only. The command says so in its first line, and
`--require-checked` refuses such a trace.

A step that reads the orchestrator's clock says under `at` what the clock showed (`now`) and until when evidence or
lease are good (`end`), in seconds. What the layer with a clock says of instants alone is followed on these numbers, so
a comparison that does not hold is noticed even if the role says that it made it. That the clock of a confidential
virtual machine is right is assumption A9.

A trace is untrusted input, so it cannot say which code to run: `protocol` is the id of a registered protocol. For any
other protocol, `carnet conform TRACE --protocol PROTOCOL` says where it is, and the header has its id.

An empty `threat` leaves the threat model to the judge: the protocol names the one that fits the actions of the trace.
For GPU Travelling that is `outsider`, or `hypervisor` if the trace says that the adversary reset a GPU. A GPU that
loses its session needs no adversary. The judge ignores steps that a corrupt party reports of itself: they are no
evidence.

Sizes are bounded, so that no header can ask for an instance that takes minutes to build: 100,000 where a size only
counts values that are drawn fresh, such as rounds and sessions here, and 1,000 of anything else. Those others,
multiplied, the largest twice, may make at most 1,000,000.

`carnet conform TRACE` checks the events in order. Each must be a step that the specification allows in the current
state. The command names the first one that is not, with the guard that refuses it. After each step it takes every
deduction of the adversary that is possible, and in a trace without checks those of honest roles too. It searches for
missing arguments. An event costs the same at any point of a trace: sessions and keys are new when they are first
named, and where something holds of all keys up to an epoch, only that epoch's number is kept.
"""
_INSTANTS = """
The checker makes a comparison again if it carries a defence, or says that the clock does not go back. The others are
believed; one of them does not always hold, since the implementation also evicts a holder before its lease is over if
the holder started anew or counts what cannot be. A clock that was read without a step, as the end of a lease may be,
leaves a check at most. What the layer says of a key's limit is believed as well: an event says that a role looked at
its count, with the digest of the numbers, and the numbers are not in the trace.
"""
_BELIEVED = """
A guard without a defence demands no event. That the message was sent is checked all the same: the step that sends it
has to come before. But no event says that the receiver looked at it, and if the code did not, the trace of an honest
run would be the same. These guards look at what other roles write. Tests hold their checks in the code, and the table
of removed checks says which.
"""
_SILENT = """
These defences demand no event, since no guard of an honest role is about them: they draw, install, erase or leave out
something, or keep somebody from a step. The table says which steps of honest roles carry them out, and where the code
names them. If the code also checks, the check is logged, but the checker does not miss it when it is gone; tests hold
it.
"""
UNSEEN = ("condition true", "taken unverified")
_NOTICED = ("conform", "a role", "a replay", "a test", "")
_REPLAYS = """
Each row is an attack that `carnet attack` found in the specification with a defence removed, or in a variant. The
reference implementation carries out its steps. The role that takes an honest step in a run takes it here; an
adversary's step is one operation on the keys, frames and devices that the attacker really has. No code is written for
a single attack. *Reproduced* means that every step was taken and that the bytes then show the claim to be broken; the
column says in which bytes. The last column says where the same script stops when every defence is on. The
specification with that defence refuses the script at the same step, with two exceptions: the implementation checks
the GPU's certificate already when the session opens, and not only with the report; and a device with implicit IVs
stops a repeated chunk, where the shortest attack of the specification also skipped an upload. A defence that erases
or rotates refuses no step: if the claim is about what is left, the whole script can be taken, and the claim holds.

An attack that is not reproduced stops earlier in the implementation than in the specification. Sometimes another
layer prevents it on which the specification does not rely: a session's records cannot be replayed, a report's
signature covers the requested nonce, a session does not open with a chain that does not verify, and a channel's
records open only once. A report on memory has the digests of code and model together, so none is taken from one
report and one from another. Sometimes the implementation has no object for the step, and what a forger works out of
long messages under one IV is not computed.
If the shortest attack has such a step, `carnet attack --replay` looks for another attack on the same claim.
"""
_OTHERS = """
The parties of these systems are simpler, and a weakened one leaves out what the removed defences ask for. The host
picks messages by their places, as it can. It reads what its own keys open, and what two ciphertexts under one IV tell
who knows what one of them says, or the sum of both. A report of a ring's rank names one message of the exchange or
both, and so stops attacks of the specification in which a rank takes its own report for an answer.

`python -m docs._ext.carnet_pages.records make replays` carries all of these attacks out again.
"""
_KNOWN = """
Others described these attacks, or they follow directly from such descriptions. The named row of the record carries
each of them out.
"""
_AGAIN = "```sh\npython -m docs._ext.carnet_pages.records make replays/gpu-travelling\n```"


class _Sphinx(Protocol):
    srcdir: Path

    def connect(self, event: str, callback: Callable[[_Sphinx], None]) -> object: ...


def setup(app: _Sphinx) -> dict[str, Any]:
    """Register the extension with Sphinx."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _write(app: _Sphinx) -> None:
    root = Path(app.srcdir)
    attacks = json.loads((root / RECORD).read_text("utf-8"))
    others = [
        (family, json.loads(path.read_text("utf-8")))
        for family in registered_families()
        if family is not FAMILY and (path := root / RECORDS / f"{family.id}.json").exists()
    ]
    texts = {"traces.md": traces(), "replays.md": replays(attacks, others), "orchestrator.md": states()}
    for name, text in texts.items():
        path = root / FOLDER / name
        path.parent.mkdir(exist_ok=True)
        if not path.is_file() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def traces() -> str:
    """Return the page that says what a trace holds and where in the code each part of it comes from."""
    whole = FAMILY.draft_of(FAMILY.main[0]).whole()
    actions = {action.name: action for action in whole.actions}
    return page(
        "# Traces",
        _TRACES.strip(),
        "## Instants",
        _INSTANTS.strip(),
        table(("step", "instants", "comparisons made again", "comparisons believed"), _instants()),
        "## What a trace does not show",
        _BELIEVED.strip(),
        table(("step", "by", "guard"), _believed()),
        "## Defences that no event stands for",
        _SILENT.strip(),
        table(("defence", "carried out in", "named in the code"), _silent()),
        "## Removed checks",
        removed(),
        "## Steps",
        table(("step", "recorded by", "arguments", "in the code"), _steps(actions)),
        "## Elements",
        table(
            ("sort", "in a trace", "in the code"),
            ((code(sort), named.trace, code(named.code)) for sort, named in ELEMENTS.items()),
        ),
    )


@cache
def _layers() -> tuple[Design, ...]:
    """Return the first main variant and the layers over it."""
    return tuple(FAMILY.protocol(name) for name in FAMILY.with_layers(FAMILY.main[:1]))


def _instants() -> Iterator[Sequence[str]]:
    """Yield what a trace says of instants, and which guards about them are followed."""
    design, *layers = _layers()
    for clock, layer in zip(Clock.of(design, layers), layers, strict=True):
        words = {symbol for symbol in clock.protocol.symbols if symbol.is_relation}
        for each in clock.protocol.actions:
            followed = [guard.name for guard in each.guards]
            about = [g.name for g in layer.action(each.name).guards if words & symbols_of(g.formula)]
            believed = [name for name in about if name not in followed]
            yield (
                code(each.name),
                ", ".join(map(code, clock.names(each.name))),
                ", ".join(followed),
                ", ".join(believed),
            )


def _believed() -> Iterator[Sequence[str]]:
    for action, guard in guards_without_check(_layers()[0]):
        yield code(action.name), action.by.name, guard.name


def _silent() -> Iterator[Sequence[str]]:
    """Yield the defences that demand no event, the steps that carry them out, and the code that names them."""
    found = places(citations(FAMILY.id))
    for defence, actions in silent_defences(_layers()).items():
        yield code(defence), ", ".join(map(code, actions)), ", ".join(map(code, found.get(defence, ())))


def removed() -> Iterator[str]:
    """Yield how many checks were removed, part by part, and what noticed it."""
    with REMOVED.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    counts = Counter((row["place"].split("/")[1], row["noticed by"]) for row in rows)
    parts = sorted({part for part, _ in counts})
    total = Counter(row["noticed by"] for row in rows)
    yield from (
        f"{len({(row['check'], row['place']) for row in rows})} checks that an honest run goes through were removed "
        f"from the reference implementation, one at a time and in {len(rows)} ways: "
        f"{sum(bool(row['defence or requirement']) for row in rows)} of these are about checks that name a defence. "
        f"`carnet conform` noticed {total['conform']}, a role {total['a role']}, a replayed attack "
        f"{total['a replay']}, and another test {total['a test']}. "
        + (f"Nothing noticed {total['']}, and each of these is argued." if total[""] else "None went unnoticed."),
        "",
        f"In {sum(row['removed how'] in UNSEEN for row in rows)} of these ways the check is still logged, and passes "
        "whatever it sees. Then the trace is as it was, so `carnet conform` cannot notice, and only tests are asked. "
        "{doc}`/assurance/trusted-base` has the table.",
        "",
    )
    cells = ((code(part), *(str(counts[part, by]) for by in _NOTICED)) for part in (*parts,))
    yield from table(("part", "`carnet conform`", "a role", "a replay", "a test", "nothing"), cells)


def _steps(actions: Mapping[str, Action]) -> Iterator[Sequence[str]]:
    for name, place in STEPS.items():
        action = actions[name]
        params = ", ".join(f"{var.name}: {var.sort.name}" for var in action.params)
        yield code(name), action.by.name, code(params), code(place)


def replays(
    attacks: Sequence[Mapping[str, Any]], others: Sequence[tuple[Family, Sequence[Mapping[str, Any]]]] = ()
) -> str:
    """Return the page that lists attacks and the outcome of carrying out each of them; those on others come after."""
    done = [attack for attack in attacks if attack["replay"]["reproduced"]]
    thefts = [attack for attack in done if attack["claim"] == "confidentiality"]
    summary = (
        f"Of {len(attacks)} attacks, {len(done)} are reproduced; "
        f"{len(thefts)} of these recover an honest holder's data."
    )
    return page(
        "# Replays",
        _REPLAYS.strip(),
        summary,
        table(("attack", "design", "claim", "reproduced", "with every defence on"), map(_row, attacks)),
        "## Known attacks",
        _KNOWN.strip(),
        table(
            ("", "attack", "source", "replay"),
            (
                (str(place), prose(known.title), prose(known.source), code(known.replay))
                for place, known in enumerate(CATALOGUE, 1)
            ),
        ),
        "## What stays abstract",
        "The implementation has nothing that these attacks of the specification could be carried out on.",
        table(("design or defence", "why"), ((code(each.name), prose(each.why)) for each in UNREPLAYED)),
        "## Reproduce it",
        "This command carries out all attacks again:",
        _AGAIN,
        *(("## Other protocols", _OTHERS.strip()) if others else ()),
        *(carried_out.shown(family, rows) for family, rows in others),
    )


def _row(attack: Mapping[str, Any]) -> Sequence[str]:
    outcome = attack["replay"]
    known = {action.name: action for action in FAMILY.draft_of(attack["variant"]).actions}
    actions = [known[step["action"]] for step in attack["steps"]]
    removed = f" without {', '.join(attack['removed'])}" if attack["removed"] else ""
    shown = prose(outcome["recovered"]) if outcome["reproduced"] else f"no: {stopped(outcome['stopped'], actions)}"
    return (
        code(attack["id"]),
        prose(f"{attack['variant']}{removed}"),
        code(attack["claim"]),
        shown,
        stopped(outcome["defended"]["stopped"], actions),
    )
