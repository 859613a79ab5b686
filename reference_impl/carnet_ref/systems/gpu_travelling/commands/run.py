"""``carnet run``: the reference implementation, in one process or in several."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from carnet_command.exit_codes import ExitCode
from carnet_command.printable import printable
from carnet_command.text import plural

if TYPE_CHECKING:
    from carnet_ref.systems.gpu_travelling.commands.running import RunRequest

#: The key schedules that can be run.
#:
#: Under ``none`` no round between honest parties completes. ``inner-key`` would be ``ratchet`` by another name: the
#: roles agree on no inner key, and only that sets the two apart. ``retired-engine-leaks`` runs like
#: ``engine-per-holder``.
SCHEDULES = ("engine-per-holder", "sealed-under-master", "ratchet", "wrapped-under-old", "reset")
TRAINERS = ("numpy", "torch")  #: What can train: NumPy is always there, PyTorch comes with the extra ``train``.
MOST_MESSAGES = 1 << 32
LIMIT = "Let no link key protect more messages than this, instead of some 389 GB."
MOST_HOLDERS = 500
#: What a run is kept to: its trace has to be one that can be judged, and stays in memory until then, 7 KB a round.
MOST_ROUNDS = 100_000
SAVE = "Bring the model home after every R rounds, not only at the end and before a new session."
MOST_HIDDEN = 256
HIDDEN = "Units of the model's hidden layer, which its size grows with."
JOURNAL = "Keep journals here; with --journal-key, go on from them."
MOST_BACKUPS = 8
BACKUP = "Instances that log the orchestrator's custody, and take over."
GRAPH = "Record the attested dataflow graph here, for `carnet audit`."
CLAIMS = "Write the claims that the parties agree on before the run."
QUOTE_STEPS = "Attest each step by evidence of its own; no exclave has a key."
MOST_MISHAPS = 10_000
CLIP = "Let each round's update have at most this norm; with --noise."
NOISE = "Add noise of this standard deviation to each weight, each round; with --clip."
DELTA = "Report ε for this δ.  [default: 1e-06, with --noise]"
MISHAPS = "Kill, roll back or fork instances K times, at random moments."


@click.command()
@click.option(
    "--holders", type=click.IntRange(1, MOST_HOLDERS), default=3, show_default=True, metavar="N", help="Data holders."
)
@click.option(
    "--rounds", type=click.IntRange(1, MOST_ROUNDS), default=9, show_default=True, metavar="R", help="Hand-overs."
)
@click.option("--key-schedule", "schedule", type=click.Choice(SCHEDULES), default=SCHEDULES[0], show_default=True)
@click.option("--key-limit", type=click.IntRange(1, MOST_MESSAGES), metavar="MESSAGES", help=LIMIT)
@click.option("--save-every", type=click.IntRange(1, MOST_ROUNDS), metavar="R", help=SAVE)
@click.option("--trainer", type=click.Choice(TRAINERS), default=TRAINERS[0], show_default=True, help="What trains.")
@click.option("--hidden", type=click.IntRange(1, MOST_HIDDEN), metavar="UNITS", help=HIDDEN)
@click.option("--clip", type=float, metavar="NORM", help=CLIP)
@click.option("--noise", type=float, metavar="STDEV", help=NOISE)
@click.option("--delta", type=float, metavar="PROBABILITY", help=DELTA)
@click.option("--processes", is_flag=True, help="Run every party as a process of its own, over loopback TCP.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, metavar="PORT", help="Where the platform listens.")
@click.option("--journal", type=click.Path(path_type=Path), metavar="FILE", help=JOURNAL)
@click.option("--journal-key", type=click.Path(path_type=Path), metavar="FILE", help="What seals them; made if absent.")
@click.option("--backup", "backups", type=click.IntRange(0, MOST_BACKUPS), default=0, metavar="N", help=BACKUP)
@click.option("--mishaps", type=click.IntRange(0, MOST_MISHAPS), default=0, metavar="K", help=MISHAPS)
@click.option("--seed", type=click.IntRange(0), metavar="S", help="Seed of the mishaps.  [default: 0]")
@click.option("--graph", type=click.Path(path_type=Path), metavar="DIR", help=GRAPH)
@click.option("--claims", type=click.Path(path_type=Path), metavar="FILE", help=CLAIMS)
@click.option("--quote-steps", is_flag=True, help=QUOTE_STEPS)
@click.option("--trace", type=click.Path(path_type=Path), metavar="FILE", help="Write the steps taken.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object on standard output.")
def run(as_json: bool, **asked: Any) -> int:
    """Run GPU Travelling: lend a GPU to holders in turn, train on what they return, scrub it and continue."""
    from carnet_ref.systems.gpu_travelling.commands.running import RunRequest, carried_out

    plan = RunRequest(**asked)
    say = functools.partial(_say, on_standard_error=as_json)
    fields = carried_out(plan, say).to_json()
    if as_json:
        click.echo(json.dumps(fields))
    else:
        _report(fields, plan, say)
    return ExitCode.VIOLATED if fields["conforms"] is False else ExitCode.EXPECTED


def _say(text: str, on_standard_error: bool) -> None:
    """Print a line that a party or a file's name may have had a word in, so that a terminal only shows it."""
    click.echo(printable(text), err=on_standard_error)


