"""``carnet verify``: establish or refute every claim."""

import itertools
import re
import shlex
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from carnet_check.attacks.describing import describe_attack
from carnet_check.cache import open_folder
from carnet_check.commands import common
from carnet_check.commands.explore import seed_option, walked_as_json
from carnet_check.commands.matrix import matrices
from carnet_check.commands.screen import next_commands, screen
from carnet_check.engines import registry
from carnet_check.engines.exploration import Caps, Walks
from carnet_check.engines.interface import Bounded, Diagnoses
from carnet_check.engines.runner import Runner, Shard, connected_ray
from carnet_check.errors import UsageError
from carnet_check.loading.families import files_of, known_protocols, load, protocol_here
from carnet_check.report import html as pages
from carnet_check.report.formats import junit, markdown, sarif
from carnet_check.report.recording import attack_of, record_run
from carnet_check.results import Result, by_verdict
from carnet_check.suggestion.suggestions import Suggestions, require_strengthening, suggestions_for
from carnet_check.verification import campaign as running
from carnet_check.verification.campaign import require_shareable, run_shard, shard_lines
from carnet_check.verification.checks import shortcomings
from carnet_check.verification.outcome import CampaignOutcome, invariants_as_json, unproved_lines
from carnet_check.verification.planning import Campaign, Request, plan_campaign
from carnet_check.wording import is_deduction
from carnet_command.exit_codes import ExitCode, deciding
from carnet_command.files import lock_folders, require_apart, require_writable_file, write_json, write_text
from carnet_command.interrupts import track_progress
from carnet_command.printable import printable
from carnet_command.progress import progress
from carnet_command.text import hanging, plural, wrap_text

#: The most unexpected violations that are described in full; for the others the command that shows them is printed.
SHOWN_TRACES = 2


class OutputFiles(NamedTuple):
    """The files to write at the end of the run."""

    out: Path | None
    html: Path | None
    junit: Path | None
    sarif: Path | None
    markdown: Path | None


class ShardParameter(click.ParamType[Shard]):
    """One part of the work, as K/N."""

    name = "shard"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Shard:
        """Return the parsed shard. Raises click.BadParameter if the value is not K/N with K from 1 to N."""
        if isinstance(value, Shard):
            return value
        written = re.fullmatch(r"(\d{1,6})/(\d{1,6})", str(value), re.ASCII)
        if written is None or not 1 <= int(written[1]) <= int(written[2]):
            self.fail(f"expected K/N with K from 1 to N, not '{value}'", param, ctx)
        return Shard(int(written[1]), int(written[2]))


