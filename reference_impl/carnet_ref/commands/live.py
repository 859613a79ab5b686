"""``carnet attest live``: collect the evidence of this machine and appraise it."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import click

from carnet_command.errors import UsageError
from carnet_ref.attestation.appraisal import Appraisal, Requirement, unparsable
from carnet_ref.attestation.formats import FORMATS, Option
from carnet_ref.attestation.live.appraisal import AppraisalTerms, appraise_collection, live_profile, result_lifetime
from carnet_ref.attestation.live.collection import (
    KINDS,
    NONCE_BYTES,
    PROVIDED,
    Collection,
    collect,
    prepare_folder,
    read_collection,
    this_machine,
    write_collection,
)
from carnet_ref.attestation.results import HOUR, AppraisalRecord
from carnet_ref.commands import attest
from carnet_ref.wire import MalformedError

HELP: Final = """Collect the evidence of this machine and appraise it at once.

GPUs are asked by NVML, the virtual machine by Linux's configfs-tsm; most machines let only root ask the latter. All
answer one nonce, and the virtual machine's quote commits to the GPUs' reports. NVSwitches are not collected.

A machine that appraises itself convinces nobody else. Another draws a nonce, has the evidence collected with --nonce
and kept with --out, and appraises the folder elsewhere, with --from and the nonce that it drew.

A policy for a format asks for evidence of that format, so without it the verdict is a refusal.

Exit codes: 0 all that was collected is accepted, 1 refused, 2 usage, 3 there is no evidence, or something did not
answer.
"""


def _options() -> tuple[Option, ...]:
    """Return the options of the formats, without those whose values are determined by the collection."""
    every = [option for kind in KINDS for option in FORMATS[kind].load().options if option.name not in PROVIDED]
    assert len({option.name for option in every}) == len(every), "two formats have an option of the same name"
    return tuple(every)


OPTIONS: Final = _options()


def collected_and_appraised(
    nonce: str | None,
    out: Path | None,
    kept_in: Path | None,
    at: str | None,
    policies: Sequence[tuple[str, Path]],
    trust_anchor: Path | None,
    as_json: bool,
    require: frozenset[Requirement],
    ear: Path | None,
    ear_profile: str | None,
    key: Path | None,
    **given: Any,
) -> int:
    """Collect evidence (and store it, if requested), or read stored evidence; appraise, print, return the exit code."""
    words = {option: given[attest.parameter(option)] for option in OPTIONS}
    asked = attest.octets_given("--nonce", nonce, NONCE_BYTES)
    _check_source(asked, out, kept_in, at)
    drawn = asked or secrets.token_bytes(NONCE_BYTES)
    itself = kept_in is None
    terms = AppraisalTerms(
        attest.instant(at), attest.anchors_given(trust_anchor), _policies(policies), attest.values(words), itself
    )
    issuer = attest.issuer_given(ear, key, ear_profile)
    try:
        collection = _collected(drawn, out, terms.at) if kept_in is None else read_collection(kept_in, drawn)
        judged = _Judged(appraise_collection(collection, terms), result_lifetime(collection, terms), collection.kinds)
    except MalformedError as error:
        judged = _Judged(unparsable(str(error)))
    judged = replace(judged, appraisal=judged.appraisal.requiring(require))
    if issuer is not None:
        ids = {kind: attest.policy_id(kind, dict(policies).get(kind)) for kind in judged.kinds}
        issuer.issue(
            AppraisalRecord(judged.appraisal, "live", terms.at, judged.result_lifetime, drawn, ids), live_profile
        )
    named = [word for kind, path in policies for word in ("--policy", kind, str(path))]
    anchor = [] if trust_anchor is None else ["--trust-anchor", str(trust_anchor)]
    folder = kept_in or out
    source = (
        [] if folder is None else ["--from", str(folder), "--nonce", drawn.hex(), "--at", attest.format_time(terms.at)]
    )
    again = ["carnet", "attest", "live", *source, *_words(words), *named, *anchor]
    again += ["--require", ",".join(sorted(require))] if require else []
    return attest.show(judged.appraisal, terms.at, again, as_json)


@dataclass(frozen=True, slots=True)
class _Judged:
    """An appraisal, how long its result is valid, and the formats of the evidence."""

    appraisal: Appraisal
    result_lifetime: int = HOUR
    kinds: tuple[str, ...] = ()


def _check_source(nonce: bytes | None, out: Path | None, kept_in: Path | None, at: str | None) -> None:
    if kept_in is None and at is not None:
        raise UsageError("--at is for evidence that was kept; that of this machine is appraised as of now")
    if kept_in is not None and out is not None:
        raise UsageError("--from and --out do not go together: what is in a folder is kept already")
    if kept_in is not None and nonce is None:
        raise UsageError("--from needs --nonce, the nonce that you drew: what the folder says of it proves nothing")


def _collected(nonce: bytes, out: Path | None, at: datetime) -> Collection:
    """Return the evidence of this machine, which is also stored if ``out`` is given."""
    if out is not None:
        prepare_folder(out)
    collection = collect(this_machine(), nonce)
    if out is not None:
        write_collection(collection, out, at)
    return collection


def _words(words: Mapping[Option, Any]) -> list[str]:
    single, several = attest.given_options(words)
    return [str(word) for each in (*single, *several) for word in each]


def _policies(given: Sequence[tuple[str, Path]]) -> dict[str, object]:
    kinds = [kind for kind, _ in given]
    twice = next((kind for kind in kinds if kinds.count(kind) > 1), None)
    if twice is not None:
        raise UsageError(f"--policy {twice} comes twice")
    return {kind: attest.policy_given(FORMATS[kind].load(), path) for kind, path in given}


def _command() -> click.Command:
    shown = (
        click.option("--nonce", metavar="HEX", help="The 32 bytes that everything is asked with. [default: drawn]"),
        click.option("--out", type=attest.readable, metavar="DIR", help="Keep what was collected in this folder."),
        click.option(
            "--from",
            "kept_in",
            type=attest.readable,
            metavar="DIR",
            help="Appraise what --out kept here, on this or another machine; --nonce is needed.",
        ),
        attest.at_option,
        *map(attest.click_option, OPTIONS),
        click.option(
            "--policy",
            "policies",
            type=(click.Choice(KINDS), attest.readable),
            multiple=True,
            metavar="FORMAT FILE",
            help="A policy or preset for evidence of a format, which then has to be there; once for each.",
        ),
        attest.anchor_option,
        attest.with_ear_options,
        attest.require_option,
        attest.json_option,
    )
    command: Any = collected_and_appraised
    for decorate in reversed(shown):
        command = decorate(command)
    return click.command(name="live", help=HELP)(command)


live: Final = _command()  #: The subcommand.