def _report(fields: dict[str, Any], plan: RunRequest, say: Callable[[str], None]) -> None:
    first, *_, last = ("no number" if loss is None else f"{loss:.3f}" for loss in (*fields["loss"], fields["loss"][-1]))
    where = f"{plural(fields['rounds'], 'round')} among {plural(fields['holders'], 'holder')}"
    say(f"hand-offs    {fields['handoffs']:,} in {where}")
    say(f"provisioned  {fields['bytes_provisioned']:,} bytes; keys: {fields['keys']}, sessions: {fields['sessions']}")
    moved = fields["bytes_moved"]
    most = max(moved["per_handoff"], default=0)
    parts = f"set-up {moved['setup']:,}, models home {moved['save']:,}, a hand-off at most {most:,}"
    say(f"moved        {moved['total']:,} bytes over the link; {parts}")
    if plan.schedule == "reset":
        say("             each hand-off needs a session of its own, whose set-up is not counted in it")
    if used := fields["key_usage"]:
        most_used = max(used, key=lambda use: use["units"])
        which = f"{most_used['units']:,} work units of {most_used['most_units']:,}"
        past = sum(not use["within"] for use in used)
        say(f"used         {plural(len(used), 'count')} of AES keys, the largest {which}; past their limit: {past}")
    if cost := fields["cost_of_a_handoff"]:
        say("a hand-off   " + ", ".join(f"{amount:,} {unit}" for unit, amount in cost.items()))
    say(f"loss         {first} to {last}")
    say(f"model        SHA-384 {fields['model'][:32]}…")
    if told := fields["privacy"]:
        say(f"privacy      {_privacy(told)}")
    if fields["lost"]:
        say(f"lost         {plural(len(fields['lost']), 'epoch')}, with sessions that failed, and done again")
    if line := fields["backup"]:
        words = {
            "kills": "kill",
            "take_overs": "take-over",
            "restarts": "restart",
            "rollbacks_refused": "older state",
            "forks_refused": "fork",
        }
        *done, rollbacks, forks = (plural(line[what], word) for what, word in words.items())
        say(f"instances    {', '.join(done)}; refused: {rollbacks}, {forks}")
    say(f"trace        {fields['trace'] or 'not kept'}, {plural(fields['events'], 'step')}")
    say(f"conforms     {_verdict(fields)}")
    if plan.graph is not None:
        say(f"graph        {plan.graph}, {plural(fields['attested'], 'statement')}")
    say(f"rerun        {plan.rerun}")


def _privacy(told: dict[str, Any]) -> str:
    """Say what the holder with the most updates is promised: ε rounded up, δ with all its digits."""
    from carnet_ref.privacy import upward

    worst = max(told["holders"].values(), key=lambda holder: holder["epsilon"])
    updates = plural(worst["updates"], "update")
    return f"ε at most {upward(worst['epsilon'])} at δ {told['delta']!r}, for {updates} of a holder"


def _verdict(fields: dict[str, Any]) -> str:
    """Say whether the run conforms, under which threat model, and what that threat model leaves unchecked."""
    if fields["conforms"] is None:
        return "not judged: no checker is installed"
    ignored = f"; {plural(fields['ignored'], 'event')} of corrupt parties ignored" if fields["ignored"] else ""
    return f"{'yes' if fields['conforms'] else 'no'}, under {fields['threat']}{ignored}"