@click.command()
@click.argument("protocol", type=common.PROTOCOL, required=False)
@click.option("--all", "every", is_flag=True, help="Verify every registered protocol, although protocol.py is here.")
@click.option("--claim", "claims", type=common.CLAIM, multiple=True, metavar="ID", help="Only this claim. Repeatable.")
@common.threats_option("Only under this threat model.")
@common.variants_option
@click.option(
    "--engine",
    "engines",
    multiple=True,
    type=common.EngineName(),
    help="Only this engine. Repeatable.",
)
@click.option(
    "--profile",
    type=common.PROFILE,
    default="tiny",
    show_default=True,
    metavar="NAME",
    help="Size of the explored instances.",
)
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    metavar="K",
    help=f"How many steps {' or '.join(each.name for each in registry.all_able(Bounded))} or a random walk takes.",
)
@common.simulate_option
@seed_option
@common.jobs_option
@click.option(
    "--shard",
    type=ShardParameter(),
    metavar="K/N",
    help="Do only part K of N of the work, into the cache; no verdicts.",
)
@click.option(
    "--cache",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Keep definite answers here, and trust them.",
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
    type=common.STATED,
    metavar="LEMMA",
    help=f"Step through each {registry.able(Diagnoses).shows} of this lemma or claim.",
)
@click.option(
    "--suggest",
    "suggest",
    is_flag=True,
    help="Look for lemmas that prove what has no proof, and print their source text.",
)
@click.option(
    "--strict", is_flag=True, help="Exit with 3 where one engine alone establishes a claim, or none states it."
)
@click.option("--long", "long", is_flag=True, help="Print every verdict, size, assumption, note and version.")
@common.states_option
@common.time_option
@common.memory_option
@common.json_option
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
    suggest: bool,
    strict: bool,
    long: bool,
    max_states: int | None,
    max_seconds: int | None,
    max_memory: int | None,
    as_json: bool,
) -> int:
    """Establish or refute every claim of PROTOCOL under every threat model it names.

    Without PROTOCOL: of protocol.py, if a file of this name that imports carnet_spec is in the current folder, as
    `carnet init` writes it; else of every registered protocol.

    An engine proves a claim for any number of parties, keys and rounds, or checks it in every state of small instances.
    Where a claim is expected to be violated, an engine looks for the attack.

    The result fits on one screen; --long prints all of it.
    """
    if protocol is None or every:
        return verify_unnamed(context, protocol, every, as_json)
    if cti == "":
        raise click.UsageError("--cti expects the name of a lemma or claim, and it is empty")
    if out_is_deleted:
        context.meta[common.HIDDEN_OPTIONS] = ("out", "out_is_deleted")
    kept = OutputFiles(out, html, junit_file, sarif_file, markdown_file)
    if shard is not None:
        _refuse_beside_shard(strict, simulate, suggest)
    runner = _runner(jobs, shard, cache, ray, kept)
    if folders := [folder for folder in (out, html) if folder is not None]:
        context.with_resource(lock_folders(*folders))
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
        campaign = plan_campaign(request)
        if suggest:
            require_strengthening(campaign.engines)
    if shard is not None:
        return _shared(context, campaign, shard, as_json)
    if as_json or long:
        _announce(campaign, as_json)
    with progress() as shown, track_progress(shown) as covered:
        outcome = running.verify(campaign, covered)
        suggestions = suggestions_for(outcome, covered) if suggest else None
        covered.status("writing what was asked for")
        lacking = shortcomings(outcome) if strict else []
        closing = _closing(context, outcome, lacking, kept)
        _keep(outcome, lacking, closing, kept)
    more = {"suggestions": suggestions.as_json()} if suggestions is not None else {}
    value = {**_as_json(outcome), **({"shortcomings": lacking} if strict else {}), **more}
    if COLLECTED in context.meta:
        family = campaign.request.source.family
        context.meta[COLLECTED].append({"protocol": family.id, **value, "run": closing.as_json()})
    if not (as_json and COLLECTED in context.meta):
        lines = [] if as_json else _report(outcome, closing, lacking, long, suggestions)
        common.finish(as_json, value, lines, closing, brief=not long)
    return deciding([ExitCode(outcome.exit_code), *(ExitCode.UNKNOWN for _ in lacking)])


def _refuse_beside_shard(strict: bool, simulate: int | None, suggest: bool) -> None:
    """Refuse what one part of the work cannot give."""
    if strict:
        raise click.UsageError("--strict judges verdicts, and a shard has none: leave out --shard or --strict")
    if simulate is not None:
        raise click.UsageError("random walks are not shared out: leave out --shard")
    if suggest:
        raise click.UsageError("a shard proves no claim, so nothing can be suggested for one: leave out --shard")


def _runner(jobs: int | None, shard: Shard | None, cache: Path | None, ray: str | None, kept: OutputFiles) -> Runner:
    """Return the runner: processes, cluster, cache and shard."""
    if shard is not None and cache is None:
        raise UsageError("--shard expects --cache DIR: the parts are joined by their answers")
    if shard is not None and any(kept):
        raise UsageError(
            "a shard establishes nothing that could be written down: run `carnet verify --cache DIR` after it"
        )
    if ray is not None:
        connected_ray(ray)
    return Runner(jobs or common.cores(), ray or "", open_folder(cache) if cache is not None else None, shard)


def _shared(context: click.Context, campaign: Campaign, shard: Shard, as_json: bool) -> int:
    """Do the work of one shard, and print its outcome."""
    _announce(campaign, as_json)
    require_shareable(campaign)
    with progress() as shown, track_progress(shown) as covered:
        shared = run_shard(campaign, shard, covered)
    value = {**shared.as_json(), "run": {"rerun": common.rerun_command(context), "seconds": round(shared.seconds, 3)}}
    rest = f"shard {shard} establishes no claim by itself: `carnet verify` with the answers of all {shard.of} does"
    lines = (line for label, text in shard_lines(shared) for line in wrap_text(label, printable(text)))
    common.show(context, as_json, value, itertools.chain(lines, [rest]))
    return shared.exit_code


# -- before ---------------------------------------------------------------------------------------


def _announce(campaign: Campaign, as_json: bool) -> None:
    """Print what the run is going to do; on standard error if standard output is for a JSON object."""
    for line in _intention(campaign):
        (common.log if as_json else common.say)(line)


