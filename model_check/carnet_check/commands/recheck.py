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
    from carnet_check.coq.folder import Verdict
    from carnet_check.exports.systems import System

SHOWN = 10
"""How many obligations without a proof are named."""


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@json_option
@click.pass_context
def recheck(context: click.Context, folder: Path, as_json: bool) -> int:
    """Check every certificate in DIR, which `carnet certify --out DIR` wrote; nothing is searched for.

    Each obligation of DIR/index.csv needs its text and a certificate that the checker accepts, and the index has to
    list what every variant in DIR/systems requires. Whether the texts say what is required, the program judges that is
    proved sound in Coq: where it is built, it makes the obligations of DIR/systems anew and checks certificates, too.
    Compare the digests that are shown with those of `carnet verify`: they say which specification was judged.
    """
    from carnet_check.certificates.folder import judged
    from carnet_check.coq.folder import compared, variants
    from carnet_check.report.closing import rerun_command, rerun_line

    with ProcessPoolExecutor(1, get_context("spawn")) as beside:
        verifying = beside.submit(verified_checker, folder)
        began = time.monotonic()
        systems = list(variants(folder))
        every = list(compared(systems, list(judged(folder))))
        seconds = time.monotonic() - began
        verdicts, verified_seconds = verifying.result()
    verified = None if verdicts is None else all(each.accepted for each in verdicts)
    code = _code(every, verified)
    if as_json:
        unproved = [
            {"variant": each.variant, "obligation": each.obligation, "why": each.why} for each in every if each.why
        ]
        value = {"obligations": len(every), "unproved": unproved, "verified": verified, "seconds": seconds}
        value["verified_seconds"] = verified_seconds
        value["variants"] = [{"variant": each.variant, "digest": each.digest} for each in systems]
        click.echo(json.dumps({**value, "rerun": rerun_command(context)}, indent=2, ensure_ascii=False))
        return code
    for line in (*_subjects(systems), *_lines(every, seconds), *_in_coq(verdicts, verified_seconds)):
        say(line)
    say(rerun_line(context))
    return code


def verified_checker(folder: Path) -> tuple[list[Verdict] | None, float]:
    """Return what the program that is proved sound says of every variant, and how many seconds that took.

    Where there is no such program, the answer is nothing.

    Raises:
        CarnetError: it cannot be run, or cannot read the folder.
    """
    from carnet_check.coq.folder import judged
    from carnet_check.coq.program import program

    began = time.monotonic()
    found = program()
    verdicts = None if found is None else list(judged(folder, found))
    return verdicts, time.monotonic() - began


def _code(every: Sequence[Judged], verified: bool | None) -> ExitCode:
    """Return 1 if anything is refused, 3 if anything is missing or there is nothing, and 5 if only Coq refuses.

    That only Coq accepts is no disagreement: it makes the obligations anew and reads no text, so a spoilt text is
    nothing to it.
    """
    codes = [ExitCode.UNKNOWN if each.missing else ExitCode.VIOLATED for each in every if each.why]
    if verified is False and not codes:
        return ExitCode.INTERNAL
    return deciding(codes if every else [ExitCode.UNKNOWN])


def _subjects(systems: Sequence[System]) -> Iterator[str]:
    from carnet_command.text import counted, wrapped

    for each in systems:
        proved = {claim.name for layer in each.layers for claim in layer.claims}
        claims = counted(sum(invariant in proved for invariant, _ in each.stated.values()), "claim")
        yield from wrapped("variant", f"{each.variant}: {claims}; spec digest {each.digest[:16]}")


def _in_coq(verdicts: Sequence[Verdict] | None, seconds: float) -> Iterator[str]:
    from carnet_check.coq.program import VARIABLE
    from carnet_command.text import wrapped

    if verdicts is None:
        yield from wrapped(
            "in Coq",
            "not asked: nothing here says that the texts are what the variants require. `make -C model_check/coq "
            f"program` builds the program, and {VARIABLE} names it",
        )
        return
    refused = [each for each in verdicts if not each.accepted]
    yield from wrapped("in Coq", f"{'refuses some' if refused else 'accepts them all'}, {seconds:.1f} s")
    for each in refused:
        yield from wrapped("in Coq", f"{each.variant}: {'; '.join(each.said[:SHOWN])}")


def _lines(every: Sequence[Judged], seconds: float) -> Iterator[str]:
    from carnet_command.text import counted, wrapped

    unproved = [each for each in every if each.why]
    texts = counted(len({each.digest for each in every}), "text")
    accepted = counted(len(every) - len(unproved), "obligation")
    yield from wrapped(
        "checker", f"accepts the certificates of {accepted} of {len(every):,} ({texts}), {seconds:.1f} s"
    )
    for each in unproved[:SHOWN]:
        yield from wrapped("unproved", f"{each.variant} {each.obligation}: {each.why}")
    if len(unproved) > SHOWN:
        yield from wrapped("unproved", f"and {len(unproved) - SHOWN:,} more")
