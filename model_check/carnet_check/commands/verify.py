"""``carnet verify``: establish or refute every claim."""

from __future__ import annotations

import json
import shlex
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from carnet_check.commands.common import (
    ShardGiven,
    cores,
    finish,
    jobs_option,
    json_option,
    log,
    memory_option,
    say,
    seed_option,
    show_json,
    simulate_option,
    states_option,
    time_option,
)
from carnet_check.commands.completion import CLAIM, PROFILE, PROTOCOL, STATED, THREAT, VARIANT, EngineName
from carnet_check.engines import registry
from carnet_check.engines.interface import Bounded, Diagnoses
from carnet_check.loading.families import protocol_here
from carnet_command.exit_codes import ExitCode, deciding
from carnet_command.printable import printable

if TYPE_CHECKING:
    from carnet_check.engines.exploration import Walks
    from carnet_check.engines.runner import Runner, Shard
    from carnet_check.report.closing import Closing
    from carnet_check.results import Result
    from carnet_check.verification.outcome import CampaignOutcome
    from carnet_check.verification.planning import Campaign


SHOWN_TRACES = 2
"""How many unexpected violations are told in full; the others are named with the command that tells them."""


class Kept(NamedTuple):
    """What is written when the run is over, and where."""

    out: Path | None
    html: Path | None
    junit: Path | None
    sarif: Path | None
    markdown: Path | None


