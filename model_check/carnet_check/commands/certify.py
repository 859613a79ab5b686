"""``carnet certify``: make the missing and stale certificates of a protocol's proofs."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from carnet_check.certificates.file import NAME, Certificates, load_certificates, place_of, save_certificates
from carnet_check.certificates.folder import SYSTEMS
from carnet_check.certificates.judging import certified_conditions, cores
from carnet_check.certificates.production import Production, ProductionReport, Workers
from carnet_check.commands import common
from carnet_check.commands.export import ObligationFolder, clear_protocols, write_protocol
from carnet_check.engines.interface import HasProofHints
from carnet_check.engines.registry import able
from carnet_check.errors import UsageError
from carnet_check.exports.obligation_index import index, rows
from carnet_check.exports.obligation_text import Provable
from carnet_check.loading.families import Source, load
from carnet_check.obligations import Layer, attempts, layers, obligations
from carnet_check.wording import as_file_name
from carnet_command.exit_codes import ExitCode
from carnet_command.files import lock_folders, make_folder
from carnet_command.interrupts import TrackedProgress, track_progress
from carnet_command.progress import progress
from carnet_command.text import plural, wrap_text

SHOWN = 10  #: The most obligations without a certificate that are named.


@click.command()
@common.protocol_argument
@common.variants_option
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write into this folder, with the texts.")
@common.jobs_option
@common.json_option
@click.pass_context
def certify(
    context: click.Context, protocol: str, variants: tuple[str, ...], out: Path | None, jobs: int | None, as_json: bool
) -> int:
    """Make the certificates of everything that has to be proved of PROTOCOL, beside its specification.

    Certificates that still prove their obligations are kept. Others are searched for, and each is written only if the
    checker accepts it. With --out, DIR has all that `carnet recheck DIR` needs to judge them by itself. Without
    --variant, all main variants and the layers over them are meant.
    """
    source = load(protocol)
    beside = place_of(source)
    place = out / NAME if out else beside
    if place is None:
        raise UsageError(f"'{protocol}' is in no file that certificates could lie beside; expected --out DIR")
    context.with_resource(lock_folders(place.parent))
    before = load_certificates(place if place.exists() or beside is None else beside)
    names = dict.fromkeys(variants or source.family.with_layers(source.family.main))
    every = [layers(source.sound_variant(name)) for name in names]
    for name, found in zip(names, every, strict=True):
        if not any(layer.claims for layer in found):
            raise UsageError(
                f"nothing is claimed of variant {name} of {source.family.id}, so there is nothing to certify"
            )
    with progress() as shown, track_progress(shown) as covered:
        made, certificates = _produced(source, every, before, jobs or common.cores(), covered)
        size = save_certificates(place, certificates)
        if out:
            _write_folder(out, every, certificates)
    code = ExitCode.UNKNOWN if any(each.missing for each in made) else ExitCode.EXPECTED
    value = {"protocol": source.family.id, "variants": [_as_json(each) for each in made], "bytes": size}
    value |= {"file": str(place), "rerun": common.rerun_command(context)}
    common.show(context, as_json, value, _lines(made, size, place))
    return code


def _produced(
    source: Source, every: Sequence[tuple[Layer, ...]], before: Certificates, jobs: int, covered: TrackedProgress
) -> tuple[list[ProductionReport], Certificates]:
    """Make the certificates of these variants."""

    def told(variant: str, done: int, total: int) -> None:
        covered.status(f"{variant}: {done:,} of {total:,} obligations certified")

    remembers = able(HasProofHints)
    with Workers(jobs) as workers:
        production = Production(source.reference, before, workers, told)
        made = [production.make(layers, remembers.stored_hints(layers[0].protocol)) for layers in every]
    return made, production.certificates


def _write_folder(out: Path, every: Sequence[tuple[Layer, ...]], certificates: Certificates) -> None:
    """Write the texts of the obligations, their index, the certificates, and the variants."""
    folder, cells = ObligationFolder(out, "smt2"), []
    make_folder(out / SYSTEMS)
    clear_protocols(out / SYSTEMS)
    for variant_layers in every:
        protocol = variant_layers[0].protocol
        entries = certificates.liveness.get(protocol.variant, {})
        lively = dict(certified_conditions(attempts(variant_layers), entries))
        kept = {(each.variant, each.id): entry.hypotheses for each, entry in lively.items()}
        stated: list[Provable] = [each for layer in variant_layers for each in obligations(layer)]
        for row in rows([*stated, *lively], {**cores(certificates, variant_layers), **kept}):
            if row.digest not in folder.files:
                folder.add(row.digest, row.smtlib)
            cells.append(row.cells())
        write_protocol(out / SYSTEMS / f"{as_file_name(protocol.variant)}.json", protocol.canonical_json)
    folder.close(index(cells))


def _as_json(made: ProductionReport) -> dict[str, Any]:
    return {
        "variant": made.variant,
        "obligations": made.obligations,
        "kept": made.kept,
        "adapted": made.adapted,
        "found": made.found,
        "missing": dict(made.missing),
        "seconds": round(made.seconds, 3),
    }


def _lines(made: Sequence[ProductionReport], size: int, place: Path) -> Iterator[str]:
    for each in made:
        counts = f"{each.kept:,} kept, {each.adapted:,} adapted, {each.found:,} found, {len(each.missing):,} missing"
        obligations = plural(each.obligations, "obligation")
        yield from wrap_text("variant", f"{each.variant}: {obligations}: {counts}; {each.seconds:.1f} s")
        for id, why in list(each.missing.items())[:SHOWN]:
            yield from wrap_text("missing", f"{id}: {why}")
    yield from wrap_text("artefacts", f"{place}, {size:,} bytes")
