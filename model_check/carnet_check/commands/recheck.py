"""``carnet recheck``: a folder of obligations and certificates, judged again by the checker alone."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

import click

from carnet_check.commands.common import json_option, say
from carnet_command.exit_codes import ExitCode, deciding

if TYPE_CHECKING:
    from carnet_check.certificates.folder import Judged
    from carnet_spec.language import Protocol

SHOWN = 10
"""How many obligations without a proof are named."""
SPEC_DIGITS = 16
"""How many digits of a specification's digest are shown, as `carnet verify` shows them."""


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@json_option
@click.pass_context
def recheck(context: click.Context, folder: Path, as_json: bool) -> int:
    """Check every certificate in DIR, which `carnet certify --out DIR` wrote; nothing is searched for.

    The obligations of DIR/systems are made anew: each needs its row in DIR/index.csv, its text and a certificate that
    the checker accepts. The program that is proved sound in Coq, where it is built, does the same by itself. Whether
    these specifications are those that you have in mind, compare their digests.
    """
    from carnet_check.certificates.folder import judged, specifications
    from carnet_check.report.closing import rerun_command, rerun_line

    with ProcessPoolExecutor(1, get_context("spawn")) as beside:
        verifying = beside.submit(verified_checker, folder)
        began = time.monotonic()
        protocols = [protocol for protocol, _ in specifications(folder)]
        every = list(judged(folder, protocols))
        seconds = time.monotonic() - began
        verified, verified_seconds = verifying.result()
    code = _code(every, verified)
    if as_json:
        unproved = [
            {"variant": each.variant, "obligation": each.obligation, "why": each.why} for each in every if each.why
        ]
        value = {"obligations": len(every), "unproved": unproved, "verified": verified, "seconds": seconds}
        value["specifications"] = {each.variant: each.digest for each in protocols}
        value["verified_seconds"] = verified_seconds
        click.echo(json.dumps({**value, "rerun": rerun_command(context)}, indent=2, ensure_ascii=False))
        return code
    for line in (*_specified(protocols), *_lines(every, seconds, verified, verified_seconds)):
        say(line)
    say(rerun_line(context))
    return code


def verified_checker(folder: Path) -> tuple[bool | None, float]:
    """Return whether the program that is proved sound accepts every variant, and how many seconds that took.

    Where there is no such program, the answer is nothing.

    Raises:
        CarnetError: it cannot be run, or cannot read the folder.
    """
    from carnet_check.coq.folder import judged
    from carnet_check.coq.program import program

    began = time.monotonic()
    found = program()
    accepted = None if found is None else all(verdict.accepted for verdict in judged(folder, found))
    return accepted, time.monotonic() - began


def _code(every: Sequence[Judged], verified: bool | None) -> ExitCode:
    """Return 1 if anything is refused, 3 if anything is missing or there is nothing, and 5 if only Coq refuses.

    That only Coq accepts is no disagreement: it makes the obligations anew and reads no text, so a spoilt text is
    nothing to it.
    """
    codes = [ExitCode.UNKNOWN if each.missing else ExitCode.VIOLATED for each in every if each.why]
    if verified is False and not codes:
        return ExitCode.INTERNAL
    return deciding(codes if every else [ExitCode.UNKNOWN])


def _specified(protocols: Sequence[Protocol]) -> Iterator[str]:
    from carnet_command.text import wrapped

    for each in protocols:
        yield from wrapped("spec digest", f"{each.id} {each.variant} {each.digest[:SPEC_DIGITS]}")


def _lines(every: Sequence[Judged], seconds: float, verified: bool | None, verified_seconds: float) -> Iterator[str]:
    from carnet_command.text import counted, wrapped

    unproved = [each for each in every if each.why]
    texts = len({each.digest for each in every})
    accepted = counted(len(every) - len(unproved), "obligation")
    yield from wrapped(
        "checker", f"accepts the certificates of {accepted} of {len(every):,} ({texts:,} texts), {seconds:.1f} s"
    )
    said = {None: "not built here", True: "accepts them all", False: "refuses some"}[verified]
    yield from wrapped("in Coq", said if verified is None else f"{said}, {verified_seconds:.1f} s")
    for each in unproved[:SHOWN]:
        yield from wrapped("unproved", f"{each.variant} {each.obligation}: {each.why}")
    if len(unproved) > SHOWN:
        yield from wrapped("unproved", f"and {len(unproved) - SHOWN:,} more")