@click.command()
@click.argument("protocol", type=PROTOCOL, required=False)
@click.option("--all", "every", is_flag=True, help="Verify every registered protocol, although protocol.py is here.")
@click.option("--claim", "claims", type=CLAIM, multiple=True, metavar="ID", help="Only this claim. Repeatable.")
@click.option(
    "--threat", "threats", type=THREAT, multiple=True, metavar="ID", help="Only under this threat model. Repeatable."
)
@click.option(
    "--variant", "variants", type=VARIANT, multiple=True, metavar="NAME", help="Only this variant. Repeatable."
)
@click.option("--engine", "engines", multiple=True, type=EngineName(), help="Only this engine. Repeatable.")
@click.option(
    "--profile", type=PROFILE, default="tiny", show_default=True, metavar="NAME", help="Size of the explored instances."
)
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    metavar="K",
    help=f"How many steps {' or '.join(each.name for each in registry.all_able(Bounded))} or a random walk takes.",
)
@simulate_option
@seed_option
@jobs_option
@click.option(
    "--shard", type=ShardGiven(), metavar="K/N", help="Do only part K of N of the work, into the cache; no verdicts."
)
@click.option(
    "--cache", type=click.Path(path_type=Path), metavar="DIR", help="Keep definite answers here, and believe them."
)
@click.option(
    "--ray", metavar="ADDRESS", help="Have obligations answered by this Ray cluster; 'local' starts one here."
)
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write the run into this folder.")
@click.option("--out-is-deleted", is_flag=True, hidden=True, help="Say nothing of --out: who asked deletes it.")
@click.option("--junit", "junit_file", type=click.Path(path_type=Path), metavar="FILE", help="Write JUnit XML.")
@click.option("--sarif", "sarif_file", type=click.Path(path_type=Path), metavar="FILE", help="Write SARIF 2.1.0.")
@click.option(
    "--markdown", "markdown_file", type=click.Path(path_type=Path), metavar="FILE", help="Write a summary for GitHub."
)
@click.option("--html", type=click.Path(path_type=Path), metavar="DIR", help="Write the report to DIR/index.html.")
@click.option(
    "--cti",
    type=STATED,
    metavar="LEMMA",
    help=f"Step through each {registry.able(Diagnoses).shows} of this lemma or claim.",
)
@click.option(
    "--strict", is_flag=True, help="Exit with 3 where one engine alone establishes a claim, or none states it."
)
@states_option
@time_option
@memory_option
@json_option
@click.pass_context
def verify(
    context: click.Context,
    protocol: str | None,
    every: bool,
    claims: tuple[str, ...],
    threats: tuple[str, ...],
    variants: tuple[str, ...],
    engines: tuple[str, ...],
    profile: str,
    depth: int | None,
    simulate: int | None,
    seed: int | None,
    jobs: int | None,
    shard: Shard | None,
    cache: Path | None,
    ray: str | None,
    out: Path | None,
    out_is_deleted: bool,
    junit_file: Path | None,
    sarif_file: Path | None,
    markdown_file: Path | None,
    html: Path | None,
    cti: str | None,
    strict: bool,
    max_states: int | None,
    max_seconds: int | None,
    max_memory: int | None,
    as_json: bool,
) -> int:
    """Establish or refute every claim of PROTOCOL under every threat model it names.

    Without PROTOCOL: of protocol.py, if a file of this name that imports carnet_spec is in the current folder, as
    `carnet init` writes it; else of every registered protocol.

    An engine proves a claim for any number of parties, keys and rounds, or checks it in every state of small instances.
    Where a claim is expected to fall, an engine looks for the attack.
    """
    from carnet_check.engines.exploration import Caps
    from carnet_check.loading.families import files_of, load
    from carnet_check.report.artefacts import claimed
    from carnet_check.report.closing import UNSAID
    from carnet_check.verification import campaign as running
    from carnet_check.verification.checks import shortcomings
    from carnet_check.verification.planning import Request, planned
    from carnet_command.files import require_apart, require_writable_file
    from carnet_command.interrupts import covering
    from carnet_command.progress import progress

    if protocol is None or every:
        return verify_unnamed(context, protocol, every, as_json)
    if cti == "":
        raise click.UsageError("--cti expects the name of a lemma or claim, and it is empty")
    if out_is_deleted:
        context.meta[UNSAID] = ("out", "out_is_deleted")
    kept = Kept(out, html, junit_file, sarif_file, markdown_file)
    if shard is not None and strict:
        raise click.UsageError("--strict judges verdicts, and a shard has none: leave out --shard or --strict")
    if shard is not None and simulate is not None:
        raise click.UsageError("random walks are not shared out: leave out --shard")
    runner = _runner(jobs, shard, cache, ray, kept)
    context.with_resource(claimed(*(folder for folder in (out, html) if folder is not None)))
    for file in (junit_file, sarif_file, markdown_file):
        if file is not None:
            require_writable_file(file)
    written = {"--junit": junit_file, "--sarif": sarif_file, "--markdown": markdown_file}
    require_apart(written, files_of(protocol))
    limits = Caps(states=max_states, memory=max_memory, seconds=max_seconds)
    request = Request(
        load(protocol), variants, claims, threats, engines, profile, runner, limits, cti or "", depth, simulate, seed
    )
    with progress() as shown:
        shown.status("counting the interpretations that are explored")
        campaign = planned(request)
        intention = list(_intention(campaign))
    announce = log if as_json else say
    for line in intention:
        announce(line)
    if shard is not None:
        return _shared(context, campaign, shard, as_json)
    with progress() as shown, covering(shown) as covered:
        outcome = running.verify(campaign, covered)
        covered.status("writing what was asked for")
        closing = _closing(context, outcome, kept)
        _keep(outcome, closing, kept)
    lacking = shortcomings(outcome) if strict else []
    value = {**_as_json(outcome), **({"shortcomings": lacking} if strict else {})}
    if COLLECTED in context.meta:
        family = campaign.request.source.family
        context.meta[COLLECTED].append({"protocol": family.id, **value, "run": closing.as_json()})
    if not (as_json and COLLECTED in context.meta):
        finish(as_json, value, [] if as_json else [*_lines(outcome), *_strictly(lacking)], closing)
    return deciding([ExitCode(outcome.exit_code), *(ExitCode.UNKNOWN for _ in lacking)])


