"""``carnet export``: what has to be proved, the protocol itself, or one instance of it, as text for other tools."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import click

from carnet_check.attacks.hunt import AttackTarget, attack_target
from carnet_check.certificates.file import load_certificates, place_of
from carnet_check.certificates.judging import cores
from carnet_check.commands import common
from carnet_check.engines.exploration import Caps
from carnet_check.engines.interface import Observed, Observes
from carnet_check.engines.registry import able
from carnet_check.errors import EngineError, UsageError
from carnet_check.exports.obligation_index import COLUMNS, Cores, index, rows
from carnet_check.exports.tla import WRITTEN, configuration, module_name, tla
from carnet_check.loading.extent import available_memory, refuse_instance
from carnet_check.loading.families import Source, axiom_violations, load, unknown_name
from carnet_check.loading.scope import Scope, scope_of
from carnet_check.obligations import Layer, layers, obligations
from carnet_check.semantics import Interpreter
from carnet_check.wording import as_file_name
from carnet_command.exit_codes import ExitCode
from carnet_command.files import failing_as, lock_folders, make_folder, write_text
from carnet_command.interrupts import TrackedProgress, track_progress
from carnet_command.progress import progress
from carnet_command.text import plural, wrap_text
from carnet_spec.language import Instance, Protocol
from carnet_spec.language.decoding import decode
from carnet_spec.language.encoding import FORMAT

INDEX = "index.csv"
OBLIGATIONS = "obligations"
_OURS = re.compile(r"[0-9a-f]{64}\.(smt2|p)")


class ObligationFolder:
    """Writes obligations to a folder: an earlier export is removed first, and the index is written last."""

    def __init__(self, folder: Path, ending: str) -> None:
        """Remove an earlier export. Raises UsageError if a file that no export wrote is in the way."""
        self._folder = folder
        self._ending = ending
        self.files: set[str] = set()
        _clear(folder)

    def add(self, digest: str, text: str) -> None:
        """Write one obligation."""
        self.files.add(digest)
        write_text(self._folder / OBLIGATIONS / f"{digest}.{self._ending}", text)

    def close(self, index: str) -> None:
        """Write the index, which marks the export as complete."""
        write_text(self._folder / INDEX, index)


def _clear(folder: Path) -> None:
    index, inside = folder / INDEX, folder / OBLIGATIONS
    if index.exists() and not _read(index).partition("\n")[0].startswith(",".join(COLUMNS)):
        raise UsageError(f"expected the index of an export or nothing, and '{index}' is something else")
    if inside.is_symlink():
        raise UsageError(f"expected a folder of the export's own, and '{inside}' is a link")
    make_folder(inside)
    files = list(inside.iterdir())
    for file in files:
        if not _OURS.fullmatch(file.name) or not file.is_file():
            raise UsageError(f"expected obligations that an export wrote, and '{file}' is something else")
    index.unlink(missing_ok=True)
    for file in files:
        file.unlink()


def clear_protocols(folder: Path) -> None:
    """Remove the protocols of an earlier export from a folder, so that old and new ones are not mixed."""
    for file in folder.glob("*.json"):
        if _is_protocol(file):
            file.unlink()


def write_protocol(file: Path, encoded: str) -> None:
    """Write a protocol's canonical encoding; an existing file is only replaced if it is one, too.

    Raises UsageError if there is another file of this name, or it cannot be written.
    """
    if file.exists() and not _is_protocol(file):
        raise UsageError(f"expected a protocol in JSON or nothing, and '{file}' is something else")
    write_text(file, encoded)


def write_export(file: Path, text: str, mark: str) -> None:
    """Write a model; an existing file is only replaced if it has the ``mark`` of an earlier export.

    Raises UsageError if there is another file of this name, or it cannot be written.
    """
    if file.exists() and mark not in _read(file):
        raise UsageError(f"expected a model that an export wrote or nothing, and '{file}' is something else")
    make_folder(file.parent)
    write_text(file, text)


def _is_protocol(file: Path) -> bool:
    try:
        content = json.loads(_read(file))
    except (ValueError, RecursionError):
        return False
    return isinstance(content, dict) and content.get("format") == FORMAT


def _read(file: Path) -> str:
    with failing_as(f"cannot read '{file}'"):
        return file.read_text("utf-8", errors="replace")


# --------------------------------------------------------------------------------------------------
# ``carnet export --to promela`` and ``--to tla``: one instance as a model for another model checker.

PROMELA, TLA = "promela", "tla"
MODELS = (TLA, PROMELA)
DEFAULT_MAX_STATES = 30_000_000  #: The most states that are visited by default to find the places that never change.


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """The model to export, as given on the command line."""

    variant: str = ""
    without: tuple[str, ...] = ()
    threat: str = ""
    profile: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)
    moves: int | None = None
    max_states: int | None = None
    max_memory: int | None = None

    @property
    def options(self) -> tuple[str, ...]:
        """The given options that are for models only."""
        given = {
            "--profile": self.profile,
            "sizes": self.sizes,
            "--moves": self.moves is not None,
            "--max-states": self.max_states is not None,
            "--max-memory": self.max_memory is not None,
        }
        return tuple(name for name, value in given.items() if value)

    def narrowed_to(self, variants: Sequence[str], threats: Sequence[str]) -> ModelRequest:
        """Return the request with the named variant and threat model, if any.

        Raises UsageError if several are named.
        """
        for option, names in (("--variant", variants), ("--threat", threats)):
            if len(set(names)) > 1:
                raise UsageError(f"a model is of one instance: expected {option} once, not {', '.join(names)}")
        return replace(self, variant="".join(variants[:1]), threat="".join(threats[:1]))


@dataclass(frozen=True, slots=True)
class WrittenModel:
    """The written model."""

    target: AttackTarget
    instance: str
    files: tuple[str, ...]
    states: int | None  #: the number of states that Carnet counts; None if it did not visit all.
    remark: str  #: the claims that Carnet checks for several first states, while a model has one only.

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        protocol = self.target.protocol
        return {
            "variant": protocol.variant,
            "without": list(protocol.without),
            "threat": self.target.threat.id,
            "digest": protocol.digest,
            "instance": self.instance,
            "states": self.states,
            "remark": self.remark or None,
        }

    def lines(self) -> Iterator[str]:
        """Yield the lines about the model for display."""
        protocol = self.target.protocol
        counted = "" if self.states is None else f"; {self.states:,} states, nothing left out"
        without = f" without {', '.join(protocol.without)}" if protocol.without else ""
        design = f"{protocol.variant}{without}, under {self.target.threat.id}; spec digest {protocol.digest[:16]}"
        yield from wrap_text("variant", design)
        yield from wrap_text("instance", f"{self.instance or 'no sort, so there is one'}{counted}")
        if self.remark:
            yield from wrap_text("claims", self.remark)


def export_model(
    context: click.Context, protocol: str, form: str, asked: ModelRequest, out: Path, as_json: bool
) -> int:
    """Run ``carnet export`` for a model; return the exit code."""
    context.with_resource(lock_folders(out))
    model = _write_model(load(protocol), asked, form, out)
    value: dict[str, Any] = {"protocol": model.target.protocol.id, "to": form, "variants": [model.as_json()]}
    value |= {
        "files": len(model.files),
        "names": list(model.files),
        "out": str(out),
        "rerun": common.rerun_command(context),
    }
    written = wrap_text("artefacts", f"{plural(len(model.files), 'file')} in {out}: {', '.join(model.files)}")
    common.show(context, as_json, value, (*model.lines(), *written))
    return ExitCode.EXPECTED


def _write_model(source: Source, asked: ModelRequest, form: str, out: Path) -> WrittenModel:
    """Write one instance into ``out``, the one that ``carnet explore`` visits with the same options."""
    target = attack_target(source, variant=asked.variant, without=asked.without, threat=asked.threat, every_claim=True)
    profile = common.sized_profile(target.source, asked.profile or "tiny", asked.sizes, asked.moves)
    scope = scope_of(target.source, target.protocol, target.threat.id, profile, target.claims)
    elsewhere = tuple(name for name in target.claims if any(name in claims for _, claims in scope.instances if claims))
    remark = f"Carnet judges {', '.join(elsewhere)} from other first values, too." if elsewhere else ""
    instance = _instance(target, scope, asked)
    if form == PROMELA:
        return _write_promela(target, instance, asked, remark, out)
    protocol = target.protocol
    claims = [protocol.claim(name).checked for name in target.claims]
    name, expected = module_name(protocol), _expected(target)
    write_export(out / f"{name}.tla", tla(protocol, instance, claims, target.threat.id, expected, remark), WRITTEN)
    write_export(out / f"{name}.cfg", configuration(protocol, instance, claims, expected), WRITTEN)
    return WrittenModel(target, instance.words, (f"{name}.tla", f"{name}.cfg"), None, remark)


def _instance(target: AttackTarget, scope: Scope, asked: ModelRequest) -> Instance:
    """Return the instance that all claims share."""
    instances = [instance for instance, claims in scope.instances if claims is None]
    if len(instances) > 1:
        raise UsageError(
            f"axioms leave {len(instances):,} interpretations of the symbols that never change, and a model has one: "
            "give the protocol an instance of its own"
        )
    refuse_instance(target.protocol, instances[0], asked.max_memory or available_memory())
    wrong = axiom_violations(Interpreter(target.protocol, instances[0]), target.threat)
    if wrong:
        raise EngineError("; ".join(wrong))
    return instances[0]


def _expected(target: AttackTarget) -> frozenset[str]:
    """Return the claims whose violation is expected."""
    named = (target.protocol.claim(name) for name in target.claims)
    return frozenset(claim.name for claim in named if target.threat.id in claim.fails_under)


def _write_promela(
    target: AttackTarget, instance: Instance, asked: ModelRequest, remark: str, out: Path
) -> WrittenModel:
    from carnet_check.exports.ground.system import ground
    from carnet_check.exports.promela import WRITTEN, ModelHeader, promela

    protocol = target.protocol
    observed = _observed(target, instance, asked)
    changing = None if observed is None else observed.changing
    written = ground(
        protocol, instance, {name: protocol.claim(name).checked.formula for name in target.claims}, changing
    )
    note = "Carnet did not visit its states." if observed is None else f"Carnet counts {observed.states:,} states."
    file = f"{as_file_name(protocol.id)}.pml"
    told = ModelHeader(
        file=file,
        threat=target.threat.id,
        expected=_expected(target),
        remarks=[each for each in (note, remark) if each],
    )
    write_export(out / file, promela(protocol, instance, written, told), WRITTEN)
    return WrittenModel(target, instance.words, (file,), None if observed is None else observed.states, remark)


def _observed(target: AttackTarget, instance: Instance, asked: ModelRequest) -> Observed | None:
    caps = Caps(states=asked.max_states or DEFAULT_MAX_STATES, memory=asked.max_memory or available_memory())
    with progress() as shown, track_progress(shown) as covered:

        def watch(states: int, depth: int) -> None:
            covered.status(f"learning what never changes: {states:,} states, depth {depth}")

        return able(Observes).observe(target.protocol, instance, caps, watch)


# --------------------------------------------------------------------------------------------------
# ``carnet export``: what has to be proved, the protocol itself, or one instance of it, as text for other tools.

JSON, SMTLIB, TPTP = "json", "smtlib", "tptp"
ENDINGS = {SMTLIB: "smt2", TPTP: "p"}
PROGRESS_INTERVAL = 1_000  #: The number of obligations between two reports of progress.


@dataclass(frozen=True, slots=True)
class ExportedVariant:
    """The export of one variant: the protocol itself, or the numbers of obligations and of skipped pairs."""

    protocol: Protocol
    counts: tuple[int, int] | None = None

    def as_json(self) -> dict[str, Any]:
        """Return the fields as JSON values."""
        told = {"variant": self.protocol.variant, "digest": self.protocol.digest}
        return told | (dict(zip(("obligations", "skipped"), self.counts, strict=True)) if self.counts else {})

    def line(self) -> str:
        """Return the line about the export for display."""
        said = f"spec digest {self.protocol.digest[:16]}"
        if self.counts is None:
            return f"{self.protocol.variant}: {said}"
        proper, skipped = self.counts
        proved = f"{plural(proper, 'obligation')}, and {plural(skipped, 'pair')} with nothing to do"
        return f"{self.protocol.variant}: {proved}; {said}"


@click.command(cls=common.SizedCommand)
@common.protocol_argument
@click.option("--to", "form", type=click.Choice([*MODELS, SMTLIB, TPTP, JSON]), required=True, help="What to write.")
@common.size_option
@click.option(
    "--profile",
    "profile_name",
    type=common.PROFILE,
    default="",
    metavar="NAME",
    help="Sizes of a model. [default: tiny]",
)
@click.option("--moves", type=click.IntRange(min=0), metavar="K", help="At most K active adversary moves, in a model.")
@click.option(
    "--max-states",
    type=common.PositiveInteger(),
    metavar="M",
    help="Visit M states at most to learn which values never change, for promela.",
)
@common.memory_option
@common.variants_option
@common.threats_option("Only what this one needs.")
@common.without_option
@click.option("--full", is_flag=True, help="Write all hypotheses, not only those that the certificate uses.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", required=True, help="Write into this folder.")
@common.json_option
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
    if form == JSON and (threats or full):
        raise UsageError("--to json writes whole protocols: expected neither --threat nor --full")
    asked = ModelRequest(
        without=common.defences(without),
        profile=profile_name,
        sizes=common.sizes_given(options, sizes),
        moves=moves,
        max_states=max_states,
        max_memory=max_memory,
    )
    if form in MODELS:
        if full:
            raise UsageError(f"--to {form} writes no obligations: expected no --full")
        if form == TLA and max_states:
            raise UsageError("--to tla visits no states: expected no --max-states")
        return export_model(context, protocol, form, asked.narrowed_to(variants, threats), out, as_json)
    if asked.options:
        raise UsageError(f"--to {form} writes no instance: expected no {' and no '.join(asked.options)}")
    context.with_resource(lock_folders(out))
    source = load(protocol)
    protocols = _chosen(source, variants, common.defences(without))
    with progress() as shown, track_progress(shown) as covered:
        if form == JSON:
            written, files = _write_protocols(out, protocols), len(protocols)
        else:
            layers = _layers(protocols, threats)
            written, files = _write_obligations(out, form, layers, {} if full else _cores(source, layers), covered)
    value: dict[str, Any] = {"protocol": protocols[0].id, "to": form, "variants": [each.as_json() for each in written]}
    value |= {"files": files, "out": str(out), "rerun": common.rerun_command(context)}
    common.show(context, as_json, value, _lines(written, files, out))
    return ExitCode.EXPECTED


def _chosen(source: Source, variants: Sequence[str], without: tuple[str, ...]) -> list[Protocol]:
    main = source.family.main
    names = variants or (main[:1] if without else source.family.with_layers(main))
    every = {name: source.sound_variant(name) for name in names}
    return [source.protocol(name, without) if without else every[name] for name in every]


def _write_protocols(out: Path, protocols: Iterable[Protocol]) -> list[ExportedVariant]:
    texts = [(as_file_name(each.variant), each.canonical_json) for each in protocols]
    for name, text in texts:
        decode(text)
        write_protocol(out / f"{name}.json", text)
    return [ExportedVariant(each) for each in protocols]


def _layers(protocols: Iterable[Protocol], threats: Sequence[str]) -> list[Layer]:
    """Return the layers to export; if threat models are named, all obligations under one of these."""
    found: list[Layer] = []
    for protocol in protocols:
        for threat in threats:
            _require_threat(protocol, threat)
        every = layers(protocol)
        found += [each for each in every if not threats or each.threat is None or each.threat.id in threats]
    return found


def _cores(source: Source, layers: Sequence[Layer]) -> Cores:
    """Return the hypotheses that the certificates beside the specification use."""
    path = place_of(source)
    return {} if path is None else cores(load_certificates(path), layers)


def _require_threat(protocol: Protocol, id: str) -> None:
    known = {threat.id for threat in protocol.threats}
    if id not in known:
        raise UsageError(unknown_name("threat model", id, protocol.id, known))


def _write_obligations(
    out: Path, form: str, layers: Sequence[Layer], cores: Cores, covered: TrackedProgress
) -> tuple[list[ExportedVariant], int]:
    folder = ObligationFolder(out, ENDINGS[form])
    counts = {layer.protocol.variant: [0, 0] for layer in layers}
    cells = []
    for number, row in enumerate(rows((each for layer in layers for each in obligations(layer)), cores)):
        if number % PROGRESS_INTERVAL == 0:
            covered.status(f"writing obligation {number:,}")
        if row.digest not in folder.files:
            folder.add(row.digest, row.smtlib if form == SMTLIB else row.tptp)
        counts[row.obligation.variant][row.obligation.skipped] += 1
        cells.append(row.cells())
    folder.close(index(cells))
    protocols = {layer.protocol.variant: layer.protocol for layer in layers}
    return [ExportedVariant(protocols[name], (proper, skipped)) for name, (proper, skipped) in counts.items()], len(
        folder.files
    )


def _lines(written: Iterable[ExportedVariant], files: int, out: Path) -> Iterator[str]:
    for each in written:
        yield from wrap_text("variant", each.line())
    yield from wrap_text("artefacts", f"{plural(files, 'file')} in {out}")
