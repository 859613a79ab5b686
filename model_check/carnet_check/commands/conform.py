"""``carnet conform``: check a recorded trace against the spec."""

import time
from collections.abc import Iterator
from pathlib import Path

import click

from carnet_check.commands.common import PROTOCOL, Closing, finish, json_option, rerun_command
from carnet_check.conformance import Conformance
from carnet_check.conformance import conform as follow
from carnet_check.conformance.tables import PER_EVENT, TO_BEGIN_WITH
from carnet_command.exit_codes import ExitCode
from carnet_command.printable import printable
from carnet_command.text import plural, wrap_text
from carnet_spec.trace import TraceEnd


@click.command()
@click.argument("trace", type=click.Path(path_type=Path))
@click.option(
    "--protocol",
    "asked",
    type=PROTOCOL,
    default="",
    metavar="PROTOCOL",
    help="Its protocol, if that is not registered.",
)
@click.option("--require-checked", is_flag=True, help="Refuse a trace of steps only, with exit code 1.")
@json_option
@click.pass_context
def conform(context: click.Context, trace: Path, asked: str, require_checked: bool, as_json: bool) -> int:
    """Check TRACE against the spec, and name the first event that the spec does not allow there.

    TRACE is a file of JSON values, one a line: a header that names protocol, variant and sizes, then the events.
    The header names a registered protocol; name any other with --protocol, since loading it runs its code. If the
    header names no threat model, the protocol says which one fits the events. A trace of steps only does not show that
    anybody checked anything.
    Exit code 0: every event is a step of the spec. 1: one is not, and its failing guard is named; or the trace has
    steps only, and --require-checked is given. 3: undecided, because the trace leaves out too many arguments, or its
    sizes are too large.
    """
    began = time.monotonic()
    result = follow(trace, asked, require_checked=require_checked)
    seconds = time.monotonic() - began
    lines = [] if as_json else [printable(line) for line in _lines(result)]
    finish(as_json, result.to_json(), lines, _closing(context, result, seconds))
    return ExitCode.EXPECTED if result.conforms else ExitCode.VIOLATED


def _lines(result: Conformance) -> Iterator[str]:
    if not result.header.checked:
        yield from wrap_text("STEPS ONLY:", "this trace does not show that any check was made", 12)
    yield f"following {result.header.protocol}, variant {result.protocol.variant}{_weakened(result)}"
    yield ""
    found = result.divergence
    if found is None:
        kinds = "steps and checks" if result.header.checked else "steps"
        yield f"CONFORMS: all {result.events - result.ignored:,} events are {kinds} of the spec{_weakened(result)}"
        if result.ignored:
            parties = f"reported by parties that are corrupt under {result.header.threat}"
            yield from wrap_text("  ignored", f"{plural(result.ignored, 'event')}, {parties}", 10)
    else:
        yield f"DIVERGES at event {found.index} (line {found.index + 2})"
        by = "" if isinstance(found.step, TraceEnd) else f" by {found.step.by}"
        yield from wrap_text("  event", f"{found.step}{by}", 10)
        yield from wrap_text("  why", found.why, 10)
    yield from wrap_text("  checks", _checks(result), 10)
    yield ""


def _checks(result: Conformance) -> str:
    """Return the words for how many checks the steps demand, and how many were recorded."""
    if not result.header.checked:
        return "not recorded in this trace: its steps alone were followed"
    if result.divergence is not None:
        return f"{result.required:,} were required up to there, {result.seen:,} were recorded"
    return f"all {result.required:,} that the steps require were made and held; {result.seen:,} were recorded"


def _weakened(result: Conformance) -> str:
    """Return the words for the defences that the trace's design lacks, and for the threat model of the verdict."""
    header = result.header
    removed = f" without {', '.join(header.without)}" if header.without else ""
    return f"{removed}, under {header.threat}" if header.threat else removed


def _closing(context: click.Context, result: Conformance, seconds: float) -> Closing:
    ignored = f" of those that were not ignored, and {result.ignored:,} were" if result.ignored else ""
    return Closing(
        verdicts={"CONFORMS" if result.conforms else "DIVERGES": 1},
        outcome=f"the trace is {'a' if result.conforms else 'no'} run of the spec{_weakened(result)}",
        strength=f"this one trace, {result.events:,} events; every guard checked{ignored}, every deduction taken",
        budget=f"{TO_BEGIN_WITH:,} steps of work and {PER_EVENT:,} for each event; "
        f"{result.events / max(seconds, 1e-9):,.0f} events a second",
        profile=", ".join(f"{name} {size}" for name, size in result.header.sizes) or "the family's own sizes",
        digests={result.protocol.variant: result.protocol.digest},
        artefacts="",
        rerun=rerun_command(context),
        seconds=seconds,
    )