def _runner(jobs: int | None, shard: Shard | None, cache: Path | None, ray: str | None, kept: Kept) -> Runner:
    """Return how the work is done.

    Raises:
        UsageError: options that make no sense together, a cache that others may write to, or no cluster there.
    """
    from carnet_check.cache import opened
    from carnet_check.engines.runner import Runner
    from carnet_check.errors import UsageError

    if shard is not None and cache is None:
        raise UsageError("--shard expects --cache DIR: the parts are joined by their answers")
    if shard is not None and any(kept):
        raise UsageError(
            "a shard establishes nothing that could be written down: run `carnet verify --cache DIR` after it"
        )
    if ray is not None:
        from carnet_check.engines.runner import connected_ray

        connected_ray(ray)
    return Runner(jobs or cores(), ray or "", opened(cache) if cache is not None else None, shard)


def _shared(context: click.Context, campaign: Campaign, shard: Shard, as_json: bool) -> int:
    """Do one part of the work, and say what became of it."""
    from carnet_check.report.closing import rerun_command, rerun_line
    from carnet_check.verification import sharing
    from carnet_command.interrupts import covering
    from carnet_command.progress import progress
    from carnet_command.text import wrapped

    sharing.require_shared(campaign)
    with progress() as shown, covering(shown) as covered:
        shared = sharing.share(campaign, shard, covered)
    if as_json:
        value = {**shared.as_json(), "run": {"rerun": rerun_command(context), "seconds": round(shared.seconds, 3)}}
        click.echo(json.dumps(value, ensure_ascii=False, indent=2))
        return shared.exit_code
    for label, text in sharing.lines(shared):
        for line in wrapped(label, printable(text)):
            say(line)
    say(f"shard {shard} establishes no claim by itself: `carnet verify` with the answers of all {shard.of} does")
    say(rerun_line(context))
    return shared.exit_code


# -- before ---------------------------------------------------------------------------------------


def _intention(campaign: Campaign) -> Iterator[str]:
    """Say what the run is going to do."""
    from carnet_command.text import counted, hanging, wrapped

    family = campaign.request.source.family
    yield from hanging(f"{family.id}: {family.title}")
    for plan in campaign.plans:
        label = f" ({plan.label})" if plan.label else ""
        claims = counted(len({claim.name for claim, _ in plan.pairs}), "claim")
        asked = f"{claims} under {counted(len(plan.threats), 'threat model')}, {counted(len(plan.pairs), 'pair')}"
        if not plan.pairs:
            asked = f"{', '.join(live.name for live in plan.liveness)} (what happens in the end)"
        yield from wrapped("will check", f"variant {plan.protocol.variant}{label}: {asked}")
    for engine in campaign.engines:
        yield from wrapped(engine.name, engine.intention(campaign.task))


# -- after ----------------------------------------------------------------------------------------


def _lines(outcome: CampaignOutcome) -> Iterator[str]:
    from carnet_check.report.lemmas import lines, standings
    from carnet_check.report.matrix import matrices

    yield from matrices(outcome, shutil.get_terminal_size((80, 24)).columns)
    yield from _counterexamples(outcome)
    yield from lines(standings(outcome), outcome.campaign.request.cti)


def _strictly(lacking: Sequence[str]) -> Iterator[str]:
    """Say what a strict reader does not let pass."""
    from carnet_command.text import wrapped

    for each in lacking:
        yield from wrapped("strict", each)
    if lacking:
        yield ""


def _counterexamples(outcome: CampaignOutcome) -> Iterator[str]:
    """Tell the first few violations that nobody expected."""
    fallen = [row for row in outcome.results if row.has_trace and not row.as_expected]
    for number, row in enumerate(fallen):
        yield f"{row.claim} is violated under {row.threat} in variant {row.variant}:"
        if number < SHOWN_TRACES:
            yield from _told(outcome, row)
        yield f"  {outcome.again(row)}"
        yield ""


