"""``carnet attack``: remove a defence and look for the attack that it prevents."""

import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from carnet_check.attacks import hunt
from carnet_check.attacks.describing import brief, describe_attack, describe_briefly, mermaid
from carnet_check.attacks.regression import as_test, card, of_hunt, reproduces
from carnet_check.attacks.replaying import describe_replay, replay_attack
from carnet_check.commands import common
from carnet_check.engines.interface import ProvesWeakened
from carnet_check.engines.registry import able
from carnet_check.errors import EngineError, UsageError
from carnet_check.exports.itf import itf
from carnet_check.loading.families import files_of, load
from carnet_check.report.html import write_gallery
from carnet_check.report.run_folder import write_attack
from carnet_check.results import steps_as_json
from carnet_check.wording import knowledge_of, narrate, reasons
from carnet_command.exit_codes import ExitCode
from carnet_command.files import lock_folders, require_apart, require_writable_file, write_json, write_text
from carnet_command.interrupts import track_progress
from carnet_command.progress import progress
from carnet_command.text import hanging, wrap_text

AS_TEST = "Write a pytest file that fails until the defect is gone."
OUT = "Add the attack to a folder that carnet verify --out made."


@click.command()
@common.protocol_argument
@common.without_option
@click.option(
    "--variant",
    type=common.VARIANT,
    metavar="NAME",
    default="",
    help="Design to attack. [default: the first main variant]",
)
@common.threat_option
@click.option(
    "--claim", type=common.CLAIM, metavar="ID", default="", help="Claim to attack. [default: a known finding's, or any]"
)
@common.jobs_option
@click.option("--replay", is_flag=True, help="Carry the attack out on the reference implementation.")
@click.option("--itf", "itf_file", type=click.Path(path_type=Path), metavar="FILE", help="Write the trace as ITF.")
@click.option("--mermaid", "draw", is_flag=True, help="Draw a Mermaid sequence diagram.")
@click.option("--brief", is_flag=True, help="Show the decisive step and the adversary's; fold the others.")
@click.option("--full", is_flag=True, help="Show after each step what it changed.")
@click.option("--as-test", "test_file", type=click.Path(path_type=Path), metavar="FILE", help=AS_TEST)
@click.option("--html", type=click.Path(path_type=Path), metavar="DIR", help="Write pages of the attack to DIR.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help=OUT)
@common.memory_option
@common.json_option
@click.pass_context
def attack(
    context: click.Context,
    protocol: str,
    without: str,
    variant: str,
    threat: str,
    claim: str,
    jobs: int | None,
    replay: bool,
    itf_file: Path | None,
    draw: bool,
    brief: bool,
    full: bool,
    test_file: Path | None,
    html: Path | None,
    out: Path | None,
    max_memory: int | None,
    as_json: bool,
) -> int:
    """Remove defences from PROTOCOL, or take a variant, and look for the attack that this opens.

    Exit code 1: an attack was found, minimised and replayed. 0: it is proved that there is none. 3: neither.
    """
    if not without and not variant:
        known = ", ".join(defence.id for defence in load(protocol).protocol().defences)
        raise UsageError(f"nothing to attack: give --without DEFENCE[,DEFENCE] ({known or 'none'}) or --variant NAME")
    if brief and full:
        raise UsageError("--brief and --full ask for opposites")
    for file in (itf_file, test_file):
        if file is not None:
            require_writable_file(file)
    require_apart({"--itf": itf_file, "--as-test": test_file}, files_of(protocol))
    if folders := [folder for folder in (out, html) if folder is not None]:
        context.with_resource(lock_folders(*folders))
    target = hunt.attack_target(
        load(protocol), variant=variant, without=common.defences(without), threat=threat, claim=claim
    )
    for line in _intention(target):
        (common.log if as_json else common.say)(line)
    began = time.monotonic()
    caps = hunt.caps_within(max_memory)
    with progress() as shown, track_progress(shown) as covered:
        result = hunt.hunt(target, jobs=jobs or common.cores(), caps=caps, progress=covered.status)
    written = (
        () if result.trace is None else tuple(path for path in (itf_file, test_file, html, out) if path is not None)
    )
    closing = _closing(context, result, written, time.monotonic() - began)
    if written:
        _write(result, closing, itf_file, test_file, html, out)
    value = _as_json(result, draw)
    if replay and result.trace is not None:
        value["replay"] = replay_attack(value, result, caps.memory)
    lines = [] if as_json else list(_lines(result, draw, brief, full))
    if replay and not as_json:
        lines += describe_replay(value["replay"], target.protocol, value["steps"])
    common.finish(as_json, value, lines, closing)
    return {"VIOLATED": ExitCode.VIOLATED, "PROVED": ExitCode.EXPECTED}.get(str(result.verdict), ExitCode.UNKNOWN)


def _intention(target: hunt.AttackTarget) -> Iterator[str]:
    removed = f" without {', '.join(target.removed)}" if target.removed else ""
    yield f"attacking {target.protocol.id}, variant {target.protocol.variant}{removed}"
    yield from wrap_text("threat", f"{target.threat.id}: {target.threat.title}")
    yield from wrap_text("claims", ", ".join(target.claims))
    yield from wrap_text("how", "shortest violation in small instances; failing that, a proof; then larger instances")
    yield ""


def _lines(result: hunt.Hunt, draw: bool, brief: bool, full: bool) -> Iterator[str]:
    if result.trace is None or result.judge is None:
        word = "REDUNDANT" if result.verdict == "PROVED" and result.target.removed else str(result.verdict)
        yield from wrap_text(word, result.detail)
        if names := hunt.not_attacked(result.target):
            yield from wrap_text("not attacked", f"{', '.join(names)}: not claimed under {result.target.threat.id}")
        yield ""
        return
    target = result.target
    yield f"VIOLATED: {result.claim} under {target.threat.id}"
    yield from wrap_text("", target.protocol.claim(result.claim).sentence, 2)
    if target.finding is not None and target.finding.claim == result.claim:
        yield from hanging(f"This is finding {target.finding.id}: {target.finding.title}")
    yield ""
    invariant = target.protocol.claim(result.claim).checked
    decides = result.decisive.remark if result.decisive else {}
    if brief:
        yield from describe_briefly(result.judge, invariant, result.trace, result.states, decides)
    else:
        yield from describe_attack(result.judge, invariant, result.trace, result.states, full, decides)
    if draw:
        yield _diagram(result)
        yield ""
    yield from hanging(result.detail)


def _diagram(result: hunt.Hunt) -> str:
    assert result.trace is not None
    assert result.judge is not None
    return mermaid(result.judge, result.states, result.trace)


def _as_json(result: hunt.Hunt, draw: bool) -> dict[str, Any]:
    target = result.target
    value: dict[str, Any] = {
        "protocol": target.protocol.id,
        "removed": list(target.removed),
        "variant": target.protocol.variant,
        "threat": target.threat.id,
        "claim": result.claim,
        "verdict": str(result.verdict),
        "steps": steps_as_json(result.trace.steps) if result.trace else [],
        "replay": None,
        "bound": sum(found.states for found in result.stages) if result.verdict == "UNKNOWN" else None,
        "finding": None,
        "claims": list(target.claims),
        "detail": result.detail,
        "instance": result.judge.instance.words if result.judge else "",
        "decisive": None,
        "brief": [],
        "explored": [
            {"profile": found.search.profile.name, **found.scope.explored.as_json()}
            for found in result.stages
            if found.scope
        ],
    }
    if result.trace is not None and result.judge is not None:
        if target.finding is not None and target.finding.claim == result.claim:
            value["finding"] = target.finding.id
        last = result.states[-1]
        decides = result.decisive.remark if result.decisive else {}
        value["decisive"] = asdict(result.decisive) if result.decisive else None
        value["narrative"] = narrate(target.protocol, result.states, result.trace)
        value["brief"] = brief(result.judge, result.states, result.trace, decides)
        value["reason"] = reasons(
            result.judge, target.protocol.claim(result.claim).checked, result.trace, result.states
        )
        value["known"] = knowledge_of(target.protocol, last)
        if draw:
            value["mermaid"] = _diagram(result)
    return value


def _write(
    result: hunt.Hunt,
    closing: common.Closing,
    itf_file: Path | None,
    test_file: Path | None,
    html: Path | None,
    out: Path | None,
) -> None:
    """Write the requested files; their content is complete before the first one is written."""
    assert result.trace is not None
    trace = itf(result.target.protocol, result.states, result.trace)
    found = of_hunt(result, closing.rerun)
    kept, family = found.as_json(), result.target.source.family
    reference = result.target.source.reference
    if test_file is not None and not reproduces(kept, reference):
        raise EngineError(f"the attack on {result.claim} does not work as a test would replay it")
    if itf_file is not None:
        write_json(itf_file, trace)
    if test_file is not None:
        write_text(test_file, as_test(kept, reference, test_file.parent))
    if html is not None:
        write_gallery([{**kept, "card": card(found, family)}], family.title, html)
    if out is not None:
        write_attack(out, kept, trace)


def _closing(context: click.Context, result: hunt.Hunt, written: tuple[Path, ...], seconds: float) -> common.Closing:
    outcome = {
        "VIOLATED": "attack found, minimised and replayed by the interpreter",
        "PROVED": "no attack exists: every claim attacked is proved",
    }.get(str(result.verdict), "no attack found, and none excluded")
    searched = "; ".join(
        f"{found.search.profile.name}: {found.instances}, {found.description}" for found in result.stages
    )
    protocol = result.target.protocol
    return common.Closing(
        verdicts={str(result.verdict): 1},
        outcome=outcome,
        strength=f"unbounded ({able(ProvesWeakened).name})" if result.verdict == "PROVED" else f"searched {searched}",
        budget=f"{hunt.STAGE_CAPS.states:,} states per stage",
        profile=result.profile.name if result.profile else "the hunting sizes of the protocol",
        digests={protocol.variant: protocol.digest},
        artefacts=", ".join(map(str, written)),
        rerun=common.rerun_command(context),
        seconds=seconds,
        kept_by="--out DIR",
    )