def _intention(campaign: Campaign) -> Iterator[str]:
    family = campaign.request.source.family
    yield from hanging(f"{family.id}: {family.title}")
    for plan in campaign.plans:
        label = f" ({plan.label})" if plan.label else ""
        claims = plural(len({claim.name for claim, _ in plan.pairs}), "claim")
        asked = f"{claims} under {plural(len(plan.threats), 'threat model')}, {plural(len(plan.pairs), 'pair')}"
        if not plan.pairs and plan.liveness:
            asked = f"{', '.join(live.name for live in plan.liveness)} (what eventually happens)"
        if lemma_claims := dict.fromkeys(claim.name for claim, _ in plan.lemma_claims):
            asked = f"{asked if plan.pairs else ''} and {plural(len(lemma_claims), 'lemma claim')}".removeprefix(
                " and "
            )
        yield from wrap_text("will check", f"variant {plan.protocol.variant}{label}: {asked}")
    for engine in campaign.engines:
        yield from wrap_text(engine.name, engine.intention(campaign.task))


# -- after ----------------------------------------------------------------------------------------


def _report(
    outcome: CampaignOutcome,
    closing: common.Closing,
    lacking: Sequence[str],
    long: bool,
    suggestions: Suggestions | None,
) -> Iterator[str]:
    """Print the result of the run, what --strict objects to, and the lemmas that are suggested if that was asked."""
    if long:
        yield from matrices(outcome, shutil.get_terminal_size((80, 24)).columns)
    else:
        yield from screen(outcome, closing.verdicts, closing.outcome)
    yield from _told_in_full(outcome)
    for each in lacking:
        yield from wrap_text("strict", each)
    yield from suggestions.lines() if suggestions is not None else ()
    if long:
        yield from [""] if lacking else []
    else:
        yield from next_commands(outcome, closing.rerun)


def _told_in_full(outcome: CampaignOutcome) -> Iterator[str]:
    """Yield descriptions of unexpected violations, and of claims and lemmas without a proof."""
    fallen = [row for row in outcome.results if row.has_trace and not row.as_expected]
    for number, row in enumerate(fallen):
        yield f"{row.claim} is violated under {row.threat} in variant {row.variant}:"
        if number < SHOWN_TRACES:
            yield from _attack_lines(outcome, row)
        yield f"  {outcome.again(row)}"
        yield ""
    yield from unproved_lines(invariants_as_json(outcome), outcome.campaign.request.cti)


def _attack_lines(outcome: CampaignOutcome, row: Result) -> list[str]:
    attack = attack_of(outcome, row)
    return describe_attack(attack.judge, attack.failing, attack.trace, attack.states)


def _as_json(outcome: CampaignOutcome) -> dict[str, Any]:
    return {
        "results": [{**row.as_json(), "seconds": round(row.seconds, 3)} for row in outcome.results],
        "summary": outcome.summary(),
        "goals": [goal.as_json() for goal in outcome.goals],
        "lemmas": invariants_as_json(outcome),
        "explored": outcome.explored,
        "notes": list(outcome.notes),
        **({"simulations": list(_simulations(outcome, walks))} if (walks := outcome.campaign.walks) else {}),
    }


def _simulations(outcome: CampaignOutcome, walks: Walks) -> Iterator[dict[str, Any]]:
    """Yield the coverage of each engine's random walks, by variant and threat model."""
    for answer in outcome.answers:
        for found in (each for each in answer.searches if each.walk_coverage):
            search = found.search
            where = {"engine": answer.engine, "variant": search.variant, "threat": search.threat}
            protocol = outcome.campaign.task.plan(search.variant).protocol
            yield {**where, "profile": search.profile.name, **walked_as_json(protocol, walks, found)}


def _closing(
    context: click.Context, outcome: CampaignOutcome, lacking: Sequence[str], kept: OutputFiles
) -> common.Closing:
    campaign = outcome.campaign
    solver = not all(engine.believes_no_solver for engine in campaign.engines)
    pairs = zip(campaign.engines, outcome.answers, strict=True)
    strength = [part for engine, answer in pairs for part in engine.strength(campaign.task, answer)]
    said = kept._replace(out=None) if "out" in context.meta.get(common.HIDDEN_OPTIONS, ()) else kept
    return common.Closing(
        verdicts=by_verdict(outcome.results),
        outcome=_in_short(outcome, lacking),
        strength=" · ".join(strength),
        budget=" · ".join((*(engine.budget(campaign.profile) for engine in campaign.engines), *outcome.limits)),
        profile=common.profile_line(campaign.profile.name, campaign.walks),
        digests=campaign.digests,
        artefacts=", ".join(str(path) for path in said if path is not None),
        rerun=common.rerun_command(context),
        seconds=outcome.seconds,
        kept_by="--out DIR",
        versions=common.tool_versions(*campaign.engines, solver=solver),
    )