def _told(outcome: CampaignOutcome, row: Result) -> list[str]:
    from carnet_check.attacks.describing import describe_attack
    from carnet_check.report.recording import attack_of

    attack = attack_of(outcome, row)
    return describe_attack(attack.judge, attack.failing, attack.trace, attack.states)


def _as_json(outcome: CampaignOutcome) -> dict[str, Any]:
    from carnet_check.report.lemmas import standings

    return {
        "results": [{**row.as_json(), "seconds": round(row.seconds, 3)} for row in outcome.results],
        "summary": outcome.summary(),
        "goals": [goal.as_json() for goal in outcome.goals],
        "lemmas": standings(outcome),
        "explored": outcome.explored,
        "notes": list(outcome.notes),
        **({"simulations": list(_simulations(outcome, walks))} if (walks := outcome.campaign.walks) else {}),
    }


def _simulations(outcome: CampaignOutcome, walks: Walks) -> Iterator[dict[str, Any]]:
    """Say what the random walks of each engine covered, in a variant and under a threat model."""
    from carnet_check.report.walked import walked_as_json

    for answer in outcome.answers:
        for found in (each for each in answer.searches if each.walked):
            search = found.search
            where = {"engine": answer.engine, "variant": search.variant, "threat": search.threat}
            protocol = outcome.campaign.task.plan(search.variant).protocol
            yield {**where, "profile": search.profile.name, **walked_as_json(protocol, walks, found)}


def _closing(context: click.Context, outcome: CampaignOutcome, kept: Kept) -> Closing:
    from carnet_check.report.closing import UNSAID, Closing, profile_line, rerun_command, tool_versions
    from carnet_check.results import by_verdict

    campaign = outcome.campaign
    solver = not all(engine.believes_no_solver for engine in campaign.engines)
    pairs = zip(campaign.engines, outcome.answers, strict=True)
    strength = [part for engine, answer in pairs for part in engine.strength(campaign.task, answer)]
    said = kept._replace(out=None) if "out" in context.meta.get(UNSAID, ()) else kept
    return Closing(
        verdicts=by_verdict(outcome.results),
        outcome="every verdict as expected" if outcome.exit_code == 0 else _worst(outcome),
        strength=" · ".join(strength),
        budget=" · ".join((*(engine.budget(campaign.profile) for engine in campaign.engines), *outcome.limits)),
        profile=profile_line(campaign.profile.name, campaign.walks),
        digests=campaign.digests,
        artefacts=", ".join(str(path) for path in said if path is not None),
        rerun=rerun_command(context),
        seconds=outcome.seconds,
        kept_by="--out DIR",
        versions=tool_versions(*campaign.engines, solver=solver),
    )


def _worst(outcome: CampaignOutcome) -> str:
    wrong = sum(not row.as_expected for row in outcome.results)
    return f"{wrong} not as expected (exit code {outcome.exit_code})"


def _keep(outcome: CampaignOutcome, closing: Closing, kept: Kept) -> None:
    """Write what was asked for; everything is known before the first file is written."""
    from carnet_check.report.artefacts import write_json, write_text
    from carnet_check.report.recording import recorded

    if not any(kept):
        return
    run = recorded(outcome, closing)
    if kept.out is not None:
        run.write(kept.out)
    if kept.junit is not None:
        from carnet_check.report.junit import junit
        from carnet_check.wording import silent

        actions = (action for plan in outcome.campaign.plans for action in plan.protocol.actions)
        write_text(kept.junit, junit(outcome.results, {action.name for action in actions if silent(action)}))
    if kept.sarif is not None:
        from carnet_check.report.sarif import sarif

        write_json(kept.sarif, sarif(run))
    if kept.markdown is not None:
        from carnet_check.report.markdown import markdown

        write_text(kept.markdown, markdown(run))
    if kept.html is not None:
        from carnet_check.report.html import write_html

        write_html(run, kept.html)


# --------------------------------------------------------------------------------------------------
# ``carnet verify`` without a protocol: the one of this folder, or each registered one, as if it was asked for.

