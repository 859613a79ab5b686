"""Sphinx extension: the pages on traces, replays and states, made from the tables and the record they are about."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from carnet_pages.markdown import code, page, prose, table
from carnet_pages.orchestrator import states

from carnet_ref.systems.gpu_travelling.correspondence import DEDUCED, ELEMENTS, STEPS
from carnet_ref.systems.gpu_travelling.exploits.catalogue import CATALOGUE
from carnet_spec.language import Action
from carnet_spec.protocols.gpu_travelling import FAMILY

FOLDER = "conformance"
RECORD = "results/replays/gpu-travelling.json"

_TRACES = """
Roles record the steps they take, in the words of the specification, one JSON value a line. The first line is a header:

```json
{"carnet_trace": 1, "protocol": "gpu-travelling", "variant": "engine-per-holder", "without": [],
 "threat": "hypervisor", "sizes": {"holders": 3, "corrupt": 0, "chunks": 3}}
```

Every other line is an event: the logical clock of the role that recorded it, and a step. Arguments that the role cannot
see are left out.

```json
{"clock": 12, "action": "rotate_out", "by": "orchestrator", "args": {"a": "alice", "k": "s5b2b4935/1"}}
```

A trace is input to be judged, so it cannot say which code to run: `protocol` is the id of a registered protocol. For
any other, `carnet conform TRACE --protocol PROTOCOL` says where it is, and the header has its id.

Sizes have bounds, so that no header asks for an instance that takes minutes to build: 100,000 rounds and sessions,
1,000 of anything else, and 4,000 when those others are multiplied.

`carnet conform TRACE` follows the events one after another. Each has to be a step that the specification allows there;
the first that is not is named, with the guard that refuses it. Whatever anybody can deduce is deduced after every step.
Arguments that are missing are searched for. An event costs the same however long the trace: sessions and keys are new
when they are first named, and of what holds of every key up to some epoch only the number is kept.
"""
_REPLAYS = """
Each row is an attack that `carnet attack` found in the specification with a defence removed, or in a variant. Its steps
are carried out on the reference implementation: an honest step by the role that takes it in a run, a step of the
adversary by one operation on the keys, frames and devices that the attacker really has. Nothing is written for one
attack. *Reproduced* means that every step was taken and that the claim is then seen to be broken, in bytes; the next
column says in which. The last column says where the same script stops once every defence is on. That is the step at
which the specification with that defence refuses the script, too, with two exceptions: the GPU's certificate is checked
here when the session opens, and not only with the report; and a device whose IVs are implicit stops a repeated chunk,
where the shortest attack of the specification also skipped an upload. A defence that erases or rotates does not refuse
a step: if the claim is about what is left, all of the script can be taken, and the claim holds.

What is not reproduced stops earlier here than in the specification. Sometimes another layer is in the way, which the
specification does not count on: a session's records cannot be replayed, a report's signature covers the nonce it was
asked for, a session is not opened with a chain that does not verify, a channel's records are opened once, orders to
rotate go through the session. Sometimes the implementation has nothing to do the step to. Where the shortest attack has
such a step, `carnet attack --replay` looks for another one on the same claim.
"""
_KNOWN = """
Attacks that others described, or that follow at once from what they describe; each is carried out by the row of the
record that is named beside it.
"""
_AGAIN = (
    "```sh\npython -m carnet_ref.systems.gpu_travelling.exploits.record docs/results/replays/gpu-travelling.json\n```"
)


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
    texts = {"traces.md": traces(), "replays.md": replays(attacks), "orchestrator.md": states()}
    for name, text in texts.items():
        path = root / FOLDER / name
        path.parent.mkdir(exist_ok=True)
        if not path.is_file() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def traces() -> str:
    """Return the page that says what a trace holds and where in the code each part of it comes from."""
    whole = FAMILY.draft(FAMILY.main[0]).whole()
    actions = {action.name: action for action in whole.actions}
    return page(
        "# Traces",
        _TRACES.strip(),
        "## Steps",
        table(("step", "recorded by", "arguments", "in the code"), _steps(actions)),
        "## Elements",
        table(
            ("sort", "in a trace", "in the code"),
            ((code(sort), named.trace, code(named.code)) for sort, named in ELEMENTS.items()),
        ),
        "## Taken as early as possible, and not recorded",
        table(("step", "in the code"), ((code(name), code(place)) for name, place in DEDUCED.items())),
    )


def _steps(actions: Mapping[str, Action]) -> Iterator[Sequence[str]]:
    for name, place in STEPS.items():
        action = actions[name]
        params = ", ".join(f"{var.name}: {var.sort.name}" for var in action.params)
        yield code(name), action.by.name, code(params), code(place)


def replays(attacks: Sequence[Mapping[str, Any]]) -> str:
    """Return the page that lists attacks, and what came of carrying each of them out."""
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
        "## Again",
        "All of it comes out again with",
        _AGAIN,
    )


def _row(attack: Mapping[str, Any]) -> Sequence[str]:
    outcome = attack["replay"]
    removed = f" without {', '.join(attack['removed'])}" if attack["removed"] else ""
    shown = prose(outcome["recovered"]) if outcome["reproduced"] else f"no: {_stopped(outcome['stopped'])}"
    return (
        code(attack["id"]),
        prose(f"{attack['variant']}{removed}"),
        code(attack["claim"]),
        shown,
        _stopped(outcome["defended"]["stopped"]),
    )


def _stopped(place: Mapping[str, Any] | None) -> str:
    if place is None:
        return "every step is taken, and the claim holds"
    return f"stops at step {place['index'] + 1}, {code(place['action'])}"
