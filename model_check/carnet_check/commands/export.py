"""``carnet export``: what has to be proved, the protocol itself, or one instance of it, as text for other tools."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from carnet_check.commands.common import (
    AtLeastOne,
    Sized,
    defences,
    json_option,
    memory_option,
    protocol_argument,
    say,
    size_option,
    sizes_given,
)
from carnet_check.commands.completion import DEFENCE, PROFILE, THREAT, VARIANT
from carnet_check.commands.export_model import MODELS, TLA, Asked, export_model
from carnet_check.errors import UsageError
from carnet_command.exit_codes import ExitCode

if TYPE_CHECKING:
    from carnet_check.exports.obligation_index import Cores
    from carnet_check.loading.families import Source
    from carnet_check.obligations import Layer
    from carnet_command.interrupts import Covered
    from carnet_spec.language import Protocol

JSON, SMTLIB, TPTP = "json", "smtlib", "tptp"
ENDINGS = {SMTLIB: "smt2", TPTP: "p"}
EVERY = 1_000
"""After how many obligations it is said how far the work is."""


@dataclass(frozen=True, slots=True)
class Written:
    """What was written of one variant: the protocol itself, or how many obligations, those to skip apart."""

    protocol: Protocol
    counts: tuple[int, int] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        told = {"variant": self.protocol.variant, "digest": self.protocol.digest}
        return told | (dict(zip(("obligations", "skipped"), self.counts, strict=True)) if self.counts else {})

    def line(self) -> str:
        """Say the same in words."""
        from carnet_command.text import counted

        said = f"spec digest {self.protocol.digest[:16]}"
        if self.counts is None:
            return f"{self.protocol.variant}: {said}"
        proper, skipped = self.counts
        proved = f"{counted(proper, 'obligation')}, and {counted(skipped, 'pair')} with nothing to do"
        return f"{self.protocol.variant}: {proved}; {said}"


@click.command(cls=Sized)
@protocol_argument
@click.option("--to", "form", type=click.Choice([*MODELS, SMTLIB, TPTP, JSON]), required=True, help="What to write.")
@size_option
@click.option(
    "--profile", "profile_name", type=PROFILE, default="", metavar="NAME", help="Sizes of a model. [default: tiny]"
)
@click.option("--moves", type=click.IntRange(min=0), metavar="K", help="At most K active adversary moves, in a model.")
@click.option(
    "--max-states",
    type=AtLeastOne(),
    metavar="M",
    help="Visit M states at most to learn what never changes, for promela.",
)
@memory_option
@click.option(
    "--variant", "variants", type=VARIANT, multiple=True, metavar="NAME", help="Only this variant. Repeatable."
)
@click.option(
    "--threat", "threats", type=THREAT, multiple=True, metavar="ID", help="Only what this one needs. Repeatable."
)
@click.option("--without", type=DEFENCE, metavar="A[,B]", default="", help="Defences to remove.")
@click.option("--full", is_flag=True, help="Write all hypotheses, not only those that the certificate uses.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", required=True, help="Write into this folder.")
@json_option
@click.pass_context
def export(
    context: click.Context,
    /,
    protocol: str,
    form: str,
    variants: tuple[str, ...],
    threats: tuple[str, ...],
    without: str,
    full: bool,
    out: Path,
    as_json: bool,
    sizes: tuple[str, ...],
    profile_name: str,
    moves: int | None,
    max_states: int | None,
    max_memory: int | None,
    **options: int | None,
) -> int:
    """Write PROTOCOL for other tools: one instance as a model, what has to be proved, or all of it as JSON.

    To tla and promela: the instance that `carnet explore` visits with the same options, for TLC and for Spin, which
    then count the states that `carnet explore --no-reduction` counts.

    To smtlib and tptp: one file to an obligation. Nothing is simplified; `unsat` (or `Unsatisfiable`) is a proof.
    Without --variant, all main variants and the layers over them are written; with --without, the first main variant.
    A threat model needs what holds under all, too.
    """
    from carnet_check.loading.families import load
    from carnet_check.report.artefacts import claimed
    from carnet_check.report.closing import rerun_command, rerun_line
    from carnet_command.interrupts import covering
    from carnet_command.progress import progress

    if form == JSON and (threats or full):
        raise UsageError("--to json writes whole protocols: expected neither --threat nor --full")
    asked = Asked(
        without=defences(without),
        profile=profile_name,
        sizes=sizes_given(options, sizes),
        moves=moves,
        max_states=max_states,
        max_memory=max_memory,
    )
    if form in MODELS:
        if full:
            raise UsageError(f"--to {form} writes no obligations: expected no --full")
        if form == TLA and max_states:
            raise UsageError("--to tla visits no states: expected no --max-states")
        return export_model(context, protocol, form, asked.of(variants, threats), out, as_json)
    if asked.options:
        raise UsageError(f"--to {form} writes no instance: expected no {' and no '.join(asked.options)}")
    context.with_resource(claimed(out))
    source = load(protocol)
    protocols = _chosen(source, variants, defences(without))
    with progress() as shown, covering(shown) as covered:
        if form == JSON:
            written, files = _write_protocols(out, protocols), len(protocols)
        else:
            layers = _layers(protocols, threats)
            written, files = _write_obligations(out, form, layers, {} if full else _cores(source, layers), covered)
    if as_json:
        told = {"protocol": protocols[0].id, "to": form, "variants": [each.as_json() for each in written]}
        click.echo(json.dumps({**told, "files": files, "out": str(out), "rerun": rerun_command(context)}, indent=2))
    else:
        for line in (*_lines(written, files, out), rerun_line(context)):
            say(line)
    return ExitCode.EXPECTED


def _chosen(source: Source, variants: Sequence[str], without: tuple[str, ...]) -> list[Protocol]:
    main = source.family.main
    names = variants or (main[:1] if without else source.family.with_layers(main))
    every = {name: source.sound(name) for name in names}
    return [source.protocol(name, without) if without else every[name] for name in every]


def _write_protocols(out: Path, protocols: Iterable[Protocol]) -> list[Written]:
    from carnet_check.report.obligation_folder import write_protocol
    from carnet_check.wording import as_file_name
    from carnet_spec.language.decoding import decoded

    texts = [(as_file_name(each.variant), each.encoded) for each in protocols]
    for name, text in texts:
        decoded(text)
        write_protocol(out / f"{name}.json", text)
    return [Written(each) for each in protocols]


def _layers(protocols: Iterable[Protocol], threats: Sequence[str]) -> list[Layer]:
    """Return what has to be proved together; everything under one of these threat models, if there are any."""
    from carnet_check.obligations import layers

    found: list[Layer] = []
    for protocol in protocols:
        for threat in threats:
            _require_threat(protocol, threat)
        every = layers(protocol)
        found += [each for each in every if not threats or each.threat is None or each.threat.id in threats]
    return found


def _cores(source: Source, layers: Sequence[Layer]) -> Cores:
    """Return the hypotheses that the certificates beside the specification use."""
    from carnet_check.certificates.file import load_certificates, place_of
    from carnet_check.certificates.production import cores

    path = place_of(source)
    return {} if path is None else cores(load_certificates(path), layers)


def _require_threat(protocol: Protocol, id: str) -> None:
    from carnet_check.loading.families import unknown

    known = {threat.id for threat in protocol.threats}
    if id not in known:
        raise UsageError(unknown("threat model", id, protocol.id, known))


def _write_obligations(
    out: Path, form: str, layers: Sequence[Layer], cores: Cores, covered: Covered
) -> tuple[list[Written], int]:
    from carnet_check.exports.obligation_index import index, rows
    from carnet_check.report.obligation_folder import ObligationFolder

    folder = ObligationFolder(out, ENDINGS[form])
    counts = {layer.protocol.variant: [0, 0] for layer in layers}
    cells = []
    for number, row in enumerate(rows(layers, cores)):
        if number % EVERY == 0:
            covered.status(f"writing obligation {number:,}")
        if row.digest not in folder.files:
            folder.add(row.digest, row.smtlib if form == SMTLIB else row.tptp)
        counts[row.obligation.layer.protocol.variant][row.obligation.skipped] += 1
        cells.append(row.cells())
    folder.close(index(cells))
    protocols = {layer.protocol.variant: layer.protocol for layer in layers}
    return [Written(protocols[name], (proper, skipped)) for name, (proper, skipped) in counts.items()], len(
        folder.files
    )


def _lines(written: Iterable[Written], files: int, out: Path) -> Iterator[str]:
    from carnet_command.text import counted, wrapped

    for each in written:
        yield from wrapped("variant", each.line())
    yield from wrapped("artefacts", f"{counted(files, 'file')} in {out}")