ABOUT_ONE = ("claims", "threats", "variants", "cti", "shard")
PLACES = ("out", "junit_file", "sarif_file", "markdown_file", "html")
"""Options that name something in one protocol, and places for one run."""
COLLECTED = "carnet.verify.collected"
"""The key in a context's ``meta`` under which the objects of all protocols are collected, to be printed as one."""


def verify_unnamed(context: click.Context, named: str | None, every: bool, as_json: bool) -> int:
    """Verify the protocol of this folder, or every registered one, with the options that were given.

    Raises:
        UsageError: one is named beside ``--all``, or an option makes sense for one protocol only.
    """
    if named is not None:
        raise click.UsageError("--all is about every registered protocol: leave out --all, or PROTOCOL")
    own = None if every else protocol_here()
    if own is not None:
        return _verify_own(context, own, as_json)
    _require_sense(context)
    return _verify_all(context, as_json)


def _verify_all(context: click.Context, as_json: bool) -> int:
    from carnet_check.report.closing import rerun_command

    command = rerun_command(context)
    given = [word for word in shlex.split(command)[2:] if word != "--all"]
    values: list[Mapping[str, Any]] = context.meta.setdefault(COLLECTED, [])
    codes: dict[str, ExitCode] = {}
    for id in registered_ids():
        if codes:
            (log if as_json else say)("")
        with context.command.make_context(context.info_name, [id, *given], parent=context.parent) as each:
            codes[id] = ExitCode(context.command.invoke(each))
    if as_json:
        show_json(_together(values, command))
    else:
        _say_together(codes, command)
    return deciding(codes.values())


def _verify_own(context: click.Context, file: str, as_json: bool) -> int:
    """Verify the protocol of this folder with the options that were given, and say that no other one is."""
    from carnet_check.report.closing import rerun_command
    from carnet_command.text import wrapped

    announce = log if as_json else say
    for line in wrapped("protocol", f"{file} of this folder; `carnet verify --all` verifies every registered one"):
        announce(line)
    given = shlex.split(rerun_command(context))[2:]
    with context.command.make_context(context.info_name, [file, *given], parent=context.parent) as own:
        return int(context.command.invoke(own))


def registered_ids() -> list[str]:
    """Return the ids of all registered protocols."""
    from carnet_check.loading.families import known_protocols

    return list(known_protocols())


def _say_together(codes: Mapping[str, ExitCode], command: str) -> None:
    from carnet_check.report.closing import rerun
    from carnet_command.text import wrapped

    came = (
        f"{id} {'as expected' if code is ExitCode.EXPECTED else f'(exit code {code})'}" for id, code in codes.items()
    )
    for line in ("", *wrapped("protocols", " · ".join(came)), rerun(command)):
        say(line)


def _require_sense(context: click.Context) -> None:
    for parameter in context.command.params:
        if (
            parameter.name in (*ABOUT_ONE, *PLACES)
            and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
        ):
            raise click.UsageError(f"{max(parameter.opts, key=len)} is about one protocol: say which")


def _together(values: Sequence[Mapping[str, Any]], command: str) -> dict[str, Any]:
    """Return one object with the rows of all, and what else was said of each."""
    verdicts: Counter[str] = Counter()
    for value in values:
        verdicts.update(value["summary"]["by_verdict"])
    return {
        "results": [row for value in values for row in value["results"]],
        "summary": {
            "as_expected": all(value["summary"]["as_expected"] for value in values),
            "by_verdict": dict(verdicts),
            "declared": [claim for value in values for claim in value["summary"]["declared"]],
        },
        "protocols": [{name: each for name, each in value.items() if name != "results"} for value in values],
        "run": {
            "verdicts": dict(verdicts),
            "versions": {name: version for value in values for name, version in value["run"]["versions"].items()},
            "seconds": round(sum(value["run"]["seconds"] for value in values), 3),
            "rerun": command,
        },
    }
