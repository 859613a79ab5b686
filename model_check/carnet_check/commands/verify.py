"""``carnet verify``: establish or refute every claim."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from carnet_check.commands.common import cores, finish, jobs_option, json_option, log, memory_option, say
from carnet_check.commands.completion import CLAIM, PROFILE, PROTOCOL, THREAT, VARIANT
from carnet_check.verification.planning import ENGINES, EXPLICIT, INDUCTION

if TYPE_CHECKING:
    from carnet_check.report.closing import Closing
    from carnet_check.results import Result
    from carnet_check.verification.planning import Campaign

DEFAULT_PROTOCOL = "gpu-travelling"
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
@click.argument("protocol", type=PROTOCOL, default=DEFAULT_PROTOCOL)
@click.option("--claim", "claims", type=CLAIM, multiple=True, metavar="ID", help="Only this claim. Repeatable.")
@click.option(
    "--threat", "threats", type=THREAT, multiple=True, metavar="ID", help="Only under this threat model. Repeatable."
)
@click.option(
    "--variant", "variants", type=VARIANT, multiple=True, metavar="NAME", help="Only this variant. Repeatable."
)
@click.option("--engine", "engines", multiple=True, type=click.Choice(ENGINES), help="Only this engine. Repeatable.")
@click.option(
    "--profile", type=PROFILE, default="tiny", show_default=True, metavar="NAME", help="Size of the explored instances."
)
@jobs_option
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Write the run into this folder.")
@click.option("--junit", "junit_file", type=click.Path(path_type=Path), metavar="FILE", help="Write JUnit XML.")
@click.option("--sarif", "sarif_file", type=click.Path(path_type=Path), metavar="FILE", help="Write SARIF 2.1.0.")
@click.option(
    "--markdown", "markdown_file", type=click.Path(path_type=Path), metavar="FILE", help="Write a summary for GitHub."
)
@click.option("--html", type=click.Path(path_type=Path), metavar="DIR", help="Write the report to DIR/index.html.")
@memory_option
@json_option
@click.pass_context
def verify(
    context: click.Context,
    protocol: str,
    claims: tuple[str, ...],
    threats: tuple[str, ...],
    variants: tuple[str, ...],
    engines: tuple[str, ...],
    profile: str,
    jobs: int | None,
    out: Path | None,
    junit_file: Path | None,
    sarif_file: Path | None,
    markdown_file: Path | None,
    html: Path | None,
    max_memory: int | None,
    as_json: bool,
) -> int:
    """Establish or refute every claim of PROTOCOL, under every threat model it names.

    Induction proves claims for any number of parties, keys and rounds; the explicit engine visits every state of small
    instances, and shows the attack where a claim is expected to fall.
    """
    from carnet_check.loading.families import load
    from carnet_check.report.artefacts import claimed
    from carnet_check.verification import campaign as running
    from carnet_check.verification.planning import Request, planned
    from carnet_command.files import require_writable_file
    from carnet_command.interrupts import covering
    from carnet_command.progress import progress

    context.with_resource(claimed(*(folder for folder in (out, html) if folder is not None)))
    for file in (junit_file, sarif_file, markdown_file):
        if file is not None:
            require_writable_file(file)
    request = Request(load(protocol), variants, claims, threats, engines, profile, jobs or cores(), max_memory)
    campaign = planned(request)
    announce = log if as_json else say
    for line in _intention(campaign):
        announce(line)
    kept = Kept(out, html, junit_file, sarif_file, markdown_file)
    with progress() as shown, covering(shown) as covered:
        running.verify(campaign, lambda kind, text: getattr(covered, kind)(text))
        covered.status("writing what was asked for")
        closing = _closing(context, campaign, kept)
        _keep(campaign, closing, kept)
    finish(as_json, _as_json(campaign), [] if as_json else _lines(campaign), closing)
    return campaign.exit_code


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
        yield from wrapped("will check", f"variant {plan.protocol.variant}{label}: {asked}")
    if INDUCTION in campaign.engines:
        yield from wrapped("induction", "for any number of parties, keys, messages and rounds")
    if EXPLICIT in campaign.engines:
        yield from wrapped("explicit", f"every state of profile {_profile(campaign)}")


def _profile(campaign: Campaign) -> str:
    profile = campaign.profile
    title = f" ({profile.title})" if profile.title else ""
    return f"{profile.name}{title}, {_adversary(campaign)}"


def _adversary(campaign: Campaign) -> str:
    from carnet_command.text import counted

    budget = campaign.profile.budget
    return "unbounded adversary" if budget is None else f"at most {counted(budget, 'active adversary move')}"


# -- after ----------------------------------------------------------------------------------------


def _lines(campaign: Campaign) -> Iterator[str]:
    from carnet_check.report.matrix import matrices

    yield from matrices(campaign, shutil.get_terminal_size((80, 24)).columns)
    yield from _counterexamples(campaign)


def _counterexamples(campaign: Campaign) -> Iterator[str]:
    """Tell the first few violations that nobody expected."""
    fallen = [row for row in campaign.results if row.steps and not row.as_expected]
    for number, row in enumerate(fallen):
        reference = campaign.request.source.shown
        again = f"carnet attack {reference} --variant {row.variant} --threat {row.threat} --claim {row.claim}"
        yield f"{row.claim} is violated under {row.threat} in variant {row.variant}:"
        if number < SHOWN_TRACES:
            yield from _told(campaign, row)
        yield f"  {again}"
        yield ""


def _told(campaign: Campaign, row: Result) -> list[str]:
    from carnet_check.attacks.describing import describe_attack
    from carnet_check.report.recording import attack_of

    attack = attack_of(campaign, row)
    return describe_attack(attack.judge, attack.claim.checked, attack.trace, attack.states)


def _as_json(campaign: Campaign) -> dict[str, Any]:
    return {
        "results": [{**row.as_json(), "seconds": round(row.seconds, 3)} for row in campaign.results],
        "summary": campaign.summary(),
        "goals": [goal.as_json() for goal in campaign.goals],
        "notes": campaign.notes,
    }


def _closing(context: click.Context, campaign: Campaign, kept: Kept) -> Closing:
    from carnet_check.engines.explicit.searches import fixed
    from carnet_check.report.closing import Closing, rerun_command
    from carnet_check.results import by_verdict

    strength = []
    if INDUCTION in campaign.engines:
        strength.append("induction: unbounded")
    if EXPLICIT in campaign.engines:
        sizes = dict.fromkeys(found.describes for found in campaign.searches if found.describes)
        strength.append(
            "explicit: " + ("; ".join(sizes) or "the instances of the profile") + ", " + _adversary(campaign)
        )
        fixes = fixed(campaign.searches)
        if fixes:
            strength.append(f"these instances fix {fixes}")
    return Closing(
        verdicts=by_verdict(campaign.results),
        outcome="every verdict as expected" if campaign.exit_code == 0 else _worst(campaign),
        strength=" · ".join(strength),
        budget=_budget(campaign),
        profile=f"{campaign.profile.name}; nothing is random, so there is no seed",
        digests=campaign.digests,
        artefacts=", ".join(str(path) for path in kept if path is not None),
        rerun=rerun_command(context),
        seconds=campaign.seconds,
        kept_by="--out DIR",
    )


def _worst(campaign: Campaign) -> str:
    wrong = sum(not row.as_expected for row in campaign.results)
    return f"{wrong} not as expected (exit code {campaign.exit_code})"


def _budget(campaign: Campaign) -> str:
    from carnet_check.engines.explicit.searches import Caps
    from carnet_check.verification.campaign import CAPS

    parts = []
    if INDUCTION in campaign.engines:
        from carnet_check.engines.induction import DEFAULT_RLIMIT

        parts.append(f"{DEFAULT_RLIMIT:,} solver units to an obligation")
    if EXPLICIT in campaign.engines:
        states = CAPS.get(campaign.profile.name, Caps()).states
        parts.append("no cap on states" if states is None else f"{states:,} states to an exploration")
    return " · ".join(parts)


def _keep(campaign: Campaign, closing: Closing, kept: Kept) -> None:
    """Write what was asked for; everything is known before the first file is written."""
    from carnet_check.report.artefacts import write_json, write_text
    from carnet_check.report.recording import recorded

    if not any(kept):
        return
    run = recorded(campaign, closing)
    if kept.out is not None:
        run.write(kept.out)
    if kept.junit is not None:
        from carnet_check.report.junit import junit

        write_text(kept.junit, junit(campaign.results))
    if kept.sarif is not None:
        from carnet_check.report.sarif import sarif

        write_json(kept.sarif, sarif(run))
    if kept.markdown is not None:
        from carnet_check.report.markdown import markdown

        write_text(kept.markdown, markdown(run))
    if kept.html is not None:
        from carnet_check.report.html import write_html

        write_html(run, kept.html)
