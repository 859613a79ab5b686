"""What the subcommands of ``carnet attest`` share: reading files, the clock, trust anchors, and printing."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from carnet_command.errors import UsageError
from carnet_command.printable import printable
from carnet_command.text import hanging, wrapped

if TYPE_CHECKING:
    from carnet_ref.attestation.anchors import Anchors
    from carnet_ref.attestation.appraisal import Appraisal

ACCEPTED = 0
REFUSED = 1
MARKS = {True: "ok", False: "REFUSED", None: "-"}
WIDTH = 22
DELETE: Final = "\x7f"
"""The one control character that is not escaped in JSON; outside of strings it never stands there."""

MOST_BYTES: Final = 1 << 24
"""The largest file that is read; no report, chain, manifest or collateral of a real device comes near it."""

MOST_FILES: Final = 64
"""The most files that are read out of one folder."""

readable = click.Path(path_type=Path)
at_option = click.option(
    "--at", metavar="TIME", help="When to appraise, in ISO 8601 (UTC unless it says). [default: now]"
)
anchor_option = click.option(
    "--trust-anchor", type=readable, metavar="FILE", help="PEM certificates that replace the roots of the vendors."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


def contents(path: Path) -> bytes:
    """Return what is in the file. Raises UsageError if it cannot be read, or is larger than any evidence."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from None
    if len(data) > MOST_BYTES:
        raise UsageError(f"'{path}' holds more than {MOST_BYTES} bytes, which no evidence does")
    return data


def contents_of_all(path: Path) -> tuple[bytes, ...]:
    """Return what is in the file or, if it is a folder, in each file of it, in the order of their names.

    Folders in the folder and names that begin with a dot are passed over. Raises UsageError if a file cannot be read or
    is larger than any evidence, or a folder has none or too many.
    """
    if not path.is_dir():
        return (contents(path),)
    try:
        files = sorted(file for file in path.iterdir() if file.is_file() and not file.name.startswith("."))
    except OSError as error:
        raise UsageError(f"cannot read '{path}': {error.strerror}") from None
    if not 1 <= len(files) <= MOST_FILES:
        raise UsageError(f"'{path}' holds {len(files)} files; from 1 to {MOST_FILES} are read")
    return tuple(map(contents, files))


def instant(text: str | None) -> datetime:
    """Return the time that ``--at`` names; without it, now.

    Raises UsageError if it names none, or one that has no year from 1 to 9999 in UTC.
    """
    if text is None:
        return datetime.now(UTC).replace(microsecond=0)
    try:
        given = datetime.fromisoformat(text)
        return given.astimezone(UTC) if given.tzinfo else given.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise UsageError(f"'{text}' is no time: write it as 2025-08-21T12:00:00Z") from None


def written(time: datetime) -> str:
    """Return ``time``, which is in UTC, as ``--at`` takes it."""
    return time.replace(tzinfo=None).isoformat() + "Z"


def anchors_given(path: Path | None) -> Anchors:
    """Return the trust anchors in the file, or the defaults. Raises UsageError if the file has none."""
    from carnet_ref.attestation.anchors import anchors_from_pem, default_anchors
    from carnet_ref.wire import MalformedError

    if path is None:
        return default_anchors()
    try:
        return anchors_from_pem(contents(path))
    except MalformedError as error:
        raise UsageError(f"'{path}' has no trust anchors: {error}") from None


def octets_given(flag: str, text: str | None, length: int) -> bytes | None:
    """Return the ``length`` bytes that hexadecimal digits behind ``flag`` stand for, or any number if that is 0.

    ``0x`` may stand before them. Raises UsageError if they stand for none, or for another number of bytes.
    """
    from carnet_ref.attestation.documents import from_hexadecimal

    if text is None:
        return None
    try:
        octets = from_hexadecimal(text)
    except ValueError:
        raise UsageError(f"{flag} wants hexadecimal digits") from None
    if length and len(octets) != length:
        raise UsageError(f"{flag} wants {length} bytes, not {len(octets)}")
    return octets


def show(appraisal: Appraisal, at: datetime, rerun: Sequence[str], as_json: bool) -> int:
    """Print the appraisal and return the exit code."""
    steps = [{"id": step.id, "ok": step.ok, "detail": step.detail, "source": step.source} for step in appraisal.steps]
    if as_json:
        found = {"accepted": appraisal.accepted, "failed_step": appraisal.failed_step, "steps": steps}
        told = {"claims": dict(appraisal.claims), "not_compared": list(appraisal.not_compared)}
        again = {"at": at.isoformat(), "rerun": shlex.join(rerun)}
        click.echo(json.dumps({**found, **told, **again}).replace(DELETE, "\\u007f"))
    else:
        width = max([WIDTH, *(len(step.id) + 1 for step in appraisal.steps)])
        for step in appraisal.steps:
            source = f"  [{step.source}]" if step.source else ""
            _say(f"{MARKS[step.ok]:<8}{step.id:<{width}}", step.detail + source)
        for name, value in _told(appraisal.claims):
            _say(f"{'claim':<8}{name:<{WIDTH}}  ", _written(value))
        for line in hanging(_verdict(appraisal)):
            click.echo(line)
        click.echo(f"rerun   {printable(shlex.join(rerun))}")
    return ACCEPTED if appraisal.accepted else REFUSED


def _told(claims: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yield the claims for people: of a list of objects, each by itself."""
    for name, value in claims.items():
        if isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
            yield from ((f"{name} {place}", each) for place, each in enumerate(value))
        else:
            yield name, value


def _verdict(appraisal: Appraisal) -> str:
    """Say whether the evidence was accepted and, if so, what was not compared."""
    if not appraisal.accepted:
        return f"REFUSED at {appraisal.failed_step}"
    return ", ".join(("ACCEPTED", *appraisal.not_compared))


def _say(label: str, text: str) -> None:
    """Print what evidence may have had a word in, so that a terminal only shows it."""
    for line in wrapped(label, printable(text), len(label)):
        click.echo(line)


def _written(value: object) -> str:
    """Write the value of a claim for people."""
    match value:
        case None:
            return "not stated"
        case bool():
            return "yes" if value else "no"
        case dict():
            return ", ".join(f"{name} {_written(part)}" for name, part in value.items())
        case list() | tuple():
            return ", ".join(map(_written, value)) or "none"
        case Mapping():
            return ", ".join(f"{name} {_written(each)}" for name, each in value.items())
        case _:
            return str(value)
