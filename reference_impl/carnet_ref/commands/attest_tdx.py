"""``carnet attest tdx``: appraise the quote of an Intel TDX virtual machine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from carnet_command.errors import UsageError
from carnet_ref.commands.attest_common import (
    anchor_option,
    anchors_given,
    at_option,
    contents,
    instant,
    json_option,
    readable,
    show,
    unparsable,
    written,
)

if TYPE_CHECKING:
    from carnet_ref.attestation.intel.policy import Policy

REPORT_DATA_BYTES = 64


@click.command()
@click.argument("quote", type=readable)
@click.option("--collateral", type=readable, metavar="FILE", help="What Intel publishes about the platform, as JSON.")
@click.option("--report-data", metavar="HEX", help="The 64 bytes that the virtual machine should have asked with.")
@click.option("--event-log", type=readable, metavar="FILE", help="What was measured into its run-time registers.")
@at_option
@click.option("--policy", "policy_file", type=readable, metavar="FILE", help="A JSON policy that replaces the default.")
@anchor_option
@json_option
def tdx(
    quote: Path,
    collateral: Path | None,
    report_data: str | None,
    event_log: Path | None,
    at: str | None,
    policy_file: Path | None,
    trust_anchor: Path | None,
    as_json: bool,
) -> int:
    """Appraise QUOTE: raw, hexadecimal or base64.

    The default policy asks for a genuine quote of a virtual machine that its host may not debug: certificates up to
    Intel's root, valid at --at, and every signature. Revocation and the TCB status need --collateral; without it those
    steps are listed as not requested.
    """
    from carnet_ref.attestation.formats import decode
    from carnet_ref.attestation.intel.appraisal import appraise_quote
    from carnet_ref.wire.reader import MalformedError

    time = instant(at)
    policy, anchors, expected = _policy(policy_file), anchors_given(trust_anchor), _report_data(report_data)
    published, events = (None if path is None else contents(path) for path in (collateral, event_log))
    given = contents(quote)
    try:
        raw = decode(_without_prefix(given), "TDX quote")
    except MalformedError as error:
        appraisal = unparsable(str(error))
    else:
        appraisal = appraise_quote(
            raw,
            at=time,
            policy=policy,
            anchors=anchors,
            collateral=published,
            report_data=expected,
            event_log=events,
        )
    words = {
        "--collateral": collateral,
        "--report-data": report_data,
        "--event-log": event_log,
        "--policy": policy_file,
        "--trust-anchor": trust_anchor,
    }
    rerun = [str(word) for option, value in words.items() if value is not None for word in (option, value)]
    rerun = ["carnet", "attest", "tdx", str(quote), *rerun, "--at", written(time)]
    return show(appraisal, time, rerun, as_json)


def _without_prefix(given: bytes) -> bytes:
    """Return hexadecimal text without the ``0x`` that some tools put before it."""
    return given.lstrip()[2:] if given.lstrip().startswith(b"0x") else given


def _policy(path: Path | None) -> Policy:
    from carnet_ref.attestation.intel.policy import DEFAULT_POLICY, parse_policy
    from carnet_ref.wire.reader import MalformedError

    if path is None:
        return DEFAULT_POLICY
    try:
        return parse_policy(contents(path))
    except MalformedError as error:
        raise UsageError(f"'{path}' is no policy: {error}") from None


def _report_data(text: str | None) -> bytes | None:
    if text is None:
        return None
    try:
        value = bytes.fromhex(text)
    except ValueError:
        raise UsageError("--report-data wants hexadecimal digits") from None
    if len(value) != REPORT_DATA_BYTES:
        raise UsageError(f"--report-data wants {REPORT_DATA_BYTES} bytes, not {len(value)}")
    return value
