"""``carnet recheck``: a folder of obligations and certificates, judged again by the checker alone."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from carnet_check.commands.common import json_option, say
from carnet_command.errors import LostWorkerError
from carnet_command.exit_codes import ExitCode, deciding
from carnet_command.workers import Lost, WorkerPool

if TYPE_CHECKING:
    from carnet_check.certificates.folder import Judged

SHOWN = 10
"""How many obligations without a proof are named."""


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@json_option
@click.pass_context
def recheck(context: click.Context, folder: Path, as_json: bool) -> int:
    """Check every certificate in DIR, which `carnet certify --out DIR` wrote; nothing is searched for.

    Each obligation of DIR/index.csv needs its text and a certificate that the checker accepts. The program that is
    proved sound in Coq, where it is built, makes the obligations of DIR/systems anew and checks certificates, too.
    """
    from carnet_check.report.closing import rerun_command, rerun_line

    (every, seconds), (verified, verified_seconds) = _both_checkers(folder)
    code = _code(every, verified)
    if as_json:
        unproved = [
            {"variant": each.variant, "obligation": each.obligation, "why": each.why} for each in every if each.why
        ]
        value = {"obligations": len(every), "unproved": unproved, "verified": verified, "seconds": seconds}
        value["verified_seconds"] = verified_seconds
        click.echo(json.dumps({**value, "rerun": rerun_command(context)}, indent=2, ensure_ascii=False))
        return code
    for line in _lines(every, seconds, verified, verified_seconds):
        say(line)
    say(rerun_line(context))
    return code


def _both_checkers(folder: Path) -> tuple[tuple[list[Judged], float], tuple[bool | None, float]]:
    """Return what each checker says, and the seconds that it took; the two work at the same time."""
    said: dict[Checker, Any] = {}
    with WorkerPool(len(Checker), patience=math.inf, keep=False) as pool:
        for (checker, _), answer in pool.results(_timed, [(checker, folder) for checker in Checker]):
            if isinstance(answer, Lost):
                raise LostWorkerError(f"the {checker.value} gave no answer: {answer.reason}")
            said[checker] = answer
    return said[Checker.KERNEL], said[Checker.VERIFIED]


class Checker(Enum):
    """What checks certificates."""

    KERNEL = "kernel"
    VERIFIED = "checker from Coq"


def _timed(asked: tuple[Checker, Path]) -> Iterator[tuple[Any, float]]:
    """Answer in a process of its own."""
    checker, folder = asked
    began = time.monotonic()
    answer = by_kernel(folder) if checker is Checker.KERNEL else by_verified_checker(folder)
    yield answer, time.monotonic() - began


def by_kernel(folder: Path) -> list[Judged]:
    """Return what the Python kernel says of every obligation.

    Raises:
        UsageError: the folder is none that ``carnet certify --out`` writes.
    """
    from carnet_check.certificates.folder import judged

    return list(judged(folder))


def by_verified_checker(folder: Path) -> bool | None:
    """Return whether the program that is proved sound accepts every variant; nothing where there is no such program.

    Raises:
        CarnetError: it cannot be run, or cannot read the folder.
    """
    from carnet_check.coq.folder import judged
    from carnet_check.coq.program import program

    found = program()
    return None if found is None else all(verdict.accepted for verdict in judged(folder, found))


def _code(every: Sequence[Judged], verified: bool | None) -> ExitCode:
    """Return 1 if anything is refused, 3 if anything is missing or there is nothing, and 5 if only Coq refuses.

    That only Coq accepts is no disagreement: it makes the obligations anew and reads no text, so a spoilt text is
    nothing to it.
    """
    codes = [ExitCode.UNKNOWN if each.missing else ExitCode.VIOLATED for each in every if each.why]
    if verified is False and not codes:
        return ExitCode.INTERNAL
    return deciding(codes if every else [ExitCode.UNKNOWN])


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
