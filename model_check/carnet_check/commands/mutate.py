"""``carnet mutate``: change a specification in every small way, and see whether each change is noticed."""

import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from carnet_check.commands import common
from carnet_check.errors import UsageError
from carnet_check.loading.families import Source, load, unknown_name
from carnet_check.mutation import campaign
from carnet_check.mutation.judging import FIRST_BUDGET, Judgement, MutantStatus
from carnet_check.mutation.operators import Mutant
from carnet_check.mutation.scenarios import MOST_STATES
from carnet_command.exit_codes import ExitCode, deciding
from carnet_command.files import lock_folders
from carnet_command.interrupts import track_progress
from carnet_command.progress import progress
from carnet_command.text import hanging, plural, wrap_text

OUT = "Keep what is found in this folder; an interrupted run goes on there."


@click.command()
@common.protocol_argument
@common.variants_option
@common.threats_option("Only under this threat model.")
@click.option("--only", multiple=True, metavar="TEXT", help="Only mutants whose name begins so. Repeatable.")
@click.option("--pairs", is_flag=True, help="Where dropping one part changes nothing, drop two.")
@click.option("--attacks", is_flag=True, help="Where a proof fails, look for an attack in the smallest instance too.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help=OUT)
@common.jobs_option
@common.json_option
@click.pass_context
def mutate(
    context: click.Context,
    protocol: str,
    variants: tuple[str, ...],
    threats: tuple[str, ...],
    only: tuple[str, ...],
    pairs: bool,
    attacks: bool,
    out: Path | None,
    jobs: int | None,
    as_json: bool,
) -> int:
    """Change PROTOCOL in every small way, and see whether claims, goals or attacks notice each change.

    A mutant is killed by a failed proof, an attack, a lost goal or a lost attack; or it is proved to be no change; or
    it only lets the environment or the adversary do more, and everything is proved even so; or it survives. Exit code
    1: one survives without an argument in argued-mutants.toml beside the specification. 3: something stayed unknown.
    Without --variant, all main variants and the layers over them are meant.
    """
    if out:
        context.with_resource(lock_folders(out))
    source = load(protocol)
    for name in variants:
        source.require_variant(name)
    chosen = source.family.with_layers(source.family.main) if not variants else tuple(dict.fromkeys(variants))
    request = campaign.Request(source, chosen, _threats(source, chosen, threats), attacks, pairs, only)
    every = campaign.list_mutants(request)
    _require_known(request, every)
    arguments = campaign.arguments_of(source)
    digests = {name: source.protocol(name).digest for name in chosen}
    campaign.require_valid(
        arguments, campaign.list_mutants(campaign.Request(source, chosen)) if only else every, digests
    )
    for line in _intention(request, every):
        (common.log if as_json else common.say)(line)
    began = time.monotonic()
    record = campaign.Record(
        out / campaign.RECORD_FILE if out else None,
        campaign.record_header(source, chosen, threats=threats, attacks=attacks),
    )
    with progress() as shown, track_progress(shown) as covered:
        outcome = campaign.run(request, every, record, jobs or common.cores(), covered.status)
    argued = {each.key: each for each in arguments}
    code = _code([each for _, each in _judged_mutants(outcome)], argued)
    closing = _closing(context, outcome, digests, argued, out, time.monotonic() - began)
    common.finish(as_json, _as_json(request, outcome, argued), [] if as_json else _lines(outcome, argued), closing)
    return code


def _threats(source: Source, variants: tuple[str, ...], threats: tuple[str, ...]) -> tuple[str, ...]:
    """Return the requested threat models."""
    known = dict.fromkeys(threat.id for name in variants for threat in source.protocol(name).threats)
    for name in threats:
        if name not in known:
            raise UsageError(unknown_name("threat model", name, source.family.id, known))
    return tuple(dict.fromkeys(threats))


def _require_known(request: campaign.Request, every: Sequence[Mutant]) -> None:
    """Require that every given prefix is that of a mutant's name."""
    for text in request.only:
        if not any(each.name.startswith(text) for each in every):
            known = dict.fromkeys(
                each.name.partition("/")[0] for each in campaign.list_mutants(replace(request, only=()))
            )
            raise UsageError(unknown_name("mutant that begins", text, request.source.family.id, known))


def _intention(request: campaign.Request, every: tuple[Mutant, ...]) -> Iterator[str]:
    by = Counter(mutant.variant for mutant in every)
    yield f"mutating {request.source.family.id}: {len(every):,} mutants"
    yield from wrap_text("variants", ", ".join(f"{name} {by[name]:,}" for name in request.variants))
    yield from wrap_text("threats", ", ".join(request.threats) or "all that claims are made for")
    yield ""


def _code(judgements: Sequence[Judgement], argued: Collection[str]) -> ExitCode:
    survived = [each for each in judgements if each.fate is MutantStatus.SURVIVED and each.key not in argued]
    unknown = [each for each in judgements if each.fate is MutantStatus.UNKNOWN]
    return deciding([*(ExitCode.VIOLATED for _ in survived), *(ExitCode.UNKNOWN for _ in unknown)])


def _as_json(
    request: campaign.Request, outcome: campaign.Outcome, argued: Mapping[str, campaign.Argument]
) -> dict[str, Any]:
    counts = _counts(outcome.judgements)
    return {
        "protocol": request.source.family.id,
        "mutants": len(outcome.judgements) - counts["refused"],
        "killed": counts["killed"],
        "equivalent": counts["equivalent"],
        "stronger": counts["stronger"],
        "survived": [
            {**_mutant_id(mutant), "argument": argued[each.key].argument if each.key in argued else None}
            for mutant, each in _with_fate(outcome, "survived")
        ],
        "unknown": [{**_mutant_id(mutant), "why": each.evidence} for mutant, each in _with_fate(outcome, "unknown")],
        "refused": [{**_mutant_id(mutant), "why": each.evidence} for mutant, each in _with_fate(outcome, "refused")],
        "killed_by": dict(sorted(Counter(each.by for each in outcome.judgements if each.by).items())),
        "pairs": {
            "judged": len(outcome.pairs),
            "killed": [_mutant_id(mutant) | _evidence(each) for mutant, each in outcome.pairs if each.fate == "killed"],
            "equivalent": sum(each.fate == "equivalent" for _, each in outcome.pairs),
        },
        "judgements": [_mutant_id(mutant) | _evidence(each) for mutant, each in _judged_mutants(outcome)],
    }


def _judged_mutants(outcome: campaign.Outcome) -> tuple[tuple[Mutant, Judgement], ...]:
    return (*zip(outcome.mutants, outcome.judgements, strict=True), *outcome.pairs)


def _with_fate(outcome: campaign.Outcome, fate: str) -> list[tuple[Mutant, Judgement]]:
    return [(mutant, each) for mutant, each in _judged_mutants(outcome) if each.fate == fate]


def _mutant_id(mutant: Mutant) -> dict[str, Any]:
    return {"mutant": mutant.name, "variant": mutant.variant}


def _evidence(judgement: Judgement) -> dict[str, Any]:
    value: dict[str, Any] = {"fate": str(judgement.fate), "by": judgement.by or None, "evidence": judgement.evidence}
    return value | {"core": list(judgement.core), "seconds": judgement.seconds}


def _counts(judgements: Sequence[Judgement]) -> Counter[str]:
    return Counter(str(each.fate) for each in judgements)


def _lines(outcome: campaign.Outcome, argued: Mapping[str, campaign.Argument]) -> Iterator[str]:
    for _, each in _judged_mutants(outcome):
        if each.fate in ("survived", "unknown"):
            argument = argued.get(each.key)
            word = "ARGUED" if argument and each.fate == "survived" else each.fate.upper()
            yield from hanging(f"{word} {each.key}")
            yield from wrap_text("", argument.argument if argument else each.evidence, 2)
    by = Counter(each.by for each in outcome.judgements if each.by)
    yield ""
    yield from wrap_text("killed", ", ".join(f"{number:,} by {what}" for what, number in sorted(by.items())) or "none")
    refused = _with_fate(outcome, "refused")
    if refused:
        yield from wrap_text("refused", f"{plural(len(refused), 'mutant')} that break a rule of the language")
    cuts = [mutant.key for mutant, each in outcome.pairs if each.fate == "killed"]
    if outcome.pairs:
        yield from wrap_text("pairs", f"{len(cuts):,} of {len(outcome.pairs):,} are minimal cut sets")
        for key in cuts:
            yield from hanging(f"  {key}")
    judged = {each.key: each.fate for each in outcome.judgements}
    for key in argued:
        if judged.get(key, "survived") != "survived":
            yield from wrap_text("note", f"the argument for {key} is not needed: the mutant is {judged[key]}")


def _closing(
    context: click.Context,
    outcome: campaign.Outcome,
    digests: Mapping[str, str],
    argued: Collection[str],
    out: Path | None,
    seconds: float,
) -> common.Closing:
    survivors = [each.key for _, each in _with_fate(outcome, "survived")]
    unexplained = sum(key not in argued for key in survivors)
    return common.Closing(
        verdicts=dict(_counts(outcome.judgements)),
        outcome=f"{plural(unexplained, 'unexplained survivor')}" if survivors else "no survivor",
        strength="proofs speak of every size; goals and attacks of the instances that are named with them",
        budget=f"{FIRST_BUDGET:,} solver units per obligation and then more; {MOST_STATES:,} states per scenario",
        profile="the hunting sizes of the protocol",
        digests=digests,
        artefacts=str(out) if out else "",
        rerun=common.rerun_command(context),
        seconds=seconds,
        kept_by="--out DIR",
    )
