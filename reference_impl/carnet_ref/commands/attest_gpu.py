"""``carnet attest gpu``: appraise the report of an NVIDIA GPU or NVSwitch."""

from __future__ import annotations

from datetime import datetime
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
    nonce_given,
    readable,
    show,
    unparsable,
    written,
)

if TYPE_CHECKING:
    from carnet_ref.attestation.anchors import Anchors
    from carnet_ref.attestation.appraisal import Appraisal
    from carnet_ref.attestation.formats import DeviceEvidence
    from carnet_ref.attestation.nvidia.policy import Policy

NONCE_LENGTH = 32


@click.command()
@click.argument("report", type=readable)
@click.option("--chain", type=readable, metavar="FILE", help="The device's certificates; a bundle has its own.")
@click.option("--device", type=click.IntRange(min=0), metavar="N", help="Which device of a bundle, from 0.")
@click.option("--nonce", metavar="HEX", help="The nonce that the report was asked with.")
@click.option("--rim", "rims", type=readable, multiple=True, metavar="FILE", help="Reference values; may be repeated.")
@click.option("--ocsp", type=readable, multiple=True, metavar="FILE", help="An OCSP reply; may be repeated.")
@at_option
@click.option("--policy", "policy_file", type=readable, metavar="FILE", help="A JSON policy that replaces the default.")
@anchor_option
@json_option
def gpu(
    report: Path,
    chain: Path | None,
    device: int | None,
    nonce: str | None,
    rims: tuple[Path, ...],
    ocsp: tuple[Path, ...],
    at: str | None,
    policy_file: Path | None,
    trust_anchor: Path | None,
    as_json: bool,
) -> int:
    """Appraise REPORT: raw, hexadecimal or base64, or a JSON bundle of several devices.

    Without --nonce, --rim or --ocsp the steps that need them are listed as not requested. The default policy asks for a
    genuine report: certificates up to NVIDIA's root, valid at --at, the signature, and the firmware id where sent.
    """
    time = instant(at)
    given = {"--rim": rims, "--ocsp": ocsp}
    appraisal = _appraised(
        contents(report),
        None if chain is None else contents(chain),
        device,
        nonce_given(nonce, NONCE_LENGTH),
        {option: [contents(path) for path in paths] for option, paths in given.items()},
        time,
        _policy(policy_file),
        anchors_given(trust_anchor),
    )
    single = {"--chain": chain, "--device": device, "--nonce": nonce, "--policy": policy_file}
    options = [(option, value) for option, value in single.items() if value is not None]
    options += [(option, path) for option, paths in given.items() for path in paths]
    options += [("--trust-anchor", trust_anchor)] if trust_anchor is not None else []
    words = [str(word) for pair in options for word in pair]
    rerun = ["carnet", "attest", "gpu", str(report), *words, "--at", written(time)]
    return show(appraisal, time, rerun, as_json)


def _policy(path: Path | None) -> Policy:
    from carnet_ref.attestation.nvidia.policy import DEFAULT_POLICY, parse_policy
    from carnet_ref.wire.reader import MalformedError

    if path is None:
        return DEFAULT_POLICY
    try:
        return parse_policy(contents(path))
    except MalformedError as error:
        raise UsageError(f"'{path}' is no policy: {error}") from None


def _appraised(
    report: bytes,
    chain: bytes | None,
    device: int | None,
    nonce: bytes | None,
    further: dict[str, list[bytes]],
    at: datetime,
    policy: Policy,
    anchors: Anchors,
) -> Appraisal:
    from carnet_ref.attestation.formats import decode, decode_pem, device_evidence
    from carnet_ref.attestation.nvidia.appraisal import appraise_gpu
    from carnet_ref.wire.reader import MalformedError

    try:
        evidence = _chosen(device_evidence(report), device)
        certificates = evidence.chain if chain is None else decode_pem(chain, "certificate chain")
        if certificates is None:
            raise UsageError("a report alone needs --chain")
        replies = [decode(reply, "OCSP reply") for reply in further["--ocsp"]]
    except MalformedError as error:
        return unparsable(str(error))
    return appraise_gpu(
        evidence.report,
        certificates,
        at=at,
        policy=policy,
        anchors=anchors,
        nonce=nonce,
        rims=further["--rim"],
        ocsp=replies,
    )


def _chosen(devices: tuple[DeviceEvidence, ...], device: int | None) -> DeviceEvidence:
    if device is None and len(devices) > 1:
        raise UsageError(f"the bundle has {len(devices)} devices: choose one with --device 0 … {len(devices) - 1}")
    if (device or 0) >= len(devices):
        raise UsageError(f"there is no device {device}: the bundle has {len(devices)}")
    return devices[device or 0]