def _in_short(outcome: CampaignOutcome, lacking: Sequence[str]) -> str:
    wrong = sum(not row.as_expected for row in outcome.results)
    if wrong:
        return f"{wrong} not as expected (exit code {outcome.exit_code})"
    strict = f", and {plural(len(lacking), 'objection')} of --strict (exit code {ExitCode.UNKNOWN})" if lacking else ""
    return f"every verdict as expected{strict}"


def _keep(outcome: CampaignOutcome, lacking: Sequence[str], closing: common.Closing, kept: OutputFiles) -> None:
    """Write the requested files; their content is complete before the first one is written."""
    if not any(kept):
        return
    run = record_run(outcome, closing.as_json(), lacking)
    if kept.out is not None:
        run.write(kept.out)
    if kept.junit is not None:
        actions = (action for plan in outcome.campaign.plans for action in plan.protocol.actions)
        silent = {action.name for action in actions if is_deduction(action)}
        write_text(kept.junit, junit(outcome.results, silent, lacking))
    if kept.sarif is not None:
        write_json(kept.sarif, sarif(run))
    if kept.markdown is not None:
        write_text(kept.markdown, markdown(run))
    if kept.html is not None:
        pages.write_html(run, kept.html)


# --------------------------------------------------------------------------------------------------
# ``carnet verify`` without a protocol: verify the one of this folder, or each registered one.

ABOUT_ONE = ("claims", "threats", "variants", "cti", "shard")
#: Options with names in one protocol, and options with paths for one run.
PLACES = ("out", "junit_file", "sarif_file", "markdown_file", "html")
#: The key in a context's ``meta`` under which the objects of all protocols are collected, to be printed as one.
COLLECTED = "carnet.verify.collected"


def verify_unnamed(context: click.Context, named: str | None, every: bool, as_json: bool) -> int:
    """Run ``carnet verify`` without PROTOCOL: on ``protocol.py`` of this folder, or on every registered protocol.

    Raises UsageError if PROTOCOL is given with ``--all``, or an option needs a single protocol.
    """
    if named is not None:
        raise click.UsageError("--all is about every registered protocol: leave out --all, or PROTOCOL")
    own = None if every else protocol_here()
    if own is not None:
        return _verify_own(context, own, as_json)
    for parameter in context.command.params:
        if (
            parameter.name in (*ABOUT_ONE, *PLACES)
            and context.get_parameter_source(parameter.name) is ParameterSource.COMMANDLINE
        ):
            raise click.UsageError(f"{max(parameter.opts, key=len)} is about one protocol: say which")
    return _verify_all(context, as_json)


def _verify_all(context: click.Context, as_json: bool) -> int:
    command = common.rerun_command(context)
    given = [word for word in shlex.split(command)[2:] if word != "--all"]
    values: list[Mapping[str, Any]] = context.meta.setdefault(COLLECTED, [])
    codes: dict[str, ExitCode] = {}
    for id in registered_ids():
        if codes:
            (common.log if as_json else common.say)("")
        with context.command.make_context(context.info_name, [id, *given], parent=context.parent) as each:
            codes[id] = ExitCode(context.command.invoke(each))
    if as_json:
        common.show_json(_together(values, command))
    else:
        came = (
            f"{id} {'as expected' if code is ExitCode.EXPECTED else f'(exit code {code})'}"
            for id, code in codes.items()
        )
        for line in ("", *wrap_text("protocols", " · ".join(came)), common.rerun(command)):
            common.say(line)
    return deciding(codes.values())


def _verify_own(context: click.Context, file: str, as_json: bool) -> int:
    """Verify the protocol of this folder with the given options, and print that no other one is verified."""
    announce = common.log if as_json else common.say
    for line in wrap_text("protocol", f"{file} of this folder; `carnet verify --all` verifies every registered one"):
        announce(line)
    given = shlex.split(common.rerun_command(context))[2:]
    with context.command.make_context(context.info_name, [file, *given], parent=context.parent) as own:
        return int(context.command.invoke(own))


def registered_ids() -> list[str]:
    """Return the ids of all registered protocols."""
    return list(known_protocols())


def _together(values: Sequence[Mapping[str, Any]], command: str) -> dict[str, Any]:
    """Return one object with the rows of all protocols, and the other fields of each."""
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
