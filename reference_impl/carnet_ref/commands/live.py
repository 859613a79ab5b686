"""``carnet attest live``: collect the evidence of this machine and appraise it at once."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import click

from carnet_command.errors import UsageError
from carnet_ref.attestation.formats import FORMATS, Option
from carnet_ref.attestation.live.appraisal import Terms, appraise_collection, lasting, live_profile
from carnet_ref.attestation.live.collection import KINDS, NONCE_BYTES, PROVIDED, collect, this_machine
from carnet_ref.attestation.live.kept import keep, prepare
from carnet_ref.attestation.results.result import Appraised
from carnet_ref.commands.appraisals import (
    anchor_option,
    anchors_given,
    instant,
    json_option,
    octets_given,
    readable,
    show,
    written,
)
from carnet_ref.commands.format_options import click_option, parameter, policy_given, said, values
from carnet_ref.commands.issuing import issuer_given, policy_id, with_ear_options

HELP: Final = """Collect the evidence of this machine and appraise it at once.

GPUs are asked by NVML, the virtual machine by Linux's configfs-tsm; most machines let only root ask the latter. All
answer one nonce, and the virtual machine's quote commits to the GPUs' reports. NVSwitches are not collected.

A machine that appraises itself convinces nobody else. To convince another, take its nonce with --nonce, keep the
evidence with --out, and let it appraise the folder: the last lines say how.

A policy for a format asks for evidence of that format, so without it the verdict is a refusal.

Exit codes: 0 all that was collected is accepted, 1 refused, 2 usage, 3 there is no evidence, or something did not
answer.
"""


def _options() -> tuple[Option, ...]:
    """Return the options of the formats, but for those whose values come from what was asked."""
    every = [option for kind in KINDS for option in FORMATS[kind].load().options if option.name not in PROVIDED]
    assert len({option.name for option in every}) == len(every), "two formats have an option of the same name"
    return tuple(every)


OPTIONS: Final = _options()


def collected_and_appraised(
    nonce: str | None,
    out: Path | None,
    policies: Sequence[tuple[str, Path]],
    trust_anchor: Path | None,
    as_json: bool,
    ear: Path | None,
    key: Path | None,
    **given: Any,
) -> int:
    """Collect, keep if asked to, appraise and print; return the exit code."""
    words = {option: given[parameter(option)] for option in OPTIONS}
    asked = octets_given("--nonce", nonce, NONCE_BYTES) or secrets.token_bytes(NONCE_BYTES)
    anchors, policy_of, files = anchors_given(trust_anchor), _policies(policies), values(words)
    issuer = issuer_given(ear, key)
    if out is not None:
        prepare(out)
    collection = collect(this_machine(), asked)
    time = instant(None)
    kept = {} if out is None else keep(collection, out, time)
    terms = Terms(time, anchors, policy_of, files)
    appraisal = appraise_collection(collection, terms)
    if issuer is not None:
        ids = {part.kind: policy_id(part.kind, dict(policies).get(part.kind)) for part in collection.parts}
        appraised = Appraised(appraisal, "live", time, lasting(collection, terms), asked, ids)
        issuer.issue(appraised, live_profile)
    anchor = [] if trust_anchor is None else ["--trust-anchor", str(trust_anchor)]
    named = [word for kind, path in policies for word in ("--policy", kind, str(path))]
    rerun = ["carnet", "attest", "live", *_words(words), *named, *anchor]
    of_files = [
        [*command, *_words(_of(kind, words)), *_policy_words(kind, policies), *anchor, "--at", written(time)]
        for kind, command in kept.items()
    ]
    return show(appraisal, time, rerun, as_json, of_files)


def _of(kind: str, words: Mapping[Option, Any]) -> dict[Option, Any]:
    """Return the words of a format's options."""
    return {option: words[option] for option in FORMATS[kind].load().options if option in words}


def _words(words: Mapping[Option, Any]) -> list[str]:
    single, several = said(words)
    return [str(word) for each in (*single, *several) for word in each]


def _policy_words(kind: str, policies: Sequence[tuple[str, Path]]) -> list[str]:
    return [word for named, path in policies if named == kind for word in ("--policy", str(path))]


def _policies(given: Sequence[tuple[str, Path]]) -> dict[str, object]:
    kinds = [kind for kind, _ in given]
    twice = next((kind for kind in kinds if kinds.count(kind) > 1), None)
    if twice is not None:
        raise UsageError(f"--policy {twice} comes twice")
    return {kind: policy_given(FORMATS[kind].load(), path) for kind, path in given}


def _command() -> click.Command:
    shown = (
        click.option("--nonce", metavar="HEX", help="The 32 bytes that everything is asked with. [default: drawn]"),
        click.option("--out", type=readable, metavar="DIR", help="Keep what was collected in this folder."),
        *map(click_option, OPTIONS),
        click.option(
            "--policy",
            "policies",
            type=(click.Choice(KINDS), readable),
            multiple=True,
            metavar="FORMAT FILE",
            help="A JSON policy for evidence of a format, which then has to be there; once for each.",
        ),
        anchor_option,
        with_ear_options,
        json_option,
    )
    command: Any = collected_and_appraised
    for decorate in reversed(shown):
        command = decorate(command)
    return click.command(name="live", help=HELP)(command)


live: Final = _command()
"""The subcommand."""
